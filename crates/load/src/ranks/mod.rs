//! Several clients as one load: started by `mpirun`, `srun` or a cluster's scheduler, each a rank of one plan.
//!
//! In:  [`Place`], an address, a secret, loads as rank 0 is given them.  Out: [`Ranks`]: one plan, one start, one result.
//! Not here: which loads there are (see `session`), connections (see `host::meet`).
//!
//! ```text
//! rank 0:  call ─▶ agree ─▶ gate … gate ─▶ gather ─▶ merge        what is measured, and when each part of it begins
//! others:  next ─▶ agree ─▶ gate … gate ─▶ hand in                the same load, their share of the plan
//! ```
//!
//! Rank 0 decides, and the others do it with their share. A part of a load (warm-up, priming, the measured part) begins when the previous
//! one is over everywhere. Rank 0 gives the moment on each rank's own clock. The records of the others come to rank 0 raw: rows, lines,
//! chunks. The figures are counted from them as from those of one client, so no percentile is ever averaged.
//!
//! The launcher places, starts and ends the processes. MPI itself is not linked. Its barrier says that all have arrived, but not when to
//! begin. The library would also have to be the machine's own (docs/design/0015).

mod incoming;
mod merge;
mod messages;
pub mod place;
mod report;
mod state;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use self::merge::Whole;
pub use self::messages::Called;
use self::messages::{ToHead, ToMember};
pub use self::place::Place;
pub use self::report::RankReport;
use self::state::{Inner, OVER, RanksState, level};
use super::live::Live;
use super::order::{Gate, Phase};
use super::settings::{Settings, Share};
use super::store::Stored;
use super::suite;
use sparkbench_host::meet::{Client, Secret, Server};
use sparkbench_host::net::{Ns, SocketAddr, Waker, now, resolve};
use sparkbench_text::error::{Error, Kind};

/// How long the ranks wait for each other to come: a launcher starts some hundreds in that time.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two checks for a stop request.
const LOOK: Duration = Duration::from_millis(50);

/// Time for a stopped rank to hand in its measurements, ns.
const SETTLE_NS: Ns = 10_000_000_000;

/// See the module.
#[derive(Debug)]
pub struct Ranks {
    share: Share,
    state: Arc<RanksState>,
    side: Side,
}

#[derive(Debug)]
enum Side {
    Head(Arc<Server>),
    Member(Client),
}

/// The ranks that this process is one of. A process is one rank of one load for as long as it lives, as in MPI.
static JOINED: OnceLock<Arc<Ranks>> = OnceLock::new();

/// From here on sessions of this process load together with the others. Only the first call counts.
pub fn join(ranks: Arc<Ranks>) {
    let _ = JOINED.set(ranks);
}

/// The others, where there are any.
pub fn joined() -> Option<Arc<Ranks>> {
    JOINED.get().cloned()
}

impl Ranks {
    /// Waits until all ranks are there: rank 0 for the others, the others for rank 0.
    ///
    /// # Errors
    /// When someone does not come within [`PATIENCE`], or does not know the secret.
    pub fn meet(
        share: Share,
        (host, port): (&str, u16),
        secret: Secret,
        own_host: &str,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let addresses = resolve(host, port).map_err(|cause| {
            Error::new(Kind::Preflight, format!("the host '{host}' of rank 0 has no address"))
                .hint("give the machine of rank 0 with --meet")
                .because(cause)
        })?;
        if share.rank > 0 {
            let state = Arc::new(RanksState::default());
            let handler = RanksState::member_handler(&state);
            let client = Client::connect(addresses, secret, (share.rank, share.world), PATIENCE, handler)?;
            let hello = ToHead::Hello { host: own_host.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
            client.say(hello.value());
            return Ok(Self { share, state, side: Side::Member(client) });
        }
        let Some(address) = addresses.first() else {
            return Err(Error::new(Kind::Preflight, format!("the host '{host}' of rank 0 has no address")));
        };
        let ranks = Self::open(share, *address, secret)?;
        ranks.wait_for_all(own_host, interrupted)?;
        Ok(ranks)
    }

    /// Rank 0, before the others have come.
    fn open(share: Share, address: SocketAddr, secret: Secret) -> Result<Self, Error> {
        let state = Arc::new(RanksState::default());
        let server = Arc::new(Server::open(address, secret, share.world, RanksState::head_handler(&state))?);
        state.serve_by(&server);
        Ok(Self { share, state, side: Side::Head(server) })
    }

    fn wait_for_all(&self, own_host: &str, interrupted: &dyn Fn() -> bool) -> Result<(), Error> {
        self.state.with(|inner| inner.own_host = own_host.to_owned());
        let until = now().saturating_add(u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX));
        let all = self.share.world as usize - 1;
        let mut refused = Vec::new();
        self.state.wait(LOOK, |inner| {
            refused.clone_from(&inner.refused);
            (inner.greeted() == all || inner.broken.is_some() || now() > until || interrupted()).then_some(())
        });
        let missing: Vec<u32> =
            self.state.with(|inner| (1..self.share.world).filter(|rank| !inner.has_greeted(*rank)).collect());
        if missing.is_empty() {
            return self.same_version();
        }
        if interrupted() {
            return Err(Error::new(Kind::Workload, "stopped while the ranks met"));
        }
        if let Some(why) = self.broken() {
            return Err(Error::new(Kind::Workload, why));
        }
        let error =
            Error::new(Kind::Preflight, format!("{} did not join within {} s", named(&missing), PATIENCE.as_secs()))
                .hint("start the same command for each rank, and read its standard error");
        Err(if refused.is_empty() { error } else { error.detail(refused.join("; ")) })
    }

    fn same_version(&self) -> Result<(), Error> {
        let own = env!("CARGO_PKG_VERSION");
        let other = self.state.with(|inner| {
            let mut peers = inner.peers.iter();
            peers.find(|(_, peer)| peer.version != own).map(|(rank, peer)| (*rank, peer.version.clone()))
        });
        other.map_or(Ok(()), |(rank, version)| {
            Err(Error::new(Kind::Preflight, format!("rank {rank} is version {version}, rank 0 is {own}"))
                .hint("install the same version on all machines"))
        })
    }

    /// This process's part.
    pub const fn share(&self) -> Share {
        self.share
    }

    /// Whether it says what is done.
    pub const fn is_head(&self) -> bool {
        matches!(self.side, Side::Head(_))
    }

    /// `8 ranks: 4 on spark-a, 4 on spark-b`.
    pub fn words(&self) -> String {
        let mut machines: BTreeMap<String, u32> = BTreeMap::new();
        self.state.with(|inner| {
            let others = inner.peers.values().map(|peer| peer.host.clone());
            others.chain([inner.own_host.clone()]).for_each(|host| *machines.entry(host).or_default() += 1);
        });
        let each: Vec<String> = machines.iter().map(|(host, ranks)| format!("{ranks} on {host}")).collect();
        format!("{} ranks: {}", self.share.world, each.join(", "))
    }

    /// Why the ranks no longer are one load, if one of them is gone.
    pub fn broken(&self) -> Option<String> {
        self.state.with(|inner| inner.broken.clone())
    }

    /// Whether the load under way is to end now.
    pub fn stopped(&self) -> bool {
        self.state.with(|inner| inner.broken.is_some() || inner.stopped.is_some())
    }

    /// Rank 0: all are to do this load. Clocks are read before it.
    ///
    /// # Errors
    /// When a rank is gone.
    pub fn call(&self, name: &str, settings: &Settings, interrupted: &dyn Fn() -> bool) -> Result<(), Error> {
        let Side::Head(server) = &self.side else { return Ok(()) };
        let number = self.state.with(Inner::new_load);
        self.read_clocks(server, interrupted)?;
        let table = toml::to_string(&suite::write(settings))
            .map_err(|cause| Error::usage("the load cannot be sent to the other ranks").because(cause))?;
        let load = ToMember::Load { number, name: name.to_owned(), table, nonce: settings.nonce };
        self.tell_all(server, &load);
        Ok(())
    }

    fn read_clocks(&self, server: &Server, interrupted: &dyn Fn() -> bool) -> Result<(), Error> {
        let ranks = self.state.with(|inner| {
            inner.peers.values_mut().for_each(|peer| peer.clock = None);
            inner.peers.keys().copied().collect::<Vec<_>>()
        });
        ranks.iter().for_each(|rank| server.ask_clock(*rank));
        self.state.wait(LOOK, |inner| {
            let known = inner.peers.values().all(|peer| peer.clock.is_some() || peer.gone);
            (known || inner.broken.is_some() || interrupted()).then_some(())
        });
        self.broken().map_or(Ok(()), |why| Err(Error::new(Kind::Workload, why)))
    }

    /// The others: what rank 0 wants done next. Nothing at the end.
    ///
    /// # Errors
    /// When rank 0 is gone.
    pub fn next(&self, interrupted: &dyn Fn() -> bool) -> Result<Option<Called>, Error> {
        self.state.wait(LOOK, |inner| {
            if let Some(called) = inner.called.take() {
                return Some(Ok(Some(called)));
            }
            if inner.ended || interrupted() {
                return Some(Ok(None));
            }
            inner.broken.clone().map(|why| Err(Error::new(Kind::Workload, why)))
        })
    }

    /// All have made their plan and it is the same: gives the moment from which all files count, on the own clock. `digest` says what
    /// the plan depends on. What the others hand in later lies in `folder` until then.
    ///
    /// # Errors
    /// When a rank cannot do the load, has another plan, or is gone.
    pub fn agree(
        &self,
        digest: &str,
        folder: &Path,
        waker: &Waker,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Ns, Error> {
        self.state.with(|inner| inner.waker = Some(waker.clone()));
        match &self.side {
            Side::Head(server) => self.agree_as_head(server, digest, folder, interrupted),
            Side::Member(client) => {
                let number = self.state.with(|inner| inner.number);
                client.say(ToHead::Ready { number, digest: digest.to_owned() }.value());
                self.state.wait(LOOK, |inner| {
                    if let Some(origin) = inner.origin {
                        return Some(Ok(origin));
                    }
                    let why = inner.broken.clone().or_else(|| inner.stopped.clone());
                    let why = why.or_else(|| interrupted().then(|| "stopped before the load began".to_owned()));
                    why.map(|why| Err(Error::new(Kind::Workload, why)))
                })
            }
        }
    }

    fn agree_as_head(
        &self,
        server: &Server,
        digest: &str,
        folder: &Path,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Ns, Error> {
        self.state.wait(LOOK, |inner| {
            let all = inner.peers.values().all(|peer| peer.ready.is_some() || peer.gone);
            (all || inner.broken.is_some() || interrupted()).then_some(())
        });
        if let Some(why) = self.broken() {
            return Err(Error::new(Kind::Workload, why));
        }
        if interrupted() {
            return Err(Error::new(Kind::Workload, "stopped before the load began"));
        }
        let fault = self.state.with(|inner| {
            inner.peers.iter().find_map(|(rank, peer)| match &peer.ready {
                Some(Ok(theirs)) if theirs == digest => None,
                Some(Ok(theirs)) => Some(
                    Error::new(Kind::Workload, format!("rank {rank} on {} has another plan", peer.host))
                        .detail(format!("rank 0: {digest}, rank {rank}: {theirs}"))
                        .hint("make sure that the files of the load are the same on all machines"),
                ),
                Some(Err(why)) => {
                    Some(Error::new(Kind::Workload, format!("rank {rank} on {} cannot do the load: {why}", peer.host)))
                }
                None => None,
            })
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        let origin = now();
        let there = self.state.with(|inner| {
            inner.folder = folder.to_owned();
            let peers = inner.peers.iter();
            peers.map(|(rank, peer)| (*rank, peer.clock.unwrap_or_default().there(origin))).collect::<BTreeMap<_, _>>()
        });
        let number = self.state.with(|inner| inner.number);
        for (rank, origin) in there {
            server.say(rank, ToMember::Go { number, origin }.value());
        }
        Ok(origin)
    }

    /// When parts of the load under way begin.
    pub fn gate(self: &Arc<Self>) -> Box<dyn Gate> {
        Box::new(Arc::clone(self))
    }

    /// The moment at which the measured part began, on the own clock.
    pub fn opened(&self) -> Option<Ns> {
        self.state.with(|inner| inner.opened.last().copied().flatten())
    }

    /// Everything before `level` is over here. Gives the moment at which it begins, once it is known.
    fn pass(&self, level: u8) -> Option<Ns> {
        let (number, new) = self.state.with(|inner| (inner.number, std::mem::replace(&mut inner.level, level) < level));
        match &self.side {
            Side::Head(_) if new => self.state.open_what_may(),
            Side::Member(client) if new => client.say(ToHead::Level { number, level }.value()),
            _ => {}
        }
        self.state.with(|inner| inner.opened.get(usize::from(level)).copied().flatten())
    }

    /// Everything is over here.
    pub fn over(&self) {
        self.pass(OVER);
    }

    /// The others: how far the load is, for anyone who watches at rank 0.
    pub fn tell(&self, live: &Live) {
        if let Side::Member(client) = &self.side {
            let number = self.state.with(|inner| inner.number);
            client.say(ToHead::Heartbeat { number, beat: messages::Heartbeat::of(live) }.value());
        }
    }

    /// Rank 0: what is seen of all ranks together, own part included.
    pub fn together(&self, live: Live) -> Live {
        self.state.with(|inner| inner.peers.values().fold(live, |live, peer| peer.beat.added_to(live)))
    }

    /// The load cannot be done here, or not to its end.
    pub fn failed(&self, why: &str) {
        let number = self.state.with(|inner| inner.number);
        match &self.side {
            Side::Head(server) => self.tell_all(server, &ToMember::Stop { number, why: why.to_owned() }),
            Side::Member(client) => client.say(ToHead::Unable { number, why: why.to_owned() }.value()),
        }
    }

    /// The others: what was measured here, raw, and what it adds up to.
    ///
    /// # Errors
    /// When a file cannot be read, or rank 0 is gone.
    pub fn hand_in(&self, stored: &mut Stored, folder: &Path, report: RankReport) -> Result<(), Error> {
        let Side::Member(client) = &self.side else { return Ok(()) };
        let number = self.state.with(|inner| inner.number);
        incoming::send(client, number, stored, folder)?;
        let heard = client.say_behind(ToHead::Report { number, report: Box::new(report) }.value());
        if heard { Ok(()) } else { Err(Error::new(Kind::Workload, "rank 0 left the load")) }
    }

    /// Rank 0: waits for what the others measured, reads their clocks once more, and puts everything together. The own part is `stored`
    /// with `own` about it. The files in `folder` become those of all.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn gather(
        &self,
        stored: &mut Stored,
        folder: &Path,
        own: RankReport,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Whole, Error> {
        let Side::Head(server) = &self.side else { return Ok(Whole::default()) };
        let mut until = None;
        self.state.wait(LOOK, |inner| {
            let all = inner.peers.values().all(|peer| peer.report.is_some() || peer.gone || peer.unable.is_some());
            if interrupted() {
                until.get_or_insert(now().saturating_add(SETTLE_NS));
            }
            (all || until.is_some_and(|until| now() > until)).then_some(())
        });
        let before = self.state.with(|inner| inner.clocks());
        // A rank that has gone since keeps what was known of its clock.
        let _ = self.read_clocks(server, interrupted);
        merge::merge(&self.state, self.share.world, stored, folder, own, &before)
    }

    /// Rank 0: ends the load under way everywhere, because someone asked for it.
    pub fn stop(&self, why: &str) {
        let new = self.state.with(|inner| inner.stopped.replace(why.to_owned()).is_none());
        if let (Side::Head(server), true) = (&self.side, new) {
            let number = self.state.with(|inner| inner.number);
            self.tell_all(server, &ToMember::Stop { number, why: why.to_owned() });
        }
    }

    fn tell_all(&self, server: &Server, message: &ToMember) {
        let ranks: Vec<u32> = self.state.with(|inner| inner.peers.keys().copied().collect());
        ranks.into_iter().for_each(|rank| server.say(rank, message.value()));
    }

    /// No further load: the others end too.
    pub fn end(&self) {
        self.state.with(|inner| inner.ended = true);
        match &self.side {
            Side::Head(server) => {
                self.tell_all(server, &ToMember::End);
                server.close();
            }
            Side::Member(client) => client.close(),
        }
    }
}

impl Gate for Arc<Ranks> {
    fn pass(&mut self, phase: Phase) -> Option<Ns> {
        Ranks::pass(self, level(phase))
    }
}

/// `rank 3`, `ranks 3, 5 and 7`, or the first few of many.
fn named(ranks: &[u32]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = ranks.iter().take(SHOWN).map(u32::to_string).collect();
    match (shown.as_slice(), ranks.len().saturating_sub(SHOWN)) {
        ([one], 0) => format!("rank {one}"),
        ([all @ .., last], 0) => format!("ranks {} and {last}", all.join(", ")),
        (some, more) => format!("ranks {} and {more} more", some.join(", ")),
    }
}

#[cfg(test)]
mod tests;
