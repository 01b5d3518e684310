//! Files on their way from a rank to rank 0.
//!
//! In:  the files of a load.  Out: pieces of them. On the other side, unnamed files that vanish with the process.
//! Not here: joining them (see `merge`).

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use crate::chat::log::CONVERSATIONS_FILE;
use crate::store::{Stored, chunks};
use sparkbench_archive::manifest::REQUESTS_FILE;
use sparkbench_host::meet::Client;
use sparkbench_text::error::{Error, Kind};

/// Bytes of a piece.
const PIECE: usize = 256 * 1024;

/// Which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum RankFile {
    /// Rows from which the summary is counted.
    Rows = 0,
    /// `requests.jsonl`.
    Requests = 1,
    /// `chunks.sbc`.
    Chunks = 2,
    /// `conversations.jsonl`.
    Conversations = 3,
}

impl RankFile {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Rows, Self::Requests, Self::Chunks, Self::Conversations];
}

/// Outcome of a rank so far.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    files: [Option<File>; RankFile::ALL.len()],
    failure: Option<io::Error>,
}

impl Incoming {
    /// Takes a piece: its first byte says of which file.
    pub(super) fn take(&mut self, folder: &Path, rank: u32, piece: &[u8]) {
        let Some((which, bytes)) = piece.split_first() else { return };
        let Some(file) = self.files.get_mut(usize::from(*which)).filter(|_| self.failure.is_none()) else { return };
        let written = match file {
            Some(file) => file.write_all(bytes),
            None => unnamed(folder, rank, *which).and_then(|mut made| {
                made.write_all(bytes)?;
                *file = Some(made);
                Ok(())
            }),
        };
        self.failure = written.err();
    }

    /// One of the files. Nothing where the rank sent none.
    ///
    /// # Errors
    /// When not all of what came could be kept.
    pub(super) fn file(&mut self, part: RankFile) -> Result<Option<File>, Error> {
        match self.failure.take() {
            Some(cause) => Err(Error::archive("cannot keep what another rank measured")
                .hint("free space on the disk of the archive. Without an archive, records are in TMPDIR or /tmp")
                .because(cause)),
            None => Ok(self.files.get_mut(part as usize).and_then(Option::take)),
        }
    }
}

fn unnamed(folder: &Path, rank: u32, which: u8) -> io::Result<File> {
    let path = folder.join(format!(".rank-{rank}-{which}.part"));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// A piece as it came, without the number of its load. Nothing where that is another one.
pub(super) fn of_load(number: u64, piece: &[u8]) -> Option<&[u8]> {
    let (said, piece) = piece.split_first_chunk()?;
    (u64::from_be_bytes(*said) == number).then_some(piece)
}

/// Sends all files of a load, by its number.
///
/// # Errors
/// When one cannot be read, or rank 0 is gone.
pub(super) fn send(client: &Client, number: u64, stored: &mut Stored, folder: &Path) -> Result<(), Error> {
    let pieces = |part| Pieces { client, number, part };
    let mut rows = BufWriter::with_capacity(PIECE, pieces(RankFile::Rows));
    stored.rows.copy_to(&mut rows)?;
    rows.into_inner().map_err(|_| Error::new(Kind::Workload, "rank 0 left the load"))?;
    for (part, name) in [
        (RankFile::Requests, REQUESTS_FILE),
        (RankFile::Chunks, chunks::FILE),
        (RankFile::Conversations, CONVERSATIONS_FILE),
    ] {
        let path = folder.join(name);
        if part == RankFile::Conversations && !path.exists() {
            continue;
        }
        let failed = |cause| Error::archive(format!("cannot send '{}' to rank 0", path.display())).because(cause);
        let mut file = BufReader::with_capacity(PIECE, File::open(&path).map_err(failed)?);
        io::copy(&mut file, &mut pieces(part)).map_err(failed)?;
    }
    Ok(())
}

/// Each write is a piece, of a bounded length.
struct Pieces<'a> {
    client: &'a Client,
    number: u64,
    part: RankFile,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What does not fit into a message is taken the next time.
        let bytes = bytes.get(..PIECE).unwrap_or(bytes);
        let mut piece = Vec::with_capacity(bytes.len() + 9);
        piece.extend_from_slice(&self.number.to_be_bytes());
        piece.push(self.part as u8);
        piece.extend_from_slice(bytes);
        if self.client.part(piece) {
            Ok(bytes.len())
        } else {
            Err(io::Error::new(io::ErrorKind::BrokenPipe, "rank 0 left the load"))
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_another_load_is_none_of_this_one() {
        let piece = [&7_u64.to_be_bytes()[..], &[RankFile::Chunks as u8], b"bytes"].concat();
        assert_eq!(of_load(7, &piece), Some(&[2, b'b', b'y', b't', b'e', b's'][..]));
        assert_eq!(of_load(8, &piece), None);
        assert_eq!(of_load(7, &piece[..5]), None);
    }

    #[test]
    fn pieces_come_together_to_the_files_that_they_are_of() {
        let folder = sparkbench_testing::Folder::new("incoming");
        let mut incoming = Incoming::default();
        for piece in [&b"\x01one "[..], b"\x00rows", b"\x01file", b"", b"\x09nothing"] {
            incoming.take(&folder, 3, piece);
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "files without a name");
        drop(folder);
        let mut text = String::new();
        let mut file = incoming.file(RankFile::Requests).unwrap().unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "one file");
        assert!(incoming.file(RankFile::Conversations).unwrap().is_none());
        incoming.take(Path::new("/nonexistent"), 3, b"\x02chunks");
        assert!(incoming.file(RankFile::Chunks).unwrap_err().to_string().contains("cannot keep"), "it is said once");
    }
}
