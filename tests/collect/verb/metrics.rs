//! Metrics that a suite defines: from the suite over the archive to a verdict, with commands that work, fail and hang.

use serde_json::json;

use super::scene::{LENIENT, SHORT, archive, campaign, collect, head, json, runs, verifies, watched};
use crate::support::folder::Folder;
use crate::support::program::{FEW, run_in};

const METRICS: &str = "[metrics.double]\nexpression = \"2 * ttft_ms\"\ndirection = \"lower_is_better\"\nmargin_pct = 3\n\
    [metrics.printed]\ncommand = [\"/bin/sh\", \"-c\", \"echo for $SPARKBENCH_ENVIRONMENT: 42.5 points\"]\n\
    pattern = ': (?<value>[0-9.]+) points'\nunit = \"points\"\n\
    [metrics.broken]\ncommand = [\"/bin/sh\", \"-c\", \"echo half; echo oh no >&2; exit 3\"]\n\
    [metrics.hangs]\ncommand = [\"/bin/sh\", \"-c\", \"sleep 1000 & sleep 1000\"]\ntime_limit_s = 0.3\n\
    [metrics.reads]\nfile = \"stdout.log\"\npattern = 'ttft_ms=([0-9.]+)'\n";

#[test]
fn a_suite_defines_metrics_and_a_command_that_hangs_costs_its_own_figure_alone() {
    let folder = Folder::new("collect-metrics");
    let head = head(2).replace("primary = [\"ttft_ms\"]", "primary = [\"double\"]");
    folder.put("suite.toml", format!("{head}{SHORT}{METRICS}{LENIENT}"));
    let ending = collect(&folder, &[], &[]).expect(0);
    ending.complains(&[
        "no figure of 'broken': its command failed: oh no",
        "no figure of 'hangs': its command failed: no answer within the time limit",
    ]);
    let wire = campaign(&folder);
    assert_eq!(wire["metrics"]["double"]["expression"], "2 * ttft_ms");
    assert_eq!(wire["metrics"]["hangs"]["time_limit_s"], 0.3);
    for (name, run) in runs(&folder) {
        assert_eq!(run["failure"], json!(null), "{run}");
        assert_eq!(watched(&run, "metric-command")["level"], "not_available", "the first by name is broken");
        let commands = archive(&folder).join("runs").join(&name).join("commands");
        let printed = std::fs::read_to_string(commands.join("printed.txt")).unwrap();
        assert_eq!(printed, "for native: 42.5 points\n");
        assert_eq!(std::fs::read_to_string(commands.join("broken.failed.txt")).unwrap(), "half\noh no\n");
        assert!(commands.join("hangs.failed.txt").exists());
    }
    verifies(&folder);
    let ending = run_in(folder.path(), &[&["analyse", "archive", "--site", "site"], &FEW[..]].concat(), &[]).expect(0);
    ending.complains(&[
        "metric 'broken' of 'scene' is absent in all 2 runs: its command failed. See commands/broken.failed.txt",
    ]);
    let analysis = json(&folder.path().join("site/data/analysis.json"));
    let run = &analysis["runs"][0]["metrics"];
    assert_eq!(
        (run["double"].as_f64(), run["printed"].as_f64(), run["reads"].as_f64()),
        (Some(25.0), Some(42.5), Some(12.5))
    );
    assert_eq!(analysis["campaigns"][0]["primary"], json!(["double"]));
    let origin = &analysis["runs"][0]["origins"]["printed"];
    assert!(origin["file"].as_str().unwrap().ends_with("/commands/printed.txt"), "{origin}");
    assert_eq!((origin["line"].as_u64(), origin["rule"].as_str()), (Some(1), Some("custom.command")));
}

#[test]
fn every_fault_of_a_definition_is_told_with_its_line() {
    let folder = Folder::new("collect-metrics-faults");
    let wrong = "[metrics.one]\nexpression = \"ttft_mss\"\nmargin_pct = 0\n[metrics.two]\n[metrics.three]\npattern = 'x'\nlabels = 3\n";
    folder.put("suite.toml", format!("{}{SHORT}{wrong}{LENIENT}", head(1)));
    let ending = run_in(folder.path(), &["collect", "suite.toml", "--dry-run"], &[]).expect(2);
    ending.complains(&[
        "metrics.one.expression",
        "names \"ttft_mss\", which is not known",
        "did you mean ttft_ms?",
        "metrics.one.margin_pct",
        "metrics.two",
        "does not say where its figures come from",
        "has no group",
        "metrics.three.labels",
    ]);
}
