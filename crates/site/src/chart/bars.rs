//! Bars from zero, for quantities of which parts and multiples mean something (memory, energy).

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Shape};
use super::figure::{Figure, FigureText, ROWS, Table, palette, place};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// Means with intervals, from zero.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bars {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    /// For example one per model. All on one scale.
    pub groups: Vec<Group>,
}

/// Bars under one heading.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Group {
    /// For example the model.
    pub heading: String,
    /// The baseline first.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bar {
    /// Environment. The same label has the same colour in every group.
    pub label: String,
    /// Mean. Absent: the bar says `not reported`.
    pub mean: Option<f64>,
    /// 95 % interval of the mean.
    pub interval: Option<(f64, f64)>,
    /// Number of runs.
    pub n: usize,
    /// Where the bar leads.
    pub href: Option<String>,
}

impl Bar {
    /// Mean that has a place.
    fn drawn(&self) -> Option<f64> {
        self.mean.filter(|m| number::usable(*m))
    }

    /// Mean with what the interval allows of digits.
    fn value(&self, unit: &str) -> String {
        let Some(mean) = self.drawn() else {
            return "not reported".to_owned();
        };
        match number::usable_pair(self.interval).filter(|(low, high)| low < high) {
            Some((low, high)) => {
                let digits = number::decimals_of_interval(low, high).min(3);
                let ends = format!("{} to {}", number::fixed(low, digits), number::fixed(high, digits));
                format!("{} ({ends})", number::with_unit(&number::fixed(mean, digits), unit))
            }
            None => number::with_unit(&number::significant(mean, 4), unit),
        }
    }
}

impl Bars {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let bars = || self.groups.iter().flat_map(|g| &g.bars);
                bars().next()?;
                let ends = bars().filter_map(|b| number::usable_pair(b.interval)).flat_map(|(low, high)| [low, high]);
                let axis = Axis::from_zero(bars().filter_map(Bar::drawn).chain(ends))?;
                Some(self.sheet(canvas, axis))
            },
        )
    }

    /// Everything. Gives the height.
    fn sheet(&self, canvas: &Canvas, axis: Axis) -> f64 {
        let narrow = canvas.layout.narrow;
        let full = canvas.layout.width;
        let step = canvas.line_height();
        let bars = || self.groups.iter().flat_map(|g| &g.bars);
        let labels = palette(bars().map(|b| b.label.as_str()));
        let widest = |text: &dyn Fn(&Bar) -> String| bars().map(|b| canvas.width_of(&text(b))).fold(0.0, f64::max);
        let label = widest(&|b| b.label.clone()).clamp(60.0, 190.0);
        let runs = widest(&|b| of(b.n)).clamp(30.0, 90.0);
        let value = widest(&|b| b.value(&self.unit)).clamp(60.0, 220.0);
        let left = if narrow { 1.0 } else { label + runs + 42.0 };
        let width = if narrow { full - left } else { full - left - value - 20.0 };
        // On a phone a value that has no room beside the name and the runs has a line of its own.
        let apart = narrow && 18.0 + label + 8.0 + runs + 16.0 + value > full;
        let words = if apart { 2.0 * step } else { step };
        let row = if narrow { words + 20.0 } else { 26.0 };
        // Tops first: the grid lies beneath the bars.
        let mut y = 0.0;
        let mut rows = Vec::new();
        let mut headings = Vec::new();
        let mut blocks = Vec::new();
        for group in self.groups.iter().filter(|g| !g.bars.is_empty()) {
            if rows.len() >= ROWS {
                break;
            }
            if !group.heading.is_empty() {
                headings.push((y, group.heading.as_str()));
                y += step + 4.0;
            }
            let top = y;
            for bar in group.bars.iter().take(ROWS - rows.len()) {
                rows.push((y, group.heading.as_str(), bar));
                y += row;
            }
            blocks.push((top, y));
            y += 8.0;
        }
        let frame = Frame { left, top: 0.0, width, height: y, x: axis, y: Axis::exact(0.0, 1.0) };
        let bottom = canvas.x_axis(&frame, &number::axis_name(&self.axis, &self.unit), false);
        let zero = frame.px(0.0);
        if !narrow {
            for (top, end) in blocks {
                for (value, _) in frame.x_ticks() {
                    canvas.line(&[(frame.px(value), top), (frame.px(value), end)], Hue::Grid, Pen::Hair);
                }
                canvas.line(&[(zero, top), (zero, end)], Hue::Axis, Pen::Line);
            }
        }
        for (top, heading) in headings {
            canvas.text(0.0, top + canvas.layout.size, heading, Anchor::Start, "strong", full);
        }
        for (top, heading, bar) in rows {
            let series = place(&labels, &bar.label);
            let hue = Hue::Series(series);
            let base = if narrow { top + canvas.layout.size } else { top + 12.0 + canvas.layout.size * 0.36 };
            let middle = if narrow { top + words + 6.0 } else { top + 12.0 };
            let linked = if bar.href.is_some() { "linked" } else { "" };
            canvas.glyph(6.0, base - canvas.layout.size * 0.36, Shape::of_series(series), Ink(hue, Pen::Solid), 4.5);
            let room = match (narrow, apart) {
                (false, _) => label,
                (true, false) => full - value - runs - 40.0,
                (true, true) => full - runs - 40.0,
            };
            let used = canvas.label((18.0, base), &bar.label, &labels, linked, room.max(60.0));
            canvas.text(18.0 + used + 8.0, base, &of(bar.n), Anchor::Start, "muted", runs + 1.0);
            let (at, anchor) = if apart { ((18.0, base + step), Anchor::Start) } else { ((full, base), Anchor::End) };
            canvas.text(at.0, at.1, &bar.value(&self.unit), anchor, "", value);
            if let Some(mean) = bar.drawn() {
                let end = frame.px(mean);
                let half = if narrow { 5.0 } else { 8.0 };
                canvas.area(zero.min(end), middle - half, (end - zero).abs(), 2.0 * half, hue, Pen::Tint);
                // The outline carries the contrast that the faint area does not have.
                let (low, high) = (middle - half, middle + half);
                canvas.line(&[(zero, low), (end, low), (end, high), (zero, high)], hue, Pen::Line);
            }
            if let Some((low, high)) = number::usable_pair(bar.interval).filter(|_| bar.drawn().is_some()) {
                let (a, b) = (frame.px(low), frame.px(high));
                canvas.line(&[(a, middle), (b, middle)], Hue::Ink, Pen::Line);
                canvas.line(&[(a, middle - 3.0), (a, middle + 3.0)], Hue::Ink, Pen::Line);
                canvas.line(&[(b, middle - 3.0), (b, middle + 3.0)], Hue::Ink, Pen::Line);
            }
            if let Some(href) = &bar.href {
                canvas.target(0.0, top, full, row, href, &note(heading, bar, &self.unit));
            }
        }
        if bars().any(|b| number::usable_pair(b.interval).is_some()) {
            return canvas.paragraph(
                0.0,
                bottom + 2.0,
                "Bar: mean, from zero. Whisker: its 95\u{a0}% interval.",
                "muted",
                full,
            ) + 4.0;
        }
        bottom
    }

    /// Description for those who do not see the drawing.
    fn desc(&self) -> String {
        let n = self.groups.iter().map(|g| g.bars.len()).sum();
        let mut text = format!("{} from zero: {}. ", count(n, "bar"), number::axis_name(&self.axis, &self.unit));
        for group in &self.groups {
            for bar in &group.bars {
                text.push_str(&note(&group.heading, bar, &self.unit));
                text.push_str(". ");
            }
        }
        text.trim().to_owned()
    }

    /// Every number.
    fn table(&self) -> Table {
        let caption = format!("{}: {}", self.title, number::axis_name(&self.axis, &self.unit));
        let mut table = Table::new(caption, ["Environment", "Part", "n", "Mean", "95 % interval"]);
        for group in &self.groups {
            for bar in &group.bars {
                let show = |v: f64| number::significant(v, 5);
                let mean = bar.drawn().map_or_else(|| "not reported".to_owned(), show);
                let ends = number::ends(bar.interval, show);
                let cells = [bar.label.clone(), group.heading.clone(), bar.n.to_string(), mean, ends];
                table.row(cells, bar.href.as_deref());
            }
        }
        table
    }
}

/// The number of runs behind a bar.
fn of(n: usize) -> String {
    format!("n={n}")
}

/// A bar in words.
fn note(heading: &str, bar: &Bar, unit: &str) -> String {
    let name = if heading.is_empty() { bar.label.clone() } else { format!("{heading}, {}", bar.label) };
    format!("{name}: {}, n={}", bar.value(unit), bar.n)
}

/// Its line in the registry.
#[derive(Debug)]
pub struct BarsChart;

impl super::Chart for BarsChart {
    fn name(&self) -> &'static str {
        "bars"
    }

    fn manual(&self) -> &'static str {
        "Bars start at zero, so twice the length is twice the quantity. The whisker is the 95 % interval of the mean."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Bars>(json)?.draw(id))
    }
}
