//! The site of `data/` as a whole: complete, sound, hashed, the same twice.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::{FEW, run_in};
use crate::support::report::{list, text};
use crate::{PUBLISHED, published, published_site, studies, support::site_check};

fn text_of<'f>(files: &'f BTreeMap<String, Vec<u8>>, path: &str) -> &'f str {
    std::str::from_utf8(files.get(path).unwrap_or_else(|| panic!("no {path}"))).expect("UTF-8")
}

#[test]
fn the_site_has_every_path_of_the_contract_and_a_page_for_every_campaign_and_run() {
    let files = files_below(published_site());
    let fixed = ["index.html", "traps/index.html", "cost/index.html", "method/index.html", "data/index.html"];
    let downloads = ["analysis.json", "runs.csv", "requests.parquet", "comparisons.csv", "ANALYSIS.md", "SHA256SUMS"]
        .map(|n| format!("data/{n}"));
    for path in fixed.map(str::to_owned).iter().chain(&downloads) {
        assert!(files.get(path).is_some_and(|bytes| !bytes.is_empty()), "{path}");
    }
    let analysis = &published().0;
    let names = |key: &str, name: &str| -> Vec<String> {
        list(analysis, key).iter().map(|item| text(item, name).to_owned()).collect()
    };
    assert_eq!(names("campaigns", "name"), ["h200-chroot", "phase1"]);
    assert_eq!(names("runs", "id").len(), 63 + 42);
    let pages = names("campaigns", "name").into_iter().map(|name| format!("c/{name}/index.html"));
    let runs = names("runs", "id").into_iter().map(|id| format!("r/{id}/index.html"));
    let expected: BTreeSet<String> = pages.chain(runs).chain(fixed.map(str::to_owned)).chain(downloads).collect();
    let found: BTreeSet<String> = files.keys().cloned().collect();
    let missing: Vec<&String> = expected.difference(&found).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // What lies around beyond these has a link that leads to it, which the check of soundness asks of every file.
}

#[test]
fn every_page_is_sound_and_every_link_and_anchor_leads_somewhere() {
    let faults = site_check::faults(&files_below(published_site()));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Without blocks of data, which name addresses and are read by nobody but search engines.
fn without_data(html: &str) -> String {
    let mut parts = html.split("<script type=\"application/ld+json\">");
    let mut out = parts.next().unwrap_or_default().to_owned();
    parts.for_each(|part| out.push_str(part.split_once("</script>").expect("a block that ends").1));
    out
}

#[test]
fn no_page_style_sheet_or_drawing_asks_another_host_for_anything() {
    for (path, bytes) in files_below(published_site()).iter().filter(|(path, _)| path.ends_with(".html")) {
        let html = without_data(std::str::from_utf8(bytes).expect("UTF-8"));
        // Links that a person follows are no requests. Everything else that names a host would be one.
        for (at, _) in html.match_indices("http") {
            let word = html[at..].split(['"', '\'', '<', '>', ' ', ')', '&']).next().unwrap_or_default();
            let before = &html[..at];
            // The line to embed a badge names the address that the reader will have.
            let followed = before.ends_with("<a href=\"") || word.starts_with("https://SITE/");
            let name_of_a_language = word == "http://www.w3.org/2000/svg";
            let attribute = before.ends_with(['"', '\'', '(']) && word.contains("://");
            assert!(followed || name_of_a_language || !attribute, "{path}: {word}");
        }
        for word in ["@import", "//cdn", "url(http", "url(//", "src=\"//", "href=\"//"] {
            assert!(!html.contains(word), "{path}: {word}");
        }
    }
}

#[test]
fn the_policy_comes_before_anything_it_could_miss() {
    for (path, bytes) in files_below(published_site()).iter().filter(|(path, _)| path.ends_with(".html")) {
        let html = std::str::from_utf8(bytes).expect("UTF-8");
        let head = html.split_once("<head>").unwrap_or_else(|| panic!("{path}: no head")).1.trim_start();
        assert!(head.starts_with("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "), "{path}");
    }
}

#[test]
fn the_hashes_are_right_and_cover_every_other_file() {
    let files = files_below(published_site());
    let mut listed = BTreeMap::new();
    for line in text_of(&files, "data/SHA256SUMS").lines() {
        let (hash, path) = line.split_once("  ").expect("as sha256sum writes it");
        assert!(listed.insert(path.to_owned(), hash.to_owned()).is_none(), "{path} twice");
    }
    let mut counted = BTreeMap::new();
    for (path, bytes) in files.iter().filter(|(path, _)| *path != "data/SHA256SUMS") {
        let hash: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
        counted.insert(path.clone(), hash);
    }
    assert_eq!(listed, counted);
}

#[test]
fn the_inputs_are_every_file_of_data_with_its_hash() {
    let data = files_below(&studies().join("data"));
    let inputs = list(&published().0, "inputs");
    let listed: Vec<&str> = inputs.iter().map(|input| text(input, "path")).collect();
    assert_eq!(listed, data.keys().map(String::as_str).collect::<Vec<_>>());
    for input in inputs {
        let hash: String = Sha256::digest(&data[text(input, "path")]).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(
            (input["sha256"].as_str(), &input["skipped"]),
            (Some(hash.as_str()), &Value::Bool(false)),
            "{input}"
        );
    }
}

#[test]
fn the_same_input_gives_the_same_bytes_on_one_thread_and_on_many_and_over_an_older_site() {
    let folder = Folder::new("analyse-twice");
    let first = folder.path().join("first");
    let second = folder.path().join("second");
    let write = |site: &std::path::Path, threads: &str| {
        let arguments = [&["analyse", "--quiet", "--site", site.to_str().expect("UTF-8")], &FEW[..]].concat();
        let ending =
            run_in(studies(), &arguments, &[("RAYON_NUM_THREADS", threads), ("POLARS_MAX_THREADS", threads)]).expect(0);
        assert_eq!((ending.out.as_str(), ending.err.as_str()), ("", ""), "--quiet says nothing");
        files_below(site)
    };
    let many = write(&first, "4");
    let one = write(&second, "1");
    let differing: Vec<&String> = many.keys().filter(|path| many.get(*path) != one.get(*path)).collect();
    assert!(differing.is_empty() && many.len() == one.len(), "{differing:?}");
    assert!(write(&second, "4") == many, "over an older site");
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).expect("the folder").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(left.len(), 2, "nothing is left beside the sites: {left:?}");
}

#[test]
fn absent_is_null_and_nothing_in_the_analysis_is_nan_or_an_unexplained_text() {
    fn walk(value: &Value, place: &str, faults: &mut Vec<String>) {
        match value {
            Value::String(text)
                if matches!(
                    text.to_lowercase().as_str(),
                    "nan" | "-nan" | "infinity" | "-infinity" | "null" | "none" | "n/a"
                ) =>
            {
                faults.push(format!("{place}: \"{text}\""));
            }
            Value::String(text) if text.contains("NaN") => faults.push(format!("{place}: \"{text}\"")),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(k, item)| walk(item, &format!("{place}/{k}"), faults))
            }
            Value::Object(fields) => fields.iter().for_each(|(key, item)| {
                if !matches!(key.as_bytes(), [b'a'..=b'z', ..]) || key.contains(char::is_whitespace) {
                    // Metrics, margins and the like are keyed by contract names, which are snake case too.
                    faults.push(format!("{place}: key '{key}'"));
                }
                walk(item, &format!("{place}/{key}"), faults);
            }),
            _ => {}
        }
    }
    // A reader that knows JSON only: `NaN` and `Infinity` are no JSON and would have failed it.
    let mut faults = Vec::new();
    walk(&published().0, "", &mut faults);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for (path, bytes) in files_below(published_site()) {
        // The prose on traps and method and the manual speak of NaN as an input. No other page has a reason to.
        let prose = ["docs/", "traps/", "method/", "v/"].iter().any(|folder| path.starts_with(folder));
        if !prose && [".html", ".csv", ".md"].iter().any(|end| path.ends_with(end)) {
            let text = String::from_utf8(bytes).expect("UTF-8");
            assert!(!text.contains("NaN"), "{path}");
        }
    }
}

#[test]
fn the_analysis_has_every_key_of_the_contract() {
    let keys = |value: &Value, wanted: &[&str]| {
        for key in wanted {
            assert!(value.get(key).is_some(), "'{key}' is not in {value:.200}");
        }
    };
    let analysis = &published().0;
    keys(analysis, &["schema", "tool", "settings", "inputs", "runs", "groups", "comparisons", "traps"]);
    assert_eq!(analysis["schema"], "sparkbench.analysis/1");
    keys(&analysis["tool"], &["name", "version"]);
    keys(&analysis["settings"], &["confidence", "resamples", "seed", "baseline", "margins_pct"]);
    for input in list(analysis, "inputs") {
        keys(input, &["path", "format", "sha256", "runs", "skipped", "reason"]);
    }
    for run in list(analysis, "runs") {
        keys(
            run,
            &[
                "id",
                "campaign",
                "environment",
                "model",
                "workload",
                "repeat",
                "block",
                "started_utc",
                "status",
                "metrics",
                "flags",
                "source",
            ],
        );
    }
    for group in list(analysis, "groups") {
        keys(
            group,
            &[
                "campaign",
                "model",
                "workload",
                "environment",
                "metric",
                "unit",
                "direction",
                "n",
                "mean",
                "sd",
                "se",
                "cv_pct",
            ],
        );
        keys(
            group,
            &["min", "max", "median", "mad", "iqr", "p5", "p25", "p75", "p90", "p95", "p99", "t_interval", "bootstrap"],
        );
        keys(&group["outliers"], &["three_sigma", "mad", "tukey", "three_sigma_can_fire"]);
        keys(&group["drift"], &["kendall_tau", "p", "lag1", "effective_n"]);
        assert!(["lower_is_better", "higher_is_better", "neutral"].contains(&text(group, "direction")));
    }
    for comparison in list(analysis, "comparisons") {
        keys(
            comparison,
            &[
                "campaign",
                "model",
                "workload",
                "metric",
                "baseline",
                "candidate",
                "n_baseline",
                "n_candidate",
                "paired",
            ],
        );
        keys(
            comparison,
            &["difference", "overhead_pct", "overhead_ci", "fieller_overhead_pct", "bootstrap_overhead_pct"],
        );
        keys(
            comparison,
            &["log_ratio_overhead_pct", "paired_t", "wilcoxon", "student_t", "welch_t", "mann_whitney", "permutation"],
        );
        keys(comparison, &["cohens_d", "hedges_g", "cliffs_delta", "tost", "power_at_10pct", "mde_pct", "runs_needed"]);
        keys(&comparison["p_adjusted"], &["bonferroni", "holm", "benjamini_hochberg"]);
        keys(&comparison["verdict"], &["kind", "text", "reasons", "caveats"]);
    }
    for trap in list(analysis, "traps") {
        keys(trap, &["id", "severity", "status", "subject", "message", "evidence", "remedy"]);
        assert!(["error", "warning", "note"].contains(&text(trap, "severity")));
        assert!(["fired", "passed", "not_evaluated"].contains(&text(trap, "status")));
    }
}

#[test]
fn every_trap_of_the_issue_was_looked_for_in_both_campaigns() {
    const TRAPS: [&str; 38] = [
        "weights-exceed-memory",
        "decode-above-roofline",
        "same-speed-unlike-models",
        "work-time-mismatch",
        "derived-column",
        "memory-inconsistent",
        "affine-columns",
        "kv-tokens-mismatch",
        "model-mismatch",
        "temperature-out-of-range",
        "failed-runs",
        "duplicate-runs",
        "run-count",
        "missing-metric",
        "memory-scope",
        "runs-overlap",
        "stated-facts-contradict",
        "order-not-interleaved",
        "drift",
        "autocorrelated-runs",
        "first-run-effect",
        "start-temperature-differs",
        "variance-differs",
        "small-n",
        "outlier-rule-cannot-fire",
        "few-requests-for-percentile",
        "settings-differ",
        "engine-differs",
        "token-counts-differ",
        "definition-differs",
        "kv-budget-differs",
        "request-errors",
        "client-limited",
        "page-cache-differs",
        "swap-used",
        "memory-floor",
        "host-load",
        "single-setup",
    ];
    for campaign in ["phase1", "h200-chroot"] {
        for id in TRAPS {
            for trap in published().traps(campaign, id) {
                assert!(text(trap, "message").len() > 10, "{trap}");
                if trap["status"] == "fired" {
                    assert!(text(trap, "remedy").len() > 10, "what fired says what to do: {trap}");
                }
            }
        }
    }
}

#[test]
fn every_verdict_is_said_with_its_count_interval_margin_method_and_family() {
    for comparison in list(&published().0, "comparisons")
        .iter()
        .chain(list(&published().0, "campaigns").iter().flat_map(|campaign| list(campaign, "pooled")))
    {
        let said = text(&comparison["verdict"], "text");
        let kind = text(&comparison["verdict"], "kind");
        assert!(said.ends_with('.') && !said.contains("no overhead") && !said.contains("identical"), "{said}");
        let words: &[&str] = match kind {
            "slower" | "faster" | "more" | "less" => &["[", "Welch", "family of "],
            "equivalent" => &["equivalent within ", "[", "]"],
            "inconclusive" => &["no difference shown", "could be as large as "],
            "not_comparable" => &["not comparable because"],
            other => panic!("an unknown kind: {other}"),
        };
        for word in words {
            assert!(said.contains(word), "{kind}: '{word}' is not in: {said}");
        }
        if kind != "not_comparable" {
            assert!(comparison["n_baseline"].as_u64() >= Some(2) && comparison["n_candidate"].as_u64() >= Some(2));
        } else {
            assert!(!list(&comparison["verdict"], "reasons").is_empty(), "{said}");
        }
    }
}

#[test]
fn the_talk_ends_with_where_to_begin() {
    let talk = &PUBLISHED.1;
    for word in ["63 runs", "42 runs", "traps fired: ", "Inputs left out: 0", "index.html"] {
        assert!(talk.contains(word), "'{word}' is not in:\n{talk}");
    }
}
