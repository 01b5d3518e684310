//! Fieller's interval for a ratio of two means with unequal variances.
//!
//! In:  values of numerator and denominator.  Out: limits of the ratio, or of the overhead in per cent.
//! Not here: the bootstrap of the ratio.
//!
//! Source: Fieller, *JRSS B* 16 (1954); degrees of freedom by Satterthwaite at the estimated ratio.

use super::dist;
use super::overhead::Direction;
use super::student::Arm;

/// Interval of mean(num) / mean(den). Absent when an arm has fewer than two values, the denominator's mean is 0, or the denominator
/// is not clear of 0 (the set is then unbounded). Both arms constant: the point.
pub fn ratio_interval(num: &[f64], den: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let (num, den) = (Arm::of(num)?, Arm::of(den)?);
    if den.mean == 0.0 {
        return None;
    }
    let rho = num.mean / den.mean;
    // Everything in units of the denominator's mean: the quadratic becomes (1 - g) r^2 - 2 rho r + (rho^2 - h) = 0.
    let (vn, vd) = (num.v() / (den.mean * den.mean), den.v() / (den.mean * den.mean));
    if vn == 0.0 && vd == 0.0 {
        return Some((rho, rho));
    }
    let r2 = rho * rho;
    let df = (vn + r2 * vd).powi(2) / (vn * vn / (num.n - 1.0) + r2 * r2 * vd * vd / (den.n - 1.0));
    if !df.is_finite() {
        // The numerator is exactly 0 without spread: its ratio is 0 whatever the denominator.
        return (r2 == 0.0).then_some((0.0, 0.0));
    }
    let t2 = dist::t_quantile(0.5 + 0.5 * confidence, df).powi(2);
    let (g, h) = (t2 * vd, t2 * vn);
    let lead = 1.0 - g;
    if lead <= 0.0 {
        return None;
    }
    // rho^2 - lead (rho^2 - h) without its cancellation; not negative, so the roots are real.
    let root = (g * r2 + h * lead).sqrt();
    let limits = ((rho - root) / lead, (rho + root) / lead);
    (limits.0.is_finite() && limits.1.is_finite()).then_some(limits)
}

/// The same as overhead per cent of B over A; a rate has A as its numerator. Absent also when a mean is not positive.
pub fn overhead_pct(a: &[f64], b: &[f64], direction: Direction, confidence: f64) -> Option<(f64, f64)> {
    let (mean_a, mean_b) = (super::mean(a), super::mean(b));
    super::overhead_pct(mean_a, mean_b, direction)?;
    let (num, den) = if direction == Direction::HigherIsBetter { (a, b) } else { (b, a) };
    let (low, high) = ratio_interval(num, den, confidence)?;
    Some((100.0 * (low - 1.0), 100.0 * (high - 1.0)))
}
