//! A stand-alone page: one manual load, or several beside each other, without an archive and without a site.
//!
//! In:  [`Loads`], texts and a chart's values.  Out: HTML that needs no other file and no network.
//! Not here: any number, pages of archived runs.

use askama::Template;

use super::figure::FigureView;
use super::shell;
use crate::chart::Sweep;
use sparkbench_text::error::{Error, Kind};

/// What the page shows.
#[derive(Debug, Clone, Default)]
pub struct Loads {
    /// Heading.
    pub title: String,
    /// Settings that all loads share: name and value.
    pub facts: Vec<(String, String)>,
    /// Tables, each with its heading.
    pub tables: Vec<LoadTable>,
    /// Throughput against the load, where there is more than one point.
    pub chart: Option<Sweep>,
    /// Remarks, in order.
    pub notes: Vec<String>,
    /// Program and version.
    pub tool: String,
}

/// A table of texts. The first column names the row.
#[derive(Debug, Clone, Default)]
pub struct LoadTable {
    /// Above it.
    pub heading: String,
    /// Of the columns.
    pub heads: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

#[derive(Template)]
#[template(path = "loads.html")]
struct LoadsPage<'a> {
    loads: &'a Loads,
    figure: Option<FigureView>,
    policy: &'static str,
    css: &'static str,
    js: &'static str,
}

/// Draws the page.
///
/// # Errors
/// When the template fails, which it does not.
pub fn loads(loads: &Loads) -> Result<String, Error> {
    let (policy, css, js) = shell::dress();
    let figure = loads.chart.as_ref().map(|chart| FigureView::new("throughput", chart.draw("throughput")));
    LoadsPage { loads, figure, policy, css, js }
        .render()
        .map_err(|cause| Error::new(Kind::Archive, "the page of the load cannot be drawn").because(cause))
}
