//! Ranks in one process, on 127.0.0.1. Shares of one plan.

use super::*;
use crate::order::Phase;
use crate::plan::{Plan, PlanInput};
use crate::settings::{Cache, Shape};
use sparkbench_host::net::Poller;
use sparkbench_testing::{Folder, until_some};

const NEVER: fn() -> bool = || false;

#[test]
fn shares_of_one_plan_are_disjoint_and_complete_for_every_number_of_ranks() {
    let settings = Settings {
        shape: Shape::Closed { concurrency: 2048 },
        requests: Some(3001),
        warmup: Some(1003),
        cache: Cache::Primed,
        ..Settings::default()
    };
    for world in 1..=1000 {
        let of = |rank| Settings { share: Share { rank, world }, ..settings.clone() };
        let plans: Vec<Plan> = (0..world).map(|rank| Plan::new(&of(rank), &PlanInput::default()).unwrap()).collect();
        for phase in [Phase::Warmup, Phase::Prime, Phase::Measured] {
            let parts: u64 = plans.iter().map(|plan| plan.own(phase).unwrap()).sum();
            assert_eq!(Some(parts), plans[0].count(phase), "{world} ranks, {phase:?}");
        }
        // Each entry has one owner, and what each owns is what it counts as its own.
        let all = plans[0].size().unwrap();
        let mut owned = vec![0_u64; world as usize];
        for entry in (0..all).step_by(7) {
            let owners: Vec<usize> = (0..world as usize).filter(|rank| plans[*rank].mine(entry)).collect();
            let [owner] = owners.as_slice() else { panic!("{owners:?} of {world} own entry {entry}") };
            owned[*owner] += 1;
        }
        assert_eq!(owned.iter().sum::<u64>(), all.div_ceil(7));
        assert!(plans.iter().all(|plan| plan.to_string() == plans[0].to_string()), "one plan");
        assert_eq!((0..world).map(|rank| Share { rank, world }.of(2048)).sum::<u32>(), 2048);
    }
}

/// Rank 0 and another, met at a port that the kernel chose.
fn pair() -> (Arc<Ranks>, Arc<Ranks>) {
    let share = |rank| Share { rank, world: 2 };
    let head = Ranks::open(share(0), "127.0.0.1:0".parse().unwrap(), Secret::new("s")).unwrap();
    let Side::Head(server) = &head.side else { panic!("it is rank 0") };
    let (port, other) = (server.address().port(), share(1));
    let member = std::thread::spawn(move || {
        Ranks::meet(other, ("127.0.0.1", port), Secret::new("s"), "host-1", &NEVER).unwrap()
    });
    head.wait_for_all("host-0", &NEVER).unwrap();
    (Arc::new(head), Arc::new(member.join().unwrap()))
}

#[test]
fn a_part_begins_at_one_moment_when_all_are_ready() {
    let (head, member) = pair();
    assert_eq!(head.words(), "2 ranks: 1 on host-0, 1 on host-1");
    let settings = Settings { requests: Some(4), nonce: 77, ..Settings::default() };
    head.call("c1", &settings, &NEVER).unwrap();
    let called = member.next(&NEVER).unwrap().unwrap();
    assert_eq!((called.name.as_str(), called.nonce), ("c1", 77));
    let folder = Folder::new("ranks");
    let (here, there) = (Poller::new().unwrap(), Poller::new().unwrap());
    let waits = {
        let (member, waker, folder) = (Arc::clone(&member), there.waker(), folder.to_path_buf());
        std::thread::spawn(move || member.agree("plan", &folder, &waker, &NEVER))
    };
    let origin = head.agree("plan", &folder, &here.waker(), &NEVER).unwrap();
    // One machine has one clock. Two moments are apart by what was not known of it, however much that is.
    let bound = head.state.with(|inner| inner.clocks()[&1].bound_ns);
    let apart = origin.abs_diff(waits.join().unwrap().unwrap());
    assert!(apart <= bound, "{apart} ns, and {bound} ns at most");
    let (mut first, mut second) = (head.gate(), member.gate());
    assert_eq!(first.pass(Phase::Measured), None, "the other is not ready");
    let wait_for = |gate: &mut Box<dyn Gate>, phase| until_some("all are ready", || gate.pass(phase));
    let warm = wait_for(&mut second, Phase::Warmup);
    assert_eq!(first.pass(Phase::Measured), None, "the other warms up");
    let measured = (wait_for(&mut second, Phase::Measured), wait_for(&mut first, Phase::Measured));
    assert!(measured.0.abs_diff(measured.1) <= bound && measured.0 > warm, "{measured:?} after {warm}");
    member.end();
    head.end();
}

#[test]
fn another_plan_is_refused_and_the_next_load_can_begin() {
    let (head, member) = pair();
    let (here, there) = (Poller::new().unwrap(), Poller::new().unwrap());
    let folder = Folder::new("ranks");
    for (own, theirs) in [("one plan", "another"), ("a plan", "a plan")] {
        head.call("", &Settings::default(), &NEVER).unwrap();
        member.next(&NEVER).unwrap().unwrap();
        let waits = {
            let (member, waker, folder) = (Arc::clone(&member), there.waker(), folder.to_path_buf());
            std::thread::spawn(move || member.agree(theirs, &folder, &waker, &NEVER))
        };
        let agreed = head.agree(own, &folder, &here.waker(), &NEVER);
        assert_eq!(agreed.is_ok(), own == theirs);
        if let Err(error) = agreed {
            assert!(error.to_string().contains("rank 1 on host-1 has another plan"), "{error}");
            head.failed(&error.in_short());
        }
        assert_eq!(waits.join().unwrap().is_ok(), own == theirs);
    }
    head.end();
    assert!(member.next(&NEVER).unwrap().is_none(), "there is no further load");
    member.end();
}

#[test]
fn a_rank_that_goes_takes_the_load_with_it() {
    let (head, member) = pair();
    head.call("", &Settings::default(), &NEVER).unwrap();
    member.next(&NEVER).unwrap().unwrap();
    drop(member);
    let poller = Poller::new().unwrap();
    let error = head.agree("plan", &Folder::new("ranks"), &poller.waker(), &NEVER).unwrap_err();
    assert!(error.to_string().contains("rank 1 on host-1 left the load"), "{error}");
    assert!(head.stopped());
}

#[test]
fn ranks_are_named_and_many_are_counted() {
    assert_eq!(named(&[3]), "rank 3");
    assert_eq!(named(&[3, 5, 7]), "ranks 3, 5 and 7");
    assert_eq!(named(&(1..=10).collect::<Vec<_>>()), "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 2 more");
}
