//! Issue 30: a file of labels that cannot be used ends an analysis with exit code 5, whatever it is, and none is waited for.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::folder::Folder;
use crate::support::program::{Ending, FEW, run_in};

const TABLE: &str = "environment,model,workload,ttft_ms\na,m,chat,10\na,m,chat,11\nb,m,chat,12\nb,m,chat,13\n";
const LABELS: &str = "schema = \"sparkbench.labels/1\"\nname = \"x\"\n";

/// How a file of labels came to lie there.
type Put = fn(&Path);

const WAYS: [(&str, Put, &str); 6] = [
    (
        "a link",
        |path| {
            fs::write(path.with_extension("real"), LABELS).unwrap();
            symlink(path.with_extension("real"), path).unwrap();
        },
        "a link, and links are not followed",
    ),
    ("a link to nothing", |path| symlink("nowhere", path).unwrap(), "a link, and links are not followed"),
    ("a pipe", |path| mkfifo(path, Mode::S_IRWXU).unwrap(), "not a regular file"),
    ("a folder", |path| fs::create_dir(path).unwrap(), "a folder, where a file is expected"),
    ("not UTF-8", |path| fs::write(path, [LABELS.as_bytes(), b"title = \"\xff\"\n"].concat()).unwrap(), "not UTF-8"),
    ("UTF-16", |path| fs::write(path, b"\xff\xfes\0c\0h\0e\0m\0a\0").unwrap(), "not UTF-8"),
];

fn verbs(folder: &Folder) -> [Ending; 4] {
    let run = |arguments: &[&str]| run_in(folder.path(), arguments, &[]);
    [
        run(&[&["analyse", "in", "--site", "site"], &FEW[..]].concat()),
        run(&["compare", "in#a", "in#b"]),
        run(&["history", "in"]),
        run(&["metrics", "in"]),
    ]
}

#[test]
fn labels_that_are_no_plain_text_file_end_every_verb_with_5_in_any_folder() {
    for (way, put, reason) in WAYS {
        for place in ["in/labels.toml", "in/t/labels.toml", "in/metrics.toml"] {
            let folder = Folder::new("labels-files");
            folder.put("in/t/runs.csv", TABLE);
            put(&folder.path().join(place));
            for ending in verbs(&folder) {
                let ending = ending.expect(5);
                let shown = place.trim_start_matches("in/");
                ending.complains(&[&format!("cannot use '{shown}' as "), reason, "try:"]);
                assert!(!ending.err.contains("panicked"), "{way}");
            }
        }
    }
}

#[test]
fn a_link_to_labels_under_another_name_is_known_by_what_it_leads_to() {
    let folder = Folder::new("labels-files-named");
    folder.put("in/t/runs.csv", TABLE);
    let elsewhere = folder.put("shared.toml", LABELS);
    symlink(elsewhere, folder.path().join("in/t/arms.toml")).unwrap();
    for ending in verbs(&folder) {
        ending.expect(5).complains(&["cannot use 't/arms.toml' as labels", "a link"]);
    }
    // A link to something else is passed over as ever.
    fs::remove_file(folder.path().join("in/t/arms.toml")).unwrap();
    let elsewhere = folder.put("other.toml", "a = 1\n");
    symlink(elsewhere, folder.path().join("in/t/other.toml")).unwrap();
    run_in(folder.path(), &["metrics", "in"], &[]).expect(0);
}

#[test]
fn labels_that_may_not_be_read_end_with_5() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("labels-files-closed");
    folder.put("in/t/runs.csv", TABLE);
    let labels = folder.put("in/labels.toml", LABELS);
    fs::set_permissions(&labels, fs::Permissions::from_mode(0o000)).unwrap();
    // A privileged user may read everything.
    if fs::File::open(&labels).is_err() {
        for ending in verbs(&folder) {
            ending.expect(5).complains(&["cannot use 'labels.toml' as labels", "permissions"]);
        }
    }
}

#[test]
fn labels_that_a_program_left_in_its_folder_are_nobodys() {
    let folder = Folder::new("labels-files-run");
    let run = r#"{"schema": "sparkbench.run/1", "id": "r1", "environment": "a", "model": "m", "workload": "w", "reports": []}"#;
    folder.put("in/runs/r1/run.json", run);
    fs::create_dir_all(folder.path().join("in/runs/r1/work/labels.toml")).unwrap();
    symlink("nowhere", folder.path().join("in/runs/r1/labels.toml")).unwrap();
    run_in(folder.path(), &["metrics", "in"], &[]).expect(0);
}

#[test]
fn labels_and_facts_that_were_named_are_not_waited_for_and_end_with_5_where_they_cannot_be_read() {
    let folder = Folder::new("labels-files-option");
    folder.put("in/t/runs.csv", TABLE);
    for (way, put, _) in WAYS.into_iter().filter(|(way, ..)| !way.starts_with("a link")) {
        let path = folder.path().join("given.toml");
        put(&path);
        for option in ["--labels", "--metrics", "--facts"] {
            let ending = run_in(folder.path(), &["metrics", "in", option, "given.toml"], &[]);
            assert_eq!(ending.code, Some(5), "{way} by {option}: {}", ending.err);
            ending.complains(&["cannot use 'given.toml' as ", "try:"]);
        }
        if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) }.unwrap();
    }
    // A link that was named is taken at its word, and a name that leads nowhere is a slip of the pen.
    folder.put("real.toml", LABELS);
    symlink("real.toml", folder.path().join("link.toml")).unwrap();
    run_in(folder.path(), &["metrics", "in", "--labels", "link.toml"], &[]).expect(0);
    run_in(folder.path(), &["metrics", "in", "--labels", "none.toml"], &[]).expect(2);
}
