//! A request's way: to a connection, out, back in, to its record.
//!
//! In:  orders, sockets that are ready, moments that have come.  Out: requests sent, answers read, records to source and sink.
//! Not here: when to ask for orders and when to stop (see the module above), what an answer means (see `answer`).

use std::sync::atomic::Ordering::Relaxed;

use super::answer::{Job, Taken};
use super::pool::{Link, Stage};
use super::unasked::{EarlyAnswer, came_before, is_answer};
use super::{Ends, Engine};
use crate::again::ResendWait;
use crate::order::{Chunk, Order, Record, ResendCause, Status};
use crate::wire::request_head;
use sparkbench_host::net::{self, Ns, Ready, Received, Stamp, clock};

/// Time limit for the end of the response after `[DONE]`, ns. Beyond it the answer is complete and the connection is not used again.
const MANNERS: Ns = 1_000_000_000;
/// Kept connections that were closed under a request before the server counts as one that does that ...
const LOST_KEPT: u64 = 2;
/// ... if it was at least one in this many.
const FICKLE: u64 = 4;
/// Shortest wait before a request is sent again that is told while it lasts, ns.
const WAIT_TOLD: Ns = 1_000_000_000;
/// Times of ended answers that wait for the request which takes their place.
const PLACES_MAX: usize = 1 << 17;

impl Engine {
    /// Sends an order of the source.
    pub(super) fn begin(&mut self, order: Order, ends: &mut Ends<'_>) {
        self.in_flight += 1;
        self.report.requests += 1;
        self.report.in_flight_peak = self.report.in_flight_peak.max(self.in_flight);
        let job = Box::new(Job::new(order, self.options.retries));
        self.sent += u64::from(job.measured());
        self.launch(job, true, ends);
    }

    /// Sends a request on an idle connection, or on a new one.
    pub(super) fn launch(&mut self, mut job: Box<Job>, at_hand: bool, ends: &mut Ends<'_>) {
        let token = if at_hand { self.pool.at_hand() } else { None };
        let now = net::now();
        job.deadline = now.saturating_add(self.options.timeout);
        if let Some(token) = token {
            self.deadlines.insert((job.deadline, token));
            self.send(token, job, ends);
        } else {
            self.start(&mut job, now);
            self.connect(Some(job), ends);
        }
    }

    /// The moment from which a request counts as sent.
    fn start(&mut self, job: &mut Job, now: Ns) {
        if job.record.sent.is_some() {
            return;
        }
        job.record.sent = Some(now);
        if !job.measured() {
            return;
        }
        self.flow.sent(now);
        let lag = match job.record.intended {
            Some(intended) => Some(now.saturating_sub(intended)),
            None => self.places.pop_front().map(|end| now.saturating_sub(end)),
        };
        if let Some(lag) = lag {
            self.report.schedule_lag.saturating_record(lag.max(1));
        }
    }

    pub(super) fn send(&mut self, token: u64, mut job: Box<Job>, ends: &mut Ends<'_>) {
        self.scratch.clear();
        let id = &job.record.request_id;
        request_head(&mut self.scratch, "POST", &self.path, &self.host, &self.headers, id, job.request.len());
        self.scratch.extend_from_slice(&job.request);
        let now = net::now();
        self.start(&mut job, now);
        let Some(conn) = self.pool.get(token) else {
            self.settle(job, &mut Vec::new(), Status::Broken, None, ends);
            return;
        };
        conn.stage = Stage::Busy;
        conn.sent = now;
        job.record.reused = conn.answered > 0;
        self.report.reused += u64::from(job.record.reused);
        let sent = conn.link.send(&self.scratch);
        if let Ok(sent) = sent {
            if sent < self.scratch.len() {
                conn.out.extend_from_slice(&self.scratch[sent..]);
            } else if !conn.link.holds_back() {
                job.record.written = Some(net::now());
            }
        }
        // A long prompt is not kept twice: on a new connection it is never sent again.
        if !conn.rested && self.options.retries == 0 {
            job.request = Vec::new();
        }
        conn.job = Some(job);
        match sent {
            Ok(_) => self.watch(token),
            Err(fault) => self.lose(token, stamp_now(), Some(fault), ends),
        }
    }

    /// There is room to send what there was no room for.
    pub(super) fn flush(&mut self, token: u64, ends: &mut Ends<'_>) {
        let Some(conn) = self.pool.get(token) else { return };
        let sent = if conn.out.is_empty() {
            match &mut conn.link {
                Link::Tls(secure) => secure.flush().map(|()| 0),
                _ => Ok(0),
            }
        } else {
            conn.link.send(&conn.out)
        };
        match sent {
            Ok(sent) => {
                conn.out.drain(..sent);
                if conn.out.is_empty() && !conn.link.holds_back() {
                    conn.out = Vec::new();
                    if let Some(job) = conn.job.as_mut().filter(|_| conn.stage == Stage::Busy) {
                        job.record.written.get_or_insert_with(net::now);
                    }
                }
                self.watch(token);
            }
            Err(fault) => self.lose(token, stamp_now(), Some(fault), ends),
        }
    }

    pub(super) fn read(&mut self, look: Ready, ends: &mut Ends<'_>) {
        let token = look.token;
        let Some(conn) = self.pool.get(token) else { return };
        match conn.link.receive(&mut self.cipher, &mut self.buffer) {
            Ok(Received::Bytes(count, stamp)) => {
                self.arrived(token, count, stamp, ends);
                if look.ended || count == self.buffer.len() {
                    self.tell_again(token);
                }
            }
            Ok(Received::Nothing) => {
                let agreed = matches!(&conn.link, Link::Tls(secure) if !secure.handshaking());
                if conn.stage == Stage::Handshake && agreed {
                    self.usable(token, ends);
                } else {
                    self.watch(token);
                }
            }
            Ok(Received::End(stamp)) => self.lose(token, stamp, None, ends),
            Err(fault) => self.lose(token, stamp_now(), Some(fault), ends),
        }
    }

    fn arrived(&mut self, token: u64, count: usize, stamp: Stamp, ends: &mut Ends<'_>) {
        self.moment = stamp.user;
        self.stamped = stamp.kernel.is_some();
        self.report.reads += 1;
        self.report.bytes += count as u64;
        let Some(conn) = self.pool.get(token) else { return };
        let used = conn.answered > 0;
        let Some(job) = conn.job.as_mut().filter(|_| conn.stage == Stage::Busy) else {
            self.at_rest(token, used, count, ends);
            return;
        };
        if used && job.record.first_byte.is_none() && came_before(stamp, conn.sent) && is_answer(&self.buffer[..count])
        {
            self.stray(token, ends);
            return;
        }
        let (events, pieces, text) = (job.record.events, job.record.pieces, job.record.text_bytes);
        let readers = (&mut conn.response, &mut conn.events);
        let taken =
            job.take(&self.buffer[..count], stamp, readers, &mut self.deltas, &mut conn.chunks, &mut *ends.sink);
        let completed = u64::from(job.record.events - events);
        match stamp.lag() {
            Some(lag) => {
                self.report.read_lag.saturating_record_n(lag.max(1), completed);
                self.report.events_stamped += completed;
            }
            None => self.report.events_unstamped += completed,
        }
        if job.measured() {
            self.pieces += u64::from(job.record.pieces - pieces);
            self.text_bytes += job.record.text_bytes - text;
        }
        match taken {
            Taken::More => {
                let hurry = stamp.user.saturating_add(MANNERS);
                if job.said_all() && job.deadline > hurry {
                    self.deadlines.remove(&(job.deadline, token));
                    job.deadline = hurry;
                    self.deadlines.insert((hurry, token));
                }
            }
            Taken::Complete { used } => {
                let surplus = self.buffer.get(used..count).is_some_and(is_answer);
                self.complete(token, used == count, surplus, ends);
            }
            Taken::Hopeless => self.give_up(token, Status::Ok, None, ends),
        }
    }

    /// Whether the server promises to keep connections and closes them all the same: llama.cpp's does after each stream. A request that
    /// meets such a one is sent twice, and the first sending is lost time. So from then on each request gets a new connection.
    fn fickle(&self) -> bool {
        self.lost_kept >= LOST_KEPT && FICKLE * self.lost_kept >= self.report.reused
    }

    /// An answer is complete, and `alone`: nothing came behind it. `surplus` is what did, where that is another answer.
    fn complete(&mut self, token: u64, alone: bool, surplus: bool, ends: &mut Ends<'_>) {
        if surplus {
            self.distrust();
        }
        let once = self.fickle() || self.unasked.seen;
        let Some(conn) = self.pool.get(token) else { return };
        let Some(job) = conn.job.take() else { return };
        self.deadlines.remove(&(job.deadline, token));
        let mut chunks = std::mem::take(&mut conn.chunks);
        let keep = alone && job.keeps() && !once && conn.out.is_empty() && !conn.link.holds_back();
        let early = self.options.early.filter(|rule| self.unasked.early(*rule, &job.record));
        // Where the answer came before all was sent, the rest of the request would be taken for the next one.
        if keep {
            conn.response.reset();
            conn.events.reset();
            conn.answered += 1;
            if early.is_some() {
                conn.stage = Stage::Idle;
                conn.rested = true;
            } else {
                self.pool.rest(token);
            }
        } else {
            self.pool.remove(token);
            if once {
                // One ahead for the next request, so that connecting is not part of its time.
                self.connect(None, ends);
            }
        }
        if let Some(cause) = job.refused().filter(|_| job.retries > 0) {
            self.later(job, cause, ends);
            return;
        }
        let record = self.conclude(job, &mut chunks, Status::Ok, None, ends);
        if let (true, Some(rule)) = (keep, early) {
            let until = self.unasked.until(rule, net::now());
            self.unasked.watched = Some(EarlyAnswer { token, until, record });
        } else {
            ends.sink.ended(record);
        }
        // The room for chunks stays with the connection.
        if let Some(conn) = self.pool.get(token) {
            conn.chunks = chunks;
        }
    }

    /// Ends a request with its connection.
    fn give_up(&mut self, token: u64, status: Status, said: Option<String>, ends: &mut Ends<'_>) {
        let Some(mut conn) = self.pool.remove(token) else { return };
        conn.link.reset();
        let Some(job) = conn.job.take() else { return };
        self.deadlines.remove(&(job.deadline, token));
        let status =
            if job.said_all() && matches!(status, Status::Timeout | Status::Cancelled) { Status::Ok } else { status };
        self.settle(job, &mut conn.chunks, status, said.filter(|_| status != Status::Ok), ends);
    }

    /// Sends a request again after a while.
    pub(super) fn later(&mut self, mut job: Box<Job>, cause: ResendCause, ends: &Ends<'_>) {
        job.retries -= 1;
        job.again(cause);
        // Nobody asked for a wait where there was no answer.
        let asked = job.record.retry_after.as_deref().filter(|_| cause != ResendCause::NoConnection);
        let now_s = clock::wall() as f64 / 1e9;
        let wait = ResendWait::before(job.record.resent, asked, self.options.timeout, now_s);
        if wait.ns >= WAIT_TOLD && wait.ns > self.longest_wait {
            self.longest_wait = wait.ns;
            let what = format!("a request failed ({}), and the server is asked again {}", cause.word(), wait.words());
            ends.control.progress.tell(what);
        }
        self.report.resent += 1;
        self.delayed.insert((net::now().saturating_add(wait.ns), job.record.index), job);
    }

    /// Sees to everything whose moment has come.
    pub(super) fn overdue(&mut self, now: Ns, ends: &mut Ends<'_>) {
        while let Some((at, token)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            self.deadlines.remove(&(at, token));
            let begun =
                self.pool.get(token).and_then(|conn| conn.job.as_ref()).is_some_and(|job| job.record.pieces > 0);
            let what = if begun { "not complete" } else { "no answer" };
            let remedy = if begun { ", though tokens had come: raise --timeout" } else { "" };
            let said = format!("{what} within {} s{remedy}", self.options.timeout as f64 / 1e9);
            self.give_up(token, Status::Timeout, Some(said), ends);
        }
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            let job = entry.remove();
            self.launch(job, true, ends);
        }
        self.release(now, ends);
        self.pool.tidy();
    }

    /// Ends everything in flight with what it had so far.
    pub(super) fn cancel(&mut self, ends: &mut Ends<'_>) {
        for token in self.pool.busy() {
            self.give_up(token, Status::Cancelled, None, ends);
        }
        for (_, job) in std::mem::take(&mut self.delayed) {
            self.settle(job, &mut Vec::new(), Status::Cancelled, None, ends);
        }
    }

    /// A request has ended: reports it to everybody.
    pub(super) fn settle(
        &mut self,
        job: Box<Job>,
        chunks: &mut Vec<Chunk>,
        ended: Status,
        said: Option<String>,
        ends: &mut Ends<'_>,
    ) {
        let record = self.conclude(job, chunks, ended, said, ends);
        ends.sink.ended(record);
    }

    /// The same, but for its record.
    fn conclude(
        &mut self,
        mut job: Box<Job>,
        chunks: &mut Vec<Chunk>,
        ended: Status,
        said: Option<String>,
        ends: &mut Ends<'_>,
    ) -> Record {
        job.hand_over(chunks, &mut *ends.sink);
        if said.is_some() {
            job.record.error = said;
        }
        job.conclude(ended, &self.veil, self.key_header.as_deref());
        let now = net::now();
        self.in_flight = self.in_flight.saturating_sub(1);
        job.record.written.into_iter().for_each(|sent| self.gather.ended(now.saturating_sub(sent)));
        self.report.unsent += u64::from(job.record.written.is_none() && job.record.first_byte.is_none());
        if job.measured() {
            self.flow.ended(now);
            if job.record.intended.is_none() && self.places.len() < PLACES_MAX {
                self.places.push_back(job.record.end.map_or(now, Stamp::at));
            }
        }
        ends.control.progress.ended(&job.record);
        ends.source.ended(now, &job.record, job.text.take());
        self.ended = true;
        job.record
    }

    /// Tells a live view how far it is.
    pub(super) fn publish(&self, ends: &Ends<'_>) {
        let progress = &ends.control.progress;
        progress.sent.store(self.sent, Relaxed);
        progress.in_flight.store(self.in_flight, Relaxed);
        progress.waiting.store(self.delayed.len() as u64, Relaxed);
        progress.pieces.store(self.pieces, Relaxed);
        progress.text_bytes.store(self.text_bytes, Relaxed);
    }
}

/// Our own time, where nothing arrived that had one.
pub(super) fn stamp_now() -> Stamp {
    Stamp { kernel: None, user: net::now() }
}
