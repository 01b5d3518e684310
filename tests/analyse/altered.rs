//! Issue 30: a file that is not what was recorded of it is never published without a word.

use std::fs;

use sparkbench::archive::hash;

use crate::analyse;
use crate::support::folder::Folder;
use crate::support::program::run_in;
use crate::support::report::{Report, kind};

/// Two environments in turn, four runs each.
const GOOD: &str = "environment,model,workload,started_utc,ttft_ms\n\
    native,m,chat,2026-01-01T10:00:00Z,10.0\nboxed,m,chat,2026-01-01T10:01:00Z,12.0\n\
    boxed,m,chat,2026-01-01T10:02:00Z,12.1\nnative,m,chat,2026-01-01T10:03:00Z,10.1\n\
    native,m,chat,2026-01-01T10:04:00Z,9.9\nboxed,m,chat,2026-01-01T10:05:00Z,11.9\n\
    boxed,m,chat,2026-01-01T10:06:00Z,12.0\nnative,m,chat,2026-01-01T10:07:00Z,10.0\n";

/// Ways to write the hash of the table down, beside it or above it.
fn lists(sha256: &str) -> [(&'static str, String); 6] {
    [
        ("in/t/SHA256SUMS", format!("{sha256}  runs.csv\n")),
        ("in/SHA256SUMS", format!("# by sha256sum\n{sha256} *./t/runs.csv\r\n")),
        ("in/t/sha256sums.txt", format!("{sha256}  t/runs.csv\n")),
        ("in/t/runs.csv.sha256", sha256.to_uppercase()),
        ("in/t/runs.csv.sha256", format!("{sha256}  /home/of/somebody/runs.csv\n")),
        ("in/t/all.sha256", format!("SHA256 (runs.csv) = {sha256}\n")),
    ]
}

#[test]
fn a_list_of_hashes_that_fits_is_silent_and_one_that_does_not_is_an_error_of_its_file() {
    for (name, list) in lists(&hash(GOOD.as_bytes())) {
        let folder = Folder::new("altered-list");
        folder.put("in/t/runs.csv", GOOD);
        folder.put(name, &list);
        let ending = analyse(&folder, &["--strict"]).expect(0);
        assert!(!ending.err.contains("error:"), "{name}: {}", ending.err);
        let report = Report::of_site(&folder.path().join("site"));
        assert_eq!(report.trap("t", "archive-changed", None)["status"], "passed", "{name}");
        folder.put("in/t/runs.csv", GOOD.replace("12.1", "10.1"));
        let ending = analyse(&folder, &["--strict"]).expect(1);
        ending.complains(&["error: 't/runs.csv' was changed after it was recorded", "restore it from a copy"]);
        let report = Report::of_site(&folder.path().join("site"));
        assert_eq!(report.input("t/runs.csv")["altered"]["kind"], "changed", "{name}");
        let traps = report.traps("t", "archive-changed");
        assert!(traps.iter().all(|trap| trap["status"] == "fired" && trap["severity"] == "error"), "{traps:?}");
        assert_eq!(
            kind(report.comparison("t", "m", "chat", "ttft_ms")),
            "not_comparable",
            "its figures are shown, and not judged"
        );
        let front = fs::read_to_string(folder.path().join("site/index.html")).unwrap();
        assert!(front.contains("1 file is not what was recorded") && front.contains("Remedy: restore it"), "{name}");
    }
}

#[test]
fn a_listed_file_that_is_missing_is_told_and_one_without_a_hash_is_not() {
    let folder = Folder::new("altered-missing");
    folder.put("in/t/runs.csv", GOOD);
    folder.put("in/t/labels.toml", "schema = \"sparkbench.labels/1\"\nname = \"t\"\n");
    folder.put("in/t/SHA256SUMS", format!("{}  runs.csv\n{}  more.csv\n", hash(GOOD.as_bytes()), hash(b"x")));
    analyse(&folder, &["--strict"]).expect(1).complains(&["'t/more.csv' is missing"]);
    let report = Report::of_site(&folder.path().join("site"));
    assert_eq!(report.input("t/more.csv")["altered"]["kind"], "missing");
    assert_eq!(report.input("t/labels.toml").get("altered"), None);
    let none = Folder::new("altered-none");
    none.put("in/t/runs.csv", GOOD);
    analyse(&none, &["--strict"]).expect(0);
    let report = Report::of_site(&none.path().join("site"));
    assert_eq!(report.trap("t", "archive-changed", None)["status"], "not_evaluated");
}

/// A run of ours whose `run.json` lists the files beside it, without the journal of an archive.
fn put_run(folder: &Folder, files: &[(&str, &str)]) {
    let listed: Vec<serde_json::Value> = files
        .iter()
        .map(|(name, content)| serde_json::json!({"path": name, "sha256": hash(content.as_bytes())}))
        .collect();
    for (name, content) in files {
        folder.put(&format!("in/runs/r1/{name}"), content);
    }
    let run = serde_json::json!({
        "schema": "sparkbench.run/1", "id": "r1", "environment": "native", "model": "m", "workload": "w",
        "exit_code": 0, "reports": [], "files": listed,
    });
    folder.put("in/runs/r1/run.json", run.to_string());
}

#[test]
fn what_a_run_lists_is_compared_with_its_folder_however_deep_and_what_it_does_not_list_is_named() {
    let files = [("stdout.log", "fine\n"), ("nodes/n1/engine.log", "fine too\n"), (".config", "hidden\n")];
    let folder = Folder::new("altered-run");
    put_run(&folder, &files);
    analyse(&folder, &["--strict"]).expect(0);
    for (path, words) in [
        ("in/runs/r1/nodes/n1/engine.log", "'runs/r1/nodes/n1/engine.log' was changed"),
        ("in/runs/r1/.config", "'runs/r1/.config' was changed"),
        ("in/runs/r1/new.json", "'runs/r1/new.json' was added"),
    ] {
        let folder = Folder::new("altered-run-file");
        put_run(&folder, &files);
        folder.put(path, "other\n");
        analyse(&folder, &["--strict"]).expect(1).complains(&[words]);
        let page = fs::read_to_string(folder.path().join("site/r/r1/index.html")).unwrap();
        assert!(page.contains("1 file is not what was recorded"), "{path}");
    }
    let folder = Folder::new("altered-run-missing");
    put_run(&folder, &files);
    fs::remove_file(folder.path().join("in/runs/r1/stdout.log")).unwrap();
    analyse(&folder, &["--strict"]).expect(1).complains(&["'runs/r1/stdout.log' is missing"]);
}

#[test]
fn every_verb_that_reads_archives_names_the_file() {
    let folder = Folder::new("altered-verbs");
    folder.put("in/t/runs.csv", GOOD);
    folder.put("in/t/SHA256SUMS", format!("{}  runs.csv\n", hash(b"other")));
    for arguments in [
        &["compare", "in#native", "in#boxed"][..],
        &["compare", "in/t/runs.csv#native", "in/t/runs.csv#boxed"],
        &["metrics", "in"],
    ] {
        let ending = run_in(folder.path(), arguments, &[]);
        assert!(ending.err.contains("runs.csv' was changed after it was recorded"), "{arguments:?}: {}", ending.err);
    }
    let ending = run_in(folder.path(), &["inspect", "in"], &[]).expect(0);
    assert!(ending.out.contains("not what was recorded") && ending.out.contains("t/runs.csv"), "{}", ending.out);
}
