//! The verb `init`: what it writes is ready, and nothing of anybody's is overwritten.
#![cfg(feature = "collect")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::folder::Folder;

fn init(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sparkbench")).arg("init").args(args).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn both_files_are_written_and_the_suite_is_the_one_on_standard_output() {
    let folder = Folder::new("init-both");
    let out = init(folder.path(), &[]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let suite = fs::read_to_string(folder.path().join("suite.toml")).unwrap();
    assert_eq!(suite, text(&init(folder.path(), &["--stdout"]).stdout));
    assert!([true, false].iter().any(|gpu| suite == sparkbench::plan::starter(*gpu)));
    let workflow = fs::read_to_string(folder.path().join(".github/workflows/pages.yml")).unwrap();
    for step in [
        "cargo install --git \"$SPARKBENCH\" --locked",
        "sparkbench analyse archive --site site",
        "upload-pages-artifact",
        "deploy-pages",
    ] {
        assert!(workflow.contains(step), "{step}");
    }
    assert!(!workflow.contains('\t'), "YAML knows no tabs");
}

#[test]
fn the_workflow_installs_from_the_source_that_was_given() {
    let folder = Folder::new("init-source");
    let given = "https://example.org/sparkbench-x86_64-unknown-linux-musl.tar.gz";
    assert!(init(folder.path(), &["--source", given]).status.success());
    let workflow = fs::read_to_string(folder.path().join(".github/workflows/pages.yml")).unwrap();
    assert!(workflow.contains(&format!("SPARKBENCH: \"{given}\"\n")), "{workflow}");
    let none = init(folder.path(), &["--force", "--source", ""]);
    assert!(text(&none.stderr).contains("set SPARKBENCH to the source to install from"), "{none:?}");
    for hostile in ["a\"b", "a\nb", "a\\b"] {
        assert_eq!(init(folder.path(), &["--force", "--source", hostile]).status.code(), Some(2), "{hostile:?}");
    }
}

#[test]
fn nothing_is_overwritten_without_being_asked_for() {
    let folder = Folder::new("init-kept");
    let suite = folder.path().join("suite.toml");
    fs::write(&suite, "mine").unwrap();
    let out = init(folder.path(), &[]);
    assert_eq!(out.status.code(), Some(2));
    let said = text(&out.stderr);
    assert!(said.contains("suite.toml' is already there") && said.contains("--force"), "{said}");
    assert_eq!(fs::read_to_string(&suite).unwrap(), "mine");
    assert!(!folder.path().join(".github").exists(), "all or nothing");
    assert!(init(folder.path(), &["--force"]).status.success());
    assert_ne!(fs::read_to_string(&suite).unwrap(), "mine");
}

#[test]
fn another_folder_is_made_and_one_that_cannot_be_written_is_named() {
    let folder = Folder::new("init-deep");
    assert!(init(folder.path(), &["a/b"]).status.success());
    assert!(folder.path().join("a/b/suite.toml").exists());
    fs::write(folder.path().join("file"), "").unwrap();
    let out = init(folder.path(), &["file/below"]);
    assert_eq!(out.status.code(), Some(5), "{}", text(&out.stderr));
}
