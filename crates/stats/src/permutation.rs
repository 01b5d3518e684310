//! The permutation test of a difference of means.
//!
//! In:  finite values of two arms and a [`Job`] (its seed, key and threads, not its resamples).
//! Out: a two-sided p-value, exact where all splits can be counted.
//! Not here: rank tests, t tests.
//!
//! Under the null hypothesis every split of the pooled values into the two arms is equally likely. A split
//! counts as a hit when its means differ by at least as much as those observed, but for rounding.
//!
//! Source: Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010), for the p-value of random draws.

use super::bootstrap::{Job, parallel, sorted_sample};
use super::random::lanes::{self, BLOCK, Kernel, LANES, Lanes, Rows};
use super::random::{Stream, WORD_INDEX_MAX, job_base, word_index};
use super::sample;

/// Up to this many splits are all counted: a tenth of a second at most.
pub const EXACT_SPLITS: u64 = 200_000;

/// Random splits otherwise: with the observed one, 100,000.
pub const RANDOM_SPLITS: usize = 99_999;

/// Two-sided test of equal means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permutation {
    /// The p-value. Never 0.
    pub p: f64,
    /// Whether all splits were counted.
    pub exact: bool,
    /// Splits counted, or random splits drawn.
    pub count: u64,
}

/// Tests whether the means of `a` and `b` differ.
///
/// All C(nA+nB, nB) splits when there are [`EXACT_SPLITS`] or fewer: p = hits / C. Otherwise [`RANDOM_SPLITS`]
/// seeded draws: p = (1 + hits) / (1 + draws). `None` for fewer than two values an arm or one that is not finite.
/// For arms of unequal size this is not twice a one-sided p.
pub fn mean_difference(a: &[f64], b: &[f64], job: &Job) -> Option<Permutation> {
    let (a, b) = (sorted_sample(a)?, sorted_sample(b)?);
    let test = Test::new(&a, &b)?;
    Some(match splits(test.pooled.len(), test.chosen) {
        Some(count) => Permutation { p: test.hits_of_all() as f64 / count as f64, exact: true, count },
        None => {
            let hits = test.hits_of_random(job_base(job.seed, &job.key), job.threads);
            let count = RANDOM_SPLITS as u64;
            Permutation { p: (1 + hits) as f64 / (1 + count) as f64, exact: false, count }
        }
    })
}

/// C(n, k), or `None` above [`EXACT_SPLITS`]. `k` is at most n/2.
fn splits(n: usize, k: usize) -> Option<u64> {
    let mut count = 1u64;
    for i in 0..k as u64 {
        // Exact at every step: a product of i + 1 consecutive numbers is divisible by (i + 1)!.
        count = count * (n as u64 - i) / (i + 1);
        if count > EXACT_SPLITS {
            return None;
        }
    }
    Some(count)
}

/// The pooled sample and what makes a split a hit.
struct Test {
    /// All values, ascending, so that neither the order of the input nor the names of the arms matter.
    pooled: Vec<f64>,
    /// Size of the smaller arm: choosing it chooses the other.
    chosen: usize,
    /// A sum of `chosen` values below the first or above the second is a hit.
    miss: [f64; 2],
}

impl Test {
    fn new(a: &[f64], b: &[f64]) -> Option<Test> {
        let observed = (sample::mean(b) - sample::mean(a)).abs();
        let mut pooled = [a, b].concat();
        pooled.sort_unstable_by(f64::total_cmp);
        let largest = pooled.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        let bar = observed - 1e-12 * largest;
        let chosen = a.len().min(b.len());
        // d* = s/k - (T - s)/(N - k) is linear in the sum s of the chosen. Comparing s needs no division for each split.
        let (k, n) = (chosen as f64, pooled.len() as f64);
        let total = sample::mean(&pooled) * n;
        let edge = |d: f64| (d + total / (n - k)) / (1.0 / k + 1.0 / (n - k));
        Some(Test { pooled, chosen, miss: [edge(-bar), edge(bar)] })
    }

    #[inline]
    fn is_hit(&self, sum: f64) -> bool {
        sum <= self.miss[0] || sum >= self.miss[1]
    }

    fn hits_of_all(&self) -> u64 {
        self.hits_from(0, self.chosen, 0.0)
    }

    /// Hits among the ways to add `left` more values, from position `from` on, to `sum`. Every sum is built from
    /// nothing along its own branch, so no rounding is carried from split to split.
    fn hits_from(&self, from: usize, left: usize, sum: f64) -> u64 {
        let last = self.pooled.len() - left;
        let choices = &self.pooled[from..=last];
        if left == 1 {
            return choices.iter().map(|value| u64::from(self.is_hit(sum + value))).sum();
        }
        choices.iter().enumerate().map(|(i, value)| self.hits_from(from + i + 1, left - 1, sum + value)).sum()
    }

    /// Hits among random splits: the first `chosen` steps of a Fisher-Yates shuffle, each split from its own stream.
    fn hits_of_random(&self, base: u64, threads: usize) -> u64 {
        let n = self.pooled.len();
        let hits: Vec<bool> = parallel::resample(RANDOM_SPLITS, n, threads, |first, out| match n {
            0..=WORD_INDEX_MAX => lanes::widest(Splits { test: self, base, first, out }),
            _ => self.split(base, first, out),
        });
        hits.into_iter().filter(|&hit| hit).count() as u64
    }

    /// One split after another: the shuffle as it is written down, for pools of any size.
    fn split(&self, base: u64, first: usize, out: &mut [bool]) {
        let mut deck = self.pooled.clone();
        for (i, hit) in out.iter_mut().enumerate() {
            let mut stream = Stream::new(base, (first + i) as u64);
            deck.copy_from_slice(&self.pooled);
            let mut sum = 0.0;
            for at in 0..self.chosen {
                deck.swap(at, at + stream.index(self.pooled.len() - at));
                sum += deck[at];
            }
            *hit = self.is_hit(sum);
        }
    }
}

/// Random splits, [`LANES`] of them side by side. One shuffle is a chain of loads that wait for stores, and eight of them fill the time.
struct Splits<'a> {
    test: &'a Test,
    base: u64,
    first: usize,
    out: &'a mut [bool],
}

impl Kernel for Splits<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Test { pooled, chosen, .. } = self.test;
        let mut decks: [Vec<f64>; LANES] = std::array::from_fn(|_| pooled.clone());
        let mut rows: Rows = [[0; BLOCK]; LANES];
        for (place, hits) in self.out.chunks_mut(LANES).enumerate() {
            let mut streams = Lanes::new(self.base, (self.first + place * LANES) as u64);
            // Every split starts from the same order. A copy costs less than undoing the swaps one by one.
            decks.iter_mut().for_each(|deck| deck.copy_from_slice(pooled));
            let mut sums = [0.0; LANES];
            for from in (0..*chosen).step_by(BLOCK) {
                let words = BLOCK.min(chosen - from);
                streams.fill(&mut rows, words);
                for step in 0..words {
                    let at = from + step;
                    for ((sum, deck), row) in sums.iter_mut().zip(&mut decks).zip(&rows) {
                        let swap = at + word_index(row[step], pooled.len() - at);
                        *sum += deck[swap];
                        // The other half of the swap would write a place that is not looked at again.
                        deck[swap] = deck[at];
                    }
                }
            }
            for (hit, sum) in hits.iter_mut().zip(sums) {
                *hit = self.test.is_hit(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(threads: usize) -> Job {
        Job {
            seed: 42,
            key: "m|ttft_ms|native~nspawn|permutation".into(),
            resamples: 10_000,
            confidence: 0.95,
            threads,
        }
    }

    fn ramp(n: usize, offset: f64) -> Vec<f64> {
        (0..n).map(|i| offset + (i as f64 * 2.399).sin()).collect()
    }

    /// The test read aloud: every subset of the pooled values by its bits.
    fn literal(a: &[f64], b: &[f64]) -> f64 {
        let pooled = [a, b].concat();
        let mean = |picked: &dyn Fn(usize) -> bool| {
            let chosen: Vec<f64> = (0..pooled.len()).filter(|&i| picked(i)).map(|i| pooled[i]).collect();
            chosen.iter().sum::<f64>() / chosen.len() as f64
        };
        let observed = mean(&|i| i >= a.len()) - mean(&|i| i < a.len());
        let largest = pooled.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        let (mut hits, mut all) = (0u32, 0u32);
        for mask in 0u32..1 << pooled.len() {
            if mask.count_ones() as usize == b.len() {
                let d = mean(&|i| mask >> i & 1 == 1) - mean(&|i| mask >> i & 1 == 0);
                hits += u32::from(d.abs() >= observed.abs() - 1e-12 * largest);
                all += 1;
            }
        }
        f64::from(hits) / f64::from(all)
    }

    #[test]
    fn two_against_two_fully_apart_is_one_third() {
        let result = mean_difference(&[1.0, 2.0], &[3.0, 4.0], &job(1)).unwrap();
        assert_eq!(result, Permutation { p: 2.0 / 6.0, exact: true, count: 6 });
    }

    #[test]
    fn all_splits_are_those_of_the_literal_reading() {
        for (na, nb, offset) in [(2, 5, 0.4), (3, 3, 0.0), (6, 7, 0.7), (7, 4, 1.2), (8, 8, 0.9)] {
            let (a, b) = (ramp(na, 0.0), ramp(nb, offset));
            let result = mean_difference(&a, &b, &job(1)).unwrap();
            assert!(result.exact);
            assert_eq!(result.p, literal(&a, &b), "{na} and {nb}");
            assert_eq!(mean_difference(&b, &a, &job(1)), Some(result));
        }
    }

    #[test]
    fn tied_decimals_are_hits_in_spite_of_rounding() {
        // Every mean difference of these is a multiple of 0.1/3 that binary cannot hold.
        let (a, b) = ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4]);
        assert_eq!(mean_difference(&a, &b, &job(1)).unwrap().p, literal(&a, &b));
        assert_eq!(mean_difference(&[0.1; 3], &[0.1; 4], &job(1)).unwrap().p, 1.0);
    }

    #[test]
    fn ten_against_ten_is_all_splits_and_eleven_against_ten_is_not() {
        let exact = mean_difference(&ramp(10, 0.0), &ramp(10, 0.5), &job(1)).unwrap();
        assert_eq!((exact.exact, exact.count), (true, 184_756));
        let drawn = mean_difference(&ramp(11, 0.0), &ramp(10, 0.5), &job(1)).unwrap();
        assert_eq!((drawn.exact, drawn.count), (false, 99_999));
    }

    #[test]
    fn random_splits_agree_with_all_splits() {
        let (a, b) = (ramp(9, 0.0), ramp(10, 0.6));
        let test = Test::new(&a, &b).unwrap();
        let p = test.hits_of_all() as f64 / 92_378.0;
        let drawn = test.hits_of_random(3, 1) as f64 / RANDOM_SPLITS as f64;
        assert!((drawn - p).abs() < 5.0 * (p * (1.0 - p) / RANDOM_SPLITS as f64).sqrt(), "{drawn} {p}");
    }

    #[test]
    fn splits_side_by_side_are_those_one_after_another() {
        for (na, nb) in [(11, 10), (50, 49), (600, 530), (900, 1_100)] {
            let test = Test::new(&ramp(na, 0.0), &ramp(nb, 0.03)).unwrap();
            let (mut one, mut many) = ([false; 100], [false; 100]);
            test.split(7, 3, &mut one);
            lanes::widest(Splits { test: &test, base: 7, first: 3, out: &mut many });
            assert_eq!(one, many, "{na} and {nb}");
            assert!(one.contains(&true) && one.contains(&false), "{na} and {nb}: splits that tell nothing");
        }
    }

    #[test]
    fn threads_and_input_order_do_not_change_the_p_value() {
        let (mut a, b) = (ramp(40, 0.0), ramp(30, 0.2));
        let one = mean_difference(&a, &b, &job(1));
        a.reverse();
        for threads in [0, 1, 2, 3] {
            assert_eq!(mean_difference(&a, &b, &job(threads)), one);
        }
    }

    #[test]
    fn the_smallest_random_p_is_one_in_a_hundred_thousand() {
        let result = mean_difference(&ramp(30, 0.0), &ramp(30, 100.0), &job(0)).unwrap();
        assert_eq!(result.p, 1e-5);
    }

    #[test]
    fn one_value_or_an_infinite_one_gives_nothing() {
        assert_eq!(mean_difference(&[1.0], &[2.0, 3.0], &job(1)), None);
        assert_eq!(mean_difference(&[1.0, f64::INFINITY], &[2.0, 3.0], &job(1)), None);
    }
}
