//! Evidence behind one verdict: the same verdict under other choices, the pairs of a design with blocks, the shift of the requests.
//!
//! In:  filled by the judge.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use super::{Interval, VerdictKind};

/// The verdict under every combination of method, runs and margin.
#[derive(Debug, Clone, Serialize)]
pub struct StabilityPanel {
    /// Combinations that give the verdict as judged.
    pub same: usize,
    /// Combinations.
    pub of: usize,
    /// By runs, then method, then margin.
    pub cells: Vec<StabilityCell>,
}

/// One combination.
#[derive(Debug, Clone, Serialize)]
pub struct StabilityCell {
    /// Power to tell a difference from none, and sameness from ignorance.
    pub method: StabilityMethod,
    /// Whether the flagged runs were left out.
    pub without_flagged: bool,
    /// 0.5, 1 or 2 times the margin of the verdict.
    pub margin_factor: f64,
    /// The margin that gives, per cent.
    pub margin_pct: f64,
    /// Verdict kind.
    pub kind: VerdictKind,
}

/// Power to tell a difference from none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StabilityMethod {
    /// Welch's t, adjusted by Holm, with Fieller's interval. Sameness by two one-sided t tests.
    T,
    /// The BCa interval alone. Sameness where the one at twice the level lies within the margin.
    Bootstrap,
    /// The permutation test, adjusted by Holm, with Fieller's interval. Sameness by two one-sided t tests.
    Permutation,
}

/// Runs that a design with blocks holds against each other.
#[derive(Debug, Clone, Serialize)]
pub struct PairsReport {
    /// In order of time.
    pub rows: Vec<PairRow>,
    /// Pairs in which the candidate is above the baseline.
    pub above: usize,
    /// Pairs in which it is below.
    pub below: usize,
    /// Pairs in which they are equal.
    pub equal: usize,
    /// Mean of the differences, metric units.
    pub mean_difference: Option<f64>,
    /// Its t interval.
    pub interval: Option<Interval>,
}

/// One pair of runs.
#[derive(Debug, Clone, Serialize)]
pub struct PairRow {
    /// Block of both, where the archive names one.
    pub block: Option<u32>,
    /// Run id.
    pub baseline_run: String,
    /// Run id.
    pub candidate_run: String,
    /// Value of the baseline.
    pub baseline: f64,
    /// Value of the candidate.
    pub candidate: f64,
    /// Candidate - baseline.
    pub difference: f64,
}

/// Deciles of all requests of both arms and how far they lie apart.
#[derive(Debug, Clone, Serialize)]
pub struct ShiftReport {
    /// p10 to p90.
    pub deciles: Vec<ShiftDecile>,
    /// Runs with requests, baseline.
    pub runs_baseline: usize,
    /// Runs with requests, candidate.
    pub runs_candidate: usize,
    pub requests_baseline: usize,
    pub requests_candidate: usize,
    /// Resamples behind the intervals. Absent without intervals.
    pub resamples: Option<usize>,
    /// Deciles whose band excludes 0, candidate above.
    pub above: usize,
    /// Deciles whose band excludes 0, candidate below.
    pub below: usize,
    /// `one_run`, `few_runs`, `too_many_to_resample`.
    pub flags: Vec<String>,
}

/// One decile.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ShiftDecile {
    /// Per cent of the requests at or below: 10, 20, ...
    pub percent: u32,
    pub baseline: f64,
    pub candidate: f64,
    /// Candidate - baseline.
    pub difference: f64,
    /// Interval of this decile: runs and their requests resampled.
    pub interval: Option<Interval>,
    /// Limits that hold for all nine at once.
    pub band: Option<Interval>,
}
