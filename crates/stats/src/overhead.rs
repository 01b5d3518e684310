//! Overhead in per cent, and its interval on the log scale.
//!
//! In:  means or values of two arms and which way is better.  Out: per cent. Positive means that B costs more.
//! Not here: words such as "slower", the exact interval of a ratio (see [`super::fieller`]).
//!
//! For a rate the overhead is that of its reciprocal, the time: 100 (mA / mB - 1). The study of seed 001 tabulates
//! 100 (mA - mB) / mA instead, which is smaller by the factor mB / mA.

use serde::{Deserialize, Serialize};

/// Which way is better, and whether a per cent means anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Times, energy: 100 (mB / mA - 1).
    LowerIsBetter,
    /// Rates: 100 (mA / mB - 1).
    HigherIsBetter,
    /// Memory, power: 100 (mB / mA - 1), more or less, without a winner.
    Neutral,
    /// Temperatures, per cent, anything without a true zero: no per cent at all.
    DifferenceOnly,
}

/// Overhead of B over A in per cent. Absent when a mean is not positive or the metric allows no per cent.
pub fn overhead_pct(mean_a: f64, mean_b: f64, direction: Direction) -> Option<f64> {
    if !(mean_a > 0.0 && mean_b > 0.0) {
        return None;
    }
    let ratio = match direction {
        Direction::LowerIsBetter | Direction::Neutral => mean_b / mean_a,
        Direction::HigherIsBetter => mean_a / mean_b,
        Direction::DifferenceOnly => return None,
    };
    let overhead = 100.0 * (ratio - 1.0);
    overhead.is_finite().then_some(overhead)
}

/// An overhead as the change of the metric itself, per cent of A: more is positive, less is negative.
///
/// For a rate the two differ: at 1.77 times the throughput the overhead is -43 % and the change +77 %. Elsewhere they are the same number.
/// An end of an interval that no positive rate has (-100 % or less) has no change.
pub fn change_pct(overhead_pct: f64, direction: Direction) -> Option<f64> {
    let change = match direction {
        Direction::HigherIsBetter if overhead_pct > -100.0 => -100.0 * overhead_pct / (100.0 + overhead_pct),
        Direction::HigherIsBetter | Direction::DifferenceOnly => return None,
        Direction::LowerIsBetter | Direction::Neutral => overhead_pct,
    };
    // No minus before zero.
    change.is_finite().then_some(change + 0.0)
}

/// The same of an interval: of a rate the ends change places.
pub fn change_interval((low, high): (f64, f64), direction: Direction) -> Option<(f64, f64)> {
    let (a, b) = (change_pct(low, direction)?, change_pct(high, direction)?);
    Some((a.min(b), a.max(b)))
}

/// A value on the scale of comparisons in blocks: its logarithm, or itself where no per cent exists.
pub fn on_scale(value: f64, direction: Direction) -> f64 {
    if direction == Direction::DifferenceOnly { value } else { value.ln() }
}

/// A difference on that scale, B minus A, as an overhead in per cent. Where no per cent exists it stays a difference.
pub fn from_scale(difference: f64, direction: Direction) -> f64 {
    match direction {
        Direction::DifferenceOnly => difference,
        Direction::HigherIsBetter => 100.0 * (-difference).exp_m1(),
        Direction::LowerIsBetter | Direction::Neutral => 100.0 * difference.exp_m1(),
    }
}

/// An interval on that scale as one of the overhead. Absent where an end is infinite.
pub fn interval_from_scale((low, high): (f64, f64), direction: Direction) -> Option<(f64, f64)> {
    let (x, y) = (from_scale(low, direction), from_scale(high, direction));
    (x.is_finite() && y.is_finite()).then_some((x.min(y), x.max(y)))
}

/// Overheads of plus and minus `margin_pct` on that scale. Absent where no per cent exists.
pub fn limits(margin_pct: f64, direction: Direction) -> Option<(f64, f64)> {
    let (low, high) = ((1.0 - margin_pct / 100.0).max(0.0).ln(), (margin_pct / 100.0).ln_1p());
    match direction {
        Direction::DifferenceOnly => None,
        Direction::HigherIsBetter => Some((-high, -low)),
        Direction::LowerIsBetter | Direction::Neutral => Some((low, high)),
    }
}

/// Welch interval of the difference of mean logs, turned back into per cent: an interval for the ratio of geometric means.
///
/// Absent unless all values are positive and each arm has two.
pub fn log_ratio_overhead_pct(a: &[f64], b: &[f64], direction: Direction, confidence: f64) -> Option<(f64, f64)> {
    if a.iter().chain(b).any(|x| *x <= 0.0) {
        return None;
    }
    let logs = |values: &[f64]| values.iter().map(|x| x.ln()).collect::<Vec<_>>();
    let (from, to) = match direction {
        Direction::LowerIsBetter | Direction::Neutral => (logs(a), logs(b)),
        Direction::HigherIsBetter => (logs(b), logs(a)),
        Direction::DifferenceOnly => return None,
    };
    let test = super::welch(&from, &to, confidence)?;
    let pct = |log_ratio: f64| Some(100.0 * log_ratio.exp_m1()).filter(|x| x.is_finite());
    Some((pct(test.diff_lo)?, pct(test.diff_hi)?))
}
