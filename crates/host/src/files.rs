//! Files of the machine, read with a size limit.
//!
//! In:  paths.  Out: text, names.
//! Not here: what a file means, files of the archive.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

/// More than any file of `/proc` or `/sys` holds. An image's package list comes nearest, with a few MiB.
pub(super) const LIMIT: u64 = 8 << 20;

/// Initial room of one call: arguments and variables of nearly every program.
const ONE_CALL: usize = 64 << 10;

/// A file as text, invalid bytes replaced, cut off at [`LIMIT`].
pub(super) fn read(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&bytes(path)?).into_owned())
}

/// A file as bytes, cut off at [`LIMIT`].
pub(super) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    // Not blocking, because a named pipe in an image has no other end.
    let mut file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    // Of a process that ends between two calls the kernel shows a beginning and then nothing, as if that were the whole.
    // So what does not fit into the room of one call is read from its beginning with more.
    let mut bytes = vec![0; ONE_CALL];
    let mut filled = 0;
    while filled < LIMIT as usize {
        if filled == bytes.len() {
            bytes.resize((bytes.len() * 4).min(LIMIT as usize), 0);
            // A pipe has no beginning to go back to.
            if file.rewind().is_ok() {
                filled = 0;
            }
        }
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Names in a folder, sorted.
pub(super) fn list(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Writes to a file of the kernel, which is there already: nothing is made, nothing is cut off.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    // One call: the kernel takes each write for a whole value.
    File::options().write(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_testing::Folder;

    #[test]
    fn a_file_is_read_whole_up_to_a_bound_and_a_pipe_holds_nobody() {
        let folder = Folder::new("files");
        fs::write(folder.join("bytes"), b"a\xffb").unwrap();
        assert_eq!(read(&folder.join("bytes")).unwrap(), "a\u{fffd}b");
        assert_eq!(read(Path::new("/dev/zero")).unwrap().len() as u64, LIMIT);
        nix::unistd::mkfifo(&folder.join("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert_eq!(read(&folder.join("pipe")).unwrap(), "");
        assert!(read(&folder).is_err() && read(&folder.join("missing")).is_err());
        assert_eq!(list(&folder).unwrap(), ["bytes", "pipe"]);
        for length in [ONE_CALL - 1, ONE_CALL, ONE_CALL + 1, 5 * ONE_CALL, LIMIT as usize, LIMIT as usize + 1] {
            let text: String = ('a'..='z').cycle().take(length).collect();
            fs::write(folder.join("long"), &text).unwrap();
            let whole = read(&folder.join("long")).unwrap();
            assert!(whole == text[..length.min(LIMIT as usize)], "{length} bytes");
        }
    }

    #[test]
    fn writing_makes_no_file() {
        let folder = Folder::new("files");
        assert_eq!(write(&folder.join("new"), "1").unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(folder.join("old"), "....").unwrap();
        write(&folder.join("old"), "1").unwrap();
        assert_eq!(read(&folder.join("old")).unwrap(), "1...");
    }
}
