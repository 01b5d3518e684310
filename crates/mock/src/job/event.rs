//! Events of the stream: pieces with their frame, and the end of the stream.
//!
//! In:  pieces of JSON, the shape's lines and framing.  Out: bytes of events, chunks of the body.
//! Not here: the content of a piece (see `piece`), when it is due (see `due`).

use std::io::Write as _;

use crate::http::{error_body, push_chunk};
use crate::shape::{Ending, Extras, Framing, Reply, When};

use super::{End, Job, Next, Phase, Step};

impl Job {
    pub(super) fn tokens(&mut self, event: &mut Vec<u8>, out: &mut Vec<u8>) -> Step {
        let (first, count) = (self.done, self.in_chunk());
        self.done += count;
        let over = self.done >= self.ask.tokens;
        let failed = self.fault.is_some_and(|fault| self.done >= fault);
        let with_finish = over && !failed && !self.form.finish_apart && self.form.end != Ending::NoFinish;
        let finish = with_finish.then(|| self.finish());
        let due = self.timed().then_some(self.due);
        let mut text = 0;
        self.chunk(event, |job, json| text = job.piece(json, first, count), finish);
        self.frame(event, out);
        let next = if failed {
            self.phase = Phase::Tail;
            Next::Now
        } else if over {
            self.phase = if self.form.finish_apart { Phase::Finish } else { Phase::Tail };
            Next::Now
        } else {
            self.until_token()
        };
        Step { tokens: count, text, due, head: false, next }
    }

    /// What follows the tokens, and how it ends.
    pub(super) fn tail(&mut self, event: &mut Vec<u8>) -> End {
        if self.fault.is_some() {
            match self.form.end {
                Ending::Error { .. } => {
                    let error = error_body(500, "InternalServerError", "the engine has died");
                    self.wrap(event, &error);
                }
                Ending::Truncated => return End::Close,
                Ending::Reset => return End::Reset,
                Ending::Stall => return End::Stall,
                _ => return self.last(),
            }
        } else {
            let usage = match self.form.usage {
                When::Always => true,
                When::Asked => self.ask.usage,
                When::Never => false,
            };
            if (usage && self.form.reply != Reply::Empty) || self.form.reply == Reply::OnlyUsage {
                let mut json = std::mem::take(&mut self.open);
                let opened = json.len();
                json.extend_from_slice(b"\"choices\":[],");
                self.push_usage(&mut json, true);
                json.push(b'}');
                self.wrap(event, &json);
                json.truncate(opened);
                self.open = json;
            }
        }
        let done = !matches!(self.form.end, Ending::NoDone | Ending::Error { done: false });
        if done && self.form.reply != Reply::Empty {
            let line = self.form.line;
            let space = if self.form.extras == Extras::Fields { "" } else { " " };
            for part in ["data:", space, "[DONE]", line, line] {
                event.extend_from_slice(part.as_bytes());
            }
        }
        if self.form.extras == Extras::Comments {
            self.comment(event, "bye");
        }
        self.last()
    }

    pub(super) const fn last(&self) -> End {
        match self.form.end {
            Ending::CloseAfter => End::CloseAfter,
            Ending::CloseIdle => End::CloseIdle,
            _ if matches!(self.form.framing, Framing::Close) => End::CloseAfter,
            _ => End::Keep,
        }
    }

    pub(super) fn comment(&self, event: &mut Vec<u8>, word: &str) {
        for part in [": ", word, self.form.line, self.form.line] {
            event.extend_from_slice(part.as_bytes());
        }
    }

    /// An event with one choice.
    pub(super) fn chunk(&mut self, event: &mut Vec<u8>, piece: impl FnOnce(&Self, &mut Vec<u8>), finish: Option<&str>) {
        let mut json = std::mem::take(&mut self.open);
        let opened = json.len();
        json.extend_from_slice(b"\"choices\":[{\"index\":0,");
        if self.ask.chat {
            json.extend_from_slice(b"\"delta\":{");
            piece(self, &mut json);
            json.extend_from_slice(b"},");
        } else {
            piece(self, &mut json);
            json.push(b',');
        }
        match finish {
            Some(reason) => {
                for part in ["\"logprobs\":null,\"finish_reason\":\"", reason, "\"}]"] {
                    json.extend_from_slice(part.as_bytes());
                }
            }
            None => json.extend_from_slice(b"\"logprobs\":null,\"finish_reason\":null}]"),
        }
        if self.ask.continuous && self.form.usage != When::Never {
            json.push(b',');
            self.push_usage(&mut json, false);
        }
        json.push(b'}');
        self.wrap(event, &json);
        json.truncate(opened);
        self.open = json;
    }

    /// JSON as an event of the stream.
    fn wrap(&mut self, event: &mut Vec<u8>, json: &[u8]) {
        let line = self.form.line.as_bytes();
        match self.form.extras {
            Extras::Fields => {
                let _ = write!(event, "event:message{0}id:{1}{0}retry:1000{0}", self.form.line, self.events);
                let fold = if json.starts_with(&self.open[..self.open.len().min(self.fold)]) || self.open.is_empty() {
                    self.fold.min(json.len())
                } else {
                    json.len()
                };
                event.extend_from_slice(b"data:");
                event.extend_from_slice(&json[..fold]);
                if fold < json.len() {
                    event.extend_from_slice(line);
                    event.extend_from_slice(b"data:");
                    event.extend_from_slice(&json[fold..]);
                }
            }
            extras => {
                if extras == Extras::Comments {
                    self.comment(event, "ping");
                }
                event.extend_from_slice(b"data: ");
                event.extend_from_slice(json);
            }
        }
        event.extend_from_slice(line);
        event.extend_from_slice(line);
        self.events += 1;
    }

    pub(super) fn frame(&self, event: &[u8], out: &mut Vec<u8>) {
        match self.form.framing {
            Framing::Chunked => push_chunk(out, event),
            Framing::Length | Framing::Close => out.extend_from_slice(event),
        }
    }
}
