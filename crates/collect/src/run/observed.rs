//! Telemetry and watchdogs around one program, on whichever machine it runs.
//!
//! In:  a program that was started.  Out: [`Observer`]: regular checks, a reason to end it, and at the end the findings.
//! Not here: starting and ending the program (see `one` and `cluster::member`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::telemetry::{self, Sampler};
use super::watchdog::Watch;
use crate::workload::{Common, Workload};
use sparkbench_archive::manifest::{ProcessWire, SamplerWire, TELEMETRY_FILE};
use sparkbench_archive::{Appender, shown};
use sparkbench_host::gpu::SharedGpu;
use sparkbench_host::tree::TreeSource;
use sparkbench_host::{Closed, Ended, Host, Launched};
use sparkbench_model::Finding;
use sparkbench_plan::Suite;
use sparkbench_text::error::Error;

/// How often the loop looks at a running program. Its times come from the guard, so this only bounds how late a watchdog acts.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// See the module.
pub(super) struct Observer {
    host: Arc<dyn Host>,
    gpu: Option<SharedGpu>,
    tree: Arc<Mutex<TreeSource>>,
    sampler: Sampler,
    watch: Watch,
}

/// The observation.
pub(super) struct Observed {
    /// Cost of the sampler.
    pub sampler: SamplerWire,
    /// Columns that stayed empty, and why.
    pub absent: BTreeMap<String, String>,
    /// One finding for each watchdog.
    pub watched: Vec<Finding>,
    /// Why the file of samples is not whole, where it is not.
    pub failure: Option<Error>,
}

impl Observer {
    /// The file of samples. It is made before the program starts, which may mount something over the archive at once.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn samples(folder: &Path) -> Result<Appender, Error> {
        Appender::create(&folder.join(TELEMETRY_FILE))
    }

    /// Takes the file away again, where nothing was started.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(super) fn remove_samples(folder: &Path) -> Result<(), Error> {
        let path = folder.join(TELEMETRY_FILE);
        std::fs::remove_file(&path)
            .map_err(|cause| Error::archive(format!("cannot remove '{}'", shown(&path))).because(cause))
    }

    /// Begins at once.
    ///
    /// # Errors
    /// When the head of the file cannot be written.
    pub(super) fn begin(
        host: &Arc<dyn Host>,
        gpu: Option<&SharedGpu>,
        suite: &Suite,
        (common, workload): (&Common, &dyn Workload),
        samples: Appender,
        launched: &dyn Launched,
    ) -> Result<Self, Error> {
        let tree = Arc::new(Mutex::new(TreeSource { pids: launched.tree(), cgroups: launched.cgroups(), main: None }));
        let interval = telemetry::interval_for(&suite.telemetry, workload.expected_s());
        let sampler = Sampler::start(Arc::clone(host), gpu.cloned(), interval, samples, Arc::clone(&tree))?;
        let mut settings = suite.watchdogs.clone();
        settings.time_limit_s = common.time_limit_s.unwrap_or(settings.time_limit_s);
        let watch = Watch::begin(host.as_ref(), gpu.map(AsRef::as_ref), &settings);
        Ok(Self { host: Arc::clone(host), gpu: gpu.cloned(), tree, sampler, watch })
    }

    /// Looks, several times a second. A finding means: end the program now. `main` is its first process inside the environment.
    pub(super) fn look(&mut self, launched: &dyn Launched, main: Option<u32>) -> Option<Finding> {
        if let Ok(mut tree) = self.tree.lock() {
            (tree.pids, tree.main) = (launched.tree(), main);
        }
        self.watch.tick(self.host.as_ref(), self.gpu.as_deref(), &self.sampler.take_new())
    }

    /// Stops sampling and looks for the last time.
    pub(super) fn end(mut self) -> Observed {
        let (host, gpu) = (self.host.as_ref(), self.gpu.as_deref());
        self.watch.tick(host, gpu, &self.sampler.take_new());
        let stopped = self.sampler.stop();
        let watched = self.watch.end(host, gpu);
        Observed { sampler: stopped.wire, absent: stopped.absent, watched, failure: stopped.failure }
    }
}

/// Effort to end a program, for `run.json`.
pub(super) fn process(ended: &Ended, closed: &Closed) -> ProcessWire {
    // The guard is who counts.
    let counted = closed.lost.is_none();
    ProcessWire {
        signal: ended.signal,
        user_s: counted.then_some(closed.user_s),
        system_s: counted.then_some(closed.system_s),
        peak_rss_mib: counted.then_some(closed.peak_rss_mib),
        ended_by_us: closed.outlived.clone(),
        why: ended.why.clone(),
    }
}
