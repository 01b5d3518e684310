//! Spread of runs by environment: every dot, and by number of runs a mean with its interval or a box.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, MarkGroup, Shape};
use super::figure::{Figure, FigureText, MARKS, ROWS, Table, palette, place};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// From here on a box tells more than a bar: fewer values do not carry quartiles.
pub const BOX_FROM: usize = 10;

/// Tukey's reach of a whisker in lengths of the box.
const WHISKER: f64 = 1.5;

/// Radius of a dot.
const DOT: f64 = 3.2;

/// Dots and boxes of one metric.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spread {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    /// For example one per model. Each with a scale of its own. One with an empty heading for no facets.
    pub facets: Vec<Facet>,
}

/// Arms side by side.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facet {
    /// For example the model.
    pub heading: String,
    /// The baseline first.
    pub arms: Vec<SpreadArm>,
}

/// Values of one environment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpreadArm {
    /// Environment. The same label has the same colour in every facet.
    pub label: String,
    /// One per run.
    pub values: Vec<f64>,
    /// Arithmetic mean, as published.
    pub mean: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Lower quartile, median, upper quartile. A box is drawn when present and there are ten values or more.
    pub quartiles: Option<(f64, f64, f64)>,
    /// Where the arm leads.
    pub href: Option<String>,
}

impl SpreadArm {
    /// Values that have a place.
    fn drawn(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.values.iter().copied().filter(|v| number::usable(*v)).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Quartiles, where there are values enough for a box.
    fn box_of(&self, n: usize) -> Option<(f64, f64, f64)> {
        self.quartiles
            .filter(|(a, b, c)| n >= BOX_FROM && [a, b, c].iter().all(|v| number::usable(**v)) && a <= b && b <= c)
    }
}

impl Facet {
    /// Scale around everything drawn.
    fn axis(&self) -> Option<Axis> {
        let of = |arm: &SpreadArm| {
            let mean = arm.mean.into_iter();
            let ends = number::usable_pair(arm.interval).into_iter().flat_map(|(low, high)| [low, high]);
            arm.drawn().into_iter().chain(mean).chain(ends).collect::<Vec<f64>>()
        };
        Axis::around(self.arms.iter().flat_map(of))
    }
}

impl Spread {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let labels = palette(self.facets.iter().flat_map(|f| f.arms.iter().map(|a| a.label.as_str())));
                let total: usize = self.facets.iter().flat_map(|f| &f.arms).map(|a| a.values.len()).sum();
                let thin = total.div_ceil(MARKS).max(1);
                let (mut y, mut left) = (0.0, ROWS);
                for (i, facet) in self.facets.iter().enumerate() {
                    let Some(axis) = facet.axis().filter(|_| left > 0) else {
                        continue;
                    };
                    let name = if i + 1 == self.facets.len() {
                        number::axis_name(&self.axis, &self.unit)
                    } else {
                        String::new()
                    };
                    y = facet_rows(canvas, facet, axis, &labels, (y, thin, &name, &mut left));
                }
                (y > 0.0).then(|| self.key(canvas, y))
            },
        )
    }

    /// Legend of the strokes.
    fn key(&self, canvas: &Canvas, top: f64) -> f64 {
        let arms = || self.facets.iter().flat_map(|f| &f.arms);
        let mut text = String::from("Each mark is one value. ");
        if arms().any(|a| a.mean.is_some()) {
            text.push_str("Diamond: mean. ");
        }
        let boxed = |arm: &SpreadArm| arm.box_of(arm.drawn().len()).is_some();
        // Beside a box there is no such line.
        if arms().any(|a| !boxed(a) && number::usable_pair(a.interval).is_some()) {
            text.push_str("Thick line: its 95\u{a0}% interval. ");
        }
        if arms().any(boxed) {
            text.push_str("Box: quartiles and median; whiskers to the last value within 1.5 boxes. ");
        }
        text.push_str("The scale does not start at zero.");
        canvas.paragraph(0.0, top, &text, "muted", canvas.layout.width) + 4.0
    }

    /// Description for those who do not see the drawing.
    fn desc(&self) -> String {
        let mut text = format!("Spread of {}. ", number::axis_name(&self.axis, &self.unit));
        for facet in &self.facets {
            for arm in &facet.arms {
                let values = arm.drawn();
                let name = if facet.heading.is_empty() {
                    arm.label.clone()
                } else {
                    format!("{}, {}", facet.heading, arm.label)
                };
                let Some((low, high)) = extent(values.iter().copied()) else {
                    text.push_str(&format!("{name}: no values. "));
                    continue;
                };
                let mean = arm
                    .mean
                    .filter(|m| number::usable(*m))
                    .map_or_else(String::new, |m| format!(", mean {}", number::significant(m, 5)));
                let (low, high) = (number::significant(low, 5), number::significant(high, 5));
                text.push_str(&format!("{name}: {}, {low} to {high}{mean}. ", count(values.len(), "value")));
            }
        }
        text.push_str("The axis does not start at zero.");
        text
    }

    /// Every number.
    fn table(&self) -> Table {
        let caption = format!("{}: {}", self.title, number::axis_name(&self.axis, &self.unit));
        let mut table = Table::new(
            caption,
            ["Environment", "Part", "n", "Mean", "95 % interval", "Quartiles and median", "Values"],
        );
        let none = || "none".to_owned();
        for facet in &self.facets {
            for arm in &facet.arms {
                let show = |v: f64| number::significant(v, 6);
                let values: Vec<String> = arm.values.iter().map(|v| show(*v)).collect();
                let mean = arm.mean.map_or_else(none, show);
                let interval = number::ends(arm.interval, show);
                let quartiles =
                    arm.quartiles.map_or_else(none, |(a, b, c)| format!("{}, {}, {}", show(a), show(b), show(c)));
                let cells = [
                    arm.label.clone(),
                    facet.heading.clone(),
                    arm.values.len().to_string(),
                    mean,
                    interval,
                    quartiles,
                    values.join("; "),
                ];
                table.row(cells, arm.href.as_deref());
            }
        }
        table
    }
}

/// Rows of one facet with their axis from a top edge. Gives the bottom edge.
fn facet_rows(
    canvas: &Canvas,
    facet: &Facet,
    axis: Axis,
    labels: &[&str],
    place_at: (f64, usize, &str, &mut usize),
) -> f64 {
    let (top, thin, name, left) = place_at;
    let full = canvas.layout.width;
    let narrow = canvas.layout.narrow;
    let mut y = top;
    if !facet.heading.is_empty() {
        canvas.text(0.0, y + canvas.layout.size, &facet.heading, Anchor::Start, "strong", full);
        y += canvas.line_height() + 4.0;
    }
    let label_room = labels.iter().map(|label| canvas.width_of(label)).fold(0.0, f64::max).clamp(40.0, 180.0) + 1.0;
    let plot = if narrow { 8.0 } else { 18.0 + label_room + 8.0 + canvas.width_of("n=0000") + 12.0 };
    let row = if narrow { 52.0 + canvas.line_height() } else { 56.0 };
    let arms = &facet.arms[..facet.arms.len().min(*left)];
    *left -= arms.len();
    let height = row * arms.len() as f64;
    let frame = Frame { left: plot, top: y, width: full - plot - 8.0, height, x: axis, y: Axis::exact(0.0, 1.0) };
    let bottom = canvas.x_axis(&frame, name, true);
    for (i, arm) in arms.iter().enumerate() {
        let at = y + row * i as f64;
        let series = place(labels, &arm.label);
        let lane = if narrow { at + canvas.line_height() + 4.0 } else { at + 8.0 };
        let base = if narrow { at + canvas.layout.size + 2.0 } else { at + 28.0 + canvas.layout.size * 0.36 };
        let values = arm.drawn();
        let linked = if arm.href.is_some() { "linked" } else { "" };
        let mark = Shape::of_series(series);
        canvas.glyph(6.0, base - canvas.layout.size * 0.36, mark, Ink(Hue::Series(series), Pen::Solid), 4.5);
        let used =
            canvas.label((18.0, base), &arm.label, labels, linked, if narrow { full - 80.0 } else { label_room });
        canvas.text(18.0 + used + 8.0, base, &format!("n={}", values.len()), Anchor::Start, "muted", 60.0);
        dots(canvas, &frame, &values, thin, (lane + 12.0, series));
        summary(canvas, &frame, arm, &values, (lane + 35.0, series));
        if let Some(href) = &arm.href {
            let note =
                if facet.heading.is_empty() { arm.label.clone() } else { format!("{}, {}", facet.heading, arm.label) };
            canvas.target(0.0, at, full, row, href, &note);
        }
    }
    bottom + 10.0
}

/// Dots of one arm around a middle line: side by side where they would hide each other.
fn dots(canvas: &Canvas, frame: &Frame, sorted: &[f64], thin: usize, (middle, series): (f64, usize)) {
    const LEVELS: [f64; 5] = [0.0, -1.0, 1.0, -2.0, 2.0];
    let mut taken = [f64::NEG_INFINITY; LEVELS.len()];
    // Thinning keeps both ends: the extremes are what a reader looks for.
    let kept = |i: usize| i.is_multiple_of(thin) || i + 1 == sorted.len();
    let at = sorted.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(i, value)| {
        let x = frame.px(*value);
        let free = taken.iter().position(|last| x - last >= DOT * 1.9);
        // With every level taken the golden ratio spreads the rest evenly, the same on every machine.
        let level = free.map_or_else(|| ((i as f64 * 0.618_034) % 1.0) * 4.0 - 2.0, |level| LEVELS[level]);
        if let Some(level) = free {
            taken[level] = x;
        }
        (x, middle + level * 5.2)
    });
    let ink = Ink(Hue::Series(series), Pen::Solid);
    canvas.crowd(&MarkGroup { at: at.collect(), shape: Shape::of_series(series), ink, radius: DOT });
}

/// Mean with interval, or a box, on a line of its own below the dots.
fn summary(canvas: &Canvas, frame: &Frame, arm: &SpreadArm, sorted: &[f64], (y, series): (f64, usize)) {
    let hue = Hue::Series(series);
    if let Some((low, median, high)) = arm.box_of(sorted.len()) {
        let reach = WHISKER * (high - low);
        let whiskers = extent(sorted.iter().copied().filter(|v| *v >= low - reach && *v <= high + reach));
        if let Some((from, to)) = whiskers {
            canvas.line(&[(frame.px(from), y), (frame.px(low), y)], hue, Pen::Line);
            canvas.line(&[(frame.px(high), y), (frame.px(to), y)], hue, Pen::Line);
        }
        let (a, b) = (frame.px(low), frame.px(high));
        canvas.area(a, y - 6.0, (b - a).max(1.0), 12.0, hue, Pen::Tint);
        canvas.line(&[(a, y - 6.0), (b, y - 6.0), (b, y + 6.0), (a, y + 6.0), (a, y - 6.0)], hue, Pen::Line);
        canvas.line(&[(frame.px(median), y - 6.0), (frame.px(median), y + 6.0)], Hue::Ink, Pen::Line);
    } else if let Some((low, high)) = number::usable_pair(arm.interval) {
        canvas.line(&[(frame.px(low), y), (frame.px(high), y)], hue, Pen::Thick);
    }
    if let Some(mean) = arm.mean.filter(|m| number::usable(*m)) {
        canvas.glyph(frame.px(mean), y, Shape::Diamond, Ink(Hue::Ink, Pen::Solid), 4.0);
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct SpreadChart;

impl super::Chart for SpreadChart {
    fn name(&self) -> &'static str {
        "spread"
    }

    fn manual(&self) -> &'static str {
        "Each mark is one run. The diamond below the marks is the mean. Up to nine runs it stands on a thick line, which is its 95 % interval. From ten runs on it stands in a box of quartiles and median with Tukey's whiskers."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Spread>(json)?.draw(id))
    }
}
