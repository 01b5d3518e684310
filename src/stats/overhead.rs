//! Overhead per cent.

pub use crate::model::Direction;

/// Overhead of `b` over `a` in per cent; `None` when a mean is not positive.
pub fn overhead_pct(direction: Direction, a: f64, b: f64) -> Option<f64> {
    if a <= 0.0 || b <= 0.0 {
        return None;
    }
    let (over, under) = if direction == Direction::HigherIsBetter { (a, b) } else { (b, a) };
    Some(100.0 * (over / under - 1.0))
}
