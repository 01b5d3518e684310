//! A campaign looked at from beside it, while it is at work and when it is over.

use std::cell::Cell;

use serde_json::Value;

use super::scene::{LENIENT, archive, head};
use super::short::{Collector, events};
use crate::support::folder::Folder;
use crate::support::program::run_in;
use crate::support::wait::{until, until_some};

/// Each run waits until it is told to go on.
const JOB: &str = "#!/bin/sh\nwhile [ ! -e \"$1/go-$2\" ]; do sleep 0.05; done\necho ttft_ms=12.5\n";

#[test]
fn status_follows_a_campaign_from_its_first_run_to_its_seal() {
    let folder = Folder::new("look");
    folder.put("job.sh", JOB);
    folder.put(
        "suite.toml",
        format!(
            "{}[environments.native]\n[workloads.job]\nkind = \"command\"\n\
             command = [\"/bin/sh\", \"{{work}}/job.sh\", \"{}\", \"{{repeat}}\"]\nassets = [\"job.sh\"]\n\
             reports = [{{ path = \"stdout\", parser = \"lines\" }}]\nexpected_s = 3\n{LENIENT}",
            head(3),
            folder.path().display()
        ),
    );
    let archive = archive(&folder);
    let collector = Collector::start(folder.path(), &archive, &["--quiet"]);
    until("the campaign has begun", || !events(&archive, "opened").is_empty());
    let watcher = Collector::verb(folder.path(), &["status", "archive", "--watch"]);
    let most = Cell::new(0);
    let look = || {
        let ending = run_in(folder.path(), &["status", "archive", "--json"], &[]).expect(0);
        let status: Value = serde_json::from_str(&ending.out).unwrap();
        let counts = &status["runs"];
        let sum: u64 =
            ["done", "running", "failed", "skipped", "left"].iter().map(|key| counts[*key].as_u64().unwrap()).sum();
        assert_eq!((counts["planned"].as_u64(), sum), (Some(3), 3), "{counts}");
        let done = counts["done"].as_u64().unwrap();
        assert!(done >= most.replace(done), "what is done stays done: {counts}");
        status
    };
    for run in 1..=3_u64 {
        let running = until_some("the next run is seen at work", || {
            Some(look()).filter(|status| status["state"] == "running" && status["runs"]["done"] == run - 1)
        });
        assert_eq!(running["runs"]["running"], 1, "{running}");
        assert!(running.to_string().contains(&format!("{run:03}-native-none-job-r{run:02}")), "{running}");
        folder.put(&format!("go-{run}"), "");
    }
    collector.end().expect(0);
    let lines = watcher.end().expect(0).out;
    assert!(lines.lines().last().is_some_and(|line| line.contains("complete, 3 of 3 runs done")), "{lines}");

    let ending = run_in(folder.path(), &["status", "archive", "--json"], &[]).expect(0);
    let complete: Value = serde_json::from_str(&ending.out).unwrap();
    assert_eq!((complete["state"].as_str(), complete["runs"]["done"].as_u64()), (Some("complete"), Some(3)));
    assert!(ending.out.contains("\"mean\": 12.5"), "{}", ending.out);
    let table = run_in(folder.path(), &["status", "archive"], &[]).expect(0);
    assert!(table.out.contains("native") && table.out.contains("12.5"), "{}", table.out);
}
