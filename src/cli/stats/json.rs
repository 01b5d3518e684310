//! Small shapes that the JSON of `sparkbench stats` is made of.
//!
//! In:  results of [`sparkbench_stats`].  Out: serialisable values; absent is null, infinite is "inf" or "-inf".
//! Not here: formulas.

use serde::{Serialize, Serializer};

use sparkbench_stats::bootstrap::Limits;
use sparkbench_stats::hierarchical::{self, Estimand};
use sparkbench_stats::{Sample, TTest, describe, quantile_sorted, sorted};

/// A number that may be infinite.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_nan() => serializer.serialize_none(),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            x => serializer.serialize_f64(x),
        }
    }
}

/// Two limits, with what a reader must know about them.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    lo: Number,
    hi: Number,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<&'static str>,
}

impl From<(f64, f64)> for Interval {
    fn from((lo, hi): (f64, f64)) -> Self {
        Self { lo: Number(lo), hi: Number(hi), flags: Vec::new() }
    }
}

impl From<Limits> for Interval {
    fn from(limits: Limits) -> Self {
        Self { lo: Number(limits.lo), hi: Number(limits.hi), flags: limits.flags }
    }
}

/// A t test.
#[derive(Debug, Serialize)]
pub(super) struct Test {
    t: Number,
    df: f64,
    p: f64,
    diff_lo: Number,
    diff_hi: Number,
}

impl From<TTest> for Test {
    fn from(test: TTest) -> Self {
        Self { t: Number(test.t), df: test.df, p: test.p, diff_lo: Number(test.diff_lo), diff_hi: Number(test.diff_hi) }
    }
}

/// Percentiles over the requests of several runs.
#[derive(Debug, Serialize)]
pub(super) struct Percentiles {
    /// 50th.
    pub median: Hierarchical,
    /// 95th.
    pub p95: Hierarchical,
    /// 99th.
    pub p99: Hierarchical,
}

/// One percentile with its interval.
#[derive(Debug, Serialize)]
pub(super) struct Hierarchical {
    /// Of what `of` says.
    estimate: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    /// `all-requests` or `mean-of-runs`.
    of: &'static str,
    /// Over all requests, whatever `of` says.
    all_requests: Option<f64>,
    median_of_runs: Option<f64>,
    runs: usize,
    requests: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<&'static str>,
}

impl Hierarchical {
    /// Of ten runs and more that of all requests, of fewer the mean of the runs' own. Where the percentile is not supported it is a value
    /// without an interval.
    pub(super) fn new(
        runs: &[Vec<f64>],
        p: f64,
        confidence: f64,
        drawn: impl FnOnce() -> Option<hierarchical::Hierarchical>,
    ) -> Self {
        let pooled = sorted(&runs.iter().flatten().copied().collect::<Vec<f64>>());
        let counts: Vec<usize> = runs.iter().map(Vec::len).filter(|n| *n > 0).collect();
        let own = || runs.iter().filter(|run| !run.is_empty()).map(|run| quantile_sorted(&sorted(run), p));
        let some = |value: f64| Some(value).filter(|q| q.is_finite());
        let all_requests = some(quantile_sorted(&pooled, p));
        let mut this = Self {
            estimate: all_requests,
            lo: None,
            hi: None,
            of: Estimand::AllRequests.word(),
            all_requests,
            median_of_runs: some(quantile_sorted(&sorted(&own().collect::<Vec<f64>>()), 0.5)),
            runs: counts.len(),
            requests: pooled.len(),
            flags: Vec::new(),
        };
        match Estimand::of(&counts, p) {
            None if counts.len() == 1 => this.flags.push("one_run"),
            None => this.flags.push("tail"),
            Some(Estimand::AllRequests) => {
                if let Some(drawn) = drawn() {
                    (this.lo, this.hi, this.flags) = (Some(drawn.lo), Some(drawn.hi), drawn.flags);
                }
            }
            Some(Estimand::MeanOfRuns) => {
                let about = describe(&Sample::new(own()), confidence);
                (this.estimate, this.lo, this.hi) = (about.mean, about.t_lo, about.t_hi);
                this.of = Estimand::MeanOfRuns.word();
            }
        }
        this
    }
}
