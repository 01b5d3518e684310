//! Kinds of pages: the list of all pages of the site before any is drawn.
//!
//! In:  `Site`.  Out: [`Draft`]s: the path of every page and the closure that draws it.
//! Not here: the content of a page.
//!
//! The paths of all pages are known before the first is drawn. So a page may ask whether another exists (`Site::has`), and the navigation
//! shows what exists. Pages are drawn on all cores in any order.

use serde::Serialize;

use super::file::Page;
use super::index::Site;
use sparkbench_text::error::{Error, Kind};
use sparkbench_verdict::mark::Marker;
use sparkbench_verdict::report::across;
use sparkbench_verdict::report::{
    BestBatch, CampaignReport, Comparison, CostReport, Group, HistoryReport, MachineTable, PhysicsReport,
    ReplicationReport, RunReport, TrapReport,
};

/// A kind of page. Adding one is a file and a line in [`super::KINDS`].
pub trait PageKind: Sync {
    /// Every page of this kind that the site has. Cheap: nothing is drawn yet.
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>>;
}

/// How a page is drawn, once all paths are known.
pub(crate) type Draw<'a> = Box<dyn Fn(&Site<'a>) -> Result<DrawnPage<'a>, Error> + Send + Sync + 'a>;

/// Inputs of a page, apart from its own path.
pub(crate) type Shows<'a> = Box<dyn Fn(&Site<'a>, &mut Marker) + Send + Sync + 'a>;

/// A page that will be drawn.
pub struct Draft<'a> {
    /// Below the site, ending in `index.html`, except for pages that stand alone (`404.html`).
    pub path: String,
    /// Draws it.
    pub draw: Draw<'a>,
    /// Names everything that the page shows. Absent for a page that is drawn each time.
    pub shows: Option<Shows<'a>>,
}

impl<'a> Draft<'a> {
    /// A page at `path`, drawn by `draw`.
    pub fn new(
        path: impl Into<String>,
        draw: impl Fn(&Site<'a>) -> Result<DrawnPage<'a>, Error> + Send + Sync + 'a,
    ) -> Self {
        Self { path: path.into(), draw: Box::new(draw), shows: None }
    }

    /// A page that need not be drawn again while everything that `shows` puts into its marker is the same. Worth it for kinds of which
    /// a site has thousands. What is forgotten here is shown stale while `analyse --watch` runs, so leave nothing out that `draw` reads.
    #[must_use]
    pub fn keyed(mut self, shows: impl Fn(&Site<'a>, &mut Marker) + Send + Sync + 'a) -> Self {
        self.shows = Some(Box::new(shows));
        self
    }
}

/// A drawn page: its markup, and the rows of the analysis that it shows, which become `index.json` beside it.
#[derive(Debug, Clone, Default)]
pub struct DrawnPage<'a> {
    /// The whole document.
    pub html: String,
    /// What it shows.
    pub rows: Rows<'a>,
    /// Further files that belong to the page and are beside it.
    pub files: Vec<Page>,
}

impl<'a> DrawnPage<'a> {
    /// A page that shows these rows.
    pub fn new(html: String, rows: Rows<'a>) -> Self {
        Self { html, rows, files: Vec::new() }
    }

    /// A page of words.
    pub fn words(html: String) -> Self {
        Self::new(html, Rows::default())
    }
}

/// Rows of the analysis that a page shows, under the names that `analysis.json` has for them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Rows<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub campaigns: Vec<&'a CampaignReport>,
    /// Runs. Their further figures are beside the page of each run, and not again beside pages of many.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "rows_of_runs")]
    pub runs: Vec<&'a RunReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<&'a Group>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<&'a Comparison>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traps: Vec<&'a TrapReport>,
    /// Ceilings and shares.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub physics: Vec<&'a PhysicsReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<&'a CostReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub best_batches: Vec<&'a BestBatch>,
    /// Machine against machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<&'a MachineTable>,
    /// Results across cells and campaigns.
    #[serde(flatten)]
    pub across: AcrossRows<'a>,
    /// Cells over several campaigns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<&'a HistoryReport>,
    /// Questions that several campaigns asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replications: Vec<&'a ReplicationReport>,
}

/// Rows of what is seen across cells and campaigns.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AcrossRows<'a> {
    /// Cells with their machine, engine and load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<&'a across::Place>,
    /// Data of each model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub model_summaries: Vec<&'a across::Summary>,
    /// Data of each machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_summaries: Vec<&'a across::Summary>,
    /// Output against load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<&'a across::Sweep>,
    /// Trade-offs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frontiers: Vec<&'a across::Frontier>,
    /// Output by lengths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grids: Vec<&'a across::Grid>,
    /// Ceilings and the cells below them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rooflines: Vec<&'a across::Roofline>,
    /// Parts of memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_stacks: Vec<&'a across::MemoryStack>,
    /// Engine beside engine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<&'a across::EngineTable>,
    /// Client beside client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agreements: Vec<&'a across::AgreementTable>,
}

/// `index.json` of a page: schema and path, then its rows.
#[derive(Serialize)]
struct Beside<'a> {
    schema: &'static str,
    page: &'a str,
    #[serde(flatten)]
    rows: &'a Rows<'a>,
}

fn rows_of_runs<S: serde::Serializer>(runs: &[&RunReport], serializer: S) -> Result<S::Ok, S::Error> {
    match runs {
        [_] => serializer.collect_seq(runs),
        _ => serializer.collect_seq(runs.iter().map(|run| run.without_extras())),
    }
}

/// A template that cannot be filled is a mistake in this program, told like any other error.
pub(super) fn template_fault(cause: askama::Error) -> Error {
    Error::new(Kind::Archive, "a page could not be rendered").because(cause)
}

/// Schema of `index.json`.
pub(crate) const SCHEMA: &str = "sparkbench.page/1";

/// The file beside the page at `path`. Absent for a page that is no `index.html`.
pub(crate) fn beside(path: &str, rows: &Rows<'_>) -> Option<Result<Page, Error>> {
    let folder = path.strip_suffix("index.html")?;
    let bytes = serde_json::to_vec(&Beside { schema: SCHEMA, page: path, rows })
        .map_err(|e| Error::archive(format!("the rows of '{path}' cannot be written as JSON")).because(e));
    Some(bytes.map(|mut bytes| {
        bytes.push(b'\n');
        Page::new(format!("{folder}index.json"), bytes)
    }))
}
