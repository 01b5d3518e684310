//! `native`: a child process on the machine itself, with a declared environment.
//!
//! In:  `env`, `inherit`, `cwd`.  Out: a job that is the command line itself.
//! Not here: starting it and its control group (see `host`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::checks;
use super::kind::{Environment, EnvironmentKind, Examined, Invocation};
use super::place::{Place, job_of};
use super::variables::{self, Inherit};
use sparkbench_archive::shown;
use sparkbench_host::{Ended, Host, Job, Launched};
use sparkbench_model::Finding;
use sparkbench_plan::Reader;
use sparkbench_text::error::Error;

/// The kind.
pub(super) struct Native;

impl EnvironmentKind for Native {
    fn name(&self) -> &'static str {
        super::kind::NATIVE
    }

    fn read(&self, settings: &mut Reader<'_>, folder: &Path) -> Option<Box<dyn Environment>> {
        let env = variables::declared(settings);
        let inherit = Inherit::read(settings);
        let cwd = settings.text("cwd").map(|path| folder.join(path));
        Some(Box::new(Machine { env, inherit, cwd }))
    }
}

/// The machine itself, as one suite wants it.
struct Machine {
    env: BTreeMap<String, String>,
    inherit: Inherit,
    /// Absent is the run's own folder.
    cwd: Option<PathBuf>,
}

impl Environment for Machine {
    fn kind(&self) -> &'static str {
        Native.name()
    }

    fn ready(&self, host: &dyn Host) -> Vec<Finding> {
        match &self.cwd {
            Some(cwd) if !host.exists(cwd) => vec![Finding::refused(
                "working-folder",
                format!("'{}' does not exist", shown(cwd)),
                "make the folder, or leave out `cwd`: each run then starts in its own folder",
            )],
            _ => Vec::new(),
        }
    }

    fn describe(&self, host: &dyn Host) -> Result<serde_json::Value, Error> {
        Ok(json!({
            "kind": self.kind(),
            "env": self.env,
            "inherit": self.inherit.patterns,
            "inherited": self.inherit.of(host.variables()),
            "cwd": self.cwd.as_deref().map(shown),
        }))
    }

    fn search_path(&self, host: &dyn Host) -> Option<String> {
        variables::merged(&[&self.inherit.of(host.variables()), &self.env]).remove("PATH")
    }

    fn work(&self, place: &Place) -> PathBuf {
        place.work.clone()
    }

    fn wrap(&self, host: &dyn Host, invocation: &Invocation, place: &Place) -> Result<Job, Error> {
        let inherited = self.inherit.of(host.variables());
        Ok(Job {
            argv: invocation.argv.clone(),
            env: variables::merged(&[&inherited, &self.env, &invocation.env]),
            cwd: Some(self.cwd.clone().unwrap_or_else(|| place.work.clone())),
            ..job_of(place)
        })
    }

    fn main_pid(&self, _: &dyn Host, _: &Place, launched: &dyn Launched) -> Option<u32> {
        Some(launched.pid())
    }

    fn examine(&self, _: &dyn Host, invocation: &Invocation, _: &Place, ended: &Ended) -> Result<Examined, Error> {
        let seen = checks::arguments(&invocation.argv, ended.seen_argv.as_deref(), checks::CMDLINE);
        Ok(Examined { checks: vec![seen], code: ended.code, ..Examined::default() })
    }

    fn sweep(&self, _: &dyn Host, _: &str) -> Result<Vec<String>, Error> {
        // Processes and control groups are found by their marker, for every environment alike (see `Host::end_marked`).
        Ok(Vec::new())
    }
}
