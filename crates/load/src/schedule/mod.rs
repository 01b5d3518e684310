//! The schedule: which order is sent now.
//!
//! In:  a [`Plan`], orders as they are built ([`OrderFeed`]), the time, the number of requests in flight.
//! Out: a [`Source`] for the engine, at the end a [`ScheduleReport`] and the requests that were due and never sent.
//! Not here: sockets (see `engine`), bodies (see `build`), conversations (see `chat`).
//!
//! Phases follow one another: the warm-up, the priming and the measured part. Each begins when everything before has been answered, so that
//! requests of two phases never share the server. The measured part's time counts from its beginning.
//!
//! A closed loop sends whenever fewer are in flight than it may have. An open loop sends requests at their times, never earlier. A request
//! that was held back is sent at once and keeps its scheduled time, from which its latency counts. At a cap on the concurrency an open loop
//! waits like a closed one. The number of delayed requests is reported, because beyond some share the rate is no longer what it is called.
//!
//! After a failure a closed loop does not take the place again at once, and both end after nothing but failures (see [`calm`]).
//!
//! Where several clients make one load, a phase begins on all of them at one moment ([`Gate`]).
//!
//! Time and randomness come from outside, so everything here can be tested with given times.

pub(crate) mod calm;
pub(crate) mod gaps;

use std::sync::Arc;

use self::calm::{Calm, OnTheWay};
use super::order::{Asked, EndedBy, Gate, Next, Order, Phase, Record, Source, Status};
use super::plan::arrivals::Growth;
use super::plan::{Entry, Plan};
use super::settings::{Settings, Shape, Share};
use sparkbench_host::net::Ns;
use sparkbench_text::error::Error;

/// Requests at a time in the warm-up of an open loop without a cap.
pub(crate) const WARMUP_CONCURRENCY: u32 = 16;

/// Grace time in ns: a request that was due within the time bound is still sent this long after it. A sleeping thread wakes some tenths of a
/// millisecond late. A load is not invalid for a request that was due in the last of them.
const LATE: Ns = 5_000_000;

/// Share of requests that waited for the cap, from which on an open loop is one no longer.
pub(crate) const CAPPED_SHARE: f64 = 0.05;

/// An order, and when it is due, nanoseconds from the start of the measured part.
#[derive(Debug, PartialEq)]
pub(crate) struct BuiltOrder {
    /// The requests.
    pub order: Box<Order>,
    /// See [`super::plan::Entry::at`].
    pub at: Option<u64>,
}

/// Orders from the builder.
#[derive(Debug)]
pub(crate) enum NextOrder {
    /// The next order of the plan.
    Order(BuiltOrder),
    /// None yet. The poller is woken when there is.
    Dry,
    /// None any more.
    End,
    /// None any more, because of this.
    Failed(Error),
}

/// Gives the orders of the plan, one after another. Never waits.
pub(crate) trait OrderFeed: Send {
    /// The next one.
    fn take(&mut self) -> NextOrder;
}

/// See the module.
pub(crate) struct Scheduler {
    feed: Box<dyn OrderFeed>,
    plan: Arc<Plan>,
    share: Share,
    nonce: u64,
    /// Concurrency of the closed loop, over time. Of an open loop the cap.
    limit: Growth,
    open: bool,
    duration: Option<Ns>,
    before: usize,
    phase: Phase,
    head: Option<BuiltOrder>,
    head_waited: bool,
    ended: bool,
    fault: Option<Error>,
    /// Set for several clients. Without it a phase begins when everything before has been answered.
    gate: Option<Box<dyn Gate>>,
    start: Option<Ns>,
    /// Asked in vain since the last order.
    hungry: bool,
    fed: bool,
    /// First entry of the plan that was not sent.
    unsent: u64,
    counts: Counts,
    calm: Calm,
    /// Longest wait that a server may ask for.
    longest: Ns,
    /// Failures in a row that ended the load.
    gave_up: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    sent: u64,
    ended: u64,
    measured: u64,
    waited: u64,
    starved: u64,
    first: Option<(Ns, Option<u64>)>,
    last: Option<(Ns, Option<u64>)>,
}

/// How the schedule was kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScheduleReport {
    /// When the measured part began.
    pub start: Option<Ns>,
    /// Measured requests that were sent.
    pub sent: u64,
    /// Measured requests whose time had come: sent ones and others. Absent in a closed loop.
    pub due: Option<u64>,
    /// Of the sent ones, those that had to wait for the cap.
    pub waited: u64,
    /// Requests that could not be sent at their time because no body was ready: the client's own fault.
    pub starved: u64,
    /// Rate at which requests came due, per second. Absent in a closed loop, and below two requests.
    pub offered_req_s: Option<f64>,
    /// Rate at which they were sent, per second.
    pub achieved_req_s: Option<f64>,
    /// The open loop was a closed one at its cap, for more than [`CAPPED_SHARE`] of its requests.
    pub degenerate: bool,
    /// How often a place of a closed loop stayed free after a failure, and for how long in all, seconds.
    pub pauses: (u64, f64),
    /// What ended the load.
    pub ended_by: EndedBy,
    /// Failures in a row, if they ended the load.
    pub gave_up: Option<u64>,
}

impl Scheduler {
    /// Of the plan of the same settings.
    pub(crate) fn new(settings: &Settings, plan: Arc<Plan>, feed: Box<dyn OrderFeed>) -> Self {
        let share = settings.share;
        let (limit, open, before) = match &settings.shape {
            Shape::Closed { concurrency } => (Growth::new(f64::from(*concurrency), settings.ramp), false, *concurrency),
            Shape::Open { max_concurrency, .. } | Shape::Trace { max_concurrency, .. } => {
                let cap = max_concurrency.map_or(f64::INFINITY, f64::from);
                (Growth::new(cap, None), true, max_concurrency.unwrap_or(WARMUP_CONCURRENCY.max(share.world)))
            }
        };
        Self {
            feed,
            plan,
            share,
            nonce: settings.nonce,
            limit,
            open,
            duration: settings.duration_s.map(|seconds| (seconds * 1e9) as Ns),
            before: share.of(before) as usize,
            phase: Phase::Probe,
            head: None,
            head_waited: false,
            ended: false,
            fault: None,
            gate: None,
            start: None,
            hungry: false,
            fed: false,
            unsent: 0,
            counts: Counts::default(),
            calm: Calm::new(settings.max_errors.map(u64::from)),
            longest: (settings.timeout_s * 1e9) as Ns,
            gave_up: None,
        }
    }

    /// Phases begin when this says so.
    pub(crate) fn begin_by(&mut self, gate: Box<dyn Gate>) {
        self.gate = Some(gate);
    }

    /// Why the load ended before its plan did, if it was the builder's fault.
    pub(crate) fn fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// How the schedule was kept, if the load stopped at `stopped`.
    pub(crate) fn report(&self, stopped: Ns) -> ScheduleReport {
        let Counts { measured: sent, waited, starved, first, last, .. } = self.counts;
        let pace = |span: Option<Ns>, count: u64| {
            let seconds = span.filter(|span| *span > 0)? as f64 / 1e9;
            (count > 1).then(|| (count - 1) as f64 / seconds)
        };
        let (missed, last_missed) =
            self.unsent_due(stopped).fold((0, None), |(count, _), (_, at)| (count + 1, Some(at)));
        let first_due = first.and_then(|(_, at)| at).or_else(|| self.unsent_due(stopped).next().map(|(_, at)| at));
        let last_due = last_missed.or(last.and_then(|(_, at)| at));
        let due = sent + missed;
        let over = self.start.zip(self.duration).is_some_and(|(start, duration)| stopped >= start + duration);
        let left = self.plan.own(Phase::Measured).is_none_or(|own| sent < own);
        ScheduleReport {
            start: self.start,
            sent,
            due: self.open.then_some(due),
            waited,
            starved,
            offered_req_s: pace(first_due.zip(last_due).map(|(first, last)| last - first), due).filter(|_| self.open),
            achieved_req_s: pace(first.zip(last).map(|(first, last)| last.0 - first.0), sent),
            degenerate: self.open && due > 0 && (waited + missed) as f64 / due as f64 > CAPPED_SHARE,
            pauses: self.calm.pauses(),
            ended_by: match self.gave_up {
                Some(_) => EndedBy::MaxErrors,
                None if over && left => EndedBy::Duration,
                None => EndedBy::Plan,
            },
            gave_up: self.gave_up,
        }
    }

    /// Records of what was due before `stopped` (and within the time bound) and never sent. In a closed loop nothing is.
    pub(crate) fn not_sent(&self, stopped: Ns) -> impl Iterator<Item = Record> + '_ {
        let start = self.start.unwrap_or(0);
        self.unsent_due(stopped).map(move |(entry, at)| Record {
            index: entry.index,
            phase: entry.phase,
            request_id: request_id(self.nonce, entry.index),
            asked: Asked { isl: entry.isl, isl_sent: None, osl: Some(entry.osl), exact: false },
            intended: Some(start + at),
            status: Status::NotSent,
            error: Some("it was due, but not sent before the load ended".to_owned()),
            ..Record::default()
        })
    }

    /// Requests of this client's share that were due before `stopped` and not sent, with their due times.
    fn unsent_due(&self, stopped: Ns) -> impl Iterator<Item = (Entry, u64)> + '_ {
        // Entries of a closed loop are never due: its plan may have no end, and is not gone through.
        let until = self
            .start
            .filter(|_| self.open)
            .map(|start| stopped.saturating_sub(start).min(self.duration.unwrap_or(Ns::MAX)));
        until.into_iter().flat_map(move |until| {
            let due = self.plan.entries(self.unsent).map(|entry| (entry, entry.at.unwrap_or(0)));
            due.take_while(move |(_, at)| *at < until)
                .filter(|(entry, _)| entry.phase == Phase::Measured && self.plan.mine(entry.index))
        })
    }

    /// Fetches the next order. Says what to answer when there is none.
    fn look(&mut self, deadline: Option<Ns>) -> Result<(), Next> {
        if self.head.is_some() {
            return Ok(());
        }
        match self.feed.take() {
            NextOrder::Order(built) => {
                self.head = Some(built);
                return Ok(());
            }
            NextOrder::Dry => {
                self.hungry = true;
                return Err(deadline.map_or(Next::Wait, Next::At));
            }
            NextOrder::End => {}
            NextOrder::Failed(error) => self.fault = Some(error),
        }
        self.ended = true;
        Err(Next::Done)
    }

    /// Requests that may be in flight `t` nanoseconds into the measured part, and when that changes.
    fn limit(&self, t: Ns) -> (usize, Option<Ns>) {
        let whole = self.limit.at(t as f64 / 1e9).floor().max(1.0);
        if whole.is_infinite() {
            return (usize::MAX, None);
        }
        // A nanosecond later, so that rounding cannot make the moment come before the change.
        let grows = self.limit.reaches(whole + 1.0).map(|seconds| ((seconds * 1e9) as Ns + 1).max(t + 1));
        (self.share.of(whole as u32) as usize, grows)
    }

    /// Places of the closed loop in the present phase.
    fn places(&self, now: Ns) -> Option<usize> {
        let of_start = |start| self.limit(now.saturating_sub(start)).0;
        (!self.open).then(|| self.start.map_or(self.before, of_start))
    }

    /// Whether the next request was due before the end, and is late only because the client woke late, not for the cap.
    fn is_late_by_us(&self, deadline: Ns, now: Ns, in_flight: usize) -> bool {
        let at = self.head.as_ref().and_then(|built| built.at).filter(|_| self.open && !self.head_waited);
        let due = self.start.zip(at).map(|(start, at)| (start, start + at));
        due.is_some_and(|(start, due)| due < deadline && in_flight < self.limit(now - start).0)
    }

    fn send(&mut self, now: Ns, intended: Option<Ns>) -> Next {
        let Some(mut built) = self.head.take() else { return Next::Wait };
        let late = intended.is_none_or(|due| due < now);
        if self.hungry && self.fed && late && built.order.phase == Phase::Measured {
            self.counts.starved += 1;
        }
        self.hungry = false;
        self.fed = true;
        self.unsent = built.order.index + 1;
        self.counts.sent += 1;
        if built.order.phase == Phase::Measured {
            self.counts.measured += 1;
            self.counts.waited += u64::from(self.head_waited);
            self.counts.last = Some((now, built.at));
            self.counts.first.get_or_insert((now, built.at));
        }
        self.head_waited = false;
        built.order.intended = intended;
        Next::Send(built.order)
    }
}

impl Source for Scheduler {
    fn next(&mut self, now: Ns, in_flight: usize) -> Next {
        let deadline = self.start.zip(self.duration).map(|(start, duration)| start + duration);
        let over = deadline.filter(|deadline| now >= *deadline);
        if self.ended || over.is_some_and(|deadline| now > deadline + LATE) {
            self.ended = true;
            return Next::Done;
        }
        self.gave_up = self.calm.hopeless(self.places(now));
        if self.gave_up.is_some() {
            self.ended = true;
            return Next::Done;
        }
        if let Err(answer) = self.look(deadline) {
            self.ended |= over.is_some();
            return if self.ended { Next::Done } else { answer };
        }
        if over.is_some_and(|deadline| !self.is_late_by_us(deadline, now, in_flight)) {
            self.ended = true;
            return Next::Done;
        }
        let Some((phase, at)) = self.head.as_ref().map(|built| (built.order.phase, built.at)) else {
            return Next::Wait;
        };
        if phase != self.phase {
            if in_flight > 0 {
                return Next::Wait;
            }
            let from = match &mut self.gate {
                None => now,
                Some(gate) => match gate.pass(phase) {
                    None => return Next::Wait,
                    Some(from) if from > now => return Next::At(from),
                    Some(from) => from,
                },
            };
            self.phase = phase;
            if phase == Phase::Measured {
                self.start = Some(from);
            }
        }
        // A place that stays free for now is as good as taken.
        let taken = in_flight.saturating_add(self.calm.held(now));
        let Some(start) = self.start.filter(|_| phase == Phase::Measured) else {
            return if taken < self.before {
                self.send(now, None)
            } else {
                self.calm.next().map_or(Next::Wait, Next::At)
            };
        };
        let deadline = self.duration.map(|duration| start + duration);
        let within = |moment: Ns| deadline.map_or(moment, |deadline| deadline.min(moment));
        let intended = self.open.then(|| start + at.unwrap_or(0));
        if let Some(due) = intended.filter(|due| *due > now) {
            return Next::At(within(due));
        }
        let (limit, grows) = self.limit(now - start);
        if taken < limit {
            return self.send(now, intended);
        }
        self.head_waited = self.open;
        let again = [grows.map(|grows| start + grows), self.calm.next()].into_iter().flatten().min();
        match again {
            Some(moment) => Next::At(within(moment)),
            None => deadline.map_or(Next::Wait, Next::At),
        }
    }

    fn ended(&mut self, now: Ns, record: &Record, _text: Option<Vec<u8>>) {
        self.counts.ended += 1;
        let open = self.counts.sent.saturating_sub(self.counts.ended);
        let way = OnTheWay { number: record.index, open, next: self.unsent };
        let places = self.places(now);
        self.calm.ended(now, record, places, self.longest, way);
    }
}

/// `x-request-id` of entry `index`.
pub(crate) fn request_id(nonce: u64, index: u64) -> String {
    format!("sparkbench-{nonce:016x}-{index}")
}

#[cfg(test)]
mod tests;
