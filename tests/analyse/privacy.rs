//! What must not be published stands nowhere in a site: not in a page, a table, a workbook, a packed copy.

use std::collections::BTreeMap;

use polars_io::{SerReader as _, prelude::ParquetReader};

use crate::analyse;
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::unzip::unzip;

/// What is planted. None of it may be published.
const SECRETS: &[&str] = &[
    "annika",
    "bigbox7",
    "10.20.30.40",
    "fe80::1ff:fe23:4567:890a",
    "3c:6d:66:12:ab:cd",
    "1b2c3d4e-0000-1111-2222-333344445555",
    "1650922012345",
    "hf_abcdefghijklmnopqrstuvwx",
    "hunter2hunter2",
    "berg@example.org",
];

fn put(name: &str) -> Folder {
    let folder = Folder::new(name);
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut row = |cells: [&str; 7]| table.write_record(cells).expect("in memory");
    row(["id", "environment", "model", "workload", "model_id", "started_utc", "e2e_latency_ms"]);
    for k in 0..5 {
        let at = |half: usize| format!("2026-01-01T10:{:02}:00Z", 2 * k + half);
        let value = |base: f64| format!("{:.2}", base + f64::from(u8::try_from(k).expect("small")) / 10.0);
        row([&format!("annika-a{k}"), "native", "tiny", "chat", "/home/annika/models/tiny", &at(0), &value(10.0)]);
        row([&format!("bigbox7-b{k}"), "container", "tiny", "chat", "/home/annika/models/tiny", &at(1), &value(12.0)]);
    }
    folder.put("in/study/home/annika/bigbox7.csv", table.into_inner().expect("in memory"));
    folder.put("in/study/annika-bigbox7.json", "{");
    let labels = toml::Table::from_iter([
        ("schema".to_owned(), "sparkbench.labels/1".into()),
        ("title".to_owned(), "Nights of annika on bigbox7".into()),
        ("question".to_owned(), "Is http://bigbox7.lan:8000 at 10.20.30.40 slower?".into()),
        (
            "provenance".to_owned(),
            toml::Value::Array(vec![
                "annika@bigbox7:/home/annika/runs, mail annika.berg@example.org".into(),
                "link/ether 3c:6d:66:12:ab:cd inet6 fe80::1ff:fe23:4567:890a".into(),
                "GPU UUID: GPU-1b2c3d4e-0000-1111-2222-333344445555, Serial Number: 1650922012345".into(),
                "HF_TOKEN=hf_abcdefghijklmnopqrstuvwx --password hunter2hunter2".into(),
            ]),
        ),
        ("prose".to_owned(), "Made by annika, on `bigbox7`.".into()),
    ]);
    folder.put("in/study/labels.toml", toml::to_string(&labels).expect("TOML"));
    folder
}

/// Every file of the site, those inside packed files too. Parquet as its cells and its metadata.
fn everything(folder: &Folder) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut add = |path: String, bytes: &[u8]| {
        let text = if path.ends_with(".parquet") {
            let frame = ParquetReader::new(std::io::Cursor::new(bytes)).finish().expect("Parquet");
            let cells = frame.columns().iter().map(|column| {
                let text = column.str().map(|text| text.iter().flatten().collect::<Vec<_>>().join("\n"));
                text.unwrap_or_default()
            });
            format!("{}\n{}", cells.collect::<Vec<_>>().join("\n"), String::from_utf8_lossy(bytes))
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        };
        all.insert(path, text);
    };
    for (path, bytes) in files_below(&folder.path().join("site")) {
        add(path.clone(), &bytes);
        if path.ends_with(".xlsx") {
            for (inner, bytes) in unzip(&bytes) {
                add(format!("{path}/{inner}"), &bytes);
            }
        }
    }
    all
}

#[test]
fn planted_secrets_stand_nowhere_in_the_site_and_the_rest_stays() {
    let folder = put("analyse-privacy");
    let ending = analyse(&folder, &[]).expect(0);
    ending.complains(&["privacy: replaced", "data/PRIVACY.md"]);
    let all = everything(&folder);
    assert!(
        all.keys().any(|path| path.ends_with("data/report.xlsx/xl/sharedStrings.xml")),
        "packed files are looked into"
    );
    for (path, text) in &all {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{path}: {secret}");
            assert!(!path.contains(secret), "{path}");
        }
    }
    let report = &all["data/PRIVACY.md"];
    for words in [
        "| words of campaigns | user names |",
        "| paths of files | host names |",
        "| words of campaigns | tokens | 1 |",
    ] {
        assert!(report.contains(words), "{words}\n{report}");
    }
    let analysis: serde_json::Value = serde_json::from_str(&all["data/analysis.json"]).expect("JSON");
    assert_eq!(analysis["runs"].as_array().map(Vec::len), Some(10));
    assert_eq!(analysis["settings"]["asked"]["scrubbed"], true);
    assert!(analysis["runs"].as_array().is_some_and(|runs| runs.iter().any(|run| run["environment"] == "native")));
    let title = analysis["campaigns"][0]["title"].as_str().expect("a title");
    assert!(title.starts_with("Nights of user-") && title.contains(" on host-"), "{title}");
}

#[test]
fn without_the_scrub_all_of_it_is_published_and_the_site_says_so() {
    let folder = put("analyse-privacy-off");
    analyse(&folder, &["--no-scrub"]).expect(0);
    let all = everything(&folder);
    for secret in SECRETS {
        assert!(all.values().any(|text| text.contains(secret)), "the test plants nothing: {secret}");
    }
    assert!(all["data/PRIVACY.md"].contains("`--no-scrub`"));
}

#[test]
fn the_same_archive_gives_the_same_pseudonyms_and_verifies() {
    let folder = put("analyse-privacy-verify");
    analyse(&folder, &[]).expect(0);
    let verify =
        |code| crate::support::program::run_in(folder.path(), &["verify", "site", "--archive", "in"], &[]).expect(code);
    verify(0).complains(&["recomputed with the settings of the site: all"]);
    let path = folder.path().join("in/study/home/annika/bigbox7.csv");
    let text = std::fs::read_to_string(&path).expect("a file");
    std::fs::write(&path, text.replace("10.20\n", "10.25\n")).expect("written");
    let ending = verify(5);
    assert!(ending.out.contains("/e2e_latency_ms: the site has 10.2, the repeated analysis 10.25"), "{}", ending.out);
}

#[test]
fn logs_are_shown_without_the_secrets_in_them() {
    let folder = Folder::new("analyse-privacy-logs");
    for (k, arm) in ["native", "container"].into_iter().cycle().take(6).enumerate() {
        let name = format!("{arm}_tiny_iter{}_20260101_10{k:02}00", k / 2 + 1);
        let metadata = serde_json::json!({
            "environment": arm, "model_name": "tiny", "model_id": "org/tiny", "iteration": k / 2 + 1,
            "timestamp": format!("20260101_10{k:02}30"), "start_temp_celsius": 40, "end_temp_celsius": 50, "exit_code": 0,
        });
        folder.put(&format!("in/flat/{name}_metadata.json"), metadata.to_string());
        let log = format!(
            "annika@bigbox7:~/run$ bench --password hunter2hunter2\nserving 10.20.30.40:8000\n= PERFORMANCE OVERVIEW\n\
             Total Output Throughput (tokens/sec):  {}\nbye annika\n\
             -----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----\n",
            100 + k
        );
        folder.put(&format!("in/flat/{name}.log"), log);
    }
    analyse(&folder, &[]).expect(0);
    let all = everything(&folder);
    for (path, text) in &all {
        for secret in SECRETS.iter().chain(&["MIIEowIBAAKCAQEA7"]) {
            assert!(!text.contains(secret), "{path}: {secret}");
        }
    }
    let pages = all.iter().filter(|(path, _)| path.starts_with("r/") && path.ends_with(".html"));
    let shown: Vec<_> = pages.filter(|(_, text)| text.contains("serving ip-")).collect();
    assert!(!shown.is_empty(), "no page shows a log: {:?}", all.keys().collect::<Vec<_>>());
    for (path, text) in shown {
        assert!(text.contains("bye user-") && text.contains("&#60;masked:key&#62;"), "{path}: {text:.3000}");
    }
    assert!(all["data/PRIVACY.md"].contains("| logs | user names |"), "{}", all["data/PRIVACY.md"]);
}
