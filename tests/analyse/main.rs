//! The verb `analyse` from end to end: the program itself is run, and its site is read as a stranger would.

#![cfg(feature = "analyse")]

use std::path::Path;
use std::sync::LazyLock;

#[path = "../support/mod.rs"]
mod support;

mod altered;
mod archive_opens;
mod bad_input;
mod cells;
mod compare;
mod downloads;
mod facts;
mod history;
mod hostile_names;
mod labels_files;
mod masks_published;
mod metrics;
mod options;
mod own_measurement;
mod owners;
mod pages_lost;
mod places;
mod privacy;
mod publish;
mod published_study;
mod questions;
mod reading_names;
mod renamed;
mod site;
mod site_folder;
mod table;
mod watch;
mod words;
mod workflow;

use support::folder::Folder;
use support::program::{repository, run_in};
use support::report::Report;
use support::{files, program};

/// A folder with the two studies of `data/` that are tables of other programs. The third is a hundred times as large. The test of the
/// README makes the site of all.
static STUDIES: LazyLock<Folder> = LazyLock::new(|| {
    let folder = shared_folder("studies");
    for study in ["facts", "h200-chroot", "phase1"] {
        let name = format!("data/{study}");
        for (path, bytes) in files::files_below(&repository().join(&name)) {
            folder.put(&format!("{name}/{path}"), bytes);
        }
    }
    folder
});

/// The README's command with nothing changed but where it runs and where the site goes: made once, read by every test that only looks.
static PUBLISHED: LazyLock<(Folder, String)> = LazyLock::new(|| {
    let site = shared_folder("published");
    let ending = run_in(studies(), &["analyse".as_ref(), "--site".as_ref(), site.path().as_os_str()], &[]).expect(0);
    (site, ending.out + &ending.err)
});

/// A folder for all tests of this process. Nothing removes it at the end, so those of processes that are gone are removed first.
fn shared_folder(name: &str) -> Folder {
    let start = format!("analyse-{name}");
    let folder = Folder::new(&start);
    let beside = folder.path().parent().and_then(|around| std::fs::read_dir(around).ok());
    for entry in beside.into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let process =
            file.strip_prefix(&format!("{start}-")).and_then(|rest| rest.split_once('-')?.0.parse::<u32>().ok());
        let is_gone = |id: u32| Path::new("/proc/self").exists() && !Path::new("/proc").join(id.to_string()).exists();
        if process.is_some_and(is_gone) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    folder
}

/// The folder that `data/` of two studies stands in.
fn studies() -> &'static Path {
    STUDIES.path()
}

/// Folder of the site of two studies.
fn published_site() -> &'static Path {
    PUBLISHED.0.path()
}

/// The analysis of two studies.
fn published() -> &'static Report {
    static REPORT: LazyLock<Report> = LazyLock::new(|| Report::of_site(published_site()));
    &REPORT
}

/// Runs `analyse` with few draws over the folder `in` of a folder of the test, into `site` beside it.
fn analyse(folder: &Folder, more: &[&str]) -> program::Ending {
    run_in(folder.path(), &[&["analyse", "in", "--site", "site"], &program::FEW[..], more].concat(), &[])
}
