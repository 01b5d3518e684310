//! Percentiles of requests, with intervals that know of runs.
//!
//! In:  the values of the requests of each run, a probability, a [`Job`].
//! Out: [`Hierarchical`]: the percentile of all requests, its interval, the median over runs of their own.
//! Not here: requests as if they were independent. Those of one run share a server, a temperature and a cache;
//! resampling them alone gives intervals far too narrow.
//!
//! A resample draws as many runs as there are, then in each drawn run as many requests as it has. Only order
//! counts, so the work is done in ranks of the pooled values: the drawn mixture of runs says about where the
//! percentile will fall, draws well below are counted, draws well above are ignored, the rest is kept.
//!
//! Source: Davison and Hinkley, *Bootstrap Methods* (1997), 3.8; Kalibera and Jones, ISMM (2013).

use super::bootstrap::selection::{Place, quantiles};
use super::bootstrap::sieve::{Sieve, Window};
use super::bootstrap::{FLAG_CONSTANT, Job, is_constant, parallel};
use super::random::lanes::{BLOCK, Kernel, LANES, Lanes, Rows, widest};
use super::random::{Stream, WORD_INDEX_MAX, job_base, word_index};

/// Below this many runs the flag `few_runs` is set: the spread between runs is hardly known.
pub const FEW_RUNS: usize = 5;

/// The flag for fewer than [`FEW_RUNS`] runs.
pub const FLAG_FEW_RUNS: &str = "few_runs";

/// The flag for input with a run without requests, which is left out.
pub const FLAG_EMPTY_RUN: &str = "empty_run";

/// Cuts of the pooled sample, between which a window is placed; fewer when there are very many runs.
const CUTS: usize = 1_024;

/// Table entries (cuts times runs) at most: a few MiB.
const TABLE: usize = 1 << 20;

/// Half-width of a window in standard deviations, as in `bootstrap`; misses are drawn again.
const REACH: f64 = 5.0;

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

/// The percentile at probability `p` of all requests of `runs`, with its hierarchical percentile interval.
///
/// `None` for fewer than two runs with requests (`one_run`), a value that is not finite, a `p` outside [0, 1] or
/// an unsound job. The order of runs and of requests does not matter. Time O(B x requests), at well under a
/// nanosecond a draw.
pub fn percentile(runs: &[Vec<f64>], p: f64, job: &Job) -> Option<Hierarchical> {
    let sorted = sorted_runs(runs)?;
    if sorted.len() < 2 || !job.is_sound() || !(0.0..=1.0).contains(&p) {
        return None;
    }
    let pooled = Pooled::new(&sorted)?;
    let mut flags = Vec::new();
    if sorted.len() < FEW_RUNS {
        flags.push(FLAG_FEW_RUNS);
    }
    if sorted.len() < runs.len() {
        flags.push(FLAG_EMPTY_RUN);
    }
    let mut each: Vec<f64> = sorted.iter().map(|run| Place::new(run.len(), p).of_sorted(run)).collect();
    let [median_of_runs] = quantiles(&mut each, [0.5]);
    let (requests, estimate) = (pooled.values.len(), Place::new(pooled.values.len(), p).of_sorted(&pooled.values));
    let [lo, hi] = if is_constant(&pooled.values) {
        flags.push(FLAG_CONSTANT);
        [estimate; 2]
    } else {
        quantiles(&mut draws(&pooled, p, job), job.levels())
    };
    Some(Hierarchical {
        estimate,
        lo,
        hi,
        median_of_runs,
        runs: sorted.len(),
        requests,
        resamples: job.resamples,
        flags,
    })
}

/// Runs with requests, each ascending, in an order that depends on their values only.
fn sorted_runs(runs: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    if runs.iter().flatten().any(|v| !v.is_finite()) {
        return None;
    }
    let mut sorted: Vec<Vec<f64>> = runs.iter().filter(|run| !run.is_empty()).cloned().collect();
    sorted.iter_mut().for_each(|run| run.sort_unstable_by(f64::total_cmp));
    sorted.sort_by(|a, b| {
        a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
    });
    Some(sorted)
}

/// The percentile of every resample, by number.
fn draws(pooled: &Pooled, p: f64, job: &Job) -> Vec<f64> {
    let base = job_base(job.seed, &job.key);
    let cuts = pooled.ranks.iter().all(|run| run.len() <= WORD_INDEX_MAX).then(|| Cuts::new(pooled));
    parallel::resample(job.resamples, pooled.values.len(), job.threads, |first, out| match &cuts {
        Some(cuts) => widest(Windowed { pooled, cuts, p, base, first, out, reach: REACH }),
        None => {
            out.iter_mut().enumerate().for_each(|(i, slot)| *slot = pooled.without_window(p, base, (first + i) as u64))
        }
    })
}

/// All requests in order, and where those of each run stand.
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

/// For cuts at regular ranks of the pooled sample: how many requests of each run lie below.
struct Cuts {
    runs: usize,
    /// `below[cut * runs + run]`, from the cut below everything to the cut above everything.
    below: Vec<u32>,
}

impl Cuts {
    fn new(pooled: &Pooled) -> Cuts {
        let runs = pooled.ranks.len();
        let total = pooled.values.len();
        let count = CUTS.min(TABLE / runs).clamp(1, total);
        let mut below = Vec::with_capacity((count + 1) * runs);
        for cut in 0..=count {
            let rank = (cut as u64 * total as u64 / count as u64) as u32;
            below.extend(pooled.ranks.iter().map(|run| run.partition_point(|&r| r < rank) as u32));
        }
        Cuts { runs, below }
    }

    fn last(&self) -> usize {
        self.below.len() / self.runs - 1
    }

    fn row(&self, cut: usize) -> &[u32] {
        &self.below[cut * self.runs..(cut + 1) * self.runs]
    }

    /// Expected number of draws below `cut` for the runs picked.
    fn expected(&self, cut: usize, picks: &[u32]) -> f64 {
        let row = self.row(cut);
        picks.iter().map(|&run| u64::from(row[run as usize])).sum::<u64>() as f64
    }

    /// The cuts between which order statistics `place.k` and its next of `total` draws lie, but for `reach`
    /// standard deviations. The spread of a mixture is at most that of one binomial.
    fn around(&self, place: Place, total: usize, picks: &[u32], reach: f64) -> [usize; 2] {
        let slack = |mean: f64| reach * (mean * (1.0 - mean / total as f64)).sqrt() + 1.0;
        let (mut low, mut high) = (0, self.last());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.expected(middle, picks) <= place.k as f64 { low = middle } else { high = middle }
        }
        let short = |cut: usize| self.expected(cut, picks);
        while low > 0 && short(low) + slack(short(low)) > place.k as f64 {
            low -= 1;
        }
        let needed = (place.k + 2) as f64;
        while high < self.last() && short(high) - slack(short(high)) < needed {
            high += 1;
        }
        [low, high]
    }
}

/// The words of a run of `n` requests that stand for its requests `from .. to`: how many words lie below is
/// left to the caller when there are none.
fn words(from: u32, to: u32, n: usize) -> Result<Window, AllOnOneSide> {
    let first = |m: u32| (u64::from(m) << 32).div_ceil(n as u64);
    let (lo, end) = (first(from), first(to));
    if lo == end {
        return Err(if from == 0 {
            AllOnOneSide::Above
        } else if from as usize == n {
            AllOnOneSide::Below
        } else {
            AllOnOneSide::Split(lo as u32)
        });
    }
    Ok(Window { lo: lo as u32, span: (end - lo - 1) as u32 })
}

/// A run none of whose requests lies inside the window.
enum AllOnOneSide {
    Above,
    Below,
    /// Below this word they lie below the window, the others above.
    Split(u32),
}

/// Eight resamples at a time.
struct Windowed<'a> {
    pooled: &'a Pooled,
    cuts: &'a Cuts,
    p: f64,
    base: u64,
    first: usize,
    out: &'a mut [f64],
    reach: f64,
}

/// How far one resample has come: first it picks its runs, then it draws from each in turn.
struct Progress {
    picks: Vec<u32>,
    /// The pick being drawn from, and how many of its requests are still to draw.
    at: usize,
    left: usize,
    total: usize,
    cuts: [usize; 2],
    sieve: Sieve,
}

impl Progress {
    fn new() -> Progress {
        Progress { picks: Vec::new(), at: 0, left: 0, total: 0, cuts: [0; 2], sieve: Sieve::new() }
    }

    fn restart(&mut self) {
        self.picks.clear();
        (self.at, self.left, self.total) = (0, 0, 0);
        self.sieve.clear();
    }

    fn is_done(&self, runs: usize) -> bool {
        self.picks.len() == runs && self.at == runs
    }

    /// Uses up a stretch of words.
    #[inline(always)]
    fn take(&mut self, mut row: &[u32], job: &Windowed) {
        let ranks = &job.pooled.ranks;
        let picking = row.len().min(ranks.len() - self.picks.len());
        if picking > 0 {
            self.picks.extend(row[..picking].iter().map(|&word| word_index(word, ranks.len()) as u32));
            row = &row[picking..];
            if self.picks.len() == ranks.len() {
                self.total = self.picks.iter().map(|&run| ranks[run as usize].len()).sum();
                self.left = ranks[self.picks[0] as usize].len();
                self.cuts = job.cuts.around(Place::new(self.total, job.p), self.total, &self.picks, job.reach);
            }
        }
        while !row.is_empty() && self.at < self.picks.len() {
            let run = self.picks[self.at] as usize;
            let (now, rest) = row.split_at(self.left.min(row.len()));
            self.draw(now, run, &ranks[run], job.cuts);
            row = rest;
            self.left -= now.len();
            if self.left == 0 {
                self.at += 1;
                self.left = self.picks.get(self.at).map_or(0, |&next| ranks[next as usize].len());
            }
        }
    }

    #[inline(always)]
    fn draw(&mut self, drawn: &[u32], run: usize, ranks: &[u32], cuts: &Cuts) {
        let [from, to] = self.cuts.map(|cut| cuts.row(cut)[run]);
        match words(from, to, ranks.len()) {
            Ok(window) => {
                let before = self.sieve.len;
                self.sieve.take(drawn, window);
                for word in self.sieve.kept_from(before) {
                    *word = ranks[word_index(*word, ranks.len())];
                }
            }
            Err(AllOnOneSide::Above) => {}
            Err(AllOnOneSide::Below) => self.sieve.below += drawn.len(),
            Err(AllOnOneSide::Split(at)) => self.sieve.below += drawn.iter().filter(|&&word| word < at).count(),
        }
    }
}

impl Kernel for Windowed<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let runs = self.pooled.ranks.len();
        let mut rows: Rows = [[0; BLOCK]; LANES];
        let mut progress: [Progress; LANES] = std::array::from_fn(|_| Progress::new());
        let out = std::mem::take(&mut self.out);
        for (block, out) in out.chunks_mut(LANES).enumerate() {
            let number = (self.first + block * LANES) as u64;
            let mut lanes = Lanes::new(self.base, number);
            progress.iter_mut().for_each(Progress::restart);
            while !progress.iter().all(|lane| lane.is_done(runs)) {
                lanes.fill(&mut rows, BLOCK);
                for (lane, row) in progress.iter_mut().zip(&rows) {
                    lane.take(row, &self);
                }
            }
            for (lane, (slot, progress)) in out.iter_mut().zip(&mut progress).enumerate() {
                let place = Place::new(progress.total, self.p);
                *slot = match progress.sieve.select(place.k, place.needs_next()) {
                    Some((low, high)) => self.pooled.between(place, low, high),
                    None => self.pooled.without_window(self.p, self.base, number + lane as u64),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests;
