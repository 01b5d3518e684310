//! `campaign.json` and `seal.json`: the plan before the first run, and the hash over all results.
//!
//! In:  nothing.  Out: serde types.
//! Not here: the journal (see `archive::journal`), a single run (see [`super::RunWire`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sparkbench_model::{CustomMetric, MeasuredLink, ModelLabel, SequentialDesign};

/// `campaign.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CampaignWire {
    /// [`super::CAMPAIGN_SCHEMA`].
    pub schema: String,
    /// Name. Its slug is the campaign's name in addresses.
    pub name: String,
    /// For people.
    pub title: Option<String>,
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
    /// Findings of the pre-flight: any tree, no host names.
    pub host: Option<serde_json::Value>,
    /// Environment others are compared with.
    pub baseline: Option<String>,
    /// Figures that are true by construction, by metric: those of a server that was told how fast to be.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub truth: BTreeMap<String, f64>,
    /// Primary metrics.
    pub primary: Vec<String>,
    /// Margins fixed before the first run, per cent.
    pub margins_pct: BTreeMap<String, f64>,
    /// Metrics that each run was to report.
    pub planned_metrics: Vec<String>,
    /// Metrics that the campaign defines, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, CustomMetric>,
    /// Least pause between runs, seconds.
    pub cooldown_s: Option<f64>,
    /// Highest start temperature of the gate, degrees Celsius.
    pub start_temp_limit_c: Option<f64>,
    /// Known facts of the model labels.
    pub models: BTreeMap<String, ModelLabel>,
    /// Where it comes from, one line each.
    pub provenance: Vec<String>,
    /// Random name of this archive. Marks its processes, containers and control groups.
    pub archive_id: Option<String>,
    /// When it was begun, ISO 8601 in UTC.
    pub created_utc: Option<String>,
    /// SHA-256 of `suite` as it was written, before secrets were masked.
    pub suite_sha256: Option<String>,
    /// `interleaved` or `blocked`, and in a sentence what that means for the comparison.
    pub order: Option<String>,
    /// When the campaign looks at its figures and how the error rate is spent. Absent for a fixed number of repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub design: Option<SequentialDesign>,
    /// The authors' expectations before the first run.
    pub hypotheses: Vec<HypothesisWire>,
    /// SHA-256 over name, hypotheses, primary metrics, margins, seed, plan, design and definitions of metrics: fixed before the first run.
    pub design_sha256: Option<String>,
    /// Contents of each environment, by label: image digest, root file system, flags.
    pub environments: BTreeMap<String, serde_json::Value>,
    /// Facts about each further machine, by its name: any tree, no host names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, serde_json::Value>,
    /// The links between the machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<MeasuredLink>,
    /// Replacements before anything was written: kind of secret or name, and how often.
    pub masked: BTreeMap<String, u64>,
}

/// A statement that the campaign sets out to test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HypothesisWire {
    /// In words.
    pub claim: String,
    /// Metric that decides.
    pub metric: Option<String>,
    /// Environment to compare with.
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
    pub environment: String,
    pub model: String,
    pub workload: String,
    /// The k-th run of its cell, from 1.
    pub repeat: Option<u32>,
    /// Group of runs close in time, from 1.
    pub block: Option<u32>,
    /// Place in the order, from 1.
    pub position: Option<u32>,
}

/// `seal.json`: the line that would follow in the journal, chain included, in a file of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SealWire {
    /// [`super::SEAL_SCHEMA`].
    pub schema: String,
    /// SHA-256 of the whole journal.
    pub journal_sha256: String,
    /// Its size.
    pub journal_bytes: u64,
    /// SHA-256 of `campaign.json`.
    pub campaign_sha256: String,
    /// Folders below `runs/`.
    pub runs: u64,
    /// What was lost and was accepted as lost, in the order of the journal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LossWire>,
}

/// Something that was recorded and is lost, by the word of the archive's owner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LossWire {
    /// Part of the archive that did not fit its record.
    pub path: String,
    /// Id of the run, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What did not fit.
    pub why: String,
}
