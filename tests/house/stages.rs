//! What a landing makes of its stages: the scripts of `.ci/` themselves, with stages made for the test.
//!
//! In:  `.ci/run` and `.ci/common.sh`, copied beside made stages.  Out: nothing.
//! Not here: the real stages.
#![cfg(unix)]

use std::process::{Command, Output, Stdio};

use crate::support::folder::Folder;
use crate::support::limit::finished;
use crate::support::needs::skip;
use crate::support::program::repository;

/// A copy of `.ci/` with stages of these bodies. `change` may touch the text of `run`.
fn landing(stages: &[(&str, &str)], change: impl Fn(String) -> String) -> Option<Folder> {
    if Command::new("bash").arg("--version").output().is_err() {
        skip("bash is not there");
        return None;
    }
    let folder = Folder::new("stages");
    let text = |name: &str| std::fs::read_to_string(repository().join(".ci").join(name)).unwrap();
    folder.put(".ci/run", change(text("run")));
    folder.put(".ci/common.sh", text("common.sh"));
    for (name, body) in stages {
        folder.put(&format!(".ci/{name}"), format!(". \"$(dirname \"$0\")/common.sh\"\n{body}\ncloses\n"));
    }
    Some(folder)
}

fn run(folder: &Folder, stages: &[&str]) -> (Output, String) {
    let mut command = Command::new("bash");
    command.arg(folder.path().join(".ci/run")).args(stages).current_dir(folder.path()).stdin(Stdio::null());
    // What this machine has for the real stages must not be touched.
    command.env("CARGO_TARGET_DIR", folder.path().join("target")).env_remove("SPARKBENCH_CI_WORK");
    let output = finished(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, said)
}

/// A step that a failing command ends, and one after it.
const FAILS: &str =
    "bad() { true; false; echo 'not reached'; }\nstep 'the bad one' bad\nstep 'the next one' echo 'is reached'";

/// Whatever is fetched does not come. Nobody waits between the tries.
const UNFETCHED: &str = "sleep() { :; }\ngone() { fetched false; echo 'not reached'; }\nneeded 'the package' gone\nstep 'what needs it' echo 'not reached'";

#[test]
fn a_stage_that_fails_fails_the_landing_and_the_others_are_run() {
    let Some(folder) = landing(&[("good", "step 'one' true"), ("bad", FAILS)], |text| text) else { return };
    let (output, said) = run(&folder, &["bad", "good"]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in
        ["the bad one: FAILED with 1", "is reached", "bad: failed: the bad one", "bad: FAILED with 1", "good: passed"]
    {
        assert!(said.contains(words), "'{words}' is not in:\n{said}");
    }
    assert!(!said.contains("not reached"), "{said}");
    assert!(said.ends_with("stages: 1 passed, 1 failed, 0 skipped\n"), "{said}");
    let (output, said) = run(&folder, &["good"]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.ends_with("stages: 1 passed, 0 failed, 0 skipped\n"), "{said}");
}

#[test]
fn what_cannot_be_fetched_is_told_from_what_fails_and_fails_the_first_stages_alone() {
    let Some(folder) = landing(&[("good", "step 'one' true"), ("gone", UNFETCHED)], |text| text) else { return };
    let (output, said) = run(&folder, &["good", "good", "good", "gone"]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("gone: could not be fetched: the package") && said.contains("gone: NOT JUDGED"), "{said}");
    assert!(said.ends_with("stages: 3 passed, 0 failed, 1 skipped\n") && !said.contains("not reached"), "{said}");
    let tries = String::from_utf8_lossy(&output.stderr).matches("failed to fetch").count();
    assert_eq!(tries, 3);
    let (output, said) = run(&folder, &["gone", "good"]);
    assert_eq!(output.status.code(), Some(1), "nothing is known where a first stage cannot run: {said}");
}

#[test]
fn after_its_time_no_further_stage_is_begun_but_the_first_three_are() {
    let late = |text: String| {
        assert!(text.contains("last_begin=$((55 * 60))"), "the minute after which no stage is begun");
        text.replace("last_begin=$((55 * 60))", "last_begin=-1")
    };
    let Some(folder) = landing(&[("good", "step 'one' true"), ("bad", FAILS)], late) else { return };
    let (output, said) = run(&folder, &["good", "good", "good", "bad"]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("bad: NOT BEGUN"), "{said}");
    assert!(said.ends_with("stages: 3 passed, 0 failed, 1 skipped\n"), "{said}");
}
