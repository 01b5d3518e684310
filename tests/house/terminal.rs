//! The terminal as a person meets it: every help page and the usual outputs, each in a file, so that wording is reviewed as a whole.
//!
//! In:  commands on small inputs made here.  Out: `tests/golden/terminal/`, one file a command; help pages whose prose is above the aims.
//! Not here: what the outputs mean (each verb has its own tests), whether advice names options that exist (see `tests/house/shell.rs`).

#![cfg(all(feature = "analyse", feature = "collect", target_os = "linux"))]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

mod scene;

use crate::support::folder::Folder;
use crate::support::program::{repository, run_in};
use crate::support::prose;

/// A usual output: its file, the arguments, the exit status.
type Case = (&'static str, &'static [&'static str], i32);

/// In this order in one folder: later ones meet what earlier ones left.
const USUAL: &[Case] = &[
    // Slips of the fingers.
    ("verb-unknown", &["colect", "suite.toml"], 2),
    ("verb-of-another-spelling", &["analyze", "nowhere"], 5),
    ("option-unknown", &["analyse", "results", "--sit", "public"], 2),
    ("option-without-value", &["analyse", "results", "--site"], 2),
    ("version", &["--version"], 0),
    ("completions-unknown", &["completions", "tcsh"], 2),
    ("man", &["man", "pages"], 0),
    // A suite and its campaign.
    ("init", &["init", "made", "--source", "https://example.org/sparkbench.git"], 0),
    ("init-again", &["init", "made"], 2),
    ("collect-dry-run", &["collect", "suite.toml", "--dry-run"], 0),
    ("collect-only-none", &["collect", "suite.toml", "--dry-run", "--only", "docker/*"], 2),
    ("collect-bad-suite", &["collect", "bad.toml"], 2),
    ("collect-no-suite", &["collect", "nothing.toml"], 2),
    ("check-bad-suite", &["check", "bad.toml"], 2),
    ("status-complete", &["status", "archive/complete"], 0),
    ("status-stopped", &["status", "archive/stopped"], 0),
    ("status-no-archive", &["status", "results"], 5),
    ("verify-complete", &["verify", "archive/complete"], 0),
    ("verify-stopped", &["verify", "archive/stopped"], 0),
    ("verify-damaged", &["verify", "archive/damaged"], 5),
    ("verify-table", &["verify", "results"], 0),
    ("verify-nothing", &["verify", "nowhere"], 5),
    // Judging what is there.
    ("analyse", &["analyse", "results", "--site", "site", "--resamples", "999"], 0),
    ("analyse-archive", &["analyse", "archive/complete", "--site", "site-archive", "--resamples", "999"], 0),
    ("analyse-strict", &["analyse", "results", "broken", "--site", "site-broken", "--resamples", "999", "--strict"], 1),
    ("analyse-empty", &["analyse", "empty"], 5),
    ("analyse-margin", &["analyse", "results", "--margin", "speed=3"], 2),
    ("analyse-baseline", &["analyse", "results", "--baseline", "nativ"], 2),
    (
        "analyse-labels",
        &["analyse", "unlabelled", "--site", "site-labels", "--write-labels", "labels.toml", "--resamples", "999"],
        0,
    ),
    ("verify-site", &["verify", "site", "--archive", "results"], 0),
    ("verify-no-site", &["verify", "archive/complete", "--archive", "results"], 2),
    ("compare", &["compare", "results#native", "results#docker", "--resamples", "999"], 0),
    ("compare-verbose", &["compare", "results#native", "results#docker", "--resamples", "999", "-v"], 0),
    ("compare-worse", &["compare", "results#native", "results#slow", "--resamples", "999"], 1),
    ("compare-undecided", &["compare", "results#native", "noisy", "--resamples", "999"], 6),
    ("compare-environment", &["compare", "results#nativ", "results#docker"], 2),
    ("compare-several", &["compare", "results", "chat"], 2),
    ("compare-itself", &["compare", "other", "other"], 2),
    ("compare-nothing-in-common", &["compare", "other", "chat"], 5),
    ("compare-history", &["compare", "nightly.csv", "--against", "history"], 0),
    ("history", &["history", "nightly.csv"], 0),
    ("history-none", &["history", "results"], 5),
    ("table", &["table", "results", "--where", "environment=native,docker", "--format", "text"], 0),
    ("table-group", &["table", "results", "--group", "environment", "--format", "text"], 0),
    ("table-columns", &["table", "results", "--columns", "?"], 0),
    ("table-csv", &["table", "noisy"], 0),
    ("table-column-unknown", &["table", "results", "--columns", "ttft"], 2),
    ("table-level-unknown", &["table", "results", "--where", "environment=nativ"], 2),
    // Looking into files.
    ("inspect-file", &["inspect", "other/runs.csv"], 0),
    ("inspect-folder", &["inspect", "results"], 0),
    ("inspect-unknown", &["inspect", "notes.bin"], 5),
    ("formats", &["formats"], 0),
    ("formats-word", &["formats", "vllm"], 0),
    ("formats-none", &["formats", "vlm"], 2),
    ("metrics", &["metrics"], 0),
    ("metrics-functions", &["metrics", "--functions"], 0),
    ("metrics-wrong", &["metrics", "--metrics", "wrong.toml"], 2),
    ("chunks-missing", &["chunks", "nothing.sbc"], 5),
    ("stats", &["stats", "a.txt", "b.txt", "--resamples", "999"], 0),
    ("stats-missing", &["stats", "a.txt", "nothing.txt"], 5),
    ("stats-column", &["stats", "results/runs.csv", "--column", "ttft"], 2),
    ("stats-boundaries", &["stats", "--boundaries", "--looks", "5,8,12"], 0),
    ("stats-sequential", &["stats", "a.txt", "b.txt", "--sequential", "--looks", "5,8", "--margin", "2"], 0),
    // Loads, and what is left when there is no server and no cluster.
    ("load-dry-run", &["load", "--url", "localhost:1", "--model", "m", "--requests", "2", "--dry-run"], 0),
    ("load-no-server", &["load", "--url", "http://127.0.0.1:1"], 4),
    ("load-no-url", &["load"], 2),
    ("load-option-without-effect", &["load", "--url", "localhost:1", "--burstiness", "2"], 2),
    ("load-limit", &["load", "--url", "localhost:1", "--slo", "ttft=fast"], 2),
    ("load-address", &["load", "--url", "ftp://localhost:1"], 2),
    ("mock-shape", &["mock", "--shape", "odd"], 2),
    ("gpu-probe-size", &["gpu-probe", "--sizes", "0"], 2),
    ("nodes-link", &["nodes", "--link", "10.0.0.0/99"], 2),
    ("link-probe-one", &["link-probe", "--hosts", "one"], 2),
];

fn golden() -> PathBuf {
    repository().join("tests/golden/terminal")
}

/// Holds a text against its file. With `SPARKBENCH_GOLDEN` writes the file. What differs is added to `wrong`.
fn held(name: &str, text: &str, wrong: &mut Vec<String>) {
    let path = golden().join(name);
    if std::env::var_os("SPARKBENCH_GOLDEN").is_some() {
        fs::create_dir_all(golden()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    if kept != text {
        let place = kept.lines().zip(text.lines()).find(|(old, new)| old != new);
        let place = place.map_or_else(String::new, |(old, new)| format!("\n  kept: {old}\n  now:  {new}"));
        wrong.push(format!("{name} differs from its golden text{place}"));
    }
}

#[track_caller]
fn none_differs(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}\nSPARKBENCH_GOLDEN=write rewrites them", wrong.join("\n"));
}

/// A command as a person meets it: the line, how it ended, what it printed.
fn shown(folder: &Path, arguments: &[&str], code: Option<i32>) -> String {
    let ending = run_in(folder, arguments, &[("NO_COLOR", "1")]);
    if let Some(code) = code {
        assert_eq!(ending.code, Some(code), "{arguments:?}\n{}\n{}", ending.out, ending.err);
    }
    let mut text = format!("$ sparkbench {}\nexit status {}\n", arguments.join(" "), ending.code.unwrap_or(-1));
    for (name, printed) in [("standard output", &ending.out), ("standard error", &ending.err)] {
        if !printed.is_empty() {
            let _ = write!(text, "\n--- {name}\n{printed}");
        }
    }
    steady(&text, folder)
}

/// The text without what differs from machine to machine and from version to version.
fn steady(text: &str, folder: &Path) -> String {
    let text = text.replace(&folder.display().to_string(), "FOLDER");
    let text = text.replace(&format!("sparkbench {}", env!("CARGO_PKG_VERSION")), "sparkbench VERSION");
    // Where the program was built from is the default of an option.
    let source = format!("\n          \n          [default: {}]", env!("SPARKBENCH_SOURCE"));
    let text = if env!("SPARKBENCH_SOURCE").is_empty() { text } else { text.replace(&source, "") };
    let lines = text.split('\n').map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let plain = |at: usize| match words[at] {
            word if is_hash(word) => "SHA256",
            word if word.strip_suffix(',').is_some_and(is_hash) => "SHA256,",
            // How many files a site has, and how large they are, follows from its pages.
            word if number(word) && words.get(at + 1).is_some_and(|next| next.starts_with("files")) => "N",
            word if number(word)
                && words.get(at + 1).is_some_and(|next| next.starts_with("KiB:") || next.starts_with("MiB:")) =>
            {
                "N"
            }
            word if number(word) && words.get(at + 1) == Some(&"numbers") => "N",
            word => word,
        };
        (0..words.len()).map(plain).collect::<Vec<_>>().join(" ")
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    text.replace("N KiB:", "SIZE:").replace("N MiB:", "SIZE:")
}

fn is_hash(word: &str) -> bool {
    word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit())
}

/// Verbs and their own verbs that help pages list, each as the words behind the program's name. The program itself first.
fn pages(folder: &Path) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while at < all.len() {
        let page = all[at].clone();
        let help = help(folder, &page);
        let list = help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
        let first = |line: &str| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')).map(str::to_owned);
        let names = list.lines().filter_map(first).filter_map(|line| line.split(' ').next().map(str::to_owned));
        all.extend(names.filter(|name| name != "help").map(|name| [&page[..], &[name]].concat()));
        at += 1;
    }
    all
}

fn words(page: &[String]) -> Vec<&str> {
    page.iter().map(String::as_str).chain(["--help"]).collect()
}

fn help(folder: &Path, page: &[String]) -> String {
    run_in(folder, &words(page), &[("NO_COLOR", "1")]).expect(0).out
}

/// The file of a help page.
fn file(page: &[String]) -> String {
    let name: Vec<&str> = ["help"].into_iter().chain(page.iter().map(String::as_str)).collect();
    format!("{}.txt", name.join("-"))
}

/// The prose of a help page: what it says of the verb and of each option, without usage, defaults, lists of values and examples.
fn sentences(help: &str) -> String {
    let (about, rest) = help.split_once("\nUsage:").expect("a help page has a usage");
    let (options, _) = rest.split_once("\nExamples:").unwrap_or((rest, ""));
    let text =
        |line: &&str| line.is_empty() || (line.starts_with("          ") && !line.trim_start().starts_with(['[', '-']));
    let mut prose = format!("{}\n", about.trim_start_matches("Usage:"));
    for line in options.lines().filter(text) {
        let line = line.trim();
        let line = line.split_once(" [default: ").map_or(line, |(line, _)| line);
        let _ = writeln!(prose, "{line}");
    }
    prose
}

#[test]
fn every_help_page_is_as_it_was_reviewed() {
    let folder = Folder::new("terminal-help");
    let mut wrong = Vec::new();
    let pages = pages(folder.path());
    assert!(pages.len() > 20, "{pages:?}");
    for page in &pages {
        held(&file(page), &shown(folder.path(), &words(page), Some(0)), &mut wrong);
    }
    none_differs(&wrong);
}

#[test]
fn every_help_page_is_understood_at_first_reading() {
    let folder = Folder::new("terminal-prose");
    let faults: Vec<String> = pages(folder.path())
        .iter()
        .flat_map(|page| prose::faults(&file(page), &sentences(&help(folder.path(), page))))
        .collect();
    assert!(faults.is_empty(), "{}\n{} in all", faults.join("\n"), faults.len());
}

#[test]
fn the_usual_outputs_are_as_they_were_reviewed() {
    assert!(USUAL.len() >= 40);
    let folder = Folder::new("terminal-usual");
    scene::make(&folder);
    let mut wrong = Vec::new();
    for (name, arguments, code) in USUAL {
        held(&format!("{name}.txt"), &shown(folder.path(), arguments, Some(*code)), &mut wrong);
    }
    none_differs(&wrong);
}

#[test]
fn no_golden_text_is_left_over_from_a_verb_or_a_case_that_is_gone() {
    let folder = Folder::new("terminal-left-over");
    let mut known: BTreeSet<String> = pages(folder.path()).iter().map(|page| file(page)).collect();
    known.extend(USUAL.iter().map(|(name, ..)| format!("{name}.txt")));
    let there = fs::read_dir(golden()).expect("the golden texts").flatten();
    let extra: Vec<String> = there
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !known.contains(name))
        .collect();
    assert_eq!(extra, [""; 0], "no test makes these");
}

#[test]
fn what_varies_is_replaced_and_the_rest_is_kept() {
    let folder = Path::new("/a/b");
    let hash = "0123456789abcdef".repeat(4);
    let text = format!(
        "/a/b/site: a site. 211 files, 7.0 MiB: all match\nexpected {hash}, found {hash}\n8 files in site\n12 runs in 3.5 MiB"
    );
    let wanted = "FOLDER/site: a site. N files, SIZE: all match\nexpected SHA256, found SHA256\nN files in site\n12 runs in 3.5 MiB";
    assert_eq!(steady(&text, folder), wanted);
}

#[test]
fn usage_defaults_values_and_examples_are_no_prose() {
    let help = "Do it well\n\nMore of it; here.\n\nUsage: x [OPTIONS]\n\nOptions:\n      --one <N>\n          Number of ones [default: 1; 2]\n          \n          \
                [default: 4]\n\n          Possible values:\n          - a: First\n\nExamples:\n  x; y\n";
    let prose = sentences(help);
    assert!(prose.contains("Number of ones\n") && prose.contains("More of it; here."), "{prose}");
    assert!(["default", "--one", "First", "x; y"].iter().all(|word| !prose.contains(word)), "{prose}");
}
