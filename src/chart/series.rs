//! Telemetry over time: small multiples on one time axis.

use serde::{Deserialize, Serialize};

use super::figure::Figure;

/// Small multiples on one time axis.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// What is shown.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of x with its unit, for example `seconds since the run began`.
    pub x_axis: String,
    /// Stretch that was measured, shaded.
    pub window: Option<(f64, f64)>,
    /// From top to bottom; those without any value say so.
    pub tracks: Vec<Track>,
}

/// One quantity.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Track {
    /// For example `GPU clock`.
    pub label: String,
    /// For example `MHz`.
    pub unit: String,
    /// One line per device or run.
    pub lines: Vec<Line>,
}

/// One line of a track.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// Device or run; empty when there is one line only.
    pub label: String,
    /// Time and value in order of time; an absent value breaks the line.
    pub points: Vec<(f64, Option<f64>)>,
}

impl Series {
    /// Draws it; `id` is unique on the page.
    pub fn draw(&self, _id: &str) -> Figure {
        unimplemented!()
    }
}
