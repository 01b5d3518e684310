//! Intervals that claim 95 % hold the truth about as often as theory says: not only that formulas were copied well.
//!
//! The full table is printed by `examples/bootstrap_coverage.rs`. Here a few cells are bounded.

use sparkbench::stats::bootstrap::{Job, Limits, Statistic, one_sample};
use sparkbench::stats::random::{Stream, job_base};

const SAMPLES: u64 = 1_000;

/// Share of exponential samples of size `n` (mean 1) held by the percentile, basic, BCa and studentised interval.
fn shares(n: usize) -> [f64; 4] {
    let base = job_base(42, "coverage|exponential");
    let mut hits = [0u32; 4];
    for i in 0..SAMPLES {
        let mut stream = Stream::new(base, i);
        let values: Vec<f64> = (0..n).map(|_| -stream.uniform().ln()).collect();
        let job = Job { seed: i, key: "coverage".into(), resamples: 999, confidence: 0.95, threads: 1 };
        let got = one_sample(&values, Statistic::Mean, &job).unwrap();
        let holds = |limits: &Limits| u32::from(limits.lo <= 1.0 && 1.0 <= limits.hi);
        hits[0] += holds(&got.percentile);
        hits[1] += holds(&got.basic);
        hits[2] += holds(&got.bca);
        hits[3] += got.studentised.as_ref().map_or(0, holds);
    }
    hits.map(|count| f64::from(count) / SAMPLES as f64)
}

#[test]
fn at_two_hundred_values_every_interval_keeps_its_word() {
    // Four standard errors of a share of 1,000 at 95 % are 2.8 points. Theory allows about one point below.
    let shares = shares(200);
    assert!(shares.iter().all(|share| (0.912..=0.978).contains(share)), "{shares:?}");
}

#[test]
fn at_ten_values_plain_intervals_are_too_short_and_studentised_ones_are_not() {
    // This is why limits below twenty values carry `small_n`.
    let [percentile, basic, bca, studentised] = shares(10);
    assert!([percentile, basic, bca].iter().all(|&share| share < 0.90), "{percentile} {basic} {bca}");
    assert!((0.91..=0.98).contains(&studentised), "{studentised}");
}
