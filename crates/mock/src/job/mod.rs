//! An answer as a sequence of writes, each made when its time has come.
//!
//! In:  an [`Ask`], the moment it begins.  Out: [`Step`]s: bytes, the tokens in them, when the next is due.
//! Not here: sockets and the clock (see `server`).
//!
//! Nothing of an answer is made ahead. A step puts its event into a buffer that all answers share, from pieces formatted when the request
//! came. So ten thousand long answers hold no text, and a token costs some copies of short strings.
//!
//! ```text
//!           due (when, how many) ─┐
//! step ─▶ head ─▶ piece (JSON) ─▶ event (lines, chunk) ─▶ the buffer
//! ```

mod due;
mod event;
mod head;
mod piece;

use std::io::Write as _;

use sparkbench_host::net::Ns;

use super::ask::Ask;
use super::settings::ReasoningKey;
use super::shape::{Cut, Ending, Form, Framing, Pieces, Reply};

/// Bytes of an endless line in one write.
const HUGE_BYTES: usize = 64 << 10;

/// What the server is to do after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The next step, as soon as may be.
    Now,
    /// The next step, at this moment.
    At(Ns),
    /// It was the last.
    End(End),
}

/// What happens to the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
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
pub(super) struct Step {
    /// Tokens of the event. 0 where it carries none.
    pub tokens: u32,
    /// Bytes of generated text.
    pub text: u32,
    /// When it was due. Absent where it is due as soon as may be.
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
pub(super) struct Job {
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
pub(super) struct Setting<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// Where reasoning is put.
    pub key: ReasoningKey,
    /// Tokens in a chunk, where the shape does not say.
    pub tokens_per_chunk: u32,
    /// Tokens of reasoning. Absent is a third.
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
    pub(super) fn new(ask: Ask, id: &str, setting: Setting<'_>) -> Self {
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
    pub(super) fn begin(&mut self, begin: Ns, more_ttft: Ns, cached_tokens: u32) -> Next {
        (self.begin, self.ttft, self.cached_tokens) =
            (begin, self.ask.ttft_ns.saturating_add(more_ttft), cached_tokens);
        self.floor = begin;
        let late = matches!(self.form.reply, Reply::Json) || (self.ask.whole && self.form.reply == Reply::Answer);
        if late && self.timed() { Next::At(self.token_due(self.ask.tokens.saturating_sub(1))) } else { Next::Now }
    }

    /// The request.
    pub(super) const fn ask(&self) -> &Ask {
        &self.ask
    }

    /// How writes are cut.
    pub(super) const fn cut(&self) -> Cut {
        self.form.cut
    }

    /// The kind of answer.
    pub(super) const fn reply(&self) -> Reply {
        self.form.reply
    }

    /// Whether all steps are one write.
    pub(super) fn whole(&self) -> bool {
        self.ask.whole && self.form.reply == Reply::Answer
    }

    /// `stream`, `json` or `none`: see `Truth::mode`.
    pub(super) const fn mode(&self) -> &'static str {
        match self.form.reply {
            Reply::Json => "json",
            Reply::Status(_) | Reply::Html | Reply::Never | Reply::Close => "none",
            _ => "stream",
        }
    }

    /// Status code that it begins with.
    pub(super) const fn code(&self) -> Option<u16> {
        match self.form.reply {
            Reply::Status(code) => Some(code),
            Reply::Never | Reply::Close => None,
            _ => Some(200),
        }
    }

    /// Whether its tokens have due times.
    pub(super) const fn timed(&self) -> bool {
        self.ttft > 0 || self.ask.itl_ns > 0 || self.jitter > 0
    }

    /// A number from the seed.
    pub(super) fn draw(&mut self) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Puts the next bytes behind what is in `out`. `event` is a buffer for its own use.
    pub(super) fn step(&mut self, event: &mut Vec<u8>, out: &mut Vec<u8>) -> Step {
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
}

/// Text between the quotes of JSON.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
