//! The shift function: differences of the deciles of two distributions of requests.

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Shape};
use super::figure::{Figure, FigureText, Table};
use super::ink::{Hue, Ink, Pen};
use super::number;

/// Most deciles that are drawn. A caller's slip cannot make an endless drawing.
const MOST: usize = 99;

/// Differences by decile.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Shift {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value, for example `time to first token`.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    pub baseline: String,
    /// The other environment.
    pub candidate: String,
    /// Ascending.
    pub deciles: Vec<Decile>,
}

/// One decile of both.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Decile {
    /// Per cent of the requests at or below.
    pub percent: f64,
    pub baseline: f64,
    pub candidate: f64,
    /// Candidate - baseline, as published.
    pub difference: f64,
    /// Interval of this decile alone.
    pub interval: Option<(f64, f64)>,
    /// Limits that hold for all deciles at once.
    pub band: Option<(f64, f64)>,
}

impl Decile {
    /// True when it has a place.
    fn drawn(&self) -> bool {
        number::usable(self.difference) && (0.0..=100.0).contains(&self.percent)
    }

    /// True when the limits for all deciles leave zero out.
    fn apart(&self) -> bool {
        number::usable_pair(self.band).is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

impl Shift {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                self.drawn().next()?;
                let ends = |pair: Option<(f64, f64)>| number::usable_pair(pair).map_or(Vec::new(), |(a, b)| vec![a, b]);
                let all = self.drawn().flat_map(|d| [ends(d.interval), ends(d.band), vec![d.difference]].concat());
                Some(self.sheet(canvas, Axis::around(all.chain([0.0]))?))
            },
        )
    }

    /// Deciles that have a place.
    fn drawn(&self) -> impl Iterator<Item = &Decile> {
        self.deciles.iter().filter(|d| d.drawn()).take(MOST)
    }

    /// Everything. Gives the height.
    fn sheet(&self, canvas: &Canvas, y: Axis) -> f64 {
        let narrow = canvas.layout.narrow;
        let full = canvas.layout.width;
        let name = number::axis_name(&format!("{} − {}", self.candidate, self.baseline), &self.unit);
        let top = canvas.paragraph(0.0, 0.0, &name, "muted", full) + 8.0;
        let ticks = if narrow { 4 } else { 5 };
        let left = canvas.y_room(y, ticks);
        let height = if narrow { 200.0 } else { 250.0 };
        let frame = Frame { left, top, width: full - left - 8.0, height, x: Axis::exact(3.0, 97.0), y };
        canvas.y_axis(&frame, ticks);
        let zero = frame.py(0.0);
        canvas.line(&[(frame.left, zero), (frame.right(), zero)], Hue::Ink, Pen::Line);
        let joined: Vec<(f64, f64)> = self.drawn().map(|d| (frame.px(d.percent), frame.py(d.difference))).collect();
        canvas.line(&joined, Hue::Series(1), Pen::Curve);
        let base = frame.bottom() + 6.0 + canvas.layout.size;
        let mut free = f64::NEG_INFINITY;
        for decile in self.drawn() {
            let (x, middle) = (frame.px(decile.percent), frame.py(decile.difference));
            if let Some((low, high)) = number::usable_pair(decile.band) {
                canvas.line(&[(x, frame.py(low)), (x, frame.py(high))], Hue::Series(1), Pen::Line);
            }
            if let Some((low, high)) = number::usable_pair(decile.interval) {
                canvas.line(&[(x, frame.py(low)), (x, frame.py(high))], Hue::Series(1), Pen::Thick);
            }
            let pen = if decile.apart() { Pen::Solid } else { Pen::Hollow };
            canvas.glyph(x, middle, Shape::of_series(1), Ink(Hue::Series(1), pen), 4.6);
            let label = number::significant(decile.percent, 3);
            let half = canvas.width_of(&label) / 2.0;
            if x - half > free {
                canvas.text(x, base, &label, Anchor::Middle, "muted", f64::INFINITY);
                free = x + half + 6.0;
            }
        }
        canvas.line(&[(frame.left, frame.bottom()), (frame.right(), frame.bottom())], Hue::Axis, Pen::Hair);
        let below = base + canvas.line_height();
        canvas.text(frame.right(), below, "share of requests at or below, %", Anchor::End, "muted", full);
        canvas.paragraph(0.0, below + 10.0, &self.key(), "muted", full) + 4.0
    }

    /// Legend of the strokes.
    fn key(&self) -> String {
        let mut text = format!("Above 0: {} takes more. ", self.candidate);
        if self.drawn().any(|d| d.interval.is_some()) {
            text.push_str("Thick: 95\u{a0}% interval of that decile. ");
        }
        if self.drawn().any(|d| d.band.is_some()) {
            text.push_str("Thin: limits that hold for all deciles at once; a full mark lies clear of 0 by these.");
        } else {
            text.push_str("No interval: it takes two runs of each environment.");
        }
        text
    }

    /// Description for those who do not see the drawing.
    fn desc(&self) -> String {
        let axis = number::axis_name(&self.axis, &self.unit);
        let mut text = format!("Deciles of {axis}, {} minus {}. ", self.candidate, self.baseline);
        for decile in self.drawn() {
            text.push_str(&format!("At {} %: {}", number::significant(decile.percent, 3), self.signed(decile)));
            if let Some((low, high)) = number::usable_pair(decile.interval) {
                let digits = number::decimals_of_interval(low, high);
                text.push_str(&format!(" ({} to {})", number::signed(low, digits), number::signed(high, digits)));
            }
            text.push_str(". ");
        }
        text.trim().to_owned()
    }

    /// The difference with the digits its interval allows.
    fn signed(&self, decile: &Decile) -> String {
        let digits = number::usable_pair(decile.interval).filter(|(low, high)| low < high).map_or_else(
            || number::decimals_for(decile.difference.abs(), 3),
            |(low, high)| number::decimals_of_interval(low, high),
        );
        number::signed(decile.difference, digits)
    }

    /// Every number.
    fn table(&self) -> Table {
        let caption = format!("{}: {}", self.title, number::axis_name(&self.axis, &self.unit));
        let head = [
            "At or below, %",
            self.baseline.as_str(),
            self.candidate.as_str(),
            "Difference",
            "95 % interval",
            "For all deciles at once",
        ];
        let mut table = Table::new(caption, head);
        for decile in &self.deciles {
            let show = |v: f64| number::significant(v, 5);
            let pair = |pair: Option<(f64, f64)>| {
                let digits = pair.map_or(0, |(low, high)| number::decimals_of_interval(low, high));
                number::ends(pair, |end| number::signed(end, digits))
            };
            table.row(
                [
                    number::significant(decile.percent, 3),
                    show(decile.baseline),
                    show(decile.candidate),
                    self.signed(decile),
                    pair(decile.interval),
                    pair(decile.band),
                ],
                None,
            );
        }
        table
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct ShiftChart;

impl super::Chart for ShiftChart {
    fn name(&self) -> &'static str {
        "shift"
    }

    fn manual(&self) -> &'static str {
        "One mark per decile of the requests. It shows how much longer the other environment takes than the baseline at that share of the requests. A level line is the same shift for all, and a line that climbs is a longer tail. The thick stroke is the 95 % interval of one decile. The thin one holds for all nine at once. Both come from resampling whole runs."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Shift>(json)?.draw(id))
    }
}
