//! A rank's knowledge of the others.
//!
//! In:  messages.  Out: [`Inner`], and a way to wait for its changes.
//! Not here: the session's own messages (see `mod`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use super::incoming::{self, Incoming};
use super::messages::{Called, Heartbeat, ToHead, ToMember};
use super::report::RankReport;
use crate::order::Phase;
use sparkbench_host::meet::{Clock, Event, Handler, Server};
use sparkbench_host::net::{Ns, Waker, now};

/// Parts of a load that begin together, and one more.
pub(super) const LEVELS: usize = 4;
/// The level behind the last part.
pub(super) const OVER: u8 = LEVELS as u8;

/// Delay in ns from the last rank's readiness to the start of a part, in addition to four times the bound of the clocks. The message needs
/// half of it to arrive, and a thread needs time to wake.
const LEAD: Ns = 5_000_000;
const LEAD_BOUNDS: u64 = 4;

/// Number of a part.
pub(super) const fn level(phase: Phase) -> u8 {
    match phase {
        Phase::Probe => 0,
        Phase::Warmup => 1,
        Phase::Prime => 2,
        Phase::Measured => 3,
    }
}

/// Another rank, as rank 0 sees it.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// Name of its machine.
    pub host: String,
    pub version: String,
    pub greeted: bool,
    pub gone: bool,
    pub clock: Option<Clock>,
    /// Inputs of its plan, or why it has none.
    pub ready: Option<Result<String, String>>,
    /// Why it is about to go, if it said so.
    pub last_words: Option<String>,
    /// Why it did not do the load to its end.
    pub unable: Option<String>,
    pub level: u8,
    pub beat: Heartbeat,
    pub incoming: Incoming,
    pub report: Option<Box<RankReport>>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Inner {
    pub own_host: String,
    pub peers: BTreeMap<u32, Peer>,
    pub refused: Vec<String>,
    /// Number of the current load.
    pub number: u64,
    /// Parts that are over here.
    pub level: u8,
    /// When each part begins, on the own clock.
    pub opened: [Option<Ns>; LEVELS],
    pub waker: Option<Waker>,
    /// Why the ranks are no longer one load.
    pub broken: Option<String>,
    /// Why the load under way ends early.
    pub stopped: Option<String>,
    /// Where what the others send is kept until it is joined.
    pub folder: PathBuf,
    /// Next order of rank 0.
    pub called: Option<Called>,
    pub origin: Option<Ns>,
    /// There is no further load.
    pub ended: bool,
}

impl Inner {
    pub(super) fn greeted(&self) -> usize {
        self.peers.values().filter(|peer| peer.greeted).count()
    }

    pub(super) fn has_greeted(&self, rank: u32) -> bool {
        self.peers.get(&rank).is_some_and(|peer| peer.greeted)
    }

    /// Forgets the load before.
    pub(super) fn new_load(&mut self) -> u64 {
        self.begin(self.number + 1);
        self.number
    }

    fn begin(&mut self, number: u64) {
        self.number = number;
        self.level = 0;
        self.opened = [None; LEVELS];
        self.stopped = None;
        self.origin = None;
        self.waker = None;
        for peer in self.peers.values_mut() {
            peer.ready = None;
            peer.unable = None;
            peer.level = 0;
            peer.beat = Heartbeat::default();
            peer.incoming = Incoming::default();
            peer.report = None;
        }
    }

    pub(super) fn clocks(&self) -> BTreeMap<u32, Clock> {
        self.peers.iter().filter_map(|(rank, peer)| Some((*rank, peer.clock?))).collect()
    }

    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }

    /// Parts that every rank is ready for and that have no moment yet get one: what each rank is to be told.
    fn open(&mut self) -> Vec<(u32, ToMember)> {
        let ready = self.peers.values().filter(|peer| !peer.gone).map(|peer| peer.level).fold(self.level, u8::min);
        let bound = self.peers.values().filter_map(|peer| peer.clock).map(|clock| clock.bound_ns).max().unwrap_or(0);
        let at = now().saturating_add(LEAD).saturating_add(LEAD_BOUNDS * bound);
        let mut told = Vec::new();
        for level in 1..=ready.min(OVER - 1) {
            let Some(opened) = self.opened.get_mut(usize::from(level)).filter(|opened| opened.is_none()) else {
                continue;
            };
            *opened = Some(at);
            told.extend(self.peers.iter().map(|(rank, peer)| {
                let at = peer.clock.unwrap_or_default().there(at);
                (*rank, ToMember::Open { number: self.number, level, at })
            }));
        }
        if !told.is_empty() {
            self.wake();
        }
        told
    }

    fn gone(&mut self, rank: u32, why: &str) {
        let Some(peer) = self.peers.get_mut(&rank) else { return };
        peer.gone = true;
        if self.ended {
            return;
        }
        let on = if peer.host.is_empty() { String::new() } else { format!(" on {}", peer.host) };
        let why = peer.last_words.as_deref().unwrap_or(why);
        self.broken.get_or_insert_with(|| format!("rank {rank}{on} left the load: {why}"));
        self.wake();
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RanksState {
    inner: Mutex<Inner>,
    changed: Condvar,
    server: OnceLock<Weak<Server>>,
}

impl RanksState {
    /// Looks at it, or changes it.
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let found = look(&mut inner);
        drop(inner);
        self.changed.notify_all();
        found
    }

    /// Looks again after each change, and every `pause`, until there is something.
    pub(super) fn wait<T>(&self, pause: Duration, mut look: impl FnMut(&mut Inner) -> Option<T>) -> T {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = look(&mut inner) {
                return found;
            }
            inner = self.changed.wait_timeout(inner, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// From here on the others can be told.
    pub(super) fn serve_by(&self, server: &Arc<Server>) {
        let _ = self.server.set(Arc::downgrade(server));
    }

    /// Rank 0: tells the others which parts begin.
    pub(super) fn open_what_may(&self) {
        let told = self.with(Inner::open);
        self.tell(told);
    }

    fn tell(&self, messages: Vec<(u32, ToMember)>) {
        let Some(server) = self.server.get().and_then(Weak::upgrade) else { return };
        messages.into_iter().for_each(|(rank, message)| server.say(rank, message.value()));
    }

    /// Messages to rank 0.
    pub(super) fn head_handler(state: &Arc<Self>) -> Handler {
        let state = Arc::downgrade(state);
        Arc::new(move |event| {
            let Some(state) = state.upgrade() else { return };
            match event {
                Event::Joined(rank) => state.with(|inner| {
                    inner.peers.entry(rank).or_default();
                }),
                Event::Refused(why) => state.with(|inner| inner.refused.push(why)),
                Event::Clock(rank, clock) => state.with(|inner| {
                    if let Some(peer) = inner.peers.get_mut(&rank) {
                        peer.clock = Some(clock);
                    }
                }),
                Event::Bytes(rank, bytes) => state.with(|inner| {
                    let folder = inner.folder.clone();
                    // What was still on its way when the next load was called belongs to none.
                    let Some(bytes) = incoming::of_load(inner.number, &bytes) else { return };
                    if let Some(peer) = inner.peers.get_mut(&rank) {
                        peer.incoming.take(&folder, rank, bytes);
                    }
                }),
                Event::Left(rank, why) => {
                    state.with(|inner| inner.gone(rank, &why));
                    state.tell_of_break();
                }
                Event::Message(rank, value) => match serde_json::from_value(value) {
                    Ok(said) => state.heard(rank, said),
                    Err(cause) => {
                        state.with(|inner| inner.gone(rank, &format!("its message was not understood ({cause})")));
                        state.tell_of_break();
                    }
                },
            }
        })
    }

    /// A load that lost a rank is no load: the others need not go on.
    fn tell_of_break(&self) {
        let told = self.with(|inner| {
            let why = inner.broken.clone()?;
            let stop = ToMember::Stop { number: inner.number, why };
            Some(inner.peers.iter().filter(|(_, peer)| !peer.gone).map(|(rank, _)| (*rank, stop.clone())).collect())
        });
        self.tell(told.unwrap_or_default());
    }

    fn heard(&self, rank: u32, said: ToHead) {
        let told = self.with(|inner| {
            let current = inner.number;
            let Some(peer) = inner.peers.get_mut(&rank) else { return Vec::new() };
            match said {
                ToHead::Hello { host, version } => (peer.host, peer.version, peer.greeted) = (host, version, true),
                ToHead::Ready { number, digest } if number == current => peer.ready = Some(Ok(digest)),
                // Before the first load: it will not do any.
                ToHead::Unable { number: 0, why } => peer.last_words = Some(why),
                ToHead::Unable { number, why } if number == current => {
                    peer.ready.get_or_insert_with(|| Err(why.clone()));
                    // Whoever waits for it must not wait for ever.
                    peer.level = OVER;
                    let on = peer.host.clone();
                    peer.unable = Some(why.clone());
                    let why = format!("rank {rank} on {on} could not continue: {why}");
                    inner.stopped.get_or_insert_with(|| why.clone());
                    inner.wake();
                    let stop = ToMember::Stop { number, why };
                    return inner.peers.keys().map(|rank| (*rank, stop.clone())).collect();
                }
                ToHead::Level { number, level } if number == current => {
                    peer.level = level;
                    return inner.open();
                }
                ToHead::Heartbeat { number, beat } if number == current => peer.beat = beat,
                ToHead::Report { number, report } if number == current => peer.report = Some(report),
                // Of a load that is over.
                _ => {}
            }
            Vec::new()
        });
        self.tell(told);
    }

    /// Messages to any other rank.
    pub(super) fn member_handler(state: &Arc<Self>) -> Handler {
        let state = Arc::downgrade(state);
        Arc::new(move |event| {
            let Some(state) = state.upgrade() else { return };
            state.with(|inner| match event {
                Event::Message(_, value) => match serde_json::from_value(value) {
                    Ok(said) => inner.heard_of_head(said),
                    Err(cause) => {
                        inner
                            .broken
                            .get_or_insert_with(|| format!("the message of rank 0 was not understood ({cause})"));
                    }
                },
                Event::Left(_, why) if !inner.ended => {
                    inner.broken.get_or_insert_with(|| format!("rank 0 left the load: {why}"));
                    inner.wake();
                }
                _ => {}
            });
        })
    }
}

impl Inner {
    fn heard_of_head(&mut self, said: ToMember) {
        match said {
            ToMember::Load { number, name, table, nonce } => {
                self.begin(number);
                self.called = Some(Called { name, table, nonce });
            }
            ToMember::Go { number, origin } if number == self.number => self.origin = Some(origin),
            ToMember::Open { number, level, at } if number == self.number => {
                if let Some(opened) = self.opened.get_mut(usize::from(level)) {
                    *opened = Some(at);
                }
                self.wake();
            }
            ToMember::Stop { number, why } if number == self.number => {
                self.stopped = Some(why);
                self.wake();
            }
            ToMember::End => self.ended = true,
            ToMember::Refused(why) => self.broken = Some(format!("rank 0 refused: {why}")),
            // Of a load that is over.
            _ => {}
        }
    }
}
