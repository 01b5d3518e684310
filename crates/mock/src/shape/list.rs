//! The shapes, each with a name, a sentence and the report of a correct client.
//!
//! In:  nothing.  Out: [`SHAPES`].
//! Not here: what a part of a form does (see `form`).

use super::{Cut, Ending, Expect, Extras, Form, Framing, Pieces, Portion, Reply, Shape, When};

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

/// All of them. The plain one is first.
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
