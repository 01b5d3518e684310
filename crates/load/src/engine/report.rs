//! The engine's report on itself: whether it was the limit, and its progress.
//!
//! In:  moments and counts from the loop.  Out: [`EngineReport`] at the end, [`Progress`] while it runs.
//! Not here: whether the client was the limit (see `load::certificate`), the requests themselves (see `load::order::Record`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use hdrhistogram::Histogram;

use crate::contradiction::counted;
use crate::order::{Phase, Record, Status};
use sparkbench_host::net::Ns;
use sparkbench_host::net::usage::Usage;
use sparkbench_text::error::{Error, Kind};

/// Longest time that a histogram resolves, ns: an hour.
const LONGEST: u64 = 3_600_000_000_000;

/// Strings for the thread beside the engine's.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// Set, and the engine woken: nothing more is sent, and what is in flight is cancelled with what it had so far.
    pub stop: Arc<AtomicBool>,
    /// How far it is.
    pub progress: Arc<Progress>,
}

/// Counts for a live view. All but `in_flight`, `waiting` and `others` are of measured requests alone.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests sent.
    pub sent: AtomicU64,
    /// Requests sent and not ended, of every phase.
    pub in_flight: AtomicU64,
    /// Of these, waiting to be sent again.
    pub waiting: AtomicU64,
    /// Ended with an answer, [`Status::Short`] with them.
    pub ok: AtomicU64,
    /// Ended without, but for the cancelled ones.
    pub failed: AtomicU64,
    pub cancelled: AtomicU64,
    /// Requests of other phases (warm-up, priming) that ended.
    pub others: AtomicU64,
    /// Generated pieces.
    pub pieces: AtomicU64,
    /// Bytes of generated text.
    pub text_bytes: AtomicU64,
    /// Output tokens that the server counted, of requests that ended.
    pub output_tokens: AtomicU64,
    /// Generated pieces of the same requests: how many tokens a piece has.
    pub counted_pieces: AtomicU64,
    /// Time to first token, from [`Record::start`].
    pub ttft: Sum,
    /// Time per output token.
    pub tpot: Sum,
    /// News that nobody has heard yet.
    news: Mutex<Option<String>>,
}

impl Progress {
    /// Something that whoever watches is to hear. The latest wins.
    pub(super) fn tell(&self, what: String) {
        *self.news.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
    }

    /// What was told since the last time.
    pub(crate) fn heard(&self) -> Option<String> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn ended(&self, record: &Record) {
        if record.phase != Phase::Measured {
            self.others.fetch_add(1, Relaxed);
            return;
        }
        match record.status {
            status if status.answered() => {
                self.ok.fetch_add(1, Relaxed);
                if let Some(tokens) = counted(record) {
                    self.output_tokens.fetch_add(tokens.into(), Relaxed);
                    self.counted_pieces.fetch_add(record.pieces.into(), Relaxed);
                }
                if let (Some(start), Some(first)) = (record.start(), record.first_token) {
                    self.ttft.add(first.at().saturating_sub(start));
                }
                if let Some(tpot) = tpot(record) {
                    self.tpot.add(tpot);
                }
            }
            Status::Cancelled => {
                self.cancelled.fetch_add(1, Relaxed);
            }
            _ => {
                self.failed.fetch_add(1, Relaxed);
            }
        }
    }
}

/// Time per output token of an answer, ns. Absent without a count of tokens that holds, and for a single one.
fn tpot(record: &Record) -> Option<Ns> {
    let (first, last) = (record.first_token?.at(), record.last_token?.at());
    let steps = counted(record)?.checked_sub(record.first_tokens.unwrap_or(1))?;
    last.saturating_sub(first).checked_div(steps.into())
}

/// Number and sum of times that another thread may look at: for a live view, not for results.
#[derive(Debug, Default)]
pub struct Sum {
    count: AtomicU64,
    sum: AtomicU64,
}

impl Sum {
    /// How many, and their sum, ns.
    pub fn totals(&self) -> (u64, u64) {
        (self.count.load(Relaxed), self.sum.load(Relaxed))
    }

    /// Adds a time, ns.
    pub fn add(&self, time: Ns) {
        self.count.fetch_add(1, Relaxed);
        self.sum.fetch_add(time, Relaxed);
    }

    /// Times added.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Mean, ns. Absent without any.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum.load(Relaxed) as f64 / count as f64)
    }
}

/// The engine's report on itself.
#[derive(Debug, Clone)]
pub struct EngineReport {
    /// Before the first order was asked for.
    pub began: Ns,
    /// After the last request.
    pub ended: Ns,
    /// The engine's thread and the process, before.
    pub usage_before: Usage,
    /// The same at the end.
    pub usage_after: Usage,
    /// Times between two waits, ns: while one lasts, nothing else is sent or read.
    pub stalls: Histogram<u64>,
    /// Share of the time in which the engine did not wait, 0 to 1.
    pub busy: f64,
    /// How long what was read had lain in the receive buffer, ns. Each read counts once for every event that it completed.
    pub read_lag: Histogram<u64>,
    /// Measured requests, ns. Open loop: sent minus intended. Closed loop: from the end of one answer to the next request.
    pub schedule_lag: Histogram<u64>,
    /// Events whose read had a stamp of the kernel.
    pub events_stamped: u64,
    /// Events whose read had none: their time is that of reading.
    pub events_unstamped: u64,
    /// Most requests in flight at any time, of every phase.
    pub in_flight_peak: u64,
    /// Mean of measured requests in flight, from the first sent to the last ended. Absent without any.
    pub in_flight_mean: Option<f64>,
    /// The same from the first sent to the last sent: without the tail, in which a closed loop runs dry.
    pub in_flight_mean_sending: Option<f64>,
    /// Requests sent, each once.
    pub requests: u64,
    /// Connections that came about.
    pub opened: u64,
    /// Requests sent on a connection that had answered before.
    pub reused: u64,
    /// Requests sent again.
    pub resent: u64,
    /// Idle connections that the server closed.
    pub closed_idle: u64,
    /// Answers that nobody had asked for.
    pub unasked: u64,
    /// Requests that were taken and ended before a byte of them was sent (no connection, cancelled).
    pub unsent: u64,
    /// Looks at the poller.
    pub waits: u64,
    /// Reads that gave bytes.
    pub reads: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Descriptors that the process may have.
    pub descriptors: u64,
}

impl EngineReport {
    pub(super) fn new(descriptors: u64) -> Result<Self, Error> {
        // Two digits for an hour in nanoseconds: some 40 KiB each, and a percentile that is off by a hundredth at most.
        let histogram = || {
            Histogram::new_with_bounds(1, LONGEST, 2)
                .map_err(|error| Error::new(Kind::Workload, "the client cannot set up its own figures").because(error))
        };
        Ok(Self {
            began: 0,
            ended: 0,
            usage_before: Usage::default(),
            usage_after: Usage::default(),
            stalls: histogram()?,
            busy: 0.0,
            read_lag: histogram()?,
            schedule_lag: histogram()?,
            events_stamped: 0,
            events_unstamped: 0,
            in_flight_peak: 0,
            in_flight_mean: None,
            in_flight_mean_sending: None,
            requests: 0,
            opened: 0,
            reused: 0,
            resent: 0,
            closed_idle: 0,
            unasked: 0,
            unsent: 0,
            waits: 0,
            reads: 0,
            bytes: 0,
            descriptors,
        })
    }

    /// Processor time of the engine's thread, seconds.
    pub fn cpu_s(&self) -> f64 {
        self.usage_after.thread_cpu_s - self.usage_before.thread_cpu_s
    }

    /// Time that the engine's thread was ready to run and did not, seconds.
    pub fn run_queue_s(&self) -> Option<f64> {
        Some(self.usage_after.run_queue_s? - self.usage_before.run_queue_s?)
    }
}
