//! The analysis as one value: what `site/data/analysis.json` holds and what every page shows.
//!
//! In:  filled by [`super`].  Out: `sparkbench.analysis/1`, serialised with sorted arrays and `null` for absent.
//! Not here: how a number came about (see `stats`), how it is shown (see `page`).

mod campaign;
mod comparison;
mod cost;
mod group;
mod physics;
mod run;
mod trap;

use std::collections::BTreeMap;

use serde::Serialize;

pub use campaign::{CampaignReport, Criterion, Essential, EssentialCell, OrderReport, PublishedCheck, Sentence};
pub use comparison::{
    Adjusted, Comparison, Effect, FReport, NamedInterval, PermutationReport, Stability, TReport, TostReport, UReport,
    Verdict, VerdictKind, WReport, WithoutFlagged,
};
pub use cost::{
    ApartReport, BestBatch, Choice, CostReport, Excluded, MachineRow, MachineTable, OtherPrice, OwnFigure, PriceReport,
    ReferenceReport,
};
pub use group::{BootstrapReport, DriftReport, Group, MedianInterval, OutlierReport, RequestPercentile};
pub use physics::{Estimate, KvReport, PhysicsReport};
pub use run::{RunReport, StatusText};
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
    /// What was asked for.
    pub settings: Settings,
    /// Every file that was looked at, by path.
    pub inputs: Vec<Input>,
    /// Campaigns, by name.
    pub campaigns: Vec<CampaignReport>,
    /// Runs, by campaign, then start, then id.
    pub runs: Vec<RunReport>,
    /// One cell and metric each.
    pub groups: Vec<Group>,
    /// One pair of environments and metric each.
    pub comparisons: Vec<Comparison>,
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
    /// Published figures for the machines of this analysis: context, never a verdict.
    pub references: Vec<ReferenceReport>,
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
pub struct Settings {
    /// Two-sided level of every interval.
    pub confidence: f64,
    /// Draws of each bootstrap.
    pub resamples: usize,
    /// Seed of every random draw.
    pub seed: u64,
    /// Environment that others are held against, where all campaigns share it; else each campaign says its own.
    pub baseline: Option<String>,
    /// Margin of every metric, per cent, unless a campaign fixed its own (see [`CampaignReport::margins_pct`]).
    pub margins_pct: BTreeMap<String, f64>,
}

/// One file that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Input {
    /// Below the folder that was given.
    pub path: String,
    /// Format that took it, absent when none did.
    pub format: Option<String>,
    /// SHA-256, absent when the file could not be read whole.
    pub sha256: Option<String>,
    /// Runs that came from it.
    pub runs: usize,
    /// True when something in it was left out.
    pub skipped: bool,
    /// What was left out and why.
    pub reason: Option<String>,
}

/// Two ends. A missing end is unbounded or does not exist; the reason stands beside it.
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

    /// Whether a value lies strictly outside.
    pub fn excludes(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }
}
