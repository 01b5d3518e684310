//! Requests of one run over time: sent, first token, end. Below them the number in flight.
//!
//! In:  times of requests and the steps of their number, as `verdict` made them.  Out: [`Figure`].
//! Not here: counting.

use serde::{Deserialize, Serialize};

use plotters::element::PathElement;

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Shape};
use super::figure::{Figure, FigureText, Table};
use super::ink::{Hue, Ink, Pen};
use super::number;
use super::verdict_mark::VerdictMark;
use sparkbench_text::plural::count;

/// Most requests drawn: of more, every k-th in order of sending. Two areas a request stay below 60 kB.
const BARS: usize = 400;

/// Most steps of the number on their way. Of more, the greatest of each segment is drawn.
const STEPS: usize = 240;

/// Rows of the table.
const LISTED: usize = 40;

/// See the module.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestTimeline {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the time axis with its unit.
    pub x_axis: String,
    /// In order of sending.
    pub requests: Vec<RequestBar>,
    /// Moment, and how many are on their way from there on.
    pub in_flight: Vec<(f64, f64)>,
}

/// One request.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestBar {
    pub sent: f64,
    /// First token.
    pub first: Option<f64>,
    /// Last token.
    pub end: Option<f64>,
    /// Not answered.
    pub failed: bool,
}

impl RequestBar {
    fn usable(&self) -> bool {
        number::usable(self.sent)
    }

    fn end(&self) -> f64 {
        self.end.filter(|end| number::usable(*end) && *end >= self.sent).unwrap_or(self.sent)
    }
}

impl RequestTimeline {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let (first, last) =
                    extent(self.requests.iter().filter(|r| r.usable()).flat_map(|r| [r.sent, r.end()]))?;
                Some(self.sheet(canvas, Axis::exact(first, last)))
            },
        )
    }

    fn drawn(&self) -> Vec<&RequestBar> {
        let usable: Vec<&RequestBar> = self.requests.iter().filter(|r| r.usable()).collect();
        let step = usable.len().div_ceil(BARS).max(1);
        usable.into_iter().step_by(step).collect()
    }

    fn sheet(&self, canvas: &Canvas, x: Axis) -> f64 {
        let (width, size, step) = (canvas.layout.width, canvas.layout.size, canvas.line_height());
        let bars = self.drawn();
        let mut y = self.key(canvas, bars.iter().any(|bar| bar.failed));
        let most = Axis::from_zero(self.in_flight.iter().map(|(_, n)| *n));
        let left = most.map_or(30.0, |axis| canvas.y_room(axis, 3)).max(30.0);
        let lane = (if canvas.layout.narrow { 260.0 } else { 300.0 } / bars.len() as f64).clamp(1.0, 12.0);
        let frame = Frame {
            left,
            top: y,
            width: width - left - 6.0,
            height: lane * bars.len() as f64,
            x,
            y: Axis::exact(0.0, 1.0),
        };
        let tall = (lane * 0.8).max(0.9);
        let mut failed = Vec::new();
        for (k, bar) in bars.iter().enumerate() {
            let top = y + lane * k as f64;
            let (sent, end) = (frame.px(bar.sent), frame.px(bar.end()));
            if bar.failed {
                failed.push((sent.max(end), top + lane / 2.0));
            }
            // A request shorter than a pixel is still one.
            let first = bar
                .first
                .filter(|first| number::usable(*first))
                .map_or(end, |first| frame.px(first.clamp(bar.sent, bar.end())));
            canvas.area(sent, top, (first - sent).max(0.6), tall, Hue::Muted, Pen::Light);
            canvas.area(first, top, end - first, tall, Hue::Series(0), Pen::Fill);
        }
        for (px, py) in failed {
            canvas.glyph(px, py, Shape::Cross, Ink(Hue::Verdict(VerdictMark::Slower), Pen::Solid), 4.0);
        }
        y = frame.bottom() + 10.0;
        let Some(axis) = most else {
            return canvas.x_axis(&Frame { height: y - frame.top, ..frame }, &self.x_axis, false);
        };
        canvas.text(0.0, y + size, "On their way at once", Anchor::Start, "strong", width);
        y += step + 4.0;
        let below = Frame { top: y, height: if canvas.layout.narrow { 60.0 } else { 70.0 }, y: axis, ..frame };
        canvas.y_axis(&below, 3);
        canvas.put(&canvas.plane(&below), &PathElement::new(self.stairs(), Ink(Hue::Series(0), Pen::Line)));
        canvas.x_axis(&below, &self.x_axis, false) + 2.0
    }

    /// Corners of the number on their way.
    fn stairs(&self) -> Vec<(f64, f64)> {
        let usable: Vec<(f64, f64)> =
            self.in_flight.iter().copied().filter(|(t, n)| number::usable(*t) && number::usable(*n)).collect();
        let stretch = usable.len().div_ceil(STEPS).max(1);
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for part in usable.chunks(stretch) {
            let greatest = part.iter().map(|(_, n)| *n).fold(f64::NEG_INFINITY, f64::max);
            let Some((at, _)) = part.first() else { continue };
            corners.extend(corners.last().map(|(_, before)| (*at, *before)));
            corners.push((*at, greatest));
        }
        corners.extend(usable.last().copied());
        corners
    }

    fn key(&self, canvas: &Canvas, failed: bool) -> f64 {
        let size = canvas.layout.size;
        let mut x = 0.0;
        for (words, hue, pen) in
            [("waiting for the first token", Hue::Muted, Pen::Light), ("receiving", Hue::Series(0), Pen::Fill)]
        {
            canvas.area(x, size - 9.0, 14.0, 9.0, hue, pen);
            x += 19.0
                + canvas.text(x + 19.0, size, words, Anchor::Start, "muted", canvas.layout.width - x - 20.0)
                + 14.0;
        }
        if failed {
            // On a line of its own where the first is full.
            let below = x >= canvas.layout.width - 70.0;
            let (x, y) = if below { (0.0, size + canvas.line_height()) } else { (x, size) };
            let ink = Ink(Hue::Verdict(VerdictMark::Slower), Pen::Solid);
            canvas.glyph(x + 6.0, y - 4.0, Shape::Cross, ink, 4.0);
            canvas.text(x + 16.0, y, "failed", Anchor::Start, "muted", 70.0);
            if below {
                return 2.0 * canvas.line_height() + 8.0;
            }
        }
        canvas.line_height() + 8.0
    }

    fn desc(&self) -> String {
        let failed = self.requests.iter().filter(|bar| bar.failed).count();
        let mut text = format!(
            "{} from top to bottom in order of sending, each from sent to last token",
            count(self.requests.len(), "request")
        );
        if failed > 0 {
            text.push_str(&format!(", {failed} failed"));
        }
        text.push_str(". ");
        let drawn = self.drawn().len();
        if drawn < self.requests.len() {
            text.push_str(&format!("Drawn are {drawn} of them, evenly taken. "));
        }
        let most = self.in_flight.iter().map(|(_, n)| *n).fold(f64::NEG_INFINITY, f64::max);
        if most.is_finite() {
            text.push_str(&format!("At most {} were on their way at once.", number::significant(most, 6)));
        }
        text.trim_end().to_owned()
    }

    fn table(&self) -> Table {
        let usable: Vec<(usize, &RequestBar)> = self.requests.iter().enumerate().filter(|(_, r)| r.usable()).collect();
        let step = usable.len().div_ceil(LISTED).max(1);
        let which = if step == 1 { "every request".to_owned() } else { format!("one request in {step}") };
        let time = if self.x_axis.is_empty() { "time".to_owned() } else { self.x_axis.clone() };
        let mut table = Table::new(
            format!("{}: {which}, {time}", self.title),
            ["Request", "Sent", "First token", "Last token", "Outcome"],
        );
        let show = |value: Option<f64>| {
            value.filter(|v| number::usable(*v)).map_or_else(|| "–".to_owned(), |v| number::significant(v, 6))
        };
        for (k, bar) in usable.into_iter().step_by(step) {
            let outcome = if bar.failed { "failed" } else { "answered" };
            table.row(
                [(k + 1).to_string(), show(Some(bar.sent)), show(bar.first), show(bar.end), outcome.to_owned()],
                None,
            );
        }
        table
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct RequestTimelineChart;

impl super::Chart for RequestTimelineChart {
    fn name(&self) -> &'static str {
        "request_timeline"
    }

    fn manual(&self) -> &'static str {
        "Every request of a run as a bar from sent to last token, in order of sending. The pale part waits for the first token, and the full part receives. The curve below shows how many requests were open at once. A flat top is the limit of the client or of the server."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<RequestTimeline>(json)?.draw(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_requests_are_thinned_and_stay_small() {
        let requests = (0..10_000).map(|k| {
            let sent = f64::from(k) * 0.013_7;
            RequestBar { sent, first: Some(sent + 0.2), end: Some(sent + 1.234_567), failed: k % 97 == 0 }
        });
        let in_flight = (0..20_000).map(|k| (f64::from(k) * 0.006_85, f64::from(k % 90))).collect();
        let figure =
            RequestTimeline { requests: requests.collect(), in_flight, ..RequestTimeline::default() }.draw("x");
        assert!(figure.svg.len().max(figure.narrow.len()) < 60_000, "{} {}", figure.svg.len(), figure.narrow.len());
        assert!(figure.desc.contains("Drawn are 400 of them") && figure.table.rows.len() <= LISTED);
    }

    #[test]
    fn a_request_without_an_end_is_a_mark_where_it_was_sent() {
        let bar = RequestBar { sent: 3.0, end: Some(1.0), failed: true, ..RequestBar::default() };
        assert_eq!(bar.end(), 3.0);
    }
}
