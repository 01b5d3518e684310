//! Mounts of the machine: what is mounted at or below a folder, and taking that away.
//!
//! In:  a folder, the table of mounts.  Out: [`Mounted`].
//! Not here: mounts of a root file system (see `guard`), which vanish with their namespace. Which mount may be taken away (see `run`).
//!
//! Source: proc(5), `/proc/pid/mountinfo`. Of each line field 1 is the id, 5 the mount point, and after ` - ` come type and source.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::{Question, ask, files};

/// Mounts as this process sees them.
const TABLE: &str = "/proc/self/mountinfo";

/// No source, no type, no options.
const NONE: Option<&str> = None;

/// Programs that unmount what an ordinary user has mounted by FUSE, newest first.
const FUSE: &[&str] = &["fusermount3", "fusermount"];

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// Number of the kernel. It may be given again once the mount has gone.
    pub id: u64,
    /// Where it is mounted. Absolute, links followed.
    pub at: PathBuf,
    /// Type of the file system: `tmpfs`, `ext4`, `fuse.sshfs` ...
    pub kind: String,
}

/// Mounts at or below a folder, in the order of the table: what carries a mount comes before it. The folder is taken as it is written: a
/// link in its place leads to mounts of others.
pub(super) fn below(folder: &Path) -> io::Result<Vec<Mounted>> {
    Ok(listed(&files::bytes(Path::new(TABLE))?, folder))
}

/// Those of a table. Lines that are cut short are passed over.
pub(super) fn listed(table: &[u8], folder: &Path) -> Vec<Mounted> {
    let text = |field: &[u8]| String::from_utf8_lossy(&plain(field)).into_owned();
    let mounted = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let at = mount_points(line).next()?;
        let kind = text(fields.skip_while(|field| *field != b"-").nth(1)?);
        Some(Mounted { id, at, kind })
    };
    let all = table.split(|byte| *byte == b'\n').filter_map(mounted);
    all.filter(|mounted| mounted.at.starts_with(folder)).collect()
}

/// Takes away what is mounted on a path, with everything mounted below it. No file of it is touched.
///
/// The mount and those below it are made private before. A tree that was bound with `--rbind` may be tied to the place it was taken from,
/// and would take the mounts of that place away with it. See `Documentation/filesystems/sharedsubtree.rst` of Linux.
pub(super) fn unmount(at: &Path) -> io::Result<()> {
    let private = mount(NONE, at, NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE);
    // Lazily: a program that still works there loses the name at once and its files when it ends.
    let done = private.and_then(|()| umount2(at, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW));
    match done {
        Err(Errno::EPERM) if unmounted_by_fuse(at) => Ok(()),
        done => done.map_err(io::Error::from),
    }
}

/// For an ordinary user, who may take away what that same user has mounted by FUSE.
fn unmounted_by_fuse(at: &Path) -> bool {
    let Some(path) = at.to_str() else { return false };
    FUSE.iter().any(|program| {
        let question = Question::new([*program, "-u", "-z", "--", path]);
        ask::ask(&question).is_ok_and(|answer| answer.ok())
    })
}

/// Where things are mounted. Blanks and the like are written in octal.
pub(super) fn mount_points(table: &[u8]) -> impl Iterator<Item = PathBuf> + '_ {
    table.split(|byte| *byte == b'\n').filter_map(|line| {
        let field = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(OsString::from_vec(plain(field))))
    })
}

/// Undoes `\040` and its like.
pub(super) fn plain(field: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = (*first == b'\\').then(|| after.get(..3)).flatten();
        let byte = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match byte {
            Some(byte) => {
                text.push(byte);
                rest = &after[3..];
            }
            None => {
                text.push(*first);
                rest = after;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"22 1 0:21 / /proc rw,relatime - proc proc rw\n\
        40 22 0:50 / /a/run\\040one/m rw,relatime shared:4 - tmpfs x rw\n\
        41 22 8:1 /dir /a/run\\040one/m/deep rw - ext4 /dev/sda1 rw\n\
        42 22 0:51 / /a/run\\040one rw - fuse.sshfs host:/ rw\n\
        43 22 0:52 / /a/run\\040one-and-more rw - tmpfs x rw\n\
        44 22\n";

    #[test]
    fn mounts_at_and_below_a_folder_are_listed_and_no_others() {
        let found = listed(TABLE, Path::new("/a/run one"));
        let shown: Vec<_> = found.iter().map(|one| (one.id, one.at.to_str().unwrap(), one.kind.as_str())).collect();
        assert_eq!(
            shown,
            [(40, "/a/run one/m", "tmpfs"), (41, "/a/run one/m/deep", "ext4"), (42, "/a/run one", "fuse.sshfs")]
        );
        assert_eq!(listed(b"", Path::new("/")), []);
    }

    #[test]
    fn a_path_that_carries_no_mount_is_an_error() {
        let folder = sparkbench_testing::Folder::new("mounts");
        assert!(unmount(&folder).is_err());
        assert!(unmount(&folder.join("missing")).is_err());
        assert_eq!(below(&folder).unwrap(), []);
    }
}
