//! Settings of the user beside the files.
//!
//! In:  nothing.  Out: [`Options`].
//! Not here: reading the files that they name (see `given`).

use std::path::PathBuf;

use sparkbench_design::Keep;
use sparkbench_model::{Campaign, LocalFacts, Run};
use sparkbench_text::error::Error;

/// Settings of the user beside the files.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A `labels.toml` for everything below the given folders that has none of its own.
    pub labels: Option<PathBuf>,
    /// A `metrics.toml` for every campaign, in addition to its own.
    pub metrics: Option<PathBuf>,
    /// Facts that come before the shipped ones.
    pub facts: Option<PathBuf>,
    /// Setting to compare by, in place of what campaigns say.
    pub compare_by: Option<String>,
    /// Whether words of folders are compared, where folders differ in any.
    pub arms_by_folder: bool,
    /// Whether each folder with results is a campaign of its own, as where folders are days.
    pub campaign_per_folder: bool,
    /// The runs that are asked about: all conditions must hold.
    pub keep: Vec<Keep>,
    /// Whether gaps between tokens are dropped as soon as a file is read: a run has as many as tokens, and they are most of what it holds.
    pub without_gaps: bool,
    /// What an analysis makes of the figures that were read. Expressions of metrics may name those too. Without it they name what was read.
    pub derive: Option<Derive>,
}

/// Adds figures that follow from others and from facts to runs.
///
/// # Errors
/// Facts that come with the program and cannot be read.
pub type Derive = fn(&mut [Run], &[Campaign], &[LocalFacts]) -> Result<(), Error>;
