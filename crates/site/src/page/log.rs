//! The pages of raw files: numbered lines, each an address, those that figures were read from marked with the figure.
//!
//! In:  [`Places`](super::places::Places).  Out: one page for each file, several for one of which many lines are kept.
//! Not here: reading a file, choosing the kept lines (see `ingest::raw`).

use askama::Template;

use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::front::Fact;
use super::index::Site;
use super::labels;
use super::link::{Link, run_href};
use super::number;
use super::places::{Cite, Shown};
use super::shell::Shell;
use sparkbench_model::{Metric, RawRow, RawText, Shape};
use sparkbench_verdict::mark::Marker;

const ROOT: &str = "../../../";

/// Figures listed at the head of the page. More are at their lines.
const LISTED: usize = 24;

#[derive(Template)]
#[template(path = "log.html")]
struct Page {
    shell: Shell,
    campaign: Link,
    run: Link,
    name: String,
    part: Option<String>,
    facts: Vec<Fact>,
    notes: Vec<String>,
    listed: Vec<Listed>,
    unlisted: usize,
    whole: Vec<CiteView>,
    whole_more: usize,
    rows: Vec<RowView>,
    turn: Vec<Link>,
    values: bool,
}

/// A figure of the head of the page.
struct Listed {
    href: String,
    place: String,
    cite: CiteView,
}

/// Figures of one run that one rule read, beside their line.
struct CiteView {
    /// Absent where it is the run that the page belongs to.
    run: Option<String>,
    rule: &'static str,
    figures: Vec<Link>,
}

/// A line, or what is left out between two.
enum RowView {
    Row { anchor: String, number: String, text: String, cut: Option<String>, cites: Vec<CiteView> },
    Gap(String),
}

/// One page for each raw file.
pub(super) struct LogPage;

impl PageKind for LogPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        let mut drafts = Vec::new();
        for (file, shown) in site.places.files().iter().enumerate() {
            for (part, (path, _)) in shown.parts.iter().enumerate() {
                let draw = move |site: &Site<'a>| Ok(DrawnPage::new(page(site, file, part).map_err(template_fault)?));
                drafts.push(Draft::new(path.clone(), draw).keyed(move |site, marker| shows(site, file, part, marker)));
            }
        }
        drafts
    }
}

/// Everything that a page of a raw file is drawn from.
fn shows(site: &Site<'_>, file: usize, part: usize, marker: &mut Marker) {
    Shell::shows(site, marker);
    let Some(shown) = site.places.files().get(file) else { return };
    marker.bytes(shown.mark()).count(part as u64);
    for (number, cites) in shown.cites.iter().map(|(number, cites)| (*number, cites)).chain([(0, &shown.whole)]) {
        let figures = cites.iter().map(|c| (&c.run.id, c.metric, c.rule, c.run.metrics.get(c.metric)));
        marker.count(number).json(&figures.collect::<Vec<_>>());
    }
    let campaign = site.run(&shown.text.run).map_or("", |run| run.campaign.as_str());
    let title = site.analysis.campaigns.iter().find(|c| c.name == campaign).map(|c| &c.title);
    let input = site.input(&shown.text.file);
    marker.text(campaign).json(&title).json(&input.map(|input| (&input.format, &input.sha256)));
    // Its title holds the whole path where another file of the run has its name.
    let others = site.places.of_run(&shown.text.run);
    marker.json(&others.map(|other| &other.text.file).collect::<Vec<_>>());
}

fn page(site: &Site<'_>, file: usize, part: usize) -> Result<String, askama::Error> {
    let Some(shown) = site.places.files().get(file) else { return Ok(String::new()) };
    let text = shown.text;
    let (path, first) = shown.parts.get(part).map_or(("", 0), |(path, first)| (path.as_str(), *first));
    let last = shown.parts.get(part + 1).map_or(text.rows.len(), |(_, next)| *next);
    let rows = text.rows.get(first..last).unwrap_or_default();
    let own = site.run(&text.run);
    let campaign = own.map_or("", |run| run.campaign.as_str());
    let title = site.analysis.campaigns.iter().find(|c| c.name == campaign).map_or(campaign, |c| c.title.as_str());
    let name = text.file.rsplit('/').next().unwrap_or(&text.file).to_owned();
    let several = shown.parts.len() > 1;
    let part_words = several.then(|| format!("Part {} of {}", part + 1, shown.parts.len()));
    let head = match &part_words {
        Some(words) => format!("{name}, {} – run {} – sparkbench", words.to_lowercase(), text.run),
        None => format!("{name} – run {} – sparkbench", text.run),
    };
    // Two files of one run may share their name in different folders: the path distinguishes titles.
    let mut others = site.places.of_run(&text.run).filter(|other| other.text.file != text.file);
    let shared = others.any(|other| other.text.file.ends_with(&format!("/{name}")));
    let head = if shared { format!("{} – {head}", text.file) } else { head };
    let here = |number: u64| rows.binary_search_by_key(&number, |row| row.number).is_ok();
    let address = |number: u64| match shown.part_of(number) {
        at if at == part => format!("#{}", shown.anchor(number)),
        _ => format!("{ROOT}{}", shown.address(number)),
    };
    let listed: Vec<Listed> = shown
        .cites
        .iter()
        .flat_map(|(number, cites)| views(text, cites).into_iter().map(|cite| (*number, cite)))
        .take(LISTED)
        .map(|(number, cite)| Listed { href: address(number), place: place(shown, number), cite })
        .collect();
    let all: usize = shown.cites.values().map(Vec::len).sum();
    let told: usize = listed.iter().map(|entry| entry.cite.figures.len()).sum();
    let cited: &[Cite<'_>] = if part == 0 { &shown.whole } else { &[] };
    let whole: Vec<CiteView> = views(text, cited).into_iter().take(LISTED).collect();
    let turn = |at: usize, words: &str| {
        let (path, _) = shown.parts.get(at)?;
        Some(Link { href: Some(format!("{ROOT}{path}")), text: format!("{words}: part {}", at + 1) })
    };
    Page {
        shell: Shell::new(path, head, "run", site)
            .described(format!("Raw file {name} of run {}, line by line, with the figures read from it.", text.run)),
        campaign: Link { href: Some(format!("{ROOT}c/{campaign}/index.html")), text: title.to_owned() },
        run: Link { href: Some(run_href(ROOT, &text.run)), text: text.run.clone() },
        name,
        part: part_words,
        facts: facts(site, shown),
        notes: notes(shown),
        unlisted: all - told,
        listed,
        whole_more: cited.len() - whole.iter().map(|cite| cite.figures.len()).sum::<usize>(),
        whole,
        rows: row_views(shown, rows, part, here),
        turn: part
            .checked_sub(1)
            .and_then(|at| turn(at, "Before"))
            .into_iter()
            .chain(turn(part + 1, "After"))
            .collect(),
        values: text.shape == Shape::Values,
    }
    .render()
}

/// A figure that no line end takes apart: its value stays with the last word of its name and with its unit.
fn figure_text(name: &str, value: &str, unit: &str) -> String {
    format!("{name}\u{a0}{value}{}{unit}", if unit.is_empty() { "" } else { "\u{a0}" })
}

/// Figures by run and rule, in the order of the catalogue.
fn views(text: &RawText, cites: &[Cite<'_>]) -> Vec<CiteView> {
    let mut cites: Vec<&Cite<'_>> = cites.iter().collect();
    let rank = |metric: &str| Metric::find(metric).map_or(usize::MAX, |m| m.rank());
    cites.sort_by_key(|cite| (cite.run.id != text.run, &cite.run.id, cite.rule, rank(cite.metric), cite.metric));
    let mut out: Vec<(&str, CiteView)> = Vec::new();
    for cite in cites {
        let figure = Link {
            href: cite
                .run
                .metrics
                .contains_key(cite.metric)
                .then(|| format!("{}#{}", run_href(ROOT, &cite.run.id), cite.metric)),
            text: match cite.run.metrics.get(cite.metric).copied().flatten() {
                Some(value) => {
                    let unit = labels::unit(cite.metric);
                    figure_text(&labels::metric(cite.metric), &number::plain(value), unit)
                }
                None => format!("{} missing", labels::metric(cite.metric)),
            },
        };
        match out.last_mut().filter(|(id, view)| *id == cite.run.id && view.rule == cite.rule) {
            Some((_, view)) => view.figures.push(figure),
            None => {
                let run = (cite.run.id != text.run).then(|| cite.run.id.clone());
                out.push((&cite.run.id, CiteView { run, rule: cite.rule, figures: vec![figure] }));
            }
        }
    }
    out.into_iter().map(|(_, view)| view).collect()
}

/// `line 12`, or the pointer of a value.
fn place(shown: &Shown<'_>, number: u64) -> String {
    match shown.text.row(number).and_then(|row| row.pointer.clone()) {
        Some(pointer) if pointer.is_empty() => "the whole document".to_owned(),
        Some(pointer) => pointer,
        None => format!("line {}", number::count(number)),
    }
}

fn facts(site: &Site<'_>, shown: &Shown<'_>) -> Vec<Fact> {
    let text = shown.text;
    let input = site.input(&text.file);
    let mut facts = vec![Fact::new("File", text.file.clone())];
    let size = number::size(usize::try_from(text.bytes).unwrap_or(usize::MAX));
    facts.push(Fact::new("Size", if text.packed { format!("{size}, packed by gzip") } else { size }));
    let rows = if text.shape == Shape::Values { "Rows, written out" } else { "Lines" };
    facts.push(Fact::new(rows, number::count(text.total)));
    facts.extend(input.and_then(|input| input.format.clone()).map(|format| Fact::new("Read as", format)));
    facts.extend(input.and_then(|input| input.sha256.clone()).map(|hash| Fact::code("SHA-256", hash)));
    facts
}

fn notes(shown: &Shown<'_>) -> Vec<String> {
    let text = shown.text;
    let mut notes = Vec::new();
    if text.shape == Shape::Values {
        notes.push("The file holds its document on one line. Here each value has a row of its own. Its address is its JSON pointer.".to_owned());
    }
    let kept = text.rows.len() as u64;
    if kept < text.total {
        notes.push(format!(
            "Shown are {} of {} lines: the beginning, the end, and what stands around each line that a figure was read from. The file above, known by its hash, has the others.",
            number::count(kept),
            number::count(text.total)
        ));
    }
    if text.rows.iter().any(|row| row.cut > 0) {
        notes.push("Long lines are cut at their end, with a note of how much is left out.".to_owned());
    }
    notes.extend(text.stopped.as_ref().map(|why| format!("Reading stopped before the end: {why}.")));
    if text.total == 0 && text.stopped.is_none() {
        notes.push("The file is empty.".to_owned());
    }
    notes
}

fn row_views(shown: &Shown<'_>, rows: &[RawRow], part: usize, here: impl Fn(u64) -> bool) -> Vec<RowView> {
    let mut out = Vec::with_capacity(rows.len());
    let before = shown.parts.get(part).and_then(|(_, first)| first.checked_sub(1));
    let mut last = before.and_then(|at| shown.text.rows.get(at)).map_or(0, |row| row.number);
    for row in rows {
        gap(&mut out, last, row.number);
        last = row.number;
        let cites = shown.cites.get(&row.number).filter(|_| here(row.number));
        out.push(RowView::Row {
            anchor: shown.anchor(row.number),
            number: row.number.to_string(),
            text: row.text.clone(),
            cut: (row.cut > 0).then(|| cut_words(row.cut)),
            cites: cites.map_or_else(Vec::new, |cites| views(shown.text, cites)),
        });
    }
    if part + 1 == shown.parts.len() {
        gap(&mut out, last, shown.text.total + 1);
    }
    out
}

fn gap(out: &mut Vec<RowView>, last: u64, next: u64) {
    match next.saturating_sub(last) {
        0 | 1 => {}
        2 => out.push(RowView::Gap(format!("line {} is left out", number::count(last + 1)))),
        apart => out.push(RowView::Gap(format!(
            "{} lines left out, {} to {}",
            number::count(apart - 1),
            number::count(last + 1),
            number::count(next - 1)
        ))),
    }
}

fn cut_words(bytes: u64) -> String {
    // One byte represents a line whose end was not counted.
    match bytes {
        1 => "the rest of the line is left out".to_owned(),
        bytes => format!("{} more are left out", number::size(usize::try_from(bytes).unwrap_or(usize::MAX))),
    }
}
