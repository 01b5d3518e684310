//! Series whose changes are known.

use super::*;
use crate::random::{Stream, job_base};

/// Standard normal values, by the sum of twelve uniforms.
fn normal(n: usize, key: &str) -> Vec<f64> {
    let mut stream = Stream::new(job_base(7, key), 0);
    (0..n).map(|_| (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0).collect()
}

fn found(values: &[f64]) -> Segmentation {
    let points: Vec<Point> = values.iter().map(|&value| value.into()).collect();
    segment(&points, 0.0, 42).unwrap()
}

fn indices(segmentation: &Segmentation) -> Vec<usize> {
    segmentation.changes.iter().map(|change| change.index).collect()
}

#[test]
fn a_step_without_noise_is_found_where_it_is() {
    let segmentation = found(&[10.0, 10.0, 10.0, 20.0, 20.0, 20.0]);
    assert_eq!(indices(&segmentation), [3]);
    let change = &segmentation.changes[0];
    assert_eq!((change.kind, change.before, change.after, change.change_pct), (Kind::Level, 10.0, 20.0, Some(100.0)));
    assert_eq!(segmentation.stretches.iter().map(|s| (s.from, s.to)).collect::<Vec<_>>(), [(0, 3), (3, 6)]);
}

#[test]
fn five_points_are_enough_for_a_large_step() {
    let segmentation = found(&[100.0, 101.0, 100.0, 120.0, 121.0]);
    assert_eq!(indices(&segmentation), [3]);
    // t = 33.02 with 3 degrees of freedom has p = 6.1e-5 by the variance of the two parts. 0.25 of the noise is a floor under that variance.
    assert!(segmentation.changes[0].p < 1e-3);
}

#[test]
fn four_points_and_constant_points_show_no_change() {
    assert!(found(&[1.0, 1.0, 9.0, 9.0]).changes.is_empty());
    assert!(found(&[]).stretches.is_empty());
    assert!(found(&[3.0; 200]).changes.is_empty());
    assert!(segment(&[f64::NAN.into()], 0.0, 42).is_none());
}

#[test]
fn a_single_odd_point_is_an_outlier_and_no_change() {
    for at in [1, 20, 39] {
        let mut values: Vec<f64> = normal(40, "odd").iter().map(|z| 100.0 + z).collect();
        values[at] = 140.0;
        let segmentation = found(&values);
        assert_eq!((indices(&segmentation), &segmentation.outliers), (vec![], &vec![at]), "outlier at {at}");
        assert!(segmentation.stretches[0].mean < 101.0, "the outlier does not move the level");
    }
}

#[test]
fn three_points_at_the_end_are_a_new_level_and_two_are_not_yet() {
    let mut values: Vec<f64> = normal(30, "end").iter().map(|z| 100.0 + z).collect();
    (values[28], values[29]) = (130.0, 131.0);
    // Two odd points among thirty are neighbours in one order of fifteen.
    assert!(found(&values).changes.is_empty());
    values[27] = 130.5;
    let segmentation = found(&values);
    assert_eq!((indices(&segmentation), segmentation.outliers.len()), (vec![27], 0));
}

/// A step of 8 % at 66, and these values at the end or at the beginning.
fn step_and_odd_points(odd: &[f64], at_end: bool) -> Segmentation {
    let mut values: Vec<f64> =
        normal(100, "step").iter().enumerate().map(|(i, z)| 100.0 + z + if i < 66 { 0.0 } else { 8.0 }).collect();
    values.splice(if at_end { 100..100 } else { 0..0 }, odd.iter().copied());
    found(&values)
}

#[test]
fn two_odd_points_at_an_end_do_not_hide_an_older_change() {
    for odd in [[50.0, 51.0], [160.0, 159.0], [50.0, 160.0], [94.0, 93.0], [1e4, 1.1e4]] {
        let last = step_and_odd_points(&odd, true);
        assert_eq!((indices(&last), last.outliers.clone()), (vec![66], vec![100, 101]), "{odd:?} at the end");
        assert!(last.stretches[1].mean > 107.0, "the odd points do not move the level");
        let odd = odd.map(|x| if x == 94.0 || x == 93.0 { x + 20.0 } else { x });
        let first = step_and_odd_points(&odd, false);
        assert_eq!((indices(&first), first.outliers), (vec![68], vec![0, 1]), "{odd:?} at the beginning");
    }
}

#[test]
fn three_odd_points_at_an_end_are_a_level_beside_an_older_change() {
    let last = step_and_odd_points(&[50.0, 51.0, 50.5], true);
    assert_eq!((indices(&last), last.outliers), (vec![66, 100], vec![]));
    let first = step_and_odd_points(&[50.0, 51.0, 50.5], false);
    assert_eq!((indices(&first), first.outliers), (vec![3, 69], vec![]));
}

#[test]
fn excursions_of_three_points_or_more_are_found() {
    for (n, at, length, size) in
        [(30, 12, 3, 8.0), (30, 2, 3, 8.0), (60, 20, 3, 6.0), (100, 50, 4, 6.0), (100, 40, 3, 8.0), (200, 120, 5, 5.0)]
    {
        let values: Vec<f64> = normal(n, &format!("excursion {n} {at}"))
            .iter()
            .enumerate()
            .map(|(i, z)| 100.0 + z + if (at..at + length).contains(&i) { size } else { 0.0 })
            .collect();
        let segmentation = found(&values);
        assert_eq!(indices(&segmentation), [at, at + length], "{length} of {n} points by {size}: {segmentation:?}");
    }
}

#[test]
fn steps_up_and_down_are_found_near_their_places() {
    let truth = [60, 80, 140];
    let level = |i: usize| match i {
        60..80 => 30.0,
        140.. => 12.0,
        _ => 0.0,
    };
    let values: Vec<f64> =
        normal(200, "three steps").iter().enumerate().map(|(i, z)| 100.0 + level(i) + 5.0 * z).collect();
    let found = indices(&found(&values));
    assert_eq!(found.len(), truth.len(), "{found:?}");
    assert!(found.iter().zip(truth).all(|(a, b)| a.abs_diff(b) <= 3), "{found:?}");
}

#[test]
fn a_change_of_scatter_is_named_so() {
    let values: Vec<f64> =
        normal(200, "scatter").iter().enumerate().map(|(i, z)| 100.0 + if i < 120 { *z } else { 5.0 * z }).collect();
    let segmentation = found(&values);
    assert_eq!(segmentation.changes.len(), 1);
    let change = &segmentation.changes[0];
    assert!(change.kind == Kind::Scatter && change.index.abs_diff(120) <= 4, "{change:?}");
    assert!((3.5..7.0).contains(&(change.after / change.before)), "{change:?}");
    assert_eq!(segmentation.stretches.len(), 1, "the level did not change");
}

#[test]
fn a_change_within_the_margin_is_told_apart() {
    let values: Vec<f64> = normal(100, "margin")
        .iter()
        .enumerate()
        .map(|(i, z)| 100.0 + 0.2 * z + if i < 50 { 0.0 } else { 1.0 })
        .collect();
    let points: Vec<Point> = values.iter().map(|&value| value.into()).collect();
    let segmentation = segment(&points, 2.0, 42).unwrap();
    assert_eq!((segmentation.changes.len(), segmentation.within_margin.len()), (0, 1));
    assert!((segmentation.within_margin[0].change_pct.unwrap() - 1.0).abs() < 0.2);
}

#[test]
fn noise_with_memory_is_no_change() {
    let mut alarms = 0;
    for series in 0..20 {
        let mut level = 0.0;
        let values: Vec<f64> = normal(300, &format!("memory {series}"))
            .iter()
            .map(|z| {
                level = 0.7 * level + z;
                100.0 + level
            })
            .collect();
        let segmentation = found(&values);
        assert!((0.5..0.9).contains(&segmentation.autocorrelation), "{}", segmentation.autocorrelation);
        alarms += segmentation.changes.len();
    }
    assert!(alarms <= 3, "{alarms} false alarms in 6,000 points");
}

#[test]
fn stable_noise_raises_at_most_one_false_alarm_in_a_thousand_points() {
    type Shape = fn(f64) -> f64;
    let shapes: [(&str, Shape); 3] =
        [("normal", |z| z), ("skewed", |z| (0.7 * z).exp()), ("two modes", |z| if z > 0.5 { 8.0 } else { z })];
    for (name, shape) in shapes {
        let alarms: usize = (0..40)
            .map(|series| {
                let noise = normal(200, &format!("stable {name} {series}"));
                found(&noise.iter().map(|&z| 100.0 + shape(z)).collect::<Vec<_>>()).changes.len()
            })
            .sum();
        assert!(alarms <= 8, "{name}: {alarms} false alarms in 8,000 points");
    }
}

#[test]
fn what_runs_say_of_their_own_spread_bounds_what_a_change_can_be() {
    let values = [100.0, 100.1, 100.0, 101.0, 101.1, 101.0];
    let known = |error: f64| -> Vec<Point> {
        values.iter().map(|&value| Point { value, standard_error: Some(error) }).collect()
    };
    assert_eq!(indices(&segment(&known(0.01), 0.0, 42).unwrap()), [3]);
    assert!(segment(&known(2.0), 0.0, 42).unwrap().changes.is_empty());
}

#[test]
fn scale_and_offset_do_not_matter_and_a_seed_gives_one_result() {
    let values: Vec<f64> =
        normal(120, "scale").iter().enumerate().map(|(i, z)| if i < 70 { *z } else { z + 4.0 }).collect();
    let plain = found(&values);
    let moved = found(&values.iter().map(|x| 1e6 + 1e3 * x).collect::<Vec<_>>());
    assert_eq!(indices(&plain), indices(&moved));
    assert_eq!(plain, found(&values));
    let mirrored = found(&values.iter().map(|x| -x).collect::<Vec<_>>());
    assert_eq!(indices(&plain), indices(&mirrored));
}

#[test]
fn ten_thousand_points_are_searched_through() {
    let values: Vec<f64> =
        normal(10_000, "long").iter().enumerate().map(|(i, z)| z + if i < 6_000 { 0.0 } else { 1.0 }).collect();
    let found = indices(&found(&values));
    assert!(found.len() == 1 && found[0].abs_diff(6_000) < 20, "{found:?}");
}

#[test]
fn a_cycle_is_no_row_of_changes_and_a_new_phase_is_one() {
    let wave = |i: usize, phase: f64| 100.0 + 10.0 * (std::f64::consts::TAU * i as f64 / 7.0 + phase).sin();
    let noise = normal(210, "cycle");
    let steady: Vec<f64> = noise.iter().enumerate().map(|(i, z)| wave(i, 0.0) + z).collect();
    assert!(found(&steady).changes.is_empty());
    let turned: Vec<f64> =
        noise.iter().enumerate().map(|(i, z)| wave(i, if i < 120 { 0.0 } else { 1.5 }) + z).collect();
    let segmentation = found(&turned);
    let [change] = segmentation.changes.as_slice() else { panic!("{segmentation:?}") };
    assert!(change.kind == Kind::Cycle && change.index.abs_diff(120) <= 3, "{change:?}");
    // A step in a series with a cycle is a step.
    let stepped: Vec<f64> =
        noise.iter().enumerate().map(|(i, z)| wave(i, 0.0) + z + if i < 90 { 0.0 } else { 8.0 }).collect();
    let segmentation = found(&stepped);
    let [change] = segmentation.changes.as_slice() else { panic!("{segmentation:?}") };
    assert!(change.kind == Kind::Level && change.index.abs_diff(90) <= 2, "{change:?}");
}

#[test]
fn values_at_the_edges_of_what_numbers_can_be_are_searched_too() {
    let values: Vec<f64> =
        normal(60, "edge").iter().enumerate().map(|(i, z)| 100.0 + z + if i < 30 { 0.0 } else { 20.0 }).collect();
    for unit in [1e-300, 1e-120, 1e120, 1e300] {
        let scaled: Vec<f64> = values.iter().map(|x| x * unit).collect();
        assert_eq!(indices(&found(&scaled)), [30], "in units of {unit}");
    }
    // Nothing is asked of these but an answer.
    found(&[1e308, -1e308, 0.0, 5e-324, 1e308, -1e308, 1.0, 0.0]);
}
