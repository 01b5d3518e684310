//! The verb `history` and the gate `compare --against history`, as a nightly job meets them.

#![cfg(feature = "analyse")]

use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::program::{FEW, run_in};

/// A spread that repeats, of one unit at most.
const SHAPE: [f64; 8] = [0.1, -0.7, 0.9, -0.2, 0.6, -1.0, 0.3, 0.0];

/// A CSV with a step of `step` per cent from row 24 of 40 on.
fn csv(step: f64) -> String {
    let mut text = "time,commit,ttft_ms,speed\n".to_owned();
    for row in 0..40 {
        let level = if row < 24 { 100.0 } else { 100.0 + step };
        let noise = SHAPE[row % 8] * 0.3;
        let (month, day) = (row / 28 + 1, row % 28 + 1);
        text += &format!("2026-{month:02}-{day:02}T02:00:00Z,c{row},{:.3},{:.3}\n", level + noise, 50.0 - noise);
    }
    text
}

/// Campaigns of five runs each, night by night, and a new engine from night `change` on.
fn nights(folder: &Folder, nights: usize, change: usize, after: f64) {
    for night in 0..nights {
        let (level, engine) = if night < change { (100.0, "0.9.0") } else { (after, "0.9.1") };
        let mut table = "environment,model,workload,machine,engine,engine_version,started_utc,ttft_ms\n".to_owned();
        for run in 0..5 {
            let value = level + SHAPE[(night * 5 + run) % 8] * 0.4;
            let day = night + 1;
            table += &format!("native,m,chat,box,vllm,{engine},2026-03-{day:02}T02:{run}0:00Z,{value:.3}\n");
        }
        folder.put(&format!("archive/night-{night:02}/runs.csv"), table);
    }
}

#[test]
fn a_table_of_columns_prints_the_form_that_scripts_rely_on() {
    let folder = Folder::new("history-csv");
    folder.put("series.csv", csv(20.0));
    let said = run_in(folder.path(), &["history", "series.csv", "--json"], &[]).expect(0);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.iter().map(|s| s["metric"].as_str().unwrap()).collect::<Vec<_>>(), ["ttft_ms", "speed"]);
    assert_eq!((series[0]["points"].as_u64(), series[1]["change_points"].as_array().unwrap().len()), (Some(40), 0));
    let changes = series[0]["change_points"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!((changes[0]["index"].as_u64(), changes[0]["time"].as_str()), (Some(24), Some("2026-01-25T02:00:00Z")));
    assert!((changes[0]["change_pct"].as_f64().unwrap() - 20.0).abs() < 0.5);
    assert!(changes[0]["before"].as_f64().unwrap() < 101.0 && changes[0]["after"].as_f64().unwrap() > 119.0);
    assert!(changes[0]["p"].as_f64().unwrap() <= 0.01);
    // The same seed gives the same bytes.
    assert_eq!(run_in(folder.path(), &["history", "series.csv", "--json"], &[]).expect(0).out, said.out);
}

#[test]
fn rows_in_any_order_have_the_changes_of_their_times() {
    let folder = Folder::new("history-order");
    let table = csv(20.0);
    let mut rows: Vec<&str> = table.lines().collect();
    let header = rows.remove(0);
    let with = |rows: &[&str]| [&[header], rows].concat().join("\n") + "\n";
    folder.put("sorted.csv", with(&rows));
    rows.reverse();
    folder.put("reversed.csv", with(&rows));
    // Seven and forty have no common divisor, so every row comes once. Two rows come twice.
    let shuffled: Vec<&str> = (0..42).map(|i| rows[i * 7 % 40]).collect();
    folder.put("shuffled.csv", with(&shuffled));
    let changes = |file: &str| {
        let said = run_in(folder.path(), &["history", file, "--json", "--metric", "ttft_ms"], &[]).expect(0);
        let document: Value = serde_json::from_str(&said.out).unwrap();
        let one = &document["series"][0];
        let change = &one["change_points"][0];
        let told = ["time", "before", "after", "change_pct", "p", "last_before"].map(|key| change[key].clone());
        let name = told[5]["name"].clone();
        assert_eq!(one["change_points"].as_array().unwrap().len(), 1);
        ((one["points"].clone(), told[..5].to_vec(), name), said.err)
    };
    let (sorted, quiet) = changes("sorted.csv");
    assert!(sorted.0 == 40 && sorted.2 == "c23" && !quiet.contains("order"), "{sorted:?} {quiet}");
    for file in ["reversed.csv", "shuffled.csv"] {
        let (same, said) = changes(file);
        assert_eq!(same, sorted, "{file}");
        assert!(said.contains("not in order of time, and were put in order"), "{said}");
        assert_eq!(said.contains("2 copies of rows are counted once"), file == "shuffled.csv", "{said}");
    }
    // The newest row is the newest wherever it stands.
    let worse = "2026-03-09T02:00:00Z,c40,150,50\n";
    folder.put("first.csv", format!("{header}\n{worse}{}", table.split_once('\n').unwrap().1));
    folder.put("last.csv", format!("{table}{worse}"));
    let gate = |file: &str| run_in(folder.path(), &["compare", file, "--against", "history"], &[]).expect(1).out;
    assert_eq!(gate("first.csv"), gate("last.csv"));
}

#[test]
fn every_figure_of_an_archive_is_followed_and_the_primary_ones_come_first() {
    let folder = Folder::new("history-figures");
    for night in 0..12 {
        let mut table =
            "environment,model,workload,machine,engine,started_utc,peak_memory_gib,queue_jobs,ttft_ms\n".to_owned();
        for run in 0..5 {
            let noise = SHAPE[(night * 5 + run) % 8];
            let jobs = if night < 6 { 40.0 } else { 60.0 } + noise;
            let day = night + 1;
            table += &format!(
                "native,m,chat,box,vllm,2026-03-{day:02}T02:{run}0:00Z,{:.2},{jobs:.2},{:.2}\n",
                30.0 + 0.1 * noise,
                100.0 + noise
            );
        }
        folder.put(&format!("archive/night-{night:02}/runs.csv"), table.clone());
        if night == 3 {
            folder.put("archive/night-03-copy/runs.csv", table);
        }
    }
    let said = run_in(folder.path(), &["history", "archive", "--json"], &[]).expect(0);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    let series = document["series"].as_array().unwrap();
    let metrics: Vec<&str> = series.iter().map(|one| one["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, ["ttft_ms", "peak_memory_gib", "queue_jobs"], "{}", said.err);
    // The copied night is one point.
    assert!(series.iter().all(|one| one["points"] == 12), "{}", said.out);
    assert_eq!((&series[2]["change_points"][0]["index"], &series[2]["direction"]), (&6.into(), &Value::Null));
}

#[test]
fn a_change_within_the_margin_is_told_and_is_no_change_point() {
    let folder = Folder::new("history-margin");
    folder.put("series.csv", csv(2.0));
    let said = run_in(folder.path(), &["history", "series.csv", "--metric", "ttft_ms"], &[]).expect(0);
    assert!(said.out.contains("no change") && said.out.contains("within the margin of 5 %"), "{}", said.out);
    let narrow = run_in(folder.path(), &["history", "series.csv", "--margin", "ttft_ms=1"], &[]).expect(0);
    assert!(narrow.out.contains("1 change") && narrow.out.contains("last good c23, first bad c24"), "{}", narrow.out);
}

#[test]
fn a_name_that_no_series_has_is_an_error_with_those_there_are() {
    let folder = Folder::new("history-names");
    folder.put("series.csv", csv(0.0));
    folder.put("words.csv", "time,x\nmonday,fast\n");
    run_in(folder.path(), &["history", "series.csv", "--metric", "tfft_ms"], &[]).expect(2).complains(&["ttft_ms"]);
    run_in(folder.path(), &["history", "series.csv", "--margin", "ttft_ms=wide"], &[])
        .expect(2)
        .complains(&["METRIC=PCT"]);
    run_in(folder.path(), &["history", "words.csv"], &[]).expect(5).complains(&["numbers only"]);
    run_in(folder.path(), &["history", "nothing.csv"], &[]).expect(5).complains(&["nothing.csv"]);
}

#[test]
fn other_tools_are_read() {
    let folder = Folder::new("history-tools");
    let entry = |k: usize| {
        let value = if k < 10 { 100 + k % 3 } else { 150 + k % 3 };
        format!(
            r#"{{"commit": {{"id": "c{k}", "timestamp": "2026-01-{:02}T00:00:00Z"}}, "date": 1{k:02}000, "tool": "cargo",
            "benches": [{{"name": "fib", "value": {value}, "range": "± 2", "unit": "ns/iter"}}]}}"#,
            k + 1
        )
    };
    let entries: Vec<String> = (0..20).map(entry).collect();
    folder.put("data.js", format!(r#"window.BENCHMARK_DATA = {{"entries": {{"Rust": [{}]}}}};"#, entries.join(",")));
    let said = run_in(folder.path(), &["history", "data.js"], &[]).expect(0);
    assert!(
        said.out.starts_with("Rust · fib: 20 points, 1 change") && said.out.contains("first bad c10"),
        "{}",
        said.out
    );

    folder.put("asv/benchmarks.json", r#"{"time_a": {"unit": "seconds", "type": "time"}, "version": 2}"#);
    for k in 0..20 {
        let value = if k < 12 { 0.1 } else { 0.2 };
        let value = value + 0.001 * SHAPE[k % 8];
        let result = format!(
            r#"{{"commit_hash": "c{k}", "env_name": "py", "date": 1{k:02}000, "result_columns": ["result", "params"],
            "results": {{"time_a": [[{value}], []]}}, "version": 2}}"#
        );
        folder.put(&format!("asv/box/c{k}-py.json"), result);
    }
    let said = run_in(folder.path(), &["history", "asv"], &[]).expect(0);
    assert!(
        said.out.starts_with("box · py · time_a: 20 points, 1 change") && said.out.contains("first bad c12"),
        "{}",
        said.out
    );
}

#[test]
fn archives_name_what_changed_and_the_gate_judges_the_newest_campaign() {
    let folder = Folder::new("history-archive");
    nights(&folder, 12, 7, 112.0);
    let said = run_in(folder.path(), &["history", "archive"], &[]).expect(0);
    for words in
        ["12 points, 1 change", "last good night-06, first bad night-07", "engine version 0.9.0 → 0.9.1", "worse"]
    {
        assert!(said.out.contains(words), "{words} is not in\n{}", said.out);
    }
    // The newest night is like those since the change.
    let gate = ["compare", "archive", "--against", "history", "--markdown", "comment.md"];
    run_in(folder.path(), &gate, &[]).expect(0);
    // One more night, and it is slower by a fifth.
    nights(&folder, 13, 12, 120.0);
    let said = run_in(folder.path(), &gate, &[]).expect(1);
    assert!(said.out.contains("engine version 0.9.0 → 0.9.1"), "{}", said.out);
    let comment = std::fs::read_to_string(folder.path().join("comment.md")).unwrap();
    assert!(comment.starts_with("<!-- sparkbench compare -->\n### night-12 against history"), "{comment}");
    let json = run_in(folder.path(), &["compare", "archive", "--against", "history", "--json"], &[]).expect(1).out;
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (document["gate"].as_str(), document["verdicts"][0]["kind"].as_str()),
        (Some("regression"), Some("worse"))
    );
    // Two nights are no history.
    let short = Folder::new("history-short");
    nights(&short, 3, 3, 100.0);
    run_in(short.path(), &["compare", "archive", "--against", "history"], &[]).expect(6);
}

#[test]
fn the_page_shows_each_change_with_its_reasons_and_the_stretches_beside_it() {
    let folder = Folder::new("history-page");
    nights(&folder, 12, 7, 112.0);
    run_in(folder.path(), &["analyse", "archive", "--site", "site", FEW[0], FEW[1]], &[]).expect(0);
    let page = std::fs::read_to_string(folder.path().join("site/history/index.html")).unwrap();
    for words in
        ["1 change beyond the margin of 5 % in 12 campaigns", "engine version 0.9.0 → 0.9.1", "Stretches of one level"]
    {
        assert!(page.contains(words), "{words} is not on the page");
    }
    let analysis = std::fs::read_to_string(folder.path().join("site/data/analysis.json")).unwrap();
    let analysis: Value = serde_json::from_str(&analysis).unwrap();
    let series = &analysis["history"][0]["series"][0];
    assert_eq!((series["points"].as_u64(), series["change_points"][0]["index"].as_u64()), (Some(12), Some(7)));
    assert_eq!(series["stretches"].as_array().unwrap().len(), 2);
}

#[test]
fn campaigns_on_several_machines_have_one_answer() {
    let folder = Folder::new("history-replication");
    // Docker costs 2, 6 and 4 % on three machines, and a run varies by less than one.
    for (machine, cost) in [1.02, 1.06, 1.04].into_iter().enumerate() {
        let mut table = "environment,model,workload,machine,engine,started_utc,ttft_ms\n".to_owned();
        for run in 0..8 {
            for (at, (environment, factor)) in [("native", 1.0), ("docker", cost)].into_iter().enumerate() {
                let value = 100.0 * factor + 0.4 * SHAPE[(run * 3 + at * 5 + machine) % 8];
                let minute = 30 * at;
                table += &format!(
                    "{environment},m,chat,box-{machine},vllm,2026-03-0{}T0{run}:{minute:02}:00Z,{value:.3}\n",
                    machine + 1
                );
            }
        }
        folder.put(&format!("archive/box-{machine}/runs.csv"), table);
    }
    run_in(folder.path(), &["analyse", "archive", "--baseline", "native", "--site", "site", FEW[0], FEW[1]], &[])
        .expect(0);
    let analysis = std::fs::read_to_string(folder.path().join("site/data/analysis.json")).unwrap();
    let analysis: Value = serde_json::from_str(&analysis).unwrap();
    let [one] = analysis["replications"].as_array().unwrap().as_slice() else { panic!("{}", analysis["replications"]) };
    assert_eq!((one["campaigns"].as_array().unwrap().len(), one["baseline"].as_str()), (3, Some("native")));
    let change = one["change_pct"].as_f64().unwrap();
    assert!((3.0..5.0).contains(&change), "{change}");
    assert!(one["i2_pct"].as_f64().unwrap() > 90.0 && one["prediction"]["low"].as_f64().unwrap() < 0.0);
    assert!(one["spread"].as_str().unwrap().starts_with("Machines differ more than runs do"), "{}", one["spread"]);
    let page = std::fs::read_to_string(folder.path().join("site/history/index.html")).unwrap();
    assert!(page.contains("The same question in several campaigns") && page.contains("One more campaign would lie in"));
}

#[test]
fn a_control_character_in_a_name_is_shown_by_its_byte() {
    let folder = Folder::new("history-control");
    for arguments in [["history", "a\u{1b}[2J.csv"], ["analyse", "a\u{1b}[2J.csv"]] {
        run_in(folder.path(), &arguments, &[]).expect(5).complains(&["'a\\x1B[2J.csv'"]);
    }
    folder.put("b\u{1b}.csv", "time\n");
    run_in(folder.path(), &["history", "b\u{1b}.csv"], &[]).expect(5).complains(&["b\\x1B.csv"]);
}
