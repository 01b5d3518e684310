//! The course of runs over time, as pages and `analysis.json` show it.
//!
//! In:  filled by `verdict::course`.  Out: JSON with the same names.
//! Not here: the samples themselves, which stay in the files of the runs.

use serde::Serialize;

use sparkbench_model::{Finding, Instant, Loss, MissingRun};

/// All of them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Courses {
    /// A row for each run of which something is known, in the order of the runs.
    pub runs: Vec<CourseReport>,
    /// A row for each campaign with a plan or with telemetry, by name.
    pub campaigns: Vec<CampaignCourse>,
}

/// One run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CourseReport {
    pub run: String,
    /// Runs that were made in the same launch, this one among them: its samples are those of all of them. One where they are its own.
    pub launch_runs: usize,
    /// Moment of the first sample, from which all seconds here count.
    pub first_sample_utc: Option<Instant>,
    /// The measured window.
    pub window: Option<WindowReport>,
    /// Periods of the window in which the clock was held down. Absent where no sample has reasons.
    pub held: Option<Vec<HeldReport>>,
    /// Range and mean of every quantity over all samples.
    pub quantities: Vec<QuantityReport>,
    /// Readings of the gates before the run.
    pub gates: Vec<Finding>,
    /// Findings of the watchdogs and of the checks afterwards.
    pub watched: Vec<Finding>,
    /// Requests on their way at once.
    pub in_flight: Option<InFlightReport>,
    /// Further machines of the run, by rank.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeReport>,
}

/// A further machine of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NodeReport {
    /// Name of its folder.
    pub name: String,
    /// From 1. The head is 0.
    pub rank: u32,
    /// The worker of the engine there, in one line. Empty where none ran.
    pub command: String,
    /// Why it makes the run a failed one, where it does.
    pub failure: Option<String>,
    /// Range and mean of every quantity over all samples.
    pub quantities: Vec<QuantityReport>,
    /// Readings of its gates.
    pub gates: Vec<Finding>,
    /// Findings of its watchdogs.
    pub watched: Vec<Finding>,
    /// Its wall clock less that of the head, ms.
    pub clock_ahead_ms: Option<f64>,
    /// The most by which its times may be wrong on the clock of the head, ms.
    pub clock_bound_ms: Option<f64>,
}

/// A measured window, seconds since the first sample.
#[derive(Debug, Clone, Serialize)]
pub struct WindowReport {
    /// Beginning.
    pub from_s: f64,
    pub to_s: f64,
    /// How it was found.
    pub cut: &'static str,
}

/// A period in which the clock was held down.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldReport {
    /// Beginning, seconds since the first sample.
    pub from_s: f64,
    pub to_s: f64,
    /// Why, in words.
    pub reasons: Vec<&'static str>,
}

/// One quantity of telemetry over a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuantityReport {
    /// Name with unit, as of the samples: `power_w`.
    pub name: &'static str,
    /// Samples that have it.
    pub n: usize,
    /// Least value.
    pub least: f64,
    /// Mean of the samples, each counted alike.
    pub mean: f64,
    /// Greatest value.
    pub greatest: f64,
}

/// Requests on their way at once, from the first sent to the last ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InFlightReport {
    /// Measured requests with a time of sending.
    pub requests: usize,
    /// Of these, not answered.
    pub failed: usize,
    /// Most at once.
    pub greatest: usize,
    /// Mean over time.
    pub mean: f64,
}

/// One campaign.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CampaignCourse {
    /// Slug.
    pub campaign: String,
    /// Runs of the plan, with and without a result.
    pub planned: usize,
    /// Planned runs that are not among the runs, in the order of the plan.
    #[serde(rename = "unmade")]
    pub missing_runs: Vec<MissingRun>,
    /// What was given up as lost in its archive, apart from runs that are among these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Loss>,
    /// GPU utilisation over time. Absent where no run has it.
    pub utilisation: Option<GridReport>,
}

/// One quantity over time, a row for each launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridReport {
    /// Name with unit, as of the samples.
    pub name: &'static str,
    /// Seconds of a column.
    pub step_s: f64,
    /// Launches in order of start.
    pub rows: Vec<GridRow>,
}

/// One launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridRow {
    /// The run, the first of them where a launch has several.
    pub run: String,
    /// How many runs share the launch and its samples.
    pub runs: usize,
    /// Mean of the samples of each column. Absent where there is none. Trailing columns without samples are left out.
    pub means: Vec<Option<f64>>,
}
