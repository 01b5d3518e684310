//! Counting draws of pooled requests about several order statistics at once.
//!
//! In:  the random words of one resample, run by run, and the windows seen from that run ([`WindowShare`]).
//! Out: draws below each window, counts of each rank inside, and order statistics from these.
//! Not here: where the windows are placed (`windowed`).
//!
//! A vector comparison for each window decides whether a word is of interest. Only the few such words are looked up. Ranks are whole
//! numbers, so they are counted, not kept and sorted. The order statistic is where the running count passes it. Windows that overlap share
//! their counts, so none is looked up twice.

use crate::bootstrap::selection::Place;
use crate::bootstrap::sieve::Window;
use crate::random::lanes::BLOCK;
use crate::random::word_index;

/// Counts summed together on the way to an order statistic.
const ROW: usize = 16;

/// Marked words of 64 that are copied without asking. More are rare. Fewer cost a stray copy, but no mispredicted branch.
const UNASKED: usize = 3;

/// Windows that together hold more than an eighth of all words are dense: marking words first would cost more
/// than copying them all.
const DENSE: u64 = 1 << 29;

/// Where the windows lie among the words of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WindowShare<const N: usize> {
    /// First word that is not below each window. `1 << 32` when all are.
    from: [u64; N],
    /// The windows that hold any word of this run, one of them repeated for each that holds none. `None` when
    /// no window does.
    inside: Option<[Window; N]>,
    dense: bool,
}

impl<const N: usize> WindowShare<N> {
    /// From the first word of each window and the first one above it, at most `1 << 32`.
    #[inline(always)]
    pub(super) fn new(bounds: [[u64; 2]; N]) -> WindowShare<N> {
        let window = |[lo, end]: [u64; 2]| (lo < end).then(|| Window { lo: lo as u32, span: (end - lo - 1) as u32 });
        let inside = bounds.into_iter().find_map(window).map(|any| bounds.map(|b| window(b).unwrap_or(any)));
        let held: u64 = bounds.iter().map(|[lo, end]| end - lo).sum();
        WindowShare { from: bounds.map(|[lo, _]| lo), inside, dense: held > DENSE }
    }
}

/// The pooled ranks inside any window, laid end to end: the slots of the counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots<const N: usize> {
    /// Each window, `lo .. end` in ranks, both ascending.
    windows: [[u32; 2]; N],
    /// From this rank on, `skipped` applies. Ascending.
    starts: [u32; N],
    /// Ranks below that are in no window.
    skipped: [u32; N],
}

impl<const N: usize> Slots<N> {
    /// Windows whose beginnings ascend, and whose ends do.
    pub(super) fn new(windows: [[u32; 2]; N]) -> Slots<N> {
        let mut slots = Slots { windows, starts: [0; N], skipped: [0; N] };
        let (mut end, mut skipped) = (0, 0);
        for (j, [lo, hi]) in windows.into_iter().enumerate() {
            slots.starts[j] = lo.max(end);
            skipped += slots.starts[j] - end;
            slots.skipped[j] = skipped;
            end = hi.max(end);
        }
        slots
    }

    /// The slot of a rank that is in some window.
    #[inline(always)]
    fn of(&self, rank: u32) -> usize {
        let mut skipped = self.skipped[0];
        for j in 1..N {
            skipped = if rank >= self.starts[j] { self.skipped[j] } else { skipped };
        }
        (rank - skipped) as usize
    }

    fn len(&self) -> usize {
        (self.windows[N - 1][1] - self.skipped[N - 1]) as usize
    }
}

/// Results of one resample so far.
pub(super) struct WindowSieve<const N: usize> {
    slots: Slots<N>,
    /// Draws below each window.
    below: [usize; N],
    /// Draws of each slot. Zero past the slots.
    counts: Vec<u32>,
    /// The words of one segment that lie inside a window, and room for those copied without asking.
    found: [u32; BLOCK + UNASKED],
}

impl<const N: usize> WindowSieve<N> {
    pub(super) fn new() -> WindowSieve<N> {
        let slots = Slots { windows: [[0; 2]; N], starts: [0; N], skipped: [0; N] };
        WindowSieve { slots, below: [0; N], counts: Vec::new(), found: [0; BLOCK + UNASKED] }
    }

    /// Forgets everything and looks out for ranks in `slots`.
    pub(super) fn restart(&mut self, slots: Slots<N>) {
        let used = self.slots.len();
        self.counts[..used].fill(0);
        self.counts.resize(self.counts.len().max(slots.len()), 0);
        (self.slots, self.below) = (slots, [0; N]);
    }

    /// Counts `words`, at most [`BLOCK`] of them, drawn from the run of these `ranks`.
    #[inline(always)]
    pub(super) fn take(&mut self, words: &[u32], share: &WindowShare<N>, ranks: &[u32]) {
        for (below, &from) in self.below.iter_mut().zip(&share.from) {
            *below += match u32::try_from(from) {
                Ok(0) => 0,
                Ok(from) => words.iter().map(|&word| u32::from(word < from)).sum::<u32>() as usize,
                Err(_) => words.len(),
            };
        }
        let Some(windows) = &share.inside else { return };
        let found = if share.dense { self.copy(words, windows) } else { self.mark(words, windows) };
        // A copy: what counts are written to could otherwise be the slots, which would be read again each time.
        let (slots, counts) = (self.slots, self.counts.as_mut_slice());
        for &word in &self.found[..found] {
            counts[slots.of(ranks[word_index(word, ranks.len())])] += 1;
        }
    }

    /// Copies the words inside the windows to `found`. How many they are. One store a word, inside or not, and no
    /// branch.
    #[inline(always)]
    fn copy(&mut self, words: &[u32], windows: &[Window; N]) -> usize {
        let mut len = 0;
        for &word in words {
            self.found[len] = word;
            len += usize::from(holds(windows, word));
        }
        len
    }

    /// The same for few: one flag a word by vector instructions, 64 flags to a mask, then only the words whose bit
    /// is set.
    #[inline(always)]
    fn mark(&mut self, words: &[u32], windows: &[Window; N]) -> usize {
        let mut flags = [0u8; BLOCK];
        for (flag, &word) in flags.iter_mut().zip(words) {
            *flag = u8::from(holds(windows, word));
        }
        let mut len = 0;
        for (flags, words) in flags.as_chunks::<64>().0.iter().zip(words.chunks(64)) {
            let mut mask = flags.as_chunks::<8>().0.iter().rev().fold(0u64, |mask, &eight| {
                // The product gathers the low bits of eight bytes in its highest byte.
                mask << 8 | u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
            });
            let mut at = len;
            len += mask.count_ones() as usize;
            loop {
                for _ in 0..UNASKED {
                    // An empty mask points past the end: some word is copied for nothing and overwritten.
                    self.found[at] = words[(mask.trailing_zeros() as usize).min(words.len() - 1)];
                    mask &= mask.wrapping_sub(1);
                    at += 1;
                }
                if mask == 0 {
                    break;
                }
            }
        }
        len
    }

    /// Of the draws, the order statistic `place.k` and the next if it has a say, as ranks. Looked for in window
    /// `j`. `None` when that window missed.
    pub(super) fn select(&self, j: usize, place: Place) -> Option<(u32, u32)> {
        let [lo, end] = self.slots.windows[j];
        let first = self.slots.of(lo);
        let counts = &self.counts[first..first + (end - lo) as usize];
        let mut passed = self.below[j];
        if place.k < passed {
            return None;
        }
        // Whole rows first: their sums are vector work.
        let mut at = 0;
        for row in counts.chunks(ROW) {
            let drawn = row.iter().sum::<u32>() as usize;
            if passed + drawn > place.k {
                break;
            }
            passed += drawn;
            at += row.len();
        }
        let step = |at: &mut usize, passed: &mut usize, k: usize| {
            while *passed <= k {
                *passed += *counts.get(*at)? as usize;
                *at += 1;
            }
            Some(lo + (*at - 1) as u32)
        };
        let low = step(&mut at, &mut passed, place.k)?;
        let high = if place.needs_next() { step(&mut at, &mut passed, place.k + 1)? } else { low };
        Some((low, high))
    }
}

/// Whether any of the windows holds the word.
#[inline(always)]
fn holds<const N: usize>(windows: &[Window; N], word: u32) -> bool {
    windows.iter().fold(false, |held, window| held | window.holds(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks of the only run, one word in `1 << 22` each. Rank r represents words from `r << 22` on.
    fn ranks() -> Vec<u32> {
        (0..1_024).collect()
    }

    fn sieve<const N: usize>(windows: [[u32; 2]; N], drawn: &[u32]) -> WindowSieve<N> {
        let share = WindowShare::new(windows.map(|window| window.map(|rank| u64::from(rank) << 22)));
        let words: Vec<u32> = drawn.iter().map(|rank| rank << 22 | 12_345).collect();
        let mut sieve = WindowSieve::new();
        // Left over from another resample, to be forgotten.
        sieve.restart(Slots::new([[3, 1_000]; N]));
        sieve.take(&words[..100], &WindowShare::new([[3 << 22, 1_000 << 22]; N]), &ranks());
        sieve.restart(Slots::new(windows));
        words.chunks(BLOCK).for_each(|words| sieve.take(words, &share, &ranks()));
        sieve
    }

    #[test]
    fn order_statistics_inside_their_window_are_those_of_sorting_and_others_are_absent() {
        let drawn: Vec<u32> = (0..1_300).map(|i| i * i % 1_024 * 37 % 1_024).collect();
        let mut sorted = drawn.clone();
        sorted.sort_unstable();
        // Apart, touching, overlapping, one in the other, the same, dense, to either end.
        for windows in [
            [[100, 130], [500, 520], [990, 1_000]],
            [[100, 130], [130, 140], [140, 150]],
            [[100, 130], [120, 140], [125, 150]],
            [[100, 150], [100, 150], [120, 150]],
            [[0, 700], [300, 900], [600, 1_024]],
            [[0, 1], [500, 500], [1_023, 1_024]],
        ] {
            let sieve = sieve(windows, &drawn);
            for (j, [lo, end]) in windows.into_iter().enumerate() {
                for k in 0..sorted.len() - 1 {
                    let inside = |k: usize| (lo..end).contains(&sorted[k]);
                    let (bare, mixed) = (Place { k, fraction: 0.0 }, Place { k, fraction: 0.5 });
                    assert_eq!(sieve.select(j, bare), inside(k).then(|| (sorted[k], sorted[k])), "{windows:?} {j} {k}");
                    let both = inside(k) && inside(k + 1);
                    assert_eq!(sieve.select(j, mixed), both.then(|| (sorted[k], sorted[k + 1])), "{windows:?} {j} {k}");
                }
            }
        }
    }

    #[test]
    fn the_first_and_the_last_word_belong_to_the_window_that_reaches_them() {
        let mut sieve = WindowSieve::new();
        sieve.restart(Slots::new([[0, 2]]));
        sieve.take(&[0, u32::MAX, 1 << 31], &WindowShare::new([[0, 1 << 32]]), &[0, 1]);
        assert_eq!((sieve.below, &sieve.counts[..2]), ([0], &[1, 2][..]));
        sieve.take(&[0, u32::MAX], &WindowShare::new([[1 << 32; 2]]), &[0, 1]);
        assert_eq!((sieve.below, &sieve.counts[..2]), ([2], &[1, 2][..]));
    }
}
