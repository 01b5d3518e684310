//! The files of a campaign as they lie on disk: `campaign.json`, `runs/<id>/run.json`, `requests.jsonl`, `telemetry.csv`.
//!
//! In:  nothing.  Out: one serde type a file, the schema names, the fixed names of the layout.
//! Not here: writing a campaign, or making runs of it (see `ingest`).
//!
//! Contract: `docs/archive.md`. Fields may be added; a rename or a change of meaning needs a new schema number. Readers ignore fields
//! that they do not know. Absent is `null` or no key. No summary stands here that the raw files cannot rebuild.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::ModelLabel;

/// Schema of [`CampaignWire`].
pub const CAMPAIGN_SCHEMA: &str = "sparkbench.campaign/1";
/// Schema of [`RunWire`].
pub const RUN_SCHEMA: &str = "sparkbench.run/1";
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

/// A file and its hash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileHash {
    /// Name below the run's folder.
    pub path: String,
    /// SHA-256, lower-case hexadecimal.
    pub sha256: String,
}

/// One line of `requests.jsonl`. Times are seconds on one monotonic clock of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestWire {
    /// Place in the order of sending, from 0.
    pub index: u64,
    /// True for requests before the measured window; they enter nothing.
    pub warmup: bool,
    /// When the schedule wanted it sent; absent in a closed loop.
    pub intended_s: Option<f64>,
    /// When it was sent.
    pub sent_s: Option<f64>,
    /// When the first output token came.
    pub first_token_s: Option<f64>,
    /// When each further piece of output came. A piece may hold several tokens.
    pub further_tokens_s: Vec<f64>,
    /// Input tokens.
    pub input_tokens: Option<u32>,
    /// Output tokens.
    pub output_tokens: Option<u32>,
    /// `ok`, or the kind of failure.
    pub status: String,
    /// What the server or the client said of a failure.
    pub error: Option<String>,
}

impl RequestWire {
    /// [`RequestWire::status`] of a request that was answered to its end.
    pub const OK: &'static str = "ok";

    /// When the last piece of output came.
    pub fn last_token_s(&self) -> Option<f64> {
        self.further_tokens_s.last().copied().or(self.first_token_s)
    }
}
