//! Mann-Whitney U. It tests stochastic order (does B tend to be larger?), not a difference of means.
//!
//! In:  values of two arms.  Out: [`MannWhitney`].
//! Not here: effect sizes (Cliff's delta is in [`super::effect`]).
//!
//! Source: Mann and Whitney, *Ann. Math. Stat.* 18 (1947).

use super::Method;

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
    let _ = (a, b);
    todo!()
}
