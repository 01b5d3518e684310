//! Small shapes that the JSON of `sparkbench stats` is made of.
//!
//! In:  results of [`sparkbench_stats`].  Out: serialisable values; absent is null, infinite is "inf" or "-inf".
//! Not here: formulas.

use serde::{Serialize, Serializer};

use sparkbench_stats::bootstrap::Limits;
use sparkbench_stats::{TTest, hierarchical, quantile_sorted, sorted};

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

/// One percentile with its hierarchical interval.
#[derive(Debug, Serialize)]
pub(super) struct Hierarchical {
    estimate: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    median_of_runs: Option<f64>,
    runs: usize,
    requests: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<&'static str>,
}

impl Hierarchical {
    /// With fewer than two runs the percentile still exists, its interval does not.
    pub(super) fn new(runs: &[Vec<f64>], p: f64, result: Option<hierarchical::Hierarchical>) -> Self {
        let pooled: Vec<f64> = runs.iter().flatten().copied().collect();
        match result {
            Some(h) => Self {
                estimate: Some(h.estimate),
                lo: Some(h.lo),
                hi: Some(h.hi),
                median_of_runs: Some(h.median_of_runs),
                runs: h.runs,
                requests: h.requests,
                flags: h.flags,
            },
            None => {
                let estimate = Some(quantile_sorted(&sorted(&pooled), p)).filter(|q| q.is_finite());
                let with_requests = runs.iter().filter(|run| !run.is_empty()).count();
                Self {
                    estimate,
                    lo: None,
                    hi: None,
                    median_of_runs: estimate,
                    runs: with_requests,
                    requests: pooled.len(),
                    flags: if with_requests == 1 { vec!["one_run"] } else { Vec::new() },
                }
            }
        }
    }
}
