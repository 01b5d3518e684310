//! Pages: turns judgements and charts into a site that works from a folder, without script and without a network.
//!
//! In:  [`Analysis`] and the [`Extras`] that are not in it.
//! Out: [`Page`]s with path and bytes. [`write()`] puts them on disk at the very end.
//! Not here: any number. A mean that is missing here is missing in `verdict`.
//!
//! Same input, same bytes: nothing here reads a clock, an environment variable or a file.

mod across;
mod address;
mod agreement;
mod alone;
mod altered;
mod badge;
mod calibration;
mod campaign;
mod cell;
mod cell_figures;
mod charts;
mod comparison;
mod cost;
mod course;
mod data;
mod docs;
pub(crate) mod draft;
mod earlier;
mod engines;
mod export;
mod extras;
mod figure;
mod file;
mod front;
mod glossary;
mod history;
mod index;
mod labels;
mod lines;
mod link;
pub mod loads;
mod machine;
mod machines;
mod markdown;
mod memory;
mod method;
mod missing_runs;
mod model;
mod number;
mod others;
mod package;
mod pair;
mod places;
mod prose;
mod publish;
mod run;
mod save;
mod settle;
mod shell;
mod single;
mod stable;
mod stamp;
mod study;
mod subject;
mod table;
mod telemetry;
mod traps;
mod update;
mod write;

use std::sync::Arc;

use sparkbench_text::error::Error;
use sparkbench_verdict::RoundCache;
use sparkbench_verdict::report::Analysis;

use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _,
};

pub use badge::svg as badge;
use draft::template_fault;
pub use earlier::earlier;
pub use export::json as analysis_json;
pub use extras::{Extras, Publication, TrapAbout};
pub use file::{HashedPage, Page};
pub use memory::Memory;
pub use others::Others;
pub use package::{columns_of_comparisons, header as csv_columns};
pub use prose::CONSTANTS;
pub use publish::{Earlier, Version, base_url};
pub use study::resolve::KINDS as REFERENCES;
pub use update::{Changes, Written, update};
pub use write::{mend, write};

/// Every kind of page. The navigation and the pages themselves link to what these list.
pub static KINDS: &[&dyn draft::PageKind] = &[
    &front::FrontPage,
    &campaign::CampaignPage,
    &pair::PairPage,
    &cell::CellPage,
    &telemetry::TelemetryPage,
    &run::RunPage,
    &missing_runs::MissingRunsPage,
    &traps::TrapsPage,
    &model::ModelPage,
    &machine::MachinePage,
    &engines::EnginesPage,
    &agreement::AgreementPage,
    &cost::CostPage,
    &history::HistoryPage,
    &method::MethodPage,
    &glossary::GlossaryPage,
    &charts::ChartsPage,
    &docs::DocsPage,
    &data::DataPage,
    &publish::versions::VersionsPage,
    &publish::lost::LostPage,
];

/// Renders the whole site.
///
/// Fails when a name could leave the site folder, when a path is taken twice, or when prose quotes a threshold that
/// [`Extras::constants`] lacks.
pub fn render(analysis: &Analysis, extras: &Extras) -> Result<Vec<Page>, Error> {
    let (sheets, _) = sheets(analysis, extras, memory::draw, None, None)?;
    // Nobody else holds them, so nothing is copied.
    Ok(sheets.into_iter().map(|sheet| Arc::unwrap_or_clone(sheet).page).collect())
}

/// Like [`render`], but draws only those pages that `memory` does not hold. The site is the same. Unless `whole`, parts made of the whole
/// site are those of the last time. These are its version, and its name in the feet of unchanged pages. They take
/// longer than everything else.
///
/// Fails like [`render`].
pub fn again(
    analysis: &Analysis,
    extras: &Extras,
    memory: &mut Memory,
    whole: bool,
) -> Result<Vec<Arc<HashedPage>>, Error> {
    let earlier = memory.late().filter(|_| !whole);
    let stamped = earlier.is_none();
    let figures = Some(memory.figures());
    let (sheets, late) = sheets(analysis, extras, |site, draft| memory.draw(site, draft, stamped), figures, earlier)?;
    memory.turn();
    memory.keep_late(late);
    Ok(sheets)
}

/// Every file of the site with its hash, and what of it is made of the whole. `draw` gives a page with the files beside it, `figures` are
/// the drawings of before.
fn sheets<'a>(
    analysis: &'a Analysis,
    extras: &'a Extras,
    draw: impl Fn(&index::Site<'a>, &draft::Draft<'a>) -> Result<Vec<Arc<HashedPage>>, Error> + Sync,
    figures: Option<&'a RoundCache<Arc<figure::FigureView>>>,
    earlier: Option<&memory::Late>,
) -> Result<(Vec<Arc<HashedPage>>, memory::Late), Error> {
    let mut site = index::Site::new(analysis, extras)?;
    site.figures = figures;
    let mut sheets = downloads(&site)?;
    site.listed(&sheets);
    if let Some(earlier) = earlier {
        site.version = earlier.version.clone();
    }
    let drafts: Vec<draft::Draft<'_>> = KINDS.iter().flat_map(|kind| kind.drafts(&site)).collect();
    let version = site.version.clone();
    site.pages(drafts.iter().map(|draft| draft.path.clone()).chain([version.path()]));
    site.prose = study::weave_all(&site)?;
    let drawn: Vec<Vec<Arc<HashedPage>>> =
        drafts.par_iter().with_max_len(1).map(|draft| draw(&site, draft)).collect::<Result<_, Error>>()?;
    sheets.extend(drawn.into_iter().flatten());
    sheets.extend(publish::files(&site).into_iter().chain(shell::files()).map(HashedPage::new));
    let frozen = match earlier {
        Some(earlier) => earlier.frozen.clone(),
        None => freeze(&site, &sheets)?,
    };
    sheets.extend(frozen.iter().cloned());
    let hashes = sheets.iter().map(|sheet| (sheet.page.path.as_str(), sheet.sha256.as_str()));
    sheets.push(HashedPage::new(export::sums(hashes, &extras.publication.earlier)));
    sheets.sort_by(|a, b| a.page.path.cmp(&b.page.path));
    match sheets.windows(2).find(|pair| pair[0].page.path == pair[1].page.path) {
        Some(pair) => Err(Error::archive(format!("two files of the site want the path '{}'", pair[0].page.path))),
        None => Ok((sheets, memory::Late { version, frozen })),
    }
}

/// The files of this version. None where it was published before.
fn freeze(site: &index::Site<'_>, sheets: &[Arc<HashedPage>]) -> Result<Vec<Arc<HashedPage>>, Error> {
    if publish::version::is_published(&site.extras.publication.earlier, &site.version) {
        return Ok(Vec::new());
    }
    let found = sheets.iter().find(|sheet| sheet.page.path == "data/analysis.json");
    let found = found.map_or(&[][..], |sheet| &sheet.page.bytes);
    let report = report(site.analysis, site.extras, &site.downloads, Some(&site.version))?;
    let frozen = publish::version::freeze(&site.version, report, found)?;
    Ok(frozen.into_iter().map(HashedPage::new).collect())
}

/// The whole report as one HTML file that needs nothing beside it: the answer, every campaign, traps and method as parts
/// of one document. Runs are the rows of their campaign's list there. Their own pages and the data stay with the site.
///
/// Fails like [`render`].
pub fn single_file(analysis: &Analysis, extras: &Extras) -> Result<Vec<u8>, Error> {
    let mut site = index::Site::new(analysis, extras)?;
    site.listed(&downloads(&site)?);
    report(analysis, extras, &site.downloads, None)
}

/// The report as one file, by itself or as the page of a version. The files for machines were made before it: each is a large text.
fn report(
    analysis: &Analysis,
    extras: &Extras,
    listed: &[file::Download],
    version: Option<&Version>,
) -> Result<Vec<u8>, Error> {
    let mut site = index::Site::new(analysis, extras)?;
    site.relist(listed.to_vec());
    site.prose = study::weave_all(&site)?;
    let source = |path: String, name: &str, html: String| single::Source { path, name: name.to_owned(), html };
    let mut sources = vec![source("index.html".into(), "Results", front::page(&site).map_err(template_fault)?)];
    for report in site.campaigns() {
        let html = campaign::page(&site, report).map_err(template_fault)?;
        sources.push(source(format!("c/{}/index.html", report.name), &report.title, html));
    }
    sources.push(source("traps/index.html".into(), "Checks", traps::page(&site).map_err(template_fault)?));
    sources.push(source("cost/index.html".into(), "Cost", cost::page(&site).map_err(template_fault)?));
    sources.push(source("method/index.html".into(), "Method", method::page(&site)?));
    single::document(&site, &sources, version)
}

/// Files for machines, by path.
fn downloads(site: &index::Site<'_>) -> Result<Vec<Arc<HashedPage>>, Error> {
    // Each is one long text, written by one thread.
    let (json, (table, report)) = rayon::join(
        || export::json(site.analysis),
        || rayon::join(|| export::comparisons(site.analysis), || markdown::page(site)),
    );
    let mut sheets: Vec<Arc<HashedPage>> = [json?, table?, report].into_par_iter().map(HashedPage::new).collect();
    sheets.extend(site.extras.extra_files.iter().map(Arc::clone));
    sheets.sort_by(|a, b| a.page.path.cmp(&b.page.path));
    sheets.push(HashedPage::new(package::page(site, &sheets)?));
    sheets.sort_by(|a, b| a.page.path.cmp(&b.page.path));
    Ok(sheets)
}
