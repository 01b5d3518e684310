//! Forest plot: one row per comparison, estimate and intervals against zero and a margin of sameness.

mod draw;

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::element::Shape;
use super::figure::{Figure, ROWS, Table};
use super::ink::{Hue, Ink, Pen};
use super::number;
use super::verdict_mark::VerdictMark;
use sparkbench_text::plural::count;

/// Intervals are cut at this many times the largest estimate or margin of their panel, lest one hopeless row flatten the rest.
const CLIP: f64 = 2.0;

/// A forest plot of changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Forest {
    /// Title: the compared sides.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// What x is and which side is worse, for example `change against native, %`.
    pub axis: String,
    /// Unit behind each number, for example `%`. Empty for none.
    pub unit: String,
    /// Each with a scale of its own.
    pub panels: Vec<Panel>,
}

/// Rows that share one scale, for example all of one metric.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Panel {
    /// Heading above the rows, for example the metric.
    pub heading: String,
    /// In the order shown.
    pub rows: Vec<Comparison>,
}

/// One comparison.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Comparison {
    /// For example the model, or the environment.
    pub label: String,
    /// Sub-heading, printed when it differs from the row above.
    pub group: Option<String>,
    /// Point estimate in the unit of the axis. Absent: nothing is drawn but the words.
    pub estimate: Option<f64>,
    /// 95 % interval. Absent with an estimate: drawn hollow.
    pub interval: Option<(f64, f64)>,
    /// 90 % interval, the one of the equivalence test.
    pub inner: Option<(f64, f64)>,
    /// Margin of sameness, drawn as a band of plus and minus this around zero.
    pub margin: Option<f64>,
    /// Verdict in a word or two, for example `same within 1 %`.
    pub verdict: String,
    /// Decides colour and shape.
    pub kind: VerdictMark,
    /// Where the row leads.
    pub href: Option<String>,
}

impl Comparison {
    /// Decimals its numbers deserve.
    fn decimals(&self) -> usize {
        match number::usable_pair(self.interval.or(self.inner)) {
            Some((low, high)) if low < high => number::decimals_of_interval(low, high),
            _ => self.estimate.map_or(0, |e| number::decimals_for(e.abs(), 2).min(3)),
        }
    }

    /// Estimate that can be drawn. Words only where the arms cannot be compared.
    fn drawn(&self) -> Option<f64> {
        self.estimate.filter(|e| number::usable(*e) && self.kind != VerdictMark::NotComparable)
    }

    /// Estimate and 95 % interval in words.
    fn value(&self, unit: &str) -> String {
        let Some(estimate) = self.estimate.filter(|e| number::usable(*e)) else {
            return String::new();
        };
        let digits = self.decimals();
        let shown = number::with_unit(&number::signed(estimate, digits), unit);
        match number::usable_pair(self.interval) {
            Some((low, high)) => {
                format!("{shown} ({} to {})", number::signed(low, digits), number::signed(high, digits))
            }
            None => format!("{shown} (no interval)"),
        }
    }

    /// Shape and look of the mark.
    fn look(&self) -> (Shape, Ink) {
        let shape = match self.kind {
            // It points to the side on which the estimate lies: more to the right, whichever way is better.
            VerdictMark::Slower | VerdictMark::More | VerdictMark::Faster | VerdictMark::Less => {
                if self.estimate.is_some_and(|e| e < 0.0) { Shape::Left } else { Shape::Right }
            }
            VerdictMark::Equivalent => Shape::Diamond,
            VerdictMark::Inconclusive | VerdictMark::NotComparable => Shape::Circle,
        };
        let hollow = number::usable_pair(self.interval).is_none() || self.kind == VerdictMark::Inconclusive;
        (shape, Ink(Hue::Verdict(self.kind), if hollow { Pen::Hollow } else { Pen::Solid }))
    }
}

impl Panel {
    /// Whether an interval is longer than the axis.
    fn goes_on(&self) -> bool {
        let ends = || self.rows.iter().filter(|r| r.drawn().is_some()).filter_map(|r| number::usable_pair(r.interval));
        self.axis().is_some_and(|axis| ends().any(|(low, high)| low < axis.low() || high > axis.high()))
    }

    /// Scale of the panel: zero, all estimates and margins, and the intervals as far as they do not drown these.
    fn axis(&self) -> Option<Axis> {
        let estimates: Vec<f64> = self.rows.iter().filter_map(Comparison::drawn).collect();
        let margins = || self.rows.iter().filter_map(|r| r.margin).filter(|m| number::usable(*m));
        let core = estimates.iter().copied().chain(margins()).map(f64::abs).fold(0.0, f64::max);
        if estimates.is_empty() {
            return None;
        }
        let widest = if core > 0.0 { core * CLIP } else { f64::INFINITY };
        let ends = self.rows.iter().filter(|r| r.drawn().is_some()).filter_map(|r| number::usable_pair(r.interval));
        let ends = ends.flat_map(|(low, high)| [low.max(-widest), high.min(widest)]);
        let margins = margins().flat_map(|m| [m, -m]);
        Axis::around(estimates.iter().copied().chain(margins).chain(ends).chain([0.0]))
    }
}

impl Forest {
    /// Name of a row for its link and tooltip.
    fn note(&self, row: &Comparison) -> String {
        let parts = [row.group.as_deref().unwrap_or_default(), &row.label, &row.value(&self.unit), &row.verdict];
        parts.iter().filter(|p| !p.is_empty()).copied().collect::<Vec<_>>().join(", ")
    }

    /// Description for those who do not see the drawing.
    fn desc(&self) -> String {
        let rows: Vec<_> = self.panels.iter().flat_map(|p| &p.rows).collect();
        let mut text = format!("Forest plot of {}. ", count(rows.len(), "comparison"));
        if !self.axis.is_empty() {
            text.push_str(&format!("The horizontal axis is {}. ", self.axis));
        }
        for panel in &self.panels {
            let drawn: Vec<_> = panel.rows.iter().filter(|r| r.drawn().is_some()).collect();
            let order =
                |a: &&&Comparison, b: &&&Comparison| a.estimate.unwrap_or(0.0).total_cmp(&b.estimate.unwrap_or(0.0));
            if let (Some(low), Some(high)) = (drawn.iter().min_by(order), drawn.iter().max_by(order)) {
                let name = if panel.heading.is_empty() { String::new() } else { format!("{}: ", panel.heading) };
                text.push_str(&format!("{name}least {}. Greatest {}. ", self.note(low), self.note(high)));
            }
        }
        if rows.len() > ROWS {
            text.push_str(&format!("The first {ROWS} are drawn. "));
        }
        text.trim().to_owned()
    }

    /// Every number.
    fn table(&self) -> Table {
        let caption = if self.axis.is_empty() { self.title.clone() } else { format!("{}: {}", self.title, self.axis) };
        let mut table = Table::new(
            caption,
            ["Comparison", "Part", "Estimate", "95 % interval", "90 % interval", "Margin", "Verdict"],
        );
        for panel in &self.panels {
            for row in &panel.rows {
                let digits = row.decimals();
                let pair = |pair: Option<(f64, f64)>| number::ends(pair, |end| number::signed(end, digits));
                let part = [panel.heading.as_str(), row.group.as_deref().unwrap_or_default()];
                let part = part.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(", ");
                let estimate = row
                    .estimate
                    .map_or_else(|| "none".to_owned(), |e| number::with_unit(&number::signed(e, digits), &self.unit));
                let margin = row.margin.map_or_else(
                    || "none".to_owned(),
                    |m| format!("±{}", number::with_unit(&number::significant(m, 2), &self.unit)),
                );
                table.row(
                    [
                        row.label.clone(),
                        part,
                        estimate,
                        pair(row.interval),
                        pair(row.inner),
                        margin,
                        row.verdict.clone(),
                    ],
                    row.href.as_deref(),
                );
            }
        }
        table
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct ForestChart;

impl super::Chart for ForestChart {
    fn name(&self) -> &'static str {
        "forest"
    }

    fn manual(&self) -> &'static str {
        "One row per comparison. The mark is the estimated change. The thin line is its 95 % interval, the thick line the 90 % interval of the equivalence test. The shaded band is the margin within which both sides count as the same. A thick line wholly inside the band shows sameness. A thin line clear of zero shows a difference. The verdict beside them also counts drift and the adjustment for many comparisons."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Forest>(json)?.draw(id))
    }
}
