//! Durable writes: everything is on disk before the next step, with plain words when that fails.
//!
//! In:  paths and bytes.  Out: synced files and folders, lists and hashes of the files below a folder.
//! Not here: the layout of an archive.

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::Path;

use walkdir::WalkDir;

use super::read::Hashing;
use crate::error::Error;

/// Ends the names of our own files that are still being written. Nothing of that name is ever kept.
pub const ASIDE: &str = ".sparkbench-aside";

/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;

/// Everything below a folder, by path with `/`, sorted. Names that are no UTF-8 are spelled with U+FFFD.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Regular files.
    pub files: Vec<String>,
    /// Folders, the top one not.
    pub folders: Vec<String>,
    /// Links, sockets, devices: path and what it is.
    pub others: Vec<(String, String)>,
}

/// Lists everything below a folder without following links.
pub fn tree(folder: &Path) -> io::Result<Tree> {
    let mut tree = Tree::default();
    for entry in WalkDir::new(folder).min_depth(1).sort_by_file_name() {
        let entry = entry.map_err(io::Error::from)?;
        let below = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        let path = parts.join("/");
        let kind = entry.file_type();
        if kind.is_dir() {
            tree.folders.push(path);
        } else if kind.is_file() {
            tree.files.push(path);
        } else if kind.is_symlink() {
            let to = fs::read_link(entry.path()).map_or_else(|_| String::new(), |to| format!(" to '{}'", to.display()));
            tree.others.push((path, format!("a link{to}")));
        } else {
            tree.others.push((path, "neither a file nor a folder".to_owned()));
        }
    }
    Ok(tree)
}

/// SHA-256 and size of a file.
pub fn sha256_of(path: &Path) -> io::Result<(String, u64)> {
    Hashing::new(BufReader::with_capacity(BUFFER, File::open(path)?)).finish()
}

/// Puts what was written to a file on disk.
pub fn sync_file(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Puts the names in a folder on disk. File systems that cannot do so for a folder keep names in order by themselves.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(path)?.sync_all() {
        Err(cause) if matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

/// Puts a new file in place: written aside, synced, renamed, its folder synced.
pub fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let aside = folder.join(format!(".{name}{ASIDE}"));
    let written = File::create(&aside)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&aside, folder.join(name)));
    match written {
        Ok(()) => sync_folder(folder),
        Err(cause) => {
            // A leftover is removed when the archive is next opened. The first failure is the one to report.
            let _ = fs::remove_file(&aside);
            Err(cause)
        }
    }
}

/// Removes files directly in a folder that were still being written when a crash came.
pub fn clear_asides(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_aside(&entry.file_name().to_string_lossy()) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether a name is that of a file still being written.
pub fn is_aside(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(ASIDE)
}

/// The error for a step that the file system refused. `safe` says what is complete, e.g. `3 runs are complete`.
pub fn trouble(doing: &str, path: &Path, safe: &str, cause: io::Error) -> Error {
    explained(Error::archive(format!("cannot {doing} '{}'", path.display())), cause.kind(), safe).because(cause)
}

/// Adds in plain words what the file system refused, what is safe, and how to go on.
pub fn explained(error: Error, kind: io::ErrorKind, safe: &str) -> Error {
    let again = "continue with --resume";
    let (detail, hint) = match kind {
        io::ErrorKind::StorageFull => ("the disk is full", format!("free space, then {again}")),
        io::ErrorKind::QuotaExceeded => {
            ("the disk quota is used up", format!("free space or raise the quota, then {again}"))
        }
        io::ErrorKind::ReadOnlyFilesystem => (
            "the file system is read-only",
            format!("mount it writable or choose another folder with --archive, then {again}"),
        ),
        io::ErrorKind::PermissionDenied => {
            ("permission is denied", format!("give this user write access to the archive, then {again}"))
        }
        io::ErrorKind::NotFound => {
            ("it is no longer there", format!("move the archive back to its place, then {again}"))
        }
        _ => ("the file system refused", format!("check the disk, then {again}")),
    };
    error.detail(format!("{detail}; {safe}")).hint(hint)
}
