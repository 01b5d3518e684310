//! Mann-Whitney U. It tests stochastic order (does B tend to be larger?), not a difference of means.
//!
//! In:  values of two arms.  Out: [`MannWhitney`].
//! Not here: effect sizes (Cliff's delta is in [`super::effect`]).
//!
//! Source: Mann and Whitney, *Ann. Math. Stat.* 18 (1947).

use super::quantile::sorted;
use super::{Method, dist, exact_null, ties};

/// Arms below this size have an exact null distribution, as in SciPy and R.
pub const EXACT_BELOW: usize = 50;

/// Result of the U test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Pairs with b > a, plus half the ties.
    pub u: f64,
    /// Two-sided p.
    pub p: f64,
    /// `Exact` without ties and both n below 50, else `Normal`.
    pub method: Method,
}

/// The test. An empty arm: absent. All values tied: p = 1.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let u = u_statistic(a, b);
    let pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    let tied = ties::groups(&sorted(&pooled)).map(|t| t as f64).map(|t| t * t * t - t).sum::<f64>();
    if tied == 0.0 && a.len() < EXACT_BELOW && b.len() < EXACT_BELOW {
        // Without ties U is a whole number.
        let p = exact_null::two_sided(&exact_null::u_statistic(a.len(), b.len()), u as usize);
        return Some(MannWhitney { u, p, method: Method::Exact });
    }
    let n = na + nb;
    let variance = na * nb / 12.0 * (n + 1.0 - tied / (n * (n - 1.0)));
    let distance = (u - 0.5 * na * nb).abs() - 0.5;
    let p = if variance > 0.0 { (2.0 * dist::normal_sf(distance / variance.sqrt())).min(1.0) } else { 1.0 };
    Some(MannWhitney { u, p, method: Method::Normal })
}

/// Pairs with b > a plus half the ties. `O((nA + nB) log nA)`.
pub(crate) fn u_statistic(a: &[f64], b: &[f64]) -> f64 {
    let a = sorted(a);
    let doubled: u64 = b
        .iter()
        .map(|b| {
            let below = a.partition_point(|a| a < b);
            let not_above = a.partition_point(|a| a <= b);
            (below + not_above) as u64
        })
        .sum();
    0.5 * doubled as f64
}
