//! In which order the arms were run, and what that forbids.
//!
//! In:  arm numbers in order of time.  Out: [`Order`]; pairs of runs; the allowance for drift.
//! Not here: timestamps, sentences.
//!
//! Source: Wald and Wolfowitz, *Ann. Math. Stat.* 11 (1940).

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
    /// As the contracts spell it.
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
    /// Maximal stretches of one arm.
    pub runs: usize,
    /// The most stretches these counts allow.
    pub max_runs: usize,
    /// Share of consecutive windows of k, side by side from the start, that hold every arm. A remainder is no window; without a window: absent.
    pub balanced_share: Option<f64>,
    /// Exact probability of so few stretches or fewer in random order (Wald-Wolfowitz); two arms only.
    pub p_too_few: Option<f64>,
    /// How they alternate.
    pub kind: OrderKind,
}

/// Describes the order; `labels` are arm numbers (any distinct numbers) in order of time. Fewer than two arms: absent.
pub fn order(labels: &[usize]) -> Option<Order> {
    let _ = labels;
    todo!()
}

/// Balanced windows of two, in order: positions in `labels` of the run of arm `a` and of the run of arm `b`.
///
/// Only for [`OrderKind::Interleaved`] orders are these pairs.
pub fn balanced_pairs(labels: &[usize], a: usize, b: usize) -> Vec<(usize, usize)> {
    let _ = (labels, a, b);
    todo!()
}

/// Drift allowance D, per cent: 0 when interleaved, else the largest |drift_pct| of an arm whose Mann-Kendall p is below 0.05.
pub fn drift_allowance_pct<'a>(kind: OrderKind, arms: impl IntoIterator<Item = &'a Drift>) -> f64 {
    if kind == OrderKind::Interleaved {
        return 0.0;
    }
    arms.into_iter().filter(|d| d.p < DRIFT_ALPHA).filter_map(|d| d.drift_pct).map(f64::abs).fold(0.0, f64::max)
}
