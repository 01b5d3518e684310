//! The server's record of a request, to the nanosecond, and the thread that writes it.
//!
//! In:  a [`Truth`] a request, at its end.  Out: JSON lines, or the values themselves.
//! Not here: when it is taken (see `server`).

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use serde::Serialize;

use sparkbench_host::net::Ns;
use sparkbench_text::error::{Error, Kind};

/// How a request ended, as the server saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Everything that the shape has was written.
    Complete,
    /// Answered with a status other than 200.
    Refused,
    /// The server closed the connection before the answer's end.
    Closed,
    /// The server reset the connection.
    Reset,
    /// The server went silent, and the client left or the server was ended.
    Stalled,
    /// The client left before the end.
    ClientGone,
    /// The server was ended before the answer's end.
    #[default]
    Stopped,
}

/// What happened to a request. Moments are nanoseconds of `CLOCK_MONOTONIC`, the same clock for every process of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Truth {
    /// `x-request-id` of the request. One of ours where it gave none.
    pub id: String,
    /// Name of the shape.
    pub shape: &'static str,
    /// How the request ended.
    pub outcome: Outcome,
    /// `stream`, `json` (one document), or `none` (no answer of the model).
    pub mode: &'static str,
    /// Status code that was sent. Absent where none was.
    pub http: Option<u16>,
    /// Number of the connection, from 0.
    pub connection: u64,
    /// Requests that this connection had brought before.
    pub before: u32,
    /// When the kernel had the request's last byte. Absent without stamps.
    pub received_ns: Option<Ns>,
    /// When the server had read it.
    pub received_user_ns: Ns,
    /// Start of due times: received, or later where the request waited for an earlier one on its connection or for a place.
    pub started_ns: Ns,
    /// Just before the write of the response's head.
    pub headers_ns: Option<Ns>,
    /// Just before the write that took the last byte of the first event with generated text.
    pub first_ns: Option<Ns>,
    /// The same of the last such event.
    pub last_ns: Option<Ns>,
    /// Just before the write that took the response's last byte.
    pub end_ns: Option<Ns>,
    /// Events with generated text that were written to their last byte.
    pub chunks: u32,
    /// Tokens in them.
    pub tokens: u32,
    /// Tokens of the answer, had it come to its end.
    pub planned_tokens: u32,
    /// Tokens of the prompt, with the template's.
    pub prompt_tokens: u32,
    /// Of these, taken from the prefix cache.
    pub cached_tokens: u32,
    /// Bytes of generated text that were written.
    pub text_bytes: u64,
    /// Largest delay of a chunk's first write after its due moment. Absent where nothing was timed.
    pub latest_ns: Option<Ns>,
    /// For each chunk, when it was due. Only where all chunks are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_ns: Option<Vec<Ns>>,
    /// For each chunk, just before the first write that carried bytes of it (or when it was queued behind a full socket).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_ns: Option<Vec<Ns>>,
    /// For each chunk, just before the write that took its last byte. Shorter than `begun_ns` where the rest was never taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emitted_ns: Option<Vec<Ns>>,
}

/// Where truths go.
#[derive(Debug)]
pub(super) struct TruthLog {
    kept: Option<Vec<Truth>>,
    writer: Option<Writer>,
}

#[derive(Debug)]
struct Writer {
    to: Sender<Truth>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl TruthLog {
    /// Opens the file, where there is one.
    pub(super) fn open(file: Option<&Path>, keep: bool) -> Result<Self, Error> {
        let writer = file.map(Writer::start).transpose()?;
        Ok(Self { kept: keep.then(Vec::new), writer })
    }

    /// Takes one.
    pub(super) fn add(&mut self, truth: Truth) {
        match (&mut self.kept, &self.writer) {
            (Some(kept), Some(writer)) => {
                let _ = writer.to.send(truth.clone());
                kept.push(truth);
            }
            (Some(kept), None) => kept.push(truth),
            // A writer that has failed says so at the end.
            (None, Some(writer)) => drop(writer.to.send(truth)),
            (None, None) => {}
        }
    }

    /// Writes what is left, and gives what was kept.
    pub(super) fn close(self) -> Result<Vec<Truth>, Error> {
        if let Some(Writer { to, thread }) = self.writer {
            drop(to);
            let failed = |cause: std::io::Error| Error::archive("cannot write the truth file").because(cause);
            match thread.join() {
                Ok(result) => result.map_err(failed)?,
                Err(_) => return Err(Error::new(Kind::Workload, "the thread that writes truths ended by a fault")),
            }
        }
        Ok(self.kept.unwrap_or_default())
    }
}

impl Writer {
    fn start(path: &Path) -> Result<Self, Error> {
        let file = File::create(path)
            .map_err(|cause| Error::archive(format!("cannot write '{}'", path.display())).because(cause))?;
        let (to, from) = mpsc::channel::<Truth>();
        let thread = std::thread::Builder::new()
            .name("truth".to_owned())
            .spawn(move || {
                let mut out = BufWriter::with_capacity(1 << 20, file);
                for truth in from {
                    serde_json::to_writer(&mut out, &truth)?;
                    out.write_all(b"\n")?;
                }
                out.flush()
            })
            .map_err(|cause| Error::new(Kind::Workload, "cannot start the thread that writes truths").because(cause))?;
        Ok(Self { to, thread })
    }
}
