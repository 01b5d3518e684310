//! Order statistics without sorting everything.
//!
//! In:  a slice in any order and the levels wanted.
//! Out: type-7 quantiles, the same to the bit as after a full sort in total order.
//! Not here: how the values were drawn.

/// Where a type-7 quantile lies: 0-based index `k` and the fraction of the way to `k + 1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) k: usize,
    pub(crate) fraction: f64,
}

impl Place {
    /// The place of quantile `p` among `n` values, `n` at least 1, `p` in [0, 1].
    pub(crate) fn new(n: usize, p: f64) -> Place {
        let h = (n - 1) as f64 * p;
        let k = (h.floor() as usize).min(n - 1);
        let fraction = h - k as f64;
        if k + 1 < n { Place { k, fraction } } else { Place { k, fraction: 0.0 } }
    }

    /// Whether the order statistic after `k` has a say.
    pub(crate) fn needs_next(self) -> bool {
        self.fraction > 0.0
    }

    /// The quantile, given the two order statistics. Equal neighbours give themselves, also when infinite.
    #[inline]
    pub(crate) fn between(self, low: f64, high: f64) -> f64 {
        if self.fraction > 0.0 && low != high { low + self.fraction * (high - low) } else { low }
    }

    /// The quantile of an ascending slice of the `n` values this place was made for.
    pub(crate) fn of_sorted(self, sorted: &[f64]) -> f64 {
        let next = self.k + usize::from(self.needs_next());
        self.between(sorted[self.k], sorted[next])
    }
}

/// Type-7 quantiles of `values` at `levels`. Rearranges `values`. Time O(n) for a handful of levels.
pub(crate) fn quantiles<const N: usize>(values: &mut [f64], levels: [f64; N]) -> [f64; N] {
    let places = levels.map(|p| Place::new(values.len(), p));
    let mut wanted: Vec<usize> =
        places.iter().flat_map(|place| [place.k, place.k + usize::from(place.needs_next())]).collect();
    wanted.sort_unstable();
    wanted.dedup();
    settle(values, 0, &wanted);
    places.map(|place| place.of_sorted(values))
}

/// Puts the `wanted` (ascending, absolute) order statistics in their places. `values` starts at `offset`.
pub(crate) fn settle(values: &mut [f64], offset: usize, wanted: &[usize]) {
    let Some(&middle) = wanted.get(wanted.len() / 2) else { return };
    let (left, _, right) = values.select_nth_unstable_by(middle - offset, f64::total_cmp);
    settle(left, offset, &wanted[..wanted.len() / 2]);
    settle(right, middle + 1, &wanted[wanted.len() / 2 + 1..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn selection_gives_what_sorting_gives() {
        let mut stream = Stream::new(3, 0);
        for n in [1, 2, 3, 10, 999, 10_000] {
            let mut values: Vec<f64> = (0..n).map(|_| (stream.uniform() * 500.0).floor() - 250.0).collect();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let levels = [0.975, 0.025, 0.0, 1.0, 0.5, 0.013];
            let expected = levels.map(|p| Place::new(n, p).of_sorted(&sorted));
            assert_eq!(quantiles(&mut values, levels), expected, "n = {n}");
        }
    }

    #[test]
    fn a_quantile_between_infinities_is_infinite_and_not_nan() {
        let inf = f64::INFINITY;
        assert_eq!(quantiles(&mut [1.0, inf, inf, inf], [0.9, 0.2]), [inf, inf]);
        assert_eq!(quantiles(&mut [1.0, 2.0, 3.0, inf], [0.5]), [2.5]);
    }
}
