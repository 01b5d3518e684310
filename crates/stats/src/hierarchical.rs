//! Percentiles of requests, with intervals that respect the grouping into runs.
//!
//! In:  the values of the requests of each run, one or several probabilities, a [`Job`].
//! Out: for each a [`Hierarchical`]: the percentile of all requests, its interval, the median of the runs' own percentiles.
//! Not here: requests as if they were independent. Those of one run share a server, a temperature and a cache, so resampling them alone
//! gives intervals far too narrow.
//!
//! A resample draws as many runs as there are, then in each drawn run as many requests as it has. Only order counts, so the work is done in
//! ranks of the pooled values. The drawn mixture of runs predicts about where the percentile will fall. Draws well below are counted, draws
//! well above are ignored, and the rest is counted by rank. Drawing costs more than counting, so several percentiles of one job come from
//! the same resamples.
//!
//! Source: Davison and Hinkley, *Bootstrap Methods* (1997), 3.8. Kalibera and Jones, ISMM (2013).

mod sieve;
mod windowed;

use super::bootstrap::selection::{Place, quantiles};
use super::bootstrap::{FLAG_CONSTANT, Job, is_constant, parallel};
use super::quantile::is_supported;
use super::random::lanes::widest;
use super::random::{Stream, WORD_INDEX_MAX, job_base};
use windowed::{Cuts, REACH, Windowed};

/// Below this many runs the flag `few_runs` is set: the spread between runs is hardly known.
pub const FEW_RUNS: usize = 5;

/// Fewest runs that are resampled for an interval that is shown: with fewer the spread between them is drawn from too few.
pub const LEAST_RESAMPLED: usize = 10;

/// The flag for fewer than [`FEW_RUNS`] runs.
pub const FLAG_FEW_RUNS: &str = "few_runs";

/// The flag for input with a run without requests, which is left out.
pub const FLAG_EMPTY_RUN: &str = "empty_run";

/// Percentiles that are looked for in one pass over the draws. More take several passes.
const TOGETHER: usize = 3;

/// A percentile over the requests of several runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Hierarchical {
    /// Type-7 percentile of all requests.
    pub estimate: f64,
    /// Lower percentile limit.
    pub lo: f64,
    /// Upper percentile limit.
    pub hi: f64,
    /// Median over runs of the percentile of each.
    pub median_of_runs: f64,
    /// Number of runs with requests.
    pub runs: usize,
    /// Number of requests.
    pub requests: usize,
    /// Number of resamples.
    pub resamples: usize,
    /// `few_runs`, `empty_run`, `constant`.
    pub flags: Vec<&'static str>,
}

/// The percentiles at probabilities `ps`, in that order, of all requests of `runs`, with their hierarchical
/// percentile intervals, all from the same resamples. Each is what it would be alone under the same job.
///
/// `None` for fewer than two runs with requests (`one_run`), a value that is not finite, a probability outside
/// [0, 1] or an unsound job. The order of runs and of requests does not matter. Time O(B x requests), at about
/// half a nanosecond a draw, once for every three probabilities.
pub fn percentiles<R: AsRef<[f64]>>(runs: &[R], ps: &[f64], job: &Job) -> Option<Vec<Hierarchical>> {
    let sorted = sorted_runs(runs, ps, job)?;
    let pooled = Pooled::new(&sorted)?;
    let requests = pooled.values.len();
    let mut flags = Vec::new();
    if sorted.len() < FEW_RUNS {
        flags.push(FLAG_FEW_RUNS);
    }
    if sorted.len() < runs.len() {
        flags.push(FLAG_EMPTY_RUN);
    }
    let is_constant = is_constant(&pooled.values);
    if is_constant {
        flags.push(FLAG_CONSTANT);
    }
    let mut drawn = if is_constant { Vec::new() } else { draws(&pooled, ps, job) }.into_iter();
    let about = |&p: &f64| {
        let mut each: Vec<f64> = sorted.iter().map(|run| Place::new(run.len(), p).of_sorted(run)).collect();
        let [median_of_runs] = quantiles(&mut each, [0.5]);
        let estimate = Place::new(requests, p).of_sorted(&pooled.values);
        let [lo, hi] = drawn.next().map_or([estimate; 2], |mut draws| quantiles(&mut draws, job.levels()));
        Hierarchical {
            estimate,
            lo,
            hi,
            median_of_runs,
            runs: sorted.len(),
            requests,
            resamples: job.resamples,
            flags: flags.clone(),
        }
    };
    Some(ps.iter().map(about).collect())
}

/// What a percentile of several runs estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimand {
    /// The percentile of all requests.
    AllRequests,
    /// The mean over runs of each run's own percentile, which is not that of all requests.
    MeanOfRuns,
}

impl Estimand {
    /// As scripts read it.
    pub fn word(self) -> &'static str {
        match self {
            Self::AllRequests => "all-requests",
            Self::MeanOfRuns => "mean-of-runs",
        }
    }

    /// Which of the two has an interval, by the requests of each run: that of all requests from [`LEAST_RESAMPLED`] runs on, the mean of the
    /// runs' own where there are fewer. `None` where the percentile is not supported (see [`is_supported`]).
    pub fn of(requests: &[usize], p: f64) -> Option<Self> {
        if requests.len() >= LEAST_RESAMPLED {
            return is_supported(requests.iter().sum(), p).then_some(Self::AllRequests);
        }
        let each = requests.len() > 1 && requests.iter().all(|n| is_supported(*n, p));
        each.then_some(Self::MeanOfRuns)
    }
}

/// For each of `ps` the percentile of every resample, by number: the draws behind [`percentiles`], for statistics that
/// combine several. `None` as there.
pub(crate) fn percentile_draws<R: AsRef<[f64]>>(runs: &[R], ps: &[f64], job: &Job) -> Option<Vec<Vec<f64>>> {
    let sorted = sorted_runs(runs, ps, job)?;
    let pooled = Pooled::new(&sorted)?;
    if is_constant(&pooled.values) {
        return Some(vec![vec![pooled.values[0]; job.resamples]; ps.len()]);
    }
    Some(draws(&pooled, ps, job))
}

/// Runs with requests, each ascending, in an order that depends on their values only. `None` for what cannot be resampled.
fn sorted_runs<R: AsRef<[f64]>>(runs: &[R], ps: &[f64], job: &Job) -> Option<Vec<Vec<f64>>> {
    let runs: Vec<&[f64]> = runs.iter().map(AsRef::as_ref).filter(|run| !run.is_empty()).collect();
    let is_sound = runs.len() >= 2 && job.is_sound() && ps.iter().all(|p| (0.0..=1.0).contains(p));
    if !is_sound || runs.iter().copied().flatten().any(|v| !v.is_finite()) {
        return None;
    }
    let mut sorted: Vec<Vec<f64>> = runs.into_iter().map(<[f64]>::to_vec).collect();
    sorted.iter_mut().for_each(|run| run.sort_unstable_by(f64::total_cmp));
    sorted.sort_by(|a, b| {
        a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
    });
    Some(sorted)
}

/// For each of `ps` the percentile of every resample, by number.
fn draws(pooled: &Pooled, ps: &[f64], job: &Job) -> Vec<Vec<f64>> {
    let cuts = pooled.ranks.iter().all(|run| run.len() <= WORD_INDEX_MAX).then(|| Cuts::new(pooled));
    let mut ascending: Vec<usize> = (0..ps.len()).collect();
    ascending.sort_by(|&a, &b| ps[a].total_cmp(&ps[b]));
    let mut drawn = vec![Vec::new(); ps.len()];
    for together in ascending.chunks(TOGETHER) {
        if let &[only] = together {
            drawn[only] = draws_of(pooled, cuts.as_ref(), [ps[only]], job).into_iter().map(|[draw]| draw).collect();
        } else {
            // Two are three, of which the last is there twice: its windows are one.
            let places: [usize; TOGETHER] = std::array::from_fn(|j| together[j.min(together.len() - 1)]);
            let all = draws_of(pooled, cuts.as_ref(), places.map(|place| ps[place]), job);
            for (j, &place) in together.iter().enumerate() {
                drawn[place] = all.iter().map(|draws| draws[j]).collect();
            }
        }
    }
    drawn
}

/// The percentiles at `ps`, ascending, of every resample, by number.
fn draws_of<const N: usize>(pooled: &Pooled, cuts: Option<&Cuts>, ps: [f64; N], job: &Job) -> Vec<[f64; N]>
where
    [f64; N]: Default,
{
    let base = job_base(job.seed, &job.key);
    parallel::resample(job.resamples, pooled.values.len(), job.threads, |first, out| match cuts {
        Some(cuts) => widest(Windowed { pooled, cuts, ps, base, first, out, reach: REACH }),
        None => out
            .iter_mut()
            .enumerate()
            .for_each(|(i, slots)| *slots = ps.map(|p| pooled.without_window(p, base, (first + i) as u64))),
    })
}

/// All requests in order, and the range of each run.
struct Pooled {
    values: Vec<f64>,
    /// For each run the ascending ranks of its requests among all.
    ranks: Vec<Vec<u32>>,
}

impl Pooled {
    /// `None` for more requests than 32 bits can number.
    fn new(runs: &[Vec<f64>]) -> Option<Pooled> {
        let mut all: Vec<(f64, usize)> =
            runs.iter().enumerate().flat_map(|(r, run)| run.iter().map(move |&v| (v, r))).collect();
        u32::try_from(all.len()).ok()?;
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut ranks: Vec<Vec<u32>> = runs.iter().map(|run| Vec::with_capacity(run.len())).collect();
        for (rank, &(_, run)) in all.iter().enumerate() {
            ranks[run].push(rank as u32);
        }
        Some(Pooled { values: all.into_iter().map(|(value, _)| value).collect(), ranks })
    }

    /// One resample in plain order: for runs above a million requests and for the few that miss their window.
    #[cold]
    fn without_window(&self, p: f64, base: u64, b: u64) -> f64 {
        let mut stream = Stream::new(base, b);
        let picks: Vec<usize> = self.ranks.iter().map(|_| stream.index(self.ranks.len())).collect();
        let mut drawn: Vec<u32> = Vec::new();
        for pick in picks {
            let run = &self.ranks[pick];
            drawn.extend(run.iter().map(|_| run[stream.index(run.len())]));
        }
        let place = Place::new(drawn.len(), p);
        let (_, &mut low, above) = drawn.select_nth_unstable(place.k);
        let high = if place.needs_next() { above.iter().copied().min().unwrap_or(low) } else { low };
        self.between(place, low, high)
    }

    fn between(&self, place: Place, low: u32, high: u32) -> f64 {
        place.between(self.values[low as usize], self.values[high as usize])
    }
}

#[cfg(test)]
mod tests;
