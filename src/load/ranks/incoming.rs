//! Files on their way from a rank to rank 0.
//!
//! In:  the files of a load.  Out: pieces of them; on the other side files without a name, gone with the process.
//! Not here: what becomes of them (see `merge`).

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;

use crate::archive::manifest::REQUESTS_FILE;
use crate::error::{Error, Kind};
use crate::host::meet::Seat;
use crate::load::session::CONVERSATIONS_FILE;
use crate::load::store::{Stored, chunks};

/// Bytes of a piece.
const PIECE: usize = 256 * 1024;

/// Which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// What the summary is counted from, a row each.
    Rows = 0,
    /// `requests.jsonl`.
    Requests = 1,
    /// `chunks.sbc`.
    Chunks = 2,
    /// `conversations.jsonl`.
    Conversations = 3,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rows, Self::Requests, Self::Chunks, Self::Conversations];
}

/// What came of a rank so far.
#[derive(Debug, Default)]
pub struct Incoming {
    files: [Option<File>; Part::ALL.len()],
    failure: Option<io::Error>,
}

impl Incoming {
    /// Takes a piece: its first byte says of which file.
    pub fn take(&mut self, folder: &Path, rank: u32, piece: &[u8]) {
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

    /// One of the files; nothing where the rank sent none.
    ///
    /// # Errors
    /// When not all of what came could be kept.
    pub fn file(&mut self, part: Part) -> Result<Option<File>, Error> {
        match self.failure.take() {
            Some(cause) => Err(Error::archive("cannot keep what another rank measured")
                .hint("free space where the records lie: the archive, or TMPDIR (else /tmp) of a load without one")
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

/// Sends all of them.
///
/// # Errors
/// When one cannot be read, or rank 0 is gone.
pub fn send(seat: &Seat, stored: &mut Stored, folder: &Path) -> Result<(), Error> {
    let mut pieces = BufWriter::with_capacity(PIECE, Pieces { seat, part: Part::Rows });
    stored.rows.copy_to(&mut pieces)?;
    pieces.into_inner().map_err(|_| Error::new(Kind::Workload, "rank 0 is gone"))?;
    for (part, name) in
        [(Part::Requests, REQUESTS_FILE), (Part::Chunks, chunks::FILE), (Part::Conversations, CONVERSATIONS_FILE)]
    {
        let path = folder.join(name);
        if part == Part::Conversations && !path.exists() {
            continue;
        }
        let failed = |cause| Error::archive(format!("cannot send '{}' to rank 0", path.display())).because(cause);
        let mut file = File::open(&path).map_err(failed)?;
        let mut piece = vec![0; PIECE];
        loop {
            let read = file.read(&mut piece).map_err(failed)?;
            if read == 0 {
                break;
            }
            let pieces = &mut Pieces { seat, part };
            pieces.write_all(piece.get(..read).unwrap_or_default()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Each write is a piece, of a bounded length.
struct Pieces<'a> {
    seat: &'a Seat,
    part: Part,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What does not fit into a message is taken the next time.
        let bytes = bytes.get(..PIECE).unwrap_or(bytes);
        let mut piece = Vec::with_capacity(bytes.len() + 1);
        piece.push(self.part as u8);
        piece.extend_from_slice(bytes);
        if self.seat.part(piece) {
            Ok(bytes.len())
        } else {
            Err(io::Error::new(io::ErrorKind::BrokenPipe, "rank 0 is gone"))
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
