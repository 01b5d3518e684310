//! A folder that holds archives, tables and files of other tools.
//!
//! In:  the folder.  Out: the findings of every archive below it, and what no hash covers.
//! Not here: checks of a single archive.

use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::campaign;
use super::findings::{Below, Kind, Mismatch, Progressed, Runs, State, Verified};
use crate::discover::{is_hidden, is_site};
use crate::lock;
use crate::manifest::{CAMPAIGN_FILE, JOURNAL_FILE, LossWire};
use crate::{FileName, shown};
use sparkbench_text::error::Error;

/// Verifies every archive below a folder. Files outside an archive have no hash to hold them against: they are counted and named.
///
/// # Errors
/// When an archive cannot be listed, or nothing at all is in the folder.
pub(super) fn verify(folder: &Path, progressed: Progressed<'_>) -> Result<Verified, Error> {
    let mut all = Verified { state: State::Folder, ..Verified::default() };
    let mut loose: Vec<String> = Vec::new();
    let mut archives: Vec<PathBuf> = Vec::new();
    let mut walker = WalkDir::new(folder).follow_links(false).follow_root_links(true).sort_by_file_name().into_iter();
    while let Some(entry) = walker.next() {
        match entry {
            Ok(entry) if entry.depth() > 0 && passed_over(&entry) => {
                if entry.file_type().is_dir() {
                    walker.skip_current_dir();
                }
            }
            Ok(entry) if entry.file_type().is_dir() => {
                if is_archive(entry.path()) {
                    archives.push(entry.into_path());
                    walker.skip_current_dir();
                }
            }
            Ok(entry) if entry.file_type().is_file() => loose.push(below(folder, entry.path())),
            Ok(_) => {}
            Err(cause) => {
                let path = cause.path().map_or_else(String::new, |path| below(folder, path));
                all.flaws.push(Mismatch::new(path, Kind::Unreadable, cause.to_string()));
            }
        }
    }
    if archives.is_empty() && loose.is_empty() && all.flaws.is_empty() {
        return Err(Error::archive(format!("'{}' holds no archive, no site and no file", shown(folder))).hint(
            "give the folder of a campaign, a folder with several campaigns, or a site that `sparkbench analyse` wrote",
        ));
    }
    for archive in archives {
        let path = below(folder, &archive);
        let mut verified = campaign::verify(&archive, lock::held(&archive) == Some(true), progressed)?;
        verified.flaws.sort();
        verified.flaws.dedup();
        all.files += verified.files;
        all.bytes += verified.bytes;
        all.runs = verified.runs.into_iter().chain(all.runs).reduce(Runs::and);
        all.flaws.extend(
            verified.flaws.iter().map(|flaw| Mismatch { path: format!("{path}/{}", flaw.path), ..flaw.clone() }),
        );
        all.notes.extend(verified.notes.iter().map(|note| format!("{path}: {note}")));
        let below = |loss: &LossWire| LossWire { path: format!("{path}/{}", loss.path), ..loss.clone() };
        all.lost.extend(verified.lost.iter().map(below));
        all.archives.push(Below { path, verified });
    }
    if let Some(first) = loose.first() {
        all.notes.push(match loose.len() {
            1 => format!("'{first}' is not in an archive and has no recorded hash, so it could not be verified"),
            n => format!("{n} files are not in an archive and have no recorded hashes, so they could not be verified ('{first}' is one of them)"),
        });
    }
    Ok(all)
}

/// Hidden things, and sites, which are verified by themselves.
fn passed_over(entry: &DirEntry) -> bool {
    is_hidden(entry.file_name()) || is_site(entry)
}

fn below(folder: &Path, path: &Path) -> String {
    FileName::below(folder, path).to_string()
}

impl Runs {
    /// Runs of two archives together.
    fn and(self, other: Self) -> Self {
        Self {
            planned: self.planned.zip(other.planned).map(|(one, more)| one + more),
            finished: self.finished + other.finished,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
            lost: self.lost + other.lost,
            left: self.left.zip(other.left).map(|(one, more)| one + more),
            interrupted: self.interrupted + other.interrupted,
        }
    }
}

/// Whether a folder is the archive of a campaign, or what is left of one.
pub(super) fn is_archive(folder: &Path) -> bool {
    // A link to nothing in the place of one is damage of an archive.
    [CAMPAIGN_FILE, JOURNAL_FILE].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
}
