//! One metric over time, wherever it comes from.
//!
//! In:  nothing.  Out: [`TimeSeries`], filled by `ingest` or from runs by `verdict`, searched for changes by `verdict`.
//! Not here: how a file is read, what a change is.

use super::metric::Direction;

/// One metric of one subject, point by point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimeSeries {
    /// What was measured: a benchmark, a cell of a campaign. Empty where a file has one subject.
    pub subject: String,
    /// Metric, as the source names it.
    pub metric: String,
    /// Unit. Empty where the source gives none.
    pub unit: String,
    /// Which way is better, where it is known.
    pub direction: Option<Direction>,
    /// Points in order of time. Rows without a value are not among them.
    pub points: Vec<TimePoint>,
}

/// One point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimePoint {
    /// Row of the source, counted from 0. Rows without a value count.
    pub row: usize,
    /// When, as the source writes it.
    pub time: String,
    /// What the point is called: a campaign, a commit.
    pub name: Option<String>,
    /// Value. Finite.
    pub value: f64,
    /// Values that it is the mean of.
    pub n: Option<usize>,
    /// Their standard deviation.
    pub sd: Option<f64>,
    /// Known facts of the moment: versions, settings, a commit, a temperature. Name and value.
    pub labels: Vec<(String, String)>,
}

impl TimePoint {
    /// Standard error of the value, where `n` and `sd` are known.
    pub fn standard_error(&self) -> Option<f64> {
        let n = self.n.filter(|n| *n > 0)?;
        Some(self.sd? / (n as f64).sqrt()).filter(|error| error.is_finite())
    }
}
