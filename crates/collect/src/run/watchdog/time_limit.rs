//! Has the run taken too long?
//!
//! In:  the monotonic clock.  Out: the watchdog `time-limit`, which ends the run.
//! Not here: how it is ended.

use super::kind::{Moment, Start, Watchdog};
use sparkbench_model::Finding;

const NAME: &str = "time-limit";

struct TimeLimit {
    limit_s: f64,
}

pub(super) fn limit(start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(TimeLimit { limit_s: start.settings.time_limit_s })
}

impl Watchdog for TimeLimit {
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding> {
        (now.passed_s > self.limit_s).then(|| {
            self.with_limit(Finding::refused(
                NAME,
                format!("{:.0} s have passed", now.passed_s),
                "find in the run's log where it hangs, or raise 'time_limit_s' of the workload or in [watchdogs]",
            ))
            .value(now.passed_s, "s")
        })
    }

    fn end(&mut self, now: &Moment<'_>) -> Finding {
        self.with_limit(Finding::passed(NAME, format!("{:.1} s", now.passed_s))).value(now.passed_s, "s")
    }
}

impl TimeLimit {
    fn with_limit(&self, finding: Finding) -> Finding {
        finding.limit(format!("at most {} s", self.limit_s))
    }
}
