//! Suites of short native runs of a shell script, and a collector at work on one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::left;
use crate::support::program::{Ending, fair_start, finished};
use crate::support::tree::text;
use crate::support::wait::until;

/// Gates that a test machine cannot hold are off. What the tests are about is not.
const SETTINGS: &str = "[gates]\ngpu_required = false\ngpu_temp_max_c = false\ncooldown_min_s = 0\nhost_load_max_per_core = false\n\
    memory_available_min_gib = false\ndisk_free_min_gib = 0\n[watchdogs]\nmemory_floor_gib = false\nkernel_log = false\n";

/// When a run is ended, seconds.
pub struct Limits {
    /// After its start.
    pub time_s: u32,
    /// Between SIGTERM and SIGKILL.
    pub grace_s: u32,
}

/// For runs that must end well: no machine is so slow that they meet these.
pub const WIDE: Limits = Limits { time_s: 3600, grace_s: 300 };

/// Leaves the file and the figure that the suite expects.
pub const WELL: &str = "echo kept > \"$1/left.txt\"\necho 'ttft_ms=12.5'\n";

/// Writes a suite whose workload is `script`, which gets the run's own folder as `$1`.
pub fn suite(folder: &Path, script: &str, repeats: usize, limits: &Limits) {
    let Limits { time_s, grace_s } = limits;
    fs::write(folder.join("job.sh"), format!("#!/bin/sh\n{script}")).unwrap();
    let text = format!(
        "schema = \"sparkbench.suite/1\"\nname = \"short runs\"\nrepeats = {repeats}\nseed = 7\nprimary = [\"ttft_ms\"]\n\
         [environments.native]\n[workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"{{work}}/job.sh\", \"{{work}}\"]\n\
         assets = [\"job.sh\"]\nreports = [{{ path = \"stdout\", parser = \"lines\" }}]\n\
         expect = {{ files = [\"left.txt\"], metrics = [\"ttft_ms\"] }}\nexpected_s = 0.1\ntime_limit_s = {time_s}\n\
         {SETTINGS}grace_s = {grace_s}\n"
    );
    fs::write(folder.join("suite.toml"), text).unwrap();
}

/// Lines of a script that wait until a file is there.
pub fn hold(file: &Path) -> String {
    format!("while [ ! -e '{}' ]; do sleep 0.05; done\n", file.display())
}

/// A collector at work. Killed when the test ends before it does.
pub struct Collector(Option<Child>);

impl Collector {
    /// Starts `collect suite.toml --archive ARCHIVE` in a folder.
    pub fn start(folder: &Path, archive: &Path, more: &[&str]) -> Self {
        let archive = archive.to_str().expect("folders of tests are text");
        Self::verb(folder, &[&["collect", "suite.toml", "--archive", archive], more].concat())
    }

    /// Starts any other verb in the same way.
    pub fn verb(folder: &Path, arguments: &[&str]) -> Self {
        fair_start();
        let child = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Self(Some(child))
    }

    pub fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Whether it has ended.
    pub fn is_over(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    /// Its end and its words.
    pub fn end(mut self) -> Ending {
        let output = finished(self.0.take().unwrap());
        Ending {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Folder of the run that has begun and has no outcome yet.
pub fn in_flight(archive: &Path) -> Option<PathBuf> {
    let mut runs = fs::read_dir(archive.join("runs")).ok()?.flatten().map(|entry| entry.path());
    runs.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
}

/// A run of the archive is at work: its script has put `here` into its folder.
pub fn at_work(archive: &Path) -> Option<PathBuf> {
    in_flight(archive).filter(|path| path.join("work/here").exists())
}

/// A run of the archive is at work, and everything that is kept open for it is open: a sample was taken.
pub fn sampled(archive: &Path) -> Option<PathBuf> {
    at_work(archive).filter(|path| text(&path.join("telemetry.csv")).lines().count() > 1)
}

/// Lines of the journal of one event.
pub fn events(archive: &Path, event: &str) -> Vec<Value> {
    let text = fs::read_to_string(archive.join("journal.jsonl")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["event"] == event).collect()
}

/// Processes of an archive, once those that are just ending have gone.
pub fn expect_no_process(id: &str) {
    until("no process of the archive is left", || left::marked(id).is_empty());
}
