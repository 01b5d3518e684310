//! One thread that sends requests when they are due, and reads answers where they arrive.
//!
//! In:  a [`Target`], [`Options`], a [`Source`] of requests and times.  Out: chunks and records to a [`Sink`], an [`EngineReport`].
//! Not here: bodies (see `build`), send times (see `schedule`), HTTP and events themselves (see `wire`), files (see `store`).
//!
//! ```text
//! Source ─▶ dispatch ─▶ connection at hand, or a new one ─▶ send ─▶ … ─▶ read ─▶ wire ─▶ Job ─▶ Sink
//!               ▲                                                    │
//!               └────────────── poller: sockets, a moment, the waker ◀┘
//! ```
//!
//! A general HTTP library costs both accuracy and speed here, so this is the whole path from the socket to the record. Each ready socket
//! gets one read into the shared buffer, and everything is parsed in place. An event needs no allocation and no timer. There is one system
//! call for a read and one for each poll of all sockets.
//!
//! **Accuracy.** An event has the kernel's time of the packet that completed it. A thread that was not scheduled reads late, but its figures
//! are right. Sending *can* be late. So the source is asked again after every answer that ends and, between two sockets, whenever its next
//! moment has come. And at most a few dozen requests are sent before sockets are polled again. Both delays are in the report.
//!
//! **Connections** are reused, the warmest first. One that the server closed while idle is dropped. A request that met such a connection is
//! sent again on a new one, once, and its record says so. So is a request in whose place an answer came that nobody had asked for. Nothing
//! else is sent twice unless `retries` asks for it.

mod ahead;
mod answer;
mod connect;
mod error_text;
mod flight;
mod flow;
mod gather;
mod hidden;
mod options;
mod outcome;
mod pool;
mod report;
mod unasked;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

pub use options::Options;
pub use outcome::WITHOUT_STREAM_OPTIONS;
pub use report::{Control, EngineReport, Progress, Sum};

use self::answer::Job;
use self::flow::Flow;
use self::gather::Gather;
use self::pool::Pool;
use self::unasked::Unasked;
use super::order::{Next, Sink, Source, Status};
use super::target::Target;
use super::wire::Deltas;
use sparkbench_archive::mask::Veil;
use sparkbench_host::net::tls;
use sparkbench_host::net::usage::Usage;
use sparkbench_host::net::{self, Ns, Poller, Ready, Stamping, Waker, limits};
use sparkbench_text::error::{Error, Kind};

/// Room for one read. A token's packet has some hundreds of bytes. Whole answers that come at once are read in few pieces.
const BUFFER: usize = 256 * 1024;
/// Requests sent between two polls of the sockets.
const DISPATCH: usize = 32;
/// Given-up requests are looked for at such steps, so that the timer is not set for each of them, ns.
const STEP: Ns = 2_000_000;

/// Who gets reports.
struct Ends<'a> {
    source: &'a mut dyn Source,
    sink: &'a mut dyn Sink,
    control: &'a Control,
}

/// Last answer of the source.
#[derive(Debug, Default)]
struct Turn {
    /// When it wants to be asked again.
    at: Option<Ns>,
    /// It may have more at once.
    more: bool,
    /// It has no more.
    done: bool,
    /// Since when.
    done_at: Option<Ns>,
}

/// See the module.
pub struct Engine {
    poller: Poller,
    _stamping: Stamping,
    stamping_since: Ns,
    pool: Pool,
    shown: String,
    host: String,
    name: String,
    path: String,
    headers: Vec<(String, String)>,
    /// Name of the header that has the key, where one is sent.
    key_header: Option<String>,
    veil: Veil,
    tls: Option<tls::TlsClient>,
    addresses: Vec<SocketAddr>,
    /// The address that answered.
    settled: Option<usize>,
    options: Options,
    deltas: Deltas,
    buffer: Vec<u8>,
    cipher: Vec<u8>,
    scratch: Vec<u8>,
    deadlines: BTreeSet<(Ns, u64)>,
    delayed: BTreeMap<(Ns, u64), Box<Job>>,
    /// The longest wait before a sending that was told so far, ns.
    longest_wait: Ns,
    /// When answers of a closed loop ended whose places are not taken again yet.
    places: VecDeque<Ns>,
    in_flight: u64,
    gather: Gather,
    flow: Flow,
    report: EngineReport,
    /// Why the last connection that was opened ahead did not come about.
    refused: Option<(Status, String)>,
    pieces: u64,
    text_bytes: u64,
    sent: u64,
    /// Something ended: the source may have more to send.
    ended: bool,
    /// The last moment that is known without asking the clock.
    moment: Ns,
    /// The kernel told when the last bytes came.
    stamped: bool,
    /// Kept connections that the server had closed when a request came.
    lost_kept: u64,
    unasked: Unasked,
}

impl Engine {
    /// Looks the name up, reads the authorities, makes sure of descriptors. Nothing is connected yet.
    ///
    /// # Errors
    /// When the name is not known, the certificates cannot be read, or there are fewer descriptors than streams.
    pub fn new(target: &Target, options: &Options) -> Result<Self, Error> {
        let failed = |what: &str, error: io::Error| Error::new(Kind::Preflight, what).because(error);
        let descriptors = options::descriptors(options)?;
        let stamping = Stamping::start();
        let stamping_since = net::now();
        let addresses = net::resolve(target.host(), target.port()).map_err(|error| {
            failed(&format!("the host '{}' has no address", target.host()), error)
                .hint("check the spelling of --url, or give the number of the host")
        })?;
        let tls = if target.tls() { Some(tls::TlsClient::new(&options.trust)?) } else { None };
        let mut headers = vec![
            ("accept".to_owned(), "text/event-stream".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
            ("user-agent".to_owned(), concat!("sparkbench/", env!("CARGO_PKG_VERSION")).to_owned()),
        ];
        // What the user gives wins.
        let given = |name: &str| options.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        headers.retain(|(name, _)| !given(name));
        if let Some(value) = target.authorization().filter(|_| !given("authorization")) {
            headers.push(("authorization".to_owned(), value.to_owned()));
        }
        headers.extend(options.headers.iter().cloned());
        let usual = || headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let key_header = options.key_header.clone().or_else(|| usual().then(|| "authorization".to_owned()));
        let mut secrets = options.secrets.clone();
        target.secrets().iter().for_each(|secret| secrets.learn("--url", "credential", secret));
        options.headers.iter().for_each(|(name, value)| secrets.learn_header(name, value));
        let veil = secrets.veil();
        let poller = Poller::new().map_err(|error| failed("cannot watch connections", error))?;
        Ok(Self {
            poller,
            _stamping: stamping,
            stamping_since,
            pool: Pool::default(),
            shown: target.shown(),
            host: target.host_header(),
            name: target.host().to_owned(),
            path: target.path(options.endpoint),
            veil,
            headers,
            key_header,
            cipher: if tls.is_some() { vec![0; tls::CIPHER] } else { Vec::new() },
            tls,
            addresses,
            settled: None,
            options: options.clone(),
            deltas: Deltas::new(),
            buffer: vec![0; BUFFER.max(tls::PLAIN_MIN)],
            scratch: Vec::new(),
            deadlines: BTreeSet::new(),
            delayed: BTreeMap::new(),
            longest_wait: 0,
            places: VecDeque::new(),
            in_flight: 0,
            gather: Gather::new(net::now()),
            flow: Flow::default(),
            report: EngineReport::new(descriptors)?,
            refused: None,
            pieces: 0,
            text_bytes: 0,
            sent: 0,
            ended: false,
            moment: net::now(),
            stamped: false,
            lost_kept: 0,
            unasked: Unasked::default(),
        })
    }

    /// Wakes the engine from another thread: a body is ready, or it is to stop.
    pub fn waker(&self) -> Waker {
        self.poller.waker()
    }

    /// Sends what the source gives until it says [`Next::Done`] and the last answer has ended, or until a stop order.
    /// Connections that are to be opened ahead are there before the source is asked for the first time.
    ///
    /// # Errors
    /// When the server cannot be connected to ahead, or the poller fails. What happens to a request is in its record, never here.
    pub fn run(
        mut self,
        source: &mut dyn Source,
        sink: &mut dyn Sink,
        control: &Control,
    ) -> Result<EngineReport, Error> {
        limits::exact_timers();
        let ends = &mut Ends { source, sink, control };
        self.preconnect(ends)?;
        self.report.usage_before = Usage::take();
        let began = net::now();
        self.report.began = began;
        let mut ready: Vec<Ready> = Vec::new();
        let mut turn = Turn::default();
        let mut busy: Ns = 0;
        let mut awake = began;
        self.gather = Gather::new(began);
        loop {
            let stopped = ends.control.stop.load(Relaxed);
            if stopped {
                turn.done = true;
                self.cancel(ends);
                self.release_now(ends);
            } else {
                self.dispatch(&mut turn, ends);
            }
            let now = net::now();
            self.overdue(now, ends);
            if turn.done && self.in_flight == 0 && self.unasked.watched.is_none() {
                break;
            }
            let drained = turn.done_at.zip(self.options.drain).map(|(at, drain)| at.saturating_add(drain));
            if drained.is_some_and(|end| now >= end) {
                self.cancel(ends);
                continue;
            }
            self.publish(ends);
            let until = self.until(&turn, drained);
            let asleep = net::now();
            let stall = asleep.saturating_sub(awake);
            busy += stall;
            self.report.stalls.saturating_record(stall.max(1));
            awake = self.wait(until, asleep, &mut ready).map_err(|error| {
                Error::new(Kind::Workload, "the client cannot watch its connections any more").because(error)
            })?;
            self.report.waits += 1;
            self.moment = awake;
            for look in &ready {
                self.look(*look, ends);
                if !turn.done && (self.ended || turn.at.is_some_and(|at| self.moment >= at)) {
                    self.dispatch(&mut turn, ends);
                }
            }
        }
        let now = net::now();
        busy += now.saturating_sub(awake);
        self.publish(ends);
        let report = &mut self.report;
        report.ended = now;
        report.usage_after = Usage::take();
        report.busy = if now > began { busy as f64 / (now - began) as f64 } else { 0.0 };
        report.in_flight_mean = self.flow.mean();
        report.in_flight_mean_sending = self.flow.mean_sending();
        Ok(self.report)
    }

    /// Waits until a socket is ready or a moment has come. In a burst, until several are. Gives the moment of the look.
    fn wait(&mut self, until: Option<Ns>, mut asleep: Ns, ready: &mut Vec<Ready>) -> io::Result<Ns> {
        let nap = self.gather.nap(asleep, self.in_flight).filter(|_| self.stamped);
        if let Some(nap) = nap.filter(|nap| until.is_none_or(|until| until > asleep + nap)) {
            std::thread::sleep(Duration::from_nanos(nap));
            let any = self.poller.wait(Some(0), ready)?;
            asleep = net::now();
            self.gather.slept(asleep, ready.len());
            if any {
                return Ok(asleep);
            }
        }
        self.poller.wait(until, ready)?;
        let awake = net::now();
        self.gather.woke(asleep, awake, ready.len());
        Ok(awake)
    }

    /// Asks the source for what is due.
    fn dispatch(&mut self, turn: &mut Turn, ends: &mut Ends<'_>) {
        (turn.more, turn.at) = (false, None);
        self.ended = false;
        if turn.done {
            return;
        }
        for _ in 0..DISPATCH {
            let now = net::now();
            self.moment = now;
            match ends.source.next(now, usize::try_from(self.in_flight).unwrap_or(usize::MAX)) {
                Next::Send(order) => self.begin(*order, ends),
                Next::At(at) => {
                    turn.at = Some(at);
                    return;
                }
                Next::Wait => return,
                Next::Done => {
                    turn.done = true;
                    turn.done_at = Some(now);
                    return;
                }
            }
        }
        turn.more = true;
    }

    /// Until when there is nothing to do but to read.
    fn until(&self, turn: &Turn, drained: Option<Ns>) -> Option<Ns> {
        if turn.more || self.ended && !turn.done {
            return Some(0);
        }
        let stepped = |at: Ns| at.div_ceil(STEP) * STEP;
        let given_up = self.deadlines.first().map(|(at, _)| stepped(*at));
        let anew = self.delayed.first_key_value().map(|((at, _), _)| stepped(*at));
        let watched = self.unasked.watched.as_ref().map(|watched| stepped(watched.until));
        [turn.at, given_up, anew, watched, drained].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tls_tests;
