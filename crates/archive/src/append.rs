//! Writes a text file line by line. Each line leaves this process before the next is written.
//!
//! In:  a path, lines.  Out: a file that holds whole lines only, even after a crash.
//! Not here: what the lines say, files written in one piece (see `write`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::shown;
use sparkbench_text::error::Error;

/// A file that grows.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    /// Length up to the last whole line.
    good: u64,
}

impl Appender {
    /// A new file. Nothing may be there yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|cause| failed(path, cause))?;
        Ok(Self { file, path: path.to_owned(), good: 0 })
    }

    /// Adds a line in one write, so that a crash of ours leaves it whole or not at all. A line that does not fit on the disk is taken back.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn line(&mut self, text: &str) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(b'\n');
        if let Err(cause) = self.file.write_all(&bytes) {
            // Where the beginning cannot be taken back either, readers pass over a line that is cut short.
            let _ = self.take_back();
            return Err(failed(&self.path, cause));
        }
        self.good += bytes.len() as u64;
        Ok(())
    }

    /// Everything on disk.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn sync(&self) -> Result<(), Error> {
        self.file.sync_all().map_err(|cause| failed(&self.path, cause))
    }

    /// For tests, here and in the crates above: a disk without room, `/dev/full`, where the machine has it. It is the device `/dev/full`,
    /// where the machine has it.
    #[doc(hidden)]
    #[allow(dead_code, reason = "for tests, which meet a full disk with it")]
    pub fn on_full_device() -> Option<Self> {
        let path = Path::new("/dev/full");
        let file = OpenOptions::new().write(true).open(path).ok()?;
        Some(Self { file, path: path.to_owned(), good: 0 })
    }

    fn take_back(&mut self) -> io::Result<()> {
        use std::io::{Seek as _, SeekFrom};
        self.file.set_len(self.good)?;
        self.file.seek(SeekFrom::Start(self.good)).map(|_| ())
    }
}

fn failed(path: &Path, cause: io::Error) -> Error {
    Error::archive(format!("cannot write '{}'", shown(path)))
        .hint("check that the folder exists, is writable and its disk has free space")
        .because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_there_at_once_and_a_file_is_never_begun_twice() {
        let folder = sparkbench_testing::Folder::new("append");
        let path = folder.join("a.csv");
        let mut file = Appender::create(&path).unwrap();
        file.line("one").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
        file.line("two").unwrap();
        file.sync().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let error = Appender::create(&path).unwrap_err();
        assert!(error.what.starts_with("cannot write"), "{error}");
    }

    #[test]
    fn a_full_disk_is_an_error_and_not_a_torn_line() {
        let Some(mut file) = Appender::on_full_device() else {
            eprintln!("skipped: no /dev/full");
            return;
        };
        let error = file.line("one").unwrap_err();
        assert!(error.to_string().contains("No space left on device"), "{error}");
        assert_eq!(file.good, 0);
    }
}
