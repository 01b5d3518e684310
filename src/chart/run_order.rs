//! Runs in order of time: what drifts, what jumps, and whether the arms took turns.

use serde::{Deserialize, Serialize};

use super::figure::Figure;

/// Values of one metric, one mark per run, in order of time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOrder {
    /// What is shown.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value, for example `output throughput`.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    /// Name of x, for example `position in the campaign` or `hours since the first run`.
    pub x_axis: String,
    /// True when the arms took turns: runs of one block are joined.
    pub interleaved: bool,
    /// In order of palette; the baseline first.
    pub arms: Vec<Arm>,
}

/// Runs of one environment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Arm {
    /// Environment.
    pub label: String,
    /// One per run; those that are not finite are left out and counted in the description.
    pub runs: Vec<Run>,
    /// Trend of the arm, where one was tested.
    pub drift: Option<Drift>,
}

/// One run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Name of the run.
    pub label: String,
    /// Position or time, in the unit of the x axis.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Runs of one block are joined when the design is interleaved.
    pub block: Option<u32>,
    /// Flagged as an outlier: ringed, never removed.
    pub flagged: bool,
    /// Page of the run.
    pub href: Option<String>,
}

/// Sen's slope through an arm.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Drift {
    /// Change of the value per unit of x.
    pub slope: f64,
    /// p of the trend test.
    pub p: Option<f64>,
}

impl RunOrder {
    /// Draws it; `id` is unique on the page.
    pub fn draw(&self, _id: &str) -> Figure {
        unimplemented!()
    }
}
