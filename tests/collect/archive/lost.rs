//! What was changed, removed or added in an archive is not sealed. With the word of its owner the loss is on record, and the rest verifies.

use std::fs;
use std::path::Path;

use sparkbench::archive::manifest::SealWire;
use sparkbench::archive::verify::{Kind, Remedy, State};
use sparkbench::archive::{Event, Progress, Writer, journal};
use sparkbench::error::Error;

use super::maker::*;
use crate::support::folder::Folder;
use crate::support::program::run_in;

/// Something that happens to an archive: its name, what the error must name, and how it is done.
type Harm = (&'static str, &'static str, fn(&Path));

/// Harm to single runs.
const TO_RUNS: &[Harm] = &[
    ("a run was removed", "run 'r1': the folder is missing", |path| fs::remove_dir_all(path.join("runs/r1")).unwrap()),
    ("a file was changed", "run 'r1': stdout.log was changed", |path| put(path, "runs/r1/stdout.log", b"other")),
    ("a file was removed", "run 'r1': work/deep/report.json is missing", |path| {
        fs::remove_file(path.join("runs/r1/work/deep/report.json")).unwrap();
    }),
    ("all files were removed", "run 'r1': run.json is missing", |path| {
        fs::remove_dir_all(path.join("runs/r1")).unwrap();
        fs::create_dir(path.join("runs/r1")).unwrap();
    }),
    ("a file was added", "runs/r1: more.txt was added", |path| put(path, "runs/r1/more.txt", b"x")),
    ("its own file was changed", "run 'r1': run.json was changed", |path| add(path, "runs/r1/run.json", b" ")),
    ("it was renamed", "runs/r9", |path| fs::rename(path.join("runs/r1"), path.join("runs/r9")).unwrap()),
    ("a file of that name", "run 'r1'", |path| {
        fs::remove_dir_all(path.join("runs/r1")).unwrap();
        put(path, "runs/r1", b"x");
    }),
    #[cfg(unix)]
    ("a file became a link", "run 'r1': stdout.log", |path| {
        fs::remove_file(path.join("runs/r1/stdout.log")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", path.join("runs/r1/stdout.log")).unwrap();
    }),
];

/// Harm to what lies beside the runs.
const BESIDE: &[Harm] = &[
    ("a probe was changed", "probes/native-w: stdout.log was changed", |path| {
        put(path, "probes/native-w/stdout.log", b"other");
    }),
    ("something prepared was removed", "prepared/w-m: the folder is missing", |path| {
        fs::remove_dir_all(path.join("prepared/w-m")).unwrap();
    }),
    ("a file was added", "notes.txt", |path| put(path, "notes.txt", b"mine")),
    ("a folder was added among the runs", "runs/junk", |path| put(path, "runs/junk/a/b.txt", b"x")),
    ("an empty folder was added among the runs", "runs/junk", |path| fs::create_dir(path.join("runs/junk")).unwrap()),
    ("a file was added among the probes", "probes/x.txt", |path| put(path, "probes/x.txt", b"x")),
];

/// Harm to the record of a complete archive.
const TO_THE_RECORD: &[Harm] = &[
    ("two runs changed places", "run 'r1'", |path| {
        fs::rename(path.join("runs/r1"), path.join("away")).unwrap();
        fs::rename(path.join("runs/r3"), path.join("runs/r1")).unwrap();
        fs::rename(path.join("away"), path.join("runs/r3")).unwrap();
    }),
    ("what was set aside was changed", "interrupted/r1-1: stdout.log was changed", |path| {
        put(path, "interrupted/r1-1/stdout.log", b"other");
    }),
    ("what was set aside was removed", "interrupted/r1-1: the folder is missing", |path| {
        fs::remove_dir_all(path.join("interrupted/r1-1")).unwrap();
    }),
    ("the seal was changed", "seal.json", |path| replace(path, "seal.json", "\"runs\":3", "\"runs\":4")),
    ("the seal is another's", "seal.json", |path| {
        let other = Folder::new("archive-other-seal");
        fs::copy(complete(other.path()).join("seal.json"), path.join("seal.json")).unwrap();
    }),
    ("the seal is cut", "seal.json", |path| put(path, "seal.json", b"{\"schema\":\"sparkbench.se")),
    ("a line of JSON was added", "journal.jsonl", |path| add(path, "journal.jsonl", b"{\"seq\":99,\"event\":\"x\"}\n")),
    ("a line of text was added", "journal.jsonl", |path| add(path, "journal.jsonl", b"hello\n")),
    ("the beginning of a line was added", "journal.jsonl", |path| add(path, "journal.jsonl", b"{\"seq\":15,")),
    ("an empty line was added", "journal.jsonl", |path| add(path, "journal.jsonl", b"\n")),
    ("the journal was cut in the middle", "journal.jsonl", |path| {
        let journal = fs::read(path.join("journal.jsonl")).unwrap();
        put(path, "journal.jsonl", &journal[..journal.len() / 2]);
    }),
    ("a line was changed", "journal.jsonl", |path| replace(path, "journal.jsonl", "\"run\":\"r2\"", "\"run\":\"r4\"")),
    ("a line was removed", "journal.jsonl", |path| {
        let journal = fs::read_to_string(path.join("journal.jsonl")).unwrap();
        let lines: Vec<&str> = journal.split_inclusive('\n').collect();
        put(path, "journal.jsonl", [&lines[..4], &lines[5..]].concat().concat().as_bytes());
    }),
    ("the journal was removed", "journal.jsonl", |path| fs::remove_file(path.join("journal.jsonl")).unwrap()),
    ("the campaign was changed", "campaign.json", |path| add(path, "campaign.json", b"\n")),
    ("the suite's copy was changed", "campaign.json", |path| replace(path, "campaign.json", "name = ", "nome = ")),
];

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn add(folder: &Path, name: &str, bytes: &[u8]) {
    let before = fs::read(folder.join(name)).unwrap();
    put(folder, name, &[&before[..], bytes].concat());
}

fn replace(folder: &Path, name: &str, old: &str, new: &str) {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    assert!(text.contains(old), "{name} does not hold {old}");
    put(folder, name, text.replacen(old, new, 1).as_bytes());
}

/// A campaign of three runs, of which the first is done.
fn begun(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("archive");
    let mut writer = Writer::create(&path, campaign(3), session()).unwrap();
    for extra in [probe(), prepared()] {
        leave_files(&writer.begin_extra(&extra).unwrap());
        writer.finish_extra(&extra).unwrap();
    }
    leave_files(&writer.begin("r1").unwrap());
    writer.finish("r1", run_wire()).unwrap();
    path
}

/// Takes a campaign up without what does not fit, and makes what is left.
fn accept_and_end(path: &Path) -> Result<Progress, Error> {
    let (mut writer, plan, _) = Writer::resume(path, session(), true, &mut |_, _| {})?;
    writer.settle()?;
    go_on(&mut writer, &plan, &[])?;
    Ok(writer.progress().clone())
}

/// Demands that the losses of a sealed archive are in its seal, and that it is left as it is from now on.
#[track_caller]
fn expect_on_record(path: &Path, harm: &str) {
    let verified = expect_sealed(path);
    assert!(!verified.lost.is_empty(), "{harm}: nothing is on record");
    let seal: SealWire = serde_json::from_slice(&fs::read(path.join("seal.json")).unwrap()).unwrap();
    assert_eq!(seal.lost, verified.lost, "{harm}");
    let before = fs::read(path.join("journal.jsonl")).unwrap();
    assert!(accept_and_end(path).unwrap().closed, "{harm}");
    assert_eq!(fs::read(path.join("journal.jsonl")).unwrap(), before, "{harm}: a second word changes nothing");
}

/// Issue 30, point 3: `--resume` sealed what did not verify.
/// What is done to an archive, in words and as a step.
type Step = (&'static str, fn(&Path));

#[test]
fn what_was_changed_before_the_end_is_named_and_not_sealed_but_the_rest_is_measured() {
    for (harm, named, cause) in TO_RUNS.iter().chain(BESIDE) {
        let folder = Folder::new("archive-lost-before");
        let path = begun(folder.path());
        cause(&path);
        let (mut writer, plan, _) = Writer::resume(&path, session(), false, &mut |_, _| {})
            .unwrap_or_else(|error| panic!("{harm}: resuming is blocked: {error}"));
        let found: Vec<String> = writer.damages().iter().map(ToString::to_string).collect();
        assert!(found.iter().any(|line| line.contains(named)), "{harm}: {found:?}");
        writer.settle().unwrap();
        let error = go_on(&mut writer, &plan, &[]).unwrap_err();
        assert_eq!(error.kind.exit_code(), 5, "{harm}");
        assert!(error.what.contains(named), "{harm}: {error}");
        assert!(error.hint.as_deref().unwrap().contains("--accept-loss"), "{harm}: {error}");
        assert_eq!(writer.progress().finished.len(), 3, "{harm}: the rest is measured");
        assert!(!writer.progress().closed && !path.join("seal.json").exists(), "{harm}");
        drop(writer);
        accept_and_end(&path).unwrap_or_else(|error| panic!("{harm}: {error}"));
        expect_on_record(&path, harm);
    }
}

#[test]
fn what_is_changed_while_the_campaign_goes_on_is_not_sealed_either() {
    let folder = Folder::new("archive-lost-meanwhile");
    let path = folder.path().join("archive");
    let mut writer = Writer::create(&path, campaign(2), session()).unwrap();
    for id in ["r1", "r2"] {
        leave_files(&writer.begin(id).unwrap());
        writer.finish(id, run_wire()).unwrap();
    }
    put(&path, "runs/r1/stdout.log", b"other");
    assert!(writer.close(&mut |_, _| {}).unwrap_err().what.contains("run 'r1': stdout.log was changed"));
    assert!(!path.join("seal.json").exists());
}

#[test]
fn a_complete_archive_that_was_changed_is_named_and_nothing_in_it_is_touched() {
    for (harm, named, cause) in TO_RUNS.iter().chain(BESIDE).chain(TO_THE_RECORD) {
        let folder = Folder::new("archive-lost-refused");
        let path = complete(folder.path());
        cause(&path);
        let before = crate::support::files::files_below(&path);
        let error = Writer::resume(&path, session(), false, &mut |_, _| {}).map(|_| ()).unwrap_err();
        assert_eq!(error.kind.exit_code(), 5, "{harm}");
        assert!(error.what.contains(named), "{harm}: {error}");
        assert!(error.hint.as_deref().unwrap().contains("--accept-loss"), "{harm}: {error}");
        assert!(before == crate::support::files::files_below(&path), "{harm}: something was written");
    }
}

#[test]
fn a_loss_that_is_accepted_is_in_the_seal_and_lost_runs_are_measured_again() {
    for (harm, _, cause) in TO_RUNS.iter().chain(BESIDE).chain(TO_THE_RECORD) {
        let folder = Folder::new("archive-lost-accepted");
        let path = complete(folder.path());
        cause(&path);
        let progress = accept_and_end(&path).unwrap_or_else(|error| panic!("{harm}: {error}"));
        assert_eq!(progress.finished.len() + progress.failed.len(), 3, "{harm}: {progress:?}");
        expect_on_record(&path, harm);
    }
}

#[test]
fn the_line_of_a_lost_run_has_the_files_and_the_hashes_that_were_on_record() {
    let folder = Folder::new("archive-lost-line");
    let path = complete(folder.path());
    let (sha256, _) = sparkbench::archive::disk::sha256_of(&path.join("runs/r1/stdout.log")).unwrap();
    put(&path, "runs/r1/stdout.log", b"other");
    fs::remove_file(path.join("runs/r1/telemetry.csv")).unwrap();
    let progress = accept_and_end(&path).unwrap();
    assert!(progress.lost.is_empty(), "it has a result again: {:?}", progress.lost);
    let entries = journal::read(&path).unwrap().entries;
    let lost = entries.iter().find_map(|entry| match &entry.event {
        Some(Event::Lost { run: Some(run), files, why, .. }) => Some((run.clone(), files.clone(), why.clone())),
        _ => None,
    });
    let (run, files, why) = lost.unwrap();
    assert_eq!((run.as_str(), why.as_str()), ("r1", "stdout.log was changed, telemetry.csv is missing"));
    let names: Vec<String> = files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(names, ["stdout.log", "telemetry.csv"]);
    assert_eq!(files[0].sha256, sha256);
    // What is left of it is kept aside, and the new run says that it is not the first.
    assert!(path.join("interrupted/r1-2/stdout.log").exists());
    let again: serde_json::Value = serde_json::from_slice(&fs::read(path.join("runs/r1/run.json")).unwrap()).unwrap();
    assert_eq!(again["interrupted_before"], 2);
}

#[test]
fn a_crash_between_any_two_steps_of_accepting_is_resumed_without_the_word_of_anybody() {
    let folder = Folder::new("archive-lost-crash");
    let base = complete(folder.path());
    fs::remove_dir_all(base.join("runs/r1")).unwrap();
    put(&base, "runs/r3/stdout.log", b"other");
    let seal = fs::read(base.join("seal.json")).unwrap();
    let lines_before = journal::read(&base).unwrap().entries.len();
    drop(Writer::resume(&base, session(), true, &mut |_, _| {}).unwrap());
    assert!(!base.join("seal.json").exists());
    let journal = fs::read_to_string(base.join("journal.jsonl")).unwrap();
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    // Reopened, opened, and one line for each of the two.
    assert_eq!(lines.len(), lines_before + 4, "{journal}");
    let path = folder.path().join("copy");
    // Before the last of the losses has its line, what is left of them is damage still.
    for (kept, void, accepted) in [(1, true, false), (1, false, false), (3, false, false), (4, false, true)] {
        copy(&base, &path);
        put(&path, "journal.jsonl", lines[..lines_before + kept].concat().as_bytes());
        if void {
            put(&path, "seal.json", &seal);
        }
        let ended = resume_and_end(&path);
        assert_eq!(ended.is_ok(), accepted, "{kept} lines, the old seal there: {void}: {ended:?}");
        if !accepted {
            accept_and_end(&path).unwrap();
        }
        expect_on_record(&path, "a crash");
        fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn a_run_that_the_journal_does_not_know_to_have_begun_is_not_taken_in() {
    let folder = Folder::new("archive-lost-lines");
    let path = begun(folder.path());
    let journal = fs::read_to_string(path.join("journal.jsonl")).unwrap();
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    // The lines of the run are gone, its folder is there.
    put(&path, "journal.jsonl", lines[..lines.len() - 2].concat().as_bytes());
    let error = Writer::resume(&path, session(), false, &mut |_, _| {}).map(|_| ()).unwrap_err();
    assert!(error.what.contains("journal.jsonl: runs/r1: the journal has no line that this run was begun"), "{error}");
    let before = fs::read(path.join("runs/r1/run.json")).unwrap();
    accept_and_end(&path).unwrap();
    assert_eq!(fs::read(path.join("runs/r1/run.json")).unwrap(), before, "it is whole, so it is kept");
    expect_on_record(&path, "cut lines");
}

/// Issue 30, point 8: the remedy of an archive that a crash cut was a copy.
#[test]
fn verify_names_resume_for_what_a_crash_left_and_a_copy_for_what_was_changed() {
    let folder = Folder::new("archive-lost-remedy");
    let path = begun(folder.path());
    let mut writer = Writer::resume(&path, session(), false, &mut |_, _| {}).unwrap().0;
    writer.settle().unwrap();
    leave_files(&writer.begin("r2").unwrap());
    drop(writer);
    let command = "sparkbench collect SUITE --archive archive --resume";
    let crashed: &[Step] = &[
        ("an unfinished run", |_| {}),
        ("a file that was being written", |path| put(path, ".seal.json.sparkbench-aside", b"{")),
        ("a torn line that something ended", |path| add(path, "journal.jsonl", b"{\"seq\":12,\"utc\":\"2026\n")),
        ("a run under its name without its line", |path| {
            fs::rename(path.join("runs/.r2.part"), path.join("runs/r2")).unwrap();
        }),
        ("a folder that was just moved", |path| {
            fs::create_dir_all(path.join("interrupted")).unwrap();
            fs::rename(path.join("runs/r2"), path.join("interrupted/r2-1")).unwrap();
        }),
    ];
    for (what, leave) in crashed {
        leave(&path);
        let verified = look(&path);
        assert!(verified.flaws.iter().all(|flaw| flaw.remedy == Remedy::Resume), "{what}: {:?}", verified.flaws);
        let ending = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
        ending.complains(&[&format!("a crash cut it short, so continue: {command}")]);
        assert!(!ending.err.contains("copy"), "{what}: {}", ending.err);
    }
    // Both at once: each has its remedy.
    put(&path, "runs/r1/stdout.log", b"other");
    put(&path, "notes.txt", b"mine");
    run_in(folder.path(), &["verify", "archive"], &[]).expect(5).complains(&[
        "restore the changed files from a copy",
        &format!("without a copy, record the loss: {command} --accept-loss"),
        "move away what nothing lists",
        &format!("a crash left the rest, which goes with: {command}"),
    ]);
    // Without anything that a crash left, resuming is no remedy.
    let whole = complete(&folder.path().join("whole"));
    put(&whole, "runs/r1/stdout.log", b"other");
    let ending = run_in(folder.path(), &["verify", "whole/archive"], &[]).expect(5);
    ending.complains(&["restore the changed files from a copy"]);
    assert!(!ending.err.contains("a crash"), "{}", ending.err);
}

#[test]
fn a_torn_last_line_alone_fits_and_verify_says_how_to_go_on() {
    let folder = Folder::new("archive-lost-torn");
    let path = begun(folder.path());
    add(&path, "journal.jsonl", b"{\"seq\":7,\"utc\":\"20");
    let open = look(&path);
    assert_eq!((open.flaws.as_slice(), open.state), (&[][..], State::Open));
    run_in(folder.path(), &["verify", "archive"], &[])
        .expect(0)
        .complains(&["next: sparkbench collect SUITE --archive archive --resume"]);
    // A sealed campaign is never begun upon again, so there it is no crash.
    let sealed = complete(&folder.path().join("sealed"));
    add(&sealed, "journal.jsonl", b"{\"seq\":15,\"utc\":\"20");
    assert!(look(&sealed).flaws.iter().any(|flaw| flaw.path == "journal.jsonl" && flaw.kind == Kind::Changed));
}
