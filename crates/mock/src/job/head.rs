//! The beginning of an answer: the head of its stream, or all of a response without a stream.
//!
//! In:  the shape's reply and framing.  Out: bytes of the head, what follows it.
//! Not here: events (see `event`).

use std::io::Write as _;

use crate::http::{error_body, push_number, push_response, push_status};
use crate::settings::ReasoningKey;
use crate::shape::{Extras, Framing, Pieces, ROLE_NS, Reply};
use crate::text::{plain_word, word};

use super::{End, Job, Next, Phase};

/// Seconds of `Retry-After`.
const RETRY_AFTER_S: u32 = 7;

impl Job {
    /// The head, or a whole response that is no stream.
    pub(super) fn head(&mut self, event: &mut Vec<u8>, out: &mut Vec<u8>) -> Next {
        let id = Some(self.id.as_str());
        let kept = if self.keep_alive { "" } else { "connection: close\r\n" };
        match self.form.reply {
            Reply::Never => return Next::End(End::Stall),
            Reply::Close => return Next::End(End::Close),
            Reply::Status(code) => {
                let (kind, message, more) = match code {
                    307 => ("Redirect", "moved", "location: /v1/elsewhere\r\n".to_owned()),
                    401 => ("AuthenticationError", "Unauthorized", "www-authenticate: Bearer\r\n".to_owned()),
                    429 => ("RateLimitError", "Too many requests.", format!("retry-after: {RETRY_AFTER_S}\r\n")),
                    503 => ("ServiceUnavailable", "The model is loading.", format!("retry-after: {RETRY_AFTER_S}\r\n")),
                    _ => ("InternalServerError", "Internal server error", String::new()),
                };
                let body = error_body(code, kind, message);
                push_response(out, code, "application/json", id, &format!("{more}{kept}"), &body);
                return Next::End(self.last());
            }
            Reply::Html => {
                let body =
                    b"<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body><p>It works.</p></body></html>\n";
                push_response(out, 200, "text/html; charset=utf-8", id, kept, body);
                return Next::End(self.last());
            }
            Reply::Json => {
                self.document(event);
                push_response(out, 200, "application/json", Some(&self.id), kept, event);
                return Next::End(self.last());
            }
            _ => {}
        }
        let length = (self.form.framing == Framing::Length).then(|| self.length());
        push_status(out, 200, "text/event-stream; charset=utf-8", id);
        out.extend_from_slice(b"cache-control: no-cache\r\n");
        match length {
            Some(length) => {
                out.extend_from_slice(b"content-length: ");
                push_number(out, length);
                out.extend_from_slice(b"\r\n");
            }
            None if self.form.framing == Framing::Close => {}
            None => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        }
        if !self.keep_alive || self.form.framing == Framing::Close {
            out.extend_from_slice(b"connection: close\r\n");
        }
        out.extend_from_slice(b"\r\n");
        self.after_head()
    }

    fn after_head(&mut self) -> Next {
        match self.form.reply {
            Reply::Empty | Reply::OnlyUsage => {
                self.phase = Phase::Tail;
                Next::Now
            }
            Reply::HugeLine => {
                self.phase = Phase::Huge;
                Next::Now
            }
            Reply::OnlyRole => {
                self.phase = Phase::Role;
                Next::Now
            }
            _ if self.form.role_first && self.ask.chat => {
                self.phase = Phase::Role;
                if self.timed() { Next::At(self.begin.saturating_add(ROLE_NS.min(self.ttft))) } else { Next::Now }
            }
            _ if self.form.extras == Extras::KeepAlive => self.keep_alive_comment(0),
            _ => self.until_token(),
        }
    }
    /// The answer as one document.
    fn document(&mut self, json: &mut Vec<u8>) {
        self.done = self.ask.tokens;
        let object = if self.ask.chat { "chat.completion" } else { "text_completion" };
        let (mut reasoning, mut content, mut refusal) = (String::new(), String::new(), String::new());
        let mut arguments = String::new();
        for k in 0..self.ask.tokens {
            match self.kind(k) {
                Pieces::Content => content.push_str(word(k).text),
                Pieces::Refusal => refusal.push_str(word(k).text),
                Pieces::Tool => arguments.push_str(plain_word(k).text),
                _ => reasoning.push_str(word(k).text),
            }
        }
        let choice = if self.ask.chat {
            let mut message = serde_json::json!({ "role": "assistant", "content": content });
            if !reasoning.is_empty() {
                let keys: &[&str] = match self.key {
                    ReasoningKey::Content => &["reasoning_content"],
                    ReasoningKey::Short => &["reasoning"],
                    ReasoningKey::Both => &["reasoning", "reasoning_content"],
                };
                for key in keys {
                    message[*key] = reasoning.as_str().into();
                }
            }
            if !refusal.is_empty() {
                message["refusal"] = refusal.into();
            }
            if !arguments.is_empty() {
                let arguments = serde_json::json!({ "at": arguments }).to_string();
                message["tool_calls"] = serde_json::json!([
                    { "id": "call-1", "type": "function", "function": { "name": "look", "arguments": arguments } }
                ]);
            }
            serde_json::json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": self.finish() })
        } else {
            serde_json::json!({ "index": 0, "text": content, "logprobs": null, "finish_reason": self.finish() })
        };
        let chunk_object = if self.ask.chat { "chat.completion.chunk" } else { "text_completion" };
        let open = String::from_utf8_lossy(&self.open).replacen(chunk_object, object, 1);
        let _ = write!(json, "{open}\"choices\":[{choice}],");
        self.push_usage(json, true);
        json.push(b'}');
    }

    /// Bytes of the body, found by making it once without sending it.
    fn length(&self) -> u64 {
        let mut other = self.clone();
        let (mut event, mut out, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut next = other.after_head();
        while !matches!(next, Next::End(_)) {
            out.clear();
            next = other.step(&mut event, &mut out).next;
            bytes += out.len() as u64;
        }
        bytes
    }
}
