//! A rate against the load: lines with bands on an axis of doublings.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Mark, Shape};
use super::figure::{Figure, FigureText, MARKS, Table};
use super::ink::{Hue, Ink, Pen, SERIES};
use super::number;
use sparkbench_text::plural::count;

/// Panels of one drawing, one below the other, of as many lines as can be distinguished.
const PANELS: usize = 4;

/// An interval may extend the axis to this many times the largest mean. A longer one is cut at the frame.
const STRETCH: f64 = 1.5;

/// A rate against the load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sweep {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the load.
    pub x_axis: String,
    /// Name of the rate.
    pub axis: String,
    /// Unit of the rate.
    pub unit: String,
    /// One per environment and engine.
    pub lines: Vec<SweepLine>,
}

/// One environment and engine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SweepLine {
    pub label: String,
    /// By load.
    pub points: Vec<SweepPoint>,
}

/// One load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SweepPoint {
    /// The load, above zero.
    pub x: f64,
    /// Mean.
    pub y: f64,
    pub interval: Option<(f64, f64)>,
    pub n: usize,
    /// Where the point leads.
    pub href: Option<String>,
}

impl SweepPoint {
    fn drawn(&self) -> bool {
        number::usable(self.x) && self.x > 0.0 && number::usable(self.y)
    }
}

impl SweepLine {
    fn drawn(&self) -> impl Iterator<Item = &SweepPoint> {
        self.points.iter().filter(|point| point.drawn())
    }
}

impl Sweep {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let points = || self.lines.iter().flat_map(SweepLine::drawn);
                let x = Axis::log2_around(points().map(|p| p.x))?;
                let (_, top) = extent(points().map(|p| p.y))?;
                let ends = points().filter_map(|p| number::usable_pair(p.interval)).flat_map(|(low, high)| [low, high]);
                let within = ends.map(|end| end.clamp(-STRETCH * top.abs(), STRETCH * top.abs()).max(0.0));
                let y = Axis::from_zero(points().map(|p| p.y).chain(within))?;
                Some(self.sheet(canvas, x, y))
            },
        )
    }

    /// Everything. Gives the height.
    fn sheet(&self, canvas: &Canvas, x: Axis, y: Axis) -> f64 {
        let narrow = canvas.layout.narrow;
        let left = canvas.y_room(y, 5);
        let mut top = 0.0;
        let mut marks = 0;
        let panels: Vec<&[SweepLine]> = self.lines.chunks(SERIES).take(PANELS).collect();
        for (k, lines) in panels.iter().enumerate() {
            if self.lines.len() > 1 {
                let items: Vec<_> = lines.iter().enumerate().map(|(i, line)| (i, line.label.clone())).collect();
                top = canvas.legend(0.0, top, &items, true) + 8.0;
            }
            top = canvas.paragraph(0.0, top, &number::axis_name(&self.axis, &self.unit), "muted", canvas.layout.width);
            let frame = Frame {
                left,
                top: top + 10.0,
                width: canvas.layout.width - left - 14.0,
                height: if narrow { 210.0 } else { 300.0 },
                x,
                y,
            };
            canvas.y_axis(&frame, 5);
            for (series, line) in lines.iter().enumerate() {
                band(canvas, &frame, line, series);
            }
            for (series, line) in lines.iter().enumerate() {
                let places: Vec<(f64, f64)> = line.drawn().map(|p| (frame.px(p.x), frame.py(p.y))).collect();
                canvas.line(&places, Hue::Series(series), Pen::Curve);
            }
            for (series, line) in lines.iter().enumerate() {
                for point in line.drawn() {
                    marks += 1;
                    if marks > MARKS / 8 {
                        break;
                    }
                    canvas.mark(&Mark {
                        at: (frame.px(point.x), frame.py(point.y)),
                        shape: Shape::of_series(series),
                        ink: Ink(Hue::Series(series), if point.n > 1 { Pen::Solid } else { Pen::Hollow }),
                        radius: 5.0,
                        ringed: false,
                        note: &self.note(line, point),
                        href: point.href.as_deref(),
                        reach: 12.0,
                    });
                }
            }
            let name = if k + 1 == panels.len() { self.x_axis.as_str() } else { "" };
            top = canvas.x_axis(&frame, name, false) + 4.0;
        }
        let any = |of: fn(&SweepPoint) -> bool| self.lines.iter().flat_map(SweepLine::drawn).any(of);
        let mut key = Vec::new();
        if any(|p| number::usable_pair(p.interval).is_some()) {
            key.push("Band: 95\u{a0}% interval of the mean.");
        }
        if any(|p| p.n < 2) {
            key.push("Hollow: a single run.");
        }
        canvas.paragraph(0.0, top, &key.join(" "), "muted", canvas.layout.width) + 4.0
    }

    /// A point in words.
    fn note(&self, line: &SweepLine, point: &SweepPoint) -> String {
        let name = if line.label.is_empty() { String::new() } else { format!("{}, ", line.label) };
        format!("{name}{} {}: {}, n={}", self.x_axis, number::significant(point.x, 6), self.value(point), point.n)
    }

    /// Mean with its interval.
    fn value(&self, point: &SweepPoint) -> String {
        match number::usable_pair(point.interval) {
            Some((low, high)) if low < high => {
                let digits = number::decimals_of_interval(low, high).min(3);
                let ends = format!("{} to {}", number::fixed(low, digits), number::fixed(high, digits));
                format!("{} ({ends})", number::with_unit(&number::fixed(point.y, digits), &self.unit))
            }
            _ => number::with_unit(&number::significant(point.y, 4), &self.unit),
        }
    }

    fn desc(&self) -> String {
        let mut text = format!("{} of {} over {}. ", count(self.lines.len(), "line"), self.axis, self.x_axis);
        for line in &self.lines {
            let ends = (line.drawn().next(), line.drawn().last());
            if let (Some(first), Some(last)) = ends {
                text.push_str(&format!("{}. {}. ", self.note(line, first), self.note(line, last)));
            }
        }
        let cut = if self.lines.len() > SERIES * PANELS {
            format!("The first {} lines are drawn. ", SERIES * PANELS)
        } else {
            String::new()
        };
        format!("{text}{cut}Upwards from zero. To the right every step doubles the load.")
    }

    fn table(&self) -> Table {
        let caption = format!("{}: {}", self.title, number::axis_name(&self.axis, &self.unit));
        let x = if self.x_axis.is_empty() { "Load" } else { &self.x_axis };
        let mut table = Table::new(caption, [x, "Line", "n", "Mean", "95 % interval"]);
        for line in &self.lines {
            for point in &line.points {
                let show = |v: f64| number::significant(v, 5);
                let cells = [
                    number::significant(point.x, 6),
                    line.label.clone(),
                    point.n.to_string(),
                    show(point.y),
                    number::ends(point.interval, show),
                ];
                table.row(cells, point.href.as_deref());
            }
        }
        table
    }
}

/// The band of a line: between neighbours that both have an interval.
fn band(canvas: &Canvas, frame: &Frame, line: &SweepLine, series: usize) {
    let points: Vec<&SweepPoint> = line.drawn().collect();
    let parts = points.split(|p| number::usable_pair(p.interval).is_none());
    for part in parts {
        let ends: Vec<(f64, f64, f64)> = part
            .iter()
            .filter_map(|p| number::usable_pair(p.interval).map(|(low, high)| (frame.px(p.x), low, high)))
            .collect();
        match ends.as_slice() {
            [] => {}
            // Alone between points without an interval there is no band: a bar stands for it.
            [(x, low, high)] => {
                canvas.line(&[(*x, frame.py(*low)), (*x, frame.py(*high))], Hue::Series(series), Pen::Line)
            }
            ends => {
                let above = ends.iter().map(|(x, _, high)| (*x, frame.py(*high)));
                let below = ends.iter().rev().map(|(x, low, _)| (*x, frame.py(*low)));
                canvas.polygon(above.chain(below).collect(), Hue::Series(series), Pen::Tint);
            }
        }
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct SweepChart;

impl super::Chart for SweepChart {
    fn name(&self) -> &'static str {
        "sweep"
    }

    fn manual(&self) -> &'static str {
        "A rate against the load, one line per environment and engine. Every step to the right doubles the load, and the rate starts at zero. The band is the 95 % interval of the mean between measured loads. A hollow mark is a single run."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Sweep>(json)?.draw(id))
    }
}
