//! Every shape of answer, and what a right client must report of it.
//!
//! In:  a name.  Out: a [`Shape`]: one sentence, a [`Form`] that the server follows, an [`Expect`] that tests of a client walk.
//! Not here: bytes (see `job`), sockets (see `server`).
//!
//! Most of them are taken from faults of measuring clients: a role-only chunk taken for the first token, events split on LF LF alone,
//! comments fed to a JSON reader, an error object counted as a success. Adding one is one entry of [`SHAPES`], unless it does what
//! none does yet.

use crate::host::net::Ns;

/// What a right client reports of a shape, for a streamed request that asks for usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// Status word of the record (`ok`, `empty`, `stream-broken`, …).
    pub status: &'static str,
    /// How much of the answer's tokens arrive in the stream.
    pub tokens: Portion,
    /// Whether usage arrives.
    pub usage: bool,
    /// Whether `[DONE]` arrives.
    pub done: bool,
    /// Code of the status line; absent where there is none.
    pub http: Option<u16>,
}

/// Part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    /// Every token.
    All,
    /// Those before the fault: `Settings::after`, else half of the answer, at least one.
    BeforeFault,
    /// None.
    Nothing,
}

impl Portion {
    /// Word in the table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::BeforeFault => "before the fault",
            Self::Nothing => "none",
        }
    }
}

/// A name and what is behind it.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Word on the command line, in `x-mock-shape`, in the body.
    pub name: &'static str,
    /// What is special about it: one sentence.
    pub what: &'static str,
    /// What a right client says.
    pub expect: Expect,
    /// How it is made.
    pub form: Form,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// How an answer is made.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// What comes back at all.
    pub reply: Reply,
    /// What the tokens are.
    pub pieces: Pieces,
    /// Tokens in a chunk; absent as the settings say.
    pub tokens_per_chunk: Option<u32>,
    /// A chunk with the role alone, [`ROLE_NS`] after the request.
    pub role_first: bool,
    /// The finish reason in a chunk of its own, without text.
    pub finish_apart: bool,
    /// The usage at the end.
    pub usage: When,
    /// How the body's end is told.
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

/// What comes back at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// An answer.
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

/// What the tokens are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pieces {
    /// Content.
    Content,
    /// Reasoning, then content.
    Reasoning,
    /// Reasoning alone: nothing that a user sees.
    ReasoningOnly,
    /// A call of a tool.
    Tool,
    /// A third each of reasoning, content and a call of a tool.
    Mixed,
    /// A refusal.
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

/// How the body's end is told.
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
    /// None.
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
    /// An error object after some tokens; then `[DONE]`, or just the end of the body.
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
    /// As [`Ending::Done`]; then the server closes the connection, of which it has said nothing.
    CloseAfter,
    /// As [`Ending::CloseAfter`], a while later ([`IDLE_NS`]).
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

const PLAIN: Form = Form {
    reply: Reply::Answer,
    pieces: Pieces::Content,
    tokens_per_chunk: None,
    role_first: false,
    finish_apart: false,
    usage: When::Asked,
    framing: Framing::Chunked,
    line: "\n",
    extras: Extras::None,
    cut: Cut::Whole,
    end: Ending::Done,
};

const OK: Expect = Expect { status: "ok", tokens: Portion::All, usage: true, done: true, http: Some(200) };
const BROKEN: Expect =
    Expect { status: "stream-broken", tokens: Portion::BeforeFault, usage: false, done: false, http: Some(200) };
const EMPTY: Expect = Expect { status: "empty", tokens: Portion::Nothing, usage: false, done: false, http: Some(200) };

const fn refused(code: u16) -> Expect {
    Expect { status: "http", tokens: Portion::Nothing, usage: false, done: false, http: Some(code) }
}

const fn shape(name: &'static str, what: &'static str, expect: Expect, form: Form) -> Shape {
    Shape { name, what, expect, form }
}

/// All of them; the plain one is first.
pub static SHAPES: &[Shape] = &[
    shape("plain", "A token an event, as vLLM sends them.", OK, PLAIN),
    shape(
        "role-first",
        "A chunk with the role alone comes 1 ms after the request, long before the first token.",
        OK,
        Form { role_first: true, ..PLAIN },
    ),
    shape(
        "reasoning-first",
        "The first part of the answer is reasoning, which is generated text as well.",
        OK,
        Form { pieces: Pieces::Reasoning, role_first: true, ..PLAIN },
    ),
    shape(
        "reasoning-only",
        "The whole answer is reasoning: tokens, but none that a user sees.",
        OK,
        Form { pieces: Pieces::ReasoningOnly, ..PLAIN },
    ),
    shape("tool-call", "The answer is a call of a tool, in pieces.", OK, Form { pieces: Pieces::Tool, ..PLAIN }),
    shape(
        "mixed",
        "Reasoning, then content, then a call of a tool.",
        OK,
        Form { pieces: Pieces::Mixed, role_first: true, ..PLAIN },
    ),
    shape("refusal", "The answer is a refusal.", OK, Form { pieces: Pieces::Refusal, ..PLAIN }),
    shape("multi-token", "Four tokens an event.", OK, Form { tokens_per_chunk: Some(4), ..PLAIN }),
    shape(
        "finish-apart",
        "The finish reason comes in an event of its own, with an empty text.",
        OK,
        Form { finish_apart: true, role_first: true, ..PLAIN },
    ),
    shape(
        "usage-tail",
        "An event with the usage and no choices ends the stream, whether asked for or not.",
        OK,
        Form { usage: When::Always, ..PLAIN },
    ),
    shape(
        "no-usage",
        "No usage, although it was asked for.",
        Expect { usage: false, ..OK },
        Form { usage: When::Never, ..PLAIN },
    ),
    shape("split", "Events are cut into writes at drawn places.", OK, Form { cut: Cut::Random, ..PLAIN }),
    shape("split-bytes", "Every byte is a write of its own.", OK, Form { cut: Cut::Bytes, ..PLAIN }),
    shape("split-utf8", "Events are cut within a character of several bytes.", OK, Form { cut: Cut::Utf8, ..PLAIN }),
    shape(
        "split-middle",
        "Each write holds the second half of an event and the first half of the next.",
        OK,
        Form { cut: Cut::Middle, ..PLAIN },
    ),
    shape("crlf", "Lines of the event stream end with CR LF.", OK, Form { line: "\r\n", ..PLAIN }),
    shape("cr", "Lines of the event stream end with CR alone.", OK, Form { line: "\r", ..PLAIN }),
    shape(
        "split-crlf",
        "Lines end with CR LF, and events are cut at drawn places.",
        OK,
        Form { line: "\r\n", cut: Cut::Random, ..PLAIN },
    ),
    shape(
        "comments",
        "Comment lines before, between and after the events.",
        OK,
        Form { extras: Extras::Comments, ..PLAIN },
    ),
    shape(
        "keepalive-comments",
        "Comment lines while the prompt is read, until the first token.",
        OK,
        Form { extras: Extras::KeepAlive, ..PLAIN },
    ),
    shape(
        "fields",
        "Fields `event`, `id` and `retry` beside `data`, no space after the colon, and the JSON over two `data` lines.",
        OK,
        Form { extras: Extras::Fields, ..PLAIN },
    ),
    shape(
        "error-in-stream",
        "An error object after some tokens, then [DONE].",
        Expect { status: "error-in-stream", done: true, ..BROKEN },
        Form { end: Ending::Error { done: true }, ..PLAIN },
    ),
    shape(
        "error-at-end",
        "An error object after some tokens, then the end of the body.",
        Expect { status: "error-in-stream", ..BROKEN },
        Form { end: Ending::Error { done: false }, ..PLAIN },
    ),
    shape(
        "no-done",
        "The body ends in order with a finish reason, but without [DONE].",
        Expect { done: false, ..OK },
        Form { end: Ending::NoDone, ..PLAIN },
    ),
    shape(
        "no-finish",
        "[DONE] comes, but no finish reason before it: the server has said that the answer is whole.",
        OK,
        Form { end: Ending::NoFinish, ..PLAIN },
    ),
    shape(
        "cut",
        "The body ends in order in the middle of the answer, without finish reason and [DONE].",
        BROKEN,
        Form { end: Ending::Cut, ..PLAIN },
    ),
    shape(
        "truncated",
        "The connection is closed in the middle of the answer.",
        BROKEN,
        Form { end: Ending::Truncated, ..PLAIN },
    ),
    shape(
        "reset",
        "The connection is reset in the middle of the answer.",
        BROKEN,
        Form { end: Ending::Reset, ..PLAIN },
    ),
    shape(
        "stall",
        "Nothing more comes after some tokens, and the connection stays open.",
        Expect { status: "timeout", ..BROKEN },
        Form { end: Ending::Stall, ..PLAIN },
    ),
    shape("http-401", "Status 401: a key is wanted.", refused(401), Form { reply: Reply::Status(401), ..PLAIN }),
    shape("http-429", "Status 429 with Retry-After.", refused(429), Form { reply: Reply::Status(429), ..PLAIN }),
    shape("http-500", "Status 500 with an error object.", refused(500), Form { reply: Reply::Status(500), ..PLAIN }),
    shape("http-503", "Status 503 with Retry-After.", refused(503), Form { reply: Reply::Status(503), ..PLAIN }),
    shape(
        "redirect",
        "Status 307 with Location: a client that measures does not follow.",
        refused(307),
        Form { reply: Reply::Status(307), ..PLAIN },
    ),
    shape(
        "html",
        "Status 200 and a page of HTML.",
        Expect { status: "malformed", ..EMPTY },
        Form { reply: Reply::Html, ..PLAIN },
    ),
    shape(
        "not-streamed",
        "Status 200 and the answer as JSON, although a stream was asked for.",
        Expect { status: "malformed", ..EMPTY },
        Form { reply: Reply::Json, ..PLAIN },
    ),
    shape(
        "empty-200",
        "Status 200 and an event stream without an event.",
        EMPTY,
        Form { reply: Reply::Empty, ..PLAIN },
    ),
    shape(
        "only-role",
        "An event stream with the role alone, a finish reason and [DONE].",
        Expect { done: true, usage: true, ..EMPTY },
        Form { reply: Reply::OnlyRole, ..PLAIN },
    ),
    shape(
        "only-usage",
        "An event stream with the usage alone and [DONE].",
        Expect { done: true, usage: true, ..EMPTY },
        Form { reply: Reply::OnlyUsage, ..PLAIN },
    ),
    shape(
        "huge-line",
        "One line of the event stream that never ends, as fast as the client reads.",
        Expect { status: "malformed", ..EMPTY },
        Form { reply: Reply::HugeLine, ..PLAIN },
    ),
    shape(
        "never",
        "The request is read and never answered.",
        Expect { status: "timeout", http: None, ..EMPTY },
        Form { reply: Reply::Never, ..PLAIN },
    ),
    shape(
        "close-at-once",
        "The connection is closed without a byte of answer.",
        Expect { status: "stream-broken", http: None, ..EMPTY },
        Form { reply: Reply::Close, ..PLAIN },
    ),
    shape("slow-headers", "The head comes line by line, 2 ms apart.", OK, Form { reply: Reply::SlowHead, ..PLAIN }),
    shape(
        "unchunked",
        "The body has a Content-Length, and its events come at their times.",
        OK,
        Form { framing: Framing::Length, ..PLAIN },
    ),
    shape("until-close", "The body ends with the connection.", OK, Form { framing: Framing::Close, ..PLAIN }),
    shape(
        "close-after",
        "The server closes the connection after the answer, and has not said so.",
        OK,
        Form { end: Ending::CloseAfter, ..PLAIN },
    ),
    shape(
        "close-idle",
        "The server closes the connection 20 ms after the answer, and has not said so.",
        OK,
        Form { end: Ending::CloseIdle, ..PLAIN },
    ),
];

/// The shape without anything special.
pub fn plain() -> &'static Shape {
    &SHAPES[0]
}

/// The shape of a name.
pub fn find(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

/// All of them as a table for people.
pub fn table() -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for Shape { name, what, expect, .. } in SHAPES {
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        let http = expect.http.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let _ = writeln!(
            text,
            "{name}\n    {what}\n    right: status {}, tokens {}, usage {}, [DONE] {}, HTTP {http}",
            expect.status,
            expect.tokens.word(),
            yes(expect.usage),
            yes(expect.done),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_a_name_of_its_own_and_a_sentence() {
        for (place, shape) in SHAPES.iter().enumerate() {
            assert!(SHAPES[..place].iter().all(|other| other.name != shape.name), "{} twice", shape.name);
            assert!(shape.what.ends_with('.'), "{}", shape.name);
            assert_eq!(find(shape.name), Some(shape));
            assert!(table().contains(shape.what));
        }
        assert_eq!(plain().name, "plain");
        assert_eq!(find("no such shape"), None);
    }
}
