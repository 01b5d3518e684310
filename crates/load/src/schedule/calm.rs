//! Calm after failures: when a place of a closed loop is taken again, and whether a load that does nothing but fail goes on.
//!
//! In:  how requests ended, the time.  Out: places that stay free until a moment, a count of failures in a row.
//! Not here: sending the same request again (see `engine` and [`crate::again`]), which turn a client sends next (see `chat`).
//!
//! A server that refuses answers in a tenth of a millisecond. A closed loop that takes each place again at once would send it ten thousand
//! requests a second. So the place of a failed request stays free for a while: as long as the server asks for by `Retry-After`, else
//! for a time that doubles as long as no request is answered. A client of conversations is such a place. An open loop keeps its schedule,
//! which is what is measured.
//!
//! Both end when so many requests in a row have failed as `--max-errors` says, by default 100. What breaks every connection at once is one
//! failure and not many, so with more than 50 places the default is two for each. A server that refuses what is beyond its own limit still
//! answers what it took before: while such a request is open, the default waits for its end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::again::asked_wait;
use crate::order::{Record, Status};
use sparkbench_host::net::{Ns, clock};

/// First time for which a place stays free after a failure, ns.
const PAUSE: Ns = 10_000_000;
/// Longest of these times, ns.
const PAUSE_MAX: Ns = 1_000_000_000;
/// Failures in a row after which a load ends that does not say how many.
pub(crate) const FAILURES: u64 = 100;
/// And at least so many for each place.
const ROUNDS: u64 = 2;
/// So many times as many end it although a request from before is still open. One that hangs would keep it up for its whole time limit.
const PATIENCE: u64 = 10;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calm {
    /// Until when places stay free.
    held: BinaryHeap<Reverse<Ns>>,
    /// Failures in a row that end the load, where somebody said so.
    most: Option<u64>,
    /// Failures since the last answer.
    failures: u64,
    /// Requests that were sent before the first of these failures and are still open. All have numbers below `mark`.
    older: u64,
    mark: u64,
    /// How often a place stayed free, and for how long in all, ns.
    pauses: (u64, Ns),
}

/// What is on its way when a request has ended. Requests have numbers in the order in which they are sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OnTheWay {
    /// Number of the request that ended.
    pub number: u64,
    /// Requests that are open.
    pub open: u64,
    /// Number of the next one.
    pub next: u64,
}

impl Calm {
    /// Of a load that says how many failures in a row end it, or leaves it to the default.
    pub(crate) fn new(most: Option<u64>) -> Self {
        Self { most, ..Self::default() }
    }

    /// A request ended. `places` are those of a closed loop, `longest` is the longest wait that a server may ask for.
    pub(super) fn ended(&mut self, now: Ns, record: &Record, places: Option<usize>, longest: Ns, way: OnTheWay) {
        if let Some(pause) = self.pause_after(record, places, longest, way) {
            self.held.push(Reverse(now.saturating_add(pause)));
        }
    }

    /// Like `ended`, for whoever keeps the places: for how long the place of this request stays free. Absent where it is taken at once.
    pub(crate) fn pause_after(
        &mut self,
        record: &Record,
        places: Option<usize>,
        longest: Ns,
        way: OnTheWay,
    ) -> Option<Ns> {
        if way.number < self.mark {
            self.older = self.older.saturating_sub(1);
        }
        match record.status {
            status if status.answered() => self.failures = 0,
            Status::Cancelled | Status::NotSent => {}
            status => {
                if self.failures == 0 {
                    (self.older, self.mark) = (way.open, way.next);
                }
                self.failures += 1;
                // One that ran into its time limit has taken its time.
                let places = places.filter(|_| status != Status::Timeout)?;
                let pause = self.pause(record, places as u64, longest);
                self.pauses = (self.pauses.0 + 1, self.pauses.1.saturating_add(pause));
                return Some(pause);
            }
        }
        None
    }

    fn pause(&self, record: &Record, places: u64, longest: Ns) -> Ns {
        let refused = matches!(record.http, Some(429 | 503));
        let asked = record.retry_after.as_deref().filter(|_| refused);
        let asked = asked.and_then(|text| asked_wait(text, clock::wall() as f64 / 1e9)).map(|wait| wait.min(longest));
        let rounds = (self.failures - 1) / places.max(1);
        asked.unwrap_or_else(|| (PAUSE << rounds.min(10)).min(PAUSE_MAX))
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
    pub(crate) fn hopeless(&self, places: Option<usize>) -> Option<u64> {
        let places = places.map_or(1, |places| places.min(1 << 20) as u64);
        let usual = FAILURES.max(ROUNDS * places);
        let ends = match self.most {
            Some(most) => self.failures >= most,
            None => self.failures >= usual && (self.older == 0 || self.failures >= PATIENCE * usual),
        };
        ends.then_some(self.failures)
    }

    /// How often a place stayed free, and for how long in all, seconds.
    pub(crate) fn pauses(&self) -> (u64, f64) {
        (self.pauses.0, self.pauses.1 as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;
    const LONGEST: Ns = 600_000 * MS;

    const ALONE: OnTheWay = OnTheWay { number: 0, open: 0, next: 1 };

    fn ended(status: Status, http: Option<u16>, retry_after: Option<&str>) -> Record {
        Record { status, http, retry_after: retry_after.map(str::to_owned), ..Record::default() }
    }

    #[test]
    fn a_place_stays_free_ever_longer_until_a_request_is_answered() {
        let mut calm = Calm::default();
        let refused = ended(Status::Http, Some(500), None);
        let mut until = Vec::new();
        for _ in 0..10 {
            calm.ended(0, &refused, Some(1), LONGEST, ALONE);
            until.push(calm.next().unwrap() / MS);
            calm.held.clear();
        }
        assert_eq!(until, [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
        calm.ended(0, &ended(Status::Ok, Some(200), None), Some(1), LONGEST, ALONE);
        calm.ended(0, &refused, Some(1), LONGEST, ALONE);
        assert_eq!((calm.next(), calm.held(9 * MS), calm.held(10 * MS)), (Some(10 * MS), 1, 0));
        // Four places fail once each: that is one round.
        let mut calm = Calm::default();
        (0..4).for_each(|_| calm.ended(0, &refused, Some(4), LONGEST, ALONE));
        assert_eq!((calm.held(0), calm.held(10 * MS), calm.pauses()), (4, 0, (4, 0.04)));
    }

    #[test]
    fn a_place_stays_free_for_as_long_as_the_server_asks_and_at_most_as_long_as_a_request_may_take() {
        let held = |http, after, longest| {
            let mut calm = Calm::default();
            calm.ended(0, &ended(Status::Http, Some(http), Some(after)), Some(1), longest, ALONE);
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
            calm.ended(0, &ended(status, None, None), Some(1), LONGEST, ALONE);
        }
        // An open loop keeps its schedule.
        calm.ended(0, &ended(Status::Http, Some(429), Some("5")), None, LONGEST, ALONE);
        assert_eq!((calm.held(0), calm.next()), (0, None));
    }

    #[test]
    fn nothing_but_failures_ends_a_load_and_one_answer_does_not() {
        let failed = ended(Status::Connect, None, None);
        let mut calm = Calm::default();
        (0..99).for_each(|_| calm.ended(MS, &failed, None, LONGEST, ALONE));
        assert_eq!(calm.hopeless(None), None);
        calm.ended(MS, &failed, None, LONGEST, ALONE);
        // Two for each place, where that is more.
        assert_eq!([None, Some(50), Some(51)].map(|places| calm.hopeless(places)), [Some(100), Some(100), None]);
        calm.ended(MS, &ended(Status::Short, None, None), None, LONGEST, ALONE);
        calm.ended(MS, &failed, None, LONGEST, ALONE);
        assert_eq!(calm.hopeless(None), None);
    }

    #[test]
    fn as_many_failures_as_were_asked_for_end_a_load_whatever_is_open() {
        let failed = ended(Status::Connect, None, None);
        let mut calm = Calm::new(Some(3));
        let after = |calm: &mut Calm| {
            calm.ended(MS, &failed, None, LONGEST, OnTheWay { number: 0, open: 200, next: 300 });
            calm.hopeless(Some(200))
        };
        assert_eq!([after(&mut calm), after(&mut calm), after(&mut calm)], [None, None, Some(3)]);
    }

    #[test]
    fn the_default_waits_for_requests_from_before_the_failures() {
        // Of four places two are taken by requests that take long, and the server refuses the others.
        let refused = ended(Status::Http, Some(429), None);
        let way = |number| OnTheWay { number, open: 2, next: number + 1 };
        let mut calm = Calm::default();
        (2..400).for_each(|number| calm.ended(0, &refused, Some(4), LONGEST, way(number)));
        assert_eq!(calm.hopeless(Some(4)), None);
        let mut broken = calm.clone();
        (0..2).for_each(|number| broken.ended(0, &refused, Some(4), LONGEST, way(number)));
        assert_eq!(broken.hopeless(Some(4)), Some(400));
        // One that hangs is not waited for without an end.
        (400..1002).for_each(|number| calm.ended(0, &refused, Some(4), LONGEST, way(number)));
        assert_eq!(calm.hopeless(Some(4)), Some(1000));
    }
}
