//! The one thread: sockets, due moments, writes, truths.
//!
//! In:  [`Settings`].  Out: answers; [`Ended`].
//! Not here: bytes of an answer (see `job`), of a request (see `http`, `ask`).
//!
//! ```text
//!         ┌──────── wait(next due) ◀───────┐
//! sockets ─▶ read ─▶ request ─▶ job        │
//! heap    ─▶ due  ─▶ step ─▶ clock ─▶ write┤ one step a visit, so that no answer holds up another
//! todo    ─▶ as fast as possible ──────────┘
//! ```
//!
//! What a socket does not take at once waits in its connection, and the event counts as emitted with the write that takes its last
//! byte. Answers whose client reads too slowly make no further text until it has.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::error::{Error, Kind};
use crate::host::net::{self, Interest, Listener, Ns, Poller, Ready, Received, Stamp, Stream, Waker, limits, now};

use super::ask::{self, Ask, Refusal};
use super::cache::Cache;
use super::http::{self, Head, Route, error_body, push_response};
use super::job::{End, Job, Next, Setting, Step};
use super::late::Late;
use super::metrics::{self, Counts};
use super::settings::Settings;
use super::shape::{CUT_NS, Cut, HEAD_LINE_NS, IDLE_NS, Reply};
use super::truth::{Book, Outcome, Truth};

/// Descriptors asked for: ten thousand streams, and room.
const DESCRIPTORS: u64 = 65_536;
/// Bytes read from a socket at once.
const READ_BYTES: usize = 256 << 10;
/// Bytes that may wait for a slow client before its answer pauses.
const PENDING_MAX: usize = 256 << 10;
/// Bytes that the buffer of writes keeps; an answer in one write may have needed more.
const OUT_BYTES: usize = 1 << 20;
/// Steps made between two looks at the sockets.
const STEPS: usize = 256;
/// Connections accepted between two looks.
const ACCEPTS: usize = 256;
/// After a failed accept, as long until the next: descriptors come free meanwhile, or not.
const ACCEPT_PAUSE_NS: Ns = 10_000_000;

const LISTENER: u64 = u64::MAX - 2;
/// Number in the heap that stands for the listener.
const LISTENER_SLOT: u32 = u32::MAX;

/// What a mock has done.
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

/// What is left of a mock that has ended.
#[derive(Debug)]
pub struct Ended {
    /// One for each request to the model, where they are kept.
    pub truths: Vec<Truth>,
    /// What it has done.
    pub totals: Totals,
}

/// A listening mock, not running yet.
#[derive(Debug)]
pub struct Server {
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
    book: Book,
    /// A connection to nobody. The kernel stamps packets only while some socket wants it to, and begins a while after the first one
    /// asks: without this one the first requests after a pause would have no stamp.
    _stamping: Option<(Listener, Stream)>,
    // Buffers that all connections share.
    inbox: Vec<u8>,
    event: Vec<u8>,
    out: Vec<u8>,
    hashes: Vec<u64>,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    conn: Option<Box<Conn>>,
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

/// What becomes of a connection after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stay,
    Close,
    Reset,
}

#[derive(Debug)]
struct Conn {
    stream: Stream,
    /// Its place, and the place's generation.
    key: (u32, u32),
    number: u64,
    requests: u32,
    input: Vec<u8>,
    head: Option<Head>,
    stamp: Stamp,
    /// The response before was over then.
    free_at: Ns,
    keep_alive: bool,
    active: Option<Box<Active>>,
    /// What the socket has not taken yet.
    pending: Vec<u8>,
    pending_at: usize,
    wants_room: bool,
    /// Bytes handed over since the connection began, those that wait among them.
    made: u64,
    marks: VecDeque<Mark>,
    cutting: Option<Cutting>,
    /// Second half of an event, in the shape that keeps it for the next write.
    held: Vec<u8>,
    /// Number of the timer that counts; an older one in the heap is passed over.
    tick: u32,
    parked: bool,
    ending: Option<End>,
    last_write: Ns,
}

/// An event with tokens ends at this byte of the connection.
#[derive(Debug, Clone, Copy)]
struct Mark {
    end: u64,
    tokens: u32,
    text: u32,
}

/// Bytes that are written piece by piece.
#[derive(Debug)]
struct Cutting {
    bytes: Vec<u8>,
    at: usize,
    lines: bool,
    next: Next,
}

#[derive(Debug)]
struct Active {
    job: Job,
    truth: Truth,
    running: bool,
    stalled: bool,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// When the address cannot be had, or the truth file cannot be made.
    pub fn new(settings: Settings) -> Result<Self, Error> {
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
        let book = Book::open(settings.truth_file.as_deref(), settings.keep_truth)?;
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
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Set, it ends the server; wake it as well.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Wakes it.
    pub fn waker(&self) -> Waker {
        self.poller.waker()
    }

    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// When the poller fails, or the truth file cannot be written.
    pub fn run(mut self) -> Result<Ended, Error> {
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
            for Ready { token, readable, writable } in ready.drain(..) {
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
                        Fate::Close
                    } else {
                        Fate::Stay
                    }
                });
            }
        }
    }

    /// Takes the connection out of its place, does something with it, and puts it back or ends it.
    fn visit(&mut self, slot: u32, generation: u32, act: impl FnOnce(&mut Self, &mut Conn, (u32, u32)) -> Fate) {
        let Some(place) = self.slots.get_mut(slot as usize).filter(|place| place.generation == generation) else {
            return;
        };
        let Some(mut conn) = place.conn.take() else { return };
        match act(self, &mut conn, (slot, generation)) {
            Fate::Stay => {
                self.slots[slot as usize].conn = Some(conn);
                return;
            }
            fate => {
                if conn.active.is_some() {
                    self.over(&mut conn, Outcome::ClientGone);
                }
                if fate == Fate::Reset {
                    conn.stream.reset();
                }
            }
        }
        let place = &mut self.slots[slot as usize];
        place.generation = place.generation.wrapping_add(1);
        self.free.push(slot);
    }

    fn accept(&mut self) {
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

    fn schedule(&mut self, conn: &mut Conn, slot: u32, at: Ns) {
        self.tick = self.tick.wrapping_add(1).max(1);
        conn.tick = self.tick;
        self.heap.push(Reverse((at, slot, self.tick)));
    }

    fn read(&mut self, conn: &mut Conn, key: (u32, u32)) -> Fate {
        match conn.stream.receive(&mut self.inbox) {
            Ok(Received::Bytes(count, stamp)) => {
                if conn.input.len() + count > http::BODY_MAX + 2 * http::HEAD_MAX + READ_BYTES {
                    return Fate::Close;
                }
                conn.input.extend_from_slice(&self.inbox[..count]);
                conn.stamp = stamp;
                if conn.active.is_none() && conn.ending.is_none() { self.requests(conn, key) } else { Fate::Stay }
            }
            Ok(Received::Nothing) => Fate::Stay,
            Ok(Received::End(_)) | Err(_) => Fate::Close,
        }
    }

    /// Reads the next request, if it is whole, and begins to answer it.
    fn requests(&mut self, conn: &mut Conn, key: (u32, u32)) -> Fate {
        if conn.active.is_some() || conn.ending.is_some() || conn.input.is_empty() {
            return Fate::Stay;
        }
        if conn.head.is_none() {
            match http::head(&conn.input) {
                Ok(Some(head)) => {
                    if head.expects && conn.input.len() == head.bytes {
                        let made = self.write(conn, b"HTTP/1.1 100 Continue\r\n\r\n", now());
                        if made == Fate::Close {
                            return made;
                        }
                    }
                    conn.head = Some(head);
                }
                Ok(None) => return Fate::Stay,
                Err(fault) => return self.refuse(conn, key, fault),
            }
        }
        let Some(mut head) = conn.head.take() else { return Fate::Stay };
        let length = match head.whole(&conn.input) {
            Ok(Some(length)) => length,
            Ok(None) => {
                conn.head = Some(head);
                return Fate::Stay;
            }
            Err(fault) => return self.refuse(conn, key, fault),
        };
        conn.tick = 0;
        conn.keep_alive = head.keep_alive;
        self.totals.requests += 1;
        let input = std::mem::take(&mut conn.input);
        let fate = self.answer(conn, key, &head, head.body(&input));
        conn.requests += 1;
        conn.input = input;
        conn.input.drain(..length);
        if conn.input.is_empty() && conn.input.capacity() > READ_BYTES {
            conn.input = Vec::new();
        }
        fate
    }

    fn refuse(&mut self, conn: &mut Conn, key: (u32, u32), fault: http::Fault) -> Fate {
        let (code, message) = match fault {
            http::Fault::Malformed => (400, "this is no request of HTTP/1.1"),
            http::Fault::TooLarge => (413, "the request is too large"),
        };
        conn.input.clear();
        conn.keep_alive = false;
        let body = error_body(code, "BadRequestError", message);
        self.respond(conn, key, code, "application/json", None, "connection: close\r\n", &body)
    }

    /// Answers what is no question to the model at once; begins a job for what is.
    fn answer(&mut self, conn: &mut Conn, key: (u32, u32), head: &Head, body: &[u8]) -> Fate {
        let json = "application/json";
        let id = head.id.as_deref();
        let open = matches!(head.route, Route::Health | Route::Metrics);
        if !open && self.settings.api_key.is_some() && self.settings.api_key != head.key {
            let body = error_body(401, "AuthenticationError", "Unauthorized");
            return self.respond(conn, key, 401, json, id, "www-authenticate: Bearer\r\n", &body);
        }
        match head.route {
            Route::Health => self.respond(conn, key, 200, json, id, "", b"{}"),
            Route::Metrics => {
                let page = metrics::page(&self.counts, &self.settings.model);
                self.respond(conn, key, 200, "text/plain; version=0.0.4; charset=utf-8", id, "", page.as_bytes())
            }
            Route::Models => {
                let list = serde_json::json!({ "object": "list", "data": [{
                    "id": self.settings.model, "object": "model", "created": 0, "owned_by": "sparkbench",
                    "root": self.settings.model, "max_model_len": self.settings.max_model_len,
                }] });
                self.respond(conn, key, 200, json, id, "", list.to_string().as_bytes())
            }
            Route::Tokenize => match ask::tokenize(body, &mut self.hashes) {
                Ok(count) => {
                    let body = http::tokenized(count, self.settings.max_model_len);
                    self.respond(conn, key, 200, json, id, "", &body)
                }
                Err(refusal) => self.decline(conn, key, id, &refusal),
            },
            Route::WrongMethod => {
                let body = error_body(405, "MethodNotAllowed", "Method Not Allowed");
                self.respond(conn, key, 405, json, id, "", &body)
            }
            Route::Unknown => {
                let body = error_body(404, "NotFoundError", "Not Found");
                self.respond(conn, key, 404, json, id, "", &body)
            }
            Route::Chat | Route::Completions => {
                self.totals.asks += 1;
                let mut hashes = std::mem::take(&mut self.hashes);
                let asked = ask::read(body, head.route == Route::Chat, &self.settings, &mut hashes);
                self.hashes = hashes;
                let asked = asked.and_then(|ask| match &head.shape {
                    Some(Ok(shape)) => Ok(Ask { shape, ..ask }),
                    Some(Err(word)) => Err(Refusal { code: 400, message: format!("there is no shape `{word}`") }),
                    None => Ok(ask),
                });
                match asked {
                    Ok(ask) => self.take(conn, key, head, ask),
                    Err(refusal) => {
                        self.book.add(Truth {
                            id: head.id.clone().unwrap_or_default(),
                            shape: "refused",
                            outcome: Outcome::Refused,
                            mode: "none",
                            http: Some(refusal.code),
                            connection: conn.number,
                            before: conn.requests,
                            received_ns: conn.stamp.kernel,
                            received_user_ns: conn.stamp.user,
                            started_ns: conn.stamp.at(),
                            ..Truth::default()
                        });
                        self.decline(conn, key, id, &refusal)
                    }
                }
            }
        }
    }

    fn decline(&mut self, conn: &mut Conn, key: (u32, u32), id: Option<&str>, refusal: &Refusal) -> Fate {
        let kind = if refusal.code == 404 { "NotFoundError" } else { "BadRequestError" };
        let body = error_body(refusal.code, kind, &refusal.message);
        self.respond(conn, key, refusal.code, "application/json", id, "", &body)
    }

    /// A whole response at once.
    #[expect(clippy::too_many_arguments, reason = "the parts of a response, each once")]
    fn respond(
        &mut self,
        conn: &mut Conn,
        key: (u32, u32),
        code: u16,
        content_type: &str,
        id: Option<&str>,
        more: &str,
        body: &[u8],
    ) -> Fate {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let close = if conn.keep_alive || more.contains("connection:") { "" } else { "connection: close\r\n" };
        push_response(&mut out, code, content_type, id, &format!("{more}{close}"), body);
        let fate = self.write(conn, &out, now());
        self.out = out;
        if fate == Fate::Close { fate } else { self.finish(conn, key, End::Keep) }
    }

    /// Begins a job, or lets it wait for a place.
    fn take(&mut self, conn: &mut Conn, key: (u32, u32), head: &Head, ask: Ask) -> Fate {
        let id = head.id.clone().unwrap_or_else(|| format!("mock-{}", self.totals.asks));
        let tokens = ask.tokens;
        let setting = Setting {
            model: &self.settings.model,
            key: self.settings.reasoning_key,
            tokens_per_chunk: self.settings.tokens_per_chunk,
            reasoning: self.settings.reasoning_tokens,
            jitter: self.settings.jitter_ns,
            seed: self.settings.seed,
            created: net::clock::wall() / 1_000_000_000,
            keep_alive: head.keep_alive,
        };
        let list = || self.settings.truth_chunks.then(|| Vec::with_capacity(tokens as usize));
        let mut truth = Truth {
            shape: ask.shape.name,
            connection: conn.number,
            before: conn.requests,
            received_ns: conn.stamp.kernel,
            received_user_ns: conn.stamp.user,
            planned_tokens: tokens,
            prompt_tokens: ask.prompt_tokens,
            due_ns: list(),
            begun_ns: list(),
            emitted_ns: list(),
            ..Truth::default()
        };
        let job = Job::new(ask, &id, setting);
        (truth.id, truth.mode) = (id, job.mode());
        if !self.cache.is_off() {
            truth.cached_tokens = self.cache.take(&self.hashes);
            self.counts.cache_queries += self.hashes.len() as u64;
            self.counts.cache_hits += u64::from(truth.cached_tokens);
        }
        let running = self.settings.max_running.is_none_or(|most| self.counts.running < most);
        conn.active = Some(Box::new(Active { job, truth, running, stalled: false }));
        if !running {
            self.counts.waiting += 1;
            self.queue.push_back(key);
            return Fate::Stay;
        }
        self.counts.running += 1;
        self.begin(conn, key, conn.stamp.at().max(conn.free_at))
    }

    /// A place came free for a request that waited.
    fn admit(&mut self, conn: &mut Conn, key: (u32, u32)) -> Fate {
        self.begin(conn, key, now())
    }

    fn begin(&mut self, conn: &mut Conn, key: (u32, u32), at: Ns) -> Fate {
        self.totals.most_running = self.totals.most_running.max(self.counts.running);
        let Some(active) = conn.active.as_mut() else { return Fate::Stay };
        active.truth.started_ns = at;
        let Truth { prompt_tokens, cached_tokens, .. } = active.truth;
        self.counts.prompt_tokens += u64::from(prompt_tokens);
        let prefill = u64::from(prompt_tokens - cached_tokens).saturating_mul(self.settings.ttft_per_input_token_ns);
        match active.job.begin(at, prefill, cached_tokens) {
            Next::At(due) => {
                self.schedule(conn, key.0, due);
                Fate::Stay
            }
            _ => self.drive(conn, key),
        }
    }

    /// Makes the step whose time has come, and those that follow it at once.
    fn drive(&mut self, conn: &mut Conn, key: (u32, u32)) -> Fate {
        loop {
            let next = if conn.cutting.is_some() {
                match self.write_piece(conn) {
                    Some(next) => next,
                    None => return Fate::Close,
                }
            } else {
                if conn.pending.len() - conn.pending_at > PENDING_MAX {
                    conn.parked = true;
                    return Fate::Stay;
                }
                let mut active = match conn.active.take() {
                    Some(active) => active,
                    None => return Fate::Stay,
                };
                let made = self.steps(conn, &mut active);
                let again = active.job.timed();
                conn.active = Some(active);
                match made {
                    None => return Fate::Close,
                    // As fast as possible, and in turn with all others.
                    Some((tokens, Next::Now)) if tokens > 0 && !again && conn.cutting.is_none() => {
                        self.todo.push_back((key.0, key.1, Todo::Step));
                        return Fate::Stay;
                    }
                    Some((_, next)) => next,
                }
            };
            match next {
                Next::Now => {
                    if conn.active.as_ref().is_some_and(|active| active.job.reply() == Reply::HugeLine) {
                        self.todo.push_back((key.0, key.1, Todo::Step));
                        return Fate::Stay;
                    }
                }
                Next::At(due) => {
                    self.schedule(conn, key.0, due);
                    return Fate::Stay;
                }
                Next::End(end) => return self.finish(conn, key, end),
            }
        }
    }

    /// One step, or all of them where the answer is one write. Nothing when the client has gone.
    fn steps(&mut self, conn: &mut Conn, active: &mut Active) -> Option<(u32, Next)> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let whole = active.job.whole();
        let (mut tokens, mut chunks) = (0, 0);
        let (mut due, mut head) = (None, false);
        let before = conn.made + conn.held.len() as u64;
        let mut last;
        loop {
            let step = active.job.step(&mut self.event, &mut out);
            let Step { tokens: count, text, .. } = step;
            last = step;
            head |= step.head;
            if count > 0 {
                conn.marks.push_back(Mark { end: before + out.len() as u64, tokens: count, text });
                (tokens, chunks, due) = (tokens + count, chunks + 1, step.due.or(due));
                if let Some(list) = &mut active.truth.due_ns {
                    list.push(step.due.unwrap_or(active.truth.started_ns));
                }
            }
            if !whole || matches!(step.next, Next::End(_)) {
                break;
            }
        }
        let (cut, gone) = (active.job.cut(), matches!(last.next, Next::End(End::Reset | End::Stall | End::Close)));
        let blocked = conn.pending_at < conn.pending.len();
        let at = now();
        if head && active.truth.headers_ns.is_none() && !out.is_empty() {
            active.truth.headers_ns = Some(at);
            active.truth.http = active.job.code();
        }
        if let Some(list) = &mut active.truth.begun_ns {
            list.extend(std::iter::repeat_n(at, chunks));
        }
        if let (Some(due), false) = (due, blocked) {
            let late = at.saturating_sub(due);
            self.late.add(late);
            active.truth.latest_ns = Some(active.truth.latest_ns.unwrap_or(0).max(late));
        }
        self.totals.tokens += u64::from(tokens);
        self.counts.generation_tokens += u64::from(tokens);
        let by_lines = last.head && active.job.reply() == Reply::SlowHead;
        let mut next = last.next;
        let fate = if by_lines || (!last.head && !whole && matches!(cut, Cut::Bytes | Cut::Random | Cut::Utf8)) {
            conn.cutting = Some(Cutting { bytes: out.clone(), at: 0, lines: by_lines, next });
            next = Next::Now;
            Fate::Stay
        } else if cut == Cut::Middle && !last.head && !whole {
            let mut bytes = std::mem::take(&mut conn.held);
            let half = bytes.len() + out.len() / 2;
            bytes.extend_from_slice(&out);
            let half = if matches!(next, Next::End(_)) || gone { bytes.len() } else { half };
            conn.held = bytes.split_off(half);
            self.write_of(conn, active, &bytes, at)
        } else {
            self.write_of(conn, active, &out, at)
        };
        out.shrink_to(OUT_BYTES);
        self.out = out;
        (fate != Fate::Close).then_some((tokens, next))
    }

    /// The next piece of a step that is cut. Nothing when the client has gone.
    fn write_piece(&mut self, conn: &mut Conn) -> Option<Next> {
        let (mut cutting, mut active) = (conn.cutting.take()?, conn.active.take()?);
        let rest = &cutting.bytes[cutting.at..];
        let length = match active.job.cut() {
            _ if cutting.lines => rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1),
            Cut::Bytes => 1,
            Cut::Random => 1 + (active.job.draw() % 64) as usize,
            // After the first byte of a character that has more.
            Cut::Utf8 => rest.iter().position(|byte| *byte >= 0xc0).map_or(rest.len(), |first| first + 1),
            Cut::Whole | Cut::Middle => rest.len(),
        };
        let length = length.min(rest.len());
        let at = now();
        let fate = self.write_of(conn, &mut active, &rest[..length], at);
        cutting.at += length;
        conn.active = Some(active);
        if fate == Fate::Close {
            return None;
        }
        if cutting.at >= cutting.bytes.len() {
            return Some(cutting.next);
        }
        let gap = if cutting.lines { HEAD_LINE_NS } else { CUT_NS };
        conn.cutting = Some(cutting);
        Some(Next::At(at + gap))
    }

    /// Writes bytes of an answer, and settles what they end.
    fn write_of(&mut self, conn: &mut Conn, active: &mut Active, bytes: &[u8], at: Ns) -> Fate {
        let fate = self.write(conn, bytes, at);
        let taken = conn.taken();
        settle(&mut conn.marks, taken, &mut active.truth, at);
        fate
    }

    /// Hands bytes to the socket, or puts them behind what it has not taken yet.
    fn write(&mut self, conn: &mut Conn, bytes: &[u8], at: Ns) -> Fate {
        let mut count = 0;
        if conn.pending_at >= conn.pending.len() && !bytes.is_empty() {
            match conn.stream.send(bytes) {
                Ok(sent) => count = sent,
                Err(_) => return Fate::Close,
            }
            conn.last_write = at;
        }
        conn.made += bytes.len() as u64;
        if count < bytes.len() {
            conn.pending.extend_from_slice(&bytes[count..]);
            if !conn.wants_room {
                conn.wants_room = self.poller.change(&conn.stream, conn.token(), Interest::Both).is_ok();
            }
        }
        Fate::Stay
    }

    /// There is room in the socket again.
    fn flush(&mut self, conn: &mut Conn, key: (u32, u32)) -> Fate {
        if conn.pending_at < conn.pending.len() {
            let at = now();
            match conn.stream.send(&conn.pending[conn.pending_at..]) {
                Ok(sent) => conn.pending_at += sent,
                Err(_) => return Fate::Close,
            }
            conn.last_write = at;
            let taken = conn.taken();
            if let Some(active) = &mut conn.active {
                settle(&mut conn.marks, taken, &mut active.truth, at);
            }
            if conn.pending_at < conn.pending.len() {
                return Fate::Stay;
            }
        }
        conn.pending_at = 0;
        // A client that has once been slow may be so again: the buffer stays, unless it has grown beyond what an answer pauses at.
        conn.pending.clear();
        conn.pending.shrink_to(PENDING_MAX);
        if conn.wants_room {
            conn.wants_room = self.poller.change(&conn.stream, conn.token(), Interest::Read).is_err();
        }
        if let Some(end) = conn.ending.take() {
            return self.finish(conn, key, end);
        }
        if std::mem::take(&mut conn.parked) {
            self.todo.push_back((key.0, key.1, Todo::Step));
        }
        Fate::Stay
    }

    /// The response is made; what is left of it is written first, unless the shape breaks it off.
    fn finish(&mut self, conn: &mut Conn, key: (u32, u32), end: End) -> Fate {
        if conn.pending_at < conn.pending.len() && !matches!(end, End::Reset | End::Stall) {
            conn.ending = Some(end);
            return Fate::Stay;
        }
        let outcome = match end {
            End::Keep | End::CloseAfter | End::CloseIdle => Outcome::Complete,
            End::Close => Outcome::Closed,
            End::Reset => Outcome::Reset,
            End::Stall => {
                if let Some(active) = &mut conn.active {
                    active.stalled = true;
                }
                return Fate::Stay;
            }
        };
        self.over(conn, outcome);
        conn.free_at = now();
        match end {
            End::Reset => return Fate::Reset,
            End::Close | End::CloseAfter => return Fate::Close,
            _ if !conn.keep_alive => return Fate::Close,
            End::CloseIdle => self.schedule(conn, key.0, conn.free_at + IDLE_NS),
            _ => {
                if let Some(idle) = self.settings.close_idle_ns {
                    self.schedule(conn, key.0, conn.free_at.saturating_add(idle));
                }
            }
        }
        // The next request may have come already.
        self.todo.push_back((key.0, key.1, Todo::Request));
        Fate::Stay
    }

    /// A request to the model has ended: its truth is told, its place goes to the next.
    fn over(&mut self, conn: &mut Conn, outcome: Outcome) {
        conn.marks.clear();
        conn.cutting = None;
        conn.held.clear();
        conn.tick = 0;
        let Some(mut active) = conn.active.take() else { return };
        let Counts { stopped, length, aborted, .. } = &mut self.counts;
        active.truth.outcome = match outcome {
            Outcome::ClientGone | Outcome::Stopped if active.stalled => Outcome::Stalled,
            Outcome::Complete if active.job.code().is_some_and(|code| code != 200) => Outcome::Refused,
            other => other,
        };
        if outcome == Outcome::Complete {
            active.truth.end_ns = Some(conn.last_write);
            *if active.job.ask().by_length { length } else { stopped } += 1;
        } else {
            *aborted += 1;
        }
        self.book.add(active.truth);
        if !active.running {
            // It left while it waited; its entry in the queue is passed over when its turn comes.
            self.counts.waiting = self.counts.waiting.saturating_sub(1);
            return;
        }
        self.counts.running -= 1;
        while self.settings.max_running.is_some_and(|most| self.counts.running < most) {
            let Some((slot, generation)) = self.queue.pop_front() else { return };
            let place = self.slots.get_mut(slot as usize).filter(|place| place.generation == generation);
            if let Some(next) = place.and_then(|place| place.conn.as_mut()?.active.as_mut()) {
                next.running = true;
                self.counts.waiting = self.counts.waiting.saturating_sub(1);
                self.counts.running += 1;
                self.todo.push_back((slot, generation, Todo::Admit));
            }
        }
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

impl Conn {
    /// Number that the poller knows it by.
    const fn token(&self) -> u64 {
        ((self.key.1 as u64) << 32) | self.key.0 as u64
    }

    /// Bytes that the socket has taken since the connection began.
    const fn taken(&self) -> u64 {
        self.made - (self.pending.len() - self.pending_at) as u64
    }
}

fn stamping() -> Option<(Listener, Stream)> {
    let listener = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).ok()?;
    let stream = Stream::connect(listener.address().ok()?).ok()?;
    Some((listener, stream))
}

/// Events whose last byte has been taken are emitted.
fn settle(marks: &mut VecDeque<Mark>, taken: u64, truth: &mut Truth, at: Ns) {
    while let Some(mark) = marks.front().copied().filter(|mark| mark.end <= taken) {
        marks.pop_front();
        truth.first_ns.get_or_insert(at);
        truth.last_ns = Some(at);
        truth.chunks += 1;
        truth.tokens += mark.tokens;
        truth.text_bytes += u64::from(mark.text);
        if let Some(list) = &mut truth.emitted_ns {
            list.push(at);
        }
    }
}
