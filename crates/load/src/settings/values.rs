//! The settings of a load as plain values, the same from a command line and from a suite.
//!
//! In:  nothing.  Out: [`Settings`] and its parts, with their defaults.
//! Not here: reading them (see `cli::load` and `load::suite`), checking them against a server (see `session`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::until::Until;

/// Which route of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    #[default]
    Chat,
    /// `/v1/completions`.
    Completions,
}

impl Endpoint {
    /// Word on the command line and in suites.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
        }
    }

    /// Path below the base address.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }
}

/// How gaps between requests are drawn in an open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrival {
    /// Equal gaps.
    Constant,
    /// Exponential gaps.
    Poisson,
    /// Gamma-distributed gaps of this shape: 1 is Poisson, below it comes in bursts, above it is smoother.
    Gamma(f64),
}

/// When requests are sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Closed loop: a fixed number in flight. The next is sent when one ends.
    Closed {
        /// Requests at any time.
        concurrency: u32,
    },
    /// Open loop: they are sent when their time has come, whatever the server does.
    Open {
        /// Requests per second.
        rate: f64,
        /// Gaps.
        arrival: Arrival,
        /// Limit in flight at any time. Delayed requests keep their scheduled time.
        max_concurrency: Option<u32>,
    },
    /// Open loop at the times of a recorded trace.
    Trace {
        /// JSON lines with `timestamp` (ms), `input_length`, `output_length`, `hash_ids` (Mooncake).
        path: PathBuf,
        /// Times faster than recorded.
        speed: f64,
        /// As above.
        max_concurrency: Option<u32>,
    },
}

/// Growth to the full load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ramp {
    /// Rate or concurrency at the start.
    pub from: f64,
    /// Until the full load, seconds.
    pub over_s: f64,
    /// By equal factors instead of equal steps.
    pub exponential: bool,
}

/// A distribution of lengths or counts. Drawn values are rounded and kept within 1 and the stated greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lengths {
    /// Always this.
    Fixed(u32),
    /// Every whole number from the first to the second, equally likely.
    Uniform(u32, u32),
    /// Mean, standard deviation, least, greatest.
    Normal(f64, f64, u32, u32),
    /// Mean and standard deviation of the lengths themselves (not of their logarithms), least, greatest.
    LogNormal(f64, f64, u32, u32),
    /// Exponent, greatest: rank k has weight k^-exponent.
    Zipf(f64, u32),
}

/// Cache contract: the part of a prompt that the server's prefix cache may hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cache {
    /// Nothing: every prompt begins with a nonce of the run and of the request.
    #[default]
    Cold,
    /// Everything: every prompt of the measured part is sent once before.
    Primed,
    /// Whatever it knows. Nothing is promised.
    Natural,
}

/// How an exact output length is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Exact {
    /// Options that the server honours, found by a probe: `ignore_eos` with `min_tokens`, `min_new_tokens`.
    #[default]
    Auto,
    /// `ignore_eos` and `min_tokens`.
    MinTokens,
    /// `ignore_eos` and `min_new_tokens`.
    MinNewTokens,
    /// `ignore_eos` alone.
    IgnoreEos,
    /// `max_tokens` alone: answers may be shorter.
    Off,
}

/// Prefixes that prompts share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prefix {
    /// Tokens at the head of each prompt that are shared. Part of the ISL.
    pub tokens: u32,
    /// Different prefixes, dealt in turn. At least 1.
    pub groups: u32,
}

/// The requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Made text of given lengths.
    Synthetic {
        /// Input tokens.
        isl: Lengths,
        /// Output tokens.
        osl: Lengths,
        /// Shared heads.
        prefix: Prefix,
    },
    /// Prompts of a file. A line is a JSON object or a text. An object has `prompt` or `messages`, and optionally `output_tokens` or
    /// `max_tokens`. The file may also be a list of conversations (ShareGPT), each of which gives its first question.
    Prompts {
        /// The file.
        path: PathBuf,
        /// Output tokens where the file names none. Absent is [`Lengths::PLAIN`], and the length of the recorded answer for conversations.
        osl: Option<Lengths>,
    },
    /// Conversations with the live answers carried over.
    Conversations(Box<Conversations>),
}

/// Which conversation a client continues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sampling {
    /// In turn.
    #[default]
    RoundRobin,
    /// Any of the active ones, by the seed.
    Random,
}

/// Where conversations come from.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversationInput {
    /// ShareGPT-like JSON: a list of `{ "id", "messages": [{ "role", "content" }] }` or `{ "id", "conversations": [{ "from", "value" }] }`.
    File(PathBuf),
    /// A generation file (`filetype: generate_conversations`), with the text files it names.
    Generate(PathBuf),
    /// Text files that are cut into turns.
    Texts(Vec<PathBuf>),
    /// Made text.
    Synthetic,
}

/// Multi-turn chat.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversations {
    /// Where they come from.
    pub input: ConversationInput,
    /// `num-clients`: clients, each of which waits for its answer before its next turn.
    pub clients: u32,
    /// `max-active-conversations`: over all clients. Absent is three for each client.
    pub max_active: Option<u32>,
    /// Number of conversations in total. For a file it is a limit.
    pub count: Option<u32>,
    /// `request-rate` of each client, per second, with exponential gaps. Absent sends the next turn at once.
    pub request_rate: Option<f64>,
    /// `max-num-requests`: over all clients.
    pub max_requests: Option<u64>,
    /// `max-turns`: longer conversations are cut. User's and assistant's turns both count.
    pub max_turns: Option<u32>,
    /// `warmup-step`: the first turn of every conversation is a warm-up of its own.
    pub warmup_step: bool,
    /// `limit-min-tokens`: absent is the length of the input's own answer, 0 is no limit.
    pub min_tokens: Option<u32>,
    /// `limit-max-tokens`: absent is the length of the input's own answer, 0 is no limit.
    pub max_tokens: Option<u32>,
    /// `conversation-sampling`.
    pub sampling: Sampling,
    /// `print-content`.
    pub print_content: bool,
    /// End the load when the first client has no conversation left, as the known script does without `no-early-stop`.
    pub early_stop: bool,
    /// Carry the recorded answers over instead of the live ones.
    pub recorded_answers: bool,
    /// Turns (user's alone), where they are made.
    pub turns: Lengths,
    /// Tokens of each user's turn, where they are made.
    pub isl: Lengths,
    /// Tokens of each answer, where they are made.
    pub osl: Lengths,
    /// Tokens at the head that all conversations share, where they are made.
    pub common_prefix: Lengths,
    /// Tokens at the head of each conversation, where they are made.
    pub own_prefix: Lengths,
}

/// Limits that a request must meet to count as good. Goodput is never printed without them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Slos {
    /// TTFT at most, ms.
    pub ttft_ms: Option<f64>,
    /// TPOT at most, ms.
    pub tpot_ms: Option<f64>,
    /// E2E latency at most, ms.
    pub e2e_ms: Option<f64>,
}

/// Which part of the plan this client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Number of this client, from 0.
    pub rank: u32,
    /// Clients in all.
    pub world: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { rank: 0, world: 1 }
    }
}

impl Share {
    /// This client's share of a number, so that all shares add up exactly.
    pub const fn of(self, whole: u32) -> u32 {
        whole / self.world + (self.rank < whole % self.world) as u32
    }

    /// How many of the first entries of a plan belong to this client.
    pub const fn first(self, entries: u64) -> u64 {
        let (rank, world) = (self.rank as u64, self.world as u64);
        entries / world + (rank < entries % world) as u64
    }
}

/// One load: one cell of one plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Route.
    pub endpoint: Endpoint,
    /// Model to ask for. Absent is the one that the server lists.
    pub model: Option<String>,
    /// When.
    pub shape: Shape,
    /// Growth to it.
    pub ramp: Option<Ramp>,
    /// What.
    pub work: Work,
    /// Measured requests. Absent with a time bound, or by the file.
    pub requests: Option<u64>,
    /// Measured time, seconds. What would come due after it is not sent.
    pub duration_s: Option<f64>,
    /// End when a figure is known so well. The bounds above still hold.
    pub until: Option<Until>,
    /// Seconds that requests in flight may take beyond a time bound. Then they are cancelled.
    pub drain_s: f64,
    /// Warm-up requests, with prompts of their own.
    pub warmup: u64,
    /// Cut off the measured part's end for steady figures, seconds.
    pub cooldown_cut_s: f64,
    /// Seed of everything drawn.
    pub seed: u64,
    /// Sets the nonces of a cold cache apart from those of earlier loads against the same server. Same plan, other nonces.
    pub nonce: u64,
    /// Time limit of a request, seconds.
    pub timeout_s: f64,
    /// Times a request is sent again after 429, 503 or a failed connection. Shown in every count.
    pub retries: u32,
    /// Cache contract.
    pub cache: Cache,
    /// Exact output lengths.
    pub exact: Exact,
    /// Sampling temperature.
    pub temperature: f64,
    /// Further members of the body, as JSON. They win over ours.
    pub extra_body: BTreeMap<String, serde_json::Value>,
    /// Further headers. Values are never printed or archived.
    pub headers: BTreeMap<String, String>,
    /// Name of the variable that holds the key, where the server wants one.
    pub api_key_env: Option<String>,
    /// `tokenizer.json` for the local audit.
    pub tokenizer: Option<PathBuf>,
    /// Prompts as token ids (`completions` alone, with a tokenizer).
    pub token_ids: bool,
    /// Ask the server to count along in each chunk.
    pub continuous_usage: bool,
    /// Service-level objectives.
    pub slos: Slos,
    /// Part of the plan.
    pub share: Share,
    /// Do not check the certificate of TLS.
    pub insecure: bool,
    /// Certificate authorities of the server, PEM.
    pub ca_file: Option<PathBuf>,
}

impl Settings {
    /// Measured requests of this client's share, where they have a number.
    pub fn own_requests(&self) -> Option<u64> {
        let requests = self.requests?;
        // As the plan goes: warm-up, priming, measured part.
        let before = self.warmup + if self.cache == Cache::Primed { requests } else { 0 };
        Some(self.share.first(before + requests) - self.share.first(before))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::Chat,
            model: None,
            shape: Shape::Closed { concurrency: 1 },
            ramp: None,
            work: Work::Synthetic { isl: Lengths::Fixed(128), osl: Lengths::Fixed(128), prefix: Prefix::default() },
            requests: None,
            until: None,
            duration_s: None,
            drain_s: 30.0,
            warmup: 0,
            cooldown_cut_s: 0.0,
            seed: 42,
            nonce: 0,
            timeout_s: 600.0,
            retries: 0,
            cache: Cache::Cold,
            exact: Exact::Auto,
            temperature: 0.0,
            extra_body: BTreeMap::new(),
            headers: BTreeMap::new(),
            api_key_env: None,
            tokenizer: None,
            token_ids: false,
            continuous_usage: false,
            slos: Slos::default(),
            share: Share::default(),
            insecure: false,
            ca_file: None,
        }
    }
}

impl Default for Conversations {
    fn default() -> Self {
        Self {
            input: ConversationInput::Synthetic,
            clients: 1,
            max_active: None,
            count: None,
            request_rate: None,
            max_requests: None,
            max_turns: None,
            warmup_step: false,
            min_tokens: None,
            max_tokens: None,
            sampling: Sampling::RoundRobin,
            print_content: false,
            early_stop: false,
            recorded_answers: false,
            turns: Lengths::Fixed(4),
            isl: Lengths::Fixed(128),
            osl: Lengths::Fixed(128),
            common_prefix: Lengths::Fixed(0),
            own_prefix: Lengths::Fixed(0),
        }
    }
}
