//! The recording answers as set up, and its clock moves only during waits.

use super::*;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn job(argv: &[&str]) -> Job {
    Job { marker: "0123456789ab/r-1".into(), argv: owned(argv), ..Job::default() }
}

#[test]
fn a_file_changes_when_its_moment_has_come() {
    let host = Replay::new().file("/proc/loadavg", "9").file_at("/proc/loadavg", s(1010), "1");
    assert_eq!(host.read(Path::new("/proc/loadavg")).unwrap(), "9");
    host.pause(s(10));
    assert_eq!(host.read(Path::new("/proc/loadavg")).unwrap(), "1");
    assert_eq!(host.deeds(), [HostCall::Paused(s(10))]);
    assert_eq!(host.utc().iso(), "2026-01-01T00:00:10Z");
}

#[test]
fn a_file_can_go_away_and_can_refuse() {
    let gone = io::ErrorKind::NotFound;
    let host = Replay::new().file("/a", "x").unreadable_at("/a", s(1001), gone).unreadable_at(
        "/b",
        s(0),
        io::ErrorKind::PermissionDenied,
    );
    assert!(host.exists(Path::new("/a")) && host.exists(Path::new("/b")));
    assert_eq!(host.read(Path::new("/b")).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    host.advance(s(1));
    assert!(!host.exists(Path::new("/a")));
    assert_eq!(host.read(Path::new("/a")).unwrap_err().kind(), gone);
    assert_eq!(host.list(Path::new("/")).unwrap(), ["b"]);
}

#[test]
fn folders_follow_from_what_lies_in_them() {
    let host = Replay::new().file("/sys/a/x", "").file("/sys/b/y", "").with_link("/sys/c", "a").folder("/empty");
    assert_eq!(host.list(Path::new("/sys")).unwrap(), ["a", "b", "c"]);
    assert_eq!(host.list(Path::new("/empty")).unwrap(), Vec::<String>::new());
    assert_eq!(host.link(Path::new("/sys/c")).unwrap(), Path::new("a"));
    assert!(host.list(Path::new("/nowhere")).is_err());
    assert!(host.read(Path::new("/sys/a")).is_err());
}

#[test]
fn answers_come_in_turn_and_the_last_one_stays() {
    let host =
        Replay::new().prints(&["docker"], "any").prints(&["docker", "ps"], "one").fails(&["docker", "ps"], 1, "two");
    let ask = |argv: &[&str]| host.ask(&Question::new(owned(argv))).unwrap();
    assert_eq!(ask(&["docker", "ps", "-a"]).text(), "one");
    assert_eq!(ask(&["docker", "ps", "-a"]).complaint(), "two");
    assert_eq!(ask(&["docker", "ps"]).code, Some(1));
    assert_eq!(ask(&["docker", "inspect"]).text(), "any");
    let missing = host.ask(&Question::new(["podman"])).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    assert_eq!(host.asked(), ["docker ps -a", "docker ps -a", "docker ps", "docker inspect", "podman"]);
}

#[test]
fn followed_lines_come_at_their_time_and_end_with_their_cause() {
    let lines = [(s(1), "first"), (s(3), "second")];
    let host = Replay::new().follows(&["nvidia-smi"], &lines, Some("GPU is lost"));
    let mut follow = host.follow(&Question::new(["nvidia-smi", "--loop-ms=1000"])).unwrap();
    assert_eq!(follow.next_line(s(2)).unwrap().as_deref(), Some("first"));
    assert_eq!(follow.next_line(s(1)).unwrap(), None);
    assert_eq!(host.monotonic(), s(1002));
    assert_eq!(follow.next_line(s(9)).unwrap().as_deref(), Some("second"));
    assert_eq!(host.monotonic(), s(1003));
    assert_eq!(follow.next_line(s(9)).unwrap_err().to_string(), "GPU is lost");
}

#[test]
fn kernel_lines_from_before_are_not_heard() {
    let host = Replay::new().kernel(&[(s(5), "old"), (s(1001), "NVRM: Xid")]);
    let mut log = host.kernel_log().unwrap();
    assert_eq!(log.next_line(s(5)).unwrap().as_deref(), Some("NVRM: Xid"));
    assert_eq!(log.next_line(s(5)).unwrap(), None);
    assert!(Replay::new().kernel_log().is_err());
}

#[test]
fn an_interrupt_cuts_a_wait_short() {
    let host = Replay::new().interrupted_at(s(1003));
    assert!(!host.interrupted());
    host.pause(s(60));
    assert_eq!(host.monotonic(), s(1003));
    assert!(host.interrupted());
    host.pause(s(60));
    assert_eq!(host.monotonic(), s(1003), "a clock never goes back, and does not wait for the dead");
}

#[test]
fn a_launched_program_takes_its_time_and_leaves_its_files() {
    let folder = sparkbench_testing::Folder::new("replay");
    let script = Script::new().runs(s(5)).exits(3).prints("out").complains("err").leaves("report.json", "{}");
    let host = Replay::new().script(&["bench"], script).wall_jumps(s(1002), -60_000);
    let job = Job { stdout: folder.join("stdout.log"), stderr: folder.join("stderr.log"), ..job(&["bench", "--fast"]) };
    let mut program = host.launch(&job).unwrap();
    assert_eq!(program.wait(s(2)).unwrap(), None);
    assert_eq!(program.tree(), [program.pid()]);
    let ended = program.wait(s(60)).unwrap().unwrap();
    assert_eq!((ended.code, ended.ended_monotonic_s - ended.started_monotonic_s), (Some(3), 5.0));
    assert_eq!(ended.ended_utc_ms - ended.started_utc_ms, 5_000 - 60_000, "the wall clock jumped");
    assert_eq!(ended.seen_argv.unwrap(), ["bench", "--fast"]);
    assert!(program.tree().is_empty());
    program.close().unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("report.json")).unwrap(), "{}");
    assert_eq!(std::fs::read_to_string(folder.join("stderr.log")).unwrap(), "err");
    assert_eq!(host.deeds(), [HostCall::Launched(Box::new(job)), HostCall::Closed("0123456789ab/r-1".into())]);
}

#[test]
fn a_program_that_hangs_is_ended_and_a_guard_can_be_lost() {
    let scripts =
        Replay::new().script(&["a"], Script::new().hangs()).script(&["b"], Script::new().hangs().guard_dies(s(4)));
    let host = scripts.script(&["c"], Script::new().refused("no such program"));
    let mut hanging = host.launch(&job(&["a"])).unwrap();
    assert_eq!(hanging.wait(s(3600)).unwrap(), None);
    let ended = hanging.end("time limit").unwrap();
    assert_eq!((ended.signal, ended.why.as_deref()), (Some(15), Some("time limit")));
    let mut lost = host.launch(&job(&["b"])).unwrap();
    let ended = lost.wait(s(5)).unwrap().unwrap();
    assert!(ended.why.unwrap().contains("its guard was killed"));
    assert!(lost.close().unwrap().lost.is_some());
    assert!(host.launch(&job(&["c"])).is_err());
    assert!(host.launch(&job(&["d"])).is_err());
}
