//! Records what the engine receives while it goes on: `requests.jsonl`, `chunks.sbc`, and one row for each request for the summary.
//!
//! In:  records and chunks, on the engine's thread.  Out: the two files, and [`Stored`], from which `load::summary` counts.
//! Not here: any figure, the archive's other files.
//!
//! The engine only copies into a batch. A full batch goes through a bounded queue to a thread that encodes and writes. Its emptied buffers
//! come back through another. If that thread falls behind by the whole queue, the engine has to wait for it. So memory stays bounded and
//! nothing is lost. But a client that waits cannot judge a server, so every wait is counted ([`Stored::waits`]) and shown in the
//! certificate. A disk that fails does not stop the load either. The rest is lost, and [`Stored::failure`] is the error.
//!
//! Chunks of a request are gathered into blocks of 128 before they are written, so that the head of a block costs little. Nothing else is
//! kept for each request in flight: some 3 KiB. The files grow with the run, and memory by four bytes for each request at the end.

pub mod chunks;
mod line;
mod rows;
mod thread;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

pub use self::line::wire;
pub use self::rows::{RequestRow, Rows};
use self::thread::StoreWriter;
use super::order::{Chunk, Record, Sink};
use sparkbench_archive::manifest::REQUESTS_FILE;
use sparkbench_host::net::{self, Ns};
use sparkbench_text::error::Error;

/// Limit for the chunks of a block. Beyond a hundred the block's head of 30 bytes is a quarter of a byte for each chunk. Ten thousand
/// streams still take only 30 MB.
const BLOCK: usize = 128;
/// Chunks of a batch: a switch of threads for every few thousand tokens.
const BATCH_CHUNKS: usize = 4096;
/// Requests of a batch.
const BATCH_RECORDS: usize = 64;
/// A batch is handed over at the latest when what it holds spans this time: what is on disk is never far behind.
const BATCH_NS: u64 = 200_000_000;
/// Batches that may wait: half a million chunks, 12 MB.
const QUEUE: usize = 128;
/// Emptied batches that are kept for use again.
const SPARE: usize = 8;

/// A batch of events of the engine, in order.
#[derive(Debug, Default)]
struct Batch {
    parts: Vec<Part>,
    chunks: Vec<Chunk>,
    ended: Vec<Ended>,
}

/// Chunks of one request within a batch.
#[derive(Debug, Clone, Copy)]
struct Part {
    index: u64,
    first: u32,
    count: u32,
}

/// A request that ended, and the number of parts of the batch before its end.
#[derive(Debug)]
struct Ended {
    after: usize,
    record: Record,
    /// When the engine said so: the end of a request that has no end of its own (a time-out).
    at: Ns,
}

impl Batch {
    fn clear(&mut self) {
        self.parts.clear();
        self.chunks.clear();
        self.ended.clear();
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.ended.is_empty()
    }
}

/// Where the files of a load go.
#[derive(Debug)]
pub struct Store;

impl Store {
    /// Makes `requests.jsonl` and `chunks.sbc` in a folder that is there, and starts the thread that fills them. All times in the files
    /// count from `origin`.
    ///
    /// # Errors
    /// When a file is there already or cannot be made.
    pub fn begin(folder: &Path, origin: Ns) -> Result<(StoreSink, StoreHandle), Error> {
        let requests = create(&folder.join(REQUESTS_FILE), false)?;
        let chunks = create(&folder.join(chunks::FILE), false)?;
        Self::start(folder, Some(requests), chunks, origin)
    }

    /// Like [`Store::begin`], for a load without wanted files. The chunks go to an unnamed file in `folder`, because the summary is counted
    /// from them.
    ///
    /// # Errors
    /// When the file cannot be made.
    #[cfg(test)]
    pub fn scratch(folder: &Path, origin: Ns) -> Result<(StoreSink, StoreHandle), Error> {
        let chunks = create(&folder.join(format!(".chunks-{origin:x}.part")), true)?;
        Self::start(folder, None, chunks, origin)
    }

    fn start(
        folder: &Path,
        requests: Option<File>,
        chunks: File,
        origin: Ns,
    ) -> Result<(StoreSink, StoreHandle), Error> {
        let spill = folder.join(format!(".rows-{origin:x}.part"));
        let rows = Rows::new(move || create(&spill, true));
        let (sender, batches) = sync_channel(QUEUE);
        let (give_back, spare) = sync_channel(SPARE);
        let failed = Arc::new(AtomicBool::new(false));
        let writer = StoreWriter::new(requests, chunks, rows, origin, Arc::clone(&failed));
        let thread =
            std::thread::Builder::new()
                .name("store".into())
                .spawn(move || writer.run(&batches, &give_back))
                .map_err(|cause| Error::archive("cannot start the thread that writes the records").because(cause))?;
        let sink = StoreSink {
            batch: Batch::default(),
            began: None,
            sender,
            spare,
            waits: 0,
            waited: 0,
            longest: 0,
            lost: false,
        };
        Ok((sink, StoreHandle { thread, failed }))
    }
}

/// A new file to write and read. Without a name where it is temporary.
fn create(path: &PathBuf, unnamed: bool) -> Result<File, Error> {
    let failed = |cause: io::Error| {
        let exists = cause.kind() == io::ErrorKind::AlreadyExists;
        Error::archive(format!("cannot create '{}'", path.display()))
            .hint(if exists {
                "choose a folder without records of another load"
            } else {
                "check that the folder is writable and its disk has free space"
            })
            .because(cause)
    };
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(failed)?;
    if unnamed {
        std::fs::remove_file(path).map_err(failed)?;
    }
    Ok(file)
}

/// The engine's side.
#[derive(Debug)]
pub struct StoreSink {
    batch: Batch,
    /// Time of the first thing in the batch.
    began: Option<Ns>,
    sender: SyncSender<Batch>,
    spare: Receiver<Batch>,
    waits: u64,
    waited: Ns,
    longest: Ns,
    lost: bool,
}

impl StoreSink {
    fn hand_over(&mut self) {
        let fresh = self.spare.try_recv().unwrap_or_default();
        let full = std::mem::replace(&mut self.batch, fresh);
        self.began = None;
        if full.is_empty() {
            return;
        }
        match self.sender.try_send(full) {
            Ok(()) => {}
            Err(TrySendError::Full(full)) => {
                let began = net::now();
                self.lost |= self.sender.send(full).is_err();
                let waited = net::now().saturating_sub(began);
                self.waits += 1;
                self.waited += waited;
                self.longest = self.longest.max(waited);
            }
            Err(TrySendError::Disconnected(_)) => self.lost = true,
        }
    }

    fn ready(&mut self, at: Ns) {
        let began = *self.began.get_or_insert(at);
        let due = at.saturating_sub(began) >= BATCH_NS;
        if due || self.batch.chunks.len() >= BATCH_CHUNKS || self.batch.ended.len() >= BATCH_RECORDS {
            self.hand_over();
        }
    }
}

impl Sink for StoreSink {
    fn chunks(&mut self, index: u64, first: u32, chunks: &[Chunk]) {
        let Some(last) = chunks.last() else { return };
        self.batch.parts.push(Part { index, first, count: chunks.len() as u32 });
        self.batch.chunks.extend_from_slice(chunks);
        self.ready(last.at);
    }

    fn ended(&mut self, record: Record) {
        let at = net::now();
        self.batch.ended.push(Ended { after: self.batch.parts.len(), record, at });
        self.ready(at);
    }
}

/// The other side: waits for the thread and takes what it counted.
#[derive(Debug)]
pub struct StoreHandle {
    thread: std::thread::JoinHandle<Result<Stored, Error>>,
    failed: Arc<AtomicBool>,
}

impl StoreHandle {
    /// Whether writing has failed: the load may as well stop, [`StoreHandle::finish`] says why.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Writes what is left, ends the files, and gives the tally. What could not be written is in [`Stored::failure`], with the tally up to
    /// that moment.
    ///
    /// # Errors
    /// When the thread that writes is gone.
    pub fn finish(self, mut sink: StoreSink) -> Result<Stored, Error> {
        sink.hand_over();
        let (waits, waited, longest, lost) = (sink.waits, sink.waited, sink.longest, sink.lost);
        drop(sink);
        let gone = || Error::archive("the thread that writes the records has ended on its own");
        let mut stored = self.thread.join().map_err(|_| gone())??;
        if lost {
            return Err(gone());
        }
        (stored.waits, stored.waited_s, stored.longest_wait_s) = (waits, waited as f64 / 1e9, longest as f64 / 1e9);
        Ok(stored)
    }
}

/// The written data, from which the summary is counted.
#[derive(Debug)]
pub struct Stored {
    /// The moment from which the files count.
    pub origin: Ns,
    /// Requests of every part of the load.
    pub requests: u64,
    /// Chunks of all of them.
    pub chunks: u64,
    /// Size of `chunks.sbc`.
    pub chunk_bytes: u64,
    /// Requests before the measured part: all, and those answered.
    pub before: (u64, u64),
    /// Of those, failed.
    pub before_failed: u64,
    /// What the server or the system said of these failures, and how often. The first few different ones.
    pub before_said: std::collections::BTreeMap<String, u64>,
    /// Times that requests of the measured part were sent again, by [`ResendCause::word`](crate::order::ResendCause::word).
    pub resent_after: std::collections::BTreeMap<String, u64>,
    /// Times that the engine had to wait because writing was behind.
    pub waits: u64,
    /// How long in all, seconds.
    pub waited_s: f64,
    /// The longest wait, seconds.
    pub longest_wait_s: f64,
    /// `Retry-After` as given, and how often. The first few different ones of the measured part.
    pub retry_after: std::collections::BTreeMap<String, u64>,
    /// What the server or the system said of failures, and how often. Likewise.
    pub said: std::collections::BTreeMap<String, u64>,
    /// Codes of responses that are not 200, and how often, of the measured part.
    pub http: std::collections::BTreeMap<u16, u64>,
    /// Models that responses named, and how often. The first few different ones of the measured part.
    pub models: std::collections::BTreeMap<String, u64>,
    /// `finish_reason` as given, and how often. Likewise.
    pub finishes: std::collections::BTreeMap<String, u64>,
    /// Measured requests, one row each.
    pub rows: Rows,
    /// The chunks, to be read from the front.
    pub(super) file: File,
    /// Blocks behind the file that the disk did not take.
    pub(super) unwritten: Vec<u8>,
    /// Why not everything was written. Requests that ended later are in no row.
    pub failure: Option<Error>,
}

/// The file, and behind it the blocks that the disk did not take.
pub type Blocks<'a> = io::BufReader<io::Chain<&'a File, &'a [u8]>>;

impl Stored {
    /// The chunks from the front.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn chunks(&mut self) -> Result<chunks::Reader<Blocks<'_>>, Error> {
        self.file
            .rewind()
            .map_err(|cause| Error::archive("cannot read the chunks that were written").because(cause))?;
        chunks::Reader::new(io::BufReader::with_capacity(1 << 18, (&self.file).chain(self.unwritten.as_slice())))
    }

    /// Takes the blocks of another client's `chunks.sbc` behind the own ones. `whole`: that file was written to its end.
    ///
    /// # Errors
    /// When one of the two cannot be read or written.
    pub fn take_blocks(&mut self, mut from: File, whole: bool) -> Result<(), Error> {
        let failed = |cause: io::Error| Error::archive("cannot put the chunks of two clients together").because(cause);
        from.rewind().map_err(failed)?;
        let head = io::BufReader::new(&from).read_until(b'\n', &mut Vec::new()).map_err(failed)? as u64;
        let own = self.file.metadata().map_err(failed)?.len();
        // The mark of the end moves back.
        let kept = own.saturating_sub(chunks::END.len() as u64);
        self.file.set_len(kept).map_err(failed)?;
        self.file.seek(SeekFrom::End(0)).map_err(failed)?;
        let length = from.metadata().map_err(failed)?.len();
        let end = if whole { chunks::END.len() as u64 } else { 0 };
        from.seek(SeekFrom::Start(head)).map_err(failed)?;
        let taken = length.saturating_sub(head + end);
        io::copy(&mut (&from).take(taken), &mut self.file).map_err(failed)?;
        self.file.write_all(&chunks::END).map_err(failed)?;
        self.chunk_bytes += taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
