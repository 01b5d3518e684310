//! Issue 30: a campaign that ended at a look and has lost a run since counts that run as lost, not as one that was not needed.

use std::fs;

use serde_json::Value;

use super::scene::{LENIENT, archive, collect, json, runs};
use crate::support::folder::Folder;
use crate::support::program::run_in;

/// Two environments that differ by far more than their runs do, so that the first look decides.
const SUITE: &str = "schema = \"sparkbench.suite/1\"\nname = \"scene\"\nseed = 7\nprimary = [\"ttft_ms\"]\nbaseline = \"native\"\n\
    repeats = { min = 3, max = 10, until = \"decided\", looks = [3, 5, 10], spending = \"pocock\" }\n\
    [margins_pct]\nttft_ms = 2\n\
    [environments.native]\nenv = { BASE = \"100\" }\n[environments.other]\nkind = \"native\"\nenv = { BASE = \"140\" }\n\
    [workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", \"echo ttft_ms=$BASE.{repeat}\"]\n\
    reports = [{ path = \"stdout\", parser = \"lines\" }]\nexpected_s = 0.1\n";

#[test]
fn a_run_that_is_lost_after_the_last_look_is_not_one_that_was_not_needed() {
    let folder = Folder::new("verb-archive-opens");
    folder.put("suite.toml", format!("{SUITE}{LENIENT}"));
    collect(&folder, &[], &[]).expect(0).complains(&["14 runs of the plan were not needed"]);
    let first = runs(&folder).into_keys().next().unwrap();
    fs::write(archive(&folder).join("runs").join(&first).join("stdout.log"), "other").unwrap();
    let ending = collect(&folder, &["--resume", "--accept-loss"], &[]).expect(0);
    let lost = "1 run was lost after that look and will not be measured again";
    ending.complains(&["5 runs done", "sealed with 1 loss on record", "14 runs of the plan were not needed", lost]);
    let status = run_in(folder.path(), &["status", "archive"], &[]).expect(0).out;
    for words in ["complete, 5 of 20 runs done, 14 skipped, 1 lost", "14 runs were not needed", lost] {
        assert!(status.contains(words), "'{words}' is not in:\n{status}");
    }
    let said: Value =
        serde_json::from_str(&run_in(folder.path(), &["status", "archive", "--json"], &[]).expect(0).out).unwrap();
    assert_eq!((&said["runs"]["skipped"], &said["runs"]["lost"]), (&14.into(), &1.into()));
    assert_eq!(said["skipped"].as_array().map(Vec::len), Some(14));
    let verified = run_in(folder.path(), &["verify", "archive", "--json"], &[]).expect(0);
    verified.complains(&["5 of 20 planned runs done, 14 skipped, 1 lost", "1 loss on record", "all match"]);
    let verified: Value = serde_json::from_str(&verified.out).unwrap();
    assert_eq!((&verified["runs"]["skipped"], &verified["runs"]["lost"]), (&14.into(), &1.into()));
    assert_eq!(json(&archive(&folder).join("seal.json"))["lost"][0]["run"], first.as_str());
}
