//! When to let packets gather before they are looked for.
//!
//! In:  when sockets became ready, how long requests took.  Out: how long to sleep before the next look, if at all.
//! Not here: the look itself.
//!
//! A thread that waits for sockets is woken for each packet, which costs both sides: the kernel lets the one who sends pay for the waking.
//! Where packets come in close order it is cheaper to sleep until some have come, and to take them together. The time of a packet is the
//! kernel's and does not move by it. Two things do, and bound the sleep: two packets of one stream that meet in a read have the time of the
//! later one, and a closed loop learns late that an answer has ended and sends the next request so much later.

use crate::host::net::Ns;

/// Longest sleep, ns.
const LONGEST: Ns = 500_000;
/// Shortest one that is worth its two calls of the kernel, ns.
const SHORTEST: Ns = 50_000;
/// Packets that come further apart than this, on the average, are waited for one by one: a sleep for each would cost more than it saves, ns.
const SPARSE: Ns = 100_000;
/// With fewer requests in flight there is little to gather, and each packet is waited for.
const FEW: u64 = 32;
/// Most packets that a sleep is to gather: they wait for each other when they are taken, and a busy client is to be no later for it.
const MOST: Ns = 16;
/// A sleep is at most one part in so many of the time between two packets of one stream.
const APART: Ns = 4;
/// A sleep is at most one part in so many of the time that a request takes: on the average half of it goes by before the next one is sent.
const OF_REQUEST: Ns = 50;
/// Share of the newest value in a mean, as a shift.
const SHARE: u32 = 4;
/// Longest wait that enters a mean: a server that was silent is not slow for long, ns.
const SILENCE: Ns = 50_000_000;

/// What is known of the order in which packets come.
#[derive(Debug)]
pub(super) struct Gather {
    /// Mean time between two looks, in which so many sockets became ready, in sixteenths: nothing is lost by whole numbers.
    waited: Ns,
    ready: u64,
    /// Mean time that a request takes; none before one has ended.
    lasting: Option<Ns>,
    began: Ns,
}

impl Gather {
    pub(super) fn new(began: Ns) -> Self {
        Self { waited: SPARSE << SHARE, ready: 1 << SHARE, lasting: None, began }
    }

    /// After a wait of `waited` so many sockets were ready.
    pub(super) fn woke(&mut self, waited: Ns, ready: usize) {
        self.waited = self.waited - (self.waited >> SHARE) + waited.min(SILENCE);
        self.ready = self.ready - (self.ready >> SHARE) + ready as u64;
    }

    /// A request ended that took so long.
    pub(super) fn ended(&mut self, took: Ns) {
        self.lasting = Some(self.lasting.map_or(took, |lasting| lasting - (lasting >> SHARE) + (took >> SHARE)));
    }

    /// Mean time between two packets.
    fn pace(&self) -> Ns {
        self.waited / self.ready.max(1)
    }

    /// How long to sleep with so many requests in flight; none where it would gain nothing.
    pub(super) fn nap(&self, now: Ns, in_flight: u64) -> Option<Ns> {
        // No request has ended yet: they take at least as long as there were any.
        let lasting = self.lasting.unwrap_or_else(|| now.saturating_sub(self.began));
        let nap = LONGEST.min(self.pace() * MOST.min(in_flight / APART)).min(lasting / OF_REQUEST);
        (in_flight >= FEW && self.pace() < SPARSE && nap >= SHORTEST).then_some(nap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After many looks of one kind and many requests that took so long.
    fn used(waited: Ns, ready: usize, took: Ns) -> Gather {
        let mut gather = Gather::new(0);
        (0..500).for_each(|_| gather.woke(waited, ready));
        (0..100).for_each(|_| gather.ended(took));
        gather
    }

    #[test]
    fn streams_with_a_token_every_ten_milliseconds_are_gathered_where_they_are_many() {
        let gather = used(500_000, 13, 1_320_000_000);
        assert_eq!(gather.nap(0, 256), Some(LONGEST));
        assert_eq!(gather.nap(0, FEW - 1), None, "each by itself");
        assert_eq!(used(500_000, 3, 1_320_000_000).nap(0, 64), None, "one every 0.17 ms");
    }

    #[test]
    fn two_packets_of_one_stream_seldom_meet() {
        // 64 streams, a packet of one of them every 7 us.
        let nap = used(7_000, 1, 57_000_000).nap(0, 64).unwrap();
        assert!(nap <= 64 * 7_000 / APART && nap <= MOST * 7_000, "{nap}");
    }

    #[test]
    fn a_closed_loop_is_not_slowed_by_more_than_a_hundredth() {
        for took in [2_500_000, 5_000_000, 24_000_000] {
            let nap = used(40_000, 1, took).nap(0, 64).unwrap();
            assert!(nap / 2 <= took / 100, "{nap} of {took}");
        }
        assert_eq!(used(40_000, 1, 2_000_000).nap(0, 64), None, "requests of two milliseconds");
    }

    #[test]
    fn before_a_request_has_ended_none_takes_longer_than_there_were_any() {
        let mut gather = Gather::new(1_000_000);
        (0..100).for_each(|_| gather.woke(40_000, 1));
        assert_eq!(gather.nap(1_000_000, 64), None);
        assert_eq!(gather.nap(101_000_000, 64), Some(LONGEST));
        gather.ended(1_000_000);
        assert_eq!(gather.nap(101_000_000, 64), None);
    }

    #[test]
    fn a_long_silence_is_forgotten_soon() {
        let mut gather = used(10_000, 1, 1_000_000_000);
        gather.woke(60_000_000_000, 1);
        assert_eq!(gather.nap(0, 64), None);
        (0..200).for_each(|_| gather.woke(10_000, 1));
        assert!(gather.pace() < 20_000, "{}", gather.pace());
    }
}
