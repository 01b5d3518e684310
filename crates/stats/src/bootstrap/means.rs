//! Means of resamples: the inner loop of every bootstrap of a mean.
//!
//! In:  a sample and the base of a job.
//! Out: one mean per resample, by number, and its standard deviation where asked.
//! Not here: intervals.
//!
//! The sum of a resample is defined to the bit. Draw `j` goes into accumulator `j mod 4`, and the sum is (a0 + a1) + (a2 + a3). Eight
//! resamples are added side by side, so each keeps that order exactly.

use super::parallel;
use crate::random::lanes::{Kernel, LANES, Lanes, widest};
use crate::random::{Stream, WORD_INDEX_MAX, wide_index, word_index};

/// The shifted sum of squares of a resample is trusted while at least this share of it is spread about the
/// resample's own mean. Below, the resample is drawn again and summed in two passes.
const TRUSTED_SHARE: f64 = 1e-4;

/// Steps of the generators buffered at once: 4 KiB, and a multiple of four so that accumulators stay in turn.
const STEPS: usize = 64;

/// A resample's mean and, for the studentised interval, its standard deviation (ddof 1).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Moments {
    pub(crate) mean: f64,
    pub(crate) sd: f64,
}

/// The mean of every resample.
pub(crate) fn means(values: &[f64], base: u64, resamples: usize, threads: usize) -> Vec<f64> {
    parallel::resample(resamples, values.len(), threads, |first, out| {
        widest(Sums {
            values,
            base,
            first,
            centre: 0.0,
            out,
            finish: |_: u64, [sum, _]: [f64; 2]| sum / values.len() as f64,
        });
    })
}

/// Mean and standard deviation of every resample of a sample with mean `mean`.
pub(crate) fn moments(values: &[f64], mean: f64, base: u64, resamples: usize, threads: usize) -> Vec<Moments> {
    let n = values.len() as f64;
    let finish = |b: u64, [sum, squares]: [f64; 2]| {
        let resampled = sum / n;
        let shift = resampled - mean;
        // Squares about the sample's mean, moved to the resample's own. The two are close (a standard error apart), so this loses nothing.
        // It saves a second pass over draws that do not fit a cache.
        let spread = squares - n * (shift * shift);
        let spread =
            if spread > TRUSTED_SHARE * squares { spread } else { spread_in_two_passes(values, base, b, resampled) };
        Moments { mean: resampled, sd: (spread / (n - 1.0)).sqrt() }
    };
    parallel::resample(resamples, 2 * values.len(), threads, |first, out| {
        widest(Sums { values, base, first, centre: mean, out, finish });
    })
}

/// Sum of squared deviations of resample `b` from its mean. Exactly 0 when all its draws are equal.
#[cold]
fn spread_in_two_passes(values: &[f64], base: u64, b: u64, mean: f64) -> f64 {
    let mut stream = Stream::new(base, b);
    let draws: Vec<f64> = values.iter().map(|_| values[stream.index(values.len())]).collect();
    if draws.iter().all(|&draw| draw == draws[0]) {
        return 0.0;
    }
    draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum()
}

/// Sums of values and, if `SPREAD`, of squares about `centre`, eight resamples at a time.
struct Sums<'a, T, F> {
    values: &'a [f64],
    base: u64,
    first: usize,
    centre: f64,
    out: &'a mut [T],
    finish: F,
}

/// Whether a result needs the sum of squares too.
trait Wants {
    const SPREAD: bool;
}

impl Wants for f64 {
    const SPREAD: bool = false;
}

impl Wants for Moments {
    const SPREAD: bool = true;
}

impl<T: Wants, F: Fn(u64, [f64; 2]) -> T> Kernel for Sums<'_, T, F> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Sums { values, base, first, centre, out, finish } = self;
        let n = values.len();
        let wide = n > WORD_INDEX_MAX;
        let mut steps = [[0; LANES]; STEPS];
        for (block, out) in out.chunks_mut(LANES).enumerate() {
            let number = (first + block * LANES) as u64;
            let mut lanes = Lanes::new(base, number);
            let mut sums = Accumulators { values, centre, sum: [[0.0; LANES]; 4], squares: [[0.0; LANES]; 4] };
            let mut left = n;
            while left > 0 {
                let draws = left.min(if wide { STEPS } else { 2 * STEPS });
                let steps = &mut steps[..if wide { draws } else { draws.div_ceil(2) }];
                lanes.fill_steps(steps);
                if wide {
                    for (j, step) in steps.iter().enumerate() {
                        sums.add::<T>(j % 4, step.map(|r| wide_index(r, n)));
                    }
                } else {
                    sums.add_words::<T>(steps, draws, n);
                }
                left -= draws;
            }
            for (lane, slot) in out.iter_mut().enumerate() {
                *slot = finish(number + lane as u64, sums.total(lane));
            }
        }
    }
}

struct Accumulators<'a> {
    values: &'a [f64],
    centre: f64,
    sum: [[f64; LANES]; 4],
    squares: [[f64; LANES]; 4],
}

impl Accumulators<'_> {
    /// Adds `draws` values, two a step. Every segment starts at a draw number divisible by four.
    #[inline(always)]
    fn add_words<T: Wants>(&mut self, steps: &[[u64; LANES]], draws: usize, n: usize) {
        let low = |r: u64| word_index(r as u32, n);
        let high = |r: u64| word_index((r >> 32) as u32, n);
        let mut fours = steps[..draws / 4 * 2].chunks_exact(2);
        for pair in &mut fours {
            self.add::<T>(0, pair[0].map(low));
            self.add::<T>(1, pair[0].map(high));
            self.add::<T>(2, pair[1].map(low));
            self.add::<T>(3, pair[1].map(high));
        }
        for j in draws / 4 * 4..draws {
            self.add::<T>(j % 4, steps[j / 2].map(|r| if j % 2 == 0 { low(r) } else { high(r) }));
        }
    }

    #[inline(always)]
    fn add<T: Wants>(&mut self, j: usize, at: [usize; LANES]) {
        let drawn = at.map(|i| self.values[i]);
        for (sum, drawn) in self.sum[j].iter_mut().zip(drawn) {
            *sum += drawn;
        }
        if T::SPREAD {
            for (squares, drawn) in self.squares[j].iter_mut().zip(drawn) {
                let off = drawn - self.centre;
                *squares += off * off;
            }
        }
    }

    #[inline(always)]
    fn total(&self, lane: usize) -> [f64; 2] {
        [&self.sum, &self.squares].map(|a| (a[0][lane] + a[1][lane]) + (a[2][lane] + a[3][lane]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::job_base;

    /// The contract read aloud: one resample, one draw after the other.
    fn literal(values: &[f64], base: u64, b: u64) -> f64 {
        let mut stream = Stream::new(base, b);
        let mut a = [0.0; 4];
        for j in 0..values.len() {
            a[j % 4] += values[stream.index(values.len())];
        }
        ((a[0] + a[1]) + (a[2] + a[3])) / values.len() as f64
    }

    #[test]
    fn fast_means_have_the_bits_of_the_literal_reading() {
        let base = job_base(42, "m|ttft_ms|native|mean");
        for n in [2, 3, 4, 5, 6, 7, 30, 1_001] {
            let values: Vec<f64> = (0..n).map(|i| 1.0 / (i as f64 + 0.7)).collect();
            for threads in [1, 3] {
                let fast = means(&values, base, 1_003, threads);
                assert!(
                    fast.iter().enumerate().all(|(b, m)| m.to_bits() == literal(&values, base, b as u64).to_bits()),
                    "n = {n}"
                );
            }
        }
    }

    #[test]
    fn the_widest_instructions_give_the_bits_of_the_plainest() {
        let values: Vec<f64> = (0..777).map(|i| 1.0 / (f64::from(i) + 0.7)).collect();
        let sums = |out| Sums {
            values: &values,
            base: 3,
            first: 0,
            centre: 0.01,
            out,
            finish: |_, [sum, squares]: [f64; 2]| Moments { mean: sum, sd: squares },
        };
        let (mut wide, mut plain) = ([Moments::default(); 100], [Moments::default(); 100]);
        widest(sums(&mut wide));
        sums(&mut plain).run();
        assert_eq!(wide, plain);
    }

    #[test]
    fn a_sample_above_a_million_keeps_the_literal_bits_too() {
        let values: Vec<f64> = (0..WORD_INDEX_MAX + 3).map(|i| (i % 977) as f64 / 3.0).collect();
        let fast = means(&values, 9, 3, 2);
        assert!(fast.iter().enumerate().all(|(b, m)| m.to_bits() == literal(&values, 9, b as u64).to_bits()));
    }

    #[test]
    fn moments_are_those_of_two_passes() {
        let base = job_base(1, "k");
        for (n, offset) in [(2, 0.0), (3, 0.0), (5, 1e6), (30, 1e9), (200, 0.0)] {
            let values: Vec<f64> = (0..n).map(|i| offset + (i as f64 * 1.7).sin()).collect();
            let mean = values.iter().sum::<f64>() / n as f64;
            for (b, got) in moments(&values, mean, base, 500, 1).iter().enumerate() {
                let spread = spread_in_two_passes(&values, base, b as u64, got.mean);
                let sd = (spread / (n as f64 - 1.0)).sqrt();
                assert_eq!(got.mean, literal(&values, base, b as u64));
                assert!((got.sd - sd).abs() <= 1e-6 * sd, "n = {n}, resample {b}: {} {sd}", got.sd);
            }
        }
    }
}
