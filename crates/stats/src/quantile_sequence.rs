//! A confidence sequence for a quantile: an interval that may be checked after every value and holds at all checks at once.
//!
//! In:  values in order of time, a quantile, an error rate.  Out: [`QuantileSequence`].
//! Not here: when a load ends because of it (see `load`).
//!
//! The interval after t independent values reaches from the empirical quantile at `p - u` to that at `p + u`. Here
//! `u = 1.5 sqrt(p (1 - p) l) + 0.8 l` and `l = (1.4 ln ln(2.1 t) + ln(10 / alpha)) / t`. The chance that it ever misses the true quantile
//! is at most alpha. So stopping when it is narrow enough does not spoil it.
//!
//! Requests of one server are not independent: a slow moment makes neighbours slow. The values are therefore cut into blocks of about
//! sqrt(n) neighbours (batch means). The share of values below the quantile varies between blocks. This variation gives the number of
//! independent values that n correlated ones are worth, and t is that number. This step is an estimate. It covers correlation over spans
//! that are short against a block, and is no proof.
//!
//! Source: Howard and Ramdas, *Bernoulli* 28 (2022), theorem 1 with its explicit boundary. Alexopoulos and Seila, in *Handbook of
//! Simulation* (1998), chapter 7, for batch means.

use super::quantile::{quantile_sorted, sorted};

/// Values in a block at least: of fewer the share below the quantile says nothing.
const BLOCK_MIN: usize = 8;
/// Blocks at least: of fewer their variance says nothing, and the values are taken as they are.
const BLOCKS_MIN: usize = 8;

/// The interval after some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileSequence {
    /// Values.
    pub n: usize,
    /// How many independent values they are worth.
    pub n_effective: f64,
    /// The quantile of the values (Hyndman-Fan type 7).
    pub estimate: f64,
    /// Lower end. Absent where the values do not reach as far down.
    pub low: Option<f64>,
    /// Upper end. Absent where they do not reach as far up.
    pub high: Option<f64>,
}

impl QuantileSequence {
    /// Half the width, per cent of the estimate. Absent while an end is, and for an estimate of 0 or below.
    pub fn half_width_pct(&self) -> Option<f64> {
        let (low, high) = (self.low?, self.high?);
        (self.estimate > 0.0).then(|| 50.0 * (high - low) / self.estimate)
    }
}

/// The interval of quantile `p`, strictly inside (0, 1), after `values`, finite and in order of time, at error rate `alpha`.
/// No values have none. Time O(n ln n).
pub fn quantile_sequence(values: &[f64], p: f64, alpha: f64) -> Option<QuantileSequence> {
    if values.is_empty() || !(p > 0.0 && p < 1.0 && alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let ordered = sorted(values);
    let estimate = quantile_sorted(&ordered, p);
    let n_effective = effective(values, estimate);
    let reach = reach(n_effective, p, alpha);
    let n = values.len() as f64;
    // The smallest value with at least this share of the values at or below it. Beyond the shares there is no bound.
    let place = |share: f64| (share * n).ceil() as usize;
    let low = (p - reach > 0.0).then(|| ordered.get(place(p - reach).saturating_sub(1)).copied()).flatten();
    let high = (p + reach < 1.0).then(|| ordered.get((((p + reach) * n).floor()) as usize).copied()).flatten();
    Some(QuantileSequence { n: values.len(), n_effective, estimate, low, high })
}

/// How far the interval reaches on the scale of shares after `t` independent values.
fn reach(t: f64, p: f64, alpha: f64) -> f64 {
    // The boundary begins at the first value. The logarithm of a logarithm needs two.
    let t = t.max(2.0);
    let rate = (1.4 * (2.1 * t).ln().ln() + (10.0 / alpha).ln()) / t;
    1.5 * (p * (1.0 - p) * rate).sqrt() + 0.8 * rate
}

/// How many independent values these are worth, by the variance between blocks of the share that is at most `quantile`.
fn effective(values: &[f64], quantile: f64) -> f64 {
    let n = values.len();
    let length = ((n as f64).sqrt() as usize).max(BLOCK_MIN);
    let blocks = n / length;
    if blocks < BLOCKS_MIN {
        return n as f64;
    }
    let shares: Vec<f64> = values
        .chunks_exact(length)
        .map(|block| block.iter().filter(|x| **x <= quantile).count() as f64 / length as f64)
        .collect();
    let share = super::mean(&shares);
    let spread = share * (1.0 - share);
    let between = super::sd(&shares).map_or(0.0, |sd| sd * sd);
    if spread <= 0.0 {
        return n as f64;
    }
    // Independent values have blocks whose variance is spread / length. Correlated ones have more.
    let worth_less = (between * length as f64 / spread).max(1.0);
    n as f64 / worth_less
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, job_base};

    fn uniform(stream: &mut Stream) -> f64 {
        ((stream.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Looks after every tenth more values.
    fn looks(most: usize) -> Vec<usize> {
        let mut looks = vec![20];
        while let Some(last) = looks.last().copied().filter(|last| *last < most) {
            looks.push((last + last / 10 + 1).min(most));
        }
        looks
    }

    #[test]
    fn the_reach_is_that_of_the_formula() {
        // By hand: l = (1.4 ln ln 2100 + ln 200) / 1000 = (1.4 x 2.034665 + 5.298317) / 1000 = 0.008146849.
        // U = 1.5 sqrt(0.25 l) + 0.8 l = 0.0676949 + 0.0065175.
        assert!((reach(1000.0, 0.5, 0.05) - 0.074_212_4).abs() < 1e-7, "{}", reach(1000.0, 0.5, 0.05));
    }

    #[test]
    fn a_median_of_a_thousand_has_two_ends_and_a_p99_none_above() {
        let values: Vec<f64> = (0..1000).map(|k| f64::from((k * 617) % 1000)).collect();
        let median = quantile_sequence(&values, 0.5, 0.05).unwrap();
        assert_eq!(median.estimate, 499.5);
        assert!(median.low.unwrap() < 440.0 && median.high.unwrap() > 560.0, "{median:?}");
        let p99 = quantile_sequence(&values, 0.99, 0.05).unwrap();
        assert!(p99.low.is_some() && p99.high.is_none() && p99.half_width_pct().is_none(), "{p99:?}");
        assert_eq!(quantile_sequence(&[], 0.5, 0.05), None);
        assert_eq!(quantile_sequence(&[1.0], 1.0, 0.05), None);
    }

    #[test]
    fn independent_values_are_missed_at_any_look_in_less_than_the_rate() {
        const SERIES: u64 = 400;
        for p in [0.5, 0.9] {
            let truth = -(1.0_f64 - p).ln();
            let mut missed = 0;
            for series in 0..SERIES {
                let mut stream = Stream::new(job_base(42, "quantile|independent"), series);
                let values: Vec<f64> = (0..2_000).map(|_| -uniform(&mut stream).ln()).collect();
                let misses = |n: &usize| {
                    let found = quantile_sequence(&values[..*n], p, 0.05).unwrap();
                    found.low.is_some_and(|low| low > truth) || found.high.is_some_and(|high| high < truth)
                };
                missed += u64::from(looks(2_000).iter().any(misses));
            }
            assert!(missed as f64 / SERIES as f64 <= 0.05, "p = {p}: {missed} of {SERIES}");
        }
    }

    #[test]
    fn correlated_values_count_for_less_and_are_missed_no_more_often() {
        const SERIES: u64 = 300;
        let mut missed = 0;
        let mut worth = Vec::new();
        for series in 0..SERIES {
            let mut stream = Stream::new(job_base(42, "quantile|correlated"), series);
            let mut level = super::super::dist::normal_quantile(uniform(&mut stream));
            let mut next = || {
                level = 0.8 * level + 0.6 * super::super::dist::normal_quantile(uniform(&mut stream));
                level.exp()
            };
            let values: Vec<f64> = (0..4_000).map(|_| next()).collect();
            let at = |n: usize| quantile_sequence(&values[..n], 0.5, 0.05).unwrap();
            let misses = |n: &usize| {
                let found = at(*n);
                found.low.is_some_and(|low| low > 1.0) || found.high.is_some_and(|high| high < 1.0)
            };
            missed += u64::from(looks(4_000).iter().filter(|n| **n >= 100).any(misses));
            worth.push(at(4_000).n_effective / 4_000.0);
        }
        assert!(missed as f64 / SERIES as f64 <= 0.05, "{missed} of {SERIES}");
        // Of an indicator at the median of this process a value is worth about a sixth of an independent one.
        let worth = crate::mean(&worth);
        assert!((0.1..0.3).contains(&worth), "{worth}");
    }
}
