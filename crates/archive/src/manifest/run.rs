//! `runs/<id>/run.json`: the request, the program that ran, the state of the machine, and the resulting files.
//!
//! In:  nothing.  Out: serde types.
//! Not here: figures of the run, which its report files hold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::NodeWire;
use crate::FileName;
use sparkbench_model::Finding;

/// `runs/<id>/run.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunWire {
    /// [`super::RUN_SCHEMA`].
    pub schema: String,
    /// Name of its folder.
    pub id: Option<String>,
    pub environment: String,
    pub model: String,
    pub workload: String,
    /// The k-th run of its cell, from 1.
    pub repeat: Option<u32>,
    /// Group of runs close in time, from 1.
    pub block: Option<u32>,
    /// Place in the order, from 1.
    pub position: Option<u32>,
    /// Start of the engine that was measured, from 1. Runs of the archive with one number shared it. Absent where nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<u32>,
    /// Start of the measured command, ISO 8601 in UTC.
    pub started_utc: Option<String>,
    /// End of the measured command, likewise.
    pub ended_utc: Option<String>,
    /// Start on the monotonic clock, seconds. Only differences mean anything.
    pub started_monotonic_s: Option<f64>,
    /// End on the monotonic clock, seconds.
    pub ended_monotonic_s: Option<f64>,
    /// When a load against the command measured, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowWire>,
    /// The command line, one argument each.
    pub command: Vec<String>,
    /// Exit status. Absent when a signal or a failed start left none.
    pub exit_code: Option<i64>,
    /// Why it counts as failed, where it does.
    pub failure: Option<String>,
    /// State of the machine before the first process of the run.
    pub before: Option<StateWire>,
    /// State of the machine after the last.
    pub after: Option<StateWire>,
    pub asked: SeenWire,
    /// Values that the engine printed or reported.
    pub seen: SeenWire,
    /// Telemetry fields that stay empty, and why.
    pub absent: BTreeMap<String, String>,
    /// Every gate of this run with its reading, passed or not.
    pub gates: Vec<Finding>,
    /// Findings of the watchdogs during the run and of the checks after it.
    pub watched: Vec<Finding>,
    /// The request and what ran, item by item. A mismatch fails the run.
    pub checks: Vec<CheckWire>,
    /// The environment's own word on this run: container, control group, exit.
    pub environment_state: Option<serde_json::Value>,
    /// Processor time, memory and signals of the process tree.
    pub process: Option<ProcessWire>,
    /// Cost of the sampler itself.
    pub sampler: Option<SamplerWire>,
    /// Environment variables of the command, secrets masked.
    pub variables: BTreeMap<String, String>,
    /// Report files and the parser that reads each.
    pub reports: Vec<ReportWire>,
    /// Further machines, by the name of their folder.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, NodeWire>,
    /// Replacements in the files of this run: kind, and how often.
    pub masked: BTreeMap<String, u64>,
    /// How often this run was begun before and did not end. The remains lie in `interrupted/`.
    pub interrupted_before: u32,
    /// Files that the workload left and that were not kept.
    pub dropped: Vec<DroppedWire>,
    /// Files that are packed, so that no secret was searched for in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_searched: Vec<PackedWire>,
    /// Every other file of the folder.
    pub files: Vec<FileHash>,
}

/// A period of time on the monotonic clock, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowWire {
    /// Its beginning.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
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
    /// GPU memory in use, GiB. Absent where the GPU shares the host's.
    pub gpu_memory_used_gib: Option<f64>,
    /// Load average over one minute.
    pub load_1m: Option<f64>,
}

/// Settings, as asked for or as seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeenWire {
    pub model_id: Option<String>,
    /// GPU or machine name.
    pub machine: Option<String>,
    pub engine: Option<String>,
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
    /// The requested value.
    pub asked: Option<String>,
    /// The value that really ran. Absent when unknown.
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

/// Cost of sampling.
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
    /// Table of the suite for the parser `pattern`: metric, or `seen.` and a setting, to a regular expression with one group.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patterns: BTreeMap<String, String>,
    /// Name of the test that the whole file belongs to, where one launch makes several, each with a file of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// Why what this file holds counts as failed, although other parts of the run do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A file that was not kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DroppedWire {
    /// Path below the run's folder.
    pub path: FileName,
    /// Its size. Absent for a link or what else is no file.
    pub bytes: Option<u64>,
    /// SHA-256 of its bytes as they were. Absent where they could not be read.
    pub sha256: Option<String>,
    pub why: String,
}

/// A file that is kept as it came, because it is packed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PackedWire {
    /// Path below the run's folder.
    pub path: FileName,
    /// `gzip`, `zip`, `zstd`, ...
    pub form: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileHash {
    /// Name below the run's folder.
    pub path: FileName,
    /// SHA-256, lower-case hexadecimal.
    pub sha256: String,
}
