//! Answers that are known without a computer: worked by hand, proved, or printed in the contract and its sources.

use sparkbench::stats::power::{TARGET_POWER, mde_d, n_per_arm, runs_to_decide, tost_power};
use sparkbench::stats::{self, Direction, Method, OrderKind, Sample, fieller, quantile_interval, sorted};

const CONFIDENCE: f64 = 0.95;

#[track_caller]
fn near(ours: f64, theirs: f64, tolerance: f64) {
    assert!((ours - theirs).abs() <= tolerance, "{ours} is not {theirs} within {tolerance}");
}

fn numbers(n: usize) -> Vec<f64> {
    (1..=n).map(|i| i as f64).collect()
}

/// Any order with these two sizes has this many pairs. All of it is one arm after the other.
fn blocks(sizes: &[usize]) -> Vec<usize> {
    sizes.iter().enumerate().flat_map(|(arm, n)| std::iter::repeat_n(arm, *n)).collect()
}

#[test]
fn the_mean_and_sd_of_two_four_four_four_five_five_seven_nine() {
    let d = stats::describe(&Sample::new([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), CONFIDENCE);
    assert_eq!((d.n, d.mean, d.median, d.min, d.max), (8, Some(5.0), Some(4.5), Some(2.0), Some(9.0)));
    near(d.sd.unwrap(), (32.0_f64 / 7.0).sqrt(), 1e-15);
    assert_eq!((d.p25, d.p75, d.iqr, d.mad), (Some(4.0), Some(5.5), Some(1.5), Some(0.5)));
}

#[test]
fn missing_values_are_dropped_and_counted_and_infinite_ones_apart() {
    let sample = Sample::new([1.0, f64::NAN, f64::NAN, f64::NEG_INFINITY, -0.0]);
    let d = stats::describe(&sample, CONFIDENCE);
    assert_eq!((d.n, d.n_missing, d.n_infinite), (2, 2, 1));
    assert_eq!(sample.values(), [1.0, 0.0]);
    assert!(sample.values()[1].is_sign_positive());
}

#[test]
fn nothing_and_one_value_have_what_they_can_have() {
    let none = stats::describe(&Sample::default(), CONFIDENCE);
    assert_eq!(none, stats::Descriptive::default());
    let one = stats::describe(&Sample::new([3.5]), CONFIDENCE);
    assert_eq!((one.mean, one.min, one.p5, one.p99, one.mad), (Some(3.5), Some(3.5), Some(3.5), Some(3.5), Some(0.0)));
    assert_eq!((one.sd, one.cv_pct, one.se, one.t_lo, one.skewness), (None, None, None, None, None));
    for (a, b) in [(&[][..], &[1.0, 2.0][..]), (&[1.0], &[1.0, 2.0]), (&[1.0, 2.0], &[])] {
        assert_eq!(stats::student(a, b, CONFIDENCE), None);
        assert_eq!(stats::welch(a, b, CONFIDENCE), None);
        assert_eq!(stats::tost(a, b, 5.0, CONFIDENCE), None);
        assert_eq!(stats::hedges_g(a, b, CONFIDENCE), None);
        assert_eq!(stats::brown_forsythe(a, b), None);
        assert_eq!(fieller::ratio_interval(a, b, CONFIDENCE), None);
        assert_eq!(runs_to_decide(a, b, 5.0, CONFIDENCE), None);
    }
    assert_eq!(stats::mann_whitney(&[], &[1.0]), None);
    assert_eq!(stats::cliff_delta(&[], &[1.0]), None);
    assert_eq!(stats::paired(&[1.0], CONFIDENCE), None);
    assert_eq!(stats::outliers(&[1.0, 2.0]), None);
    assert_eq!(stats::drift(&[1.0, 2.0], CONFIDENCE), None);
    assert_eq!(stats::shapiro(&[1.0, 2.0]), None);
}

#[test]
fn constant_data_have_no_spread_at_all() {
    let constant = [0.1; 10];
    let d = stats::describe(&Sample::new(constant), CONFIDENCE);
    assert_eq!((d.mean, d.sd, d.cv_pct, d.t_lo, d.t_hi), (Some(0.1), Some(0.0), Some(0.0), Some(0.1), Some(0.1)));
    assert_eq!((d.skewness, stats::shapiro(&constant), stats::drift(&constant, CONFIDENCE)), (None, None, None));
    let found = stats::outliers(&constant).unwrap();
    assert!(found.three_sigma.is_empty() && found.modified_z.is_empty() && found.tukey.is_empty());
    assert_eq!((found.max_abs_z, found.max_abs_modified_z), (None, None));
    assert_eq!(stats::mann_whitney(&constant, &constant).unwrap().p, 1.0);
    assert_eq!((stats::cohen_d(&constant, &[0.2; 3]), stats::brown_forsythe(&constant, &[0.2; 3])), (None, None));
    assert_eq!(fieller::overhead_pct(&[2.0; 3], &[3.0; 4], Direction::Neutral, CONFIDENCE), Some((50.0, 50.0)));
    assert_eq!(mde_d_pct(&constant, &[0.2; 3]), None);
}

fn mde_d_pct(a: &[f64], b: &[f64]) -> Option<f64> {
    stats::power::mde_pct(a, b, TARGET_POWER, CONFIDENCE)
}

#[test]
fn without_spread_equal_means_are_equal_and_others_differ() {
    let equal = stats::welch(&[5.0; 3], &[5.0; 4], CONFIDENCE).unwrap();
    assert_eq!((equal.t, equal.p, equal.diff_lo, equal.diff_hi), (0.0, 1.0, 0.0, 0.0));
    let lower = stats::student(&[5.0; 3], &[4.0; 3], CONFIDENCE).unwrap();
    assert_eq!((lower.t, lower.p, lower.diff_lo, lower.diff_hi), (f64::NEG_INFINITY, 0.0, -1.0, -1.0));
    assert!(stats::tost(&[100.0; 3], &[101.0; 3], 2.0, CONFIDENCE).unwrap().equivalent);
    assert!(!stats::tost(&[100.0; 3], &[102.0; 3], 2.0, CONFIDENCE).unwrap().equivalent);
    near(stats::smallest_margin_pct(&[100.0; 3], &[102.0; 3], CONFIDENCE).unwrap(), 2.0, 1e-12);
}

#[test]
fn one_constant_arm_leaves_welch_the_freedom_of_the_other() {
    let test = stats::welch(&[5.0; 4], &[5.0, 6.0, 7.0], CONFIDENCE).unwrap();
    near(test.df, 2.0, 1e-12);
}

#[test]
fn two_against_two_cannot_reach_a_p_below_a_third() {
    let u = stats::mann_whitney(&[1.0, 2.0], &[3.0, 4.0]).unwrap();
    assert_eq!((u.u, u.method), (4.0, Method::Exact));
    near(u.p, 1.0 / 3.0, 1e-15);
    assert_eq!(stats::cliff_delta(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
}

#[test]
fn ten_above_ten_have_the_smallest_possible_p() {
    let (a, b): (Vec<f64>, Vec<f64>) = (numbers(10), numbers(10).iter().map(|x| x + 10.0).collect());
    // 2 of the C(20, 10) = 184756 splits are as extreme.
    near(stats::mann_whitney(&a, &b).unwrap().p, 2.0 / 184_756.0, 1e-18);
    let trend = stats::drift(&a, CONFIDENCE).unwrap();
    assert_eq!((trend.s, trend.tau_b, trend.sen_slope, trend.method), (45, 1.0, 1.0, Method::Exact));
    near(trend.p, 2.0 / 3_628_800.0, 1e-18);
    near(stats::wilcoxon(&a).unwrap().p, 2.0 / 1024.0, 1e-18);
}

#[test]
fn zero_differences_are_dropped_and_counted() {
    let w = stats::wilcoxon(&[0.0, 1.0, 2.0, -3.0, 0.0]).unwrap();
    assert_eq!((w.w_plus, w.n_used, w.n_zero, w.method), (3.0, 3, 2, Method::Normal));
    assert_eq!(stats::wilcoxon(&[0.0, 0.0]), None);
}

#[test]
fn order_statistics_need_the_sizes_that_the_sources_print() {
    let has = |n: usize, p: f64| {
        let interval = quantile_interval(&numbers(n), p, CONFIDENCE);
        (interval.lo.is_some(), interval.hi.is_some())
    };
    assert_eq!((has(5, 0.5), has(6, 0.5)), ((false, false), (true, true)));
    for (p, first) in [(0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688)] {
        assert_eq!((has(first - 1, p).1, has(first, p).1), (false, true), "{p}");
    }
    // Hahn and Meeker's example form: the 95 % interval of a median of 10 is the 2nd to the 9th.
    let ten = quantile_interval(&numbers(10), 0.5, CONFIDENCE);
    assert_eq!((ten.l, ten.u, ten.lo, ten.hi), (2, 9, Some(2.0), Some(9.0)));
    near(ten.coverage, 1.0 - 22.0 / 1024.0, 1e-15);
    let none = quantile_interval(&[], 0.5, CONFIDENCE);
    assert_eq!((none.lo, none.hi, none.l, none.u), (None, None, 0, 1));
}

#[test]
fn a_tail_quantile_is_marked_below_a_hundred_values() {
    assert_eq!([99, 100, 101].map(|n| stats::is_tail(n, 0.99)), [true, false, false]);
    assert_eq!([19, 20].map(|n| stats::is_tail(n, 0.05)), [true, false]);
    assert_eq!([9, 10].map(|n| stats::is_tail(n, 0.9)), [true, false]);
}

/// The table "what an n buys": half-width of the 95 % interval, minimum detectable effect, smallest TOST margin, all in units of the sd.
#[test]
fn the_table_of_what_an_n_buys_is_reproduced() {
    for (n, half_width, detectable, margin) in [
        (3_u32, 2.27, 3.07, 2.92),
        (5, 1.46, 2.02, 2.03),
        (10, 0.94, 1.33, 1.36),
        (20, 0.64, 0.91, 0.94),
        (30, 0.52, 0.74, 0.77),
        (100, 0.28, 0.40, 0.42),
    ] {
        let df = f64::from(2 * n - 2);
        near(stats::dist::t_quantile(0.975, df) * (2.0 / f64::from(n)).sqrt(), half_width, 0.005_1);
        near(mde_d(n as usize, n as usize, TARGET_POWER, CONFIDENCE).unwrap(), detectable, 0.005_1);
        let (below, above) = (margin - 0.011, margin + 0.011);
        let power = |delta| tost_power(u64::from(n), delta, CONFIDENCE).unwrap();
        assert!(power(below) < TARGET_POWER && TARGET_POWER < power(above), "{n}: {} {}", power(below), power(above));
    }
}

#[test]
fn the_usual_sample_sizes_of_the_textbooks_come_out() {
    // Cohen's tables: 80 % power at alpha 5 %, two-sided.
    for (d, n) in [(0.2, 394), (0.5, 64), (0.8, 26), (1.0, 17), (20.0, 2)] {
        assert_eq!(n_per_arm(d, TARGET_POWER, CONFIDENCE), Some(n), "{d}");
    }
    assert_eq!(n_per_arm(0.0, TARGET_POWER, CONFIDENCE), None);
    assert_eq!(n_per_arm(1e-9, TARGET_POWER, CONFIDENCE), None);
}

#[test]
fn as_many_runs_as_it_says_decide_and_one_fewer_does_not() {
    let (a, b) = ([99.0, 100.0, 101.0, 100.0], [98.5, 100.5, 101.5, 99.5]);
    let share = stats::effect::pooled_sd(&a, &b).unwrap() / 100.0;
    for margin in [0.5, 1.0, 2.0, 10.0] {
        let n = runs_to_decide(&a, &b, margin, CONFIDENCE).unwrap();
        let power = |n| tost_power(n, margin / 100.0 / share, CONFIDENCE).unwrap();
        assert!(power(n) >= TARGET_POWER && (n == 2 || power(n - 1) < TARGET_POWER), "{margin}: {n}");
    }
}

#[test]
fn a_rate_that_rises_by_three_quarters_has_a_change_of_its_own() {
    use stats::overhead::{change_interval, change_pct};
    let overhead = stats::overhead_pct(100.0, 177.0, Direction::HigherIsBetter).unwrap();
    assert!((overhead + 43.502_824_858_757_06).abs() < 1e-12);
    assert!((change_pct(overhead, Direction::HigherIsBetter).unwrap() - 77.0).abs() < 1e-12);
    assert_eq!(change_pct(4.0, Direction::LowerIsBetter), Some(4.0));
    assert_eq!(change_pct(4.0, Direction::DifferenceOnly), None);
    let (low, high) = change_interval((-50.0, 100.0), Direction::HigherIsBetter).unwrap();
    assert!((low + 50.0).abs() < 1e-12 && (high - 100.0).abs() < 1e-12);
    assert_eq!(change_pct(-100.0, Direction::HigherIsBetter), None, "no rate is infinitely faster");
    assert_eq!(change_pct(0.0, Direction::HigherIsBetter).map(f64::is_sign_negative), Some(false));
}

#[test]
fn overhead_is_positive_when_b_costs_more() {
    assert_eq!(stats::overhead_pct(100.0, 110.0, Direction::LowerIsBetter).map(f64::round), Some(10.0));
    assert_eq!(stats::overhead_pct(110.0, 100.0, Direction::HigherIsBetter).map(f64::round), Some(10.0));
    assert_eq!(stats::overhead_pct(100.0, 150.0, Direction::Neutral), Some(50.0));
    assert_eq!(stats::overhead_pct(40.0, 60.0, Direction::DifferenceOnly), None);
    for (a, b) in [(0.0, 1.0), (1.0, 0.0), (-1.0, 2.0), (f64::NAN, 1.0)] {
        assert_eq!(stats::overhead_pct(a, b, Direction::Neutral), None);
    }
}

#[test]
fn a_denominator_that_may_be_zero_has_no_interval() {
    assert_eq!(fieller::ratio_interval(&[1.0, 2.0, 3.0], &[-1.0, 0.5, 2.0], CONFIDENCE), None);
    assert_eq!(fieller::ratio_interval(&[1.0, 2.0, 3.0], &[-1.0, 0.0, 1.0], CONFIDENCE), None);
}

#[test]
fn three_sigma_cannot_fire_up_to_ten_values() {
    let mut ten = vec![1.0; 9];
    ten.push(1e9);
    let found = stats::outliers(&ten).unwrap();
    assert!(!found.three_sigma_can_fire && found.three_sigma.is_empty());
    near(found.z_bound, 2.846, 5e-4);
    near(found.max_abs_z.unwrap(), found.z_bound, 1e-6);
    // MAD is 0: the mean distance takes over and flags it. With Tukey that makes two rules of three.
    assert_eq!((&found.modified_z[..], &found.tukey[..]), (&[9][..], &[9][..]));
    ten.push(1.0);
    let eleven = stats::outliers(&ten).unwrap();
    assert!(eleven.three_sigma_can_fire);
    assert_eq!(eleven.three_sigma, [9]);
}

#[test]
fn orders_are_told_apart() {
    let alternating: Vec<usize> = [0, 1, 1, 0].repeat(5);
    let order = stats::order(&alternating).unwrap();
    assert_eq!(
        (order.kind, order.balanced_share, order.runs, order.max_runs),
        (OrderKind::Interleaved, Some(1.0), 11, 20)
    );
    let blocked = stats::order(&blocks(&[10, 10])).unwrap();
    assert_eq!((blocked.kind, blocked.balanced_share, blocked.runs), (OrderKind::Blocked, Some(0.0), 2));
    near(blocked.p_too_few.unwrap(), 2.0 / 184_756.0, 1e-15);
    let mixed = stats::order(&[0, 0, 1, 1, 0, 1]).unwrap();
    assert_eq!((mixed.kind, mixed.runs), (OrderKind::Mixed, 4));
    let uneven = stats::order(&blocks(&[13, 10])).unwrap();
    assert_eq!((uneven.max_runs, uneven.kind), (21, OrderKind::Blocked));
    let three = stats::order(&[0, 1, 2, 2, 0, 1, 1, 0, 2]).unwrap();
    assert_eq!((three.arms, three.kind, three.p_too_few), (3, OrderKind::Interleaved, None));
    assert_eq!(stats::order(&[0, 0, 0]), None);
    assert_eq!(stats::order(&[]), None);
}

#[test]
fn pairs_are_the_balanced_windows() {
    assert_eq!(stats::balanced_pairs(&[0, 1, 1, 0, 0, 0, 1], 0, 1), [(0, 1), (3, 2)]);
    assert_eq!(stats::balanced_pairs(&[7, 3], 3, 7), [(1, 0)]);
}

#[test]
fn drift_is_allowed_for_unless_the_arms_alternate() {
    let falling = stats::drift(&numbers(10).iter().map(|x| 100.0 - x).collect::<Vec<_>>(), CONFIDENCE).unwrap();
    let steady = stats::drift(&[1.0, 3.0, 2.0, 1.5, 2.5], CONFIDENCE).unwrap();
    let allowance = |kind| stats::drift_allowance_pct(kind, [&falling, &steady]);
    assert_eq!(allowance(OrderKind::Interleaved), 0.0);
    near(allowance(OrderKind::Blocked), 900.0 / 94.5, 1e-9);
    assert_eq!(stats::drift_allowance_pct(OrderKind::Mixed, [&steady]), 0.0);
}

#[test]
fn correlated_runs_count_for_fewer() {
    let trend = stats::drift(&numbers(20), CONFIDENCE).unwrap();
    assert!(trend.autocorrelated && trend.n_eff < 3.0);
    near(trend.n_eff, 20.0 * (1.0 - trend.lag1) / (1.0 + trend.lag1), 1e-12);
    let zigzag = stats::drift(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0], CONFIDENCE).unwrap();
    assert!(zigzag.lag1 < 0.0 && !zigzag.autocorrelated);
    assert_eq!((zigzag.n_eff, zigzag.t_interval_eff), (6.0, None));
}

#[test]
fn adjusted_p_values_are_monotone_capped_and_leave_nulls_alone() {
    let p = [Some(0.01), None, Some(0.04), Some(0.03), Some(0.9)];
    assert_eq!(stats::bonferroni(&p), [Some(0.04), None, Some(0.16), Some(0.12), Some(1.0)]);
    assert_eq!(stats::holm(&p), [Some(0.04), None, Some(0.09), Some(0.09), Some(0.9)]);
    let bh = stats::benjamini_hochberg(&p);
    near(bh[0].unwrap(), 0.04, 1e-15);
    near(bh[2].unwrap(), 0.16 / 3.0, 1e-15);
    assert_eq!((bh[1], bh[2], bh[4]), (None, bh[3], Some(0.9)));
    assert!(stats::holm(&[]).is_empty());
}

#[test]
fn shapiro_of_three_values_is_exact() {
    // Evenly spaced: W = 1, p = 1. Two equal: W = 3/4, p = 0.
    let even = stats::shapiro(&[1.0, 2.0, 3.0]).unwrap();
    near(even.w, 1.0, 1e-15);
    near(even.p, 1.0, 1e-6);
    let tied = stats::shapiro(&[1.0, 1.0, 3.0]).unwrap();
    near(tied.w, 0.75, 1e-15);
    near(tied.p, 0.0, 1e-7);
    assert_eq!(stats::shapiro(&[1.0; 10]), None);
    let many: Vec<f64> = (0..5001).map(f64::from).collect();
    assert!(stats::shapiro(&many[..5000]).is_some() && stats::shapiro(&many).is_none());
}

/// NIST's certified values for its hardest univariate sets (StRD): NumAcc3 and NumAcc4.
#[test]
fn the_certified_values_of_nist_come_out() {
    for (base, digits) in [(1_000_000.2, 9), (10_000_000.2, 8)] {
        let mut values = vec![base];
        for _ in 0..500 {
            values.extend([base - 0.1, base + 0.1]);
        }
        let mean = stats::mean(&values);
        assert!((mean - base).abs() <= 1e-15 * base, "{mean}");
        // The certified sd is 0.1. The data as doubles are themselves off in the last places.
        near(stats::sd(&values).unwrap(), 0.1, 10f64.powi(-digits));
    }
}

#[test]
fn extreme_magnitudes_neither_overflow_nor_vanish() {
    let huge = [1e308, 1.5e308, 1.7e308];
    near(stats::mean(&huge) / 1.4e308, 1.0, 1e-15);
    near(stats::sd(&huge).unwrap() / 1e308, 0.360_555_127_546_398_9, 1e-12);
    let tiny = [1e-300, 2e-300, 4e-300];
    near(stats::sd(&tiny).unwrap() * 1e300, (7.0_f64 / 3.0).sqrt(), 1e-12);
    near(stats::describe(&Sample::new(tiny), CONFIDENCE).skewness.unwrap(), 0.935_219_529_582_824_5, 1e-9);
}

#[test]
fn the_median_slope_of_many_values_is_the_median_slope() {
    // Above the direct size. A saw tooth on a slope, so that the answer is not simply the trend.
    let values: Vec<f64> = (0..2500).map(|i| 0.25 * f64::from(i) + f64::from(i * 7919 % 613)).collect();
    let mut slopes: Vec<f64> = Vec::new();
    for i in 0..values.len() {
        slopes.extend((i + 1..values.len()).map(|j| (values[j] - values[i]) / (j - i) as f64));
    }
    let slopes = sorted(&slopes);
    let n = slopes.len();
    let expected = 0.5 * (slopes[(n - 1) / 2] + slopes[n / 2]);
    near(stats::sen::slope(&values), expected, 1e-9 * expected.abs());
    // Whole numbers that mostly repeat: the median is exactly zero.
    let counts: Vec<f64> = (0..3000).map(|i| if i % 11 == 0 { 5.0 } else { 4.0 }).collect();
    assert_eq!(stats::sen::slope(&counts), 0.0);
}
