//! Selection among random words, most of which lie safely outside the place that is wanted.
//!
//! In:  32-bit words and a window of them.
//! Out: how many lie below the window and which lie inside; order statistics if they are among those.
//! Not here: what the words stand for.

/// Words a window may keep for one resample; more, and the resample is drawn again without a window.
/// A power of two, so that a mask keeps the position inside.
const KEPT: usize = 8_192;

/// A stretch of words: `lo ..= lo + span`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    pub(crate) lo: u32,
    pub(crate) span: u32,
}

/// What one resample has shown so far.
pub(crate) struct Sieve {
    /// Words below the window.
    pub(crate) below: usize,
    /// Words seen inside the window; those past `KEPT` have overwritten others.
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

    /// Counts and keeps `words`.
    #[inline(always)]
    pub(crate) fn take(&mut self, words: &[u32], window: Window) {
        const CHUNK: usize = 32;
        let mut chunks = words.chunks_exact(CHUNK);
        for chunk in &mut chunks {
            let (mut below, mut inside) = (0u32, 0u32);
            for &word in chunk {
                below += u32::from(word < window.lo);
                inside += u32::from(word.wrapping_sub(window.lo) <= window.span);
            }
            self.below += below as usize;
            if inside > 0 {
                self.keep(chunk, window);
            }
        }
        let rest = chunks.remainder();
        self.below += rest.iter().filter(|&&word| word < window.lo).count();
        self.keep(rest, window);
    }

    #[inline(always)]
    fn keep(&mut self, words: &[u32], window: Window) {
        let mut len = self.len;
        for &word in words {
            self.kept[len % KEPT] = word;
            len += usize::from(word.wrapping_sub(window.lo) <= window.span);
        }
        self.len = len;
    }

    /// The kept words from position `from` on, to be replaced by what they stand for.
    #[inline(always)]
    pub(crate) fn kept_from(&mut self, from: usize) -> &mut [u32] {
        &mut self.kept[from.min(KEPT)..self.len.min(KEPT)]
    }

    /// Order statistics `k` and, if `with_next`, `k + 1` of all that was taken; `None` when the window missed.
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
        let mut words: Vec<u32> = (0..100).map(|i| (i * 37) % 100).collect();
        let mut sieve = Sieve::new();
        sieve.take(&words, Window { lo: 40, span: 19 });
        assert_eq!((sieve.below, sieve.len), (40, 20));
        assert_eq!(sieve.select(45, true), Some((45, 46)));
        assert_eq!(sieve.select(59, false), Some((59, 59)));
        assert_eq!([sieve.select(59, true), sieve.select(39, true), sieve.select(60, false)], [None; 3]);
        sieve.clear();
        words.truncate(1);
        sieve.take(&words, Window { lo: 0, span: u32::MAX });
        assert_eq!((sieve.below, sieve.select(0, false)), (0, Some((0, 0))));
    }

    #[test]
    fn a_sieve_that_overflows_says_so_instead_of_answering() {
        let words = vec![7; KEPT + 1];
        let mut sieve = Sieve::new();
        sieve.take(&words, Window { lo: 0, span: 10 });
        assert_eq!(sieve.select(3, true), None);
        assert_eq!(sieve.kept_from(KEPT + 1).len(), 0);
    }
}
