//! A campaign that stops when it is decided, from its suite to its pages: clear differences stop it early, open ones go on to the end, and a
//! kill in the middle of a block changes nothing.

use std::fs;

use serde_json::Value;

use super::scene::{LENIENT, archive, campaign, collect, json, runs, verifies};
use crate::support::folder::Folder;
use crate::support::program::{Ending, FEW, run_in};

/// Two environments whose figures follow the repeat, so that every run of the test gives the same. `SHIFT` is how much the candidate is slower,
/// `SPREAD` how far runs lie apart.
const JOB: &str = "#!/bin/sh\n\
    awk -v k=\"$1\" -v shift=\"${SHIFT:-0}\" -v spread=\"$SPREAD\" 'BEGIN { \
    printf \"ttft_ms=%.4f\\n\", 100 + shift + spread * ((k * (37 + (shift > 0) * 5)) % 13 - 6) / 6 }'\n";

fn suite(folder: &Folder, repeats: &str, shift: f64, spread: f64) {
    folder.put("job.sh", JOB);
    folder.put(
        "suite.toml",
        format!(
            "schema = \"sparkbench.suite/1\"\nname = \"scene\"\nrepeats = {repeats}\nseed = 7\nprimary = [\"ttft_ms\"]\nbaseline = \"native\"\n\
             [margins_pct]\nttft_ms = 2\n\
             [environments.native]\nenv = {{ SPREAD = \"{spread}\" }}\n\
             [environments.other]\nkind = \"native\"\nenv = {{ SHIFT = \"{shift}\", SPREAD = \"{spread}\" }}\n\
             [workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"{{work}}/job.sh\", \"{{repeat}}\"]\nassets = [\"job.sh\"]\n\
             reports = [{{ path = \"stdout\", parser = \"lines\" }}]\nexpected_s = 0.1\n{LENIENT}"
        ),
    );
}

/// Events of the journal by name.
fn events(folder: &Folder, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(archive(folder).join("journal.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == name).collect()
}

/// The analysis of the archive.
fn analysis(folder: &Folder) -> Value {
    run_in(folder.path(), &[&["analyse", "archive", "--site", "site"], &FEW[..]].concat(), &[]).expect(0);
    json(&folder.path().join("site/data/analysis.json"))
}

fn primary(analysis: &Value) -> &Value {
    let all = analysis["comparisons"].as_array().unwrap();
    all.iter().find(|c| c["metric"] == "ttft_ms").expect("the primary comparison")
}

fn trap<'v>(analysis: &'v Value, id: &str) -> &'v Value {
    let all = analysis["traps"].as_array().unwrap();
    all.iter().find(|trap| trap["id"] == id).unwrap_or_else(|| panic!("no trap {id}"))
}

const LOOKS: &str = "{ min = 3, max = 10, until = \"decided\", looks = [3, 5, 10], spending = \"pocock\" }";

#[test]
fn a_clear_difference_stops_the_campaign_and_seals_it() {
    let folder = Folder::new("decided");
    suite(&folder, LOOKS, 40.0, 0.2);
    let ending: Ending = collect(&folder, &[], &[]).expect(0);
    ending.complains(&[
        "look 1 of 3, at 3 of 10 blocks: 1 of 1 primary comparison decided",
        "slower at look 1",
        "14 runs of the plan were not needed",
        "complete and sealed",
    ]);
    let design = &campaign(&folder)["design"];
    assert_eq!(design["kind"], "group-sequential");
    assert_eq!(design["looks"], serde_json::json!([3, 5, 10]));
    assert_eq!(
        (&design["spending"], &design["alpha"], &design["futility"]),
        (&"pocock".into(), &0.05.into(), &"go-on".into())
    );
    assert_eq!(runs(&folder).len(), 6, "three blocks of two");
    let looked = events(&folder, "looked");
    assert_eq!(looked.len(), 1);
    assert_eq!(
        (looked[0]["look"].as_u64(), looked[0]["blocks"].as_u64(), looked[0]["open"].as_u64()),
        (Some(1), Some(3), Some(0))
    );
    assert_eq!(events(&folder, "skipped").len(), 14);
    assert!(archive(&folder).join("seal.json").exists());
    verifies(&folder);
    let status = run_in(folder.path(), &["status", "archive"], &[]).expect(0);
    assert!(status.out.contains("complete") && !status.out.contains("left over"), "{}", status.out);

    let analysis = analysis(&folder);
    let c = primary(&analysis);
    let looks = &c["sequential"];
    assert_eq!(
        (looks["look"].as_u64(), looks["n"].as_u64(), looks["runs_saved_of_max"].as_u64()),
        (Some(1), Some(3), Some(7))
    );
    assert_eq!(looks["decision"], "slower");
    assert!((looks["information"].as_f64().unwrap() - 0.3).abs() < 1e-12);
    for key in ["z_boundary", "nominal_p", "stagewise_p", "median_unbiased_pct"] {
        assert!(looks[key].is_f64(), "{key} in {looks}");
    }
    assert!(looks["repeated_interval_pct"]["low"].as_f64().unwrap() > 0.0);
    assert_eq!(c["verdict"]["kind"], "slower");
    let text = c["verdict"]["text"].as_str().unwrap();
    assert!(
        text.contains("repeated 95 % interval") && text.contains("decided at look 1 of 3 with 3 of 10 blocks"),
        "{text}"
    );
    assert_eq!(trap(&analysis, "stopped-early")["status"], "passed");
    assert_eq!(trap(&analysis, "run-count")["status"], "passed");
    let pages = fs::read_dir(folder.path().join("site/c/scene")).unwrap().count();
    assert!(pages > 0);
    // Going on with what is complete changes nothing.
    let journal = fs::read(archive(&folder).join("journal.jsonl")).unwrap();
    collect(&folder, &["--resume"], &[]).expect(0);
    assert_eq!(fs::read(archive(&folder).join("journal.jsonl")).unwrap(), journal);
}

#[test]
fn what_is_not_decided_goes_on_to_the_last_look() {
    let folder = Folder::new("undecided");
    suite(&folder, "{ min = 3, max = 5, until = \"decided\", looks = [3, 5] }", 1.0, 8.0);
    let ending = collect(&folder, &[], &[]).expect(0);
    ending.complains(&[
        "look 1 of 2, at 3 of 5 blocks: 0 of 1",
        "look 2 of 2, at 5 of 5 blocks: 0 of 1",
        "inconclusive",
    ]);
    assert_eq!(runs(&folder).len(), 10);
    assert_eq!(events(&folder, "looked").len(), 2);
    assert_eq!(events(&folder, "skipped").len(), 0);
    verifies(&folder);
    let analysis = analysis(&folder);
    assert_eq!(primary(&analysis)["sequential"]["decision"], "inconclusive");
    assert_eq!(primary(&analysis)["verdict"]["kind"], "inconclusive");
}

#[test]
fn a_campaign_made_in_parts_looks_at_the_same_blocks() {
    let folder = Folder::new("parts");
    suite(&folder, LOOKS, 40.0, 0.2);
    // One environment first: no block is whole, so nothing is looked at.
    collect(&folder, &["--only", "native/*"], &[]).expect(0);
    assert_eq!(events(&folder, "looked").len(), 0);
    collect(&folder, &["--resume"], &[]).expect(0);
    let looked = events(&folder, "looked");
    assert_eq!(looked.len(), 1, "{looked:?}");
    assert!(archive(&folder).join("seal.json").exists());
    verifies(&folder);
}

/// Keeps the first lines of the journal, up to the last one of an event, and takes the seal away: what a kill leaves behind.
fn cut_after(folder: &Folder, event: &str) {
    let path = archive(folder).join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let named = |line: &&str| serde_json::from_str::<Value>(line).unwrap()["event"] == event;
    let last = lines.iter().rposition(named).unwrap_or_else(|| panic!("no {event}"));
    fs::write(&path, lines[..=last].iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    fs::remove_file(archive(folder).join("seal.json")).unwrap();
}

#[test]
fn a_kill_between_the_last_run_and_the_seal_leads_to_the_same_end() {
    let folder = Folder::new("killed");
    suite(&folder, LOOKS, 40.0, 0.2);
    collect(&folder, &[], &[]).expect(0);
    let before = runs(&folder);
    // Before the look, after it, and in the middle of the runs that are not needed.
    for event in ["finished", "looked", "skipped"] {
        cut_after(&folder, event);
        if event == "skipped" {
            let path = archive(&folder).join("journal.jsonl");
            let text = fs::read_to_string(&path).unwrap();
            let half: Vec<&str> = text.lines().collect();
            let half = &half[..half.len() - 7];
            fs::write(&path, half.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        }
        collect(&folder, &["--resume"], &[]).expect(0).complains(&["complete and sealed"]);
        assert_eq!(runs(&folder), before, "no run was made again or added");
        let looked = events(&folder, "looked");
        assert_eq!((looked.len(), looked[0]["look"].as_u64()), (1, Some(1)), "{event}: {looked:?}");
        assert_eq!(events(&folder, "skipped").len(), 14, "{event}");
        verifies(&folder);
    }
}

#[test]
fn a_failed_run_costs_its_block_and_is_not_replaced() {
    let folder = Folder::new("failed-block");
    suite(&folder, LOOKS, 40.0, 0.2);
    // The second run of the candidate breaks off.
    folder.put(
        "job.sh",
        format!("#!/bin/sh\n[ \"$1\" = 2 ] && [ \"${{SHIFT:-0}}\" != 0 ] && exit 3\n{}", &JOB["#!/bin/sh\n".len()..]),
    );
    collect(&folder, &[], &[]).expect(4).complains(&["failed"]);
    let looked = events(&folder, "looked");
    assert!(!looked.is_empty() && looked[0]["blocks"] == 3, "{looked:?}");
    let analysis = analysis(&folder);
    let looks = &primary(&analysis)["sequential"];
    assert_eq!((looks["looks"][0]["look"].as_u64(), looks["looks"][0]["n"].as_u64()), (Some(1), Some(2)), "{looks}");
    assert!((looks["looks"][0]["information"].as_f64().unwrap() - 0.2).abs() < 1e-12, "{looks}");
    assert_eq!(runs(&folder).values().filter(|run| run["failure"].is_string()).count(), 1);
    verifies(&folder);
}

#[test]
fn what_no_look_can_decide_stops_the_campaign_where_the_suite_says_so() {
    let until = |futility: &str| {
        format!("{{ min = 3, max = 9, until = \"decided\", looks = [3, 8, 9], on_futility = \"{futility}\" }}")
    };
    let folder = Folder::new("futile");
    suite(&folder, &until("stop"), 0.5, 9.0);
    let ending = collect(&folder, &[], &[]).expect(0);
    ending.complains(&["can no longer be decided", "no later look can decide", "2 runs of the plan were not needed"]);
    assert_eq!(runs(&folder).len(), 16);
    let analysis = analysis(&folder);
    let looks = &primary(&analysis)["sequential"];
    assert_eq!(
        (looks["decision"].as_str(), looks["without_prospects"].as_bool()),
        (Some("go_on"), Some(true)),
        "{looks}"
    );
    assert_eq!(primary(&analysis)["verdict"]["kind"], "inconclusive");

    let folder = Folder::new("futile-on");
    suite(&folder, &until("go-on"), 0.5, 9.0);
    collect(&folder, &[], &[]).expect(0);
    assert_eq!(runs(&folder).len(), 18);
}

#[test]
fn a_suite_that_cannot_be_decided_is_refused_with_its_reasons() {
    let folder = Folder::new("refused");
    suite(&folder, "{ min = 5, max = 3, until = \"decided\", looks = [2, 2], spending = \"haybittle\" }", 1.0, 1.0);
    collect(&folder, &["--dry-run"], &[]).expect(2).complains(&[
        "repeats.max",
        "below min",
        "repeats.looks",
        "rise",
        "repeats.spending",
        "obf, pocock, linear",
    ]);
    suite(&folder, "{ max = 30, until = \"decided\" }", 1.0, 1.0);
    collect(&folder, &["--dry-run"], &[]).expect(2).complains(&["repeats.min", "is missing"]);
    suite(&folder, "{ min = 5, max = 30, until = \"decided\" }\norder = \"blocked\"", 1.0, 1.0);
    collect(&folder, &["--dry-run"], &[]).expect(2).complains(&["order", "whole blocks"]);
    suite(&folder, "{ min = 5, max = 30, until = \"decided\" }", 1.0, 1.0);
    let plan = collect(&folder, &["--dry-run"], &[]).expect(0).out;
    assert!(plan.contains("duration: at most about"), "{plan}");
    assert!(plan.contains("looks after 5, 8, 12, 19 and 30 blocks, obf spending, alpha 0.05"), "{plan}");
}
