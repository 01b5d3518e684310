//! Bootstrap intervals of one sample and of two.
//!
//! In:  finite values, one per run, and a [`Job`]: seed, key, resamples, confidence, threads.
//! Out: percentile, basic, BCa and (for means) studentised limits, each with its method and flags.
//! Not here: resampling of requests within runs (`hierarchical`), verdicts, names of metrics.
//!
//! The sample is sorted first, so the order of the input cannot matter. Each resample owns a random stream
//! (`random`), so the number of threads cannot matter either: one seed, one result, to the bit.
//!
//! Source: Efron, JASA 82 (1987). Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), chapters 13
//! and 14. Hall, Ann. Stat. 16 (1988).

mod jackknife;
mod limits;
mod means;
mod normal;
mod one_sample;
pub(crate) mod parallel;
mod quantiles;
pub(crate) mod selection;
pub(crate) mod sieve;
mod two_sample;

pub(crate) use normal::normal_quantile;
pub use one_sample::{Draws, OneSample, Statistic, one_sample, one_sample_by};
#[cfg(test)]
pub(crate) use quantiles::index_quantiles as quantiles_by_index;
pub use two_sample::{TwoSample, TwoSampleResult, two_sample};

/// Below this many values an arm, limits carry the flag `small_n`. The plug-in spread is too small by sqrt((n-1)/n), and the tails are
/// normal, not t.
pub const SMALL_N: usize = 20;

/// The flag for a sample of fewer than [`SMALL_N`] values.
pub const FLAG_SMALL_N: &str = "small_n";
/// The flag for a sample whose values are all equal: the interval is the point.
pub const FLAG_CONSTANT: &str = "constant";
/// The flag for BCa limits that could not be adjusted and are the percentile limits.
pub const FLAG_BCA_FALLBACK: &str = "bca_fallback";
/// The flag for limits from directly generated order statistics instead of drawn indices.
pub const FLAG_RANK: &str = "rank";
/// The flag for a ratio of which some resample had a mean of the denominator that was not positive.
pub const FLAG_NONPOSITIVE: &str = "nonpositive_resample";

/// Inputs of an interval besides the values.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Seed of the analysis. The same for all jobs of one analysis.
    pub seed: u64,
    /// `model|metric|arm` or `model|metric|A~B`, then `|statistic`: distinguishes the streams of jobs.
    pub key: String,
    /// Resamples, 10,000 unless asked otherwise. Zero gives no result.
    pub resamples: usize,
    /// Two-sided confidence, strictly between 0 and 1. Anything else gives no result.
    pub confidence: f64,
    /// Threads at most. 0 for all. Does not change a bit of the result.
    pub threads: usize,
}

impl Job {
    /// Whether an interval can be asked for at all.
    pub(crate) fn is_sound(&self) -> bool {
        self.resamples > 0 && self.confidence > 0.0 && self.confidence < 1.0
    }

    /// The two tail levels, a/2 and 1 - a/2.
    pub(crate) fn levels(&self) -> [f64; 2] {
        let tail = (1.0 - self.confidence) / 2.0;
        [tail, 1.0 - tail]
    }
}

/// A two-sided interval, in the unit of its statistic.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Lower limit. May be `-inf` for a ratio whose denominator is not safely above zero.
    pub lo: f64,
    /// Upper limit. May be `inf` likewise.
    pub hi: f64,
    /// `percentile`, `basic`, `bca` or `studentised`.
    pub method: &'static str,
    /// Flags for the reader: `small_n`, `constant`, `bca_fallback`, `rank`, `nonpositive_resample`.
    pub flags: Vec<&'static str>,
}

impl Limits {
    /// Limits without flags of their own.
    pub(crate) fn new(method: &'static str, [lo, hi]: [f64; 2], flags: &[&'static str]) -> Limits {
        Limits { lo, hi, method, flags: flags.to_vec() }
    }

    /// The interval of a statistic that cannot vary.
    pub(crate) fn point(method: &'static str, at: f64, flags: &[&'static str]) -> Limits {
        Limits::new(method, [at, at], flags)
    }
}

/// The values in ascending order, or `None` when there are fewer than two or one is not finite.
pub(crate) fn sorted_sample(values: &[f64]) -> Option<Vec<f64>> {
    if values.len() < 2 || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// Whether all values of an ascending sample are equal (-0.0 equals 0.0).
pub(crate) fn is_constant(sorted: &[f64]) -> bool {
    sorted.first() == sorted.last()
}

#[cfg(test)]
mod tests;
