//! A suite from its faults to its seal: what is refused, what is only shown, what is gone on with.

use std::collections::BTreeMap;
use std::process::{Child, Command};

use super::scene::{LENIENT, SHORT, archive, campaign, collect, gate, head, runs, verifies};
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::{Ending, run_in};
use crate::support::wait::until;

fn lenient(repeats: u32) -> String {
    format!("{}{SHORT}{LENIENT}", head(repeats))
}

/// Names of what a folder holds.
fn names(folder: &Folder) -> Vec<String> {
    files_below(folder.path()).into_keys().collect()
}

/// What an archive holds, the lock excepted, which has no content.
fn held(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    files_below(&archive(folder))
}

#[test]
fn every_fault_of_a_suite_is_told_at_once_and_nothing_is_written() {
    let folder = Folder::new("suites-faults");
    let text = lenient(1).replace("repeats = 1", "repeats = 0").replace("seed = 7", "sead = 7")
        + "[environments.cave]\nkind = \"chrot\"\n[workloads.none]\nkind = \"command\"\ncommand = []\n";
    folder.put("suite.toml", text);
    for verb in [&["collect", "suite.toml"][..], &["collect", "suite.toml", "--dry-run"], &["check", "suite.toml"]] {
        let ending = run_in(folder.path(), verb, &[]).expect(2);
        ending.complains(&["repeats", "sead", "seed", "chrot", "chroot", "workloads.none.command", "line "]);
    }
    assert_eq!(names(&folder), ["suite.toml"]);
}

#[test]
fn a_dry_run_prints_the_plan_with_its_duration_and_writes_nothing() {
    let folder = Folder::new("suites-dry");
    folder.put("suite.toml", lenient(3));
    let ending = collect(&folder, &["--dry-run"], &[]).expect(0);
    for words in ["3 runs", "duration: ", "001-native-none-job-r01", "003-native-none-job-r03", "interleaved"] {
        assert!(ending.out.contains(words), "'{words}' is not in:\n{}", ending.out);
    }
    let one = collect(&folder, &["--dry-run", "--only", "*r02"], &[]).expect(0);
    assert!(one.out.contains("r02") && !one.out.contains("r01"), "{}", one.out);
    collect(&folder, &["--dry-run", "--only", "no-such*"], &[]).expect(2);
    assert_eq!(names(&folder), ["suite.toml"]);
}

#[test]
fn some_runs_now_and_the_rest_later_make_one_sealed_archive() {
    let folder = Folder::new("suites-only");
    folder.put("suite.toml", lenient(3));
    let ending = collect(&folder, &["--only", "*r02"], &[]).expect(0);
    assert!(ending.err.contains("1 run done, 0 failed, 2 left, continue with --resume"), "{}", ending.err);
    assert!(!archive(&folder).join("seal.json").exists());
    assert_eq!(runs(&folder).into_keys().collect::<Vec<_>>(), ["002-native-none-job-r02"]);
    let half = held(&folder);

    let again: Ending = collect(&folder, &[], &[]).expect(2);
    again.complains(&["is not empty", "--resume"]);
    folder.put("suite.toml", lenient(3).replace("seed = 7", "seed = 8"));
    collect(&folder, &["--resume"], &[]).expect(2).complains(&["was started with another suite", "campaign.json"]);
    assert_eq!(held(&folder), half, "what was refused has changed the archive");

    folder.put("suite.toml", lenient(3));
    collect(&folder, &["--resume"], &[]).expect(0);
    assert!(archive(&folder).join("seal.json").exists());
    verifies(&folder);
    assert_eq!(runs(&folder).len(), 3);
    let first = "runs/002-native-none-job-r02/run.json";
    assert_eq!(held(&folder)[first], half[first], "a finished run is not touched");
}

#[test]
fn a_blocked_order_is_said_in_the_archive_and_so_is_the_usual_one() {
    for (order, begins) in
        [("blocked", "blocked: all runs of one environment"), ("interleaved", "interleaved: each block")]
    {
        let folder = Folder::new(&format!("suites-{order}"));
        folder.put("suite.toml", lenient(2).replace("seed = 7", &format!("seed = 7\norder = \"{order}\"")));
        let ending = collect(&folder, &[], &[]).expect(0);
        let campaign = campaign(&folder);
        assert!(campaign["order"].as_str().unwrap().starts_with(begins), "{}", campaign["order"]);
        assert_eq!(
            campaign["provenance"].to_string().contains("order"),
            order == "blocked",
            "{}",
            campaign["provenance"]
        );
        assert_eq!(ending.err.contains("order: is \"blocked\""), order == "blocked", "{}", ending.err);
    }
}

#[test]
fn a_pre_flight_that_refuses_names_everything_and_begins_no_archive() {
    let folder = Folder::new("suites-preflight");
    let text = lenient(1).replace("disk_free_min_gib = 0", "disk_free_min_gib = 900000")
        + "[environments.cave]\nkind = \"chroot\"\nroot = \"nowhere\"\n";
    folder.put("suite.toml", text);
    let ending = collect(&folder, &[], &[]).expect(3);
    ending.complains(&["machine, disk-space", "900000 GiB", "cave, ", "nowhere"]);
    assert_eq!(names(&folder), ["suite.toml"]);
    let check = run_in(folder.path(), &["check", "suite.toml", "--json"], &[]).expect(3);
    let found: serde_json::Value = serde_json::from_str(&check.out).unwrap();
    assert!(found["refused"].as_u64() >= Some(2), "{found}");
    let places: Vec<&str> =
        found["findings"].as_array().unwrap().iter().filter_map(|it| it["place"].as_str()).collect();
    assert!(places.contains(&"machine") && places.contains(&"environment 'cave'"), "{places:?}");
    let table = run_in(folder.path(), &["check", "suite.toml"], &[]).expect(3);
    assert!(table.out.contains("disk-space") && table.out.contains("nowhere"), "{}", table.out);
    assert_eq!(names(&folder), ["suite.toml"]);
    folder.put("suite.toml", lenient(1));
    run_in(folder.path(), &["check", "suite.toml"], &[]).expect(0);
    assert_eq!(names(&folder), ["suite.toml"]);
}

/// Keeps this machine at work, with three programs at the least priority, so that its load is not that of a machine at rest.
struct Busy(Vec<Child>);

impl Busy {
    fn new() -> Self {
        // Each ends with this process, however that ends.
        let work = format!("while [ -e /proc/{} ]; do :; done", std::process::id());
        let start = || Command::new("nice").args(["-n", "19", "/bin/sh", "-c", &work]).spawn().expect("nice starts");
        Self((0..3).map(|_| start()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

#[test]
fn a_gate_that_refuses_one_run_fails_that_run_and_the_campaign_goes_on() {
    let folder = Folder::new("suites-gate");
    let _busy = Busy::new();
    // The least limit that a suite can set.
    let text = lenient(2).replace("host_load_max_per_core = false", "host_load_max_per_core = 0.01\nwait_max_s = 1");
    folder.put("suite.toml", text);
    // The average follows within the minute, and stays above the limit as long as there is work.
    until("the load is above the limit", || run_in(folder.path(), &["check", "suite.toml"], &[]).code == Some(3));
    let ending = collect(&folder, &[], &[]).expect(4);
    ending.complains(&["host-load", "still refuses after", "001-native-none-job-r01", "002-native-none-job-r02"]);
    verifies(&folder);
    let runs = runs(&folder);
    assert_eq!(runs.len(), 2);
    for run in runs.values() {
        assert!(run["failure"].as_str().unwrap().starts_with("gate 'host-load': "), "{}", run["failure"]);
        assert_eq!(gate(run, "host-load")["level"], "refused");
        assert!(gate(run, "host-load")["waited_s"].as_f64() >= Some(1.0));
    }
}
