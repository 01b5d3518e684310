//! `nspawn`: a root file system under systemd-nspawn.
//!
//! In:  the keys of a root, `devices`, `scope`, `flags`.  Out: a job that is a command line of systemd-nspawn.
//! Not here: registering machines, booting a system. One program is run, with a small init of nspawn above it.
//!
//! Decisions after trials with systemd 252:
//!
//! - `--as-pid2 --kill-signal=SIGTERM`: SIGTERM to the whole tree reaches the program, which may end in its own time. Its exit status
//!   comes through. With SIGRTMIN+4, which the small init takes as an order to power off, the program is killed at once.
//! - The marker of the run is passed inside. When nspawn itself is killed with SIGKILL, the program survives it and must be found.
//! - `--keep-unit` leaves everything in the run's own control group. `--property=` has no effect then, and no device is filtered. So a GPU
//!   needs nothing but its nodes bound.

mod flags;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::checks;
use super::chroot::{contents_at_start, needs_root};
use super::driver::Devices;
use super::kind::{Environment, EnvironmentKind, Examined, Invocation};
use super::leftover;
use super::place::{Place, WORK_INSIDE, job_of};
use super::points::{self, Points};
use super::root::RootFolder;
use super::seen::{self, Seen};
use super::variables::{self, PassedVariables};
use sparkbench_archive::shown;
use sparkbench_host::{Ended, Host, Job, Launched, MARKER, Question};
use sparkbench_model::Finding;
use sparkbench_plan::Reader;
use sparkbench_text::error::Error;

/// The kind.
pub(super) struct Nspawn;

impl EnvironmentKind for Nspawn {
    fn name(&self) -> &'static str {
        "nspawn"
    }

    fn read(&self, settings: &mut Reader<'_>, folder: &Path) -> Option<Box<dyn Environment>> {
        let root = RootFolder::read(settings, folder);
        for bind in root.iter().flat_map(|root| &root.binds).filter(|bind| bind.from.to_str().is_none()) {
            let what = format!("holds a path that is not UTF-8, and --bind is text: '{}'", shown(&bind.from));
            settings.fault("binds", what, "move it, or the suite that it is named relative to");
        }
        let devices = Devices::read(settings);
        let machine_scope = settings.choice("scope", &["run", "machine"]).as_deref() == Some("machine");
        let flags = flags::read(settings);
        let (running, at_start, points) = (Mutex::default(), Mutex::default(), Points::default());
        Some(Box::new(Container { root: root?, devices, machine_scope, flags, running, at_start, points }))
    }
}

/// One root under nspawn.
struct Container {
    root: RootFolder,
    devices: Devices,
    /// A scope of systemd's with a device policy, instead of the run's own control group.
    machine_scope: bool,
    flags: Vec<String>,
    /// The kernel's view of the program, by machine name.
    running: Mutex<BTreeMap<String, Seen>>,
    at_start: Mutex<Option<String>>,
    /// nspawn makes what is missing and leaves it.
    points: Points,
}

impl Container {
    /// Variables of the program, those that nspawn adds itself not counted.
    fn declared(&self, host: &dyn Host, invocation: &Invocation) -> Result<BTreeMap<String, String>, Error> {
        Ok(variables::merged(&[&self.root.variables(host)?, &invocation.env]))
    }

    /// The command line up to the program.
    fn command(&self, host: &dyn Host, place: &Place, words: &[String]) -> Vec<String> {
        let mut argv: Vec<String> = ["systemd-nspawn", "--pipe", "--quiet", "--as-pid2", "--kill-signal=SIGTERM"]
            .into_iter()
            .chain(["--register=no", "--link-journal=no", "--resolv-conf=off", "--timezone=off"])
            .map(str::to_owned)
            .collect();
        if !self.machine_scope {
            argv.push("--keep-unit".to_owned());
        }
        argv.push(format!("--machine={}", machine_name(place)));
        argv.push(format!("--directory={}", self.root.path.display()));
        let cwd = self.root.cwd.clone().unwrap_or_else(|| PathBuf::from(WORK_INSIDE));
        argv.push(format!("--chdir={}", cwd.display()));
        for node in self.devices.find(host) {
            argv.push(bind("--bind", &node, &node));
            if self.machine_scope {
                argv.push(format!("--property=DeviceAllow={} rwm", node.display()));
            }
        }
        for file in self.root.driver_files(host) {
            argv.push(bind("--bind-ro", &file.from, &file.at));
        }
        for declared in &self.root.binds {
            let flag = if declared.read_only { "--bind-ro" } else { "--bind" };
            argv.push(bind(flag, &declared.from, &declared.at));
        }
        argv.push(bind("--bind", &place.work, Path::new(WORK_INSIDE)));
        argv.extend(words.iter().map(|word| format!("--setenv={word}")));
        argv.push(format!("--setenv={MARKER}={}", place.marker()));
        argv.extend(self.flags.iter().cloned());
        argv.push("--".to_owned());
        argv
    }

    /// Host pid of the program: the child of nspawn's small init, which is the child of nspawn.
    fn payload(host: &dyn Host, launched: &dyn Launched) -> Option<u32> {
        let tree = launched.tree();
        let child_of = |parent: u32| tree.iter().copied().find(|pid| seen::parent(host, *pid) == Some(parent));
        let payload = child_of(child_of(launched.pid())?)?;
        // Between its birth and its first program it still is nspawn.
        let argv = seen::argv(host, payload)?;
        (argv.first().is_some_and(|name| name != "systemd-nspawn" && name != "(sd-stubinit)")).then_some(payload)
    }
}

impl Environment for Container {
    fn kind(&self) -> &'static str {
        Nspawn.name()
    }

    fn ready(&self, host: &dyn Host) -> Vec<Finding> {
        let mut findings = self.root.ready(host);
        findings.push(needs_root(host, "systemd-nspawn"));
        findings.push(match version(host) {
            Ok(version) => Finding::passed("systemd-nspawn", version),
            Err(why) => Finding::refused("systemd-nspawn", why, "install it: apt-get install systemd-container"),
        });
        if self.machine_scope && !host.exists(Path::new("/run/systemd/system")) {
            findings.push(Finding::refused(
                "nspawn-scope",
                "this machine does not run systemd, so nspawn cannot get a scope",
                "leave out `scope`: the program then stays in the control group of the run",
            ));
        }
        for node in self.devices.find(host).iter().filter(|node| !host.exists(node)) {
            let what = format!("'{}' does not exist", node.display());
            findings.push(Finding::refused(
                "devices",
                what,
                "load the driver (nvidia-modprobe -u -c=0), or remove it from `devices`",
            ));
        }
        if let Some(holder) = leftover::lock_holder(host, &self.root.path) {
            findings.push(Finding::refused(
                "nspawn-lock",
                format!("another systemd-nspawn uses this root ({holder})"),
                "end it: machinectl list, or look for systemd-nspawn among the processes",
            ));
        }
        findings
    }

    fn describe(&self, host: &dyn Host) -> Result<Value, Error> {
        let devices: Vec<String> = self.devices.find(host).iter().map(|node| node.display().to_string()).collect();
        Ok(json!({
            "kind": self.kind(),
            "version": version(host).ok(),
            "scope": if self.machine_scope { "machine" } else { "run" },
            "devices": devices,
            "flags": self.flags,
            "root_file_system": self.root.describe(host)?,
            points::KEY: points::missing(host, &self.root.path, self.root.mount_points(host)),
        }))
    }

    /// For `--bind`.
    fn names_folder(&self) -> bool {
        true
    }

    fn hold_to(&self, described: &Value) {
        *self.at_start.lock().unwrap_or_else(PoisonError::into_inner) = contents_at_start(described);
        self.points.hold_to(&self.root.path, described);
    }

    fn work(&self, _: &Place) -> PathBuf {
        PathBuf::from(WORK_INSIDE)
    }

    fn wrap(&self, host: &dyn Host, invocation: &Invocation, place: &Place) -> Result<Job, Error> {
        let passage = PassedVariables::new(&self.declared(host, invocation)?, variables::client(host));
        let mut argv = self.command(host, place, &passage.words);
        argv.extend(invocation.argv.iter().cloned());
        let leftovers = leftover::after(host, place, &machine_name(place), &self.root.path);
        let after = [leftovers].into_iter().chain(self.points.after()).collect();
        Ok(Job { argv, env: passage.client, after, ..job_of(place) })
    }

    fn main_pid(&self, host: &dyn Host, _: &Place, launched: &dyn Launched) -> Option<u32> {
        Self::payload(host, launched)
    }

    fn while_running(&self, host: &dyn Host, place: &Place, launched: &dyn Launched) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = running.entry(machine_name(place)).or_default();
        // Once is enough: a program may change what it shows of itself later on.
        if seen.argv.is_none()
            && let Some(pid) = Self::payload(host, launched)
        {
            *seen = Seen::of(host, pid);
        }
    }

    fn examine(
        &self,
        host: &dyn Host,
        invocation: &Invocation,
        place: &Place,
        ended: &Ended,
    ) -> Result<Examined, Error> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = running.remove(&machine_name(place)).unwrap_or_default();
        drop(running);
        // The command line for nspawn, and the observed arguments of the program, where it lived long enough.
        let given = ended.seen_argv.as_deref().and_then(|argv| behind_dashes(argv, &invocation.argv));
        let mut checks =
            vec![checks::arguments(&invocation.argv, given, "/proc/<pid>/cmdline of systemd-nspawn, behind --")];
        if let Some(argv) = &seen.argv {
            checks.push(checks::arguments(&invocation.argv, Some(argv), "/proc/<pid>/cmdline of the program inside"));
        }
        let at_start = self.at_start.lock().unwrap_or_else(PoisonError::into_inner).clone();
        checks.push(self.root.check(host, at_start.as_deref()));
        let faults = if seen.argv.is_none() && ended.code != Some(0) { not_started(host, place) } else { None };
        let variables = match seen.variables {
            Some(variables) => variables,
            None => self.declared(host, invocation)?,
        };
        Ok(Examined {
            checks,
            state: json!({ "machine": machine_name(place) }),
            code: ended.code,
            variables: Some(variables),
            faults: faults.into_iter().collect(),
            ..Examined::default()
        })
    }

    fn sweep(&self, host: &dyn Host, archive_id: &str) -> Result<Vec<String>, Error> {
        let mut removed = leftover::sweep(host, archive_id, &self.root.path)?;
        removed.extend(self.points.sweep(host)?);
        Ok(removed)
    }
}

/// The words of nspawn's small init on a program that it could not start. They come alone, before any program could have printed.
fn not_started(host: &dyn Host, place: &Place) -> Option<String> {
    let printed = host.read(&place.stderr()).ok()?;
    let line = printed.lines().next().filter(|line| line.starts_with("execv(") && line.contains(" failed: "))?;
    Some(format!("the program did not start: {}", line.trim()))
}

/// The text behind the `--` that ends nspawn's own flags. The program's arguments may hold a `--` too. So the right one is
/// as far from the end as it was placed. Without one, everything is returned and will not match.
fn behind_dashes<'a>(argv: &'a [String], asked: &[String]) -> Option<&'a [String]> {
    let at = argv.len().checked_sub(asked.len() + 1).filter(|at| argv[*at] == "--");
    let at = at.or_else(|| argv.iter().position(|word| word == "--"))?;
    Some(&argv[at + 1..])
}

/// `--bind=FROM:AT`. Colons and backslashes in a path are escaped as nspawn wants them.
fn bind(flag: &str, from: &Path, at: &Path) -> String {
    let escaped = |path: &Path| path.display().to_string().replace('\\', "\\\\").replace(':', "\\:");
    format!("{flag}={}:{}", escaped(from), escaped(at))
}

/// Longest name of a machine: it is a host name too.
const NAME_MAX: usize = 64;

/// Name of the machine of a run: letters, digits and -, short enough for a host name, different for each run. The archive's own name
/// is in front, so that leftovers are found by it.
fn machine_name(place: &Place) -> String {
    let lawful: String = place
        .container()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
        .collect();
    if lawful.len() <= NAME_MAX {
        return lawful.trim_matches('-').to_owned();
    }
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(place.run_id.as_bytes());
    let hash: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{hash}", lawful[..NAME_MAX - hash.len() - 1].trim_matches('-'))
}

fn version(host: &dyn Host) -> Result<String, String> {
    match host.ask(&Question::new(["systemd-nspawn", "--version"])) {
        Ok(answer) if answer.ok() => Ok(answer.text().lines().next().unwrap_or_default().trim().to_owned()),
        Ok(answer) => Err(format!("systemd-nspawn --version: {}", answer.complaint())),
        Err(error) => Err(format!("systemd-nspawn cannot be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(run_id: &str) -> Place {
        Place {
            archive_id: "k3v9x2".to_owned(),
            run_id: run_id.to_owned(),
            folder: "/a".into(),
            work: "/a/work".into(),
            grace_s: 1.0,
        }
    }

    #[test]
    fn a_machines_name_is_a_host_name_and_differs_for_each_run() {
        assert_eq!(machine_name(&place("0001_Native.gemm")), "sparkbench-k3v9x2-0001-native-gemm");
        let long = "a".repeat(80);
        let (one, other) = (machine_name(&place(&format!("{long}1"))), machine_name(&place(&format!("{long}2"))));
        assert_ne!(one, other);
        assert!(one.len() <= NAME_MAX && one.starts_with("sparkbench-k3v9x2-"));
    }

    #[test]
    fn a_colon_in_a_path_does_not_part_a_bind() {
        assert_eq!(bind("--bind", Path::new("/a:b"), Path::new("/c\\d")), "--bind=/a\\:b:/c\\\\d");
    }
}
