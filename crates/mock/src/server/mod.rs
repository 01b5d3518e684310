//! The one thread: sockets, due moments, writes, truths.
//!
//! In:  [`Settings`].  Out: answers, [`Ended`].
//! Not here: bytes of an answer (see `job`), of a request (see `http`, `ask`).
//!
//! ```text
//!         ┌──────── wait(next due) ◀───────┐
//! sockets ─▶ read ─▶ request ─▶ job        │
//! heap    ─▶ due  ─▶ step ─▶ clock ─▶ write┤ one step a visit, so that no answer holds up another
//! todo    ─▶ as fast as possible ──────────┘
//! ```
//!
//! Bytes that a socket does not take at once wait in its connection. The event counts as emitted with the write that takes its last byte.
//! Answers whose client reads too slowly make no further text until it has caught up.

mod conn;
mod place;
mod request;
mod write;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use sparkbench_host::net::{self, Interest, Listener, Ns, Poller, Ready, Stream, Waker, limits, now};
use sparkbench_text::error::{Error, Kind};

use self::conn::{Conn, ConnAction, Slot};
use super::cache::Cache;
use super::late::Late;
use super::metrics::Counts;
use super::settings::Settings;
use super::truth::{Outcome, Truth, TruthLog};

/// Descriptors asked for: ten thousand streams, and room.
const DESCRIPTORS: u64 = 65_536;
/// Bytes read from a socket at once.
const READ_BYTES: usize = 256 << 10;
/// Steps made between two polls of the sockets.
const STEPS: usize = 256;

const LISTENER: u64 = u64::MAX - 2;
/// Number in the heap that stands for the listener.
const LISTENER_SLOT: u32 = u32::MAX;

/// Counters of a mock.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Connections accepted.
    pub connections: u64,
    /// Requests of any kind.
    pub requests: u64,
    /// Requests to the model, refused ones among them.
    pub asks: u64,
    /// Tokens handed out.
    pub tokens: u64,
    /// Writes that were timed.
    pub timed_writes: u64,
    /// How late they were: half were at most this late, microseconds.
    pub late_p50_us: Option<f64>,
    /// 99 of 100.
    pub late_p99_us: Option<f64>,
    /// 999 of 1000.
    pub late_p999_us: Option<f64>,
    /// The latest.
    pub late_max_us: Option<f64>,
    /// Requests at the same time, at most.
    pub most_running: u32,
    /// Processor time of the server's thread, seconds.
    pub cpu_s: f64,
}

/// Results of a mock that has ended.
#[derive(Debug)]
pub struct Ended {
    /// One for each request to the model, where they are kept.
    pub truths: Vec<Truth>,
    /// Its counters.
    pub totals: Totals,
}

/// A listening mock, not running yet.
#[derive(Debug)]
pub(crate) struct Server {
    settings: Settings,
    listener: Listener,
    address: SocketAddr,
    listening: bool,
    poller: Poller,
    stop: Arc<AtomicBool>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    heap: BinaryHeap<Reverse<(Ns, u32, u32)>>,
    tick: u32,
    todo: VecDeque<(u32, u32, Todo)>,
    queue: VecDeque<(u32, u32)>,
    cache: Cache,
    counts: Counts,
    totals: Totals,
    late: Late,
    book: TruthLog,
    /// A connection to nobody. The kernel stamps packets only while some socket wants it to, and begins a while after the first one asks.
    /// Without this one the first requests after a pause would have no stamp.
    _stamping: Option<(Listener, Stream)>,
    // Buffers that all connections share.
    inbox: Vec<u8>,
    event: Vec<u8>,
    out: Vec<u8>,
    hashes: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Todo {
    /// Look whether the next request is there already.
    Request,
    /// A place came free for its answer.
    Admit,
    /// The next step.
    Step,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// When the address cannot be had, or the truth file cannot be made.
    pub(crate) fn new(settings: Settings) -> Result<Self, Error> {
        let cannot = |cause: std::io::Error| {
            Error::new(Kind::Workload, format!("cannot listen on {}", settings.address))
                .hint("choose another port, or 0 for any that is free")
                .because(cause)
        };
        // Without it the mock still serves as many as the machine allows.
        let _ = limits::descriptors(DESCRIPTORS);
        let listener = Listener::bind(settings.address).map_err(cannot)?;
        let address = listener.address().map_err(cannot)?;
        let poller = Poller::new().map_err(cannot)?;
        poller.add(&listener, LISTENER, Interest::Read).map_err(cannot)?;
        let book = TruthLog::open(settings.truth_file.as_deref(), settings.keep_truth)?;
        Ok(Self {
            cache: Cache::new(settings.block_tokens, settings.cache_blocks),
            settings,
            listener,
            address,
            listening: true,
            poller,
            stop: Arc::new(AtomicBool::new(false)),
            slots: Vec::new(),
            free: Vec::new(),
            heap: BinaryHeap::new(),
            tick: 0,
            todo: VecDeque::new(),
            queue: VecDeque::new(),
            counts: Counts::default(),
            totals: Totals::default(),
            late: Late::default(),
            book,
            _stamping: stamping(),
            inbox: vec![0; READ_BYTES],
            event: Vec::with_capacity(4096),
            out: Vec::with_capacity(64 << 10),
            hashes: Vec::new(),
        })
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Set, it ends the server. Wake it as well.
    pub(crate) fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Wakes it.
    pub(crate) fn waker(&self) -> Waker {
        self.poller.waker()
    }

    /// Serves until a stop order.
    ///
    /// # Errors
    /// When the poller fails, or the truth file cannot be written.
    pub(crate) fn run(mut self) -> Result<Ended, Error> {
        limits::exact_timers();
        let mut ready: Vec<Ready> = Vec::new();
        while !self.stop.load(Ordering::Acquire) {
            let until = if self.todo.is_empty() {
                self.heap.peek().map(|Reverse((due, ..))| due.saturating_sub(self.settings.spin_ns))
            } else {
                Some(0)
            };
            self.poller
                .wait(until, &mut ready)
                .map_err(|cause| Error::new(Kind::Workload, "the mock cannot wait for its sockets").because(cause))?;
            for Ready { token, readable, writable, .. } in ready.drain(..) {
                if token == LISTENER {
                    self.accept();
                    continue;
                }
                let (slot, generation) = (token as u32, (token >> 32) as u32);
                if writable {
                    self.visit(slot, generation, Self::flush);
                }
                if readable {
                    self.visit(slot, generation, Self::read);
                }
            }
            self.due_steps();
            for _ in 0..self.todo.len().min(STEPS) {
                let Some((slot, generation, todo)) = self.todo.pop_front() else { break };
                self.visit(slot, generation, |server, conn, key| match todo {
                    Todo::Request => server.requests(conn, key),
                    Todo::Admit => server.admit(conn, key),
                    Todo::Step => server.drive(conn, key),
                });
            }
        }
        self.end()
    }

    fn due_steps(&mut self) {
        for _ in 0..STEPS {
            let Some(Reverse((due, slot, tick))) = self.heap.peek().copied() else { return };
            if due > now() {
                return;
            }
            self.heap.pop();
            if slot == LISTENER_SLOT {
                self.listening = self.poller.add(&self.listener, LISTENER, Interest::Read).is_ok();
                continue;
            }
            let Some(place) = self.slots.get(slot as usize) else { continue };
            if place.conn.as_ref().is_some_and(|conn| conn.tick == tick) {
                let generation = place.generation;
                self.visit(slot, generation, |server, conn, key| {
                    if conn.active.is_some() {
                        server.drive(conn, key)
                    } else if conn.input.is_empty() {
                        // A connection that has been idle for long enough.
                        ConnAction::Close
                    } else {
                        ConnAction::Stay
                    }
                });
            }
        }
    }

    /// Takes the connection out of its place, does something with it, and puts it back or ends it.
    fn visit(&mut self, slot: u32, generation: u32, act: impl FnOnce(&mut Self, &mut Conn, (u32, u32)) -> ConnAction) {
        let Some(place) = self.slots.get_mut(slot as usize).filter(|place| place.generation == generation) else {
            return;
        };
        let Some(mut conn) = place.conn.take() else { return };
        match act(self, &mut conn, (slot, generation)) {
            ConnAction::Stay => {
                self.slots[slot as usize].conn = Some(conn);
                return;
            }
            fate => {
                if conn.active.is_some() {
                    self.over(&mut conn, Outcome::ClientGone);
                }
                if fate == ConnAction::Reset {
                    conn.stream.reset();
                }
            }
        }
        let place = &mut self.slots[slot as usize];
        place.generation = place.generation.wrapping_add(1);
        self.free.push(slot);
    }
    fn schedule(&mut self, conn: &mut Conn, slot: u32, at: Ns) {
        self.tick = self.tick.wrapping_add(1).max(1);
        conn.tick = self.tick;
        self.heap.push(Reverse((at, slot, self.tick)));
    }

    fn end(mut self) -> Result<Ended, Error> {
        for slot in 0..self.slots.len() {
            if let Some(mut conn) = self.slots[slot].conn.take() {
                self.over(&mut conn, Outcome::Stopped);
            }
        }
        let truths = self.book.close()?;
        let totals = Totals {
            timed_writes: self.late.count(),
            late_p50_us: self.late.quantile_us(0.5),
            late_p99_us: self.late.quantile_us(0.99),
            late_p999_us: self.late.quantile_us(0.999),
            late_max_us: self.late.max_us(),
            cpu_s: net::usage::Usage::take().thread_cpu_s,
            ..self.totals
        };
        Ok(Ended { truths, totals })
    }
}

fn stamping() -> Option<(Listener, Stream)> {
    let listener = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).ok()?;
    let stream = Stream::connect(listener.address().ok()?).ok()?;
    Some((listener, stream))
}
