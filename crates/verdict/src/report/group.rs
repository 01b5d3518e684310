//! One cell and metric: the statistics of its own runs.
//!
//! In:  filled by the judge and the traps.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use super::Interval;
use sparkbench_model::Direction;

/// A bootstrap interval of one sample.
#[derive(Debug, Clone, Serialize)]
pub struct BootstrapReport {
    /// `mean`.
    pub statistic: &'static str,
    /// `bca`, or `percentile` where BCa fell back.
    pub method: String,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Draws.
    pub resamples: usize,
    /// `small_n`, `bca_fallback`, `constant`.
    pub flags: Vec<String>,
}

/// Outliers by the three rules, as run ids. Flagged, never removed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct OutlierReport {
    /// More than three standard deviations from the mean.
    pub three_sigma: Vec<String>,
    /// Modified z over 3.5.
    pub mad: Vec<String>,
    /// Outside the Tukey fences.
    pub tukey: Vec<String>,
    /// False when no value of a sample this size can reach three sigma.
    pub three_sigma_can_fire: bool,
    /// Largest |z| a sample of this size can hold.
    pub z_bound: Option<f64>,
}

/// Drift of one cell in order of time.
#[derive(Debug, Clone, Serialize)]
pub struct DriftReport {
    /// Kendall's tau-b against order.
    pub kendall_tau: Option<f64>,
    /// Mann-Kendall p.
    pub p: Option<f64>,
    /// `exact` or `normal`.
    pub method: Option<String>,
    /// Sen slope over the whole series, per cent of the mean.
    pub drift_pct: Option<f64>,
    /// Sen slope, metric units per run.
    pub sen_slope: Option<f64>,
    /// Lag-1 autocorrelation.
    pub lag1: Option<f64>,
    /// Effective number of runs.
    pub effective_n: Option<f64>,
    /// True when lag-1 exceeds its bound.
    pub autocorrelated: bool,
    /// t-interval recomputed with the effective n, where autocorrelated.
    pub t_interval_effective: Option<Interval>,
}

/// One cell and metric: what its runs say.
#[derive(Debug, Clone, Serialize)]
pub struct Group {
    /// Campaign slug.
    pub campaign: String,
    pub model: String,
    pub workload: String,
    pub environment: String,
    /// Contract name.
    pub metric: String,
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// Finite values.
    pub n: usize,
    /// Missing values.
    pub n_missing: usize,
    /// Infinite values.
    pub n_infinite: usize,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation, n - 1.
    pub sd: Option<f64>,
    /// Standard error.
    pub se: Option<f64>,
    /// Coefficient of variation, per cent. Absent without a true zero.
    pub cv_pct: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
    pub median: Option<f64>,
    /// Median absolute deviation, unscaled.
    pub mad: Option<f64>,
    /// Interquartile range.
    pub iqr: Option<f64>,
    /// Quantiles, type 7.
    pub p5: Option<f64>,
    /// 25th percentile.
    pub p25: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Skewness G1.
    pub skewness: Option<f64>,
    /// Shapiro-Wilk p. Shown, never used to choose a test.
    pub shapiro_p: Option<f64>,
    /// Student interval of the mean.
    pub t_interval: Option<Interval>,
    /// Bootstrap interval of the mean.
    pub bootstrap: Option<BootstrapReport>,
    /// Order-statistic interval of the median. An end may be unbounded.
    pub median_interval: MedianInterval,
    /// Flagged runs.
    pub outliers: OutlierReport,
    /// Order effects.
    pub drift: DriftReport,
    /// Percentiles of all requests with hierarchical intervals, where the runs have requests.
    pub request_percentiles: Vec<RequestPercentile>,
    /// Reason codes of what is absent: `N1`, `N2`, `constant`, `tail`, ...
    pub flags: Vec<String>,
    /// Run ids in order of time, values beside them. The points of every chart.
    pub run_ids: Vec<String>,
    /// Finite values in the same order.
    pub values: Vec<f64>,
}

/// Order-statistic interval of the median.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct MedianInterval {
    /// Lower end, absent when unbounded.
    pub low: Option<f64>,
    /// Upper end, absent when unbounded.
    pub high: Option<f64>,
    /// Achieved coverage.
    pub coverage: Option<f64>,
}

/// A percentile over all requests of all runs of a cell (statistics contract 3.7).
#[derive(Debug, Clone, Serialize)]
pub struct RequestPercentile {
    /// `p50`, `p95`, `p99`.
    pub percentile: &'static str,
    /// Of the pooled requests.
    pub estimate: f64,
    /// Mean over runs of the per-run percentile, which is another figure than that of all requests.
    pub mean_of_runs: f64,
    /// Of what [`RequestPercentile::interval_of`] says. Absent with one run, where too few requests lie beyond the percentile, and where the
    /// values are too many to be resampled.
    pub interval: Option<Interval>,
    /// `all-requests`: hierarchical bootstrap, percentile limits, from ten runs on. `mean-of-runs`: Student's interval over the runs' own.
    pub interval_of: Option<&'static str>,
    /// Median over runs of the per-run percentile.
    pub median_of_runs: f64,
    /// Requests in all.
    pub requests: usize,
    pub runs: usize,
    /// `few_runs`, `one_run`, `tail`, `too_many_to_resample`.
    pub flags: Vec<String>,
}
