//! Values of one figure: exact as long as they are few, then counted in steps.
//!
//! In:  values in the figure's unit.  Out: [`Metric`], in the form of the summary.
//! Not here: where the values come from.
//!
//! Percentiles are type 7 from the raw values, up to [`EXACT`] of them. A longer run has its chunk gaps in a histogram with steps of a
//! thousandth, and says so beside them. Mean, smallest and largest stay exact.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::definitions::Definition;
use sparkbench_stats as stats;

/// Values kept one by one, 16 MB.
pub const EXACT: usize = 2_000_000;
/// Significant digits of the histogram: steps of at most 0.1 %.
const DIGITS: u8 = 3;
/// How far a value of the histogram may lie from the true one, per cent.
pub const RESOLUTION_PCT: f64 = 0.1;
/// The histogram counts whole millionths of the unit: nanoseconds where the unit is the millisecond.
const SCALE: f64 = 1e6;
/// Largest value of the histogram in its unit: an hour in milliseconds, or as many tokens per second.
const LARGEST: u64 = 3_600_000_000_000;
/// Percentiles of a summary.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];

/// See the module.
#[derive(Debug, Default)]
pub struct Samples {
    exact: Vec<f64>,
    steps: Option<Histogram<u64>>,
    n: u64,
    sum: f64,
    lost: f64,
    least: f64,
    most: f64,
}

impl Samples {
    /// Adds a value. What is not finite is no value.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        (self.least, self.most) =
            if self.n == 0 { (value, value) } else { (self.least.min(value), self.most.max(value)) };
        self.n += 1;
        // Neumaier: a billion gaps still add up.
        let next = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() { (self.sum - next) + value } else { (value - next) + self.sum };
        self.sum = next;
        if self.steps.is_none() && self.exact.len() < EXACT {
            self.exact.push(value);
            return;
        }
        if self.steps.is_none() {
            // The bounds are constants that fit.
            let Ok(mut steps) = Histogram::new_with_max(LARGEST, DIGITS) else { return };
            for value in std::mem::take(&mut self.exact) {
                steps.saturating_record((value * SCALE).max(0.0) as u64);
            }
            self.steps = Some(steps);
        }
        if let Some(steps) = &mut self.steps {
            steps.saturating_record((value * SCALE).max(0.0) as u64);
        }
    }

    /// The figure. `why` says why there are no values, where there are none.
    pub fn metric(mut self, definition: &Definition, why: &str) -> Metric {
        let mut metric = Metric {
            mean: None,
            p50: None,
            p90: None,
            p95: None,
            p99: None,
            min: None,
            max: None,
            n: self.n,
            definition: definition.id,
            meaning: definition.meaning,
            resolution_pct: self.steps.as_ref().map(|_| RESOLUTION_PCT),
            absent: BTreeMap::new(),
            not_judged: BTreeMap::new(),
        };
        if self.n == 0 {
            metric.absent.insert("all", why.to_owned());
            return metric;
        }
        metric.mean = Some(if self.least == self.most { self.least } else { (self.sum + self.lost) / self.n as f64 });
        (metric.min, metric.max) = (Some(self.least), Some(self.most));
        self.exact.sort_unstable_by(f64::total_cmp);
        for (name, p) in PERCENTILES {
            // The median of one value is that value. A tail beyond the sample does not exist.
            let n = usize::try_from(self.n).unwrap_or(usize::MAX);
            if p > 0.5 && stats::is_tail(n, p) {
                let least = (1.0 / (1.0 - p)).round();
                metric.absent.insert(name, format!("n too small: {} of at least {least}", self.n));
                continue;
            }
            if p > 0.5 && !stats::is_supported(n, p) {
                metric.not_judged.insert(name, format!("{} of {} values", self.n, stats::needed(p)));
            }
            let value = match &self.steps {
                Some(steps) => (steps.value_at_quantile(p) as f64 / SCALE).clamp(self.least, self.most),
                None => stats::quantile_sorted(&self.exact, p),
            };
            match name {
                "p50" => metric.p50 = Some(value),
                "p90" => metric.p90 = Some(value),
                "p95" => metric.p95 = Some(value),
                _ => metric.p99 = Some(value),
            }
        }
        metric
    }
}

/// A figure over requests or chunks, in the unit of its name. What is absent is null, with the reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// Absent below 10 values.
    pub p90: Option<f64>,
    /// Absent below 20 values.
    pub p95: Option<f64>,
    /// Absent below 100 values.
    pub p99: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Values.
    pub n: u64,
    /// Id of the definition.
    pub definition: &'static str,
    /// The definition in words.
    pub meaning: &'static str,
    /// Width of the steps in which percentiles were counted, per cent. Absent where they are exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution_pct: Option<f64>,
    /// Null figures, and why. `all` where nothing is there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<&'static str, String>,
    /// Percentiles that too few values lie beyond: values without an interval, by which nothing is judged. How many there are, and how many it
    /// takes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_judged: BTreeMap<&'static str, String>,
}

#[cfg(test)]
mod tests {
    use super::super::definitions::{CHUNK_GAP, TTFT_SENT};
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> Metric {
        let mut samples = Samples::default();
        values.into_iter().for_each(|value| samples.add(value));
        samples.metric(&TTFT_SENT, "nothing came")
    }

    #[test]
    fn percentiles_are_type_7_and_tails_need_their_number() {
        let metric = of((1..=100).rev().map(f64::from));
        assert_eq!(
            (metric.mean, metric.p50, metric.p99, metric.max),
            (Some(50.5), Some(50.5), Some(99.01), Some(100.0))
        );
        assert_eq!(metric.not_judged["p99"], "100 of 500 values");
        assert_eq!(metric.not_judged.len(), 1);
        assert!(of((1..=500).map(f64::from)).not_judged.is_empty());
        let metric = of((1..=99).map(f64::from));
        assert_eq!((metric.p95.map(|v| v.round()), metric.p99), (Some(94.0), None));
        assert_eq!(metric.absent["p99"], "n too small: 99 of at least 100");
        let metric = of([7.0]);
        assert_eq!((metric.p50, metric.min, metric.p90, metric.absent.len()), (Some(7.0), Some(7.0), None, 3));
        let none = of([f64::NAN]);
        assert_eq!((none.mean, none.n, none.absent["all"].as_str()), (None, 0, "nothing came"));
    }

    #[test]
    fn beyond_two_million_values_percentiles_are_steps_of_a_thousandth_and_say_so() {
        let mut samples = Samples::default();
        for number in 0..EXACT + 1000 {
            samples.add(10.0 + number as f64 * 1e-5);
        }
        assert!(samples.exact.capacity() == 0);
        let metric = samples.metric(&CHUNK_GAP, "");
        assert_eq!((metric.resolution_pct, metric.n, metric.min), (Some(0.1), 2_001_000, Some(10.0)));
        let near = |found: Option<f64>, exact: f64| (found.unwrap() / exact - 1.0).abs() < 0.001;
        assert!(near(metric.p50, 20.005) && near(metric.p99, 10.0 + 0.99 * 20.01));
        assert!((metric.mean.unwrap() - (10.0 + 2_000_999.0 / 2.0 * 1e-5)).abs() < 1e-9);
    }
}
