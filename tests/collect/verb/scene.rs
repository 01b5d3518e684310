//! A folder with a suite in it, the program run on that suite, and its archive read as a stranger would.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::program::{Ending, run_in};
use crate::support::tree::put_program;

/// Gates that a test machine cannot hold are off, and pauses are none. A program that is told to end gets all the time that a busy machine
/// takes for it.
pub const LENIENT: &str = "[gates]\ngpu_required = false\ngpu_temp_max_c = false\ncooldown_min_s = 0\nhost_load_max_per_core = false\n\
                           memory_available_min_gib = false\ndisk_free_min_gib = 0\n\
                           [watchdogs]\nmemory_floor_gib = false\ngrace_s = 300\nkernel_log = false\n";

/// One environment, one workload that is over at once.
pub const SHORT: &str = "[environments.native]\n[workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", \"echo ttft_ms=12.5\"]\n\
                         reports = [{ path = \"stdout\", parser = \"lines\" }]\nexpected_s = 0.1\n";

/// The head of a suite.
pub fn head(repeats: u32) -> String {
    format!(
        "schema = \"sparkbench.suite/1\"\nname = \"scene\"\nrepeats = {repeats}\nseed = 7\nprimary = [\"ttft_ms\"]\n\
         baseline = \"native\"\n"
    )
}

/// Runs the suite `suite.toml` of a folder into `archive` beside it.
pub fn collect(folder: &Folder, more: &[&str], variables: &[(&str, &str)]) -> Ending {
    let arguments = [&["collect", "suite.toml", "--archive", "archive"], more].concat();
    run_in(folder.path(), &arguments, variables)
}

/// The archive of [`collect`].
pub fn archive(folder: &Folder) -> PathBuf {
    folder.path().join("archive")
}

/// `campaign.json`.
pub fn campaign(folder: &Folder) -> Value {
    json(&archive(folder).join("campaign.json"))
}

/// Every `run.json`, by the name of its folder.
pub fn runs(folder: &Folder) -> BTreeMap<String, Value> {
    let entries = fs::read_dir(archive(folder).join("runs")).expect("the archive has runs");
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), json(&entry.path().join("run.json"))))
        .collect()
}

/// A JSON file.
#[track_caller]
pub fn json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Why a run failed. Empty where it did not.
pub fn failure(run: &Value) -> &str {
    run["failure"].as_str().unwrap_or_default()
}

/// The result of the first check of an item.
pub fn check<'v>(run: &'v Value, item: &str) -> Option<&'v str> {
    run["checks"].as_array()?.iter().find(|check| check["item"] == item)?["result"].as_str()
}

/// A gate's finding.
#[track_caller]
pub fn gate<'v>(run: &'v Value, name: &str) -> &'v Value {
    found(&run["gates"], name)
}

/// A watchdog's finding.
#[track_caller]
pub fn watched<'v>(run: &'v Value, name: &str) -> &'v Value {
    found(&run["watched"], name)
}

#[track_caller]
fn found<'v>(findings: &'v Value, name: &str) -> &'v Value {
    let all = findings.as_array().expect("a list of findings");
    all.iter().find(|finding| finding["gate"] == name).unwrap_or_else(|| panic!("no '{name}' in {findings}"))
}

/// The archive fits its hashes.
#[track_caller]
pub fn verifies(folder: &Folder) {
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
}

/// A line of a `PATH` with a folder in front.
pub fn path_with(front: &Path) -> String {
    format!("{}:{}", front.display(), std::env::var("PATH").unwrap_or_default())
}

/// A shell script that may be run.
pub fn script(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    put_program(&path, text);
    path
}
