//! A campaign looked at from beside it, while it is at work and when it is over.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::scene::{LENIENT, head};
use crate::support::folder::Folder;
use crate::support::program::{fair_start, finished, run_in};

const SUITE: &str = "[environments.native]\n[workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", \"sleep 3; echo ttft_ms=12.5\"]\n\
                     reports = [{ path = \"stdout\", parser = \"lines\" }]\nexpected_s = 3\n";

#[test]
fn status_follows_a_campaign_from_its_first_run_to_its_seal() {
    let folder = Folder::new("look");
    folder.put("suite.toml", format!("{}{SUITE}{LENIENT}", head(3)));
    let program = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sparkbench"));
        command.current_dir(folder.path()).stdin(Stdio::null());
        command
    };
    fair_start();
    let mut collector = program()
        .args(["collect", "suite.toml", "--archive", "archive", "--quiet"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut seen: Vec<(String, u64, Value)> = Vec::new();
    let mut watcher = None;
    let began = Instant::now();
    while collector.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(180), "{seen:?}");
        if folder.path().join("archive/campaign.json").exists() {
            watcher.get_or_insert_with(|| {
                program()
                    .args(["status", "archive", "--watch"])
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap()
            });
            let ending = run_in(folder.path(), &["status", "archive", "--json"], &[]).expect(0);
            let status: Value = serde_json::from_str(&ending.out).unwrap();
            let counts = &status["runs"];
            let sum: u64 =
                ["done", "running", "failed", "skipped", "left"].iter().map(|key| counts[*key].as_u64().unwrap()).sum();
            assert_eq!((counts["planned"].as_u64(), sum), (Some(3), 3), "{counts}");
            seen.push((status["state"].as_str().unwrap().to_owned(), counts["done"].as_u64().unwrap(), status));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(collector.wait().unwrap().success());
    assert!(seen.windows(2).all(|pair| pair[0].1 <= pair[1].1), "what is done stays done");
    let running =
        seen.iter().find(|(state, done, _)| state == "running" && *done == 1).expect("seen at work in the second run");
    assert!(running.2.to_string().contains("002-native-none-job-r02"), "{}", running.2);
    let watched = finished(watcher.expect("there was an archive to watch"));
    let lines = String::from_utf8(watched.stdout).unwrap();
    assert!(
        watched.status.success() && lines.lines().last().unwrap().contains("complete, 3 of 3 runs done"),
        "{lines}"
    );

    let ending = run_in(folder.path(), &["status", "archive", "--json"], &[]).expect(0);
    let complete: Value = serde_json::from_str(&ending.out).unwrap();
    assert_eq!((complete["state"].as_str(), complete["runs"]["done"].as_u64()), (Some("complete"), Some(3)));
    assert!(ending.out.contains("\"mean\": 12.5"), "{}", ending.out);
    let table = run_in(folder.path(), &["status", "archive"], &[]).expect(0);
    assert!(table.out.contains("native") && table.out.contains("12.5"), "{}", table.out);
}
