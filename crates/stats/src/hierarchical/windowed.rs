//! Resamples of pooled requests, eight at a time, with a window about where each percentile must fall.
//!
//! In:  the pooled ranks of each run, a few probabilities, the base of a job.
//! Out: these percentiles of each resample, by number, the bits of the plain loop.
//! Not here: the plain loop itself ([`Pooled::without_window`]), counting (`sieve`), intervals.

use super::Pooled;
use super::sieve::{Slots, WindowShare, WindowSieve};
use crate::bootstrap::selection::Place;
use crate::random::lanes::{BLOCK, Kernel, LANES, Lanes, Rows};
use crate::random::word_index;

/// Cuts of the pooled sample, between which a window is placed. Fewer when there are very many runs.
const CUTS: usize = 1_024;

/// Table entries (cuts times runs) at most: a few MiB.
const TABLE: usize = 1 << 20;

/// Half-width of a window in standard deviations. At most about six resamples in 100,000 miss one and are drawn
/// again without, so the width is a matter of speed only.
pub(super) const REACH: f64 = 4.0;

/// For cuts at regular ranks of the pooled sample: what of each run lies below.
pub(super) struct Cuts {
    runs: usize,
    /// The rank of each cut, from the cut below everything to the cut above everything.
    ranks: Vec<u32>,
    /// `below[cut * runs + run]`: how many requests of the run.
    below: Vec<u32>,
    /// In the same order: the first word that stands for a request of the run above the cut, `1 << 32` if none does.
    words: Vec<u64>,
}

impl Cuts {
    pub(super) fn new(pooled: &Pooled) -> Cuts {
        let runs = pooled.ranks.len();
        let total = pooled.values.len();
        let count = CUTS.min(TABLE / runs).clamp(1, total);
        let ranks: Vec<u32> = (0..=count).map(|cut| (cut as u64 * total as u64 / count as u64) as u32).collect();
        let mut below = Vec::with_capacity((count + 1) * runs);
        let mut words = Vec::with_capacity((count + 1) * runs);
        for &rank in &ranks {
            for run in &pooled.ranks {
                let m = run.partition_point(|&r| r < rank);
                below.push(m as u32);
                // The first word whose index is m: word * n >= m * 2^32.
                words.push(((m as u64) << 32).div_ceil(run.len() as u64));
            }
        }
        Cuts { runs, ranks, below, words }
    }

    fn last(&self) -> usize {
        self.ranks.len() - 1
    }

    /// Expected number of draws below `cut` for the runs picked.
    fn expected(&self, cut: usize, picks: &[u32]) -> f64 {
        let row = &self.below[cut * self.runs..(cut + 1) * self.runs];
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
        let too_high = |mean: f64| mean + slack(mean) > place.k as f64;
        while low > 0 && too_high(self.expected(low, picks)) {
            low -= 1;
        }
        let too_low = |mean: f64| mean - slack(mean) < (place.k + 2) as f64;
        while high < self.last() && too_low(self.expected(high, picks)) {
            high += 1;
        }
        [low, high]
    }

    /// The windows for several places in ascending order: beginnings ascend and ends do, widened where they
    /// would not.
    fn around_each<const N: usize>(
        &self,
        places: [Place; N],
        total: usize,
        picks: &[u32],
        reach: f64,
    ) -> [[usize; 2]; N] {
        let mut windows = places.map(|place| self.around(place, total, picks, reach));
        for j in 1..N {
            windows[j][1] = windows[j][1].max(windows[j - 1][1]);
        }
        for j in (1..N).rev() {
            windows[j - 1][0] = windows[j - 1][0].min(windows[j][0]);
        }
        windows
    }

    #[inline(always)]
    fn share<const N: usize>(&self, windows: &[[usize; 2]; N], run: u32) -> WindowShare<N> {
        WindowShare::new(windows.map(|window| window.map(|cut| self.words[cut * self.runs + run as usize])))
    }
}

/// Eight resamples at a time.
pub(super) struct Windowed<'a, const N: usize> {
    pub(super) pooled: &'a Pooled,
    pub(super) cuts: &'a Cuts,
    /// The probabilities, ascending.
    pub(super) ps: [f64; N],
    pub(super) base: u64,
    pub(super) first: usize,
    pub(super) out: &'a mut [[f64; N]],
    pub(super) reach: f64,
}

/// How far one resample has come: first it picks its runs, then it draws from each in turn.
struct Progress<const N: usize> {
    picks: Vec<u32>,
    /// The pick being drawn from, how many of its requests are still to draw, and its part of the windows.
    at: usize,
    left: usize,
    share: WindowShare<N>,
    total: usize,
    windows: [[usize; 2]; N],
    sieve: WindowSieve<N>,
}

impl<const N: usize> Progress<N> {
    fn new() -> Progress<N> {
        let share = WindowShare::new([[0; 2]; N]);
        Progress { picks: Vec::new(), at: 0, left: 0, share, total: 0, windows: [[0; 2]; N], sieve: WindowSieve::new() }
    }

    fn restart(&mut self) {
        self.picks.clear();
        (self.at, self.left, self.total) = (0, 0, 0);
    }

    fn is_done(&self, runs: usize) -> bool {
        self.picks.len() == runs && self.at == runs
    }

    /// Turns to the pick at `self.at`, if there is one.
    #[inline(always)]
    fn begin(&mut self, job: &Windowed<N>) {
        if let Some(&run) = self.picks.get(self.at) {
            self.left = job.pooled.ranks[run as usize].len();
            self.share = job.cuts.share(&self.windows, run);
        }
    }

    /// Uses up a segment of words.
    #[inline(always)]
    fn take(&mut self, mut row: &[u32], job: &Windowed<N>) {
        let ranks = &job.pooled.ranks;
        let picking = row.len().min(ranks.len() - self.picks.len());
        if picking > 0 {
            self.picks.extend(row[..picking].iter().map(|&word| word_index(word, ranks.len()) as u32));
            row = &row[picking..];
            if self.picks.len() == ranks.len() {
                self.total = self.picks.iter().map(|&run| ranks[run as usize].len()).sum();
                let places = job.ps.map(|p| Place::new(self.total, p));
                self.windows = job.cuts.around_each(places, self.total, &self.picks, job.reach);
                self.sieve.restart(Slots::new(self.windows.map(|window| window.map(|cut| job.cuts.ranks[cut]))));
                self.begin(job);
            }
        }
        while !row.is_empty() && self.at < self.picks.len() {
            let (now, rest) = row.split_at(self.left.min(row.len()));
            self.sieve.take(now, &self.share, &ranks[self.picks[self.at] as usize]);
            row = rest;
            self.left -= now.len();
            if self.left == 0 {
                self.at += 1;
                self.begin(job);
            }
        }
    }
}

impl<const N: usize> Kernel for Windowed<'_, N> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let runs = self.pooled.ranks.len();
        let mut rows: Rows = [[0; BLOCK]; LANES];
        let mut progress: [Progress<N>; LANES] = std::array::from_fn(|_| Progress::new());
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
            for (lane, (slots, progress)) in out.iter_mut().zip(&progress).enumerate() {
                for (j, (slot, p)) in slots.iter_mut().zip(self.ps).enumerate() {
                    let place = Place::new(progress.total, p);
                    *slot = match progress.sieve.select(j, place) {
                        Some((low, high)) => self.pooled.between(place, low, high),
                        None => self.pooled.without_window(p, self.base, number + lane as u64),
                    };
                }
            }
        }
    }
}
