//! A mean with its interval, and what is computed from one.
//!
//! In:  one value for each run, or an estimate.  Out: [`Estimate`].
//! Not here: the formulas (see `stats`).

use super::report::Estimate;
use sparkbench_stats::{self as stats, Sample, economy};

/// Mean and Student interval of one value for each run. Absent without values. One run has no interval.
pub(crate) fn of(values: &[f64], confidence: f64) -> Option<Estimate> {
    let sample = Sample::new(values.iter().copied());
    let about = stats::describe(&sample, confidence);
    Some(Estimate { n: about.n, mean: about.mean?, low: about.t_lo, high: about.t_hi })
}

/// USD per million tokens from a rate: the ends of the interval change places. A lower end of the rate at or below zero leaves no bound.
pub(crate) fn cost(usd_per_hour: f64, rate: &Estimate) -> Option<Estimate> {
    let end = |rate: Option<f64>| economy::usd_per_million(usd_per_hour, rate?);
    let mean = economy::usd_per_million(usd_per_hour, rate.mean)?;
    Some(Estimate { n: rate.n, mean, low: end(rate.high), high: end(rate.low) })
}

/// An estimate times a constant above zero.
pub(crate) fn times(rate: &Estimate, factor: f64) -> Estimate {
    let scaled = |end: Option<f64>| end.map(|value| value * factor);
    Estimate { n: rate.n, mean: rate.mean * factor, low: scaled(rate.low), high: scaled(rate.high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_cost_is_that_of_its_rate_turned_round() {
        let rate = of(&[95.0, 100.0, 105.0], 0.95).unwrap();
        let cost = cost(3.6, &rate).unwrap();
        assert!((cost.mean - 10.0).abs() < 1e-9);
        assert!((cost.low.unwrap() - 1000.0 / rate.high.unwrap()).abs() < 1e-9);
        assert!((cost.high.unwrap() - 1000.0 / rate.low.unwrap()).abs() < 1e-9);
        assert!(cost.low < Some(cost.mean) && cost.high > Some(cost.mean));
    }

    #[test]
    fn one_run_has_a_mean_and_no_interval() {
        let one = of(&[100.0], 0.95).unwrap();
        assert_eq!((one.n, one.mean, one.low, one.high), (1, 100.0, None, None));
        assert_eq!(of(&[], 0.95), None);
    }

    #[test]
    fn a_rate_that_may_be_nought_leaves_the_cost_without_an_upper_end() {
        let wild = Estimate { n: 2, mean: 10.0, low: Some(-5.0), high: Some(25.0) };
        assert_eq!(cost(1.0, &wild).unwrap().high, None);
    }
}
