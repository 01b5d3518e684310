//! The state of a campaign on a further machine.
//!
//! In:  what the head told of it.  Out: [`Campaign`]: contexts of gates, places of runs, cells.
//! Not here: its use (see `member`).

use std::path::PathBuf;
use std::time::Duration;

use crate::env::Place;
use crate::run::experiment::Experiment;
use crate::run::gates;
use crate::workload::{Common, Placement, WORK_FOLDER, Workload};
use sparkbench_archive::manifest::PlannedRun;
use sparkbench_archive::mask::Mask;
use sparkbench_host::Host;
use sparkbench_host::gpu::SharedGpu;
use sparkbench_model::{Finding, Instant};
use sparkbench_plan::{Gates, Model};
use sparkbench_text::error::{Error, Kind};

/// See the module.
pub(super) struct Campaign {
    pub experiment: Experiment,
    pub archive_id: String,
    pub placement: Placement,
    pub gpu: Option<SharedGpu>,
    pub no_gpu: String,
    pub mask: Mask,
    /// Where runs are kept until they were sent.
    pub folder: PathBuf,
    pub last_ended: Option<Duration>,
    pub began: (Instant, Duration),
    /// Gates of the run that comes next.
    pub gates: Vec<Finding>,
}

impl Campaign {
    pub(super) fn context<'a>(&'a self, host: &'a dyn Host, gates: &'a Gates, needs_gpu: bool) -> gates::Context<'a> {
        gates::Context {
            host,
            gpu: self.gpu.as_deref(),
            no_gpu: &self.no_gpu,
            gates,
            archive: &self.folder,
            needs_gpu,
            last_ended: self.last_ended,
            began: Some(self.began),
            ours: &[],
        }
    }

    pub(super) fn place(&self, planned: &PlannedRun) -> Place {
        let folder = self.folder.join(&planned.id);
        Place {
            archive_id: self.archive_id.clone(),
            // Two machines of a test may be one.
            run_id: format!("{}-node-{}", planned.id, self.placement.rank),
            work: folder.join(WORK_FOLDER),
            folder,
            grace_s: self.experiment.suite.watchdogs.grace_s,
        }
    }

    pub(super) fn cell(&self, planned: &PlannedRun) -> Result<(&Common, &dyn Workload, &Model), Error> {
        let (common, workload) = self.experiment.workload(&planned.workload).ok_or_else(|| self.missing(planned))?;
        let model = self.experiment.model(&planned.model).ok_or_else(|| self.missing(planned))?;
        Ok((common, workload, model))
    }

    pub(super) fn missing(&self, planned: &PlannedRun) -> Error {
        Error::new(Kind::Workload, format!("the suite does not have the cell of run '{}'", planned.id))
    }
}
