//! A campaign under way: what every step of it works with.
//!
//! In:  what was opened at its start.  Out: [`Collector`], to which other files of this folder add their steps.
//! Not here: the order of the steps (see `campaign`).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Judge;
use super::Watcher;
use super::cluster::Cluster;
use super::experiment::Experiment;
use crate::workload::Placement;
use sparkbench_archive::writer::Writer;
use sparkbench_host::Host;
use sparkbench_host::gpu::SharedGpu;
use sparkbench_model::Instant;

/// A campaign under way.
pub(super) struct Collector<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) host: Arc<dyn Host>,
    pub(super) watcher: &'a dyn Watcher,
    pub(super) gpu: Option<SharedGpu>,
    /// Why no GPU can be read.
    pub(super) no_gpu: String,
    /// The other machines, where the suite has some.
    pub(super) cluster: Option<Cluster>,
    pub(super) writer: Writer<'a>,
    pub(super) archive_id: String,
    /// When the run before ended.
    pub(super) last_ended: Option<Duration>,
    /// Both clocks when we began, to see a jump.
    pub(super) began: (Instant, Duration),
    /// Who judges the figures at a look.
    pub(super) judge: Option<&'a dyn Judge>,
    /// Folder of the archive.
    pub(super) archive: PathBuf,
}

impl Collector<'_> {
    /// The machines of a run.
    pub(super) fn placement(&self) -> &Placement {
        self.cluster.as_ref().map_or(Placement::ALONE, |cluster| cluster.placement())
    }
}
