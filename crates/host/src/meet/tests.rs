//! Rank 0 and others on 127.0.0.1.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::net::now;
use sparkbench_testing::{LIMIT, until_some};

/// Nobody counts as gone for want of a processor.
const NEVER: Duration = Duration::from_secs(86_400);

fn handler() -> (Handler, Receiver<Event>) {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    (Arc::new(move |event| drop(tell.lock().unwrap().send(event))), told)
}

fn server(world: u32) -> (Server, Receiver<Event>) {
    let (handler, heard) = handler();
    let address = "127.0.0.1:0".parse().unwrap();
    (Server::open_until(NEVER, address, Secret::new("secret"), world, handler).unwrap(), heard)
}

fn client(
    server: &Server,
    secret: &str,
    rank: u32,
    world: u32,
) -> (Result<Client, sparkbench_text::error::Error>, Receiver<Event>) {
    let (handler, heard) = handler();
    let secret = Secret::new(secret);
    (Client::connect_until(NEVER, vec![server.address()], secret, (rank, world), LIMIT, handler), heard)
}

fn next(heard: &Receiver<Event>) -> Event {
    until_some("something is heard", || heard.try_recv().ok())
}

#[test]
fn both_sides_hear_what_the_other_says_in_order() {
    let (server, at_server) = server(2);
    let (client, at_client) = client(&server, "secret", 1, 2);
    let client = client.unwrap();
    assert!(matches!(next(&at_server), Event::Joined(1)));
    assert!(matches!(next(&at_client), Event::Joined(0)));
    server.say(1, json!({ "n": 1 }));
    assert!(matches!(next(&at_client), Event::Message(0, value) if value == json!({ "n": 1 })));
    // More than may wait at once, and later messages come after it.
    for number in 0..50_u8 {
        assert!(client.part(vec![number; 100_000]));
    }
    assert!(client.say_behind(json!("all")));
    for number in 0..50_u8 {
        assert!(matches!(next(&at_server), Event::Bytes(1, bytes) if bytes == vec![number; 100_000]));
    }
    assert!(matches!(next(&at_server), Event::Message(1, value) if value == json!("all")));
    client.close();
    assert!(matches!(next(&at_server), Event::Left(1, _)));
}

#[test]
fn who_does_not_know_the_secret_stays_outside() {
    let (server, at_server) = server(2);
    let (stranger, _) = client(&server, "another", 1, 2);
    let error = stranger.unwrap_err().to_string();
    assert!(error.contains("the token is another one"), "{error}");
    assert!(matches!(next(&at_server), Event::Refused(why) if why.contains("does not know the token")));
    // A program of another kind is no rank.
    use std::io::Write as _;
    let mut other = std::net::TcpStream::connect(server.address()).unwrap();
    other.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(matches!(next(&at_server), Event::Refused(why) if why.contains("not a rank of this version")));
}

#[test]
fn a_rank_that_is_there_or_cannot_be_is_refused_with_the_reason() {
    let (server, at_server) = server(2);
    let (_first, _) = client(&server, "secret", 1, 2);
    assert!(matches!(next(&at_server), Event::Joined(1)));
    for (rank, world, why) in [(1, 2, "already joined"), (5, 2, "no rank 5"), (1, 3, "3 ranks")] {
        let (_seat, at_client) = client(&server, "secret", rank, world);
        assert!(matches!(next(&at_client), Event::Joined(0)));
        assert!(matches!(next(&at_client), Event::Message(0, said) if said["refused"].as_str().unwrap().contains(why)));
    }
}

#[test]
fn the_clock_of_another_process_of_this_machine_is_ours() {
    let (server, at_server) = server(2);
    let (_seat, _) = client(&server, "secret", 1, 2);
    assert!(matches!(next(&at_server), Event::Joined(1)));
    server.ask_clock(1);
    let Event::Clock(1, clock) = next(&at_server) else { panic!("no clock") };
    assert!(clock.ahead_ns.unsigned_abs() <= clock.bound_ns, "{clock:?}: the truth is 0, and within the bound");
    assert!(clock.bound_ns > 0, "{clock:?}");
}

#[test]
fn the_shortest_of_several_round_trips_says_most() {
    let clock = Clock::of(1000, 5_000_100, 1200);
    assert_eq!(clock, Clock { ahead_ns: 4_999_000, bound_ns: 100 });
    assert_eq!(clock.there(1100), 5_000_100);
    let behind = Clock::of(5000, 100, 5010);
    assert_eq!((behind.ahead_ns, behind.there(5005)), (-4905, 100));
    assert_eq!(clock.better(behind), behind);
}

#[test]
fn whoever_says_nothing_for_long_is_gone() {
    use std::io::{Read as _, Write as _};
    let (handler, at_server) = handler();
    let server = Server::open("127.0.0.1:0".parse().unwrap(), Secret::new("secret"), 2, handler).unwrap();
    // It greets, and then answers nothing more: a machine whose link was cut.
    let mut link = std::net::TcpStream::connect(server.address()).unwrap();
    let mut drawn = [0; frame::MAGIC.len() + frame::DRAWN];
    link.read_exact(&mut drawn).unwrap();
    let head = drawn[frame::MAGIC.len()..].try_into().unwrap();
    let greeting = frame::Hello { head, member: [7; frame::DRAWN], rank: 1, world: 2 };
    let proof = greeting.proof(&Secret::new("secret"), frame::Side::Member);
    let parts: [&[u8]; 5] =
        [frame::MAGIC, &greeting.member, &1_u32.to_be_bytes(), &2_u32.to_be_bytes(), proof.as_ref()];
    let began = now();
    link.write_all(&parts.concat()).unwrap();
    assert!(matches!(next(&at_server), Event::Joined(1)));
    let Event::Left(1, why) = next(&at_server) else { panic!("it is not missed") };
    assert!(why.contains("nothing was heard"), "{why}");
    assert!(u128::from(now() - began) >= SILENCE.as_nanos(), "not before its time");
}

#[test]
fn an_address_that_is_taken_or_not_ours_is_named() {
    let (server, _) = server(2);
    let (handler, _) = handler();
    let taken = Server::open(server.address(), Secret::new("s"), 2, Arc::clone(&handler)).unwrap_err();
    assert!(taken.to_string().contains("cannot listen"), "{taken}");
    let foreign = Server::open("192.0.2.1:1".parse().unwrap(), Secret::new("s"), 2, handler).unwrap_err();
    assert!(foreign.to_string().contains("192.0.2.1"), "{foreign}");
}

#[test]
fn a_thousand_ranks_meet_and_part() {
    const WORLD: u32 = 1000;
    // Two ends of each connection are here, and each end has a thread with a poll of its own.
    crate::net::limits::descriptors(8 * u64::from(WORLD)).unwrap();
    let (server, at_server) = server(WORLD);
    let clients: Vec<Client> =
        (1..WORLD).map(|rank| client(&server, "secret", rank, WORLD).0.expect("it is let in")).collect();
    clients.iter().zip(1_u32..).for_each(|(client, rank)| client.say(json!({ "of": rank })));
    let mut said = std::collections::BTreeSet::new();
    while said.len() < clients.len() {
        match next(&at_server) {
            Event::Message(rank, value) => {
                assert_eq!(value, json!({ "of": rank }));
                assert!(said.insert(rank), "once each");
            }
            Event::Left(rank, why) => panic!("rank {rank} left: {why}"),
            _ => {}
        }
    }
    assert_eq!(said.into_iter().collect::<Vec<_>>(), (1..WORLD).collect::<Vec<_>>());
    (1..WORLD).for_each(|rank| server.ask_clock(rank));
    let clocks = std::iter::from_fn(|| Some(next(&at_server))).filter(|event| matches!(event, Event::Clock(..)));
    assert_eq!(clocks.take(clients.len()).count(), clients.len());
    clients.iter().for_each(Client::close);
    let left = std::iter::from_fn(|| Some(next(&at_server))).filter(|event| matches!(event, Event::Left(..)));
    assert_eq!(left.take(clients.len()).count(), clients.len());
}
