//! On the loopback interface: stamps, timers, wake-ups.

use std::net::{Ipv4Addr, SocketAddr};

use super::*;
use sparkbench_testing::{until, until_some};

fn loopback() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// A connection from end to end: the client's side and the server's.
fn connected() -> (Stream, Stream) {
    let listener = Listener::bind(loopback()).unwrap();
    let client = Stream::connect(listener.address().unwrap()).unwrap();
    let server = until_some("the connection comes", || listener.accept().unwrap());
    client.connected().unwrap();
    (client, server)
}

/// What a poller tells of next, however long that takes.
fn next(poller: &mut Poller) -> Vec<Ready> {
    let mut ready = Vec::new();
    while ready.is_empty() {
        poller.wait(None, &mut ready).unwrap();
    }
    ready
}

/// Lets nothing happen here until a moment.
fn pause_until(moment: Ns) {
    while now() < moment {
        std::thread::yield_now();
    }
}

#[test]
fn a_late_read_still_knows_when_the_bytes_arrived() {
    let (mut client, server) = connected();
    let mut poller = Poller::new().unwrap();
    poller.add(&client, 7, Interest::Read).unwrap();
    let mut buffer = [0; 64];
    let mut receive = |poller: &mut Poller| {
        next(poller);
        client.receive(&mut buffer).unwrap()
    };
    // The kernel begins to stamp a moment after the first socket asks for it, and every Linux stamps what arrives by TCP.
    until("the kernel stamps", || {
        server.send(b"early").unwrap();
        matches!(receive(&mut poller), Received::Bytes(5, stamp) if stamp.kernel.is_some())
    });
    let sent = now();
    server.send(b"token").unwrap();
    next(&mut poller);
    let there = now();
    let late = 20_000_000;
    pause_until(there + late);
    let Received::Bytes(5, stamp) = receive(&mut poller) else { panic!("five bytes were sent") };
    assert!(stamp.user >= there + late, "read late");
    let kernel = stamp.kernel.expect("it stamped what came before");
    // Carried over from the wall clock, so not exact to the last microsecond.
    assert!(kernel + 1_000_000 >= sent, "stamped {} ns before it was sent", sent - kernel);
    assert!(kernel <= there, "stamped {} ns after it was there", kernel - there);
    assert!(stamp.lag().unwrap() >= late);
    server.send(b"another").unwrap();
    let Received::Bytes(7, stamp) = receive(&mut poller) else { panic!("seven bytes were sent") };
    assert!(stamp.kernel.is_some(), "each read has a stamp of its own");
    assert_eq!(client.receive(&mut buffer).unwrap(), Received::Nothing);
    drop(server);
    assert_eq!(next(&mut poller), [Ready { token: 7, readable: true, ended: true, writable: false }]);
    assert!(matches!(client.receive(&mut buffer).unwrap(), Received::End(_)));
}

#[test]
fn news_are_told_once_and_again_for_the_asking() {
    let (mut client, server) = connected();
    let (mut poller, mut other, mut buffer) = (Poller::new().unwrap(), Poller::new().unwrap(), [0; 4]);
    poller.add(&client, 1, Interest::News).unwrap();
    other.add(&client, 1, Interest::Read).unwrap();
    server.send(b"first, last").unwrap();
    drop(server);
    // Another poller waits for the end, and the read behind it for the kernel to be through with it: from then on there are no news.
    while next(&mut other).iter().any(|look| !look.ended) {}
    assert!(matches!(client.receive(&mut buffer).unwrap(), Received::Bytes(4, _)));
    assert_eq!(next(&mut poller), [Ready { token: 1, readable: true, ended: true, writable: false }]);
    assert!(matches!(client.receive(&mut buffer).unwrap(), Received::Bytes(4, _)));
    let mut ready = Vec::new();
    poller.wait(Some(now() + 2_000_000), &mut ready).unwrap();
    assert_eq!(ready, [], "what is left is no news");
    poller.change(&client, 1, Interest::News).unwrap();
    assert_eq!(next(&mut poller), [Ready { token: 1, readable: true, ended: true, writable: false }]);
    assert!(matches!(client.receive(&mut buffer).unwrap(), Received::Bytes(3, _)));
}

#[test]
fn a_wait_ends_at_its_moment_or_when_it_is_woken() {
    let mut poller = Poller::new().unwrap();
    let mut ready = Vec::new();
    let until = now() + 3_000_000;
    poller.wait(Some(until), &mut ready).unwrap();
    assert!(now() >= until && ready.is_empty());
    let waker = poller.waker();
    let thread = std::thread::spawn(move || waker.wake());
    poller.wait(None, &mut ready).unwrap();
    thread.join().unwrap();
    assert!(ready.is_empty());
}

#[test]
fn a_wall_clock_that_was_set_takes_its_stamps_with_it() {
    assert_eq!(clock::carried(1_000, 500, 1_200), Some(300));
    assert_eq!(clock::carried(1_300, 500, 1_200), None, "from the future");
    assert_eq!(clock::carried(1, 500, 100_000_000_000), None, "from long ago");
}

#[test]
fn two_clocks_read_apart_do_not_move_a_stamp_to_an_earlier_time() {
    let mut clocks = clock::Pair::default();
    let settled = clocks.wall_at(now());
    // Two milliseconds lie between the two readings, as where the processor was lost.
    let monotonic = now();
    pause_until(monotonic + 2_000_000);
    let carried = clocks.wall_at(monotonic);
    let (passed, real) = (carried - settled, clock::wall() - settled);
    assert!(passed + 1_500_000 < real, "the pause is not taken for an age: {passed} of {real} ns");
}
