//! What a split of the pooled values is judged by.
//!
//! In:  sums over the smaller arm of a split.  Out: whether it is at least as far apart as that observed.
//! Not here: the splits (see [`super`]).

use crate::sample;

/// What makes a split a hit, from what is summed over its smaller arm.
pub(super) trait SplitStatistic: Sync {
    /// Sums over the values chosen so far.
    type Sums: Copy + Default;

    /// One more value.
    fn add(sums: Self::Sums, value: f64) -> Self::Sums;

    /// Whether the split is at least as far apart as that observed.
    fn is_hit(&self, sums: Self::Sums) -> bool;
}

/// The difference of means. A sum below the first or above the second is a hit.
///
/// d* = s/k - (T - s)/(N - k) is linear in the sum s of the k chosen. Comparing s needs no division for each split.
pub(super) struct Means([f64; 2]);

impl Means {
    /// Of all values, ascending, split into arms of these means, the smaller of which has `chosen` values.
    pub(super) fn observed(means: [f64; 2], pooled: &[f64], chosen: usize) -> Self {
        let largest = pooled.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        let bar = (means[1] - means[0]).abs() - 1e-12 * largest;
        let (k, n) = (chosen as f64, pooled.len() as f64);
        let total = sample::mean(pooled) * n;
        let edge = |d: f64| (d + total / (n - k)) / (1.0 / k + 1.0 / (n - k));
        Self([edge(-bar), edge(bar)])
    }
}

impl SplitStatistic for Means {
    type Sums = f64;

    #[inline(always)]
    fn add(sum: f64, value: f64) -> f64 {
        sum + value
    }

    #[inline(always)]
    fn is_hit(&self, sum: f64) -> bool {
        sum <= self.0[0] || sum >= self.0[1]
    }
}

/// Welch's t. Pooled values lie about 0, and the largest has size 1, so that sums of squares keep their digits.
pub(super) struct Welch {
    /// Sizes of the chosen arm and of the other.
    sizes: [f64; 2],
    /// Sums of values and of squares over both arms.
    total: [f64; 2],
    /// Squared difference and squared standard error of the observed split.
    observed: [f64; 2],
}

impl Welch {
    /// Of these values, split into an arm of those of `smaller` and the others.
    pub(super) fn observed(smaller: &[f64], pooled: &[f64]) -> Self {
        let sums = |values: &[f64]| values.iter().fold([0.0; 2], |sums, &x| Self::add(sums, x));
        let sizes = [smaller.len() as f64, (pooled.len() - smaller.len()) as f64];
        let mut welch = Self { sizes, total: sums(pooled), observed: [0.0; 2] };
        welch.observed = welch.of(sums(smaller));
        welch
    }

    /// Squared difference of the means, and its squared standard error.
    #[inline(always)]
    fn of(&self, [sum, squares]: [f64; 2]) -> [f64; 2] {
        let sums = [sum, self.total[0] - sum];
        let squares = [squares, self.total[1] - squares];
        let variance = |arm: usize| {
            let n = self.sizes[arm];
            ((squares[arm] - sums[arm] * sums[arm] / n) / (n - 1.0) / n).max(0.0)
        };
        let difference = sums[0] / self.sizes[0] - sums[1] / self.sizes[1];
        [difference * difference, variance(0) + variance(1)]
    }
}

impl SplitStatistic for Welch {
    type Sums = [f64; 2];

    #[inline(always)]
    fn add([sum, squares]: [f64; 2], value: f64) -> [f64; 2] {
        [sum + value, squares + value * value]
    }

    /// d*^2 / v* >= d^2 / v, without the divisions, which an arm without spread has not.
    #[inline(always)]
    fn is_hit(&self, sums: [f64; 2]) -> bool {
        const ROUNDING: f64 = 1e-13;
        let ([d, v], [d0, v0]) = (self.of(sums), self.observed);
        d * v0 - d0 * v >= -ROUNDING * (d + d0)
    }
}
