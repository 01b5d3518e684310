//! One run as pages and `analysis.json` show it.
//!
//! In:  filled by the judge and the traps.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use sparkbench_model::{Extra, Instant, Origin, RunSettings, Setup, Source, Status};

/// One run as the pages show it.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// Unique in the analysis. A slug.
    pub id: String,
    /// Campaign slug.
    pub campaign: String,
    pub environment: String,
    pub model: String,
    pub workload: String,
    /// k-th run of its cell.
    pub repeat: Option<u32>,
    pub block: Option<u32>,
    /// Start of the engine that it was measured on, from 1 in each campaign. Null where it is not recorded.
    pub launch: Option<u32>,
    /// See [`sparkbench_model::Run::together`].
    #[serde(skip)]
    pub together: Option<String>,
    pub started_utc: Option<Instant>,
    pub ended_utc: Option<Instant>,
    /// Outcome.
    pub status: StatusText,
    /// Contract names to values. Null where missing or infinite.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// Source of each metric.
    pub origins: BTreeMap<String, Origin>,
    /// Requests behind each per-request metric.
    pub requests: BTreeMap<String, usize>,
    /// `outlier:modified_z:METRIC`, `first_run:METRIC`, `invalid:WHY`, ...
    pub flags: Vec<String>,
    /// Figures of the source that are not among our metrics. Some tools write a thousand a run, so they stand in a table of their own
    /// (`data/extras.parquet`) and not in `analysis.json`.
    #[serde(skip)]
    pub extras: Vec<Extra>,
    /// Settings and launch facts.
    pub setup: Setup,
    /// Settings by their names, each with who says it.
    #[serde(skip_serializing_if = "RunSettings::is_empty")]
    pub settings: RunSettings,
    /// Equal for repeats of one cell.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cell: String,
    /// Main file.
    pub source: Source,
    /// Other files.
    pub files: Vec<Source>,
}

/// [`Status`] as the contract spells it: `done`, `failed`, `unrecorded`, with the reason kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusText(pub Status);

impl StatusText {
    /// The one word.
    pub const fn word(&self) -> &'static str {
        match self.0 {
            Status::Done => "done",
            Status::Failed(_) => "failed",
            Status::Unrecorded => "unrecorded",
        }
    }
}

impl Serialize for StatusText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
