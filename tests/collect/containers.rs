//! Containers for real: which image ran, which flags, what the archive gets of them.
#![cfg(all(feature = "collect", target_os = "linux"))]

use crate::support::environment::{Stage, ask, build_root, import, invocation, read, say, stage};
use crate::support::tree::{HELD, unique, with_argument};
use crate::support::wait::until;
use sparkbench::error::Kind;
use sparkbench::host::process;
use sparkbench::model::finding::Level;

/// Reads settings that must be lawful.
fn environment_of(stage: &Stage, text: &str) -> Box<dyn sparkbench::env::Environment> {
    let (environment, faults) = read(stage.kind, text, stage.folder.path());
    assert!(faults.is_empty(), "{faults:?}");
    environment.unwrap()
}

/// Reading and remedy of the finding of a gate.
fn finding(environment: &dyn sparkbench::env::Environment, stage: &Stage, gate: &str) -> (Level, String, String) {
    let findings = environment.ready(&stage.machine);
    let found = findings.iter().find(|finding| finding.gate == gate).unwrap_or_else(|| panic!("{findings:?}"));
    (found.level, found.reading.clone(), found.remedy.clone().unwrap_or_default())
}

/// Another image, which prints something else, under the tag of the stage.
fn move_tag(stage: &Stage) -> String {
    let root = stage.folder.path().join("other");
    build_root(&root);
    std::fs::write(root.join("etc/other"), "other").unwrap();
    import(stage.kind, &root, stage.tag())
}

#[test]
fn a_tag_is_refused_and_the_remedy_is_what_fixes_it() {
    for kind in ["docker", "podman"] {
        let Some(stage) = stage(kind, "tag", "") else { continue };
        let by_tag = environment_of(&stage, &format!("image = '{}'", stage.tag()));
        let (level, _, remedy) = finding(by_tag.as_ref(), &stage, "image");
        assert_eq!(level, Level::Refused);
        let name = remedy.split('"').nth(1).unwrap();
        let fixed = environment_of(&stage, &format!("image = '{name}'"));
        assert_eq!(finding(fixed.as_ref(), &stage, "image").0, Level::Passed, "{remedy}");
        let allowed = environment_of(&stage, &format!("image = '{}'\nallow_moving_tag = true", stage.tag()));
        assert_eq!(finding(allowed.as_ref(), &stage, "image").0, Level::Passed);
        let missing = environment_of(&stage, "image = 'sparkbench-test:no-such'");
        let (level, reading, remedy) = finding(missing.as_ref(), &stage, "image");
        assert_eq!(level, Level::Refused);
        assert!(
            reading.contains("is not on this machine") && remedy.contains(&format!("{kind} pull")),
            "{reading} {remedy}"
        );
    }
}

#[test]
fn a_tag_that_moves_between_two_runs_changes_nothing() {
    let Some(mut stage) = stage("docker", "moving", "") else { return };
    stage.environment = environment_of(&stage, &format!("image = '{}'\nallow_moving_tag = true", stage.tag()));
    let described = stage.environment.describe(&stage.machine).unwrap();
    stage.environment.hold_to(&described);
    let moved = move_tag(&stage);
    assert_ne!(described["image"]["id"], moved.as_str());
    let run = stage.run("r1", &["sh", "-c", "[ ! -e /etc/other ]"], &[]);
    assert_eq!(run.code(), Some(0), "the image of the start ran");
    assert_eq!(run.check("image_digest"), ["match"]);
}

#[test]
fn a_container_of_another_image_is_found_out() {
    let Some(stage) = stage("docker", "wrong", "") else { return };
    stage.environment.hold_to(&stage.environment.describe(&stage.machine).unwrap());
    let other = move_tag(&stage);
    let place = stage.place("r1");
    let invocation = invocation(&["sh", "-c", "exit 0"], &[]);
    let job = stage.environment.wrap(&stage.machine, &invocation, &place).unwrap();
    // Someone puts another container in its place, with other arguments.
    let name = place.container();
    say(&["docker", "rm", "--force", &name]);
    let label = format!("sparkbench.archive={}", stage.archive_id);
    say(&["docker", "create", "--name", &name, "--label", &label, &other, "sh", "-c", "mkdir -p /sparkbench/work"]);
    let mut launched = sparkbench::host::Host::launch(&stage.machine, &job).unwrap();
    let ended = stage.watch(&place, launched.as_mut());
    let run = stage.finish(place, launched, &invocation, ended);
    assert_eq!(run.check("image_digest"), ["mismatch"]);
    assert!(run.check("arguments").contains(&"mismatch"));
}

#[test]
fn a_container_that_someone_removes_is_a_fault_and_not_an_answer() {
    let Some(stage) = stage("docker", "gone", "") else { return };
    let place = stage.place("r1");
    let time = unique();
    let invocation = invocation(&["sleep", &time], &[]);
    let mut launched = stage.start(&place, &invocation);
    until("it runs", || !with_argument(&time).is_empty());
    say(&["docker", "rm", "--force", &place.container()]);
    let ended = stage.watch(&place, launched.as_mut());
    let run = stage.finish(place, launched, &invocation, ended);
    assert_eq!(run.check("arguments"), ["unknown"]);
    assert_eq!(run.check("image_digest"), ["unknown"]);
    assert!(run.examined.faults[0].contains("was removed while it ran"), "{:?}", run.examined.faults);
}

#[test]
fn the_engines_own_word_and_the_control_groups_figures_are_kept() {
    let more = "flags = ['--cpuset-cpus=0', '--memory=64m', '--init', '--network=none']";
    let Some(stage) = stage("docker", "kept", more) else { return };
    let place = stage.place("r1");
    let script = format!("{HELD}exit 5");
    let invocation = invocation(&["sh", "-c", &script], &[]);
    let mut launched = stage.start(&place, &invocation);
    // Seen while it runs, and only then let go on. Behind `--init` the program is the second process.
    until("the program is looked at", || {
        let pid = stage.environment.main_pid(&stage.machine, &place, launched.as_ref());
        let is_it = |pid| process::arguments(pid).is_some_and(|words| words.contains(&script));
        let there = pid.is_some_and(is_it);
        stage.environment.while_running(&stage.machine, &place, launched.as_ref());
        there
    });
    let go = stage.folder.put("go", "");
    let inside = stage.environment.work(&place).join("go");
    say(&["docker", "cp", go.to_str().unwrap(), &format!("{}:{}", place.container(), inside.display())]);
    let ended = stage.watch(&place, launched.as_mut());
    let run = stage.finish(place, launched, &invocation, ended);
    assert_eq!(run.code(), Some(5));
    let inspect: serde_json::Value = serde_json::from_slice(&run.examined.files["inspect.json"]).unwrap();
    let host = &inspect[0]["HostConfig"];
    assert_eq!((host["CpusetCpus"].as_str(), host["Memory"].as_i64()), (Some("0"), Some(64 << 20)));
    assert_eq!((host["Init"].as_bool(), host["NetworkMode"].as_str()), (Some(true), Some("none")));
    assert_eq!(inspect[0]["Config"]["Labels"]["sparkbench.run"], "r1");
    let figures: serde_json::Value = serde_json::from_slice(&run.examined.files["cgroup.json"]).unwrap();
    assert!(figures["readings"].as_u64().unwrap() >= 1);
    let limit = figures["limits"]
        .as_object()
        .unwrap()
        .iter()
        .find(|(name, _)| name.ends_with("memory.limit_in_bytes") || name.ends_with("memory.max"));
    assert_eq!(limit.unwrap().1.as_str().unwrap().trim(), (64 << 20).to_string());
    assert!(
        run.check("arguments").len() == 2 && !run.check("arguments").contains(&"mismatch"),
        "{:?}",
        run.examined.checks
    );
    assert!(!run.examined.files.contains_key("engine-stdout.log"), "what was attached is all there is");
    let described = stage.environment.describe(&stage.machine).unwrap();
    assert_eq!(described["flags"][1], "--memory=64m");
    assert!(described["engine"]["storage_driver"].is_string() && described["engine"]["version"]["Server"].is_object());
}

#[test]
fn a_container_that_needs_more_memory_than_it_has_is_named_so() {
    let Some(stage) = stage("docker", "memory", "flags = ['--memory=16m', '--memory-swap=16m']") else { return };
    // Time for the engine to listen for the kernel's word. Where it is not enough, the kernel's own log has it.
    let run = stage.run("r1", &["sh", "-c", "sleep 1; exec tail /dev/zero"], &[]);
    assert_ne!(run.code(), Some(0));
    assert!(run.examined.out_of_memory, "{:?}", run.examined.state);
}

#[test]
fn a_flag_that_the_engine_does_not_know_is_an_error_in_its_own_words() {
    for kind in ["docker", "podman"] {
        let Some(stage) = stage(kind, "flag", "") else { continue };
        let id = say(&[kind, "image", "inspect", "-f", "{{.Id}}", stage.tag()]);
        let environment = environment_of(&stage, &format!("image = '{id}'\nflags = ['--no-such-flag=1']"));
        let error = environment.wrap(&stage.machine, &invocation(&["true"], &[]), &stage.place("r1")).unwrap_err();
        assert_eq!(error.kind, Kind::Workload);
        assert!(error.to_string().contains("no-such-flag"), "{error}");
        assert_eq!(stage.left("no-such-flag"), Vec::<String>::new());
    }
}

#[test]
fn a_mounted_folder_serves_a_root_that_is_read_only() {
    let Some(stage) = stage("docker", "mount", "work = 'mount'\nflags = ['--read-only']") else { return };
    let run = stage.run("r1", &["sh", "-c", "echo there > file; touch /etc/x"], &[]);
    assert_ne!(run.code(), Some(0), "the root is read-only");
    assert_eq!(run.file("file"), "there\n");
}

#[test]
fn an_image_with_an_entrypoint_runs_the_program_or_the_entrypoint_as_asked() {
    let Some(mut stage) = stage("docker", "entrypoint", "") else { return };
    let root = stage.folder.path().join("root");
    let pipe = "tar -C \"$1\" -c . | docker import --change 'ENTRYPOINT [\"sh\", \"-c\", \"echo before; exec \\\"$@\\\"\", \"entry\"]' - \"$2\"";
    say(&["sh", "-c", pipe, "sh", root.to_str().unwrap(), stage.tag()]);
    for (word, expected) in [("clear", "program\n"), ("keep", "before\nprogram\n")] {
        let text = format!("image = '{}'\nallow_moving_tag = true\nentrypoint = '{word}'", stage.tag());
        stage.environment = environment_of(&stage, &text);
        let run = stage.run(word, &["printf", "program\\n"], &[]);
        assert_eq!(run.stdout, expected);
        assert!(!run.check("arguments").contains(&"mismatch"), "{:?}", run.examined.checks);
    }
}

#[test]
fn a_user_of_the_images_own_can_write_into_the_runs_folder() {
    let Some(stage) = stage("docker", "user", "flags = ['--user=1234:1234']") else { return };
    let run = stage.run("r1", &["sh", "-c", "id -u > who"], &[]);
    assert_eq!(run.file("who"), "1234\n", "{}", run.stderr);
}

#[test]
fn what_was_attached_is_completed_from_the_engines_log_when_the_client_was_killed() {
    let Some(stage) = stage("docker", "log", "") else { return };
    let place = stage.place("r1");
    let time = unique();
    let invocation = invocation(&["sh", "-c", &format!("echo first; sleep {time}; echo never")], &[]);
    let mut launched = stage.start(&place, &invocation);
    until("it runs", || !with_argument(&time).is_empty());
    until("the engine has its words", || say(&["docker", "logs", &place.container()]) == "first");
    ask(&["kill", "-9", &launched.pid().to_string()]);
    let ended = stage.watch(&place, launched.as_mut());
    assert_eq!(ended.signal, Some(9));
    let run = stage.finish(place, launched, &invocation, ended);
    assert_eq!(run.examined.files["engine-stdout.log"], b"first\n");
    assert_eq!(stage.left(&time), Vec::<String>::new());
}
