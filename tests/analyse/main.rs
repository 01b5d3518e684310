//! The verb `analyse` from end to end: the program itself is run, and its site is read as a stranger would.

#![cfg(feature = "analyse")]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

#[path = "../support/files.rs"]
mod files;
#[path = "../support/folder.rs"]
mod folder;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/report.rs"]
mod report;
#[path = "../support/site_check.rs"]
mod site_check;
#[path = "../support/unzip.rs"]
mod unzip;

mod bad_input;
mod cells;
mod downloads;
mod hostile_names;
mod options;
mod own_measurement;
mod places;
mod privacy;
mod publish;
mod published_study;
mod renamed;
mod site;

use program::{repository, run_in};
use report::Report;

/// The README's command with nothing changed but where the site goes: made once, read by every test that only looks.
static PUBLISHED: LazyLock<(PathBuf, String)> = LazyLock::new(|| {
    let site = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("analyse-published-{}", std::process::id()));
    let ending = run_in(repository(), &["analyse".as_ref(), "--site".as_ref(), site.as_os_str()], &[]).expect(0);
    (site, ending.err)
});

/// Folder of the site of `data/`.
fn published_site() -> &'static Path {
    &PUBLISHED.0
}

/// The analysis of `data/`.
fn published() -> &'static Report {
    static REPORT: LazyLock<Report> = LazyLock::new(|| Report::of_site(published_site()));
    &REPORT
}

/// Runs `analyse` with few draws over the folder `in` of a folder of the test, into `site` beside it.
fn analyse(folder: &folder::Folder, more: &[&str]) -> program::Ending {
    run_in(folder.path(), &[&["analyse", "in", "--site", "site"], &program::FEW[..], more].concat(), &[])
}
