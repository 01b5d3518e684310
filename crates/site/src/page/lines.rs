//! Lines that the figures of a run were read from, each with its neighbours.
//!
//! In:  [`Places`](super::places::Places).  Out: an [`Excerpt`] of each file, for the page of the run.
//! Not here: reading a file, choosing the kept lines (see `ingest::raw`).

use super::index::Site;
use super::labels;
use super::link::Link;
use super::number;
use super::places::{Cite, RunFile, of_row};
use sparkbench_model::{Metric, Shape};
use sparkbench_verdict::mark::Marker;
use sparkbench_verdict::report::RunReport;

/// The part of a file that figures were read from.
pub(super) struct Excerpt {
    pub file: String,
    /// How much of it is shown.
    pub count: String,
    pub notes: Vec<String>,
    pub rows: Vec<LineView>,
}

/// Figures that one rule read, beside their line.
pub(super) struct CiteView {
    pub rule: &'static str,
    pub figures: Vec<Link>,
}

/// A line, or what is left out between two.
pub(super) enum LineView {
    /// A line that figures were read from.
    Read {
        anchor: String,
        number: String,
        text: String,
        cut: Option<String>,
        cites: Vec<CiteView>,
    },
    /// One of its neighbours.
    Near {
        number: String,
        text: String,
        cut: Option<String>,
    },
    Gap,
}

/// One for each file of a run that figures name a line of.
pub(super) fn excerpts(site: &Site<'_>, run: &RunReport) -> Vec<Excerpt> {
    let files = site.places.of(&run.id).iter().enumerate();
    files.filter(|(_, file)| !file.cites.is_empty()).map(|(at, file)| excerpt(at, file, run)).collect()
}

/// Everything that [`excerpts`] shows and the run does not say itself.
pub(super) fn shows(site: &Site<'_>, run: &RunReport, marker: &mut Marker) {
    for file in site.places.of(&run.id) {
        marker.text(file.path);
        let Some(text) = file.text else { continue };
        marker.count(text.total).json(&(text.packed, text.shape == Shape::Values, &text.stopped));
        for row in file.rows() {
            marker.count(row.number).text(&row.text).count(row.cut);
        }
    }
}

fn excerpt(at: usize, file: &RunFile<'_>, run: &RunReport) -> Excerpt {
    let mut rows = Vec::new();
    let mut last = 0;
    let mut shown = 0_u64;
    for row in file.rows() {
        if row.number > last + 1 {
            rows.push(LineView::Gap);
        }
        last = row.number;
        shown += 1;
        let (number, text) = (row.number.to_string(), row.text.clone());
        let cut = (row.cut > 0).then(|| cut_words(row.cut));
        rows.push(match file.cites.get(&row.number) {
            Some(cites) => {
                LineView::Read { anchor: of_row(at, row.number), number, text, cut, cites: views(run, cites) }
            }
            None => LineView::Near { number, text, cut },
        });
    }
    let total = file.text.map_or(0, |text| text.total);
    if last < total {
        rows.push(LineView::Gap);
    }
    let of_values = file.text.is_some_and(|text| text.shape == Shape::Values);
    let (one, several) = if of_values { ("row", "rows") } else { ("line", "lines") };
    let count = match (shown == total, total) {
        (true, 1) => format!("its only {one}"),
        (true, _) => format!("all {} {several}", number::count(total)),
        (false, _) => format!("{} of {} {several}", number::count(shown), number::count(total)),
    };
    Excerpt { file: file.path.to_owned(), count, notes: notes(file), rows }
}

fn notes(file: &RunFile<'_>) -> Vec<String> {
    let Some(text) = file.text else { return Vec::new() };
    let mut notes = Vec::new();
    if text.packed {
        notes.push("The file is packed by gzip. These are the lines inside.".to_owned());
    }
    if text.shape == Shape::Values {
        notes.push("The file holds its document on one line. Here each value has a row of its own.".to_owned());
    }
    notes.extend(text.stopped.as_ref().map(|why| format!("Reading stopped before the end: {why}.")));
    notes
}

/// A figure that no line end takes apart: its value stays with the last word of its name and with its unit.
fn figure_text(name: &str, value: &str, unit: &str) -> String {
    format!("{name}\u{a0}{value}{}{unit}", if unit.is_empty() { "" } else { "\u{a0}" })
}

/// Figures by rule, in the order of the catalogue.
fn views(run: &RunReport, cites: &[Cite<'_>]) -> Vec<CiteView> {
    let mut cites: Vec<&Cite<'_>> = cites.iter().collect();
    let rank = |metric: &str| Metric::find(metric).map_or(usize::MAX, |m| m.rank());
    cites.sort_by_key(|cite| (cite.rule, rank(cite.metric), cite.metric));
    let mut out: Vec<CiteView> = Vec::new();
    for cite in cites {
        let metric = labels::metric(cite.metric);
        let figure = Link {
            href: run.metrics.contains_key(cite.metric).then(|| format!("#{}", cite.metric)),
            text: match run.metrics.get(cite.metric).copied().flatten() {
                Some(value) => figure_text(&metric, &number::plain(value), labels::unit(cite.metric)),
                None => format!("{metric} missing"),
            },
        };
        match out.last_mut().filter(|view| view.rule == cite.rule) {
            Some(view) => view.figures.push(figure),
            None => out.push(CiteView { rule: cite.rule, figures: vec![figure] }),
        }
    }
    out
}

fn cut_words(bytes: u64) -> String {
    // One byte represents a line whose end was not counted.
    match bytes {
        1 => "the rest of the line is left out".to_owned(),
        bytes => format!("{} more are left out", number::size(usize::try_from(bytes).unwrap_or(usize::MAX))),
    }
}
