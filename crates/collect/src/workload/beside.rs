//! Our own work while the program of a run is up: the load against a server.
//!
//! In:  the run's folder, a stop flag.  Out: [`Done`]: files in that folder, observations, the reason of a failure.
//! Not here: starting and ending the program, telemetry, watchdogs (see `run`).
//!
//! The program of such a run does not end by itself. It is ended once the work beside it is done, and one that ends before is a failed run.
//! The work may be stopped at any moment. It must then end within seconds, with its data on disk.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::outcome::Outcome;
use crate::env::Place;
use sparkbench_archive::disk;
use sparkbench_archive::manifest::{ReportWire, WindowWire};
use sparkbench_host::Host;

/// Work beside a program, made ready before the program is started.
pub trait Beside: Send {
    /// Works until it is done or told to stop.
    fn run(self: Box<Self>, at: &At<'_>) -> Done;
}

/// Where and with what it works.
pub struct At<'a> {
    /// The machine.
    pub host: &'a Arc<dyn Host>,
    /// The run's folder, not yet under its final name. Absolute.
    pub folder: &'a Path,
    /// Set from outside, once the program has ended or the run has to.
    pub stop: &'a Arc<AtomicBool>,
    /// A line of plain news.
    pub say: &'a (dyn Fn(&str) + Sync),
    /// Something needs attention.
    pub warn: &'a (dyn Fn(&str) + Sync),
}

/// Its outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Done {
    /// Faults, marks, checks, reports, and what the server said of itself. Added to what the workload finds in its files.
    pub outcome: Outcome,
    /// When it measured, on the monotonic clock.
    pub window: Option<WindowWire>,
}

impl Done {
    /// Done with nothing but a fault.
    pub fn failed(why: impl Into<String>) -> Self {
        Self { outcome: Outcome { faults: vec![why.into()], ..Outcome::default() }, window: None }
    }
}

/// The last lines of a program's own words, for a fault. Empty where it said nothing.
pub(crate) fn log_tail(folder: &Path) -> String {
    let mut tail = String::new();
    for name in [Place::STDOUT, Place::STDERR] {
        let lines = last_lines(&folder.join(name)).unwrap_or_default();
        if !lines.is_empty() {
            tail += &format!("\nlast lines of {name}:");
            lines.iter().for_each(|line| tail += &format!("\n  {line}"));
        }
    }
    tail
}

/// At most [`TAIL_LINES`] lines that are not empty, read from the end, each bounded.
fn last_lines(path: &Path) -> Option<Vec<String>> {
    let mut file = disk::open_plain(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // Progress bars write one line over and over.
    let mut lines: Vec<String> = text
        .split(['\n', '\r'])
        .map(|line| line.chars().filter(|c| !c.is_control()).take(TAIL_LINE).collect::<String>())
        .filter(|line| !line.trim().is_empty())
        .collect();
    Some(lines.split_off(lines.len().saturating_sub(TAIL_LINES)))
}

/// Number of log lines that a fault repeats. Where an engine fails to start, its own words come before some twenty lines of a stack trace.
pub(crate) const TAIL_LINES: usize = 30;
/// Longest part of a line that is repeated, characters.
const TAIL_LINE: usize = 300;
/// Read from the end of a log, bytes.
const TAIL_BYTES: u64 = 64 << 10;

impl Outcome {
    /// Adds what was found beside the program. What it says of what ran fills the holes of the reports.
    pub fn join(&mut self, other: Self) {
        self.checks.extend(other.checks);
        self.reports.extend(other.reports);
        self.faults.extend(other.faults);
        self.failed.extend(other.failed);
        self.marks.extend(other.marks);
        let (seen, more) = (&mut self.seen, other.seen);
        seen.model_id = seen.model_id.take().or(more.model_id);
        seen.machine = seen.machine.take().or(more.machine);
        seen.engine = seen.engine.take().or(more.engine);
        seen.engine_version = seen.engine_version.take().or(more.engine_version);
        seen.quantisation = seen.quantisation.take().or(more.quantisation);
        for (hole, value) in [
            (&mut seen.batch, more.batch),
            (&mut seen.isl, more.isl),
            (&mut seen.osl, more.osl),
            (&mut seen.requests, more.requests),
            (&mut seen.parameters, more.parameters),
            (&mut seen.device_memory_gib, more.device_memory_gib),
            (&mut seen.model_memory_gib, more.model_memory_gib),
        ] {
            *hole = hole.or(value);
        }
        self.settle_parts();
    }

    /// Writes on each report why its part failed. Where none is left, the whole failed.
    fn settle_parts(&mut self) {
        for (part, why) in std::mem::take(&mut self.failed) {
            let mut named = self.reports.iter_mut().filter(|report| report.test.as_ref() == Some(&part));
            match named.next() {
                Some(report) if report.failure.is_none() => {
                    report.failure = Some(why.clone());
                    self.marks.push(format!("{part} failed: {why}"));
                }
                Some(_) => {}
                // Nothing was read of it.
                None => self.faults.push(format!("{part}: {why}")),
            }
        }
        if !self.reports.is_empty() && self.reports.iter().all(|report| report.failure.is_some()) {
            let of = |report: &ReportWire| report.test.clone().zip(report.failure.clone());
            let all = self.reports.iter().filter_map(of).map(|(part, why)| format!("{part}: {why}"));
            self.faults.extend(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(tests: &[&str], failed: &[(&str, &str)]) -> Outcome {
        let report = |test: &&str| ReportWire { test: Some((*test).to_owned()), ..ReportWire::default() };
        let mut outcome = Outcome { reports: tests.iter().map(report).collect(), ..Outcome::default() };
        let failed = failed.iter().map(|(part, why)| ((*part).to_owned(), (*why).to_owned())).collect();
        outcome.join(Outcome { failed, ..Outcome::default() });
        outcome
    }

    #[test]
    fn a_point_that_fails_leaves_the_others_as_they_are() {
        let outcome = with(&["c1", "c4"], &[("c4", "1 of 32 requests failed")]);
        assert_eq!(outcome.faults, Vec::<String>::new());
        assert_eq!(outcome.marks, ["c4 failed: 1 of 32 requests failed"]);
        let failures: Vec<Option<&str>> = outcome.reports.iter().map(|report| report.failure.as_deref()).collect();
        assert_eq!(failures, [None, Some("1 of 32 requests failed")]);
    }

    #[test]
    fn a_run_without_a_point_that_stands_has_failed() {
        let outcome = with(&["c1", "c4"], &[("c1", "a"), ("c4", "b"), ("c4", "b again")]);
        assert_eq!(outcome.faults, ["c1: a", "c4: b"]);
        assert_eq!(with(&["c1"], &[("c9", "never sent")]).faults, ["c9: never sent"], "nothing was read of it");
    }
}
