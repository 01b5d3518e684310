//! The content of an event: a piece of text as JSON, the usage.
//!
//! In:  numbers of tokens.  Out: members of JSON.
//! Not here: lines and chunks (see `event`), the words (see `text`).

use crate::http::push_number;
use crate::settings::ReasoningKey;
use crate::shape::Pieces;
use crate::text::{plain_word, word};

use super::Job;

impl Job {
    /// Tokens `first..first + count`. Gives the bytes of their text.
    pub(super) fn piece(&self, json: &mut Vec<u8>, first: u32, count: u32) -> u32 {
        let mut text = 0;
        let mut words = |json: &mut Vec<u8>| {
            text = 0;
            for k in first..first + count {
                let word = word(k);
                json.extend_from_slice(word.json.as_bytes());
                text += word.text.len() as u32;
            }
        };
        let mut member = |json: &mut Vec<u8>, name: &str| {
            for part in ["\"", name, "\":\""] {
                json.extend_from_slice(part.as_bytes());
            }
            words(json);
            json.push(b'"');
        };
        if !self.ask.chat {
            member(json, "text");
            return text;
        }
        if first == 0 && !self.form.role_first {
            json.extend_from_slice(b"\"role\":\"assistant\",");
        }
        match self.kind(first) {
            Pieces::ReasoningOnly | Pieces::Reasoning | Pieces::Mixed => match self.key {
                ReasoningKey::Content => member(json, "reasoning_content"),
                ReasoningKey::Short => member(json, "reasoning"),
                ReasoningKey::Both => {
                    member(json, "reasoning");
                    json.push(b',');
                    member(json, "reasoning_content");
                }
            },
            Pieces::Content => member(json, "content"),
            Pieces::Refusal => member(json, "refusal"),
            Pieces::Tool => return self.tool(json, first, count),
        }
        text
    }

    /// A piece of a call: its name first, then its arguments, which are JSON when they are whole.
    fn tool(&self, json: &mut Vec<u8>, first: u32, count: u32) -> u32 {
        let begins = first == 0 || self.kind(first - 1) != Pieces::Tool;
        if begins {
            let call = b"\"tool_calls\":[{\"index\":0,\"id\":\"call-1\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"";
            json.extend_from_slice(call);
        } else {
            json.extend_from_slice(b"\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"");
        }
        let mut text = 0;
        let mut put = |text_of: &str, json_of: &str| {
            json.extend_from_slice(json_of.as_bytes());
            text += text_of.len() as u32;
        };
        if begins {
            put("{\"at\":\"", "{\\\"at\\\":\\\"");
        }
        for k in first..first + count {
            put(plain_word(k).text, plain_word(k).json);
        }
        if first + count >= self.ask.tokens {
            put("\"}", "\\\"}");
        }
        json.extend_from_slice(b"\"}}]");
        // The name is generated as well.
        text + if begins { 4 } else { 0 }
    }

    /// Bytes of the whole answer's text.
    pub(super) fn text_bytes(&self) -> u32 {
        (0..self.ask.tokens)
            .map(|k| if self.kind(k) == Pieces::Tool { plain_word(k) } else { word(k) }.text.len() as u32)
            .sum()
    }

    pub(super) const fn empty_piece(&self, role: bool) -> &'static [u8] {
        match (self.ask.chat, role) {
            (true, true) => b"\"role\":\"assistant\",\"content\":\"\"",
            (true, false) => b"\"content\":\"\"",
            (false, _) => b"\"text\":\"\"",
        }
    }

    pub(super) fn push_usage(&self, json: &mut Vec<u8>, tail: bool) {
        let (input, output) = (u64::from(self.ask.prompt_tokens), u64::from(self.done));
        for (name, number) in [
            ("\"usage\":{\"prompt_tokens\":", input),
            (",\"total_tokens\":", input + output),
            (",\"completion_tokens\":", output),
        ] {
            json.extend_from_slice(name.as_bytes());
            push_number(json, number);
        }
        if tail {
            json.extend_from_slice(b",\"prompt_tokens_details\":{\"cached_tokens\":");
            push_number(json, self.cached_tokens.into());
            json.push(b'}');
            let reasoning = (0..self.done).take_while(|k| self.kind(*k) == Pieces::ReasoningOnly).count();
            if reasoning > 0 {
                json.extend_from_slice(b",\"completion_tokens_details\":{\"reasoning_tokens\":");
                push_number(json, reasoning as u64);
                json.push(b'}');
            }
        }
        json.push(b'}');
    }
}
