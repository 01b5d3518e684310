//! `docker` and `podman`: a container with exactly the flags that were written.
//!
//! In:  `image`, `allow_moving_tag`, `flags`, `env`, `entrypoint`, `work`, `global_flags`.  Out: a created container, and a job that
//! starts it and stays attached.
//! Not here: fetching images, what a flag does.
//!
//! A container gets some flags beside those that were written, and the archive names them. `--name`, `--cidfile` and two labels serve to
//! find leftovers. `--workdir` is the run's own folder, unless the flags say otherwise. `--entrypoint` is the program, unless the suite
//! keeps the image's. Each variable that the suite or the workload sets gets one `--env`. The container is created, filled and then started,
//! so that neither its creation nor the copying falls into the measured time.

mod client;
mod examine;
mod figures;
mod flags;
mod image;
mod ready;
mod tar;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use self::client::{COPY_LIMIT, Client, reason};
use self::figures::Figures;
use self::image::{Image, Reference};
use super::kind::{Environment, EnvironmentKind, Examined, Invocation};
use super::place::{Place, WORK_INSIDE, job_of};
use super::seen::{self, Seen};
use super::variables::{self, PassedVariables};
use sparkbench_host::{Ended, Host, Job, Launched, Question};
use sparkbench_model::Finding;
use sparkbench_plan::Reader;
use sparkbench_text::error::Error;

/// Label with the archive's name.
const LABEL_ARCHIVE: &str = "sparkbench.archive";
/// Label with the run's id.
const LABEL_RUN: &str = "sparkbench.run";
/// Name of the file with the container's id, in the run's folder.
const CIDFILE: &str = "container.id";

/// The kind `docker`.
pub(super) struct Docker;
/// The kind `podman`, which is asked in the same words.
pub(super) struct Podman;

impl EnvironmentKind for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn read(&self, settings: &mut Reader<'_>, _: &Path) -> Option<Box<dyn Environment>> {
        Some(Box::new(Containers::read(self.name(), settings)?))
    }
}

impl EnvironmentKind for Podman {
    fn name(&self) -> &'static str {
        "podman"
    }

    fn read(&self, settings: &mut Reader<'_>, _: &Path) -> Option<Box<dyn Environment>> {
        Some(Box::new(Containers::read(self.name(), settings)?))
    }
}

/// How the run's own folder gets into the container and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Copied in before the start and out after the end: no mount of ours changes what is measured.
    Copy,
    /// Mounted: for large files, or a root that is read-only.
    Mount,
}

/// Containers of one image, as a suite wants them.
struct Containers {
    client: Client,
    image: String,
    allow_moving_tag: bool,
    flags: Vec<String>,
    env: BTreeMap<String, String>,
    /// The image's own ENTRYPOINT runs, with the program as its arguments.
    keep_entrypoint: bool,
    work: Work,
    state: Mutex<State>,
}

/// State during a campaign.
#[derive(Debug, Default)]
struct State {
    /// Id of the image when the campaign began.
    held_to: Option<String>,
    /// By name of the container.
    running: BTreeMap<String, Watched>,
}

/// A container that runs.
#[derive(Debug, Clone, Default)]
struct Watched {
    pid: u32,
    seen: Seen,
    figures: Figures,
}

impl Containers {
    fn read(program: &'static str, settings: &mut Reader<'_>) -> Option<Self> {
        let image = settings.required_text("image", "name the image with its digest: NAME@sha256:...");
        if image.as_ref().is_some_and(|name| name.starts_with('-') || name.contains(char::is_whitespace)) {
            settings.fault("image", "is not the name of an image", "write NAME@sha256:..., without blanks");
        }
        let allow_moving_tag = settings.switch("allow_moving_tag").unwrap_or(false);
        let flags = flags::read(settings);
        let env = variables::declared(settings);
        let keep_entrypoint = settings.choice("entrypoint", &["clear", "keep"]).as_deref() == Some("keep");
        let mounted = settings.choice("work", &["copy", "mount"]).as_deref() == Some("mount");
        let global = settings.texts("global_flags");
        for flag in global.iter().filter(|flag| !flag.starts_with("--") || !flag.contains('=')) {
            settings.fault("global_flags", format!("holds \"{flag}\""), "write each as --flag=value");
        }
        Some(Self {
            client: Client { program, global },
            image: image?,
            allow_moving_tag,
            flags,
            env,
            keep_entrypoint,
            work: if mounted { Work::Mount } else { Work::Copy },
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Image from which the container is created. A movable name is replaced by its id at the beginning of the campaign. So a tag that moves
    /// half-way changes nothing.
    fn image_to_run(&self, host: &dyn Host) -> Result<String, Error> {
        let known = self.state().held_to.clone();
        let id = match known {
            Some(id) => id,
            None => Image::look(&self.client, host, &self.image)?.ok_or_else(|| self.no_image())?.id,
        };
        self.state().held_to = Some(id.clone());
        Ok(if Reference::of(&self.image) == Reference::Tag { id } else { self.image.clone() })
    }

    fn no_image(&self) -> Error {
        Error::new(
            sparkbench_text::error::Kind::Preflight,
            format!("the image '{}' is not on this machine", self.image),
        )
        .hint(format!("pull it before the campaign: {} pull {}", self.client.program, self.image))
    }

    /// `create` and everything behind it.
    fn create(&self, image: &str, invocation: &Invocation, place: &Place, words: &[String]) -> Vec<String> {
        let name = place.container();
        let cidfile = place.folder.join(CIDFILE).display().to_string();
        let archive = format!("{LABEL_ARCHIVE}={}", place.archive_id);
        let run = format!("{LABEL_RUN}={}", place.run_id);
        let mut argv = self.client.argv(&[
            "create",
            "--name",
            name.as_str(),
            "--cidfile",
            cidfile.as_str(),
            "--label",
            archive.as_str(),
            "--label",
            run.as_str(),
        ]);
        if flags::values(&self.flags, "--workdir").is_empty() && flags::values(&self.flags, "-w").is_empty() {
            argv.push(format!("--workdir={WORK_INSIDE}"));
        }
        if self.work == Work::Mount {
            argv.push(format!("--mount={}", mount(&place.work)));
        }
        for word in words {
            argv.extend(["--env".to_owned(), word.clone()]);
        }
        let (program, rest) = match invocation.argv.split_first() {
            Some((program, rest)) if !self.keep_entrypoint => (Some(program), rest),
            _ => (None, invocation.argv.as_slice()),
        };
        argv.extend(program.map(|program| format!("--entrypoint={program}")));
        let path = invocation.model_path.as_deref().unwrap_or_default();
        argv.extend(self.flags.iter().map(|flag| flag.replace(flags::MODEL_PATH, path)));
        argv.push(image.to_owned());
        argv.extend(rest.iter().cloned());
        argv
    }

    /// Makes the run's own folder inside, writable for whatever user the image names, and copies the files into it.
    fn fill(&self, host: &dyn Host, place: &Place) -> Result<(), Error> {
        let name = place.container();
        let target = format!("{name}:/");
        let mut folders = Question::new(self.client.argv(&["cp", "-", target.as_str()])).within(COPY_LIMIT);
        let below = WORK_INSIDE.trim_start_matches('/');
        let parent = below.split('/').next().unwrap_or(below);
        folders.input = tar::folders(&[(parent, 0o755), (below, 0o777)]);
        self.client.must(host, folders, "make the run's own folder in the container")?;
        let from = format!("{}/.", place.work.display());
        let to = format!("{name}:{WORK_INSIDE}");
        let files = Question::new(self.client.argv(&["cp", from.as_str(), to.as_str()])).within(COPY_LIMIT);
        self.client.must(host, files, "copy the run's files into the container")?;
        Ok(())
    }

    fn remove(&self, name: &str) -> Vec<String> {
        self.client.argv(&["rm", "--force", "--volumes", name])
    }
}

impl Environment for Containers {
    fn kind(&self) -> &'static str {
        self.client.program
    }

    fn ready(&self, host: &dyn Host) -> Vec<Finding> {
        self.findings(host)
    }

    fn describe(&self, host: &dyn Host) -> Result<Value, Error> {
        let image = Image::look(&self.client, host, &self.image)?.ok_or_else(|| self.no_image())?;
        Ok(json!({
            "kind": self.kind(),
            "image": { "asked": self.image, "allow_moving_tag": self.allow_moving_tag, "id": image.id, "is": image.describe() },
            "flags": self.flags,
            "global_flags": self.client.global,
            "env": self.env,
            "entrypoint": if self.keep_entrypoint { "keep" } else { "clear" },
            "work": if self.work == Work::Mount { "mount" } else { "copy" },
            "engine": self.engine(host)?,
        }))
    }

    fn needs_model_path(&self) -> bool {
        self.flags.iter().any(|flag| flag.contains(flags::MODEL_PATH))
    }

    /// For `--cidfile`, and for copying or mounting the run's own folder.
    fn names_folder(&self) -> bool {
        true
    }

    fn hold_to(&self, described: &Value) {
        self.state().held_to = described.pointer("/image/id").and_then(Value::as_str).map(str::to_owned);
    }

    fn work(&self, _: &Place) -> PathBuf {
        PathBuf::from(WORK_INSIDE)
    }

    fn wrap(&self, host: &dyn Host, invocation: &Invocation, place: &Place) -> Result<Job, Error> {
        let image = self.image_to_run(host)?;
        let declared = variables::merged(&[&self.env, &invocation.env]);
        let passage = PassedVariables::new(&declared, variables::client(host));
        let mut question = Question::new(self.create(&image, invocation, place, &passage.words)).within(COPY_LIMIT);
        question.env = Some(passage.client);
        let name = place.container();
        let mut answer = self.client.ask(host, question.clone())?;
        // The name belongs to this run alone. A container with this name was being made when an earlier collector was killed, and came after
        // our sweep.
        if !answer.ok() && reason(&answer).contains("already in use") {
            let _ = host.ask(&Question::new(self.remove(&name)));
            answer = self.client.ask(host, question)?;
        }
        if !answer.ok() {
            // A create that fails half-way may leave a container of that name.
            let _ = host.ask(&Question::new(self.remove(&name)));
            let what = format!("{} cannot create the container: {}", self.client.program, reason(&answer));
            return Err(Error::new(sparkbench_text::error::Kind::Workload, what)
                .hint("correct the flags of this environment in the suite"));
        }
        if self.work == Work::Copy
            && let Err(error) = self.fill(host, place)
        {
            let _ = host.ask(&Question::new(self.remove(&name)));
            return Err(error);
        }
        let grace = format!("{:.0}", place.grace_s.max(1.0).ceil());
        Ok(Job {
            argv: self.client.argv(&["start", "--attach", name.as_str()]),
            env: variables::client(host),
            stop: vec![self.client.argv(&["stop", "-t", grace.as_str(), name.as_str()])],
            after: vec![self.remove(&name)],
            ..job_of(place)
        })
    }

    fn main_pid(&self, host: &dyn Host, place: &Place, _: &dyn Launched) -> Option<u32> {
        let name = place.container();
        if let Some(watched) = self.state().running.get(&name) {
            return Some(watched.pid);
        }
        let words = ["container", "inspect", "--format", "{{.State.Pid}}", name.as_str()];
        let answer = host.ask(&Question::new(self.client.argv(&words))).ok().filter(sparkbench_host::Answer::ok)?;
        let pid = answer.text().trim().parse().ok().filter(|pid| *pid > 0)?;
        let figures = Figures::new(seen::cgroups(host, pid));
        self.state().running.insert(name, Watched { pid, seen: Seen::default(), figures });
        Some(pid)
    }

    fn while_running(&self, host: &dyn Host, place: &Place, _: &dyn Launched) {
        let mut state = self.state();
        let Some(watched) = state.running.get_mut(&place.container()) else { return };
        watched.figures.take(host);
        if watched.seen.argv.is_none() {
            let seen = Seen::of(host, watched.pid);
            // Until it becomes the program, the first process is the runtime that sets the container up.
            if seen.argv.as_ref().is_some_and(|argv| argv.get(1).is_none_or(|word| word != "init")) {
                watched.seen = seen;
            }
        }
    }

    fn examine(
        &self,
        host: &dyn Host,
        invocation: &Invocation,
        place: &Place,
        ended: &Ended,
    ) -> Result<Examined, Error> {
        self.look_back(host, invocation, place, ended)
    }

    fn sweep(&self, host: &dyn Host, archive_id: &str) -> Result<Vec<String>, Error> {
        let filter = format!("label={LABEL_ARCHIVE}={archive_id}");
        let words = ["ps", "--all", "--no-trunc", "--filter", filter.as_str(), "--format", "{{.ID}} {{.Names}}"];
        // An engine that does not answer is refused by `ready`, with its remedy. Here it only means that nothing can be looked for.
        let Ok(answer) = host.ask(&Question::new(self.client.argv(&words))) else { return Ok(Vec::new()) };
        let mut removed = Vec::new();
        for line in answer.text().lines().filter(|_| answer.ok()) {
            let Some((id, name)) = line.split_once(' ') else { continue };
            self.take_away(host, id, name)?;
            removed.push(format!("{} container {name}", self.client.program));
        }
        Ok(removed)
    }
}

impl Containers {
    /// Removes a container that a crash left. An engine that was already told to by the one who crashed refuses to be told again while
    /// it is at it. So it is asked until the container has gone.
    fn take_away(&self, host: &dyn Host, id: &str, name: &str) -> Result<(), Error> {
        let doing = format!("remove the container '{name}' of an earlier start");
        let patience = host.monotonic() + REMOVAL;
        loop {
            let question = Question::new(self.remove(id)).within(COPY_LIMIT);
            let Err(error) = self.client.must(host, question, &doing) else { return Ok(()) };
            let filter = format!("id={id}");
            let listed = host.ask(&Question::new(self.client.argv(&["ps", "--all", "--quiet", "--filter", &filter])));
            if listed.is_ok_and(|answer| answer.ok() && answer.text().trim().is_empty()) {
                return Ok(());
            }
            if host.monotonic() >= patience || host.interrupted() {
                return Err(error);
            }
            host.pause(AGAIN);
        }
    }
}

/// How long an engine may take to remove a container that it is removing already.
const REMOVAL: Duration = Duration::from_secs(15);
/// Time between two checks of it.
const AGAIN: Duration = Duration::from_millis(200);

/// `type=bind,source=...,target=...`, read by the client as a line of CSV: a path with a comma or a quote is quoted.
fn mount(work: &Path) -> String {
    let source = format!("source={}", work.display());
    let field = if source.contains([',', '"']) { format!("\"{}\"", source.replace('"', "\"\"")) } else { source };
    format!("type=bind,{field},target={WORK_INSIDE}")
}
