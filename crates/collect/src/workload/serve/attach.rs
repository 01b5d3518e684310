//! A server that is already running: its address, and its container where it has one.
//!
//! In:  settings of a suite.  Out: [`Attach`], and the container's log and description as files of the run.
//! Not here: starting or ending it. Neither is done.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sparkbench_host::{Host, Question};
use sparkbench_model::Instant;
use sparkbench_plan::Reader;
use sparkbench_text::error::{Error, Kind};

/// The container's log of the run.
pub(super) const LOG_FILE: &str = "server.log";
/// The container engine's description of it.
pub(super) const INSPECT_FILE: &str = "server-container.json";

/// Reading a log of hours takes a container engine a while.
const LIMIT: Duration = Duration::from_secs(120);

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Attach {
    /// Address of the server.
    pub url: String,
    /// Name or id of its container, for its log.
    pub container: Option<String>,
    /// `docker` or `podman`.
    pub runtime: String,
}

impl Attach {
    /// Takes the table `attach`.
    pub(super) fn read(settings: &mut Reader<'_>) -> Option<Self> {
        let table = settings.table("attach")?;
        let mut keys = settings.below(table);
        let url = keys.required_text("url", "the address of the server: url = \"http://localhost:8000\"");
        let container = keys.text("container");
        if container.as_ref().is_some_and(|name| name.is_empty() || name.starts_with('-')) {
            keys.fault("container", "is not a name of a container", "'docker ps' shows them");
        }
        let runtime = keys.choice("runtime", &["docker", "podman"]).unwrap_or_else(|| "docker".to_owned());
        keys.finish();
        Some(Self { url: url?, container, runtime })
    }

    /// Whether the container is there.
    ///
    /// # Errors
    /// When it is not, or the container engine does not answer.
    pub(super) fn look(&self, host: &dyn Host) -> Result<(), Error> {
        let Some(container) = &self.container else { return Ok(()) };
        let question = Question::new([self.runtime.as_str(), "inspect", "--format", "{{.State.Status}}", container]);
        let failed = |why: String| {
            Error::new(Kind::Workload, format!("the container '{container}' cannot be looked at: {why}"))
                .hint(format!("'{} ps' shows the names of those that run", self.runtime))
        };
        let answer = host.ask(&question).map_err(|cause| failed(cause.to_string()))?;
        if !answer.ok() {
            return Err(failed(answer.complaint()));
        }
        match answer.text().trim() {
            "running" => Ok(()),
            state => Err(failed(format!("its state is '{state}'"))),
        }
    }

    /// Puts the container's log since a moment, and its description, into the run's folder. Gives what could not be had.
    pub(super) fn keep(&self, host: &dyn Host, since: Instant, folder: &Path) -> Vec<String> {
        let Some(container) = &self.container else { return Vec::new() };
        let (runtime, since) = (self.runtime.as_str(), since.iso());
        let questions = [
            (LOG_FILE, Question::new([runtime, "logs", "--timestamps", "--since", since.as_str(), container])),
            (INSPECT_FILE, Question::new([runtime, "inspect", container])),
        ];
        let mut missing = Vec::new();
        for (file, question) in questions {
            let kept = host.ask(&question.within(LIMIT)).map_err(|cause| cause.to_string()).and_then(|answer| {
                if !answer.ok() {
                    return Err(answer.complaint());
                }
                // A container's own standard error comes back as such.
                let bytes = if file == LOG_FILE { [answer.stdout, answer.stderr].concat() } else { answer.stdout };
                fs::write(folder.join(file), bytes).map_err(|cause| cause.to_string())
            });
            missing.extend(kept.err().map(|why| format!("no {file} of the container '{container}': {why}")));
        }
        missing
    }
}

/// A number that no earlier load has had.
///
/// # Errors
/// When the machine gives none.
pub(super) fn nonce(host: &dyn Host) -> Result<u64, Error> {
    let failed = |cause| Error::archive("cannot draw a nonce for the cold cache").because(cause);
    let text = host.read(Path::new("/proc/sys/kernel/random/uuid")).map_err(failed)?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(13).collect();
    // Thirteen digits stay exact where a reader takes numbers for floating point.
    Ok(u64::from_str_radix(&digits, 16).unwrap_or_default())
}
