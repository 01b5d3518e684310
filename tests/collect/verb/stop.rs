//! A campaign that is asked to stop, a second collector, and workloads that do not behave.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::left;
use super::short::{Collector, Limits, WELL, WIDE, at_work, events, expect_no_process, hold, suite};
use crate::support::folder::Folder;
use crate::support::program::run_in;
use crate::support::wait::until;

const RESUME: [&str; 5] = ["collect", "suite.toml", "--archive", "archive", "--resume"];

#[test]
fn a_second_collector_is_refused_with_the_first_ones_pid_and_the_first_goes_on() {
    let folder = Folder::new("second-collector");
    let archive = folder.path().join("archive");
    let go = folder.path().join("go");
    suite(folder.path(), &format!("echo > $1/here\n{}{WELL}", hold(&go)), 1, &WIDE);
    let first = Collector::start(folder.path(), &archive, &[]);
    until("the run is at work", || at_work(&archive).is_some());
    let second = run_in(folder.path(), &RESUME, &[]).expect(5);
    second.complains(&["another collector is writing to", &format!("process {}", first.pid())]);
    let without = run_in(folder.path(), &RESUME[..4], &[]);
    assert_eq!(without.code, Some(2), "{}", without.err);
    fs::write(&go, "").unwrap();
    first.end().expect(0);
    assert_eq!(events(&archive, "finished").len(), 1);
    assert_eq!(events(&archive, "opened").len(), 1, "the second has written nothing");
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
}

#[test]
fn a_signal_ends_the_run_in_flight_in_order_and_the_campaign_can_be_gone_on_with() {
    for (name, signal) in [("sigint", Signal::SIGINT), ("sigterm", Signal::SIGTERM), ("sighup", Signal::SIGHUP)] {
        let folder = Folder::new(&format!("stop-{name}"));
        let archive = folder.path().join("archive");
        // The first run ends. The second waits to be told, and says that it was told politely. A stop is asked for by `hold`.
        let script = format!(
            "trap 'echo told > '$1'/told; exit 0' TERM\necho > $1/here\nif [ -e '{}' ]; then sleep 100000 & wait; fi\n{WELL}",
            folder.path().join("hold").display()
        );
        suite(folder.path(), &script, 2, &WIDE);
        run_in(folder.path(), &["collect", "suite.toml", "--archive", "archive", "--only", "*-r01"], &[]).expect(0);
        folder.put("hold", "");
        assert_eq!(events(&archive, "finished").len(), 1);
        let collector = Collector::start(folder.path(), &archive, &["--resume"]);
        until("a run is at work", || at_work(&archive).is_some());
        kill(Pid::from_raw(collector.pid() as i32), signal).unwrap();
        let ending = collector.end().expect(4);
        ending.complains(&["every finished run is archived", "sparkbench collect suite.toml --archive", "--resume"]);
        expect_no_process(&left::archive_id(&archive).unwrap());
        assert_eq!(events(&archive, "finished").len(), 1, "what was finished stays");
        assert_eq!(events(&archive, "stopped").len(), 1);
        let interrupted = events(&archive, "interrupted");
        assert_eq!(interrupted.len(), 1);
        let kept = archive.join(interrupted[0]["folder"].as_str().unwrap());
        assert_eq!(fs::read_to_string(kept.join("work/told")).unwrap(), "told\n", "SIGTERM came before SIGKILL");
        run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
        fs::remove_file(folder.path().join("hold")).unwrap();
        run_in(folder.path(), &RESUME, &[]).expect(0);
        assert_eq!(events(&archive, "finished").len(), 2);
        run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
    }
}

#[test]
fn a_workload_that_ignores_sigterm_and_forks_is_ended_whole_at_its_time_limit() {
    let folder = Folder::new("stubborn");
    let archive = folder.path().join("archive");
    let script = "trap '' TERM INT HUP\nfor i in 1 2 3 4; do (trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done') & done\n\
                  while :; do (sleep 0.2) & sleep 0.05; done\n";
    // It never ends by itself, so whoever waited for that would still be waiting.
    suite(folder.path(), script, 1, &Limits { time_s: 2, grace_s: 1 });
    let ending = run_in(folder.path(), &RESUME, &[]).expect(4);
    ending.complains(&["time-limit"]);
    expect_no_process(&left::archive_id(&archive).unwrap());
    let failed = events(&archive, "failed");
    assert_eq!(failed.len(), 1);
    let path = archive.join("runs").join(failed[0]["run"].as_str().unwrap()).join("run.json");
    let run: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert!(run["failure"].as_str().unwrap().contains("ended by sparkbench"), "{}", run["failure"]);
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
}

#[test]
fn a_workload_that_fills_its_standard_output_neither_blocks_nor_is_cut() {
    let folder = Folder::new("chatty");
    let archive = folder.path().join("archive");
    suite(folder.path(), &format!("seq 1 2000000\nseq 1 200000 >&2\n{WELL}"), 1, &WIDE);
    run_in(folder.path(), &RESUME, &[]).expect(0);
    let run = events(&archive, "finished")[0]["run"].as_str().unwrap().to_owned();
    let out = fs::read_to_string(archive.join("runs").join(run).join("stdout.log")).unwrap();
    assert_eq!(out.lines().count(), 2_000_001);
    assert!(out.ends_with("ttft_ms=12.5\n"));
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
}
