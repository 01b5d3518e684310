//! Pages: judgements and charts to a site that works from a folder, without script and without a network.
//!
//! In:  [`Analysis`] and the [`Extras`] that are not in it.
//! Out: [`Page`]s, every one with its path and its bytes; [`write()`] puts them on disk at the very end.
//! Not here: any number. A mean that is missing here is missing in `verdict`.
//!
//! Same input, same bytes: nothing here reads a clock, an environment variable or a file.

mod campaign;
mod comparison;
mod cost;
mod data;
mod export;
mod figure;
mod front;
mod index;
mod markdown;
mod method;
mod number;
mod prose;
mod run;
mod shell;
mod single;
mod traps;
mod words;
mod write;

use std::collections::BTreeMap;

use crate::error::{Error, Kind};
use crate::model::{Sample, Series};
use crate::verdict::report::{Analysis, Severity};

pub use markdown::escape;
pub use prose::CONSTANTS;
pub use write::write;

/// One file of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Below the site, with `/`, without a leading one: `c/phase1/index.html`.
    pub path: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl Page {
    /// A file of the site.
    pub fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into() }
    }
}

/// What pages show beyond `analysis.json`: raw values, names for people, and prose that belongs to code.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// GPU telemetry by run id, in time order. A run without any is absent.
    pub telemetry: BTreeMap<String, Vec<Sample>>,
    /// Per-request values by run id, in the order they were measured. A run without any is absent.
    pub requests: BTreeMap<String, Vec<Series>>,
    /// Machine label to its name for people; the label itself is shown where it is absent.
    pub machine_titles: BTreeMap<String, String>,
    /// Model label to its name for people; the label itself is shown where it is absent.
    pub model_titles: BTreeMap<String, String>,
    /// Every trap the program knows, in the order in which pages list them.
    pub traps: Vec<TrapAbout>,
    /// Thresholds that the prose of the method page quotes, by name, as text; the names are [`CONSTANTS`].
    pub constants: BTreeMap<&'static str, String>,
    /// The command that makes this site again.
    pub reproduce: String,
    /// Ready files of other rooms (`data/runs.csv`, `data/requests.parquet`): listed, hashed and written as they are.
    pub extra_files: Vec<Page>,
}

/// What a trap is about, whether or not it fired anywhere.
#[derive(Debug, Clone)]
pub struct TrapAbout {
    /// Contract id; the anchor on the traps page.
    pub id: &'static str,
    /// `P1` to `P17`, where it is one of these.
    pub code: Option<&'static str>,
    /// Name for people.
    pub title: &'static str,
    /// How bad it is when it fires, unless the finding says otherwise.
    pub severity: Severity,
    /// Markdown: why it misleads, how it is detected, how to avoid it.
    pub about: String,
}

/// Renders the whole site.
///
/// Fails when a name could leave the site folder, when a path is taken twice, or when prose quotes a threshold that
/// [`Extras::constants`] lacks.
pub fn render(analysis: &Analysis, extras: &Extras) -> Result<Vec<Page>, Error> {
    let site = index::Site::new(analysis, extras)?;
    let mut pages = downloads(&site)?;
    let data = data::page(&site, &pages.iter().collect::<Vec<_>>()).map_err(template_fault)?;
    let listed = sizes(&pages);
    pages.push(Page::new("data/index.html", data));
    pages.push(Page::new("index.html", front::page(&site, &listed).map_err(template_fault)?));
    pages.push(Page::new("traps/index.html", traps::page(&site).map_err(template_fault)?));
    pages.push(Page::new("cost/index.html", cost::page(&site).map_err(template_fault)?));
    pages.push(Page::new("method/index.html", method::page(&site)?));
    for report in &analysis.campaigns {
        let html = campaign::page(&site, report).map_err(template_fault)?;
        pages.push(Page::new(format!("c/{}/index.html", report.name), html));
        let runs = site.runs(&report.name);
        for (k, report) in runs.iter().enumerate() {
            let before = k.checked_sub(1).and_then(|k| runs.get(k)).copied();
            let html = run::page(&site, report, before, runs.get(k + 1).copied()).map_err(template_fault)?;
            pages.push(Page::new(format!("r/{}/index.html", report.id), html));
        }
    }
    pages.push(export::sums(&pages));
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    match pages.windows(2).find(|pair| pair[0].path == pair[1].path) {
        Some(pair) => Err(Error::archive(format!("two files of the site want the path '{}'", pair[0].path))),
        None => Ok(pages),
    }
}

/// The whole report as one HTML file that needs nothing beside it: the answer, every campaign, traps and method as parts
/// of one document. Runs are the rows of their campaign's list there; their own pages and the data stay with the site.
///
/// Fails like [`render`].
pub fn single_file(analysis: &Analysis, extras: &Extras) -> Result<Vec<u8>, Error> {
    let site = index::Site::new(analysis, extras)?;
    let source = |path: String, name: &str, html: String| single::Source { path, name: name.to_owned(), html };
    let listed = sizes(&downloads(&site)?);
    let mut sources = vec![source("index.html".into(), "Answer", front::page(&site, &listed).map_err(template_fault)?)];
    for report in site.campaigns() {
        let html = campaign::page(&site, report).map_err(template_fault)?;
        sources.push(source(format!("c/{}/index.html", report.name), &report.title, html));
    }
    sources.push(source("traps/index.html".into(), "Traps", traps::page(&site).map_err(template_fault)?));
    sources.push(source("cost/index.html".into(), "Cost", cost::page(&site).map_err(template_fault)?));
    sources.push(source("method/index.html".into(), "Method", method::page(&site)?));
    single::document(&site, &sources)
}

/// Files for machines, by path.
fn downloads(site: &index::Site<'_>) -> Result<Vec<Page>, Error> {
    let mut pages = vec![export::json(site.analysis)?, export::comparisons(site.analysis)?, markdown::page(site)];
    pages.extend(site.extras.extra_files.iter().cloned());
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(pages)
}

/// Paths and sizes in bytes. The hashes cover the page that lists them, so their own size is not known yet.
fn sizes(pages: &[Page]) -> Vec<(String, usize)> {
    let files = pages.iter().filter(|page| page.path != "data/SHA256SUMS");
    files.map(|page| (page.path.clone(), page.bytes.len())).collect()
}

/// A template that cannot be filled is a mistake in this program, told like any other error.
fn template_fault(cause: askama::Error) -> Error {
    Error::new(Kind::Archive, "a page could not be rendered").because(cause)
}
