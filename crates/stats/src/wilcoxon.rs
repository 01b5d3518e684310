//! Wilcoxon signed-rank test of paired differences.
//!
//! In:  differences, B minus A.  Out: [`Wilcoxon`].
//! Not here: which runs form a pair (see [`super::order::balanced_pairs`]).
//!
//! Source: Wilcoxon, *Biometrics Bulletin* 1 (1945).

use super::{Method, dist, exact_null, ties};

/// Up to this many pairs the null distribution is exact.
const EXACT_UP_TO: usize = 50;

/// Result of the signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wilcoxon {
    /// Sum of the ranks of positive differences.
    pub w_plus: f64,
    /// Differences that are not zero.
    pub n_used: usize,
    /// Zero differences, left out.
    pub n_zero: usize,
    /// Two-sided p.
    pub p: f64,
    /// `Exact` without ties, without zeros and up to 50 pairs, else `Normal`.
    pub method: Method,
}

/// The test. No difference that is not zero: absent.
pub fn wilcoxon(differences: &[f64]) -> Option<Wilcoxon> {
    let used: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    if used.is_empty() {
        return None;
    }
    let n_zero = differences.len() - used.len();
    let sizes: Vec<f64> = used.iter().map(|d| d.abs()).collect();
    let (ranks, tied) = ties::midranks(&sizes);
    let w_plus: f64 = used.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    let (p, method) = if tied == 0.0 && n_zero == 0 && used.len() <= EXACT_UP_TO {
        (exact_null::two_sided(&exact_null::signed_rank(used.len()), w_plus as usize), Method::Exact)
    } else {
        let n = used.len() as f64;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tied / 48.0;
        // A distance below the continuity correction is no evidence at all: p = 1, not more.
        let distance = (w_plus - 0.25 * n * (n + 1.0)).abs() - 0.5;
        ((2.0 * dist::normal_sf(distance / variance.sqrt())).min(1.0), Method::Normal)
    };
    Some(Wilcoxon { w_plus, n_used: used.len(), n_zero, p, method })
}
