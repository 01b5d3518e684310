//! The thread that writes.
//!
//! In:  batches.  Out: lines, blocks, rows, [`Stored`] at the end.
//! Not here: the engine's side of the queue (see [`super`]).

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use super::chunks::{self, END, Encoder, header};
use super::{BLOCK, Batch, Ended, Part, Rows, Stored, line};
use crate::order::{Chunk, Phase, ResendCause, Status};
use sparkbench_host::net::Ns;
use sparkbench_text::error::Error;

/// After this long a pause the buffer goes to disk, so that a crash loses little of a slow load.
const IDLE: Duration = Duration::from_millis(500);
/// Batches after which it goes there anyway.
const FLUSH_EVERY: u32 = 64;
/// Different words that are kept of servers. A hostile one could send a new one each time.
const WORDS: usize = 16;
/// A longer word is cut.
const WORD: usize = 120;
/// A longer message of a failure is cut. They have some 400 characters at most, and the end may be what matters.
const MESSAGE: usize = 420;
/// Emptied buffers of requests that are kept for others.
const SPARE: usize = 1024;

/// Chunks of a request that wait to be a block.
#[derive(Debug, Default)]
struct Pending {
    first: u32,
    chunks: Vec<Chunk>,
}

/// See the module.
pub(super) struct StoreWriter {
    requests: Option<BufWriter<File>>,
    chunks: BufWriter<File>,
    encoder: Encoder,
    block: Vec<u8>,
    pending: HashMap<u64, Pending>,
    spare: Vec<Vec<Chunk>>,
    tally: Tally,
    rows: Rows,
    origin: Ns,
    failure: Option<Error>,
    failed: Arc<AtomicBool>,
}

#[derive(Default)]
struct Tally {
    requests: u64,
    chunks: u64,
    chunk_bytes: u64,
    before: (u64, u64),
    before_failed: u64,
    before_said: BTreeMap<String, u64>,
    resent_after: BTreeMap<String, u64>,
    retry_after: BTreeMap<String, u64>,
    said: BTreeMap<String, u64>,
    http: BTreeMap<u16, u64>,
    models: BTreeMap<String, u64>,
    finishes: BTreeMap<String, u64>,
}

impl StoreWriter {
    pub(super) fn new(requests: Option<File>, chunks: File, rows: Rows, origin: Ns, failed: Arc<AtomicBool>) -> Self {
        Self {
            requests: requests.map(|file| BufWriter::with_capacity(1 << 16, file)),
            chunks: BufWriter::with_capacity(1 << 17, chunks),
            encoder: Encoder::default(),
            block: Vec::new(),
            pending: HashMap::new(),
            spare: Vec::new(),
            tally: Tally::default(),
            rows,
            origin,
            failure: None,
            failed,
        }
    }

    /// Until the engine's side is gone.
    pub(super) fn run(mut self, batches: &Receiver<Batch>, give_back: &SyncSender<Batch>) -> Result<Stored, Error> {
        let head = header(self.origin);
        self.tally.chunk_bytes = head.len() as u64 + 1;
        let begun = writeln!(self.chunks, "{head}").map_err(unwritten);
        self.note(begun);
        let mut since_flush = 0;
        loop {
            match batches.recv_timeout(IDLE) {
                Ok(mut batch) => {
                    // After a failure the queue is still emptied, so that the engine never waits for us.
                    if self.failure.is_none() {
                        let taken = self.take(&mut batch);
                        self.note(taken);
                    }
                    batch.clear();
                    let _ = give_back.try_send(batch);
                    since_flush += 1;
                    if since_flush < FLUSH_EVERY {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.end(),
            }
            since_flush = 0;
            let flushed = self.flush();
            self.note(flushed);
        }
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.failed.store(true, Ordering::Relaxed);
            self.failure.get_or_insert(error);
        }
    }

    fn take(&mut self, batch: &mut Batch) -> Result<(), Error> {
        let mut chunks = batch.chunks.as_slice();
        let mut parts = batch.parts.iter();
        let mut done = 0;
        for ended in batch.ended.drain(..) {
            for part in parts.by_ref().take(ended.after - done) {
                chunks = self.part(*part, chunks)?;
            }
            done = ended.after;
            self.ended(&ended)?;
        }
        for part in parts {
            chunks = self.part(*part, chunks)?;
        }
        Ok(())
    }

    /// Takes the chunks of a part off the front.
    fn part<'a>(&mut self, part: Part, from: &'a [Chunk]) -> Result<&'a [Chunk], Error> {
        let (mut own, rest) = from.split_at_checked(part.count as usize).unwrap_or((from, &[]));
        self.tally.chunks += own.len() as u64;
        let pending = self
            .pending
            .entry(part.index)
            .or_insert_with(|| Pending { first: part.first, chunks: self.spare.pop().unwrap_or_default() });
        if pending.chunks.is_empty() {
            pending.first = part.first;
        }
        while !own.is_empty() {
            // Only now is it sure that there is more.
            if pending.chunks.len() == BLOCK {
                let part = chunks::ChunkBlock {
                    request: part.index,
                    first: pending.first,
                    more: true,
                    chunks: &pending.chunks,
                };
                self.block.clear();
                self.encoder.block(self.origin, &part, &mut self.block);
                self.tally.chunk_bytes += self.block.len() as u64;
                self.chunks.write_all(&self.block).map_err(unwritten)?;
                pending.first += BLOCK as u32;
                pending.chunks.clear();
            }
            let (fit, left) = own.split_at(own.len().min(BLOCK - pending.chunks.len()));
            pending.chunks.extend_from_slice(fit);
            own = left;
        }
        Ok(rest)
    }

    fn rest_of(&mut self, index: u64) -> Result<(), Error> {
        let Some(mut pending) = self.pending.remove(&index) else { return Ok(()) };
        let part = chunks::ChunkBlock { request: index, first: pending.first, more: false, chunks: &pending.chunks };
        self.block.clear();
        self.encoder.block(self.origin, &part, &mut self.block);
        self.tally.chunk_bytes += self.block.len() as u64;
        self.chunks.write_all(&self.block).map_err(unwritten)?;
        if self.spare.len() < SPARE {
            pending.chunks.clear();
            self.spare.push(pending.chunks);
        }
        Ok(())
    }

    fn ended(&mut self, ended: &Ended) -> Result<(), Error> {
        let record = &ended.record;
        self.rest_of(record.index)?;
        self.tally.requests += 1;
        if record.phase == Phase::Measured {
            self.rows.push(record, ended.at)?;
            for (cause, times) in ResendCause::ALL.iter().zip(record.resends).filter(|(_, times)| *times > 0) {
                *self.tally.resent_after.entry(cause.word().to_owned()).or_default() += u64::from(times);
            }
            count(&mut self.tally.retry_after, record.retry_after.as_deref(), WORD);
            count(&mut self.tally.said, record.error.as_deref(), MESSAGE);
            count(&mut self.tally.models, record.model.as_deref(), WORD);
            count(&mut self.tally.finishes, record.finish.as_deref(), WORD);
            if let Some(code) = record.http.filter(|code| *code != 200) {
                *self.tally.http.entry(code).or_default() += 1;
            }
        } else {
            self.tally.before.0 += 1;
            self.tally.before.1 += u64::from(record.status.answered());
            // What the end of the load cut off has not failed.
            if !record.status.answered() && !matches!(record.status, Status::Cancelled | Status::NotSent) {
                self.tally.before_failed += 1;
                let said = record.error.as_deref().unwrap_or(record.status.word());
                count(&mut self.tally.before_said, Some(said), MESSAGE);
            }
        }
        if let Some(file) = &mut self.requests {
            let wire = line::wire(record, self.origin, ended.at);
            serde_json::to_writer(&mut *file, &wire)
                .map_err(io::Error::from)
                .and_then(|()| file.write_all(b"\n"))
                .map_err(unwritten)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.failure.is_some() {
            return Ok(());
        }
        self.requests.as_mut().map_or(Ok(()), BufWriter::flush).and_then(|()| self.chunks.flush()).map_err(unwritten)
    }

    fn end(mut self) -> Result<Stored, Error> {
        // Requests that never ended: an engine that stopped in the middle. What came of them is kept.
        let mut open: Vec<u64> = self.pending.keys().copied().collect();
        open.sort_unstable();
        for index in open {
            let written = self.rest_of(index);
            self.note(written);
        }
        let ended = self.chunks.write_all(&END).map_err(unwritten);
        self.note(ended);
        let flushed = self.flush();
        self.note(flushed);
        // Whole blocks that the disk did not take stay in memory. The figures so far are counted from the file and from these.
        let (file, kept) = self.chunks.into_parts();
        let mut unwritten = kept.unwrap_or_default();
        if self.failure.is_some() && !unwritten.ends_with(&END) {
            unwritten.extend_from_slice(&END);
        }
        let tally = self.tally;
        Ok(Stored {
            origin: self.origin,
            requests: tally.requests,
            chunks: tally.chunks,
            chunk_bytes: tally.chunk_bytes + END.len() as u64,
            before: tally.before,
            before_failed: tally.before_failed,
            before_said: tally.before_said,
            resent_after: tally.resent_after,
            waits: 0,
            waited_s: 0.0,
            longest_wait_s: 0.0,
            retry_after: tally.retry_after,
            said: tally.said,
            http: tally.http,
            models: tally.models,
            finishes: tally.finishes,
            rows: self.rows,
            file,
            unwritten,
            failure: self.failure,
        })
    }
}

fn count(words: &mut BTreeMap<String, u64>, word: Option<&str>, most: usize) {
    let Some(word) = word else { return };
    let word: String = word.chars().take(most).collect();
    if words.len() < WORDS || words.contains_key(&word) {
        *words.entry(word).or_default() += 1;
    }
}

fn unwritten(cause: io::Error) -> Error {
    Error::archive("cannot write the records of the load")
        .hint("free space on the disk of the archive. Without an archive, records are in TMPDIR or /tmp. Earlier records are good")
        .because(cause)
}
