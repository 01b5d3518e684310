//! Measurements where nothing is compared: one row for each cell, for a front page without a verdict.
//!
//! In:  filled by `verdict::measured`.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use super::{EssentialCell, Estimate};

/// The figures of one cell.
#[derive(Debug, Clone, Serialize)]
pub struct MeasuredRow {
    pub model: String,
    pub workload: String,
    pub environment: String,
    pub engine: Option<String>,
    pub engine_version: Option<String>,
    /// Precision of the weights.
    pub quantisation: Option<String>,
    /// Input tokens of a request.
    pub isl: Option<f64>,
    /// Output tokens of a request.
    pub osl: Option<f64>,
    /// Batch or concurrency limit.
    pub batch: Option<f64>,
    /// Requests sent a second.
    pub request_rate: Option<f64>,
    pub runs: usize,
    /// Runs that failed.
    pub failed: usize,
    /// The same metrics in every row of a campaign. The first says which row is best.
    pub figures: Vec<EssentialCell>,
    /// What a million output tokens cost, where the machine has a price.
    pub usd_per_million_output: Option<Estimate>,
    /// Number of cells with this model, engine and lengths among which this one has the best first figure. Absent where another is better.
    pub best_of: Option<usize>,
    /// Whether no headline may rest on it: its runs failed, its load is not valid, or the server fell behind.
    #[serde(skip)]
    pub left_out: bool,
}
