//! Quantiles of resamples without drawing the resamples.
//!
//! In:  an ascending sample, the place of a quantile, the base of a job.
//! Out: one quantile per resample, by number, at O(1) each.
//! Not here: intervals (see `bootstrap`), and the path that draws every index, to which a test compares this one.
//!
//! A resample draws n indices uniformly. Its k-th smallest is `ceil(n U)` for the k-th smallest `U` of n uniform numbers. That `U` has a
//! Beta(k, n - k + 1) law. The next one up is the smallest of the n - k above it. So two order statistics need only a Beta variate and a
//! uniform. The law is that of drawing indices, but the draws differ, so results say `rank`.
//!
//! Source: Devroye, *Non-Uniform Random Variate Generation* (1986), V.3 and IX.3. Marsaglia and Tsang, ACM TOMS
//! 26 (2000), for the gamma variates.

use super::bootstrap::selection::Place;
use super::bootstrap::{normal_quantile, parallel};
use super::random::Stream;
use libm::{expm1, log};

/// Above this many values quantiles are bootstrapped by ranks, where the cost of drawing indices begins to show.
pub(crate) const RANK_ABOVE: usize = 200;

/// Cost of a rank in draws of an index: decides whether threads are worth it.
const COST_IN_DRAWS: usize = 200;

/// The quantile at `place` of every resample of `sorted`, whose length the place was made for.
pub(crate) fn rank_quantiles(sorted: &[f64], place: Place, base: u64, resamples: usize, threads: usize) -> Vec<f64> {
    let law = OrderStatistics::new(sorted.len(), place);
    parallel::resample(resamples, COST_IN_DRAWS, threads, |first, out| {
        for (i, slot) in out.iter_mut().enumerate() {
            let [low, high] = law.draw(&mut Stream::new(base, (first + i) as u64));
            *slot = place.between(sorted[low], sorted[high]);
        }
    })
}

/// Two neighbouring order statistics of `n` uniform indices.
struct OrderStatistics {
    n: f64,
    /// Gamma laws of the spacings up to the lower one and from there to 1.
    up_to: Gamma,
    from: Gamma,
    /// One over the number of uniforms above the lower one. `None` when the upper one is not needed.
    above: Option<f64>,
}

impl OrderStatistics {
    fn new(n: usize, place: Place) -> OrderStatistics {
        let above = (n - place.k - 1) as f64;
        OrderStatistics {
            n: n as f64,
            up_to: Gamma::new((place.k + 1) as f64),
            from: Gamma::new((n - place.k) as f64),
            above: place.needs_next().then_some(1.0 / above),
        }
    }

    /// `ceil(n u) - 1`, the 0-based index that `u` stands for, within the sample.
    #[inline]
    fn index(&self, u: f64) -> usize {
        let at = self.n * u;
        let whole = at as usize;
        let index = if whole as f64 == at { whole.saturating_sub(1) } else { whole };
        index.min(self.n as usize - 1)
    }

    /// 0-based indices of both. The same twice when only the lower one is needed.
    #[inline]
    fn draw(&self, stream: &mut Stream) -> [usize; 2] {
        let (x, y) = (self.up_to.draw(stream), self.from.draw(stream));
        let low = x / (x + y);
        let high = match self.above {
            // 1 - V^(1/(n-k)), without losing digits where it is small.
            Some(root) => low - (1.0 - low) * expm1(log(stream.uniform()) * root),
            None => low,
        };
        [low, high].map(|u| self.index(u))
    }
}

/// The Gamma law of a shape of at least 1, scale 1.
struct Gamma {
    d: f64,
    c: f64,
}

impl Gamma {
    fn new(shape: f64) -> Gamma {
        let d = shape - 1.0 / 3.0;
        Gamma { d, c: 1.0 / (9.0 * d).sqrt() }
    }

    #[inline]
    fn draw(&self, stream: &mut Stream) -> f64 {
        loop {
            let x = normal_quantile(stream.uniform());
            let root = 1.0 + self.c * x;
            let v = root * root * root;
            let u = stream.uniform();
            if root > 0.0
                && (u < 1.0 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + self.d * (1.0 - v + log(v)))
            {
                return self.d * v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bootstrap::quantiles_by_index;
    use super::*;

    /// Largest distance between the distribution functions of two samples, in units of its standard error.
    fn kolmogorov_distance(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
        a.sort_by(f64::total_cmp);
        b.sort_by(f64::total_cmp);
        let share = |sorted: &[f64], x: f64| sorted.partition_point(|&v| v <= x) as f64 / sorted.len() as f64;
        let gap = a.iter().chain(&b).map(|&x| (share(&a, x) - share(&b, x)).abs()).fold(0.0, f64::max);
        gap / (1.0 / a.len() as f64 + 1.0 / b.len() as f64).sqrt()
    }

    #[test]
    fn ranks_and_drawn_indices_have_one_law() {
        for n in [10, 201, 1_000] {
            let sorted: Vec<f64> = (0..n).map(|i| i as f64 + (i as f64).sqrt()).collect();
            for p in [0.5, 0.95, 0.99] {
                let place = Place::new(n, p);
                let by_rank = rank_quantiles(&sorted, place, 11, 20_000, 1);
                let by_index = quantiles_by_index(&sorted, place, 12, 20_000, 1);
                let gap = kolmogorov_distance(by_rank, by_index);
                // 1.95 is the 0.1 % point of Kolmogorov's distribution. Ties only make it conservative.
                assert!(gap < 1.95, "n = {n}, p = {p}: {gap}");
            }
        }
    }

    #[test]
    fn gamma_draws_have_the_mean_and_variance_of_their_shape() {
        for shape in [1.0, 2.0, 11.0, 990.0] {
            let gamma = Gamma::new(shape);
            let mut stream = Stream::new(8, 0);
            let draws: Vec<f64> = (0..200_000).map(|_| gamma.draw(&mut stream)).collect();
            let mean = draws.iter().sum::<f64>() / 200_000.0;
            let variance = draws.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / 200_000.0;
            assert!((mean / shape - 1.0).abs() < 5.0 / (200_000.0 * shape).sqrt(), "shape {shape}: mean {mean}");
            let spread = ((2.0 + 6.0 / shape) / 200_000.0).sqrt();
            assert!((variance / shape - 1.0).abs() < 5.0 * spread, "shape {shape}: variance {variance}");
        }
    }

    #[test]
    fn the_last_order_statistic_stays_inside_the_sample() {
        let sorted = [1.0, 2.0, 3.0];
        for p in [0.0, 0.99, 1.0] {
            let draws = rank_quantiles(&sorted, Place::new(3, p), 1, 2_000, 1);
            assert!(draws.iter().all(|d| (1.0..=3.0).contains(d)));
        }
    }
}
