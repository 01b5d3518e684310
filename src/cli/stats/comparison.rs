//! Two samples: everything section 4 of the statistics contract says of them, their pairs and their order.
//!
//! In:  two samples.  Out: [`Comparison`], [`Paired`], [`OrderSummary`].
//! Not here: formulas, verdicts.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::Stats;
use super::arm::{self, Drift, Intervals};
use super::json::{Interval, Test};
use sparkbench_stats::bootstrap::{self, TwoSample};
use sparkbench_stats::{self as stats, Method, Order, OrderKind, Sample, permutation, power};
use sparkbench_text::error::Error;

/// B against A.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    diff: Option<f64>,
    overhead_pct: Option<f64>,
    effect: Effect,
    student: Option<Test>,
    welch: Option<Test>,
    mann_whitney: Option<RankTest>,
    permutation: Option<Permutation>,
    brown_forsythe: Option<FTest>,
    tost: Equivalence,
    power: Power,
    fieller_overhead_pct: Option<Interval>,
    log_ratio_overhead_pct: Option<Interval>,
    bootstrap: Bootstrap,
    flags: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Effect {
    cohen_d: Option<f64>,
    hedges_g: Option<f64>,
    g_lo: Option<f64>,
    g_hi: Option<f64>,
    cliff_delta: Option<f64>,
}

#[derive(Debug, Serialize)]
struct RankTest {
    u: f64,
    p: f64,
    method: Method,
}

#[derive(Debug, Serialize)]
struct Permutation {
    p: f64,
    method: Method,
    count: u64,
}

#[derive(Debug, Serialize)]
struct FTest {
    f: f64,
    p: f64,
}

/// Equivalence at each margin, keyed `2pct`, and the smallest margin that would pass.
#[derive(Debug)]
struct Equivalence {
    margins: Vec<(f64, Option<AtMargin>)>,
    min_margin_pct: Option<f64>,
}

#[derive(Debug, Serialize)]
struct AtMargin {
    p: f64,
    equivalent: bool,
    delta: f64,
    runs_to_decide: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Power {
    power_at_10pct: Option<f64>,
    mde_d: Option<f64>,
    mde_pct: Option<f64>,
    n_per_arm_for_10pct: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Bootstrap {
    diff: Option<Intervals>,
    overhead_pct: Option<Intervals>,
}

impl Comparison {
    /// Computes it on the finite values of both arms.
    pub(super) fn new(a: &Sample, b: &Sample, args: &Stats) -> Self {
        let (direction, confidence) = (args.direction, args.confidence);
        let mut flags = arm::flags(a, direction);
        for flag in arm::flags(b, direction) {
            if !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        let (a, b) = (a.values(), b.values());
        let g = stats::hedges_g(a, b, confidence);
        Self {
            diff: Some(stats::mean(b) - stats::mean(a)).filter(|d| d.is_finite()),
            overhead_pct: stats::overhead_pct(stats::mean(a), stats::mean(b), direction),
            effect: Effect {
                cohen_d: stats::cohen_d(a, b),
                hedges_g: g.map(|g| g.g),
                g_lo: g.map(|g| g.lo),
                g_hi: g.map(|g| g.hi),
                cliff_delta: stats::cliff_delta(a, b),
            },
            student: stats::student(a, b, confidence).map(Test::from),
            welch: stats::welch(a, b, confidence).map(Test::from),
            mann_whitney: stats::mann_whitney(a, b).map(|t| RankTest { u: t.u, p: t.p, method: t.method }),
            permutation: permutation::mean_difference(a, b, &args.job("a~b|permutation")).map(|t| Permutation {
                p: t.p,
                method: if t.exact { Method::Exact } else { Method::MonteCarlo },
                count: t.count,
            }),
            brown_forsythe: stats::brown_forsythe(a, b).map(|t| FTest { f: t.f, p: t.p }),
            tost: Equivalence::new(a, b, args),
            power: Power::new(a, b, confidence),
            fieller_overhead_pct: stats::fieller::overhead_pct(a, b, direction, confidence).map(Interval::from),
            log_ratio_overhead_pct: stats::log_ratio_overhead_pct(a, b, direction, confidence).map(Interval::from),
            bootstrap: Bootstrap::new(a, b, args),
            flags,
        }
    }
}

impl Equivalence {
    fn new(a: &[f64], b: &[f64], args: &Stats) -> Self {
        let at = |pct: f64| {
            let test = stats::tost(a, b, pct, args.confidence)?;
            let runs_to_decide = power::runs_to_decide(a, b, pct, args.confidence);
            Some(AtMargin { p: test.p, equivalent: test.equivalent, delta: test.delta, runs_to_decide })
        };
        Self {
            margins: args.margins().iter().map(|pct| (*pct, at(*pct))).collect(),
            min_margin_pct: stats::smallest_margin_pct(a, b, args.confidence),
        }
    }
}

impl Serialize for Equivalence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (pct, result) in &self.margins {
            map.serialize_entry(&format!("{pct}pct"), result)?;
        }
        map.serialize_entry("min_margin_pct", &self.min_margin_pct)?;
        map.end()
    }
}

impl Power {
    fn new(a: &[f64], b: &[f64], confidence: f64) -> Self {
        let target = power::TARGET_POWER;
        // Without spread there is no d, and so none that could be detected.
        let has_spread = stats::effect::pooled_sd(a, b).is_some_and(|sd| sd > 0.0);
        Self {
            power_at_10pct: power::power_at_pct(a, b, power::STATED_PCT, confidence),
            mde_d: power::mde_d(a.len(), b.len(), target, confidence).filter(|_| has_spread),
            mde_pct: power::mde_pct(a, b, target, confidence),
            n_per_arm_for_10pct: power::n_per_arm_for_pct(a, b, power::STATED_PCT, target, confidence),
        }
    }
}

impl Bootstrap {
    fn new(a: &[f64], b: &[f64], args: &Stats) -> Self {
        let two = |what: &str, comparison| {
            let result = bootstrap::two_sample(a, b, comparison, &args.job(&format!("a~b|{what}")))?;
            let (percentile, basic, bca) = (result.percentile.into(), result.basic.into(), result.bca.into());
            Some(Intervals { percentile, basic, bca })
        };
        Self {
            diff: two("difference", TwoSample::Difference),
            overhead_pct: two("overhead_pct", TwoSample::OverheadPct(args.direction)),
        }
    }
}

/// Tests of the differences of pairs.
#[derive(Debug, Serialize)]
pub(super) struct Paired {
    mean_diff: Option<f64>,
    n_pairs: usize,
    /// Pairs left out because one of the two has no finite value.
    n_dropped: usize,
    paired_t: Option<Test>,
    wilcoxon: Option<SignedRank>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct SignedRank {
    w_plus: f64,
    n_used: usize,
    n_zero: usize,
    p: f64,
    method: Method,
}

impl Paired {
    /// Pairs line i of A with line i of B. Where the order of the runs is known and not interleaved there are no pairs.
    pub(super) fn new(a: &[f64], b: &[f64], order: Option<&OrderSummary>, args: &Stats) -> Result<Self, Error> {
        if a.len() != b.len() {
            return Err(Error::usage(format!(
                "--paired needs as many lines in B as in A: found {} and {}",
                b.len(),
                a.len()
            ))
            .hint("leave the line of a missing value empty"));
        }
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).filter(|d| d.is_finite()).collect();
        let (n_pairs, n_dropped) = (differences.len(), a.len() - differences.len());
        if order.is_some_and(|order| order.order.kind != OrderKind::Interleaved) {
            let reason = Some("not_paired");
            return Ok(Self { mean_diff: None, n_pairs, n_dropped, paired_t: None, wilcoxon: None, reason });
        }
        Ok(Self {
            mean_diff: Some(stats::mean(&differences)).filter(|d| d.is_finite()),
            n_pairs,
            n_dropped,
            paired_t: stats::paired(&differences, args.confidence).map(Test::from),
            wilcoxon: stats::wilcoxon(&differences).filter(|_| n_pairs > 1).map(|t| SignedRank {
                w_plus: t.w_plus,
                n_used: t.n_used,
                n_zero: t.n_zero,
                p: t.p,
                method: t.method,
            }),
            reason: None,
        })
    }
}

/// How the arms alternate, and what drift that makes one allow for.
#[derive(Debug, Serialize)]
pub(super) struct OrderSummary {
    #[serde(flatten)]
    order: Order,
    drift_allowance_pct: f64,
    /// Of all runs in their order.
    drift: Option<Drift>,
}

impl OrderSummary {
    /// `labels` have 0 for every line of A and 1 for every line of B. One arm alone has no order.
    pub(super) fn new(labels: &[usize], a: &[f64], b: Option<&[f64]>, confidence: f64) -> Option<Self> {
        let order = stats::order(labels)?;
        let finite = |values: &[f64]| values.iter().copied().filter(|x| x.is_finite()).collect::<Vec<f64>>();
        let b = b.unwrap_or_default();
        let arms = [stats::drift(&finite(a), confidence), stats::drift(&finite(b), confidence)];
        let mut lines = [a.iter(), b.iter()];
        let sequence: Vec<f64> = labels.iter().filter_map(|label| lines.get_mut(*label)?.next().copied()).collect();
        Some(Self {
            order,
            drift_allowance_pct: stats::drift_allowance_pct(order.kind, arms.iter().flatten()),
            drift: stats::drift(&finite(&sequence), confidence).map(Drift::from),
        })
    }
}
