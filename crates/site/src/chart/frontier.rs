//! A trade-off: latency for the user against throughput of the machine, with the points that nothing beats.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Mark, Shape};
use super::figure::{Figure, FigureText, MARKS, Table};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// From this ratio of the largest to the smallest value the axis of what a user sees is logarithmic.
const LOG_FROM: f64 = 20.0;
/// An interval may extend an axis to this many times the span of the means. A longer one is cut at the frame.
const STRETCH: f64 = 0.35;

/// A trade-off.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Frontier {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Latency for the user.
    pub x_axis: String,
    pub x_unit: String,
    /// True where less of it is better.
    pub less_is_better: bool,
    /// Throughput of the machine. More is better.
    pub axis: String,
    pub unit: String,
    /// One per environment and engine.
    pub lines: Vec<FrontierLine>,
}

/// One environment and engine, by load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FrontierLine {
    pub label: String,
    /// By load.
    pub points: Vec<FrontierPoint>,
}

/// One load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FrontierPoint {
    /// The load in words.
    pub label: String,
    /// Mean latency for the user.
    pub x: f64,
    pub x_interval: Option<(f64, f64)>,
    /// Mean throughput of the machine.
    pub y: f64,
    pub interval: Option<(f64, f64)>,
    pub n: usize,
    /// Whether no other point beats it.
    pub best: bool,
    /// Where the point leads.
    pub href: Option<String>,
}

impl FrontierLine {
    fn drawn(&self) -> impl Iterator<Item = &FrontierPoint> {
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

/// Left, top, right and bottom edge.
type Edges = (f64, f64, f64, f64);

/// What a label may not cover, and what it had better not lie on.
#[derive(Default)]
struct Taken {
    /// Marks, and labels that have their place.
    boxes: Vec<Edges>,
    /// Lines and intervals.
    strokes: Vec<((f64, f64), (f64, f64))>,
}

/// How far a mark reaches, its ring with it.
const fn reach(point: &FrontierPoint) -> f64 {
    if point.best { 9.5 } else { 6.5 }
}

const fn around((x, y): (f64, f64), reach: f64) -> Edges {
    (x - reach, y - reach, x + reach, y + reach)
}

/// Whether a line between two points passes through a box. Its segments within the two pairs of edges must overlap.
fn crosses(((ax, ay), (bx, by)): ((f64, f64), (f64, f64)), (left, top, right, bottom): Edges) -> bool {
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    for (start, length, low, high) in [(ax, bx - ax, left, right), (ay, by - ay, top, bottom)] {
        if length.abs() < 1e-9 {
            if start < low || start > high {
                return false;
            }
            continue;
        }
        let (a, b) = ((low - start) / length, (high - start) / length);
        from = from.max(a.min(b));
        to = to.min(a.max(b));
    }
    from <= to
}

/// The load beside its mark, where no line passes if there is such a place. Where other marks or labels are on every side there is none:
/// the tables and the names of the marks say it.
fn label(canvas: &Canvas, frame: &Frame, point: &FrontierPoint, taken: &mut Taken) {
    let (size, width) = (canvas.layout.size, canvas.width_of(&point.label));
    if point.label.is_empty() || width >= 60.0 {
        return;
    }
    let (x, y) = (frame.px(point.x), frame.py(point.y));
    let (gap, above, below) = (reach(point) + 2.0, -6.0, 6.0 + 0.72 * size);
    let sides = [
        (gap, above, Anchor::Start),
        (-gap, above, Anchor::End),
        (gap, below, Anchor::Start),
        (-gap, below, Anchor::End),
        (0.0, -gap - 1.0, Anchor::Middle),
        (0.0, gap + 1.0 + 0.72 * size, Anchor::Middle),
    ];
    let edges = |dx: f64, dy: f64, anchor: Anchor| -> Edges {
        let left = match anchor {
            Anchor::Start => x + dx,
            Anchor::Middle => x + dx - width / 2.0,
            Anchor::End => x + dx - width,
        };
        (left - 1.0, y + dy - 0.78 * size, left + width + 1.0, y + dy + 2.0)
    };
    let within = |(left, top, right, bottom): Edges| {
        left >= frame.left && right <= canvas.layout.width && top >= frame.top - 12.0 && bottom <= frame.bottom()
    };
    let apart = |a: Edges, b: Edges| a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
    let free: Vec<_> = sides
        .into_iter()
        .map(|(dx, dy, anchor)| (dx, dy, anchor, edges(dx, dy, anchor)))
        .filter(|(.., own)| within(*own) && taken.boxes.iter().all(|other| apart(*own, *other)))
        .collect();
    let clear = free.iter().find(|(.., own)| !taken.strokes.iter().any(|stroke| crosses(*stroke, *own)));
    if let Some((dx, dy, anchor, own)) = clear.or_else(|| free.first()).copied() {
        taken.boxes.push(own);
        canvas.text(x + dx, y + dy, &point.label, anchor, "muted halo", 60.0);
    }
}

impl Frontier {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let points = || self.lines.iter().flat_map(FrontierLine::drawn);
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

    /// Everything. Gives the height.
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
        let mut taken = Taken::default();
        for (series, line) in self.lines.iter().enumerate() {
            let places: Vec<(f64, f64)> = line.drawn().map(|p| (frame.px(p.x), frame.py(p.y))).collect();
            canvas.line(&places, Hue::Series(series), Pen::Curve);
            taken.strokes.extend(places.windows(2).map(|ends| (ends[0], ends[1])));
        }
        for (series, line) in self.lines.iter().enumerate() {
            for point in line.drawn() {
                marks += 1;
                if marks > MARKS / 8 {
                    break;
                }
                let (px, py) = (frame.px(point.x), frame.py(point.y));
                let across = number::usable_pair(point.x_interval);
                let up = number::usable_pair(point.interval);
                let across = across.map(|(low, high)| ((frame.px(low), py), (frame.px(high), py)));
                let up = up.map(|(low, high)| ((px, frame.py(low)), (px, frame.py(high))));
                for (from, to) in across.into_iter().chain(up) {
                    canvas.line(&[from, to], Hue::Series(series), Pen::Line);
                    taken.strokes.push((from, to));
                }
                taken.boxes.push(around((px, py), reach(point)));
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
            }
        }
        for point in self.lines.iter().flat_map(FrontierLine::drawn).take(marks.min(MARKS / 8)) {
            label(canvas, &frame, point, &mut taken);
        }
        let bottom = canvas.x_axis(&frame, &number::axis_name(&self.x_axis, &self.x_unit), false) + 4.0;
        let way = if self.less_is_better { "up and to the left" } else { "up and to the right" };
        let any = |of: fn(&FrontierPoint) -> bool| self.lines.iter().flat_map(FrontierLine::drawn).any(of);
        let mut key = format!(
            "Better: {way}. Ringed: no other is at least as good both ways and better one way. Number: the load."
        );
        if any(|p| number::usable_pair(p.interval).is_some() || number::usable_pair(p.x_interval).is_some()) {
            key.push_str(" Cross: 95\u{a0}% intervals.");
        }
        if any(|p| p.n < 2) {
            key.push_str(" Hollow: a single run.");
        }
        canvas.paragraph(0.0, bottom, &key, "muted", canvas.layout.width) + 4.0
    }

    fn note(&self, line: &FrontierLine, point: &FrontierPoint) -> String {
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
        let points = self.lines.iter().flat_map(FrontierLine::drawn).count();
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
pub struct FrontierChart;

impl super::Chart for FrontierChart {
    fn name(&self) -> &'static str {
        "frontier"
    }

    fn manual(&self) -> &'static str {
        "What a user sees against what the machine gives, one mark per load. The cross is the 95 % interval each way. A ring marks a point with no other at least as good both ways and better one way. Straight lines join the loads in their order. A hollow mark is a single run."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Frontier>(json)?.draw(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_crosses_a_box_or_passes_it() {
        let edges = (10.0, 10.0, 20.0, 20.0);
        assert!(crosses(((0.0, 0.0), (30.0, 30.0)), edges));
        assert!(crosses(((12.0, 0.0), (12.0, 30.0)), edges));
        assert!(crosses(((11.0, 11.0), (12.0, 12.0)), edges), "wholly within");
        assert!(!crosses(((0.0, 0.0), (9.0, 30.0)), edges));
        assert!(!crosses(((0.0, 15.0), (8.0, 15.0)), edges), "ends before it");
        assert!(!crosses(((0.0, 25.0), (25.0, 22.0)), edges));
    }
}
