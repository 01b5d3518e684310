//! Runs in order of time: drifts, jumps, and whether the arms took turns.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Mark, MarkGroup, Shape};
use super::figure::{Figure, FigureText, Layouts, MARKS, Table};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// Most runs that are drawn one by one with link and title. Beyond it they are a crowd and the table holds the links.
const LINKED: usize = 60;

/// Values of one metric, one mark per run, in order of time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOrder {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value, for example `output throughput`.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    /// Name of x, for example `position in the campaign` or `hours since the first run`.
    pub x_axis: String,
    /// One unit of x in a word, for slopes: `run`, `hour`. `step` when empty.
    pub x_step: String,
    /// One mark in a word, for the description: `run` when empty.
    pub noun: String,
    /// True when the arms took turns: runs of one block are joined.
    pub interleaved: bool,
    /// In order of palette. The baseline first.
    pub arms: Vec<RunOrderArm>,
}

/// Runs of one environment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOrderArm {
    /// Environment.
    pub label: String,
    /// One per run. Those that are not finite are left out and counted in the description.
    pub runs: Vec<Run>,
    /// Trend of the arm, where one was tested.
    pub drift: Option<Drift>,
}

/// One run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Name of the run.
    pub label: String,
    /// Position or time, in the unit of the x axis.
    pub x: f64,
    pub y: f64,
    /// Runs of one block are joined when the design is interleaved.
    pub block: Option<u32>,
    /// Flagged as an outlier: ringed, never removed.
    pub flagged: bool,
    /// Page of the run.
    pub href: Option<String>,
}

/// Sen's slope through an arm.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Drift {
    /// Change of the value per unit of x.
    pub slope: f64,
    /// p of the trend test.
    pub p: Option<f64>,
}

impl Run {
    /// True when it has a place.
    fn drawn(&self) -> bool {
        number::usable(self.x) && number::usable(self.y)
    }
}

impl RunOrderArm {
    /// Runs that have a place.
    fn drawn(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.drawn())
    }

    /// Ends of the trend line: Sen's slope, with the median of what it leaves as the intercept.
    fn trend(&self) -> Option<[(f64, f64); 2]> {
        let drift = self.drift.filter(|d| number::usable(d.slope))?;
        let (first, last) = extent(self.drawn().map(|run| run.x))?;
        let intercept = middle(self.drawn().map(|run| run.y - drift.slope * run.x))?;
        let at = |place: f64| (place, intercept + drift.slope * place);
        let ends = [at(first), at(last)];
        (first < last && ends.iter().all(|(_, y)| number::usable(*y))).then_some(ends)
    }

    /// The trend in words.
    fn drift_text(&self, unit: &str, step: &str) -> Option<String> {
        let drift = self.drift.filter(|d| number::usable(d.slope))?;
        let slope = number::signed(drift.slope, number::decimals_for(drift.slope.abs(), 2).min(4));
        let p = drift.p.map_or_else(String::new, |p| format!(", {}", number::p_value(p)));
        let step = if step.is_empty() { "step" } else { step };
        Some(format!("drift {} per {step}{p}", number::with_unit(&slope, unit)))
    }
}

/// Median, only to hang the trend line on. No published number.
fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(upper, sorted[half - 1]) })
}

impl RunOrder {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        self.draw_as(id, Layouts::Both, self.table())
    }

    /// Draws the layouts that are asked for, beside a table of the caller, who has the values behind the marks.
    pub fn draw_as(&self, id: &str, layouts: Layouts, table: Table) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table }.compose_as(
            layouts,
            |canvas| {
                let runs = || self.arms.iter().flat_map(RunOrderArm::drawn);
                let trends: Vec<f64> =
                    self.arms.iter().filter_map(RunOrderArm::trend).flatten().map(|(_, y)| y).collect();
                let y = Axis::around(runs().map(|run| run.y).chain(trends))?;
                let x = Axis::around_whole(runs().map(|run| run.x))?;
                Some(self.sheet(canvas, x, y))
            },
        )
    }

    /// Everything. Gives the height.
    fn sheet(&self, canvas: &Canvas, x: Axis, y: Axis) -> f64 {
        let narrow = canvas.layout.narrow;
        let full = canvas.layout.width;
        let items: Vec<(usize, String)> = self.arms.iter().enumerate().map(|(i, arm)| (i, self.name(arm))).collect();
        let top = canvas.legend(0.0, 0.0, &items, false) + 8.0;
        let name = number::axis_name(&self.axis, &self.unit);
        canvas.text(0.0, top + canvas.layout.size, &name, Anchor::Start, "muted", full);
        let top = top + canvas.line_height() + 8.0;
        let height = if narrow { 200.0 } else { 250.0 };
        let ticks = if narrow { 4 } else { 5 };
        let left = canvas.y_room(y, ticks);
        let frame = Frame { left, top, width: full - left - 6.0, height, x, y };
        canvas.y_axis(&frame, ticks);
        let bottom = canvas.x_axis(&frame, &self.x_axis, false);
        let joined = self.interleaved && self.joins(canvas, &frame);
        let plane = canvas.plane(&frame);
        for (i, arm) in self.arms.iter().enumerate() {
            if let Some(ends) = arm.trend() {
                let line = plotters::element::PathElement::new(ends.to_vec(), Ink(Hue::Series(i), Pen::Curve));
                canvas.put(&plane, &line);
            }
        }
        let total: usize = self.arms.iter().map(|arm| arm.drawn().count()).sum();
        for (i, arm) in self.arms.iter().enumerate() {
            let (shape, ink) = (Shape::of_series(i), Ink(Hue::Series(i), Pen::Solid));
            if total > LINKED {
                let thin = total.div_ceil(MARKS);
                let at = arm.drawn().step_by(thin).map(|run| (run.x, run.y)).collect();
                canvas.put(&plane, &MarkGroup { at, shape, ink, radius: 2.5 });
            }
            for run in arm.drawn().filter(|run| total <= LINKED || run.flagged).take(LINKED) {
                let note = self.note(arm, run);
                let radius = if total > 60 { 3.5 } else { 4.5 };
                let reach = (frame.width / total.max(1) as f64 / 2.0).clamp(radius, 12.0);
                let href = run.href.as_deref();
                canvas.put(
                    &plane,
                    &Mark { at: (run.x, run.y), shape, ink, radius, ringed: run.flagged, note: &note, href, reach },
                );
            }
        }
        let key = [
            (joined, "Thin lines join the runs of one block."),
            (self.arms.iter().flat_map(RunOrderArm::drawn).any(|run| run.flagged), "Ringed: flagged as an outlier."),
            (self.arms.iter().any(|arm| arm.trend().is_some()), "Line through an arm: Sen's slope."),
        ];
        let key: Vec<&str> = key.iter().filter(|(drawn, _)| *drawn).map(|(_, word)| *word).collect();
        if key.is_empty() {
            return bottom;
        }
        canvas.paragraph(0.0, bottom + 4.0, &key.join(" "), "muted", full) + 4.0
    }

    /// Thin lines between the runs of one block. Whether there are any.
    fn joins(&self, canvas: &Canvas, frame: &Frame) -> bool {
        let mut runs: Vec<&Run> =
            self.arms.iter().flat_map(RunOrderArm::drawn).filter(|run| run.block.is_some()).collect();
        runs.sort_by(|a, b| a.block.cmp(&b.block).then(a.x.total_cmp(&b.x)));
        let mut any = false;
        for block in runs.chunk_by(|a, b| a.block == b.block).filter(|block| block.len() > 1).take(LINKED) {
            let points: Vec<_> = block.iter().map(|run| (frame.px(run.x), frame.py(run.y))).collect();
            canvas.line(&points, Hue::Axis, Pen::Hair);
            any = true;
        }
        any
    }

    /// Name of an arm with its trend.
    fn name(&self, arm: &RunOrderArm) -> String {
        arm.drift_text(&self.unit, &self.x_step)
            .map_or_else(|| arm.label.clone(), |drift| format!("{}, {drift}", arm.label))
    }

    /// Name of a mark.
    fn note(&self, arm: &RunOrderArm, run: &Run) -> String {
        let value = number::with_unit(&number::significant(run.y, 5), &self.unit);
        let flagged = if run.flagged { ", flagged" } else { "" };
        let label = if run.label.is_empty() { String::new() } else { format!(" {}", run.label) };
        format!("{}{label}: {value}{flagged}", arm.label)
    }

    /// Description for those who do not see the drawing.
    fn desc(&self) -> String {
        let total: usize = self.arms.iter().map(|arm| arm.runs.len()).sum();
        let drawn: usize = self.arms.iter().map(|arm| arm.drawn().count()).sum();
        let noun = if self.noun.is_empty() { "run" } else { &self.noun };
        let mut text = format!(
            "{} in order of {}. ",
            count(total, noun),
            if self.x_axis.is_empty() { "time" } else { self.x_axis.strip_prefix("order of ").unwrap_or(&self.x_axis) }
        );
        for arm in &self.arms {
            let Some((low, high)) = extent(arm.drawn().map(|run| run.y)) else {
                text.push_str(&format!("{}: no values. ", arm.label));
                continue;
            };
            let span = format!(
                "{} to {}",
                number::significant(low, 5),
                number::with_unit(&number::significant(high, 5), &self.unit)
            );
            text.push_str(&format!("{}: {}, {span}", arm.label, count(arm.drawn().count(), noun)));
            let flagged = arm.drawn().filter(|run| run.flagged).count();
            if flagged > 0 {
                text.push_str(&format!(", {flagged} flagged and ringed"));
            }
            if let Some(drift) = arm.drift_text(&self.unit, &self.x_step) {
                text.push_str(&format!(", {drift}"));
            }
            text.push_str(". ");
        }
        if self.interleaved {
            text.push_str("Thin lines join the runs of one block. ");
        }
        if drawn < total {
            text.push_str(&format!("{} without a finite value are left out. ", count(total - drawn, noun)));
        }
        text.push_str("The vertical axis does not start at zero.");
        text
    }

    /// Every number.
    fn table(&self) -> Table {
        let caption = format!("{}: {}", self.title, number::axis_name(&self.axis, &self.unit));
        let mut table = Table::new(caption, ["Run", "Environment", "Place", "Value", "Block", "Flagged"]);
        let mut rows: Vec<(&RunOrderArm, &Run)> =
            self.arms.iter().flat_map(|arm| arm.runs.iter().map(move |run| (arm, run))).collect();
        rows.sort_by(|a, b| a.1.x.total_cmp(&b.1.x));
        for (arm, run) in rows {
            let block = run.block.map_or_else(|| "none".to_owned(), |block| block.to_string());
            let flagged = if run.flagged { "yes" } else { "no" }.to_owned();
            let (x, y) = (number::significant(run.x, 4), number::significant(run.y, 6));
            table.row([run.label.clone(), arm.label.clone(), x, y, block, flagged], run.href.as_deref());
        }
        table
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct RunOrderChart;

impl super::Chart for RunOrderChart {
    fn name(&self) -> &'static str {
        "run_order"
    }

    fn manual(&self) -> &'static str {
        "One mark per run, from left to right in order of time. A slope in one arm is drift, and a step is a change of the machine. Arms that do not overlap in time were not interleaved. Rings are flagged outliers. The dashed or full line through an arm is Sen's slope."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<RunOrder>(json)?.draw(id))
    }
}
