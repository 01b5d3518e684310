//! The order in which the arms were run, and what it forbids.
//!
//! In:  arm numbers in order of time.  Out: [`Order`], pairs of runs, the allowance for drift.
//! Not here: timestamps, sentences.
//!
//! Source: Wald and Wolfowitz, *Ann. Math. Stat.* 11 (1940).

use std::collections::BTreeMap;

use serde::Serialize;

use super::drift::Drift;

/// Share of balanced windows from which an order counts as interleaved.
pub const INTERLEAVED_SHARE: f64 = 0.9;
/// Mann-Kendall p below which an arm's drift is allowed for.
pub const DRIFT_ALPHA: f64 = 0.05;

/// How arms alternate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderKind {
    /// At least nine windows in ten hold every arm.
    Interleaved,
    /// One arm after the other: environment and time are confounded.
    Blocked,
    /// Neither.
    Mixed,
}

impl OrderKind {
    /// Name in the contracts.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Interleaved => "interleaved",
            Self::Blocked => "blocked",
            Self::Mixed => "mixed",
        }
    }
}

/// Order of two or more arms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Order {
    /// Number of arms, k.
    pub arms: usize,
    /// Maximal sequences of one arm.
    pub runs: usize,
    /// The most sequences these counts allow.
    pub max_runs: usize,
    /// Share of consecutive windows of k, side by side from the start, that hold every arm. A remainder is no window. Without a window: absent.
    pub balanced_share: Option<f64>,
    /// Exact probability of so few sequences or fewer in random order (Wald-Wolfowitz). Two arms only.
    pub p_too_few: Option<f64>,
    /// How they alternate.
    pub kind: OrderKind,
}

/// Describes the order. `labels` are arm numbers (any distinct numbers) in order of time. Fewer than two arms: absent.
pub fn order(labels: &[usize]) -> Option<Order> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for label in labels {
        *counts.entry(*label).or_default() += 1;
    }
    let arms = counts.len();
    if arms < 2 {
        return None;
    }
    let runs = labels.chunk_by(|a, b| a == b).count();
    let windows = labels.chunks_exact(arms);
    let total = windows.len();
    let balanced = windows.filter(|window| holds_each_once(window)).count();
    let balanced_share = (total > 0).then(|| balanced as f64 / total as f64);
    let kind = if balanced_share.is_some_and(|share| share >= INTERLEAVED_SHARE) {
        OrderKind::Interleaved
    } else if runs == arms {
        OrderKind::Blocked
    } else {
        OrderKind::Mixed
    };
    let largest = counts.values().copied().max().unwrap_or(0);
    let others = labels.len() - largest;
    let sizes: Vec<usize> = counts.into_values().collect();
    let p_too_few = if let [first, second] = sizes[..] { Some(p_runs_up_to(runs, first, second)) } else { None };
    Some(Order { arms, runs, max_runs: labels.len().min(2 * others + 1), balanced_share, p_too_few, kind })
}

/// A window of k labels holds each of k arms exactly when no label comes twice.
fn holds_each_once(window: &[usize]) -> bool {
    window.iter().enumerate().all(|(i, label)| !window[..i].contains(label))
}

/// P(number of sequences <= `runs`) when `m` and `n` labels are in random order.
fn p_runs_up_to(runs: usize, m: usize, n: usize) -> f64 {
    let ln_all = ln_choose(m + n, m);
    let ways = |k: usize, l: usize| (ln_choose(m - 1, k - 1) + ln_choose(n - 1, l - 1) - ln_all).exp();
    let terms = (2..=runs).map(|r| {
        // r sequences: the arms have half each, or one more of either.
        let k = r / 2;
        if r % 2 == 0 { 2.0 * ways(k, k) } else { ways(k + 1, k) + ways(k, k + 1) }
    });
    super::sample::sum(terms).min(1.0)
}

/// ln of n over k. Minus infinity when there is no way.
fn ln_choose(n: usize, k: usize) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    let ln_factorial = |x: usize| libm::lgamma(x as f64 + 1.0);
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

/// Balanced windows of two, in order: positions in `labels` of the run of arm `a` and of the run of arm `b`.
///
/// Only in an [`OrderKind::Interleaved`] order are these pairs. The caller asks [`order`] first.
pub fn balanced_pairs(labels: &[usize], a: usize, b: usize) -> Vec<(usize, usize)> {
    labels
        .chunks_exact(2)
        .enumerate()
        .filter_map(|(window, pair)| match (pair[0] == a && pair[1] == b, pair[0] == b && pair[1] == a) {
            (true, _) => Some((2 * window, 2 * window + 1)),
            (_, true) => Some((2 * window + 1, 2 * window)),
            _ => None,
        })
        .collect()
}

/// Drift allowance D, per cent: 0 when interleaved, else the largest |drift_pct| of an arm whose Mann-Kendall p is below 0.05.
pub fn drift_allowance_pct<'a>(kind: OrderKind, arms: impl IntoIterator<Item = &'a Drift>) -> f64 {
    if kind == OrderKind::Interleaved {
        return 0.0;
    }
    arms.into_iter().filter(|d| d.p < DRIFT_ALPHA).filter_map(|d| d.drift_pct).map(f64::abs).fold(0.0, f64::max)
}
