//! Watchdogs: what must hold during a run.
//!
//! In:  lines of telemetry, the kernel's messages, the clock.  Out: a reason to end the run now, where there is one. At the end one
//! [`Finding`] for each watchdog, passed or not.
//! Not here: taking the samples (see `telemetry`), ending the run (see `campaign`), what held before (see `gates`).
//!
//! A watchdog is one type in a file below this one, one line in [`WATCHDOGS`] and one paragraph in `docs/gates.md`. A finding of level
//! refused fails the run. Some watchdogs report it at once and also end the run, because the rest would be no measurement, or would take the
//! machine down.

mod clocks;
mod gpu_lost;
mod kernel;
mod kind;
mod memory;
mod throttle;
mod time_limit;
mod tree;
mod xid;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use self::kind::{Moment, Start, Watchdog, WatchdogKind};
use crate::run::Row;
use sparkbench_host::Host;
use sparkbench_host::gpu::Gpu;
use sparkbench_model::Finding;
use sparkbench_plan::Watchdogs;

/// Every watchdog, in the order in which they are asked, shown and archived.
pub(crate) static WATCHDOGS: &[WatchdogKind] = &[
    WatchdogKind { name: "memory-floor", make: memory::floor },
    WatchdogKind { name: "time-limit", make: time_limit::limit },
    WatchdogKind { name: "driver-faults", make: kernel::faults },
    WatchdogKind { name: "gpu-lost", make: gpu_lost::lost },
    WatchdogKind { name: "stuck-clock", make: clocks::stuck },
    WatchdogKind { name: "clock-sag", make: clocks::sag },
    WatchdogKind { name: "throttle-reasons", make: throttle::reasons },
    WatchdogKind { name: "throttle-time", make: throttle::counters },
    WatchdogKind { name: "swap-activity", make: memory::swapping },
    WatchdogKind { name: "memory-pressure", make: memory::pressure },
    WatchdogKind { name: "out-of-memory-kills", make: tree::kills },
    WatchdogKind { name: "cpu-throttled", make: tree::throttled },
];

/// The watchdogs of one run.
pub(crate) struct Watch {
    began: Duration,
    dogs: Vec<(&'static str, Box<dyn Watchdog>)>,
    /// Telemetry up to this moment has been seen, seconds on the monotonic clock.
    seen_s: f64,
    /// Findings that ended the run, by watchdog.
    stops: Vec<Finding>,
}

impl Watch {
    /// Begins, right before the program is started: counters are read, the kernel's log is opened. A time limit of the workload's own
    /// is already in `settings`.
    pub(crate) fn begin(host: &dyn Host, gpu: Option<&Mutex<Box<dyn Gpu>>>, settings: &Watchdogs) -> Self {
        let identity = gpu.map(|gpu| gpu.lock().unwrap_or_else(PoisonError::into_inner).identity()).unwrap_or_default();
        let start = Start { host, gpu, identity: &identity, settings };
        Self {
            began: host.monotonic(),
            dogs: WATCHDOGS.iter().map(|kind| (kind.name, (kind.make)(&start))).collect(),
            seen_s: f64::NEG_INFINITY,
            stops: Vec::new(),
        }
    }

    /// Looks, several times a second. `rows` are lines of telemetry. Those that were seen before are skipped, so the whole list
    /// will do as well as the new ones. A finding means: end the run now, and this is why. It is kept for [`Watch::end`] too.
    pub(crate) fn tick(&mut self, host: &dyn Host, gpu: Option<&Mutex<Box<dyn Gpu>>>, rows: &[Row]) -> Option<Finding> {
        let first_new = rows.partition_point(|row| row.monotonic_s <= self.seen_s);
        let rows = &rows[first_new..];
        self.seen_s = rows.last().map_or(self.seen_s, |row| row.monotonic_s);
        let now = Moment { host, gpu, rows, passed_s: host.monotonic().saturating_sub(self.began).as_secs_f64() };
        let mut first = None;
        for (name, dog) in &mut self.dogs {
            // One that has spoken has said what there is to say.
            if self.stops.iter().any(|stop| stop.gate == *name) {
                continue;
            }
            if let Some(mut finding) = dog.tick(&now) {
                finding.at_utc = Some(host.utc().iso());
                self.stops.push(finding.clone());
                first = first.or(Some(finding));
            }
        }
        first
    }

    /// Ends, after the last check and after sampling has stopped: one finding for each watchdog, in the order of [`WATCHDOGS`].
    pub(crate) fn end(mut self, host: &dyn Host, gpu: Option<&Mutex<Box<dyn Gpu>>>) -> Vec<Finding> {
        let now = Moment { host, gpu, rows: &[], passed_s: host.monotonic().saturating_sub(self.began).as_secs_f64() };
        let mut findings = Vec::new();
        for (name, dog) in &mut self.dogs {
            match self.stops.iter().position(|stop| stop.gate == *name) {
                Some(at) => findings.push(self.stops.swap_remove(at)),
                None => findings.push(Finding { at_utc: Some(host.utc().iso()), ..dog.end(&now) }),
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests;
