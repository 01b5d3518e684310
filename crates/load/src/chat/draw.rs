//! Lengths and counts drawn from a distribution, the same for the same stream of random numbers.
//!
//! In:  a distribution as settings or a generation file state it, a stream.  Out: whole numbers.
//! Not here: which stream a draw belongs to (see `library`), what a number counts.
//!
//! Two families meet here. [`Lengths`] of the settings state mean and deviation of the lengths themselves and cut off at a greatest value. A
//! generation file states the arguments of NumPy's generators (`mean` and `sigma` of the logarithm, `alpha`). Or it states an average and
//! the ratio of the median to it. Both are drawn one by one. The script of vLLM scales a whole batch so that its mean equals `average`. Then
//! each length depends on how many others there are. Here a conversation's lengths depend on the seed and on its number.
//!
//! Source: numpy.random (`lognormal`, `zipf`, `poisson`). Devroye, *Non-Uniform Random Variate Generation* (1986), X.6.1, for Zipf
//! without an end. Knuth, *The Art of Computer Programming* 2, 3.4.1, for Poisson.

use std::sync::Arc;

use crate::settings::Lengths;
use sparkbench_stats::random::Stream;

/// Greatest length that anything may be: beyond it a body would have gigabytes.
pub(crate) const LENGTH_MAX: u32 = 16_777_216;
/// Largest part of a Poisson mean that is drawn at once. Exp(-30) is far from the smallest number.
const POISSON_PART: f64 = 30.0;
/// Ratio of median to average of a log-normal distribution where a generation file gives none, as in the known script.
pub(crate) const MEDIAN_RATIO: f64 = 0.85;

/// A distribution of whole numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Draw {
    /// Always this.
    Constant(u32),
    /// Every whole number from the first to the second, equally likely.
    Uniform(u32, u32),
    /// Mean, deviation, least, greatest.
    Normal(f64, f64, u32, u32),
    /// Mean and deviation of the logarithm, least, greatest.
    LogNormal(f64, f64, u32, Option<u32>),
    /// Rank k has weight k^-alpha, without an end. What is greater than the second counts as it. Alpha above 1.
    Zipf(f64, Option<u32>),
    /// Rank k has weight k^-alpha up to as many ranks as there are sums. Any alpha.
    ZipfUpTo(Arc<[f64]>),
    /// Mean. What is greater than the second counts as it.
    Poisson(f64, Option<u32>),
}

impl Draw {
    /// As settings state it.
    pub(crate) fn of(lengths: Lengths) -> Self {
        match lengths {
            Lengths::Fixed(value) => Self::Constant(value),
            Lengths::Uniform(low, high) => Self::Uniform(low.min(high), high.max(low)),
            Lengths::Normal(mean, deviation, least, greatest) => Self::Normal(mean, deviation, least, greatest),
            Lengths::LogNormal(mean, deviation, least, greatest) => {
                let spread = libm::log(1.0 + (deviation / mean) * (deviation / mean));
                Self::LogNormal(libm::log(mean) - spread / 2.0, libm::sqrt(spread), least, Some(greatest))
            }
            Lengths::Zipf(alpha, greatest) => {
                let mut sum = 0.0;
                let sums = (1..=greatest.clamp(1, LENGTH_MAX)).map(|rank| {
                    sum += libm::pow(f64::from(rank), -alpha);
                    sum
                });
                Self::ZipfUpTo(sums.collect())
            }
        }
    }

    /// The log-normal distribution with this average whose median is `ratio` times it. `ratio` strictly between 0 and 1.
    pub(crate) fn log_normal_around(average: f64, ratio: f64, greatest: Option<u32>) -> Self {
        Self::LogNormal(libm::log(average * ratio), libm::sqrt(2.0 * libm::log(1.0 / ratio)), 0, greatest)
    }

    /// One number, at least `least`.
    pub(crate) fn draw(&self, stream: &mut Stream, least: u32) -> u32 {
        let drawn = match self {
            Self::Constant(value) => *value,
            Self::Uniform(low, high) => {
                let values = u64::from(high.saturating_sub(*low)) + 1;
                low.saturating_add(whole((stream.uniform() * values as f64).floor()).min(high.saturating_sub(*low)))
            }
            Self::Normal(mean, deviation, least, greatest) => {
                whole(mean + deviation * normal(stream)).clamp(*least, (*greatest).max(*least))
            }
            Self::LogNormal(mean, sigma, least, greatest) => {
                whole(libm::exp(mean + sigma * normal(stream))).max(*least).min(greatest.unwrap_or(LENGTH_MAX))
            }
            Self::Zipf(alpha, greatest) => zipf(*alpha, stream).min(greatest.unwrap_or(LENGTH_MAX)),
            Self::ZipfUpTo(sums) => {
                let at = stream.uniform() * sums.last().copied().unwrap_or(1.0);
                whole(sums.partition_point(|sum| *sum < at) as f64 + 1.0).min(whole(sums.len() as f64))
            }
            Self::Poisson(mean, greatest) => poisson(*mean, stream).min(greatest.unwrap_or(LENGTH_MAX)),
        };
        drawn.max(least).min(LENGTH_MAX)
    }
}

/// Rounded, within 0 and the greatest length.
fn whole(value: f64) -> u32 {
    // Saturates, and takes NaN as 0.
    (value.round() as u32).min(LENGTH_MAX)
}

/// A standard normal number. Two uniform ones are used up.
fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(stream.uniform()));
    radius * libm::cos(std::f64::consts::TAU * stream.uniform())
}

/// Exponential with mean 1.
pub(crate) fn exponential(stream: &mut Stream) -> f64 {
    -libm::log(stream.uniform())
}

fn zipf(alpha: f64, stream: &mut Stream) -> u32 {
    let less = alpha - 1.0;
    let bound = libm::pow(2.0, less);
    loop {
        let (u, v) = (stream.uniform(), stream.uniform());
        let rank = libm::floor(libm::pow(u, -1.0 / less));
        if rank > f64::from(LENGTH_MAX) {
            // So far out that every greatest value is below it.
            return LENGTH_MAX;
        }
        let t = libm::pow(1.0 + 1.0 / rank, less);
        if v * rank * (t - 1.0) / (bound - 1.0) <= t / bound {
            return whole(rank);
        }
    }
}

fn poisson(mean: f64, stream: &mut Stream) -> u32 {
    let mut left = mean.min(f64::from(LENGTH_MAX));
    let mut events = 0_u32;
    // A sum of independent Poisson numbers is one: parts small enough for the product of uniform numbers.
    while left > 0.0 {
        let part = left.min(POISSON_PART);
        left -= part;
        let limit = libm::exp(-part);
        let mut product = stream.uniform();
        while product > limit {
            events = events.saturating_add(1);
            product *= stream.uniform();
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_stats::random::job_base;

    fn many(draw: &Draw) -> Vec<f64> {
        let mut stream = Stream::new(job_base(7, "test"), 0);
        (0..20_000).map(|_| f64::from(draw.draw(&mut stream, 0))).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn each_distribution_has_the_mean_that_its_formula_gives() {
        let cases = [
            (Draw::Constant(500), 500.0),
            (Draw::Uniform(120, 160), 140.0),
            (Draw::of(Lengths::Normal(200.0, 10.0, 1, 1000)), 200.0),
            (Draw::of(Lengths::LogNormal(400.0, 100.0, 1, 100_000)), 400.0),
            (Draw::log_normal_around(1000.0, MEDIAN_RATIO, None), 1000.0),
            (Draw::Poisson(10.0, None), 10.0),
            (Draw::Poisson(100.0, None), 100.0),
            // zeta(2) / zeta(3)
            (Draw::Zipf(3.0, None), 1.644_934 / 1.202_057),
            // Three ranks of weight 1, 1/2, 1/3.
            (Draw::of(Lengths::Zipf(1.0, 3)), 3.0 / (1.0 + 0.5 + 1.0 / 3.0)),
        ];
        for (draw, expected) in cases {
            let found = mean(&many(&draw));
            assert!((found / expected - 1.0).abs() < 0.02, "{draw:?}: {found} instead of {expected}");
        }
    }

    #[test]
    fn nothing_drawn_leaves_its_bounds() {
        for (draw, low, high) in [
            (Draw::Uniform(3, 5), 3.0, 5.0),
            (Draw::of(Lengths::Normal(10.0, 50.0, 5, 20)), 5.0, 20.0),
            (Draw::log_normal_around(1000.0, 0.5, Some(1500)), 0.0, 1500.0),
            (Draw::Zipf(1.2, Some(100)), 1.0, 100.0),
            (Draw::Poisson(10.0, Some(12)), 0.0, 12.0),
        ] {
            let values = many(&draw);
            assert!(values.iter().all(|value| (low..=high).contains(value)), "{draw:?}");
            assert!(values.contains(&high), "{draw:?} never reaches its end");
        }
    }

    #[test]
    fn the_least_wins_over_what_is_drawn() {
        let mut stream = Stream::new(1, 0);
        assert_eq!(Draw::Constant(0).draw(&mut stream, 1), 1);
    }
}
