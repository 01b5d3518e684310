//! Effect sizes: Cohen's d, Hedges' g with its interval, Cliff's delta.
//!
//! In:  values of two arms.  Out: numbers without unit, positive when B is larger.
//! Not here: words such as "small" or "large". At a CV of 0.3 % a trivial difference of 0.5 % has d above 1.
//!
//! Source: Hedges, *J. Educ. Stat.* 6 (1981). Cliff, *Psych. Bull.* 114 (1993).

use super::dist;
use super::mann_whitney::u_statistic;
use super::noncentral_t;
use super::sample::mean;
use super::student::{Arm, pooled_variance};

/// Hedges' g with the interval from the noncentral t distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HedgesG {
    /// Estimate.
    pub g: f64,
    pub lo: f64,
    pub hi: f64,
}

/// Pooled standard deviation. An arm with fewer than two values: absent.
pub fn pooled_sd(a: &[f64], b: &[f64]) -> Option<f64> {
    Some(pooled_variance(Arm::of(a)?, Arm::of(b)?).sqrt())
}

/// (mean B - mean A) / pooled sd. Fewer than two values in an arm or no spread: absent.
pub fn cohen_d(a: &[f64], b: &[f64]) -> Option<f64> {
    let spread = pooled_sd(a, b).filter(|sd| *sd > 0.0)?;
    Some((mean(b) - mean(a)) / spread).filter(|d| d.is_finite())
}

/// Cohen's d without its small-sample bias, and the interval at `confidence`. Absent as [`cohen_d`].
pub fn hedges_g(a: &[f64], b: &[f64], confidence: f64) -> Option<HedgesG> {
    let d = cohen_d(a, b)?;
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let df = na + nb - 2.0;
    let root = (na * nb / (na + nb)).sqrt();
    let j = bias_factor(df);
    let tail = 0.5 * (1.0 - confidence);
    // The larger the noncentrality, the smaller P(T <= t): the lower limit is where t is the upper quantile.
    let limit = |p| Some(j * noncentral_t::noncentrality(d * root, df, p)? / root);
    Some(HedgesG { g: j * d, lo: limit(1.0 - tail)?, hi: limit(tail)? })
}

/// Gamma(df/2) / (sqrt(df/2) Gamma((df-1)/2)): what d must be multiplied with to be unbiased. `df` > 1.
fn bias_factor(df: f64) -> f64 {
    dist::ln_gamma_half_step(0.5 * (df - 1.0)).exp() / (0.5 * df).sqrt()
}

/// P(b > a) - P(b < a), from -1 to 1. An empty arm: absent.
pub fn cliff_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    // In this form exchanging the arms turns the sign and not a bit more.
    let pairs = a.len() as f64 * b.len() as f64;
    Some((2.0 * u_statistic(a, b) - pairs) / pairs)
}
