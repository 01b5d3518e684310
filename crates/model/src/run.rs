//! One execution of one cell, with all data from its files.
//!
//! In:  nothing.  Out: [`Run`] and its parts, filled by `ingest`, read by everybody.
//! Not here: how a file is read, how a number is judged.

use std::collections::BTreeMap;

use super::course::{Course, LooseStart};
use super::factor::RunSettings;
use super::time::Instant;
use serde::Serialize;

/// Whether a run came to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "reason")]
pub enum Status {
    /// Ended with exit status 0.
    Done,
    /// Ended otherwise. Says how.
    Failed(String),
    /// The source does not say.
    #[default]
    Unrecorded,
}

/// A file something was read from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Path below the folder that was given, with `/`, never absolute.
    pub path: String,
    /// Name of the format that read it.
    pub format: String,
    /// SHA-256 of the bytes, lower-case hexadecimal.
    pub sha256: String,
    /// Rule by which it was joined to the run. Absent for the main file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined: Option<String>,
}

/// File and place of one value, and the rule that read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Path of the file, as in [`Source::path`].
    pub file: String,
    /// Line, counted from 1, where the format has lines.
    pub line: Option<u64>,
    /// JSON pointer or column, where the format has fields.
    pub field: Option<String>,
    /// Name of the rule that read it, e.g. `flat.metadata`.
    pub rule: &'static str,
}

/// One figure that a source reports for a whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Contract name with unit, e.g. `output_throughput_tok_s`.
    pub metric: String,
    /// As printed. NaN where the source says "missing". Infinite where it says so.
    pub value: f64,
    /// Digits after the point in the source, where it is text. Used by the derived-column checks.
    pub decimals: Option<u8>,
    /// Where it is.
    pub origin: Origin,
}

/// A figure that a source reports and that no metric of ours means: kept, shown with its source, never judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Extra {
    /// As the source names it, without the unit.
    pub name: String,
    /// As the source gives it. Empty for a bare number or a word.
    pub unit: String,
    pub value: ExtraValue,
    /// Why it is not one of our metrics, where one could take it for one: `time_per_output_token_ms holds the first token too`.
    pub why: Option<&'static str>,
    /// Where it is.
    pub origin: Origin,
}

impl Extra {
    /// A number.
    pub fn number(name: impl Into<String>, unit: &str, value: f64, why: Option<&'static str>, origin: Origin) -> Self {
        Self { name: name.into(), unit: unit.to_owned(), value: ExtraValue::Number(value), why, origin }
    }

    /// Its value, unless it is a text.
    pub fn as_number(&self) -> Option<f64> {
        match self.value {
            ExtraValue::Number(value) => Some(value),
            ExtraValue::Text(_) => None,
        }
    }
}

/// What an [`Extra`] says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ExtraValue {
    /// A finite number.
    Number(f64),
    Text(String),
}

/// Per-request (or per-iteration) values of one metric, in the order they were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Contract name with unit, e.g. `ttft_ms`.
    pub metric: String,
    /// As printed, missing as NaN.
    pub values: Vec<f64>,
    /// Where the list is.
    pub origin: Origin,
}

/// One telemetry row. Every field may be absent: a GPU with unified memory reports no memory figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// When. A source that counts from a start of its own (seconds elapsed, a clock without a date) gives moments of 1970: see
    /// [`Instant::is_relative`].
    pub at: Instant,
    /// GPU utilisation, per cent.
    pub gpu_util_pct: Option<f64>,
    /// Power, watts.
    pub power_w: Option<f64>,
    /// GPU temperature, degrees Celsius.
    pub gpu_c: Option<f64>,
    pub sm_clock_mhz: Option<f64>,
    /// GPU memory in use, MiB.
    pub memory_used_mib: Option<f64>,
    /// Activity of the memory controller, per cent of the time. Not occupancy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_util_pct: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_clock_mhz: Option<f64>,
    /// Power limit in force, watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<f64>,
    /// Energy counter of the driver, joules since some moment before. Only differences mean anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// Memory of the machine in use, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_memory_used_mib: Option<f64>,
    /// Memory of the machine that programs could still have, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_memory_available_mib: Option<f64>,
    /// Swap of the machine in use, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_swap_used_mib: Option<f64>,
    /// Performance state: 0 is the fastest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pstate: Option<u8>,
    /// Why the clock is not higher: bits of NVML's `nvmlClocksEventReasons`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle_bits: Option<u64>,
}

impl Sample {
    /// An empty sample of this moment.
    pub const fn new(at: Instant) -> Self {
        Self {
            at,
            gpu_util_pct: None,
            power_w: None,
            gpu_c: None,
            sm_clock_mhz: None,
            memory_used_mib: None,
            memory_util_pct: None,
            memory_clock_mhz: None,
            power_limit_w: None,
            energy_j: None,
            host_memory_used_mib: None,
            host_memory_available_mib: None,
            host_swap_used_mib: None,
            pstate: None,
            throttle_bits: None,
        }
    }
}

impl Setup {
    /// This program among the clients that [`Setup::tool`] names.
    pub const OWN_CLIENT: &'static str = "sparkbench-load";
}

/// Settings and known facts of the launch, as far as the files have them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Setup {
    /// Model id that was asked for.
    pub model_id: Option<String>,
    /// Model id that the engine or the launch path shows to have run.
    pub model_served: Option<String>,
    /// Machine or GPU name as the files print it.
    pub machine: Option<String>,
    /// Engine name and version.
    pub engine: Option<String>,
    pub engine_version: Option<String>,
    /// Data type or quantisation of the weights.
    pub quantisation: Option<String>,
    /// Batch size or concurrency limit.
    pub batch: Option<f64>,
    /// Input sequence length, tokens.
    pub isl: Option<f64>,
    /// Output sequence length, tokens.
    pub osl: Option<f64>,
    /// Number of requests (or measured iterations times batch).
    pub requests: Option<f64>,
    /// Parameters of the model.
    pub parameters: Option<f64>,
    /// Memory of the device, GiB, as the engine saw it.
    pub device_memory_gib: Option<f64>,
    /// Weights as the engine prints them, GiB.
    pub model_memory_gib: Option<f64>,
    /// Temperature of the GPU before, degrees Celsius.
    pub start_temp_c: Option<f64>,
    /// Temperature of the GPU after, degrees Celsius.
    pub end_temp_c: Option<f64>,
    /// Exit status.
    pub exit_code: Option<i64>,
    /// Benchmark that made the figures, a slug: `vllm-bench-serve`, `aiperf`, `llama-bench`.
    pub tool: Option<String>,
    /// Version of the benchmark.
    pub tool_version: Option<String>,
    /// Requests that were sent a second. Infinite where all were sent at once.
    #[serde(serialize_with = "rate_or_word")]
    pub request_rate: Option<f64>,
    /// Longest context that the server was started for, tokens.
    pub max_model_len: Option<f64>,
    /// Share of the device memory that the server may take, 0 to 1.
    pub memory_utilisation: Option<f64>,
    /// Data type of the KV cache.
    pub kv_dtype: Option<String>,
    /// Speculative decoding: method and draft length as the source prints them. `off` where it says so.
    pub speculative: Option<String>,
    /// Whether prefixes are cached.
    pub prefix_cache: Option<bool>,
    /// How the model is split over devices: `tp2 pp1`.
    pub parallel: Option<String>,
    /// Every further setting and label, as the source names it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub more: BTreeMap<String, String>,
}

/// No bound on the rate is a word in JSON, which has no infinity.
fn rate_or_word<S: serde::Serializer>(rate: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match rate {
        Some(rate) if rate.is_infinite() => serializer.serialize_str("unlimited"),
        other => other.serialize(serializer),
    }
}

/// One execution of one cell: environment x model x workload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Unique within the whole analysis after intake. A slug.
    pub id: String,
    /// Slug of the campaign it belongs to.
    pub campaign: String,
    pub environment: String,
    pub model: String,
    pub workload: String,
    /// The k-th run of its cell.
    pub repeat: Option<u32>,
    /// Group of runs close in time.
    pub block: Option<u32>,
    /// Place in the order of execution.
    pub position: Option<u32>,
    /// Start of the engine that it was measured on, from 1. A number of its campaign. Absent where it is not recorded.
    pub launch: Option<u32>,
    /// Name of the process that made this run and others in one time, with one telemetry.
    pub together: Option<String>,
    pub started: Option<Instant>,
    pub ended: Option<Instant>,
    /// The period in which a load measured, where it is shorter than from start to end and the source says so.
    pub measured: Option<(Instant, Instant)>,
    /// Outcome.
    pub status: Status,
    /// Whole-run figures as reported.
    pub readings: Vec<Reading>,
    /// Per-request figures as reported.
    pub series: Vec<Series>,
    /// Figures that are not among our metrics.
    pub extras: Vec<Extra>,
    /// GPU telemetry in time order.
    pub telemetry: Vec<Sample>,
    /// Events beside the figures.
    pub course: Course,
    /// Settings and launch facts.
    pub setup: Setup,
    /// Settings by their names, each with who says it. Filled when the runs of a campaign are laid out.
    pub settings: RunSettings,
    /// The same for all repeats of one cell, and for no other run of the campaign. Empty until the runs are laid out.
    pub cell: String,
    /// The main file it came from.
    pub source: Source,
    /// Every further file it was joined from.
    pub files: Vec<Source>,
}

impl Run {
    /// The figure of one metric, where the run reports it and it is finite.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.readings.iter().find(|r| r.metric == metric).map(|r| r.value).filter(|v| v.is_finite())
    }

    /// Whether it failed. Its figures are shown, and enter no mean.
    pub const fn has_failed(&self) -> bool {
        matches!(self.status, Status::Failed(_))
    }

    /// What the source of the start leaves open of it.
    pub fn loose_start(&self) -> Option<LooseStart> {
        self.course.loose_start.filter(|(at, _)| Some(*at) == self.started).map(|(_, loose)| loose)
    }

    /// The reading of one metric, finite or not.
    pub fn reading(&self, metric: &str) -> Option<&Reading> {
        self.readings.iter().find(|r| r.metric == metric)
    }
}
