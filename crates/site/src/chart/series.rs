//! Telemetry over time: small multiples on one time axis.

use serde::{Deserialize, Serialize};

use plotters::element::PathElement;

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, MarkGroup, Shape};
use super::figure::{Figure, FigureText, Table, palette, place};
use super::ink::{Hue, Ink, Pen};
use super::number;
use super::thin::{extremes, stretch};
use super::verdict_mark::VerdictMark;
use sparkbench_text::plural::count;

/// Points of all lines together, so that the drawing stays below 60 kB.
const POINTS: usize = 2_400;

/// Most tracks in one drawing.
const TRACKS: usize = 12;

/// Rows of the table per line. The points between are in the run's own files.
const SAMPLES: usize = 24;

/// Number of time periods that are read out over the whole axis of a wide drawing.
const SLICES: usize = 20;

/// Most held periods and events of one drawing. The page lists all.
const HELD: usize = 40;
const EVENTS: usize = 16;

/// Small multiples on one time axis.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of x with its unit, for example `seconds since the run began`.
    pub x_axis: String,
    /// Period that was measured, shaded.
    pub window: Option<(f64, f64)>,
    /// Moments that are marked through every track, in order of time.
    pub events: Vec<Event>,
    /// Periods in which the machine was held down, marked at the foot of every track.
    pub held: Vec<Stretch>,
    /// From top to bottom. Those without any value say so.
    pub tracks: Vec<Track>,
}

/// A moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Event {
    /// When.
    pub at: f64,
    /// What happened, in few words.
    pub label: String,
}

/// A period of time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Stretch {
    /// Beginning.
    pub from: f64,
    pub to: f64,
    /// Why, in few words.
    pub label: String,
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
    pub lines: Vec<SeriesLine>,
}

/// One line of a track.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SeriesLine {
    /// Device or run. Empty when there is one line only.
    pub label: String,
    /// Time and value in order of time. An absent value breaks the line.
    pub points: Vec<(f64, Option<f64>)>,
}

impl SeriesLine {
    /// Points with time and value that have a place.
    fn drawn(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points
            .iter()
            .filter_map(|(t, v)| Some((*t, (*v)?)))
            .filter(|(t, v)| number::usable(*t) && number::usable(*v))
    }

    /// Unbroken periods.
    fn stretches(&self) -> Vec<Vec<(f64, f64)>> {
        let whole = |(t, v): &(f64, Option<f64>)| number::usable(*t) && v.is_some_and(number::usable);
        let parts = self.points.split(|point| !whole(point)).filter(|part| !part.is_empty());
        parts.map(|part| part.iter().filter_map(|(t, v)| Some((*t, (*v)?))).collect()).collect()
    }
}

impl Track {
    /// Name with unit.
    fn name(&self) -> String {
        number::axis_name(&self.label, &self.unit)
    }

    /// Smallest and largest value.
    fn extent(&self) -> Option<(f64, f64)> {
        extent(self.lines.iter().flat_map(SeriesLine::drawn).map(|(_, v)| v))
    }
}

impl Series {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let times = self.tracks.iter().flat_map(|t| &t.lines).flat_map(SeriesLine::drawn).map(|(t, _)| t);
                let (first, last) = extent(times)?;
                let events = self.events.iter().map(|event| event.at).filter(|at| number::usable(*at));
                // A mark far from the samples would press them into a corner. The table of the page has it all the same.
                let room = (last - first).max(1.0);
                let near = events.filter(|at| *at > first - room && *at < last + room);
                let (first, last) = extent(near.chain([first, last]))?;
                Some(self.sheet(canvas, Axis::exact(first, last)))
            },
        )
    }

    /// Everything. Gives the height.
    fn sheet(&self, canvas: &Canvas, x: Axis) -> f64 {
        let full = canvas.layout.width;
        let labels = palette(self.tracks.iter().flat_map(|t| t.lines.iter().map(|l| l.label.as_str())));
        let mut y = 0.0;
        if labels.len() > 1 {
            let items: Vec<_> = labels.iter().enumerate().map(|(i, l)| (i, (*l).to_owned())).collect();
            y = canvas.legend(0.0, 0.0, &items, true) + 6.0;
        }
        let tracks = &self.tracks[..self.tracks.len().min(TRACKS)];
        let axis = |track: &Track| match track.extent()? {
            // Nothing throughout: the line lies on the ground, and below it there is nothing to read.
            (0.0, 0.0) => Some(Axis::exact(0.0, 1.0)),
            (low, high) => Axis::around([low, high]),
        };
        let axes: Vec<Option<Axis>> = tracks.iter().map(axis).collect();
        let left = axes.iter().flatten().map(|axis| canvas.y_room(*axis, 3)).fold(30.0, f64::max);
        let plot = if canvas.layout.narrow { 54.0 } else { 62.0 };
        let stretches: usize = tracks.iter().flat_map(|t| &t.lines).map(|l| l.stretches().len()).sum();
        let top = y;
        for (i, (track, axis)) in tracks.iter().zip(&axes).enumerate() {
            let room = full - self.span_text(canvas, track, y);
            canvas.text(0.0, y + canvas.layout.size, &track.name(), Anchor::Start, "strong", room - 12.0);
            y += canvas.line_height() + 4.0;
            let Some(axis) = axis else {
                canvas.text(0.0, y + canvas.layout.size, "not reported", Anchor::Start, "muted", full);
                y += canvas.line_height() + 8.0;
                continue;
            };
            let frame = Frame { left, top: y, width: full - left - 6.0, height: plot, x, y: *axis };
            if let Some((from, to)) = number::usable_pair(self.window) {
                canvas.area(frame.px(from), y, frame.px(to) - frame.px(from), plot, Hue::Band, Pen::Tint);
            }
            canvas.y_axis(&frame, 3);
            self.marks(canvas, &frame);
            self.lines(canvas, &frame, track, &labels, stretches);
            y = frame.bottom() + 12.0;
            if axes[i + 1..].iter().all(Option::is_none) {
                y = canvas.x_axis(&frame, &self.x_axis, false) + 4.0;
            }
        }
        self.readings(canvas, left, x, (top, y));
        if number::usable_pair(self.window).is_some() {
            y = canvas.paragraph(0.0, y, "Shaded: the stretch that was measured.", "muted", full) + 4.0;
        }
        self.legend(canvas, y)
    }

    /// Readings of every track by time period, one below another.
    fn readings(&self, canvas: &Canvas, left: f64, x: Axis, (top, bottom): (f64, f64)) {
        let slices = if canvas.layout.narrow { 10 } else { SLICES };
        let (width, length) = (canvas.layout.width - left - 6.0, x.high() - x.low());
        for k in 0..slices {
            let at = |k: usize| x.low() + length * k as f64 / slices as f64;
            // The last period has its end within.
            let within = |t: f64| t >= at(k) && (t < at(k + 1) || k + 1 == slices);
            let read = |track: &Track| {
                let values = track.lines.iter().flat_map(SeriesLine::drawn).filter(|(t, _)| within(*t)).map(|(_, v)| v);
                let (low, high) = extent(values)?;
                let (low, high) = (number::significant(low, 4), number::significant(high, 4));
                let range = if low == high { low } else { format!("{low} to {high}") };
                Some(format!("{} {}", track.label, number::with_unit(&range, &track.unit)))
            };
            let read: Vec<String> = self.tracks.iter().take(TRACKS).filter_map(read).collect();
            if !read.is_empty() {
                let (from, to) = (number::significant(at(k), 3), number::significant(at(k + 1), 3));
                let note = format!("{from} to {to}: {}", read.join(", "));
                let step = width / slices as f64;
                canvas.reading(left + step * k as f64, top, step, bottom - top, &note);
            }
        }
    }

    /// Events and held periods of one track.
    fn marks(&self, canvas: &Canvas, frame: &Frame) {
        for stretch in self.held.iter().take(HELD) {
            if let Some((from, to)) = number::usable_pair(Some((stretch.from, stretch.to))) {
                let (a, b) =
                    (frame.px(from).clamp(frame.left, frame.right()), frame.px(to).clamp(frame.left, frame.right()));
                canvas.area(
                    a,
                    frame.bottom() - 4.0,
                    (b - a).max(1.5),
                    4.0,
                    Hue::Verdict(VerdictMark::Slower),
                    Pen::Fill,
                );
            }
        }
        for event in self.events.iter().filter(|event| number::usable(event.at)).take(EVENTS) {
            let x = frame.px(event.at);
            if (frame.left..=frame.right()).contains(&x) {
                canvas.line(&[(x, frame.top - 4.0), (x, frame.bottom())], Hue::Muted, Pen::Line);
            }
        }
    }

    /// Legend of the marks. Returns the bottom edge.
    fn legend(&self, canvas: &Canvas, top: f64) -> f64 {
        let full = canvas.layout.width;
        let mut y = top;
        let labels = |labels: Vec<&str>| {
            let mut known: Vec<&str> = Vec::new();
            for label in labels.into_iter().filter(|label| !label.is_empty()) {
                if !known.contains(&label) {
                    known.push(label);
                }
            }
            known.join(", ")
        };
        if !self.held.is_empty() {
            canvas.area(0.0, y + canvas.layout.size - 6.0, 14.0, 4.0, Hue::Verdict(VerdictMark::Slower), Pen::Fill);
            let reasons = labels(self.held.iter().map(|h| h.label.as_str()).collect());
            y = canvas.paragraph(20.0, y, &format!("The clock was held down: {reasons}."), "muted", full - 20.0) + 2.0;
        }
        if !self.events.is_empty() {
            canvas.line(&[(7.0, y + 2.0), (7.0, y + canvas.layout.size + 2.0)], Hue::Muted, Pen::Line);
            let events = labels(self.events.iter().map(|e| e.label.as_str()).collect());
            y = canvas.paragraph(20.0, y, &format!("{events}."), "muted", full - 20.0) + 2.0;
        }
        y
    }

    /// Range of a track at the right of its heading. Gives the room it takes.
    fn span_text(&self, canvas: &Canvas, track: &Track, top: f64) -> f64 {
        let Some((low, high)) = track.extent() else {
            return 0.0;
        };
        let text = if low == high {
            format!("{} throughout", number::significant(low, 4))
        } else {
            format!("{} to {}", number::significant(low, 4), number::significant(high, 4))
        };
        canvas.text(
            canvas.layout.width - 6.0,
            top + canvas.layout.size,
            &text,
            Anchor::End,
            "muted",
            canvas.layout.width / 2.0,
        )
    }

    /// Lines of one track. A lone point between gaps is a dot.
    fn lines(&self, canvas: &Canvas, frame: &Frame, track: &Track, labels: &[&str], stretches: usize) {
        let plane = canvas.plane(frame);
        let total: usize = self.tracks.iter().flat_map(|t| &t.lines).map(|l| l.points.len()).sum();
        for line in &track.lines {
            let series = place(labels, &line.label);
            let parts = line.stretches();
            let mut lone = Vec::new();
            for part in parts {
                // Its share of the points, so that long periods keep more. Never fewer than a handful.
                let share = POINTS * part.len() / total.max(1);
                let most =
                    if total <= POINTS { part.len() } else { share.max(POINTS / stretches.max(1)).clamp(4, POINTS) };
                match extremes(&part, stretch(part.len(), most.max(4))).as_slice() {
                    [only] => lone.push(*only),
                    points => {
                        canvas.put(&plane, &PathElement::new(points.to_vec(), Ink(Hue::Series(series), Pen::Curve)))
                    }
                }
            }
            canvas.put(
                &plane,
                &MarkGroup { at: lone, shape: Shape::Circle, ink: Ink(Hue::Series(series), Pen::Solid), radius: 1.8 },
            );
        }
    }

    /// Description for those who do not see the drawing.
    fn desc(&self) -> String {
        let mut text = format!(
            "{} over {}. ",
            count(self.tracks.len(), "track"),
            if self.x_axis.is_empty() { "time" } else { &self.x_axis }
        );
        for track in &self.tracks {
            match track.extent() {
                Some((low, high)) => {
                    let (low, high) =
                        (number::significant(low, 4), number::with_unit(&number::significant(high, 4), &track.unit));
                    text.push_str(&format!("{}: {low} to {high}. ", track.label));
                }
                None => text.push_str(&format!("{}: not reported. ", track.label)),
            }
        }
        if let Some((from, to)) = number::usable_pair(self.window) {
            text.push_str(&format!(
                "The measured stretch from {} to {} is shaded. ",
                number::significant(from, 4),
                number::significant(to, 4)
            ));
        }
        if !self.held.is_empty() {
            text.push_str(&format!(
                "The clock was held down in {}. ",
                count(self.held.len(), "stretch").replace("stretchs", "stretches")
            ));
        }
        if self.tracks.len() > TRACKS {
            text.push_str(&format!("The first {TRACKS} are drawn. "));
        }
        text.push_str("The vertical axes do not start at zero.");
        text
    }

    /// Samples of every line at even distances, the first and the last among them.
    fn table(&self) -> Table {
        let caption = format!("{}: samples at even distances; every sample is in the files of the run", self.title);
        let time = if self.x_axis.is_empty() { "Time" } else { &self.x_axis };
        let mut table = Table::new(caption, ["Quantity", "Line", time, "Value"]);
        for track in &self.tracks {
            for line in &track.lines {
                let n = line.points.len();
                let kept = n.min(SAMPLES);
                for i in 0..kept {
                    let (t, value) = line.points[if kept > 1 { i * (n - 1) / (kept - 1) } else { 0 }];
                    let value = value
                        .filter(|v| number::usable(*v))
                        .map_or_else(|| "not reported".to_owned(), |v| number::significant(v, 5));
                    table.row([track.name(), line.label.clone(), number::significant(t, 5), value], None);
                }
            }
        }
        table
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct SeriesChart;

impl super::Chart for SeriesChart {
    fn name(&self) -> &'static str {
        "series"
    }

    fn manual(&self) -> &'static str {
        "Quantities of the machine over time on one axis, one below the other. Gaps are samples that were not taken or not reported. The shaded part is what was measured. Bars at the foot show when the clock was held down. Upright lines are moments such as the readings of the gates."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Series>(json)?.draw(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_value_breaks_the_line() {
        let line = SeriesLine {
            label: String::new(),
            points: vec![(0.0, Some(1.0)), (1.0, None), (2.0, Some(1.0)), (3.0, Some(2.0))],
        };
        assert_eq!(line.stretches(), [vec![(0.0, 1.0)], vec![(2.0, 1.0), (3.0, 2.0)]]);
    }
}
