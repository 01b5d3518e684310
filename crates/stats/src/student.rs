//! t tests: pooled, Welch, paired.
//!
//! In:  values of two arms, or differences of pairs.  Out: [`TTest`] with the interval of the difference, B minus A.
//! Not here: adjustment for families of tests (see [`super::adjust`]).
//!
//! Source: Welch, *Biometrika* 34 (1947).

use super::dist;

/// A t test and the interval that belongs to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TTest {
    /// Statistic. Infinite when the standard error is 0 and the means differ.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p.
    pub p: f64,
    /// Lower end of the interval of the difference of means.
    pub diff_lo: f64,
    /// Upper end.
    pub diff_hi: f64,
}

/// Mean, squared standard error and size of one arm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arm {
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Number of values.
    pub n: f64,
}

impl Arm {
    /// Absent below two values.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        Some(Self { sd: super::sd(values)?, mean: super::mean(values), n: values.len() as f64 })
    }

    /// Squared standard error of the mean.
    pub(crate) fn v(self) -> f64 {
        self.sd * self.sd / self.n
    }
}

/// Student's test with pooled variance. An arm with fewer than two values: absent.
pub fn student(a: &[f64], b: &[f64], confidence: f64) -> Option<TTest> {
    let (a, b) = (Arm::of(a)?, Arm::of(b)?);
    let df = a.n + b.n - 2.0;
    let pooled = pooled_variance(a, b);
    Some(TTest::new(b.mean - a.mean, (pooled * (1.0 / a.n + 1.0 / b.n)).sqrt(), df, confidence))
}

/// Welch's test, the primary one. An arm with fewer than two values: absent.
pub fn welch(a: &[f64], b: &[f64], confidence: f64) -> Option<TTest> {
    let (a, b) = (Arm::of(a)?, Arm::of(b)?);
    Some(TTest::new(b.mean - a.mean, (a.v() + b.v()).sqrt(), welch_df(a, b), confidence))
}

/// Interval of the difference of means by Welch's method at error rate `level`, both sides together. Absent as [`welch`].
///
/// For levels near 0, where `1 - level` is no longer a confidence that a number can hold. A level of 0 has no interval.
pub(crate) fn welch_interval(a: &[f64], b: &[f64], level: f64) -> Option<(f64, f64)> {
    let (a, b) = (Arm::of(a)?, Arm::of(b)?);
    let (difference, se) = (b.mean - a.mean, (a.v() + b.v()).sqrt());
    if se == 0.0 {
        return Some((difference, difference));
    }
    let half = -dist::t_quantile(0.5 * level, welch_df(a, b)) * se;
    half.is_finite().then_some((difference - half, difference + half))
}

/// Test of the mean difference of pairs against 0. Fewer than two pairs: absent.
pub fn paired(differences: &[f64], confidence: f64) -> Option<TTest> {
    let d = Arm::of(differences)?;
    Some(TTest::new(d.mean, d.v().sqrt(), d.n - 1.0, confidence))
}

impl TTest {
    fn new(difference: f64, se: f64, df: f64, confidence: f64) -> Self {
        if se == 0.0 {
            // No spread at all: equal means are certain to be equal, others certain to differ. Flagged `constant` by the caller.
            let (t, p) = if difference == 0.0 { (0.0, 1.0) } else { (difference.signum() * f64::INFINITY, 0.0) };
            return Self { t, df, p, diff_lo: difference, diff_hi: difference };
        }
        let t = difference / se;
        let half = dist::t_quantile(0.5 + 0.5 * confidence, df) * se;
        Self { t, df, p: dist::t_two_sided(t, df), diff_lo: difference - half, diff_hi: difference + half }
    }
}

/// Variance pooled over both arms.
pub(crate) fn pooled_variance(a: Arm, b: Arm) -> f64 {
    ((a.n - 1.0) * a.sd * a.sd + (b.n - 1.0) * b.sd * b.sd) / (a.n + b.n - 2.0)
}

/// Welch's degrees of freedom. Without any spread the pooled ones, which then decide nothing.
pub(crate) fn welch_df(a: Arm, b: Arm) -> f64 {
    let (va, vb) = (a.v(), b.v());
    // In units of the larger: squares of 1e-200 would vanish.
    let unit = va.max(vb);
    if unit == 0.0 {
        return a.n + b.n - 2.0;
    }
    let (va, vb) = (va / unit, vb / unit);
    (va + vb).powi(2) / (va * va / (a.n - 1.0) + vb * vb / (b.n - 1.0))
}
