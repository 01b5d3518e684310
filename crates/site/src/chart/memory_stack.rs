//! Parts of memory, stacked from zero.

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Shape};
use super::figure::{Figure, FigureText, Table, palette, place};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// Most stacks of a drawing. The table has all.
const STACKS: usize = 20;

/// Stacks from zero.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryStack {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Unit of all values.
    pub unit: String,
    /// One stack each.
    pub bars: Vec<MemoryBar>,
}

/// One stack.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryBar {
    /// Environment.
    pub label: String,
    pub n: usize,
    /// What the whole is: `peak`, `device`.
    pub whole_label: String,
    pub whole: Option<f64>,
    pub interval: Option<(f64, f64)>,
    /// From zero upwards.
    pub parts: Vec<MemoryPart>,
    /// Absent or contradicting parts.
    pub notes: Vec<String>,
    /// Where it leads.
    pub href: Option<String>,
}

/// One part.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryPart {
    /// Its name. The same name has the same look in every bar.
    pub label: String,
    /// Mean. Absent: not drawn, the notes say why.
    pub value: Option<f64>,
}

impl MemoryPart {
    fn drawn(&self) -> Option<f64> {
        self.value.filter(|v| number::usable(*v) && *v >= 0.0)
    }
}

impl MemoryBar {
    fn sum(&self) -> f64 {
        self.parts.iter().filter_map(MemoryPart::drawn).sum()
    }

    fn total(&self) -> Option<f64> {
        self.whole.filter(|v| number::usable(*v))
    }

    /// The whole as text.
    fn value(&self, unit: &str) -> String {
        match self.total() {
            Some(whole) => format!("{} {}", self.whole_label, number::with_unit(&number::significant(whole, 4), unit)),
            None => "no whole reported".to_owned(),
        }
    }

    /// The stack in words.
    fn words(&self, unit: &str) -> String {
        let parts: Vec<String> = self
            .parts
            .iter()
            .filter_map(|part| {
                Some(format!("{} {}", part.label, number::with_unit(&number::significant(part.drawn()?, 4), unit)))
            })
            .collect();
        let told = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        let notes = if self.notes.is_empty() { String::new() } else { format!(" ({})", self.notes.join("; ")) };
        format!("{}, {}, n={}{told}{notes}", self.label, self.value(unit), self.n)
    }
}

impl MemoryStack {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let ends = self.bars.iter().filter_map(|b| number::usable_pair(b.interval)).map(|(_, high)| high);
                let tops = self.bars.iter().flat_map(|b| [Some(b.sum()), b.total()]).flatten().filter(|v| *v > 0.0);
                let highest = tops.fold(f64::NAN, f64::max);
                if !number::usable(highest) {
                    return None;
                }
                let axis = Axis::from_zero(ends.map(|end| end.min(1.5 * highest)).chain([highest]))?;
                Some(self.sheet(canvas, axis))
            },
        )
    }

    /// Everything. Gives the height.
    fn sheet(&self, canvas: &Canvas, axis: Axis) -> f64 {
        let full = canvas.layout.width;
        let line = canvas.line_height();
        let size = canvas.layout.size;
        let names = palette(self.bars.iter().flat_map(|bar| bar.parts.iter().map(|part| part.label.as_str())));
        let is_drawn = |name: &str| {
            let mut parts = self.bars.iter().take(STACKS).flat_map(|bar| &bar.parts);
            parts.any(|part| part.label == name && part.drawn().is_some())
        };
        // Every name has its place in the palette, so that it looks the same in the next drawing. A part that is absent has no mark to explain.
        let items: Vec<_> = (names.iter().enumerate())
            .filter(|(_, name)| is_drawn(name))
            .map(|(k, name)| (k, (*name).to_owned()))
            .collect();
        let mut y = canvas.legend(0.0, 0.0, &items[..items.len().min(12)], false) + 10.0;
        let mut frame = Frame { left: 1.0, top: 0.0, width: full - 10.0, height: y, x: axis, y: Axis::exact(0.0, 1.0) };
        let zero = frame.px(0.0);
        let label = |bar: &MemoryBar| format!("{} · n={}", bar.label, bar.n);
        let labels: Vec<String> = self.bars.iter().take(STACKS).map(label).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        for bar in self.bars.iter().take(STACKS) {
            let top = y;
            let value = bar.value(&self.unit);
            let room = full - canvas.width_of(&value) - 16.0;
            let class = if bar.href.is_some() { "strong linked" } else { "strong" };
            canvas.label((0.0, y + size), &label(bar), &labels, class, room.max(60.0));
            canvas.text(full, y + size, &value, Anchor::End, "", full);
            y += line + 4.0;
            let height = 24.0;
            for (at, _) in frame.x_ticks() {
                canvas.line(&[(frame.px(at), y), (frame.px(at), y + height)], Hue::Grid, Pen::Hair);
            }
            let mut at = 0.0;
            for part in &bar.parts {
                let Some(value) = part.drawn() else { continue };
                let (from, to) = (frame.px(at), frame.px(at + value));
                at += value;
                let hue = Hue::Series(place(&names, &part.label));
                canvas.area(from, y, to - from, height, hue, Pen::Tint);
                // The outline carries the contrast that the faint area does not have.
                canvas.line(&[(from, y), (to, y), (to, y + height), (from, y + height), (from, y)], hue, Pen::Line);
                let text = number::significant(value, 3);
                if to - from > canvas.width_of(&text) + 26.0 {
                    canvas.glyph(
                        from + 11.0,
                        y + height / 2.0,
                        Shape::of_series(place(&names, &part.label)),
                        Ink(hue, Pen::Solid),
                        4.5,
                    );
                    canvas.text(
                        from + 20.0,
                        y + height / 2.0 + size * 0.35,
                        &text,
                        Anchor::Start,
                        "",
                        to - from - 20.0,
                    );
                }
            }
            canvas.line(&[(zero, y - 3.0), (zero, y + height + 3.0)], Hue::Axis, Pen::Line);
            if let Some(whole) = bar.total() {
                let x = frame.px(whole);
                canvas.line(&[(x, y - 4.0), (x, y + height + 8.0)], Hue::Ink, Pen::Line);
                if let Some((low, high)) = number::usable_pair(bar.interval).filter(|(low, high)| low < high) {
                    // Below the bar, where it crosses no number.
                    let middle = y + height + 5.0;
                    canvas.line(&[(frame.px(low), middle), (frame.px(high), middle)], Hue::Ink, Pen::Line);
                    for end in [low, high].map(|end| frame.px(end)) {
                        canvas.line(&[(end, middle - 3.0), (end, middle + 3.0)], Hue::Ink, Pen::Line);
                    }
                }
            }
            y += height + 10.0;
            if !bar.notes.is_empty() {
                let mut note = bar.notes.join("; ");
                note.push('.');
                y = canvas.paragraph(0.0, y, &sentence(&note), "muted", full);
            }
            if let Some(href) = &bar.href {
                canvas.target(0.0, top, full, y - top, href, &bar.words(&self.unit));
            }
            y += 10.0;
        }
        frame.height = y - 6.0;
        let bottom = canvas.x_axis(&frame, &number::axis_name("memory", &self.unit), false) + 2.0;
        let key = "From zero. Upright line: the whole, with the 95\u{a0}% interval of its mean. Parts are means.";
        canvas.paragraph(0.0, bottom, key, "muted", full) + 4.0
    }

    fn desc(&self) -> String {
        let mut text = format!("{}. ", count(self.bars.len(), "stack"));
        for bar in self.bars.iter().take(STACKS) {
            text.push_str(&bar.words(&self.unit));
            text.push_str(". ");
        }
        text.trim().to_owned()
    }

    fn table(&self) -> Table {
        let caption = format!("{}, {}", self.title, self.unit);
        let mut table = Table::new(caption, ["Environment", "n", "Part", "Mean", "95 % interval", "Note"]);
        for bar in &self.bars {
            let show = |value: Option<f64>| {
                value
                    .filter(|v| number::usable(*v))
                    .map_or_else(|| "not reported".to_owned(), |v| number::significant(v, 5))
            };
            let row = |part: &str, mean: String, ends: String, note: String| {
                [bar.label.clone(), bar.n.to_string(), part.to_owned(), mean, ends, note]
            };
            for part in &bar.parts {
                table.row(row(&part.label, show(part.drawn()), String::new(), String::new()), bar.href.as_deref());
            }
            let ends = number::ends(bar.interval, |v| number::significant(v, 5));
            let whole = if bar.whole_label.is_empty() { "whole" } else { &bar.whole_label };
            table.row(row(whole, show(bar.total()), ends, bar.notes.join("; ")), bar.href.as_deref());
        }
        table
    }
}

/// With a capital unless it begins with an abbreviation.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Its line in the registry.
#[derive(Debug)]
pub struct MemoryStackChart;

impl super::Chart for MemoryStackChart {
    fn name(&self) -> &'static str {
        "memory_stack"
    }

    fn manual(&self) -> &'static str {
        "Parts of the memory of each environment, stacked from zero. The upright line is the whole with its interval. Parts that end short of it leave the rest unexplained. Parts beyond it contradict it. An absent part is named below its bar."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<MemoryStack>(json)?.draw(id))
    }
}
