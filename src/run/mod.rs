//! The loop over the plan: gates before, telemetry and watchdogs during, checks after, and everything into the archive.
//!
//! In:  a suite, a plan, a host, an archive that is being written.  Out: the archive; news on the way.
//! Not here: reading results back, formulas.

pub mod after;
pub mod campaign;
mod company;
pub mod experiment;
pub mod gates;
pub mod nodes;
mod once;
mod one;
pub mod privacy;
pub mod provenance;
pub mod record;
pub mod state;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod watchdog;

use crate::model::Finding;

/// Who is told what happens. The command line prints it; tests collect it.
pub trait Watcher: Sync {
    /// A line of plain news.
    fn say(&self, line: &str);
    /// Something needs a look.
    fn warn(&self, line: &str);
    /// Waiting: for what, how long so far, and at most how long, seconds. Called about once a second; the last call has `done`.
    fn waiting(&self, gate: &Finding, waited_s: f64, limit_s: f64, done: bool);
    /// Progress: runs done, runs of the plan, what is running, seconds left where they can be estimated.
    fn progress(&self, done: usize, of: usize, running: &str, left_s: Option<f64>);
}

/// One line of telemetry.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Wall clock.
    pub utc: crate::model::Instant,
    /// `CLOCK_MONOTONIC`, seconds.
    pub monotonic_s: f64,
    /// The GPU, where one can be read.
    pub gpu: Option<crate::host::gpu::GpuSample>,
    /// The machine.
    pub host: crate::host::sample::HostSample,
    /// The run's own tree.
    pub tree: crate::host::sample::TreeSample,
}
