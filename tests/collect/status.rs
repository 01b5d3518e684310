//! The verb `status` on archives that are made step by step: begun, in the middle of a run, broken off, complete, torn, foreign.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use sparkbench::archive::manifest::{CampaignWire, PlannedRun, ReportWire, RunWire, StateWire};
use sparkbench::archive::{Identity, Mask, MaskRules, Moment, Retention, Session, Writer};
use sparkbench::model::Instant;

#[allow(dead_code)] // Other tests use the rest of it.
use crate::support::folder::Folder;
use crate::support::program::{Ending, run_in};

/// Ten seconds a look, on both clocks.
fn tick() -> Moment {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    let seconds = 10 * LOOKS.fetch_add(1, Ordering::SeqCst) as i64;
    Moment { utc: Instant(1_790_000_000_000 + seconds * 1000), monotonic_s: 100.0 + seconds as f64 }
}

fn session() -> Session<'static> {
    Session {
        tool: "sparkbench test".to_owned(),
        boot_id: None,
        mask: Mask::new(&MaskRules::default(), &Identity::default()).unwrap(),
        retention: Retention::new(&[], None).unwrap(),
        clock: &tick,
    }
}

fn campaign() -> CampaignWire {
    let planned = |environment: &str, repeat| PlannedRun {
        id: format!("b{repeat}-{environment}"),
        environment: environment.to_owned(),
        model: "tiny".to_owned(),
        workload: "multiply".to_owned(),
        repeat: Some(repeat),
        block: Some(repeat),
        ..PlannedRun::default()
    };
    CampaignWire {
        name: "smoke".to_owned(),
        archive_id: Some("abc".to_owned()),
        primary: vec!["gemm_tflops".to_owned()],
        plan: vec![planned("native", 1), planned("docker", 1), planned("docker", 2), planned("native", 2)],
        ..CampaignWire::default()
    }
}

fn make(writer: &mut Writer<'_>, id: &str, rate: f64, failure: Option<&str>) {
    let folder = writer.begin(id).unwrap();
    std::fs::create_dir_all(folder.join("work")).unwrap();
    let figures = json!({"schema": "sparkbench.result/1", "metrics": {"gemm_tflops": rate}});
    std::fs::write(folder.join("work/result.json"), figures.to_string()).unwrap();
    let state = |gpu_c| Some(StateWire { gpu_c: Some(gpu_c), ..StateWire::default() });
    let run = RunWire {
        environment: id.split_once('-').unwrap().1.to_owned(),
        model: "tiny".to_owned(),
        workload: "multiply".to_owned(),
        exit_code: Some(0),
        before: state(41.0),
        after: state(63.0),
        failure: failure.map(str::to_owned),
        reports: vec![ReportWire {
            path: "work/result.json".to_owned(),
            parser: "result-json".to_owned(),
            ..ReportWire::default()
        }],
        ..RunWire::default()
    };
    writer.finish(id, run).unwrap();
}

fn status(archive: &Path, options: &[&str]) -> Ending {
    let mut arguments = vec!["status", archive.to_str().unwrap()];
    arguments.extend(options);
    run_in(Path::new("."), &arguments, &[])
}

fn json_of(archive: &Path) -> Value {
    serde_json::from_str(&status(archive, &["--json"]).expect(0).out).unwrap()
}

#[test]
fn an_archive_is_followed_from_its_first_line_to_its_seal() {
    let place = Folder::new("status-follow");
    let archive = place.path().join("smoke");
    let mut writer = Writer::create(&archive, campaign(), session()).unwrap();
    let begun = json_of(&archive);
    assert_eq!((&begun["state"], &begun["runs"]["left"]), (&json!("between_runs"), &json!(4)));

    make(&mut writer, "b1-native", 90.0, None);
    make(&mut writer, "b1-docker", 80.0, Some("exit status 1"));
    let folder = writer.begin("b2-docker").unwrap();
    let telemetry = "timestamp_utc,gpu_util_pct,power_w,gpu_c\n2026-09-21T14:00:00Z,99,81.5,57\n2026-09-21T14:00:01Z,9";
    std::fs::write(folder.join("telemetry.csv"), telemetry).unwrap();
    let running = json_of(&archive);
    assert_eq!(running["state"], "running");
    assert_eq!(running["current"]["run"], "b2-docker");
    assert_eq!(running["current"]["telemetry"]["power_w"], "81.5");
    assert_eq!(
        running["runs"],
        json!({"planned": 4, "done": 1, "running": 1, "failed": 1, "skipped": 0, "left": 1, "interrupted": 0})
    );
    assert_eq!(
        running["cells"][0]["figures"][0],
        json!({"metric": "gemm_tflops", "unit": "TFLOP/s", "n": 1, "mean": 90.0})
    );
    let text = status(&archive, &[]).expect(0).out;
    for words in [
        "smoke: running, 1 of 4 runs done, 1 failed, 1 left, now b2-docker (docker, tiny, multiply, repeat 2)",
        "GPU 57 C, 81.5 W, 99 %",
        "90.00 TFLOP/s (n 1)",
        "preliminary and without verdict",
        "failed: b1-docker: exit status 1",
        "GPU 41 C -> 63 C in b1-",
        "not sealed",
    ] {
        assert!(text.contains(words), "'{words}' is not in:\n{text}");
    }

    // As a crash leaves it: nobody holds the lock, the run lies aside, the journal ends in the middle of a line.
    drop(writer);
    let journal = archive.join("journal.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, [&whole[..], b"{\"seq\":99,\"utc\":\"20"].concat()).unwrap();
    let text = status(&archive, &[]).expect(0).out;
    for words in ["smoke: interrupted", "interrupted: b2-docker", "--resume", "incomplete after a crash"] {
        assert!(text.contains(words), "'{words}' is not in:\n{text}");
    }

    let (mut writer, ..) = Writer::resume(&archive, session(), false, &mut |_, _| {}).unwrap();
    writer.settle().unwrap();
    assert_eq!(json_of(&archive)["runs"]["interrupted"], 1);
    make(&mut writer, "b2-docker", 84.0, None);
    make(&mut writer, "b2-native", 92.0, None);
    writer.close(&mut |_, _| {}).unwrap();
    drop(writer);
    let complete = json_of(&archive);
    assert_eq!(
        (&complete["state"], &complete["sealed"], &complete["left"]),
        (&json!("complete"), &json!(true), &Value::Null)
    );
    assert_eq!(complete["cells"][0]["figures"][0]["mean"], 91.0);
    assert_eq!(complete["notes"], json!([]));
    // A complete campaign ends the watching at once.
    let watched = status(&archive, &["--watch"]).expect(0).out;
    assert_eq!(watched.lines().count(), 1, "{watched}");
    assert!(watched.contains("smoke: complete, 3 of 4 runs done, 1 failed"), "{watched}");
}

#[test]
fn folders_that_are_no_archive_are_refused_with_what_to_do() {
    let place = Folder::new("status-foreign");
    status(&place.path().join("nothing"), &[]).expect(5).complains(&["is not a folder", "try:"]);
    status(place.path(), &[]).expect(5).complains(&["not the archive of a campaign", "campaign.json", "try:"]);
    place.put("campaign.json", "{\"schema\": \"sparkbench.campaign/9\", \"name\": \"x\"}");
    status(place.path(), &[]).expect(5).complains(&["sparkbench.campaign/9"]);
    place.put("campaign.json", "{\"schema\": \"sparkb");
    status(place.path(), &[]).expect(5).complains(&["cannot read"]);
}

#[test]
fn damage_is_survived_and_said() {
    let place = Folder::new("status-damage");
    let archive = place.path().join("smoke");
    let mut writer = Writer::create(&archive, campaign(), session()).unwrap();
    make(&mut writer, "b1-native", 90.0, None);
    drop(writer);
    // A run whose files are gone, one that holds nonsense, and something that is no folder.
    std::fs::remove_file(archive.join("runs/b1-native/run.json")).unwrap();
    std::fs::create_dir_all(archive.join("runs/b1-docker")).unwrap();
    std::fs::write(archive.join("runs/b1-docker/run.json"), [0xff, 0x00, b'{']).unwrap();
    std::fs::write(archive.join("runs/file"), "").unwrap();
    let seen = json_of(&archive);
    assert_eq!((&seen["runs"]["done"], &seen["state"]), (&json!(1), &json!("stopped")));
    // A line that was changed after it was written.
    let journal = std::fs::read_to_string(archive.join("journal.jsonl")).unwrap();
    std::fs::write(archive.join("journal.jsonl"), journal.replacen("b1-native", "b9-native", 1)).unwrap();
    assert!(json_of(&archive)["notes"].to_string().contains("was changed after it was written"));
    // No journal at all.
    std::fs::remove_file(archive.join("journal.jsonl")).unwrap();
    assert!(json_of(&archive)["notes"].to_string().contains("no journal"));
}
