//! A kind of environment, an environment of that kind, and what the two are given and answer.
//!
//! In:  settings of a suite, an [`Invocation`] and its [`Place`].  Out: a [`Job`] for the host, and [`Examined`] afterwards.
//! Not here: the kinds themselves (see `ENVIRONMENTS`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::place::Place;
use sparkbench_archive::manifest::CheckWire;
use sparkbench_host::{Ended, Host, Job, Launched};
use sparkbench_model::Finding;
use sparkbench_plan::Reader;
use sparkbench_text::error::Error;

/// A kind of environment, by its name in suites.
pub trait EnvironmentKind: Sync {
    /// Name in suites: `native`, `chroot`, `docker`, `podman`, `nspawn`.
    fn name(&self) -> &'static str;
    /// Reads its settings. Faults go to the reader. The caller has taken `kind` and calls [`Reader::finish`].
    /// `folder` is where the suite lies: root file systems and binds are named relative to it.
    fn read(&self, settings: &mut Reader<'_>, folder: &Path) -> Option<Box<dyn Environment>>;
}

/// The kind of an environment whose programs run as they are, in the mount namespace of the machine.
pub const NATIVE: &str = "native";

/// One environment of a suite.
pub trait Environment: Send + Sync {
    /// Name of its kind.
    fn kind(&self) -> &'static str;
    /// Checks what must be true before the first run and returns every finding at once. The engine answers, the image exists and is pinned
    /// by digest, the root file system is valid, and we have the rights.
    fn ready(&self, host: &dyn Host) -> Vec<Finding>;
    /// What it is made of, for the archive: digest, flags as written, release and packages of the root file system.
    ///
    /// # Errors
    /// When the environment cannot be examined.
    fn describe(&self, host: &dyn Host) -> Result<serde_json::Value, Error>;
    /// Told once before the first run what [`Environment::describe`] said when the campaign began (on `--resume`: as `campaign.json`
    /// keeps it). Every run is compared with that, so that an image or a root which changes half-way is a mismatch and not a drift.
    fn hold_to(&self, described: &serde_json::Value) {
        let _ = described;
    }
    /// Whether its settings name the place of the model's weights, so that every model has to say where they lie.
    fn needs_model_path(&self) -> bool {
        false
    }
    /// Whether the path of a run's folder is written on a command line here. Such a line is text, so the path has to be UTF-8.
    fn names_folder(&self) -> bool {
        false
    }
    /// Where programs are looked for, where that is known before anything is started.
    fn search_path(&self, host: &dyn Host) -> Option<String> {
        let _ = host;
        None
    }
    /// Where the run's own folder lies, as the program inside sees it.
    fn work(&self, place: &Place) -> PathBuf;
    /// Makes ready what the run needs (a created container, files copied into it) and wraps the command line.
    ///
    /// # Errors
    /// When it cannot be made ready. What was made by then is removed again.
    fn wrap(&self, host: &dyn Host, invocation: &Invocation, place: &Place) -> Result<Job, Error>;
    /// Host pid of the first process inside, once there is one. For telemetry of its tree and control group.
    fn main_pid(&self, host: &dyn Host, place: &Place, launched: &dyn Launched) -> Option<u32>;
    /// Called about once a sample while the program runs: a few reads of small kernel files at most, never a program.
    fn while_running(&self, host: &dyn Host, place: &Place, launched: &dyn Launched) {
        let _ = (host, place, launched);
    }
    /// Runs after the program has ended and before the tree is closed. Brings the run's own folder back to [`Place::work`] and reports what
    /// really ran. The raw files that prove it (inspect output, control group figures) come with it.
    ///
    /// # Errors
    /// When the environment cannot be asked.
    fn examine(
        &self,
        host: &dyn Host,
        invocation: &Invocation,
        place: &Place,
        ended: &Ended,
    ) -> Result<Examined, Error>;
    /// Removes what a crashed collector of this archive left, and says what that was.
    ///
    /// # Errors
    /// When something cannot be removed.
    fn sweep(&self, host: &dyn Host, archive_id: &str) -> Result<Vec<String>, Error>;
}

/// Job of a workload, as seen from inside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Invocation {
    /// Program and arguments. `{work}` is already the path inside.
    pub argv: Vec<String>,
    /// Variables that the workload sets, beside those of the environment.
    pub env: BTreeMap<String, String>,
    /// Where the weights of the model lie, for environments that mount them.
    pub model_path: Option<String>,
}

/// Report of an environment on a run that has ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Examined {
    /// Comparison of the request with what ran: arguments, image digest.
    pub checks: Vec<CheckWire>,
    /// The environment's own state, for `run.json`.
    pub state: serde_json::Value,
    /// Exit status of the program inside, where the wrapper's own may differ.
    pub code: Option<i32>,
    /// The program inside was ended for lack of memory.
    pub out_of_memory: bool,
    /// Raw files for the run's folder, by name. The caller masks secrets and writes them.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The program's own variables, where [`Job::env`] is that of a wrapper.
    pub variables: Option<BTreeMap<String, String>>,
    /// Why the run counts as failed beyond its exit status, e.g. a container that was cut off its GPU.
    pub faults: Vec<String>,
}
