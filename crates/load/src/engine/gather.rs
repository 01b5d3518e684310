//! When to let packets gather before the sockets are read.
//!
//! In:  when sockets became ready, how long requests took.  Out: how long to sleep before the next look, if at all.
//! Not here: the look itself.
//!
//! A thread that waits for sockets is woken for each packet. That costs both sides, because the kernel lets the sender pay for the waking.
//! Where packets arrive close together it is cheaper to sleep until some have come, and to read them together. An engine emits one token of
//! each of its streams at every step, so tokens come in bursts. What counts is the distance of packets within a burst. The silence before
//! the next burst is waited out. The time of a packet comes from the kernel and does not change. Two effects bound the sleep. Two packets of
//! one stream in the same read get the time of the later one. And a closed loop learns late that an answer has ended and sends the next
//! request late by as much.

use sparkbench_host::net::Ns;

/// Longest sleep, ns.
const LONGEST: Ns = 1_000_000;
/// Shortest one that is worth its two calls of the kernel, ns.
const SHORTEST: Ns = 50_000;
/// Packets that are further apart than this on average are waited for one by one, ns. A sleep for each would cost more than it saves.
const SPARSE: Ns = 100_000;
/// A wait longer than this is the silence after a burst and says nothing of how close packets come in it, ns.
const SILENCE: Ns = 2 * SPARSE;
/// With fewer requests in flight there is little to gather, and each packet is waited for.
const FEW: u64 = 32;
/// Most packets that are to gather from one look to the next: they wait for each other when they are taken. Where as many come while those
/// of the last look are read, there is no sleep at all.
const MOST: Ns = 32;
/// Time between two polls: at most this part of the time between two packets of one stream.
const APART: Ns = 2;
/// A sleep takes at most this part of the time of a request. On average half of it passes before the next request is sent.
const OF_REQUEST: Ns = 50;
/// Share of the newest value in a mean, as a shift.
const SHARE: u32 = 4;

/// Known facts about the arrival of packets.
#[derive(Debug)]
pub(super) struct Gather {
    /// Mean time between polls in a burst, and mean number of ready sockets, in sixteenths so that rounding loses nothing.
    between: Ns,
    ready: u64,
    /// When sockets were examined last.
    looked: Ns,
    /// Mean time that a request takes. None before one has ended.
    lasting: Option<Ns>,
    began: Ns,
}

impl Gather {
    pub(super) fn new(began: Ns) -> Self {
        Self { between: SPARSE << SHARE, ready: 1 << SHARE, looked: began, lasting: None, began }
    }

    /// Records how many sockets were ready after a wait from `asleep` on for the first one.
    pub(super) fn woke(&mut self, asleep: Ns, at: Ns, ready: usize) {
        if at.saturating_sub(asleep) < SILENCE {
            self.slept(at, ready);
        }
        self.looked = at;
    }

    /// Records how many sockets were ready after a sleep. None where the burst was over.
    pub(super) fn slept(&mut self, at: Ns, ready: usize) {
        self.between = self.between - (self.between >> SHARE) + at.saturating_sub(self.looked);
        self.ready = self.ready - (self.ready >> SHARE) + ready as u64;
        self.looked = at;
    }

    /// Records the duration of a request that ended.
    pub(super) fn ended(&mut self, took: Ns) {
        self.lasting = Some(self.lasting.map_or(took, |lasting| lasting - (lasting >> SHARE) + (took >> SHARE)));
    }

    /// Mean time between two packets of a burst.
    fn pace(&self) -> Ns {
        self.between / self.ready.max(1)
    }

    /// How long to sleep with this number of requests in flight. None where it would gain nothing.
    pub(super) fn nap(&self, now: Ns, in_flight: u64) -> Option<Ns> {
        if in_flight < FEW || self.pace() >= SPARSE {
            return None;
        }
        // No request has ended yet: they take at least as long as there were any.
        let lasting = self.lasting.unwrap_or_else(|| now.saturating_sub(self.began));
        let gathered = now.saturating_sub(self.looked);
        let nap = (self.pace() * MOST.min(in_flight / APART)).saturating_sub(gathered);
        Some(nap.min(LONGEST).min(lasting / OF_REQUEST)).filter(|nap| *nap >= SHORTEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gatherer after many bursts and many requests that took `took`. A burst has `looks` polls, `between` apart, each with `ready`
    /// sockets. Also returns the time of the last poll.
    fn used(between: Ns, ready: usize, looks: usize, took: Ns) -> (Gather, Ns) {
        let (mut gather, mut at) = (Gather::new(0), 0);
        for _ in 0..100 {
            let asleep = at;
            at += 8_000_000;
            gather.woke(asleep, at, 1);
            for _ in 0..looks {
                at += between;
                gather.slept(at, ready);
            }
        }
        (0..100).for_each(|_| gather.ended(took));
        (gather, at)
    }

    #[test]
    fn bursts_are_gathered_and_scattered_packets_are_not() {
        let (gather, at) = used(500_000, 16, 4, 1_320_000_000);
        assert_eq!(gather.nap(at, 64), Some(500_000 / 16 * 32));
        assert_eq!(gather.nap(at, FEW - 1), None, "each by itself");
        let (gather, at) = used(170_000, 1, 60, 1_320_000_000);
        assert_eq!(gather.nap(at, 64), None, "one every 0.17 ms");
    }

    #[test]
    fn sleeps_in_which_nothing_comes_are_given_up() {
        let (mut gather, mut at) = used(500_000, 16, 4, 1_320_000_000);
        for _ in 0..60 {
            at += 800_000;
            gather.slept(at, 0);
            gather.woke(at, at + 9_000_000, 1);
            at += 9_000_000;
        }
        assert_eq!(gather.nap(at, 64), None);
    }

    #[test]
    fn what_comes_while_the_client_reads_needs_no_sleep() {
        let (gather, at) = used(400_000, 40, 4, 1_320_000_000);
        assert_eq!(gather.nap(at, 1_000), Some(320_000));
        assert_eq!(gather.nap(at + 100_000, 1_000), Some(220_000), "ten came meanwhile");
        assert_eq!(gather.nap(at + 300_000, 1_000), None);
    }

    #[test]
    fn two_packets_of_one_stream_seldom_meet() {
        // 40 streams, a packet of one of them every 7 us.
        let (gather, at) = used(140_000, 20, 100, 57_000_000);
        let nap = gather.nap(at, 40).unwrap();
        assert!(nap <= 40 * 7_000 / APART, "{nap}");
    }

    #[test]
    fn a_closed_loop_is_not_slowed_by_more_than_a_hundredth() {
        for took in [2_500_000, 5_000_000, 24_000_000] {
            let (gather, at) = used(400_000, 10, 4, took);
            let nap = gather.nap(at, 64).unwrap();
            assert!(nap / 2 <= took / 100, "{nap} of {took}");
        }
        let (gather, at) = used(400_000, 10, 4, 2_000_000);
        assert_eq!(gather.nap(at, 64), None, "requests of two milliseconds");
    }

    #[test]
    fn before_a_request_has_ended_none_takes_longer_than_there_were_any() {
        let mut gather = Gather::new(1_000_000);
        for look in 0..100 {
            gather.slept(1_000_000 + look * 40_000, 1);
        }
        let at = 1_000_000 + 99 * 40_000;
        let nap = gather.nap(at, 64).unwrap();
        assert!(nap <= 99 * 40_000 / OF_REQUEST, "{nap}");
        gather.ended(1_000_000);
        assert_eq!(gather.nap(at, 64), None);
    }

    #[test]
    fn a_long_silence_changes_nothing() {
        let (mut gather, at) = used(100_000, 10, 4, 1_000_000_000);
        let before = gather.pace();
        gather.woke(at, at + 60_000_000_000, 1);
        assert_eq!(gather.pace(), before);
    }
}
