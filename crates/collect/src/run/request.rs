//! What is asked of a collector, and the machine on which it is asked.
//!
//! In:  an experiment, the settings of the user, a GPU.  Out: [`Request`], the runs that it means.
//! Not here: whether they may start (see `preflight`), where they go (see `opening`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::experiment::Experiment;
use super::{Watcher, telemetry};
use sparkbench_archive::manifest::PlannedRun;
use sparkbench_host::Host;
use sparkbench_host::gpu::{SharedGpu, open};
use sparkbench_text::error::Error;

/// Settings of the user beside the suite.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Folder of the archive. Absolute.
    pub archive: PathBuf,
    /// Goes on with what is there, and begins where there is nothing.
    pub resume: bool,
    /// Gives up what does not fit its record, and goes on without it.
    pub accept_loss: bool,
    /// Globs over runs. The others stay left over for another time.
    pub only: Vec<String>,
}

/// The runs that are asked for, and everything that their start needs.
pub(super) struct Request<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) host: &'a Arc<dyn Host>,
    pub(super) watcher: &'a dyn Watcher,
    pub(super) options: &'a Options,
    pub(super) chosen: &'a [PlannedRun],
    pub(super) sight: &'a Sight,
}

/// The GPU, where one can be read, and why not where none can.
pub(super) struct Sight {
    pub(super) gpu: Option<SharedGpu>,
    pub(super) no_gpu: String,
    /// One-time output of its source, by name: the fields that it knows, and those that were chosen.
    pub(super) printed: BTreeMap<String, String>,
}

impl Sight {
    /// Opens the source that the suite asks for.
    pub(super) fn open(experiment: &Experiment, host: &Arc<dyn Host>) -> Self {
        let settings = &experiment.suite.telemetry;
        let mut opened = open::open(host, &settings.gpu, settings.gpu_index, finest(experiment));
        Self { gpu: opened.share(), no_gpu: opened.why(), printed: opened.raw }
    }
}

/// The finest interval that a run of the suite is sampled at: a source that prints by itself keeps to one.
fn finest(experiment: &Experiment) -> Duration {
    let settings = &experiment.suite.telemetry;
    let each = experiment.workloads.iter().map(|(.., made)| telemetry::interval_for(settings, made.expected_s()));
    each.min().unwrap_or(Duration::from_secs(1))
}

/// The runs that are asked for. All of them unless globs say otherwise.
pub(super) fn chosen(experiment: &Experiment, only: &[String]) -> Result<Vec<PlannedRun>, Error> {
    if only.is_empty() {
        return Ok(experiment.plan.runs.clone());
    }
    sparkbench_plan::only(&experiment.plan, only).map(|plan| plan.runs)
}
