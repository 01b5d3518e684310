//! Differences of two ways to measure the same thing against their mean, with the mean difference and the limits of agreement.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, MarkGroup, Shape};
use super::figure::{Figure, FigureText, Layouts, Table, palette, place};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// Least half-width of the vertical axis against the margin, so that two that agree do not look far apart.
const MARGINS_SHOWN: f64 = 1.2;

/// A Bland-Altman plot of relative differences.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BlandAltman {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// The measured quantity, for example `time to first token`.
    pub axis: String,
    pub unit: String,
    /// Reference of the difference, for example `vllm-bench-serve`.
    pub against: String,
    /// Difference that does not matter, per cent: a band around zero.
    pub margin: Option<f64>,
    /// Mean difference and its interval, per cent.
    pub bias: Option<Level>,
    /// Lower limit of agreement, per cent.
    pub lower: Option<Level>,
    /// Upper limit of agreement, per cent.
    pub upper: Option<Level>,
    /// Pairs. Those that are not finite are left out and counted in the description.
    pub points: Vec<BlandAltmanPoint>,
}

/// A level with its interval.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Level {
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One pair.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BlandAltmanPoint {
    /// Its load: decides shape and colour.
    pub group: String,
    /// Name of the pair, for the table.
    pub label: String,
    /// Mean of the two figures.
    pub mean: f64,
    /// Difference, per cent.
    pub difference: f64,
    /// Page of the run.
    pub href: Option<String>,
}

impl BlandAltmanPoint {
    /// True when it has a place.
    fn drawn(&self) -> bool {
        number::usable(self.mean) && self.mean > 0.0 && number::usable(self.difference)
    }
}

impl BlandAltman {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        self.draw_as(id, Layouts::Both)
    }

    /// Draws the layouts that are asked for.
    pub fn draw_as(&self, id: &str, layouts: Layouts) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }
            .compose_as(layouts, |canvas| {
                let x = Axis::log_around(self.drawn().map(|point| point.mean))?;
                let edge = self.margin.filter(|margin| number::usable(*margin)).map(|margin| margin * MARGINS_SHOWN);
                let levels = self.levels().flat_map(|(_, level)| [level.low, level.high]);
                let y = Axis::around(
                    self.drawn()
                        .map(|point| point.difference)
                        .chain(levels)
                        .chain(edge.into_iter().flat_map(|m| [-m, m])),
                )?;
                Some(self.sheet(canvas, x, y))
            })
    }

    fn drawn(&self) -> impl Iterator<Item = &BlandAltmanPoint> {
        self.points.iter().filter(|point| point.drawn())
    }

    /// The lines with their names.
    fn levels(&self) -> impl Iterator<Item = (&'static str, Level)> {
        let all = [("upper limit", self.upper), ("mean", self.bias), ("lower limit", self.lower)];
        all.into_iter()
            .filter_map(|(name, level)| Some((name, level?)))
            .filter(|(_, level)| [level.value, level.low, level.high].into_iter().all(number::usable))
    }

    fn groups(&self) -> Vec<&str> {
        palette(self.points.iter().map(|point| point.group.as_str()))
    }

    fn sheet(&self, canvas: &Canvas, x: Axis, y: Axis) -> f64 {
        let full = canvas.layout.width;
        let groups = self.groups();
        let items: Vec<(usize, String)> =
            groups.iter().enumerate().map(|(k, group)| (k, (*group).to_owned())).collect();
        let top = if groups.len() > 1 { canvas.legend(0.0, 0.0, &items, false) + 8.0 } else { 0.0 };
        let name = format!("difference from {}, %", self.against);
        canvas.text(0.0, top + canvas.layout.size, &name, Anchor::Start, "muted", full);
        let top = top + canvas.line_height() + 8.0;
        let height = if canvas.layout.narrow { 200.0 } else { 250.0 };
        let ticks = if canvas.layout.narrow { 4 } else { 5 };
        let left = canvas.y_room(y, ticks);
        let frame = Frame { left, top, width: full - left - 6.0, height, x, y };
        if let Some(margin) = self.margin.filter(|margin| number::usable(*margin)) {
            let (from, to) = (frame.py(margin), frame.py(-margin));
            canvas.area(frame.left, from, frame.width, to - from, Hue::Band, Pen::Tint);
        }
        canvas.y_axis(&frame, ticks);
        let bottom =
            canvas.x_axis(&frame, &number::axis_name(&format!("mean of the two, {}", self.axis), &self.unit), false);
        let across = |value: f64, hue: Hue, pen: Pen| {
            canvas.line(&[(frame.left, frame.py(value)), (frame.right(), frame.py(value))], hue, pen);
        };
        across(0.0, Hue::Axis, Pen::Line);
        for (k, (_, level)) in self.levels().enumerate() {
            // The intervals of the three lines are at the right edge, apart from each other and from the marks.
            let at = frame.right() - 4.0 - 6.0 * k as f64;
            canvas.line(&[(at, frame.py(level.low)), (at, frame.py(level.high))], Hue::Ink, Pen::Thick);
            across(
                level.value,
                Hue::Ink,
                if self.bias.is_some_and(|bias| bias.value == level.value) { Pen::Line } else { Pen::Hair },
            );
        }
        let plane = canvas.plane(&frame);
        for (k, group) in groups.iter().enumerate() {
            let of_group = self.drawn().filter(|point| place(&groups, &point.group) == k && point.group == *group);
            let at = of_group.map(|point| (point.mean, point.difference)).collect();
            let ink = Ink(Hue::Series(k), Pen::Solid);
            canvas.put(&plane, &MarkGroup { at, shape: Shape::of_series(k), ink, radius: 3.5 });
        }
        let key = "Lines: mean difference, and the limits between which 95 of 100 differences lie; bars at the right: their 95 % intervals. Shaded: the margin.";
        canvas.paragraph(0.0, bottom + 4.0, key, "muted", full) + 4.0
    }

    /// Description for those who do not see the drawing.
    fn desc(&self) -> String {
        let drawn = self.drawn().count();
        let mut text = format!(
            "{} of runs: how far each differs from {}, against the mean of the two.",
            count(drawn, "pair"),
            self.against
        );
        if let Some((low, high)) = extent(self.drawn().map(|point| point.difference)) {
            text.push_str(&format!(" Differences from {} to {} %.", signed(low), signed(high)));
        }
        for (name, level) in self.levels() {
            let (value, low, high) = (signed(level.value), signed(level.low), signed(level.high));
            text.push_str(&format!(" {}: {value} % ({low} to {high} %).", capital(name)));
        }
        let lost = self.points.len() - drawn;
        if lost > 0 {
            text.push_str(&format!(" {} without a finite value are left out.", count(lost, "pair")));
        }
        text
    }

    /// Every number.
    fn table(&self) -> Table {
        let mean = number::axis_name("Mean of the two", &self.unit);
        let mut table = Table::new(self.title.clone(), ["Run", "Load", &mean, "Difference, %"]);
        for point in &self.points {
            let (mean, difference) = (number::significant(point.mean, 5), signed(point.difference));
            table.row([point.label.clone(), point.group.clone(), mean, difference], point.href.as_deref());
        }
        table
    }
}

fn signed(value: f64) -> String {
    number::signed(value, number::decimals_for(value.abs(), 3).min(3))
}

fn capital(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Its line in the registry.
#[derive(Debug)]
pub(crate) struct BlandAltmanChart;

impl super::Chart for BlandAltmanChart {
    fn name(&self) -> &'static str {
        "bland_altman"
    }

    fn manual(&self) -> &'static str {
        "One mark per pair of runs. It shows how far a client differs from another, or from the truth, against the mean of the two. The middle line is the mean difference. The outer lines are the limits between which 95 of 100 differences lie. Marks that climb or fall from left to right mean that the difference depends on what is measured."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<BlandAltman>(json)?.draw(id))
    }
}
