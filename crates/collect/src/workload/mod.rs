//! What is run: a command line, the files it needs, the files it leaves, and whether it did the requested work.
//!
//! In:  settings of a suite, a model.  Out: [`Invocation`]s for an environment, and the [`Outcome`] read from their files.
//! Not here: where it runs (see `env`), when (see `run`), what the figures mean.
//!
//! A workload is one file below this folder and one line in [`WORKLOADS`]. A run makes exactly one measured invocation. Prerequisites
//! (options of a program's version, a dataset) are probed or prepared once for the campaign. So every arm gets the same bytes and no arm
//! pays for it. Where the program is a server, the load against it works beside it (see `beside`).

pub(crate) mod assets;
pub(crate) mod beside;
pub(crate) mod command;
pub(crate) mod examine;
pub(crate) mod expect;
pub mod gpu_probe;
pub(crate) mod placement;
pub(crate) mod python;
pub mod serve;
pub(crate) mod template;
pub(crate) mod trtllm_bench;

use std::path::{Path, PathBuf};

pub use self::placement::Placement;
use crate::env::Invocation;
use sparkbench_archive::FileName;
use sparkbench_archive::manifest::{CheckWire, ReportWire, SeenWire};
use sparkbench_host::Host;
use sparkbench_plan::{Fault, Model, Reader};
use sparkbench_text::error::Error;

/// The client that loads servers.
static SESSIONS: serve::session::Sessions = serve::session::Sessions::new();

/// Every kind of workload.
pub static WORKLOADS: &[&dyn Kind] = &[
    &command::CommandKind,
    &gpu_probe::GpuProbe,
    &python::PythonKind,
    &serve::ServeKind { loader: &SESSIONS },
    &trtllm_bench::TrtllmBenchKind,
];

/// A kind of workload, by its name in suites.
pub trait Kind: Sync {
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
    fn beside(&self, cell: &Cell<'_>, host: &dyn Host) -> Result<Option<Box<dyn beside::Beside>>, Error> {
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

/// Findings of a workload in its own files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The program that ran.
    pub seen: SeenWire,
    /// Item by item against what was asked for.
    pub checks: Vec<CheckWire>,
    /// Files that parsers of the analysis read, below the run's folder.
    pub reports: Vec<ReportWire>,
    /// Why it counts as failed: a file missing, unreadable, too few iterations.
    pub faults: Vec<String>,
    /// Parts that failed by themselves, by the name of their report's test, with the reason. Other parts stay valid.
    pub failed: Vec<(String, String)>,
    /// Marks that do not fail it, e.g. outliers among its iterations.
    pub marks: Vec<String>,
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

/// Name of the run's own folder below its archive folder: its contents came out of the environment.
pub const WORK_FOLDER: &str = "work";

/// A report's path below the run's folder from its path below the run's own folder.
pub fn report_path(inside: &str) -> PathBuf {
    Path::new(WORK_FOLDER).join(inside)
}
