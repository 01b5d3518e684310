//! Bootstrap intervals of a mean or a quantile of one sample.
//!
//! In:  finite values, one per run, in any order, a statistic, a [`Job`].
//! Out: [`OneSample`]: the estimate with percentile, basic, BCa and, for a mean, studentised limits.
//! Not here: comparisons (`two_sample`), exact intervals of quantiles from order statistics.

use super::jackknife::{acceleration, left_out_means, left_out_quantiles};
use super::limits::{Centre, Three, points, three};
use super::means::{Moments, moments};
use super::quantiles::index_quantiles;
use super::selection::{Place, quantiles};
use super::{FLAG_CONSTANT, FLAG_RANK, FLAG_SMALL_N, Job, Limits, SMALL_N, is_constant, sorted_sample};
use crate::random::job_base;
use crate::rank::{RANK_ABOVE, rank_quantiles};
use crate::sample;

/// A studentised interval is not given when more than this share of the resamples has no spread.
const SPREADLESS_SHARE: f64 = 0.01;

/// What is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The type-7 quantile at 0.5.
    Median,
    /// The type-7 quantile at 0.95.
    P95,
    /// The type-7 quantile at 0.99.
    P99,
}

impl Statistic {
    /// All of them, in the order of reports.
    #[cfg(test)]
    pub const ALL: [Statistic; 4] = [Statistic::Mean, Statistic::Median, Statistic::P95, Statistic::P99];

    /// The probability of a quantile. `None` for the mean.
    pub fn probability(self) -> Option<f64> {
        match self {
            Statistic::Mean => None,
            Statistic::Median => Some(0.5),
            Statistic::P95 => Some(0.95),
            Statistic::P99 => Some(0.99),
        }
    }
}

/// How resamples were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draws {
    /// Every index of every resample was drawn.
    Index,
    /// The order statistics were generated directly (see `rank`).
    Rank,
}

/// A statistic of one sample with its intervals, all in the unit of the values.
#[derive(Debug, Clone, PartialEq)]
pub struct OneSample {
    /// The statistic of the sample itself.
    pub estimate: f64,
    /// Number of values.
    pub n: usize,
    /// Number of resamples.
    pub resamples: usize,
    /// How the resamples were made.
    pub draws: Draws,
    /// Quantiles of the resampled statistic.
    pub percentile: Limits,
    /// The percentile limits mirrored at the estimate.
    pub basic: Limits,
    /// Bias-corrected and accelerated limits.
    pub bca: Limits,
    /// Studentised limits. Means only, and absent when over 1 % of the resamples have no spread.
    pub studentised: Option<Limits>,
}

/// Intervals of `statistic` over `values`, quantiles of more than 200 values by ranks.
///
/// `None` for fewer than two values, a value that is not finite, or a job without resamples or with a confidence
/// outside (0, 1). Equal values give the point, flag `constant`. Time O(n B) for means, O(n log n + B) by ranks.
pub fn one_sample(values: &[f64], statistic: Statistic, job: &Job) -> Option<OneSample> {
    let by_rank = statistic != Statistic::Mean && values.len() > RANK_ABOVE;
    one_sample_by(values, statistic, job, if by_rank { Draws::Rank } else { Draws::Index })
}

/// Like [`one_sample`], with the way of drawing chosen by the caller. Means are always drawn by index.
pub fn one_sample_by(values: &[f64], statistic: Statistic, job: &Job, draws: Draws) -> Option<OneSample> {
    let sorted = sorted_sample(values).filter(|_| job.is_sound())?;
    let mut flags = Vec::new();
    if sorted.len() < SMALL_N {
        flags.push(FLAG_SMALL_N);
    }
    if is_constant(&sorted) {
        flags.push(FLAG_CONSTANT);
        let at = sorted[0];
        let studentised = statistic.probability().is_none().then(|| Limits::point("studentised", at, &flags));
        return Some(assemble(&sorted, job, Draws::Index, at, points(at, &flags), studentised));
    }
    Some(match statistic.probability() {
        None => mean(&sorted, job, &flags),
        Some(p) => quantile(&sorted, p, job, draws, flags),
    })
}

fn mean(sorted: &[f64], job: &Job, flags: &[&'static str]) -> OneSample {
    let estimate = sample::mean(sorted);
    let resampled = moments(sorted, estimate, job_base(job.seed, &job.key), job.resamples, job.threads);
    let studentised = studentised(sorted, estimate, &resampled, job, flags);
    let left_out = left_out_means(sorted, estimate).map(|value| (value, 1)).collect();
    let centre = Centre { estimate, tie: rounding(sorted), acceleration: acceleration(&[left_out]) };
    let mut draws: Vec<f64> = resampled.iter().map(|m| m.mean).collect();
    let limits = three(&mut draws, &centre, job, flags);
    assemble(sorted, job, Draws::Index, estimate, limits, studentised)
}

fn quantile(sorted: &[f64], p: f64, job: &Job, draws: Draws, mut flags: Vec<&'static str>) -> OneSample {
    let place = Place::new(sorted.len(), p);
    let base = job_base(job.seed, &job.key);
    let mut resampled = match draws {
        Draws::Index => index_quantiles(sorted, place, base, job.resamples, job.threads),
        Draws::Rank => {
            flags.push(FLAG_RANK);
            rank_quantiles(sorted, place, base, job.resamples, job.threads)
        }
    };
    let estimate = place.of_sorted(sorted);
    let centre = Centre { estimate, tie: 0.0, acceleration: acceleration(&[left_out_quantiles(sorted, p)]) };
    let limits = three(&mut resampled, &centre, job, &flags);
    assemble(sorted, job, draws, estimate, limits, None)
}

/// Limits `m - t*(1-a/2) se` and `m - t*(a/2) se`. Resamples without spread are left out.
fn studentised(sorted: &[f64], mean: f64, resampled: &[Moments], job: &Job, flags: &[&'static str]) -> Option<Limits> {
    let root_n = (sorted.len() as f64).sqrt();
    let mut t: Vec<f64> = resampled.iter().filter(|m| m.sd > 0.0).map(|m| (m.mean - mean) / (m.sd / root_n)).collect();
    let spreadless = resampled.len() - t.len();
    if t.is_empty() || spreadless as f64 > SPREADLESS_SHARE * resampled.len() as f64 {
        return None;
    }
    let squares: f64 = sorted.iter().map(|value| (value - mean) * (value - mean)).sum();
    let se = (squares / (sorted.len() - 1) as f64).sqrt() / root_n;
    let [low, high] = quantiles(&mut t, job.levels());
    Some(Limits::new("studentised", [mean - high * se, mean - low * se], flags))
}

/// Bound for the effect of rounding on the mean of a resample. Four chains of n/4 additions and a division each round by at most half a unit
/// in the last place of the largest value.
pub(crate) fn rounding(sorted: &[f64]) -> f64 {
    let largest = sorted.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    (sorted.len() as f64 / 4.0 + 4.0) * f64::EPSILON * largest
}

fn assemble(
    sorted: &[f64],
    job: &Job,
    draws: Draws,
    estimate: f64,
    limits: Three,
    studentised: Option<Limits>,
) -> OneSample {
    let Three { percentile, basic, bca } = limits;
    OneSample { estimate, n: sorted.len(), resamples: job.resamples, draws, percentile, basic, bca, studentised }
}
