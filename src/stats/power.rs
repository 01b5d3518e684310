//! Power of the two-sample t test, what it can detect, and how many runs a decision needs.
//!
//! In:  sizes and effects, or two arms for their pooled sd and the mean of A.  Out: probabilities, per cents, runs per arm.
//! Not here: "observed power" at the measured effect; it is a function of the p-value (Hoenig and Heisey, *Am. Stat.* 55, 2001).

/// Power that the reports ask for.
pub const TARGET_POWER: f64 = 0.8;

/// Power of the two-sided pooled t test at a true effect of `d` pooled sd. Fewer than two values in an arm: absent.
pub fn power(d: f64, n_a: usize, n_b: usize, confidence: f64) -> Option<f64> {
    let _ = (d, n_a, n_b, confidence);
    todo!()
}

/// Power to detect a true difference of `pct` per cent of |mean A|, given the pooled sd of the arms. No spread or mean 0: absent.
pub fn power_at_pct(a: &[f64], b: &[f64], pct: f64, confidence: f64) -> Option<f64> {
    let _ = (a, b, pct, confidence);
    todo!()
}

/// Smallest d that is detected with power `target`.
pub fn mde_d(n_a: usize, n_b: usize, target: f64, confidence: f64) -> Option<f64> {
    let _ = (n_a, n_b, target, confidence);
    todo!()
}

/// The same in per cent of |mean A|. No spread or mean 0: absent.
pub fn mde_pct(a: &[f64], b: &[f64], target: f64, confidence: f64) -> Option<f64> {
    let _ = (a, b, target, confidence);
    todo!()
}

/// Smallest equal number of runs per arm, at least 2, that detects `pct` per cent of |mean A| with power `target`.
pub fn n_per_arm_for_pct(a: &[f64], b: &[f64], pct: f64, target: f64, confidence: f64) -> Option<u64> {
    let _ = (a, b, pct, target, confidence);
    todo!()
}

/// Power of the equivalence test at a true difference of 0 with `n` runs per arm and a margin of `delta_sd` standard deviations.
pub fn tost_power(n: u64, delta_sd: f64, confidence: f64) -> Option<f64> {
    let _ = (n, delta_sd, confidence);
    todo!()
}

/// Smallest equal number of runs per arm at which arms that are truly equal pass [`super::tost`] at `margin_pct` with power
/// [`TARGET_POWER`], given their pooled sd: how many runs would decide an inconclusive comparison. No spread, mean 0 or no margin: absent.
pub fn runs_to_decide(a: &[f64], b: &[f64], margin_pct: f64, confidence: f64) -> Option<u64> {
    let _ = (a, b, margin_pct, confidence);
    todo!()
}
