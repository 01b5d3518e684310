//! A kind of workload, a workload of that kind, and the settings that all have.
//!
//! In:  settings of a suite, a [`Cell`].  Out: [`Invocation`]s for an environment, and the [`Outcome`] of a run.
//! Not here: the kinds themselves (see `WORKLOADS`).

use std::path::Path;

use super::beside::Beside;
use super::cell::Cell;
use super::outcome::Outcome;
use crate::env::Invocation;
use sparkbench_archive::FileName;
use sparkbench_archive::manifest::SeenWire;
use sparkbench_host::Host;
use sparkbench_plan::{Fault, Model, Reader};
use sparkbench_text::error::Error;

/// A kind of workload, by its name in suites.
pub trait WorkloadKind: Sync {
    /// Name in suites: `command`, `trtllm-bench`, `gpu-probe`, `python`, `serve`.
    fn name(&self) -> &'static str;
    /// Reads its settings. Faults go to the reader. The caller has taken `kind` and the keys of [`Common`] and calls [`Reader::finish`].
    /// `folder` is where the suite lies: assets are named relative to it.
    fn read(&self, settings: &mut Reader<'_>, folder: &Path) -> Option<Box<dyn Workload>>;
}

/// One workload of a suite.
pub trait Workload: Send + Sync {
    /// Whether it needs a GPU: gates of the GPU are refusals then, and advice otherwise.
    fn needs_gpu(&self) -> bool;
    /// Whether it runs this program itself inside the environment. It is then brought there as [`Cell::own_program`].
    fn needs_own_program(&self) -> bool {
        false
    }
    /// Whether its command lines or variables name the run's own folder. They are text, so the path has to be UTF-8.
    fn names_folder(&self) -> bool {
        true
    }
    /// Remarks on its settings that do not stop it, such as parts of its assets that are not copied.
    fn warnings(&self) -> &[Fault] {
        &[]
    }
    /// The program that is started inside, where it is the same in every run and looked for as the environment says.
    fn program(&self) -> Option<&str> {
        None
    }
    /// Seconds that one run is expected to take, where the settings tell.
    fn expected_s(&self) -> Option<f64>;
    /// Missing fields of a model that this workload needs, in words. A fault of the suite, reported before anything runs.
    fn lacks(&self, _model: &Model) -> Vec<String> {
        Vec::new()
    }
    /// Files put into the run's own folder before it starts: name below it, content.
    ///
    /// # Errors
    /// When an asset cannot be read.
    fn assets(&self, cell: &Cell<'_>) -> Result<Vec<(FileName, Vec<u8>)>, Error>;
    /// Asked once in each environment before the first run. Its output comes back as [`Cell::probed`]. E.g. `trtllm-bench throughput --help`.
    fn probe(&self, cell: &Cell<'_>, work: &Path) -> Option<Invocation>;
    /// Made once for each model, in the first environment of the plan. The files it leaves in the run's own folder are put into that
    /// folder of every run as [`Cell::prepared`]. E.g. a dataset.
    ///
    /// # Errors
    /// When the probe shows that it cannot be done.
    fn prepare(&self, cell: &Cell<'_>, work: &Path) -> Result<Option<Invocation>, Error>;
    /// The measured invocation. `work` is the run's own folder as seen from inside.
    ///
    /// # Errors
    /// When the probe shows that it cannot be done as asked.
    fn measure(&self, cell: &Cell<'_>, work: &Path) -> Result<Invocation, Error>;
    /// Our own work while the program is up, prepared before it is started. The program is then ended once that is done.
    /// E.g. the load against a server.
    ///
    /// # Errors
    /// When it cannot be done as asked, e.g. because something else answers at the address of the server.
    fn beside(&self, cell: &Cell<'_>, host: &dyn Host) -> Result<Option<Box<dyn Beside>>, Error> {
        let _ = (cell, host);
        Ok(None)
    }
    /// Job of each further machine while the program is up, e.g. the other half of an engine. Nothing for most.
    ///
    /// # Errors
    /// When it cannot be done as asked.
    fn worker(&self, cell: &Cell<'_>, work: &Path) -> Result<Option<Invocation>, Error> {
        let _ = (cell, work);
        Ok(None)
    }
    /// Port at which a worker listens. The program starts once every worker does. Without one it is for the program to wait.
    fn worker_port(&self) -> Option<u16> {
        None
    }
    /// Whether nothing is to be started, because the measured server is up already. [`Workload::beside`] is then the whole run, and
    /// [`Workload::measure`] is not asked.
    fn attached(&self) -> bool {
        false
    }
    fn asked(&self, cell: &Cell<'_>) -> SeenWire;
    /// Reads what a run left in its folder (standard output and error, files of its own folder): what ran, and what is missing.
    fn examine(&self, cell: &Cell<'_>, folder: &Path) -> Outcome;
}

/// Settings that every workload has. `run` reads them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Common {
    /// Ends the run after this time, seconds, instead of the suite's own limit.
    pub time_limit_s: Option<f64>,
    /// Only in environments whose label matches one of these globs. Empty is all.
    pub environments: Vec<String>,
    /// Only with models whose label matches one of these globs. Empty is all.
    pub models: Vec<String>,
}

impl Common {
    /// Takes the common keys.
    pub fn read(settings: &mut Reader<'_>) -> Self {
        Self {
            time_limit_s: settings.number_within("time_limit_s", 0.1, 7.0 * 86_400.0),
            environments: settings.texts("environments"),
            models: settings.texts("models"),
        }
    }
}
