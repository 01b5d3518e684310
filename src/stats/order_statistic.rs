//! Distribution-free interval of a quantile from two order statistics.
//!
//! In:  ascending finite values.  Out: [`OrderInterval`] with the coverage it really has.
//! Not here: bootstrap intervals of quantiles.
//!
//! Source: Hahn and Meeker, *Statistical Intervals* (1991), 5.2.

use serde::Serialize;

/// Interval `[x_(l), x_(u)]` of a quantile, ranks counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OrderInterval {
    /// Lower limit; absent when `l` is 0: unbounded below.
    pub lo: Option<f64>,
    /// Upper limit; absent when `u` is n + 1: unbounded above.
    pub hi: Option<f64>,
    /// Rank of the lower limit, 0 to n.
    pub l: usize,
    /// Rank of the upper limit, 1 to n + 1.
    pub u: usize,
    /// Probability that the interval holds the quantile, whatever the distribution.
    pub coverage: f64,
}

/// Interval of quantile `p` at `confidence`. Empty: both limits absent.
pub fn quantile_interval(sorted: &[f64], p: f64, confidence: f64) -> OrderInterval {
    let _ = (sorted, p, confidence);
    todo!()
}
