//! The two clocks of the machine.
//!
//! In:  nothing.  Out: moments.
//! Not here: waiting.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

use sparkbench_model::Instant;

/// Wall clock, to the millisecond.
pub(super) fn utc() -> Instant {
    let now = SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH).map(|since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    // Before 1970: a machine without a battery-backed clock.
    Instant(since.unwrap_or_else(|before| -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX)))
}

/// `CLOCK_MONOTONIC`: the same for every process of the machine.
pub(super) fn monotonic() -> Duration {
    clock(ClockId::CLOCK_MONOTONIC)
}

/// Processor time of the calling thread.
pub(super) fn thread_cpu() -> Duration {
    clock(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// Both clocks exist on every Linux. The call cannot fail for them.
fn clock(id: ClockId) -> Duration {
    clock_gettime(id).map(Duration::from).unwrap_or_default()
}
