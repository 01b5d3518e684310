//! Adds a line to a journal so that it is on disk before the next step.
//!
//! In:  events and moments.  Out: one write and one sync a line.
//! Not here: which events belong where.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::chain::{self, chained, object};
use super::{Event, Journal, Moment, Tail};
use crate::disk::{expect_plain, never_waits};
use crate::manifest::JOURNAL_FILE;

/// The one who writes a journal.
#[derive(Debug)]
pub struct JournalWriter {
    folder: PathBuf,
    file: File,
    digest: Sha256,
    bytes: u64,
    seq: u64,
    tail: Tail,
    /// A write failed: what is on disk must be examined before the next line.
    doubtful: bool,
}

impl JournalWriter {
    /// Opens the journal of an archive, making it where there is none. The next line repairs a torn one. With `give_up`, lines that were
    /// changed count for nothing: the next line names their bytes as it names torn ones.
    ///
    /// # Errors
    /// When the file cannot be opened or read. When something else is in its place, a link too: lines must not be written elsewhere.
    /// Without `give_up` also when it was changed after it had been written.
    pub fn open(folder: &Path, give_up: bool) -> io::Result<(Self, Journal)> {
        let path = folder.join(JOURNAL_FILE);
        match std::fs::symlink_metadata(&path) {
            Ok(meta) => expect_plain(meta.file_type())?,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(cause),
        }
        let mut options = OpenOptions::new();
        never_waits(options.append(true).create(true));
        let file = options.open(path)?;
        expect_plain(file.metadata()?.file_type())?;
        let mut journal = chain::read(folder)?;
        if let Some(tail) = journal.given_up.take().filter(|_| give_up) {
            journal.tail = tail;
        }
        let mut appender = Self {
            folder: folder.to_owned(),
            file,
            digest: Sha256::new(),
            bytes: 0,
            seq: 0,
            tail: Tail::Whole,
            doubtful: false,
        };
        appender.follow(&journal)?;
        Ok((appender, journal))
    }

    fn follow(&mut self, journal: &Journal) -> io::Result<()> {
        if let Tail::Damaged { line, why } = &journal.tail {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {why}")));
        }
        self.digest = journal.digest.clone();
        self.bytes = journal.bytes;
        self.seq = journal.entries.last().map_or(0, |entry| entry.seq);
        self.tail = journal.tail.clone();
        Ok(())
    }

    /// Checks that the open file is still the one under its name. If the archive was moved or removed meanwhile, runs would be written to
    /// the old place without a journal.
    ///
    /// # Errors
    /// `NotFound` when the name leads to another file or to none.
    pub fn expect_there(&self) -> io::Result<()> {
        let named = std::fs::metadata(self.folder.join(JOURNAL_FILE))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let ours = self.file.metadata()?;
            if (named.dev(), named.ino()) != (ours.dev(), ours.ino()) {
                return Err(io::Error::new(io::ErrorKind::NotFound, "another file has replaced the journal"));
            }
        }
        #[cfg(not(unix))]
        let _ = named;
        Ok(())
    }

    /// Adds a line and syncs it. A torn line before it is closed and named first, in the same write.
    ///
    /// # Errors
    /// When it cannot be written whole. The next call then looks at what is on disk and heals it.
    pub fn append(&mut self, now: Moment, event: &Event) -> io::Result<()> {
        self.expect_there()?;
        if self.doubtful {
            let journal = chain::read(&self.folder)?;
            self.follow(&journal)?;
            self.doubtful = false;
        }
        let mut digest = self.digest.clone();
        let mut seq = self.seq;
        let mut added = Vec::new();
        let mut put = |bytes: &[u8], digest: &mut Sha256| {
            digest.update(bytes);
            added.extend_from_slice(bytes);
        };
        if matches!(self.tail, Tail::Unended | Tail::Torn { ended: false, .. }) {
            put(b"\n", &mut digest);
        }
        let recovered = match &self.tail {
            Tail::Torn { bytes, sha256, .. } => {
                Some(Event::Recovered { torn_bytes: *bytes, torn_sha256: sha256.clone() })
            }
            _ => None,
        };
        for event in recovered.iter().chain([event]) {
            seq += 1;
            let line = chained(&digest, &object(seq, now, event)?);
            put(&line, &mut digest);
        }
        self.doubtful = true;
        self.file.write_all(&added)?;
        self.file.sync_all()?;
        self.doubtful = false;
        (self.digest, self.seq, self.tail) = (digest, seq, Tail::Whole);
        self.bytes += added.len() as u64;
        Ok(())
    }

    /// Bytes of the file so far, and their SHA-256 still open for more.
    pub(crate) fn state(&self) -> (u64, Sha256) {
        (self.bytes, self.digest.clone())
    }
}
