//! Do the gaps follow their stated distribution? Kolmogorov's test.
//!
//! In:  gaps in seconds, an [`Arrival`] and its rate.  Out: [`Fit`], or nothing where there is nothing to test.
//! Not here: drawing them (see `plan::arrivals`).
//!
//! The distribution is given beforehand and not fitted to the gaps, so that the test's own table holds.
//!
//! Source: Kolmogorov (1933). The p-value by the series with Stephens' correction for n, *J. R. Stat. Soc. B* 32 (1970).

use serde::Serialize;
use statrs::function::gamma::gamma_lr;

use crate::settings::Arrival;

/// How far gaps are from a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// Gaps.
    pub n: usize,
    /// Greatest distance of the two distribution functions.
    pub d: f64,
    /// Probability of so great a distance, were they drawn from it.
    pub p: f64,
}

/// Gaps of an arrival process at `rate` per second. Equal gaps have no distribution to test: absent, as below eight gaps.
pub(crate) fn fit(gaps: &[f64], arrival: Arrival, rate: f64) -> Option<Fit> {
    if matches!(arrival, Arrival::Constant) || gaps.len() < 8 {
        return None;
    }
    kolmogorov(gaps, |gap| expected(arrival, rate, gap))
}

/// Probability of a gap of at most `gap` seconds.
pub(crate) fn expected(arrival: Arrival, rate: f64, gap: f64) -> f64 {
    if gap <= 0.0 {
        return 0.0;
    }
    match arrival {
        Arrival::Constant => f64::from(u8::from(gap >= 1.0 / rate)),
        Arrival::Poisson => -libm::expm1(-gap * rate),
        Arrival::Gamma(shape) => gamma_lr(shape, gap * rate * shape),
    }
}

/// The test against any distribution function. Without values absent.
pub(crate) fn kolmogorov(values: &[f64], distribution: impl Fn(f64) -> f64) -> Option<Fit> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let sorted = sparkbench_stats::sorted(values);
    let share = |count: usize| count as f64 / n as f64;
    let d = sorted.iter().enumerate().fold(0.0f64, |most, (i, value)| {
        let at = distribution(*value);
        most.max(at - share(i)).max(share(i + 1) - at)
    });
    let root = (n as f64).sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * d;
    // The series does not converge where the distance is next to nothing. P is 1 there.
    let p = if lambda < 0.3 {
        1.0
    } else {
        let term = |k: i32| (-2.0 * f64::from(k * k) * lambda * lambda).exp();
        (1..=100).map(|k| if k % 2 == 1 { 2.0 * term(k) } else { -2.0 * term(k) }).sum::<f64>().clamp(0.0, 1.0)
    };
    Some(Fit { n, d, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p_value_is_that_of_the_table() {
        // Of a uniform sample with D = 0.136 at n = 100: the table's 5 % point.
        let values: Vec<f64> = (0..100).map(|i| (f64::from(i) + 0.5) / 100.0).collect();
        let shifted = kolmogorov(&values, |value| (value - 0.131).clamp(0.0, 1.0)).unwrap();
        assert!((shifted.d - 0.136).abs() < 1e-9 && (shifted.p - 0.045).abs() < 0.006, "{shifted:?}");
        assert_eq!(kolmogorov(&values, |value| value).unwrap().p, 1.0);
        assert_eq!(fit(&[1.0; 100], Arrival::Constant, 1.0), None);
    }
}
