//! Connections: how they are made, which events they are watched for, and what their end means.
//!
//! In:  addresses, sockets that are ready.  Out: connections that a request can be sent on.
//! Not here: sending and reading (see `flight`), where they are kept (see `pool`).
//!
//! A name may have several addresses (`localhost` is `::1` and `127.0.0.1`). They are tried in turn until one answers, and from then on
//! there is no other: a load must not change its server half-way.

use std::io;

use super::answer::Job;
use super::error_text;
use super::flight::stamp_now;
use super::pool::{Conn, Link, Stage};
use super::{Ends, Engine};
use crate::order::{ResendCause, Status};
use crate::wire::{EventStream, Response};
use sparkbench_host::net::tls::Fault;
use sparkbench_host::net::{self, Interest, Ready, Stamp, Stream};

impl Engine {
    /// Opens a connection, for a request or ahead.
    pub(super) fn connect(&mut self, job: Option<Box<Job>>, ends: &mut Ends<'_>) {
        self.connect_from(self.settled.unwrap_or(0), job, ends);
    }

    /// Tries the addresses from one on, until one does not refuse at once. Once an address has answered there is no other.
    fn connect_from(&mut self, from: usize, mut job: Option<Box<Job>>, ends: &mut Ends<'_>) {
        let last = if self.settled.is_some() { from } else { self.addresses.len() - 1 };
        let mut said = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in from..=last {
            let stream = match Stream::connect(self.addresses[address]) {
                Ok(stream) => stream,
                Err(error) => {
                    said = error;
                    continue;
                }
            };
            let deadline = job.as_ref().map(|job| job.deadline);
            let events = EventStream::new(self.options.max_event_bytes);
            let token = self.pool.insert(|token| Conn {
                token,
                link: Link::Plain(stream),
                stage: Stage::Connecting,
                address,
                job: job.take(),
                response: Response::new(),
                events,
                chunks: Vec::new(),
                out: Vec::new(),
                watched: true,
                answered: 0,
                sent: 0,
                rested: false,
            });
            self.deadlines.extend(deadline.map(|deadline| (deadline, token)));
            let Some(conn) = self.pool.get(token) else { return };
            if let Err(error) = conn.link.socket().and_then(|socket| self.poller.add(socket, token, Interest::Both)) {
                self.lose(token, stamp_now(), Some(Fault::Io(error)), ends);
            }
            return;
        }
        self.unconnected(job, Status::Connect, self.no_connection(&said), ends);
    }

    fn no_connection(&self, error: &io::Error) -> String {
        format!("no connection to {}: {error}", self.shown)
    }

    /// There is no connection for a request.
    fn unconnected(&mut self, job: Option<Box<Job>>, status: Status, said: String, ends: &mut Ends<'_>) {
        match job {
            None => self.refused = Some((status, error_text::clean(&self.veil, &said))),
            Some(job) if status == Status::Connect && job.retries > 0 => {
                self.later(job, ResendCause::NoConnection, ends)
            }
            Some(job) => self.settle(job, &mut Vec::new(), status, Some(said), ends),
        }
    }

    /// A socket is ready.
    pub(super) fn look(&mut self, look: Ready, ends: &mut Ends<'_>) {
        let token = look.token;
        let Some(conn) = self.pool.get(token) else { return };
        match conn.stage {
            Stage::Connecting => match conn.link.socket().map(|_| &conn.link) {
                Ok(Link::Plain(stream)) => match stream.connected() {
                    Ok(()) if look.writable => self.connected(token, ends),
                    Ok(()) => {}
                    Err(error) => self.lose(token, stamp_now(), Some(Fault::Io(error)), ends),
                },
                _ => self.lose(token, stamp_now(), None, ends),
            },
            _ => {
                if look.writable && conn.watched {
                    self.flush(token, ends);
                }
                if look.readable {
                    self.read(look, ends);
                }
            }
        }
    }

    fn connected(&mut self, token: u64, ends: &mut Ends<'_>) {
        let Some(conn) = self.pool.get(token) else { return };
        self.settled = Some(conn.address);
        self.report.opened += 1;
        let Some(tls) = &self.tls else {
            self.usable(token, ends);
            return;
        };
        if let Link::Plain(stream) = std::mem::replace(&mut conn.link, Link::Gone) {
            match tls.start(stream, &self.name) {
                Ok(secure) => {
                    conn.link = Link::Tls(Box::new(secure));
                    conn.stage = Stage::Handshake;
                    self.flush(token, ends);
                }
                Err(fault) => self.lose(token, stamp_now(), Some(fault), ends),
            }
        }
    }

    /// A connection is there: for its request, or to rest.
    pub(super) fn usable(&mut self, token: u64, ends: &mut Ends<'_>) {
        let Some(conn) = self.pool.get(token) else { return };
        match conn.job.take() {
            Some(mut job) => {
                job.record.connected = Some(net::now());
                self.send(token, job, ends);
            }
            None => {
                self.pool.rest(token);
                self.watch(token);
            }
        }
    }

    /// Has the poller tell of room where it is waited for, and only there.
    pub(super) fn watch(&mut self, token: u64) {
        let Some(conn) = self.pool.get(token) else { return };
        let wanted = !conn.out.is_empty() || conn.link.holds_back();
        if wanted == conn.watched {
            return;
        }
        conn.watched = wanted;
        self.tell_again(token);
    }

    /// Has the poller tell of what there is, even where it was told before.
    pub(super) fn tell_again(&mut self, token: u64) {
        let Some(conn) = self.pool.get(token) else { return };
        let interest = match &conn.link {
            _ if conn.watched => Interest::Both,
            Link::Plain(_) => Interest::News,
            // Of a long record a part is read at a time.
            Link::Tls(_) | Link::Gone => Interest::Read,
        };
        if let Ok(socket) = conn.link.socket() {
            // It fails only for a socket that is not watched at all, and its end is noticed by its time-out.
            let _ = self.poller.change(socket, token, interest);
        }
    }

    /// A connection ended, or never came about.
    pub(super) fn lose(&mut self, token: u64, stamp: Stamp, fault: Option<Fault>, ends: &mut Ends<'_>) {
        let Some(mut conn) = self.pool.remove(token) else { return };
        let job = conn.job.take();
        if let Some(job) = &job {
            self.deadlines.remove(&(job.deadline, token));
        }
        let (status, said) = match fault {
            Some(Fault::Tls(said)) => (Status::Tls, Some(said)),
            Some(Fault::Io(error)) => (Status::Connect, Some(error.to_string())),
            None => (Status::Connect, None),
        };
        match (conn.stage, job) {
            (Stage::Connecting, job) if self.settled.is_none() && conn.address + 1 < self.addresses.len() => {
                self.connect_from(conn.address + 1, job, ends);
            }
            (Stage::Connecting | Stage::Handshake, job) => {
                let said = match (status, said) {
                    (Status::Tls, Some(said)) => said,
                    (_, Some(said)) => format!("no connection to {}: {said}", self.shown),
                    (_, None) => format!("no connection to {}: the server closed it at once", self.shown),
                };
                self.unconnected(job, status, said, ends);
            }
            (Stage::Idle, _) | (_, None) => self.report.closed_idle += 1,
            (Stage::Busy, Some(mut job)) => {
                if job.record.first_byte.is_none() && conn.rested && !job.anew {
                    job.anew = true;
                    job.again(ResendCause::Broken);
                    self.report.resent += 1;
                    self.lost_kept += 1;
                    self.launch(job, false, ends);
                    return;
                }
                let readers = (&mut conn.response, &mut conn.events);
                let mut ended = job.closed(stamp, said, readers, &mut self.deltas, &mut conn.chunks, &mut *ends.sink);
                if status == Status::Tls && ended == Status::Broken {
                    ended = Status::Tls;
                }
                self.settle(job, &mut conn.chunks, ended, None, ends);
            }
        }
    }
}
