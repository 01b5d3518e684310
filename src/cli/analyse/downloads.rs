//! The files for machines that no page makes: tables, workbook, units, versions, what was replaced.
//!
//! In:  the judgement.  Out: files of the site, below `data/`.
//! Not here: how a table is laid out (see `frame`).

use std::path::PathBuf;
use std::sync::Arc;

use super::versions;
use crate::cli::intake::Judged;
use crate::cli::privacy;
use sparkbench_frame as frame;
use sparkbench_site::page::{self, HashedPage, Page};
use sparkbench_text::error::Error;

/// Files that are made of every request: they take longest.
pub(super) const LATE: [&str; 3] = ["data/units.csv", "data/requests.parquet", "data/report.xlsx"];

/// The files of [`LATE`], one after the other: each is the largest thing in memory while it is made.
fn late(judged: &Judged, elsewhere: &[(&str, Vec<String>)]) -> Result<Vec<Arc<HashedPage>>, Error> {
    let (analysis, runs) = (&judged.analysis, &judged.study.runs);
    let files = [
        Page::new(LATE[0], frame::units_csv(analysis, elsewhere)?),
        Page::new(LATE[1], frame::requests_parquet(&mut frame::requests(runs)?)?),
        Page::new(LATE[2], frame::report_xlsx(analysis, runs)?),
    ];
    Ok(files.map(HashedPage::new).to_vec())
}

/// Every file. Those of [`LATE`] that were `kept` are taken as they are.
pub(super) fn files(
    judged: &Judged,
    paths: &[PathBuf],
    kept: Option<&[Arc<HashedPage>]>,
) -> Result<Vec<Arc<HashedPage>>, Error> {
    let analysis = &judged.analysis;
    // Each is one long table, written by one thread.
    let scrub = judged.scrubbed.as_ref().map(|done| &done.scrub);
    let ((runs, extras), (runs_parquet, comparisons_parquet)) = rayon::join(
        || rayon::join(|| frame::runs_csv(&analysis.runs), || frame::extras_parquet(&analysis.runs)),
        || rayon::join(|| frame::runs_parquet(analysis), || frame::comparisons_parquet(analysis)),
    );
    let versions = versions::markdown(analysis, paths, scrub);
    let runs = runs?;
    let elsewhere =
        [("data/comparisons.csv", page::columns_of_comparisons()), ("data/runs.csv", page::csv_columns(&runs))];
    let late = match kept {
        Some(kept) => kept.to_vec(),
        // On a thread of those that draw the pages: what one thread gives back to the allocator, another gets only late or never, and a
        // workbook takes hundreds of MB for a moment.
        None => rayon::scope(|_| late(judged, &elsewhere))?,
    };
    let mut files = late;
    let others = [
        Page::new("data/runs.csv", runs),
        Page::new("data/runs.parquet", runs_parquet?),
        Page::new("data/extras.parquet", extras?),
        Page::new("data/comparisons.parquet", comparisons_parquet?),
        Page::new("data/VERSIONS.md", versions),
        // Last of all: by now every text that is published went through the scrub.
        Page::new(
            "data/PRIVACY.md",
            privacy::report(judged.scrubbed.as_ref().map(|done| done.scrub.places()).as_ref()),
        ),
    ];
    files.extend(others.map(HashedPage::new));
    Ok(files)
}
