//! Bars from zero, for quantities of which parts and multiples mean something (memory, energy).

use serde::{Deserialize, Serialize};

use super::figure::Figure;

/// Means with intervals, from zero.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bars {
    /// What is shown.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    /// For example one per model; all on one scale.
    pub groups: Vec<Group>,
}

/// Bars under one heading.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Group {
    /// For example the model.
    pub heading: String,
    /// The baseline first.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bar {
    /// Environment; the same label has the same colour in every group.
    pub label: String,
    /// Mean; absent: the bar says `not reported`.
    pub mean: Option<f64>,
    /// 95 % interval of the mean.
    pub interval: Option<(f64, f64)>,
    /// Number of runs.
    pub n: usize,
    /// Where the bar leads.
    pub href: Option<String>,
}

impl Bars {
    /// Draws it; `id` is unique on the page.
    pub fn draw(&self, _id: &str) -> Figure {
        unimplemented!()
    }
}
