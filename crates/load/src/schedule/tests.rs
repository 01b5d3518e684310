//! Schedules, driven with given times.

use std::collections::VecDeque;

use super::*;
use crate::plan::PlanInput;
use crate::settings::{Arrival, Ramp};

const S: Ns = 1_000_000_000;

/// Gives the plan's entries as orders without bodies. Says it is dry as often as it is told to.
struct Ready {
    orders: VecDeque<BuiltOrder>,
    dry: VecDeque<bool>,
}

impl OrderFeed for Ready {
    fn take(&mut self) -> NextOrder {
        if self.dry.pop_front() == Some(true) {
            return NextOrder::Dry;
        }
        self.orders.pop_front().map_or(NextOrder::End, NextOrder::Order)
    }
}

fn scheduler(settings: &Settings, dry: &[bool]) -> Scheduler {
    let plan = Arc::new(Plan::new(settings, &PlanInput::default()).unwrap());
    let orders = plan
        .entries(0)
        .filter(|entry| plan.mine(entry.index))
        .take(10_000)
        .map(|entry| {
            let order = Order { index: entry.index, phase: entry.phase, ..Order::default() };
            BuiltOrder { order: Box::new(order), at: entry.at }
        })
        .collect();
    Scheduler::new(settings, plan, Box::new(Ready { orders, dry: dry.iter().copied().collect() }))
}

fn closed(concurrency: u32, requests: u64) -> Settings {
    Settings { shape: Shape::Closed { concurrency }, requests: Some(requests), ..Settings::default() }
}

fn open(rate: f64, requests: u64, max_concurrency: Option<u32>) -> Settings {
    let shape = Shape::Open { rate, arrival: Arrival::Constant, max_concurrency };
    Settings { shape, requests: Some(requests), ..Settings::default() }
}

/// Sends until it wants no more. The answer that ended it.
fn send_all(scheduler: &mut Scheduler, now: Ns, in_flight: &mut usize) -> (Vec<Order>, Next) {
    let mut sent = Vec::new();
    loop {
        match scheduler.next(now, *in_flight) {
            Next::Send(order) => {
                *in_flight += 1;
                sent.push(*order);
            }
            other => return (sent, other),
        }
    }
}

/// Issue 34: a closed loop sent more than ten thousand requests a second to a server that asked for five seconds of peace.
#[test]
fn a_closed_loop_leaves_the_place_of_a_refused_request_free_and_ends_when_nothing_else_comes() {
    let refused = |after: Option<&str>| Record {
        status: Status::Http,
        http: Some(429),
        retry_after: after.map(str::to_owned),
        ..Record::default()
    };
    let settings = Settings { duration_s: Some(12.0), requests: None, ..closed(2, 1) };
    let mut asked = scheduler(&settings, &[]);
    let mut in_flight = 0;
    assert_eq!(send_all(&mut asked, S, &mut in_flight).0.len(), 2);
    in_flight -= 1;
    asked.ended(2 * S, &refused(Some("5")), None);
    let (sent, next) = send_all(&mut asked, 2 * S, &mut in_flight);
    assert!(sent.is_empty() && matches!(next, Next::At(at) if at == 7 * S), "{next:?}");
    // The other place is taken again meanwhile.
    in_flight -= 1;
    asked.ended(3 * S, &Record::default(), None);
    assert_eq!(send_all(&mut asked, 3 * S, &mut in_flight).0.len(), 1);
    assert_eq!(send_all(&mut asked, 7 * S, &mut in_flight).0.len(), 1);
    // A wait beyond the end ends there.
    in_flight -= 1;
    asked.ended(8 * S, &refused(Some("50")), None);
    let (sent, next) = send_all(&mut asked, 8 * S, &mut in_flight);
    assert!(sent.is_empty() && matches!(next, Next::At(at) if at == 13 * S), "{next:?}");
    assert_eq!((asked.report(9 * S).pauses, asked.report(9 * S).gave_up), ((2, 55.0), None));

    // Without a word of the server the pauses double, and a hundred failures are enough.
    let mut scheduler = scheduler(&Settings { duration_s: Some(600.0), requests: None, ..closed(2, 1) }, &[]);
    let (mut now, mut sent, mut in_flight) = (S, 0, 0);
    loop {
        let (orders, next) = send_all(&mut scheduler, now, &mut in_flight);
        sent += orders.len();
        orders.iter().for_each(|_| scheduler.ended(now, &refused(None), None));
        in_flight -= orders.len();
        match next {
            _ if !orders.is_empty() => {}
            Next::At(at) => now = at,
            Next::Done => break,
            other => panic!("{other:?}"),
        }
    }
    // 10, 20, ... 640 ms, and then a second for each round but the last.
    assert_eq!((now - S) / 1_000_000, 1_270 + 42_000);
    let report = scheduler.report(now);
    assert_eq!((sent, report.gave_up, report.ended_by), (100, Some(100), EndedBy::MaxErrors));
}

#[test]
fn a_closed_loop_refills_at_once() {
    let mut scheduler = scheduler(&closed(3, 5), &[]);
    let mut in_flight = 0;
    let (sent, next) = send_all(&mut scheduler, S, &mut in_flight);
    assert_eq!((sent.len(), matches!(next, Next::Wait)), (3, true));
    assert!(sent.iter().all(|order| order.intended.is_none()));
    in_flight -= 1;
    assert_eq!(send_all(&mut scheduler, S + 1, &mut in_flight).0.len(), 1);
    in_flight = 1;
    let (sent, next) = send_all(&mut scheduler, S + 2, &mut in_flight);
    assert_eq!((sent[0].index, sent.len(), matches!(next, Next::Done)), (4, 1, true));
    let report = scheduler.report(2 * S);
    assert_eq!((report.sent, report.due, report.starved, report.degenerate), (5, None, 0, false));
    assert_eq!(scheduler.not_sent(9 * S).count(), 0);
}

#[test]
fn a_phase_begins_when_the_one_before_is_answered() {
    let mut scheduler = scheduler(&Settings { warmup: Some(3), ..closed(2, 2) }, &[]);
    let mut in_flight = 0;
    assert_eq!(send_all(&mut scheduler, 0, &mut in_flight).0.len(), 2);
    in_flight = 1;
    let (sent, next) = send_all(&mut scheduler, 1, &mut in_flight);
    assert_eq!((sent[0].phase, sent.len()), (Phase::Warmup, 1));
    assert!(matches!(next, Next::Wait) && scheduler.start.is_none());
    in_flight = 1;
    assert!(matches!(scheduler.next(2, in_flight), Next::Wait), "one of the warm-up is still in flight");
    in_flight = 0;
    let (sent, _) = send_all(&mut scheduler, 7, &mut in_flight);
    assert_eq!((sent.len(), sent[0].phase, scheduler.start), (2, Phase::Measured, Some(7)));
}

#[test]
fn an_open_loop_is_never_early_and_catches_up() {
    let mut scheduler = scheduler(&open(10.0, 8, None), &[]);
    let mut in_flight = 0;
    let (sent, next) = send_all(&mut scheduler, 5 * S, &mut in_flight);
    assert_eq!((sent.len(), sent[0].intended), (1, Some(5 * S)));
    assert!(matches!(next, Next::At(at) if at == 5 * S + S / 10), "{next:?}");
    assert!(matches!(scheduler.next(5 * S + S / 10 - 1, 1), Next::At(_)));
    // Late by 350 ms: everything that came due goes out, with the time it was due.
    let (sent, next) = send_all(&mut scheduler, 5 * S + 450_000_000, &mut in_flight);
    let intended: Vec<Ns> = sent.iter().map(|order| order.intended.unwrap()).collect();
    assert_eq!(intended, [1, 2, 3, 4].map(|tenth| 5 * S + tenth * S / 10));
    assert!(matches!(next, Next::At(at) if at == 5 * S + S / 2));
    assert!(!scheduler.report(5 * S + 450_000_000).degenerate);
}

#[test]
fn what_waits_for_the_cap_keeps_its_time_and_is_counted() {
    let mut scheduler = scheduler(&open(10.0, 4, Some(1)), &[]);
    let mut in_flight = 0;
    assert_eq!(send_all(&mut scheduler, 0, &mut in_flight).0.len(), 1);
    assert!(matches!(scheduler.next(S / 10, 1), Next::Wait));
    assert!(matches!(scheduler.next(S / 5, 1), Next::Wait));
    in_flight = 0;
    let (sent, _) = send_all(&mut scheduler, S / 2, &mut in_flight);
    assert_eq!((sent.len(), sent[0].intended), (1, Some(S / 10)));
    let report = scheduler.report(S / 2);
    assert_eq!((report.sent, report.due, report.waited, report.degenerate), (2, Some(4), 1, true));
    let left: Vec<Record> = scheduler.not_sent(S / 2).collect();
    assert_eq!(
        left.iter().map(|record| (record.index, record.intended)).collect::<Vec<_>>(),
        [(2, Some(S / 5)), (3, Some(3 * S / 10))]
    );
    assert!(left.iter().all(|record| record.status == Status::NotSent && record.sent.is_none()));
}

#[test]
fn nothing_is_sent_after_the_time_bound() {
    let bound = |settings: Settings| Settings { requests: None, duration_s: Some(1.0), ..settings };
    let mut closed_loop = scheduler(&bound(closed(1, 0)), &[]);
    assert!(matches!(closed_loop.next(S, 0), Next::Send(_)));
    assert!(matches!(closed_loop.next(S, 1), Next::At(at) if at == 2 * S), "it wants to be asked at the bound");
    assert!(matches!(closed_loop.next(2 * S, 0), Next::Done));
    assert!(matches!(closed_loop.next(2 * S + 1, 0), Next::Done));
    assert_eq!(closed_loop.not_sent(3 * S).count(), 0);
    let mut open_loop = scheduler(&bound(open(10.0, 0, Some(1))), &[]);
    assert!(matches!(open_loop.next(S, 0), Next::Send(_)));
    assert!(matches!(open_loop.next(2 * S, 1), Next::Done));
    assert_eq!(open_loop.not_sent(2 * S).count(), 9, "ten were due in the second, one was sent");
    let report = open_loop.report(2 * S);
    assert_eq!((report.due, report.sent), (Some(10), 1));
    assert!((report.offered_req_s.unwrap() - 10.0).abs() < 1e-9, "{report:?}");
}

#[test]
fn what_came_due_at_the_very_end_is_sent_by_a_client_that_wakes_late() {
    let settings = || Settings { requests: None, duration_s: Some(1.0), ..open(10.0, 0, None) };
    let to_the_last = |settings: &Settings| {
        let mut scheduler = scheduler(settings, &[]);
        let mut in_flight = 0;
        for tenth in 0..9 {
            assert_eq!(send_all(&mut scheduler, S + tenth * S / 10, &mut in_flight).0.len(), 1);
        }
        (scheduler, in_flight)
    };
    let (mut late, mut in_flight) = to_the_last(&settings());
    let (sent, next) = send_all(&mut late, 2 * S + 300_000, &mut in_flight);
    assert_eq!((sent.len(), sent[0].intended, matches!(next, Next::Done)), (1, Some(S + 9 * S / 10), true));
    assert_eq!(late.not_sent(3 * S).count(), 0);
    let (mut later, mut in_flight) = to_the_last(&settings());
    assert!(send_all(&mut later, 2 * S + LATE + 1, &mut in_flight).0.is_empty());
    assert_eq!(later.not_sent(3 * S).count(), 1);
}

#[test]
fn a_growing_concurrency_says_when_it_wants_to_be_asked() {
    let ramp = Some(Ramp { from: 1.0, over_s: 3.0, exponential: false });
    let mut scheduler = scheduler(&Settings { ramp, ..closed(4, 100) }, &[]);
    let mut in_flight = 0;
    let (sent, next) = send_all(&mut scheduler, S, &mut in_flight);
    assert_eq!(sent.len(), 1);
    let Next::At(at) = next else { panic!("{next:?}") };
    assert!(at.abs_diff(2 * S) <= 2, "{at}");
    assert_eq!(send_all(&mut scheduler, at, &mut in_flight).0.len(), 1);
    let (sent, next) = send_all(&mut scheduler, 60 * S, &mut in_flight);
    assert_eq!((sent.len(), matches!(next, Next::Wait)), (2, true));
}

#[test]
fn clients_share_a_concurrency_exactly() {
    for (whole, world) in [(10, 3), (7, 7), (128, 5)] {
        let parts: u32 = (0..world).map(|rank| Share { rank, world }.of(whole)).sum();
        assert_eq!(parts, whole);
        for rank in 0..world {
            let share = Share { rank, world };
            let mine = (0..u64::from(whole)).filter(|entry| entry % u64::from(world) == u64::from(rank)).count();
            assert_eq!(share.first(whole.into()), mine as u64);
        }
    }
}

#[test]
fn a_body_that_was_not_ready_is_the_clients_fault() {
    let mut scheduler = scheduler(&open(10.0, 3, None), &[true, true, false, true, false, false]);
    assert!(matches!(scheduler.next(0, 0), Next::Wait), "nothing is built yet: that is not a fault");
    assert!(matches!(scheduler.next(1, 0), Next::Wait));
    assert!(matches!(scheduler.next(2, 0), Next::Send(_)));
    assert!(matches!(scheduler.next(3, 1), Next::Wait));
    assert!(matches!(scheduler.next(S, 1), Next::Send(_)), "it was due at a tenth of a second");
    assert_eq!(scheduler.report(S).starved, 1);
}

#[test]
fn achieved_and_offered_rates_are_told_apart() {
    let mut scheduler = scheduler(&open(10.0, 11, None), &[]);
    for i in 0..11u64 {
        assert!(matches!(scheduler.next(i * S / 5, 0), Next::Send(_)), "half as fast as it should");
    }
    let report = scheduler.report(3 * S);
    assert_eq!((report.offered_req_s, report.achieved_req_s), (Some(10.0), Some(5.0)));
}
