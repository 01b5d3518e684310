//! A kind of watchdog: how it is made, what it is given, and what it answers.
//!
//! In:  the machine, lines of telemetry, the settings of a suite.  Out: a [`Finding`].
//! Not here: the watchdogs themselves, their order (see `WATCHDOGS`).

use std::sync::Mutex;

use crate::run::Row;
use sparkbench_host::Host;
use sparkbench_host::gpu::{Gpu, GpuIdentity};
use sparkbench_model::{Finding, Level};
use sparkbench_plan::Watchdogs;

/// A kind of watchdog.
pub(crate) struct WatchdogKind {
    /// Stable name, as in the archive.
    pub name: &'static str,
    /// Made at the start of a run.
    pub(super) make: fn(&Start<'_>) -> Box<dyn Watchdog>,
}

/// Input of a watchdog at the start.
pub(super) struct Start<'a> {
    pub host: &'a dyn Host,
    pub gpu: Option<&'a Mutex<Box<dyn Gpu>>>,
    pub identity: &'a GpuIdentity,
    pub settings: &'a Watchdogs,
}

/// Its input each time, and at the end.
pub(super) struct Moment<'a> {
    pub host: &'a dyn Host,
    pub gpu: Option<&'a Mutex<Box<dyn Gpu>>>,
    /// Lines of telemetry since the last time, in order.
    pub rows: &'a [Row],
    /// Since the start, seconds.
    pub passed_s: f64,
}

/// One watchdog of one run.
pub(super) trait Watchdog: Send {
    /// Looks. A finding ends the run now.
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding>;
    /// Its finding. Not asked for when it ended the run.
    fn end(&mut self, now: &Moment<'_>) -> Finding;
}

/// Nothing could be read, or no limit is set: why, and what to do to have it.
pub(super) fn absent(name: &str, why: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { level: Level::NotAvailable, ..Finding::warned(name, why, remedy) }
}
