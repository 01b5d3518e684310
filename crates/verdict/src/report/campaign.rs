//! A campaign as pages and `analysis.json` show it: its words, its design, and what its rows support.
//!
//! In:  filled by the judge and the traps.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Comparison, HypothesisReport, Interval, MeasuredRow, Ranking};
use sparkbench_model::{AskedFactor, CustomMetric, Factor, Instant, Paper};

/// One campaign: its words, its design, and what its rows support.
#[derive(Debug, Clone, Serialize)]
pub struct CampaignReport {
    /// Slug.
    pub name: String,
    /// For people. The slug when the campaign has none.
    pub title: String,
    /// Question the campaign asks.
    pub question: Option<String>,
    /// Markdown prose of its authors.
    pub prose: Option<String>,
    /// Who its authors are and how it is cited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study: Option<Paper>,
    /// Provenance lines.
    pub provenance: Vec<String>,
    /// Machine label and its name for people.
    pub machine: Option<String>,
    /// Environment others are compared with.
    pub baseline: Option<String>,
    /// All environments.
    pub environments: Vec<String>,
    /// All models.
    pub models: Vec<String>,
    /// All workloads.
    pub workloads: Vec<String>,
    /// Primary metrics.
    pub primary: Vec<String>,
    /// Margin of every metric of the campaign, per cent: from the command line, the campaign, or the defaults.
    pub margins_pct: BTreeMap<String, f64>,
    /// Metrics that the campaign defines, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, CustomMetric>,
    /// Runs found.
    pub runs: usize,
    /// Runs whose status is failed.
    pub failed: usize,
    /// First start.
    pub first_started_utc: Option<Instant>,
    /// Last start.
    pub last_started_utc: Option<Instant>,
    /// How the arms were ordered.
    pub order: Vec<OrderReport>,
    /// The authors' expectations before the first run, and the outcome. The headline begins with these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hypotheses: Vec<HypothesisReport>,
    /// The answer in one sentence that can be quoted alone. Absent where nothing was found.
    pub answer: Option<String>,
    /// The answer metric by metric. Where there are hypotheses, it begins with these.
    pub headline: Vec<Sentence>,
    /// Conclusions that the rows support.
    pub supported: Vec<Sentence>,
    /// Conclusions that they do not support.
    pub unsupported: Vec<Sentence>,
    /// What would make the answer surer, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Sentence>,
    /// The same rows read again as one workload, where the launch path shows that several labels ran one model.
    pub pooled: Vec<Comparison>,
    /// The published figures, recomputed.
    pub published: Vec<PublishedCheck>,
    /// How many published figures reproduce, of how many, in words. Absent when none are tabulated.
    pub published_summary: Option<String>,
    /// The quality criteria of the published study, cell by cell.
    pub criteria: Vec<Criterion>,
    /// Settings that vary, in the order in which they are asked about, load axes last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// The factor that is compared, and what else could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedFactor>,
    /// Arms in order, stratum by stratum, where the campaign asks about a factor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<Ranking>,
    /// Label that distinguishes the arms where it is not the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare_by: Option<String>,
    /// Decode throughput, time per output token, model memory and KV cache of every cell, an empty one with its reason.
    pub essentials: Vec<Essential>,
    /// One row for each cell where nothing is compared. Empty where the comparisons are the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<MeasuredRow>,
    /// SHA-256 over the sorted hashes of the campaign's files.
    pub archive_sha256: String,
}

/// The five figures of one cell that every comparison carries.
#[derive(Debug, Clone, Serialize)]
pub struct Essential {
    pub model: String,
    pub workload: String,
    pub environment: String,
    /// The figures, always in the same order.
    pub cells: Vec<EssentialCell>,
}

/// One of them.
#[derive(Debug, Clone, Serialize)]
pub struct EssentialCell {
    /// Contract name.
    pub metric: String,
    /// For people.
    pub label: String,
    /// Unit as printed.
    pub unit: &'static str,
    /// Runs it rests on.
    pub n: usize,
    /// Mean over these runs.
    pub mean: Option<f64>,
    /// Its t-interval, where there are two runs or more.
    pub interval: Option<Interval>,
    /// Why there is no figure. Absent where there is one.
    pub empty: Option<String>,
}

/// A sentence with the comparisons, traps or groups it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// As shown.
    pub text: String,
    /// What qualifies it, each on its own. Shown after it or on request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// Ids it rests on: trap ids, `model|workload|metric` of comparisons, or `agreement#` with the id of a table of clients.
    pub because: Vec<String>,
}

impl Sentence {
    /// Prefix of an id that leads to a table of clients.
    pub const AGREEMENT: &'static str = "agreement#";
    /// Beginning of what is always said of single runs.
    pub const ONE_RUN: &'static str = "A single run does not show how much runs differ by themselves.";

    /// Its first sentence, which can be quoted alone.
    pub fn lead(&self) -> &str {
        lead_and_more(&self.text).0
    }
}

/// The first sentence of a text, and what follows it. A point within a number ends no sentence.
pub fn lead_and_more(text: &str) -> (&str, &str) {
    let end = [". ", ".\u{201d} "].iter().filter_map(|mark| Some(text.find(mark)? + mark.len() - 1)).min();
    let (lead, more) = text.split_at(end.unwrap_or(text.len()));
    (lead, more.trim_start())
}

/// Order of the arms of one question (statistics contract 6.4).
#[derive(Debug, Clone, Serialize)]
pub struct OrderReport {
    pub model: String,
    pub workload: String,
    /// `interleaved`, `mixed`, `blocked`, or `unknown` without start times.
    pub kind: String,
    /// Maximal sequences of one environment.
    pub stretches: usize,
    /// Share of consecutive windows that hold every environment once.
    pub balanced_share: Option<f64>,
    /// Wald-Wolfowitz lower-tail p, two environments only.
    pub p_too_few: Option<f64>,
    /// Environment labels in order of time.
    pub sequence: Vec<String>,
}

/// A published figure and what the rows give.
#[derive(Debug, Clone, Serialize)]
pub struct PublishedCheck {
    pub model: String,
    /// Environment, or `candidate - baseline`.
    pub environment: String,
    /// Contract name.
    pub metric: String,
    /// What was published: `mean`, `sd`, `difference`, `loss_pct`.
    pub statistic: String,
    /// As printed.
    pub printed: String,
    /// Recomputed, all rows.
    pub recomputed: Option<f64>,
    /// Recomputed and rounded to the printed digits.
    pub rounded: Option<String>,
    /// Whether it agrees to the printed digits.
    pub reproduces: bool,
    /// Rows it took.
    pub n: usize,
    /// Notes: which divisor, more rows than planned.
    pub note: Option<String>,
    /// Where it was published.
    pub source: String,
}

/// One success criterion of statistics contract section 8 for one cell.
#[derive(Debug, Clone, Serialize)]
pub struct Criterion {
    /// `cv_below_5_pct`, `power_at_10_pct`, `reproducible`, `complete`.
    pub id: &'static str,
    pub model: String,
    pub workload: String,
    /// Metric, where it is about one.
    pub metric: Option<String>,
    /// `pass`, `fail` or `not_assessed`.
    pub outcome: &'static str,
    /// The deciding reason.
    pub because: String,
}
