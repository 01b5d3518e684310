//! Every environment, for real: a program runs in it, comes back with its files and its status, sees what it should and leaves nothing.
#![cfg(all(feature = "collect", target_os = "linux"))]

use std::collections::BTreeSet;

use crate::support::environment;
use crate::support::environment::{Stage, invocation, say, stage};
use crate::support::tree::{HELD, unique, with_argument};
use crate::support::wait::until;
use sparkbench::host::{Host as _, process};

/// The same tests for each kind, each with the name of its kind before it.
macro_rules! in_every_environment {
    ($($test:ident),* $(,)?) => {
        in_every_environment!(@kind native $($test)*);
        in_every_environment!(@kind chroot $($test)*);
        in_every_environment!(@kind docker $($test)*);
        in_every_environment!(@kind podman $($test)*);
        in_every_environment!(@kind nspawn $($test)*);
    };
    (@kind $kind:ident $($test:ident)*) => {
        mod $kind {
            $(#[test]
            fn $test() {
                super::$test(stringify!($kind));
            })*
        }
    };
}

in_every_environment!(
    a_program_writes_a_file_and_its_status_comes_through,
    a_program_sees_the_variables_that_were_declared_and_no_others,
    arguments_arrive_one_for_one,
    a_script_is_what_was_asked_for,
    a_program_starts_in_the_runs_own_folder_with_its_files,
    a_run_that_is_ended_leaves_nothing,
    a_guard_that_is_killed_leaves_nothing_after_a_sweep,
    two_runs_do_not_see_each_other,
    a_program_that_cannot_be_started_is_a_failure,
);

/// At least one word that the arguments are those asked for, and none that they are others. `unknown` is possible beside it: by the time
/// the machine looks, a shell has become the last program of its script.
#[track_caller]
fn assert_asked(run: &environment::Run) {
    let results = run.check("arguments");
    assert!(results.contains(&"match") && !results.contains(&"mismatch"), "{:?}", run.examined.checks);
}

fn a_program_writes_a_file_and_its_status_comes_through(kind: &'static str) {
    let Some(stage) = stage(kind, "status", "") else { return };
    let script = format!("{HELD}echo out; echo err >&2; echo kept > left.txt; exit 7");
    let run = stage.run("r1", &["sh", "-c", &script], &[]);
    assert_eq!(run.code(), Some(7));
    assert_eq!(run.stdout, "out\n");
    assert!(run.stderr.starts_with("err\n"), "{}", run.stderr);
    assert_eq!(run.file("left.txt"), "kept\n");
    assert_asked(&run);
    assert!(run.examined.faults.is_empty() && !run.examined.out_of_memory);
    assert!(run.closed.after_failed.is_empty(), "{:?}", run.closed);
    assert_eq!(stage.left(stage.folder.path().to_str().unwrap()), Vec::<String>::new());
}

fn a_program_sees_the_variables_that_were_declared_and_no_others(kind: &'static str) {
    let inherit = if kind == "native" { "inherit = ['PATH']\n" } else { "" };
    let more = format!("{inherit}[env]\nDECLARED = 'a b'\nOVER = 'suite'\nPLAIN = ''\n");
    let Some(stage) = stage(kind, "variables", &more) else { return };
    let variables =
        [("OVER", "workload"), ("HF_TOKEN", "hf_secret"), ("LINES", "two\nlines"), ("HTTP_PROXY", "http://p")];
    let run = stage.run("r1", &["sh", "-c", &format!("{HELD}env -0 > seen; exit 0")], &variables);
    let text = run.file("seen");
    let seen: Vec<(&str, &str)> = text.split('\0').filter_map(|pair| pair.split_once('=')).collect();
    let value = |name: &str| seen.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    assert_eq!(value("DECLARED"), Some("a b"));
    assert_eq!(value("OVER"), Some("workload"), "a workload's own word is the last");
    assert_eq!(value("PLAIN"), Some(""));
    assert_eq!(value("LINES"), Some("two\nlines"));
    assert_eq!(value("HTTP_PROXY"), Some("http://p"));
    assert_eq!(value("HF_TOKEN"), Some("hf_secret"));
    // Cargo gives this test dozens of its own, and none of them may be seen.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let mut known: BTreeSet<&str> =
        BTreeSet::from(["DECLARED", "OVER", "PLAIN", "LINES", "HTTP_PROXY", "HF_TOKEN", "PATH", "PWD", "SHLVL", "_"]);
    // What the wrappers add by themselves, as documented.
    known.extend(match kind {
        "docker" => &["HOSTNAME", "HOME"][..],
        "podman" => &["HOSTNAME", "HOME", "TERM", "container"],
        "nspawn" => &[
            "SPARKBENCH_RUN",
            "HOME",
            "USER",
            "LOGNAME",
            "TERM",
            "LANG",
            "NOTIFY_SOCKET",
            "container",
            "container_uuid",
            "container_host_id",
            "container_host_version_id",
            "container_host_build_id",
            "container_host_variant_id",
        ],
        _ => &["SPARKBENCH_RUN"],
    });
    let others: Vec<_> = seen.iter().filter(|(name, _)| !known.contains(name)).collect();
    assert!(others.is_empty(), "{others:?}");
    let archived = run.examined.variables.unwrap_or_else(|| {
        let job =
            stage.environment.wrap(&stage.machine, &invocation(&["true"], &variables), &stage.place("r2")).unwrap();
        job.env
    });
    assert_eq!(archived["DECLARED"], "a b");
    assert_eq!(archived["OVER"], "workload");
}

fn arguments_arrive_one_for_one(kind: &'static str) {
    let Some(stage) = stage(kind, "arguments", "") else { return };
    let script = format!("{HELD}for word; do printf '%s\\0' \"$word\"; done > seen; exit 0");
    let odd = [
        "a b",
        "",
        "'",
        "\"",
        "*",
        "$HOME",
        "ü→",
        "two\nlines",
        "--model",
        "--",
        "-it",
        "back\\slash",
        "%h",
        "{{.ID}}",
    ];
    let mut argv = vec!["sh", "-c", script.as_str(), "name"];
    argv.extend(odd);
    let run = stage.run("r1", &argv, &[]);
    assert_eq!(run.code(), Some(0), "{}", run.stderr);
    let seen = run.file("seen");
    assert_eq!(seen.split_terminator('\0').collect::<Vec<_>>(), odd);
    assert_asked(&run);
}

fn a_script_is_what_was_asked_for(kind: &'static str) {
    let Some(stage) = stage(kind, "script", "") else { return };
    let place = stage.place("r1");
    Stage::program(&place, "bench.sh", &format!("#!/bin/sh\n{HELD}echo \"$@\" > seen\n"));
    let inside = stage.environment.work(&place).join("bench.sh");
    let run = stage.run_in(place, &[inside.to_str().unwrap(), "--model", "m"], &[]);
    assert_eq!(run.file("seen"), "--model m\n");
    assert_asked(&run);
}

fn a_program_starts_in_the_runs_own_folder_with_its_files(kind: &'static str) {
    let Some(stage) = stage(kind, "work", "") else { return };
    let place = stage.place("r1");
    std::fs::create_dir(place.work.join("below")).unwrap();
    std::fs::write(place.work.join("below/given.txt"), "given").unwrap();
    let work = stage.environment.work(&place).display().to_string();
    let script =
        "pwd > where; cat below/given.txt > copy; mkdir new; echo deep > new/file; echo changed > below/given.txt";
    let run = stage.run_in(place, &["sh", "-c", script], &[]);
    assert_eq!(run.code(), Some(0), "{}", run.stderr);
    assert_eq!(run.file("where").trim(), work);
    assert_eq!(run.file("copy"), "given");
    assert_eq!(run.file("new/file"), "deep\n");
    assert_eq!(run.file("below/given.txt"), "changed\n");
}

fn a_run_that_is_ended_leaves_nothing(kind: &'static str) {
    let Some(stage) = stage(kind, "ended", "") else { return };
    let time = unique();
    let script = format!("trap 'echo polite; exit 3' TERM; echo begun > begun; sleep {time} & wait");
    let invocation = invocation(&["sh", "-c", &script], &[]);
    let place = stage.place("r1");
    let mut launched = stage.start(&place, &invocation);
    until("the program inside runs", || !with_argument(&time).is_empty());
    stage.environment.main_pid(&stage.machine, &place, launched.as_ref());
    stage.environment.while_running(&stage.machine, &place, launched.as_ref());
    let ended = launched.end("for a test").unwrap();
    assert_eq!(ended.why.as_deref(), Some("for a test"));
    let run = stage.finish(place, launched, &invocation, ended);
    assert_eq!(run.stdout, "polite\n", "SIGTERM reaches the program: {}", run.stderr);
    assert_eq!(run.file("begun"), "begun\n", "what it wrote is there");
    assert_eq!(stage.left(&time), Vec::<String>::new());
}

fn a_guard_that_is_killed_leaves_nothing_after_a_sweep(kind: &'static str) {
    let Some(stage) = stage(kind, "swept", "") else { return };
    let time = unique();
    let script = format!("trap '' TERM; sleep {time} & sleep {time}");
    let invocation = invocation(&["sh", "-c", &script], &[]);
    let place = stage.place("r1");
    let launched = stage.start(&place, &invocation);
    until("the program inside runs", || with_argument(&time).len() >= 2);
    // Everything of ours at once, as when the kernel runs out of memory: the guard, and with nspawn the wrapper.
    let first = launched.pid();
    let guard = process::Process::read(first).unwrap().parent;
    let mut victims = vec![guard.to_string()];
    victims.extend((kind == "nspawn").then(|| first.to_string()));
    let mut kill = vec!["kill", "-9"];
    kill.extend(victims.iter().map(String::as_str));
    say(&kill);
    until("the guard is gone", || process::Process::read(guard).is_none_or(|process| !process.lives()));
    drop(launched);
    stage.environment.sweep(&stage.machine, &stage.archive_id).unwrap();
    stage.machine.end_marked(&stage.archive_id).unwrap();
    stage.environment.sweep(&stage.machine, &stage.archive_id).unwrap();
    until("the program is gone", || with_argument(&time).is_empty());
    assert_eq!(stage.left(&time), Vec::<String>::new());
    // And the next run is as any other.
    let run = stage.run("r2", &["sh", "-c", "exit 4"], &[]);
    assert_eq!(run.code(), Some(4), "{}", run.stderr);
}

fn two_runs_do_not_see_each_other(kind: &'static str) {
    let Some(stage) = stage(kind, "two", "") else { return };
    let shared = format!("/dev/shm/sparkbench-two-{}", stage.archive_id);
    for run_id in ["r1", "r2"] {
        let script = "[ ! -e mine ] || exit 9; touch mine; [ ! -e $SHARED ] || exit 8; \
            [ $KIND = native ] || touch $SHARED";
        let run = stage.run(run_id, &["sh", "-c", script], &[("KIND", kind), ("SHARED", &shared)]);
        assert_eq!(run.code(), Some(0), "{run_id}: {}", run.stderr);
    }
    assert!(!std::path::Path::new(&shared).exists());
}

fn a_program_that_cannot_be_started_is_a_failure(kind: &'static str) {
    let Some(stage) = stage(kind, "missing", "") else { return };
    let place = stage.place("r1");
    // No other test has it among its arguments meanwhile.
    let name = format!("no-such-program-{}", unique());
    let invocation = invocation(&[name.as_str(), "x"], &[]);
    let job = stage.environment.wrap(&stage.machine, &invocation, &place).unwrap();
    match stage.machine.launch(&job) {
        Err(error) => assert!(error.to_string().contains(&name), "{error}"),
        Ok(mut launched) => {
            let ended = stage.watch(&place, launched.as_mut());
            let run = stage.finish(place, launched, &invocation, ended);
            assert_ne!(run.code(), Some(0));
            assert!(run.stderr.contains(&name), "{}", run.stderr);
        }
    }
    assert_eq!(stage.left(&name), Vec::<String>::new());
}
