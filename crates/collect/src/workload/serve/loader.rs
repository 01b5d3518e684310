//! The interface of a run to the client: loads against one server that is ready.
//!
//! In:  [`Job`].  Out: files in its folder, and [`Loaded`].
//! Not here: the client itself (see `load::session`), whether the server is the right one (see `work`).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sparkbench_archive::manifest::{CheckWire, WindowWire};
use sparkbench_host::Host;
use sparkbench_load::suite::Planned;
use sparkbench_text::error::Error;

/// Folder of the loads below the run's, where one start of the server gets several.
pub(super) const LOADS_FOLDER: &str = "loads";

/// Loads a server. One for the program, others for tests.
pub trait Loader: Sync {
    /// Runs every load in turn. A stopped load ends within seconds, with its data on disk.
    ///
    /// # Errors
    /// When a load cannot be run at all. Requests that fail are in the files.
    fn run(&self, job: &Job<'_>) -> Result<Loaded, Error>;
}

/// Loads to be run against one server.
pub struct Job<'a> {
    /// The machine.
    pub host: &'a Arc<dyn Host>,
    /// Address of the server, its credentials in it.
    pub url: &'a str,
    /// In this order. Each names the model and has its seed and nonce.
    pub loads: &'a [Planned],
    /// The run's folder. See [`Job::folder_of`].
    pub folder: &'a Path,
    /// Set from outside.
    pub stop: &'a Arc<AtomicBool>,
    /// A line of plain news.
    pub say: &'a (dyn Fn(&str) + Sync),
    /// Something needs attention.
    pub warn: &'a (dyn Fn(&str) + Sync),
}

impl Job<'_> {
    /// Folder for the files of a load: that of the run for the only one, else one of its name.
    pub fn folder_of(&self, load: &Planned) -> PathBuf {
        match load.name.as_str() {
            "" => self.folder.to_owned(),
            name => self.folder.join(LOADS_FOLDER).join(name),
        }
    }
}

/// Their outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// From the first measured request to the last answer.
    pub window: Option<WindowWire>,
    /// Why the run counts as failed.
    pub faults: Vec<String>,
    /// Loads that failed by themselves, by name, with the reason. The others of the run stay valid.
    pub failed: Vec<(String, String)>,
    /// Remarks that do not fail it, e.g. that the client was the limit.
    pub marks: Vec<String>,
    /// Promises compared with what the server says, e.g. the cache contract.
    pub checks: Vec<CheckWire>,
}
