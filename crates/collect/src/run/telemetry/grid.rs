//! When the next sample is due.
//!
//! In:  moments on the monotonic clock.  Out: waits, and how many turns were missed.
//! Not here: clocks, waiting.

use std::time::Duration;

/// Turns at a fixed distance from the first.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    start: Duration,
    interval: Duration,
    /// Number of the turn that is being taken.
    turn: u32,
    /// Turns that were missed so far.
    pub skipped: u64,
}

impl Grid {
    /// The first turn is at `start`. `interval` is not zero.
    pub(super) fn new(start: Duration, interval: Duration) -> Self {
        Self { start, interval, turn: 0, skipped: 0 }
    }

    /// When this turn was due.
    pub(super) fn due(&self) -> Duration {
        self.start + self.interval * self.turn
    }

    /// Whether a sample that begins now comes more than half an interval after its time.
    pub(super) fn is_late(&self, now: Duration) -> bool {
        now > self.due() + self.interval / 2
    }

    /// Goes to the next turn that has not passed, and tells how long to wait for it.
    pub(super) fn next(&mut self, now: Duration) -> Duration {
        let passed = now.saturating_sub(self.start).as_nanos() / self.interval.as_nanos().max(1);
        let following = self.turn.saturating_add(1);
        // A turn that begins right now is still in time.
        let exact = self.start + self.interval * u32::try_from(passed).unwrap_or(u32::MAX) == now;
        let first = u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(u32::from(!exact));
        self.skipped += u64::from(first.saturating_sub(following));
        self.turn = following.max(first);
        self.due().saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_sample_that_takes_long_does_not_move_the_next() {
        let mut grid = Grid::new(MS(5_000), MS(1_000));
        assert_eq!(grid.next(MS(5_030)), MS(970));
        assert_eq!(grid.next(MS(6_700)), MS(300));
        assert_eq!(grid.due(), MS(7_000));
        assert_eq!(grid.skipped, 0);
    }

    #[test]
    fn turns_that_were_missed_are_counted_and_not_made_up_for() {
        let mut grid = Grid::new(MS(0), MS(100));
        assert_eq!(grid.next(MS(350)), MS(50), "turns 1, 2 and 3 have passed");
        assert_eq!((grid.skipped, grid.due()), (3, MS(400)));
        assert_eq!(grid.next(MS(500)), MS(0), "a turn that begins right now is in time");
        assert_eq!(grid.skipped, 3);
        assert!(!grid.is_late(MS(550)) && grid.is_late(MS(551)));
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_only_waits_longer() {
        let mut grid = Grid::new(MS(1_000), MS(100));
        assert_eq!(grid.next(MS(1_000)), MS(100));
        assert_eq!(grid.next(MS(900)), MS(300));
        assert_eq!(grid.skipped, 0);
    }
}
