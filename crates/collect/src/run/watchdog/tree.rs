//! The kernel's actions on the run's own processes: killed for lack of memory, throttled for lack of processor time.
//!
//! In:  counters of the run's control group in every sample.  Out: the watchdogs `out-of-memory-kills`, which ends the run, `cpu-throttled`.
//! Not here: a container engine's own word on it (see `env`).
//!
//! A control group does not count memory that the GPU takes from a shared host. A limit neither stops it nor shows it. Source:
//! model-serving-minefield issue 57.

use super::kind::{Moment, Start, Watchdog, absent};
use sparkbench_host::sample::TreeSample;
use sparkbench_model::Finding;

const KILLS: &str = "out-of-memory-kills";
const THROTTLED: &str = "cpu-throttled";

/// A counter that only grows, from the first sample that has it.
#[derive(Default)]
struct Grown {
    first: Option<u64>,
    last: Option<u64>,
}

impl Grown {
    fn take(&mut self, now: &Moment<'_>, field: fn(&TreeSample) -> Option<u64>) {
        for value in now.rows.iter().filter_map(|row| field(&row.tree)) {
            self.first.get_or_insert(value);
            self.last = Some(value);
        }
    }

    /// Absent without a sample. A counter that goes back belongs to a new group, and then all of it is new.
    fn by(&self) -> Option<u64> {
        let (first, last) = (self.first?, self.last?);
        Some(last.checked_sub(first).unwrap_or(last))
    }
}

const NO_GROUP: &str = "the run has no control group of its own that can be read";
const GROUP_REMEDY: &str = "run as root, or as a user to whom systemd has delegated a control group";

#[derive(Default)]
struct Kills(Grown);

pub(super) fn kills(_start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Kills::default())
}

impl Watchdog for Kills {
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding> {
        self.0.take(now, |tree| tree.cgroup_oom_kills);
        let killed = self.0.by().filter(|killed| *killed > 0)?;
        Some(
            Finding::refused(
                KILLS,
                format!("the kernel killed {killed} of the run's processes for lack of memory"),
                "raise the memory limit of the environment, or give the workload less memory",
            )
            .value(killed as f64, "processes")
            .limit("none"),
        )
    }

    fn end(&mut self, _now: &Moment<'_>) -> Finding {
        match self.0.by() {
            Some(_) => Finding::passed(KILLS, "none").value(0.0, "processes").limit("none"),
            None => absent(KILLS, NO_GROUP, GROUP_REMEDY),
        }
    }
}

#[derive(Default)]
struct Throttled(Grown);

pub(super) fn throttled(_start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Throttled::default())
}

impl Watchdog for Throttled {
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding> {
        self.0.take(now, |tree| tree.cgroup_cpu_throttled);
        None
    }

    fn end(&mut self, _now: &Moment<'_>) -> Finding {
        match self.0.by() {
            None => absent(THROTTLED, NO_GROUP, GROUP_REMEDY),
            Some(0) => Finding::passed(THROTTLED, "never").value(0.0, "periods").limit("never"),
            Some(periods) => Finding::warned(
                THROTTLED,
                format!("slowed in {periods} periods by the processor limit of its control group"),
                "raise or remove the processor limit of the environment, unless the experiment is about it",
            )
            .value(periods as f64, "periods")
            .limit("never"),
        }
    }
}
