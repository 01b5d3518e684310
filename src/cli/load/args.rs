//! What is typed after `sparkbench load`, and the settings that it means.
//!
//! In:  arguments, the variables of the shell.  Out: [`Settings`] for each load, or what does not fit together.
//! Not here: asking the server, sending anything (see `load::session`).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::load_chat::ChatArgs;

/// See the verb.
#[derive(Debug, Clone, Args)]
pub struct LoadArgs {
    /// Address of the server; paths up to and including /v1 are understood
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// Model to ask for [default: the one that /v1/models lists]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Route of the server
    #[arg(long, value_enum, default_value_t = Route::Chat)]
    pub endpoint: Route,

    /// Closed loop: requests at any time. A list (1,2,4) or a range (1..128, by powers of two) is a sweep
    #[arg(long, value_name = "N", help_heading = "Load", conflicts_with_all = ["rate", "trace"])]
    pub concurrency: Option<String>,
    /// Open loop: requests per second, sent when their time has come. A list is a sweep
    #[arg(long, value_name = "R", help_heading = "Load", conflicts_with = "trace")]
    pub rate: Option<String>,
    /// Gaps between requests of an open loop [default: poisson]
    #[arg(long, value_enum, help_heading = "Load")]
    pub arrival: Option<Gaps>,
    /// Shape of gamma gaps: 1 is Poisson, below it comes in bursts, above it is smoother [default: 1]
    #[arg(long, value_name = "SHAPE", help_heading = "Load")]
    pub burstiness: Option<f64>,
    /// Open loop: at most so many at any time, delayed requests keep their scheduled time. Without a rate the same as --concurrency
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub max_concurrency: Option<u32>,
    /// Replay the times and lengths of a trace (JSON lines: timestamp, input_length, output_length, hash_ids)
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    pub trace: Option<PathBuf>,
    /// Replay so many times faster [default: 1]
    #[arg(long, value_name = "X", help_heading = "Load")]
    pub trace_speed: Option<f64>,
    /// Grow to the full load over this time, seconds
    #[arg(long, value_name = "S", help_heading = "Load")]
    pub ramp: Option<f64>,
    /// Rate or concurrency at the start of the ramp
    #[arg(long, value_name = "N", default_value_t = 1.0, help_heading = "Load", requires = "ramp")]
    pub ramp_from: f64,
    /// Grow by equal factors instead of equal steps
    #[arg(long, help_heading = "Load", requires = "ramp")]
    pub ramp_exponential: bool,
    /// Search the concurrency (or the rate) beyond which throughput no longer grows, or a stated SLO fails
    #[arg(long, help_heading = "Load", conflicts_with_all = ["matrix", "trace"])]
    pub saturation: bool,

    /// Measured requests [default: 4 a place of a closed loop, at least 20]
    #[arg(long, value_name = "N", help_heading = "Bounds", visible_alias = "num-prompts")]
    pub requests: Option<u64>,
    /// Measured time, seconds; what would come due after it is not sent
    #[arg(long, value_name = "S", help_heading = "Bounds")]
    pub duration: Option<f64>,
    /// What is in flight at the end of the time may take so much longer, seconds
    #[arg(long, value_name = "S", default_value_t = 30.0, help_heading = "Bounds")]
    pub drain: f64,
    /// Warm-up requests, with prompts of their own; they enter nothing
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Bounds")]
    pub warmup: u64,
    /// Cut off the end for steady figures, seconds
    #[arg(long, value_name = "S", default_value_t = 0.0, help_heading = "Bounds")]
    pub cooldown_cut: f64,
    /// A request may take so long, seconds
    #[arg(long, value_name = "S", default_value_t = 600.0, help_heading = "Bounds")]
    pub timeout: f64,
    /// Send anew after 429, 503 or a failed connection; every time is counted
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Bounds")]
    pub retries: u32,
    /// Measure each load so many times
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub repeats: Option<u32>,

    /// Input tokens: 128, 100-200, normal:512,64, lognormal:512,128, zipf:1.2,2048 [default: 128]
    #[arg(long, value_name = "TOKENS", help_heading = "Prompts", visible_alias = "random-input-len")]
    pub isl: Option<String>,
    /// Output tokens, in the same forms [default: 128]
    #[arg(long, value_name = "TOKENS", help_heading = "Prompts", visible_aliases = ["random-output-len", "sharegpt-output-len"])]
    pub osl: Option<String>,
    /// The standard cells of the field instead of one: 2 warm-up and 3 measured passes each
    #[arg(long, value_enum, value_name = "SET", help_heading = "Prompts", conflicts_with_all = ["trace", "prompts"])]
    pub matrix: Option<Matrix>,
    /// Prompts of a file: a JSON line each ("prompt" or "messages", "output_tokens"), or a text line each
    #[arg(long, value_name = "FILE", help_heading = "Prompts", conflicts_with = "trace")]
    pub prompts: Option<PathBuf>,
    /// Prompts under the names of vLLM's and SGLang's clients: random draws texts of --isl and --osl, sharegpt takes the first question
    /// of each conversation in --dataset-path and the length of its answer
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Prompts", conflicts_with_all = ["trace", "prompts"])]
    pub dataset_name: Option<Dataset>,
    /// File of --dataset-name sharegpt: a JSON list with "conversations". 1000 are drawn unless --num-prompts says how many
    #[arg(long, value_name = "FILE", help_heading = "Prompts", conflicts_with_all = ["trace", "prompts", "matrix"])]
    pub dataset_path: Option<PathBuf>,
    /// Tokens at the head of each prompt that are shared
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Prompts")]
    pub prefix_tokens: u32,
    /// Different shared heads
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Prompts")]
    pub prefix_groups: u32,
    /// What the server's prefix cache may know; held against its own counters
    #[arg(long, value_enum, default_value_t = CacheWord::Cold, help_heading = "Prompts")]
    pub cache: CacheWord,
    /// How an exact output length is asked for; auto finds out what the server honours
    #[arg(long, value_enum, default_value_t = ExactWord::Auto, help_heading = "Prompts")]
    pub exact: ExactWord,
    /// tokenizer.json of the model, for prompts of exact length and an audit of the counts
    #[arg(long, value_name = "FILE", help_heading = "Prompts")]
    pub tokenizer: Option<PathBuf>,
    /// Send prompts as token ids (completions alone, with --tokenizer)
    #[arg(long, requires = "tokenizer", help_heading = "Prompts")]
    pub token_ids: bool,
    /// Ask the server to count along in every chunk
    #[arg(long, help_heading = "Prompts")]
    pub continuous_usage: bool,
    /// Sampling temperature
    #[arg(long, value_name = "T", default_value_t = 0.0, help_heading = "Prompts")]
    pub temperature: f64,
    /// Further members of each request, as a JSON object; they win over ours
    #[arg(long, value_name = "JSON", help_heading = "Prompts")]
    pub extra_body: Option<String>,
    /// Seed of everything drawn
    #[arg(long, value_name = "N", default_value_t = 42, help_heading = "Prompts")]
    pub seed: u64,

    /// Conversations
    #[command(flatten)]
    pub chat: ChatArgs,

    /// Limit that a good request keeps: ttft=200, tpot=50 or e2e=5000, in ms; goodput is printed with it alone
    #[arg(long, value_name = "NAME=MS", help_heading = "Judging", num_args = 1.., visible_alias = "goodput")]
    pub slo: Vec<String>,
    /// Fire the same plan at a server with known emission times first, and state the instrument's error
    #[arg(long, help_heading = "Judging")]
    pub calibrate: bool,

    /// Name of the variable that holds the key of the server
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    pub api_key_env: Option<String>,
    /// Further header; its value is never printed or archived
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Connection")]
    pub header: Vec<String>,
    /// Certificate authorities of the server, PEM
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub ca_file: Option<PathBuf>,
    /// Do not check the certificate of the server
    #[arg(long, help_heading = "Connection", conflicts_with = "ca_file")]
    pub insecure: bool,
    /// Number of this client among several, from 0: it takes every n-th entry of the one plan. mpirun, srun and the like say it themselves
    #[arg(long, value_name = "I", requires = "world", help_heading = "Several clients")]
    pub rank: Option<u32>,
    /// Clients in all; 1 is a load of its own, whatever started it
    #[arg(long, value_name = "N", help_heading = "Several clients")]
    pub world: Option<u32>,
    /// Machine of rank 0, where the clients meet and become one load
    ///
    /// Its address on the link that they are to use. Without it mpirun -n on one machine and srun know where; clients that were only
    /// given --rank and --world load apart, each its share
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Several clients")]
    pub meet: Option<String>,
}

/// `--endpoint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Route {
    /// /v1/chat/completions
    Chat,
    /// /v1/completions
    Completions,
}

/// `--arrival`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Gaps {
    /// Exponential gaps
    Poisson,
    /// Equal gaps
    Constant,
    /// Gamma gaps, see --burstiness
    Gamma,
}

/// `--matrix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Matrix {
    /// 128/128, 256/256, 1024/1024, 1024/128, 128/1024
    Standard,
    /// Those and eleven longer ones, to 65536 tokens
    Extended,
    /// T1 to T6: batch 1, 1, 1, 4, 16, 32
    #[value(name = "t1-t6")]
    T1T6,
    /// Concurrency 1 to 128 by powers of two, until the server refuses
    Concurrencies,
}

/// `--dataset-name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dataset {
    /// Drawn texts
    Random,
    /// Recorded conversations of a file
    #[value(name = "sharegpt")]
    ShareGpt,
}

/// `--cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheWord {
    /// Nothing: every prompt begins with a nonce
    Cold,
    /// Everything: every prompt is sent once before
    Primed,
    /// Whatever it knows
    Natural,
}

/// `--exact`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExactWord {
    /// Found by a probe
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
