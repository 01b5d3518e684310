//! Quantiles of a sorted sample, Hyndman-Fan type 7: the default of NumPy, R and every tool whose files we read.
//!
//! In:  ascending finite values.  Out: the quantile, by linear interpolation between order statistics.
//! Not here: intervals of quantiles (see [`super::order_statistic`]).
//!
//! Source: Hyndman and Fan, *Am. Stat.* 50 (1996).

use super::bootstrap::selection::settle;

/// A sorted copy.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// Quantile `p` in [0, 1] of ascending values, type 7. Empty: NaN. One value: that value.
pub fn quantile_sorted(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let h = last as f64 * p.clamp(0.0, 1.0);
    let k = (h.floor() as usize).min(last);
    let (low, high) = (sorted[k], sorted[(k + 1).min(last)]);
    let step = (h - k as f64) * (high - low);
    // A constant segment or an exact hit returns the value itself. Huge opposite values are interpolated without overflow.
    if step.is_finite() { low + step } else { low * (1.0 - (h - k as f64)) + high * (h - k as f64) }
}

/// The quantiles at `ps` of finite values in any order, and the largest value, to the bit those of [`quantile_sorted`]. Rearranges `values`. Time
/// O(n): sorting is what the figures of a run with ten thousands of gaps between tokens would otherwise take longest for.
pub fn quantiles_and_max<const N: usize>(values: &mut [f64], ps: [f64; N]) -> ([f64; N], f64) {
    let Some(last) = values.len().checked_sub(1) else { return ([f64::NAN; N], f64::NAN) };
    let below = |p: f64| ((last as f64 * p.clamp(0.0, 1.0)).floor() as usize).min(last);
    let mut wanted: Vec<usize> = ps.iter().flat_map(|&p| [below(p), (below(p) + 1).min(last)]).chain([last]).collect();
    wanted.sort_unstable();
    wanted.dedup();
    settle(values, 0, &wanted);
    (ps.map(|p| quantile_sorted(values, p)), values[last])
}

/// Whether quantile `p` of `n` values is an interpolation toward the extreme and must be marked: n(1-p) < 1 or np < 1.
///
/// p99 of fewer than 100 values says little more than the maximum.
pub fn is_tail(n: usize, p: f64) -> bool {
    // n (1 - p) for n = 100, p = 0.99 is 1 - 1e-15 in binary. The allowance is far below 1 / n for any n that fits in memory.
    const ROUNDING: f64 = 1e-9;
    let n = n as f64;
    n * (1.0 - p) < 1.0 - ROUNDING || n * p < 1.0 - ROUNDING
}

/// Values that must lie beyond a percentile before it has an interval and is judged.
const BEYOND: f64 = 5.0;

/// Whether percentile `p` of `n` values is supported: n(1-p) >= 5 and np >= 5. Below that it is a value: it has no interval and nothing is
/// judged by it. One rule for loads, samples, pages and verdicts.
pub fn is_supported(n: usize, p: f64) -> bool {
    n >= needed(p)
}

/// The smallest n that supports percentile `p`, strictly inside (0, 1): 500 for p99, 100 for p95, 50 for p90, 10 for the median.
pub fn needed(p: f64) -> usize {
    // 5 / (1 - 0.99) is 500 and 4e-14 more in binary. No n that matters has a fraction that small.
    const ROUNDING: f64 = 1e-9;
    let least = BEYOND / p.min(1.0 - p);
    (least - least * ROUNDING).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn a_percentile_is_supported_from_five_values_beyond_it() {
        for (p, least) in
            [(0.99, 500), (0.95, 100), (0.9, 50), (0.75, 20), (0.5, 10), (0.25, 20), (0.05, 100), (0.999, 5000)]
        {
            assert_eq!((needed(p), is_supported(least, p), is_supported(least - 1, p)), (least, true, false), "p{p}");
        }
    }

    #[test]
    fn quantiles_by_selection_have_the_bits_of_those_by_sorting() {
        const PS: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.0, 1.0];
        let mut stream = Stream::new(5, 0);
        for n in [1, 2, 3, 7, 100, 101, 4_999] {
            let mut values: Vec<f64> = (0..n).map(|_| (stream.uniform() * 90.0).floor() / 7.0 - 3.0).collect();
            values[0] = -0.0;
            let sorted = sorted(&values);
            let (found, max) = quantiles_and_max(&mut values, PS);
            assert_eq!(found.map(f64::to_bits), PS.map(|p| quantile_sorted(&sorted, p).to_bits()), "n = {n}");
            assert_eq!(max.to_bits(), sorted[n - 1].to_bits());
        }
        assert!(quantiles_and_max(&mut [], [0.5]).0[0].is_nan());
    }
}
