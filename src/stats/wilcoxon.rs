//! Wilcoxon signed-rank test of paired differences.
//!
//! In:  differences, B minus A.  Out: [`Wilcoxon`].
//! Not here: which runs form a pair (see [`super::order::balanced_pairs`]).
//!
//! Source: Wilcoxon, *Biometrics Bulletin* 1 (1945).

use super::Method;

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
    let _ = differences;
    todo!()
}
