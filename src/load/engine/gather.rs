//! When to let packets gather before they are looked for.
//!
//! In:  when sockets became ready, how long requests took.  Out: how long to sleep before the next look, if at all.
//! Not here: the look itself.
//!
//! A thread that waits for sockets is woken for each packet, which costs both sides: the kernel lets the one who sends pay for the waking.
//! Where packets come in close order it is cheaper to sleep until some have come, and to take them together. An engine lets a token of each
//! of its streams go at every step, so they come in bursts: what counts is how close packets follow each other in a burst, and the silence
//! before the next one is waited out. The time of a packet is the kernel's and does not move by it. Two things do, and bound the sleep: two
//! packets of one stream that meet in a read have the time of the later one, and a closed loop learns late that an answer has ended and
//! sends the next request so much later.

use crate::host::net::Ns;

/// Longest sleep, ns.
const LONGEST: Ns = 1_000_000;
/// Shortest one that is worth its two calls of the kernel, ns.
const SHORTEST: Ns = 50_000;
/// Packets that come further apart than this, on the average, are waited for one by one: a sleep for each would cost more than it saves, ns.
const SPARSE: Ns = 100_000;
/// A wait longer than this is the silence after a burst and says nothing of how close packets come in it, ns.
const SILENCE: Ns = 2 * SPARSE;
/// With fewer requests in flight there is little to gather, and each packet is waited for.
const FEW: u64 = 32;
/// Most packets that are to gather from one look to the next: they wait for each other when they are taken. Where as many come while those
/// of the last look are read, there is no sleep at all.
const MOST: Ns = 32;
/// From one look to the next goes at most one part in so many of the time between two packets of one stream.
const APART: Ns = 2;
/// A sleep is at most one part in so many of the time that a request takes: on the average half of it goes by before the next one is sent.
const OF_REQUEST: Ns = 50;
/// Share of the newest value in a mean, as a shift.
const SHARE: u32 = 4;

/// What is known of the order in which packets come.
#[derive(Debug)]
pub(super) struct Gather {
    /// Mean time from one look to the next in a burst, at which so many sockets were ready, in sixteenths: nothing is lost by whole numbers.
    between: Ns,
    ready: u64,
    /// When sockets were looked at last.
    looked: Ns,
    /// Mean time that a request takes; none before one has ended.
    lasting: Option<Ns>,
    began: Ns,
}

impl Gather {
    pub(super) fn new(began: Ns) -> Self {
        Self { between: SPARSE << SHARE, ready: 1 << SHARE, looked: began, lasting: None, began }
    }

    /// After a wait from `asleep` on for the first socket so many were ready.
    pub(super) fn woke(&mut self, asleep: Ns, at: Ns, ready: usize) {
        if at.saturating_sub(asleep) < SILENCE {
            self.slept(at, ready);
        }
        self.looked = at;
    }

    /// After a sleep so many sockets were ready; none where the burst was over.
    pub(super) fn slept(&mut self, at: Ns, ready: usize) {
        self.between = self.between - (self.between >> SHARE) + at.saturating_sub(self.looked);
        self.ready = self.ready - (self.ready >> SHARE) + ready as u64;
        self.looked = at;
    }

    /// A request ended that took so long.
    pub(super) fn ended(&mut self, took: Ns) {
        self.lasting = Some(self.lasting.map_or(took, |lasting| lasting - (lasting >> SHARE) + (took >> SHARE)));
    }

    /// Mean time between two packets of a burst.
    fn pace(&self) -> Ns {
        self.between / self.ready.max(1)
    }

    /// How long to sleep with so many requests in flight; none where it would gain nothing.
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

    /// After many bursts of so many looks, each so long after the one before with so many sockets ready, and many requests that took so
    /// long; with the moment of the last look.
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
