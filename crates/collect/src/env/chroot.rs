//! `chroot`: a root file system entered in a mount namespace of its own, so that nothing is left mounted.
//!
//! In:  `root`, `env`, `image_env`, `binds`, `driver_libraries`, `tmp`.  Out: a job with a root and its mounts.
//! Not here: mounting (see `host`).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::kind::{Environment, EnvironmentKind, Examined, Invocation};
use super::place::{Place, WORK_INSIDE, job_of};
use super::points::{self, Points};
use super::root::RootFolder;
use super::{checks, variables};
use sparkbench_host::{Ended, Host, Job, Launched, Mount, Root};
use sparkbench_model::Finding;
use sparkbench_plan::Reader;
use sparkbench_text::error::Error;

/// The kind.
pub(super) struct Chroot;

impl EnvironmentKind for Chroot {
    fn name(&self) -> &'static str {
        "chroot"
    }

    fn read(&self, settings: &mut Reader<'_>, folder: &Path) -> Option<Box<dyn Environment>> {
        let root = RootFolder::read(settings, folder);
        let host_tmp = settings.choice("tmp", &["private", "host"]).as_deref() == Some("host");
        Some(Box::new(Entered { root: root?, host_tmp, at_start: Mutex::new(None), points: Points::default() }))
    }
}

/// One root to enter.
struct Entered {
    root: RootFolder,
    /// The machine's own `/tmp` instead of an empty one.
    host_tmp: bool,
    /// Hash of its contents when the campaign began.
    at_start: Mutex<Option<String>>,
    points: Points,
}

impl Entered {
    /// Mounts in order: kernel file systems, the driver, the suite's binds, and the run's own folder. It comes last so that no bind of the
    /// suite can hide it.
    fn mounts(&self, host: &dyn Host, place: &Place) -> Vec<Mount> {
        let tree = |path: &str| Mount::Bind {
            from: PathBuf::from(path),
            at: PathBuf::from(path),
            read_only: false,
            recursive: true,
            optional: false,
        };
        let mut mounts = vec![
            Mount::Proc { at: PathBuf::from("/proc") },
            tree("/sys"),
            tree("/dev"),
            // Empty and its own: segments of an earlier run or of another program are neither seen nor left.
            Mount::Tmpfs { at: PathBuf::from("/dev/shm") },
        ];
        mounts.push(if self.host_tmp { tree("/tmp") } else { Mount::Tmpfs { at: PathBuf::from("/tmp") } });
        mounts.extend(self.root.driver_files(host).into_iter().map(|file| Mount::Bind {
            from: file.from,
            at: file.at,
            read_only: true,
            recursive: false,
            optional: false,
        }));
        mounts.extend(self.root.binds.iter().map(|bind| Mount::Bind {
            from: bind.from.clone(),
            at: bind.at.clone(),
            read_only: bind.read_only,
            recursive: true,
            optional: false,
        }));
        mounts.push(Mount::Bind {
            from: place.work.clone(),
            at: PathBuf::from(WORK_INSIDE),
            read_only: false,
            recursive: false,
            optional: false,
        });
        mounts
    }
}

impl Environment for Entered {
    fn kind(&self) -> &'static str {
        Chroot.name()
    }

    fn ready(&self, host: &dyn Host) -> Vec<Finding> {
        let mut findings = self.root.ready(host);
        findings.push(needs_root(host, "entering a root file system and mounting in it"));
        findings
    }

    fn describe(&self, host: &dyn Host) -> Result<Value, Error> {
        Ok(json!({
            "kind": self.kind(),
            "tmp": if self.host_tmp { "host" } else { "private" },
            "root_file_system": self.root.describe(host)?,
            points::KEY: points::missing(host, &self.root.path, self.root.mount_points(host)),
        }))
    }

    fn hold_to(&self, described: &Value) {
        *self.at_start.lock().unwrap_or_else(PoisonError::into_inner) = contents_at_start(described);
        self.points.hold_to(&self.root.path, described);
    }

    fn work(&self, _: &Place) -> PathBuf {
        PathBuf::from(WORK_INSIDE)
    }

    fn wrap(&self, host: &dyn Host, invocation: &Invocation, place: &Place) -> Result<Job, Error> {
        let declared = self.root.variables(host)?;
        Ok(Job {
            argv: invocation.argv.clone(),
            env: variables::merged(&[&declared, &invocation.env]),
            cwd: Some(self.root.cwd.clone().unwrap_or_else(|| PathBuf::from(WORK_INSIDE))),
            root: Some(Root { path: self.root.path.clone(), mounts: self.mounts(host, place) }),
            ..job_of(place)
        })
    }

    fn main_pid(&self, _: &dyn Host, _: &Place, launched: &dyn Launched) -> Option<u32> {
        Some(launched.pid())
    }

    fn examine(&self, host: &dyn Host, invocation: &Invocation, _: &Place, ended: &Ended) -> Result<Examined, Error> {
        let at_start = self.at_start.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let checks = vec![
            checks::arguments(&invocation.argv, ended.seen_argv.as_deref(), checks::CMDLINE),
            self.root.check(host, at_start.as_deref()),
        ];
        Ok(Examined { checks, code: ended.code, ..Examined::default() })
    }

    fn sweep(&self, host: &dyn Host, _: &str) -> Result<Vec<String>, Error> {
        // Mounts live in the namespace of the processes and vanish with the last of them (see `Host::end_marked`). What they
        // were mounted on stays when the guard was killed as well.
        self.points.sweep(host)
    }
}

/// Contents from [`RootFolder::describe`], inside a description of an environment.
pub(super) fn contents_at_start(described: &Value) -> Option<String> {
    described.pointer("/root_file_system/contents_sha256").and_then(Value::as_str).map(str::to_owned)
}

/// A finding on whether we are root.
pub(super) fn needs_root(host: &dyn Host, what: &str) -> Finding {
    if host.is_root() {
        Finding::passed("root-user", "running as root")
    } else {
        Finding::refused(
            "root-user",
            format!("{what} needs root"),
            "run sparkbench with sudo, or leave this environment out",
        )
    }
}
