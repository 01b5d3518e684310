//! Charts on pages: which values of the analysis go into which chart.
//!
//! In:  comparisons, groups, runs, telemetry.  Out: [`FigureView`], a drawing with caption and table.
//! Not here: drawing (see `chart`), numbers that the analysis does not hold.

mod forest;
mod history;
mod looks;
mod requests;
mod runs;
mod telemetry;

pub(super) use self::forest::{forest, forest_to, has_per_cent, tally};
pub(super) use self::history::{history, replication};
pub(super) use self::looks::over_looks;
pub(super) use self::requests::{MOST_STEPS, sequence, whole_series};
pub(super) use self::runs::{order_sentence, run_order, spread, stretches};
pub(super) use self::telemetry::telemetry;

use super::labels;
use super::link::Link;
use crate::chart::{Figure, Table};
use sparkbench_verdict::report::Interval;

/// Marks of one drawing. Of more, the least and the greatest of each segment are drawn, so that no extreme is lost.
const MOST_DRAWN: usize = 400;

/// Rows of a table of requests or samples. More are merged in segments.
const MOST_ROWS: usize = 40;

/// A drawn chart as a template shows it.
#[derive(Debug, Clone)]
pub(super) struct FigureView {
    /// Unique on the page.
    pub id: String,
    /// The drawing. Markup of our own making, everything foreign in it escaped.
    pub inline: String,
    /// One small drawing for every width, to be beside others.
    pub compact: bool,
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, where there is one.
    pub finding: Option<String>,
    /// How to read it.
    pub desc: String,
    /// Parts left out of the drawing or its table, and their place.
    pub note: Option<String>,
    /// The plotted numbers. Absent where they are in another table of the page.
    pub table: Option<Table>,
    /// Where they are then.
    pub elsewhere: Option<Link>,
    /// Name of the box around the numbers, unique on the page.
    pub region: String,
    /// Verdicts with their counts, beside the caption of a forest plot.
    pub tally: Vec<(labels::Badge, usize)>,
}

impl FigureView {
    /// With both layouts.
    pub(super) fn new(id: &str, figure: Figure) -> Self {
        Self {
            id: id.to_owned(),
            inline: figure.inline(),
            compact: false,
            region: figure.title.clone(),
            tally: Vec::new(),
            note: None,
            title: figure.title,
            finding: figure.finding,
            desc: figure.desc,
            table: Some(figure.table),
            elsewhere: None,
        }
    }

    /// With one small drawing instead of two.
    pub(super) fn compact(id: &str, figure: Figure) -> Self {
        let inline = format!("<div class=\"chart-box one\">{}</div>", figure.narrow);
        Self { inline, compact: true, ..Self::new(id, figure) }
    }
}

const fn ends(interval: Interval) -> (f64, f64) {
    (interval.low, interval.high)
}
