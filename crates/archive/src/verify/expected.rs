//! Expected files with their hashes, compared with the present ones.
//!
//! In:  hashes by path, a list of the present files.  Out: flaws.
//! Not here: where the hashes come from.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::findings::{Kind, Mismatch, Progressed, Remedy, Verified};
use crate::FileName;
use crate::disk::{self, Tree};
use crate::manifest::{INTERRUPTED_FOLDER, PREPARED_FOLDER, PROBES_FOLDER};

/// Required files below a folder, and no others.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// SHA-256 by path. Absent for files that were checked another way.
    files: BTreeMap<FileName, Option<String>>,
    /// Folders that must be there, empty or not.
    folders: BTreeSet<FileName>,
    /// Folders that may be there, empty or not.
    may: BTreeSet<FileName>,
    /// Beginnings of paths that are not looked at.
    passed_over: Vec<FileName>,
    /// Hashes that another reader of the same files has taken. Absent: every file is read here.
    known: Option<BTreeMap<FileName, String>>,
    /// Folders at the top in which nothing is read.
    aside: &'static [&'static str],
}

/// Folders of an archive that nobody analyses.
const ASIDE: &[&str] = &[INTERRUPTED_FOLDER, PROBES_FOLDER, PREPARED_FOLDER];

impl Expected {
    /// Nothing so far, of a folder whose files were read already. Files with a hash in `known` are not read again.
    pub(super) fn knowing(known: BTreeMap<FileName, String>) -> Self {
        Self { known: Some(known), ..Self::default() }
    }

    /// The same of an archive, in which nothing aside of the runs is read.
    pub(super) fn of_runs(known: BTreeMap<FileName, String>) -> Self {
        Self { aside: ASIDE, ..Self::knowing(known) }
    }

    /// Hash and size of a file, where it is to be compared. The size is 0 where somebody else has read it.
    fn sum_of(&self, folder: &Path, path: &FileName) -> Option<io::Result<(String, u64)>> {
        let Some(known) = &self.known else { return Some(disk::sha256_of(&folder.join(path))) };
        if let Some(sum) = known.get(path) {
            return Some(Ok((sum.clone(), 0)));
        }
        let aside = path.text().and_then(|path| path.split('/').next()).is_some_and(|top| self.aside.contains(&top));
        (!aside).then(|| disk::sha256_of(&folder.join(path)))
    }

    /// A file and its hash.
    pub(super) fn file(&mut self, path: impl Into<FileName>, sha256: &str) {
        self.files.insert(path.into(), Some(sha256.to_owned()));
    }

    /// A file that was checked another way.
    pub(super) fn checked(&mut self, path: impl Into<FileName>) {
        self.files.insert(path.into(), None);
    }

    /// A folder that must be there.
    pub(super) fn folder(&mut self, path: impl Into<FileName>) {
        self.folders.insert(path.into());
    }

    /// A folder that may be there.
    pub(super) fn may_be(&mut self, path: impl Into<FileName>) {
        self.may.insert(path.into());
    }

    /// Everything whose path begins so.
    pub(super) fn pass_over(&mut self, start: impl Into<FileName>) {
        self.passed_over.push(start.into());
    }

    fn is_passed_over(&self, path: &FileName) -> bool {
        self.passed_over.iter().any(|start| path.as_bytes().starts_with(start.as_bytes()))
    }

    /// Parts what is there into what is listed, with the folders that lead to it, and the names of everything else.
    pub(super) fn part(&self, mut tree: Tree) -> (Tree, Vec<FileName>) {
        let parents: BTreeSet<FileName> = self.files.keys().flat_map(FileName::above).collect();
        let is_listed = |path: &FileName| self.files.contains_key(path);
        let mut rest = Vec::new();
        let mut aside = |path: &FileName| {
            rest.push(path.clone());
            false
        };
        tree.files.retain(|path| is_listed(path) || aside(path));
        tree.others.retain(|(path, _)| is_listed(path) || aside(path));
        tree.mounted.retain(|(path, _)| is_listed(path) || parents.contains(path) || aside(path));
        tree.deep.retain(|path| parents.contains(path) || aside(path));
        tree.folders.retain(|path| parents.contains(path));
        rest.sort();
        (tree, rest)
    }

    /// Holds it against what is there. `extra` says why something unlisted may be there, and what mends it.
    pub(super) fn hold(
        &self,
        folder: &Path,
        tree: &Tree,
        extra: &dyn Fn(&FileName) -> (String, Remedy),
        verified: &mut Verified,
        progressed: Progressed<'_>,
    ) {
        let there: BTreeSet<&FileName> = tree.files.iter().collect();
        let others: BTreeSet<&FileName> = tree.others.iter().map(|(path, _)| path).collect();
        let folders: BTreeSet<&FileName> = tree.folders.iter().collect();
        let size = |path: &&FileName| std::fs::symlink_metadata(folder.join(path)).map_or(0, |meta| meta.len());
        let all: u64 = there.iter().filter(|path| self.files.contains_key(**path)).map(size).sum();
        let mut done = 0;
        for (path, sha256) in self.files.iter().filter(|(path, _)| !self.is_passed_over(path)) {
            match sha256 {
                // Said below, with what it is.
                _ if others.contains(path) => {}
                _ if folders.contains(path) => {
                    let what = "it is a folder, but a file was written here";
                    verified.flaws.push(Mismatch::new(path, Kind::Changed, what));
                }
                _ if !there.contains(path) => {
                    verified.flaws.push(Mismatch::new(path, Kind::Missing, "it was written, but is missing"));
                }
                None => {}
                Some(sha256) => match self.sum_of(folder, path) {
                    None => {}
                    Some(Ok((found, bytes))) => {
                        verified.files += 1;
                        verified.bytes += bytes;
                        done += bytes;
                        progressed(done, all);
                        if found != *sha256 {
                            let what = format!("expected SHA-256 {sha256}, found {found}");
                            verified.flaws.push(Mismatch::new(path, Kind::Changed, what));
                        }
                    }
                    Some(Err(cause)) => verified.flaws.push(Mismatch::new(path, Kind::Unreadable, cause.to_string())),
                },
            }
        }
        let parents: BTreeSet<FileName> = self.files.keys().chain(&self.folders).flat_map(FileName::above).collect();
        for path in self.folders.iter().filter(|path| !self.is_passed_over(path) && !folders.contains(path)) {
            verified.flaws.push(Mismatch::new(path, Kind::Missing, "the folder was written, but is missing"));
        }
        for path in folders.iter().filter(|path| !self.is_passed_over(path)) {
            let listed = [&self.folders, &self.may].iter().any(|known| known.contains(*path));
            if !(listed || parents.contains(*path) || self.files.contains_key(*path)) {
                let (what, remedy) = extra(path);
                verified.flaws.push(Mismatch::new(*path, Kind::Extra, what).mended_by(remedy));
            }
        }
        for path in there.iter().filter(|path| !self.is_passed_over(path) && !self.files.contains_key(**path)) {
            let (what, remedy) = extra(path);
            verified.flaws.push(Mismatch::new(*path, Kind::Extra, what).mended_by(remedy));
        }
        for (path, what) in tree.others.iter().filter(|(path, _)| !self.is_passed_over(path)) {
            let what = format!("it is {what}, but only plain files belong here");
            verified.flaws.push(if self.files.contains_key(path) {
                Mismatch::new(path, Kind::Changed, what)
            } else {
                Mismatch::new(path, Kind::Extra, what).mended_by(extra(path).1)
            });
        }
        for path in tree.deep.iter().filter(|path| !self.is_passed_over(path)) {
            let flaw = Mismatch::new(path, Kind::Unreadable, "paths in it are too long to be opened");
            let listed = parents.contains(path) || self.folders.contains(path);
            verified.flaws.push(if listed { flaw } else { flaw.mended_by(extra(path).1) });
        }
    }
}
