//! The values of the settings of a load: choices with their words, and what several options make together.
//!
//! In:  nothing.  Out: the parts of the settings, with their defaults.
//! Not here: the options and the settings themselves (see `options`).

use std::path::PathBuf;

/// A choice of an option, with its words.
pub trait Word: Copy + PartialEq + 'static {
    /// Each value, its word in suites and archives, and what the help page says of it.
    const ALL: &'static [(Self, &'static str, &'static str)];

    /// Its word in suites and archives.
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(value, ..)| *value == self).map_or("", |(_, word, _)| word)
    }

    /// Its word on the command line.
    fn typed(self) -> &'static str {
        self.word()
    }

    /// The value of a word.
    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == word).map(|(value, ..)| *value)
    }
}

/// Which route of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    #[default]
    Chat,
    /// `/v1/completions`.
    Completions,
}

impl Word for Endpoint {
    const ALL: &'static [(Self, &'static str, &'static str)] =
        &[(Self::Chat, "chat", "/v1/chat/completions"), (Self::Completions, "completions", "/v1/completions")];
}

impl Endpoint {
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

/// Which of them, without its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gaps {
    /// Exponential.
    Poisson,
    /// Equal.
    Constant,
    /// Gamma-distributed.
    Gamma,
}

impl Word for Gaps {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Poisson, "poisson", "Exponential gaps"),
        (Self::Constant, "constant", "Equal gaps"),
        (Self::Gamma, "gamma", "Gamma gaps, see --burstiness"),
    ];
}

impl Arrival {
    /// Which of them.
    pub const fn gaps(self) -> Gaps {
        match self {
            Self::Constant => Gaps::Constant,
            Self::Poisson => Gaps::Poisson,
            Self::Gamma(_) => Gaps::Gamma,
        }
    }

    /// The shape of gamma gaps.
    pub const fn burstiness(self) -> Option<f64> {
        match self {
            Self::Gamma(shape) => Some(shape),
            Self::Constant | Self::Poisson => None,
        }
    }
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

impl Word for Cache {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Cold, "cold", "Empty for every prompt, which begins with a nonce"),
        (Self::Primed, "primed", "Filled: every prompt is sent once before"),
        (Self::Natural, "natural", "As it is"),
    ];
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

impl Word for Exact {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Auto, "auto", "Find out by a probe"),
        (Self::MinTokens, "min-tokens", "ignore_eos and min_tokens"),
        (Self::MinNewTokens, "min-new-tokens", "ignore_eos and min_new_tokens"),
        (Self::IgnoreEos, "ignore-eos", "ignore_eos alone"),
        (Self::Off, "off", "max_tokens alone: answers may be shorter"),
    ];
}

/// A set of cells to measure instead of one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// The field's lengths, at the settings' concurrency.
    Standard,
    /// These and longer ones.
    Extended,
    /// T1 to T6 of the published study.
    Tests,
    /// A row of concurrencies with the settings' lengths. To be ended at the first that the server refuses.
    Concurrencies,
}

impl Word for Preset {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Standard, "standard", "128/128, 256/256, 1024/1024, 1024/128, 128/1024"),
        (Self::Extended, "extended", "The standard ones and eleven longer ones, up to 65536 tokens"),
        (Self::Tests, "t1-t6", "T1 to T6: batch 1, 1, 1, 4, 16, 32"),
        (Self::Concurrencies, "concurrency", "Concurrency 1 to 128 by powers of two, until the server refuses"),
    ];

    fn typed(self) -> &'static str {
        if self == Self::Concurrencies { "concurrencies" } else { self.word() }
    }
}

/// A kind of prompts, under the names of other clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dataset {
    /// Texts drawn at random.
    Random,
    /// Recorded conversations of a file.
    ShareGpt,
}

impl Word for Dataset {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Random, "random", "Texts drawn at random"),
        (Self::ShareGpt, "sharegpt", "Recorded conversations of a file"),
    ];
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

impl Word for Sampling {
    const ALL: &'static [(Self, &'static str, &'static str)] =
        &[(Self::RoundRobin, "round_robin", "One after another"), (Self::Random, "random", "At random, by the seed")];
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
