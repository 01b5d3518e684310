//! `analyse --watch` as a person has it beside a campaign: files come, change and go. The site follows, and is at each rest what a fresh
//! analysis would write, byte for byte.

#![cfg(all(feature = "analyse", unix))]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::folder::Folder;
use crate::support::program::{FEW, fair_start, repository, run_in};
use crate::support::wait;

/// The program while it watches. Ended when the test ends. A test that fails tells what it said.
struct Watching {
    child: Child,
    folder: PathBuf,
}

impl Watching {
    fn start(folder: &Folder) -> Self {
        let err = std::fs::File::create(folder.path().join("err.txt")).unwrap();
        fair_start();
        let child = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
            .args([&["analyse", "in", "--site", "site", "--watch"], &FEW[..]].concat())
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(err)
            .spawn()
            .unwrap();
        Self { child, folder: folder.path().to_owned() }
    }

    fn said(&self) -> String {
        // It may be in the middle of a letter.
        String::from_utf8_lossy(&std::fs::read(self.folder.join("err.txt")).unwrap_or_default()).into_owned()
    }

    /// Waits until the site is the one that a fresh analysis writes.
    #[track_caller]
    fn follows(&self, what: &str) {
        let fresh = self.folder.join("fresh");
        // Into an empty folder: a site that stood there would have its version kept, and the states of a watch are none.
        let _ = std::fs::remove_dir_all(&fresh);
        run_in(&self.folder, &[&["analyse", "in", "--site", "fresh", "--quiet"], &FEW[..]].concat(), &[]).expect(0);
        let wanted = files_below(&fresh);
        let site = self.folder.join("site");
        let mut last = Vec::new();
        wait::until(&format!("a site as of a fresh analysis: {what}"), || {
            let unlike = unlike(&files_below(&site), &wanted);
            if unlike != last {
                eprintln!("{what}: unlike a fresh analysis: {unlike:?}");
                last = unlike;
            }
            last.is_empty()
        });
    }

    /// Interrupts it as Ctrl-C does, and gives its exit code.
    fn interrupt(mut self) -> Option<i32> {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        wait::until_some("the end after an interrupt", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the program said:\n{}", self.said());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every file of a site that may be changing: what is gone between listing and reading is not there.
fn files_below(site: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![site.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                found.insert(path.strip_prefix(site).unwrap().to_str().unwrap().to_owned(), bytes);
            }
        }
    }
    found
}

/// Files that only one side has, or that differ.
fn unlike(site: &BTreeMap<String, Vec<u8>>, wanted: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let paths = site.keys().chain(wanted.keys());
    let mut unlike: Vec<String> = paths.filter(|path| site.get(*path) != wanted.get(*path)).cloned().collect();
    unlike.sort_unstable();
    unlike.dedup();
    unlike
}

/// A run of ours with requests and telemetry, `k` of its environment. `pace` stretches its requests.
fn put_run(folder: &Folder, environment: &str, k: u32, pace: f64) {
    let id = format!("{environment}-m-chat-{k}");
    let home = format!("in/{id}.part/");
    let minute = 2 * k + u32::from(environment != "native");
    let run = format!(
        r#"{{"schema": "sparkbench.run/1", "id": "{id}", "environment": "{environment}", "model": "m", "workload": "chat",
            "repeat": {k}, "block": {k}, "position": {minute}, "started_utc": "2026-01-01T00:{minute:02}:00Z",
            "ended_utc": "2026-01-01T00:{minute:02}:50Z", "exit_code": 0, "asked": {{"model_id": "m", "osl": 4}}}}"#
    );
    let mut requests = String::new();
    for index in 0..12 {
        let sent = f64::from(index);
        let first = sent + pace * (0.05 + 0.001 * f64::from(index * 7 % 5));
        let further: Vec<f64> = (1..4).map(|token| first + 0.01 * pace * f64::from(token)).collect();
        requests += &format!(
            "{{\"index\": {index}, \"intended_s\": {sent}, \"sent_s\": {sent}, \"first_token_s\": {first}, \
             \"further_tokens_s\": {further:?}, \"input_tokens\": 8, \"output_tokens\": 4, \"status\": \"ok\"}}\n"
        );
    }
    let mut telemetry = String::from("timestamp_utc,gpu_util_pct,power_w,gpu_c,sm_clock_mhz\n");
    for second in 0..50 {
        telemetry +=
            &format!("2026-01-01T00:{minute:02}:{second:02}Z,90,{},{},1800\n", 100 + second % 7, 50 + second / 10);
    }
    folder.put(&format!("{home}run.json"), run);
    folder.put(&format!("{home}requests.jsonl"), requests);
    folder.put(&format!("{home}telemetry.csv"), telemetry);
    // A run appears under its name when it is complete, as `collect` does it.
    let runs = folder.path().join("in/runs");
    std::fs::create_dir_all(&runs).unwrap();
    let _ = std::fs::remove_dir_all(runs.join(&id));
    std::fs::rename(folder.path().join(home.trim_end_matches('/')), runs.join(&id)).unwrap();
}

fn campaign(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.put(
        "in/campaign.json",
        r#"{"schema": "sparkbench.campaign/1", "name": "watched", "title": "Watched", "baseline": "native",
            "primary": ["ttft_ms"], "seed": 1, "plan": []}"#,
    );
    for k in 1..=4 {
        put_run(&folder, "native", k, 1.0);
        put_run(&folder, "docker", k, 1.1);
    }
    folder
}

fn table(rows: usize) -> String {
    let mut table = "environment,model,workload,started_utc,ttft_ms,output_throughput_tok_s\n".to_owned();
    for row in 0..rows {
        let environment = ["native", "docker"][row % 2];
        table += &format!("{environment},m,chat,2026-01-01T{:02}:00:00Z,{},{}\n", row, 10 + row % 3, 100 + row % 5);
    }
    table
}

#[test]
fn the_site_of_an_archive_follows_what_is_added_changed_and_removed() {
    let folder = campaign("watch-archive");
    let watching = Watching::start(&folder);
    watching.follows("the first site");
    put_run(&folder, "native", 5, 1.0);
    watching.follows("a run more");
    put_run(&folder, "docker", 2, 1.3);
    watching.follows("a run that changed");
    std::fs::remove_dir_all(folder.path().join("in/runs/native-m-chat-1")).unwrap();
    watching.follows("a run that is gone");
    folder.put("in/study/runs.csv", table(8));
    watching.follows("another campaign beside it");
    std::fs::remove_dir_all(folder.path().join("in/study")).unwrap();
    watching.follows("that campaign gone again");
    assert_eq!(watching.interrupt(), Some(0));
    let site = files_below(&folder.path().join("site"));
    let left: Vec<&String> = site.keys().filter(|path| path.contains(".part")).collect();
    assert!(left.is_empty(), "left aside: {left:?}");
}

#[test]
fn the_site_of_a_table_follows_its_rows() {
    let folder = Folder::new("watch-table");
    folder.put("in/runs.csv", table(8));
    let watching = Watching::start(&folder);
    watching.follows("the first site");
    for rows in [9, 7] {
        folder.put("in/runs.csv", table(rows));
        watching.follows("other rows");
    }
}

#[test]
fn what_cannot_be_read_is_told_and_the_site_stays() {
    let folder = Folder::new("watch-broken");
    folder.put("in/runs.csv", table(8));
    let watching = Watching::start(&folder);
    watching.follows("the first site");
    let before = files_below(&folder.path().join("site"));
    std::fs::remove_file(folder.path().join("in/runs.csv")).unwrap();
    wait::until("nothing to read is told", || watching.said().contains("the site is kept as it was"));
    assert!(unlike(&files_below(&folder.path().join("site")), &before).is_empty(), "the site of before is gone");
    folder.put("in/runs.csv", table(10));
    watching.follows("files again");
}

#[test]
fn a_place_that_is_not_there_is_an_error_and_no_wait() {
    let folder = Folder::new("watch-absent");
    let site = folder.path().join("site");
    let watch = |more: &[&str]| {
        run_in(repository(), &[&["analyse", "absent", "--site", site.to_str().unwrap(), "--watch"], more].concat(), &[])
    };
    watch(&[]).expect(5).complains(&["cannot open 'absent'"]);
    watch(&["--strict"]).expect(2).complains(&["--strict"]);
    assert!(!site.exists());
}
