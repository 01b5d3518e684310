//! Share of requests at or below a value, by environment.

use serde::{Deserialize, Serialize};

use super::figure::Figure;

/// Empirical distribution functions.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ecdf {
    /// What is shown.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value, for example `time to first token`.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    /// Logarithmic x; taken as linear when a value is zero or less.
    pub log_x: bool,
    /// The baseline first.
    pub curves: Vec<Curve>,
}

/// Values of one environment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Curve {
    /// Environment.
    pub label: String,
    /// One per request, any order.
    pub values: Vec<f64>,
}

impl Ecdf {
    /// Draws it; `id` is unique on the page.
    pub fn draw(&self, _id: &str) -> Figure {
        unimplemented!()
    }
}
