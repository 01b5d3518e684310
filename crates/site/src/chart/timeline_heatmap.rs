//! A quantity over time for many runs: one row for each run, one column for each time slice.
//!
//! In:  means by column from `verdict`, absent where there is no sample.  Out: [`Figure`].
//! Not here: putting samples into columns.
//!
//! A cell shows its value twice, by its height within the row and by its depth of colour, so that nothing rests on colour. A column
//! without a sample is empty: even the row's base line is missing there.

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::canvas::{Canvas, Frame};
use super::element::Anchor;
use super::figure::{Figure, FigureText, Row, Table};
use super::ink::{Hue, Pen};
use super::label;
use super::number;
use sparkbench_text::plural::count;

/// Most rows of one drawing: with every cell different it still stays below 60 kB. The caller parts more into several.
pub const ROWS: usize = 24;

/// Most columns of one drawing.
pub const COLUMNS: usize = 48;

/// Steps of depth, from faint to full.
const DEPTHS: [Pen; 4] = [Pen::Faint, Pen::Light, Pen::Deep, Pen::Fill];

/// See the module.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TimelineHeatmap {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the quantity.
    pub quantity: String,
    pub unit: String,
    /// Name of the time axis with its unit.
    pub x_axis: String,
    /// Length of a column on that axis.
    pub step: f64,
    /// The value of a full cell. What is above is drawn as full.
    pub full: f64,
    /// From top to bottom.
    pub rows: Vec<HeatRow>,
}

/// One run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatRow {
    pub label: String,
    /// Where it leads.
    pub href: Option<String>,
    /// By column.
    pub values: Vec<Option<f64>>,
}

impl HeatRow {
    /// Values that have a place.
    fn drawn(&self) -> impl Iterator<Item = (usize, f64)> {
        let known = self.values.iter().take(COLUMNS).enumerate();
        known.filter_map(|(k, value)| Some((k, (*value).filter(|v| number::usable(*v))?)))
    }

    /// Neighbours of one step as one: first column, column after the last, step of height. A step of 0 is drawn as its base line only.
    fn stretches(&self, full: f64) -> Vec<(usize, usize, usize)> {
        let mut out: Vec<(usize, usize, usize)> = Vec::new();
        for (k, value) in self.drawn() {
            let step = step_of(value, full);
            match out.last_mut() {
                Some(last) if last.1 == k && last.2 == step => last.1 = k + 1,
                _ => out.push((k, k + 1, step)),
            }
        }
        out
    }
}

/// Eight steps of height, two to each depth.
const STEPS: usize = 8;

fn step_of(value: f64, full: f64) -> usize {
    let share = (value / full).clamp(0.0, 1.0);
    // Something is never shown as nothing, and only the full is shown as full.
    if share <= 0.0 { 0 } else { ((share * STEPS as f64).ceil() as usize).clamp(1, STEPS) }
}

impl TimelineHeatmap {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let columns = self.shown().flat_map(HeatRow::drawn).map(|(k, _)| k + 1).max()?;
                let usable =
                    number::usable(self.step) && self.step > 0.0 && number::usable(self.full) && self.full > 0.0;
                usable.then(|| self.sheet(canvas, columns))
            },
        )
    }

    fn shown(&self) -> impl Iterator<Item = &HeatRow> {
        self.rows.iter().take(ROWS)
    }

    fn sheet(&self, canvas: &Canvas, columns: usize) -> f64 {
        let (width, size, narrow) = (canvas.layout.width, canvas.layout.size, canvas.layout.narrow);
        let widest = self.shown().map(|row| canvas.width_of(&row.label)).fold(0.0, f64::max);
        let left = if narrow { 0.0 } else { (widest + 14.0).clamp(60.0, 340.0) };
        let high = if narrow { 20.0 } else { 22.0 };
        let lane = if narrow { high + canvas.line_height() + 4.0 } else { high + 5.0 };
        let mut y = self.key(canvas);
        let frame = Frame {
            left,
            top: y,
            width: width - left - 8.0,
            height: lane * self.shown().count() as f64,
            x: Axis::exact(0.0, columns as f64 * self.step),
            y: Axis::exact(0.0, 1.0),
        };
        for row in self.shown() {
            let baseline = if narrow { y + size } else { y + high - 6.0 };
            let room = if narrow { width } else { left - 12.0 };
            let linked = if row.href.is_some() { "linked" } else { "" };
            canvas.text(0.0, baseline, &label::fit_middle(&row.label, size, room), Anchor::Start, linked, room);
            let bottom = if narrow { y + lane - 4.0 } else { y + high };
            for (from, to, step) in row.stretches(self.full) {
                let (a, b) = (frame.px(from as f64 * self.step), frame.px(to as f64 * self.step));
                let tall = (high - 2.0) * step as f64 / STEPS as f64;
                if step > 0 {
                    canvas.area(a, bottom - tall, b - a, tall, Hue::Series(0), DEPTHS[(step - 1) / 2]);
                }
                canvas.line(&[(a, bottom), (b, bottom)], Hue::Axis, Pen::Hair);
            }
            if let Some(href) = row.href.as_deref().and_then(label::link) {
                canvas.target(0.0, y - 1.0, width, lane - 2.0, href, &row.label);
            }
            y += lane;
        }
        canvas.x_axis(&Frame { height: y - frame.top, ..frame }, &self.x_axis, false) + 2.0
    }

    /// Legend of heights and depths. Returns the bottom edge.
    fn key(&self, canvas: &Canvas) -> f64 {
        let (size, step) = (canvas.layout.size, canvas.line_height());
        let mut x = 0.0;
        for (k, pen) in DEPTHS.into_iter().enumerate() {
            let tall = 4.0 * (k + 1) as f64;
            canvas.area(x, size + 2.0 - tall, 14.0, tall, Hue::Series(0), pen);
            let ends = format!(
                "{}–{}",
                number::significant(self.full * k as f64 / 4.0, 3),
                number::significant(self.full * (k + 1) as f64 / 4.0, 3)
            );
            // One unit is enough for all of them, and on a phone there is room for one.
            let label = if k + 1 == DEPTHS.len() { number::with_unit(&ends, &self.unit) } else { ends };
            x += 20.0 + canvas.text(x + 19.0, size, &label, Anchor::Start, "muted", 120.0) + 14.0;
            if x > canvas.layout.width - 60.0 {
                break;
            }
        }
        let text = "Empty: no sample.";
        if x + canvas.width_of(text) < canvas.layout.width {
            canvas.text(x, size, text, Anchor::Start, "muted", f64::INFINITY);
            return step + 8.0;
        }
        canvas.paragraph(0.0, step, text, "muted", canvas.layout.width) + 6.0
    }

    fn desc(&self) -> String {
        let all = || self.shown().flat_map(HeatRow::drawn).map(|(_, value)| value);
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let mut text = format!(
            "{} over time, {}. A higher and deeper cell is a greater value. ",
            if self.quantity.is_empty() { "Values" } else { &self.quantity },
            count(self.shown().count(), "row"),
        );
        if number::usable(self.step) {
            text.push_str(&format!("A column stands for {} on the time axis. ", number::significant(self.step, 4)));
        }
        if low.is_finite() && high.is_finite() {
            let high = number::with_unit(&number::significant(high, 4), &self.unit);
            text.push_str(&format!("From {} to {high}. ", number::significant(low, 4)));
        }
        if self.rows.len() > ROWS {
            text.push_str(&format!("The first {ROWS} of {} rows are drawn. ", self.rows.len()));
        }
        text.trim_end().to_owned()
    }

    /// Every cell. The name of a column is where it begins.
    fn table(&self) -> Table {
        let known = self.shown().map(|row| row.values.len().min(COLUMNS)).max().unwrap_or(0);
        let columns = if number::usable(self.step) { known } else { 0 };
        let caption = format!("{}: mean of each column, by where the column begins", self.title);
        let heads = (0..columns).map(|k| number::significant(k as f64 * self.step, 4));
        let rows = self.shown().map(|row| Row {
            cells: std::iter::once(row.label.clone())
                .chain((0..columns).map(|k| {
                    let value = row.values.get(k).copied().flatten().filter(|v| number::usable(*v));
                    value.map_or_else(|| "no sample".to_owned(), |v| number::significant(v, 3))
                }))
                .collect(),
            href: row.href.as_deref().and_then(label::link).map(str::to_owned),
        });
        Table { caption, columns: std::iter::once("Run".to_owned()).chain(heads).collect(), rows: rows.collect() }
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct TimelineHeatmapChart;

impl super::Chart for TimelineHeatmapChart {
    fn name(&self) -> &'static str {
        "timeline_heatmap"
    }

    fn manual(&self) -> &'static str {
        "One quantity over time for many runs. A row is a run, and a column is a part of the time since its start. A higher and deeper cell is a greater value. Where nothing is drawn, no sample was taken. Rows that end early are runs that ended early."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<TimelineHeatmap>(json)?.draw(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_height_are_one_area_and_a_hole_stays_a_hole() {
        let row = HeatRow { values: vec![Some(0.0), Some(95.0), Some(99.0), None, Some(99.0)], ..HeatRow::default() };
        assert_eq!(row.stretches(100.0), [(0, 1, 0), (1, 3, 8), (4, 5, 8)]);
        assert_eq!((step_of(0.1, 100.0), step_of(250.0, 100.0), step_of(-1.0, 100.0)), (1, STEPS, 0));
    }

    #[test]
    fn a_full_sheet_of_cells_that_all_differ_stays_small() {
        let row = |r: usize| HeatRow {
            label: format!("a run with a name {r}"),
            href: Some(format!("../../r/{r}/index.html")),
            values: (0..COLUMNS).map(|k| Some(((k * 37 + r * 11) % 100) as f64)).collect(),
        };
        let chart =
            TimelineHeatmap { step: 1.0, full: 100.0, rows: (0..40).map(row).collect(), ..TimelineHeatmap::default() };
        let figure = chart.draw("x");
        assert!(figure.svg.len().max(figure.narrow.len()) < 60_000, "{} {}", figure.svg.len(), figure.narrow.len());
        assert!(figure.desc.contains("first 24 of 40"));
    }
}
