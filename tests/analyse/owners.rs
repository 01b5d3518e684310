//! Whole folders of people who benchmark: put in as they are, flattened and renamed, each is answered with what its files say.
//!
//! The folders are other people's and are no part of this repository. They are looked for where `SPARKBENCH_SAMPLES` says, else beside the
//! project, and passed over where they are absent. The figures that the answers are held against are read here once more, by a few lines that
//! share nothing with the program.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::{FEW, repository, run_in};

/// The folder of an owner, where there is one.
fn owner(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("SPARKBENCH_SAMPLES").map(PathBuf::from);
    let beside = || repository().parent().map(|parent| parent.join("shared/data/owners"));
    let folder = named.or_else(beside).map(|samples| samples.join(name)).filter(|folder| folder.is_dir());
    if folder.is_none() {
        // Not a lack of this machine: nobody may hand the folders on.
        eprintln!("skipped: no samples of {name}");
    }
    folder
}

/// What is printed for a folder.
fn answer(place: &Folder, input: &Path) -> String {
    let arguments = ["analyse", input.to_str().expect("a path of text"), "--site", "site"];
    run_in(place.path(), &[&arguments[..], &FEW].concat(), &[]).expect(0).out
}

/// The rate of a test in a Markdown table of llama-benchy, from the column of single requests.
fn rate(table: &str, test: &str) -> f64 {
    let row = table.lines().find(|line| line.split('|').any(|cell| cell.trim() == test)).expect("a row of the test");
    let cell = row.split('|').nth(4).expect("the column of requests");
    cell.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a rate")
}

const PRECISIONS: [&str; 3] = ["bf16", "fp8", "nvfp4"];

/// "Which precision is fastest, for one user and for many?"
#[test]
fn the_fastest_precision_is_named_whether_folders_are_nested_flat_or_renamed() {
    let Some(folder) = owner("djangodevreng__dgx-spark-benchmarks") else { return };
    let runs = folder.join("results/qwen-3.6/qwen-3.6-35b-a3b");
    let place = Folder::new("owners-precision");
    let (flat, renamed) = (place.path().join("flat"), place.path().join("renamed"));
    for precision in PRECISIONS {
        for (path, bytes) in files_below(&runs.join(precision)) {
            place.put(&format!("flat/{precision}_{path}"), &bytes);
            place.put(&format!("renamed/set-{precision}/{path}"), &bytes);
        }
    }
    let mut rates: Vec<(f64, &str)> = PRECISIONS
        .iter()
        .map(|precision| {
            let table = fs::read_to_string(runs.join(precision).join("01-chat.md")).expect("the owner's table");
            (rate(&table, "tg1024 (c1)"), *precision)
        })
        .collect();
    rates.sort_by(|a, b| b.0.total_cmp(&a.0));
    let [(first, fastest), (second, next), (third, last)] = rates[..] else { panic!("three precisions") };
    let said = format!(
        "{fastest} is fastest, in one run each: {first:.1} tok/s decode rate. Then come {next} with {second:.1}"
    );
    for input in [&folder, &flat, &renamed] {
        let out = answer(&place, input);
        assert!(out.contains(&said) && out.contains(&format!("and {last} with {third:.1}")), "{said}\n{out}");
        let analysis = fs::read_to_string(place.path().join("site/data/analysis.json")).expect("an analysis");
        let analysis: serde_json::Value = serde_json::from_str(&analysis).expect("JSON");
        assert_eq!(analysis["campaigns"].as_array().map(Vec::len), Some(1), "{input:?}");
        assert_eq!(analysis["campaigns"][0]["asked"]["factor"], "quantisation");
        let overlaps = |trap: &&serde_json::Value| {
            trap["id"] == "runs-overlap" && trap["status"] == "fired" && trap["severity"] == "error"
        };
        assert_eq!(analysis["traps"].as_array().expect("traps").iter().filter(overlaps).count(), 0, "{input:?}");
    }
}

/// "How does it scale?": the figures of the two points, as the owner's files have them.
#[test]
fn a_folder_a_concurrency_is_one_sweep() {
    let Some(folder) = owner("akamaslabs__vllm-benchmark") else { return };
    let place = Folder::new("owners-scaling");
    let of = |point: &str| -> f64 {
        let text = fs::read_to_string(folder.join(point).join("profile_export_aiperf.csv")).expect("the owner's table");
        let row = text.lines().find(|line| line.starts_with("Output Token Throughput (tokens/sec)")).expect("a row");
        row.split(',').nth(1).and_then(|cell| cell.trim().parse().ok()).expect("a rate")
    };
    let out = answer(&place, &folder);
    for said in [format!("{:.0}", of("concurrency_16")), format!("{:.0}", of("concurrency_32"))] {
        assert!(out.contains(&said), "{said}\n{out}");
    }
    assert!(out.contains("32 users"), "{out}");
}

/// "What does the draft bring?": never an average over the two files.
#[test]
fn two_tables_of_one_sweep_are_two_arms_at_each_depth() {
    let Some(folder) = owner("redhunt07__ds4-DSpark-GB10") else { return };
    let place = Folder::new("owners-depth");
    let out = answer(&place, &folder);
    let first = |file: &str| -> f64 {
        let text = fs::read_to_string(folder.join("speed-bench").join(file)).expect("the owner's table");
        let mut lines = text.lines();
        let column = lines.next().expect("a header").split(',').position(|name| name == "gen_tps").expect("a column");
        let row: Vec<&str> = lines.next().expect("a row").split(',').collect();
        row.get(column).and_then(|cell| cell.parse().ok()).expect("a rate")
    };
    let said = format!("{:.1} against {:.1} tok/s decode rate", first("gb10_mtp.csv"), first("gb10.csv"));
    assert!(out.contains(&said) && out.contains("At a depth of 2048 mtp is"), "{said}\n{out}");
}

/// Every folder that holds results gets an answer, and none ends in a panic.
#[test]
fn every_owner_gets_a_first_sentence() {
    let Some(first) = owner("djangodevreng__dgx-spark-benchmarks") else { return };
    let place = Folder::new("owners-all");
    let samples = first.parent().expect("the folder of all");
    for entry in fs::read_dir(samples).expect("samples").flatten().filter(|entry| entry.path().is_dir()) {
        let input = entry.path();
        let arguments = ["analyse", input.to_str().expect("a path of text"), "--site", "site"];
        let ending = run_in(place.path(), &[&arguments[..], &FEW].concat(), &[]);
        assert!(matches!(ending.code, Some(0 | 5)) && !ending.err.contains("panicked"), "{input:?}: {}", ending.err);
        if ending.code == Some(0) {
            let sentence = ending.out.lines().nth(1).unwrap_or_default().trim();
            assert!(!sentence.is_empty(), "{input:?}: {}", ending.out);
        }
    }
}
