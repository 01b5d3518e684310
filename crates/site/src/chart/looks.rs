//! The course of an estimate over the looks of a campaign, with the boundary it has to cross.

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Mark, Shape};
use super::figure::{Figure, FigureText, Table};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// Most looks that are drawn. The table has all.
const DRAWN: usize = 60;
/// A boundary this many times as far out as the widest of the later looks is cut. Early looks spend almost none of the error rate, and their
/// boundary would press everything else into a line.
const FAR: f64 = 4.0;

/// One comparison, look by look.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Looks {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value, for example `change of TTFT`.
    pub axis: String,
    pub unit: String,
    /// Level of the intervals in words, for example `95 %`.
    pub level: String,
    /// Margin of equivalence, in the unit of the value, both ways.
    pub margin: Option<f64>,
    /// Blocks of the whole plan.
    pub most: f64,
    /// In their order.
    pub looks: Vec<Look>,
}

/// One look.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Look {
    pub blocks: f64,
    pub estimate: f64,
    /// The repeated interval. Absent where it is unbounded.
    pub interval: Option<(f64, f64)>,
    /// Result of the look, for example `go on`.
    pub decision: String,
    /// Whether this is the look that decided.
    pub decides: bool,
}

impl Look {
    fn drawn(&self) -> bool {
        number::usable(self.blocks) && number::usable(self.estimate)
    }

    /// How far from zero the estimate would have to be for a difference: as far as the interval reaches beyond it on that side.
    fn boundary(&self) -> Option<(f64, f64)> {
        let (low, high) = number::usable_pair(self.interval)?;
        Some((self.estimate - high, self.estimate - low))
    }
}

impl Looks {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }
            .compose(|canvas| self.sheet(canvas))
    }

    fn drawn(&self) -> impl Iterator<Item = &Look> {
        self.looks.iter().filter(|look| look.drawn()).take(DRAWN)
    }

    /// How far out the drawing goes on both sides of zero.
    fn reach(&self) -> Option<f64> {
        let widths: Vec<f64> =
            self.drawn().filter_map(|look| look.boundary().map(|(low, high)| low.abs().max(high.abs()))).collect();
        let least = widths.iter().copied().fold(f64::INFINITY, f64::min);
        let widest = widths.iter().copied().fold(0.0, f64::max);
        let estimates = self.drawn().map(|look| look.estimate.abs()).fold(0.0, f64::max);
        let boundary = if least.is_finite() { widest.min(FAR * least) } else { 0.0 };
        let margin = self.margin.filter(|margin| number::usable(*margin)).unwrap_or(0.0);
        let reach = (1.15 * estimates).max(boundary).max(1.2 * margin);
        (reach > 0.0).then_some(reach)
    }

    fn sheet(&self, canvas: &Canvas) -> Option<f64> {
        let reach = self.reach()?;
        let full = canvas.layout.width;
        let name = number::axis_name(&self.axis, &self.unit);
        canvas.text(0.0, canvas.layout.size, &name, Anchor::Start, "muted", full);
        let top = canvas.line_height() + 8.0;
        let y = Axis::around([-reach, reach])?;
        let left = canvas.y_room(y, 5) + 4.0;
        let height = if canvas.layout.narrow { 200.0 } else { 250.0 };
        let last = self.drawn().map(|look| look.blocks).fold(self.most, f64::max);
        let frame = Frame { left, top, width: full - left - 6.0, height, x: Axis::exact(0.0, last), y };
        let within = |value: f64| frame.py(value.clamp(y.low(), y.high()));
        if let Some(margin) = self.margin.filter(|margin| number::usable(*margin)) {
            let (above, below) = (within(margin), within(-margin));
            canvas.area(frame.left, above, frame.width, below - above, Hue::Band, Pen::Tint);
        }
        canvas.y_axis(&frame, 5);
        canvas.line(&[(frame.left, within(0.0)), (frame.right(), within(0.0))], Hue::Ink, Pen::Line);
        for side in [0, 1] {
            let points: Vec<(f64, f64)> = self
                .drawn()
                .filter_map(|look| {
                    let (low, high) = look.boundary()?;
                    Some((frame.px(look.blocks), within(if side == 0 { low } else { high })))
                })
                .collect();
            canvas.line(&points, Hue::Series(0), Pen::Curve);
        }
        for look in self.drawn() {
            let x = frame.px(look.blocks);
            let (low, high) = number::usable_pair(look.interval).unwrap_or((y.low(), y.high()));
            canvas.line(&[(x, within(low)), (x, within(high))], Hue::Series(1), Pen::Line);
            let shape = if look.decides { Shape::Diamond } else { Shape::Circle };
            let note = self.said(look);
            let (ink, radius) = (Ink(Hue::Series(1), Pen::Solid), if look.decides { 6.0 } else { 4.2 });
            let at = (x, within(look.estimate));
            canvas.mark(&Mark { at, shape, ink, radius, ringed: false, note: &note, href: None, reach: 10.0 });
        }
        let bottom = canvas.x_axis(&frame, "blocks", false);
        let words = format!(
            "Mark: the estimate after so many blocks; the diamond is the look that decided. Bar: its repeated {} interval. Lines: the boundary that the \
             estimate must cross to show a difference.{}",
            self.level,
            if self.margin.is_some() { " Shaded: the margin." } else { "" }
        );
        Some(canvas.paragraph(0.0, bottom + 4.0, &words, "muted", full) + 4.0)
    }

    fn said(&self, look: &Look) -> String {
        let shown =
            number::with_unit(&number::signed(look.estimate, number::decimals_for(look.estimate.abs(), 3)), &self.unit);
        format!("{} blocks: {shown}, {}", number::significant(look.blocks, 6), look.decision)
    }

    /// Description for those who do not see the drawing.
    fn desc(&self) -> String {
        let mut text =
            format!("{}, of a plan of {} blocks. ", count(self.looks.len(), "look"), number::significant(self.most, 6));
        for look in self.drawn() {
            text.push_str(&self.said(look));
            text.push_str(". ");
        }
        text.push_str("The boundary comes closer to zero with every look.");
        text
    }

    /// Every number.
    fn table(&self) -> Table {
        let caption = format!("{}: {}", self.title, number::axis_name(&self.axis, &self.unit));
        let mut table = Table::new(caption, ["Blocks", "Estimate", "Repeated interval", "Boundary", "Decision"]);
        for look in &self.looks {
            let ends = |pair: Option<(f64, f64)>| {
                number::usable_pair(pair).map_or_else(
                    || "none".to_owned(),
                    |(low, high)| {
                        let digits = number::decimals_of_interval(low, high);
                        format!("{} to {}", number::signed(low, digits), number::signed(high, digits))
                    },
                )
            };
            let estimate = number::signed(look.estimate, number::decimals_for(look.estimate.abs(), 3));
            table.row(
                [
                    number::significant(look.blocks, 6),
                    estimate,
                    ends(look.interval),
                    ends(look.boundary()),
                    look.decision.clone(),
                ],
                None,
            );
        }
        table
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub(crate) struct LooksChart;

impl super::Chart for LooksChart {
    fn name(&self) -> &'static str {
        "looks"
    }

    fn manual(&self) -> &'static str {
        "A campaign that stops when it is decided, one look at the figures after another. Each mark is the estimate after so many blocks, and the bar is its repeated interval. The lines are the boundary that the estimate must cross to show a difference. The diamond is the look that decided."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Looks>(json)?.draw(id))
    }
}
