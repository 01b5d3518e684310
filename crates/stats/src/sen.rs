//! Sen's slope: the median slope over all pairs, in bounded memory.
//!
//! In:  values in order of time.  Out: the median of (x_j - x_i) / (j - i), i < j, per step.
//! Not here: the test of trend (see [`super::drift()`]).
//!
//! Up to `DIRECT` values all slopes are formed and the median is selected. Beyond that there are too many: a million values have 5 x 10^11
//! slopes. Then the slopes up to a candidate are counted in `O(n log n)` time and `O(n)` memory. A pair's slope is at most c exactly
//! when `x - c t` does not rise from i to j. The candidate is narrowed down to 1e-12 of its size. This is a search for the same median, not
//! an approximation from a subset.
//!
//! Source: Sen, *JASA* 63 (1968). The counting view is that of Cole et al., *SIAM J. Comput.* 18 (1989).

use super::quantile::sorted;
use super::{drift, root};

/// Number of values up to which all pairs are formed: two million slopes, 16 MB.
const DIRECT: usize = 2048;
/// Pairs looked at for the first bracket.
const PROBES: usize = 32_768;

/// Median slope per step. Fewer than two values: 0.
pub fn slope(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 2 {
        return 0.0;
    }
    let pairs = n * (n - 1) / 2;
    let (lower, upper) = ((pairs - 1) / 2, pairs / 2);
    if n <= DIRECT {
        return direct(values, lower, upper);
    }
    let search = Search { values, bracket: first_bracket(values) };
    let low = search.select(lower);
    // The upper middle is the same slope unless the counts part exactly between the two.
    let high = if upper == lower { low } else { search.select(upper) };
    0.5 * low + 0.5 * high
}

fn direct(values: &[f64], lower: usize, upper: usize) -> f64 {
    let mut slopes = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    for (i, x) in values.iter().enumerate() {
        slopes.extend(values[i + 1..].iter().enumerate().map(|(step, y)| (y - x) / (step + 1) as f64));
    }
    let (below, &mut middle, _) = slopes.select_nth_unstable_by(upper, f64::total_cmp);
    if lower == upper {
        return middle;
    }
    let low = below.iter().copied().max_by(f64::total_cmp).unwrap_or(middle);
    0.5 * low + 0.5 * middle
}

struct Search<'a> {
    values: &'a [f64],
    bracket: (f64, f64),
}

impl Search<'_> {
    /// Slopes that are at most `c`.
    fn up_to(&self, c: f64) -> i64 {
        let n = self.values.len() as i64;
        n * (n - 1) / 2 - drift::falling_pairs(&self.tilted(c, |x| -x))
    }

    /// Slopes below `c`.
    fn below(&self, c: f64) -> i64 {
        drift::falling_pairs(&self.tilted(c, |x| x))
    }

    fn tilted(&self, c: f64, turn: impl Fn(f64) -> f64) -> Vec<f64> {
        self.values.iter().enumerate().map(|(i, x)| turn(x - c * i as f64)).collect()
    }

    /// The slope with `rank` others before it in ascending order.
    fn select(&self, rank: usize) -> f64 {
        let rank = rank as i64;
        // Zero is the one value that a relative tolerance never reaches, and the one that integer data really has.
        if self.below(0.0) <= rank && rank < self.up_to(0.0) {
            return 0.0;
        }
        let excess = |c: f64| (rank - self.up_to(c)) as f64 + 0.5;
        let (mut low, mut high) = self.bracket;
        let (mut at_low, mut at_high) = (excess(low), excess(high));
        let widest = self.values.iter().fold(0.0_f64, |m, x| m.max(x.abs())) * 2.0 + f64::MIN_POSITIVE;
        if at_low < 0.0 {
            (high, at_high) = (low, at_low);
            low = -widest;
            at_low = excess(low).max(0.5);
        }
        if at_high > 0.0 {
            (low, at_low) = (high, at_high);
            high = widest;
            at_high = excess(high).min(-0.5);
        }
        let tolerance = 1e-12 * low.abs().max(high.abs());
        root::falling(excess, (low, at_low), (high, at_high), tolerance)
    }
}

/// Limits that hold the median slope almost certainly, from pairs spread evenly over all pairs. [`Search::select`] checks them.
fn first_bracket(values: &[f64]) -> (f64, f64) {
    let n = values.len();
    // A two-dimensional Kronecker sequence: no randomness, and no period that a periodic trace could share.
    let (step_i, step_j) = (0.754_877_666_246_692_7, 0.569_840_290_998_053_2);
    let at = |k: usize, step: f64| (((k as f64 * step).fract() * n as f64) as usize).min(n - 1);
    let slopes: Vec<f64> = (1..=PROBES)
        .map(|k| (at(k, step_i), at(k, step_j)))
        .filter(|(i, j)| i != j)
        .map(|(i, j)| (values[j] - values[i]) / (j as f64 - i as f64))
        .collect();
    let slopes = sorted(&slopes);
    let middle = slopes.len() / 2;
    // Four standard errors of a median rank.
    let reach = 2 * (slopes.len() as f64).sqrt() as usize;
    (slopes[middle.saturating_sub(reach)], slopes[(middle + reach).min(slopes.len() - 1)])
}
