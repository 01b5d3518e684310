//! Candidates for change points: the partition of a series that costs least.
//!
//! In:  values with weights (level), or distances from the level (scatter).
//! Out: the indices at which a new segment begins, ascending.
//! Not here: whether a candidate is significant (see [`super::significance`]).
//!
//! The cost of a partition is the sum of the costs of its segments, and a penalty for each change. The best partition is found exactly, by
//! dynamic programming. Positions that can never again be the last change are dropped, which leaves few of them once changes are there.
//!
//! Source: Jackson et al., *IEEE Signal Process. Lett.* 12 (2005), optimal partitioning. Killick, Fearnhead and Eckley, *JASA* 107 (2012), for
//! the pruning and the penalty of 2 log n.

/// Penalty of one change, in units of twice the log-likelihood: this times log n.
const PENALTY: f64 = 2.0;

/// Fewest points of a segment of one level. One odd point is an outlier, never a level.
pub(super) const LEVEL_MIN: usize = 2;

/// Fewest points of a segment of one scatter: an sd of fewer is known to no better than a third of itself.
pub(super) const SCATTER_MIN: usize = 7;

/// Positions that are tried for changes of scatter. Longer series are tried on a grid, and the changes found are then moved to where
/// they fit best.
const SCATTER_POSITIONS: usize = 1_500;

/// Starts of new levels: least weighted squares about the means of the segments, of values whose weight is 1 / variance.
///
/// `values` and `weights` have one length. Weights are positive. Time `O(n²)` where nothing changes: a tenth of a second for 10,000 points.
pub(super) fn levels(values: &[f64], weights: &[f64]) -> Vec<usize> {
    let n = values.len();
    // Sums about the middle of the data, so that large values with small differences keep their digits.
    let middle = values.iter().sum::<f64>() / n.max(1) as f64;
    let mut sums = vec![[0.0; 3]; n + 1];
    for (i, (value, weight)) in values.iter().zip(weights).enumerate() {
        let x = value - middle;
        let [w, wx, wxx] = sums[i];
        sums[i + 1] = [w + weight, wx + weight * x, wxx + weight * x * x];
    }
    let cost = |from: usize, to: usize| {
        let ([w0, x0, xx0], [w1, x1, xx1]) = (sums[from], sums[to]);
        let sum = x1 - x0;
        xx1 - xx0 - sum * sum / (w1 - w0)
    };
    best(n, LEVEL_MIN, 1, PENALTY * (n as f64).ln(), cost)
}

/// Starts of new scatters, from distances to the level, by least cost under a Laplace likelihood. A few large distances sway it less than a
/// normal one.
pub(super) fn scatters(distances: &[f64]) -> Vec<usize> {
    let n = distances.len();
    let floor = floor_of(distances);
    let mut sums = vec![0.0; n + 1];
    for (i, distance) in distances.iter().enumerate() {
        sums[i + 1] = sums[i] + distance.max(floor);
    }
    let cost = |from: usize, to: usize| {
        let m = (to - from) as f64;
        2.0 * m * ((sums[to] - sums[from]) / m).ln()
    };
    best(n, SCATTER_MIN, n.div_ceil(SCATTER_POSITIONS), PENALTY * (n as f64).ln(), cost)
}

/// Share of the mean distance that the smallest ones are raised to.
const FLOOR: f64 = 0.25;

/// Floor of the smallest distances. Noise of two values has distances of 0, which would look like segments without any scatter.
/// All 0: 1, so that nothing changes.
pub(super) fn floor_of(distances: &[f64]) -> f64 {
    let mean = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
    if mean > 0.0 { FLOOR * mean } else { 1.0 }
}

/// The starts of all segments but the first in the cheapest partition of `0..n`, on a grid of `step` positions.
fn best(n: usize, least: usize, step: usize, penalty: f64, cost: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let least = least.max(step);
    if n < 2 * least {
        return Vec::new();
    }
    let ends: Vec<usize> = (1..).map(|k| k * step).take_while(|&end| end < n).chain([n]).collect();
    // By position on the grid: cheapest cost up to there, and the start of the last segment.
    let mut cheapest = vec![f64::INFINITY; ends.len() + 1];
    let mut start = vec![0; ends.len() + 1];
    let at = |k: usize| if k == 0 { 0 } else { ends[k - 1] };
    cheapest[0] = -penalty;
    let mut open: Vec<usize> = Vec::new();
    let mut entered = 0;
    let mut costs: Vec<f64> = Vec::new();
    for k in 1..=ends.len() {
        let end = at(k);
        while entered < k && at(entered) + least <= end {
            open.push(entered);
            entered += 1;
        }
        costs.clear();
        costs.extend(open.iter().map(|&j| cheapest[j] + cost(at(j), end)));
        for (&j, &sum) in open.iter().zip(&costs) {
            if sum + penalty < cheapest[k] {
                (cheapest[k], start[k]) = (sum + penalty, j);
            }
        }
        let bound = cheapest[k];
        let mut costs = costs.iter();
        open.retain(|_| costs.next().is_some_and(|&sum| sum <= bound));
    }
    let mut starts = Vec::new();
    let mut k = ends.len();
    while start[k] > 0 {
        k = start[k];
        starts.push(at(k));
    }
    starts.reverse();
    starts
}
