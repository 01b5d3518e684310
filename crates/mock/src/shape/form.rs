//! Everything that sets one shape of answer apart from another.
//!
//! In:  nothing.  Out: [`Form`] and its parts, the pauses that go with some of them.
//! Not here: which forms have a name (see `list`), what a client should make of them (see [`super::Expect`]).

use sparkbench_host::net::Ns;

/// How an answer is made.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The kind of answer.
    pub reply: Reply,
    /// The kind of tokens.
    pub pieces: Pieces,
    /// Tokens in a chunk. Absent as the settings say.
    pub tokens_per_chunk: Option<u32>,
    /// A chunk with the role alone, [`ROLE_NS`] after the request.
    pub role_first: bool,
    /// The finish reason in a chunk of its own, without text.
    pub finish_apart: bool,
    /// The usage at the end.
    pub usage: When,
    /// How the end of the body is marked.
    pub framing: Framing,
    /// End of a line in the event stream.
    pub line: &'static str,
    /// Lines around and between events.
    pub extras: Extras,
    /// How events are cut into writes.
    pub cut: Cut,
    /// How it ends.
    pub end: Ending,
}

/// The kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Answer,
    /// Another status, at once.
    Status(u16),
    /// Status 200 and a page of HTML.
    Html,
    /// Status 200 and an empty event stream.
    Empty,
    /// An event stream with the role alone, then its end.
    OnlyRole,
    /// An event stream with the usage alone, then its end.
    OnlyUsage,
    /// JSON, although a stream was asked for.
    Json,
    /// The head comes line by line.
    SlowHead,
    /// One line without an end, until the client goes away.
    HugeLine,
    /// Nothing, ever.
    Never,
    /// The connection is closed without a byte.
    Close,
}

/// The kind of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pieces {
    Content,
    /// Reasoning, then content.
    Reasoning,
    /// Reasoning alone: nothing that a user sees.
    ReasoningOnly,
    /// A call of a tool.
    Tool,
    /// A third each of reasoning, content and a call of a tool.
    Mixed,
    Refusal,
}

/// When something is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// If the request asks.
    Asked,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

/// How the end of the body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `Transfer-Encoding: chunked`, an event a chunk.
    Chunked,
    /// `Content-Length`.
    Length,
    /// By the end of the connection, and `Connection: close`.
    Close,
}

/// Lines around and between events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extras {
    None,
    /// Comments before, between and after.
    Comments,
    /// Comments until the first token is due, four of them.
    KeepAlive,
    /// The fields `event`, `id` and `retry`, no space after the colon, and the JSON on two `data` lines.
    Fields,
}

/// How events are cut into writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Not at all.
    Whole,
    /// A byte a write.
    Bytes,
    /// At places drawn from the seed.
    Random,
    /// Within the first character that has more than one byte.
    Utf8,
    /// Two events in one write at a time, cut in the middle of the second.
    Middle,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// `[DONE]`, and the connection stays.
    Done,
    /// Without `[DONE]`.
    NoDone,
    /// Without a finish reason, but with `[DONE]` and an orderly end of the body.
    NoFinish,
    /// An error object after some tokens. Then `[DONE]`, or just the end of the body.
    Error {
        /// Whether `[DONE]` follows.
        done: bool,
    },
    /// The connection is closed after some tokens.
    Truncated,
    /// The body ends in order after some tokens, without finish reason and `[DONE]`.
    Cut,
    /// Nothing more after some tokens, for ever.
    Stall,
    /// A reset of the connection after some tokens.
    Reset,
    /// Like [`Ending::Done`]. Then the server closes the connection, of which it has said nothing.
    CloseAfter,
    /// Like [`Ending::CloseAfter`], a while later ([`IDLE_NS`]).
    CloseIdle,
}

/// When a role-only chunk comes, after the request.
pub const ROLE_NS: Ns = 1_000_000;
/// How long a connection stays open after an answer of the shape `close-idle`.
pub const IDLE_NS: Ns = 20_000_000;
/// Between two writes of one event: long enough for a reader that is awake to see them apart.
pub const CUT_NS: Ns = 30_000;
/// Between two lines of a slow head.
pub const HEAD_LINE_NS: Ns = 2_000_000;
