//! The verb `analyse` from end to end: the program itself is run, and its site is read as a stranger would.

#![cfg(feature = "analyse")]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod cells;
mod compare;
mod downloads;
mod history;
mod hostile_names;
mod metrics;
mod options;
mod own_measurement;
mod places;
mod privacy;
mod publish;
mod published_study;
mod questions;
mod renamed;
mod site;
mod watch;
mod words;
mod workflow;

use support::program::{repository, run_in};
use support::report::Report;
use support::{files, folder, program};

/// A folder with the two studies of `data/` that are tables of other programs. The third is a hundred times as large. The test of the
/// README makes the site of all.
static STUDIES: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = made_folder("studies");
    for study in ["facts", "h200-chroot", "phase1"] {
        let name = format!("data/{study}");
        for (path, bytes) in files::files_below(&repository().join(&name)) {
            let to = folder.join(&name).join(path);
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder is made");
            std::fs::write(to, bytes).expect("a file is written");
        }
    }
    folder
});

/// The README's command with nothing changed but where it runs and where the site goes: made once, read by every test that only looks.
static PUBLISHED: LazyLock<(PathBuf, String)> = LazyLock::new(|| {
    let site = made_folder("published");
    let ending = run_in(studies(), &["analyse".as_ref(), "--site".as_ref(), site.as_os_str()], &[]).expect(0);
    (site, ending.err)
});

fn made_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("analyse-{name}-{}", std::process::id()))
}

/// The folder that `data/` of two studies stands in.
fn studies() -> &'static Path {
    &STUDIES
}

/// Folder of the site of two studies.
fn published_site() -> &'static Path {
    &PUBLISHED.0
}

/// The analysis of two studies.
fn published() -> &'static Report {
    static REPORT: LazyLock<Report> = LazyLock::new(|| Report::of_site(published_site()));
    &REPORT
}

/// Runs `analyse` with few draws over the folder `in` of a folder of the test, into `site` beside it.
fn analyse(folder: &folder::Folder, more: &[&str]) -> program::Ending {
    run_in(folder.path(), &[&["analyse", "in", "--site", "site"], &program::FEW[..], more].concat(), &[])
}
