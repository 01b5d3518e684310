//! A trade-off: what a user sees against what the machine gives, with the points that nothing beats.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Mark, Shape};
use super::figure::{Figure, MARKS, Sheet, Table, count};
use super::ink::{Hue, Ink, Pen};
use super::number;

/// From this ratio of the largest to the smallest value the axis of what a user sees is logarithmic.
const LOG_FROM: f64 = 20.0;
/// An interval may stretch an axis to so many times the span of the means; a longer one is cut at the frame.
const STRETCH: f64 = 0.35;

/// A trade-off.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Frontier {
    /// What is shown.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// What a user sees.
    pub x_axis: String,
    /// Its unit.
    pub x_unit: String,
    /// True where less of it is better.
    pub less_is_better: bool,
    /// What the machine gives; more is better.
    pub axis: String,
    /// Its unit.
    pub unit: String,
    /// One per environment and engine.
    pub lines: Vec<Line>,
}

/// One environment and engine, by load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// By load.
    pub points: Vec<Point>,
}

/// One load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Point {
    /// The load in words.
    pub label: String,
    /// What a user sees, mean.
    pub x: f64,
    /// Its interval.
    pub x_interval: Option<(f64, f64)>,
    /// What the machine gives, mean.
    pub y: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Runs.
    pub n: usize,
    /// Whether no other point beats it.
    pub best: bool,
    /// Where the point leads.
    pub href: Option<String>,
}

impl Line {
    fn drawn(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|p| number::usable(p.x) && number::usable(p.y))
    }
}

/// Means with as much of their intervals as the axis can bear.
fn ends(means: Option<(f64, f64)>, intervals: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let Some((low, high)) = means else { return Vec::new() };
    let room = (high - low) * STRETCH + high.abs() * 0.02;
    let inner = intervals.flat_map(|(a, b)| [a, b]).map(|end| end.clamp(low - room, high + room));
    [low, high].into_iter().chain(inner).collect()
}

impl Frontier {
    /// Draws it; `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        Sheet { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let points = || self.lines.iter().flat_map(Line::drawn);
                let across = extent(points().map(|p| p.x));
                let wide = across.is_some_and(|(low, high)| low > 0.0 && high / low >= LOG_FROM);
                let x = if wide {
                    Axis::log_around(points().map(|p| p.x))?
                } else {
                    Axis::around(ends(across, points().filter_map(|p| number::usable_pair(p.x_interval))))?
                };
                let up = ends(extent(points().map(|p| p.y)), points().filter_map(|p| number::usable_pair(p.interval)));
                Some(self.sheet(canvas, x, Axis::from_zero(up.into_iter().map(|v| v.max(0.0)))?))
            },
        )
    }

    /// Everything; gives the height.
    fn sheet(&self, canvas: &Canvas, x: Axis, y: Axis) -> f64 {
        let narrow = canvas.layout.narrow;
        let mut top = 0.0;
        if self.lines.len() > 1 {
            let items: Vec<_> = self.lines.iter().enumerate().map(|(i, line)| (i, line.label.clone())).collect();
            top = canvas.legend(0.0, 0.0, &items[..items.len().min(24)], true) + 8.0;
        }
        let left = canvas.y_room(y, 5);
        top = canvas.paragraph(0.0, top, &number::axis_name(&self.axis, &self.unit), "muted", canvas.layout.width);
        let frame = Frame {
            left,
            top: top + 12.0,
            width: canvas.layout.width - left - 14.0,
            height: if narrow { 230.0 } else { 330.0 },
            x,
            y,
        };
        canvas.y_axis(&frame, 5);
        let mut marks = 0;
        let all: Vec<(f64, f64)> =
            self.lines.iter().flat_map(Line::drawn).map(|p| (frame.px(p.x), frame.py(p.y))).collect();
        let mut labelled: Vec<(f64, f64)> = Vec::new();
        for (series, line) in self.lines.iter().enumerate() {
            let places: Vec<(f64, f64)> = line.drawn().map(|p| (frame.px(p.x), frame.py(p.y))).collect();
            canvas.line(&places, Hue::Series(series), Pen::Curve);
        }
        for (series, line) in self.lines.iter().enumerate() {
            for point in line.drawn() {
                marks += 1;
                if marks > MARKS / 8 {
                    break;
                }
                let (px, py) = (frame.px(point.x), frame.py(point.y));
                if let Some((low, high)) = number::usable_pair(point.x_interval) {
                    canvas.line(&[(frame.px(low), py), (frame.px(high), py)], Hue::Series(series), Pen::Line);
                }
                if let Some((low, high)) = number::usable_pair(point.interval) {
                    canvas.line(&[(px, frame.py(low)), (px, frame.py(high))], Hue::Series(series), Pen::Line);
                }
                canvas.mark(&Mark {
                    at: (px, py),
                    shape: Shape::of_series(series),
                    ink: Ink(Hue::Series(series), if point.n > 1 { Pen::Solid } else { Pen::Hollow }),
                    radius: 4.5,
                    ringed: point.best,
                    note: &self.note(line, point),
                    href: point.href.as_deref(),
                    reach: 12.0,
                });
                let width = canvas.width_of(&point.label);
                // Where another mark or another label stands there is none: the tables and the names of the marks say it.
                let mark =
                    |(x, y): &(f64, f64)| *x > px + 4.0 && *x < px + 16.0 + width && *y > py - 26.0 && *y < py + 4.0;
                let free = labelled.iter().all(|(x, y)| (x - px).abs() > width + 8.0 || (y - py).abs() > 18.0)
                    && !all.iter().any(mark);
                if !point.label.is_empty() && free && width < 60.0 {
                    labelled.push((px, py));
                    let room = px + 10.0 + width < canvas.layout.width;
                    let (at, anchor) = if room { (px + 10.0, Anchor::Start) } else { (px - 10.0, Anchor::End) };
                    canvas.text(at, py - 8.0, &point.label, anchor, "muted", 60.0);
                }
            }
        }
        let bottom = canvas.x_axis(&frame, &number::axis_name(&self.x_axis, &self.x_unit), false) + 4.0;
        let way = if self.less_is_better { "up and to the left" } else { "up and to the right" };
        let any = |of: fn(&Point) -> bool| self.lines.iter().flat_map(Line::drawn).any(of);
        let mut key = format!("Better: {way}. Ringed: no other point beats it both ways. Number: the load.");
        if any(|p| number::usable_pair(p.interval).is_some() || number::usable_pair(p.x_interval).is_some()) {
            key.push_str(" Cross: 95\u{a0}% intervals.");
        }
        if any(|p| p.n < 2) {
            key.push_str(" Hollow: a single run.");
        }
        canvas.paragraph(0.0, bottom, &key, "muted", canvas.layout.width) + 4.0
    }

    fn note(&self, line: &Line, point: &Point) -> String {
        let names = [line.label.as_str(), point.label.as_str()];
        let name: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let best = if point.best { ", on the front" } else { "" };
        format!(
            "{}: {} at {}, n={}{best}",
            name.join(", "),
            number::with_unit(&number::significant(point.y, 4), &self.unit),
            number::with_unit(&number::significant(point.x, 4), &self.x_unit),
            point.n
        )
    }

    fn desc(&self) -> String {
        let points = self.lines.iter().flat_map(Line::drawn).count();
        let best: Vec<String> = self
            .lines
            .iter()
            .flat_map(|line| line.drawn().filter(|p| p.best).map(|point| self.note(line, point)))
            .take(12)
            .collect();
        format!("{} of {} against {}. {}.", count(points, "point"), self.axis, self.x_axis, best.join(". "))
    }

    fn table(&self) -> Table {
        let caption = format!(
            "{}: {} against {}",
            self.title,
            number::axis_name(&self.axis, &self.unit),
            number::axis_name(&self.x_axis, &self.x_unit)
        );
        let x = if self.x_axis.is_empty() { "User" } else { &self.x_axis };
        let y = if self.axis.is_empty() { "Machine" } else { &self.axis };
        let mut table =
            Table::new(caption, ["Load", "Line", "n", x, "its 95 % interval", y, "its 95 % interval", "On the front"]);
        let show = |v: f64| number::significant(v, 5);
        for line in &self.lines {
            for p in &line.points {
                let cells = [
                    p.label.clone(),
                    line.label.clone(),
                    p.n.to_string(),
                    show(p.x),
                    number::ends(p.x_interval, show),
                    show(p.y),
                    number::ends(p.interval, show),
                    if p.best { "yes" } else { "no" }.to_owned(),
                ];
                table.row(cells, p.href.as_deref());
            }
        }
        table
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct Entry;

impl super::Chart for Entry {
    fn name(&self) -> &'static str {
        "frontier"
    }

    fn manual(&self) -> &'static str {
        "What a user sees against what the machine gives, one mark per load: the cross is the 95 % interval each way, a ring marks a point that no other beats in both, straight lines join the loads in their order, and a hollow mark is a single run."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Frontier>(json)?.draw(id))
    }
}
