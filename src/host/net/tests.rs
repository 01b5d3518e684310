//! On the loopback interface: stamps, timers, wake-ups.

use std::net::{Ipv4Addr, SocketAddr};

use super::*;

fn loopback() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

#[test]
fn a_late_read_still_knows_when_the_bytes_arrived() {
    let listener = Listener::bind(loopback()).unwrap();
    let mut client = Stream::connect(listener.address().unwrap()).unwrap();
    let server = loop {
        if let Some(stream) = listener.accept().unwrap() {
            break stream;
        }
    };
    client.connected().unwrap();
    let mut buffer = [0; 64];
    // The kernel begins to stamp a moment after the first socket asks for it.
    let begun = now();
    loop {
        server.send(b"early").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        match client.receive(&mut buffer).unwrap() {
            Received::Bytes(5, stamp) if stamp.kernel.is_some() => break,
            _ => assert!(now() - begun < 5_000_000_000, "every Linux stamps what arrives by TCP"),
        }
    }
    let sent = now();
    server.send(b"token").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let Received::Bytes(5, stamp) = client.receive(&mut buffer).unwrap() else { panic!("five bytes were sent") };
    assert!(stamp.user - sent >= 300_000_000, "read late");
    let kernel = stamp.kernel.expect("it stamped what came before");
    assert!(kernel.abs_diff(sent) < 100_000_000, "stamped {} ns after sending", kernel.abs_diff(sent));
    assert!(stamp.lag().unwrap() >= 200_000_000);
    assert_eq!(client.receive(&mut buffer).unwrap(), Received::Nothing);
    server.send(b"another").unwrap();
    let Received::Bytes(7, stamp) = client.receive(&mut buffer).unwrap() else { panic!("seven bytes were sent") };
    assert!(stamp.kernel.is_some(), "each read has a stamp of its own");
    drop(server);
    let mut poller = Poller::new().unwrap();
    poller.add(&client, 7, Interest::Read).unwrap();
    let mut ready = Vec::new();
    poller.wait(Some(now() + 1_000_000_000), &mut ready).unwrap();
    assert_eq!(ready, [Ready { token: 7, readable: true, ended: true, writable: false }]);
    assert!(matches!(client.receive(&mut buffer).unwrap(), Received::End(_)));
}

#[test]
fn news_are_told_once_and_again_for_the_asking() {
    let listener = Listener::bind(loopback()).unwrap();
    let mut client = Stream::connect(listener.address().unwrap()).unwrap();
    let server = loop {
        if let Some(stream) = listener.accept().unwrap() {
            break stream;
        }
    };
    let (mut poller, mut ready, mut buffer) = (Poller::new().unwrap(), Vec::new(), [0; 4]);
    let mut told = |poller: &mut Poller, within: Ns| {
        poller.wait(Some(now() + within), &mut ready).unwrap();
        ready.clone()
    };
    let (soon, late) = (2_000_000, 1_000_000_000);
    poller.add(&client, 1, Interest::News).unwrap();
    server.send(b"first, last").unwrap();
    drop(server);
    // The end may be told of by itself.
    while told(&mut poller, late).first().is_some_and(|look| !look.ended) {}
    assert!(matches!(client.receive(&mut buffer).unwrap(), Received::Bytes(4, _)));
    assert_eq!(told(&mut poller, soon), [], "what is left is no news");
    poller.change(&client, 1, Interest::News).unwrap();
    assert_eq!(told(&mut poller, late), [Ready { token: 1, readable: true, ended: true, writable: false }]);
    assert!(matches!(client.receive(&mut buffer).unwrap(), Received::Bytes(4, _)));
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
    // Put off the processor for two milliseconds between the two readings.
    let monotonic = now();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let carried = clocks.wall_at(monotonic);
    let (passed, real) = (carried - settled, clock::wall() - settled);
    assert!(passed + 1_500_000 < real, "the pause is not taken for an age: {passed} of {real} ns");
}
