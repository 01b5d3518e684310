//! One metric over all runs, with the error of its printing.
//!
//! In:  readings.  Out: [`Column`].
//! Not here: relations between columns.

use sparkbench_model::{Metric, Run};

/// Error of a value that was computed and stored in full. It is far above the last bit of a double, and far below any clock or meter.
pub(crate) const STORED_PRECISION: f64 = 1e-9;
/// More decimals than this are a computed value stored in full, not a rounded one.
const PRINTED_DECIMALS: usize = 8;

/// One metric over all runs.
pub(super) struct Column {
    pub name: String,
    /// Half a unit of the last printed place. 0 for values stored in full.
    half: f64,
    /// By run.
    pub values: Vec<Option<f64>>,
}

impl Column {
    pub(super) fn new(runs: &[&Run], name: &str) -> Option<Self> {
        let values: Vec<Option<f64>> = runs.iter().map(|run| run.value(name)).collect();
        // Per cent and temperatures have no ratios, and a zero or a negative time has no meaning in a product.
        if Metric::find(name).is_some_and(|m| !m.ratio_scale) || values.iter().flatten().any(|v| *v <= 0.0) {
            return None;
        }
        let printed = runs.iter().filter_map(|run| run.reading(name)?.decimals).max().map(usize::from);
        let decimals = printed.unwrap_or_else(|| values.iter().flatten().map(|v| decimals(*v)).max().unwrap_or(0));
        let half = if decimals > PRINTED_DECIMALS { 0.0 } else { 0.5 * 10f64.powi(-(decimals as i32)) };
        Some(Self { name: name.to_owned(), half, values })
    }

    pub(super) fn error(&self, value: f64) -> f64 {
        self.half.max(STORED_PRECISION * value.abs())
    }

    /// Range over rounding, both for the given rows. 0 for a constant.
    pub(super) fn spread(&self, rows: &[usize]) -> f64 {
        let values = || rows.iter().filter_map(|i| self.values[*i]);
        let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if high > low { (high - low) / self.error(high) } else { 0.0 }
    }

    pub(super) fn distinct(&self, rows: &[usize]) -> usize {
        let mut values: Vec<f64> = rows.iter().filter_map(|i| self.values[*i]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len()
    }
}

/// Digits after the point of the shortest text that reads back as the value: how a number that came without text was printed.
fn decimals(value: f64) -> usize {
    let text = format!("{value}");
    text.split_once('.').map_or(0, |(_, digits)| digits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_place_is_read_from_the_shortest_text() {
        for (value, expected) in [(119.1443, 4), (69.0, 0), (0.1, 1), (2.157254695892334, 15)] {
            assert_eq!(decimals(value), expected, "{value}");
        }
    }
}
