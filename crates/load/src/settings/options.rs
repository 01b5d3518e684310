//! The one table of the options of a load: name, kind, range, default, help, and where each is written.
//!
//! In:  nothing.  Out: [`OPTIONS`], [`LoadOptions`] with a value for each, [`Settings`].
//! Not here: how an entry is read and written (see `entry`), how many requests they make (see `numbers`), options about the load's own files (see `cli::load`).
//!
//! An entry is `name: Kind(range) { attributes } "help" -> type in Settings = default`. What has no type in [`Settings`] is put together with
//! others there, such as `rate` and `arrival` in a [`Shape`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::entry::{
    BOUNDS, CLIENTS, CONNECTION, CONVERSATIONS, JUDGING, LOAD, OptionEntry, PROMPTS, ValueKind, kind, value, words,
};
use super::values::{
    Arrival, Cache, Conversations, Dataset, Endpoint, Exact, Gaps, Lengths, Prefix, Preset, Ramp, Sampling, Shape,
    Share, Slos, Word, Work,
};
use crate::until::Until;

/// Longest time that a load can be given, seconds: a week.
const WEEK: f64 = 7.0 * 86_400.0;
/// Most requests at any time: descriptors of a process end about there.
const PLACES: i64 = 1_000_000;
/// Limit of what is counted. More is a typing error.
const MANY: i64 = u32::MAX as i64;
/// Limit of rates and of limits in ms. More is a typing error.
const HUGE: f64 = 1e9;
/// Limit for warm-up passes. More are taken for a typing error.
const WARMUPS: i64 = 100;
/// Limit for sending a request again. More is a typing error.
const RETRIES: i64 = 1000;

/// Makes, of one list of entries: the table, the values that were given, the settings of a load.
macro_rules! options {
    ($($name:ident: $kind:ident $(<$choice:ty>)? $(($($bound:expr),+))? { $($attribute:ident: $said:expr),* } $help:literal
        $(-> $type:ty = $default:expr)?;)*) => {
        /// Every option of a load.
        pub const OPTIONS: &[LoadOption] = &[$(LoadOption {
            $($attribute: $said,)*
            ..LoadOption::new(stringify!($name), $help, kind!($name $kind $($choice)? $(($($bound),+))?))
        }),*];

        /// The options of a load as they were given. What was not given is absent.
        #[allow(rustdoc::broken_intra_doc_links, reason = "a help page has its defaults in square brackets")]
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct LoadOptions {
            $(#[doc = $help] pub $name: Option<value!($kind $($choice)?)>,)*
        }

        impl LoadOptions {
            /// Settings with the options that are settings of their own. The rest is the default.
            pub fn plain(&self) -> Settings {
                let mut settings = Settings::default();
                $($(
                    if let Some(value) = &self.$name {
                        settings.$name = <$type>::from(value.clone());
                    }
                )?)*
                settings
            }

            /// The settings that are options of their own.
            fn of_plain(settings: &Settings) -> Self {
                Self {
                    $($($name: <$type as Given<_>>::given(&settings.$name),)?)*
                    ..Self::default()
                }
            }
        }

        /// One load: one cell of one plan.
        #[allow(rustdoc::broken_intra_doc_links, reason = "a help page has its defaults in square brackets")]
        #[derive(Debug, Clone, PartialEq)]
        pub struct Settings {
            $($(#[doc = $help] pub $name: $type,)?)*
            /// When.
            pub shape: Shape,
            /// Growth to it.
            pub ramp: Option<Ramp>,
            /// What.
            pub work: Work,
            /// Requests before the measured part. Absent is the usual number of them, see [`Settings::warmups`].
            pub warmup: Option<u64>,
            /// End when a figure is known so well. The bounds still hold.
            pub until: Option<Until>,
            /// Sets the nonces of a cold cache apart from those of earlier loads against the same server. Same plan, other nonces.
            pub nonce: u64,
            /// Further members of the body, as JSON. They win over ours.
            pub extra_body: BTreeMap<String, serde_json::Value>,
            /// Further headers. Values are never printed or archived.
            pub headers: BTreeMap<String, String>,
            /// Service-level objectives.
            pub slos: Slos,
            /// Part of the plan.
            pub share: Share,
        }

        impl Default for Settings {
            fn default() -> Self {
                Self {
                    $($($name: $default,)?)*
                    shape: Shape::Closed { concurrency: 1 },
                    ramp: None,
                    work: Work::Synthetic { isl: Lengths::PLAIN, osl: Lengths::PLAIN, prefix: Prefix::default() },
                    warmup: Some(0),
                    until: None,
                    nonce: 0,
                    extra_body: BTreeMap::new(),
                    headers: BTreeMap::new(),
                    slos: Slos::default(),
                    share: Share::default(),
                }
            }
        }
    };
}

options! {
    model: Text { value: "NAME" } "Model to ask for [default: the one that /v1/models lists]" -> Option<String> = None;
    endpoint: Choice<Endpoint> { value: "ENDPOINT", default: "chat", summary: "endpoint" }
        "Endpoint of the server to send requests to" -> Endpoint = Endpoint::Chat;
    path: Text { value: "PATH", summary: "path" }
        "Path of that endpoint below the address, where it is not the usual one" -> Option<String> = None;

    concurrency: Counts { value: "N", group: LOAD, summary: "concurrency", conflicts: &["rate", "trace"] }
        "Closed loop: number of requests in flight. A list (1,2,4) or a range (1..128, by powers of two) is a sweep";
    rate: Rates { value: "R", group: LOAD, summary: "rate_req_s", conflicts: &["trace"] }
        "Open loop: requests per second, sent at their scheduled time. A list is a sweep";
    arrival: Choice<Gaps> { value: "ARRIVAL", group: LOAD, summary: "arrival" }
        "Distribution of the gaps between requests of an open loop [default: poisson]";
    burstiness: Number(0.001, 1000.0) { value: "SHAPE", group: LOAD, summary: "burstiness" }
        "Shape of gamma gaps. 1 is Poisson, less comes in bursts, more is smoother [default: 1]";
    max_concurrency: Small(1, PLACES) { value: "N", group: LOAD, summary: "max_concurrency" }
        "Open loop: maximum number of requests in flight. Delayed requests keep their scheduled time. Without a rate it is the same as \
         --concurrency";
    trace: File { value: "FILE", group: LOAD, summary: "trace" }
        "Replay the times and lengths of a trace (JSON lines: timestamp, input_length, output_length, hash_ids)";
    trace_speed: Number(0.001, 1e6) { value: "X", group: LOAD, summary: "trace_speed" }
        "Factor by which a trace is replayed faster [default: 1]";
    ramp_s: Number(0.001, WEEK) { value: "S", group: LOAD, late: true }
        "Time over which the load grows to its full value, in seconds [default: no ramp]";
    ramp_from: Number(0.001, HUGE) { value: "N", group: LOAD, late: true, default: "1", requires: "ramp_s" }
        "Rate or concurrency at the start of the ramp";
    ramp_exponential: Switch { group: LOAD, requires: "ramp_s" } "Grow by equal factors instead of equal steps";
    saturation: Switch { group: LOAD, conflicts: &["matrix", "trace"] }
        "Search for the concurrency or the rate beyond which throughput stops growing or a stated SLO fails";

    requests: Whole(1) { value: "N", group: BOUNDS, summary: "requests", aliases: &["num-prompts"] }
        "Number of measured requests [default: 4 per place of a closed loop, at least 20]" -> Option<u64> = None;
    duration_s: Number(0.1, WEEK) { value: "S", group: BOUNDS, summary: "duration_s" }
        "Measured time, in seconds. Requests due after it are not sent" -> Option<f64> = None;
    until: Text {
        value: "FIGURE=PCT", group: BOUNDS, summary: "until", conflicts: &["saturation", "matrix", "calibrate", "rank", "meet"]
    }
        "Precision of a percentile at which the load ends: ttft_p99=2% means 2 % either way. --requests or --duration is the upper bound";
    until_least: Whole(1) { value: "N", group: BOUNDS, positive: true, requires: "until" }
        "Number of requests before --until is checked for the first time [default: 100]";
    drain_s: Number(0.0, WEEK) { value: "S", group: BOUNDS, default: "30" }
        "Time that requests still in flight at the end may take, in seconds" -> f64 = 30.0;
    warmup: Whole(0) { value: "N", group: BOUNDS, summary: "warmup" }
        "Number of warm-up requests, with prompts of their own. They are excluded from all figures [default: one per place, at most 16. In an \
         open loop 1, or 16 if prompts differ in length]";
    // Of a suite alone: whole passes come with a matrix on the command line.
    warmup_passes: Small(0, WARMUPS) { long: "" } "Whole passes before the measured one";
    cooldown_cut_s: Number(0.0, WEEK) { value: "S", group: BOUNDS, default: "0", summary: "cooldown_cut_s" }
        "Time at the end that is left out of steady figures, in seconds" -> f64 = 0.0;
    timeout_s: Number(0.001, WEEK) { value: "S", group: BOUNDS, default: "600", summary: "timeout_s" }
        "Timeout of one request, in seconds" -> f64 = 600.0;
    retries: Small(0, RETRIES) { value: "N", group: BOUNDS, default: "0", summary: "retries" }
        "Maximum number of times a request is sent again after 429, 503 or a failed connection. Each is counted" -> u32 = 0;
    max_errors: Small(1, MANY) { value: "N", group: BOUNDS, summary: "max_errors" }
        "Number of requests in a row that may fail before the load ends [default: 100, or 2 per place if that is more]" -> Option<u32> = None;
    // Of the command line alone: a suite has its own repeats.
    repeats: Small(0, MANY) { value: "N", group: BOUNDS, key: "" }
        "Number of times that each load is measured [default: 1, or 3 for --matrix]";

    isl: Lengths { value: "TOKENS", group: PROMPTS, summary: "isl", aliases: &["random-input-len"] }
        "Number of input tokens per request: 128, 100-200, normal:512,64, lognormal:512,128 or zipf:1.2,2048 [default: 128]";
    osl: Lengths { value: "TOKENS", group: PROMPTS, summary: "osl", aliases: &["random-output-len", "sharegpt-output-len"] }
        "Number of output tokens per request, in the same forms [default: 128]";
    matrix: Choice<Preset> { value: "SET", group: PROMPTS, conflicts: &["trace", "prompts"] }
        "Set of standard cells to measure instead of one. Each has 2 warm-up and 3 measured passes";
    prompts: File { value: "FILE", group: PROMPTS, summary: "prompts", conflicts: &["trace"] }
        "File with one prompt a line, as JSON (\"prompt\" or \"messages\", \"output_tokens\") or as text";
    // Of the command line alone: other clients' names of `prompts`.
    dataset_name: Choice<Dataset> { value: "NAME", group: PROMPTS, key: "", conflicts: &["trace", "prompts"] }
        "Kind of prompts, under the names of the clients of vLLM and SGLang. random draws texts of --isl and --osl. sharegpt takes the first \
         question of each conversation in --dataset-path and the length of its answer";
    dataset_path: File { value: "FILE", group: PROMPTS, key: "", conflicts: &["trace", "prompts", "matrix"] }
        "File for --dataset-name sharegpt: a JSON list with \"conversations\". --num-prompts of them are drawn, 1000 by default";
    prefix_tokens: Small(0, MANY) { value: "N", group: PROMPTS, default: "0", summary: "prefix_tokens" }
        "Number of tokens at the start of each prompt that are shared";
    prefix_groups: Small(1, MANY) { value: "N", group: PROMPTS, default: "1", summary: "prefix_groups" }
        "Number of different shared starts";
    cache: Choice<Cache> { value: "CACHE", group: PROMPTS, default: "cold", summary: "cache" }
        "State of the server's prefix cache, checked against the server's own counters" -> Cache = Cache::Cold;
    exact: Choice<Exact> { value: "EXACT", group: PROMPTS, default: "auto", summary: "exact" }
        "Way to ask for an exact output length. auto finds out what the server honours" -> Exact = Exact::Auto;
    tokenizer: File { value: "FILE", group: PROMPTS }
        "File tokenizer.json of the model, for prompts of exact length and to check the token counts" -> Option<PathBuf> = None;
    token_ids: Switch { group: PROMPTS, summary: "token_ids", requires: "tokenizer" }
        "Send prompts as token ids. Needs --endpoint completions and --tokenizer" -> bool = false;
    continuous_usage: Switch { group: PROMPTS, summary: "continuous_usage" }
        "Ask the server for token counts in every chunk" -> bool = false;
    temperature: Number(0.0, 100.0) { value: "T", group: PROMPTS, default: "0", summary: "temperature" }
        "Sampling temperature of every request" -> f64 = 0.0;
    extra_body: Table { value: "JSON", group: PROMPTS, summary: "extra_body" }
        "More members of each request, as a JSON object. They replace members of the same name, and null leaves one out";
    seed: Whole(0) { value: "N", group: PROMPTS, default: "42", summary: "seed" } "Seed of every random draw" -> u64 = 42;

    // In a suite it is `input`, `generate` or `texts`.
    input_file: Files { value: "FILE", group: CONVERSATIONS, key: "" }
        "Multi-turn chat from a file: ShareGPT-like JSON, a generation file (generate_conversations), or a text that is cut into turns. May be \
         repeated for texts";
    conversations: Small(1, MANY) { value: "N", group: CONVERSATIONS, key: "count", summary: "conversations", positive: true }
        "Number of conversations in total. From a file, at most this many are taken";
    num_clients: Small(1, PLACES) { value: "N", group: CONVERSATIONS, summary: "num_clients", positive: true }
        "Number of clients. Each waits for its answer before its next turn [default: 1]";
    max_active_conversations: Small(1, PLACES) {
        value: "N", group: CONVERSATIONS, summary: "max_active_conversations", positive: true
    }
        "Maximum number of conversations in progress, over all clients [default: 3 per client]";
    request_rate: Number(0.0, HUGE) {
        value: "R", group: CONVERSATIONS, late: true, summary: "client_rate_req_s", aliases: &["client-rate"]
    }
        "Turns per second of each client, with exponential gaps. 0 sends the next turn at once. Without conversations it is the same as --rate, \
         and inf sends as many requests at once as --max-concurrency allows [default: 0]";
    max_num_requests: Whole(1) { value: "N", group: CONVERSATIONS, summary: "max_num_requests", positive: true }
        "Number of measured turns, over all clients";
    max_turns: Small(1, MANY) { value: "N", group: CONVERSATIONS, summary: "max_turns", positive: true }
        "Maximum number of turns of a conversation. Turns of the user and of the assistant both count";
    // Of the command line alone: other clients' names of `duration_s` and `timeout_s`.
    max_time_sec: Number(0.1, WEEK) { value: "S", group: CONVERSATIONS, late: true, key: "" }
        "Measured time, in seconds. The same as --duration";
    request_timeout_sec: Number(0.001, WEEK) { value: "S", group: CONVERSATIONS, late: true, key: "" }
        "Timeout of one turn, in seconds. The same as --timeout";
    warmup_step: Switch { group: CONVERSATIONS, summary: "warmup_step" }
        "Send the first turn of every conversation as a warm-up, then measure from the second on";
    limit_min_tokens: Limit(-1, MANY) { value: "N", group: CONVERSATIONS, summary: "limit_min_tokens" }
        "Minimum number of output tokens. 0 takes the length of the recorded answer, a negative number sets no limit [default: 0]";
    limit_max_tokens: Limit(-1, MANY) { value: "N", group: CONVERSATIONS, summary: "limit_max_tokens" }
        "Maximum number of output tokens. 0 takes the length of the recorded answer, a negative number sets no limit [default: 0]";
    conversation_sampling: Choice<Sampling> { value: "HOW", group: CONVERSATIONS }
        "Order in which a client continues its conversations [default: round_robin]";
    print_content: Switch { group: CONVERSATIONS } "Print the prompt and the answer of each turn when it ends";
    early_stop: Switch { group: CONVERSATIONS, conflicts: &["no_early_stop"] }
        "End when the first client has no conversation left";
    // Of the command line alone: the known script has it.
    no_early_stop: Switch { group: CONVERSATIONS, key: "" }
        "Finish every conversation. This is the default, unless --early-stop is given";
    recorded_answers: Switch { group: CONVERSATIONS }
        "Continue conversations with the recorded answers of the file instead of the live ones";
    turns: Lengths { value: "TURNS", group: CONVERSATIONS }
        "Number of user turns in a generated conversation, in the forms of --isl [default: 4]";
    common_prefix: Lengths { value: "TOKENS", group: CONVERSATIONS }
        "Number of tokens that all generated conversations begin with [default: 0]";
    own_prefix: Lengths { value: "TOKENS", group: CONVERSATIONS }
        "Number of further tokens at the start of each generated conversation, different in each [default: 0]";

    slo: List { value: "NAME=MS", group: JUDGING, key: "slos", several: true, aliases: &["goodput"] }
        "Limit that a good request keeps, in ms: ttft=200, tpot=50 or e2e=5000. Goodput is printed only with it";
    // Of the command line alone: a suite does so once, before its first load.
    calibrate: Switch { group: JUDGING, key: "" }
        "Send the same plan to a server with known token times first, and state the error of the client";

    api_key_env: Text { value: "NAME", group: CONNECTION }
        "Name of the environment variable that holds the API key" -> Option<String> = None;
    api_key_header: Text { value: "NAME", group: CONNECTION, requires: "api_key_env" }
        "Name of the request header for the key, e.g. api-key [default: Authorization, with Bearer before the key]" -> Option<String> = None;
    header: List { value: "NAME: VALUE", group: CONNECTION, key: "headers", summary: "headers" }
        "Additional request header. Its value is never printed or archived";
    ca_file: File { value: "FILE", group: CONNECTION }
        "File with the certificate authorities of the server, in PEM" -> Option<PathBuf> = None;
    insecure: Switch { group: CONNECTION, conflicts: &["ca_file"] } "Skip the check of the server's certificate" -> bool = false;
    rank: Small(0, MANY) { value: "I", group: CLIENTS, summary: "rank", requires: "world" }
        "Number of this client among several, from 0. It sends its share of one plan. mpirun and srun set it themselves";
    world: Small(1, MANY) { value: "N", group: CLIENTS, summary: "world" }
        "Number of clients in total. 1 is a load of its own, whatever started it";
}

/// An option of a load.
pub type LoadOption = OptionEntry<LoadOptions>;

impl LoadOptions {
    /// The options that make these settings. Those of conversations are among them, headers and further members of the body are not.
    pub fn of(settings: &Settings) -> Self {
        let plain = Settings::default();
        let mut options = Self::of_plain(settings);
        options.drain_s = options.drain_s.filter(|s| *s != plain.drain_s);
        options.cooldown_cut_s = options.cooldown_cut_s.filter(|s| *s > 0.0);
        options.warmup = settings.warmup;
        options.until = settings.until.map(|until| until.to_string());
        options.until_least = settings.until.map(|until| until.least());
        if let Some(ramp) = settings.ramp {
            options.ramp_s = Some(ramp.over_s);
            options.ramp_from = Some(ramp.from);
            options.ramp_exponential = Some(ramp.exponential);
        }
        if settings.share.world > 1 {
            options.rank = Some(settings.share.rank);
            options.world = Some(settings.share.world);
        }
        match &settings.shape {
            // As many as there are clients.
            Shape::Closed { .. } if matches!(settings.work, Work::Conversations(_)) => {}
            Shape::Closed { concurrency } => options.concurrency = Some(concurrency.to_string()),
            Shape::Open { rate, arrival, max_concurrency } => {
                options.rate = Some(rate.to_string());
                options.arrival = Some(arrival.gaps());
                options.burstiness = arrival.burstiness();
                options.max_concurrency = *max_concurrency;
            }
            Shape::Trace { path, speed, max_concurrency } => {
                options.trace = Some(path.clone());
                options.trace_speed = Some(*speed);
                options.max_concurrency = *max_concurrency;
            }
        }
        match &settings.work {
            Work::Synthetic { isl, osl, prefix } => {
                options.isl = Some(isl.to_string());
                options.osl = Some(osl.to_string());
                if prefix.tokens > 0 {
                    options.prefix_tokens = Some(prefix.tokens);
                    options.prefix_groups = Some(prefix.groups);
                }
            }
            Work::Prompts { path, osl } => {
                options.prompts = Some(path.clone());
                options.osl = osl.map(|osl| osl.to_string());
            }
            Work::Conversations(chat) => options.talk(chat),
        }
        options
    }

    fn talk(&mut self, chat: &Conversations) {
        self.num_clients = Some(chat.clients);
        self.max_active_conversations = chat.max_active;
        self.conversations = chat.count;
        self.request_rate = chat.request_rate;
        self.max_num_requests = chat.max_requests;
        self.max_turns = chat.max_turns;
        self.warmup_step = Some(chat.warmup_step);
        self.limit_min_tokens = chat.min_tokens.map(typed_limit);
        self.limit_max_tokens = chat.max_tokens.map(typed_limit);
        self.conversation_sampling = Some(chat.sampling).filter(|sampling| *sampling == Sampling::Random);
        self.early_stop = Some(chat.early_stop);
        self.recorded_answers = Some(chat.recorded_answers);
        self.turns = Some(chat.turns.to_string());
        self.common_prefix = Some(chat.common_prefix.to_string());
        self.own_prefix = Some(chat.own_prefix.to_string());
    }

    /// The gaps of an open loop.
    pub fn gaps(&self) -> Arrival {
        match self.arrival {
            Some(Gaps::Constant) => Arrival::Constant,
            Some(Gaps::Gamma) => Arrival::Gamma(self.burstiness.unwrap_or(1.0)),
            Some(Gaps::Poisson) | None => Arrival::Poisson,
        }
    }

    /// The growth to the full load.
    pub fn ramp(&self) -> Option<Ramp> {
        let from = self.ramp_from.unwrap_or(1.0);
        Some(Ramp { from, over_s: self.ramp_s?, exponential: self.ramp_exponential.unwrap_or(false) })
    }

    /// Shared heads of prompts.
    pub fn prefix(&self) -> Prefix {
        Prefix { tokens: self.prefix_tokens.unwrap_or(0), groups: self.prefix_groups.unwrap_or(1).max(1) }
    }

    /// Part of the plan. All of it by default.
    pub fn share(&self) -> Share {
        Share { rank: self.rank.unwrap_or(0), world: self.world.unwrap_or(1) }
    }

    /// The conversations, without where they come from and their lengths. `request_rate` 0 is none.
    pub fn chat(&self) -> Conversations {
        let plain = Conversations::default();
        Conversations {
            clients: self.num_clients.unwrap_or(plain.clients),
            max_active: self.max_active_conversations,
            count: self.conversations,
            request_rate: self.request_rate.filter(|rate| *rate > 0.0),
            max_requests: self.max_num_requests,
            max_turns: self.max_turns,
            warmup_step: self.warmup_step.unwrap_or(false),
            min_tokens: limit(self.limit_min_tokens),
            max_tokens: limit(self.limit_max_tokens),
            sampling: self.conversation_sampling.unwrap_or_default(),
            print_content: self.print_content.unwrap_or(false),
            early_stop: self.early_stop.unwrap_or(false),
            recorded_answers: self.recorded_answers.unwrap_or(false),
            ..plain
        }
    }
}

/// A limit on output tokens. Absent or 0 is the input's own length (`None`). Negative is no limit (`Some(0)`).
fn limit(typed: Option<i64>) -> Option<u32> {
    match typed {
        None | Some(0) => None,
        Some(typed) if typed < 0 => Some(0),
        Some(typed) => Some(u32::try_from(typed).unwrap_or(u32::MAX)),
    }
}

/// The same as it is typed.
fn typed_limit(tokens: u32) -> i64 {
    if tokens == 0 { -1 } else { i64::from(tokens) }
}

/// What a setting is as an option: a value that may be absent.
trait Given<T> {
    fn given(&self) -> Option<T>;
}

impl<T: Clone> Given<T> for T {
    fn given(&self) -> Option<T> {
        Some(self.clone())
    }
}

impl<T: Clone> Given<T> for Option<T> {
    fn given(&self) -> Option<T> {
        self.clone()
    }
}
