//! One sample in numbers: centre, spread, quantiles, shape, t-interval.
//!
//! In:  a [`Sample`].  Out: [`Descriptive`], in the unit of the sample.
//! Not here: tests of shape (see [`super::shapiro`]), bootstrap intervals.

use serde::Serialize;

use super::dist;
use super::quantile::{quantile_sorted, sorted};
use super::sample::{self, Sample};

/// MAD times this estimates the standard deviation of normal data: 1 / 0.674..., the normal quantile of 0.75.
pub const MAD_TO_SD: f64 = 0.674_489_750_196_081_7;

/// Everything section 2 of the statistics contract asks of one sample. Absent where it does not exist.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Descriptive {
    /// Finite values.
    pub n: usize,
    /// Values that were null or NaN.
    pub n_missing: usize,
    /// Values that were infinite.
    pub n_infinite: usize,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation with n - 1; n < 2: absent.
    pub sd: Option<f64>,
    /// 100 sd / |mean|; mean 0: absent. Meaningless where zero is arbitrary (temperature): the caller must drop it there.
    pub cv_pct: Option<f64>,
    /// Standard error of the mean.
    pub se: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Middle value, the 50th percentile.
    pub median: Option<f64>,
    /// 5th percentile.
    pub p5: Option<f64>,
    /// 25th percentile.
    pub p25: Option<f64>,
    /// 50th percentile.
    pub p50: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Median absolute deviation from the median, unscaled.
    pub mad: Option<f64>,
    /// p75 - p25.
    pub iqr: Option<f64>,
    /// Adjusted Fisher-Pearson skewness G1; n < 3 or constant: absent.
    pub skewness: Option<f64>,
    /// Lower end of the t-interval of the mean.
    pub t_lo: Option<f64>,
    /// Upper end of the t-interval of the mean.
    pub t_hi: Option<f64>,
}

/// Describes a sample; `confidence` is that of the t-interval. `O(n log n)`.
pub fn describe(sample: &Sample, confidence: f64) -> Descriptive {
    let _ =
        (sample, confidence, dist::normal_sf(0.0), quantile_sorted(&sorted(sample.values()), 0.5), sample::mean(&[]));
    todo!()
}

/// t-interval of the mean; n < 2: absent; constant: the point. `n_eff` replaces n in the standard error and degrees of freedom.
pub fn t_interval(values: &[f64], n_eff: Option<f64>, confidence: f64) -> Option<(f64, f64)> {
    let _ = (values, n_eff, confidence);
    todo!()
}

/// Median absolute deviation from the median, unscaled. Empty: absent.
pub fn mad(values: &[f64]) -> Option<f64> {
    let _ = values;
    todo!()
}
