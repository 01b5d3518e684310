//! The guard ends the whole tree of a run, whatever happens to anyone.
#![cfg(all(feature = "collect", target_os = "linux"))]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::again;
use crate::support::folder::Folder;
use crate::support::limit::{fair_start, finished};
use crate::support::machine::machine;
use crate::support::needs::skip;
use crate::support::tree::{HELD, archive_id, put_program, shell, sleepers, text, unique, with_word};
use crate::support::wait;
use crate::support::wait::until;
use sparkbench::host::{Host as _, Job, Launched, MARKER, process};

/// The mark of a run that nobody else has.
fn marker() -> String {
    format!("{}/r", archive_id())
}

fn run(job: &Job) -> (sparkbench::host::Ended, sparkbench::host::Closed) {
    finish(machine().launch(job).unwrap())
}

fn finish(mut program: Box<dyn Launched>) -> (sparkbench::host::Ended, sparkbench::host::Closed) {
    let ended = program.wait(wait::LIMIT).unwrap().expect("it ends by itself");
    (ended, program.close().unwrap())
}

/// Living processes of a run.
fn marked(marker: &str) -> Vec<u32> {
    let all = process::all().unwrap().into_iter().filter(process::Process::lives).map(|process| process.pid);
    all.filter(|pid| process::variable(*pid, MARKER).is_some_and(|value| value == marker)).collect()
}

#[test]
fn statuses_and_signals_come_through_with_their_times() {
    let folder = Folder::new("guard-statuses");
    for (script, code, signal) in [
        ("exit 0", Some(0), None),
        ("exit 255", Some(255), None),
        ("kill -11 $$", None, Some(11)),
        ("kill -9 $$", None, Some(9)),
    ] {
        let (before, utc) = (machine().monotonic().as_secs_f64(), machine().utc().0);
        let job = shell(folder.path(), &marker(), &format!("{HELD}sleep 0.5; rm go; {script}"));
        let program = machine().launch(&job).unwrap();
        folder.put("go", "");
        let (ended, _) = finish(program);
        assert_eq!((ended.code, ended.signal), (code, signal), "{script}");
        assert!(ended.why.is_none());
        let after = machine().monotonic().as_secs_f64();
        assert!(before <= ended.started_monotonic_s && ended.ended_monotonic_s <= after, "{before} {ended:?} {after}");
        let took = ended.ended_monotonic_s - ended.started_monotonic_s;
        assert!(took >= 0.5, "{took}");
        // Both were read before the program began, and after it had ended.
        assert!(utc <= ended.started_utc_ms && ended.started_utc_ms + 500 <= ended.ended_utc_ms, "{utc} {ended:?}");
        assert_eq!(ended.seen_argv.unwrap()[..2], ["/bin/sh", "-c"]);
    }
}

#[test]
fn what_is_printed_is_complete_and_apart() {
    let folder = Folder::new("guard-output");
    let script =
        "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo bad >&2; (sleep 0.1; echo late) & wait";
    let (ended, closed) = run(&shell(folder.path(), &marker(), script));
    assert_eq!(ended.code, Some(0));
    let out = text(&folder.path().join("stdout.log"));
    assert_eq!(out.lines().count(), 20_001);
    assert!(out.ends_with("line 19999\nlate\n"));
    assert_eq!(text(&folder.path().join("stderr.log")), "bad\n");
    assert!(closed.outlived.is_empty() && closed.after_failed.is_empty());
    assert!(closed.user_s + closed.system_s > 0.0 && closed.peak_rss_mib > 0.5);
}

#[test]
fn the_environment_is_the_declared_one_and_the_mark_and_nothing_is_ignored_or_open() {
    let folder = Folder::new("guard-environment");
    let mut job = shell(folder.path(), &format!("{}-1", marker()), "");
    job.argv = vec!["env".into()];
    job.env.insert("B".into(), "two words\nand a line".into());
    let (ended, _) = run(&job);
    assert_eq!(ended.code, Some(0));
    let out = text(&folder.path().join("stdout.log"));
    assert_eq!(out, format!("B=two words\nand a line\nPATH=/usr/bin:/bin\n{MARKER}={}\n", job.marker));
    // Descriptors: the three standard ones and the one that lists them. Signals: none ignored, none blocked.
    job.argv = ["/bin/sh", "-c", "ls -l /proc/self/fd; grep -E '^Sig(Ign|Blk)' /proc/self/status; cat"]
        .map(String::from)
        .to_vec();
    run(&job);
    let out = text(&folder.path().join("stdout.log"));
    let links: Vec<&str> = out.lines().filter(|line| line.contains(" -> ")).collect();
    assert_eq!(links.len(), 4, "{out}");
    assert!(links[0].ends_with("/dev/null"), "{out}");
    for line in out.lines().filter(|line| line.starts_with("Sig")) {
        // All but the two that the C library keeps for itself, which a parent may have ignored.
        let mask = u64::from_str_radix(line.split_whitespace().next_back().unwrap(), 16).unwrap();
        assert_eq!(mask & !0x1_8000_0000, 0, "{line}");
    }
    assert_eq!(out.lines().filter(|line| line.starts_with("Sig")).count(), 2);
}

#[test]
fn a_program_gets_back_every_signal_that_whoever_started_us_ignores() {
    let folder = Folder::new("guard-ignored");
    let job = shell(folder.path(), &marker(), "grep ^SigIgn /proc/self/status");
    let mut command = Command::new("/bin/sh");
    // All that a shell can ignore: neither SIGKILL nor SIGSTOP, and not SIGCHLD, without which no shell waits.
    let deaf = "trap '' HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM CONT TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS";
    command.args(["-c", &format!("{deaf}; exec \"$0\" guard"), env!("CARGO_BIN_EXE_sparkbench")]);
    let mut guard = bare(command, &job);
    loop {
        let line = guard.line();
        assert!(!line.is_empty(), "the guard went without a word");
        if line.contains("\"ended\"") || line.contains("\"code\"") {
            break;
        }
    }
    writeln!(guard.orders.as_mut().unwrap(), "close").unwrap();
    assert!(finished(guard.child).status.success());
    let line = text(&job.stdout);
    let mask = u64::from_str_radix(line.split_whitespace().next_back().unwrap(), 16).unwrap();
    assert_eq!(mask & !0x1_8000_0000, 0, "{line}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let folder = Folder::new("guard-missing");
    let mut job = shell(folder.path(), &marker(), "");
    let after = folder.path().join("after");
    job.after = vec![vec!["touch".into(), after.display().to_string()]];
    let refused = |job: &Job| machine().launch(job).map(|_| ()).unwrap_err().to_string();
    job.argv = vec!["no-such-program".into()];
    let error = refused(&job);
    assert!(error.contains("no program 'no-such-program'") && error.contains("/usr/bin:/bin"), "{error}");
    assert!(after.exists(), "what has to be done in any case is done");
    job.argv = vec!["/no/such/program".into()];
    assert!(refused(&job).contains("/no/such/program"));
    job.argv = vec!["/etc/passwd".into()];
    assert!(refused(&job).contains("executable"), "{}", refused(&job));
    let script = folder.path().join("script");
    put_program(&script, "#!/no/such/interpreter\n");
    job.argv = vec![script.display().to_string()];
    assert!(refused(&job).contains("interpreter"), "{}", refused(&job));
    job.argv = vec![];
    assert!(refused(&job).contains("no program ''"));
    job.argv = vec!["true".into()];
    job.cwd = Some("/no/such/folder".into());
    assert!(refused(&job).contains("cannot work in '/no/such/folder'"));
    job.cwd = None;
    job.stdout = "/no/such/folder/out".into();
    assert!(refused(&job).contains("cannot write '/no/such/folder/out'"));
}

#[test]
fn a_guard_that_is_none_is_an_error() {
    let folder = Folder::new("guard-none");
    let job = shell(folder.path(), &marker(), "exit 0");
    for program in ["/bin/true", "/no/such/sparkbench", "/bin/cat"] {
        let error = machine().with_program(program).launch(&job).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(&job.marker), "{program}: {error}");
    }
}

/// Daemons of every kind, deaf to SIGTERM, and a crowd of short-lived children.
fn hostile(mark: &str) -> String {
    format!(
        "trap '' TERM HUP
         setsid sh -c \"trap '' TERM; sleep {mark}; sleep {mark}\" &
         (setsid sh -c \"trap '' TERM; (sleep {mark} &) ; sleep {mark}\" >/dev/null 2>&1 &)
         nohup sleep {mark} >/dev/null 2>&1 &
         (sh -c 'kill -STOP $$; sleep {mark}' &)
         i=0; while [ $i -lt 50 ]; do (sleep 0.0$i &) ; i=$((i+1)); done
         echo ready
         sleep {mark}; while :; do sleep {mark}; done"
    )
}

fn ready(folder: &Folder) {
    until("the tree is up", || text(&folder.path().join("stdout.log")).contains("ready"));
}

/// Waits until a [`hostile`] tree is complete: all that can sleep do, and the one that stops itself has.
fn ready_to_resist(folder: &Folder, mark: &str) {
    ready(folder);
    let stopped = |pid: u32| process::Process::read(pid).is_some_and(|process| process.state == 'T');
    until("the tree is complete", || sleepers(mark).len() >= 5 && with_word(mark).into_iter().any(stopped));
}

#[test]
fn a_hostile_tree_is_ended_whole() {
    let folder = Folder::new("guard-hostile");
    let mark = unique();
    let mut program = machine().launch(&shell(folder.path(), &marker(), &hostile(&mark))).unwrap();
    ready_to_resist(&folder, &mark);
    assert!(program.tree().len() >= 5, "{:?}", program.tree());
    assert!(program.tree().contains(&program.pid()));
    assert_eq!(program.wait(Duration::from_millis(50)).unwrap(), None);
    let ended = program.end("time limit of 5 s").unwrap();
    assert_eq!((ended.signal, ended.why.as_deref()), (Some(9), Some("time limit of 5 s")));
    assert_eq!(with_word(&mark), Vec::<u32>::new());
    assert!(program.tree().is_empty());
    let closed = program.close().unwrap();
    assert!(closed.outlived.contains(&"sleep".to_owned()), "{closed:?}");
}

#[test]
fn a_polite_tree_is_given_its_time() {
    let folder = Folder::new("guard-polite");
    let stopped = folder.path().join("stopped");
    let script = "trap 'sleep 0.3; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let mut job = shell(folder.path(), &marker(), script);
    // More than it can need.
    job.grace_s = 3600.0;
    job.stop = vec![vec!["touch".into(), stopped.display().to_string()], vec!["/no/such/program".into()]];
    let mut program = machine().launch(&job).unwrap();
    ready(&folder);
    let ended = program.end("enough").unwrap();
    assert_eq!((ended.code, ended.signal), (Some(0), None));
    assert!(stopped.exists());
    assert!(text(&job.stdout).ends_with("saved\n"));
    assert!(program.close().unwrap().outlived.is_empty());
}

#[test]
fn what_outlives_the_first_process_is_named_and_ended_by_the_close() {
    let folder = Folder::new("guard-outlived");
    let mark = unique();
    // It ends when the other has become what it shall be found as.
    let script =
        format!("setsid sleep {mark} & until read name </proc/$!/comm && [ $name = sleep ]; do sleep 0.01; done");
    let (ended, closed) = run(&shell(folder.path(), &marker(), &script));
    assert_eq!(ended.code, Some(0));
    assert_eq!(closed.outlived, ["sleep"]);
    assert!(with_word(&mark).is_empty());
}

#[test]
fn a_program_of_after_that_fails_or_hangs_is_told() {
    let folder = Folder::new("guard-after");
    let mut job = shell(folder.path(), &marker(), "exit 0");
    let done = folder.path().join("done");
    // The empty lines are more than a pipe holds: it cannot end before its words have been read.
    let talk = "echo first; echo no such container >&2; yes '' | head -c 80000 >&2; exit 2";
    job.after = vec![
        vec!["sh".into(), "-c".into(), talk.into()],
        vec!["/no/such/program".into()],
        vec!["touch".into(), done.display().to_string()],
    ];
    let (_, closed) = run(&job);
    assert_eq!(closed.after_failed.len(), 2, "{closed:?}");
    assert!(closed.after_failed[0].ends_with("exit status 2: no such container"), "{closed:?}");
    assert!(closed.after_failed[1].contains("/no/such/program"));
    assert!(done.exists(), "one failure does not keep the others from running");
}

#[test]
fn a_drop_ends_the_tree_and_runs_after() {
    let folder = Folder::new("guard-drop");
    let (mark, done) = (unique(), folder.path().join("done"));
    let mut job = shell(folder.path(), &marker(), &hostile(&mark));
    job.after = vec![vec!["touch".into(), done.display().to_string()]];
    let program = machine().launch(&job).unwrap();
    ready_to_resist(&folder, &mark);
    drop(program);
    assert!(with_word(&mark).is_empty() && done.exists());
}

fn guard_of(program: &dyn Launched) -> u32 {
    process::Process::read(program.pid()).unwrap().parent
}

fn send(pid: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn the_tree_of_a_killed_guard_is_ended_by_the_collector_and_what_has_to_run_runs() {
    let folder = Folder::new("guard-killed");
    let (mark, archive, done) = (unique(), archive_id(), folder.path().join("done"));
    let mut job = shell(folder.path(), &format!("{archive}/r"), &hostile(&mark));
    job.after = vec![vec!["touch".into(), done.display().to_string()]];
    let mut program = machine().launch(&job).unwrap();
    ready_to_resist(&folder, &mark);
    send(guard_of(program.as_ref()), "-9");
    let ended = program.wait(wait::LIMIT).unwrap().expect("its tree was ended");
    let why = ended.why.clone().unwrap();
    assert!(
        why.contains("its guard was killed by signal 9 (SIGKILL)") && why.contains(" processes that were left: "),
        "{why}"
    );
    assert!(with_word(&mark).is_empty(), "{why}");
    assert!(ended.started_monotonic_s > 0.0 && ended.started_monotonic_s <= ended.ended_monotonic_s, "{ended:?}");
    assert_eq!(program.end("x").unwrap(), ended, "it has ended before");
    assert!(!done.exists());
    assert_eq!(program.close().unwrap().lost, Some(why));
    assert!(done.exists());
    assert_eq!(machine().end_marked(&archive).unwrap(), Vec::<String>::new());
}

#[test]
fn what_no_mark_and_no_control_group_shows_is_known_from_an_earlier_look() {
    let folder = Folder::new("guard-killed-unmarked");
    let mark = unique();
    let script = format!("setsid env -i sleep {mark} & echo ready; sleep {mark}");
    let mut program = machine().launch(&shell(folder.path(), &marker(), &script)).unwrap();
    ready(&folder);
    let unmarked = |pid: u32| process::variable(pid, MARKER).is_none();
    until("both sleep, one without its mark", || {
        let sleeping = sleepers(&mark);
        sleeping.len() == 2 && sleeping.into_iter().any(unmarked)
    });
    // As the collector looks several times a second.
    assert!(program.tree().len() >= 2);
    send(guard_of(program.as_ref()), "-9");
    assert!(program.wait(wait::LIMIT).unwrap().is_some());
    assert!(with_word(&mark).is_empty());
    assert!(program.close().unwrap().lost.is_some());
}

#[test]
fn a_guard_that_is_killed_between_the_end_of_its_program_and_the_close_is_told() {
    let folder = Folder::new("guard-killed-late");
    let mark = unique();
    let script =
        format!("setsid sleep {mark} & until read name </proc/$!/comm && [ $name = sleep ]; do sleep 0.01; done");
    let mut program = machine().launch(&shell(folder.path(), &marker(), &script)).unwrap();
    let guard = process::Process::read(program.pid()).map(|process| process.parent);
    let ended = program.wait(wait::LIMIT).unwrap().unwrap();
    assert_eq!((ended.code, ended.why), (Some(0), None));
    // The program may have been over before it was looked at. Its orphan is a child of the same guard.
    let guard = guard.unwrap_or_else(|| process::Process::read(sleepers(&mark)[0]).unwrap().parent);
    send(guard, "-9");
    let closed = program.close().unwrap();
    assert_eq!(closed.outlived, ["sleep"]);
    assert!(closed.lost.unwrap().contains("SIGKILL"));
    assert!(with_word(&mark).is_empty());
}

#[test]
fn a_guard_that_is_killed_before_its_program_began_is_told_and_cleaned_up_after() {
    let folder = Folder::new("guard-killed-early");
    let (job, done) = (shell(folder.path(), &marker(), "exit 0"), folder.path().join("done"));
    let job = Job { after: vec![vec!["touch".into(), done.display().to_string()]], ..job };
    let guard = folder.path().join("guard");
    put_program(&guard, "#!/bin/sh\nkill -9 $$\n");
    let error = machine().with_program(&guard).launch(&job).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains(&job.marker) && error.contains("killed by signal 9 (SIGKILL)"), "{error}");
    assert!(done.exists());
}

#[test]
fn a_frozen_guard_does_not_hold_an_order_to_end() {
    let folder = Folder::new("guard-frozen");
    let mark = unique();
    let mut program = machine().launch(&shell(folder.path(), &marker(), &hostile(&mark))).unwrap();
    ready_to_resist(&folder, &mark);
    let guard = guard_of(program.as_ref());
    send(guard, "-STOP");
    let ended = program.end("time limit of 5 s").unwrap();
    assert_eq!(ended.why.as_deref(), Some("time limit of 5 s"));
    assert!(with_word(&mark).is_empty());
    let lost = program.close().unwrap().lost.unwrap();
    assert!(lost.contains("did not answer"), "{lost}");
    assert!(process::Process::read(guard).is_none_or(|process| !process.lives()), "the guard is gone as well");
}

#[test]
fn the_end_of_a_program_is_seen_although_its_guard_is_frozen() {
    let folder = Folder::new("guard-frozen-end");
    let mut program = machine().launch(&shell(folder.path(), &marker(), &format!("{HELD}exit 3"))).unwrap();
    send(guard_of(program.as_ref()), "-STOP");
    folder.put("go", "");
    let ended = program.wait(wait::LIMIT).unwrap().expect("nobody waits for the guard");
    assert_eq!((ended.code, ended.signal), (Some(3), None));
    assert!(ended.why.unwrap().contains("did not answer"));
    assert!(program.close().unwrap().lost.is_some());
}

#[test]
fn only_marks_of_the_archive_are_ended() {
    let (mark, other) = (unique(), unique());
    let archive = archive_id();
    let alike = format!("{archive}c");
    let orphan = |mark: &str, marker: &str| {
        let script = format!("setsid nohup sleep {mark} >/dev/null 2>&1 &");
        assert!(Command::new("/bin/sh").args(["-c", &script]).env(MARKER, marker).status().unwrap().success());
    };
    orphan(&mark, &format!("{archive}/r-7"));
    orphan(&other, &format!("{alike}/r-7"));
    let alone = |word: &String| with_word(word).len() == 1 && sleepers(word).len() == 1;
    until("both sleep", || alone(&mark) && alone(&other));
    assert_eq!(machine().end_marked(&archive).unwrap(), ["sleep"]);
    assert!(with_word(&mark).is_empty());
    assert_eq!(with_word(&other).len(), 1, "another archive whose name begins alike");
    assert_eq!(machine().end_marked(&alike).unwrap().len(), 1);
    assert!(machine().end_marked("").is_err(), "that would be everyone");
}

#[test]
fn a_guard_at_work_is_waited_for() {
    let folder = Folder::new("guard-at-work");
    let (archive, done) = (archive_id(), folder.path().join("done"));
    let mut job = shell(folder.path(), &format!("{archive}/r"), "sleep 600");
    job.after = vec![vec!["sh".into(), "-c".into(), format!("sleep 1; touch {}", done.display())]];
    let mut guard = bare_guard(&job);
    assert!(guard.line().contains("started"));
    drop(guard.orders.take());
    let names = machine().end_marked(&archive).unwrap();
    assert!(done.exists(), "the guard has run what had to be run");
    assert!(names.is_empty(), "{names:?}");
    assert!(finished(guard.child).status.success());
}

/// A guard driven by hand.
struct Bare {
    child: std::process::Child,
    orders: Option<std::process::ChildStdin>,
    news: BufReader<std::process::ChildStdout>,
}

impl Bare {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.news.read_line(&mut line).unwrap();
        line
    }
}

fn bare_guard(job: &Job) -> Bare {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparkbench"));
    command.arg("guard");
    bare(command, job)
}

fn bare(mut command: Command, job: &Job) -> Bare {
    fair_start();
    command.env(MARKER, &job.marker).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut orders = child.stdin.take().unwrap();
    writeln!(orders, "{}", serde_json::to_string(job).unwrap()).unwrap();
    let news = BufReader::new(child.stdout.take().unwrap());
    Bare { child, orders: Some(orders), news }
}

#[test]
fn a_guard_hears_orders_that_came_early_and_survives_the_signals_of_a_terminal() {
    let folder = Folder::new("guard-early");
    let script = format!("trap 'echo hit' INT HUP; echo ready; {HELD}exit 4");
    let job = shell(folder.path(), &marker(), &script);
    let mut guard = bare_guard(&job);
    assert!(guard.line().contains("started"));
    ready(&folder);
    let signal = |name: &str| Command::new("kill").args([name, &guard.child.id().to_string()]).status().unwrap();
    assert!(signal("-INT").success() && signal("-HUP").success());
    writeln!(guard.orders.as_mut().unwrap(), "nonsense\n").unwrap();
    folder.put("go", "");
    let ended = guard.line();
    assert!(ended.contains("\"code\":4"), "{ended}");
    assert!(!text(&job.stdout).contains("hit"));
    writeln!(guard.orders.as_mut().unwrap(), "close").unwrap();
    assert!(guard.line().contains("closed"));
    assert!(finished(guard.child).status.success());
    // The close is there before the program has started.
    let job = shell(folder.path(), &marker(), "sleep 3600");
    let mut guard = bare_guard(&job);
    writeln!(guard.orders.as_mut().unwrap(), "close").unwrap();
    let mut last = String::new();
    loop {
        let line = guard.line();
        if line.is_empty() {
            break;
        }
        last = line;
    }
    assert!(last.contains("closed") || last.contains("refused"), "{last}");
    assert!(finished(guard.child).status.success());
}

#[test]
fn sigterm_to_the_guard_ends_the_tree_in_order() {
    let folder = Folder::new("guard-sigterm");
    let mark = unique();
    let mut program = machine().launch(&shell(folder.path(), &marker(), &hostile(&mark))).unwrap();
    ready_to_resist(&folder, &mark);
    let guard = process::Process::read(program.pid()).unwrap().parent;
    assert!(Command::new("kill").args(["-TERM", &guard.to_string()]).status().unwrap().success());
    let ended = program.wait(wait::LIMIT).unwrap().unwrap();
    assert_eq!(ended.why.as_deref(), Some("the guard was asked to end by a signal"));
    program.close().unwrap();
    assert!(with_word(&mark).is_empty());
}

/// Not a test of its own: the collector that other tests start again from this very file, and kill.
#[test]
#[ignore = "started by other tests"]
fn collector() {
    let Ok(text) = std::env::var("HOST_GUARD_JOB") else { return };
    let job: Job = serde_json::from_str(&text).unwrap();
    match std::env::var("HOST_GUARD_ROLE").as_deref() {
        Ok("hold") => {
            let _program = machine().launch(&job).unwrap();
            wait::let_pass(Duration::from_secs(3600));
        }
        _ => many(&job),
    }
}

fn start_collector(role: &str, job: &Job) -> std::process::Child {
    fair_start();
    let mut command = again::command(module_path!(), "collector");
    command.env("HOST_GUARD_ROLE", role).env("HOST_GUARD_JOB", serde_json::to_string(job).unwrap());
    command.stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn the_death_of_the_collector_ends_the_tree_and_runs_after() {
    let folder = Folder::new("guard-crash");
    let (mark, archive, done) = (unique(), archive_id(), folder.path().join("done"));
    let mut job = shell(folder.path(), &format!("{archive}/r"), &hostile(&mark));
    job.after = vec![vec!["touch".into(), done.display().to_string()]];
    job.cgroup = true;
    let mut collector = start_collector("hold", &job);
    ready_to_resist(&folder, &mark);
    collector.kill().unwrap();
    assert_eq!(collector.wait().unwrap().signal(), Some(9));
    until("the tree has gone", || with_word(&mark).is_empty());
    until("after has run", || done.exists());
    until("the guard has gone", || marked(&job.marker).is_empty());
    assert_eq!(machine().end_marked(&archive).unwrap(), Vec::<String>::new());
}

/// Kills at moments spread over the whole life of a run: before the guard is up, while the stage works, while the program runs.
#[test]
fn a_collector_killed_at_any_moment_leaves_nothing() {
    let folder = Folder::new("guard-moments");
    let (mark, archive) = (unique(), archive_id());
    let mut job = shell(folder.path(), &format!("{archive}/r"), &format!("setsid sleep {mark} & sleep {mark}"));
    job.cgroup = true;
    for moment in 0..30 {
        let mut collector = start_collector("hold", &job);
        wait::let_pass(Duration::from_micros(1500 * moment));
        collector.kill().unwrap();
        collector.wait().unwrap();
        machine().end_marked(&archive).unwrap();
        // A guard that was just being started shows no mark yet. It finds its collector gone, and ends what it began.
        until("nothing is left", || with_word(&mark).is_empty() && marked(&job.marker).is_empty());
    }
}

#[test]
fn many_quick_programs_leave_no_zombie_no_descriptor_and_no_thread() {
    let folder = Folder::new("guard-many");
    let collector = start_collector("many", &shell(folder.path(), &marker(), "(sleep 0.01 &); exit 0"));
    assert!(finished(collector).status.success());
}

fn many(job: &Job) {
    let held = || {
        let count = |path: &str| std::fs::read_dir(path).unwrap().count();
        (count("/proc/self/fd"), count("/proc/self/task"))
    };
    run(job);
    let before = held();
    for _ in 0..200 {
        let (ended, _) = run(job);
        assert_eq!(ended.code, Some(0));
    }
    let own = std::process::id();
    let children: Vec<_> = process::all().unwrap().into_iter().filter(|process| process.parent == own).collect();
    assert!(children.is_empty(), "{children:?}");
    // The thread of the very first may not have ended when they were counted.
    until("threads and descriptors are given back", || held().0 <= before.0 && held().1 <= before.1);
}

#[test]
fn a_control_group_counts_exactly_this_tree_and_goes_with_it() {
    let folder = Folder::new("guard-cgroup");
    let script = "head -c 50000000 /dev/zero | tail -c 50000000 >/dev/null & echo ready; wait; sleep 600";
    let archive = archive_id();
    let mut job = shell(folder.path(), &format!("{archive}/r.1"), script);
    job.cgroup = true;
    let mut program = machine().launch(&job).unwrap();
    let groups: BTreeMap<_, _> = program.cgroups();
    if groups.is_empty() {
        return skip("no control group may be made here");
    }
    ready(&folder);
    let host = machine();
    for (controller, path) in &groups {
        let members = host.read(&path.join("cgroup.procs")).unwrap();
        assert!(members.lines().any(|pid| pid == program.pid().to_string()), "{controller}: {members}");
        assert!(path.ends_with(format!("sparkbench-{archive}-r.1")), "{}", path.display());
    }
    let memory = groups.get("memory").map(|path| path.join("memory.usage_in_bytes"));
    let memory = memory.or_else(|| groups.get("unified").map(|path| path.join("memory.current")));
    let bytes: u64 = host.read(&memory.unwrap()).unwrap().trim().parse().unwrap();
    assert!(bytes > 0);
    assert!(program.tree().contains(&program.pid()));
    program.end("seen enough").unwrap();
    program.close().unwrap();
    for path in groups.values() {
        assert!(!path.exists(), "{}", path.display());
    }
}

#[test]
fn a_control_group_that_another_program_made_for_the_run_goes_too() {
    let folder = Folder::new("guard-cgroup-other");
    let mut job = shell(folder.path(), &marker(), "echo ready; sleep 600");
    job.cgroup = true;
    let mut program = machine().launch(&job).unwrap();
    let Some(group) = program.cgroups().into_values().next() else {
        return skip("no control group may be made here");
    };
    // As a container program would: a group of the run's name elsewhere, with groups of its own below.
    let elsewhere = format!("elsewhere-{}", archive_id());
    let other = group.parent().unwrap().join(elsewhere).join(group.file_name().unwrap());
    std::fs::create_dir_all(other.join("payload")).unwrap();
    ready(&folder);
    program.end("enough").unwrap();
    program.close().unwrap();
    let there = other.exists();
    std::fs::remove_dir(other.parent().unwrap()).unwrap();
    assert!(!there && !group.exists());
}

#[test]
fn a_process_that_threw_its_environment_away_is_found_by_its_control_group() {
    let folder = Folder::new("guard-cgroup-mark");
    let (mark, archive) = (unique(), archive_id());
    let script = format!("setsid env -i sleep {mark} & echo ready; sleep {mark}");
    let mut job = shell(folder.path(), &format!("{archive}/r"), &script);
    job.cgroup = true;
    let program = machine().launch(&job).unwrap();
    if program.cgroups().is_empty() {
        return skip("no control group may be made here");
    }
    ready(&folder);
    let unmarked = |pid: u32| process::variable(pid, MARKER).is_none();
    until("both sleep, one without its mark", || {
        let sleeping = sleepers(&mark);
        sleeping.len() == 2 && sleeping.into_iter().any(unmarked)
    });
    let guard = process::Process::read(program.pid()).unwrap().parent;
    assert!(Command::new("kill").args(["-9", &guard.to_string()]).status().unwrap().success());
    let groups = program.cgroups();
    until("the guard has gone", || !Path::new(&format!("/proc/{guard}/cwd")).exists());
    machine().end_marked(&archive).unwrap();
    assert!(with_word(&mark).is_empty());
    assert!(groups.values().all(|path| !path.exists()));
}

#[test]
fn a_disk_that_is_full_is_the_programs_own_trouble() {
    let folder = Folder::new("guard-full");
    let script = "head -c 1000000 /dev/zero || exit 28; exit 0";
    let mut job = shell(folder.path(), &marker(), script);
    job.stdout = "/dev/full".into();
    let (ended, _) = run(&job);
    assert_eq!(ended.code, Some(28));
    assert!(text(&job.stderr).contains("No space left"), "{}", text(&job.stderr));
}

/// How often a process has left a processor so far, of itself or driven off it.
fn switches(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let counts = status.lines().filter_map(|line| line.split_once("_ctxt_switches:"));
    counts.map(|(_, count)| count.trim().parse::<u64>().unwrap()).sum()
}

/// A processor that was busy with others proves nothing of ours, and a slow one nothing against it. But who is never woken takes no time.
#[test]
fn a_guard_is_not_woken_while_nothing_happens() {
    let folder = Folder::new("guard-idle");
    let mut program = machine().launch(&shell(folder.path(), &marker(), "sleep 3600")).unwrap();
    let guard = process::Process::read(program.pid()).unwrap().parent;
    // The first second may still see its start.
    until("the guard sleeps through a whole second", || {
        let before = switches(guard);
        let ended = wait::takes_at_least(Duration::from_secs(1), || program.wait(Duration::from_secs(1)).unwrap());
        assert_eq!(ended, None, "and the collector waits as long as it was told to");
        switches(guard) == before
    });
    program.end("done").unwrap();
}
