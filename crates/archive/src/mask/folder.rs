//! Masks everything below a folder: the contents of files and their names.
//!
//! In:  a folder that nobody else writes to.  Out: the same folder, and counts of replacements by kind.
//! Not here: files that are not kept (see `retain`).

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Mask, Masked, Tally, packed, stream};
use crate::FileName;
use crate::disk::{self, Tree};

/// Longest name on the file systems of Linux, bytes (`NAME_MAX`).
const NAME_MOST: usize = 255;

/// Changes to a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Old and new names of folders that were moved, because with new names paths in them were too long.
    pub moved: Vec<(FileName, FileName)>,
    /// Files that are no text and in which secrets were overwritten, below the folder.
    pub blotted: Vec<String>,
    /// Files that are packed, so that nothing was searched in them, with their form.
    pub packed: Vec<(FileName, &'static str)>,
    /// Files that could not be read or rewritten for lack of permission, below the folder.
    pub unread: Vec<String>,
}

impl Mask {
    /// Replaces in every file below a folder, and in the names of files and folders. Links are left alone.
    ///
    /// # Errors
    /// Errors of the file system. What was replaced stays replaced, and the call can be made again.
    pub fn folder(&self, folder: &Path, tally: &mut Tally) -> io::Result<Swept> {
        self.rename(folder, tally)?;
        // A longer name can have made a path too long, and what cannot be opened is not masked.
        let mut swept = Swept { moved: disk::lift(folder)?, ..Swept::default() };
        for path in disk::tree(folder)?.files {
            match self.file(&folder.join(&path), tally) {
                Ok(done) => {
                    if done == Masked::Blotted {
                        swept.blotted.push(path.to_string());
                    }
                    let form = packed::form(&stream::head(&folder.join(&path))?);
                    swept.packed.extend(form.map(|form| (path, form)));
                }
                Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied && !disk::is_fixed(&cause) => {
                    swept.unread.push(path.to_string());
                }
                Err(cause) => return Err(cause),
            }
        }
        Ok(swept)
    }

    /// Names first from the depth, so that paths stay true while their folders change. Names that are no UTF-8 stay so.
    fn rename(&self, folder: &Path, tally: &mut Tally) -> io::Result<()> {
        // As listed, so that nothing is renamed in what is mounted there.
        let Tree { files, folders, others, .. } = disk::tree(folder)?;
        let mut names: Vec<FileName> =
            files.into_iter().chain(folders).chain(others.into_iter().map(|(name, _)| name)).collect();
        names.sort_by_cached_key(|name| (Reverse(name.above().count()), name.clone()));
        for name in names {
            let (path, old) = (folder.join(&name), name.last());
            let mut new = self.bytes(old, tally);
            if new == old {
                continue;
            }
            new.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'_');
            if let Some(folder) = path.parent() {
                fs::rename(&path, free(folder, &new))?;
            }
        }
        Ok(())
    }
}

/// The path of a name in a folder, with a number behind it where something is there. What replaces a word can be longer than the word, so
/// the name is cut where it gets too long.
fn free(folder: &Path, name: &[u8]) -> PathBuf {
    let with = |end: &str| {
        let mut most = NAME_MOST - end.len();
        // No letter is cut in two.
        if let Ok(text) = std::str::from_utf8(name) {
            while !text.is_char_boundary(most.min(text.len())) {
                most -= 1;
            }
        }
        let name = name.get(..most).unwrap_or(name);
        folder.join(FileName::new([name, end.as_bytes()].concat()))
    };
    let mut candidate = with("");
    let mut number = 2u32;
    while fs::symlink_metadata(&candidate).is_ok() {
        candidate = with(&format!(".{number}"));
        number += 1;
    }
    candidate
}
