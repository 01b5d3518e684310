//! A further machine of a campaign: it carries out orders of the head and sends back the results.
//!
//! In:  orders.  Out: words, the files of its part of each run.
//! Not here: which runs there are, the archive.
//!
//! It lives no longer than its connection to the head. When that ends for any reason, the worker is ended, the folder removed, and the
//! process exits. A worker has a guard of its own, so that not even SIGKILL of this process leaves it running.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::home::Campaign;
use super::line::{GateReporter, Line};
use super::readiness::{LISTENS, Readiness};
use super::say::{self, Begin, Order, Word};
use crate::env::{Invocation, Place};
use crate::run::company::Attached;
use crate::run::experiment::Experiment;
use crate::run::folder::{make_folder, own_program, remove_own_program, write_asset};
use crate::run::mounts::{self, Before};
use crate::run::nodes::here;
use crate::run::observed::LOOK;
use crate::run::observed::{Observer, process};
use crate::run::request::Sight;
use crate::run::{gates, privacy, provenance, state, utf8};
use crate::workload;
use crate::workload::beside::log_tail;
use sparkbench_archive::disk;
use sparkbench_archive::manifest::{NodeWire, PlannedRun};
use sparkbench_archive::mask::Tally;
use sparkbench_archive::shown;
use sparkbench_host::link::{self, Listening};
use sparkbench_host::meet::{Client, Event, Handler, Secret};
use sparkbench_host::net::{SocketAddr, address_towards, clock::wall, now};
use sparkbench_host::rdma;
use sparkbench_host::signals;
use sparkbench_host::{Host, Launched};
use sparkbench_model::Finding;
use sparkbench_text::error::{Error, Kind};

/// Time limit until the head listens.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of one piece of a file.
const PIECE: usize = 256 * 1024;

/// How it gets to the head.
#[derive(Debug, Clone)]
pub struct Join {
    /// Where the head listens.
    pub head: SocketAddr,
    /// Which machine this is, from 1.
    pub rank: u32,
    /// How many there are, the head among them.
    pub world: u32,
}

enum Heard {
    Order(u64, Box<Order>),
    Gone(String),
}

/// Serves a head until it ends the connection.
///
/// # Errors
/// When the head cannot be reached or does not know the token, and when it is gone without having said so.
pub fn serve(join: &Join, secret: Secret, host: &Arc<dyn Host>) -> Result<(), Error> {
    let (tell, heard) = mpsc::channel();
    let tell = Mutex::new(tell);
    let handler: Handler = Arc::new(move |event| {
        let said = match event {
            Event::Message(_, value) => match say::heard(value) {
                Ok((number, order)) => Heard::Order(number, Box::new(order)),
                Err(why) => Heard::Gone(why),
            },
            Event::Left(_, why) => Heard::Gone(why),
            _ => return,
        };
        if matches!(said, Heard::Gone(_)) {
            // Whatever is waited for just now, in a gate or for a program, is waited for no longer.
            signals::interrupt_us();
        }
        if let Ok(tell) = tell.lock() {
            let _ = tell.send(said);
        }
    });
    let client = Client::connect(vec![join.head], secret, (join.rank, join.world), PATIENCE, handler)?;
    let about = here::about(host);
    let address = address_towards(&join.head.ip().to_string())
        .map_err(|cause| Error::new(Kind::Preflight, "no device leads to the head").because(cause))?;
    client.say(say::value(0, &Word::Hello { about: Box::new(about), address: address.to_string() }));
    let line = Line { client, number: AtomicU64::new(0) };
    let mut member = Member {
        host: Arc::clone(host),
        line,
        heard,
        rank: join.rank,
        campaign: None,
        listening: None,
        receiving: None,
    };
    let ended = member.orders();
    if let Some(campaign) = member.campaign.take() {
        // Nobody is there to be told. What is still mounted there is not touched.
        let _ = mounts::remove_folder(host.as_ref(), &campaign.folder);
    }
    ended.map_err(|why| Error::new(Kind::Workload, format!("the connection to the head was lost: {why}")))
}

struct Member {
    host: Arc<dyn Host>,
    line: Line,
    heard: Receiver<Heard>,
    rank: u32,
    campaign: Option<Campaign>,
    /// Ends with the next order that wants one.
    listening: Option<Listening>,
    receiving: Option<rdma::RdmaReceiver>,
}

impl Member {
    /// Until the head says that it was all.
    fn orders(&mut self) -> Result<(), String> {
        loop {
            let answer = match self.heard.recv_timeout(LOOK) {
                Ok(Heard::Order(number, order)) => {
                    self.line.number.store(number, Ordering::Relaxed);
                    match *order {
                        Order::Leave => return Ok(()),
                        order => self.carry_out(order),
                    }
                }
                Ok(Heard::Gone(why)) => return Err(why),
                Err(RecvTimeoutError::Timeout) if self.host.interrupted() => {
                    return Err("a signal asked this machine to stop".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err("the connection to it ended".to_owned()),
            };
            match answer {
                // Behind the files.
                Ok(Word::Ended { node }) => {
                    self.line.say_behind(&Word::Ended { node });
                }
                Ok(word) => self.line.say(&word),
                Err(error) => self.line.say(&Word::Unable { why: error.in_a_line() }),
            }
        }
    }

    fn carry_out(&mut self, order: Order) -> Result<Word, Error> {
        match order {
            Order::Begin(begin) => self.begin(&begin),
            Order::Look { environments, needs_gpu } => self.look(&environments, needs_gpu),
            Order::Gates { environment, needs_gpu } => self.gates(&environment, needs_gpu),
            Order::Start(planned) => self.run(&planned),
            // Of a run that did not start here.
            Order::End { .. } => Ok(Word::Ended { node: Box::new(self.not_started()) }),
            Order::Listen => self.listen(),
            Order::Measure { to, streams, seconds } => measure(&to, &streams, seconds),
            Order::RdmaListen { device, seconds } => {
                let there = rdma::RdmaReceiver::start(&device, seconds).map_err(|cause| no_rdma(&cause))?;
                let port = there.port;
                self.receiving = Some(there);
                Ok(Word::Port { port })
            }
            Order::RdmaMeasure { device, address, port, seconds } => {
                rdma::measure(self.host.as_ref(), &device, &address, port, seconds)
                    .map(|gbit_s| Word::Carried { gbit_s })
                    .map_err(|cause| no_rdma(&cause))
            }
            Order::Clocks => Ok(clocks()),
            Order::Leave => Ok(Word::Started),
        }
    }

    fn campaign(&self) -> Result<&Campaign, Error> {
        self.campaign.as_ref().ok_or_else(|| Error::new(Kind::Workload, "no campaign was started on this machine"))
    }

    fn begin(&mut self, begin: &Begin) -> Result<Word, Error> {
        let host = &self.host;
        let experiment = Experiment::read(&begin.suite, &begin.file, &begin.folder)?;
        let mut swept = host.end_marked(&begin.archive_id)?;
        for (_, environment) in &experiment.environments {
            swept.extend(environment.sweep(host.as_ref(), &begin.archive_id)?);
        }
        let folder = std::env::temp_dir().join(format!("sparkbench-{}-{}", begin.archive_id, self.rank));
        let remedy = "set TMPDIR on that machine to a folder whose path is UTF-8";
        utf8::expect(&experiment, &experiment.plan.runs, &folder, host.as_ref(), remedy)?;
        mounts::remove_folder(host.as_ref(), &folder)?;
        // Ours alone: a foreign folder under this name is refused.
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|cause| Error::archive(format!("cannot create '{}'", shown(&folder))).because(cause))?;
        let Sight { gpu, no_gpu, .. } = Sight::open(&experiment, host);
        let mask = privacy::mask(&experiment.suite, host.as_ref(), &begin.archive_id)?;
        let mut inventory =
            provenance::inventory_with(host.as_ref(), gpu.as_deref(), std::slice::from_ref(&begin.folder));
        mask.json(&mut inventory, &mut Tally::new());
        let mut environments = BTreeMap::new();
        for (label, environment) in &experiment.environments {
            match begin.held.get(label) {
                Some(held) => environment.hold_to(held),
                None => {
                    let described = environment.describe(host.as_ref())?;
                    environment.hold_to(&described);
                    environments.insert(label.clone(), described);
                }
            }
        }
        environments.values_mut().for_each(|tree| mask.json(tree, &mut Tally::new()));
        self.campaign = Some(Campaign {
            experiment,
            archive_id: begin.archive_id.clone(),
            placement: begin.placement.clone(),
            gpu,
            no_gpu,
            mask,
            folder,
            last_ended: None,
            began: (host.utc(), host.monotonic()),
            gates: Vec::new(),
        });
        Ok(Word::Ready { inventory, environments, swept })
    }

    fn look(&self, environments: &[String], needs_gpu: bool) -> Result<Word, Error> {
        let campaign = self.campaign()?;
        let context = campaign.context(self.host.as_ref(), &campaign.experiment.suite.gates, needs_gpu);
        let machine = "machine".to_owned();
        let mut findings: Vec<(String, Finding)> =
            gates::lasting(&context).into_iter().map(|finding| (machine.clone(), finding)).collect();
        for (label, environment) in &campaign.experiment.environments {
            if environments.contains(label) {
                findings.extend(environment.ready(self.host.as_ref()).into_iter().map(|found| (label.clone(), found)));
            }
        }
        Ok(Word::Found { findings })
    }

    fn gates(&mut self, environment: &str, needs_gpu: bool) -> Result<Word, Error> {
        let campaign = self.campaign()?;
        let mut settings = campaign.experiment.suite.gates.clone();
        settings.page_cache = campaign.experiment.suite.page_cache(environment);
        let gates =
            gates::before(&campaign.context(self.host.as_ref(), &settings, needs_gpu), &GateReporter(&self.line));
        if let Some(campaign) = &mut self.campaign {
            campaign.gates.clone_from(&gates);
        }
        Ok(Word::Gates { gates })
    }

    /// From the start to the end that the head asks for. A fault of this machine is in what it says of itself. The head ends the run.
    fn run(&mut self, planned: &PlannedRun) -> Result<Word, Error> {
        let mut wire = self.not_started();
        let campaign = self.campaign()?;
        let place = campaign.place(planned);
        mounts::remove_folder(self.host.as_ref(), &place.folder)?;
        make_folder(&place.work)?;
        let before = Before::look(self.host.as_ref(), &place.folder, &campaign.folder);
        let done = self.attend(planned, &place, &mut wire);
        let host = self.host.as_ref();
        wire.watched.extend(mounts::undo(host, &before).findings());
        if let Some(campaign) = &mut self.campaign {
            campaign.last_ended = Some(host.monotonic());
        }
        let campaign = self.campaign()?;
        wire.after = Some(state::take(host, campaign.gpu.as_deref()));
        state::snapshot(host, &place.folder, "after")?;
        remove_own_program(&place.work)?;
        done?;
        disk::lift(&place.folder).and_then(|_| campaign.mask.folder(&place.folder, &mut Tally::new())).map_err(
            |cause| Error::archive(format!("cannot mask the files in '{}'", shown(&place.folder))).because(cause),
        )?;
        self.send(&place.folder)?;
        mounts::remove_folder(host, &place.folder)?;
        let node = Box::new(campaign.mask.wire(&wire, &mut Tally::new())?);
        Ok(Word::Ended { node })
    }

    fn not_started(&self) -> NodeWire {
        let gates = self.campaign.as_ref().map(|campaign| campaign.gates.clone()).unwrap_or_default();
        NodeWire { rank: self.rank, gates, ..NodeWire::default() }
    }

    fn attend(&self, planned: &PlannedRun, place: &Place, wire: &mut NodeWire) -> Result<(), Error> {
        let campaign = self.campaign()?;
        let (host, suite) = (&self.host, &campaign.experiment.suite);
        let (common, workload, model) = campaign.cell(planned)?;
        let environment =
            campaign.experiment.environment(&planned.environment).ok_or_else(|| campaign.missing(planned))?;
        wire.before = Some(state::take(host.as_ref(), campaign.gpu.as_deref()));
        state::snapshot(host.as_ref(), &place.folder, "before")?;
        let inside = environment.work(place);
        let program = own_program(host.as_ref(), workload, &place.work, &inside)?;
        let cell = workload::Cell {
            model,
            probed: None,
            prepared: &[],
            repeat: planned.repeat.unwrap_or(1),
            seed: suite.seed,
            own_program: program.as_deref(),
            placement: &campaign.placement,
        };
        for (name, bytes) in workload.assets(&cell)? {
            write_asset(&place.work, &name, &bytes)?;
        }
        let worker = workload.worker(&cell, &inside)?;
        let samples = Observer::samples(&place.folder)?;
        let invocation = worker.map(|made| Invocation { model_path: model.path.clone(), ..made });
        let mut launched: Box<dyn Launched> = match &invocation {
            Some(invocation) => {
                let job = environment.wrap(host.as_ref(), invocation, place)?;
                let mut tally = Tally::new();
                wire.command = campaign.mask.arguments(&invocation.argv, &mut tally);
                wire.variables = campaign.mask.variables(&job.env, &mut tally);
                match host.launch(&job) {
                    Ok(launched) => launched,
                    Err(error) => {
                        environment.sweep(host.as_ref(), &campaign.archive_id)?;
                        return Err(error);
                    }
                }
            }
            None => Box::new(Attached::begin(host)),
        };
        let works = invocation.is_some();
        let gpu = campaign.gpu.as_ref();
        let mut observer = Observer::begin(host, gpu, suite, (common, workload), samples, launched.as_ref())?;
        let port = workload.worker_port().filter(|_| works);
        let mut readiness = Readiness { port, until: host.monotonic() + LISTENS, started: false, ending: false };
        let mut main = None;
        let ended = loop {
            if let Some(ended) = launched.wait(LOOK)? {
                let code = ended.code.map_or_else(|| "a signal".to_owned(), |code| format!("exit status {code}"));
                let why = match &ended.why {
                    Some(why) => format!("its worker was ended: {why}"),
                    None => format!("its worker ended by itself ({code}){}", log_tail(&place.folder)),
                };
                readiness.tell(&self.line, &why);
                wire.failure = Some(why);
                break ended;
            }
            if works {
                main = main.or_else(|| environment.main_pid(host.as_ref(), place, launched.as_ref()));
                environment.while_running(host.as_ref(), place, launched.as_ref());
            }
            if let Some(finding) = observer.look(launched.as_ref(), main) {
                readiness.tell(&self.line, &format!("{}: {}", finding.gate, finding.reading));
            }
            readiness.look(&campaign.placement, &self.line, host.monotonic());
            if let Some(why) = self.asked_to_end() {
                break launched.end(&why)?;
            }
        };
        let seen = observer.end();
        wire.watched = seen.watched;
        (wire.sampler, wire.absent) = (Some(seen.sampler), seen.absent);
        if let Some(invocation) = &invocation {
            let examined = environment.examine(host.as_ref(), invocation, place, &ended)?;
            for (name, bytes) in &examined.files {
                write_asset(&place.folder, name, bytes)?;
            }
            wire.exit_code = examined.code.or(ended.code).map(i64::from);
            wire.checks = examined.checks;
            wire.environment_state = (!examined.state.is_null()).then_some(examined.state);
            (wire.started_monotonic_s, wire.ended_monotonic_s) =
                (Some(ended.started_monotonic_s), Some(ended.ended_monotonic_s));
        }
        let by_itself = wire.failure.is_some();
        let closed = launched.close()?;
        if let Some(lost) = &closed.lost {
            environment.sweep(host.as_ref(), &campaign.archive_id)?;
            wire.failure.get_or_insert_with(|| lost.clone());
        }
        wire.process = works.then(|| process(&ended, &closed));
        // A worker that ended by itself leaves nothing to do but to wait for the head's word on it.
        while by_itself && self.asked_to_end().is_none() {
            host.pause(LOOK);
        }
        seen.failure.map_or(Ok(()), Err)
    }

    /// The head asked for the end, or is gone.
    fn asked_to_end(&self) -> Option<String> {
        match self.heard.try_recv() {
            Ok(Heard::Order(number, order)) => match *order {
                Order::End { why } => {
                    self.line.number.store(number, Ordering::Relaxed);
                    Some(why)
                }
                // The head asks for nothing else while a run goes on.
                _ => None,
            },
            Ok(Heard::Gone(why)) => Some(why),
            Err(mpsc::TryRecvError::Disconnected) => Some("the connection to the head was lost".to_owned()),
            Err(mpsc::TryRecvError::Empty) => {
                self.host.interrupted().then(|| "a signal asked this machine to stop".to_owned())
            }
        }
    }

    /// Every file of a folder, in pieces.
    fn send(&self, folder: &Path) -> Result<(), Error> {
        let unreadable = |cause| Error::archive(format!("cannot read '{}'", shown(folder))).because(cause);
        for path in disk::tree(folder).map_err(unreadable)?.files {
            let mut file = disk::open_plain(&folder.join(&path)).map_err(unreadable)?;
            if !self.line.say_behind(&Word::File { path }) {
                return Ok(());
            }
            loop {
                let mut piece = Vec::with_capacity(PIECE);
                let read = file.by_ref().take(PIECE as u64).read_to_end(&mut piece).map_err(unreadable)?;
                if read == 0 {
                    break;
                }
                if !self.line.client.part(piece) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn listen(&mut self) -> Result<Word, Error> {
        let placement = &self.campaign()?.placement;
        let address = placement.address(placement.rank).to_owned();
        let failed = |why: String| Error::new(Kind::Preflight, format!("cannot listen at {address}: {why}"));
        let ip = address.parse().map_err(|_| failed("it is not an address".to_owned()))?;
        let listening = Listening::start(ip).map_err(|cause| failed(cause.to_string()))?;
        let at = listening.address.to_string();
        self.listening = Some(listening);
        Ok(Word::Listening { at })
    }
}

fn no_rdma(cause: &std::io::Error) -> Error {
    Error::new(Kind::Preflight, format!("{}: {cause}", rdma::PROGRAM))
}

fn clocks() -> Word {
    let (before, wall_ns, after) = (now(), wall(), now());
    Word::Clocks { wall_ns, monotonic_ns: u64::midpoint(before, after) }
}

fn measure(to: &str, streams: &[usize], seconds: f64) -> Result<Word, Error> {
    let failed = |why: String| Error::new(Kind::Preflight, format!("the link to {to} cannot be measured: {why}"));
    let address = to.parse().map_err(|_| failed("it is not an address".to_owned()))?;
    link::measure(address, streams, seconds)
        .map(|measured| Word::Measured { measured })
        .map_err(|cause| failed(cause.to_string()))
}
