//! A grid of numbers with colour behind them: the colour helps the eye and is never needed.

use serde::{Deserialize, Serialize};

use super::axis::extent;
use super::canvas::Canvas;
use super::element::Anchor;
use super::figure::{Figure, FigureText, Table};
use super::ink::{Hue, Pen, STEPS};
use super::number;
use sparkbench_text::plural::count;

/// Most rows and columns of a drawing. The table has all.
const MOST: usize = 24;

/// Numbers by row and column.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Heatmap {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the number.
    pub axis: String,
    /// Unit of the number.
    pub unit: String,
    /// Name of the rows.
    pub row_axis: String,
    /// Name of the columns.
    pub column_axis: String,
    /// From top to bottom.
    pub rows: Vec<String>,
    /// From left to right.
    pub columns: Vec<String>,
    /// Those that were measured.
    pub squares: Vec<Square>,
}

/// One square.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Square {
    /// Place among the rows.
    pub row: usize,
    /// Place among the columns.
    pub column: usize,
    /// Mean.
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    pub n: usize,
    /// Further text, for example the batch.
    pub note: String,
    /// Where it leads.
    pub href: Option<String>,
}

impl Heatmap {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let ends = extent(self.drawn().map(|s| s.value))?;
                Some(self.sheet(canvas, ends))
            },
        )
    }

    fn drawn(&self) -> impl Iterator<Item = &Square> {
        let (rows, columns) = (self.rows.len().min(MOST), self.columns.len().min(MOST));
        self.squares.iter().filter(move |s| s.row < rows && s.column < columns && number::usable(s.value))
    }

    /// Everything. Gives the height.
    fn sheet(&self, canvas: &Canvas, ends: (f64, f64)) -> f64 {
        let full = canvas.layout.width;
        let line = canvas.line_height();
        let size = canvas.layout.size;
        let label = self.rows.iter().map(|row| canvas.width_of_strong(row)).fold(30.0, f64::max).min(full * 0.3) + 12.0;
        let noted = self.drawn().any(|s| !s.note.is_empty());
        let widest = self
            .drawn()
            .flat_map(|s| [canvas.width_of_strong(&shown(s)), canvas.width_of(&under(s)), canvas.width_of(&s.note)])
            .fold(50.0, f64::max);
        let columns = self.columns.len().clamp(1, MOST);
        let fitting = (((full - label) / (widest + 14.0)).floor() as usize).clamp(1, columns);
        let width = ((full - label) / fitting as f64).min(150.0);
        let height = if noted { 3.0 * line + 14.0 } else { 2.0 * line + 14.0 };
        let mut top = canvas.paragraph(
            0.0,
            0.0,
            &format!("Across: {}. Down: {}.", self.column_axis, self.row_axis),
            "muted",
            full,
        ) + 4.0;
        // As many columns as fit side by side. The others below, under their own heads.
        let all: Vec<usize> = (0..columns).collect();
        for part in all.chunks(fitting) {
            for (k, column) in part.iter().enumerate() {
                let head = self.columns.get(*column).map_or("", String::as_str);
                canvas.text(label + (k as f64 + 0.5) * width, top + size, head, Anchor::Middle, "strong", width - 6.0);
            }
            top += line + 4.0;
            for (row, name) in self.rows.iter().enumerate().take(MOST) {
                let middle = top + height / 2.0 + size * 0.35;
                canvas.text(label - 10.0, middle, name, Anchor::End, "strong", label - 8.0);
                for (k, column) in part.iter().enumerate() {
                    let left = label + k as f64 * width;
                    match self.drawn().find(|s| s.row == row && s.column == *column) {
                        Some(square) => self.square(canvas, square, (left, top, width, height), ends),
                        None => {
                            canvas.area(left + 1.0, top + 1.0, width - 2.0, height - 2.0, Hue::Band, Pen::Tint);
                            canvas.text(left + width / 2.0, middle, "–", Anchor::Middle, "muted", width);
                        }
                    }
                }
                top += height;
            }
            top += 10.0;
        }
        self.key(canvas, top, ends)
    }

    /// One square: the number, its runs, its note.
    fn square(
        &self,
        canvas: &Canvas,
        square: &Square,
        (left, top, width, height): (f64, f64, f64, f64),
        ends: (f64, f64),
    ) {
        let step = step(square.value, ends);
        let (line, size) = (canvas.line_height(), canvas.layout.size);
        canvas.area(left + 1.0, top + 1.0, width - 2.0, height - 2.0, Hue::Step(step), Pen::Fill);
        let single = square.n < 2;
        if single {
            canvas.area(left + 5.0, top + 5.0, width - 10.0, height - 10.0, Hue::Paper, Pen::Fill);
        }
        let class = |strong: bool| match (single, strong) {
            (true, true) => "strong".to_owned(),
            (true, false) => "muted".to_owned(),
            (false, true) => format!("strong on{step}"),
            (false, false) => format!("on{step}"),
        };
        let middle = left + width / 2.0;
        let mut base = top + 7.0 + size;
        canvas.text(middle, base, &shown(square), Anchor::Middle, &class(true), width - 6.0);
        for text in [under(square), square.note.clone()].into_iter().filter(|text| !text.is_empty()) {
            base += line;
            canvas.text(middle, base, &text, Anchor::Middle, &class(false), width - 6.0);
        }
        if let Some(href) = &square.href {
            canvas.target(left, top, width, height, href, &self.words(square));
        }
    }

    /// The colours with their ends. Gives the bottom.
    fn key(&self, canvas: &Canvas, top: f64, (low, high): (f64, f64)) -> f64 {
        let size = canvas.layout.size;
        let start = number::significant(low, 3);
        let mut x = canvas.text(0.0, top + size, &start, Anchor::Start, "muted", 120.0) + 8.0;
        for step in 0..STEPS {
            canvas.area(x, top + 1.0, 22.0, size + 1.0, Hue::Step(step), Pen::Fill);
            x += 22.0;
        }
        let end = number::with_unit(&number::significant(high, 3), &self.unit);
        canvas.text(x + 8.0, top + size, &end, Anchor::Start, "muted", 140.0);
        let single = if self.drawn().any(|s| s.n < 2) { " A frame without filling: a single run." } else { "" };
        let key = format!("Every step of colour is the same ratio; the number is what counts.{single}");
        canvas.paragraph(0.0, top + canvas.line_height() + 4.0, &key, "muted", canvas.layout.width) + 4.0
    }

    /// A square in words.
    fn words(&self, square: &Square) -> String {
        let name = |names: &[String], k: usize| names.get(k).cloned().unwrap_or_default();
        let note = if square.note.is_empty() { String::new() } else { format!(", {}", square.note) };
        format!(
            "{} {}, {} {}: {}, n={}{note}",
            self.row_axis,
            name(&self.rows, square.row),
            self.column_axis,
            name(&self.columns, square.column),
            number::with_unit(&number::significant(square.value, 4), &self.unit),
            square.n
        )
    }

    fn desc(&self) -> String {
        let all = self.rows.len() * self.columns.len();
        let mut text = format!(
            "{} of {all}: {}. ",
            count(self.drawn().count(), "square"),
            number::axis_name(&self.axis, &self.unit)
        );
        for square in self.drawn().take(12) {
            text.push_str(&self.words(square));
            text.push_str(". ");
        }
        text.trim().to_owned()
    }

    fn table(&self) -> Table {
        let caption = format!("{}: {}", self.title, number::axis_name(&self.axis, &self.unit));
        let (rows, columns) = (or(&self.row_axis, "Row"), or(&self.column_axis, "Column"));
        let mut table = Table::new(caption, [rows, columns, "n", "Mean", "95 % interval", "Note"]);
        let name = |names: &[String], k: usize| names.get(k).cloned().unwrap_or_default();
        for s in &self.squares {
            let show = |v: f64| number::significant(v, 5);
            let cells = [
                name(&self.rows, s.row),
                name(&self.columns, s.column),
                s.n.to_string(),
                show(s.value),
                number::ends(s.interval, show),
                s.note.clone(),
            ];
            table.row(cells, s.href.as_deref());
        }
        table
    }
}

fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

/// The number as printed: digits by its interval.
fn shown(square: &Square) -> String {
    match number::usable_pair(square.interval) {
        Some((low, high)) if low < high => {
            let digits = number::decimals_of_interval(low, high).min(3);
            number::fixed(square.value, digits)
        }
        _ => number::significant(square.value, 4),
    }
}

fn under(square: &Square) -> String {
    format!("n={}", square.n)
}

/// Step of the colours: equal ratios between the ends, equal differences where a value is not above zero.
fn step(value: f64, (low, high): (f64, f64)) -> usize {
    let (value, low, high) =
        if low > 0.0 { (libm::log(value), libm::log(low), libm::log(high)) } else { (value, low, high) };
    if high - low < 1e-12 {
        return STEPS / 2;
    }
    ((value - low) / (high - low) * STEPS as f64).clamp(0.0, STEPS as f64 - 1.0) as usize
}

/// Its line in the registry.
#[derive(Debug)]
pub struct HeatmapChart;

impl super::Chart for HeatmapChart {
    fn name(&self) -> &'static str {
        "heatmap"
    }

    fn manual(&self) -> &'static str {
        "A grid with the number printed in every square, and n below it. The colour repeats the number in steps of equal ratio. A frame without filling is a single run. A dash is a pair that was not measured."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Heatmap>(json)?.draw(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_equal_ratios_and_one_value_stands_in_the_middle() {
        let ends = (1.0, 128.0);
        assert_eq!([1.0, 2.1, 4.1, 64.1, 128.0].map(|v| step(v, ends)), [0, 1, 2, 6, 6]);
        assert_eq!(step(5.0, (5.0, 5.0)), STEPS / 2);
        assert_eq!(step(0.0, (-7.0, 7.0)), 3);
    }
}
