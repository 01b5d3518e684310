//! Connections, each with the reader of its answers, in slots that are reused.
//!
//! In:  sockets.  Out: [`Conn`]s by place, with tokens that the next connection there does not share.
//! Not here: when to connect, what to send.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::answer::Job;
use crate::order::Chunk;
use crate::wire::{EventStream, Response};
use sparkbench_host::net::tls::{Fault, Secure};
use sparkbench_host::net::{Ns, Received, Stream};

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not yet there.
    Connecting,
    /// There. TLS is being agreed on.
    Handshake,
    /// At hand for a request.
    Idle,
    /// With a request.
    Busy,
}

/// Carrier of the bytes.
#[derive(Debug)]
pub(super) enum Link {
    /// As they are.
    Plain(Stream),
    /// Encrypted.
    Tls(Box<Secure>),
    /// Nothing any more.
    Gone,
}

impl Link {
    /// See [`Stream::receive`] and [`Secure::receive`].
    pub(super) fn receive(&mut self, cipher: &mut [u8], into: &mut [u8]) -> Result<Received, Fault> {
        match self {
            Self::Plain(stream) => Ok(stream.receive(into)?),
            Self::Tls(secure) => secure.receive(cipher, into),
            Self::Gone => Err(Fault::Io(io::ErrorKind::NotConnected.into())),
        }
    }

    /// See [`Stream::send`].
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        match self {
            Self::Plain(stream) => Ok(stream.send(bytes)?),
            Self::Tls(secure) => secure.send(bytes),
            Self::Gone => Err(Fault::Io(io::ErrorKind::NotConnected.into())),
        }
    }

    /// Whether it waits for room to send what it has taken.
    pub(super) fn holds_back(&self) -> bool {
        matches!(self, Self::Tls(secure) if secure.wants_write())
    }

    /// For the poller.
    pub(super) fn socket(&self) -> io::Result<BorrowedFd<'_>> {
        match self {
            Self::Plain(stream) => Ok(stream.as_fd()),
            Self::Tls(secure) => Ok(secure.as_fd()),
            Self::Gone => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Ends it at once: the server need not go on.
    pub(super) fn reset(&mut self) {
        match std::mem::replace(self, Self::Gone) {
            Self::Plain(stream) => stream.reset(),
            Self::Tls(secure) => secure.reset(),
            Self::Gone => {}
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Conn {
    /// Its number for the poller.
    pub token: u64,
    /// Bytes.
    pub link: Link,
    /// How far it is.
    pub stage: Stage,
    /// Which of the server's addresses it is to.
    pub address: usize,
    /// Its request.
    pub job: Option<Box<Job>>,
    /// Reader of answers.
    pub response: Response,
    /// Reader of events.
    pub events: EventStream,
    /// Chunks not yet handed over.
    pub chunks: Vec<Chunk>,
    /// The part of the request for which there was no room.
    pub out: Vec<u8>,
    /// Whether the poller watches for room.
    pub watched: bool,
    /// Answers it has carried.
    pub answered: u64,
    /// When its request began to be sent.
    pub sent: Ns,
    /// It was idle before its request came, so the server may have closed it already.
    pub rested: bool,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Pool {
    places: Vec<Option<Conn>>,
    /// How often a place was used: the upper half of its token.
    ages: Vec<u32>,
    free: Vec<usize>,
    idle: Vec<u64>,
}

impl Pool {
    /// Puts in a connection. It learns its token.
    pub(super) fn insert(&mut self, build: impl FnOnce(u64) -> Conn) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.ages.push(0);
            self.places.len() - 1
        });
        // Ages stay below the poller's own numbers: a place is used 2^31 times before a token comes back.
        self.ages[place] = (self.ages[place] + 1) & 0x7fff_ffff;
        let token = u64::from(self.ages[place]) << 32 | place as u64;
        self.places[place] = Some(build(token));
        token
    }

    /// The connection of a token, if it is still that one.
    pub(super) fn get(&mut self, token: u64) -> Option<&mut Conn> {
        let conn = self.places.get_mut((token & 0xffff_ffff) as usize)?.as_mut()?;
        (conn.token == token).then_some(conn)
    }

    /// Takes it out.
    pub(super) fn remove(&mut self, token: u64) -> Option<Conn> {
        self.get(token)?;
        let place = (token & 0xffff_ffff) as usize;
        self.free.push(place);
        self.places[place].take()
    }

    /// Lays it aside for the next request.
    pub(super) fn rest(&mut self, token: u64) {
        if let Some(conn) = self.get(token) {
            conn.stage = Stage::Idle;
            conn.rested = true;
            self.idle.push(token);
        }
    }

    /// Ends all connections that have answered and are laid aside.
    pub(super) fn end_kept(&mut self) {
        let mut idle = std::mem::take(&mut self.idle);
        idle.retain(|token| {
            let kept = self.get(*token).is_some_and(|conn| conn.stage == Stage::Idle && conn.answered > 0);
            if kept {
                drop(self.remove(*token));
            }
            !kept
        });
        self.idle = idle;
    }

    /// The connection that was laid aside last: its memory is warm, here and on the other side.
    pub(super) fn at_hand(&mut self) -> Option<u64> {
        while let Some(token) = self.idle.pop() {
            if self.get(token).is_some_and(|conn| conn.stage == Stage::Idle) {
                return Some(token);
            }
        }
        None
    }

    /// Forgets tokens of connections that are gone, when there are more of them than places.
    pub(super) fn tidy(&mut self) {
        if self.idle.len() > 2 * self.places.len() + 64 {
            let mut idle = std::mem::take(&mut self.idle);
            idle.retain(|token| self.get(*token).is_some_and(|conn| conn.stage == Stage::Idle));
            self.idle = idle;
        }
    }

    /// Tokens of connections with a request.
    pub(super) fn busy(&self) -> Vec<u64> {
        self.places.iter().flatten().filter(|conn| conn.job.is_some()).map(|conn| conn.token).collect()
    }

    /// Connections that are on their way without a request.
    pub(super) fn coming(&self) -> usize {
        let coming = |conn: &&Conn| conn.job.is_none() && matches!(conn.stage, Stage::Connecting | Stage::Handshake);
        self.places.iter().flatten().filter(coming).count()
    }
}
