//! After a run: the container's files, its report of what ran, and its figures.
//!
//! In:  `inspect`, the files of the run's own folder, observations during the run.  Out: checks, state, raw files.
//! Not here: removing the container (the guard does, in any case).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::{COPY_LIMIT, Inspected};
use super::image::full_id;
use super::{Containers, Watched, Work, flags};
use crate::env::checks;
use crate::env::kind::{Examined, Invocation};
use crate::env::place::{Place, WORK_INSIDE};
use sparkbench_archive::manifest::CheckWire;
use sparkbench_host::{Ended, Host, Question};
use sparkbench_text::error::Error;

/// Message of a program that has lost its GPU: `systemctl daemon-reload` on the machine takes the devices from containers that run
/// (NVIDIA/nvidia-container-toolkit, issues 48 and 1227).
const GPU_LOST: &str = "Failed to initialize NVML: Unknown Error";

/// Exit status of a program that SIGKILL ended.
const KILLED: i32 = 128 + 9;

/// Most lines taken of the engine's own log.
const LOG_LINES: &str = "20000";

impl Containers {
    /// [`crate::env::Environment::examine`].
    pub(super) fn look_back(
        &self,
        host: &dyn Host,
        invocation: &Invocation,
        place: &Place,
        ended: &Ended,
    ) -> Result<Examined, Error> {
        let name = place.container();
        let watched = self.state().running.remove(&name).unwrap_or_default();
        let Some(inspected) = self.client.inspect(host, "container", &name)? else {
            return Ok(self.gone(invocation, &name));
        };
        let mut examined = Examined {
            checks: self.checks(invocation, &inspected, &watched),
            state: state(&inspected, &watched),
            code: code(&inspected),
            out_of_memory: inspected.value.pointer("/State/OOMKilled") == Some(&Value::Bool(true))
                || watched.figures.out_of_memory()
                || killed_for_memory(host, &inspected),
            variables: Some(variables(&inspected)),
            ..Examined::default()
        };
        if let Some(error) = inspected.text("/State/Error").filter(|error| !error.is_empty()) {
            examined.faults.push(format!("the container did not start: {error}"));
        }
        self.fetch(host, place, &mut examined)?;
        self.log(host, &name, ended, &mut examined)?;
        if let Some(line) = gpu_lost(host, place) {
            examined.faults.push(format!(
                "the container lost its GPU ('{line}'), as after a systemctl daemon-reload on the machine"
            ));
        }
        examined.files.insert("inspect.json".to_owned(), inspected.raw);
        examined.files.extend(watched.figures.file().map(|file| ("cgroup.json".to_owned(), file)));
        Ok(examined)
    }

    fn gone(&self, invocation: &Invocation, name: &str) -> Examined {
        let source = format!("{} container inspect", self.client.program);
        Examined {
            checks: vec![
                checks::arguments(&invocation.argv, None, &source),
                checks::equal(checks::IMAGE, self.state().held_to.as_deref(), None, &source),
            ],
            faults: vec![format!("the container '{name}' was removed while it ran")],
            ..Examined::default()
        }
    }

    fn checks(&self, invocation: &Invocation, inspected: &Inspected, watched: &Watched) -> Vec<CheckWire> {
        let source = format!("{} container inspect", self.client.program);
        let mut asked = if self.keep_entrypoint { inspected.texts("/Config/Entrypoint") } else { Vec::new() };
        asked.extend(invocation.argv.iter().cloned());
        let ran = inspected.text("/Path").map(|path| {
            let mut ran = vec![path.to_owned()];
            ran.extend(inspected.texts("/Args"));
            ran
        });
        let mut list = vec![checks::arguments(&asked, ran.as_deref(), &format!("{source}: Path and Args"))];
        // What the kernel showed is the stronger word. With the image's own ENTRYPOINT the first process is that one, and it may become
        // anything.
        if let (Some(seen), false) = (&watched.seen.argv, self.keep_entrypoint) {
            let seen = if flags::switch(&self.flags, "--init") { behind_init(seen) } else { seen.as_slice() };
            list.push(checks::arguments(&asked, Some(seen), "/proc/<pid>/cmdline of the container's first process"));
        }
        let image = inspected.text("/Image").map(full_id);
        let held_to = self.state().held_to.clone();
        list.push(checks::equal(checks::IMAGE, held_to.as_deref(), image.as_deref(), &format!("{source}: Image")));
        list
    }

    /// Brings the run's own folder back.
    fn fetch(&self, host: &dyn Host, place: &Place, examined: &mut Examined) -> Result<(), Error> {
        if self.work == Work::Mount {
            return Ok(());
        }
        let from = format!("{}:{WORK_INSIDE}/.", place.container());
        let to = place.work.display().to_string();
        let question = Question::new(self.client.argv(&["cp", from.as_str(), to.as_str()])).within(COPY_LIMIT);
        let answer = self.client.ask(host, question)?;
        if !answer.ok() {
            let why = super::client::reason(&answer);
            examined.faults.push(format!("the run's files could not be copied out of the container: {why}"));
        }
        Ok(())
    }

    /// The engine's own log, where the attached client was ended before the container: it may then hold more than the client passed on.
    fn log(&self, host: &dyn Host, name: &str, ended: &Ended, examined: &mut Examined) -> Result<(), Error> {
        if ended.why.is_none() && ended.signal.is_none() && ended.code == examined.code {
            return Ok(());
        }
        let words = ["logs", "--tail", LOG_LINES, name];
        let answer = self.client.ask(host, Question::new(self.client.argv(&words)).within(COPY_LIMIT))?;
        if answer.ok() {
            examined.files.insert("engine-stdout.log".to_owned(), answer.stdout);
            examined.files.insert("engine-stderr.log".to_owned(), answer.stderr);
        }
        Ok(())
    }
}

/// Arguments behind `docker-init --`, which `--init` puts before the program.
fn behind_init(seen: &[String]) -> &[String] {
    match seen.iter().position(|word| word == "--") {
        Some(at) => &seen[at + 1..],
        None => seen,
    }
}

/// Exit status of the program. Absent while it runs and when it never did.
fn code(inspected: &Inspected) -> Option<i32> {
    let exited = matches!(inspected.text("/State/Status"), Some("exited" | "stopped" | "dead"));
    let code = inspected.value.pointer("/State/ExitCode").and_then(Value::as_i64)?;
    exited.then(|| i32::try_from(code).ok()).flatten()
}

/// Whether the kernel's log names the container as one that it killed for lack of memory. The engine does not always hear of it: a
/// program may be dead before the engine listens, and `OOMKilled` then stays false.
fn killed_for_memory(host: &dyn Host, inspected: &Inspected) -> bool {
    let (Some(KILLED), Some(id)) = (code(inspected), inspected.text("/Id")) else { return false };
    let Ok(log) = host.ask(&Question::new(["dmesg"])) else { return false };
    log.text().lines().any(|line| line.contains("oom-kill:") && line.contains(id))
}

/// Variables of the program, including the image's own.
fn variables(inspected: &Inspected) -> BTreeMap<String, String> {
    let pairs = inspected.texts("/Config/Env");
    pairs
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn state(inspected: &Inspected, watched: &Watched) -> Value {
    let field = |pointer: &str| inspected.value.pointer(pointer).cloned();
    json!({
        "container": field("/Id"),
        "status": field("/State/Status"),
        "exit_code": field("/State/ExitCode"),
        "error": field("/State/Error"),
        "oom_killed": field("/State/OOMKilled"),
        "started_at": field("/State/StartedAt"),
        "finished_at": field("/State/FinishedAt"),
        "cgroup_parent": field("/HostConfig/CgroupParent"),
        "cgroup_readings": watched.figures.readings,
    })
}

/// The line with which the program said that its GPU is gone.
fn gpu_lost(host: &dyn Host, place: &Place) -> Option<String> {
    let (stdout, stderr) = (place.stdout().display().to_string(), place.stderr().display().to_string());
    // `grep` and not a read: a log may be larger than what is read of a file.
    let words = ["grep", "-a", "-h", "-m", "1", "-F", GPU_LOST, "--", stdout.as_str(), stderr.as_str()];
    let answer = host.ask(&Question::new(words)).ok()?;
    answer.text().lines().next().map(|line| line.trim().to_owned())
}
