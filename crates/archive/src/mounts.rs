//! File systems that are mounted below a folder: what lies in them belongs to nobody's run, so nobody walks into them.
//!
//! In:  a folder.  Out: mount points, with the type of what is mounted.
//! Not here: taking mounts away (see `host`).
//!
//! A run's program may mount what it likes into its own folder, the machine's whole file system included. The device number does not tell:
//! a folder of the same file system can be mounted too. So the kernel's own table is asked.
//!
//! Source: proc(5), `/proc/pid/mountinfo`. Field 5 of a line is the mount point, with blanks in octal, and after ` - ` comes the type.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::FileName;

/// Mounts as this process sees them. Absent on other systems.
const TABLE: &str = "/proc/self/mountinfo";

/// Mount points at and below a folder, as paths that begin with `folder` as it is written, with the type of the uppermost file system.
pub(super) fn below(folder: &Path) -> io::Result<BTreeMap<PathBuf, String>> {
    let table = match fs::read(TABLE) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        table => table?,
    };
    // The table holds paths without links.
    let real = folder.canonicalize()?;
    let found = points(&table).filter_map(|(at, kind)| {
        let at: &Path = at.as_ref();
        let below = at.strip_prefix(&real).ok()?;
        Some((if below.as_os_str().is_empty() { folder.to_path_buf() } else { folder.join(below) }, kind))
    });
    Ok(found.collect())
}

/// Every mount point of a table, in its order. Lines that are cut short are passed over.
fn points(table: &[u8]) -> impl Iterator<Item = (FileName, String)> + '_ {
    table.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ');
        let at = FileName::new(plain(fields.nth(4)?));
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        Some((at, String::from_utf8_lossy(kind).into_owned()))
    })
}

/// Undoes `\040` and its like.
fn plain(field: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = (*first == b'\\').then(|| after.get(..3)).flatten();
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        text.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_types() {
        let table = b"22 1 0:21 / /proc rw,relatime - proc proc rw\n40 22 0:50 / /a/b\\040c\\134 rw shared:4 - tmpfs x rw\n1 2\n";
        let found: Vec<_> = points(table).collect();
        assert_eq!(
            found,
            [(FileName::from("/proc"), "proc".to_owned()), (FileName::from("/a/b c\\"), "tmpfs".to_owned())]
        );
    }

    #[test]
    fn a_folder_without_mounts_has_none() {
        let folder = sparkbench_testing::Folder::new("no-mounts");
        assert_eq!(below(&folder).unwrap(), BTreeMap::new());
        assert!(below(&folder.join("missing")).is_err() || !Path::new(TABLE).exists());
    }
}
