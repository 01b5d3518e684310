//! Fieller's interval for a ratio of two means with unequal variances.
//!
//! In:  values of numerator and denominator.  Out: limits of the ratio, or of the overhead in per cent.
//! Not here: the bootstrap of the ratio.
//!
//! Source: Fieller, *JRSS B* 16 (1954). Degrees of freedom by Satterthwaite at the estimated ratio.

use super::dist;
use super::overhead::Direction;
use super::student::Arm;

/// Interval of mean(num) / mean(den). Absent when an arm has fewer than two values, or the denominator's mean is 0 or not clear of 0. In the
/// last case the set is unbounded. Both arms constant: the point.
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
    let df = df((vn, num.n), (r2 * vd, den.n));
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
    // rho^2 - lead (rho^2 - h) without its cancellation. Not negative, so the roots are real.
    let root = (g * r2 + h * lead).sqrt();
    let limits = ((rho - root) / lead, (rho + root) / lead);
    (limits.0.is_finite() && limits.1.is_finite()).then_some(limits)
}

/// Satterthwaite's degrees of freedom of a sum of two squared standard errors.
fn df((x, n): (f64, f64), (y, m): (f64, f64)) -> f64 {
    (x + y).powi(2) / (x * x / (n - 1.0) + y * y / (m - 1.0))
}

/// Larger p of the two one-sided tests of mean(num) / mean(den) against `low` and `high`. It is below alpha exactly where the interval of
/// the ratio at 1 - 2 alpha lies between the two. Absent as [`ratio_interval`].
pub fn equivalence_p(num: &[f64], den: &[f64], (low, high): (f64, f64)) -> Option<f64> {
    let (num, den) = (Arm::of(num)?, Arm::of(den)?);
    if den.mean == 0.0 {
        return None;
    }
    let rho = num.mean / den.mean;
    let (vn, vd) = (num.v() / (den.mean * den.mean), den.v() / (den.mean * den.mean));
    if vn == 0.0 && vd == 0.0 {
        return Some(if low < rho && rho < high { 0.0 } else { 1.0 });
    }
    let df = df((vn, num.n), (rho * rho * vd, den.n));
    let t = |bound: f64| (rho - bound) / (vn + bound * bound * vd).sqrt();
    let p = dist::t_sf(t(low), df).max(dist::t_sf(-t(high), df));
    p.is_finite().then_some(p)
}

/// The same for the overhead of B over A and a margin in per cent on both sides. Absent as [`overhead_pct`].
pub fn overhead_equivalence_p(a: &[f64], b: &[f64], direction: Direction, margin_pct: f64) -> Option<f64> {
    let (num, den) = sides(a, b, direction)?;
    equivalence_p(num, den, (1.0 - margin_pct / 100.0, 1.0 + margin_pct / 100.0))
}

/// The same as overhead per cent of B over A. A rate has A as its numerator. Absent also when a mean is not positive.
pub fn overhead_pct(a: &[f64], b: &[f64], direction: Direction, confidence: f64) -> Option<(f64, f64)> {
    let (num, den) = sides(a, b, direction)?;
    ratio_interval(num, den, confidence).map(per_cent)
}

/// Numerator and denominator of an overhead. None where a mean is not positive or the metric allows no per cent.
fn sides<'a>(a: &'a [f64], b: &'a [f64], direction: Direction) -> Option<(&'a [f64], &'a [f64])> {
    super::overhead_pct(super::mean(a), super::mean(b), direction)?;
    Some(if direction == Direction::HigherIsBetter { (a, b) } else { (b, a) })
}

fn per_cent((low, high): (f64, f64)) -> (f64, f64) {
    (100.0 * (low - 1.0), 100.0 * (high - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    // mpmath 1.4.1, 40 digits: the roots of the quadratic of the contract, with t by root finding on the incomplete beta function.
    #[test]
    fn the_interval_is_that_of_the_formula_in_forty_digits() {
        let (low, high) = ratio_interval(&[10.2, 9.8, 10.9, 11.4, 10.1], &[8.1, 9.3, 8.8, 7.9], 0.95).unwrap();
        assert!((low / 1.096_831_232_058_525 - 1.0).abs() < 1e-9, "{low}");
        assert!((high / 1.383_325_362_909_287 - 1.0).abs() < 1e-9, "{high}");
    }
}
