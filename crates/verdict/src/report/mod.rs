//! The analysis as one value: the content of `site/data/analysis.json` and of every page.
//!
//! In:  filled by [`super`].  Out: `sparkbench.analysis/1`, serialised with sorted arrays and `null` for absent.
//! Not here: how a number came about (see `stats`), how it is shown (see `page`).

pub mod across;
mod calibration;
mod campaign;
mod comparison;
mod cost;
mod course;
mod evidence;
mod group;
mod history;
mod hypothesis;
mod measured;
mod physics;
mod ranking;
mod replication;
mod run;
mod sequential;
pub mod series;
mod trap;

pub use sparkbench_model::Input;
use std::collections::BTreeMap;

use serde::Serialize;

use sparkbench_model::{Altered, FactConflict};

pub use across::Across;
pub use calibration::{CalibrationArm, CalibrationReport};
pub use campaign::{
    CampaignReport, Criterion, Essential, EssentialCell, OrderReport, PublishedCheck, Sentence, lead_and_more,
};
pub use comparison::{
    Adjusted, Comparison, Comparisons, Effect, FReport, InteractionReport, IntervalOfVerdict, NamedInterval,
    PermutationReport, PromiseReport, Scope, Stability, TReport, TostReport, UReport, Verdict, VerdictKind, WReport,
    WithoutFlagged,
};
pub use cost::{
    ApartReport, BestBatch, Choice, CostReport, Excluded, MachineRow, MachineTable, OtherPrice, OwnFigure, PriceReport,
    ReferenceReport,
};
pub use course::{
    CampaignCourse, CourseReport, Courses, GridReport, GridRow, HeldReport, InFlightReport, NodeReport, QuantityReport,
    WindowReport,
};
pub use evidence::{PairRow, PairsReport, ShiftDecile, ShiftReport, StabilityCell, StabilityMethod, StabilityPanel};
pub use group::{BootstrapReport, DriftReport, Group, MedianInterval, OutlierReport, RequestPercentile};
pub use history::{HistoryFigure, HistoryPoint, HistoryReport, HistoryStep};
pub use hypothesis::{HypothesisReport, Outcome};
pub use measured::MeasuredRow;
pub use physics::{Estimate, KvReport, PhysicsReport};
pub use ranking::{RankedArm, Ranking};
pub use replication::{ReplicationReport, ReplicationRow};
pub use run::{RunReport, StatusText};
pub use sequential::{DesignReport, LookDecision, LookReport, SequentialReport};
pub use trap::{Evidence, Severity, Subject, TrapReport, TrapStatus};

/// Schema of [`Analysis`].
pub const SCHEMA: &str = "sparkbench.analysis/1";

/// Everything the analysis found.
#[derive(Debug, Clone, Serialize)]
pub struct Analysis {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Which program said it.
    pub tool: Tool,
    /// The request.
    pub settings: SettingsReport,
    /// Every file that was examined, by path.
    pub inputs: Vec<Input>,
    /// Campaigns, by name.
    pub campaigns: Vec<CampaignReport>,
    /// Runs, by campaign, then start, then id.
    pub runs: Vec<RunReport>,
    /// One cell and metric each.
    pub groups: Vec<Group>,
    /// One pair of environments and metric each, and the answers over all loads.
    pub comparisons: Comparisons,
    /// One row per trap and subject.
    pub traps: Vec<TrapReport>,
    /// Ceilings and shares, a row for each cell that measures output.
    pub physics: Vec<PhysicsReport>,
    /// Costs, a row for each cell that measures output.
    pub costs: Vec<CostReport>,
    /// Best batch sizes, where a shape of requests was measured with several.
    pub best_batches: Vec<BestBatch>,
    /// The same model and shape of requests on several machines.
    pub machines: Vec<MachineTable>,
    /// The method tried on identical arms, a row for each campaign with runs enough.
    pub calibration: Vec<CalibrationReport>,
    /// Published figures for the machines of this analysis: context, never a verdict.
    pub references: Vec<ReferenceReport>,
    /// Results across cells and campaigns.
    #[serde(flatten)]
    pub across: Across,
    /// How runs went over time, and which planned runs are not there.
    pub courses: Courses,
    /// Cells that several campaigns measured, and the verdict from each campaign to the next.
    pub history: Vec<HistoryReport>,
    /// Questions that several campaigns asked, each with its pooled answer.
    pub replications: Vec<ReplicationReport>,
    /// Facts that files beside the results give.
    #[serde(skip_serializing_if = "FactsReport::is_empty")]
    pub facts: FactsReport,
    /// By what is compared and what else could be asked, or why nothing is. For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_compare: Option<String>,
}

/// Facts of machines and models that do not ship with the program.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FactsReport {
    /// Tables that files give, by table and key.
    pub local: Vec<LocalTable>,
    /// Figures on which files contradict the shipped facts, or each other.
    pub conflicts: Vec<FactConflict>,
}

/// A table of facts that a file gives.
#[derive(Debug, Clone, Serialize)]
pub struct LocalTable {
    /// `machines`, `models`, `prices` or `references`.
    pub table: &'static str,
    pub key: String,
    /// Label of the machine that it is about. Absent for models.
    pub machine: Option<String>,
    /// The file.
    pub file: String,
}

impl FactsReport {
    fn is_empty(&self) -> bool {
        self.local.is_empty() && self.conflicts.is_empty()
    }
}

impl Analysis {
    /// Files that are not what was recorded of them, those first that are errors.
    pub fn altered(&self) -> Vec<&Altered> {
        let mut found: Vec<&Altered> = self.inputs.iter().filter_map(|input| input.altered.as_ref()).collect();
        found.sort_by_key(|altered| !altered.is_error);
        found
    }

    /// Campaigns, the newest first, those without any start time last. Those about load clients follow those about machines.
    pub fn newest_first(&self) -> Vec<&CampaignReport> {
        let mut campaigns: Vec<_> = self.campaigns.iter().collect();
        let about = |campaign: &CampaignReport| self.is_about_clients(campaign);
        campaigns.sort_by(|a, b| {
            let newer = || b.last_started_utc.cmp(&a.last_started_utc);
            about(a).cmp(&about(b)).then_with(newer).then_with(|| a.name.cmp(&b.name))
        });
        campaigns
    }

    /// Whether any comparison of it could have a verdict. Single runs beside each other cannot.
    pub fn has_verdicts(&self, campaign: &CampaignReport) -> bool {
        self.comparisons.iter().any(|c| c.campaign == campaign.name && !c.verdict.is_once())
    }

    /// Whether its answer is how far load clients agree, and none about a machine.
    pub fn is_about_clients(&self, campaign: &CampaignReport) -> bool {
        let first = campaign.headline.get(campaign.hypotheses.len().min(campaign.headline.len()));
        first.is_some_and(|sentence| sentence.because.iter().any(|id| id.starts_with(Sentence::AGREEMENT)))
    }
}

/// Name and version of the program.
#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    /// `sparkbench`.
    pub name: &'static str,
    /// Version of the crate.
    pub version: &'static str,
}

/// Settings of the analysis.
#[derive(Debug, Clone, Serialize)]
pub struct SettingsReport {
    /// Two-sided level of every interval.
    pub confidence: f64,
    /// Draws of each bootstrap.
    pub resamples: usize,
    /// Seed of every random draw.
    pub seed: u64,
    /// Environment that others are compared with, where all campaigns share it. Else each campaign says its own.
    pub baseline: Option<String>,
    /// Margin of every metric, per cent, unless a campaign fixed its own (see [`CampaignReport::margins_pct`]).
    pub margins_pct: BTreeMap<String, f64>,
    /// Settings beyond the defaults. With them and the settings above the same analysis can be repeated.
    pub asked: Asked,
}

/// Settings of the person who made the analysis.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Asked {
    /// Environment that others are compared with, where one was named.
    pub baseline: Option<String>,
    /// Margins that were named, per cent.
    pub margins_pct: BTreeMap<String, f64>,
    /// Whether labels came from a file of their own.
    pub labels: bool,
    /// Whether definitions of metrics came from a file of their own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub metrics: bool,
    /// Whether facts came from a file that was named.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub facts: bool,
    /// Label that was to be compared in place of environments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare_by: Option<String>,
    /// Conditions on the runs that were kept, as typed.
    #[serde(rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Whether folders were to be the arms.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub arms_by_folder: bool,
    /// Whether names, addresses and secrets were replaced before anything was judged.
    pub scrubbed: bool,
}

/// Two ends. A missing end is unbounded or does not exist. The reason is beside it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// From an ordered pair.
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }
}
