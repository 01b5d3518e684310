//! Whether reading what a person named comes to an end.
//!
//! In:  a path.  Out: nothing, or why it is not opened.
//! Not here: what is in the file, the limit of what is read of a pipe.

use std::fs::{self, Metadata};
use std::path::Path;

use super::name::shown;
use sparkbench_text::error::Error;

/// What to do with what is not read as it is.
pub const REMEDY: &str = "write its content to a file, and give that file";

/// Refuses what is neither a file nor a folder. Whoever opens a named pipe waits for a writer who may never come, and a device may have no
/// end. A pipe that a shell hands over, such as `<(...)`, is open already and passes. So does a path that cannot be examined: opening it
/// tells why.
///
/// # Errors
/// When it is refused.
pub fn refuse_endless(path: &Path) -> Result<(), Error> {
    let Ok(meta) = fs::metadata(path) else { return Ok(()) };
    if meta.is_file() || meta.is_dir() || is_handed_over(path, &meta) {
        return Ok(());
    }
    Err(Error::archive(format!("'{}' is not a regular file", shown(path)))
        .detail("a named pipe or a device may never end")
        .hint(REMEDY))
}

/// Whether it is a pipe without a name on the disk: its entry among the open files of this process leads to no path.
#[cfg(unix)]
fn is_handed_over(path: &Path, meta: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    meta.file_type().is_fifo() && fs::canonicalize(path).is_err()
}

/// Elsewhere a shell hands over no pipe by a path.
#[cfg(not(unix))]
fn is_handed_over(_: &Path, _: &Metadata) -> bool {
    false
}
