//! The clock of a recording.
//!
//! In:  waits, jumps, an interrupt.  Out: what both clocks show.
//! Not here: any clock of the machine.

use std::time::Duration;

use sparkbench_model::Instant;

/// Two clocks that are set.
#[derive(Debug)]
pub(super) struct ReplayClock {
    /// `CLOCK_MONOTONIC`.
    pub now: Duration,
    /// Wall clock when `now` was 0.
    pub boot: Instant,
    /// Moments at which the wall clock jumps, and by how many milliseconds.
    pub jumps: Vec<(Duration, i64)>,
    /// When we are asked to stop.
    pub interrupt: Option<Duration>,
}

impl Default for ReplayClock {
    fn default() -> Self {
        // 2026-01-01T00:00:00Z is shown at 1,000 s.
        Self {
            now: Duration::from_secs(1000),
            boot: Instant(1_767_225_600_000 - 1_000_000),
            jumps: Vec::new(),
            interrupt: None,
        }
    }
}

impl ReplayClock {
    /// Wall clock, jumps included.
    pub(super) fn wall(&self) -> Instant {
        let jumped: i64 = self.jumps.iter().filter(|(at, _)| *at <= self.now).map(|(_, by)| by).sum();
        let since = i64::try_from(self.now.as_millis()).unwrap_or(i64::MAX);
        Instant(self.boot.0.saturating_add(since).saturating_add(jumped))
    }

    /// Waits until a moment, or until we are asked to stop where that is earlier.
    pub(super) fn wait(&mut self, until: Duration) {
        let until = self.interrupt.map_or(until, |interrupt| until.min(interrupt));
        self.now = self.now.max(until);
    }

    /// We have been asked to stop.
    pub(super) fn interrupted(&self) -> bool {
        self.interrupt.is_some_and(|moment| moment <= self.now)
    }
}
