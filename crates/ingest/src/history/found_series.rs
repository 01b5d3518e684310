//! Series that a source holds.
//!
//! In:  nothing.  Out: [`FoundSeries`].
//! Not here: reading them.

use sparkbench_model::TimeSeries;

/// Content of a source.
#[derive(Debug, Default)]
pub struct FoundSeries {
    /// Series in the order of the source.
    pub series: Vec<TimeSeries>,
    /// Parts left out, and what was done to the order, a sentence each.
    pub notes: Vec<String>,
}
