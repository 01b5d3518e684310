//! Shapiro-Wilk test of normality. Shown, never used to choose another test: pre-testing distorts the error rate.
//!
//! In:  3 to 5000 values, not constant.  Out: [`Shapiro`].
//! Not here: any decision.
//!
//! Source: Royston, *Applied Statistics* 44, algorithm AS R94 (1995).

use serde::Serialize;

use super::dist;
use super::quantile::sorted;
use super::sample::{is_constant, mean};

/// Fewest and most values that AS R94 covers.
const MIN_N: usize = 3;
/// See [`MIN_N`].
const MAX_N: usize = 5000;

/// Statistic and p-value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shapiro {
    /// W in (0, 1]. Near 1 for normal data.
    pub w: f64,
    /// p of the hypothesis that the data are normal.
    pub p: f64,
}

/// The test. Fewer than 3 or more than 5000 values, or constant: absent.
pub fn shapiro(values: &[f64]) -> Option<Shapiro> {
    let n = values.len();
    if !(MIN_N..=MAX_N).contains(&n) || is_constant(values) {
        return None;
    }
    let x = sorted(values);
    let weights = weights(n);
    // W is the squared correlation of values and weights. 1 - W is formed directly, as p depends on its logarithm.
    // About the middle value before anything else: shares of a range that is far from 0 would lose their digits.
    let (middle, range) = (x[n / 2], x[n - 1] - x[0]);
    let x: Vec<f64> = x.iter().map(|v| (v - middle) / range).collect();
    let centre = mean(&x);
    let (mut cross, mut ss_weights, mut ss_values) = (0.0, 0.0, 0.0);
    for (v, a) in x.iter().zip(&weights) {
        cross += a * (v - centre);
        ss_weights += a * a;
        ss_values += (v - centre) * (v - centre);
    }
    let root = (ss_weights * ss_values).sqrt();
    let one_minus_w = ((root - cross) * (root + cross) / (ss_weights * ss_values)).max(0.0);
    let w = 1.0 - one_minus_w;
    Some(Shapiro { w, p: p_value(n, w, one_minus_w) })
}

/// Royston's weights, ascending and antisymmetric.
fn weights(n: usize) -> Vec<f64> {
    let half = n / 2;
    if n == 3 {
        let a = std::f64::consts::FRAC_1_SQRT_2;
        return vec![-a, 0.0, a];
    }
    let size = n as f64;
    // Blom's approximate normal scores of the upper half, largest first.
    let scores: Vec<f64> = (1..=half).map(|i| -dist::normal_quantile((i as f64 - 0.375) / (size + 0.25))).collect();
    let sum_squares = 2.0 * scores.iter().map(|m| m * m).sum::<f64>();
    let (root_sum, u) = (sum_squares.sqrt(), 1.0 / size.sqrt());
    let first = polynomial(&C1, u) + scores[0] / root_sum;
    let mut upper = vec![first];
    let (skip, phi) = if n > 5 {
        let second = scores[1] / root_sum + polynomial(&C2, u);
        upper.push(second);
        let left = sum_squares - 2.0 * scores[0].powi(2) - 2.0 * scores[1].powi(2);
        (2, (left / (1.0 - 2.0 * first * first - 2.0 * second * second)).sqrt())
    } else {
        (1, ((sum_squares - 2.0 * scores[0].powi(2)) / (1.0 - 2.0 * first * first)).sqrt())
    };
    upper.extend(scores[skip..].iter().map(|m| m / phi));
    let mut weights: Vec<f64> = upper.iter().map(|a| -a).collect();
    if n % 2 == 1 {
        weights.push(0.0);
    }
    weights.extend(upper.iter().rev());
    weights
}

fn p_value(n: usize, w: f64, one_minus_w: f64) -> f64 {
    if n == 3 {
        // Exact: W of three values is at least 3/4.
        const AT_LEAST: f64 = 1.047_197_551_196_597_6;
        return (6.0 / std::f64::consts::PI * (w.sqrt().asin() - AT_LEAST)).clamp(0.0, 1.0);
    }
    let (size, log_n) = (n as f64, (n as f64).ln());
    let mut y = one_minus_w.ln();
    let (centre, spread) = if n <= 11 {
        let gamma = polynomial(&G, size);
        if y >= gamma {
            // Beyond the end of the fitted distribution: as unlike normal as can be.
            return 1e-99;
        }
        y = -(gamma - y).ln();
        (polynomial(&C3, size), polynomial(&C4, size).exp())
    } else {
        (polynomial(&C5, log_n), polynomial(&C6, log_n).exp())
    };
    dist::normal_sf((y - centre) / spread)
}

fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

// The constants of AS R94, lowest power first.
const C1: [f64; 6] = [0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056];
const C2: [f64; 6] = [0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633];
const C3: [f64; 4] = [0.544, -0.39978, 0.025054, -0.0006714];
const C4: [f64; 4] = [1.3822, -0.77857, 0.062767, -0.0020322];
const C5: [f64; 4] = [-1.5861, -0.31082, -0.083751, 0.0038915];
const C6: [f64; 3] = [-0.4803, -0.082676, 0.0030302];
const G: [f64; 2] = [-2.273, 0.459];

#[cfg(test)]
mod tests {
    use super::*;

    // SciPy 1.17.1, stats.shapiro without the offset. Multiples of 1/8 are exact beside 1e9.
    #[test]
    fn a_large_offset_costs_no_digit() {
        let values = [0.125, 0.375, 0.5, 0.75, 1.875, 2.25, 2.375, 3.0, 3.5, 7.5];
        let near = shapiro(&values).unwrap();
        let far = shapiro(&values.map(|x| x + 1e9)).unwrap();
        assert!(
            (near.w - 0.836_370_131_071_260_3).abs() < 1e-9 && (near.p - 0.039_915_545_881_296_81).abs() < 1e-6,
            "{near:?}"
        );
        assert!((far.w - near.w).abs() < 1e-14 && (far.p - near.p).abs() < 1e-13, "{far:?} {near:?}");
    }
}
