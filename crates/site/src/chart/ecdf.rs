//! Share of requests at or below a value, by environment.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::canvas::{Canvas, Frame};
use super::element::Anchor;
use super::figure::{Figure, FigureText, Layouts, Row, Table};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// Most steps of one curve.
pub const STEPS: usize = 512;

/// Steps of all curves together, so that the drawing stays below 60 kB.
const ALL_STEPS: usize = 1_800;

/// Steps kept whole at each end of a thinned curve: the tails matter most in such a curve.
const TAIL: usize = 40;

/// Shares that the table reads off, in per cent.
const LEVELS: [f64; 11] = [0.0, 1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 100.0];

/// Half the side of the square around a point of a curve that is read out, in pixels.
const REACH: f64 = 5.0;

/// Empirical distribution functions.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ecdf {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value, for example `time to first token`.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    /// Logarithmic x. Taken as linear when a value is zero or less.
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
    /// One per request, any order. In ascending order they are not copied.
    pub values: Vec<f64>,
}

impl Curve {
    /// Values that have a place, sorted: its own where they are, for gaps between tokens come in millions.
    fn drawn(&self) -> Cow<'_, [f64]> {
        if self.values.iter().all(|v| number::usable(*v)) && self.values.is_sorted_by(|a, b| a.total_cmp(b).is_le()) {
            return Cow::Borrowed(&self.values);
        }
        let mut values: Vec<f64> = self.values.iter().copied().filter(|v| number::usable(*v)).collect();
        values.sort_unstable_by(f64::total_cmp);
        Cow::Owned(values)
    }
}

/// Indices of the steps that are drawn: all, or the tails whole and the body at even distances.
fn kept(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let tail = TAIL.min(most / 4);
    let body = most - 2 * tail;
    let between = (0..body).map(|i| tail + i * (n - 2 * tail) / body);
    let mut indices: Vec<usize> = (0..tail).chain(between).chain(n - tail..n).collect();
    indices.dedup();
    indices
}

/// Smallest value whose share is at least a given per cent: the curve read off, no interpolation.
fn read_off(sorted: &[f64], level: f64) -> Option<f64> {
    let rank = libm::ceil(level / 100.0 * sorted.len() as f64) as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// Name of a curve with its values, sorted.
type Drawn<'a> = (&'a str, Cow<'a, [f64]>);

/// The least and the greatest of each curve: no other value moves an axis.
fn ends<'a>(sorted: &'a [Drawn<'_>]) -> impl Iterator<Item = f64> + 'a {
    sorted.iter().flat_map(|(_, values)| values.first().into_iter().chain(values.last())).copied()
}

impl Ecdf {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        self.draw_as(id, Layouts::Both)
    }

    /// Draws the layouts that are asked for.
    pub fn draw_as(&self, id: &str, layouts: Layouts) -> Figure {
        let sorted: Vec<Drawn<'_>> = self.curves.iter().map(|c| (c.label.as_str(), c.drawn())).collect();
        let (desc, table) = (self.desc(&sorted), self.table(&sorted));
        FigureText { id, title: &self.title, desc, finding: &self.finding, table }
            .compose_as(layouts, |canvas| Some(self.sheet(canvas, self.axis(&sorted)?, &sorted)))
    }

    /// Scale of the values: logarithmic when asked for and possible.
    fn axis(&self, sorted: &[Drawn<'_>]) -> Option<Axis> {
        let log = if self.log_x { Axis::log_around(ends(sorted)) } else { None };
        log.or_else(|| Axis::around(ends(sorted)))
    }

    /// Everything. Gives the height.
    fn sheet(&self, canvas: &Canvas, x: Axis, sorted: &[Drawn<'_>]) -> f64 {
        let narrow = canvas.layout.narrow;
        let full = canvas.layout.width;
        let name = |(i, (label, values)): (usize, &Drawn<'_>)| (i, format!("{label}, n={}", values.len()));
        let items: Vec<_> = sorted.iter().enumerate().map(name).collect();
        let top = canvas.legend(0.0, 0.0, &items, true) + 8.0;
        canvas.text(0.0, top + canvas.layout.size, "share of requests at or below, %", Anchor::Start, "muted", full);
        let top = top + canvas.line_height() + 10.0;
        let y = Axis::exact(0.0, 100.0);
        let ticks = 5;
        let left = canvas.y_room(y, ticks);
        let frame = Frame { left, top, width: full - left - 10.0, height: if narrow { 200.0 } else { 270.0 }, x, y };
        canvas.y_axis(&frame, ticks);
        let bottom = canvas.x_axis(&frame, &number::axis_name(&self.axis, &self.unit), true);
        let plane = canvas.plane(&frame);
        let most = STEPS.min(ALL_STEPS / sorted.len().max(1)).max(8);
        for (i, (_, values)) in sorted.iter().enumerate().filter(|(_, (_, values))| !values.is_empty()) {
            let n = values.len() as f64;
            let mut points = Vec::with_capacity(2 * most + 2);
            let mut share = 0.0;
            for index in kept(values.len(), most) {
                points.push((values[index], share));
                share = (index + 1) as f64 / n * 100.0;
                points.push((values[index], share));
            }
            points.push((frame.x.high(), 100.0));
            canvas.put(&plane, &plotters::element::PathElement::new(points, Ink(Hue::Series(i), Pen::Curve)));
        }
        // Above all curves, so that none covers what another says.
        for (label, values) in sorted {
            for level in LEVELS.iter().copied().filter(|level| (1.0..100.0).contains(level)) {
                let Some(value) = read_off(values, level) else { continue };
                let shown = number::with_unit(&number::significant(value, 4), &self.unit);
                let note = format!("{label}: {level} % at or below {shown}");
                let (x, y) = (frame.px(value), frame.py(level));
                canvas.reading(x - REACH, y - REACH, 2.0 * REACH, 2.0 * REACH, &note);
            }
        }
        bottom
    }

    /// Description for those who do not see the drawing.
    fn desc(&self, sorted: &[Drawn<'_>]) -> String {
        let log = self.log_x && Axis::log_around(ends(sorted)).is_some();
        let scale = if log { "logarithmic" } else { "linear" };
        let name = number::axis_name(&self.axis, &self.unit);
        let mut text = format!("Share of requests at or below each value of {name}, on a {scale} axis. ");
        for ((label, values), curve) in sorted.iter().zip(&self.curves) {
            let (Some(low), Some(high)) = (values.first().copied(), values.last().copied()) else {
                text.push_str(&format!("{label}: no values. "));
                continue;
            };
            let show = |v: f64| number::significant(v, 4);
            let half = read_off(values, 50.0).map_or_else(String::new, show);
            let (low, high) = (show(low), show(high));
            text.push_str(&format!(
                "{label}: {}, from {low} to {high}, half at or below {half}",
                count(values.len(), "request")
            ));
            let left_out = curve.values.len() - values.len();
            if left_out > 0 {
                text.push_str(&format!(", {left_out} without a finite value left out"));
            }
            text.push_str(". ");
        }
        text.trim().to_owned()
    }

    /// The curves read off at named shares.
    fn table(&self, sorted: &[Drawn<'_>]) -> Table {
        let mut table = Table {
            caption: format!("{}: {}, read off the curves", self.title, number::axis_name(&self.axis, &self.unit)),
            columns: ["Share of requests".to_owned()]
                .into_iter()
                .chain(sorted.iter().map(|(l, v)| format!("{l} (n={})", v.len())))
                .collect(),
            rows: Vec::new(),
        };
        for level in LEVELS {
            let name = match level {
                0.0 => "smallest".to_owned(),
                100.0 => "largest".to_owned(),
                level => format!("{level} %"),
            };
            let cell = |(_, values): &Drawn<'_>| {
                read_off(values, level).map_or_else(|| "none".to_owned(), |v| number::significant(v, 5))
            };
            let cells = [name].into_iter().chain(sorted.iter().map(cell)).collect();
            table.rows.push(Row { cells, href: None });
        }
        table
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct EcdfChart;

impl super::Chart for EcdfChart {
    fn name(&self) -> &'static str {
        "ecdf"
    }

    fn manual(&self) -> &'static str {
        "The height of a curve over a value is the share of requests that took that value or less. A curve further left means smaller values throughout. A long flat end is the tail."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Ecdf>(json)?.draw(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thinned_curve_keeps_both_tails_and_its_size() {
        let indices = kept(100_000, STEPS);
        assert!(indices.len() <= STEPS);
        assert_eq!(indices[..TAIL], (0..TAIL).collect::<Vec<_>>());
        assert_eq!(indices[indices.len() - TAIL..], (100_000 - TAIL..100_000).collect::<Vec<_>>());
        assert!(indices.is_sorted());
    }

    #[test]
    fn the_curve_is_read_off_at_order_statistics() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(read_off(&sorted, 50.0), Some(2.0));
        assert_eq!(read_off(&sorted, 99.0), Some(4.0));
        assert_eq!(read_off(&sorted, 0.0), Some(1.0));
        assert_eq!(read_off(&[], 50.0), None);
    }
}
