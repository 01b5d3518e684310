//! What is taken from each fixture of a foreign format, written down in full: every figure with its line or pointer and its rule.
//!
//! `SPARKBENCH_GOLDEN=write cargo test --test formats ingest_golden::` writes the files anew. The difference is read as prose.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Files of `tests/fixtures/ingest/formats`, below it, in order.
fn fixtures() -> Vec<String> {
    let base = root().join("fixtures/ingest/formats");
    let mut found = Vec::new();
    let mut folders = vec![base.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(&base).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    // What says where a fixture comes from, or writes it, is no fixture.
    found.retain(|path| !path.ends_with("PROVENANCE.md") && !path.ends_with(".py"));
    found
}

fn golden(path: &str) -> PathBuf {
    root().join("golden/ingest").join(format!("{}.json", path.replace('/', "__")))
}

#[test]
fn every_fixture_gives_what_is_written_down() {
    let rewrite = std::env::var_os("SPARKBENCH_GOLDEN").is_some();
    let mut unlike = Vec::new();
    for path in fixtures() {
        let out = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
            .args(["inspect", "--json", &path])
            .current_dir(root().join("fixtures/ingest/formats"))
            .output()
            .unwrap();
        let said = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success(), "{path}: {}", String::from_utf8_lossy(&out.stderr));
        if rewrite {
            std::fs::write(golden(&path), said).unwrap();
        } else if std::fs::read_to_string(golden(&path)).ok().as_deref() != Some(said.as_str()) {
            unlike.push(path);
        }
    }
    assert!(
        unlike.is_empty(),
        "not as written down: {unlike:#?}; SPARKBENCH_GOLDEN=write rewrites, then read the difference"
    );
}

#[test]
fn every_golden_file_has_its_fixture() {
    let expected: BTreeSet<PathBuf> = fixtures().iter().map(|path| golden(path)).collect();
    for entry in std::fs::read_dir(root().join("golden/ingest")).unwrap() {
        let path = entry.unwrap().path();
        assert!(expected.contains(&path), "{} belongs to no fixture", path.display());
    }
}
