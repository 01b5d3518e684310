//! Issue 30: hashes that stand beside files are compared with the files as they are read.

use std::fs;
use std::path::{Path, PathBuf};

use sparkbench::archive::{Recorded, Writer, check_recorded, discover, hash};
use sparkbench::model::Alteration;

use super::maker::*;
use crate::support::folder::Folder;
use crate::support::program::run_in;

/// What the hashes beside the files below a path show.
fn recorded(path: PathBuf) -> Recorded {
    let found = discover(&[path]).unwrap();
    let sums: Vec<String> = found.files.iter().map(|file| hash(&fs::read(&file.disk).unwrap())).collect();
    check_recorded(&found, &|number| sums.get(number).map(String::as_str))
}

fn told(recorded: &Recorded) -> Vec<(&str, Alteration)> {
    recorded.altered.iter().map(|altered| (altered.path.as_str(), altered.kind)).collect()
}

/// From the folder of the archive down to one file.
const ROOTS: [&str; 5] = ["", "archive", "archive/runs", "archive/runs/r1", "archive/runs/r1/stdout.log"];

#[test]
fn an_archive_as_it_was_written_has_nothing_altered_from_wherever_it_is_read() {
    let folder = Folder::new("recorded-whole");
    complete(folder.path());
    for root in ROOTS {
        let recorded = recorded(folder.path().join(root));
        assert_eq!(recorded.altered, [], "{root}");
        assert!(recorded.held.iter().any(|path| path.ends_with("stdout.log")), "{root}: {:?}", recorded.held);
    }
}

#[test]
fn a_changed_file_is_told_from_wherever_it_is_read() {
    let folder = Folder::new("recorded-changed");
    let path = complete(folder.path());
    for name in ["runs/r1/stdout.log", "runs/r1/run.json"] {
        let file = path.join(name);
        let whole = fs::read(&file).unwrap();
        fs::write(&file, [&whole[..], b" "].concat()).unwrap();
        let own = format!("archive/{name}");
        for root in ROOTS.into_iter().take(4).chain([own.as_str()]) {
            let recorded = recorded(folder.path().join(root));
            let [altered] = recorded.altered.as_slice() else { panic!("{name} in {root}: {:?}", recorded.altered) };
            let inside = own.strip_prefix(root).unwrap().trim_start_matches('/');
            let inside = if inside.is_empty() { name.rsplit('/').next().unwrap() } else { inside };
            assert_eq!((altered.path.as_str(), altered.kind), (inside, Alteration::Changed), "{root}");
            assert!(altered.is_error && altered.what.contains("expected SHA-256"), "{altered:?}");
        }
        fs::write(&file, whole).unwrap();
    }
    assert_eq!(recorded(path).altered, []);
}

/// A change of an archive: what is done, and what is told of it.
type Change = (fn(&Path), &'static str, Alteration);

#[test]
fn whatever_happens_to_a_sealed_archive_is_told_as_an_error() {
    let changes: [Change; 12] = [
        (
            |path| fs::remove_file(path.join("runs/r2/telemetry.csv")).unwrap(),
            "runs/r2/telemetry.csv",
            Alteration::Missing,
        ),
        (|path| fs::remove_dir_all(path.join("runs/r2")).unwrap(), "runs/r2/run.json", Alteration::Missing),
        (|path| fs::write(path.join("runs/r3/new.txt"), "x").unwrap(), "runs/r3/new.txt", Alteration::Added),
        (|path| fs::write(path.join("runs/r3/.hidden"), "x").unwrap(), "runs/r3/.hidden", Alteration::Added),
        (|path| copy(&path.join("runs/r3"), &path.join("runs/r9")), "runs/r9", Alteration::Added),
        (|path| fs::write(path.join("notes.txt"), "x").unwrap(), "notes.txt", Alteration::Added),
        (|path| fs::remove_file(path.join("seal.json")).unwrap(), "seal.json", Alteration::Missing),
        (|path| fs::remove_file(path.join("journal.jsonl")).unwrap(), "journal.jsonl", Alteration::Missing),
        (
            |path| ["journal.jsonl", "seal.json"].iter().for_each(|name| fs::remove_file(path.join(name)).unwrap()),
            "journal.jsonl",
            Alteration::Missing,
        ),
        (
            |path| {
                fs::remove_file(path.join("seal.json")).unwrap();
                fs::write(path.join("journal.jsonl"), "").unwrap();
            },
            "journal.jsonl",
            Alteration::Missing,
        ),
        (
            |path| {
                let journal = fs::read_to_string(path.join("journal.jsonl")).unwrap();
                fs::write(path.join("journal.jsonl"), journal.replacen("\"r1\"", "\"r8\"", 1)).unwrap();
            },
            "journal.jsonl",
            Alteration::Changed,
        ),
        (
            |path| {
                fs::write(path.join("campaign.json"), fs::read_to_string(path.join("campaign.json")).unwrap() + " ")
                    .unwrap()
            },
            "campaign.json",
            Alteration::Changed,
        ),
    ];
    for (change, path, kind) in changes {
        let folder = Folder::new("recorded-sealed");
        let archive = complete(folder.path());
        change(&archive);
        let recorded = recorded(archive);
        let found = recorded.altered.iter().find(|altered| altered.path == path);
        let altered = found.unwrap_or_else(|| panic!("{path} is not among {:?}", told(&recorded)));
        // A seal that is missing can be written again, as after a crash at the very end.
        assert!(altered.is_error || path == "seal.json", "{altered:?}");
        assert_eq!(altered.kind, kind, "{altered:?}");
        assert!(!altered.remedy.is_empty() && !altered.what.is_empty(), "{altered:?}");
    }
}

#[test]
fn labels_that_a_person_puts_into_an_archive_are_no_alteration() {
    let folder = Folder::new("recorded-labels");
    let path = complete(folder.path());
    fs::write(path.join("labels.toml"), "schema = \"sparkbench.labels/1\"\nmachine = \"gb10\"\n").unwrap();
    fs::write(path.join("metrics.toml"), "schema = \"sparkbench.metrics/1\"\n").unwrap();
    assert_eq!(recorded(path).altered, []);
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0).complains(&["'labels.toml' is text of the authors"]);
}

#[test]
fn a_list_counts_above_the_folder_that_was_given_and_is_not_held_against_itself() {
    let folder = Folder::new("recorded-list");
    folder.put("top/native/r.csv", "a,b\n1,2\n");
    // As `sha256sum * > SHA256SUMS` writes it: of itself the hash of nothing.
    folder.put("top/SHA256SUMS", format!("{}  native/r.csv\n{}  SHA256SUMS\n", hash(b"a,b\n1,2\n"), hash(b"")));
    let roots = ["top", "top/native", "top/native/r.csv"];
    for root in roots {
        let recorded = recorded(folder.path().join(root));
        assert_eq!((told(&recorded), recorded.held.len()), (vec![], 1), "{root}");
    }
    folder.put("top/native/r.csv", "a,b\n1,3\n");
    for root in roots {
        let recorded = recorded(folder.path().join(root));
        let [altered] = recorded.altered.as_slice() else { panic!("{root}: {:?}", recorded.altered) };
        assert!(altered.path.ends_with("r.csv") && altered.kind == Alteration::Changed, "{altered:?}");
    }
}

#[test]
fn what_a_killed_collector_leaves_is_no_error() {
    let folder = Folder::new("recorded-open");
    let path = folder.path().join("archive");
    let mut writer = Writer::create(&path, campaign(3), session()).unwrap();
    leave_files(&writer.begin("r1").unwrap());
    writer.finish("r1", run_wire()).unwrap();
    leave_files(&writer.begin("r2").unwrap());
    drop(writer);
    let recorded = recorded(path);
    assert!(recorded.altered.iter().all(|altered| !altered.is_error), "{:?}", recorded.altered);
    assert!(recorded.held.contains("runs/r1/stdout.log"), "{:?}", recorded.held);
}

#[cfg(feature = "analyse")]
#[test]
fn analyse_marks_the_run_names_the_file_and_its_remedy_and_is_refused_when_strict() {
    let folder = Folder::new("recorded-analyse");
    let path = complete(folder.path());
    fs::write(path.join("runs/r1/stdout.log"), "other").unwrap();
    let arguments = ["analyse", "archive", "--site", "site", "--resamples", "999"];
    let ending = run_in(folder.path(), &arguments, &[]).expect(0);
    ending.complains(&[
        "error: 'runs/r1/stdout.log' was changed after it was recorded",
        "in 'archive'",
        "restore it from a copy",
    ]);
    run_in(folder.path(), &[&arguments[..], &["--strict"]].concat(), &[]).expect(1);
    let page = |path: &str| fs::read_to_string(folder.path().join("site").join(path)).unwrap();
    for (path, is_marked) in [("index.html", true), ("r/r1/index.html", true), ("r/r3/index.html", false)] {
        let named = page(path).contains("was changed after it was recorded");
        assert_eq!(named, is_marked, "{path}");
    }
    let analysis: serde_json::Value = serde_json::from_str(&page("data/analysis.json")).unwrap();
    let all = |key: &str| analysis[key].as_array().unwrap().clone();
    let input = all("inputs").into_iter().find(|input| input["path"] == "runs/r1/stdout.log").unwrap();
    assert_eq!((&input["altered"]["kind"], &input["altered"]["is_error"]), (&"changed".into(), &true.into()));
    let trap =
        all("traps").into_iter().find(|trap| trap["id"] == "archive-changed" && trap["status"] == "fired").unwrap();
    assert_eq!(trap["severity"], "error");
    let flags = |id: &str| all("runs").into_iter().find(|run| run["id"] == id).unwrap()["flags"].clone();
    assert_eq!(flags("r1"), serde_json::json!(["altered:changed:runs/r1/stdout.log"]));
    assert_eq!(flags("r3"), serde_json::json!([]));
}
