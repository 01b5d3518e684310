//! The monotonic clock in nanoseconds, and how a wall-clock stamp of the kernel is carried over to it.
//!
//! In:  nothing, or a stamp.  Out: [`Ns`].
//! Not here: calendar time (see `host::Host::utc`).

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds on `CLOCK_MONOTONIC`.
pub type Ns = u64;

/// Longest time that a packet can have waited in our own receive buffer for its stamp to be believed: a wall clock that was set meanwhile
/// shows as a longer wait, or as one below zero.
const STAMP_AGE_MAX_NS: u64 = 60_000_000_000;

/// Now.
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

/// A wall-clock stamp on the monotonic clock, `monotonic` and `wall` having been read at the same moment; nothing when the wall clock
/// was set in between.
pub fn carried(stamp: u64, monotonic: Ns, wall: u64) -> Option<Ns> {
    let age = wall.checked_sub(stamp)?;
    if age > STAMP_AGE_MAX_NS {
        return None;
    }
    monotonic.checked_sub(age)
}
