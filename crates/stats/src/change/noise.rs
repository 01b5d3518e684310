//! The noise of a series without any change: its scatter, its memory, its odd points.
//!
//! In:  values in order of time.  Out: a robust standard deviation, the lag-1 autocorrelation, the indices of outliers.
//! Not here: changes (see [`super::partition`]).
//!
//! All three are taken from differences of near points, because those hardly notice a change of level: one change spoils one difference.
//!
//! Source: Chakar et al., *Bernoulli* 23 (2017), autocorrelation by differences at two distances. Hampel, *JASA* 69 (1974), medians of neighbours.

use crate::quantile::{quantile_sorted, sorted};

/// Share of the smallest absolute differences that measures the noise. Changes and outliers make the largest.
const KEPT: f64 = 0.75;

/// Mean of the lower three quarters of |N(0, 1)|.
const MEAN_OF_KEPT: f64 = 0.514_666;

/// Share of the largest differences that is left out: those that a change or an outlier may have made.
const TRIM: f64 = 0.1;

/// A point is an outlier when it lies farther than this many standard deviations from the median of its neighbours.
pub(super) const OUTLIER: f64 = 5.0;

/// The same for two side by side at an end: two that agree need not be as far.
const OUTLIERS_OF_TWO: f64 = 3.5;

/// Neighbours on each side that an outlier is compared with.
const NEIGHBOURS: usize = 5;

/// Points in a row that can be outliers. More of them are a level.
const ODD_IN_A_ROW: usize = 2;

/// Fewest points in which one can be called odd.
const LEAST_FOR_OUTLIERS: usize = 7;

/// Fewest points in which two at an end can be called odd. In fewer points two can be a level.
const LEAST_FOR_TWO_AT_AN_END: usize = super::significance::FEW;

/// Standard deviation of the noise, from the mean of the lower three quarters of the absolute successive differences.
///
/// Exact for normal noise. A mean, unlike a median, also sees noise that mostly jumps between two modes.
pub(super) fn sigma(values: &[f64]) -> f64 {
    let steps = sorted(&values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect::<Vec<_>>());
    let kept = (KEPT * steps.len() as f64).ceil() as usize;
    if kept == 0 {
        return 0.0;
    }
    steps[..kept].iter().sum::<f64>() / kept as f64 / MEAN_OF_KEPT / std::f64::consts::SQRT_2
}

/// Standard deviation of the noise from all absolute successive differences: for noise that jumps now and then and has no odd points.
pub(super) fn sigma_of_all(values: &[f64]) -> f64 {
    let steps = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let mean = steps.sum::<f64>() / (values.len().max(2) - 1) as f64;
    // The mean of |N(0, 1)| is sqrt(2 / pi), and a difference has twice the variance of a value.
    mean * std::f64::consts::PI.sqrt() / 2.0
}

/// Whether a third of the points of a series are near this one.
pub(super) fn is_usual(values: &[f64], at: usize, sigma: f64) -> bool {
    3 * values.iter().filter(|x| (*x - values[at]).abs() <= 0.5 * OUTLIER * sigma).count() >= values.len()
}

/// Whether too many points are called odd, so that they belong to the noise. Two in a row are never too many where they may be odd at an end.
pub(super) const fn too_many(outliers: usize, n: usize) -> bool {
    outliers * MOST_OUTLIERS > n && (n < LEAST_FOR_TWO_AT_AN_END || outliers > ODD_IN_A_ROW)
}

/// At most one point in this many is odd.
const MOST_OUTLIERS: usize = 10;

/// Autocorrelation beyond which noise cannot be told from a wandering level.
pub(super) const MOST_MEMORY: f64 = 0.95;

/// Lag-1 autocorrelation from the squares of differences at distances 1 and 2, from 0 to [`MOST_MEMORY`]. `None` below eight points or
/// without noise.
pub(super) fn autocorrelation(values: &[f64]) -> Option<f64> {
    if values.len() < 8 {
        return None;
    }
    let spread = |lag: usize| {
        let squares: Vec<f64> = (lag..values.len()).map(|i| (values[i] - values[i - lag]).powi(2)).collect();
        let squares = sorted(&squares);
        let kept = squares.len() - (TRIM * squares.len() as f64).ceil() as usize;
        squares[..kept].iter().sum::<f64>() / kept as f64
    };
    let near = spread(1);
    (near > 0.0).then(|| (spread(2) / near - 1.0).clamp(0.0, MOST_MEMORY))
}

/// Indices of odd points that are no level, ascending. They are far from the median of up to five neighbours on each side, at most two in a row.
///
/// The last point is among them when it alone is odd, and in a long series the last two: whether they begin a new level, the next point will
/// tell. The same holds for the first ones.
pub(super) fn outliers(values: &[f64], sigmas: &[f64]) -> Vec<usize> {
    let n = values.len();
    if n < LEAST_FOR_OUTLIERS {
        return Vec::new();
    }
    let median = |values: &[f64]| quantile_sorted(&sorted(values), 0.5);
    let odd: Vec<bool> = (0..n)
        .map(|i| {
            let far = |from: usize, to: usize| {
                from == to || (values[i] - median(&values[from..to])).abs() > OUTLIER * sigmas[i]
            };
            let alone = |j: usize| (values[i] - values[j]).abs() > OUTLIER * sigmas[i];
            // The first and the last point have neighbours on one side only: the nearest of them must be far as well.
            let end = if i == 0 { alone(1) } else { i + 1 < n || alone(i - 1) };
            end && far(i.saturating_sub(NEIGHBOURS), i) && far(i + 1, (i + 1 + NEIGHBOURS).min(n))
        })
        .collect();
    // Points that are half as far belong to odd ones beside them on the same side: three of them are a level.
    let leaning: Vec<f64> = (0..n)
        .map(|i| {
            let around =
                [&values[i.saturating_sub(NEIGHBOURS)..i], &values[i + 1..(i + 1 + NEIGHBOURS).min(n)]].concat();
            let away = values[i] - median(&around);
            if away.abs() > 0.5 * OUTLIER * sigmas[i] { away.signum() } else { 0.0 }
        })
        .collect();
    let mut found = Vec::new();
    let mut i = 0;
    while i < n {
        if !odd[i] {
            i += 1;
            continue;
        }
        let mut from = i;
        while i < n && odd[i] {
            i += 1;
        }
        let mut to = i;
        while from > 0 && leaning[from] != 0.0 && leaning[from - 1] == leaning[from] {
            from -= 1;
        }
        while to < n && leaning[to - 1] != 0.0 && leaning[to] == leaning[to - 1] {
            to += 1;
        }
        let at_an_end = from == 0 || to == n;
        if to - from <= if at_an_end { 1 } else { ODD_IN_A_ROW } {
            found.extend((from..to).filter(|at| odd[*at]));
        }
    }
    if n >= LEAST_FOR_TWO_AT_AN_END {
        for (pair, beside) in [([0, 1], 2..2 + NEIGHBOURS), ([n - 2, n - 1], n - 2 - NEIGHBOURS..n - 2)] {
            let middle = median(&values[beside.clone()]);
            let next = values[if pair[0] == 0 { beside.start } else { beside.end - 1 }];
            // A third one of them makes a level. Two at the usual level are not odd, but those beside them.
            let is_far =
                |i: usize| [middle, next].iter().all(|at| (values[i] - at).abs() > OUTLIERS_OF_TWO * sigmas[i]);
            if pair.into_iter().all(is_far) && pair.into_iter().any(|i| !is_usual(values, i, sigmas[i])) {
                found.extend(pair);
            }
        }
        found.sort_unstable();
        found.dedup();
    }
    found
}
