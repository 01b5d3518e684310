//! One sample in numbers: centre, spread, quantiles, shape, t-interval.
//!
//! In:  a [`Sample`].  Out: [`Descriptive`], in the unit of the sample.
//! Not here: tests of shape (see [`super::shapiro()`]), bootstrap intervals.

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
    /// Standard deviation with n - 1. N < 2: absent.
    pub sd: Option<f64>,
    /// 100 sd / |mean|. Mean 0: absent. Meaningless where zero is arbitrary (temperature): the caller must drop it there.
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
    /// Adjusted Fisher-Pearson skewness G1. N < 3 or constant: absent.
    pub skewness: Option<f64>,
    /// Lower end of the t-interval of the mean.
    pub t_lo: Option<f64>,
    /// Upper end of the t-interval of the mean.
    pub t_hi: Option<f64>,
}

/// Describes a sample. `confidence` is that of the t-interval. `O(n log n)`.
pub fn describe(sample: &Sample, confidence: f64) -> Descriptive {
    let values = sample.values();
    let n = values.len();
    let counts =
        Descriptive { n, n_missing: sample.n_missing(), n_infinite: sample.n_infinite(), ..Descriptive::default() };
    if n == 0 {
        return counts;
    }
    let ordered = sorted(values);
    let q = |p| finite(quantile_sorted(&ordered, p));
    let mean = finite(sample::mean(values));
    let sd = sample::sd(values).and_then(finite);
    let interval = t_interval(values, None, confidence);
    Descriptive {
        mean,
        sd,
        cv_pct: mean.zip(sd).filter(|(mean, _)| *mean != 0.0).and_then(|(mean, sd)| finite(100.0 * sd / mean.abs())),
        se: sd.map(|sd| sd / (n as f64).sqrt()),
        min: ordered.first().copied(),
        max: ordered.last().copied(),
        median: q(0.5),
        p5: q(0.05),
        p25: q(0.25),
        p50: q(0.5),
        p75: q(0.75),
        p90: q(0.9),
        p95: q(0.95),
        p99: q(0.99),
        mad: mad(values),
        iqr: q(0.75).zip(q(0.25)).map(|(high, low)| high - low),
        skewness: skewness(values),
        t_lo: interval.map(|i| i.0),
        t_hi: interval.map(|i| i.1),
        ..counts
    }
}

/// t-interval of the mean. N < 2: absent. Constant: the point. `n_eff` replaces n in the standard error and degrees of freedom.
pub fn t_interval(values: &[f64], n_eff: Option<f64>, confidence: f64) -> Option<(f64, f64)> {
    let sd = sample::sd(values)?;
    let n = n_eff.unwrap_or(values.len() as f64);
    if n < 2.0 {
        return None;
    }
    let mean = sample::mean(values);
    if sd == 0.0 {
        return Some((mean, mean));
    }
    let half = dist::t_quantile(0.5 + 0.5 * confidence, n - 1.0) * sd / n.sqrt();
    Some((finite(mean - half)?, finite(mean + half)?))
}

/// Median absolute deviation from the median, unscaled. Empty: absent.
pub fn mad(values: &[f64]) -> Option<f64> {
    let median = finite(quantile_sorted(&sorted(values), 0.5))?;
    let deviations: Vec<f64> = values.iter().map(|x| (x - median).abs()).collect();
    finite(quantile_sorted(&sorted(&deviations), 0.5))
}

/// G1. Fewer than three values or constant: absent.
fn skewness(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if values.len() < 3 || sample::is_constant(values) {
        return None;
    }
    let mean = sample::mean(values);
    // Skewness has no unit: deviations as shares of the largest one cannot overflow.
    let scale = values.iter().map(|x| (x - mean).abs()).fold(0.0, f64::max);
    let moment = |power| sample::sum(values.iter().map(|x| ((x - mean) / scale).powi(power))) / n;
    let g1 = moment(3) / moment(2).powf(1.5);
    finite(g1 * (n * (n - 1.0)).sqrt() / (n - 2.0))
}

/// Overflow is absence: no infinity or NaN leaves this module.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
