//! Durable writes: everything is on disk before the next step, with plain words when that fails.
//!
//! In:  paths and bytes.  Out: synced files and folders, plain files opened, lists and hashes of the files below a folder.
//! Not here: the layout of an archive.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::mounts;
use super::name::{FileName, shown};
use super::read::Hashing;
use sparkbench_text::error::Error;

/// Ends the names of our own files that are still being written. Nothing of that name is ever kept.
pub const ASIDE: &str = ".sparkbench-aside";

/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;

/// Longest path that is opened, bytes. Linux takes 4095. The rest is for the name of the run's own folder, which gets longer when it is set
/// aside.
const PATH_MOST: usize = 4095 - 64;

/// Begins the names of folders that were moved by [`lift`].
const LIFTED: &str = "deep";

/// Everything below a folder, sorted.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Regular files.
    pub files: Vec<FileName>,
    /// Folders, the top one not.
    pub folders: Vec<FileName>,
    /// Links, sockets, devices: path and what it is.
    pub others: Vec<(FileName, String)>,
    /// Folders that hold something with a path too long to be opened. It is not listed itself. See [`lift`].
    pub deep: BTreeSet<FileName>,
    /// Where a file system is mounted, with its type. What lies in it is not listed.
    pub mounted: Vec<(FileName, String)>,
}

/// How far below an archive a file system may be mounted that belongs to it: a disk of its own for all runs, or for one of them.
const DISKS: usize = 2;

/// Lists everything below a folder of a run, without following links and without entering what is mounted there: that is not the run's.
///
/// # Errors
/// Errors of the file system. When something is mounted on the folder itself, which hides the run.
pub fn tree(folder: &Path) -> io::Result<Tree> {
    let mounted = mounts::below(folder)?;
    match mounted.get(folder) {
        Some(kind) => Err(io::Error::other(format!("a file system ({kind}) is mounted on it: unmount it"))),
        None => listed(folder, &mounted),
    }
}

/// Lists everything below an archive or a site, in the same way. Disks of its own are entered.
///
/// # Errors
/// Errors of the file system.
pub fn whole_tree(folder: &Path) -> io::Result<Tree> {
    let mut mounted = mounts::below(folder)?;
    mounted.retain(|at, _| at.strip_prefix(folder).is_ok_and(|below| below.components().count() > DISKS));
    listed(folder, &mounted)
}

fn listed(folder: &Path, mounted: &BTreeMap<PathBuf, String>) -> io::Result<Tree> {
    let mut tree = Tree::default();
    let mut walker = WalkDir::new(folder).min_depth(1).sort_by_file_name().into_iter();
    while let Some(entry) = walker.next() {
        let entry = entry.map_err(io::Error::from)?;
        let path = FileName::below(folder, entry.path());
        let kind = entry.file_type();
        if let Some(what) = mounted.get(entry.path()) {
            tree.mounted.push((path, what.clone()));
            if kind.is_dir() {
                walker.skip_current_dir();
            }
            continue;
        }
        // Nothing is gained by moving what lies at the top already, or in a folder there.
        if entry.depth() > 2 && entry.path().as_os_str().len() > PATH_MOST {
            tree.deep.extend(entry.path().parent().map(|parent| FileName::below(folder, parent)));
            if kind.is_dir() {
                walker.skip_current_dir();
            }
        } else if kind.is_dir() {
            tree.folders.push(path);
        } else if kind.is_file() {
            tree.files.push(path);
        } else if kind.is_symlink() {
            let to = fs::read_link(entry.path()).map_or_else(|_| String::new(), |to| format!(" to '{}'", shown(&to)));
            tree.others.push((path, format!("a link{to}")));
        } else {
            tree.others.push((path, not_plain(kind).unwrap_or("no plain file").to_owned()));
        }
    }
    Ok(tree)
}

/// Moves folders whose contents have paths too long to be opened to the top of `folder`, as `deep-1` and so on. A program that enters one
/// folder after the other can make such paths. Gives the old and the new name of each.
pub fn lift(folder: &Path) -> io::Result<Vec<(FileName, FileName)>> {
    if fs::symlink_metadata(folder)?.is_symlink() {
        // Whatever it leads to would be taken for the run, and everything that follows changes files.
        return Err(io::Error::other("a link was put in its place"));
    }
    let mut lifted = Vec::new();
    let mut number = 0u32;
    loop {
        let deep = tree(folder)?.deep;
        if deep.is_empty() {
            return Ok(lifted);
        }
        // From the inside out: the path of a folder is no longer true once one above it was moved.
        for old in deep.into_iter().rev() {
            let new = loop {
                number += 1;
                let new = FileName::from(format!("{LIFTED}-{number}"));
                if fs::symlink_metadata(folder.join(&new)).is_err() {
                    break new;
                }
            };
            fs::rename(folder.join(&old), folder.join(&new))?;
            lifted.push((old, new));
        }
    }
}

/// What something is that is no plain file, e.g. `a pipe`. Absent for a plain file.
pub fn not_plain(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_block_device() || kind.is_char_device() {
            return Some("a device");
        }
    }
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        kind if kind.is_symlink() => Some("a link"),
        _ => Some("something else"),
    }
}

/// Demands a plain file.
///
/// # Errors
/// `InvalidData` for anything else, with what it is: `it is a pipe, not a file`.
pub(super) fn expect_plain(kind: FileType) -> io::Result<()> {
    match not_plain(kind) {
        None => Ok(()),
        Some(what) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("it is {what}, not a file"))),
    }
}

/// Opens a file of an archive for reading. Every path that others can put something at is opened so: a pipe would be waited for without end,
/// and a device can be endless. Links are followed.
///
/// # Errors
/// `InvalidData` for what is no plain file, with what it is. Other errors of the file system.
pub fn open_plain(path: &Path) -> io::Result<File> {
    // Asked first, because opening a device can do something to it.
    expect_plain(fs::metadata(path).map_err(|cause| of_link(path, cause))?.file_type())?;
    let mut options = OpenOptions::new();
    never_waits(options.read(true));
    let file = options.open(path)?;
    // Somebody can have put something else there in between.
    expect_plain(file.metadata()?.file_type())?;
    Ok(file)
}

/// A link that leads to nothing or to itself is no file, as other links to nothing plain.
fn of_link(path: &Path, cause: io::Error) -> io::Error {
    let what = match fs::read_link(path) {
        Ok(_) if is_loop(&cause) => "a link that leads to itself".to_owned(),
        Ok(to) if cause.kind() == io::ErrorKind::NotFound => {
            format!("a link to '{}', which does not exist", shown(&to))
        }
        _ => return cause,
    };
    io::Error::new(io::ErrorKind::InvalidData, format!("it is {what}, not a file"))
}

#[cfg(target_os = "linux")]
fn is_loop(cause: &io::Error) -> bool {
    use nix::errno::Errno;
    cause.raw_os_error().map(Errno::from_raw) == Some(Errno::ELOOP)
}

/// Other systems have another number for it, or none.
#[cfg(not(target_os = "linux"))]
fn is_loop(_cause: &io::Error) -> bool {
    false
}

/// An open that does not wait for the other end of a pipe. For plain files it changes nothing.
pub(super) fn never_waits(options: &mut OpenOptions) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
    }
    #[cfg(not(target_os = "linux"))]
    let _ = options;
}

/// Opens a pipe or a device for writing. A pipe that nobody reads is not waited for. Writes to one that is read wait as usual.
///
/// # Errors
/// `NotConnected` for a pipe that nobody reads. Other errors of the file system.
pub(super) fn open_special(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    never_waits(options.write(true));
    let file = options.open(path);
    #[cfg(target_os = "linux")]
    {
        use nix::errno::Errno;
        use nix::fcntl::{F_GETFL, F_SETFL, OFlag, fcntl};
        if file.as_ref().is_err_and(|cause| cause.raw_os_error() == Some(Errno::ENXIO as i32)) {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "nothing reads from the other end of it"));
        }
        if let Ok(file) = &file {
            let flags = OFlag::from_bits_retain(fcntl(file, F_GETFL)?) - OFlag::O_NONBLOCK;
            fcntl(file, F_SETFL(flags))?;
        }
    }
    file
}

/// The bytes of a file of an archive.
///
/// # Errors
/// Like [`open_plain`].
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// SHA-256 and size of a file.
///
/// # Errors
/// Like [`open_plain`].
pub fn sha256_of(path: &Path) -> io::Result<(String, u64)> {
    Hashing::new(BufReader::with_capacity(BUFFER, open_plain(path)?)).finish()
}

/// Puts what was written to a file on disk.
pub fn sync_file(path: &Path) -> io::Result<()> {
    open_plain(path)?.sync_all()
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
        if is_aside(entry.file_name().as_encoded_bytes()) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether a name is that of a file still being written.
pub fn is_aside(name: impl AsRef<[u8]>) -> bool {
    let name = name.as_ref();
    name.starts_with(b".") && name.ends_with(ASIDE.as_bytes())
}

/// The error for a step that the file system refused. `safe` says what is complete, e.g. `3 runs are complete`.
pub fn trouble(doing: &str, path: &Path, safe: &str, cause: io::Error) -> Error {
    let (detail, hint) = refusal(&cause);
    Error::archive(format!("cannot {doing} '{}'", shown(path)))
        .detail(format!("{detail}; {safe}"))
        .hint(hint)
        .because(cause)
}

/// Whether rights are not what is missing, as with a file that `chattr +i` has made immutable. Rust has one kind of error for both.
pub(crate) fn is_fixed(cause: &io::Error) -> bool {
    cause.raw_os_error() == Some(NOT_PERMITTED)
}

/// The number of `EPERM` on every Unix. A lack of rights is `EACCES`.
const NOT_PERMITTED: i32 = 1;

/// What the file system refused, in plain words, and how to go on.
pub(crate) fn refusal(cause: &io::Error) -> (&'static str, String) {
    let again = "continue with --resume";
    match cause.kind() {
        io::ErrorKind::StorageFull => ("the disk is full", format!("free space, then {again}")),
        io::ErrorKind::QuotaExceeded => {
            ("the disk quota is used up", format!("free space or raise the quota, then {again}"))
        }
        io::ErrorKind::ReadOnlyFilesystem => (
            "the file system is read-only",
            format!("mount it writable or choose another folder with --archive, then {again}"),
        ),
        io::ErrorKind::PermissionDenied if is_fixed(cause) => {
            let look =
                "look for the letters i and a in 'lsattr -aR ARCHIVE', take them away with 'chattr -i -a' as root";
            ("the file system forbids the change", format!("{look}, then {again}"))
        }
        io::ErrorKind::PermissionDenied => {
            ("permission is denied", format!("give this user write access to the archive, then {again}"))
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            ("something that is no folder is in the way", "give another folder with --archive".to_owned())
        }
        io::ErrorKind::NotFound => {
            let hint =
                "move the archive back to its place, or unmount what was mounted over it ('findmnt' lists mounts)";
            ("it is no longer there", format!("{hint}, then {again}"))
        }
        _ => ("the file system refused", format!("check the disk, then {again}")),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_leads_to_itself_is_no_file_and_is_told_from_one_to_nothing() {
        let folder = sparkbench_testing::Folder::new("disk-loop");
        let (circle, nothing) = (folder.join("circle"), folder.join("nothing"));
        symlink("circle", &circle).unwrap();
        symlink("no-such-file", &nothing).unwrap();
        let error = open_plain(&circle).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(error.to_string(), "it is a link that leads to itself, not a file");
        let error = open_plain(&nothing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(error.to_string(), "it is a link to 'no-such-file', which does not exist, not a file");
        assert_eq!(open_plain(&folder.join("absent")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
