//! Issue 30: paths that a person names or that a run has. Nothing is waited for, and names are those on the disk.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use sparkbench::archive::{self, manifest};
use sparkbench::ingest::{self, Options};

use crate::support::folder::Folder;
use crate::support::program::{Ending, fair_start, run_in};

const TABLE: &str = "environment,ttft_ms\nnative,1\n";

/// Runs a script of a shell in which `$1` is the program.
fn shell(folder: &Folder, script: &str) -> Ending {
    fair_start();
    let child = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_sparkbench")])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell starts");
    Ending::of(child)
}

#[test]
fn a_named_pipe_and_a_device_are_refused_and_not_waited_for() {
    let folder = Folder::new("reading-endless");
    mkfifo(&folder.path().join("pipe"), Mode::S_IRWXU).unwrap();
    for path in ["pipe", "/dev/zero", "/dev/null"] {
        let named = format!("'{path}' is not a regular file");
        run_in(folder.path(), &["inspect", path], &[]).expect(5).complains(&[&named, "write its content to a file"]);
        #[cfg(feature = "analyse")]
        run_in(folder.path(), &["stats", path], &[]).expect(5).complains(&[&named, "write its content to a file"]);
    }
    run_in(folder.path(), &["inspect", "-"], &[]).expect(5).complains(&["give /dev/stdin"]);
}

#[test]
fn a_pipe_that_a_shell_hands_over_is_read_up_to_the_limit() {
    let folder = Folder::new("reading-handed-over");
    folder.put("runs.csv", TABLE);
    for script in ["cat runs.csv | \"$1\" inspect /dev/stdin", "\"$1\" inspect /dev/stdin < runs.csv"] {
        let out = shell(&folder, script).expect(0).out;
        assert!(out.contains("format: table") && out.contains("environment native"), "{script}: {out}");
    }
    // Words that no format takes are not called an empty file.
    shell(&folder, "echo words | \"$1\" inspect /dev/stdin").expect(5).complains(&["no known format looks like"]);
    shell(&folder, "cat /dev/zero | \"$1\" inspect /dev/stdin")
        .expect(5)
        .complains(&["'/dev/stdin' gives more than 128 MiB", "write its content to a file"]);
}

#[test]
fn a_link_with_any_name_in_a_folder_is_passed_over() {
    let folder = Folder::new("reading-links");
    folder.put("in/runs.csv", TABLE);
    for name in [&b"bad\xff"[..], b"two\nlines", b"\x1b[31m"] {
        let name = OsStr::from_bytes(name);
        symlink("nowhere", folder.path().join("in").join(name)).unwrap();
        fs::create_dir_all(folder.path().join("in/deep").join(name)).unwrap();
        symlink("../../runs.csv", folder.path().join("in/deep").join(name).join("again")).unwrap();
    }
    run_in(folder.path(), &["inspect", "in"], &[]).expect(0);
}

#[test]
fn a_report_is_found_by_the_bytes_of_its_name() {
    let folder = Folder::new("reading-reports");
    let report = |path: &str| manifest::ReportWire {
        path: path.into(),
        parser: "lines".into(),
        ..manifest::ReportWire::default()
    };
    let run = manifest::RunWire {
        schema: manifest::RUN_SCHEMA.into(),
        environment: "native".into(),
        model: "m".into(),
        workload: "w".into(),
        exit_code: Some(0),
        reports: vec![report("work/out\u{1b}put\n.txt"), report("work/lost\t.txt")],
        ..manifest::RunWire::default()
    };
    let own = folder.path().join("runs").join(OsStr::from_bytes(b"r\xff"));
    fs::create_dir_all(own.join("work")).unwrap();
    fs::write(own.join("run.json"), serde_json::to_string(&run).unwrap()).unwrap();
    fs::write(own.join("work/out\u{1b}put\n.txt"), "ttft_ms=1.5\n").unwrap();
    let found = archive::discover(&[folder.path().to_owned()]).unwrap();
    let intake = ingest::all(&found, &Options::default()).unwrap();
    assert_eq!(intake.runs.iter().map(|run| run.value("ttft_ms")).collect::<Vec<_>>(), [Some(1.5)]);
    let reasons: Vec<&str> = intake.inputs.iter().filter_map(|input| input.reason.as_deref()).collect();
    let missing: Vec<&&str> = reasons.iter().filter(|reason| reason.contains("is not there")).collect();
    assert!(missing.len() == 1 && missing[0].contains("'work/lost\\x09.txt' is not there"), "{reasons:?}");
}

#[test]
fn files_of_one_name_are_told_apart_by_a_number_before_the_ending() {
    let folder = Folder::new("reading-one-name");
    let paths = |name: &str| {
        let of = |part: &str| folder.put(&format!("{name}-{part}/{name}"), TABLE);
        let found = archive::discover(&[of("a"), of("b")]).unwrap();
        found.files.into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    assert_eq!(paths("runs.csv"), ["runs-2.csv/runs.csv", "runs.csv/runs.csv"]);
    assert_eq!(paths("runs.json.gz"), ["runs-2.json.gz/runs.json.gz", "runs.json.gz/runs.json.gz"]);
    // What follows this dot says nothing of a format.
    assert_eq!(paths("v1.2"), ["v1.2-2/v1.2", "v1.2/v1.2"]);
}
