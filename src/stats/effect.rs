//! Effect sizes: Cohen's d, Hedges' g with its interval, Cliff's delta.
//!
//! In:  values of two arms.  Out: numbers without unit, positive when B is larger.
//! Not here: words such as "small" or "large". At a CV of 0.3 % a trivial difference of 0.5 % has d above 1.
//!
//! Source: Hedges, *J. Educ. Stat.* 6 (1981); Cliff, *Psych. Bull.* 114 (1993).

/// Hedges' g with the interval from the noncentral t distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HedgesG {
    /// Estimate.
    pub g: f64,
    /// Lower limit.
    pub lo: f64,
    /// Upper limit.
    pub hi: f64,
}

/// Pooled standard deviation. An arm with fewer than two values: absent.
pub fn pooled_sd(a: &[f64], b: &[f64]) -> Option<f64> {
    let _ = (a, b);
    todo!()
}

/// (mean B - mean A) / pooled sd. Fewer than two values in an arm or no spread: absent.
pub fn cohen_d(a: &[f64], b: &[f64]) -> Option<f64> {
    let _ = (a, b);
    todo!()
}

/// Cohen's d without its small-sample bias, and the interval at `confidence`. Absent as [`cohen_d`].
pub fn hedges_g(a: &[f64], b: &[f64], confidence: f64) -> Option<HedgesG> {
    let _ = (a, b, confidence);
    todo!()
}

/// P(b > a) - P(b < a), from -1 to 1. An empty arm: absent.
pub fn cliff_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    let _ = (a, b);
    todo!()
}
