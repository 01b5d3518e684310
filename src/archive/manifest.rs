//! The files of a campaign as they lie on disk: `campaign.json`, `runs/<id>/run.json`, `requests.jsonl`, `telemetry.csv`.
//!
//! In:  nothing.  Out: one serde type a file, the schema names, the fixed names of the layout.
//! Not here: writing a campaign, or making runs of it (see `ingest`).
//!
//! Contract: `docs/archive.md`. Fields may be added; a rename or a change of meaning needs a new schema number. Readers ignore fields
//! that they do not know. Absent is `null` or no key. No summary stands here that the raw files cannot rebuild.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{Finding, ModelLabel};

/// Schema of [`CampaignWire`].
pub const CAMPAIGN_SCHEMA: &str = "sparkbench.campaign/1";
/// Schema of [`RunWire`].
pub const RUN_SCHEMA: &str = "sparkbench.run/1";
/// Schema of [`SealWire`].
pub const SEAL_SCHEMA: &str = "sparkbench.seal/1";
/// Name of the campaign's own file.
pub const CAMPAIGN_FILE: &str = "campaign.json";
/// Folder of the runs.
pub const RUNS_FOLDER: &str = "runs";
/// Name of a run's own file.
pub const RUN_FILE: &str = "run.json";
/// Name of the per-request records.
pub const REQUESTS_FILE: &str = "requests.jsonl";
/// Name of the samples of GPU and host.
pub const TELEMETRY_FILE: &str = "telemetry.csv";
/// Folder of runs that were begun and did not end; nothing in it is analysed.
pub const INTERRUPTED_FOLDER: &str = "interrupted";
/// Folder of what was asked once in each environment; nothing in it is analysed.
pub const PROBES_FOLDER: &str = "probes";
/// Folder of what was made once for each model; nothing in it is analysed.
pub const PREPARED_FOLDER: &str = "prepared";
/// The append-only record of a campaign.
pub const JOURNAL_FILE: &str = "journal.jsonl";
/// Written once when every planned run is accounted for: the hash of the journal at its end.
pub const SEAL_FILE: &str = "seal.json";
/// Header of [`TELEMETRY_FILE`]; further columns may follow.
pub const TELEMETRY_HEADER: &[&str] =
    &["timestamp_utc", "gpu_util_pct", "power_w", "gpu_c", "sm_clock_mhz", "memory_used_mib"];

/// `campaign.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CampaignWire {
    /// [`CAMPAIGN_SCHEMA`].
    pub schema: String,
    /// Name; its slug is the campaign's name in addresses.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// The question.
    pub question: Option<String>,
    /// Markdown of its authors.
    pub prose: Option<String>,
    /// Program and version that wrote it, e.g. `sparkbench 0.1.0`.
    pub tool: Option<String>,
    /// The suite as it was written, whole.
    pub suite: Option<String>,
    /// Seed of the order.
    pub seed: Option<u64>,
    /// Every planned run, in the order of execution.
    pub plan: Vec<PlannedRun>,
    /// Machine label, a key of the machine facts.
    pub machine: Option<String>,
    /// What the pre-flight found: any tree, no host names.
    pub host: Option<serde_json::Value>,
    /// Environment others are held against.
    pub baseline: Option<String>,
    /// Primary metrics.
    pub primary: Vec<String>,
    /// Margins fixed before the first run, per cent.
    pub margins_pct: BTreeMap<String, f64>,
    /// Metrics that each run was to report.
    pub planned_metrics: Vec<String>,
    /// Least pause between runs, seconds.
    pub cooldown_s: Option<f64>,
    /// Highest start temperature of the gate, degrees Celsius.
    pub start_temp_limit_c: Option<f64>,
    /// What is known of the model labels.
    pub models: BTreeMap<String, ModelLabel>,
    /// Where it comes from, one line each.
    pub provenance: Vec<String>,
    /// Random name of this archive; marks its processes, containers and control groups.
    pub archive_id: Option<String>,
    /// When it was begun, ISO 8601 in UTC.
    pub created_utc: Option<String>,
    /// SHA-256 of `suite` as it was written, before secrets were masked.
    pub suite_sha256: Option<String>,
    /// `interleaved` or `blocked`, and in a sentence what that means for the comparison.
    pub order: Option<String>,
    /// What its authors expected before the first run.
    pub hypotheses: Vec<HypothesisWire>,
    /// SHA-256 over name, hypotheses, primary metrics, margins, seed and plan: fixed before the first run.
    pub design_sha256: Option<String>,
    /// What each environment is made of, by label: image digest, root file system, flags.
    pub environments: BTreeMap<String, serde_json::Value>,
    /// What was replaced before anything was written: kind of secret or name, and how often.
    pub masked: BTreeMap<String, u64>,
}

/// A stretch of time on the monotonic clock, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowWire {
    /// Its beginning.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// A statement that the campaign sets out to test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HypothesisWire {
    /// In words.
    pub claim: String,
    /// Metric that decides.
    pub metric: Option<String>,
    /// Environment held against.
    pub baseline: Option<String>,
    /// Environment under question.
    pub candidate: Option<String>,
    /// Verdict kind expected, e.g. `equivalent`.
    pub expect: Option<String>,
    /// Margin, per cent.
    pub margin_pct: Option<f64>,
}

/// One line of the plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedRun {
    /// Name of the folder below `runs/`.
    pub id: String,
    /// Environment label.
    pub environment: String,
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// The k-th run of its cell, from 1.
    pub repeat: Option<u32>,
    /// Group of runs close in time, from 1.
    pub block: Option<u32>,
    /// Place in the order, from 1.
    pub position: Option<u32>,
}

/// `runs/<id>/run.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunWire {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// Name of its folder.
    pub id: Option<String>,
    /// Environment label.
    pub environment: String,
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// The k-th run of its cell, from 1.
    pub repeat: Option<u32>,
    /// Group of runs close in time, from 1.
    pub block: Option<u32>,
    /// Place in the order, from 1.
    pub position: Option<u32>,
    /// Start of the measured command, ISO 8601 in UTC.
    pub started_utc: Option<String>,
    /// End of the measured command, likewise.
    pub ended_utc: Option<String>,
    /// Start on the monotonic clock, seconds; only differences mean anything.
    pub started_monotonic_s: Option<f64>,
    /// End on the monotonic clock, seconds.
    pub ended_monotonic_s: Option<f64>,
    /// When a load against the command measured, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowWire>,
    /// The command line, one argument each.
    pub command: Vec<String>,
    /// Exit status; absent when a signal or a failed start left none.
    pub exit_code: Option<i64>,
    /// Why it counts as failed, where it does.
    pub failure: Option<String>,
    /// State of the machine before the first process of the run.
    pub before: Option<StateWire>,
    /// State of the machine after the last.
    pub after: Option<StateWire>,
    /// What was asked for.
    pub asked: SeenWire,
    /// What the engine printed or reported.
    pub seen: SeenWire,
    /// Telemetry fields that stay empty, and why.
    pub absent: BTreeMap<String, String>,
    /// Every gate of this run with its reading, passed or not.
    pub gates: Vec<Finding>,
    /// What the watchdogs saw during the run, and the checks after it.
    pub watched: Vec<Finding>,
    /// What was asked for and what ran, item by item; a mismatch fails the run.
    pub checks: Vec<CheckWire>,
    /// The environment's own word on this run: container, control group, exit.
    pub environment_state: Option<serde_json::Value>,
    /// Processor time, memory and signals of the process tree.
    pub process: Option<ProcessWire>,
    /// What the sampler itself cost.
    pub sampler: Option<SamplerWire>,
    /// Environment variables of the command, secrets masked.
    pub variables: BTreeMap<String, String>,
    /// Report files and the parser that reads each.
    pub reports: Vec<ReportWire>,
    /// What was replaced in the files of this run: kind, and how often.
    pub masked: BTreeMap<String, u64>,
    /// How often this run was begun before and did not end; the remains lie in `interrupted/`.
    pub interrupted_before: u32,
    /// Files that the workload left and that were not kept.
    pub dropped: Vec<DroppedWire>,
    /// Every other file of the folder.
    pub files: Vec<FileHash>,
}

/// Temperature and memory at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateWire {
    /// GPU temperature, degrees Celsius.
    pub gpu_c: Option<f64>,
    /// `MemFree` of the host, GiB.
    pub memory_free_gib: Option<f64>,
    /// `MemAvailable` of the host, GiB.
    pub memory_available_gib: Option<f64>,
    /// `Cached` of the host, GiB.
    pub page_cache_gib: Option<f64>,
    /// Swap in use, GiB.
    pub swap_used_gib: Option<f64>,
    /// GPU memory in use, GiB; absent where the GPU shares the host's.
    pub gpu_memory_used_gib: Option<f64>,
    /// Load average over one minute.
    pub load_1m: Option<f64>,
}

/// Settings, as asked for or as seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeenWire {
    /// Model id.
    pub model_id: Option<String>,
    /// GPU or machine name.
    pub machine: Option<String>,
    /// Engine.
    pub engine: Option<String>,
    /// Its version.
    pub engine_version: Option<String>,
    /// Data type or quantisation of the weights.
    pub quantisation: Option<String>,
    /// Batch or concurrency limit.
    pub batch: Option<f64>,
    /// Input tokens a request.
    pub isl: Option<f64>,
    /// Output tokens a request.
    pub osl: Option<f64>,
    /// Requests, warm-up not counted.
    pub requests: Option<f64>,
    /// Parameters of the model.
    pub parameters: Option<f64>,
    /// Memory of the device, GiB.
    pub device_memory_gib: Option<f64>,
    /// Weights, GiB.
    pub model_memory_gib: Option<f64>,
}

/// One item of what was asked for against what ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckWire {
    /// `model_id`, `image_digest`, `arguments`, `requests`, ...
    pub item: String,
    /// As asked for.
    pub asked: Option<String>,
    /// As it ran; absent when nothing tells.
    pub ran: Option<String>,
    /// Where `ran` was read.
    pub source: String,
    /// `match`, `mismatch`, `unknown`.
    pub result: String,
}

/// The process tree of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessWire {
    /// Signal that ended the first process.
    pub signal: Option<i32>,
    /// Processor time in user mode, seconds, of every process that was waited for.
    pub user_s: Option<f64>,
    /// Processor time in the kernel, seconds.
    pub system_s: Option<f64>,
    /// Largest resident set of a single process, MiB.
    pub peak_rss_mib: Option<f64>,
    /// Names of processes that outlived the first one and had to be ended.
    pub ended_by_us: Vec<String>,
    /// Why we ended the tree, where we did.
    pub why: Option<String>,
}

/// What sampling cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SamplerWire {
    /// `nvml`, `nvidia-smi`, or `none` with the reason.
    pub gpu_source: String,
    /// Interval asked for, seconds.
    pub interval_s: f64,
    /// Samples taken.
    pub samples: u64,
    /// Samples that came more than half an interval late.
    pub late: u64,
    /// Turns of the interval in which no sample was taken, because the one before took too long.
    pub skipped: u64,
    /// Longest time that one sample took, milliseconds.
    pub longest_ms: f64,
    /// Processor time of the sampling thread and its child, seconds.
    pub cpu_s: f64,
    /// The same over the time sampled, per cent of one core.
    pub cpu_pct: f64,
}

/// A file that a parser reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportWire {
    /// Path below the run's folder.
    pub path: String,
    /// Name of the parser.
    pub parser: String,
    /// What the suite gives the parser `pattern`: metric, or `seen.` and a setting, to a regular expression with one group.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patterns: BTreeMap<String, String>,
    /// Name of the test that the whole file belongs to, where one launch makes several, each with a file of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
}

/// A file that was not kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DroppedWire {
    /// Path below the run's folder.
    pub path: String,
    /// Its size; absent for a link or what else is no file.
    pub bytes: Option<u64>,
    /// SHA-256 of its bytes as they were; absent where they could not be read.
    pub sha256: Option<String>,
    /// Why.
    pub why: String,
}

/// `seal.json`: the line that would follow in the journal, chain included, in a file of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SealWire {
    /// [`SEAL_SCHEMA`].
    pub schema: String,
    /// SHA-256 of the whole journal.
    pub journal_sha256: String,
    /// Its size.
    pub journal_bytes: u64,
    /// SHA-256 of `campaign.json`.
    pub campaign_sha256: String,
    /// Folders below `runs/`.
    pub runs: u64,
}

/// A file and its hash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileHash {
    /// Name below the run's folder.
    pub path: String,
    /// SHA-256, lower-case hexadecimal.
    pub sha256: String,
}

/// One line of `requests.jsonl`. Times are seconds on one monotonic clock of the run, `sparkbench load` counts them from its start.
/// Every field but `index` and `status` may be absent, and is then left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestWire {
    /// Place in the order of sending, from 0.
    pub index: u64,
    /// Name of the test, where one launch makes several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// True for requests before the measured window; they enter nothing.
    #[serde(skip_serializing_if = "is_false")]
    pub warmup: bool,
    /// Part of the load: `probe`, `prime`, `warmup`, `measured`. What is there and not `measured` enters nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// `x-request-id` as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Number of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<u32>,
    /// Number of the user's turn in it, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Client that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<u32>,
    /// When the schedule wanted it sent; absent in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended_s: Option<f64>,
    /// When it was sent: just before its first byte, or before connecting where there was no connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_s: Option<f64>,
    /// When the connection was there, where one had to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected_s: Option<f64>,
    /// When its last byte had been handed to the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_s: Option<f64>,
    /// First byte of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_s: Option<f64>,
    /// Last byte of the response's head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_s: Option<f64>,
    /// First event with `choices`, whatever it carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_event_s: Option<f64>,
    /// When the first output token came: reasoning, content or part of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_s: Option<f64>,
    /// When we had read it; `first_token_s` is then the kernel's time. Absent where the platform gives no such time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_read_s: Option<f64>,
    /// First piece of reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_reasoning_s: Option<f64>,
    /// First piece that a user sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_content_s: Option<f64>,
    /// Second generated piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_token_s: Option<f64>,
    /// When each further piece of output came. A piece may hold several tokens. Absent where `chunks.sbc` has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further_tokens_s: Vec<f64>,
    /// Last generated piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_token_s: Option<f64>,
    /// End of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_s: Option<f64>,
    /// Input tokens, as reported by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u32>,
    /// Of these, served from the prefix cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u32>,
    /// Output tokens, as reported by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    /// Of these, reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u32>,
    /// Output tokens in the first generated piece, where the server counts along.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_tokens: Option<u32>,
    /// Input tokens that the plan wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_asked: Option<u32>,
    /// Input tokens of what was sent, counted by a local tokenizer, without the server's template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_sent: Option<u32>,
    /// Output tokens that the plan wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_asked: Option<u32>,
    /// Whether exactly so many were asked for.
    #[serde(skip_serializing_if = "is_false")]
    pub output_exact: bool,
    /// Events of the stream, comments and `[DONE]` not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u32>,
    /// Events with a generated piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pieces: Option<u32>,
    /// Bytes of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes of generated text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// Whether `[DONE]` came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
    /// As given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The model that the response names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Status line's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<u16>,
    /// As given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// Its connection had answered requests before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reused: Option<bool>,
    /// Times it was sent anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resent: Option<u32>,
    /// `ok`, `short` (answered with fewer tokens than exactly asked for), or the kind of failure.
    pub status: String,
    /// What the server or the client said of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl RequestWire {
    /// [`RequestWire::status`] of a request that was answered to its end.
    pub const OK: &'static str = "ok";
    /// [`RequestWire::status`] of one that was answered with fewer tokens than were asked for.
    pub const SHORT: &'static str = "short";
    /// [`RequestWire::phase`] of what is measured.
    pub const MEASURED: &'static str = "measured";

    /// Whether it belongs to the measured part.
    pub fn measured(&self) -> bool {
        !self.warmup && self.phase.as_deref().is_none_or(|phase| phase == Self::MEASURED)
    }

    /// Whether its times enter latencies.
    pub fn answered(&self) -> bool {
        self.status == Self::OK || self.status == Self::SHORT
    }

    /// When the last piece of output came.
    pub fn last_token_s(&self) -> Option<f64> {
        self.last_token_s.or_else(|| self.further_tokens_s.last().copied()).or(self.first_token_s)
    }
}
