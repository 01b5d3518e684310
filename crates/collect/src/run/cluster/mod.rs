//! Several machines that are measured as one system: the orders of the head to the others.
//!
//! In:  a suite with `[nodes]`.  Out: [`Cluster`]: findings, readings, files and clocks of every other machine, and lost machines.
//! Not here: what a machine does at home (see `member`), the list of machines (see `nodes`), the archive.
//!
//! A launcher that the cluster has already (`ssh`, `mpirun`, `srun`) starts one process on each machine. It connects to the head, at one
//! address, and shows that it knows the token. From then on the head asks and the machine answers. Each asks for one thing at a time. A
//! machine that is gone is known within seconds, and a machine that no longer hears the head ends what it started.

mod gather;
mod home;
mod launch;
mod line;
mod links;
pub mod member;
mod readiness;
pub(crate) mod say;
mod state;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use self::say::{Begin, Order, Word};
use self::state::{Peer, State};
use super::Watcher;
use super::experiment::Experiment;
use super::nodes::About;
use crate::workload::Placement;
use sparkbench_archive::manifest::{NODES_FOLDER, NodeWire, PlannedRun};
use sparkbench_host::Host;
use sparkbench_host::meet::{Clock, Server};
use sparkbench_host::net::{clock::wall, now};
use sparkbench_host::remote::Remote;
use sparkbench_model::{ClockOffset, Finding, Level};
use sparkbench_plan::suite::Nodes;
use sparkbench_text::error::{Error, Kind};

/// Time limit to examine a machine, its environments and its gates.
const LOOK: Duration = Duration::from_secs(300);
/// Time for a worker until it listens, and a little more until the report arrives.
const START: Duration = Duration::from_secs(960);
/// Time limit to end a run and send its files, in addition to the suite's grace for a program.
const END: Duration = Duration::from_secs(300);
/// Time limit to report a clock offset.
const CLOCK: Duration = Duration::from_secs(10);
/// Time between two checks of things that send no notice.
const PAUSE: Duration = Duration::from_millis(100);
/// The other machines of a campaign. Dropping it sends them home.
pub struct Cluster {
    server: Server,
    state: Arc<State>,
    /// Kept for as long as the machines are needed: they hold what started those.
    _launched: Vec<Remote>,
    names: BTreeMap<u32, String>,
    placement: Placement,
    own: About,
    settings: Nodes,
    grace: Duration,
}

/// Outcome of a run on the other machines.
#[derive(Debug, Default)]
pub struct Ended {
    /// By name.
    pub nodes: BTreeMap<String, NodeWire>,
    /// Why the run counts as failed.
    pub trouble: Vec<String>,
}

/// Descriptions of the other machines.
#[derive(Debug, Default)]
pub struct Described {
    /// By name: inventory and environments.
    pub nodes: BTreeMap<String, Value>,
    /// Leftovers of an earlier collector there.
    pub swept: Vec<String>,
}

impl Cluster {
    /// The machines of a run.
    pub const fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Why the run under way has to end: a machine is gone, or asks for it.
    pub fn trouble(&self) -> Option<String> {
        self.state.with(|peers| {
            peers.iter().find_map(|(rank, peer)| {
                let why = peer.gone.as_ref().map(|why| format!("is gone: {why}"));
                why.or_else(|| peer.ending.clone()).map(|why| format!("{}: {why}", self.name(*rank, peer)))
            })
        })
    }

    /// Machines that are gone.
    pub fn gone(&self) -> Option<String> {
        self.state.with(|peers| {
            let gone = |(rank, peer): (&u32, &Peer)| {
                peer.gone.as_ref().map(|why| format!("{} is gone: {why}", self.name(*rank, peer)))
            };
            peers.iter().find_map(gone)
        })
    }

    /// For people: what it calls itself, and its name in the archive.
    fn name(&self, rank: u32, peer: &Peer) -> String {
        let name = self.names.get(&rank).map(String::as_str).unwrap_or_default();
        if name == peer.about.host { name.to_owned() } else { format!("{} ({name})", peer.about.host) }
    }

    /// Tells every machine of the campaign. `held` is what each was made of when it began, by name.
    ///
    /// # Errors
    /// A pre-flight error with the machine that cannot take part.
    pub fn begin(
        &self,
        experiment: &Experiment,
        archive_id: &str,
        held: &BTreeMap<String, Value>,
        host: &dyn Host,
    ) -> Result<Described, Error> {
        let order = |rank: u32| {
            let environments = self.names.get(&rank).and_then(|name| held.get(name)?.get("environments"));
            Order::Begin(Box::new(Begin {
                archive_id: archive_id.to_owned(),
                suite: experiment.suite.text.clone(),
                file: experiment.suite.name.clone(),
                folder: experiment.folder.clone(),
                held: environments.and_then(|trees| serde_json::from_value(trees.clone()).ok()).unwrap_or_default(),
                placement: self.placement.at(rank),
            }))
        };
        let mut described = Described::default();
        for (rank, word) in self.ask(&order, LOOK, host, &|_, _| ())? {
            let Word::Ready { inventory, environments, swept } = word else { continue };
            let name = self.names.get(&rank).cloned().unwrap_or_default();
            described.swept.extend(swept.into_iter().map(|what| format!("{what} on {name}")));
            let tree = serde_json::json!({ "rank": rank, "inventory": inventory, "environments": environments });
            described.nodes.insert(name, tree);
        }
        Ok(described)
    }

    /// Every gate and every environment once, with the machine before the section.
    ///
    /// # Errors
    /// When a machine does not answer.
    pub fn look(
        &self,
        environments: &[String],
        needs_gpu: bool,
        host: &dyn Host,
    ) -> Result<Vec<(String, Finding)>, Error> {
        let order = |_: u32| Order::Look { environments: environments.to_vec(), needs_gpu };
        let mut all = Vec::new();
        for (rank, word) in self.ask(&order, LOOK, host, &|_, _| ())? {
            let Word::Found { findings } = word else { continue };
            let name = self.state.with(|peers| peers.get(&rank).map(|peer| self.name(rank, peer))).unwrap_or_default();
            all.extend(findings.into_iter().map(|(section, finding)| (format!("{name}, {section}"), finding)));
        }
        Ok(all)
    }

    /// Every machine begins to read its gates.
    pub fn begin_gates(&self, environment: &str, needs_gpu: bool) {
        self.order(&|_| Order::Gates { environment: environment.to_owned(), needs_gpu });
    }

    /// Waits for all of them. Gives each refusal with its machine.
    pub fn end_gates(&self, watcher: &dyn Watcher, host: &dyn Host) -> Vec<String> {
        let told = |rank: u32, word: Word| {
            if let Word::Waiting { mut gate, waited_s, limit_s, done } = word {
                let name = self.names.get(&rank).map(String::as_str).unwrap_or_default();
                gate.gate = format!("{} of {name}", gate.gate);
                watcher.waiting(&gate, waited_s, limit_s, done);
            }
        };
        // What was waited for until now was waited for here too.
        self.state.with(|peers| peers.values_mut().for_each(|peer| peer.news.clear()));
        // A machine keeps the limits of the suite by itself.
        let answers = self.answers(None, Some(host), &told);
        let mut refused = Vec::new();
        for (rank, answer) in answers {
            let name = self.state.with(|peers| peers.get(&rank).map(|peer| self.name(rank, peer))).unwrap_or_default();
            match answer {
                Ok(Word::Gates { gates }) => {
                    let words = |gate: &Finding| format!("gate {} on {name}: {}", gate.gate, gate.reading);
                    refused.extend(gates.iter().filter(|gate| gate.level == Level::Refused).map(words));
                    self.state.with(|peers| {
                        if let Some(peer) = peers.get_mut(&rank) {
                            peer.gates = gates;
                        }
                    });
                }
                Ok(_) => refused.push(format!("{name}: its answer was not the state of its gates")),
                Err(why) => refused.push(format!("{name}: {why}")),
            }
        }
        refused
    }

    /// Readings of each machine before a run that was not started.
    pub fn readings(&self) -> BTreeMap<String, NodeWire> {
        self.state.with(|peers| {
            let of = |(rank, peer): (&u32, &Peer)| {
                let wire = NodeWire { rank: *rank, gates: peer.gates.clone(), ..NodeWire::default() };
                (self.names.get(rank).cloned().unwrap_or_default(), wire)
            };
            peers.iter().map(of).collect()
        })
    }

    /// Samples, watches and starts the workers of a run on every machine. Gives why it could not be. The clocks are read before.
    pub fn start_run(&self, planned: &PlannedRun, host: &dyn Host) -> Vec<String> {
        self.state.with(|peers| peers.values_mut().for_each(|peer| peer.ending = None));
        if let Err(error) = self.clocks(host, |peer, clock| peer.clock_before = clock) {
            return vec![error.in_a_line()];
        }
        match self.ask(&|_| Order::Start(Box::new(planned.clone())), START, host, &|_, _| ()) {
            Ok(_) => Vec::new(),
            Err(error) => vec![error.in_a_line()],
        }
    }

    /// Takes a run down on every machine. Its files go to `nodes/<name>/` below the run's folder.
    pub fn end_run(&self, why: &str, folder: &Path, host: &dyn Host) -> Ended {
        self.state.with(|peers| {
            for (rank, peer) in peers.iter_mut() {
                let name = self.names.get(rank).map(String::as_str).unwrap_or_default();
                peer.folder = Some(folder.join(NODES_FOLDER).join(name));
            }
        });
        self.order(&|_| Order::End { why: why.to_owned() });
        let limit = now_and(END + self.grace);
        let answers = self.answers(Some(limit), None, &|_, _| ());
        let clocks = self.clocks(host, |peer, clock| peer.clock_after = clock);
        let mut ended = Ended::default();
        for (rank, answer) in answers {
            let (name, before, after, broken, gates) = self.state.with(|peers| match peers.get_mut(&rank) {
                Some(peer) => (
                    self.name(rank, peer),
                    peer.clock_before.take(),
                    peer.clock_after.take(),
                    peer.close_files(),
                    peer.gates.clone(),
                ),
                None => Default::default(),
            });
            ended.trouble.extend(broken.map(|why| format!("{name}: its files could not be kept: {why}")));
            let mut node = match answer {
                Ok(Word::Ended { node }) => *node,
                Ok(_) => NodeWire {
                    failure: Some("its answer was not the result of its part".to_owned()),
                    ..NodeWire::default()
                },
                Err(why) => NodeWire { rank, gates, failure: Some(why), ..NodeWire::default() },
            };
            ended.trouble.extend(node.failure.iter().map(|why| format!("{name}: {why}")));
            (node.clock_before, node.clock_after) = (before, after);
            ended.nodes.insert(self.names.get(&rank).cloned().unwrap_or_default(), node);
        }
        // A machine that is gone has said so already.
        ended.trouble.extend(clocks.err().filter(|_| self.gone().is_none()).map(|error| error.in_a_line()));
        ended
    }

    /// Reads the clocks of every machine.
    fn clocks(&self, host: &dyn Host, keep: impl Fn(&mut Peer, Option<ClockOffset>)) -> Result<(), Error> {
        self.state.with(|peers| peers.values_mut().for_each(|peer| peer.clock = None));
        self.names.keys().for_each(|rank| self.server.ask_clock(*rank));
        let limit = now_and(CLOCK);
        let told = self.state.wait(PAUSE, |peers| {
            let all = peers.values().all(|peer| peer.clock.is_some() || peer.gone.is_some());
            (all || now() > limit || host.interrupted()).then(|| peers.values().all(|peer| peer.clock.is_some()))
        });
        let words = self.ask(&|_| Order::Clocks, CLOCK, host, &|_, _| ())?;
        // Both clocks here, at one moment.
        let own = i128::from(wall()) - i128::from(now());
        self.state.with(|peers| {
            for (rank, word) in words {
                let Word::Clocks { wall_ns, monotonic_ns } = word else { continue };
                let Some(peer) = peers.get_mut(&rank) else { continue };
                let theirs = i128::from(wall_ns) - i128::from(monotonic_ns);
                let wire = peer.clock.map(|clock| clock_wire(clock, theirs - own));
                keep(peer, wire);
            }
        });
        if told { Ok(()) } else { Err(Error::new(Kind::Workload, "a machine did not report its clock")) }
    }

    /// Gives every machine an order.
    fn order(&self, order: &dyn Fn(u32) -> Order) {
        self.names.keys().for_each(|rank| self.order_one(*rank, &order(*rank)));
    }

    fn order_one(&self, rank: u32, order: &Order) {
        let number = self.state.with(|peers| peers.get_mut(&rank).map(Peer::next)).unwrap_or_default();
        self.server.say(rank, say::value(number, order));
    }

    /// Gives every machine an order and waits for all answers.
    fn ask(
        &self,
        order: &dyn Fn(u32) -> Order,
        limit: Duration,
        host: &dyn Host,
        told: &dyn Fn(u32, Word),
    ) -> Result<Vec<(u32, Word)>, Error> {
        self.order(order);
        let mut words = Vec::new();
        for (rank, answer) in self.answers(Some(now_and(limit)), Some(host), told) {
            let name = self.state.with(|peers| peers.get(&rank).map(|peer| self.name(rank, peer))).unwrap_or_default();
            words.push((rank, answer.map_err(|why| Error::new(Kind::Preflight, format!("{name}: {why}")))?));
        }
        Ok(words)
    }

    fn ask_one(&self, rank: u32, order: Order, host: &dyn Host) -> Result<Word, String> {
        self.order_one(rank, &order);
        let limit = Some(now_and(LOOK));
        self.state.wait(PAUSE, |peers| peers.get_mut(&rank)?.answered(limit, host.interrupted()))
    }

    /// Answer of each machine. `host` says when not to wait any longer, where that may be. `told` hears what comes in between.
    fn answers(
        &self,
        limit: Option<u64>,
        host: Option<&dyn Host>,
        told: &dyn Fn(u32, Word),
    ) -> Vec<(u32, Result<Word, String>)> {
        let mut left: Vec<u32> = self.names.keys().copied().collect();
        let mut answers = Vec::new();
        while !left.is_empty() {
            let (news, done) = self.state.wait(PAUSE, |peers| {
                let mut news = Vec::new();
                let mut done = Vec::new();
                for rank in &left {
                    let Some(peer) = peers.get_mut(rank) else { continue };
                    let said = std::mem::take(&mut peer.news);
                    // Of several that wait, one is told of: the first.
                    if left.first() == Some(rank) {
                        news.extend(said.into_iter().map(|word| (*rank, word)));
                    }
                    done.extend(
                        peer.answered(limit, host.is_some_and(Host::interrupted)).map(|answer| (*rank, answer)),
                    );
                }
                (!news.is_empty() || !done.is_empty()).then_some((news, done))
            });
            news.into_iter().for_each(|(rank, word)| told(rank, word));
            left.retain(|rank| done.iter().all(|(other, _)| other != rank));
            answers.extend(done);
        }
        answers
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.names.keys().for_each(|rank| self.order_one(*rank, &Order::Leave));
        self.server.close();
    }
}

fn clock_wire(clock: Clock, wall_less_monotonic: i128) -> ClockOffset {
    ClockOffset {
        ahead_s: clock.ahead_ns as f64 / 1e9,
        wall_ahead_s: (wall_less_monotonic + i128::from(clock.ahead_ns)) as f64 / 1e9,
        bound_s: clock.bound_ns as f64 / 1e9,
    }
}

/// Time from now, ns.
fn now_and(time: Duration) -> u64 {
    now().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
