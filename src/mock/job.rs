//! An answer as a sequence of writes, each made when its time has come.
//!
//! In:  an [`Ask`], the moment it begins.  Out: [`Step`]s: bytes, the tokens in them, when the next is due.
//! Not here: sockets and the clock (see `server`).
//!
//! Nothing of an answer is made ahead: a step puts its event into a buffer that all answers share, from pieces that were formatted when
//! the request came. So ten thousand long answers hold no text, and a token costs some copies of short strings.

use std::io::Write as _;

use crate::host::net::Ns;

use super::ask::Ask;
use super::http::{error_body, push_chunk, push_number, push_response, push_status};
use super::settings::ReasoningKey;
use super::shape::{Cut, Ending, Extras, Form, Framing, Pieces, ROLE_NS, Reply, When};
use super::text::{plain_word, word};

/// Comments until the first token, in the shape that has them.
const KEEP_ALIVES: u64 = 4;
/// Bytes of an endless line in one write.
const HUGE_BYTES: usize = 64 << 10;
/// Seconds of `Retry-After`.
pub const RETRY_AFTER_S: u32 = 7;

/// What the server is to do after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next step, as soon as may be.
    Now,
    /// The next step, at this moment.
    At(Ns),
    /// It was the last.
    End(End),
}

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It stays, as the request wishes.
    Keep,
    /// It is closed once everything is written.
    Close,
    /// The same, after a complete answer.
    CloseAfter,
    /// It is closed a while later.
    CloseIdle,
    /// It is reset.
    Reset,
    /// It stays, and nothing more is written.
    Stall,
}

/// What was put into the buffer.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Tokens of the event; 0 where it carries none.
    pub tokens: u32,
    /// Bytes of generated text.
    pub text: u32,
    /// When it was due; absent where it is due as soon as may be.
    pub due: Option<Ns>,
    /// Whether it is the response's head, which is cut by lines if at all.
    pub head: bool,
    /// What comes next.
    pub next: Next,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Role,
    KeepAlive(u64),
    Tokens,
    Finish,
    Tail,
    Huge,
}

/// An answer on its way.
#[derive(Debug, Clone)]
pub struct Job {
    ask: Ask,
    form: Form,
    key: ReasoningKey,
    per_chunk: u32,
    reasoning: u32,
    /// Tokens before the fault, in shapes that have one.
    fault: Option<u32>,
    keep_alive: bool,
    cached_tokens: u32,
    id: String,
    /// JSON of an event up to what differs.
    open: Vec<u8>,
    /// Place in `open` where white space may be.
    fold: usize,
    begin: Ns,
    ttft: Ns,
    jitter: Ns,
    random: u64,
    /// Due moment of the step before, which the next is not before.
    floor: Ns,
    due: Ns,
    phase: Phase,
    done: u32,
    events: u32,
}

/// What an answer needs to know beside the [`Ask`].
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// Where reasoning is put.
    pub key: ReasoningKey,
    /// Tokens in a chunk, where the shape does not say.
    pub tokens_per_chunk: u32,
    /// Tokens of reasoning; absent is a third.
    pub reasoning: Option<u32>,
    /// Largest random delay of a token.
    pub jitter: Ns,
    /// Seed of the delays and cuts.
    pub seed: u64,
    /// Seconds since 1970.
    pub created: u64,
    /// Whether the request wishes the connection to stay.
    pub keep_alive: bool,
}

impl Job {
    /// An answer that has not begun.
    pub fn new(ask: Ask, id: &str, setting: Setting<'_>) -> Self {
        let mut form = ask.shape.form;
        if !ask.chat {
            // The other route knows nothing but text.
            form.pieces = Pieces::Content;
        }
        if !ask.stream && form.reply == Reply::Answer {
            form.reply = Reply::Json;
        }
        let mut open = Vec::with_capacity(192);
        let (prefix, object) =
            if ask.chat { ("chatcmpl", "chat.completion.chunk") } else { ("cmpl", "text_completion") };
        let created = setting.created;
        let _ = write!(open, "{{\"id\":\"{prefix}-{}\",\"object\":\"{object}\",\"created\":{created},", escaped(id));
        let fold = open.len();
        let _ = write!(open, "\"model\":\"{}\",", escaped(setting.model));
        let third = (ask.tokens / 3).max(1);
        let reasoning = setting.reasoning.unwrap_or(third).min(ask.tokens);
        let faulty =
            matches!(form.end, Ending::Error { .. } | Ending::Truncated | Ending::Cut | Ending::Stall | Ending::Reset);
        let fault = faulty.then(|| ask.after.unwrap_or(ask.tokens / 2).clamp(1, ask.tokens));
        Self {
            form,
            key: setting.key,
            per_chunk: form.tokens_per_chunk.unwrap_or(setting.tokens_per_chunk).max(1),
            reasoning,
            fault,
            keep_alive: setting.keep_alive,
            cached_tokens: 0,
            id: id.to_owned(),
            open,
            fold,
            begin: 0,
            ttft: 0,
            jitter: setting.jitter,
            random: setting.seed ^ super::cache::hash(id.as_bytes()),
            floor: 0,
            due: 0,
            phase: Phase::Head,
            done: 0,
            events: 0,
            ask,
        }
    }

    /// Due times count from `begin`. Says when the first step is due.
    pub fn begin(&mut self, begin: Ns, more_ttft: Ns, cached_tokens: u32) -> Next {
        (self.begin, self.ttft, self.cached_tokens) =
            (begin, self.ask.ttft_ns.saturating_add(more_ttft), cached_tokens);
        self.floor = begin;
        let late = matches!(self.form.reply, Reply::Json) || (self.ask.whole && self.form.reply == Reply::Answer);
        if late && self.timed() { Next::At(self.token_due(self.ask.tokens.saturating_sub(1))) } else { Next::Now }
    }

    /// The request.
    pub const fn ask(&self) -> &Ask {
        &self.ask
    }

    /// How writes are cut.
    pub const fn cut(&self) -> Cut {
        self.form.cut
    }

    /// What comes back at all.
    pub const fn reply(&self) -> Reply {
        self.form.reply
    }

    /// Whether all steps are one write.
    pub fn whole(&self) -> bool {
        self.ask.whole && self.form.reply == Reply::Answer
    }

    /// `stream`, `json` or `none`: see `Truth::mode`.
    pub const fn mode(&self) -> &'static str {
        match self.form.reply {
            Reply::Json => "json",
            Reply::Status(_) | Reply::Html | Reply::Never | Reply::Close => "none",
            _ => "stream",
        }
    }

    /// Status code that it begins with.
    pub const fn code(&self) -> Option<u16> {
        match self.form.reply {
            Reply::Status(code) => Some(code),
            Reply::Never | Reply::Close => None,
            _ => Some(200),
        }
    }

    /// Whether its tokens have due times.
    pub const fn timed(&self) -> bool {
        self.ttft > 0 || self.ask.itl_ns > 0 || self.jitter > 0
    }

    /// A number from the seed.
    pub fn draw(&mut self) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn token_due(&mut self, k: u32) -> Ns {
        let exact = self.begin.saturating_add(self.ttft).saturating_add(self.ask.itl_ns.saturating_mul(u64::from(k)));
        let more = if self.jitter > 0 { self.draw() % (self.jitter + 1) } else { 0 };
        self.floor = self.floor.max(exact.saturating_add(more));
        self.floor
    }

    /// Puts the next bytes behind what is in `out`. `event` is a buffer for its own use.
    pub fn step(&mut self, event: &mut Vec<u8>, out: &mut Vec<u8>) -> Step {
        event.clear();
        let still = |next| Step { tokens: 0, text: 0, due: None, head: false, next };
        match self.phase {
            Phase::Head => {
                let next = self.head(event, out);
                if self.form.reply == Reply::Json {
                    // The document is the one event, and all tokens are in it.
                    let due = self.timed().then_some(self.floor);
                    return Step { tokens: self.ask.tokens, text: self.text_bytes(), due, head: true, next };
                }
                Step { head: true, ..still(next) }
            }
            Phase::Role => {
                self.chunk(event, |job, json| json.extend_from_slice(job.empty_piece(true)), None);
                self.phase = Phase::Tokens;
                let next = match self.form.reply {
                    Reply::OnlyRole => {
                        self.phase = Phase::Finish;
                        Next::Now
                    }
                    _ => self.until_token(),
                };
                self.frame(event, out);
                still(next)
            }
            Phase::KeepAlive(k) => {
                self.comment(event, "keep-alive");
                self.frame(event, out);
                still(self.keep_alive_comment(k + 1))
            }
            Phase::Tokens => self.tokens(event, out),
            Phase::Finish => {
                self.phase = Phase::Tail;
                let finish = if self.form.reply == Reply::OnlyRole { "stop" } else { self.finish() };
                self.chunk(event, |job, json| json.extend_from_slice(job.empty_piece(false)), Some(finish));
                self.frame(event, out);
                still(Next::Now)
            }
            Phase::Tail => {
                let end = self.tail(event);
                self.frame(event, out);
                if self.form.framing == Framing::Chunked && !matches!(end, End::Close | End::Reset | End::Stall) {
                    out.extend_from_slice(b"0\r\n\r\n");
                }
                still(Next::End(end))
            }
            Phase::Huge => {
                if self.events == 0 {
                    event.extend_from_slice(b"data: {\"id\":\"");
                }
                self.events = 1;
                event.resize(HUGE_BYTES, b'x');
                self.frame(event, out);
                still(Next::Now)
            }
        }
    }

    /// The head, or a whole response that is no stream.
    fn head(&mut self, event: &mut Vec<u8>, out: &mut Vec<u8>) -> Next {
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

    fn keep_alive_comment(&mut self, k: u64) -> Next {
        if k >= KEEP_ALIVES {
            return self.until_token();
        }
        self.phase = Phase::KeepAlive(k);
        if self.timed() {
            Next::At(self.begin.saturating_add(self.ttft / (KEEP_ALIVES + 1) * (k + 1)))
        } else {
            Next::Now
        }
    }

    /// The next chunk of tokens: how many, and when.
    fn until_token(&mut self) -> Next {
        self.phase = Phase::Tokens;
        let last = self.done + self.in_chunk() - 1;
        if self.timed() {
            self.due = self.token_due(last);
            Next::At(self.due)
        } else {
            Next::Now
        }
    }

    /// Tokens in the next chunk: all of one kind, none beyond the fault.
    fn in_chunk(&self) -> u32 {
        let end = self.fault.unwrap_or(self.ask.tokens);
        let mut count = self.per_chunk.min(end.saturating_sub(self.done)).max(1);
        let kind = self.kind(self.done);
        while count > 1 && self.kind(self.done + count - 1) != kind {
            count -= 1;
        }
        count
    }

    fn kind(&self, k: u32) -> Pieces {
        match self.form.pieces {
            Pieces::Reasoning if k < self.reasoning => Pieces::ReasoningOnly,
            Pieces::Reasoning => Pieces::Content,
            Pieces::Mixed if k < self.reasoning => Pieces::ReasoningOnly,
            Pieces::Mixed if k < self.reasoning + (self.ask.tokens - self.reasoning) / 2 => Pieces::Content,
            Pieces::Mixed => Pieces::Tool,
            other => other,
        }
    }

    fn finish(&self) -> &'static str {
        match self.form.pieces {
            Pieces::Tool | Pieces::Mixed => "tool_calls",
            _ if self.ask.by_length => "length",
            _ => "stop",
        }
    }

    fn tokens(&mut self, event: &mut Vec<u8>, out: &mut Vec<u8>) -> Step {
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
    fn tail(&mut self, event: &mut Vec<u8>) -> End {
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

    const fn last(&self) -> End {
        match self.form.end {
            Ending::CloseAfter => End::CloseAfter,
            Ending::CloseIdle => End::CloseIdle,
            _ if matches!(self.form.framing, Framing::Close) => End::CloseAfter,
            _ => End::Keep,
        }
    }

    fn comment(&self, event: &mut Vec<u8>, word: &str) {
        for part in [": ", word, self.form.line, self.form.line] {
            event.extend_from_slice(part.as_bytes());
        }
    }

    /// An event with one choice.
    fn chunk(&mut self, event: &mut Vec<u8>, piece: impl FnOnce(&Self, &mut Vec<u8>), finish: Option<&str>) {
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

    fn frame(&self, event: &[u8], out: &mut Vec<u8>) {
        match self.form.framing {
            Framing::Chunked => push_chunk(out, event),
            Framing::Length | Framing::Close => out.extend_from_slice(event),
        }
    }

    /// Tokens `first..first + count`; gives the bytes of their text.
    fn piece(&self, json: &mut Vec<u8>, first: u32, count: u32) -> u32 {
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
    fn text_bytes(&self) -> u32 {
        (0..self.ask.tokens)
            .map(|k| if self.kind(k) == Pieces::Tool { plain_word(k) } else { word(k) }.text.len() as u32)
            .sum()
    }

    const fn empty_piece(&self, role: bool) -> &'static [u8] {
        match (self.ask.chat, role) {
            (true, true) => b"\"role\":\"assistant\",\"content\":\"\"",
            (true, false) => b"\"content\":\"\"",
            (false, _) => b"\"text\":\"\"",
        }
    }

    fn push_usage(&self, json: &mut Vec<u8>, tail: bool) {
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

    /// Bytes of the body, found by making it once for nobody.
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

/// Text between the quotes of JSON.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
