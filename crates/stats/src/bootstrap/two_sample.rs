//! Bootstrap intervals of a difference or a ratio of two means.
//!
//! In:  finite values of a baseline and of a candidate, what to compare, a [`Job`].
//! Out: [`TwoSampleResult`], candidate against baseline.
//! Not here: tests (`permutation`), ratio intervals that need no resampling.
//!
//! The arms are resampled independently, from streams whose keys end in `#A` and `#B`.

use super::jackknife::{LeftOut, acceleration, left_out_means};
use super::limits::{Centre, Three, points, three};
use super::means::means;
use super::one_sample::rounding;
use super::{FLAG_CONSTANT, FLAG_NONPOSITIVE, FLAG_SMALL_N, Job, Limits, SMALL_N, is_constant, sorted_sample};
use crate::overhead::{Direction, overhead_pct};
use crate::random::job_base;
use crate::sample;

/// The compared sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TwoSample {
    /// Mean of the candidate minus mean of the baseline, in the unit of the values.
    Difference,
    /// Overhead in per cent, positive when the candidate costs more (`overhead::overhead_pct`).
    OverheadPct(Direction),
}

/// A comparison of two means with its intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoSampleResult {
    /// The comparison of the samples themselves.
    pub estimate: f64,
    /// Number of values of the baseline.
    pub n_a: usize,
    /// Number of values of the candidate.
    pub n_b: usize,
    /// Number of resamples.
    pub resamples: usize,
    /// Quantiles of the resampled comparison.
    pub percentile: Limits,
    /// The percentile limits mirrored at the estimate.
    pub basic: Limits,
    /// Bias-corrected and accelerated limits. The jackknife runs over both arms.
    pub bca: Limits,
}

/// Intervals of `comparison` between baseline `a` and candidate `b`.
///
/// `None` for fewer than two values an arm, a value that is not finite, or an unsound job. Also for a per cent comparison with a mean that
/// is not positive or of a metric that has no per cent. A resample whose denominator is not positive counts as infinitely large, so a ratio
/// that is not bounded away from infinity shows it. Flag `nonpositive_resample`. Time O((n_a + n_b) B).
pub fn two_sample(a: &[f64], b: &[f64], comparison: TwoSample, job: &Job) -> Option<TwoSampleResult> {
    let a = Arm::new(a, job, "#A")?;
    let b = Arm::new(b, job, "#B")?;
    let estimate = match comparison {
        TwoSample::Difference => b.mean - a.mean,
        TwoSample::OverheadPct(direction) => overhead_pct(a.mean, b.mean, direction)?,
    };
    let mut flags = Vec::new();
    if a.sorted.len().min(b.sorted.len()) < SMALL_N {
        flags.push(FLAG_SMALL_N);
    }
    let limits = if is_constant(&a.sorted) && is_constant(&b.sorted) {
        flags.push(FLAG_CONSTANT);
        points(estimate, &flags)
    } else {
        let mut draws: Vec<f64> =
            a.draw(job).into_iter().zip(b.draw(job)).map(|(a, b)| compare(comparison, a, b)).collect();
        if draws.iter().any(|d| d.is_infinite()) {
            flags.push(FLAG_NONPOSITIVE);
        }
        let tie = match comparison {
            TwoSample::Difference => a.rounding + b.rounding,
            TwoSample::OverheadPct(_) => (estimate + 100.0) * (a.rounding / a.mean + b.rounding / b.mean),
        };
        let left_out_a: Vec<LeftOut> =
            left_out_means(&a.sorted, a.mean).map(|a| (compare(comparison, a, b.mean), 1)).collect();
        let left_out_b: Vec<LeftOut> =
            left_out_means(&b.sorted, b.mean).map(|b| (compare(comparison, a.mean, b), 1)).collect();
        let centre = Centre { estimate, tie, acceleration: acceleration(&[left_out_a, left_out_b]) };
        three(&mut draws, &centre, job, &flags)
    };
    let Three { percentile, basic, bca } = limits;
    let (n_a, n_b) = (a.sorted.len(), b.sorted.len());
    Some(TwoSampleResult { estimate, n_a, n_b, resamples: job.resamples, percentile, basic, bca })
}

/// One side of the comparison.
struct Arm {
    sorted: Vec<f64>,
    mean: f64,
    rounding: f64,
    base: u64,
}

impl Arm {
    fn new(values: &[f64], job: &Job, suffix: &str) -> Option<Arm> {
        let sorted = sorted_sample(values).filter(|_| job.is_sound())?;
        let mean = if is_constant(&sorted) { sorted[0] } else { sample::mean(&sorted) };
        Some(Arm {
            mean,
            rounding: rounding(&sorted),
            base: job_base(job.seed, &format!("{}{suffix}", job.key)),
            sorted,
        })
    }

    fn draw(&self, job: &Job) -> Vec<f64> {
        if is_constant(&self.sorted) {
            return vec![self.mean; job.resamples];
        }
        means(&self.sorted, self.base, job.resamples, job.threads)
    }
}

/// The comparison of two means. Infinite where a ratio's denominator is not positive.
fn compare(comparison: TwoSample, a: f64, b: f64) -> f64 {
    let direction = match comparison {
        TwoSample::Difference => return b - a,
        TwoSample::OverheadPct(direction) => direction,
    };
    let (over, under) = if direction == Direction::HigherIsBetter { (a, b) } else { (b, a) };
    if under > 0.0 { 100.0 * (over / under - 1.0) } else { f64::INFINITY }
}
