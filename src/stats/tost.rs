//! Equivalence by two one-sided Welch tests.
//!
//! In:  values of two arms and a margin in per cent of |mean A|, which is taken as fixed.  Out: [`Tost`].
//! Not here: the choice of the margin.
//!
//! Source: Schuirmann, *J. Pharmacokin. Biopharm.* 15 (1987).

/// Result for one margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tost {
    /// Larger of the two one-sided p-values.
    pub p: f64,
    /// p < 1 - confidence; the same as the interval at 1 - 2 (1 - confidence) lying inside the margin.
    pub equivalent: bool,
    /// The margin in the unit of the metric.
    pub delta: f64,
}

/// The test at one margin. Fewer than two values in an arm, mean A zero, or a negative margin: absent. A margin of 0 never passes.
pub fn tost(a: &[f64], b: &[f64], margin_pct: f64, confidence: f64) -> Option<Tost> {
    let _ = (a, b, margin_pct, confidence);
    todo!()
}

/// Smallest margin, per cent of |mean A|, at which [`tost`] would still pass. Absent as there.
pub fn smallest_margin_pct(a: &[f64], b: &[f64], confidence: f64) -> Option<f64> {
    let _ = (a, b, confidence);
    todo!()
}
