//! Whether a conclusion holds under other choices: a small grid of verdict words.
//!
//! In:  a comparison.  Out: [`GridView`] for the template `tables.html`.
//! Not here: the verdicts, which the comparison holds.

use super::labels::{self, Badge};
use super::number::plain;
use sparkbench_verdict::report::{Comparison, StabilityMethod, StabilityPanel, VerdictKind};

/// The grid of one comparison.
pub(super) struct GridView {
    /// Unique on the page.
    pub id: String,
    /// The compared sides.
    pub heading: String,
    /// Where the comparison is reported in full.
    pub href: String,
    /// The verdict as judged.
    pub badge: Badge,
    /// `The same verdict in 8 of 9.`
    pub sentence: String,
    /// Margins above the columns.
    pub margins: Vec<String>,
    /// One a method and choice of runs.
    pub rows: Vec<GridRow>,
}

/// The verdicts of one method over some runs.
pub(super) struct GridRow {
    /// `t`, `bootstrap`, `permutation`.
    pub method: &'static str,
    /// Which runs.
    pub runs: &'static str,
    /// A word for each margin, and whether it is the one as judged.
    pub words: Vec<(Badge, bool)>,
}

impl GridView {
    /// From a comparison. `href` leads to its account.
    pub(super) fn new(id: String, heading: String, href: String, c: &Comparison) -> Self {
        let panel = c.stability_panel.as_ref();
        Self {
            id,
            heading,
            href,
            badge: labels::judged(c),
            sentence: sentence(c),
            margins: panel.map(margins).unwrap_or_default(),
            rows: panel.map(|panel| rows(panel, c.verdict.kind)).unwrap_or_default(),
        }
    }
}

/// How many combinations agree, or why there are none.
pub(super) fn sentence(c: &Comparison) -> String {
    match (&c.stability_panel, c.verdict.kind) {
        (Some(panel), _) if panel.same == panel.of => format!("Stable: the same verdict in all {}.", panel.of),
        (Some(panel), _) => format!("The same verdict in {} of {}.", panel.same, panel.of),
        (None, VerdictKind::NotComparable) => {
            let because = if c.verdict.because.is_empty() {
                String::new()
            } else {
                format!(". Reasons: {}", c.verdict.because.join(", "))
            };
            format!("No choice of test, runs or margin makes these arms comparable{because}.")
        }
        (None, _) => "A metric without a true zero has no per cent, so there is no margin to vary.".into(),
    }
}

/// In one cell of a table: `8 of 9`.
pub(super) fn short(c: &Comparison) -> Option<String> {
    c.stability_panel.as_ref().map(|panel| format!("{} of {}", panel.same, panel.of))
}

fn margins(panel: &StabilityPanel) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for cell in &panel.cells {
        let name = format!("±{} %", plain(cell.margin_pct));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn rows(panel: &StabilityPanel, judged: VerdictKind) -> Vec<GridRow> {
    let mut rows: Vec<GridRow> = Vec::new();
    for cell in &panel.cells {
        let method = match cell.method {
            StabilityMethod::T => "t",
            StabilityMethod::Bootstrap => "bootstrap",
            StabilityMethod::Permutation => "permutation",
        };
        let runs = if cell.without_flagged { "without flagged runs" } else { "all runs" };
        let word = (labels::verdict(cell.kind), cell.kind == judged);
        match rows.last_mut().filter(|row| (row.method, row.runs) == (method, runs)) {
            Some(row) => row.words.push(word),
            None => rows.push(GridRow { method, runs, words: vec![word] }),
        }
    }
    rows
}
