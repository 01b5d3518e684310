//! Answers that nobody asked for: how they are seen on a kept connection, and what follows.
//!
//! In:  bytes beside a request, answers that came too early.  Out: a connection that is ended, a request that is sent again, a record that
//! becomes a fault, a count.
//! Not here: reading answers (see `answer`), what the load is worth after that (see `session`).
//!
//! Answers of HTTP/1.1 belong to requests by their order alone. A server that sends one too many shifts all that follow: each would pass for
//! the answer to the next request. Three things show it. Bytes that came behind an answer, or while no request was there, or before the
//! request was sent, are nobody's. An answer that came much earlier than any before is suspicious. Its connection then carries no other
//! request for a while. If the true answer comes on it meanwhile, the early one was nobody's, and its record becomes a fault.
//!
//! After the first such answer no connection is used twice, so no further answer can be taken for another one.

use super::flight::stamp_now;
use super::options::EarlyRule;
use super::{Ends, Engine};
use crate::order::{Record, ResendCause, Status};
use sparkbench_host::net::{Ns, Stamp};

/// Time for which the connection of an early answer is watched, in quickest first tokens. The true answer takes about one.
const WATCHED: Ns = 4;

/// A record of an answer that was not the request's.
const NOT_ASKED_FOR: &str = "an answer came that nobody had asked for, and the true one came after it";

/// An early answer, whose record nobody has yet.
#[derive(Debug)]
pub(super) struct EarlyAnswer {
    pub(super) token: u64,
    pub(super) until: Ns,
    pub(super) record: Record,
}

/// What is known of them.
#[derive(Debug, Default)]
pub(super) struct Unasked {
    /// Shortest time from the end of sending to the first token, early ones left out.
    quickest: Option<Ns>,
    pub(super) watched: Option<EarlyAnswer>,
    /// At least one came.
    pub(super) seen: bool,
}

impl Unasked {
    /// Whether an answer on a kept connection is suspicious. Any other one says how quick this server is.
    pub(super) fn early(&mut self, rule: EarlyRule, record: &Record) -> bool {
        let Some((written, first)) = record.written.zip(record.first_token) else { return false };
        let took = first.at().saturating_sub(written);
        let slow = self.quickest.filter(|quickest| *quickest >= rule.slow);
        if record.reused && slow.is_some_and(|quickest| took.saturating_mul(rule.part) <= quickest) {
            return self.watched.is_none();
        }
        self.quickest = Some(self.quickest.map_or(took, |quickest| quickest.min(took)));
        false
    }

    /// Until when the connection of an early answer is watched.
    pub(super) fn until(&self, rule: EarlyRule, now: Ns) -> Ns {
        let (least, most) = rule.watch;
        now.saturating_add(self.quickest.unwrap_or(0).saturating_mul(WATCHED).max(least).min(most))
    }
}

/// Whether bytes are an answer or a part of one. Line ends behind an answer are a common fault, and 408 is how a server says that it ends a
/// connection on which nothing came.
pub(super) fn is_answer(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    let timed_out = ["HTTP/1.1 408", "HTTP/1.0 408"].iter().any(|line| text.starts_with(line.as_bytes()));
    !text.is_empty() && !timed_out
}

/// Whether what was read had come before the request was sent.
pub(super) fn came_before(stamp: Stamp, sent: Ns) -> bool {
    stamp.kernel.is_some_and(|at| at < sent)
}

impl Engine {
    /// An answer came that nobody had asked for. No kept connection can be trusted any more.
    pub(super) fn distrust(&mut self) {
        self.report.unasked += 1;
        self.unasked.seen = true;
        self.pool.end_kept();
    }

    /// It came on this connection, in the place of the answer to its request, or while there was none.
    pub(super) fn stray(&mut self, token: u64, ends: &mut Ends<'_>) {
        self.distrust();
        if let Some(mut watched) = self.unasked.watched.take_if(|watched| watched.token == token) {
            watched.record.status = Status::Malformed;
            watched.record.error = Some(NOT_ASKED_FOR.to_owned());
            ends.sink.ended(watched.record);
        }
        let Some(mut conn) = self.pool.remove(token) else { return };
        conn.link.reset();
        let Some(mut job) = conn.job.take() else { return };
        self.deadlines.remove(&(job.deadline, token));
        if job.anew {
            self.settle(job, &mut conn.chunks, Status::Broken, Some(NOT_ASKED_FOR.to_owned()), ends);
            return;
        }
        job.anew = true;
        job.again(ResendCause::Unasked);
        self.report.resent += 1;
        self.launch(job, false, ends);
    }

    /// Nothing came on the connection of an early answer: that was just quick.
    pub(super) fn release(&mut self, now: Ns, ends: &mut Ends<'_>) {
        if let Some(watched) = self.unasked.watched.take_if(|watched| watched.until <= now) {
            if self.unasked.seen {
                drop(self.pool.remove(watched.token));
            } else {
                self.pool.rest(watched.token);
            }
            ends.sink.ended(watched.record);
        }
    }

    /// The same at once, because the load ends.
    pub(super) fn release_now(&mut self, ends: &mut Ends<'_>) {
        self.release(Ns::MAX, ends);
    }

    /// Bytes on a connection without a request.
    pub(super) fn at_rest(&mut self, token: u64, answered: bool, bytes: usize, ends: &mut Ends<'_>) {
        let answer = answered && self.buffer.get(..bytes).is_some_and(is_answer);
        if answer {
            self.stray(token, ends);
        } else {
            // Whatever it is, it must not become the beginning of the next answer.
            self.lose(token, stamp_now(), None, ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    fn answer(reused: bool, written: Ns, first: Ns) -> Record {
        let first_token = Some(Stamp { kernel: None, user: first });
        Record { reused, written: Some(written), first_token, ..Record::default() }
    }

    #[test]
    fn an_answer_is_early_where_it_came_in_a_small_part_of_the_time_of_any_other() {
        let rule = EarlyRule::default();
        let mut unasked = Unasked::default();
        assert!(!unasked.early(rule, &answer(false, 0, 50 * MS)), "the first says how quick the server is");
        assert!(!unasked.early(rule, &answer(false, 0, MS)), "a new connection has no answers of others");
        let mut unasked = Unasked { quickest: Some(50 * MS), ..Unasked::default() };
        assert!(unasked.early(rule, &answer(true, 0, 2 * MS)) && unasked.quickest == Some(50 * MS));
        assert!(!unasked.early(rule, &answer(true, 0, 3 * MS)) && unasked.quickest == Some(3 * MS));
        // A server that answers in three milliseconds may answer in none.
        assert!(!unasked.early(rule, &answer(true, 0, MS / 100)));
        assert!(!unasked.early(rule, &Record { reused: true, ..Record::default() }), "no token came");
        let watched = Some(EarlyAnswer { token: 1, until: 9, record: Record::default() });
        let mut unasked = Unasked { quickest: Some(50 * MS), watched, seen: false };
        assert!(!unasked.early(rule, &answer(true, 0, MS)), "one at a time is watched");
        assert_eq!(unasked.until(rule, MS), 201 * MS);
        assert_eq!(Unasked { quickest: Some(Ns::MAX), ..Unasked::default() }.until(rule, 0), 10_000 * MS);
    }

    #[test]
    fn line_ends_and_the_end_of_an_idle_connection_are_no_answers() {
        for (bytes, answer) in [
            (&b"HTTP/1.1 200 OK\r\n"[..], true),
            (b"\r\nHTTP/1.1 200 OK\r\n", true),
            (b"data: x", true),
            (b"\r\n\r\n", false),
            (b"HTTP/1.0 408 Request Time-out\r\n", false),
            (b"HTTP/1.1 408 Request Timeout\r\n", false),
        ] {
            assert_eq!(is_answer(bytes), answer, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn what_the_kernel_had_before_the_request_was_sent_is_not_its_answer() {
        let read = |kernel| Stamp { kernel, user: 200 };
        assert!(came_before(read(Some(99)), 100));
        assert!(!came_before(read(Some(100)), 100) && !came_before(read(None), 100));
    }
}
