//! Brown-Forsythe test of equal spread: an analysis of variance of |x - median|.
//!
//! In:  values of two arms.  Out: [`BrownForsythe`].
//! Not here: what to do about unequal spread (Welch, always).
//!
//! Source: Brown and Forsythe, *JASA* 69 (1974).

use super::dist;
use super::quantile::{quantile_sorted, sorted};
use super::student::{Arm, pooled_variance};

/// Statistic and p-value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BrownForsythe {
    /// F with 1 and nA + nB - 2 degrees of freedom.
    pub f: f64,
    /// p of equal spread.
    pub p: f64,
}

/// The test. An arm below three values, or no spread of |x - median| within the arms: absent.
pub fn brown_forsythe(a: &[f64], b: &[f64]) -> Option<BrownForsythe> {
    if a.len() < 3 || b.len() < 3 {
        return None;
    }
    let (a, b) = (distances(a), distances(b));
    // With two groups the analysis of variance is the square of the pooled t test.
    let (arm_a, arm_b) = (Arm::of(&a)?, Arm::of(&b)?);
    let within = pooled_variance(arm_a, arm_b);
    if within == 0.0 {
        return None;
    }
    let t = (arm_b.mean - arm_a.mean) / (within * (1.0 / arm_a.n + 1.0 / arm_b.n)).sqrt();
    Some(BrownForsythe { f: t * t, p: dist::t_two_sided(t, arm_a.n + arm_b.n - 2.0) })
}

fn distances(values: &[f64]) -> Vec<f64> {
    let median = quantile_sorted(&sorted(values), 0.5);
    values.iter().map(|x| (x - median).abs()).collect()
}
