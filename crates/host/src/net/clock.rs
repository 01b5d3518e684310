//! The monotonic clock in nanoseconds, and the conversion of the kernel's wall-clock stamps to it.
//!
//! In:  nothing, or a stamp.  Out: [`Ns`].
//! Not here: calendar time (see `host::Host::utc`).

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds on `CLOCK_MONOTONIC`.
pub type Ns = u64;

/// Longest believable wait of a packet in our own receive buffer. If a wall clock was set meanwhile, the wait looks longer, or negative.
const STAMP_AGE_MAX_NS: u64 = 60_000_000_000;

pub fn now() -> Ns {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Now on the wall clock, nanoseconds since 1970.
pub fn wall() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

fn read(clock: ClockId) -> u64 {
    // Neither clock can be missing on Linux, and both are past zero.
    clock_gettime(clock).map_or(0, |time| time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs())
}

/// Two clocks read side by side. A thread that loses the processor between the two readings sees the clocks too far apart. A stamp that is
/// converted with such a pair is too early by that much, never too late. So a pair that is wider than the last one is read again, and the
/// closest pair counts.
#[derive(Debug, Default)]
pub struct Pair {
    /// Wall clock less monotonic clock, as last seen.
    apart: Option<u64>,
}

/// Wider than this than the last pair: the two were not read at one moment, or the wall clock moved. Both are settled by reading again.
const PAIR_SLACK_NS: u64 = 1_000;
/// Readings of a pair that stays wide: a clock that was set stays where it is.
const PAIR_READS: usize = 4;

impl Pair {
    /// The wall clock at the moment `monotonic`, which has just been read.
    pub fn wall_at(&mut self, monotonic: Ns) -> u64 {
        let mut apart = wall().saturating_sub(monotonic);
        if self.apart.is_none_or(|last| apart > last.saturating_add(PAIR_SLACK_NS)) {
            for _ in 1..PAIR_READS {
                let again = now();
                apart = apart.min(wall().saturating_sub(again));
            }
        }
        self.apart = Some(apart);
        monotonic.saturating_add(apart)
    }
}

/// A wall-clock stamp on the monotonic clock, `monotonic` and `wall` having been read at the same moment. Nothing when the wall clock
/// was set in between.
pub fn carried(stamp: u64, monotonic: Ns, wall: u64) -> Option<Ns> {
    let age = wall.checked_sub(stamp)?;
    if age > STAMP_AGE_MAX_NS {
        return None;
    }
    monotonic.checked_sub(age)
}
