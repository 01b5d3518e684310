//! Difference of two arms that ran one after the other.
//!
//! In:  times and values of each arm, in order of time.  Out: [`Contrast`] at equal time.
//! Not here: the decision, which also asks for the plain interval (see `verdict`).
//!
//! Arm and time are confounded, so the drift within the arms has to say what time does. One slope for both arms is all that is promised: a
//! wave of half a day defeats any rule. The residuals of neighbours are alike where the machine has a memory. Their correlation widens the
//! standard error and takes degrees of freedom.
//!
//! Source: Fisher, *Statistical Methods for Research Workers* (1932), analysis of covariance. Kendall, *Biometrika* 41 (1954), for the bias of a
//! correlation of neighbours in a short series.

use super::contrast::Contrast;
use super::sample::{mean, sum};

/// No memory is reckoned longer than this: above, time and memory cannot be told apart.
const MOST_MEMORY: f64 = 0.9;

/// Fewest degrees of freedom, whatever the memory.
const LEAST_DF: f64 = 2.0;

/// An arm about its means.
struct Arm {
    time: f64,
    value: f64,
    /// Times and values less their means.
    about: Vec<(f64, f64)>,
}

impl Arm {
    fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 2 {
            return None;
        }
        let (times, values): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let (time, value) = (mean(&times), mean(&values));
        Some(Self { time, value, about: points.iter().map(|(t, y)| (t - time, y - value)).collect() })
    }
}

/// Difference b minus a at equal time, by analysis of covariance with one slope.
///
/// Values are pairs of a time, in any unit, and a value. An arm with fewer than two values, or no time that passes within the arms: absent.
pub fn at_equal_time(a: &[(f64, f64)], b: &[(f64, f64)]) -> Option<Contrast> {
    let arms = [Arm::of(a)?, Arm::of(b)?];
    let within = |of: fn(f64, f64) -> f64| sum(arms.iter().flat_map(|arm| &arm.about).map(|&(t, y)| of(t, y)));
    let (stt, sty) = (within(|t, _| t * t), within(|t, y| t * y));
    if !(stt > 0.0 && stt.is_finite()) {
        return None;
    }
    let slope = sty / stt;
    let residuals = arms.each_ref().map(|arm| arm.about.iter().map(|(t, y)| y - slope * t).collect::<Vec<_>>());
    let squares = sum(residuals.iter().flatten().map(|e| e * e));
    let (n1, n2) = (a.len() as f64, b.len() as f64);
    let memory = memory(&residuals, squares, n1.min(n2));
    let f = (1.0 + memory) / (1.0 - memory);
    let df = n1 + n2 - 3.0;
    let apart = arms[1].time - arms[0].time;
    let variance = squares / df * f * (1.0 / n1 + 1.0 / n2 + apart * apart / stt);
    let estimate = arms[1].value - arms[0].value - slope * apart;
    let contrast = Contrast { estimate, se: variance.sqrt(), df: (df / f).max(LEAST_DF) };
    let largest = a.iter().chain(b).fold(slope.abs() * apart.abs(), |most, (_, y)| most.max(y.abs()));
    Some(contrast.clear_of_rounding(largest))
}

/// Correlation of neighbours within the arms, corrected for the bias of `fewest` values.
fn memory(residuals: &[Vec<f64>; 2], squares: f64, fewest: f64) -> f64 {
    if squares == 0.0 {
        return 0.0;
    }
    let lagged = sum(residuals.iter().flat_map(|arm| arm.windows(2)).map(|pair| pair[0] * pair[1]));
    let r = lagged / squares;
    (r + (1.0 + 4.0 * r.max(0.0)) / fewest).clamp(0.0, MOST_MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-9 * want.abs(), "{got} {want}");
    }

    // statsmodels 0.15.0: OLS of the value on a constant, the arm and the time. Neighbours alternate here, so nothing is widened.
    #[test]
    fn without_memory_it_is_the_analysis_of_covariance_of_statsmodels() {
        let a = [(0.0, 4.6052), (1.0, 4.6121), (2.0, 4.6073), (3.5, 4.6188), (4.0, 4.6102)];
        let b = [(5.0, 4.6402), (6.0, 4.6299), (7.0, 4.6450), (8.5, 4.6381)];
        let contrast = at_equal_time(&a, &b).unwrap();
        close(contrast.estimate, 0.021_245_632_424_877_335);
        close(contrast.se, 0.007_174_633_491_351_804_4);
        close(contrast.p(), 0.025_243_158_894_309_656);
        assert_eq!(contrast.df, 6.0);
    }

    fn with_memory() -> [Vec<(f64, f64)>; 2] {
        let arm = |from: f64, values: [f64; 6]| values.iter().enumerate().map(|(i, y)| (from + i as f64, *y)).collect();
        [arm(0.0, [4.60, 4.605, 4.612, 4.611, 4.604, 4.601]), arm(6.0, [4.632, 4.641, 4.645, 4.637, 4.630, 4.629])]
    }

    // mpmath 1.4.1, 40 digits. The correlation of neighbours is 0.256 and with its correction 0.594.
    #[test]
    fn memory_widens_the_standard_error_and_takes_degrees_of_freedom() {
        let [a, b] = with_memory();
        let contrast = at_equal_time(&a, &b).unwrap();
        close(contrast.estimate, 0.034_880_952_380_952_145);
        close(contrast.se, 0.013_589_987_564_990_753);
        close(contrast.df, 2.295_010_921_194_12);
    }

    #[test]
    fn the_unit_and_the_origin_of_time_do_not_matter_and_arms_may_change_places() {
        let [a, b] = with_memory();
        let clock = |arm: &[(f64, f64)]| arm.iter().map(|(t, y)| (1.7e9 + 3600.0 * t, *y)).collect::<Vec<_>>();
        let (hours, seconds) = (at_equal_time(&a, &b).unwrap(), at_equal_time(&clock(&a), &clock(&b)).unwrap());
        close(seconds.estimate, hours.estimate);
        close(seconds.se, hours.se);
        close(at_equal_time(&b, &a).unwrap().estimate, -hours.estimate);
    }

    #[test]
    fn a_straight_drift_alone_is_no_difference() {
        let arm = |from: usize| (from..from + 8).map(|i| (i as f64, 4.6 + 0.01 * i as f64)).collect::<Vec<_>>();
        let contrast = at_equal_time(&arm(0), &arm(8)).unwrap();
        assert_eq!((contrast.estimate, contrast.p()), (0.0, 1.0));
    }

    #[test]
    fn too_few_values_or_no_time_give_nothing() {
        assert_eq!(at_equal_time(&[(0.0, 1.0)], &[(1.0, 1.0), (2.0, 1.0)]), None);
        assert_eq!(at_equal_time(&[(0.0, 1.0), (0.0, 2.0)], &[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
