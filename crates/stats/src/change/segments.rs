//! From candidates to changes: drops the weakest candidate until all others are significant.
//!
//! In:  values with their standard deviations, or distances from the level.
//! Out: the changes that are left, each with its p-value.
//! Not here: margins and words (see [`super`]).
//!
//! When a candidate goes, its neighbours have other segments beside them. They are moved to where they fit best and tested again.
//!
//! Source: Fleming et al., *ICPE* (2023), for going from weak candidates to strong ones.

use super::noise;
use super::partition::{self, LEVEL_MIN, SCATTER_MIN};
use super::significance::{self, FEW};
use crate::random::job_base;

/// A departure from one level is believed below this p-value, for the whole series at once.
pub(super) const ALPHA_SERIES: f64 = 0.003;

/// A window this many standard errors from the rest is a departure too. Three points cannot be rare among thirty by their order alone,
/// however far away they are.
const OBVIOUS: f64 = 8.0;

/// Fewest points of a level at an end of a series that is not short.
const LEAST_AT_AN_END: usize = 3;

/// Given that the level changes at all, each change needs a p-value below this.
pub(super) const ALPHA_CHANGE: f64 = 0.05;

/// A place at which something begins, and how likely chance alone would have made it look so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cut {
    /// Index of the first value after the change.
    pub index: usize,
    /// p-value.
    pub p: f64,
}

/// Distances from the weighted mean of `from..to`, in units of the noise.
fn standardised(values: &[f64], sigmas: &[f64], from: usize, to: usize) -> Vec<f64> {
    let weight = |i: usize| 1.0 / (sigmas[i] * sigmas[i]);
    let total: f64 = (from..to).map(weight).sum();
    let mean = (from..to).map(|i| weight(i) * values[i]).sum::<f64>() / total;
    (from..to).map(|i| (values[i] - mean) / sigmas[i]).collect()
}

/// Changes of level of `values`, whose noise has the standard deviations `sigmas`. One length, no autocorrelation.
pub(super) fn levels(values: &[f64], sigmas: &[f64], seed: u64) -> Vec<Cut> {
    let n = values.len();
    let weights: Vec<f64> = sigmas.iter().map(|s| 1.0 / (s * s)).collect();
    let apart = |from: usize, to: usize| standardised(values, sigmas, from, to);
    let whole = apart(0, n);
    let obvious = significance::largest(&whole, LEVEL_MIN) > OBVIOUS;
    if !obvious && significance::any(&whole, LEVEL_MIN, job_base(seed, "level")).is_some_and(|p| p > ALPHA_SERIES) {
        return Vec::new();
    }
    let alpha = if n < FEW { ALPHA_SERIES } else { ALPHA_CHANGE };
    let test = |from: usize, at: usize, to: usize| {
        // Two points at an end of a long series may be the first of a level, or odd. The next one will tell. At the usual level they are not odd.
        let is_short = |from: usize, to: usize| {
            to - from < LEAST_AT_AN_END && !(from..to).all(|i| noise::is_usual(values, i, sigmas[i]))
        };
        if n >= FEW && (from == 0 && is_short(0, at) || to == n && is_short(at, n)) {
            return 1.0;
        }
        let base = job_base(seed, &format!("level|{from}|{to}"));
        significance::level(&apart(from, to), at - from, LEVEL_MIN, base)
    };
    let place = |from: usize, to: usize| place_of_level(values, &weights, from, to);
    eliminate(partition::levels(values, &weights), n, alpha, place, test)
}

/// Changes of scatter in distances from the level, all p-values below `alpha`.
pub(super) fn scatters(distances: &[f64], alpha: f64, seed: u64, key: &str) -> Vec<Cut> {
    let n = distances.len();
    let test = |from: usize, _: usize, to: usize| {
        significance::scatter(&distances[from..to], SCATTER_MIN, job_base(seed, &format!("{key}|{from}|{to}")))
    };
    let place = |from: usize, to: usize| place_of_scatter(distances, from, to);
    eliminate(partition::scatters(distances), n, alpha, place, test)
}

/// Takes the candidate with the largest p-value away until no p-value is above `alpha`.
fn eliminate(
    mut places: Vec<usize>,
    n: usize,
    alpha: f64,
    place: impl Fn(usize, usize) -> usize,
    test: impl Fn(usize, usize, usize) -> f64,
) -> Vec<Cut> {
    let around = |places: &[usize], k: usize| {
        let before = k.checked_sub(1).map_or(0, |before| places[before]);
        (before, places.get(k + 1).copied().unwrap_or(n))
    };
    for k in 0..places.len() {
        let (from, to) = around(&places, k);
        places[k] = place(from, to);
    }
    let again = |places: &[usize], k: usize| {
        let (from, to) = around(places, k);
        test(from, places[k], to)
    };
    let mut ps: Vec<f64> = (0..places.len()).map(|k| again(&places, k)).collect();
    while let Some(weakest) = (0..ps.len()).max_by(|&a, &b| ps[a].total_cmp(&ps[b])).filter(|&k| ps[k] > alpha) {
        places.remove(weakest);
        ps.remove(weakest);
        for k in weakest.saturating_sub(1)..(weakest + 1).min(places.len()) {
            let (from, to) = around(&places, k);
            places[k] = place(from, to);
            ps[k] = again(&places, k);
        }
    }
    places.into_iter().zip(ps).map(|(index, p)| Cut { index, p }).collect()
}

/// Where two levels fit `from..to` best, by weighted least squares.
fn place_of_level(values: &[f64], weights: &[f64], from: usize, to: usize) -> usize {
    let total: f64 = weights[from..to].iter().sum();
    let mean = (from..to).map(|i| weights[i] * values[i]).sum::<f64>() / total;
    let (mut weight, mut sum) = (0.0, 0.0);
    let mut best = (f64::NEG_INFINITY, from + LEVEL_MIN);
    for i in from..to - LEVEL_MIN {
        weight += weights[i];
        sum += weights[i] * (values[i] - mean);
        let gain = sum * sum * total / (weight * (total - weight));
        if i + 1 >= from + LEVEL_MIN && gain > best.0 {
            best = (gain, i + 1);
        }
    }
    best.1
}

/// Where two scatters fit best, by a normal likelihood, which is sharper about the place than the one that finds candidates.
fn place_of_scatter(distances: &[f64], from: usize, to: usize) -> usize {
    let part = &distances[from..to];
    let least = SCATTER_MIN.min(part.len() / 2);
    let total: f64 = part.iter().map(|d| d * d).sum();
    let floor = 1e-6 * total / part.len() as f64;
    let mut sum = 0.0;
    let mut best = (f64::INFINITY, from + least);
    for (i, distance) in part.iter().enumerate().take(part.len() - least) {
        sum += distance * distance;
        let (a, b) = ((i + 1) as f64, (part.len() - i - 1) as f64);
        let cost = a * (sum / a).max(floor).ln() + b * ((total - sum) / b).max(floor).ln();
        if i + 1 >= least && cost < best.0 {
            best = (cost, from + i + 1);
        }
    }
    best.1
}
