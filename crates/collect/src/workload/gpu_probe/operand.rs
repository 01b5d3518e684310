//! Operands of a probe, and what their products must be.
//!
//! In:  a seed, a precision, a place.  Out: pools of values that operands repeat, the exact value of one place, how far off it may be.
//! Not here: the device.
//!
//! Operands are random over the whole significand. Matrices of one value make a GPU draw less power and run faster than real work does. A
//! value of the result is one row times one column, which is quickly computed on the host. So the result of every part is checked, and no
//! rate of wrong results is reported.

use sparkbench_host::cuda::Precision;

/// Length of a pool: the largest prime below 2^20, so that no row or column of a matrix repeats another's values.
pub(crate) const POOL: usize = 1_048_573;

/// Places of a result that are checked.
pub(crate) const PLACES: usize = 32;

/// Values of a uniform distribution over [-1, 1), rounded to the precision. The same seed gives the same values.
pub(crate) fn pool(seed: u64, length: usize, precision: Precision) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        // SplitMix64. Source: Steele, Lea and Flood, OOPSLA 2014.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    // 24 bits are exact in FP32.
    (0..length).map(|_| precision.round((next() >> 40) as f32 / 8_388_608.0 - 1.0)).collect()
}

/// Value of a place of an operand that repeats a pool.
pub(crate) fn at(pool: &[f32], place: usize) -> f64 {
    pool.get(place % pool.len().max(1)).copied().map_or(f64::NAN, f64::from)
}

/// C at a place, with C = A B, n x n, column by column.
pub(crate) fn gemm(a: &[f32], b: &[f32], n: usize, place: usize) -> f64 {
    let (row, column) = (place % n, place / n);
    (0..n).map(|k| at(a, row + k * n) * at(b, k + column * n)).sum()
}

/// y at a place, with y = A' x and A of `rows` rows.
pub(crate) fn gemv(a: &[f32], x: &[f32], rows: usize, place: usize) -> f64 {
    (0..rows).map(|row| at(a, row + place * rows) * at(x, row)).sum()
}

/// Sum of absolute values of a vector that repeats a pool.
pub(crate) fn asum(pool: &[f32], values: usize) -> f64 {
    let sum = |part: &[f32]| part.iter().map(|value| f64::from(value.abs())).sum::<f64>();
    let whole = values / pool.len().max(1);
    whole as f64 * sum(pool) + sum(pool.get(..values % pool.len().max(1)).unwrap_or_default())
}

/// Places to look at in a result of `length` values: both ends, and others spread without a pattern.
pub(crate) fn places(length: usize) -> Vec<usize> {
    let Some(last) = length.checked_sub(1) else { return Vec::new() };
    // The golden ratio spreads any number of points evenly over an interval.
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let spread = (1..=PLACES - 2).map(|k| ((k as f64 * GOLDEN).fract() * length as f64) as usize);
    let mut all: Vec<usize> = [0, last].into_iter().chain(spread.map(|place| place.min(last))).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// How far a value of a product of `terms` terms may be from the exact one.
///
/// Rounding moves a sum of n random terms by about its unit in the last place times the size of the partial sums. That size is about
/// sqrt(n). The factor leaves room for any order of summation, also for partial sums in the output's precision. A wrong result is off by
/// about half of sqrt(n), some 40 times as much in the coarsest precision.
pub(crate) fn allowance(precision: Precision, terms: usize, exact: f64) -> f64 {
    let unit = match precision {
        Precision::Fp32 => 2_f64.powi(-14),
        Precision::Tf32 | Precision::Fp16 => 2_f64.powi(-9),
        Precision::Bf16 => 2_f64.powi(-7),
    };
    unit * (exact.abs() + (terms as f64).sqrt())
}

/// How far a sum of many FP32 values of one sign may be off, as a share of it.
pub(crate) const SUM_SHARE: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_worked_out_column_by_column() {
        // A has the rows (1 3) and (2 4), B has (5 7) and (6 8), stored column by column. The product has (23 31) and (34 46).
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        assert_eq!((0..4).map(|place| gemm(&a, &b, 2, place)).collect::<Vec<_>>(), [23.0, 34.0, 31.0, 46.0]);
        assert_eq!((0..2).map(|place| gemv(&a, &[1.0, 10.0], 2, place)).collect::<Vec<_>>(), [21.0, 43.0]);
        assert_eq!(asum(&[1.0, -2.0, 3.0], 5), 9.0);
    }

    #[test]
    fn pools_are_the_same_for_a_seed_within_range_and_representable() {
        for precision in Precision::ALL {
            let values = pool(7, 1000, precision);
            assert_eq!(values, pool(7, 1000, precision));
            assert_ne!(values, pool(8, 1000, precision));
            assert!(values.iter().all(|value| (-1.0..=1.0).contains(value) && precision.round(*value) == *value));
            let mean = values.iter().sum::<f32>() / 1000.0;
            assert!(mean.abs() < 0.06, "{mean}");
        }
    }

    #[test]
    fn the_pool_has_a_prime_length() {
        assert!(!(2..1025).any(|factor: usize| POOL.is_multiple_of(factor)));
    }

    #[test]
    fn places_hold_both_ends_and_stay_inside() {
        assert_eq!(places(0), Vec::<usize>::new());
        assert_eq!(places(1), [0]);
        let many = places(1 << 28);
        assert_eq!((many.len(), many[0], many[PLACES - 1]), (PLACES, 0, (1 << 28) - 1));
    }

    #[test]
    fn every_precision_passes_its_own_rounding_and_no_precision_passes_zeros() {
        let n = 512;
        for precision in Precision::ALL {
            let (a, b) = (pool(1, 4099, precision), pool(2, 4099, precision));
            let mut caught = 0;
            for place in places(n * n) {
                let exact = gemm(&a, &b, n, place);
                let kept = f64::from(precision.round(exact as f32));
                assert!((kept - exact).abs() <= allowance(precision, n, exact), "{precision:?} {place}");
                caught += usize::from(exact.abs() > allowance(precision, n, exact));
            }
            assert!(caught > PLACES * 8 / 10, "zeros would pass in {precision:?}: {caught}");
        }
    }
}
