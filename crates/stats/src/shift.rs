//! The shift function: by how much two distributions of requests lie apart, decile by decile.
//!
//! In:  the values of the requests of each run of two arms, and a [`Job`].
//! Out: [`Shift`]: deciles of both arms, their differences B minus A, an interval each and a band for all of them.
//! Not here: verdicts. A shift function shows where a difference of means comes from and decides nothing.
//!
//! A resample draws runs, then requests within the drawn runs, as in `hierarchical`, because requests of one run are no replicates. Both
//! arms are resampled independently. The interval of a decile is the percentile interval of its difference. Nine intervals miss more often
//! than one. So a band also holds all nine at once with the stated confidence. It is the estimate plus and minus c standard errors. c is the
//! quantile of the largest of the nine deviations of a resample.
//!
//! Source: Doksum, *Ann. Stat.* 2 (1974). Wilcox, *Introduction to Robust Estimation* (2012), 5.1.
//! Montiel Olea and Plagborg-Møller, *J. Appl. Econometrics* 34 (2019), for the band.

use super::bootstrap::Job;
use super::bootstrap::selection::quantiles;
use super::hierarchical::{self, FEW_RUNS, FLAG_FEW_RUNS};

/// Probabilities at which two arms are compared.
pub const DECILES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// The flag for an arm with one run: nothing is known of the spread between runs.
pub(crate) const FLAG_ONE_RUN: &str = "one_run";

/// One decile of two arms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decile {
    /// Probability, of [`DECILES`].
    pub p: f64,
    /// Type-7 quantile of all requests of arm A.
    pub a: f64,
    /// The same of arm B.
    pub b: f64,
    /// B minus A.
    pub difference: f64,
    /// Percentile interval of the difference.
    pub interval: Option<(f64, f64)>,
    /// Limits that hold for all deciles at once.
    pub band: Option<(f64, f64)>,
}

/// Deciles of two arms and their differences.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// One for each of [`DECILES`].
    pub deciles: Vec<Decile>,
    /// Runs with requests in A and in B.
    pub runs: (usize, usize),
    /// Requests in A and in B.
    pub requests: (usize, usize),
    /// Resamples behind the intervals. Absent without intervals.
    pub resamples: Option<usize>,
    /// `one_run`, `few_runs`.
    pub flags: Vec<&'static str>,
}

/// The shift from the requests of `a` to those of `b`, run by run.
///
/// `None` when an arm has no request or a value is not finite. Without intervals (`one_run`) when an arm has one run, and without when the
/// job is unsound or has no resamples. Time O(resamples x requests), at about one and a half nanoseconds a draw.
pub fn shift<R: AsRef<[f64]>>(a: &[R], b: &[R], job: &Job) -> Option<Shift> {
    let ((deciles_a, requests_a), (deciles_b, requests_b)) = (pooled(a)?, pooled(b)?);
    let with_requests = |runs: &[R]| runs.iter().filter(|run| !run.as_ref().is_empty()).count();
    let runs = (with_requests(a), with_requests(b));
    let mut flags = Vec::new();
    match runs.0.min(runs.1) {
        1 => flags.push(FLAG_ONE_RUN),
        n if n < FEW_RUNS => flags.push(FLAG_FEW_RUNS),
        _ => {}
    }
    let decile = |((p, a), b): ((f64, f64), f64)| Decile { p, a, b, difference: b - a, interval: None, band: None };
    let mut deciles: Vec<Decile> = DECILES.into_iter().zip(deciles_a).zip(deciles_b).map(decile).collect();
    let drawn = differences(a, b, job);
    if let Some(drawn) = &drawn {
        limits(&mut deciles, drawn, job);
    }
    let resamples = drawn.map(|_| job.resamples);
    Some(Shift { deciles, runs, requests: (requests_a, requests_b), resamples, flags })
}

/// Deciles of all requests of an arm, and how many these are.
fn pooled<R: AsRef<[f64]>>(runs: &[R]) -> Option<([f64; DECILES.len()], usize)> {
    let mut all: Vec<f64> = Vec::with_capacity(runs.iter().map(|run| run.as_ref().len()).sum());
    runs.iter().for_each(|run| all.extend_from_slice(run.as_ref()));
    if all.is_empty() || all.iter().any(|v| !v.is_finite()) {
        return None;
    }
    Some((quantiles(&mut all, DECILES), all.len()))
}

/// For each decile the difference of every resample, by number.
fn differences<R: AsRef<[f64]>>(a: &[R], b: &[R], job: &Job) -> Option<Vec<Vec<f64>>> {
    let arm = |runs: &[R], end: &str| {
        hierarchical::percentile_draws(runs, &DECILES, &Job { key: format!("{}{end}", job.key), ..job.clone() })
    };
    let (a, b) = (arm(a, "#A")?, arm(b, "#B")?);
    Some(a.into_iter().zip(b).map(|(a, b)| a.into_iter().zip(b).map(|(a, b)| b - a).collect()).collect())
}

/// Interval of every decile, and the band of all.
fn limits(deciles: &mut [Decile], drawn: &[Vec<f64>], job: &Job) {
    let errors: Vec<f64> = drawn.iter().map(|draws| super::sd(draws).unwrap_or(0.0)).collect();
    let furthest = |resample: usize| {
        let apart = deciles.iter().zip(drawn).zip(&errors).filter(|(_, error)| **error > 0.0);
        apart.map(|((decile, draws), error)| (draws[resample] - decile.difference).abs() / error).fold(0.0, f64::max)
    };
    let mut largest: Vec<f64> = (0..job.resamples).map(furthest).collect();
    let [c] = quantiles(&mut largest, [job.confidence]);
    for ((decile, draws), error) in deciles.iter_mut().zip(drawn).zip(&errors) {
        let [low, high] = quantiles(&mut draws.clone(), job.levels());
        decile.interval = Some((low, high));
        // The intervals may lean to one side, the band does not: where an interval reaches further, the band goes with it.
        let (from, to) = (decile.difference - c * error, decile.difference + c * error);
        decile.band = Some((from.min(low), to.max(high)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(resamples: usize) -> Job {
        Job { seed: 42, key: "m|ttft_ms|a~b|shift".into(), resamples, confidence: 0.95, threads: 1 }
    }

    /// Runs of one hundred requests, whose levels differ by run.
    fn arm(level: f64, runs: usize) -> Vec<Vec<f64>> {
        (0..runs).map(|r| (0..=100).map(|k| level + r as f64 / 10.0 + f64::from((k * 37) % 101)).collect()).collect()
    }

    #[test]
    fn deciles_of_one_to_a_hundred_and_one_are_known() {
        let shift = shift(&arm(0.0, 1), &arm(5.0, 1), &job(200)).unwrap();
        let at: Vec<f64> = shift.deciles.iter().map(|d| d.a).collect();
        assert_eq!(at, [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
        assert!(shift.deciles.iter().all(|d| (d.difference - 5.0).abs() < 1e-12));
        // One run for each arm says nothing of the spread between runs.
        assert_eq!((shift.resamples, &shift.flags[..]), (None, &[FLAG_ONE_RUN][..]));
        assert!(shift.deciles.iter().all(|d| d.interval.is_none() && d.band.is_none()));
    }

    #[test]
    fn a_shift_is_found_at_every_decile_and_the_band_holds_the_intervals_middle() {
        let shift = shift(&arm(0.0, 8), &arm(20.0, 8), &job(500)).unwrap();
        for d in &shift.deciles {
            let ((low, high), (from, to)) = (d.interval.unwrap(), d.band.unwrap());
            assert!(low <= d.difference && d.difference <= high, "{d:?}");
            assert!(from < d.difference && d.difference < to && from > 0.0, "{d:?}");
            // A band for nine is never narrower than an interval for one.
            assert!(from <= low && high <= to, "{d:?}");
        }
        assert_eq!((shift.runs, shift.requests, shift.resamples), ((8, 8), (808, 808), Some(500)));
    }

    #[test]
    fn a_change_of_the_slow_requests_alone_shows_in_the_upper_deciles_alone() {
        let a = arm(0.0, 6);
        let b: Vec<Vec<f64>> =
            a.iter().map(|run| run.iter().map(|v| if *v > 75.0 { v + 50.0 } else { *v }).collect()).collect();
        let shift = shift(&a, &b, &job(500)).unwrap();
        assert!(shift.deciles[..6].iter().all(|d| d.difference.abs() < 1e-9), "{:?}", shift.deciles);
        assert!(shift.deciles[8].band.unwrap().0 > 0.0, "{:?}", shift.deciles[8]);
    }

    #[test]
    fn neither_the_order_of_runs_nor_of_requests_matters_and_swapping_arms_turns_the_sign() {
        let (a, b) = (arm(0.0, 5), arm(3.0, 4));
        let mut turned = a.clone();
        turned.reverse();
        turned.iter_mut().for_each(|run| run.reverse());
        assert_eq!(shift(&a, &b, &job(200)), shift(&turned, &b, &job(200)));
        let (one, other) = (shift(&a, &b, &job(200)).unwrap(), shift(&b, &a, &job(200)).unwrap());
        assert!(one.deciles.iter().zip(&other.deciles).all(|(x, y)| x.difference == -y.difference));
        assert_eq!(one.flags, [FLAG_FEW_RUNS]);
    }

    #[test]
    fn constant_requests_give_the_point_and_nothing_gives_nothing() {
        let flat = |v: f64| vec![vec![v; 20]; 5];
        let shift_of = shift(&flat(2.0), &flat(3.0), &job(99)).unwrap();
        assert!(shift_of.deciles.iter().all(|d| d.interval == Some((1.0, 1.0)) && d.band == Some((1.0, 1.0))));
        assert_eq!(shift::<Vec<f64>>(&[], &flat(1.0), &job(99)), None);
        assert_eq!(shift(&[Vec::new()], &flat(1.0), &job(99)), None);
        assert_eq!(shift(&[vec![f64::NAN]], &flat(1.0), &job(99)), None);
    }
}
