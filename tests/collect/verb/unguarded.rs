//! A guard that is killed or frozen alone: its collector lives, ends the run in its place, tells so, and goes on (issue 30, point 2).

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sparkbench::host::process::{self, Process};

use super::left::{self, Machine};
use super::once::stand_in;
use super::scene::{LENIENT, failure, head, json, script, verifies};
use super::short::{Collector, Limits, WELL, WIDE, events, expect_no_process, in_flight, sampled, suite};
use crate::support::folder::Folder;
use crate::support::needs;
use crate::support::program::run_in;
use crate::support::roots;
use crate::support::tree::{text, unique, with_argument};
use crate::support::wait::{until, until_some};

const COLLECT: [&str; 4] = ["collect", "suite.toml", "--archive", "archive"];
const RESUME: [&str; 5] = ["collect", "suite.toml", "--archive", "archive", "--resume"];

/// How a collector tells that a guard was killed.
const KILLED: &str = "its guard was killed by signal 9 (SIGKILL)";

/// Lines of a script that do not end by themselves the first time. They make the file `once`, and do nothing where it is there. They start a
/// process with a session of its own. In `place`, a word of the shell, they leave both pids (`own`, `loose`) and then `here`. The other
/// process leaves `told` there when it is asked to end.
fn stays(once: &Path, place: &str) -> String {
    format!(
        "if [ ! -e '{once}' ]; then\n: > '{once}'\n\
         (setsid sh -c 'cd \"$1\"; trap \"echo told > told; exit 0\" TERM; echo $$ > loose; while :; do sleep 100000 & wait; done' sh {place} &)\n\
         echo $$ > {place}/own\nuntil [ -s {place}/loose ]; do sleep 0.05; done\necho > {place}/here\n\
         while :; do sleep 100000; done\nfi\n",
        once = once.display()
    )
}

/// A suite whose first run stays, and a collector at work on it. Its guard, and the processes of the run.
fn begun(folder: &Folder, repeats: usize) -> (Collector, Process, [Process; 2]) {
    let archive = folder.path().join("archive");
    let script = format!("{}{WELL}", stays(&folder.path().join("begun"), "\"$1\""));
    suite(folder.path(), &script, repeats, &WIDE);
    let collector = Collector::start(folder.path(), &archive, &[]);
    // A sample is taken of what the guard has told to be started.
    let run = until_some("a run is at work and sampled", || sampled(&archive));
    let guard = guard_of(&collector);
    (collector, guard, pair(&run.join("work")))
}

/// The guard of a collector's run. Its own child has the same arguments until it becomes the program, but another parent.
#[track_caller]
fn guard_of(collector: &Collector) -> Process {
    let guards = |one: &Process| {
        process::arguments(one.pid).is_some_and(|words| words.get(1).is_some_and(|word| word == "guard"))
    };
    let children = process::all().unwrap().into_iter().filter(|one| one.parent == collector.pid());
    let mut found: Vec<Process> = children.filter(guards).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// The two processes of [`stays`].
#[track_caller]
fn pair(place: &Path) -> [Process; 2] {
    ["own", "loose"].map(|name| {
        let pid = text(&place.join(name)).trim().parse().unwrap();
        Process::read(pid).expect("it stays until it is ended")
    })
}

/// Whether a process has ended. Another one may have its pid by now.
fn is_gone(process: &Process) -> bool {
    Process::read(process.pid).is_none_or(|now| now.began != process.began || !now.lives())
}

fn send(process: &Process, signal: Signal) {
    kill(Pid::from_raw(process.pid as i32), signal).unwrap();
}

/// Folder and `run.json` of the only run that failed.
#[track_caller]
fn failed(archive: &Path) -> (PathBuf, Value) {
    let found = events(archive, "failed");
    assert_eq!(found.len(), 1, "{found:?}");
    let folder = archive.join("runs").join(found[0]["run"].as_str().unwrap());
    let run = json(&folder.join("run.json"));
    assert_eq!(found[0]["why"], run["failure"], "the journal says the same");
    (folder, run)
}

#[test]
fn a_run_whose_guard_is_killed_is_ended_and_told_and_the_next_one_begins() {
    let folder = Folder::new("unguarded-killed");
    let archive = folder.path().join("archive");
    let (collector, guard, tree) = begun(&folder, 2);
    send(&guard, Signal::SIGKILL);
    collector.end().expect(4).complains(&["failed: ended by sparkbench", KILLED, "1 failed, 0 left"]);
    assert!(tree.iter().all(is_gone), "{tree:?}");
    expect_no_process(&left::archive_id(&archive).unwrap());
    let (place, run) = failed(&archive);
    let why = failure(&run);
    assert!(why.contains(KILLED) && why.contains(&format!("({})", tree[1].pid)), "{why}");
    // The first process goes with its guard, who alone counts what a run uses. How it went is known all the same.
    assert_eq!(run["process"]["signal"], 9, "{}", run["process"]);
    assert!(run["process"]["user_s"].is_null(), "{}", run["process"]);
    assert_eq!(text(&place.join("work/told")), "told\n", "SIGTERM came before SIGKILL");
    let files = run["files"].as_array().unwrap();
    assert!(files.iter().any(|file| file["path"] == "work/told"), "{files:?}");
    let finished = events(&archive, "finished");
    assert_eq!(finished.len(), 1);
    assert_ne!(finished[0]["run"], run["id"]);
    assert!(archive.join("seal.json").exists());
    verifies(&folder);
}

#[test]
fn a_frozen_guard_does_not_hold_a_collector_that_is_asked_to_stop() {
    let folder = Folder::new("unguarded-frozen");
    let archive = folder.path().join("archive");
    let (collector, guard, tree) = begun(&folder, 1);
    send(&guard, Signal::SIGSTOP);
    until("the guard is stopped", || Process::read(guard.pid).is_some_and(|now| now.state == 'T'));
    kill(Pid::from_raw(collector.pid() as i32), Signal::SIGTERM).unwrap();
    collector.end().expect(4).complains(&["every finished run is archived", "--resume"]);
    assert!(is_gone(&guard) && tree.iter().all(is_gone), "{guard:?} {tree:?}");
    expect_no_process(&left::archive_id(&archive).unwrap());
    let interrupted = events(&archive, "interrupted");
    assert_eq!(interrupted.len(), 1, "{interrupted:?}");
    let kept = archive.join(interrupted[0]["folder"].as_str().unwrap());
    assert_eq!(text(&kept.join("work/told")), "told\n", "SIGTERM came before SIGKILL");
    verifies(&folder);
    run_in(folder.path(), &RESUME, &[]).expect(0);
    assert_eq!(events(&archive, "finished").len(), 1);
    assert!(events(&archive, "swept").is_empty(), "nothing was left for the next collector");
    verifies(&folder);
}

/// A run that freezes its own guard and has to be ended at its time limit. Whether the guard was frozen before the limit came.
fn is_frozen_before(time_s: u32) -> bool {
    let folder = Folder::new("unguarded-limit");
    let archive = folder.path().join("archive");
    // Nothing of it hears SIGTERM. Once there is a file of samples, the collector knows that the run has begun.
    let script = "trap '' TERM\n(setsid sh -c 'while :; do sleep 1; done' &)\n\
                  until [ -e \"$1/../telemetry.csv\" ]; do sleep 0.05; done\n\
                  kill -STOP $PPID && echo > \"$1/frozen\"\nwhile :; do sleep 1; done\n";
    suite(folder.path(), script, 1, &Limits { time_s, grace_s: 1 });
    run_in(folder.path(), &COLLECT, &[]).expect(4).complains(&["time-limit"]);
    expect_no_process(&left::archive_id(&archive).unwrap());
    verifies(&folder);
    let (place, run) = failed(&archive);
    let why = failure(&run);
    assert!(why.starts_with("ended by sparkbench: time-limit"), "{why}");
    let frozen = place.join("work/frozen").exists();
    assert!(!frozen || why.contains("its guard did not answer for"), "{why}");
    frozen
}

#[test]
fn a_frozen_guard_does_not_hold_a_run_past_its_time_limit() {
    // On a busy machine the limit may come first. Then a run with a wider one is tried.
    assert!([2, 16, 128].into_iter().any(is_frozen_before));
}

#[test]
fn a_probe_whose_guard_is_killed_stops_the_campaign_and_the_journal_says_why() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        needs::skip("no python3");
        return;
    }
    let folder = Folder::new("unguarded-probe");
    let archive = folder.path().join("archive");
    stand_in(&folder);
    let place = folder.path().join("bin");
    let (once, real) = (place.join("begun"), place.join("trtllm-bench"));
    let held = format!("#!/bin/sh\n{}exec '{}' \"$@\"\n", stays(&once, "\"${0%/*}\""), real.display());
    let program = script(&folder, "bin/held", &held);
    folder.put(
        "suite.toml",
        format!(
            "{}planned_metrics = [\"output_throughput_tok_s\"]\n[environments.native]\ninherit = [\"PATH\"]\n[models.m]\nid = \"org/m\"\n\
             [workloads.bench]\nkind = \"trtllm-bench\"\nprogram = \"{}\"\nrequests = 3\nisl = 512\nosl = 128\n\
             env = {{ FAKE_VERSION = \"1.3\" }}\nexpected_s = 1\n[telemetry]\ngpu = \"off\"\n{LENIENT}",
            head(1),
            program.display()
        ),
    );
    let collector = Collector::start(folder.path(), &archive, &[]);
    until("the probe is at work", || place.join("here").exists());
    let tree = pair(&place);
    send(&guard_of(&collector), Signal::SIGKILL);
    collector.end().expect(4).complains(&[KILLED]);
    assert!(tree.iter().all(is_gone), "{tree:?}");
    expect_no_process(&left::archive_id(&archive).unwrap());
    let interrupted = events(&archive, "interrupted");
    assert_eq!(interrupted.len(), 1, "{interrupted:?}");
    assert_eq!(interrupted[0]["run"], "probes/native-bench");
    assert!(interrupted[0]["why"].as_str().unwrap().contains(KILLED), "{interrupted:?}");
    assert!(events(&archive, "started").is_empty(), "no run begins without its probe");
    verifies(&folder);
    run_in(folder.path(), &RESUME, &[]).expect(0);
    assert_eq!((events(&archive, "probed").len(), events(&archive, "finished").len()), (1, 1));
    assert!(events(&archive, "swept").is_empty(), "nothing was left for the next collector");
    verifies(&folder);
}

/// Kills the guard of a run in an environment of a kind, where this machine has one. Nothing may be left of the run, and what it wrote is kept.
fn expect_ended(label: &'static str) {
    let folder = Folder::new(&format!("unguarded-{label}"));
    let archive = folder.path().join("archive");
    let roots = roots::make(folder.path());
    if !roots.labels.contains(&label) {
        // What is missing has been said above.
        return;
    }
    roots.suite(folder.path(), 1);
    let time = unique();
    folder.put("job.sh", format!("#!/bin/sh\necho half > \"$1/half.txt\"\nsetsid sleep {time} &\nsleep {time}\n"));
    let before = Machine::look(folder.path());
    let only = format!("{label}/*");
    let collector = Collector::start(folder.path(), &archive, &["--only", &only]);
    until("the program inside runs and is sampled", || {
        let sampled = in_flight(&archive).is_some_and(|run| run.join("telemetry.csv").exists());
        sampled && with_argument(&time).len() >= 2
    });
    send(&guard_of(&collector), Signal::SIGKILL);
    collector.end().expect(4).complains(&[KILLED]);
    assert_eq!(with_argument(&time), Vec::<u32>::new());
    before.expect_nothing_more(&archive);
    let (place, run) = failed(&archive);
    assert!(failure(&run).contains(KILLED), "{}", failure(&run));
    assert_eq!(text(&place.join("work/half.txt")), "half\n");
    verifies(&folder);
}

#[test]
fn a_container_whose_guard_is_killed_is_ended_too() {
    expect_ended("docker");
}

#[test]
fn a_run_in_a_root_file_system_whose_guard_is_killed_is_ended_too() {
    expect_ended("chroot");
    expect_ended("nspawn");
}
