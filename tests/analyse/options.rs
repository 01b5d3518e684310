//! The options that scripts use: each changes what it says it changes, is printed, and is refused when it makes no sense.

use crate::analyse;
use crate::support::folder::Folder;
use crate::support::program::{FEW, repository, run_in};
use crate::support::report::{Report, kind, list, number, text, texts};

/// Two environments, twelve runs each in turn. The candidate takes about 1 % longer.
fn one_per_cent_apart() -> String {
    let mut table = String::from("environment,model,workload,repeat,started_utc,e2e_latency_ms\n");
    for k in 0..12 {
        let wobble = [0.0, 0.3, -0.2, 0.1, -0.3, 0.2][k % 6];
        table += &format!("native,m,chat,{},2026-01-01T10:{:02}:00Z,{:.2}\n", k + 1, 2 * k, 100.0 + wobble);
        table += &format!("boxed,m,chat,{},2026-01-01T10:{:02}:00Z,{:.2}\n", k + 1, 2 * k + 1, 101.0 - wobble);
    }
    table
}

fn put(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.put("in/t/runs.csv", one_per_cent_apart());
    folder
}

fn report(folder: &Folder, more: &[&str]) -> Report {
    analyse(folder, &[&["--quiet"], more].concat()).expect(0);
    Report::of_site(&folder.path().join("site"))
}

/// Issue 15, point 18: after `collect`, `analyse` without a path looked for a folder that nobody had made.
#[test]
fn without_a_path_the_folder_of_collect_is_read_where_there_is_no_data() {
    let folder = Folder::new("analyse-usual");
    let table =
        |centre: u32| format!("environment,model,workload,ttft_ms\nnative,m,w,{centre}\nnative,m,w,{centre}.5\n");
    folder.put("archive/one/runs.csv", table(100));
    let ending = run_in(folder.path(), &[&["analyse"][..], &FEW].concat(), &[]).expect(0);
    assert!(ending.out.contains("2 runs") || ending.err.contains("2 runs"), "{}{}", ending.out, ending.err);
    folder.put("data/runs.csv", "environment,model,workload,ttft_ms\nnative,m,w,1\nnative,m,w,2\nnative,m,w,3\n");
    let ending = run_in(folder.path(), &[&["analyse"][..], &FEW].concat(), &[]).expect(0);
    assert!(ending.out.contains("3 runs") || ending.err.contains("3 runs"), "{}{}", ending.out, ending.err);
}

#[test]
fn a_margin_changes_the_verdict_and_is_printed_where_it_counts() {
    let folder = Folder::new("analyse-margin");
    // Apart by half a per cent, with noise that hides it: only a margin can decide.
    let mut table = String::from("environment,model,workload,started_utc,e2e_latency_ms\n");
    for k in 0..12 {
        let wobble = [0.0, 2.1, -1.9, 0.8, -2.2, 1.7][k % 6];
        table += &format!("native,m,chat,2026-01-01T10:{:02}:00Z,{:.2}\n", 2 * k, 100.0 + wobble);
        table += &format!("boxed,m,chat,2026-01-01T10:{:02}:00Z,{:.2}\n", 2 * k + 1, 100.4 - wobble);
    }
    folder.put("in/t/runs.csv", table);
    for (margin, expected, words) in [
        ("e2e_latency_ms=0.5", "inconclusive", "could be as large as"),
        ("e2e_latency_ms=5", "equivalent", "equivalent within 5%"),
    ] {
        let report = report(&folder, &["--margin", margin]);
        let compared = report.comparison("t", "m", "chat", "e2e_latency_ms");
        let said = text(&compared["verdict"], "text");
        assert_eq!(kind(compared), expected, "{said}");
        assert!(said.contains(words), "{said}");
        let given: f64 = margin.split_once('=').expect("as written").1.parse().expect("a number");
        assert_eq!(number(&compared["tost"], "margin_pct"), given);
        assert_eq!(number(&report.0["settings"]["margins_pct"], "e2e_latency_ms"), given);
        let markdown = std::fs::read_to_string(folder.path().join("site/data/ANALYSIS.md")).expect("the report");
        assert!(markdown.contains(&format!("--margin {margin}")), "the command that makes it again");
    }
}

#[test]
fn a_difference_within_the_margin_is_still_said_to_be_one() {
    let folder = put("analyse-margin-caveat");
    let report = report(&folder, &["--margin", "e2e_latency_ms=5"]);
    let compared = report.comparison("t", "m", "chat", "e2e_latency_ms");
    assert_eq!(kind(compared), "slower");
    let caveats = texts(&compared["verdict"], "caveats");
    assert!(caveats.contains(&"detectable but within the 5% margin"), "{caveats:?}");
}

#[test]
fn another_baseline_turns_every_sign() {
    let folder = put("analyse-baseline");
    let (usual, turned) = (report(&folder, &[]), report(&folder, &["--baseline", "boxed"]));
    let one = usual.comparison("t", "m", "chat", "e2e_latency_ms");
    let other = turned.comparison("t", "m", "chat", "e2e_latency_ms");
    assert_eq!((text(one, "baseline"), text(one, "candidate"), kind(one)), ("native", "boxed", "slower"));
    assert_eq!((text(other, "baseline"), text(other, "candidate"), kind(other)), ("boxed", "native", "faster"));
    assert_eq!(number(one, "difference"), -number(other, "difference"));
    for value in ["cohens_d", "cliffs_delta"] {
        assert!((number(one, value) + number(other, value)).abs() < 1e-12, "{value}");
    }
    assert_eq!(number(&one["welch_t"], "t"), -number(&other["welch_t"], "t"));
    assert_eq!(number(&one["welch_t"], "p"), number(&other["welch_t"], "p"));
    let back = 100.0 * (1.0 / (1.0 + number(one, "overhead_pct") / 100.0) - 1.0);
    assert!((number(other, "overhead_pct") - back).abs() < 1e-9);
    assert_eq!(text(&turned.0["settings"], "baseline"), "boxed");
}

#[test]
fn a_baseline_that_no_campaign_has_is_a_usage_error_that_names_the_known_ones() {
    let folder = put("analyse-baseline-unknown");
    let ending = analyse(&folder, &["--baseline", "nativ"]).expect(2);
    ending.complains(&["nativ", "boxed", "native"]);
    assert!(!folder.path().join("site").exists(), "nothing is written");
}

#[test]
fn settings_that_make_no_sense_are_usage_errors_and_write_nothing() {
    let folder = put("analyse-usage");
    for (options, words) in [
        (&["--margin", "ttft_ms"][..], &["--margin ttft_ms", "METRIC=PCT"][..]),
        (&["--margin", "speed=5"], &["'speed' is not a metric", "ttft_ms"]),
        (&["--margin", "ttft_ms=-1"], &["'-1'", "METRIC=PCT"]),
        (&["--margin", "ttft_ms=0"], &["'0'"]),
        (&["--margin", "ttft_ms=NaN"], &["'NaN'"]),
        (&["--margin", "ttft_ms=inf"], &["'inf'"]),
        (&["--margin", "ttft_ms=five"], &["'five'"]),
        (&["--margin", "=5"], &["METRIC=PCT"]),
        (&["--confidence", "95"], &["--confidence 95", "0.95"]),
        (&["--confidence", "0"], &["--confidence 0", "0.95"]),
        (&["--confidence", "1"], &["--confidence 1"]),
        (&["--confidence", "NaN"], &["--confidence NaN"]),
        (&["--confidence", "high"], &["'high'", "--confidence"]),
        (&["--resamples", "998"], &["--resamples 998", "999"]),
        (&["--resamples", "1000001"], &["--resamples 1000001", "1000000"]),
        (&["--resamples", "18446744073709551615"], &["--resamples 18446744073709551615", "1000000"]),
        (&["--resamples", "many"], &["'many'", "--resamples"]),
        (&["--resamples", "-5"], &["-5"]),
        (&["--seed", "-1"], &["-1"]),
        (&["--seed", "18446744073709551616"], &["--seed", "18446744073709551616"]),
        (&["--labels", "no-such-file.toml"], &["no-such-file.toml"]),
        (&["--nonsense"], &["--nonsense"]),
    ] {
        let arguments = [&["analyse", "in", "--site", "site"], options].concat();
        let ending = run_in(folder.path(), &arguments, &[]);
        assert_eq!(ending.code, Some(2), "{options:?}: {}", ending.err);
        ending.complains(words);
        assert!(ending.out.is_empty() && !ending.err.contains("panicked"), "{options:?}: {}", ending.err);
        assert!(!folder.path().join("site").exists(), "{options:?}: nothing is written");
    }
}

#[test]
fn the_settings_are_those_that_were_asked_for_and_the_seed_moves_the_draws_alone() {
    let folder = put("analyse-settings");
    let usual = report(&folder, &[]);
    let other = report(&folder, &["--seed", "43", "--confidence", "0.9"]);
    let settings = &other.0["settings"];
    assert_eq!(
        (settings["seed"].as_u64(), settings["resamples"].as_u64(), number(settings, "confidence")),
        (Some(43), Some(999), 0.9)
    );
    assert_eq!(usual.0["settings"]["seed"], 42);
    let interval = |report: &Report| {
        let group = report.group("t", "m", "chat", "native", "e2e_latency_ms");
        (number(&group["t_interval"], "high") - number(&group["t_interval"], "low"), number(group, "mean"))
    };
    assert!(interval(&other).0 < interval(&usual).0, "a lower level gives a shorter interval");
    assert_eq!(interval(&other).1, interval(&usual).1);
    let drawn = report(&folder, &["--seed", "44"]);
    let limits =
        |report: &Report| report.comparison("t", "m", "chat", "e2e_latency_ms")["bootstrap_overhead_pct"].clone();
    assert_ne!(limits(&usual), limits(&drawn), "another seed draws otherwise");
    assert_eq!(
        usual.comparison("t", "m", "chat", "e2e_latency_ms")["fieller_overhead_pct"],
        drawn.comparison("t", "m", "chat", "e2e_latency_ms")["fieller_overhead_pct"],
        "and what is not drawn stays"
    );
}

#[test]
fn labels_from_a_file_fill_what_the_rows_lack() {
    let folder = Folder::new("analyse-labels");
    let rows =
        |values: [f64; 4]| values.iter().fold("model,ttft_ms\n".to_owned(), |table, v| format!("{table}m,{v}\n"));
    folder.put("in/plain.csv", rows([10.0, 10.1, 9.9, 10.0]));
    folder.put("in/wrapped.csv", rows([12.0, 12.1, 11.9, 12.0]));
    let labels = "schema = \"sparkbench.labels/1\"\nname = \"told\"\nbaseline = \"plain\"\n[defaults]\nworkload = \"chat\"\n\
                  [[files]]\nglob = \"plain.csv\"\nenvironment = \"plain\"\n[[files]]\nglob = \"wrapped.csv\"\nenvironment = \"wrapped\"\n";
    let path = folder.put("labels-elsewhere.toml", labels);
    let report = report(&folder, &["--labels", path.to_str().expect("UTF-8")]);
    let compared = report.comparison("told", "m", "chat", "ttft_ms");
    assert_eq!(
        (text(compared, "baseline"), text(compared, "candidate"), kind(compared)),
        ("plain", "wrapped", "slower")
    );
}

#[test]
fn analyze_is_the_same_verb_and_the_help_shows_an_example() {
    let folder = put("analyse-alias");
    run_in(folder.path(), &["analyze", "in", "--site", "site", "--resamples", "999", "-q"], &[]).expect(0);
    for verb in ["analyse", "compare", "stats"] {
        let help = run_in(repository(), &[verb, "--help"], &[]).expect(0);
        assert!(help.out.contains("Examples:") && help.out.contains(&format!("sparkbench {verb}")), "{}", help.out);
    }
    let report = Report::of_site(&folder.path().join("site"));
    assert_eq!(list(&report.0, "campaigns").len(), 1);
}

#[test]
fn the_whole_report_fits_into_one_file_that_opens_from_disk() {
    let folder = put("analyse-single");
    analyse(&folder, &["--single-file", "report.html"]).expect(0);
    let html = std::fs::read_to_string(folder.path().join("report.html")).expect("the single file is written");
    let report = Report::of_site(&folder.path().join("site"));
    let verdict = text(&report.comparison("t", "m", "chat", "e2e_latency_ms")["verdict"], "text").to_owned();
    // Pages set a true minus, and spaces that do not break.
    let plain = html.replace('\u{2212}', "-").replace(['\u{2009}', '\u{202f}'], "").replace('\u{a0}', " ");
    assert!(html.contains("<!doctype html>") && plain.contains(verdict.split(" (").next().expect("a sentence")));
    for (at, _) in html.match_indices("href=\"") {
        let target = html[at + 6..].split('"').next().expect("a quote ends it");
        assert!(target.starts_with(['#']) || target.starts_with("data:") || target.starts_with("https://"), "{target}");
    }
}

#[test]
fn what_no_file_says_is_asked_once_and_written_as_a_file_to_fill_in() {
    let folder = Folder::new("analyse-write-labels");
    let table = one_per_cent_apart().replace("environment,model,", "machine,").replace(",m,", ",");
    folder.put("in/t/runs.csv", table);
    let said = analyse(&folder, &["--write-labels", "blank.toml"]).expect(0).err;
    let asked = said.lines().filter(|line| line.contains("says no model")).count();
    assert!(asked == 1 && said.contains("1 file (t/runs.csv) says no model"), "{said}");
    let blank = std::fs::read_to_string(folder.path().join("blank.toml")).expect("it was written");
    assert!(blank.contains("glob = \"t/runs.csv\"\n") && blank.contains("\nmodel = \"\""), "{blank}");
    folder.put("filled.toml", blank.replace("model = \"\"", "model = \"m\""));
    let said = analyse(&folder, &["--labels", "filled.toml"]).expect(0).err;
    assert!(!said.contains("says no model"), "{said}");
    // The same line again, by the arrow key, does not take away what was filled in.
    analyse(&folder, &["--write-labels", "filled.toml"]).expect(2).complains(&["filled.toml", "--labels"]);
    analyse(&folder, &["--write-labels", "blank.toml"]).expect(0);
}

#[test]
fn engines_are_compared_where_the_labels_ask_for_it() {
    let folder = Folder::new("analyse-compare-by");
    let table = one_per_cent_apart()
        .replace("environment,", "engine,")
        .replace("native,", "vllm,")
        .replace("boxed,", "sglang,");
    folder.put("in/t/runs.csv", table);
    folder.put(
        "in/t/labels.toml",
        "schema = \"sparkbench.labels/1\"\ncompare_by = \"engine\"\nbaseline = \"vLLM\"\n[defaults]\nenvironment = \"docker\"\n",
    );
    let report = report(&folder, &[]);
    let compared = report.comparison("t", "m", "chat", "e2e_latency_ms");
    assert_eq!((text(compared, "baseline"), text(compared, "candidate")), ("vLLM", "SGLang"));
    assert_ne!(kind(compared), "not_comparable", "{}", text(&compared["verdict"], "text"));
    let campaign = report.campaign("t");
    assert_eq!(text(campaign, "compare_by"), "engine");
    let rows = list(campaign, "essentials");
    assert_eq!(rows.len(), 2);
    assert!(list(&rows[0], "cells").iter().all(|cell| text(cell, "empty") == "not reported"), "{:?}", rows[0]);
}
