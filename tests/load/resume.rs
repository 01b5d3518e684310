//! `sparkbench load --resume`: a sweep that was stopped at any moment is continued, and nothing that was finished is measured again.
//!
//! In:  a server in this process that answers so many requests and then holds its answers back until it is told.  Out: nothing.
//! Not here: what one load says (see `verb`), campaigns of a suite (see `tests/collect`).

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use serde_json::Value;

use super::servers::{Small, plain, refusal};
use crate::support::folder::Folder;
use crate::support::program::{Ending, fair_start, finished, run_in};
use crate::support::wait::until;

/// Answers so many streamed requests. Then it holds the others back until it is opened.
struct Held {
    server: Small,
    open: Arc<AtomicBool>,
    streamed: Arc<AtomicU64>,
}

impl Held {
    fn after(answers: u64) -> Self {
        let (open, streamed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (opened, counted) = (Arc::clone(&open), Arc::clone(&streamed));
        let server = Small::start(move |path, body| {
            if body["stream"] == true && counted.fetch_add(1, SeqCst) >= answers {
                until("the server is opened", || opened.load(SeqCst));
            }
            plain(path, body)
        });
        Self { server, open, streamed }
    }

    /// Requests that came.
    fn streamed(&self) -> u64 {
        self.streamed.load(SeqCst)
    }

    /// Begins a load, and ends it by a signal when more requests have come than are answered.
    fn stop(&self, folder: &Folder, line: &str, signal: &str, answers: u64) -> Option<i32> {
        fair_start();
        let mut child = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
            .args(self.arguments(line))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("a request is held back", || {
            assert!(child.try_wait().unwrap().is_none(), "it ended before");
            self.streamed() > answers
        });
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let code = finished(child).status.code();
        self.open.store(true, SeqCst);
        code
    }

    fn arguments(&self, line: &str) -> Vec<String> {
        let shared = ["load", "--url", &self.server.url, "--osl", "4", "--warmup", "0"];
        shared.into_iter().chain(line.split_whitespace()).map(str::to_owned).collect()
    }

    fn load(&self, folder: &Folder, line: &str) -> Ending {
        run_in(folder.path(), &self.arguments(line), &[])
    }
}

fn summaries(path: &Path) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn points(summaries: &[Value]) -> Vec<u64> {
    summaries.iter().filter_map(|one| one["settings"]["concurrency"].as_u64()).collect()
}

/// Issue 34: a sweep that was stopped had to be measured again from its beginning.
#[test]
fn a_sweep_that_was_stopped_or_killed_keeps_its_finished_points_and_measures_the_others() {
    let line = "--concurrency 1,2,4 --requests 4 --json s.json";
    for (signal, code) in [("-INT", Some(4)), ("-KILL", None)] {
        let folder = Folder::new("load-resume");
        let file = folder.path().join("s.json");
        let held = Held::after(4);
        assert_eq!(held.stop(&folder, line, signal, 4), code);
        let first = summaries(&file).remove(0);
        let before = held.streamed();
        let ending = held.load(&folder, &format!("{line} --csv s.csv --resume")).expect(0);
        ending.complains(&["'s.json' has 1 finished load, which is not measured again"]);
        assert_eq!(held.streamed() - before, 8, "two points of four requests: {}", ending.err);
        let all = summaries(&file);
        assert_eq!(points(&all), [1, 2, 4]);
        assert_eq!(all[0], first);
        assert!(all.iter().all(|one| one["valid"] == true && one["completed"] == 4));
        // A line for each of them on the screen, and one in every other file.
        let rows: Vec<&str> = ending.out.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(rows, ["load", "c1", "c2", "c4"], "{}", ending.out);
        assert_eq!(std::fs::read_to_string(folder.path().join("s.csv")).unwrap().lines().count(), 4);
        // Once more: nothing is left.
        let ending = held.load(&folder, &format!("{line} --resume")).expect(0);
        ending.complains(&["has 3 finished loads", "nothing was left to measure"]);
        assert_eq!((held.streamed() - before, summaries(&file)), (8, all));
    }
}

#[test]
fn a_sweep_is_not_continued_with_other_settings_and_each_is_named() {
    let folder = Folder::new("load-resume-other");
    let file = folder.path().join("s.json");
    let held = Held::after(8);
    let line = "--concurrency 1,2 --requests 4 --isl 16 --json s.json";
    held.open.store(true, SeqCst);
    held.load(&folder, line).expect(0);
    let (bytes, before) = (std::fs::read(&file).unwrap(), held.streamed());
    let more = "--requests 6 --isl 17 --seed 7 --slo ttft=100 --temperature 1 --json s.json --resume";
    held.load(&folder, &format!("--concurrency 1,2 {more}")).expect(2).complains(&[
        "'s.json' was measured with other settings",
        "--requests was 4 and is 6 now (c1, c2)",
        "--isl was 16 and is 17 now",
        "--seed was 42 and is 7 now",
        "--slo was not set and is {\"ttft_ms\":100.0} now",
        "--temperature was 0.0 and is 1.0 now",
        "another file with --json FILE",
    ]);
    // A point that is not asked for now would be lost.
    held.load(&folder, "--concurrency 1,4 --requests 4 --isl 16 --json s.json --resume")
        .expect(2)
        .complains(&["it has a load that is not asked for now: concurrency 2"]);
    assert_eq!((std::fs::read(&file).unwrap(), held.streamed()), (bytes, before));
    // A further point changes nothing in the others.
    held.load(&folder, "--concurrency 1,2,4 --requests 4 --isl 16 --json s.json --resume").expect(0);
    assert_eq!((points(&summaries(&file)), held.streamed() - before), (vec![1, 2, 4], 4));
}

#[test]
fn what_cannot_be_continued_is_said_before_anything_is_sent() {
    let folder = Folder::new("load-resume-wrong");
    folder.put("other.json", "{\"schema\": \"other/1\"}");
    folder.put("cut.json", "[{\"schema\": \"sparkbench.load/1\"");
    let held = Held::after(0);
    held.load(&folder, "--concurrency 1,2 --resume").expect(2).complains(&["--json FILE or --archive DIR"]);
    for name in ["other.json", "cut.json"] {
        let line = format!("--concurrency 1,2 --json {name} --resume");
        held.load(&folder, &line).expect(2).complains(&["holds no loads to continue with", name]);
    }
    assert_eq!(held.streamed(), 0);
    // Where there is no file yet the sweep begins.
    held.open.store(true, SeqCst);
    held.load(&folder, "--concurrency 1,2 --requests 4 --json new.json --resume").expect(0);
    assert_eq!(points(&summaries(&folder.path().join("new.json"))), [1, 2]);
}

/// A server that died in the middle leaves points without figures.
#[test]
fn a_point_that_is_not_valid_is_measured_again_and_stays_in_the_file_until_then() {
    let folder = Folder::new("load-resume-invalid");
    let file = folder.path().join("s.json");
    let (broken, streamed) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
    let (breaks, counted) = (Arc::clone(&broken), Arc::clone(&streamed));
    let server = Small::start(move |path, body| {
        let count = if body["stream"] == true { counted.fetch_add(1, SeqCst) } else { 0 };
        // The second point of three.
        if breaks.load(SeqCst) && (4..8).contains(&count) {
            refusal(500, "", "out of order")
        } else {
            plain(path, body)
        }
    });
    let held = Held { server, open: Arc::default(), streamed };
    let line = "--concurrency 1,2,4 --requests 4 --json s.json";
    held.load(&folder, line).expect(4);
    assert_eq!(summaries(&file).iter().map(|one| one["valid"] == true).collect::<Vec<_>>(), [true, false, true]);
    broken.store(false, SeqCst);
    let before = held.streamed();
    let ending = held.load(&folder, &format!("{line} --resume")).expect(0);
    ending.complains(&["has 2 finished loads", "c2 was not finished, or is not valid: it is measured again"]);
    assert_eq!(held.streamed() - before, 4);
    let all = summaries(&file);
    assert_eq!(points(&all), [1, 2, 4]);
    assert!(all.iter().all(|one| one["valid"] == true));
}

#[test]
fn single_passes_of_a_load_are_kept_too() {
    let folder = Folder::new("load-resume-passes");
    let held = Held::after(4);
    let line = "--concurrency 1,2 --requests 4 --repeats 2 --json s.json";
    held.stop(&folder, line, "-INT", 4);
    let before = held.streamed();
    let ending = held.load(&folder, &format!("{line} --resume")).expect(0);
    assert_eq!(held.streamed() - before, 12, "three passes of four requests: {}", ending.err);
    assert_eq!(points(&summaries(&folder.path().join("s.json"))), [1, 1, 2, 2]);
    let rows: Vec<&str> = ending.out.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(rows, ["load", "c1", "c2"], "{}", ending.out);
}

#[test]
fn a_search_goes_on_from_the_points_that_it_has() {
    let folder = Folder::new("load-resume-search");
    let file = folder.path().join("s.json");
    let held = Held::after(4);
    let line = "--concurrency 1..4 --saturation --requests 4 --json s.json";
    held.stop(&folder, line, "-INT", 4);
    let first = summaries(&file).remove(0);
    let ending = held.load(&folder, &format!("{line} --resume")).expect(0);
    let all = summaries(&file);
    // How far it goes depends on times. That it has a result does not.
    assert!(all.len() > 1 && ending.out.contains("saturation"), "{}", ending.out);
    assert_eq!((&all[0], points(&all).iter().filter(|point| **point == 1).count()), (&first, 1));
}

/// Issue 34: an archived sweep that was stopped lost the points that were done.
#[test]
fn an_archived_sweep_is_continued_like_a_campaign() {
    let line = "--concurrency 2,1,4 --requests 4 --archive kept --json s.json";
    for (signal, code) in [("-INT", Some(4)), ("-KILL", None)] {
        let folder = Folder::new("load-resume-archive");
        let held = Held::after(4);
        assert_eq!(held.stop(&folder, line, signal, 4), code);
        let before = held.streamed();
        // Without the word for it nothing is touched.
        held.load(&folder, line).expect(2).complains(&["kept' is not empty", "continue with --resume"]);
        let other = "--concurrency 2,1,8 --requests 4 --seed 7 --archive kept --json s.json --resume";
        held.load(&folder, other).expect(2).complains(&[
            "kept' was measured with other settings",
            "--seed was 42 and is 7 now",
            "load c8 was not asked for and is asked for now",
            "load c4 was asked for and is not asked for now",
        ]);
        assert_eq!(held.streamed(), before);
        held.load(&folder, &format!("{line} --resume")).expect(0);
        assert_eq!(held.streamed() - before, 8, "two points of four requests");
        let all = summaries(&folder.path().join("s.json"));
        assert_eq!(points(&all), [2, 1, 4]);
        assert!(all.iter().all(|one| one["valid"] == true && one["completed"] == 4));
        run_in(folder.path(), &["verify", "kept"], &[]).expect(0);
        // Once more: nothing is left, and everything is told again.
        let ending = held.load(&folder, &format!("{line} --resume")).expect(0);
        assert_eq!((held.streamed() - before, ending.out.lines().count()), (8, 4), "{}", ending.out);
    }
}
