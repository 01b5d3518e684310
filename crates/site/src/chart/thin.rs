//! Thins out points for a drawing. Of every segment the least and the greatest are kept, so that no peak and no dip is lost.
//!
//! In:  points in order, how many are drawn at most.  Out: some of these points, in their order.
//! Not here: how many points a chart bears, or saying that some were left out.

/// How many consecutive points share two marks, to respect the limit of marks. 1 when all fit.
pub(crate) fn stretch(n: usize, most: usize) -> usize {
    if n <= most { 1 } else { (2 * n).div_ceil(most) }
}

/// The least and the greatest of every segment, in their order. All points where segments have one point.
pub(crate) fn extremes(points: &[(f64, f64)], stretch: usize) -> Vec<(f64, f64)> {
    if stretch <= 1 {
        return points.to_vec();
    }
    let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let ends = |part: &[(f64, f64)]| {
        let mut ends: Vec<(f64, f64)> =
            part.iter().min_by(by_value).into_iter().chain(part.iter().max_by(by_value)).copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        ends
    };
    points.chunks(stretch).flat_map(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_of_every_stretch_and_their_order() {
        let mut points: Vec<(f64, f64)> = (0..1_000).map(|k| (f64::from(k), 5.0)).collect();
        points[123].1 = 99.0;
        points[877].1 = -1.0;
        let thin = extremes(&points, stretch(points.len(), 400));
        assert!(thin.len() <= 400 && thin.contains(&(123.0, 99.0)) && thin.contains(&(877.0, -1.0)));
        assert!(thin.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(extremes(&points, stretch(400, 400)), points);
    }

    #[test]
    fn thinning_keeps_a_peak_of_one_sample() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|i| (f64::from(i), 5.0)).collect();
        points[4321].1 = 99.0;
        let thin = extremes(&points, stretch(points.len(), 300));
        assert!(thin.len() <= 302 && thin.contains(&(4321.0, 99.0)));
    }
}
