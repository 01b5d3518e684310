//! Masks everything below a folder: the contents of files and their names.
//!
//! In:  a folder that nobody else writes to.  Out: the same folder, and counts of replacements by kind.
//! Not here: files that are not kept (see `retain`).

use std::fs;
use std::io;
use std::path::Path;

use super::{Mask, Masked, Tally, count};
use crate::archive::disk;

/// Changes to a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Files that are no text and in which secrets were overwritten, below the folder.
    pub blotted: Vec<String>,
    /// Files that could not be read or rewritten for lack of permission, below the folder.
    pub unread: Vec<String>,
}

impl Mask {
    /// Replaces in every file below a folder, and in the names of files and folders. Links are left alone.
    ///
    /// # Errors
    /// Errors of the file system. What was replaced stays replaced, and the call can be made again.
    pub fn folder(&self, folder: &Path, tally: &mut Tally) -> io::Result<Swept> {
        let mut swept = Swept::default();
        self.rename(folder, tally)?;
        for path in disk::tree(folder)?.files {
            match self.file(&folder.join(&path), tally) {
                Ok(Masked::Blotted) => swept.blotted.push(path),
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => swept.unread.push(path),
                Err(cause) => return Err(cause),
            }
        }
        Ok(swept)
    }

    /// Names first from the depth, so that paths stay true while their folders change. Names that are no UTF-8 become text.
    fn rename(&self, folder: &Path, tally: &mut Tally) -> io::Result<()> {
        for entry in walkdir::WalkDir::new(folder).min_depth(1).contents_first(true).sort_by_file_name() {
            let entry = entry.map_err(io::Error::from)?;
            let old = entry.file_name();
            let spoken = old.to_str().map_or_else(|| escaped(old.as_encoded_bytes()), str::to_owned);
            if spoken.as_bytes() != old.as_encoded_bytes() {
                count(tally, "file-name");
            }
            let new = self.text(&spoken, tally).replace('/', "_");
            if new.as_bytes() != old.as_encoded_bytes() {
                fs::rename(entry.path(), free(&entry.path().with_file_name(new)))?;
            }
        }
        Ok(())
    }
}

/// Bytes that are no UTF-8 as `%XX`.
fn escaped(name: &[u8]) -> String {
    let parts = name.utf8_chunks().map(|chunk| {
        let odd: String = chunk.invalid().iter().map(|byte| format!("%{byte:02X}")).collect();
        format!("{}{odd}", chunk.valid())
    });
    parts.collect()
}

/// The path itself, or with a number behind it where something is there.
fn free(path: &Path) -> std::path::PathBuf {
    let mut candidate = path.to_owned();
    let mut number = 2u32;
    while fs::symlink_metadata(&candidate).is_ok() {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{number}"));
        candidate = path.with_file_name(name);
        number += 1;
    }
    candidate
}
