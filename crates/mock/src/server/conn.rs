//! Connections: how they arrive, and their state.
//!
//! In:  a listener that is ready.  Out: [`Conn`]s in their places.
//! Not here: reading from them (see `request`), writing to them (see `write`).

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::http::Head;
use crate::job::{End, Job, Next};
use crate::truth::Truth;
use sparkbench_host::net::{Interest, Ns, Stamp, Stream, now};

use super::{LISTENER_SLOT, Server};

/// Connections accepted between two polls.
const ACCEPTS: usize = 256;
/// After a failed accept, as long until the next: descriptors come free meanwhile, or not.
const ACCEPT_PAUSE_NS: Ns = 10_000_000;

#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) generation: u32,
    pub(super) conn: Option<Box<Conn>>,
}

/// What happens to a connection after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnAction {
    Stay,
    Close,
    Reset,
}

#[derive(Debug)]
pub(super) struct Conn {
    pub(super) stream: Stream,
    /// Its place, and the place's generation.
    pub(super) key: (u32, u32),
    pub(super) number: u64,
    pub(super) requests: u32,
    pub(super) input: Vec<u8>,
    pub(super) head: Option<Head>,
    pub(super) stamp: Stamp,
    /// The response before was over then.
    pub(super) free_at: Ns,
    pub(super) keep_alive: bool,
    pub(super) active: Option<Box<Active>>,
    /// Bytes that the socket has not taken yet.
    pub(super) pending: Vec<u8>,
    pub(super) pending_at: usize,
    pub(super) wants_room: bool,
    /// Bytes handed over since the connection began, those that wait among them.
    pub(super) made: u64,
    pub(super) marks: VecDeque<Mark>,
    pub(super) cutting: Option<Cutting>,
    /// Second half of an event, in the shape that keeps it for the next write.
    pub(super) held: Vec<u8>,
    /// Number of the timer that counts. An older one in the heap is skipped.
    pub(super) tick: u32,
    pub(super) parked: bool,
    pub(super) ending: Option<End>,
    pub(super) last_write: Ns,
}

/// An event with tokens ends at this byte of the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) end: u64,
    pub(super) tokens: u32,
    pub(super) text: u32,
}

/// Bytes that are written piece by piece.
#[derive(Debug)]
pub(super) struct Cutting {
    pub(super) bytes: Vec<u8>,
    pub(super) at: usize,
    pub(super) lines: bool,
    pub(super) next: Next,
}

#[derive(Debug)]
pub(super) struct Active {
    pub(super) job: Job,
    pub(super) truth: Truth,
    pub(super) running: bool,
    pub(super) stalled: bool,
}

impl Server {
    pub(super) fn accept(&mut self) {
        for _ in 0..ACCEPTS {
            match self.listener.accept() {
                Ok(Some(stream)) => self.welcome(stream),
                Ok(None) => return,
                Err(_) => {
                    // Level-triggered: it would be told again at once, and nothing can be done about it now.
                    if self.poller.remove(&self.listener).is_ok() {
                        self.listening = false;
                        self.heap.push(Reverse((now() + ACCEPT_PAUSE_NS, LISTENER_SLOT, 0)));
                    }
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, stream: Stream) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let generation = self.slots[slot as usize].generation;
        if self.poller.add(&stream, (u64::from(generation) << 32) | u64::from(slot), Interest::Read).is_err() {
            self.free.push(slot);
            return;
        }
        let mut conn = Box::new(Conn {
            stream,
            key: (slot, generation),
            number: self.totals.connections,
            requests: 0,
            input: Vec::new(),
            head: None,
            stamp: Stamp::default(),
            free_at: 0,
            keep_alive: true,
            active: None,
            pending: Vec::new(),
            pending_at: 0,
            wants_room: false,
            made: 0,
            marks: VecDeque::new(),
            cutting: None,
            held: Vec::new(),
            tick: 0,
            parked: false,
            ending: None,
            last_write: 0,
        });
        self.totals.connections += 1;
        if let Some(idle) = self.settings.close_idle_ns {
            self.schedule(&mut conn, slot, now().saturating_add(idle));
        }
        self.slots[slot as usize].conn = Some(conn);
    }
}

impl Conn {
    /// Number that the poller knows it by.
    pub(super) const fn token(&self) -> u64 {
        ((self.key.1 as u64) << 32) | self.key.0 as u64
    }

    /// Bytes that the socket has taken since the connection began.
    pub(super) const fn taken(&self) -> u64 {
        self.made - (self.pending.len() - self.pending_at) as u64
    }
}
