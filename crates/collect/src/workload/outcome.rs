//! What a workload finds in the files of a run, and where they lie.
//!
//! In:  the folder of a run.  Out: [`Outcome`].
//! Not here: reading the files (see `examine`), judging the run (see `run::after`).

use std::path::{Path, PathBuf};

use sparkbench_archive::manifest::{CheckWire, ReportWire, SeenWire};

/// Findings of a workload in its own files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The program that ran.
    pub seen: SeenWire,
    /// Item by item against what was asked for.
    pub checks: Vec<CheckWire>,
    /// Files that parsers of the analysis read, below the run's folder.
    pub reports: Vec<ReportWire>,
    /// Why it counts as failed: a file missing, unreadable, too few iterations.
    pub faults: Vec<String>,
    /// Parts that failed by themselves, by the name of their report's test, with the reason. Other parts stay valid.
    pub failed: Vec<(String, String)>,
    /// Marks that do not fail it, e.g. outliers among its iterations.
    pub marks: Vec<String>,
}

/// Name of the run's own folder below its archive folder: its contents came out of the environment.
pub const WORK_FOLDER: &str = "work";

/// A report's path below the run's folder from its path below the run's own folder.
pub(super) fn report_path(inside: &str) -> PathBuf {
    Path::new(WORK_FOLDER).join(inside)
}
