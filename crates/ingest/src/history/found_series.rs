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
    /// Parts left out, a sentence each.
    pub left_out: Vec<String>,
}
