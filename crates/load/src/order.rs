//! The types between the parts: an [`Order`] to send, and its [`Chunk`]s and [`Record`].
//!
//! In:  nothing.  Out: plain values and two traits.
//! Not here: any logic.
//!
//! Every moment is [`Ns`] on the monotonic clock of the machine. The files written from it count from the start of the load.

use serde::Serialize;
use sparkbench_host::net::{Ns, Stamp};

/// Part of a load that a request belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Asked before the load to learn something (tokens of a prompt, which lengths the server honours). Enters nothing.
    Probe,
    /// Fills the server's cache, where the cache contract is `primed`. Enters nothing.
    Prime,
    /// Before the measured window, with prompts of its own. Enters nothing.
    Warmup,
    #[default]
    Measured,
}

/// Lengths that were asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Input tokens that the plan wants.
    pub isl: Option<u32>,
    /// Input tokens of what is really sent, counted by a local tokenizer, without the server's template.
    pub isl_sent: Option<u32>,
    /// Output tokens that the plan wants. `max_tokens` of the request.
    pub osl: Option<u32>,
    /// Whether the request asks for exactly `osl` tokens (see `settings::Exact`). An answer that is shorter is then [`Status::Short`].
    pub exact: bool,
}

/// Place of a request in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnPlace {
    /// Number of the conversation.
    pub conversation: u32,
    /// Number of the user's turn, from 0.
    pub turn: u32,
    /// Client that holds it.
    pub client: u32,
}

/// A request that is ready to be sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Order {
    /// Place in the plan, from 0. Unique within a load.
    pub index: u64,
    /// Its part of the load.
    pub phase: Phase,
    /// When the schedule wants it sent. Absent in a closed loop, where it is due when a place comes free.
    pub intended: Option<Ns>,
    /// The JSON body.
    pub body: Vec<u8>,
    /// Value of `x-request-id`.
    pub request_id: String,
    /// Lengths asked for.
    pub asked: Asked,
    /// Whether the answer's text is needed (conversations, audit).
    pub keep_text: bool,
    /// Its place in a conversation.
    pub turn: Option<TurnPlace>,
}

/// Next step of a [`Source`].
#[derive(Debug)]
pub enum Next {
    /// This, now.
    Send(Box<Order>),
    /// Nothing before this moment.
    At(Ns),
    /// Nothing before a request ends or the poller is woken.
    Wait,
    /// Nothing any more: the load ends with the requests in flight.
    Done,
}

/// Says what is sent when. Called on the engine's thread: no call may take long or wait.
pub trait Source {
    /// Asked again and again, until it does not say [`Next::Send`]. `in_flight` are requests sent and not ended.
    fn next(&mut self, now: Ns, in_flight: usize) -> Next;
    /// A request ended. `text` is the answer where [`Order::keep_text`] asked for it.
    fn ended(&mut self, now: Ns, record: &Record, text: Option<Vec<u8>>);
}

/// Says when a part of a load begins, where several clients make one load. Asked on the engine's thread.
pub trait Gate: Send {
    /// Everything before `phase` is over here. Gives the moment at which all clients begin it. Nothing while that is not known, and the
    /// poller is woken when it is.
    fn pass(&mut self, phase: Phase) -> Option<Ns>;
}

/// Takes what was seen. Called on the engine's thread: no call may take long or wait.
pub trait Sink {
    /// Chunks of a request in order. `first` is the number of the first of them. A long answer comes in several parts.
    fn chunks(&mut self, index: u64, first: u32, chunks: &[Chunk]);
    /// A request ended. Its chunks have been given before.
    fn ended(&mut self, record: Record);
}

/// Content of an event of the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ChunkKind {
    /// Neither text nor anything below: a role alone, an empty delta.
    #[default]
    Empty = 0,
    /// Text that a user sees.
    Content = 1,
    /// Text of the model's reasoning (`reasoning` or `reasoning_content`).
    Reasoning = 2,
    /// Part of a call of a tool.
    Tool = 3,
    /// The usage alone.
    Usage = 4,
    /// A refusal of the model (`refusal`).
    Refusal = 5,
    /// A text that is there and empty: what an engine sends for a token that shows nothing, such as half a character.
    Silent = 6,
    /// No text, and the reason why the answer ended. It may stand for the token that ended it.
    Closing = 7,
    /// Text in a field that is not known, and none in those that are.
    Unread = 8,
    /// Nothing at all where a piece would be: `{}`, or `null` for a text. It may stand for a token, or keep the connection alive.
    Bare = 9,
}

impl ChunkKind {
    /// Whether the model generated what it carries.
    pub const fn generated(self) -> bool {
        matches!(self, Self::Content | Self::Reasoning | Self::Tool | Self::Refusal)
    }

    /// The same in an answer whose chunks without text hold tokens as `hidden` says.
    pub const fn holds_tokens(self, hidden: Hidden) -> bool {
        match self {
            Self::Silent | Self::Unread => hidden.between(),
            Self::Closing => matches!(hidden, Hidden::All | Hidden::Ending | Hidden::BareAll),
            Self::Bare => matches!(hidden, Hidden::Bare | Hidden::BareAll),
            _ => self.generated(),
        }
    }
}

/// Which chunks without text of an answer hold tokens.
///
/// A server counts the tokens of an answer and says nothing about each chunk. A chunk without text is taken for one of tokens where the
/// count has room for it: each chunk holds at least one. A [`ChunkKind::Bare`] chunk often is a filler. There have to be several, and the
/// count has to be that of one token for each chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Hidden {
    /// None: they are fillers, or absent.
    #[default]
    None = 0,
    /// Those before the end ([`ChunkKind::Silent`], [`ChunkKind::Unread`]).
    Between = 1,
    /// The one that ends the answer too ([`ChunkKind::Closing`]).
    All = 2,
    /// The one that ends the answer, and there are no others.
    Ending = 3,
    /// Those before the end, [`ChunkKind::Bare`] ones too.
    Bare = 4,
    /// All that there are.
    BareAll = 5,
}

impl Hidden {
    /// Whether tokens without visible text came before the end.
    pub const fn between(self) -> bool {
        matches!(self, Self::Between | Self::All | Self::Bare | Self::BareAll)
    }
}

/// Why times of tokens of an answer are not what they seem.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Doubt {
    /// There is nothing to say.
    #[default]
    None = 0,
    /// Text came in a field that is not known, and nobody counted the tokens.
    Unread = 1,
    /// [`ChunkKind::Bare`] chunks came, and the count of tokens does not tell whether they are tokens.
    Bare = 2,
    /// The server counts reasoning that it did not send.
    Unsent = 3,
    /// The first piece holds many tokens, as many as the count and its text say.
    First = 4,
    /// The first piece holds much more text than the others, and its tokens are not known.
    Long = 5,
    /// The server counts reasoning, no piece of it came, and the others may hold it: each holds several tokens, of one kind or the other.
    Unplaced = 6,
}

impl Doubt {
    /// By its number.
    pub const ALL: [Self; 7] =
        [Self::None, Self::Unread, Self::Bare, Self::Unsent, Self::First, Self::Long, Self::Unplaced];
}

/// One event of the stream. Events that arrive together share a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chunk {
    /// When its last byte arrived: the kernel's time, else ours.
    pub at: Ns,
    /// How much later we had read it. 0 without a stamp of the kernel. Saturates at four seconds.
    pub lag_ns: u32,
    /// Bytes of the event in the stream, with its line ends.
    pub bytes: u32,
    /// Bytes of generated text in it.
    pub text: u32,
    /// Tokens in it, where the server counts along (`continuous_usage_stats`, `token_ids`). 0 is not known.
    pub tokens: u16,
    /// Its content.
    pub kind: ChunkKind,
}

/// Counts that the server reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// `prompt_tokens`.
    pub input: Option<u32>,
    /// `completion_tokens`.
    pub output: Option<u32>,
    /// `prompt_tokens_details.cached_tokens`.
    pub cached: Option<u32>,
    /// `completion_tokens_details.reasoning_tokens`.
    pub reasoning: Option<u32>,
}

/// What ended a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// Everything that was planned was sent.
    #[default]
    Plan,
    /// Its time was over.
    Duration,
    /// A figure was known as well as was asked for.
    Until,
    /// Too many requests in a row failed.
    MaxErrors,
    /// Somebody stopped it.
    Stopped,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Answered to its end.
    #[default]
    Ok,
    /// Answered, with fewer tokens than were asked for by an exact request. It enters the latencies and is counted apart.
    Short,
    /// No connection.
    Connect,
    /// The certificate or the handshake of TLS failed.
    Tls,
    /// No answer within the limit.
    Timeout,
    /// A status that is not 200.
    Http,
    /// The connection ended before the answer did.
    Broken,
    /// The answer was not HTTP, not an event stream, not JSON, longer than an event may be, or not the request's.
    Malformed,
    /// The server put an error object into the stream, or ended the answer with a reason such as `abort` or `content_filter`.
    InStream,
    /// Status 200 and not one generated token.
    Empty,
    /// The load ended before the answer did (Ctrl-C, time bound).
    Cancelled,
    /// Its time came, and it was never sent (time bound, cap).
    NotSent,
}

impl Status {
    /// Word in `requests.jsonl` and in the counts of a summary.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Short => "short",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Http => "http",
            Self::Broken => "stream-broken",
            Self::Malformed => "malformed",
            Self::InStream => "error-in-stream",
            Self::Empty => "empty",
            Self::Cancelled => "cancelled",
            Self::NotSent => "not-sent",
        }
    }

    /// Whether its times enter latencies.
    pub const fn answered(self) -> bool {
        matches!(self, Self::Ok | Self::Short)
    }
}

/// Why a request was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendCause {
    /// Status 429.
    TooMany,
    /// Status 503.
    Unavailable,
    /// No connection came about.
    NoConnection,
    /// A kept connection ended without a byte of answer.
    Broken,
    /// An answer came in its place that nobody had asked for.
    Unasked,
}

impl ResendCause {
    /// Each, by its place.
    pub const ALL: [Self; 5] = [Self::TooMany, Self::Unavailable, Self::NoConnection, Self::Broken, Self::Unasked];

    /// In the counts of a summary.
    pub const fn word(self) -> &'static str {
        match self {
            Self::TooMany => "status 429",
            Self::Unavailable => "status 503",
            Self::NoConnection => "no connection",
            Self::Broken => "the connection broke",
            Self::Unasked => "an answer that nobody asked for",
        }
    }
}

/// Outcome of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// [`Order::index`].
    pub index: u64,
    /// [`Order::phase`].
    pub phase: Phase,
    /// [`Order::turn`].
    pub turn: Option<TurnPlace>,
    /// [`Order::request_id`].
    pub request_id: String,
    /// [`Order::asked`].
    pub asked: Asked,
    /// When the schedule wanted it sent. In a closed loop absent.
    pub intended: Option<Ns>,
    /// Just before the first byte was sent, or, without an idle connection, before connecting.
    pub sent: Option<Ns>,
    /// When the connection was there, where one had to be made for it.
    pub connected: Option<Ns>,
    /// Just after its last byte was handed to the kernel.
    pub written: Option<Ns>,
    /// First byte of the response.
    pub first_byte: Option<Stamp>,
    /// Last byte of the response's head.
    pub headers: Option<Stamp>,
    /// First event of the stream with a `choices` entry, whatever it carried: what some tools call the first token.
    pub first_event: Option<Stamp>,
    /// First generated piece: reasoning, content, part of a call, or tokens without text (see [`Hidden`]). TTFT ends here.
    pub first_token: Option<Stamp>,
    /// First piece of reasoning.
    pub first_reasoning: Option<Stamp>,
    /// First piece that a user sees.
    pub first_content: Option<Stamp>,
    /// Second generated piece.
    pub second_token: Option<Stamp>,
    /// Last generated piece. E2E latency ends here.
    pub last_token: Option<Stamp>,
    /// End of the response: last byte of the body, or the end of the connection.
    pub end: Option<Stamp>,
    /// Events of the stream, comments and `[DONE]` not counted.
    pub events: u32,
    /// Events with a generated piece.
    pub pieces: u32,
    /// Of these without text.
    pub silent: u32,
    /// Which events without text are among the pieces.
    pub hidden: Hidden,
    /// Tokens up to and with the first generated piece, where the server counts along or its count and the pieces tell.
    pub first_tokens: Option<u32>,
    /// Bytes of the text of the first piece that has one.
    pub first_text: u32,
    /// Why its times are not what they seem.
    pub doubt: Doubt,
    /// Bytes of the body.
    pub bytes: u64,
    /// Bytes of generated text.
    pub text_bytes: u64,
    /// Whether `[DONE]` came.
    pub done: bool,
    /// Counts of the server.
    pub usage: Usage,
    /// `finish_reason` as given.
    pub finish: Option<String>,
    /// The model that the response names.
    pub model: Option<String>,
    /// Status line's code, where there was one.
    pub http: Option<u16>,
    /// `Retry-After` as given.
    pub retry_after: Option<String>,
    /// Its connection had answered requests before.
    pub reused: bool,
    /// Times it was sent again: on a reused connection that the server had closed without a byte of answer, or by `--retries`.
    pub resent: u32,
    /// The same by cause, in the order of [`ResendCause::ALL`].
    pub resends: [u32; ResendCause::ALL.len()],
    /// How it ended.
    pub status: Status,
    /// Message of the server or the system about a failure: one line, bounded, secrets removed.
    pub error: Option<String>,
}

impl Record {
    /// When its latency begins by the house's definition: intended in an open loop, sent in a closed one.
    pub fn start(&self) -> Option<Ns> {
        self.intended.or(self.sent)
    }
}
