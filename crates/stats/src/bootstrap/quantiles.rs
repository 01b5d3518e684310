//! Quantiles of resamples by drawing every index: the brute-force path, made fast.
//!
//! In:  an ascending sample, the place of the quantile, the base of a job.
//! Out: one quantile per resample, by number.
//! Not here: intervals, generating order statistics directly (`rank`).
//!
//! The sample is sorted, so the order statistics of a resample are those of its drawn indices. An index grows with the random word it comes
//! from, so it is enough to select among the words. All but a few of them lie safely outside the place of the quantile. These are counted
//! (below the window) or ignored (above it).

use super::parallel;
use super::selection::Place;
use super::sieve::{Sieve, Window};
use crate::random::lanes::{BLOCK, Kernel, LANES, Lanes, Rows, widest};
use crate::random::{Stream, WORD_INDEX_MAX, wide_index};

/// Half-width of the window in standard deviations of an order statistic. About two resamples in a million
/// miss it and are drawn again without a window, so the width is a matter of speed only.
const REACH: f64 = 5.0;

/// The quantile at `place` of every resample of `sorted`, whose length the place was made for.
pub(crate) fn index_quantiles(sorted: &[f64], place: Place, base: u64, resamples: usize, threads: usize) -> Vec<f64> {
    let window = window(sorted.len(), place, REACH);
    parallel::resample(resamples, sorted.len(), threads, |first, out| match window {
        Some(window) => widest(Windowed { sorted, place, base, first, window, out }),
        None => out
            .iter_mut()
            .enumerate()
            .for_each(|(i, slot)| *slot = without_window(sorted, place, base, (first + i) as u64)),
    })
}

/// The words among which order statistics `k` and `k + 1` of `n` uniform words lie, but for `reach` standard
/// deviations. `None` for samples too large for word indices.
fn window(n: usize, place: Place, reach: f64) -> Option<Window> {
    if n > WORD_INDEX_MAX {
        return None;
    }
    let edge = |k: usize, sign: f64| {
        let p = (k as f64 + 0.5) / n as f64;
        p + sign * (reach * (p * (1.0 - p) / n as f64).sqrt() + 1.0 / n as f64)
    };
    let words = |p: f64| (p * 4_294_967_296.0).clamp(0.0, 4_294_967_295.0) as u32;
    let lo = words(edge(place.k, -1.0));
    let hi = words(edge(place.k + usize::from(place.needs_next()), 1.0));
    Some(Window { lo, span: hi - lo })
}

/// One resample in plain order: for samples above a million values and for the few that miss their window.
#[cold]
fn without_window(sorted: &[f64], place: Place, base: u64, b: u64) -> f64 {
    let mut stream = Stream::new(base, b);
    let mut indices: Vec<usize> = sorted.iter().map(|_| stream.index(sorted.len())).collect();
    let (_, &mut low, above) = indices.select_nth_unstable(place.k);
    let high = if place.needs_next() { above.iter().copied().min().unwrap_or(low) } else { low };
    place.between(sorted[low], sorted[high])
}

/// Eight resamples at a time through the sieve.
struct Windowed<'a> {
    sorted: &'a [f64],
    place: Place,
    base: u64,
    first: usize,
    window: Window,
    out: &'a mut [f64],
}

impl Kernel for Windowed<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Windowed { sorted, place, base, first, window, out } = self;
        let n = sorted.len();
        let at = |word: u32| sorted[wide_index(u64::from(word) << 32, n)];
        let mut rows: Rows = [[0; BLOCK]; LANES];
        let mut sieves: [Sieve; LANES] = std::array::from_fn(|_| Sieve::new());
        for (block, out) in out.chunks_mut(LANES).enumerate() {
            let number = (first + block * LANES) as u64;
            let mut lanes = Lanes::new(base, number);
            sieves.iter_mut().for_each(Sieve::clear);
            let mut left = n;
            while left > 0 {
                let words = left.min(BLOCK);
                lanes.fill(&mut rows, words);
                for (sieve, row) in sieves.iter_mut().zip(&rows) {
                    sieve.take(&row[..words], window);
                }
                left -= words;
            }
            for (lane, (slot, sieve)) in out.iter_mut().zip(&mut sieves).enumerate() {
                *slot = match sieve.select(place.k, place.needs_next()) {
                    Some((low, high)) => place.between(at(low), at(high)),
                    None => without_window(sorted, place, base, number + lane as u64),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::job_base;

    /// The contract read aloud: draw, sort, interpolate.
    fn literal(sorted: &[f64], p: f64, base: u64, b: u64) -> f64 {
        let mut stream = Stream::new(base, b);
        let mut drawn: Vec<f64> = sorted.iter().map(|_| sorted[stream.index(sorted.len())]).collect();
        drawn.sort_by(f64::total_cmp);
        let h = (drawn.len() - 1) as f64 * p;
        let k = h.floor() as usize;
        if k + 1 < drawn.len() { drawn[k] + (h - k as f64) * (drawn[k + 1] - drawn[k]) } else { drawn[k] }
    }

    #[test]
    fn sieved_quantiles_have_the_bits_of_the_literal_reading() {
        let base = job_base(42, "m|ttft_ms|native|p99");
        for n in [2, 3, 10, 31, 201, 1_000, 5_003] {
            let sorted: Vec<f64> = (0..n).map(|i| (i as f64 * 0.01).exp_m1()).collect();
            for p in [0.5, 0.95, 0.99, 0.0, 1.0] {
                let place = Place::new(n, p);
                let fast = index_quantiles(&sorted, place, base, 203, 2);
                assert!(
                    fast.iter().enumerate().all(|(b, q)| q.to_bits() == literal(&sorted, p, base, b as u64).to_bits()),
                    "n = {n}, p = {p}"
                );
            }
        }
    }

    #[test]
    fn resamples_that_miss_their_window_are_drawn_again() {
        let n = 2_000;
        let sorted: Vec<f64> = (0..n).map(f64::from).collect();
        let place = Place::new(2_000, 0.5);
        let mut narrow = vec![0.0; 64];
        let window = window(2_000, place, 0.3).unwrap();
        widest(Windowed { sorted: &sorted, place, base: 5, first: 0, window, out: &mut narrow });
        assert!(narrow.iter().enumerate().all(|(b, &q)| q == literal(&sorted, 0.5, 5, b as u64)));
    }

    #[test]
    fn a_sample_above_a_million_is_drawn_without_a_window() {
        let n = WORD_INDEX_MAX + 1;
        let sorted: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let fast = index_quantiles(&sorted, Place::new(n, 0.99), 5, 2, 1);
        assert_eq!(fast, [0, 1].map(|b| literal(&sorted, 0.99, 5, b)));
    }
}
