//! A strip of dots the height of a text line, for table cells.

use serde::{Deserialize, Serialize};

use super::figure::Figure;

/// Values within a range.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Strip {
    /// What the values are; read out, not shown.
    pub title: String,
    /// Unit of the values.
    pub unit: String,
    /// Left and right end; absent: the range of the values. Give the same to every strip of one column.
    pub range: Option<(f64, f64)>,
    /// Shaded stretch, for example an interval.
    pub band: Option<(f64, f64)>,
    /// Emphasised value, for example the mean.
    pub mark: Option<f64>,
    /// One per run.
    pub values: Vec<f64>,
    /// Place in the palette, 0 for the baseline.
    pub series: usize,
}

impl Strip {
    /// Draws it; `id` is unique on the page. Both layouts of the figure are the same.
    pub fn draw(&self, _id: &str) -> Figure {
        unimplemented!()
    }
}
