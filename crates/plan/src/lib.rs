//! The runs of a campaign and their order: reads a suite file, checks it as a whole, expands it and shuffles by its seed.
//!
//! In:  the text of a suite.  Out: [`Suite`] and [`Plan`], or every fault of the text at once.
//! Not here: clocks, processes, whether the machine can do it (see `run`). Each environment and workload reads its own [`Settings`] (see
//! `env` and `workload`).
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

pub mod cells;
pub mod estimate;
pub(crate) mod expand;
pub(crate) mod fault;
pub(crate) mod only;
pub(crate) mod read;
pub mod settings;
pub(crate) mod show;
mod starter;
pub mod suite;

pub use estimate::{Estimate, Observed, Remaining, about, estimate, remaining};
pub use expand::expand;
pub use fault::{Fault, Faults};
pub use only::only;
pub use read::{Kinds, Parsed, campaign_name_of, label_of};
pub use settings::{Reader, Settings};
pub use show::show;
pub use starter::starter;
pub use suite::{
    Gates, Hypothesis, Model, Order, PageCache, Part, Privacy, Retention, Skip, Suite, TelemetrySettings, Watchdogs,
};

use sparkbench_archive::manifest::PlannedRun;

/// One cell: what is run where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Label of the environment.
    pub environment: String,
    /// Label of the model.
    pub model: String,
    /// Label of the workload.
    pub workload: String,
}

impl Cell {
    /// Of a run.
    pub fn of(run: &PlannedRun) -> Self {
        Self { environment: run.environment.clone(), model: run.model.clone(), workload: run.workload.clone() }
    }

    /// `environment/model/workload`, as `--only` takes it.
    pub fn path(&self) -> String {
        format!("{}/{}/{}", self.environment, self.model, self.workload)
    }
}

/// Every run in the order of execution.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// By position, from 1.
    pub runs: Vec<PlannedRun>,
    /// Cells that the suite leaves out, with its reason.
    pub left_out: Vec<(Cell, String)>,
}
