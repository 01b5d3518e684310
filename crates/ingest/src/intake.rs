//! Everything that was read.
//!
//! In:  nothing.  Out: [`Intake`].
//! Not here: reading.

use super::ask::Ask;
use sparkbench_model::{Campaign, Input, LocalFacts, Run};
use sparkbench_text::error::Error;

/// Everything that was read.
#[derive(Debug, Clone, Default)]
pub struct Intake {
    /// Campaigns with at least one run, by name.
    pub campaigns: Vec<Campaign>,
    /// Runs by campaign, then start (unknown last), then the order of the files. Ids are unique slugs.
    pub runs: Vec<Run>,
    /// Machines and models from files below the given folders, and from the file that was named. `verdict::facts::with` puts them beside the
    /// shipped ones.
    pub facts: Vec<LocalFacts>,
    /// One line for each file, by path.
    pub inputs: Vec<Input>,
    /// Why nothing of a file could be read, in the order of the files.
    pub refused: Vec<Error>,
    /// Missing labels, and a file to fill them in. Absent when all are known.
    pub ask: Option<Ask>,
    /// Notes to read before the verdicts, a sentence each: labels that fit no file, files of one run that disagree.
    pub warnings: Vec<String>,
    /// Whether any run was measured. False where all that was found shows a machine: telemetry and snapshots of a GPU.
    pub measured: bool,
}

impl Intake {
    /// Number of files of which something was left out.
    #[allow(dead_code, reason = "for tests, which look at how much was read")]
    pub fn skipped(&self) -> usize {
        self.inputs.iter().filter(|input| input.skipped).count()
    }
}
