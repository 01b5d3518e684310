//! Equivalence by two one-sided Welch tests.
//!
//! In:  values of two arms and a margin in per cent of |mean A|, which is taken as fixed.  Out: [`Tost`].
//! Not here: the choice of the margin.
//!
//! Source: Schuirmann, *J. Pharmacokin. Biopharm.* 15 (1987).

use super::{dist, mean, student};

/// Result for one margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tost {
    /// Larger of the two one-sided p-values.
    pub p: f64,
    /// p < 1 - confidence. The same as the interval at 1 - 2 (1 - confidence) lying inside the margin.
    pub equivalent: bool,
    /// The margin in the unit of the metric.
    pub delta: f64,
}

/// The test at one margin. Fewer than two values in an arm or mean A zero: absent. A margin of 0 or below never passes.
pub fn tost(a: &[f64], b: &[f64], margin_pct: f64, confidence: f64) -> Option<Tost> {
    let (contrast, mean_a) = (student::contrast(a, b)?, mean(a));
    if mean_a == 0.0 || margin_pct.is_nan() {
        return None;
    }
    let delta = margin_pct * mean_a.abs() / 100.0;
    let p = contrast.equivalence_p(-delta, delta);
    Some(Tost { p, equivalent: p < 1.0 - confidence && delta > 0.0, delta })
}

/// Smallest margin, per cent of |mean A|, at which [`tost`] would still pass. Absent as there.
pub fn smallest_margin_pct(a: &[f64], b: &[f64], confidence: f64) -> Option<f64> {
    let (contrast, mean_a) = (student::contrast(a, b)?, mean(a));
    if mean_a == 0.0 {
        return None;
    }
    let reach = if contrast.se == 0.0 { 0.0 } else { dist::t_quantile(confidence, contrast.df) * contrast.se };
    let margin = 100.0 * (contrast.estimate.abs() + reach) / mean_a.abs();
    margin.is_finite().then_some(margin)
}
