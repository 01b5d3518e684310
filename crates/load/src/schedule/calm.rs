//! Calm after failures: when a place of a closed loop is taken again, and whether a load that does nothing but fail goes on.
//!
//! In:  how requests ended, the time.  Out: places that stay free until a moment, a count of failures in a row.
//! Not here: sending the same request again (see `engine` and [`crate::again`]), conversations (see `chat`).
//!
//! A server that refuses answers in a tenth of a millisecond. A closed loop that takes each place again at once would send it ten thousand
//! requests a second. So the place of a failed request stays free for a while: as long as the server asks for by `Retry-After`, else
//! for a time that doubles as long as no request is answered. An open loop keeps its schedule, which is what is measured. Both end when nothing
//! but failures came for long.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::again::asked_wait;
use crate::order::{Record, Status};
use sparkbench_host::net::{Ns, clock};

/// First time for which a place stays free after a failure, ns. The same as that of a client of conversations.
const PAUSE: Ns = 10_000_000;
/// Longest of these times, ns.
const PAUSE_MAX: Ns = 1_000_000_000;
/// Failures in a row after which a load ends.
const FAILURES: u64 = 100;
/// The same for each place: so many rounds of nothing but failures, which take two seconds.
const ROUNDS: u64 = 8;
/// A load of few places ends before that, where nothing was answered for so long, ns. A server that restarts takes longer.
const SILENCE: Ns = 10_000_000_000;
/// Failures of each place that this takes.
const SILENT_ROUNDS: u64 = 10;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Calm {
    /// Until when places stay free.
    held: BinaryHeap<Reverse<Ns>>,
    /// Failures since the last answer, and when the first of them was.
    failures: u64,
    since: Ns,
    /// How often a place stayed free, and for how long in all, ns.
    pauses: (u64, Ns),
}

impl Calm {
    /// A request ended. `places` are those of a closed loop, `longest` is the longest wait that a server may ask for.
    pub(super) fn ended(&mut self, now: Ns, record: &Record, places: Option<usize>, longest: Ns) {
        match record.status {
            status if status.answered() => self.failures = 0,
            Status::Cancelled | Status::NotSent => {}
            status => {
                if self.failures == 0 {
                    self.since = now;
                }
                self.failures += 1;
                // One that ran into its time limit has taken its time.
                if let Some(places) = places.filter(|_| status != Status::Timeout) {
                    self.hold(now, record, places as u64, longest);
                }
            }
        }
    }

    fn hold(&mut self, now: Ns, record: &Record, places: u64, longest: Ns) {
        let refused = matches!(record.http, Some(429 | 503));
        let asked = record.retry_after.as_deref().filter(|_| refused);
        let asked = asked.and_then(|text| asked_wait(text, clock::wall() as f64 / 1e9)).map(|wait| wait.min(longest));
        let rounds = (self.failures - 1) / places.max(1);
        let pause = asked.unwrap_or_else(|| (PAUSE << rounds.min(10)).min(PAUSE_MAX));
        self.held.push(Reverse(now.saturating_add(pause)));
        self.pauses = (self.pauses.0 + 1, self.pauses.1.saturating_add(pause));
    }

    /// Places that stay free now.
    pub(super) fn held(&mut self, now: Ns) -> usize {
        while self.held.peek().is_some_and(|Reverse(until)| *until <= now) {
            self.held.pop();
        }
        self.held.len()
    }

    /// When the next of them may be taken.
    pub(super) fn next(&self) -> Option<Ns> {
        self.held.peek().map(|Reverse(until)| *until)
    }

    /// Failures in a row, if there are so many that nothing else is to be expected.
    pub(super) fn hopeless(&self, now: Ns, places: Option<usize>) -> Option<u64> {
        let places = places.map_or(1, |places| places.min(1 << 20) as u64);
        let many = self.failures >= FAILURES.max(ROUNDS * places);
        let silent = self.failures >= SILENT_ROUNDS * places && now.saturating_sub(self.since) >= SILENCE;
        (many || silent).then_some(self.failures)
    }

    /// How often a place stayed free, and for how long in all, seconds.
    pub(super) fn pauses(&self) -> (u64, f64) {
        (self.pauses.0, self.pauses.1 as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;
    const LONGEST: Ns = 600_000 * MS;

    fn ended(status: Status, http: Option<u16>, retry_after: Option<&str>) -> Record {
        Record { status, http, retry_after: retry_after.map(str::to_owned), ..Record::default() }
    }

    #[test]
    fn a_place_stays_free_ever_longer_until_a_request_is_answered() {
        let mut calm = Calm::default();
        let refused = ended(Status::Http, Some(500), None);
        let mut until = Vec::new();
        for _ in 0..10 {
            calm.ended(0, &refused, Some(1), LONGEST);
            until.push(calm.next().unwrap() / MS);
            calm.held.clear();
        }
        assert_eq!(until, [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
        calm.ended(0, &ended(Status::Ok, Some(200), None), Some(1), LONGEST);
        calm.ended(0, &refused, Some(1), LONGEST);
        assert_eq!((calm.next(), calm.held(9 * MS), calm.held(10 * MS)), (Some(10 * MS), 1, 0));
        // Four places fail once each: that is one round.
        let mut calm = Calm::default();
        (0..4).for_each(|_| calm.ended(0, &refused, Some(4), LONGEST));
        assert_eq!((calm.held(0), calm.held(10 * MS), calm.pauses()), (4, 0, (4, 0.04)));
    }

    #[test]
    fn a_place_stays_free_for_as_long_as_the_server_asks_and_at_most_as_long_as_a_request_may_take() {
        let held = |http, after, longest| {
            let mut calm = Calm::default();
            calm.ended(0, &ended(Status::Http, Some(http), Some(after)), Some(1), longest);
            calm.next().unwrap() / MS
        };
        assert_eq!(
            [held(429, "5", LONGEST), held(503, "0.5", LONGEST), held(429, "5", 2_000 * MS)],
            [5_000, 500, 2_000]
        );
        assert_eq!([held(429, "7200", LONGEST), held(429, "soon", LONGEST), held(500, "5", LONGEST)], [60_000, 10, 10]);
    }

    #[test]
    fn what_took_its_time_or_did_not_fail_holds_nothing() {
        let mut calm = Calm::default();
        for status in [Status::Timeout, Status::Cancelled, Status::NotSent, Status::Ok] {
            calm.ended(0, &ended(status, None, None), Some(1), LONGEST);
        }
        // An open loop keeps its schedule.
        calm.ended(0, &ended(Status::Http, Some(429), Some("5")), None, LONGEST);
        assert_eq!((calm.held(0), calm.next()), (0, None));
    }

    #[test]
    fn nothing_but_failures_ends_a_load_and_one_answer_does_not() {
        let mut calm = Calm::default();
        let failed = ended(Status::Connect, None, None);
        (0..99).for_each(|_| calm.ended(MS, &failed, None, LONGEST));
        assert_eq!(calm.hopeless(MS, None), None);
        // Ten seconds without an answer are enough where each place has failed ten times.
        let late = 10_001 * MS;
        assert_eq!((calm.hopeless(late - 1, None), calm.hopeless(late, Some(9))), (None, Some(99)));
        assert_eq!(calm.hopeless(late, Some(10)), None);
        calm.ended(MS, &failed, None, LONGEST);
        let now = |places| calm.hopeless(MS, places);
        assert_eq!((now(None), now(Some(12)), now(Some(13))), (Some(100), Some(100), None));
        calm.ended(MS, &ended(Status::Short, None, None), None, LONGEST);
        calm.ended(late, &failed, None, LONGEST);
        assert_eq!(calm.hopeless(late, None), None);
    }
}
