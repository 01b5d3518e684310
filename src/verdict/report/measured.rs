//! What was measured where nothing is compared: a row a cell, for a front page that has no verdict to show.
//!
//! In:  filled by `verdict::measured`.  Out: serialised as it stands.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use super::{EssentialCell, Estimate};

/// The figures of one cell.
#[derive(Debug, Clone, Serialize)]
pub struct MeasuredRow {
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// Environment label.
    pub environment: String,
    /// Engine.
    pub engine: Option<String>,
    /// Version of the engine.
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
    /// Runs.
    pub runs: usize,
    /// Runs that failed.
    pub failed: usize,
    /// The same metrics in every row of a campaign; the first says which row is best.
    pub figures: Vec<EssentialCell>,
    /// What a million output tokens cost, where the machine has a price.
    pub usd_per_million_output: Option<Estimate>,
    /// Of how many cells with this model, engine and lengths this one has the best first figure; absent where another is better.
    pub best_of: Option<usize>,
}
