//! The whole way from values to limits, against the contract and against irrelevant changes.

use super::*;
use crate::overhead::Direction;
use crate::random::{Stream, fnv1a, job_base};
use statrs::distribution::{ContinuousCDF, Normal};

fn job(key: &str, resamples: usize, threads: usize) -> Job {
    Job { seed: 42, key: key.into(), resamples, confidence: 0.95, threads }
}

fn sample(n: usize, offset: f64) -> Vec<f64> {
    let mut stream = Stream::new(2_024, n as u64);
    (0..n).map(|_| offset - 10.0 * stream.uniform().ln()).collect()
}

fn ascending(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn type_7(sorted: &[f64], p: f64) -> f64 {
    let h = (sorted.len() - 1) as f64 * p;
    let k = h.floor() as usize;
    if k + 1 < sorted.len() { sorted[k] + (h - k as f64) * (sorted[k + 1] - sorted[k]) } else { sorted[k] }
}

/// The resampled values of one arm, drawn and added one after the other.
fn literal_draws(values: &[f64], job: &Job, suffix: &str, statistic: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    let values = ascending(values);
    let base = job_base(job.seed, &format!("{}{suffix}", job.key));
    (0..job.resamples as u64)
        .map(|b| {
            let mut stream = Stream::new(base, b);
            statistic(&values.iter().map(|_| values[stream.index(values.len())]).collect::<Vec<_>>())
        })
        .collect()
}

fn literal_mean(drawn: &[f64]) -> f64 {
    let mut a = [0.0; 4];
    drawn.iter().enumerate().for_each(|(j, value)| a[j % 4] += value);
    ((a[0] + a[1]) + (a[2] + a[3])) / drawn.len() as f64
}

/// The three intervals by the formulas of the contract. `left_out` are the leave-one-out values of each arm.
fn literal_limits(draws: &[f64], t: f64, left_out: &[Vec<f64>]) -> [[f64; 2]; 3] {
    let normal = Normal::standard();
    let sorted = ascending(draws);
    let [lo, hi] = [0.025, 0.975].map(|p| type_7(&sorted, p));
    let count = draws.iter().map(|&b| f64::from(u8::from(b < t)) + f64::from(u8::from(b <= t))).sum::<f64>();
    let z0 = normal.inverse_cdf(count / (2.0 * draws.len() as f64));
    let (mut s2, mut s3) = (0.0, 0.0);
    for arm in left_out {
        let n = arm.len() as f64;
        let mean = arm.iter().sum::<f64>() / n;
        s2 += arm.iter().map(|v| ((n - 1.0) * (mean - v)).powi(2)).sum::<f64>() / n.powi(2);
        s3 += arm.iter().map(|v| ((n - 1.0) * (mean - v)).powi(3)).sum::<f64>() / n.powi(3);
    }
    let a = s3 / (6.0 * s2.powf(1.5));
    let adjusted = |p: f64| {
        let z = z0 + normal.inverse_cdf(p);
        type_7(&sorted, normal.cdf(z0 + z / (1.0 - a * z)))
    };
    [[lo, hi], [2.0 * t - hi, 2.0 * t - lo], [adjusted(0.025), adjusted(0.975)]]
}

fn each_left_out(values: &[f64], statistic: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    (0..values.len()).map(|i| statistic(&[&values[..i], &values[i + 1..]].concat())).collect()
}

fn assert_limits(what: &str, got: [&Limits; 3], expected: [[f64; 2]; 3]) {
    for (limits, [lo, hi]) in got.into_iter().zip(expected) {
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-10 * b.abs().max(1.0);
        assert!(near(limits.lo, lo) && near(limits.hi, hi), "{what}: {limits:?}, not [{lo}, {hi}]");
    }
}

#[test]
fn limits_of_a_mean_are_those_of_the_literal_reading() {
    for n in [5, 10, 30, 101] {
        // Multiples of 1/64 add without rounding: ties with the estimate are exact, as the contract's counts read.
        let values: Vec<f64> = sample(n, 3.0).iter().map(|v| (v * 64.0).round() / 64.0).collect();
        let job = job("m|ttft_ms|native|mean", 2_000, 1);
        let got = one_sample(&values, Statistic::Mean, &job).unwrap();
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let draws = literal_draws(&values, &job, "", &literal_mean);
        let expected = literal_limits(&draws, mean(&values), &[each_left_out(&ascending(&values), &mean)]);
        assert_limits(&format!("n = {n}"), [&got.percentile, &got.basic, &got.bca], expected);
    }
}

#[test]
fn limits_of_quantiles_are_those_of_the_literal_reading() {
    for n in [5, 10, 30, 199] {
        for statistic in [Statistic::Median, Statistic::P95, Statistic::P99] {
            let p = statistic.probability().unwrap();
            let (values, job) = (sample(n, 3.0), job("m|ttft_ms|native|quantile", 2_000, 1));
            let got = one_sample(&values, statistic, &job).unwrap();
            let quantile = |v: &[f64]| type_7(&ascending(v), p);
            let draws = literal_draws(&values, &job, "", &quantile);
            let expected = literal_limits(&draws, quantile(&values), &[each_left_out(&ascending(&values), &quantile)]);
            assert_eq!((got.draws, got.estimate), (Draws::Index, quantile(&values)));
            assert_limits(&format!("n = {n}, p = {p}"), [&got.percentile, &got.basic, &got.bca], expected);
        }
    }
}

#[test]
fn studentised_limits_are_those_of_the_literal_reading() {
    let (values, job) = (sample(12, 3.0), job("k", 2_000, 1));
    let n = 12.0;
    let spread = |v: &[f64]| {
        let mean = literal_mean(v);
        (v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
    };
    let sorted = ascending(&values);
    let (m, se) = (literal_mean(&sorted), spread(&sorted) / n.sqrt());
    let t = ascending(&literal_draws(&values, &job, "", &|v| (literal_mean(v) - m) / (spread(v) / n.sqrt())));
    let got = one_sample(&values, Statistic::Mean, &job).unwrap().studentised.unwrap();
    assert!((got.lo - (m - type_7(&t, 0.975) * se)).abs() < 1e-9, "{got:?}");
    assert!((got.hi - (m - type_7(&t, 0.025) * se)).abs() < 1e-9, "{got:?}");
}

#[test]
fn limits_of_two_samples_are_those_of_the_literal_reading() {
    let (a, b, job) = (sample(9, 20.0), sample(25, 22.0), job("m|ttft_ms|native~nspawn|x", 2_000, 1));
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let draws_a = literal_draws(&a, &job, "#A", &literal_mean);
    let draws_b = literal_draws(&b, &job, "#B", &literal_mean);
    type Compare<'a> = (TwoSample, &'a dyn Fn(f64, f64) -> f64);
    let compare: [Compare; 4] = [
        (TwoSample::Difference, &|a, b| b - a),
        (TwoSample::OverheadPct(Direction::LowerIsBetter), &|a, b| 100.0 * (b / a - 1.0)),
        (TwoSample::OverheadPct(Direction::HigherIsBetter), &|a, b| 100.0 * (a / b - 1.0)),
        (TwoSample::OverheadPct(Direction::Neutral), &|a, b| 100.0 * (b / a - 1.0)),
    ];
    for (what, by) in compare {
        let got = two_sample(&a, &b, what, &job).unwrap();
        let draws: Vec<f64> = draws_a.iter().zip(&draws_b).map(|(&a, &b)| by(a, b)).collect();
        let left_out = [each_left_out(&a, &|rest| by(mean(rest), mb)), each_left_out(&b, &|rest| by(ma, mean(rest)))];
        let expected = literal_limits(&draws, by(ma, mb), &left_out);
        assert_limits(&format!("{what:?}"), [&got.percentile, &got.basic, &got.bca], expected);
        assert_eq!(got.bca.flags, [FLAG_SMALL_N]);
    }
}

#[test]
fn ranks_take_over_above_two_hundred_values_and_say_so() {
    let at = one_sample(&sample(200, 0.0), Statistic::P99, &job("k", 999, 1)).unwrap();
    let above = one_sample(&sample(201, 0.0), Statistic::P99, &job("k", 999, 1)).unwrap();
    assert_eq!((at.draws, at.bca.flags.len()), (Draws::Index, 0));
    assert_eq!((above.draws, &above.bca.flags), (Draws::Rank, &vec![FLAG_RANK]));
}

#[test]
fn limits_by_ranks_agree_with_limits_by_indices() {
    // Evenly spaced, so that the Monte-Carlo error of a limit is that of a smooth law and not of a gap.
    let values: Vec<f64> = (0..5_000).map(f64::from).collect();
    for statistic in [Statistic::Median, Statistic::P95, Statistic::P99] {
        let [rank, index] = [Draws::Rank, Draws::Index]
            .map(|draws| one_sample_by(&values, statistic, &job("agree", 20_000, 1), draws).unwrap());
        let se = (index.percentile.hi - index.percentile.lo) / 3.92;
        // Six times the error of a quantile of 20,000 draws, both sides.
        let tolerance = 6.0 * (2.0f64 * 0.025 * 0.975 / 20_000.0).sqrt() * se / 0.0584;
        for (r, i) in [(&rank.percentile, &index.percentile), (&rank.basic, &index.basic), (&rank.bca, &index.bca)] {
            assert!((r.lo - i.lo).abs() < tolerance && (r.hi - i.hi).abs() < tolerance, "{statistic:?}: {r:?} {i:?}");
        }
    }
}

/// Every limit of every kind of interval, bit by bit.
fn fingerprint(threads: usize) -> u64 {
    let mut bits = String::new();
    let mut note = |limits: &Limits| bits.push_str(&format!("{:x},{:x};", limits.lo.to_bits(), limits.hi.to_bits()));
    for (n, statistic) in [
        (10, Statistic::Mean),
        (1_003, Statistic::Mean),
        (30, Statistic::Median),
        (150, Statistic::P99),
        (2_000, Statistic::P95),
    ] {
        let got = one_sample(&spread_out(n), statistic, &job("m|ttft_ms|native|s", 2_000, threads)).unwrap();
        [&got.percentile, &got.basic, &got.bca].into_iter().chain(&got.studentised).for_each(&mut note);
    }
    for what in [TwoSample::Difference, TwoSample::OverheadPct(Direction::HigherIsBetter)] {
        let got =
            two_sample(&spread_out(400), &spread_out(301), what, &job("m|ttft_ms|a~b|s", 2_000, threads)).unwrap();
        [&got.percentile, &got.basic, &got.bca].into_iter().for_each(&mut note);
    }
    let runs: Vec<Vec<f64>> = (0..7).map(|r| spread_out(60 + r).iter().map(|v| v + r as f64).collect()).collect();
    let key = job("m|ttft_ms|a|p95", 2_000, threads);
    let got = crate::hierarchical::percentiles(&runs, &[0.95], &key).unwrap().remove(0);
    bits.push_str(&format!("{:x},{:x};", got.lo.to_bits(), got.hi.to_bits()));
    fnv1a(&bits)
}

/// Values made of divisions only, so that their bits do not hang on a logarithm of the platform.
fn spread_out(n: usize) -> Vec<f64> {
    (0..n).map(|i| 50.0 + ((i * 7_919) % n) as f64 / 3.0 + 400.0 / (i as f64 + 2.0)).collect()
}

#[test]
fn one_seed_gives_one_result_on_any_number_of_threads_and_any_machine() {
    const STORED: u64 = 0x0033_0178_0521_192f;
    for threads in [1, 2, 3, 0] {
        assert_eq!(fingerprint(threads), STORED, "{threads} threads: {:#x}", fingerprint(threads));
    }
}

#[test]
fn the_order_of_the_values_does_not_matter() {
    let mut values = sample(60, 1.0);
    let before = Statistic::ALL.map(|s| one_sample(&values, s, &job("k", 999, 1)));
    values.reverse();
    values.swap(3, 40);
    assert_eq!(Statistic::ALL.map(|s| one_sample(&values, s, &job("k", 999, 1))), before);
}

#[test]
fn limits_follow_a_change_of_unit_and_of_origin() {
    let values = [12.3, 15.1, 9.7, 22.8, 14.4];
    for statistic in Statistic::ALL {
        let all = |r: OneSample| {
            [&r.percentile, &r.basic, &r.bca]
                .into_iter()
                .chain(&r.studentised)
                .flat_map(|l| [l.lo, l.hi])
                .collect::<Vec<_>>()
        };
        let plain = all(one_sample(&values, statistic, &job("k", 5_000, 1)).unwrap());
        for (scale, shift) in [(3.0, 0.0), (1.0, 1_000.0), (0.001, 0.1)] {
            let moved = values.map(|v| scale * v + shift);
            let got = all(one_sample(&moved, statistic, &job("k", 5_000, 1)).unwrap());
            for (got, plain) in got.iter().zip(&plain) {
                let expected = scale * plain + shift;
                assert!(
                    (got - expected).abs() <= 1e-9 * expected.abs(),
                    "{statistic:?} x {scale} + {shift}: {got} {expected}"
                );
            }
        }
    }
}

#[test]
fn percentile_limits_contain_the_estimate_and_stay_inside_the_sample() {
    for n in [2, 3, 10, 50, 500] {
        let values = sample(n, 0.0);
        let sorted = ascending(&values);
        for statistic in Statistic::ALL {
            let got = one_sample(&values, statistic, &job("k", 2_000, 1)).unwrap();
            assert!(got.percentile.lo <= got.estimate && got.estimate <= got.percentile.hi, "{n} {statistic:?}");
            for limits in [&got.percentile, &got.bca] {
                assert!(
                    sorted[0] <= limits.lo && limits.lo <= limits.hi && limits.hi <= sorted[n - 1],
                    "{n} {statistic:?}"
                );
            }
        }
    }
}

#[test]
fn the_corners_of_the_edge_table() {
    let job = job("k", 999, 1);
    for statistic in Statistic::ALL {
        for values in [&[][..], &[1.0], &[1.0, f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(one_sample(values, statistic, &job), None);
        }
        let two = one_sample(&[1.0, 2.0], statistic, &job).unwrap();
        assert_eq!(two.percentile.flags, [FLAG_SMALL_N]);
        assert_eq!(two.studentised, None, "half the resamples of two values have no spread");
        let constant = one_sample(&[0.1; 30], statistic, &job).unwrap();
        for limits in [&constant.percentile, &constant.basic, &constant.bca].into_iter().chain(&constant.studentised) {
            assert_eq!((limits.lo, limits.hi, &limits.flags), (0.1, 0.1, &vec![FLAG_CONSTANT]));
        }
    }
    for unsound in [
        Job { resamples: 0, ..job.clone() },
        Job { confidence: 1.0, ..job.clone() },
        Job { confidence: f64::NAN, ..job.clone() },
    ] {
        assert_eq!(one_sample(&[1.0, 2.0, 3.0], Statistic::Mean, &unsound), None);
        assert_eq!(two_sample(&[1.0, 2.0, 3.0], &[1.0, 2.0], TwoSample::Difference, &unsound), None);
    }
}

#[test]
fn a_comparison_with_constant_arms_keeps_their_exact_means() {
    let job = job("k", 999, 1);
    let both = two_sample(&[0.1; 25], &[0.3; 25], TwoSample::Difference, &job).unwrap();
    assert_eq!((both.bca.lo, both.bca.hi, both.bca.flags), (0.3 - 0.1, 0.3 - 0.1, vec![FLAG_CONSTANT]));
    let one = two_sample(&[0.0; 25], &sample(25, 0.0), TwoSample::Difference, &job).unwrap();
    assert!(one.bca.lo < one.estimate && one.estimate < one.bca.hi && one.bca.flags.is_empty());
}

#[test]
fn a_ratio_needs_positive_means_and_says_when_resamples_lack_them() {
    let job = job("k", 999, 1);
    let overhead = TwoSample::OverheadPct(Direction::LowerIsBetter);
    assert_eq!(two_sample(&[-1.0, -2.0], &[1.0, 2.0], overhead, &job), None);
    assert_eq!(two_sample(&[1.0, 2.0], &[-1.0, 0.5], overhead, &job), None);
    // A denominator of which a fifth of the resamples is negative: no upper limit can be given.
    let shaky = two_sample(&[-3.0, -2.0, 4.0, 5.0], &[5.0, 6.0, 7.0], overhead, &job).unwrap();
    assert_eq!(shaky.percentile.hi, f64::INFINITY);
    assert_eq!(shaky.basic.lo, f64::NEG_INFINITY);
    assert!(shaky.percentile.flags.contains(&FLAG_NONPOSITIVE) && !shaky.bca.lo.is_nan() && !shaky.bca.hi.is_nan());
}
