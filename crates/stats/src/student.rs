//! t tests: pooled, Welch, paired.
//!
//! In:  values of two arms, or differences of pairs.  Out: [`TTest`] with the interval of the difference, B minus A.
//! Not here: adjustment for families of tests (see [`super::adjust`]).
//!
//! Source: Welch, *Biometrika* 34 (1947).

use super::contrast::Contrast;

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
    let se = (pooled_variance(a, b) * (1.0 / a.n + 1.0 / b.n)).sqrt();
    Some(TTest::of(Contrast { estimate: b.mean - a.mean, se, df }, confidence))
}

/// Welch's test, the primary one. An arm with fewer than two values: absent.
pub fn welch(a: &[f64], b: &[f64], confidence: f64) -> Option<TTest> {
    Some(TTest::of(contrast(a, b)?, confidence))
}

/// Difference of means by Welch's method. An arm with fewer than two values: absent.
pub fn contrast(a: &[f64], b: &[f64]) -> Option<Contrast> {
    let (a, b) = (Arm::of(a)?, Arm::of(b)?);
    Some(Contrast { estimate: b.mean - a.mean, se: (a.v() + b.v()).sqrt(), df: welch_df(a, b) })
}

/// Test of the mean difference of pairs against 0. Fewer than two pairs: absent.
pub fn paired(differences: &[f64], confidence: f64) -> Option<TTest> {
    Some(TTest::of(super::blocks::paired(differences)?, confidence))
}

impl TTest {
    // No spread at all: equal means are certain to be equal, others certain to differ. Flagged `constant` by the caller.
    fn of(contrast: Contrast, confidence: f64) -> Self {
        let (diff_lo, diff_hi) = contrast.interval(confidence);
        Self { t: contrast.t(), df: contrast.df, p: contrast.p(), diff_lo, diff_hi }
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
