//! The folder in which usual commands are given: tables, suites, archives, and files that are wrong in usual ways.
//!
//! In:  an empty folder.  Out: its files, the same bytes each time.
//! Not here: the commands.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;
use sparkbench::archive::manifest::{CampaignWire, PlannedRun, ReportWire, RunWire, StateWire};
use sparkbench::archive::{Identity, Mask, MaskRules, Moment, Retention, Session, Writer};
use sparkbench::model::Instant;

use crate::support::folder::Folder;
use crate::support::program::repository;

/// A spread that repeats, of one unit at most.
const SHAPE: [f64; 8] = [0.1, -0.7, 0.9, -0.2, 0.6, -1.0, 0.3, 0.0];

const SUITE: &str = r#"schema = "sparkbench.suite/1"
name = "hello"
repeats = 3
baseline = "native"
primary = ["e2e_latency_ms"]

[environments.native]

[environments.again]
kind = "native"

[workloads.hello]
kind = "command"
command = ["true"]
reports = [{ path = "result.json", parser = "result-json" }]
"#;

/// Makes everything.
pub fn make(folder: &Folder) {
    let put = |name: &str, text: &str| drop(folder.put(name, text));
    let table = [("native", 100.0), ("docker", 100.2), ("slow", 120.0)].map(|(name, level)| rows(name, "m", level, 8));
    put("results/runs.csv", &[HEAD, &table.concat()].concat());
    put("other/runs.csv", &[HEAD, &rows("docker", "m", 103.0, 3)].concat());
    put("chat/runs.csv", &[HEAD, &rows("docker", "n", 103.0, 3)].concat());
    let noisy = [90.0, 112.0, 97.0].iter().enumerate().map(|(k, v)| format!("docker,m,chat,{},{v}\n", k + 1));
    put("noisy/runs.csv", &[HEAD, &noisy.collect::<String>()].concat());
    let unlabelled = repository().join("tests/fixtures/ingest/formats/vllm-bench-serve/0.10.2/full.json");
    put("unlabelled/full.json", &std::fs::read_to_string(unlabelled).unwrap());
    put("broken/report.json", "{\"output_throughput\": 12, ");
    std::fs::create_dir_all(folder.path().join("empty")).unwrap();
    put("notes.bin", "\0\u{1}\u{2}");
    put("nightly.csv", &nights());
    let numbers = |level: f64| SHAPE.map(|step| format!("{:.2}\n", level + step)).concat();
    put("a.txt", &numbers(100.0));
    put("b.txt", &numbers(104.0));
    put("wrong.toml", "schema = \"sparkbench.metrics/1\"\n\n[metrics.slow]\nexpression = \"e2e_latancy_ms / osl\"\n");
    put("suite.toml", SUITE);
    put("bad.toml", &SUITE.replace("repeats = 3", "repeat = 3").replace("= \"native\"\np", "= \"nativ\"\np"));
    archive(&folder.path().join("archive/complete"), 4);
    archive(&folder.path().join("archive/stopped"), 2);
    archive(&folder.path().join("archive/damaged"), 4);
    put("archive/damaged/runs/b1-native/stdout.log", "another text\n");
    put("archive/damaged/notes.txt", "");
    std::fs::remove_file(folder.path().join("archive/damaged/runs/b2-native/stdout.log")).unwrap();
}

const HEAD: &str = "environment,model,workload,repeat,ttft_ms\n";

fn rows(environment: &str, model: &str, level: f64, runs: usize) -> String {
    let row = |k: usize| format!("{environment},{model},chat,{},{:.3}\n", k + 1, level + SHAPE[k % 8] * 0.4);
    (0..runs).map(row).collect()
}

/// Forty nights with a step of a fifth.
fn nights() -> String {
    let mut text = "time,commit,ttft_ms\n".to_owned();
    for row in 0..40 {
        let level = if row < 24 { 100.0 } else { 120.0 };
        let day = row % 28 + 1;
        let month = row / 28 + 1;
        text += &format!("2026-{month:02}-{day:02}T02:00:00Z,c{row},{:.3}\n", level + SHAPE[row % 8] * 0.3);
    }
    text
}

/// A campaign of four planned runs, of which so many are done. Sealed when all are.
fn archive(folder: &Path, done: usize) {
    let looks = AtomicI64::new(0);
    let tick = || {
        let seconds = 10 * looks.fetch_add(1, Ordering::SeqCst);
        Moment { utc: Instant(1_790_000_000_000 + seconds * 1000), monotonic_s: 100.0 + seconds as f64 }
    };
    let session = Session {
        tool: "sparkbench test".to_owned(),
        boot_id: None,
        mask: Mask::new(&MaskRules::default(), &Identity::default()).unwrap(),
        retention: Retention::new(&[], None).unwrap(),
        clock: &tick,
    };
    let plan = [("native", 1), ("docker", 1), ("docker", 2), ("native", 2)];
    let planned = plan.map(|(environment, repeat)| PlannedRun {
        id: format!("b{repeat}-{environment}"),
        environment: environment.to_owned(),
        model: "tiny".to_owned(),
        workload: "multiply".to_owned(),
        repeat: Some(repeat),
        block: Some(repeat),
        ..PlannedRun::default()
    });
    let campaign = CampaignWire {
        name: "smoke".to_owned(),
        archive_id: Some("abc".to_owned()),
        primary: vec!["gemm_tflops".to_owned()],
        plan: planned.to_vec(),
        ..CampaignWire::default()
    };
    let mut writer = Writer::create(folder, campaign, session).unwrap();
    for (at, run) in planned.iter().enumerate().take(done) {
        let failure = (at == 1).then(|| "exit status 1".to_owned());
        make_run(&mut writer, run, 90.0 + SHAPE[at], failure);
    }
    if done == plan.len() {
        writer.close(&mut |_, _| {}).unwrap();
    }
}

fn make_run(writer: &mut Writer<'_>, planned: &PlannedRun, rate: f64, failure: Option<String>) {
    let folder = writer.begin(&planned.id).unwrap();
    std::fs::create_dir_all(folder.join("work")).unwrap();
    std::fs::write(folder.join("stdout.log"), "multiplied\n").unwrap();
    let figures = json!({"schema": "sparkbench.result/1", "metrics": {"gemm_tflops": rate}});
    std::fs::write(folder.join("work/result.json"), figures.to_string()).unwrap();
    let state = |gpu_c| Some(StateWire { gpu_c: Some(gpu_c), ..StateWire::default() });
    let run = RunWire {
        environment: planned.environment.clone(),
        model: planned.model.clone(),
        workload: planned.workload.clone(),
        exit_code: Some(if failure.is_some() { 1 } else { 0 }),
        before: state(41.0),
        after: state(63.0),
        failure,
        reports: vec![ReportWire {
            path: "work/result.json".to_owned(),
            parser: "result-json".to_owned(),
            ..ReportWire::default()
        }],
        ..RunWire::default()
    };
    writer.finish(&planned.id, run).unwrap();
}
