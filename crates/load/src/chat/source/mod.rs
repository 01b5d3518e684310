//! Who sends which turn when: clients, their active conversations, the rate, the limits.
//!
//! In:  [`Library`], settings, the times from the engine.  Out: orders, as a [`Source`].
//! Not here: building bodies (see `builder`), the words of a turn (see `library`).
//!
//! There are N clients. Each leads up to max_active/N conversations, sends one turn at a time and waits for its answer. Then it chooses
//! among its active conversations, in turn or by the seed, and sends the next. A conversation that ended is replaced by the next one of the
//! client's own share. Client g of N leads conversations g, g+N, g+2N and so on. The known script gives the next conversation to whichever
//! client asks first, which makes the plan depend on the server's speed. Here who says what, in which order, is decided by the seed alone as
//! long as no turn fails.
//!
//! Several machines split one plan: conversation i belongs to the machine with rank i modulo their number, and so do the clients. Limits
//! over all clients (active conversations, requests) are dealt out to the clients, the first ones taking what does not divide.
//!
//! With a rate each client has intended times of its own, a Poisson process drawn from the seed. A turn is sent at its intended time, or
//! as soon as the client's answer before it has come. The intended time stays the one that was drawn, so latency counts the wait.
//!
//! A warm-up step sends the first turn of every conversation, each client one after the other, before anything is measured. When the last
//! is answered the measured part begins and conversations go on with their second turn. What fails there is left out of it.
//!
//! When a turn fails its conversation ends, the turns behind it are never sent and are counted, and a new conversation takes its place. Its
//! client waits before its next turn like a place of a closed loop, and the load ends like any other where nothing but failures comes (see
//! [`Calm`]).

mod client;
mod deal;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::Write;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use self::client::{ChatClient, Held, clients};
use super::builder::{BuiltTurn, ChatOutcome, Setup, Task, Then, TurnBuilder};
use super::figures::Figures;
use super::frame::Frame;
use super::library::Library;
use super::log::Ended;
use super::texts::Texts;
use crate::order::{EndedBy, Gate, Next, Phase, Record, Source};
use crate::schedule::calm::{Calm, OnTheWay};
use crate::settings::{Sampling, Settings, Work};
use sparkbench_host::net::{Ns, Waker};
use sparkbench_text::error::{Error, Kind};

/// See the module.
pub struct ChatSource {
    clients: Vec<ChatClient>,
    held: HashMap<u32, Held>,
    /// Clients whose time will come.
    due: BinaryHeap<Reverse<(Ns, usize)>>,
    /// Clients that may send now.
    ready: VecDeque<usize>,
    finished: usize,
    phase: Phase,
    started: bool,
    over: bool,
    /// Set for several clients of one load. Without it a phase begins when everything before has been answered.
    gate: Option<Box<dyn Gate>>,
    origin: Option<Ns>,
    deadline: Option<Ns>,
    measured_from: Option<Ns>,
    /// Orders that were asked for and not built yet.
    pending: usize,
    count: Option<u64>,
    rank: u64,
    world: u64,
    all_clients: u64,
    rate: Option<f64>,
    duration: Option<Ns>,
    sampling: Sampling,
    early_stop: bool,
    tasks: Sender<Task>,
    built: Receiver<BuiltTurn>,
    waker: Arc<OnceLock<Waker>>,
    thread: Option<JoinHandle<ChatOutcome>>,
    calm: Calm,
    /// Longest wait that a server may ask for.
    longest: Ns,
    /// Numbers of the turns that are open, in the order in which they were sent, by their index.
    open: HashMap<u64, u64>,
    /// Turns that were sent.
    sent: u64,
    /// Failures in a row that ended the load.
    gave_up: Option<u64>,
    /// Its time was over before everything was sent.
    out_of_time: bool,
}

/// Inputs of a source beside the settings.
pub struct Parts {
    /// The words of the turns: [`Library::read`] of the same settings.
    pub library: Library,
    /// How text becomes tokens.
    pub texts: Box<dyn Texts>,
    /// The frame of the messages.
    pub frame: Frame,
    /// Head of every request id.
    pub request_ids: String,
    /// `conversations.jsonl`, where requested.
    pub log: Option<Box<dyn Write + Send>>,
    /// Where content is printed. Used where the settings ask for it.
    pub print: Option<Box<dyn Write + Send>>,
}

impl ChatSource {
    /// Starts the builder's thread. Nothing is built before the first [`Source::next`].
    ///
    /// # Errors
    /// When the settings hold no conversations, or no thread can be started.
    pub fn new(settings: &Settings, parts: Parts) -> Result<Self, Error> {
        let Work::Conversations(chat) = &settings.work else {
            return Err(Error::usage("this load has no conversations"));
        };
        let count = parts.library.count();
        let print = parts.print.filter(|_| chat.print_content);
        let setup = Setup {
            library: parts.library,
            texts: parts.texts,
            frame: parts.frame,
            chat: (**chat).clone(),
            request_ids: parts.request_ids,
            log: parts.log,
            print,
        };
        let (tasks, to_do) = mpsc::channel();
        let (done, built) = mpsc::channel();
        let waker = Arc::new(OnceLock::new());
        let bell = Arc::clone(&waker);
        let thread = std::thread::Builder::new()
            .name("chat".to_owned())
            .spawn(move || TurnBuilder::new(setup).run(&to_do, &done, &bell))
            .map_err(|cause| {
                Error::new(Kind::Preflight, "cannot start the thread that builds conversations")
                    .hint("raise the limit of processes (ulimit -u)")
                    .because(cause)
            })?;
        let (rank, world) = (u64::from(settings.share.rank), u64::from(settings.share.world.max(1)));
        let clients = clients(settings, chat);
        Ok(Self {
            clients,
            held: HashMap::new(),
            due: BinaryHeap::new(),
            ready: VecDeque::new(),
            finished: 0,
            phase: if chat.warmup_step { Phase::Warmup } else { Phase::Measured },
            started: false,
            over: false,
            gate: None,
            origin: None,
            deadline: None,
            measured_from: None,
            pending: 0,
            count,
            rank,
            world,
            all_clients: u64::from(chat.clients),
            rate: chat.request_rate,
            duration: settings.duration_s.map(|seconds| (seconds * 1e9) as Ns),
            sampling: chat.sampling,
            early_stop: chat.early_stop,
            tasks,
            built,
            waker,
            thread: Some(thread),
            calm: Calm::new(settings.max_errors.map(u64::from)),
            longest: (settings.timeout_s * 1e9) as Ns,
            open: HashMap::new(),
            sent: 0,
            gave_up: None,
            out_of_time: false,
        })
    }

    /// Wakes this poller whenever a turn has been built. Only the first call counts.
    pub fn wake(&self, waker: Waker) {
        let _ = self.waker.set(waker);
    }

    /// Times in `conversations.jsonl` count from here. Without it from the first [`Source::next`]. To be called before that.
    pub fn count_times_from(&mut self, origin: Ns) {
        self.origin = Some(origin);
    }

    /// Phases begin when this says so. To be called before the first [`Source::next`].
    pub fn begin_by(&mut self, gate: Box<dyn Gate>) {
        self.gate = Some(gate);
    }

    /// Answer while a phase may not begin yet.
    fn shut(&mut self, phase: Phase, now: Ns) -> Option<Next> {
        match self.gate.as_mut()?.pass(phase) {
            None => Some(Next::Wait),
            Some(from) => (from > now).then_some(Next::At(from)),
        }
    }

    /// What ended the load.
    pub fn ended_by(&self) -> EndedBy {
        match (self.gave_up, self.out_of_time) {
            (Some(_), _) => EndedBy::MaxErrors,
            (None, true) => EndedBy::Duration,
            (None, false) => EndedBy::Plan,
        }
    }

    /// Failures in a row, if they ended the load.
    pub fn gave_up(&self) -> Option<u64> {
        self.gave_up
    }

    /// How often a client waited after a failed turn, and for how long in all, seconds.
    pub(crate) fn pauses(&self) -> (u64, f64) {
        self.calm.pauses()
    }

    /// Writes down what is still open and gives the figures. To be called when the engine is done.
    ///
    /// # Errors
    /// When conversations could not be written, or the thread that builds them broke.
    pub fn finish(mut self) -> Result<Figures, Error> {
        self.send(Task::Finish);
        let outcome = self.thread.take().and_then(|thread| thread.join().ok());
        let outcome = outcome.ok_or_else(|| {
            Error::new(Kind::Workload, "the thread that builds conversations stopped unexpectedly")
                .hint("please report this as a bug")
        })?;
        match outcome.error {
            Some(error) => Err(error),
            None => Ok(outcome.figures),
        }
    }
}

impl Source for ChatSource {
    fn next(&mut self, now: Ns, _in_flight: usize) -> Next {
        if !self.started {
            if let Some(shut) = self.shut(self.phase, now) {
                return shut;
            }
            self.start(now);
        }
        loop {
            match self.built.try_recv() {
                Ok(built) => self.take(built, now),
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => {
                    self.over = true;
                    break;
                }
            }
        }
        loop {
            if self.over || self.deadline.is_some_and(|deadline| now >= deadline) {
                self.out_of_time |= !self.over;
                self.over = true;
                return Next::Done;
            }
            while let Some(Reverse((due, at))) = self.due.peek().copied() {
                if due > now {
                    break;
                }
                self.due.pop();
                self.come(at, now);
            }
            while let Some(at) = self.ready.pop_front() {
                if let Some(order) = self.order(at) {
                    self.open.insert(order.index, self.sent);
                    self.sent += 1;
                    return Next::Send(order);
                }
            }
            if self.finished < self.clients.len() {
                let due = self.due.peek().map(|Reverse((due, _))| *due);
                return match (due, self.deadline) {
                    (Some(due), Some(deadline)) => Next::At(due.min(deadline)),
                    (Some(moment), None) | (None, Some(moment)) => Next::At(moment),
                    (None, None) => Next::Wait,
                };
            }
            if self.phase == Phase::Measured {
                self.over = true;
            } else {
                if let Some(shut) = self.shut(Phase::Measured, now) {
                    return shut;
                }
                self.phase = Phase::Measured;
                self.begin(now);
            }
        }
    }

    fn ended(&mut self, now: Ns, record: &Record, text: Option<Vec<u8>>) {
        let places = Some(self.clients.len());
        let number = self.open.remove(&record.index).unwrap_or(self.sent);
        let way = OnTheWay { number, open: self.open.len() as u64, next: self.sent };
        let pause = self.calm.pause_after(record, places, self.longest, way).unwrap_or(0);
        self.gave_up = self.gave_up.or(self.calm.hopeless(places));
        self.over |= self.gave_up.is_some();
        let Some(turn) = record.turn else { return };
        let Some(held) = self.held.get(&turn.conversation) else { return };
        let at = held.client;
        let then = self.after(turn.conversation, turn.turn, record.status);
        let ended = Box::new(Ended::of(record, turn.client, turn.turn));
        self.send(Task::Ended { conversation: turn.conversation, ended, text, then });
        let Some(client) = self.clients.get_mut(at) else { return };
        client.chosen = None;
        match then {
            Then::Build => self.pending += 1,
            Then::Park => {
                client.active.retain(|active| *active != turn.conversation);
                client.parked.push_back(turn.conversation);
            }
            Then::Close(_) => {
                client.active.retain(|active| *active != turn.conversation);
                self.held.remove(&turn.conversation);
            }
        }
        if !self.over {
            self.free(at, now, now.saturating_add(pause));
        }
    }
}

#[cfg(test)]
impl ChatSource {
    /// Waits until everything that was asked for is built.
    pub(super) fn settle(&mut self, now: Ns) {
        while self.pending > 0 {
            let Ok(built) = self.built.recv() else { return };
            self.take(built, now);
        }
    }
}
