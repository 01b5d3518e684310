//! Expected files with their hashes, compared with the present ones.
//!
//! In:  hashes by path, a list of the present files.  Out: flaws.
//! Not here: where the hashes come from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Kind, Mismatch, Progressed, Verified};
use crate::archive::disk::{self, Tree};

/// Required files below a folder, and no others.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// SHA-256 by path. Absent for files that were checked another way.
    files: BTreeMap<String, Option<String>>,
    /// Folders that must be there, empty or not.
    folders: BTreeSet<String>,
    /// Folders that may be there, empty or not.
    may: BTreeSet<String>,
    /// Beginnings of paths that are not looked at.
    passed_over: Vec<String>,
}

impl Expected {
    /// A file and its hash.
    pub(super) fn file(&mut self, path: impl Into<String>, sha256: &str) {
        self.files.insert(path.into(), Some(sha256.to_owned()));
    }

    /// A file that was checked another way.
    pub(super) fn checked(&mut self, path: impl Into<String>) {
        self.files.insert(path.into(), None);
    }

    /// A folder that must be there.
    pub(super) fn folder(&mut self, path: impl Into<String>) {
        self.folders.insert(path.into());
    }

    /// A folder that may be there.
    pub(super) fn may_be(&mut self, path: impl Into<String>) {
        self.may.insert(path.into());
    }

    /// Everything whose path begins so.
    pub(super) fn pass_over(&mut self, start: impl Into<String>) {
        self.passed_over.push(start.into());
    }

    fn is_passed_over(&self, path: &str) -> bool {
        self.passed_over.iter().any(|start| path.starts_with(start))
    }

    /// Holds it against what is there.
    pub(super) fn hold(
        &self,
        folder: &Path,
        tree: &Tree,
        extra: &dyn Fn(&str) -> String,
        verified: &mut Verified,
        progressed: Progressed<'_>,
    ) {
        let there: BTreeSet<&str> = tree.files.iter().map(String::as_str).collect();
        let folders: BTreeSet<&str> = tree.folders.iter().map(String::as_str).collect();
        let size = |path: &&str| std::fs::symlink_metadata(folder.join(path)).map_or(0, |meta| meta.len());
        let all: u64 = there.iter().filter(|path| self.files.contains_key(**path)).map(size).sum();
        let mut done = 0;
        for (path, sha256) in self.files.iter().filter(|(path, _)| !self.is_passed_over(path)) {
            match sha256 {
                _ if !there.contains(path.as_str()) => {
                    verified.flaws.push(Mismatch::new(path, Kind::Missing, "it was written, but is missing"));
                }
                None => {}
                Some(sha256) => match disk::sha256_of(&folder.join(path)) {
                    Ok((found, bytes)) => {
                        verified.files += 1;
                        verified.bytes += bytes;
                        done += bytes;
                        progressed(done, all);
                        if found != *sha256 {
                            let what = format!("expected SHA-256 {sha256}, found {found}");
                            verified.flaws.push(Mismatch::new(path, Kind::Changed, what));
                        }
                    }
                    Err(cause) => verified.flaws.push(Mismatch::new(path, Kind::Unreadable, cause.to_string())),
                },
            }
        }
        let parents: BTreeSet<&str> = self.files.keys().chain(&self.folders).flat_map(|path| above(path)).collect();
        for path in self.folders.iter().filter(|path| !self.is_passed_over(path) && !folders.contains(path.as_str())) {
            verified.flaws.push(Mismatch::new(path, Kind::Missing, "the folder was written, but is missing"));
        }
        for path in folders.iter().filter(|path| !self.is_passed_over(path)) {
            if !(parents.contains(path) || self.folders.contains(*path) || self.may.contains(*path)) {
                verified.flaws.push(Mismatch::new(*path, Kind::Extra, extra(path)));
            }
        }
        for path in there.iter().filter(|path| !self.is_passed_over(path) && !self.files.contains_key(**path)) {
            verified.flaws.push(Mismatch::new(*path, Kind::Extra, extra(path)));
        }
        for (path, what) in tree.others.iter().filter(|(path, _)| !self.is_passed_over(path)) {
            let kind = if self.files.contains_key(path) { Kind::Changed } else { Kind::Extra };
            verified.flaws.push(Mismatch::new(path, kind, format!("it is {what}, but only plain files belong here")));
        }
    }
}

/// Folders above a path, the top one not.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(end, _)| path.get(..end))
}
