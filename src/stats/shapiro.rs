//! Shapiro-Wilk test of normality. Shown, never used to choose another test: pre-testing distorts the error rate.
//!
//! In:  3 to 5000 values, not constant.  Out: [`Shapiro`].
//! Not here: any decision.
//!
//! Source: Royston, *Applied Statistics* 44, algorithm AS R94 (1995).

use serde::Serialize;

/// Statistic and p-value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shapiro {
    /// W in (0, 1]; near 1 for normal data.
    pub w: f64,
    /// p of the hypothesis that the data are normal.
    pub p: f64,
}

/// The test; fewer than 3 or more than 5000 values, or constant: absent.
pub fn shapiro(values: &[f64]) -> Option<Shapiro> {
    let _ = values;
    todo!()
}
