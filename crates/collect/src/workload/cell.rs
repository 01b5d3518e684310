//! One cell of a plan, as a workload sees it.
//!
//! In:  the plan, what was probed and prepared.  Out: [`Cell`].
//! Not here: what a workload makes of it (see `kind`).

use std::path::Path;

use super::placement::Placement;
use sparkbench_archive::FileName;
use sparkbench_plan::Model;

/// Input of a workload about one run.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    pub model: &'a Model,
    /// Output of the probe in this environment, where there was one.
    pub probed: Option<&'a str>,
    /// Names of the prepared files, below the run's own folder.
    pub prepared: &'a [FileName],
    /// The k-th run of its cell, from 1.
    pub repeat: u32,
    /// Seed of the campaign.
    pub seed: u64,
    /// This program as seen from inside, where a workload runs it: copied into the run's own folder by `run`.
    pub own_program: Option<&'a Path>,
    /// The machines of the run.
    pub placement: &'a Placement,
}
