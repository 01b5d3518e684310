//! Issue 30: arguments that are paths, with any letter in them. What cannot be used is refused before anything is read, with a remedy.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::folder::Folder;
use crate::support::program::{FEW, run_in};

/// A table of two environments whose names begin so.
fn table(environment: &str) -> String {
    let rows: String = (1..=4)
        .flat_map(|repeat| ["1", "2"].map(|last| format!("{environment}{last},m,chat,{repeat},1{repeat}\n")))
        .collect();
    format!("environment,model,workload,repeat,ttft_ms\n{rows}")
}

#[test]
fn a_hash_may_stand_in_the_name_of_a_file_and_of_an_environment() {
    let folder = Folder::new("reading-hash");
    folder.put("in/runs.csv", table("v#"));
    folder.put("in#1/runs.csv", table("w"));
    for sides in [["in#v#1", "in#v#2"], ["in#1#w1", "in#1#w2"], ["in#v#1", "in#1#w1"]] {
        let ending = run_in(folder.path(), &[&["compare"], &sides[..], &FEW[..]].concat(), &[]);
        // Whatever the verdict is.
        assert!(matches!(ending.code, Some(0 | 1 | 6)), "{sides:?}: {:?}, {}", ending.code, ending.err);
    }
    run_in(folder.path(), &["compare", "in#1", "in#v#1"], &[]).expect(2).complains(&["'in#1' holds several"]);
    run_in(folder.path(), &["compare", "none#a", "in#v#1"], &[]).expect(5).complains(&["cannot open 'none'"]);
}

#[test]
fn a_file_in_the_place_of_the_site_is_refused_with_a_remedy() {
    let folder = Folder::new("reading-site");
    folder.put("in/runs.csv", table("v"));
    folder.put("report.html", "mine");
    mkfifo(&folder.path().join("pipe"), Mode::S_IRWXU).unwrap();
    for (site, named) in [("report.html", "report.html"), ("report.html/site", "report.html"), ("pipe", "pipe")] {
        let ending = run_in(folder.path(), &["analyse", "in", "--site", site], &[]).expect(5);
        ending.complains(&[&format!("'{named}' is not a folder"), "try:", "--site site"]);
    }
    assert_eq!(fs::read(folder.path().join("report.html")).unwrap(), b"mine");
    // The mount is found before the folder is found to be missing.
    let missing = run_in(folder.path(), &["analyse", "missing", "--site", "/proc"], &[]).expect(5);
    missing.complains(&["is mounted on it", "--site /proc/site"]);
}

#[test]
fn a_site_whose_name_is_no_text_is_named_byte_for_byte() {
    let folder = Folder::new("reading-site-bytes");
    folder.put("in/runs.csv", table("v"));
    let mut arguments: Vec<&OsStr> = ["analyse", "in", "--site"].map(OsStr::new).to_vec();
    arguments.push(OsStr::from_bytes(b"s\xff"));
    arguments.extend(FEW.map(OsStr::new));
    run_in(folder.path(), &arguments, &[]).expect(0).complains(&["start with s\\xFF/index.html"]);
    assert!(folder.path().join(OsStr::from_bytes(b"s\xff")).join("index.html").is_file());
}

#[test]
fn a_pipe_for_labels_that_are_not_needed_is_not_waited_for() {
    let folder = Folder::new("reading-labels-pipe");
    folder.put("in/runs.csv", table("v"));
    mkfifo(&folder.path().join("pipe"), Mode::S_IRWXU).unwrap();
    let arguments = [&["analyse", "in", "--site", "site", "--write-labels", "pipe"], &FEW[..]].concat();
    run_in(folder.path(), &arguments, &[]).expect(0).complains(&["every run has its labels"]);
}
