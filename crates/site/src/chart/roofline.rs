//! A roofline: limits from memory and arithmetic, and the measured cells below them.
//!
//! Source: Williams, Waterman and Patterson, *Roofline* (CACM 52, 2009).

use serde::{Deserialize, Serialize};

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Mark, Shape};
use super::figure::{Figure, FigureText, MARKS, Table, palette, place};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// GB/s times operations for each byte is GFLOP/s.
const GIGA_IN_TERA: f64 = 1e-3;

/// Ceilings and points on logarithmic axes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Roofline {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Limits of the machine.
    pub ceilings: Vec<Ceiling>,
    /// The measurements.
    pub points: Vec<RooflinePoint>,
}

/// One ceiling.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ceiling {
    /// In words, with its source.
    pub label: String,
    /// GB/s where it is one of memory.
    pub gb_s: Option<f64>,
    /// TFLOP/s where it is one of arithmetic.
    pub tflops: Option<f64>,
    /// True where it was measured.
    pub measured: bool,
}

/// One cell.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RooflinePoint {
    /// Series: cells of one label look alike.
    pub label: String,
    /// The cell in words.
    pub name: String,
    /// Operations for each byte.
    pub x: f64,
    /// TFLOP/s, mean.
    pub y: f64,
    pub interval: Option<(f64, f64)>,
    pub n: usize,
    /// Where it leads.
    pub href: Option<String>,
}

impl Roofline {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let (low, high) = extent(self.drawn().map(|p| p.x))?;
                // The knee belongs to the picture: where memory stops being what limits.
                let knees = self.pairs().map(|(gb, tera)| tera / (gb * GIGA_IN_TERA));
                let (from, to) = extent(knees.chain([low / 4.0, high * 8.0]))?;
                let x = Axis::log_around([from.min(low / 4.0), to * 2.0])?;
                let slopes = self.ceilings.iter().filter_map(|c| above(c.gb_s)).map(|gb| gb * GIGA_IN_TERA * from);
                let flats = self.ceilings.iter().filter_map(|c| above(c.tflops));
                let ends = self.drawn().map(|p| p.y).chain(slopes).chain(flats);
                Some(self.sheet(canvas, x, Axis::log_around(ends)?))
            },
        )
    }

    fn drawn(&self) -> impl Iterator<Item = &RooflinePoint> {
        self.points.iter().filter(|p| above(Some(p.x)).is_some() && above(Some(p.y)).is_some())
    }

    /// Every ceiling of memory with every one of arithmetic that has its source.
    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> {
        self.ceilings.iter().filter_map(|c| Some((above(c.gb_s)?, c.measured))).flat_map(|(gb, measured)| {
            let flats = self.ceilings.iter().filter(move |c| c.measured == measured);
            flats.filter_map(move |c| Some((gb, above(c.tflops)?)))
        })
    }

    /// Everything. Gives the height.
    fn sheet(&self, canvas: &Canvas, x: Axis, y: Axis) -> f64 {
        let narrow = canvas.layout.narrow;
        let labels = palette(self.points.iter().map(|p| p.label.as_str()));
        let mut top = 0.0;
        if !labels.is_empty() {
            let items: Vec<_> = labels.iter().enumerate().map(|(k, label)| (k, (*label).to_owned())).collect();
            top = canvas.legend(0.0, 0.0, &items[..items.len().min(24)], false) + 8.0;
        }
        let left = canvas.y_room(y, 6);
        top = canvas.paragraph(0.0, top, "operations a second, TFLOP/s", "muted", canvas.layout.width);
        let frame = Frame {
            left,
            top: top + 10.0,
            width: canvas.layout.width - left - 14.0,
            height: if narrow { 230.0 } else { 330.0 },
            x,
            y,
        };
        canvas.y_axis(&frame, 6);
        for ceiling in &self.ceilings {
            let pen = if ceiling.measured { Pen::Curve } else { Pen::Line };
            // The dash of a series tells what was measured from what a data sheet says.
            let hue = if ceiling.measured { Hue::Series(1) } else { Hue::Ink };
            let flats =
                || self.ceilings.iter().filter(|c| c.measured == ceiling.measured).filter_map(|c| above(c.tflops));
            if let Some(gb) = above(ceiling.gb_s) {
                let slope = gb * GIGA_IN_TERA;
                let roof = flats().fold(f64::NAN, f64::max);
                let highest = if roof.is_finite() { roof.min(y.high()) } else { y.high() };
                let end = (highest / slope).min(x.high());
                let start = (y.low() / slope).max(x.low());
                if end > start {
                    let ends = [(start, start * slope), (end, end * slope)];
                    canvas.line(&ends.map(|(a, b)| (frame.px(a), frame.py(b))), hue, pen);
                }
            }
            if let Some(tera) = above(ceiling.tflops) {
                let slope = self
                    .ceilings
                    .iter()
                    .filter(|c| c.measured == ceiling.measured)
                    .filter_map(|c| above(c.gb_s))
                    .fold(f64::NAN, f64::max);
                let start = if slope.is_finite() { (tera / (slope * GIGA_IN_TERA)).max(x.low()) } else { x.low() };
                canvas.line(&[(frame.px(start), frame.py(tera)), (frame.px(x.high()), frame.py(tera))], hue, pen);
            }
        }
        self.roofs(canvas, &frame);
        for point in self.drawn().take(MARKS / 8) {
            let series = place(&labels, &point.label);
            let (px, py) = (frame.px(point.x), frame.py(point.y));
            if let Some((low, high)) = number::usable_pair(point.interval).filter(|(low, _)| *low > 0.0) {
                canvas.line(&[(px, frame.py(low)), (px, frame.py(high))], Hue::Series(series), Pen::Line);
            }
            canvas.mark(&Mark {
                at: (px, py),
                shape: Shape::of_series(series),
                ink: Ink(Hue::Series(series), if point.n > 1 { Pen::Solid } else { Pen::Hollow }),
                radius: 5.0,
                ringed: false,
                note: &note(point),
                href: point.href.as_deref(),
                reach: 12.0,
            });
        }
        let mut bottom = canvas.x_axis(&frame, "operations for each byte read, FLOP/B", false) + 4.0;
        for (measured, name) in [(false, "Solid, from the facts"), (true, "Dashed, measured")] {
            let told: Vec<&str> =
                self.ceilings.iter().filter(|c| c.measured == measured).map(|c| c.label.as_str()).take(6).collect();
            if !told.is_empty() {
                let text = format!("{name}: {}.", told.join("; "));
                bottom = canvas.paragraph(0.0, bottom, &text, "muted", canvas.layout.width);
            }
        }
        let single = self.drawn().any(|p| p.n < 2);
        let key =
            if single { "Both axes are logarithmic. Hollow: a single run." } else { "Both axes are logarithmic." };
        canvas.paragraph(0.0, bottom, key, "muted", canvas.layout.width) + 4.0
    }

    /// Label of each flat roof, at its right end. Of two close ones only the higher has a label.
    fn roofs(&self, canvas: &Canvas, frame: &Frame) {
        let mut flats: Vec<f64> = self.ceilings.iter().filter_map(|c| above(c.tflops)).collect();
        flats.sort_by(|a, b| b.total_cmp(a));
        let mut free = f64::NEG_INFINITY;
        let heights: Vec<f64> = flats.iter().map(|tera| frame.py(*tera)).collect();
        for (tera, y) in flats.into_iter().zip(heights.iter().copied()) {
            if y - free < canvas.line_height() {
                continue;
            }
            free = y;
            let text = number::with_unit(&number::significant(tera, 4), "TFLOP/s");
            // Below its line, unless the next roof would strike it through.
            let struck = heights.iter().any(|other| *other > y && *other < y + canvas.line_height());
            let base = if struck { y - 4.0 } else { y + canvas.layout.size };
            canvas.text(frame.right(), base, &text, Anchor::End, "muted halo", frame.width);
        }
    }

    fn desc(&self) -> String {
        let told: Vec<&str> = self.ceilings.iter().map(|c| c.label.as_str()).take(8).collect();
        let mut text =
            format!("{} under these ceilings: {}. ", count(self.drawn().count(), "cell"), told.join(" and "));
        for point in self.drawn().take(10) {
            text.push_str(&note(point));
            text.push_str(". ");
        }
        text.trim().to_owned()
    }

    fn table(&self) -> Table {
        let caption = format!("{}: cells, then ceilings", self.title);
        let mut table = Table::new(caption, ["Cell or ceiling", "n", "FLOP/B", "TFLOP/s", "95 % interval"]);
        for p in &self.points {
            let ends = number::ends(p.interval, |v| number::significant(v, 5));
            let cells =
                [p.name.clone(), p.n.to_string(), number::significant(p.x, 4), number::significant(p.y, 4), ends];
            table.row(cells, p.href.as_deref());
        }
        for c in &self.ceilings {
            let tera = c.tflops.map_or_else(String::new, |tera| number::significant(tera, 5));
            table.row([c.label.clone(), String::new(), String::new(), tera, String::new()], None);
        }
        table
    }
}

/// Values that a logarithm can place.
fn above(value: Option<f64>) -> Option<f64> {
    value.filter(|v| number::usable(*v) && *v > 1e-30 && *v < 1e30)
}

fn note(point: &RooflinePoint) -> String {
    format!(
        "{}: {} at {}, n={}",
        point.name,
        number::with_unit(&number::significant(point.y, 4), "TFLOP/s"),
        number::with_unit(&number::significant(point.x, 4), "FLOP/B"),
        point.n
    )
}

/// Its line in the registry.
#[derive(Debug)]
pub struct RooflineChart;

impl super::Chart for RooflineChart {
    fn name(&self) -> &'static str {
        "roofline"
    }

    fn manual(&self) -> &'static str {
        "What a machine allows a step of decoding. The slope is the bandwidth of its memory, and the flat part its arithmetic. Solid lines come from data sheets, dashed ones from a probe. A cell belongs below the roof. One above it is not what its label says."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Roofline>(json)?.draw(id))
    }
}
