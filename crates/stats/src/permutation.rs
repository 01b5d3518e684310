//! Permutation tests of a difference of means, as it is and over its standard error.
//!
//! In:  finite values of two arms and a [`Job`] (its seed, key and threads, not its resamples).
//! Out: a two-sided p-value, exact where all splits can be counted.
//! Not here: rank tests, t tests.
//!
//! Under the null hypothesis every split of the pooled values into the two arms is equally likely. A split
//! counts as a hit when its statistic is at least as large as that observed, but for rounding.
//!
//! Source: Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010), for the p-value of random draws. Janssen, *Stat. Prob. Lett.* 36 (1997),
//! for the studentised statistic, whose test also holds where spreads differ and arms are large.

mod statistic;

use self::statistic::{Means, SplitStatistic, Welch};
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
    Some(Test::of_means(&a, &b).p_value(job))
}

/// The same with Welch's t as the statistic, which also asks whether the spreads of a split explain its difference.
pub fn studentised(a: &[f64], b: &[f64], job: &Job) -> Option<Permutation> {
    let (a, b) = (sorted_sample(a)?, sorted_sample(b)?);
    Some(Test::of_welch(&a, &b).p_value(job))
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

/// The pooled sample and its statistic.
struct Test<S> {
    /// All values, ascending, so that neither the order of the input nor the names of the arms matter.
    pooled: Vec<f64>,
    /// Size of the smaller arm: choosing it chooses the other.
    chosen: usize,
    statistic: S,
}

fn pooled(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut pooled = [a, b].concat();
    pooled.sort_unstable_by(f64::total_cmp);
    pooled
}

impl Test<Means> {
    fn of_means(a: &[f64], b: &[f64]) -> Self {
        let (pooled, chosen) = (pooled(a, b), a.len().min(b.len()));
        let statistic = Means::observed([sample::mean(a), sample::mean(b)], &pooled, chosen);
        Test { pooled, chosen, statistic }
    }
}

impl Test<Welch> {
    fn of_welch(a: &[f64], b: &[f64]) -> Self {
        let all = pooled(a, b);
        let centre = sample::mean(&all);
        let largest = all.iter().map(|x| (x - centre).abs()).fold(0.0, f64::max);
        let unit = if largest > 0.0 { largest } else { 1.0 };
        let scaled = |values: &[f64]| values.iter().map(|x| (x - centre) / unit).collect::<Vec<f64>>();
        let (pooled, smaller) = (scaled(&all), scaled(if a.len() <= b.len() { a } else { b }));
        let statistic = Welch::observed(&smaller, &pooled);
        Test { pooled, chosen: smaller.len(), statistic }
    }
}

impl<S: SplitStatistic> Test<S> {
    fn p_value(&self, job: &Job) -> Permutation {
        match splits(self.pooled.len(), self.chosen) {
            Some(count) => Permutation { p: self.hits_of_all() as f64 / count as f64, exact: true, count },
            None => {
                let hits = self.hits_of_random(job_base(job.seed, &job.key), job.threads);
                let count = RANDOM_SPLITS as u64;
                Permutation { p: (1 + hits) as f64 / (1 + count) as f64, exact: false, count }
            }
        }
    }

    fn hits_of_all(&self) -> u64 {
        self.hits_from(0, self.chosen, S::Sums::default())
    }

    /// Hits among the ways to add `left` more values, from position `from` on, to `sums`. Every sum is built from
    /// nothing along its own branch, so no rounding is carried from split to split.
    fn hits_from(&self, from: usize, left: usize, sums: S::Sums) -> u64 {
        let last = self.pooled.len() - left;
        let choices = &self.pooled[from..=last];
        if left == 1 {
            return choices.iter().map(|&value| u64::from(self.statistic.is_hit(S::add(sums, value)))).sum();
        }
        let deeper = |(i, &value): (usize, &f64)| self.hits_from(from + i + 1, left - 1, S::add(sums, value));
        choices.iter().enumerate().map(deeper).sum()
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
            let mut sums = S::Sums::default();
            for at in 0..self.chosen {
                deck.swap(at, at + stream.index(self.pooled.len() - at));
                sums = S::add(sums, deck[at]);
            }
            *hit = self.statistic.is_hit(sums);
        }
    }
}

/// Random splits, [`LANES`] of them side by side. One shuffle is a chain of loads that wait for stores, and eight of them fill the time.
struct Splits<'a, S> {
    test: &'a Test<S>,
    base: u64,
    first: usize,
    out: &'a mut [bool],
}

impl<S: SplitStatistic> Kernel for Splits<'_, S> {
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
            let mut sums = [S::Sums::default(); LANES];
            for from in (0..*chosen).step_by(BLOCK) {
                let words = BLOCK.min(chosen - from);
                streams.fill(&mut rows, words);
                for step in 0..words {
                    let at = from + step;
                    for ((sum, deck), row) in sums.iter_mut().zip(&mut decks).zip(&rows) {
                        let swap = at + word_index(row[step], pooled.len() - at);
                        *sum = S::add(*sum, deck[swap]);
                        // The other half of the swap would write a place that is not looked at again.
                        deck[swap] = deck[at];
                    }
                }
            }
            for (hit, sum) in hits.iter_mut().zip(sums) {
                *hit = self.test.statistic.is_hit(sum);
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

    /// The test read aloud: every subset of the pooled values by its bits. The statistic is that of two arms.
    fn literal(a: &[f64], b: &[f64], statistic: fn(&[f64], &[f64]) -> f64) -> f64 {
        let pooled = [a, b].concat();
        let observed = statistic(a, b).abs();
        let largest = pooled.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        let (mut hits, mut all) = (0u32, 0u32);
        for mask in 0u32..1 << pooled.len() {
            if mask.count_ones() as usize == b.len() {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                pooled
                    .iter()
                    .enumerate()
                    .for_each(|(i, &x)| if mask >> i & 1 == 1 { right.push(x) } else { left.push(x) });
                hits += u32::from(statistic(&left, &right).abs() >= observed - 1e-12 * largest);
                all += 1;
            }
        }
        f64::from(hits) / f64::from(all)
    }

    fn difference(a: &[f64], b: &[f64]) -> f64 {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        mean(b) - mean(a)
    }

    fn welch_t(a: &[f64], b: &[f64]) -> f64 {
        crate::student::contrast(a, b).unwrap().t()
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
            assert_eq!(result.p, literal(&a, &b, difference), "{na} and {nb}");
            assert_eq!(mean_difference(&b, &a, &job(1)), Some(result));
        }
    }

    #[test]
    fn tied_decimals_are_hits_in_spite_of_rounding() {
        // Every mean difference of these is a multiple of 0.1/3 that binary cannot hold.
        let (a, b) = ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4]);
        assert_eq!(mean_difference(&a, &b, &job(1)).unwrap().p, literal(&a, &b, difference));
        assert_eq!(mean_difference(&[0.1; 3], &[0.1; 4], &job(1)).unwrap().p, 1.0);
    }

    #[test]
    fn all_studentised_splits_are_those_of_the_literal_reading() {
        for (na, nb, offset) in [(2, 5, 0.4), (3, 3, 0.0), (6, 7, 0.7), (7, 4, 1.2), (8, 8, 0.9), (3, 12, 0.5)] {
            for far in [0.0, 1e6] {
                let (a, b) = (ramp(na, far), ramp(nb, far + offset));
                let result = studentised(&a, &b, &job(1)).unwrap();
                assert!(result.exact);
                assert_eq!(result.p, literal(&a, &b, welch_t), "{na} and {nb}");
                assert_eq!(studentised(&b, &a, &job(1)), Some(result));
            }
        }
    }

    // All splits by itertools.combinations, with |ttest_ind(a, b, equal_var=False).statistic| of SciPy 1.17.1.
    #[test]
    fn the_studentised_p_is_that_of_an_enumeration_with_scipy() {
        let a = [4.8, 5.6, 5.1, 6.3, 5.9];
        let p = |a: &[f64], b: &[f64]| studentised(a, b, &job(1)).unwrap().p;
        assert_eq!(p(&a, &[5.7, 6.6, 6.4, 7.9, 5.2]), 40.0 / 252.0);
        assert_eq!(p(&a[..4], &[5.7, 6.6, 6.4, 9.9, 5.2, 7.1, 8.8]), 13.0 / 330.0);
    }

    #[test]
    fn an_arm_without_spread_is_apart_only_from_another_value() {
        let p = |a: &[f64], b: &[f64]| studentised(a, b, &job(1)).unwrap().p;
        assert_eq!(p(&[0.1; 3], &[0.1; 4]), 1.0);
        assert_eq!(p(&[0.1; 3], &[0.3; 4]), 1.0 / 35.0);
        assert_eq!(p(&[0.1; 3], &[0.3; 3]), 2.0 / 20.0);
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
        let test = Test::of_means(&a, &b);
        let p = test.hits_of_all() as f64 / 92_378.0;
        let drawn = test.hits_of_random(3, 1) as f64 / RANDOM_SPLITS as f64;
        assert!((drawn - p).abs() < 5.0 * (p * (1.0 - p) / RANDOM_SPLITS as f64).sqrt(), "{drawn} {p}");
    }

    #[test]
    fn splits_side_by_side_are_those_one_after_another() {
        for (na, nb) in [(11, 10), (50, 49), (600, 530), (900, 1_100)] {
            let test = Test::of_means(&ramp(na, 0.0), &ramp(nb, 0.03));
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
        for test in [mean_difference, studentised] {
            let one = test(&a, &b, &job(1));
            a.reverse();
            for threads in [0, 1, 2, 3] {
                assert_eq!(test(&a, &b, &job(threads)), one);
            }
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
