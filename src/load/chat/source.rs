//! Who sends which turn when: clients, their active conversations, the rate, the limits.
//!
//! In:  [`Library`], settings, the moments that the engine tells.  Out: [`Order`]s, as a [`Source`].
//! Not here: building bodies (see `builder`), what is said (see `library`).
//!
//! There are N clients. Each leads up to max_active/N conversations, sends one turn at a time and waits for its answer; then it chooses
//! among its active conversations, in turn or by the seed, and sends the next. A conversation that ended is replaced by the next one of
//! the client's own share: client g of N leads conversations g, g+N, g+2N and so on. The known script gives the next conversation to
//! whichever client asks first, which makes the plan depend on the server's speed; here who says what, in which order, is decided by the
//! seed alone as long as no turn fails.
//!
//! Several machines split one plan: conversation i belongs to the machine with rank i modulo their number, and so do the clients. Limits
//! over all clients (active conversations, requests) are dealt out to the clients, the first ones taking what does not divide.
//!
//! With a rate each client has intended times of its own, a Poisson process drawn from the seed. A turn is sent at its intended time, or
//! as soon as the client's answer before it has come; the intended time stays the one that was drawn, so latency counts the wait.
//!
//! A warm-up step sends the first turn of every conversation, each client one after the other, before anything is measured; when the last
//! is answered the measured part begins and conversations go on with their second turn. What fails there is left out of it.
//!
//! When a turn fails its conversation ends, the turns behind it are never sent and are counted, and a new conversation takes its place.
//! A client whose turns fail one after the other waits a little longer each time, up to a second: a server that is down is not stormed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::Write;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use super::builder::{Builder, Built, Outcome, Setup, Task, Then};
use super::draw::exponential;
use super::figures::Figures;
use super::frame::Frame;
use super::library::Library;
use super::log::{Ended, Why};
use super::settings::{ACTIVE_PER_CLIENT, most_requests};
use super::texts::Texts;
use crate::error::{Error, Kind};
use crate::host::net::{Ns, Waker};
use crate::load::order::{Next, Order, Phase, Record, Source, Status};
use crate::load::settings::{Conversations, Sampling, Settings, Work};
use crate::stats::random::{Stream, job_base};

/// Wait of a client after its first failed turn in a row; twice as long after each further one.
const PAUSE: Ns = 10_000_000;
/// Longest such wait.
const PAUSE_MAX: Ns = 1_000_000_000;

/// Where a client stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not begun, or begun anew after the warm-up step.
    Fresh,
    /// Its next conversation is chosen and its time has not come.
    Until,
    /// Its time came at this moment, and the body is not built yet.
    Unbuilt(Ns),
    /// It may send.
    Ready,
    /// It waits for an answer.
    Waiting,
    /// It has nothing left to send.
    Finished,
}

#[derive(Debug)]
struct Client {
    /// Over all machines.
    number: u32,
    state: State,
    /// Conversations that it leads, in the order of their turns.
    active: VecDeque<u32>,
    /// The one chosen for its next turn.
    chosen: Option<u32>,
    most_active: usize,
    /// Conversations of its share that it has begun.
    begun: u64,
    /// Begun in the warm-up step, to go on with.
    parked: VecDeque<u32>,
    /// Turns that it has sent, over both phases.
    sent: u64,
    /// Turns that it may still send in the measured part; absent without a limit.
    left: Option<u64>,
    gaps: Stream,
    picks: Stream,
    /// Intended time of its last turn.
    intended: Option<Ns>,
    /// Failed turns in a row.
    failures: u32,
}

#[derive(Debug)]
struct Held {
    client: usize,
    turns: u32,
    order: Option<Box<Order>>,
}

/// See the module.
pub struct ChatSource {
    clients: Vec<Client>,
    held: HashMap<u32, Held>,
    /// Clients whose time will come.
    due: BinaryHeap<Reverse<(Ns, usize)>>,
    /// Clients that may send now.
    ready: VecDeque<usize>,
    finished: usize,
    phase: Phase,
    started: bool,
    over: bool,
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
    built: Receiver<Built>,
    waker: Arc<OnceLock<Waker>>,
    thread: Option<JoinHandle<Outcome>>,
}

/// What a source is made of beside the settings.
pub struct Parts {
    /// What is said; [`Library::read`] of the same settings.
    pub library: Library,
    /// How text becomes tokens.
    pub texts: Box<dyn Texts>,
    /// What surrounds the messages.
    pub frame: Frame,
    /// Head of every request id.
    pub request_ids: String,
    /// `conversations.jsonl`, where it is wanted.
    pub log: Option<Box<dyn Write + Send>>,
    /// Where content is printed; used where the settings ask for it.
    pub print: Option<Box<dyn Write + Send>>,
}

impl ChatSource {
    /// Starts the builder's thread; nothing is built before the first [`Source::next`].
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
            .spawn(move || Builder::new(setup).run(&to_do, &done, &bell))
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
        })
    }

    /// Wakes this poller whenever a turn has been built. Only the first call counts.
    pub fn wake(&self, waker: Waker) {
        let _ = self.waker.set(waker);
    }

    /// Times in `conversations.jsonl` count from here; without it from the first [`Source::next`]. To be called before that.
    pub fn count_times_from(&mut self, origin: Ns) {
        self.origin = Some(origin);
    }

    /// When the measured part began; absent before it did.
    pub fn measured_from(&self) -> Option<Ns> {
        self.measured_from
    }

    /// Writes down what is still open and gives the figures. To be called when the engine is done.
    ///
    /// # Errors
    /// When conversations could not be written, or the thread that builds them broke.
    pub fn finish(mut self) -> Result<Figures, Error> {
        self.send(Task::Finish);
        let outcome = self.thread.take().and_then(|thread| thread.join().ok());
        let outcome = outcome.ok_or_else(|| {
            Error::new(Kind::Workload, "the thread that builds conversations broke off")
                .hint("please report this as a fault")
        })?;
        match outcome.error {
            Some(error) => Err(error),
            None => Ok(outcome.figures),
        }
    }
}

/// The clients of this machine.
fn clients(settings: &Settings, chat: &Conversations) -> Vec<Client> {
    let all = chat.clients.max(1);
    let most_active = chat.max_active.unwrap_or_else(|| all.saturating_mul(ACTIVE_PER_CLIENT));
    let share = |of: u64, number: u32| of / u64::from(all) + u64::from(u64::from(number) < of % u64::from(all));
    let streams = |key: &str, number: u32| Stream::new(job_base(settings.seed, key), u64::from(number));
    (settings.share.rank..all)
        .step_by(settings.share.world.max(1) as usize)
        .map(|number| Client {
            number,
            state: State::Fresh,
            active: VecDeque::new(),
            chosen: None,
            most_active: usize::try_from(share(u64::from(most_active), number)).unwrap_or(usize::MAX).max(1),
            begun: 0,
            parked: VecDeque::new(),
            sent: 0,
            left: most_requests(settings, chat).map(|most| share(most, number)),
            gaps: streams("chat|gaps", number),
            picks: streams("chat|picks", number),
            intended: None,
            failures: 0,
        })
        .collect()
}

impl ChatSource {
    fn send(&self, task: Task) {
        // Fails only when the thread broke off; `next` finds that out and ends the load.
        let _ = self.tasks.send(task);
    }

    fn start(&mut self, now: Ns) {
        self.started = true;
        self.send(Task::Origin(self.origin.unwrap_or(now)));
        self.begin(now);
    }

    /// Begins a phase.
    fn begin(&mut self, now: Ns) {
        self.finished = 0;
        if self.phase == Phase::Measured {
            self.measured_from = Some(now);
            self.deadline = self.duration.map(|duration| now.saturating_add(duration));
        }
        for at in 0..self.clients.len() {
            if let Some(client) = self.clients.get_mut(at) {
                client.state = State::Fresh;
            }
            self.free(at, now, now);
        }
    }

    /// Number of the next conversation of a client that nobody has begun.
    fn fresh(&mut self, at: usize) -> Option<u32> {
        let here = self.clients.len() as u64;
        let client = self.clients.get_mut(at)?;
        let local = at as u64 + client.begun.checked_mul(here)?;
        let number = local.checked_mul(self.world)?.checked_add(self.rank)?;
        if self.count.is_some_and(|count| number >= count) {
            return None;
        }
        client.begun += 1;
        u32::try_from(number).ok()
    }

    /// Gives a client conversations up to its number.
    fn fill(&mut self, at: usize) {
        let warm = self.phase == Phase::Warmup;
        loop {
            let Some(client) = self.clients.get_mut(at) else { return };
            // In the warm-up step one after the other: nothing is gained by several that never go on.
            if client.active.len() >= if warm { 1 } else { client.most_active } {
                return;
            }
            let number = client.number;
            let parked = if warm { None } else { client.parked.pop_front() };
            let conversation = match parked {
                Some(conversation) => {
                    self.send(Task::Resume { conversation });
                    conversation
                }
                None => {
                    let Some(conversation) = self.fresh(at) else { return };
                    self.send(Task::Open { conversation, client: number });
                    self.held.insert(conversation, Held { client: at, turns: 0, order: None });
                    conversation
                }
            };
            self.pending += 1;
            if let Some(client) = self.clients.get_mut(at) {
                client.active.push_back(conversation);
            }
        }
    }

    /// A client has no turn in flight: what does it do next, and when? Not before `earliest`.
    fn free(&mut self, at: usize, now: Ns, earliest: Ns) {
        if self.clients.get(at).is_none_or(|client| self.phase == Phase::Measured && client.left == Some(0)) {
            self.done_with(at);
            return;
        }
        self.fill(at);
        let (rate, from, measured, sampling) =
            (self.rate, self.measured_from, self.phase == Phase::Measured, self.sampling);
        let Some(client) = self.clients.get_mut(at) else { return };
        let place = match sampling {
            _ if client.active.is_empty() => None,
            Sampling::RoundRobin => Some(0),
            Sampling::Random => Some(client.picks.index(client.active.len())),
        };
        let Some(conversation) = place.and_then(|place| client.active.get(place).copied()) else {
            self.done_with(at);
            return;
        };
        if sampling == Sampling::RoundRobin {
            client.active.rotate_left(1);
        }
        client.chosen = Some(conversation);
        let mut due = earliest;
        if measured && let (Some(rate), Some(from)) = (rate, from) {
            let gap = (exponential(&mut client.gaps) / rate * 1e9) as Ns;
            let intended = client.intended.unwrap_or(from).saturating_add(gap);
            client.intended = Some(intended);
            due = due.max(intended);
        }
        client.state = State::Until;
        if due > now {
            self.due.push(Reverse((due, at)));
        } else {
            self.come(at, now);
        }
    }

    /// The time of a client's turn has come.
    fn come(&mut self, at: usize, now: Ns) {
        let Some(client) = self.clients.get_mut(at) else { return };
        let built = client.chosen.and_then(|chosen| self.held.get(&chosen)).is_some_and(|held| held.order.is_some());
        client.state = if built { State::Ready } else { State::Unbuilt(now) };
        if built {
            self.ready.push_back(at);
        }
    }

    /// A client has nothing left to send in this phase.
    fn done_with(&mut self, at: usize) {
        let Some(client) = self.clients.get_mut(at) else { return };
        if client.state == State::Finished {
            return;
        }
        client.state = State::Finished;
        client.chosen = None;
        self.finished += 1;
        // What it still leads will not go on: its limit of requests is reached.
        let open: Vec<u32> = client
            .active
            .drain(..)
            .chain(if self.phase == Phase::Measured { client.parked.split_off(0) } else { VecDeque::new() })
            .collect();
        for conversation in open {
            self.held.remove(&conversation);
            self.send(Task::Close { conversation, why: Why::Cut });
        }
        if self.early_stop && self.phase == Phase::Measured {
            self.over = true;
        }
    }

    /// Takes a turn that has been built.
    fn take(&mut self, built: Built, now: Ns) {
        self.pending = self.pending.saturating_sub(1);
        let Some(held) = self.held.get_mut(&built.conversation) else { return };
        held.turns = built.turns;
        held.order = built.order;
        let at = held.client;
        if let Some(client) = self.clients.get_mut(at)
            && client.chosen == Some(built.conversation)
            && let State::Unbuilt(since) = client.state
        {
            client.state = State::Ready;
            self.ready.push_back(at);
            self.send(Task::Late(now.saturating_sub(since) as f64 / 1e6));
        }
    }

    /// The turn of a client that is ready.
    fn order(&mut self, at: usize) -> Option<Box<Order>> {
        let client = self.clients.get_mut(at)?;
        let mut order = self.held.get_mut(&client.chosen?)?.order.take()?;
        order.index = client.sent.saturating_mul(self.all_clients).saturating_add(u64::from(client.number));
        order.phase = self.phase;
        order.intended = if self.phase == Phase::Measured && self.rate.is_some() { client.intended } else { None };
        client.sent += 1;
        if self.phase == Phase::Measured {
            client.left = client.left.map(|left| left.saturating_sub(1));
        }
        client.state = State::Waiting;
        Some(order)
    }

    /// What follows a turn of a conversation.
    fn after(&self, conversation: u32, turn: u32, status: Status) -> Then {
        let turns = self.held.get(&conversation).map_or(0, |held| held.turns);
        if status == Status::Cancelled || status == Status::NotSent {
            Then::Close(Why::Cut)
        } else if !status.answered() {
            Then::Close(Why::Failed)
        } else if turn.saturating_add(1) >= turns {
            Then::Close(Why::Done)
        } else if self.phase == Phase::Warmup {
            Then::Park
        } else if self.over {
            Then::Close(Why::Cut)
        } else {
            Then::Build
        }
    }
}

impl Source for ChatSource {
    fn next(&mut self, now: Ns, _in_flight: usize) -> Next {
        if !self.started {
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
                self.phase = Phase::Measured;
                self.begin(now);
            }
        }
    }

    fn ended(&mut self, now: Ns, record: &Record, text: Option<Vec<u8>>) {
        let Some(turn) = record.turn else { return };
        let Some(held) = self.held.get(&turn.conversation) else { return };
        let at = held.client;
        let then = self.after(turn.conversation, turn.turn, record.status);
        let ended = Box::new(Ended::of(record, turn.client, turn.turn));
        self.send(Task::Ended { conversation: turn.conversation, ended, text, then });
        let Some(client) = self.clients.get_mut(at) else { return };
        client.chosen = None;
        let mut earliest = now;
        match then {
            Then::Build => {
                self.pending += 1;
                client.failures = 0;
            }
            Then::Park => {
                client.failures = 0;
                client.active.retain(|active| *active != turn.conversation);
                client.parked.push_back(turn.conversation);
            }
            Then::Close(why) => {
                client.active.retain(|active| *active != turn.conversation);
                self.held.remove(&turn.conversation);
                if why == Why::Failed {
                    earliest = now.saturating_add(PAUSE.saturating_mul(1 << client.failures.min(10)).min(PAUSE_MAX));
                    client.failures = client.failures.saturating_add(1);
                } else {
                    client.failures = 0;
                }
            }
        }
        if !self.over {
            self.free(at, now, earliest);
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
