//! Intervals that claim 95 % hold the truth about as often as theory says: not only that formulas were copied well.
//!
//! The full table is printed by `examples/bootstrap_coverage.rs`; here a few cells are bounded.

use sparkbench::stats::bootstrap::{Job, OneSample, Statistic, one_sample};
use sparkbench::stats::random::{Stream, job_base};

const SAMPLES: u64 = 1_000;

/// Share of exponential samples of size `n` (mean 1) for which `holds`.
fn share(n: usize, holds: impl Fn(&OneSample) -> bool) -> f64 {
    let base = job_base(42, "coverage|exponential");
    let hits = (0..SAMPLES).filter(|&i| {
        let mut stream = Stream::new(base, i);
        let values: Vec<f64> = (0..n).map(|_| -stream.uniform().ln()).collect();
        let job = Job { seed: i, key: "coverage".into(), resamples: 999, confidence: 0.95, threads: 1 };
        holds(&one_sample(&values, Statistic::Mean, &job).unwrap())
    });
    hits.count() as f64 / SAMPLES as f64
}

#[test]
fn at_two_hundred_values_every_interval_keeps_its_word() {
    // Four standard errors of a share of 1,000 at 95 % are 2.8 points; theory allows about one point below.
    let intervals: [(&str, fn(&OneSample) -> [f64; 2]); 4] = [
        ("percentile", |r| [r.percentile.lo, r.percentile.hi]),
        ("basic", |r| [r.basic.lo, r.basic.hi]),
        ("bca", |r| [r.bca.lo, r.bca.hi]),
        ("studentised", |r| r.studentised.as_ref().map_or([f64::NAN; 2], |l| [l.lo, l.hi])),
    ];
    for (name, of) in intervals {
        let covered = share(200, |r| of(r)[0] <= 1.0 && 1.0 <= of(r)[1]);
        assert!((0.912..=0.978).contains(&covered), "{name}: {covered}");
    }
}

#[test]
fn at_ten_values_plain_intervals_are_too_short_and_studentised_ones_are_not() {
    // This is why limits below twenty values carry `small_n`.
    let percentile = share(10, |r| r.percentile.lo <= 1.0 && 1.0 <= r.percentile.hi);
    let studentised = share(10, |r| r.studentised.as_ref().is_some_and(|l| l.lo <= 1.0 && 1.0 <= l.hi));
    assert!(percentile < 0.90, "percentile {percentile}");
    assert!((0.91..=0.98).contains(&studentised), "studentised {studentised}");
}
