//! Distribution-free interval of a quantile from two order statistics.
//!
//! In:  ascending finite values.  Out: [`OrderInterval`] with the coverage it really has.
//! Not here: bootstrap intervals of quantiles.
//!
//! Source: Hahn and Meeker, *Statistical Intervals* (1991), 5.2.

use serde::Serialize;

use super::dist::Binomial;

/// Interval `[x_(l), x_(u)]` of a quantile, ranks counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OrderInterval {
    /// Lower limit. Absent when `l` is 0: unbounded below.
    pub lo: Option<f64>,
    /// Upper limit. Absent when `u` is n + 1: unbounded above.
    pub hi: Option<f64>,
    /// Rank of the lower limit, 0 to n.
    pub l: usize,
    /// Rank of the upper limit, 1 to n + 1.
    pub u: usize,
    /// Probability that the interval holds the quantile, whatever the distribution.
    pub coverage: f64,
}

/// Interval of quantile `p`, strictly inside (0, 1), at `confidence`. Empty: both limits absent.
///
/// A finite upper limit for p99 at 95 % needs 368 values (0.99^n <= 0.025), for p95 72. The median has both limits from 6 on.
pub fn quantile_interval(sorted: &[f64], p: f64, confidence: f64) -> OrderInterval {
    let n = sorted.len();
    let tail = 0.5 * (1.0 - confidence);
    let binomial = Binomial::new(n, p);
    // l: largest integer with F(l - 1) <= tail. F(-1) = 0 always satisfies it.
    let l = binomial.last_at_most(tail);
    // u: smallest integer with F(u - 1) >= 1 - tail.
    let u = binomial.quantile(1.0 - tail) + 1;
    let below = |rank: usize| rank.checked_sub(1).map_or(0.0, |k| binomial.cdf(k));
    OrderInterval {
        lo: l.checked_sub(1).and_then(|i| sorted.get(i).copied()),
        hi: sorted.get(u - 1).copied(),
        l,
        u,
        coverage: below(u) - below(l),
    }
}
