//! Where a run lives: its folders on the machine and inside a root, and the names by which it is known.
//!
//! In:  the archive and the run.  Out: paths, names, the parts of a job that follow from them.
//! Not here: making the folders (see `run`).

use std::path::{Path, PathBuf};

use sparkbench_host::Job;

/// Where a run lives while it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Random name of the archive.
    pub archive_id: String,
    pub run_id: String,
    /// The run's folder, not yet under its final name. Absolute.
    pub folder: PathBuf,
    /// Folder below it that travels into the environment and back. Holds assets beforehand and reports afterwards.
    pub work: PathBuf,
    /// Time between the polite end and SIGKILL, seconds.
    pub grace_s: f64,
}

impl Place {
    /// File name of the program's standard output, below [`Place::folder`].
    pub const STDOUT: &str = "stdout.log";
    /// File name of its standard error.
    pub const STDERR: &str = "stderr.log";

    /// File for standard output.
    pub fn stdout(&self) -> PathBuf {
        self.folder.join(Self::STDOUT)
    }

    /// File for standard error.
    pub fn stderr(&self) -> PathBuf {
        self.folder.join(Self::STDERR)
    }

    /// Value of [`sparkbench_host::MARKER`].
    pub fn marker(&self) -> String {
        format!("{}/{}", self.archive_id, self.run_id)
    }

    /// Name of a container of this run: short, lawful everywhere.
    pub fn container(&self) -> String {
        format!("sparkbench-{}-{}", self.archive_id, self.run_id)
    }
}

/// Folder inside a root or a container that is the run's own.
pub(super) const WORK_INSIDE: &str = "/sparkbench/work";

/// Path on the host of a path inside a root.
pub(super) fn below(root: &Path, inside: &Path) -> PathBuf {
    root.join(inside.strip_prefix("/").unwrap_or(inside))
}

/// Parts of a job that every environment has. The rest is empty.
pub(super) fn job_of(place: &Place) -> Job {
    Job {
        marker: place.marker(),
        stdout: place.stdout(),
        stderr: place.stderr(),
        grace_s: place.grace_s,
        cgroup: true,
        ..Job::default()
    }
}
