//! Does the machine remember? Trend and serial correlation of runs in order of time.
//!
//! In:  values in order of time.  Out: [`Drift`].
//! Not here: timestamps (the order is given), the verdict's allowance for drift (see [`super::order`]).
//!
//! Source: Mann, *Econometrica* 13 (1945); Sen, *JASA* 63 (1968).

use super::Method;

/// Trend, slope and lag-1 correlation of one sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Values.
    pub n: usize,
    /// Mann-Kendall S: rising pairs minus falling pairs.
    pub s: i64,
    /// S in standard deviations, tie-corrected, with continuity correction.
    pub z: f64,
    /// Two-sided p of no trend.
    pub p: f64,
    /// `Exact` without ties and up to 50 values, else `Normal`.
    pub method: Method,
    /// Kendall's tau-b between value and time.
    pub tau_b: f64,
    /// Median slope over all pairs, unit per run.
    pub sen_slope: f64,
    /// 100 slope (n - 1) / mean: the trend over the whole sequence. Mean 0: absent.
    pub drift_pct: Option<f64>,
    /// Lag-1 autocorrelation.
    pub lag1: f64,
    /// Effective number of independent values, 1 to n; n when lag-1 is not positive.
    pub n_eff: f64,
    /// lag-1 above 1.96 / sqrt(n).
    pub autocorrelated: bool,
    /// t-interval of the mean with `n_eff` for n. Only when autocorrelated, and then absent when n_eff < 2.
    pub t_interval_eff: Option<(f64, f64)>,
}

/// Looks for drift. Fewer than three values or constant: absent. `O(n log n)` beyond a few thousand values.
pub fn drift(values: &[f64], confidence: f64) -> Option<Drift> {
    let _ = (values, confidence);
    todo!()
}
