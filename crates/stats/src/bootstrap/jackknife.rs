//! The acceleration of a BCa interval, from leave-one-out values in closed form.
//!
//! In:  the ascending sample of each arm.
//! Out: the acceleration, free of unit.
//! Not here: draws. Time O(n) for means, O(1) for quantiles, whose leave-one-out values take three values at most.
//!
//! Source: Efron and Tibshirani (1993), equation 14.15. For two samples the sums run over both.

use super::selection::Place;

/// A leave-one-out value and how many of the observations give it when left out.
pub(crate) type LeftOut = (f64, usize);

/// `S3 / (6 S2^1.5)` over the arms. 0 when nothing varies, `None` when a value is not finite.
pub(crate) fn acceleration(arms: &[Vec<LeftOut>]) -> Option<f64> {
    let influences: Vec<(f64, Vec<LeftOut>)> = arms.iter().map(|arm| influence(arm)).collect();
    let largest = influences
        .iter()
        .flat_map(|(_, arm)| arm)
        .fold(0.0f64, |m, &(u, _)| if u.is_finite() { m.max(u.abs()) } else { f64::INFINITY });
    if largest == 0.0 {
        return Some(0.0);
    }
    if !largest.is_finite() {
        return None;
    }
    // The acceleration has no unit: dividing by the largest influence keeps the cubes in range.
    let (mut s2, mut s3) = (0.0, 0.0);
    for (n, arm) in &influences {
        let (mut squares, mut cubes) = (0.0, 0.0);
        for &(u, count) in arm {
            let u = u / largest;
            squares += u * u * count as f64;
            cubes += u * u * u * count as f64;
        }
        s2 += squares / (n * n);
        s3 += cubes / (n * n * n);
    }
    Some(s3 / (6.0 * s2 * s2.sqrt()))
}

/// The n of an arm and `(n - 1)(mean of the leave-one-out values - value)` for each.
fn influence(arm: &[LeftOut]) -> (f64, Vec<LeftOut>) {
    let n = arm.iter().map(|&(_, count)| count).sum::<usize>() as f64;
    // About the first value, so that a large common part cannot drown the differences.
    let origin = arm.first().map_or(0.0, |&(value, _)| value);
    let mean = arm.iter().map(|&(value, count)| (value - origin) * count as f64).sum::<f64>() / n;
    (n, arm.iter().map(|&(value, count)| ((n - 1.0) * (mean - (value - origin)), count)).collect())
}

/// Leave-one-out means of a sample with mean `mean`.
pub(crate) fn left_out_means(values: &[f64], mean: f64) -> impl Iterator<Item = f64> {
    let others = (values.len() - 1) as f64;
    values.iter().map(move |&value| mean + (mean - value) / others)
}

/// Leave-one-out quantiles at `p` of an ascending sample of two values or more.
pub(crate) fn left_out_quantiles(sorted: &[f64], p: f64) -> Vec<LeftOut> {
    let n = sorted.len();
    let place = Place::new(n - 1, p);
    let k = place.k;
    let next = k + usize::from(place.needs_next());
    // Left out at or before k: both order statistics move up by one. Between the two: only the upper one does.
    let mut values = vec![(place.between(sorted[k + 1], sorted[next + 1]), k + 1)];
    if next > k {
        values.push((place.between(sorted[k], sorted[next + 1]), 1));
    }
    values.push((place.between(sorted[k], sorted[next]), n - next - 1));
    values.retain(|&(_, count)| count > 0);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn without(sorted: &[f64], i: usize) -> Vec<f64> {
        sorted.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, &v)| v).collect()
    }

    #[test]
    fn closed_form_quantiles_are_those_of_leaving_each_value_out() {
        let mut stream = Stream::new(5, 0);
        for n in 2..=120 {
            let mut sorted: Vec<f64> = (0..n).map(|_| (stream.uniform() * 40.0).floor()).collect();
            sorted.sort_by(f64::total_cmp);
            for p in [0.5, 0.95, 0.99, 0.0, 1.0, 0.25] {
                let mut closed: Vec<f64> =
                    left_out_quantiles(&sorted, p).iter().flat_map(|&(v, count)| vec![v; count]).collect();
                let mut brute: Vec<f64> =
                    (0..n).map(|i| Place::new(n - 1, p).of_sorted(&without(&sorted, i))).collect();
                closed.sort_by(f64::total_cmp);
                brute.sort_by(f64::total_cmp);
                assert_eq!(closed, brute, "n = {n}, p = {p}");
            }
        }
    }

    #[test]
    fn closed_form_means_are_those_of_leaving_each_value_out() {
        let values = [1.5, 2.0, 7.25, 11.0, 11.0];
        let mean = values.iter().sum::<f64>() / 5.0;
        for (i, closed) in left_out_means(&values, mean).enumerate() {
            let brute = without(&values, i).iter().sum::<f64>() / 4.0;
            assert!((closed - brute).abs() < 1e-14, "{closed} {brute}");
        }
    }

    #[test]
    fn the_acceleration_of_a_mean_is_its_skewness_over_six_root_n() {
        // For a mean U is x - m, so a = g1 / (6 sqrt n). The values 1, 2, 6 have m2 = 14/3, m3 = 6, n = 3.
        let values = [1.0, 2.0, 6.0];
        let arm: Vec<LeftOut> = left_out_means(&values, 3.0).map(|v| (v, 1)).collect();
        let expected = 6.0 / (14.0f64 / 3.0).powf(1.5) / (6.0 * 3.0f64.sqrt());
        assert!((acceleration(&[arm]).unwrap() - expected).abs() < 1e-15);
    }

    #[test]
    fn acceleration_has_no_unit_and_no_overflow() {
        let arm = |scale: f64| vec![(1.0 * scale, 1), (2.0 * scale, 1), (6.0 * scale, 1)];
        let plain = acceleration(&[arm(1.0)]).unwrap();
        assert!((acceleration(&[arm(1e200)]).unwrap() / plain - 1.0).abs() < 1e-12);
        assert_eq!(acceleration(&[vec![(4.0, 9)]]), Some(0.0));
        assert_eq!(acceleration(&[vec![(4.0, 2), (f64::INFINITY, 1)]]), None);
    }
}
