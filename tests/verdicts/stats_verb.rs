//! The verb `stats` as a person or a script meets it: files in, JSON or a table out, clear errors.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::folder;

/// A folder of input files.
struct Folder(folder::Folder);

impl Folder {
    fn new(test: &str) -> Self {
        Self(folder::Folder::new(&format!("stats-{test}")))
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.0.put(name, content).to_str().unwrap().to_owned()
    }
}

fn stats(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sparkbench")).arg("stats").args(args).output().unwrap()
}

#[track_caller]
fn json_of(args: &[&str]) -> Value {
    let output = stats(&[args, &["--json", "--resamples", "999"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn refusal(args: &[&str], code: i32) -> String {
    let output = stats(args);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0));
    String::from_utf8(output.stderr).unwrap()
}

const KEYS: [&str; 10] = [
    "descriptive",
    "tail",
    "not_judged",
    "shapiro",
    "order_stat_ci",
    "outliers",
    "drift",
    "bootstrap",
    "flags",
    "notes",
];

#[test]
fn two_samples_have_every_key_of_the_contract() {
    let folder = Folder::new("keys");
    let a = folder.file("a", "10\n11\n12.5\n9\n10.5\n11.5\n");
    let b = folder.file("b", "10.5\n11.25\n13\n9.5\n10\n12\n");
    let order = folder.file("order", "a\nb\nb\na\na\nb\nb\na\na\nb\nb\na\n");
    let report = json_of(&[&a, &b, "--paired", "--order", &order, "--margin", "2.5", "--margin", "10"]);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&report), ["a", "b", "b_vs_a", "paired", "order", "settings"]);
    assert_eq!(keys(&report["a"]), KEYS);
    assert_eq!(keys(&report["a"]["bootstrap"]["mean"]), ["percentile", "basic", "bca", "studentised"]);
    for key in [
        "diff",
        "overhead_pct",
        "effect",
        "student",
        "welch",
        "mann_whitney",
        "permutation",
        "brown_forsythe",
        "tost",
        "power",
        "fieller_overhead_pct",
        "bootstrap",
    ] {
        assert!(!report["b_vs_a"][key].is_null(), "{key}");
    }
    assert_eq!(keys(&report["b_vs_a"]["tost"]), ["2.5pct", "10pct", "min_margin_pct"]);
    assert_eq!(report["b_vs_a"]["permutation"]["method"], "exact");
    assert_eq!(report["b_vs_a"]["permutation"]["count"], 924);
    assert_eq!(report["paired"]["mean_diff"], 0.291_666_666_666_666_7);
    assert_eq!(report["paired"]["wilcoxon"]["method"], "normal");
    assert_eq!(report["order"]["kind"], "interleaved");
    assert_eq!((&report["order"]["runs"], &report["order"]["max_runs"]), (&json!(7), &json!(12)));
}

#[test]
fn missing_and_infinite_values_are_counted() {
    let folder = Folder::new("missing");
    let a = folder.file("a", "\u{feff}1\r\n\r\nnull\r\nNaN\r\ninf\r\n-inf\r\n2\r\n-0.0");
    let d = &json_of(&[&a])["a"]["descriptive"].clone();
    assert_eq!(
        (&d["n"], &d["n_missing"], &d["n_infinite"], &d["mean"]),
        (&json!(3), &json!(3), &json!(2), &json!(1.0))
    );
}

#[test]
fn the_three_file_kinds_and_standard_input_give_the_same() {
    let folder = Folder::new("kinds");
    let lines = folder.file("lines", "1\n2.5\n\n4\n");
    let array = folder.file("array.json", " [1,\n 2.5, null,\n 4 ]\n");
    let table = folder.file("table.csv", "run,ttft_ms\nx,1\ny,2.5\nz,\nw,4\n");
    let first = json_of(&[&lines]);
    assert_eq!(first, json_of(&[&array]));
    assert_eq!(first, json_of(&[&table, "--column", "ttft_ms"]));
    let mut child = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(["stats", "-", "--json", "--resamples", "999", "--threads", "3"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"1\n2.5\nnan\n4\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(first, serde_json::from_slice::<Value>(&output.stdout).unwrap());
}

#[test]
fn what_does_not_exist_is_null_and_infinity_is_a_word() {
    let folder = Folder::new("null");
    let (empty, one) = (folder.file("empty", ""), folder.file("one", "3\n"));
    let report = json_of(&[&empty, &one]);
    assert_eq!(report["a"]["descriptive"]["n"], 0);
    for (arm, key) in [("a", "mean"), ("b", "sd"), ("b", "t_lo")] {
        assert!(report[arm]["descriptive"][key].is_null());
    }
    for key in ["diff", "student", "welch", "mann_whitney", "permutation", "brown_forsythe", "fieller_overhead_pct"] {
        assert!(report["b_vs_a"][key].is_null(), "{key}");
    }
    assert_eq!(report["b"]["bootstrap"]["mean"], Value::Null);
    let (low, high) = (folder.file("low", "1\n1\n1\n"), folder.file("high", "2\n2\n2\n"));
    let constant = json_of(&[&low, &high]);
    assert_eq!(constant["b_vs_a"]["welch"]["t"], "inf");
    assert_eq!(constant["b_vs_a"]["welch"]["p"], 0.0);
    assert!(constant["b_vs_a"]["power"]["mde_d"].is_null() && constant["b_vs_a"]["effect"]["cohen_d"].is_null());
    assert!(constant["a"]["shapiro"].is_null() && constant["a"]["drift"].is_null());
    assert_eq!(constant["a"]["flags"], json!(["constant", "small_n"]));
}

#[test]
fn runs_that_do_not_alternate_are_no_pairs() {
    let folder = Folder::new("blocked");
    let (a, b) = (folder.file("a", "1\n2\n3\n"), folder.file("b", "2\n3\n5\n"));
    let order = folder.file("order", "a\na\na\nb\nb\nb\n");
    let report = json_of(&[&a, &b, "--paired", "--order", &order]);
    assert_eq!((&report["order"]["kind"], &report["paired"]["reason"]), (&json!("blocked"), &json!("not_paired")));
    assert!(report["paired"]["paired_t"].is_null());
}

#[test]
fn nested_runs_give_percentiles_and_p_values_give_adjusted_ones() {
    let folder = Folder::new("nested");
    let runs = folder.file("runs", "1,2,3,4\n2,3,,5\n\n1,1,9\n");
    let p99 = json_of(&[&runs, "--nested"])["hierarchical_percentile"]["p99"].clone();
    // A p99 of ten requests is a value, and has no interval.
    assert_eq!((&p99["estimate"], &p99["lo"], &p99["flags"]), (&json!(8.64), &Value::Null, &json!(["tail"])));
    assert_eq!((&p99["runs"], &p99["requests"]), (&json!(3), &json!(10)));
    // Over few runs it is the mean of the runs' own, and is named so.
    let line = |from: u32| (from..from + 20).map(|x| x.to_string()).collect::<Vec<_>>().join(",");
    let few = folder.file("few", [1, 3, 8].map(line).join("\n"));
    let median = json_of(&[&few, "--nested"])["hierarchical_percentile"]["median"].clone();
    assert_eq!((&median["of"], &median["estimate"]), (&json!("mean-of-runs"), &json!(13.5)));
    // 4 - t(0.975, 2) sqrt(13 / 3), t = 4.302652729911275.
    assert!((median["lo"].as_f64().unwrap() - (13.5 - 4.302_652_729_911_275 * (13.0_f64 / 3.0).sqrt())).abs() < 1e-9);
    let one = folder.file("one", "1,2,3\n");
    let median = json_of(&[&one, "--nested"])["hierarchical_percentile"]["median"].clone();
    assert_eq!(
        (&median["estimate"], &median["lo"], &median["flags"]),
        (&json!(2.0), &Value::Null, &json!(["one_run"]))
    );
    let p = folder.file("p", "0.5\n\n0.25\n");
    let report = json_of(&[&p, "--p-values"]);
    assert_eq!(report["holm"], json!([0.5, null, 0.5]));
    assert_eq!(report["bonferroni"], json!([1.0, null, 0.5]));
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let folder = Folder::new("threads");
    let a = folder.file("a", (0..60).map(|i| format!("{}\n", i * 7919 % 101)).collect::<String>());
    let b = folder.file("b", (0..50).map(|i| format!("{}\n", i * 104_729 % 103 + 1)).collect::<String>());
    let with = |threads: &str| stats(&[&a, &b, "--json", "--threads", threads]).stdout;
    assert_eq!(with("1"), with("4"));
}

#[test]
fn bad_input_is_named_with_file_line_and_value() {
    let folder = Folder::new("bad");
    let good = folder.file("good", "1\n2\n");
    for (name, content, words) in [
        ("word", &b"1\nabc\n"[..], &["line 2", "\"abc\""][..]),
        ("comma", b"1\n2\n1,5\n", &["line 3", "\"1,5\"", "--column"]),
        ("range", b"1\n1e999\n", &["line 2", "1e999"]),
        ("binary", b"1\n\xff\xfe\x00", &["line 2", "UTF-8"]),
        ("cut.json", b"[1, 2,", &["']'", "cut off"]),
        ("gap.json", b"[1,\n,2]", &["line 2", "found nothing"]),
        ("nested.json", b"[[1,2],\n[3]]", &["line 1", "\"[1\""]),
    ] {
        let path = folder.file(name, content);
        let message = refusal(&[&path, &good], 5);
        assert!(message.contains(&path), "{message}");
        for word in words {
            assert!(message.contains(word), "{name}: {message}");
        }
    }
    let table = folder.file("t.csv", "a,b,b\n1,2,3\n4,x,6\n");
    assert!(refusal(&[&table, "--column", "c"], 2).contains("a, b, b"));
    assert!(refusal(&[&table, "--column", "b"], 5).contains("two columns"));
    let words = folder.file("w.csv", "a,b\n1,2\n4,x\n");
    assert!(refusal(&[&words, "--column", "b"], 5).contains("line 3, field 'b'"));
    let three = folder.file("three", "1\n2\n3\n");
    assert!(refusal(&[&good, &three, "--paired"], 2).contains("3 and 2"));
    let order = folder.file("order", "a\nb\nc\n");
    assert!(refusal(&[&good, &three, "--order", &order], 5).contains("\"c\""));
    let p = folder.file("p", "0.5\n1.5\n");
    assert!(refusal(&[&p, "--p-values"], 5).contains("1.5"));
    assert!(refusal(&[folder.0.path().join("none").to_str().unwrap()], 5).contains("none"));
    assert!(refusal(&[folder.0.path().to_str().unwrap()], 5).contains("cannot read"));
    for (flag, value) in [
        ("--confidence", "1"),
        ("--confidence", "nan"),
        ("--margin", "0"),
        ("--resamples", "10"),
        ("--direction", "up"),
    ] {
        refusal(&[&good, flag, value], 2);
    }
    refusal(&["-", "-"], 2);
}

#[test]
fn the_table_lines_up_and_says_what_is_absent() {
    let folder = Folder::new("table");
    let (a, b) = (folder.file("a", "1\n2\n4\n8\n"), folder.file("b", "3\n"));
    let text = String::from_utf8(stats(&[&a, &b, "--resamples", "999"]).stdout).unwrap();
    for line in ["  descriptive mean", "B against A", "  shapiro w", "  welch"] {
        assert!(text.lines().any(|l| l.starts_with(line)), "{line} in\n{text}");
    }
    let mean = text.lines().find(|l| l.contains("descriptive mean")).unwrap();
    assert_eq!(mean.split_whitespace().collect::<Vec<_>>(), ["descriptive", "mean", "3.75", "3"]);
    assert!(!text.contains("NaN"));
}

fn plain_json(args: &[&str]) -> Value {
    let output = stats(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn boundaries_need_no_sample_and_agree_with_the_published_ones() {
    for (spending, expected) in
        [("obf", [4.8769, 3.3570, 2.6803, 2.2898, 2.0310]), ("pocock", [2.4380, 2.4268, 2.4102, 2.3966, 2.3860])]
    {
        let found = plain_json(&[
            "--boundaries",
            "--looks",
            "1,2,3,4,5",
            "--spending",
            spending,
            "--alpha",
            "0.05",
            "--sides",
            "2",
            "--json",
        ]);
        for (z, expected) in found["z"].as_array().unwrap().iter().zip(expected) {
            assert!((z.as_f64().unwrap() - expected).abs() < 1e-4, "{spending}: {found}");
        }
        let last = found["nominal_p"][4].as_f64().unwrap();
        assert!(last > 0.0 && last < 0.05, "{last}");
    }
    let table = String::from_utf8(stats(&["--boundaries", "--looks", "5,8,12,20,30", "--sides", "1"]).stdout).unwrap();
    assert!(
        table.contains("O'Brien-Fleming type spending, one-sided alpha 0.05") && table.contains("2.1509"),
        "{table}"
    );
}

#[test]
fn two_samples_are_judged_look_by_look() {
    let folder = Folder::new("looks");
    let lines = |shift: f64, n: usize| {
        (0..n).map(|k| format!("{}\n", 100.0 + shift + ((k * 37) % 13) as f64 / 13.0)).collect::<String>()
    };
    // The same shift in every block would be a difference, however small.
    let turned: String = (0..12).map(|k| format!("{}\n", 100.1 + ((k * 37 + 5) % 13) as f64 / 13.0)).collect();
    let (a, b, same) = (folder.file("a", lines(0.0, 12)), folder.file("b", lines(30.0, 12)), folder.file("c", turned));
    let looks = ["--sequential", "--looks", "5,8,12,20,30"];
    let found = plain_json(&[&[a.as_str(), b.as_str(), "--json"], &looks[..]].concat());
    assert_eq!(
        (found["look"].as_u64(), found["n"].as_u64(), found["decision"].as_str()),
        (Some(1), Some(5), Some("slower"))
    );
    assert_eq!(found["runs_saved_of_max"], 25);
    for key in [
        "look",
        "n",
        "information",
        "z_boundary",
        "nominal_p",
        "decision",
        "repeated_interval_pct",
        "stagewise_p",
        "median_unbiased_pct",
        "runs_saved_of_max",
    ] {
        assert!(found.get(key).is_some_and(|value| !value.is_null()), "{key}: {found}");
    }
    let (low, high) = (&found["repeated_interval_pct"]["low"], &found["repeated_interval_pct"]["high"]);
    assert!(low.as_f64().unwrap() > 0.0 && high.as_f64().unwrap() > 30.0, "{found}");
    let rate =
        plain_json(&[&[a.as_str(), b.as_str(), "--json", "--direction", "higher_is_better"], &looks[..]].concat());
    assert_eq!(rate["decision"], "faster");
    let bare = [a.as_str(), b.as_str(), "--direction", "difference_only"];
    let table = String::from_utf8(stats(&[&bare, &looks[..]].concat()).stdout).unwrap();
    assert!(table.contains("30.00") && table.contains("B is 30.0 more than A"), "{table}");
    let found = plain_json(&[&[a.as_str(), same.as_str(), "--json", "--margin", "2"], &looks[..]].concat());
    assert_eq!(found["decision"], "equivalent");
    let without = plain_json(&[&[a.as_str(), same.as_str(), "--json"], &looks[..]].concat());
    assert_eq!(
        (without["decision"].as_str(), without["look"].as_u64()),
        (Some("go_on"), Some(3)),
        "no margin, no sameness"
    );
    let table = String::from_utf8(stats(&[&[a.as_str(), b.as_str()], &looks[..]].concat()).stdout).unwrap();
    assert!(
        table.contains("slower than A (repeated 95 % interval")
            && table.contains("decided at look 1 of 5 with 5 of 30 blocks"),
        "{table}"
    );
}

#[test]
fn looks_that_are_none_are_refused() {
    let folder = Folder::new("no-looks");
    let few = folder.file("few", "1\n2\n3\n");
    for (args, words) in [
        (vec![few.as_str(), few.as_str(), "--sequential"], "--looks"),
        (vec![few.as_str(), few.as_str(), "--looks", "2,3"], "--looks needs --sequential or --boundaries"),
        (vec![few.as_str(), few.as_str(), "--sequential", "--looks", "5,8"], "the first look needs 5"),
        (vec![few.as_str(), few.as_str(), "--sequential", "--looks", "3,2"], "do not rise"),
        (vec![few.as_str(), few.as_str(), "--sequential", "--looks", "1,2"], "begin before 2 blocks"),
        (vec![few.as_str(), "--sequential", "--looks", "2,3"], "<B>"),
        (vec!["--boundaries", "--looks", "2,2"], "do not rise"),
        (vec!["--boundaries", "--looks", "2,3", "--spending", "x"], "expected obf, pocock or linear"),
        (vec!["--boundaries", "--looks", "2,3", "--alpha", "0.9"], "at most 0.5"),
    ] {
        let said = refusal(&args, 2);
        assert!(said.contains(words), "{args:?}: {said}");
    }
}
