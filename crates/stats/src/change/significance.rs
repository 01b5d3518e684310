//! Whether two neighbouring segments differ by more than chance, given that the place of the change was chosen from the data.
//!
//! In:  standardised values of two neighbouring segments, or their distances from the level.
//! Out: p-values.
//! Not here: where the candidates come from (see [`super::partition`]).
//!
//! Without a change every order of the values is as likely. The statistic is the largest contrast over all places of a change, so the choice of
//! the place is part of the null distribution. Orders are drawn from seeded streams. Once enough of them reach the observed contrast the answer
//! is known and the drawing ends.
//!
//! Source: Matteson and James, *JASA* 109 (2014), permutation of the points between two changes. Besag and Clifford, *Biometrika* 78 (1991), for
//! the early end.

use crate::dist::t_two_sided;
use crate::random::Stream;

/// Orders drawn at most. The smallest p-value is 1 / (1 + this).
pub(super) const PERMUTATIONS: usize = 999;

/// The same for a series longer than [`LONG`].
const PERMUTATIONS_OF_LONG: usize = 399;

/// Number of points from which fewer orders are drawn, because one takes long.
const LONG: usize = 3_000;

/// Draws end once this many orders reach the observed contrast.
const ENOUGH: usize = 40;

/// Below this number of points a permutation test can reject nothing, and a t-test over all places decides.
pub(super) const FEW: usize = 14;

/// Values are in units of the noise. A few values that happen to agree do not prove that there is no noise.
const LEAST_VARIANCE: f64 = 0.25;

/// A segment of fewer points is a short one.
const SHORT: usize = 8;

/// p-value of a change of level between `values[..split]` and `values[split..]`.
///
/// A short segment could have begun at many more places than a long one, so it is compared with windows of all places. Two longer segments are
/// compared with two segments.
pub(super) fn level(values: &[f64], split: usize, least: usize, base: u64) -> f64 {
    if values.len() < FEW {
        return few(values, split, least);
    }
    let shorter = split.min(values.len() - split);
    if shorter < SHORT {
        return any_level(values, least.max(shorter / 2), base);
    }
    let m = values.len();
    let scales: Vec<f64> = (0..=m).map(|k| m as f64 / (k * (m - k)).max(1) as f64).collect();
    permuted(&centred(values), base, |values| {
        let (mut sum, mut largest) = (0.0, 0.0_f64);
        for (k, x) in values.iter().enumerate().take(m - least) {
            sum += x;
            if k + 1 >= least {
                largest = largest.max(sum * sum * scales[k + 1]);
            }
        }
        largest
    })
}

/// p-value of any departure from one level, of at least `least` points at any place. `None` for too few values.
pub(super) fn any(values: &[f64], least: usize, base: u64) -> Option<f64> {
    (values.len() >= FEW).then(|| any_level(values, least, base))
}

/// The largest difference between a window and the rest, in standard errors. Values are in units of the noise.
pub(super) fn largest(values: &[f64], least: usize) -> f64 {
    let mut sums = vec![0.0];
    let mut sum = 0.0;
    sums.extend(centred(values).into_iter().map(|x| {
        sum += x;
        sum
    }));
    largest_contrast(&sums, &lengths(values.len(), least)).sqrt()
}

fn any_level(values: &[f64], least: usize, base: u64) -> f64 {
    let lengths = lengths(values.len(), least);
    let mut sums = vec![0.0; values.len() + 1];
    permuted(&centred(values), base, |values| {
        let mut sum = 0.0;
        for (at, x) in sums[1..].iter_mut().zip(values) {
            sum += x;
            *at = sum;
        }
        largest_contrast(&sums, &lengths)
    })
}

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|x| x - mean).collect()
}

/// Lengths of the windows that are compared with the rest: every length up to eight, then about four for each doubling.
fn lengths(m: usize, least: usize) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut length = least;
    while length <= m / 2 {
        lengths.push(length);
        length += (length / 4).max(1);
    }
    lengths
}

/// The square of the largest standardised difference between a window and the rest, over windows of all places and of these lengths.
fn largest_contrast(sums: &[f64], lengths: &[usize]) -> f64 {
    let m = sums.len() - 1;
    let mut largest = 0.0_f64;
    for &length in lengths {
        let scale = m as f64 / (length * (m - length)) as f64;
        let far = sums[length..].iter().zip(sums).map(|(b, a)| (b - a).abs()).fold(0.0, f64::max);
        largest = largest.max(far * far * scale);
    }
    largest
}

/// Student's t at the split, times the number of places that the change could have had.
fn few(values: &[f64], split: usize, least: usize) -> f64 {
    let (a, b) = values.split_at(split);
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let squares = |x: &[f64], m: f64| x.iter().map(|v| (v - m) * (v - m)).sum::<f64>();
    let df = values.len() as f64 - 2.0;
    let variance = ((squares(a, ma) + squares(b, mb)) / df).max(LEAST_VARIANCE);
    let se = (variance * (1.0 / a.len() as f64 + 1.0 / b.len() as f64)).sqrt();
    let places = (values.len() + 1).saturating_sub(2 * least).max(1) as f64;
    if ma == mb {
        return 1.0;
    }
    (t_two_sided((mb - ma) / se, df) * places).min(1.0)
}

/// p-value of a change of scatter in distances from the level.
pub(super) fn scatter(distances: &[f64], least: usize, base: u64) -> f64 {
    if distances.len() < 2 * least {
        return 1.0;
    }
    let floor = super::partition::floor_of(distances);
    let kept: Vec<f64> = distances.iter().map(|d| d.max(floor)).collect();
    let total = kept.iter().sum::<f64>();
    permuted(&kept, base, |values| largest_ratio(values, total, least))
}

/// The largest gain in likelihood by two scatters in place of one, without its constant part.
fn largest_ratio(distances: &[f64], total: f64, least: usize) -> f64 {
    let m = distances.len();
    let whole = m as f64 * (total / m as f64).ln();
    let (mut sum, mut largest) = (0.0, f64::NEG_INFINITY);
    for (i, x) in distances.iter().enumerate().take(m - least) {
        sum += x;
        let k = i + 1;
        if k >= least {
            let (a, b) = (k as f64, (m - k) as f64);
            largest = largest.max(whole - a * (sum / a).ln() - b * ((total - sum) / b).ln());
        }
    }
    largest
}

/// (1 + hits) / (1 + draws): the share of orders whose statistic reaches that of the observed order.
fn permuted(values: &[f64], base: u64, mut statistic: impl FnMut(&[f64]) -> f64) -> f64 {
    let observed = statistic(values);
    let bar = observed - 1e-9 * observed.abs();
    let mut deck = values.to_vec();
    let mut hits = 0;
    let draws = if values.len() > LONG { PERMUTATIONS_OF_LONG } else { PERMUTATIONS };
    for draw in 0..draws {
        let mut stream = Stream::new(base, draw as u64);
        for i in (1..deck.len()).rev() {
            deck.swap(i, stream.index(i + 1));
        }
        hits += usize::from(statistic(&deck) >= bar);
        if hits >= ENOUGH {
            return hits as f64 / (draw + 1) as f64;
        }
    }
    (1 + hits) as f64 / (1 + draws) as f64
}
