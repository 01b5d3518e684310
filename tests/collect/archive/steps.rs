//! A crash at any step: what is left verifies after the campaign was taken up again, and no complete run is lost or repeated.

use std::fs;

use sparkbench::archive::manifest::{RunWire, SealWire};
use sparkbench::archive::verify::{Kind, State};
use sparkbench::archive::{Event, Moment, Session, Writer, journal};
use sparkbench::model::Instant;

use super::maker::*;
use crate::support::folder::Folder;

#[test]
fn a_complete_campaign_verifies_and_holds_no_secret() {
    let folder = Folder::new("archive-complete");
    let path = complete(folder.path());
    let verified = expect_sealed(&path);
    let runs = verified.runs.unwrap();
    assert_eq!((runs.planned, runs.finished, runs.failed, runs.left, runs.interrupted), (Some(3), 2, 1, Some(0), 1));
    let mut all = String::new();
    for entry in walkdir::WalkDir::new(&path) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            all.push_str(&fs::read_to_string(entry.path()).unwrap());
        }
    }
    for word in [SECRET, "lab-spark-7", "open-sesame-please", "s3cr3t-of-mine", "jane"] {
        assert!(!all.contains(word), "{word} is in the archive");
    }
    let run: RunWire = serde_json::from_slice(&fs::read(path.join("runs/r1/run.json")).unwrap()).unwrap();
    assert_eq!(run.interrupted_before, 1);
    assert_eq!(run.command, ["bench", "--api-key", "<masked:key>"]);
    let files: Vec<String> = run.files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(files, ["stdout.log", "telemetry.csv", "work/deep/report.json"]);
    let dropped: Vec<(String, Option<u64>)> = run.dropped.iter().map(|d| (d.path.to_string(), d.bytes)).collect();
    assert_eq!(dropped, [("weights.bin".to_owned(), Some(8)), ("work/link".to_owned(), None)]);
    assert_eq!(run.masked.get("token"), Some(&1));
    assert!(path.join("interrupted/r1-1/stdout.log").exists());
    let seal: SealWire = serde_json::from_slice(&fs::read(path.join("seal.json")).unwrap()).unwrap();
    assert_eq!(seal.runs, 3);
}

#[test]
fn a_complete_campaign_is_opened_and_left_as_it_is() {
    let folder = Folder::new("archive-left-alone");
    let path = complete(folder.path());
    let before = fs::read(path.join("journal.jsonl")).unwrap();
    assert!(resume_and_end(&path).unwrap().closed);
    assert_eq!(fs::read(path.join("journal.jsonl")).unwrap(), before);
    let (mut writer, ..) = Writer::resume(&path, session(), false, &mut |_, _| {}).unwrap();
    let error = writer.log(Event::Stopped { why: "no".to_owned() }).unwrap_err();
    assert!(error.what.contains("complete and sealed"), "{error}");
    drop(writer);
    expect_sealed(&path);
}

#[test]
fn a_journal_cut_after_any_byte_is_taken_up_again() {
    let folder = Folder::new("archive-cut");
    let path = complete(folder.path());
    let journal = fs::read(path.join("journal.jsonl")).unwrap();
    let lines: Vec<usize> = (0..journal.len()).filter(|at| journal[*at] == b'\n').map(|at| at + 1).collect();
    // Every byte of the last line, and some of the one before it. The line that began the run is on disk before its folder is made.
    let (from, last) = (lines[lines.len() - 3], lines[lines.len() - 2]);
    for length in (from..last).step_by(23).chain(last..journal.len()) {
        let copied = folder.path().join("copy");
        copy(&path, &copied);
        fs::remove_file(copied.join("seal.json")).unwrap();
        fs::write(copied.join("journal.jsonl"), &journal[..length]).unwrap();
        let open = look(&copied);
        assert!(open.flaws.iter().all(|flaw| flaw.kind != Kind::Changed), "{length}: {:?}", open.flaws);
        let progress = resume_and_end(&copied).unwrap_or_else(|error| panic!("cut at {length}: {error}"));
        assert_eq!((progress.finished.len(), progress.failed.len()), (2, 1), "cut at {length}");
        expect_sealed(&copied);
        fs::remove_dir_all(&copied).unwrap();
    }
}

#[test]
fn a_crash_between_any_two_steps_loses_at_most_the_run_in_flight() {
    let folder = Folder::new("archive-steps");
    let base = folder.path().join("base");
    let mut writer = Writer::create(&base, campaign(2), session()).unwrap();
    let done = |writer: &mut Writer<'_>, id: &str| {
        leave_files(&writer.begin(id).unwrap());
        writer.finish(id, run_wire()).unwrap()
    };
    done(&mut writer, "r1");
    // Each case: what the crash left, and whether r2 was complete by then.
    type Leave = Box<dyn Fn(&std::path::Path)>;
    let copied = |name: &str| {
        let to = folder.path().join(name);
        copy(&base, &to);
        to
    };
    let after_r1 = copied("after-r1");
    let part = writer.begin("r2").unwrap();
    leave_files(&part);
    let in_flight = copied("in-flight");
    fs::write(part.join("run.json"), "{\"half\": ").unwrap();
    fs::write(part.join(".run.json.sparkbench-aside"), "{").unwrap();
    let half_written = copied("half-written");
    fs::remove_file(part.join("run.json")).unwrap();
    writer.finish("r2", run_wire()).unwrap();
    let complete = copied("complete");
    let started = |path: &std::path::Path| {
        let text = fs::read(path.join("journal.jsonl")).unwrap();
        let at = text.iter().rposition(|byte| *byte == b'\n').unwrap();
        let before = text[..at].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        fs::write(path.join("journal.jsonl"), &text[..before]).unwrap();
    };
    let nothing: Leave = Box::new(|_| {});
    let cases: Vec<(&std::path::Path, Leave, bool, u32)> = vec![
        (&after_r1, Box::new(|_| {}), false, 0),
        // The line `started`, and no folder yet.
        (&in_flight, Box::new(|path| fs::remove_dir_all(path.join("runs/.r2.part")).unwrap()), false, 0),
        (&in_flight, Box::new(|path| fs::create_dir_all(path.join("interrupted")).unwrap()), false, 1),
        (&half_written, nothing, false, 1),
        // Moved aside, and no line yet.
        (
            &in_flight,
            Box::new(|path| {
                fs::create_dir_all(path.join("interrupted")).unwrap();
                fs::rename(path.join("runs/.r2.part"), path.join("interrupted/r2-1")).unwrap();
            }),
            false,
            1,
        ),
        // Renamed, and no line yet.
        (&complete, Box::new(started), true, 0),
        (&complete, Box::new(|_| {}), true, 0),
    ];
    for (number, (from, leave, was_complete, interrupted)) in cases.into_iter().enumerate() {
        let path = folder.path().join(format!("case-{number}"));
        copy(from, &path);
        leave(&path);
        let r1 = fs::read(path.join("runs/r1/run.json")).unwrap();
        let r2 = fs::read(path.join("runs/r2/run.json")).ok();
        let progress = resume_and_end(&path).unwrap_or_else(|error| panic!("case {number}: {error}"));
        assert_eq!(progress.finished.len(), 2, "case {number}");
        assert_eq!(progress.interrupted.get("r2").copied().unwrap_or(0), interrupted, "case {number}");
        assert_eq!(fs::read(path.join("runs/r1/run.json")).unwrap(), r1, "case {number}: r1 was repeated");
        if was_complete {
            assert_eq!(fs::read(path.join("runs/r2/run.json")).ok(), r2, "case {number}: r2 was repeated");
        }
        expect_sealed(&path);
    }
}

#[test]
fn a_crash_while_an_archive_begins_can_be_begun_or_resumed() {
    let folder = Folder::new("archive-begin");
    // Before campaign.json.
    let path = folder.path().join("a");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join(".campaign.json.sparkbench-aside"), "{").unwrap();
    assert!(Writer::resume(&path, session(), false, &mut |_, _| {}).is_err());
    drop(Writer::create(&path, campaign(1), session()).unwrap());
    // Between campaign.json and the first line, the line half written or not at all.
    let journal = fs::read(path.join("journal.jsonl")).unwrap();
    for length in [None, Some(0), Some(1), Some(journal.iter().position(|byte| *byte == b'\n').unwrap())] {
        match length {
            None => fs::remove_file(path.join("journal.jsonl")).unwrap(),
            Some(length) => fs::write(path.join("journal.jsonl"), &journal[..length]).unwrap(),
        }
        let error = Writer::create(&path, campaign(1), session()).err().unwrap();
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("--resume")), "{error}");
        let (mut writer, plan, _) = Writer::resume(&path, session(), false, &mut |_, _| {}).unwrap();
        writer.settle().unwrap();
        go_on(&mut writer, &plan, &[]).unwrap();
        drop(writer);
        expect_sealed(&path);
        for name in ["runs", "probes", "prepared"] {
            fs::remove_dir_all(path.join(name)).unwrap();
        }
        fs::remove_file(path.join("seal.json")).unwrap();
    }
}

#[test]
fn a_crash_before_the_seal_is_mended_by_resuming() {
    let folder = Folder::new("archive-seal");
    let path = complete(folder.path());
    let seal = fs::read(path.join("seal.json")).unwrap();
    fs::remove_file(path.join("seal.json")).unwrap();
    fs::write(path.join(".seal.json.sparkbench-aside"), "{").unwrap();
    let flaws = look(&path).flaws;
    assert!(flaws.iter().any(|flaw| flaw.path == "seal.json" && flaw.kind == Kind::Missing), "{flaws:?}");
    assert!(resume_and_end(&path).unwrap().closed);
    assert_eq!(fs::read(path.join("seal.json")).unwrap(), seal);
    expect_sealed(&path);
}

#[test]
fn probes_and_prepared_files_that_were_not_finished_are_made_anew() {
    let folder = Folder::new("archive-extras");
    let path = folder.path().join("a");
    let mut writer = Writer::create(&path, campaign(1), session()).unwrap();
    leave_files(&writer.begin_extra(&probe()).unwrap());
    leave_files(&writer.begin_extra(&prepared()).unwrap());
    drop(writer);
    // One of them under its name already, and without a line.
    fs::rename(path.join("prepared/.w-m.part"), path.join("prepared/w-m")).unwrap();
    resume_and_end(&path).unwrap();
    expect_sealed(&path);
    assert!(path.join("interrupted/probes-native-w-1/stdout.log").exists());
    assert!(path.join("interrupted/prepared-w-m-1/stdout.log").exists());
}

#[test]
fn nothing_begins_before_leftovers_were_set_aside() {
    let folder = Folder::new("archive-unsettled");
    let path = folder.path().join("a");
    let mut writer = Writer::create(&path, campaign(1), session()).unwrap();
    writer.begin("r1").unwrap();
    drop(writer);
    let (mut writer, _, progress) = Writer::resume(&path, session(), false, &mut |_, _| {}).unwrap();
    assert_eq!(progress.in_flight.as_deref(), Some("r1"));
    assert!(writer.begin("r1").is_err());
    assert!(writer.close(&mut |_, _| {}).is_err());
    assert_eq!(writer.settle().unwrap(), ["r1 is in interrupted/r1-1"]);
    assert_eq!(writer.settle().unwrap(), Vec::<String>::new());
    leave_files(&writer.begin("r1").unwrap());
    writer.finish("r1", run_wire()).unwrap();
    writer.close(&mut |_, _| {}).unwrap();
    drop(writer);
    expect_sealed(&path);
}

#[test]
fn only_planned_runs_are_made_and_only_once() {
    let folder = Folder::new("archive-plan");
    let mut writer = Writer::create(&folder.path().join("a"), campaign(2), session()).unwrap();
    assert!(writer.begin("r9").unwrap_err().what.contains("not part of the plan"));
    leave_files(&writer.begin("r1").unwrap());
    writer.finish("r1", run_wire()).unwrap();
    assert!(writer.begin("r1").unwrap_err().what.contains("complete already"));
    assert!(writer.close(&mut |_, _| {}).unwrap_err().detail.unwrap().contains("'r2'"));
    writer.skip("r2", "no such model").unwrap();
    writer.close(&mut |_, _| {}).unwrap();
    let path = writer.folder().to_owned();
    drop(writer);
    assert_eq!(expect_sealed(&path).runs.unwrap().skipped, 1);
}

#[test]
fn a_clock_that_jumps_is_said_and_one_that_is_adjusted_is_not() {
    use std::sync::Mutex;
    let folder = Folder::new("archive-clock");
    let now = Mutex::new(Moment { utc: Instant(1_790_000_000_000), monotonic_s: 50.0 });
    let clock = || *now.lock().unwrap();
    let set = |wall_ms: i64, steady: f64| {
        let mut now = now.lock().unwrap();
        now.utc.0 += wall_ms;
        now.monotonic_s += steady;
    };
    let session = || Session { clock: &clock, ..session() };
    let path = folder.path().join("a");
    let mut writer = Writer::create(&path, campaign(2), session()).unwrap();
    set(3_600_900, 3600.0); // adjusted by 250 ppm
    writer.begin("r1").unwrap();
    set(-3_600_000, 10.0); // set back by an hour
    writer.finish("r1", run_wire()).unwrap();
    drop(writer);
    set(90_000, 20.0); // set forward between two collectors of one boot
    let (mut writer, ..) = Writer::resume(&path, session(), false, &mut |_, _| {}).unwrap();
    writer.settle().unwrap();
    drop(writer);
    set(-86_400_000, -3000.0); // started anew, and the wall clock a day back
    let after = Session { boot_id: Some("boot-2".to_owned()), ..session() };
    drop(Writer::resume(&path, after, false, &mut |_, _| {}).unwrap());
    let jumps: Vec<f64> = journal::read(&path)
        .unwrap()
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Some(Event::Clock { jump_s, .. }) => Some(*jump_s),
            _ => None,
        })
        .collect();
    assert_eq!(jumps, [-3610.0, 70.0, -86400.0]);
    assert_eq!(look(&path).flaws, []);
}

#[test]
fn an_archive_in_the_middle_fits_and_says_what_is_left() {
    let folder = Folder::new("archive-middle");
    let path = folder.path().join("a");
    let mut writer = Writer::create(&path, campaign(3), session()).unwrap();
    leave_files(&writer.begin("r1").unwrap());
    writer.finish("r1", run_wire()).unwrap();
    leave_files(&writer.begin("r2").unwrap());
    // While the collector holds it, the run in flight is passed over.
    let running = look(&path);
    assert_eq!((running.flaws.as_slice(), running.state), (&[][..], State::Running));
    assert!(running.notes.iter().any(|note| note.contains("'r2'")), "{:?}", running.notes);
    drop(writer);
    // Afterwards it is a leftover.
    let open = look(&path);
    assert_eq!(open.state, State::Open);
    assert!(open.flaws.iter().all(|flaw| flaw.path.starts_with("runs/.r2.part")), "{:?}", open.flaws);
    assert!(!open.flaws.is_empty());
}

#[test]
fn what_a_later_version_adds_is_passed_over() {
    let folder = Folder::new("archive-later");
    let path = folder.path().join("a");
    drop(Writer::create(&path, campaign(1), session()).unwrap());
    // A line of a kind that this version does not know, with a chain that fits.
    use sha2::{Digest as _, Sha256};
    let before = fs::read(path.join("journal.jsonl")).unwrap();
    let head = "{\"seq\":3,\"utc\":\"2026-09-21T14:00:00Z\",\"monotonic_s\":1.5,\"event\":\"warmed\",\"by\":2";
    let digest = Sha256::new().chain_update(&before).chain_update(head).finalize();
    let chain: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(
        path.join("journal.jsonl"),
        [&before[..], format!("{head},\"chain\":\"{chain}\"}}\n").as_bytes()].concat(),
    )
    .unwrap();
    let verified = look(&path);
    assert_eq!(verified.flaws, []);
    assert!(verified.notes.iter().any(|note| note.contains("'warmed'")), "{:?}", verified.notes);
    resume_and_end(&path).unwrap();
    expect_sealed(&path);
}
