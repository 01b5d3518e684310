//! The exit code of `inspect` for a folder is that of its worst file.

use crate::support::folder::Folder;
use crate::support::program::run_in;

const TABLE: &str = "environment,ttft_ms\nnative,1\n";

#[test]
fn a_folder_has_the_exit_code_of_its_worst_file() {
    for (name, text) in [
        ("notes.bin", "a\0b"),
        ("empty.json", ""),
        ("broken.json", "{\"a\": "),
        ("other.json", "{\"colour\": \"red\"}"),
        ("words.xyz", "some words\n"),
        ("deep/down/notes.bin", "a\0b"),
    ] {
        let folder = Folder::new("inspect-codes");
        folder.put("in/runs.csv", TABLE);
        run_in(folder.path(), &["inspect", "in"], &[]).expect(0);
        folder.put(&format!("in/{name}"), text);
        run_in(folder.path(), &["inspect", &format!("in/{name}")], &[]).expect(5);
        let listed = run_in(folder.path(), &["inspect", "in"], &[]).expect(5);
        assert!(listed.out.contains("runs.csv"), "everything is listed: {}", listed.out);
        listed.complains(&["1 file of 'in' could not be read", name.rsplit('/').next().unwrap()]);
        let json = run_in(folder.path(), &["inspect", "--json", "in"], &[]).expect(5).out;
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    }
}

#[test]
fn a_row_that_is_left_out_is_no_file_that_cannot_be_read() {
    let folder = Folder::new("inspect-codes-row");
    folder.put("in/runs.csv", format!("{TABLE}native,fast\n"));
    run_in(folder.path(), &["inspect", "in/runs.csv"], &[]).expect(0);
    run_in(folder.path(), &["inspect", "in"], &[]).expect(0);
}

#[test]
fn of_several_paths_all_are_shown_and_the_worst_counts() {
    let folder = Folder::new("inspect-codes-several");
    folder.put("in/runs.csv", TABLE);
    folder.put("in/notes.bin", "a\0b");
    folder.put("good/runs.csv", TABLE);
    std::fs::create_dir_all(folder.path().join("nothing")).unwrap();
    let run = |paths: &[&str]| run_in(folder.path(), &[&["inspect"], paths].concat(), &[]);
    run(&["nothing"]).expect(5).complains(&["nothing to read in 'nothing'"]);
    for paths in [&["nothing", "good"][..], &["missing.json", "good"], &["in/notes.bin", "good"], &["in", "good"]] {
        let ending = run(paths).expect(5);
        assert!(ending.out.contains("runs.csv  table"), "{paths:?}: {}", ending.out);
    }
    run(&["missing.json", "in", "in/notes.bin"]).expect(5).complains(&[
        "cannot open 'missing.json'",
        "1 file of 'in' could not be read",
        "'in/notes.bin' is not text",
    ]);
    // The same file twice is read twice.
    run(&["good/runs.csv", "good/runs.csv", "good"]).expect(0);
    run(&["in/notes.bin", "in/notes.bin"]).expect(5);
}

#[cfg(unix)]
#[test]
fn a_link_in_a_folder_is_passed_over_and_a_pipe_cannot_be_read() {
    let folder = Folder::new("inspect-codes-links");
    folder.put("in/runs.csv", TABLE);
    std::os::unix::fs::symlink("runs.csv", folder.path().join("in/again.csv")).unwrap();
    run_in(folder.path(), &["inspect", "in"], &[]).expect(0);
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("in/s")).unwrap();
    run_in(folder.path(), &["inspect", "in"], &[]).expect(5).complains(&["not a regular file"]);
}

#[cfg(unix)]
#[test]
fn whatever_stands_in_the_place_of_a_record_of_an_archive_cannot_be_read() {
    use nix::{sys::stat::Mode, unistd::mkfifo};
    use std::os::unix::fs::symlink;
    type Thing = (&'static str, &'static str, fn(&std::path::Path));
    let things: [Thing; 4] = [
        ("pipe", "it is a pipe, not a file", |place| mkfifo(place, Mode::S_IRWXU).unwrap()),
        ("folder", "it is a folder, not a file", |place| std::fs::create_dir(place).unwrap()),
        ("link", "it is a link, not a file", |place| symlink("kept.csv", place).unwrap()),
        ("link to nothing", "it is a link, not a file", |place| symlink("gone.json", place).unwrap()),
    ];
    for (thing, why, put) in things {
        for record in ["campaign.json", "journal.jsonl", "runs/r1/run.json"] {
            let folder = Folder::new("inspect-codes-records");
            let archive = folder.path().join("in/archive");
            folder.put("in/archive/runs/r1/stdout.log", "output token throughput: 12.5 tok/s\n");
            folder.put("in/archive/runs/r2/run.json", "{\"schema\": \"sparkbench.run/1\", \"id\": \"r2\"}");
            folder.put("in/archive/kept.csv", TABLE);
            put(&archive.join(record));
            for (path, shown) in [("in", format!("archive/{record}")), ("in/archive", record.to_owned())] {
                let ending = run_in(folder.path(), &["inspect", path], &[]).expect(5);
                ending.complains(&[&format!("cannot read '{shown}': {why}")]);
                let named = ending.err.matches(&shown).count();
                assert_eq!(named, 1, "{thing} in the place of {record}:\n{}", ending.err);
            }
        }
    }
}
