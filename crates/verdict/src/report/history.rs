//! One cell over several campaigns: its points in order of time, and the notes on each step between two.
//!
//! In:  filled by `verdict::history`.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use super::series::SeriesReport;
use super::{Comparison, Interval};
use sparkbench_model::{Direction, Instant};

/// A cell that several campaigns measured: the same machine, model, shape of requests, engine and environment.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryReport {
    /// Machine for people.
    pub machine: Option<String>,
    /// Model label, as the newest campaign has it.
    pub model: String,
    /// Workload label, as the newest campaign has it.
    pub workload: String,
    pub environment: String,
    /// Engine, where the runs say it.
    pub engine: Option<String>,
    /// Metrics that are followed.
    pub metrics: Vec<String>,
    /// Campaigns in order of time.
    pub points: Vec<HistoryPoint>,
    /// From each campaign to the next, the newest ones.
    pub steps: Vec<HistoryStep>,
    /// Each followed metric over all campaigns, with its changes. None where no file names the machine.
    pub series: Vec<SeriesReport>,
}

/// The cell in one campaign.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryPoint {
    /// Campaign slug.
    pub campaign: String,
    /// First start of the cell there.
    pub first_started_utc: Option<Instant>,
    /// Last start of the cell there.
    pub last_started_utc: Option<Instant>,
    /// Versions that the runs tell: of the engine, the driver, the benchmark. Name and value.
    pub versions: Vec<(String, String)>,
    /// Figures, one a metric that is followed.
    pub figures: Vec<HistoryFigure>,
}

/// One metric of a cell in one campaign.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryFigure {
    /// Contract name.
    pub metric: String,
    /// For people.
    pub label: String,
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// Runs with a finite value.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Student interval of the mean.
    pub interval: Option<Interval>,
    /// Finite values in order of time.
    pub values: Vec<f64>,
}

/// From one campaign to the next.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryStep {
    /// Campaign before.
    pub from: String,
    /// Campaign after.
    pub to: String,
    /// Versions that changed: name, before, after.
    pub changed: Vec<(String, String, String)>,
    /// The later campaign against the earlier one, by the rules of every other comparison.
    pub comparisons: Vec<Comparison>,
}
