//! Fieller's interval for a ratio of two means with unequal variances.
//!
//! In:  values of numerator and denominator.  Out: limits of the ratio, or of the overhead in per cent.
//! Not here: the bootstrap of the ratio.
//!
//! Source: Fieller, *JRSS B* 16 (1954); degrees of freedom by Satterthwaite at the estimated ratio.

use super::overhead::Direction;

/// Interval of mean(num) / mean(den). Absent when an arm has fewer than two values, the denominator's mean is 0, or the denominator
/// is not clear of 0 (the set is then unbounded). Both arms constant: the point.
pub fn ratio_interval(num: &[f64], den: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let _ = (num, den, confidence);
    todo!()
}

/// The same as overhead per cent of B over A; a rate has A as its numerator. Absent also when a mean is not positive.
pub fn overhead_pct(a: &[f64], b: &[f64], direction: Direction, confidence: f64) -> Option<(f64, f64)> {
    let _ = (a, b, direction, confidence);
    todo!()
}
