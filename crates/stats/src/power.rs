//! Power of the two-sample t test, what it can detect, and how many runs a decision needs.
//!
//! In:  sizes and effects, or two arms for their pooled sd and the mean of A.  Out: probabilities, per cents, runs per arm.
//! Not here: "observed power" at the measured effect, a mere function of the p-value (Hoenig and Heisey, *Am. Stat.* 55, 2001).

use super::effect::pooled_sd;
use super::{dist, mean, noncentral_t, root};

/// Power that the reports ask for.
pub const TARGET_POWER: f64 = 0.8;
/// Difference, per cent of the baseline, whose power the reports give.
pub const STATED_PCT: f64 = 10.0;
/// A plan beyond a thousand million runs is no plan. The answer is then absent.
const MAX_RUNS: u64 = 1_000_000_000;

/// Power of the two-sided pooled t test at a true effect of `d` pooled sd. Fewer than two values in an arm: absent.
pub fn power(d: f64, n_a: usize, n_b: usize, confidence: f64) -> Option<f64> {
    if n_a < 2 || n_b < 2 || d.is_nan() {
        return None;
    }
    let (df, root) = (n_a as f64 + n_b as f64 - 2.0, root_n(n_a as f64, n_b as f64));
    Some(rejection(d * root, df, confidence))
}

/// Power to detect a true difference of `pct` per cent of |mean A|, given the pooled sd of the arms. No spread or mean 0: absent.
pub fn power_at_pct(a: &[f64], b: &[f64], pct: f64, confidence: f64) -> Option<f64> {
    power(pct / 100.0 / relative_sd(a, b)?, a.len(), b.len(), confidence)
}

/// Smallest d that is detected with power `target`. Fewer than two values in an arm: absent.
pub fn mde_d(n_a: usize, n_b: usize, target: f64, confidence: f64) -> Option<f64> {
    if n_a < 2 || n_b < 2 || !(target > 0.0 && target < 1.0) {
        return None;
    }
    let df = n_a as f64 + n_b as f64 - 2.0;
    let missing = |nc: f64| target - rejection(nc, df, confidence);
    let at_zero = missing(0.0);
    if at_zero <= 0.0 {
        return Some(0.0);
    }
    let mut high = 4.0;
    while missing(high) > 0.0 {
        high *= 2.0;
        if high > 1e9 {
            return None;
        }
    }
    let nc = root::falling(missing, (0.0, at_zero), (high, missing(high)), 1e-13 * high);
    Some(nc / root_n(n_a as f64, n_b as f64))
}

/// The same in per cent of |mean A|. No spread or mean 0: absent.
pub fn mde_pct(a: &[f64], b: &[f64], target: f64, confidence: f64) -> Option<f64> {
    Some(100.0 * mde_d(a.len(), b.len(), target, confidence)? * relative_sd(a, b)?)
}

/// Smallest equal number of runs per arm, at least 2, that detects an effect of `d` with power `target`. No effect: absent.
pub fn n_per_arm(d: f64, target: f64, confidence: f64) -> Option<u64> {
    let d = d.abs();
    if !(d > 0.0 && target > 0.0 && target < 1.0) {
        return None;
    }
    smallest(|n| rejection(d * (n as f64 / 2.0).sqrt(), 2.0 * n as f64 - 2.0, confidence) >= target)
}

/// Smallest equal number of runs per arm, at least 2, that detects `pct` per cent of |mean A| with power `target`.
pub fn n_per_arm_for_pct(a: &[f64], b: &[f64], pct: f64, target: f64, confidence: f64) -> Option<u64> {
    n_per_arm(pct / 100.0 / relative_sd(a, b)?, target, confidence)
}

/// Power of the equivalence test at a true difference of 0 with `n` runs per arm and a margin of `delta_sd` standard deviations.
///
/// For equal true spread and pooled degrees of freedom, which Welch's approach from below. n < 2: absent.
pub fn tost_power(n: u64, delta_sd: f64, confidence: f64) -> Option<f64> {
    if n < 2 || delta_sd.is_nan() {
        return None;
    }
    let df = 2.0 * n as f64 - 2.0;
    let (t, reach) = (dist::t_quantile(confidence, df), delta_sd * (n as f64 / 2.0).sqrt());
    // Given the sample sd s, the test passes when |difference| < margin - t s se.
    let passes = |s: f64| (1.0 - 2.0 * dist::normal_sf(reach - t * s)).max(0.0);
    Some(noncentral_t::expect_over_scale(df, [9.0, 6.0, 3.0, 0.0].map(|z| (reach - z) / t), passes))
}

/// Smallest equal number of runs per arm at which truly equal arms pass [`super::tost()`] at `margin_pct` with power [`TARGET_POWER`], given
/// their pooled sd. It tells how many runs would decide an inconclusive comparison. `None` without spread, with mean 0, or without a margin.
pub fn runs_to_decide(a: &[f64], b: &[f64], margin_pct: f64, confidence: f64) -> Option<u64> {
    let delta_sd = margin_pct / 100.0 / relative_sd(a, b)?;
    if delta_sd.is_nan() || delta_sd <= 0.0 {
        return None;
    }
    smallest(|n| tost_power(n, delta_sd, confidence).is_some_and(|power| power >= TARGET_POWER))
}

/// Probability that the two-sided pooled test rejects at noncentrality `nc`.
fn rejection(nc: f64, df: f64, confidence: f64) -> f64 {
    let c = dist::t_quantile(0.5 + 0.5 * confidence, df);
    (noncentral_t::sf(c, df, nc) + noncentral_t::cdf(-c, df, nc)).min(1.0)
}

fn root_n(n_a: f64, n_b: f64) -> f64 {
    (n_a * n_b / (n_a + n_b)).sqrt()
}

/// Pooled sd as a share of |mean A|.
fn relative_sd(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean_a = mean(a).abs();
    let share = pooled_sd(a, b)? / mean_a;
    (share > 0.0 && share.is_finite()).then_some(share)
}

/// Smallest n from 2 on that is enough, where more never hurts.
fn smallest(enough: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut too_few, mut n) = (1, 2);
    while !enough(n) {
        too_few = n;
        n *= 2;
        if n > MAX_RUNS {
            return None;
        }
    }
    while n - too_few > 1 {
        let middle = too_few + (n - too_few) / 2;
        if enough(middle) { n = middle } else { too_few = middle }
    }
    Some(n)
}
