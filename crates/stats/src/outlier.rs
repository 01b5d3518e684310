//! Three outlier rules that flag and never delete.
//!
//! In:  values of one arm.  Out: [`Outliers`], indices into the input.
//! Not here: any removal.
//!
//! Source: Shiffler, *Am. Stat.* 42 (1988). Iglewicz and Hoaglin, *How to Detect and Handle Outliers* (1993). Tukey (1977).

use super::descriptive::MAD_TO_SD;
use super::quantile::{quantile_sorted, sorted};

/// |z| above this is flagged by the 3 sigma rule.
pub const SIGMA: f64 = 3.0;
/// |modified z| above this is flagged (Iglewicz and Hoaglin's recommendation).
pub const MODIFIED_Z: f64 = 3.5;
/// Tukey's fences lie this many interquartile ranges outside the quartiles.
pub const FENCE: f64 = 1.5;

/// Mean distance from the median times this estimates the sd of normal data: sqrt(pi / 2).
const MEAN_DISTANCE_TO_SD: f64 = 1.253_314_137_315_500_1;

/// Flagged values of each rule, as indices into the input in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct Outliers {
    /// |x - mean| / sd > 3.
    pub three_sigma: Vec<usize>,
    /// |modified z| > 3.5.
    pub modified_z: Vec<usize>,
    /// Outside Tukey's fences.
    pub tukey: Vec<usize>,
    /// Largest |x - mean| / sd. Constant: absent.
    pub max_abs_z: Option<f64>,
    /// Largest |modified z|. Absent when more than its denominators are 0.
    pub max_abs_modified_z: Option<f64>,
    /// Largest |z| that n values can have, (n - 1) / sqrt(n).
    pub z_bound: f64,
    /// False when the bound does not exceed 3 (n <= 10): the rule can never flag anything.
    pub three_sigma_can_fire: bool,
}

/// Applies the three rules. Fewer than three values: absent.
pub fn outliers(values: &[f64]) -> Option<Outliers> {
    if values.len() < 3 {
        return None;
    }
    let n = values.len() as f64;
    let z_bound = (n - 1.0) / n.sqrt();
    let z = scores(values, super::mean(values), super::sd(values)?);
    let modified = modified_z(values);
    let (low, high) = fences(&sorted(values))?;
    Some(Outliers {
        three_sigma: beyond(&z, SIGMA),
        modified_z: beyond(&modified, MODIFIED_Z),
        tukey: flagged(values, |x| !(low..=high).contains(&x)),
        max_abs_z: largest(&z),
        max_abs_modified_z: largest(&modified),
        z_bound,
        three_sigma_can_fire: z_bound > SIGMA,
    })
}

/// Tukey's fences of ascending values. Empty: absent.
pub fn fences(sorted: &[f64]) -> Option<(f64, f64)> {
    if sorted.is_empty() {
        return None;
    }
    let (q1, q3) = (quantile_sorted(sorted, 0.25), quantile_sorted(sorted, 0.75));
    let reach = FENCE * (q3 - q1);
    Some((q1 - reach, q3 + reach))
}

/// Modified z of every value. Empty when both denominators are 0.
fn modified_z(values: &[f64]) -> Vec<f64> {
    let median = quantile_sorted(&sorted(values), 0.5);
    let distances: Vec<f64> = values.iter().map(|x| (x - median).abs()).collect();
    let mad = quantile_sorted(&sorted(&distances), 0.5);
    // More than half of the values are equal: the mean distance is used, scaled to the sd of normal data.
    let scale = if mad > 0.0 { mad / MAD_TO_SD } else { MEAN_DISTANCE_TO_SD * super::mean(&distances) };
    scores(values, median, scale)
}

/// (x - centre) / scale. Empty when the scale is 0.
fn scores(values: &[f64], centre: f64, scale: f64) -> Vec<f64> {
    if scale > 0.0 { values.iter().map(|x| (x - centre) / scale).collect() } else { Vec::new() }
}

fn beyond(scores: &[f64], limit: f64) -> Vec<usize> {
    flagged(scores, |z| z.abs() > limit)
}

fn flagged(values: &[f64], is_out: impl Fn(f64) -> bool) -> Vec<usize> {
    values.iter().enumerate().filter(|(_, x)| is_out(**x)).map(|(i, _)| i).collect()
}

fn largest(scores: &[f64]) -> Option<f64> {
    scores.iter().map(|z| z.abs()).reduce(f64::max)
}
