//! The loop over the plan: gates before, telemetry and watchdogs during, checks after, and everything archived.
//!
//! In:  a suite, a plan, a host, an archive that is being written.  Out: the archive, and progress messages.
//! Not here: reading results back, formulas.

pub(crate) mod after;
pub mod campaign;
pub mod cluster;
mod collector;
mod commands;
mod company;
pub mod experiment;
mod folder;
pub mod gates;
mod looks;
mod mounts;
pub mod nodes;
mod observed;
mod once;
mod one;
mod opening;
mod preflight;
pub(crate) mod privacy;
pub mod provenance;
pub(crate) mod record;
mod request;
pub(crate) mod state;
pub mod telemetry;
#[cfg(test)]
mod testing;
mod utf8;
pub(crate) mod watchdog;

use sparkbench_model::Finding;

/// Receives progress messages. The command line prints them. Tests collect them.
pub trait Watcher: Sync {
    /// A line of plain news.
    fn say(&self, line: &str);
    /// Something needs attention.
    fn warn(&self, line: &str);
    /// Waiting: for what, how long so far, and at most how long, seconds. Called about once a second. The last call has `done`.
    fn waiting(&self, gate: &Finding, waited_s: f64, limit_s: f64, done: bool);
    /// Progress: runs done, runs of the plan, what is running, seconds left where they can be estimated.
    fn progress(&self, done: usize, of: usize, running: &str, left_s: Option<f64>);
}

/// A look at the figures of a campaign that stops when it is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Which one of the design, from 1.
    pub look: u32,
    /// Looks of the design.
    pub of: u32,
    /// Blocks at it.
    pub blocks: u32,
    /// Blocks of the whole plan.
    pub most: u32,
}

/// Result of a look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookResult {
    /// Messages for people, line by line.
    pub lines: Vec<String>,
    /// Primary comparisons that are decided.
    pub decided: usize,
    /// Primary comparisons that are not.
    pub open: usize,
    /// Of these, those that no look that is left can decide.
    pub without_prospects: usize,
}

/// Who judges the figures at a look. The loop over the plan never reads a result: it asks.
pub trait Judge: Sync {
    /// Judges what the archive holds so far, as an analysis of it would.
    ///
    /// # Errors
    /// When the archive cannot be read or judged. The campaign then stops in order and can be resumed.
    fn judge(&self, archive: &std::path::Path, look: Look) -> Result<LookResult, sparkbench_text::error::Error>;
}

/// One line of telemetry.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Wall clock.
    pub utc: sparkbench_model::Instant,
    /// `CLOCK_MONOTONIC`, seconds.
    pub monotonic_s: f64,
    /// The GPU, where one can be read.
    pub gpu: Option<sparkbench_host::gpu::GpuSample>,
    /// The machine.
    pub host: sparkbench_host::sample::HostSample,
    /// The run's own tree.
    pub tree: sparkbench_host::sample::TreeSample,
}
