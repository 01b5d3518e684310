//! Folders with a record of ours.
//!
//! In:  discovered files.  Out: [`Owners`], the archive or the run that a folder belongs to.
//! Not here: what the records say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::above::run_of;
use super::{ancestors, last, parent, plain};
use crate::discover::Discovery;
use crate::manifest::{CAMPAIGN_FILE, JOURNAL_FILE, RUN_FILE, SEAL_FILE};
use crate::read::WHOLE_LIMIT;

/// Begins the hash of a line of a journal.
const CHAIN: &[u8] = b"\"chain\":\"";

/// Folders with a record of ours, by the path that the analysis gives them. The outermost counts: what a program wrote below its own folder
/// cannot speak for the archive.
pub(super) struct Owners {
    pub folders: BTreeMap<String, Owner>,
}

/// One of them.
pub(super) struct Owner {
    pub disk: PathBuf,
    /// Whether the journal or the seal holds hashes. Otherwise only `run.json` can.
    pub is_archive: bool,
}

impl Owners {
    pub(super) fn of(found: &Discovery) -> Self {
        let mut candidates: BTreeMap<(usize, &str), (PathBuf, bool)> = BTreeMap::new();
        for file in found.files.iter().filter(|file| !file.alone) {
            let name = last(&file.path);
            let of_archive = [CAMPAIGN_FILE, JOURNAL_FILE, SEAL_FILE].contains(&name);
            if of_archive || name == RUN_FILE {
                let folder = file.folder();
                let depth = if folder.is_empty() { 0 } else { 1 + folder.matches('/').count() };
                let place = candidates.entry((depth, folder)).or_insert_with(|| (parent(&file.disk), false));
                place.1 |= of_archive;
            }
        }
        let mut owners = Self { folders: BTreeMap::new() };
        for ((_, folder), (disk, of_archive)) in candidates {
            let is_archive = of_archive && has_hashes(&disk);
            let is_run = || run_of(&disk).is_some();
            if owners.owner(folder).is_none() && (is_archive || is_run()) {
                owners.folders.insert(folder.to_owned(), Owner { disk, is_archive });
            }
        }
        owners
    }

    /// The folder with a record in which a folder lies, itself included.
    pub(super) fn owner(&self, folder: &str) -> Option<(&str, &Owner)> {
        ancestors(folder).find_map(|at| self.folders.get_key_value(at)).map(|(at, owner)| (at.as_str(), owner))
    }
}

/// Whether journal or seal of an archive hold hashes, or must: the collector gives an archive its id, and always keeps a journal beside it.
/// Campaigns that a person wrote, and those of very old programs, have neither.
fn has_hashes(folder: &Path) -> bool {
    let has_id = plain(&folder.join(CAMPAIGN_FILE), WHOLE_LIMIT)
        .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
        .is_some_and(|campaign| campaign.get("archive_id").is_some_and(serde_json::Value::is_string));
    if has_id {
        return true;
    }
    let chained = plain(&folder.join(JOURNAL_FILE), WHOLE_LIMIT)
        .is_some_and(|journal| memchr::memmem::find(&journal, CHAIN).is_some());
    chained
        || plain(&folder.join(SEAL_FILE), WHOLE_LIMIT).is_some_and(|seal| memchr::memmem::find(&seal, CHAIN).is_some())
}
