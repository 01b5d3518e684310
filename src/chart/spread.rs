//! Spread of runs by environment: every dot, and by number of runs a mean with its interval or a box.

use serde::{Deserialize, Serialize};

use super::figure::Figure;

/// Dots and boxes of one metric.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spread {
    /// What is shown.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    /// For example one per model; each with a scale of its own. One with an empty heading for no facets.
    pub facets: Vec<Facet>,
}

/// Arms side by side.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facet {
    /// For example the model.
    pub heading: String,
    /// The baseline first.
    pub arms: Vec<Arm>,
}

/// Values of one environment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Arm {
    /// Environment; the same label has the same colour in every facet.
    pub label: String,
    /// One per run.
    pub values: Vec<f64>,
    /// Arithmetic mean, as published.
    pub mean: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Lower quartile, median, upper quartile; a box is drawn when present and there are ten values or more.
    pub quartiles: Option<(f64, f64, f64)>,
    /// Where the arm leads.
    pub href: Option<String>,
}

impl Spread {
    /// Draws it; `id` is unique on the page.
    pub fn draw(&self, _id: &str) -> Figure {
        unimplemented!()
    }
}
