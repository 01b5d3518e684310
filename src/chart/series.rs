//! Telemetry over time: small multiples on one time axis.

use serde::{Deserialize, Serialize};

use plotters::element::PathElement;

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Crowd, Shape};
use super::figure::{Figure, Sheet, Table, count, palette, place};
use super::ink::{Hue, Ink, Pen};
use super::number;

/// Points of all lines together, so that the drawing stays below 60 kB.
const POINTS: usize = 2_400;

/// Most tracks in one drawing.
const TRACKS: usize = 12;

/// Rows of the table per line; the points between are in the run's own files.
const SAMPLES: usize = 24;

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

impl Line {
    /// Points with time and value that have a place.
    fn drawn(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points
            .iter()
            .filter_map(|(t, v)| Some((*t, (*v)?)))
            .filter(|(t, v)| number::usable(*t) && number::usable(*v))
    }

    /// Unbroken stretches.
    fn stretches(&self) -> Vec<Vec<(f64, f64)>> {
        let whole = |(t, v): &(f64, Option<f64>)| number::usable(*t) && v.is_some_and(number::usable);
        let parts = self.points.split(|point| !whole(point)).filter(|part| !part.is_empty());
        parts.map(|part| part.iter().filter_map(|(t, v)| Some((*t, (*v)?))).collect()).collect()
    }
}

/// A stretch with at most so many points, which keeps the smallest and the largest of every bucket: peaks and dips
/// survive where plain skipping would lose them.
fn thinned(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most.max(4) {
        return points.to_vec();
    }
    let bucket = (2 * points.len()).div_ceil(most.max(4));
    let ends = |part: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let mut ends: Vec<_> =
            part.iter().min_by(by_value).into_iter().chain(part.iter().max_by(by_value)).copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        ends
    };
    points.chunks(bucket).flat_map(ends).collect()
}

impl Track {
    /// Name with unit.
    fn name(&self) -> String {
        number::axis_name(&self.label, &self.unit)
    }

    /// Smallest and largest value.
    fn extent(&self) -> Option<(f64, f64)> {
        extent(self.lines.iter().flat_map(Line::drawn).map(|(_, v)| v))
    }
}

impl Series {
    /// Draws it; `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        Sheet { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let times = self.tracks.iter().flat_map(|t| &t.lines).flat_map(Line::drawn).map(|(t, _)| t);
                let (first, last) = extent(times)?;
                Some(self.sheet(canvas, Axis::exact(first, last)))
            },
        )
    }

    /// Everything; gives the height.
    fn sheet(&self, canvas: &Canvas, x: Axis) -> f64 {
        let full = canvas.layout.width;
        let labels = palette(self.tracks.iter().flat_map(|t| t.lines.iter().map(|l| l.label.as_str())));
        let mut y = 0.0;
        if labels.len() > 1 {
            let items: Vec<_> = labels.iter().enumerate().map(|(i, l)| (i, (*l).to_owned())).collect();
            y = canvas.legend(0.0, 0.0, &items, true) + 6.0;
        }
        let tracks = &self.tracks[..self.tracks.len().min(TRACKS)];
        let axes: Vec<Option<Axis>> =
            tracks.iter().map(|t| Axis::around(t.extent().map(|(a, b)| [a, b]).into_iter().flatten())).collect();
        let left = axes.iter().flatten().map(|axis| canvas.y_room(*axis, 3)).fold(30.0, f64::max);
        let plot = if canvas.layout.narrow { 54.0 } else { 62.0 };
        let stretches: usize = tracks.iter().flat_map(|t| &t.lines).map(|l| l.stretches().len()).sum();
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
            self.lines(canvas, &frame, track, &labels, stretches);
            y = frame.bottom() + 12.0;
            if axes[i + 1..].iter().all(Option::is_none) {
                y = canvas.x_axis(&frame, &self.x_axis, false) + 4.0;
            }
        }
        if number::usable_pair(self.window).is_some() {
            y = canvas.paragraph(0.0, y, "Shaded: the stretch that was measured.", "muted", full) + 4.0;
        }
        y
    }

    /// Range of a track at the right of its heading; gives the room it takes.
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

    /// Lines of one track; a lone point between gaps is a dot.
    fn lines(&self, canvas: &Canvas, frame: &Frame, track: &Track, labels: &[&str], stretches: usize) {
        let plane = canvas.plane(frame);
        let total: usize = self.tracks.iter().flat_map(|t| &t.lines).map(|l| l.points.len()).sum();
        for line in &track.lines {
            let series = place(labels, &line.label);
            let parts = line.stretches();
            let mut lone = Vec::new();
            for part in parts {
                // Its share of the points, so that long stretches keep more; never fewer than a handful.
                let share = POINTS * part.len() / total.max(1);
                let most =
                    if total <= POINTS { part.len() } else { share.max(POINTS / stretches.max(1)).clamp(4, POINTS) };
                match thinned(&part, most).as_slice() {
                    [only] => lone.push(*only),
                    points => {
                        canvas.put(&plane, &PathElement::new(points.to_vec(), Ink(Hue::Series(series), Pen::Curve)))
                    }
                }
            }
            canvas.put(
                &plane,
                &Crowd { at: lone, shape: Shape::Circle, ink: Ink(Hue::Series(series), Pen::Solid), radius: 1.8 },
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
pub struct Entry;

impl super::Chart for Entry {
    fn name(&self) -> &'static str {
        "series"
    }

    fn manual(&self) -> &'static str {
        "Quantities of the machine over time on one axis, one below the other; gaps are samples that were not taken or not reported, and the shaded stretch is what was measured."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Series>(json)?.draw(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_a_peak_of_one_sample() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|i| (f64::from(i), 5.0)).collect();
        points[4321].1 = 99.0;
        let thin = thinned(&points, 300);
        assert!(thin.len() <= 302 && thin.contains(&(4321.0, 99.0)));
    }

    #[test]
    fn an_absent_value_breaks_the_line() {
        let line = Line {
            label: String::new(),
            points: vec![(0.0, Some(1.0)), (1.0, None), (2.0, Some(1.0)), (3.0, Some(2.0))],
        };
        assert_eq!(line.stretches(), [vec![(0.0, 1.0)], vec![(2.0, 1.0), (3.0, 2.0)]]);
    }
}
