//! Files of the machine, read within bounds.
//!
//! In:  paths.  Out: text, names.
//! Not here: what a file means; files of the archive.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

/// More than any file of `/proc` or `/sys` holds; an image's package list comes nearest, with a few MiB.
pub const LIMIT: u64 = 8 << 20;

/// A file as text, invalid bytes replaced, cut off at [`LIMIT`].
pub fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    // Not blocking: a named pipe in an image has nobody at its other end.
    let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    file.take(LIMIT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Names in a folder, sorted.
pub fn list(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Writes to a file of the kernel, which is there already: nothing is made, nothing is cut off.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    // One call: the kernel takes each write for a whole value.
    File::options().write(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("sparkbench-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_file_is_read_whole_up_to_a_bound_and_a_pipe_holds_nobody() {
        let folder = folder("read");
        fs::write(folder.join("bytes"), b"a\xffb").unwrap();
        assert_eq!(read(&folder.join("bytes")).unwrap(), "a\u{fffd}b");
        assert_eq!(read(Path::new("/dev/zero")).unwrap().len() as u64, LIMIT);
        nix::unistd::mkfifo(&folder.join("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert_eq!(read(&folder.join("pipe")).unwrap(), "");
        assert!(read(&folder).is_err() && read(&folder.join("missing")).is_err());
        assert_eq!(list(&folder).unwrap(), ["bytes", "pipe"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn writing_makes_no_file() {
        let folder = folder("write");
        assert_eq!(write(&folder.join("new"), "1").unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(folder.join("old"), "....").unwrap();
        write(&folder.join("old"), "1").unwrap();
        assert_eq!(read(&folder.join("old")).unwrap(), "1...");
        fs::remove_dir_all(folder).unwrap();
    }
}
