//! Parts that the pages of a model and of a machine share: charts, the table of measurements, the runs, the list of all.
//!
//! In:  what `model` and `machine` found for one of them.  Out: [`Draft`]s, and the templates that both fill.
//! Not here: any number, and which charts a model or a machine has.

use std::collections::BTreeSet;

use askama::Template;

use super::across::{self, Cells, RunList};
use super::draft::{Draft, DrawnPage, template_fault};
use super::figure::FigureView;
use super::front::{self, TrapStrip};
use super::index::Site;
use super::number;
use super::shell::Shell;
use super::table::{Cell, Column, TableSection, figures};
use sparkbench_model::FactConflict;
use sparkbench_verdict::report::TrapReport;
use sparkbench_verdict::report::across::{Best, Place, Summary};

/// From the page of one model or machine to the folder of the site.
pub(super) const ROOT: &str = "../../";

/// The page of one model or machine.
#[derive(Template)]
#[template(path = "subject.html")]
pub(super) struct SubjectPage {
    /// Head and foot.
    pub shell: Shell,
    /// Folder of the list of all.
    pub folder: &'static str,
    /// Name of that list.
    pub all: &'static str,
    /// Heading.
    pub title: String,
    /// How much there is.
    pub lead: String,
    /// Why its figures may not be what they are called.
    pub beware: TrapStrip,
    /// Facts about it that do not ship, and what they contradict.
    pub facts: Vec<String>,
    /// Charts.
    pub parts: Vec<ChartSection>,
    /// Missing charts, and why.
    pub absent: Vec<String>,
    /// Everything measured.
    pub measured: TableSection,
    /// By campaign.
    pub runs: Vec<RunList>,
}

/// The list of all models or machines.
#[derive(Template)]
#[template(path = "subjects.html")]
pub(super) struct List {
    /// Head and foot.
    pub shell: Shell,
    /// Heading.
    pub title: &'static str,
    /// Notes that a reader needs first.
    pub lead: &'static str,
    /// A row each.
    pub sheet: TableSection,
}

/// A part of the page: charts of one kind.
pub(super) struct ChartSection {
    /// Anchor.
    pub id: &'static str,
    pub heading: &'static str,
    /// Notes that a reader needs first.
    pub lead: &'static str,
    /// The charts.
    pub figures: Vec<FigureView>,
    /// Charts that are not drawn.
    pub more: usize,
}

impl ChartSection {
    /// A part with as many charts as fit on a page. Absent without any.
    pub(super) fn new(
        id: &'static str,
        heading: &'static str,
        lead: &'static str,
        all: usize,
        figures: Vec<FigureView>,
    ) -> Option<Self> {
        let more = all.saturating_sub(figures.len());
        (!figures.is_empty()).then_some(Self { id, heading, lead, figures, more })
    }
}

/// The first `most` charts of one kind, with the anchors `grid-1`, `grid-2` where `kind` is `grid`.
pub(super) fn charts<T>(
    all: &[&T],
    most: usize,
    kind: &str,
    draw: impl Fn(&str, &T) -> Option<FigureView>,
) -> Vec<FigureView> {
    all.iter().take(most).zip(1..).filter_map(|(found, k)| draw(&format!("{kind}-{k}"), found)).collect()
}

/// Draws the list of all, which is one folder below the site.
type DrawList<'a> = fn(&Site<'a>) -> Result<DrawnPage, askama::Error>;

/// Draws the page of one at its path.
type DrawOne<'a> = fn(&Site<'a>, &'a Summary, &str) -> Result<DrawnPage, askama::Error>;

/// The list of all and a page each, below `folder`. Nothing where there is none.
pub(super) fn drafts<'a>(
    folder: &'static str,
    summaries: &'a [Summary],
    list: DrawList<'a>,
    one: DrawOne<'a>,
) -> Vec<Draft<'a>> {
    if summaries.is_empty() {
        return Vec::new();
    }
    let mut paths = across::paths(folder, summaries);
    let all = Draft::new(format!("{folder}/index.html"), move |site| list(site).map_err(template_fault));
    let each = summaries.iter().filter_map(|summary| {
        let path = paths.remove(&summary.name)?;
        Some(Draft::new(path.clone(), move |site| one(site, summary, &path).map_err(template_fault)))
    });
    std::iter::once(all).chain(each).collect()
}

/// The traps of severity error that fired on what was measured in these places.
pub(super) fn beware(site: &Site<'_>, places: &[&Place]) -> TrapStrip {
    let told: BTreeSet<(&str, &str)> =
        places.iter().map(|p| (p.cell.campaign.as_str(), p.cell.model.as_str())).collect();
    let mut errors: Vec<&TrapReport> = Vec::new();
    for (campaign, model) in told {
        // A finding about the whole campaign is shown with each of its models.
        for new in site.errors(campaign, model) {
            if !errors.iter().any(|old| std::ptr::eq(*old, new)) {
                errors.push(new);
            }
        }
    }
    front::strip(ROOT, &errors)
}

/// Facts about a machine, and about the models that were measured in these places, that do not ship with the program: a sentence for each.
pub(super) fn facts(site: &Site<'_>, machine: Option<&str>, places: &[&Place]) -> Vec<String> {
    let ids: BTreeSet<&str> = places.iter().filter_map(|place| place.model_id.as_deref()).collect();
    let is_model = |table: &str, key: &str| {
        let last = |id: &str| id.trim_end_matches('/').rsplit('/').next() == Some(key);
        table == "models" && ids.iter().any(|id| id.eq_ignore_ascii_case(key) || last(id))
    };
    let is_machine = |of: Option<&str>| machine.is_some() && of == machine;
    let facts = &site.analysis.facts;
    let local = facts.local.iter().filter(|t| is_machine(t.machine.as_deref()) || is_model(t.table, &t.key));
    let conflicts = facts.conflicts.iter().filter(|c| {
        is_machine(c.machine.as_deref()) || is_model(&c.table, &c.key) || (machine.is_some() && c.table == "limits")
    });
    let told = local.map(|table| format!("{}.{} is from {}", table.table, table.key, table.file));
    told.chain(conflicts.map(FactConflict::sentence)).collect()
}

/// The columns that close the list of all. `whatever` says over what the highest output is taken.
pub(super) fn closing_columns(whatever: &str) -> [Column; 3] {
    [figures("Cells", ""), figures("Runs", ""), figures("Highest output", whatever)]
}

/// The cells below [`closing_columns`].
pub(super) fn closing_cells(site: &Site<'_>, cells: &Cells<'_>, root: &str, summary: &Summary) -> [Cell; 3] {
    let failed = if summary.failed > 0 { format!("{} failed", summary.failed) } else { String::new() };
    [
        Cell::number(number::count(summary.cells as u64)),
        Cell::number(number::count(summary.runs as u64)).under(failed),
        best(site, cells, root, summary.best.as_ref()),
    ]
}

/// The best cell of a summary.
fn best(site: &Site<'_>, cells: &Cells<'_>, root: &str, best: Option<&Best>) -> Cell {
    let Some(best) = best else { return Cell::number(number::ABSENT).under("no output measured") };
    let doubt = site.doubt(&best.cell.campaign, &best.cell.model);
    let under = across::joined([
        best.batch.map(|batch| format!("batch\u{a0}{}", number::plain(batch))).as_deref(),
        Some(best.cell.model.as_str()),
        Some(&best.cell.environment),
        Some(doubt.as_str()),
    ]);
    let mut cell = Cell::estimate(Some(&best.output_tok_s)).to(cells.href(site, root, &best.cell));
    cell.sub = if cell.sub.is_empty() { under } else { format!("{}; {under}", cell.sub) };
    cell
}
