//! Connects to the machines of a list.
//!
//! In:  a suite with `[nodes]`.  Out: [`Cluster`], or the machine that cannot take part and why.
//! Not here: command lines (see `launch`), later orders (see `mod`).

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use super::launch::{Command, commands};
use super::state::{self, State};
use super::{Cluster, PAUSE, now_and};
use crate::run::Watcher;
use crate::run::experiment::Experiment;
use crate::run::nodes::about::Range;
use crate::run::nodes::{About, Entry, here, source};
use crate::workload::Placement;
use sparkbench_host::Host;
use sparkbench_host::meet::{Secret, Server, drawn};
use sparkbench_host::net::{IpAddr, SocketAddr, address_towards, now, resolve};
use sparkbench_host::remote::Remote;
use sparkbench_load::ranks::place::TOKEN;
use sparkbench_plan::suite::Nodes;
use sparkbench_text::error::{Error, Kind};
use sparkbench_text::slug::slug;

/// Time limit for a launcher to start a process on every machine.
const JOIN: Duration = Duration::from_secs(60);

impl Cluster {
    /// Starts a process on every machine of the suite but this one, and waits until all are there. Nothing where the suite has none.
    ///
    /// # Errors
    /// A pre-flight error when a machine is not reached, is of another version, or no machine beside this one is listed.
    pub fn start(experiment: &Experiment, host: &Arc<dyn Host>, watcher: &dyn Watcher) -> Result<Option<Self>, Error> {
        let Some(settings) = experiment.suite.nodes.clone() else { return Ok(None) };
        let own = here::about(host);
        let listed = source::entries(&settings.source, &experiment.folder, host.as_ref())?;
        let asked = source::asked(&settings.ssh, &settings.program, &own, host.as_ref());
        let others: Vec<Entry> = listed.into_iter().filter(|entry| !asked.own.contains(&entry.host)).collect();
        let Some(first) = others.first() else {
            return Err(Error::new(Kind::Preflight, "[nodes] lists no machine besides this one")
                .hint("name the others in hosts, or remove [nodes] from the suite"));
        };
        let address = own_address(&settings, &own, &first.host)?;
        let token = token()?;
        let state = Arc::new(State::default());
        let world = u32::try_from(others.len() + 1).unwrap_or(u32::MAX);
        let at = SocketAddr::new(address, settings.port);
        let server = Server::open(at, Secret::new(&token), world, state::handler(&state))?;
        let commands = commands(&settings, &others, server.address());
        watcher.say(&format!("starting a process on {} by {}", names_of(&others), settings.launcher.word()));
        let mut launched = Vec::new();
        for command in &commands {
            launched.push(start(command, &token)?);
        }
        await_all(&state, world, &commands, &mut launched, host.as_ref())?;
        let device = |about: &About, address: &str| {
            about.link(address, None).map_or_else(|| "lo".to_owned(), |link| link.device.clone())
        };
        let devices = vec![device(&own, &address.to_string())];
        let mut placement = Placement { rank: 0, addresses: vec![address.to_string()], devices };
        let pseudonyms = experiment.suite.privacy.pseudonyms;
        let mut names = BTreeMap::new();
        state.with(|peers| {
            for (rank, peer) in peers.iter() {
                placement.devices.push(device(&peer.about, &peer.address));
                placement.addresses.push(peer.address.clone());
                let taken = |name: &String| names.values().any(|other| other == name);
                let name = Some(slug(&peer.about.host)).filter(|name| !pseudonyms && !name.is_empty() && !taken(name));
                names.insert(*rank, name.unwrap_or_else(|| format!("node-{rank}")));
            }
        });
        let grace = Duration::from_secs_f64(experiment.suite.watchdogs.grace_s);
        let cluster = Self { server, state, _launched: launched, names, placement, own, settings, grace };
        cluster.same_version()?;
        for (rank, name) in &cluster.names {
            let host = cluster.state.with(|peers| peers.get(rank).map(|peer| peer.about.host.clone()));
            watcher.say(&format!("{} has joined: {name}", host.unwrap_or_default()));
        }
        Ok(Some(cluster))
    }

    fn same_version(&self) -> Result<(), Error> {
        let other = self.state.with(|peers| {
            let found = peers.values().find(|peer| peer.about.version != self.own.version)?;
            Some(format!("{} has version {}", found.about.host, found.about.version))
        });
        match other {
            None => Ok(()),
            Some(other) => Err(Error::new(Kind::Preflight, format!("{other}, this machine has {}", self.own.version))
                .hint("install the same version on all machines")),
        }
    }
}

fn names_of(entries: &[Entry]) -> String {
    entries.iter().map(|entry| entry.host.as_str()).collect::<Vec<_>>().join(", ")
}

/// The address at which the head listens: its own on the link, and no other.
fn own_address(settings: &Nodes, own: &About, first: &str) -> Result<IpAddr, Error> {
    if let Some(head) = &settings.head {
        let found = resolve(head, 0).ok().and_then(|found| found.into_iter().next());
        return found.map(|address| address.ip()).ok_or_else(|| {
            Error::usage(format!("[nodes] head is '{head}', which has no address"))
                .hint("give an address of this machine")
        });
    }
    let Some(range) = &settings.link else {
        return address_towards(first)
            .map_err(|cause| Error::new(Kind::Preflight, format!("no device leads to {first}")).because(cause));
    };
    let range: Range = range.parse().map_err(Error::usage)?;
    let all = || own.links.iter().flat_map(|link| &link.addresses);
    all().find(|address| range.holds(address)).and_then(|address| address.parse().ok()).ok_or_else(|| {
        Error::new(Kind::Preflight, "this machine has no address in the range of [nodes] link")
            .hint(format!("it has {}", all().cloned().collect::<Vec<_>>().join(", ")))
    })
}

/// The shared secret of the processes of this campaign.
fn token() -> Result<String, Error> {
    let bytes = drawn().map_err(|why| Error::new(Kind::Preflight, why))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn start(command: &Command, token: &str) -> Result<Remote, Error> {
    let failed = |cause| {
        let program = command.argv.first().cloned().unwrap_or_default();
        Error::new(Kind::Preflight, format!("cannot start '{program}' for {}", command.machines)).because(cause)
    };
    if command.token_by_input {
        let mut remote = Remote::start(&command.argv).map_err(failed)?;
        remote.say(token).map_err(failed)?;
        return Ok(remote);
    }
    Remote::start_with(&command.argv, &[(TOKEN, token)]).map_err(failed)
}

/// Until every machine has said who it is.
fn await_all(
    state: &State,
    world: u32,
    commands: &[Command],
    launched: &mut [Remote],
    host: &dyn Host,
) -> Result<(), Error> {
    let limit = now_and(JOIN);
    loop {
        if state.with(|peers| peers.values().filter(|peer| peer.greeted).count()) + 1 >= world as usize {
            return Ok(());
        }
        if host.interrupted() {
            return Err(Error::new(Kind::Preflight, "a signal asked to stop before every machine had joined"));
        }
        for (command, remote) in commands.iter().zip(launched.iter_mut()) {
            match remote.hear(PAUSE) {
                Err(cause) if cause.kind() == ErrorKind::TimedOut => {}
                Ok(_) => {}
                Err(why) => {
                    return Err(Error::new(Kind::Preflight, format!("{} was not reached: {why}", command.machines))
                        .hint("run sparkbench nodes with the same machines to see what is wrong with each"));
                }
            }
        }
        if now() > limit {
            let late = Error::new(Kind::Preflight, format!("not every machine had joined after {} s", JOIN.as_secs()))
                .hint("check the firewalls: they must let TCP through to the head. [nodes] port sets the port");
            // A stranger may knock at any time. Who that was matters only now.
            return Err(match state.refused() {
                Some(why) => late.detail(format!("a connection was refused: {why}")),
                None => late,
            });
        }
    }
}
