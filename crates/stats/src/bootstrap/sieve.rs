//! Selection among random words, most of which lie safely outside the place that is wanted.
//!
//! In:  32-bit words and a window of them.
//! Out: how many lie below the window, which lie inside, and order statistics among those.
//! Not here: the meaning of the words.

use crate::random::lanes::BLOCK;

/// Words a window may keep for one resample. More, and the resample is drawn again without a window.
/// A power of two, so that a mask keeps the position inside.
const KEPT: usize = 8_192;

/// A segment of words: `lo ..= lo + span`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    pub(crate) lo: u32,
    pub(crate) span: u32,
}

impl Window {
    #[inline(always)]
    pub(crate) fn holds(self, word: u32) -> bool {
        word.wrapping_sub(self.lo) <= self.span
    }
}

/// A window wider than an eighth of all words is dense: looking for the words inside would cost more than
/// copying them all.
const DENSE: u32 = u32::MAX / 8;

/// Results of one resample so far.
pub(crate) struct Sieve {
    /// Words below the window.
    pub(crate) below: usize,
    /// Words seen inside the window. Those past `KEPT` have overwritten others.
    pub(crate) len: usize,
    kept: Box<[u32; KEPT]>,
}

impl Sieve {
    pub(crate) fn new() -> Sieve {
        Sieve { below: 0, len: 0, kept: Box::new([0; KEPT]) }
    }

    pub(crate) fn clear(&mut self) {
        (self.below, self.len) = (0, 0);
    }

    /// Counts and keeps `words`, at most [`BLOCK`] of them.
    #[inline(always)]
    pub(crate) fn take(&mut self, words: &[u32], window: Window) {
        self.below += words.iter().map(|&word| u32::from(word < window.lo)).sum::<u32>() as usize;
        if window.span > DENSE {
            self.keep_dense(words, window);
        } else {
            self.keep_sparse(words, window);
        }
    }

    /// One store a word, kept or not, and no branch.
    #[inline(always)]
    fn keep_dense(&mut self, words: &[u32], window: Window) {
        let mut len = self.len;
        for &word in words {
            self.kept[len % KEPT] = word;
            len += usize::from(window.holds(word));
        }
        self.len = len;
    }

    /// One flag a word, by vector instructions. Then only the words that are flagged, eight flags at a time.
    #[inline(always)]
    fn keep_sparse(&mut self, words: &[u32], window: Window) {
        let mut flags = [0u8; BLOCK];
        for (flag, &word) in flags.iter_mut().zip(words) {
            *flag = u8::from(window.holds(word));
        }
        let mut len = self.len;
        for (flags, words) in flags.chunks_exact(8).zip(words.chunks(8)) {
            let mut eight = flags.iter().rev().fold(0u64, |bits, &flag| bits << 8 | u64::from(flag));
            while eight != 0 {
                self.kept[len % KEPT] = words[eight.trailing_zeros() as usize / 8];
                len += 1;
                eight &= eight - 1;
            }
        }
        self.len = len;
    }

    /// Order statistics `k` and, if `with_next`, `k + 1` of all that was taken. `None` when the window missed.
    pub(crate) fn select(&mut self, k: usize, with_next: bool) -> Option<(u32, u32)> {
        let k = k.checked_sub(self.below)?;
        if self.len > KEPT || k + usize::from(with_next) >= self.len {
            return None;
        }
        let (_, &mut low, above) = self.kept[..self.len].select_nth_unstable(k);
        let high = if with_next { above.iter().copied().min()? } else { low };
        Some((low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_below_are_counted_words_inside_are_kept_words_above_are_ignored() {
        for scale in [1, 40_000_000] {
            // A window of twenty words, or of a fifth of all words.
            let words: Vec<u32> = (0..100).map(|i| (i * 37) % 100 * scale).collect();
            let mut sieve = Sieve::new();
            sieve.take(&words, Window { lo: 40 * scale, span: 19 * scale });
            assert_eq!((sieve.below, sieve.len), (40, 20));
            assert_eq!(sieve.select(45, true), Some((45 * scale, 46 * scale)));
            assert_eq!(sieve.select(59, false), Some((59 * scale, 59 * scale)));
            assert_eq!([sieve.select(59, true), sieve.select(39, true), sieve.select(60, false)], [None; 3]);
        }
    }

    #[test]
    fn a_cleared_sieve_starts_anew_and_the_widest_window_holds_every_word() {
        let mut sieve = Sieve::new();
        sieve.take(&[1, 2, 3], Window { lo: 2, span: 0 });
        sieve.clear();
        sieve.take(&[0, u32::MAX], Window { lo: 0, span: u32::MAX });
        assert_eq!((sieve.below, sieve.select(0, true)), (0, Some((0, u32::MAX))));
    }

    #[test]
    fn a_sieve_that_overflows_says_so_instead_of_answering() {
        let words = [7; BLOCK];
        let mut sieve = Sieve::new();
        for _ in 0..=KEPT / BLOCK {
            sieve.take(&words, Window { lo: 0, span: 10 });
        }
        assert_eq!(sieve.select(3, true), None);
    }
}
