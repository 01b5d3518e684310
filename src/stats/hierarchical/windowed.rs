//! Resamples of pooled requests, eight at a time, with a window about where the percentile must fall.
//!
//! In:  the pooled ranks of each run, a probability, the base of a job.
//! Out: one percentile per resample, by number, the bits of the plain loop.
//! Not here: the plain loop itself ([`Pooled::without_window`]), intervals.

use super::Pooled;
use crate::stats::bootstrap::selection::Place;
use crate::stats::bootstrap::sieve::{Sieve, Window};
use crate::stats::random::lanes::{BLOCK, Kernel, LANES, Lanes, Rows};
use crate::stats::random::word_index;

/// Cuts of the pooled sample, between which a window is placed; fewer when there are very many runs.
const CUTS: usize = 1_024;

/// Table entries (cuts times runs) at most: a few MiB.
const TABLE: usize = 1 << 20;

/// Half-width of a window in standard deviations, as in `bootstrap`; misses are drawn again.
pub(super) const REACH: f64 = 5.0;

/// For cuts at regular ranks of the pooled sample: how many requests of each run lie below.
pub(super) struct Cuts {
    runs: usize,
    /// `below[cut * runs + run]`, from the cut below everything to the cut above everything.
    below: Vec<u32>,
}

impl Cuts {
    pub(super) fn new(pooled: &Pooled) -> Cuts {
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

/// Where the words of one run lie, seen from the window.
enum Share {
    /// Some stand for requests inside.
    Window(Window),
    /// All stand for requests above.
    Above,
    /// All stand for requests below.
    Below,
    /// None inside: words below this one stand for requests below the window, the others above.
    Split(u32),
}

impl Share {
    /// Of a run of `n` requests, of which `from .. to` lie inside the window.
    fn new(from: u32, to: u32, n: usize) -> Share {
        // The first word whose index is m: word * n >= m * 2^32.
        let first = |m: u32| (u64::from(m) << 32).div_ceil(n as u64);
        let (lo, end) = (first(from), first(to));
        if lo < end {
            Share::Window(Window { lo: lo as u32, span: (end - lo - 1) as u32 })
        } else if from == 0 {
            Share::Above
        } else if from as usize == n {
            Share::Below
        } else {
            Share::Split(lo as u32)
        }
    }
}

/// Eight resamples at a time.
pub(super) struct Windowed<'a> {
    pub(super) pooled: &'a Pooled,
    pub(super) cuts: &'a Cuts,
    pub(super) p: f64,
    pub(super) base: u64,
    pub(super) first: usize,
    pub(super) out: &'a mut [f64],
    pub(super) reach: f64,
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
        match Share::new(from, to, ranks.len()) {
            Share::Window(window) => {
                let before = self.sieve.len;
                self.sieve.take(drawn, window);
                for word in self.sieve.kept_from(before) {
                    *word = ranks[word_index(*word, ranks.len())];
                }
            }
            Share::Above => {}
            Share::Below => self.sieve.below += drawn.len(),
            Share::Split(at) => self.sieve.below += drawn.iter().filter(|&&word| word < at).count(),
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
