//! One sample: everything sections 2, 3, 5 and 6 of the statistics contract say of it.
//!
//! In:  a [`Sample`].  Out: [`Arm`].
//! Not here: formulas.

use serde::Serialize;

use super::Stats;
use super::json::Interval;
use super::table::significant;
use sparkbench_stats::bootstrap::{self, Statistic};
use sparkbench_stats::{self as stats, Descriptive, Direction, OrderInterval, Sample, Shapiro};

/// Quantiles whose mark is asked for, with their names.
const QUANTILES: [(&str, f64); 7] =
    [("p5", 0.05), ("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];

/// Everything about one sample.
#[derive(Debug, Serialize)]
pub(super) struct Arm {
    descriptive: Descriptive,
    /// Quantiles that are interpolations toward the extreme value.
    tail: Vec<&'static str>,
    /// Quantiles that fewer than five values lie beyond: nothing is judged by them.
    not_judged: Vec<&'static str>,
    shapiro: Option<Shapiro>,
    order_stat_ci: OrderIntervals,
    outliers: Option<Outliers>,
    drift: Option<Drift>,
    bootstrap: Bootstrap,
    /// `constant`, `small_n`, `N1` to `N4` of the contract.
    flags: Vec<&'static str>,
    /// What a reader must know before the intervals, in sentences.
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OrderIntervals {
    median: OrderInterval,
    p95: OrderInterval,
    p99: OrderInterval,
}

#[derive(Debug, Serialize)]
struct Outliers {
    sigma3: usize,
    modified_z: usize,
    tukey: usize,
    max_abs_z: Option<f64>,
    max_abs_modified_z: Option<f64>,
    z_bound: f64,
    sigma3_can_fire: bool,
}

/// Trend and correlation in the words of the contract.
#[derive(Debug, Serialize)]
pub(super) struct Drift {
    mk_s: i64,
    mk_z: f64,
    mk_p: f64,
    mk_method: stats::Method,
    tau_b: f64,
    sen_slope: f64,
    sen_total_pct: Option<f64>,
    lag1: f64,
    n_eff: f64,
    autocorrelated: bool,
    t_lo_n_eff: Option<f64>,
    t_hi_n_eff: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Bootstrap {
    mean: Option<MeanIntervals>,
    median: Option<Intervals>,
    p95: Option<Intervals>,
    p99: Option<Intervals>,
}

/// The three intervals every statistic has.
#[derive(Debug, Serialize)]
pub(super) struct Intervals {
    /// Quantiles of the resampled values.
    pub percentile: Interval,
    /// Mirrored at the estimate.
    pub basic: Interval,
    /// Bias-corrected and accelerated.
    pub bca: Interval,
}

#[derive(Debug, Serialize)]
struct MeanIntervals {
    #[serde(flatten)]
    common: Intervals,
    studentised: Option<Interval>,
}

impl Arm {
    /// Computes it. `name` tells the random streams of two arms apart.
    pub(super) fn new(sample: &Sample, name: &str, args: &Stats) -> Self {
        let values = sample.values();
        let ordered = stats::sorted(values);
        let drift = stats::drift(values, args.confidence);
        let notes = drift.as_ref().filter(|drift| drift.autocorrelated).map(|drift| alike(drift, values.len()));
        let order_interval = |p| stats::quantile_interval(&ordered, p, args.confidence);
        Self {
            descriptive: stats::describe(sample, args.confidence),
            tail: named(|p| !values.is_empty() && stats::is_tail(values.len(), p)),
            not_judged: named(|p| !values.is_empty() && !stats::is_supported(values.len(), p)),
            shapiro: stats::shapiro(values),
            order_stat_ci: OrderIntervals {
                median: order_interval(0.5),
                p95: order_interval(0.95),
                p99: order_interval(0.99),
            },
            outliers: stats::outliers(values).map(Outliers::from),
            drift: drift.map(Drift::from),
            bootstrap: Bootstrap::new(values, name, args),
            flags: flags(sample, args.direction),
            notes: notes.into_iter().collect(),
        }
    }
}

/// Requests of one run, one after the other: the formulas of independent values give intervals that are too narrow.
fn alike(drift: &stats::Drift, n: usize) -> String {
    let wide = drift.t_interval_eff.map_or_else(
        || "too few for an interval of the mean".to_owned(),
        |(low, high)| format!("which gives the mean an interval of {} to {}", significant(low), significant(high)),
    );
    format!(
        "values that follow each other are alike (lag-1 correlation {:.2}). {n} of them say as much as {:.0} independent ones, {wide}. The other intervals are too narrow",
        drift.lag1, drift.n_eff
    )
}

impl Bootstrap {
    fn new(values: &[f64], name: &str, args: &Stats) -> Self {
        let one =
            |what: &str, statistic| bootstrap::one_sample(values, statistic, &args.job(&format!("{name}|{what}")));
        let quantile = |what: &str, statistic| one(what, statistic).map(|r| intervals(r.percentile, r.basic, r.bca));
        Self {
            mean: one("mean", Statistic::Mean).map(|r| MeanIntervals {
                common: intervals(r.percentile, r.basic, r.bca),
                studentised: r.studentised.map(Interval::from),
            }),
            median: quantile("median", Statistic::Median),
            p95: quantile("p95", Statistic::P95),
            p99: quantile("p99", Statistic::P99),
        }
    }
}

fn named(holds: impl Fn(f64) -> bool) -> Vec<&'static str> {
    QUANTILES.iter().filter(|(_, p)| holds(*p)).map(|(name, _)| *name).collect()
}

fn intervals(percentile: bootstrap::Limits, basic: bootstrap::Limits, bca: bootstrap::Limits) -> Intervals {
    Intervals { percentile: percentile.into(), basic: basic.into(), bca: bca.into() }
}

impl From<stats::Outliers> for Outliers {
    fn from(found: stats::Outliers) -> Self {
        Self {
            sigma3: found.three_sigma.len(),
            modified_z: found.modified_z.len(),
            tukey: found.tukey.len(),
            max_abs_z: found.max_abs_z,
            max_abs_modified_z: found.max_abs_modified_z,
            z_bound: found.z_bound,
            sigma3_can_fire: found.three_sigma_can_fire,
        }
    }
}

impl From<stats::Drift> for Drift {
    fn from(drift: stats::Drift) -> Self {
        Self {
            mk_s: drift.s,
            mk_z: drift.z,
            mk_p: drift.p,
            mk_method: drift.method,
            tau_b: drift.tau_b,
            sen_slope: drift.sen_slope,
            sen_total_pct: drift.drift_pct,
            lag1: drift.lag1,
            n_eff: drift.n_eff,
            autocorrelated: drift.autocorrelated,
            t_lo_n_eff: drift.t_interval_eff.map(|i| i.0),
            t_hi_n_eff: drift.t_interval_eff.map(|i| i.1),
        }
    }
}

/// What the contract wants said of a sample.
pub(super) fn flags(sample: &Sample, direction: Direction) -> Vec<&'static str> {
    let values = sample.values();
    let declared_positive = direction != Direction::DifferenceOnly;
    [
        ("constant", values.len() > 1 && stats::sample::is_constant(values)),
        ("small_n", (1..bootstrap::SMALL_N).contains(&values.len())),
        ("N1", values.len() == 1),
        ("N2", values.is_empty()),
        ("N3", sample.n_infinite() > 0),
        ("N4", declared_positive && values.iter().any(|x| *x <= 0.0)),
    ]
    .into_iter()
    .filter_map(|(flag, holds)| holds.then_some(flag))
    .collect()
}
