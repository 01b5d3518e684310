//! t tests: pooled, Welch, paired.
//!
//! In:  values of two arms, or differences of pairs.  Out: [`TTest`] with the interval of the difference, B minus A.
//! Not here: adjustment for families of tests (see [`super::adjust`]).
//!
//! Source: Welch, *Biometrika* 34 (1947).

/// A t test and the interval that belongs to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TTest {
    /// Statistic; infinite when the standard error is 0 and the means differ.
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
    /// Mean.
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
    let _ = (a, b, confidence);
    todo!()
}

/// Welch's test, the primary one. An arm with fewer than two values: absent.
pub fn welch(a: &[f64], b: &[f64], confidence: f64) -> Option<TTest> {
    let _ = (a, b, confidence);
    todo!()
}

/// Test of the mean difference of pairs against 0. Fewer than two pairs: absent.
pub fn paired(differences: &[f64], confidence: f64) -> Option<TTest> {
    let _ = (differences, confidence);
    todo!()
}
