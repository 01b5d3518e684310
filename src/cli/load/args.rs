//! What is typed after `sparkbench load`, and the settings that it means.
//!
//! In:  arguments, the variables of the shell.  Out: [`Settings`] for each load, or what does not fit together.
//! Not here: asking the server, sending anything (see `load::session`).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::chat::ChatArgs;

/// See the verb.
#[derive(Debug, Clone, Args)]
pub(super) struct LoadArgs {
    /// Address of the server, with or without /v1 at its end
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// Model to ask for [default: the one that /v1/models lists]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Endpoint of the server to send requests to
    #[arg(long, value_enum, default_value_t = Route::Chat)]
    pub endpoint: Route,

    /// Closed loop: number of requests in flight. A list (1,2,4) or a range (1..128, by powers of two) is a sweep
    #[arg(long, value_name = "N", help_heading = "Load", conflicts_with_all = ["rate", "trace"])]
    pub concurrency: Option<String>,
    /// Open loop: requests per second, sent at their scheduled time. A list is a sweep
    #[arg(long, value_name = "R", help_heading = "Load", conflicts_with = "trace")]
    pub rate: Option<String>,
    /// Distribution of the gaps between requests of an open loop [default: poisson]
    #[arg(long, value_enum, help_heading = "Load")]
    pub arrival: Option<Gaps>,
    /// Shape of gamma gaps. 1 is Poisson, less comes in bursts, more is smoother [default: 1]
    #[arg(long, value_name = "SHAPE", help_heading = "Load")]
    pub burstiness: Option<f64>,
    /// Open loop: maximum number of requests in flight. Delayed requests keep their scheduled time. Without a rate it is the same as --concurrency
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub max_concurrency: Option<u32>,
    /// Replay the times and lengths of a trace (JSON lines: timestamp, input_length, output_length, hash_ids)
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    pub trace: Option<PathBuf>,
    /// Factor by which a trace is replayed faster [default: 1]
    #[arg(long, value_name = "X", help_heading = "Load")]
    pub trace_speed: Option<f64>,
    /// Time over which the load grows to its full value, in seconds [default: no ramp]
    #[arg(long, value_name = "S", help_heading = "Load")]
    pub ramp: Option<f64>,
    /// Rate or concurrency at the start of the ramp
    #[arg(long, value_name = "N", default_value_t = 1.0, help_heading = "Load", requires = "ramp")]
    pub ramp_from: f64,
    /// Grow by equal factors instead of equal steps
    #[arg(long, help_heading = "Load", requires = "ramp")]
    pub ramp_exponential: bool,
    /// Search for the concurrency or the rate beyond which throughput stops growing or a stated SLO fails
    #[arg(long, help_heading = "Load", conflicts_with_all = ["matrix", "trace"])]
    pub saturation: bool,

    /// Number of measured requests [default: 4 per place of a closed loop, at least 20]
    #[arg(long, value_name = "N", help_heading = "Bounds", visible_alias = "num-prompts")]
    pub requests: Option<u64>,
    /// Measured time, in seconds. Requests due after it are not sent
    #[arg(long, value_name = "S", help_heading = "Bounds")]
    pub duration: Option<f64>,
    /// Precision of a percentile at which the load ends: ttft_p99=2% means 2 % either way. --requests or --duration is the upper bound
    #[arg(long, value_name = "FIGURE=PCT", help_heading = "Bounds", conflicts_with_all = ["saturation", "matrix", "calibrate", "rank", "meet"])]
    pub until: Option<String>,
    /// Number of requests before --until is checked for the first time [default: 100]
    #[arg(long, value_name = "N", help_heading = "Bounds", requires = "until", value_parser = clap::value_parser!(u64).range(1..))]
    pub until_least: Option<u64>,
    /// Time that requests still in flight at the end may take, in seconds
    #[arg(long, value_name = "S", default_value_t = 30.0, help_heading = "Bounds")]
    pub drain: f64,
    /// Number of warm-up requests, with prompts of their own. They are excluded from all figures
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Bounds")]
    pub warmup: u64,
    /// Time at the end that is left out of steady figures, in seconds
    #[arg(long, value_name = "S", default_value_t = 0.0, help_heading = "Bounds")]
    pub cooldown_cut: f64,
    /// Timeout of one request, in seconds
    #[arg(long, value_name = "S", default_value_t = 600.0, help_heading = "Bounds")]
    pub timeout: f64,
    /// Maximum number of times a request is sent again after 429, 503 or a failed connection. Each is counted
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Bounds")]
    pub retries: u32,
    /// Number of times that each load is measured [default: 1, or 3 for --matrix]
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub repeats: Option<u32>,

    /// Number of input tokens per request: 128, 100-200, normal:512,64, lognormal:512,128 or zipf:1.2,2048 [default: 128]
    #[arg(long, value_name = "TOKENS", help_heading = "Prompts", visible_alias = "random-input-len")]
    pub isl: Option<String>,
    /// Number of output tokens per request, in the same forms [default: 128]
    #[arg(long, value_name = "TOKENS", help_heading = "Prompts", visible_aliases = ["random-output-len", "sharegpt-output-len"])]
    pub osl: Option<String>,
    /// Set of standard cells to measure instead of one. Each has 2 warm-up and 3 measured passes
    #[arg(long, value_enum, value_name = "SET", help_heading = "Prompts", conflicts_with_all = ["trace", "prompts"])]
    pub matrix: Option<Matrix>,
    /// File with one prompt a line, as JSON ("prompt" or "messages", "output_tokens") or as text
    #[arg(long, value_name = "FILE", help_heading = "Prompts", conflicts_with = "trace")]
    pub prompts: Option<PathBuf>,
    /// Kind of prompts, under the names of the clients of vLLM and SGLang. random draws texts of --isl and --osl. sharegpt takes the first
    /// question of each conversation in --dataset-path and the length of its answer
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Prompts", conflicts_with_all = ["trace", "prompts"])]
    pub dataset_name: Option<Dataset>,
    /// File for --dataset-name sharegpt: a JSON list with "conversations". --num-prompts of them are drawn, 1000 by default
    #[arg(long, value_name = "FILE", help_heading = "Prompts", conflicts_with_all = ["trace", "prompts", "matrix"])]
    pub dataset_path: Option<PathBuf>,
    /// Number of tokens at the start of each prompt that are shared
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Prompts")]
    pub prefix_tokens: u32,
    /// Number of different shared starts
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Prompts")]
    pub prefix_groups: u32,
    /// State of the server's prefix cache, checked against the server's own counters
    #[arg(long, value_enum, default_value_t = CacheWord::Cold, help_heading = "Prompts")]
    pub cache: CacheWord,
    /// Way to ask for an exact output length. auto finds out what the server honours
    #[arg(long, value_enum, default_value_t = ExactWord::Auto, help_heading = "Prompts")]
    pub exact: ExactWord,
    /// File tokenizer.json of the model, for prompts of exact length and to check the token counts
    #[arg(long, value_name = "FILE", help_heading = "Prompts")]
    pub tokenizer: Option<PathBuf>,
    /// Send prompts as token ids. Needs --endpoint completions and --tokenizer
    #[arg(long, requires = "tokenizer", help_heading = "Prompts")]
    pub token_ids: bool,
    /// Ask the server for token counts in every chunk
    #[arg(long, help_heading = "Prompts")]
    pub continuous_usage: bool,
    /// Sampling temperature of every request
    #[arg(long, value_name = "T", default_value_t = 0.0, help_heading = "Prompts")]
    pub temperature: f64,
    /// More members of each request, as a JSON object. They replace members of the same name
    #[arg(long, value_name = "JSON", help_heading = "Prompts")]
    pub extra_body: Option<String>,
    /// Seed of every random draw
    #[arg(long, value_name = "N", default_value_t = 42, help_heading = "Prompts")]
    pub seed: u64,

    /// Conversations
    #[command(flatten)]
    pub chat: ChatArgs,

    /// Limit that a good request keeps, in ms: ttft=200, tpot=50 or e2e=5000. Goodput is printed only with it
    #[arg(long, value_name = "NAME=MS", help_heading = "Judging", num_args = 1.., visible_alias = "goodput")]
    pub slo: Vec<String>,
    /// Send the same plan to a server with known token times first, and state the error of the client
    #[arg(long, help_heading = "Judging")]
    pub calibrate: bool,

    /// Name of the environment variable that holds the API key
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    pub api_key_env: Option<String>,
    /// Additional request header. Its value is never printed or archived
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Connection")]
    pub header: Vec<String>,
    /// File with the certificate authorities of the server, in PEM
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub ca_file: Option<PathBuf>,
    /// Skip the check of the server's certificate
    #[arg(long, help_heading = "Connection", conflicts_with = "ca_file")]
    pub insecure: bool,
    /// Number of this client among several, from 0. It sends its share of one plan. mpirun and srun set it themselves
    #[arg(long, value_name = "I", requires = "world", help_heading = "Several clients")]
    pub rank: Option<u32>,
    /// Number of clients in total. 1 is a load of its own, whatever started it
    #[arg(long, value_name = "N", help_heading = "Several clients")]
    pub world: Option<u32>,
    /// Address of rank 0, where the clients meet and become one load
    ///
    /// It is the address on the link that they use. mpirun -n on one machine and srun know it themselves. Without an address, clients with
    /// --rank and --world each send their share by themselves.
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Several clients")]
    pub meet: Option<String>,
}

/// `--endpoint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Route {
    /// /v1/chat/completions
    Chat,
    /// /v1/completions
    Completions,
}

/// `--arrival`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Gaps {
    /// Exponential gaps
    Poisson,
    /// Equal gaps
    Constant,
    /// Gamma gaps, see --burstiness
    Gamma,
}

/// `--matrix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Matrix {
    /// 128/128, 256/256, 1024/1024, 1024/128, 128/1024
    Standard,
    /// The standard ones and eleven longer ones, up to 65536 tokens
    Extended,
    /// T1 to T6: batch 1, 1, 1, 4, 16, 32
    #[value(name = "t1-t6")]
    T1T6,
    /// Concurrency 1 to 128 by powers of two, until the server refuses
    Concurrencies,
}

/// `--dataset-name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Dataset {
    /// Texts drawn at random
    Random,
    /// Recorded conversations of a file
    #[value(name = "sharegpt")]
    ShareGpt,
}

/// `--cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CacheWord {
    /// Empty for every prompt, which begins with a nonce
    Cold,
    /// Filled: every prompt is sent once before
    Primed,
    /// As it is
    Natural,
}

/// `--exact`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ExactWord {
    /// Find out by a probe
    Auto,
    /// ignore_eos and min_tokens
    MinTokens,
    /// ignore_eos and min_new_tokens
    MinNewTokens,
    /// ignore_eos alone
    IgnoreEos,
    /// max_tokens alone: answers may be shorter
    Off,
}
