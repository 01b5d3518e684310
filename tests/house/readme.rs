//! The README is the manual: what it shows is what the program prints.
#![cfg(feature = "analyse")]

use std::path::Path;
use std::process::Command;

use crate::support::folder::Folder;

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("the README is there")
}

/// Blocks fenced as `kind`, in order.
fn blocks<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let fence = format!("```{kind}\n");
    text.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

fn run(args: &[&str]) -> (String, String, Option<i32>) {
    let out = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    (text(&out.stdout), text(&out.stderr), out.status.code())
}

#[test]
fn the_first_command_says_what_the_readme_shows() {
    // As on a new machine: a version that stood there before would be carried over.
    let folder = Folder::new("readme-site");
    let site = folder.path().join("site");
    let site = site.to_str().expect("a path in words");
    let (_, said, code) = run(&["analyse", "--site", site]);
    assert_eq!(code, Some(0), "{said}");
    let text = readme();
    let shown = blocks(&text, "text").first().copied().unwrap_or_default();
    assert_eq!(said.replace(site, "site"), shown, "the README's first block is not what the program prints");
    let traps = std::fs::read_dir(Path::new(site).join("traps")).expect("pages of traps");
    let traps = traps.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_dir())).count();
    assert!(text.contains(&format!("looks for {traps} known ways")), "the README counts other than {traps} traps");
}

#[test]
fn the_comparison_in_the_readme_is_what_compare_prints() {
    let (printed, said, code) = run(&["compare", "data/phase1#native", "data/phase1#container"]);
    assert_eq!(code, Some(6), "{said}");
    let text = readme();
    let shown = blocks(&text, "text").get(1).copied().unwrap_or_default();
    assert_eq!(printed, shown, "the README's second block is not what the program prints");
    let tutorial = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/compare-two-folders.md");
    let tutorial = std::fs::read_to_string(tutorial).expect("the tutorial is there");
    assert_eq!(blocks(&tutorial, "text"), [shown], "the tutorial shows another comparison than the README");
}

#[test]
fn every_option_and_verb_the_readme_names_exists() {
    let verbs = [
        "analyse",
        "chunks",
        "compare",
        "formats",
        "history",
        "metrics",
        "inspect",
        "stats",
        "init",
        "check",
        "collect",
        "load",
        "status",
        "verify",
        "gpu-probe",
        "mock",
        "completions",
        "man",
    ];
    let help: String = verbs.iter().map(|verb| run(&[verb, "--help"]).0).collect();
    let text = readme();
    let table =
        text.split("## Verbs").nth(1).and_then(|t| t.split("## How to read").next()).expect("the verbs' section");
    let options: Vec<&str> = table
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(str::split_whitespace)
        .filter(|word| {
            word.starts_with("--") && *word != "--help" && *word != "--no-default-features" && *word != "--features"
        })
        .collect();
    assert!(options.len() > 8, "the README names {} options", options.len());
    for option in options {
        assert!(help.contains(option), "{option} is in the README and in no help");
    }
}

#[test]
fn the_table_in_the_readme_is_read_whole() {
    let text = readme();
    let table = blocks(&text, "csv").first().copied().unwrap_or_default();
    let folder = Folder::new("readme-table");
    folder.put("runs.csv", table);
    let site = folder.path().join("site");
    let (_, said, code) =
        run(&["analyse", folder.path().to_str().expect("words"), "--site", site.to_str().expect("words"), "--strict"]);
    assert_eq!(code, Some(0), "{said}");
    let analysis = std::fs::read_to_string(site.join("data/analysis.json")).expect("an analysis");
    let analysis: serde_json::Value = serde_json::from_str(&analysis).expect("JSON");
    let runs = analysis["runs"].as_array().expect("runs");
    let rates: Vec<(&str, f64)> = runs
        .iter()
        .filter_map(|run| Some((run["environment"].as_str()?, run["metrics"]["output_throughput_tok_s"].as_f64()?)))
        .collect();
    assert_eq!(rates, [("docker", 118.94), ("native", 119.7)]);
}
