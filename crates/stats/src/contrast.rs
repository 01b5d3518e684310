//! An estimate with a t distribution: what every comparison of two arms ends in.
//!
//! In:  an estimate, its standard error, its degrees of freedom.  Out: p-values and intervals.
//! Not here: where the three come from (see [`mod@super::student`], [`super::blocks`], [`super::consecutive`]).
//!
//! Source: Schuirmann, *J. Pharmacokin. Biopharm.* 15 (1987), for equivalence.

use super::dist;

/// A standard error or an estimate below this share of the values that it was computed from is their rounding.
const ROUNDING: f64 = 1e-14;

/// Candidate minus baseline, on the scale that it was made on: the logarithm of the metric, or its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// The difference.
    pub estimate: f64,
    /// Its standard error.
    pub se: f64,
    /// Degrees of freedom of the standard error.
    pub df: f64,
}

impl Contrast {
    /// The same without the rounding of values up to `largest` in size: a difference that is nothing else is 0.
    pub(crate) fn clear_of_rounding(self, largest: f64) -> Self {
        let clear = |x: f64| if x.abs() <= ROUNDING * largest { 0.0 } else { x };
        Self { estimate: clear(self.estimate), se: clear(self.se), ..self }
    }

    /// Estimate over standard error. Without spread a difference of 0 has 0, and any other an infinite one.
    pub fn t(&self) -> f64 {
        match (self.se == 0.0, self.estimate == 0.0) {
            (true, true) => 0.0,
            (true, false) => self.estimate.signum() * f64::INFINITY,
            _ => self.estimate / self.se,
        }
    }

    /// Two-sided p of no difference. Without spread it is 1 for a difference of 0, else 0.
    pub fn p(&self) -> f64 {
        dist::t_two_sided(self.t(), self.df)
    }

    /// Interval at a two-sided confidence inside (0, 1).
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        self.reaching(dist::t_quantile(0.5 + 0.5 * confidence, self.df))
    }

    /// Interval at error rate `level`, both sides together. A level of 0 has no interval.
    ///
    /// For levels near 0, where `1 - level` is no longer a confidence that a number can hold.
    pub fn interval_at(&self, level: f64) -> Option<(f64, f64)> {
        let limits = self.reaching(-dist::t_quantile(0.5 * level, self.df));
        (limits.0.is_finite() && limits.1.is_finite()).then_some(limits)
    }

    fn reaching(&self, t: f64) -> (f64, f64) {
        let half = if self.se == 0.0 { 0.0 } else { t * self.se };
        (self.estimate - half, self.estimate + half)
    }

    /// p of two one-sided tests against the limits `low` < 0 < `high`: the larger of both. Below alpha, the interval at 1 - 2 alpha lies
    /// within the limits.
    pub fn equivalence_p(&self, low: f64, high: f64) -> f64 {
        if self.se == 0.0 {
            return if low < self.estimate && self.estimate < high { 0.0 } else { 1.0 };
        }
        let p = |distance: f64| dist::t_sf(distance / self.se, self.df);
        p(self.estimate - low).max(p(high - self.estimate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-9 * want.abs(), "{got} {want}");
    }

    const DIFFERENCE: Contrast = Contrast { estimate: 0.03, se: 0.011, df: 7.4 };

    // SciPy 1.17.1: with t = stats.t(7.4) 2 * t.sf(.03 / .011), .03 -+ t.ppf(.975) * .011, .03 -+ t.isf(.5e-9) * .011, t.sf(.03 / .011).
    #[test]
    fn p_values_and_intervals_are_those_of_scipy() {
        close(DIFFERENCE.p(), 0.027_925_191_692_022_16);
        let (low, high) = DIFFERENCE.interval(0.95);
        close(low, 0.004_271_457_653_993_789);
        close(high, 0.055_728_542_346_006_21);
        let (low, high) = DIFFERENCE.interval_at(1e-9).unwrap();
        close(low, -0.384_242_617_710_075_6);
        close(high, 0.444_242_617_710_075_67);
        close(DIFFERENCE.equivalence_p(-0.05, 0.06), 0.013_962_595_846_011_08);
        close(Contrast { estimate: -0.03, ..DIFFERENCE }.equivalence_p(-0.06, 0.05), 0.013_962_595_846_011_08);
    }

    #[test]
    fn a_level_of_nothing_has_no_interval() {
        assert_eq!(DIFFERENCE.interval_at(0.0), None);
    }

    #[test]
    fn without_spread_equal_is_certain_and_different_too() {
        let equal = Contrast { estimate: 0.0, se: 0.0, df: 3.0 };
        let apart = Contrast { estimate: 0.1, ..equal };
        assert_eq!([equal.p(), apart.p()], [1.0, 0.0]);
        assert_eq!(apart.interval(0.95), (0.1, 0.1));
        assert_eq!(apart.interval_at(0.0), Some((0.1, 0.1)));
        assert_eq!([equal.equivalence_p(-0.02, 0.02), apart.equivalence_p(-0.02, 0.02)], [0.0, 1.0]);
        assert_eq!(equal.equivalence_p(0.0, 0.02), 1.0);
    }

    #[test]
    fn the_interval_at_twice_alpha_lies_within_the_limits_where_equivalence_passes() {
        for alpha in [0.01, 0.05, 0.2] {
            let (low, high) = DIFFERENCE.interval(1.0 - 2.0 * alpha);
            assert!(DIFFERENCE.equivalence_p(low - 1e-9, high + 1e-9) < alpha);
            assert!(DIFFERENCE.equivalence_p(low + 1e-9, high + 1e-9) > alpha);
        }
    }

    #[test]
    fn what_is_rounding_is_nothing() {
        let tiny = Contrast { estimate: 3e-15, se: 1e-16, df: 5.0 };
        assert_eq!(tiny.clear_of_rounding(4.6).p(), 1.0);
        assert_eq!(DIFFERENCE.clear_of_rounding(4.6), DIFFERENCE);
    }
}
