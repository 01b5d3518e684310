//! The driver for offline engines, run by a real Python with stand-ins for the engines.

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::folder::Folder;
use crate::support::needs::skip;
use crate::support::workload::{cell, checks, faults, read};
use sparkbench::archive::{discover, manifest};
use sparkbench::ingest::{self, Options};
use sparkbench::model::Status;
use sparkbench::plan::Model;
use sparkbench::workload::{Outcome, Workload};

/// A run of the driver in a folder laid out as the archive has it.
struct Ran {
    folder: Folder,
    workload: Box<dyn Workload>,
    model: Model,
    code: Option<i32>,
}

impl Ran {
    fn run(&self) -> PathBuf {
        self.folder.path().join("runs/r1")
    }

    fn work(&self, name: &str) -> String {
        std::fs::read_to_string(self.run().join("work").join(name)).unwrap_or_default()
    }

    fn examine(&self) -> Outcome {
        self.workload.examine(&cell(&self.model), &self.run())
    }

    fn lines(&self) -> Vec<serde_json::Value> {
        self.work("iterations.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skip("there is no python3");
    }
    found
}

/// Runs the driver with stand-ins. Nothing where there is no Python.
fn drive(name: &str, suite: &str, variables: &[(&str, &str)]) -> Option<Ran> {
    if !has_python() {
        return None;
    }
    let folder = Folder::new(&format!("workload-python-{name}"));
    let model = Model { label: "m".into(), id: Some("org/m".into()), ..Model::default() };
    let workload = read("python", suite, Path::new(".")).unwrap();
    for (name, bytes) in workload.assets(&cell(&model)).unwrap() {
        folder.put(&format!("runs/r1/work/{name}"), bytes);
    }
    let work = folder.path().join("runs/r1/work");
    let invocation = workload.measure(&cell(&model), &work).unwrap();
    let (program, arguments) = invocation.argv.split_first().unwrap();
    let stream = |name: &str| Stdio::from(std::fs::File::create(folder.path().join("runs/r1").join(name)).unwrap());
    let status = Command::new(program)
        .args(arguments)
        .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(variables.iter().copied())
        .stdout(stream("stdout.log"))
        .stderr(stream("stderr.log"))
        .status()
        .unwrap();
    Some(Ran { folder, workload, model, code: status.code() })
}

const SMALL: &str = "engine = \"vllm\"\ntests = [\"T1\", \"T4\"]\niterations = 6\nwarmup = 2\ndtype = \"bfloat16\"\nmemory_fraction = 0.7\n";

#[test]
fn two_tests_of_one_launch_become_two_runs_with_the_engines_own_counts() {
    let Some(ran) = drive("two", SMALL, &[]) else { return };
    assert_eq!(ran.code, Some(0), "{}", std::fs::read_to_string(ran.run().join("stderr.log")).unwrap());
    let outcome = ran.examine();
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    assert_eq!(
        checks(&outcome),
        [
            "model_id match",
            "quantisation match",
            "batch of T1 match",
            "isl of T1 match",
            "osl of T1 match",
            "requests of T1 match",
            "batch of T4 match",
            "isl of T4 match",
            "osl of T4 match",
            "requests of T4 match"
        ]
    );
    assert_eq!((outcome.seen.engine.as_deref(), outcome.seen.machine.as_deref()), (Some("vLLM"), Some("stand-in GPU")));
    assert_eq!(outcome.seen.engine_version.as_deref(), Some("0.0+stand-in"));
    let run = manifest::RunWire {
        schema: manifest::RUN_SCHEMA.into(),
        id: Some("r1".into()),
        environment: "native".into(),
        model: "m".into(),
        workload: "offline".into(),
        exit_code: Some(0),
        seen: outcome.seen,
        reports: outcome.reports,
        ..manifest::RunWire::default()
    };
    ran.folder.put("runs/r1/run.json", serde_json::to_string(&run).unwrap());
    let intake = ingest::all(&discover(&[ran.folder.path().to_owned()]).unwrap(), &Options::default()).unwrap();
    assert_eq!(intake.skipped(), 0, "{:?}", intake.inputs);
    let names: Vec<&str> = intake.runs.iter().map(|run| run.workload.as_str()).collect();
    assert_eq!(names, ["offline-T1", "offline-T4"]);
    for (run, batch, isl, osl) in [(&intake.runs[0], 1.0, 128.0, 32.0), (&intake.runs[1], 4.0, 512.0, 128.0)] {
        assert_eq!((run.setup.batch, run.setup.isl, run.setup.osl), (Some(batch), Some(isl), Some(osl)));
        assert_eq!((run.setup.requests, &run.status), (Some(batch * 6.0), &Status::Done));
        let count = |metric: &str| run.series.iter().find(|series| series.metric == metric).unwrap().values.len();
        assert_eq!((count("e2e_latency_ms"), count("ttft_ms")), (6, 6 * batch as usize));
        assert_eq!(run.value("kv_cache_tokens"), Some(16_000.0));
        assert!(run.value("output_throughput_tok_s").unwrap() > 0.0 && run.value("model_load_s").unwrap() > 0.0);
    }
}

#[test]
fn prompts_follow_the_seed_and_share_no_prefix_unless_asked() {
    let Some(ran) = drive("prompts", SMALL, &[]) else { return };
    let script = "import runpy, json, os, sys\nsys.path.insert(0, sys.argv[1])\nimport driver\n\
                  p = driver.Prompts(42, 0, (1000, 30000))\nq = driver.Prompts(42, 5, (1000, 30000))\n\
                  print(json.dumps([p.batch('T4', 3, 4, 8), p.batch('T4', 4, 4, 8), driver.Prompts(43, 0, (1000, 30000)).batch('T4', 3, 4, 8), q.batch('T4', 3, 2, 8)]))\n";
    let output = Command::new("python3").args(["-B", "-c", script]).arg(ran.run().join("work")).output().unwrap();
    let batches: Vec<Vec<Vec<u32>>> = serde_json::from_slice(&output.stdout).unwrap();
    // Known answer: the same on every version of Python.
    assert_eq!(batches[0][0], KNOWN, "{:?}", batches[0][0]);
    let all: BTreeSet<&Vec<u32>> = batches[..3].iter().flatten().collect();
    assert_eq!(all.len(), 12, "every request has a prompt of its own");
    let starts: BTreeSet<u32> = all.iter().map(|ids| ids[0]).collect();
    assert!(starts.len() > 10, "{starts:?}");
    assert_eq!(batches[3][0][..5], batches[3][1][..5]);
    let script = "import sys, json\nsys.path.insert(0, sys.argv[1])\nimport driver\n\
                  print(json.dumps([driver.tokens_of(size) for size in (None, 32000, 10240, 2048)]))\n";
    let output = Command::new("python3").args(["-B", "-c", script]).arg(ran.run().join("work")).output().unwrap();
    let ranges: Vec<(u32, u32)> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        ranges,
        [(1000, 30_000), (1000, 30_000), (1000, 10_240), (256, 2048)],
        "no id beyond a small vocabulary"
    );
    assert_ne!(batches[3][0][5..], batches[3][1][5..]);
}

const KNOWN: [u32; 8] = [23030, 14489, 17626, 1951, 11702, 7664, 15978, 12629];

#[test]
fn a_sweep_ends_where_memory_ends_and_that_fails_nothing() {
    let suite = "engine = \"vllm\"\niterations = 2\nwarmup = 1\nsweep = { from = 1, to = 64, isl = 8, osl = 4 }\n";
    let Some(ran) = drive("sweep", suite, &[("FAKE_OOM_BATCH", "8")]) else { return };
    assert_eq!(ran.code, Some(0));
    let outcome = ran.examine();
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    let names: Vec<String> = checks(&outcome).into_iter().filter(|check| check.starts_with("batch")).collect();
    assert_eq!(names, ["batch of B1 match", "batch of B2 match", "batch of B4 match"]);
    assert!(
        outcome.marks.iter().any(|mark| mark.contains("B8: out of memory after 0 iterations")),
        "{:?}",
        outcome.marks
    );
    assert_eq!(ran.lines().last().unwrap()["kind"], "end");
    let Some(none) = drive("sweep-none", suite, &[("FAKE_OOM_BATCH", "1")]) else { return };
    assert_eq!(none.examine().faults, ["the sweep measured no batch from 1 on"]);
}

#[test]
fn a_sweep_ends_where_the_engine_would_let_requests_wait() {
    // The stand-in has 1,000 blocks of 16 tokens. A request of 512 and 128 takes 40.
    let suite = "engine = \"vllm\"\niterations = 1\nwarmup = 0\nsweep = { from = 8, to = 128, isl = 512, osl = 128 }\n";
    let Some(ran) = drive("no-room", suite, &[]) else { return };
    assert_eq!(ran.code, Some(0));
    let outcome = ran.examine();
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    let marked = "B32: needs 20480 tokens of KV cache and has 15984. The sweep ends there";
    assert!(outcome.marks.iter().any(|mark| mark.contains(marked)), "{:?}", outcome.marks);
    assert_eq!(checks(&outcome).iter().filter(|check| check.starts_with("batch")).count(), 2, "8 and 16");
    // A test asked for by name is measured and marked.
    let Some(ran) = drive("waiting", &SMALL.replace("\"T4\"", "\"T4\", \"T6\""), &[]) else { return };
    let outcome = ran.examine();
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    assert!(outcome.marks.iter().any(|mark| mark.contains("T6") && mark.contains("waited")), "{:?}", outcome.marks);
    let Some(ran) = drive("places", &format!("{suite}max_batch_size = 8\n"), &[]) else { return };
    assert!(
        ran.examine().marks.iter().any(|mark| mark.contains("runs 8 requests at once")),
        "{:?}",
        ran.examine().marks
    );
}

#[test]
fn a_test_asked_for_by_name_that_runs_out_of_memory_fails_and_the_next_is_still_tried() {
    let suite = SMALL.replace("\"T1\", \"T4\"", "\"T4\", \"T1\"");
    let Some(ran) = drive("oom", &suite, &[("FAKE_OOM_BATCH", "4")]) else { return };
    assert_eq!(ran.code, Some(1));
    let outcome = ran.examine();
    assert_eq!(outcome.faults, ["T4: out of memory"]);
    assert!(checks(&outcome).contains(&"requests of T1 match".into()));
}

#[test]
fn a_crash_midway_keeps_every_line_that_was_written() {
    // Warm-up of two and six measured iterations of T1, then two and one of T4, then the end.
    let Some(ran) = drive("crash", SMALL, &[("FAKE_CRASH_AT", "12")]) else { return };
    assert_eq!(ran.code, Some(137));
    let outcome = ran.examine();
    assert_eq!(outcome.faults, ["T4: 1 of 6 iterations"]);
    assert!(outcome.marks.iter().any(|mark| mark.contains("no line of the end")), "{:?}", outcome.marks);
    assert_eq!(ran.lines().iter().filter(|line| line["kind"] == "iteration").count(), 11);
    assert_eq!(ran.work("requests.jsonl").lines().count(), 6 + 4);
    let Some(early) = drive("crash-early", SMALL, &[("FAKE_CRASH_AT", "1")]) else { return };
    let outcome = early.examine();
    assert_eq!(outcome.faults, ["T1: 0 of 6 iterations", "T4: was not started"]);
}

#[test]
fn what_the_engine_says_is_held_against_what_was_asked_for() {
    let Some(ran) = drive("seen", SMALL, &[("FAKE_MODEL", "org/other"), ("FAKE_SHORT", "1")]) else { return };
    let all = checks(&ran.examine());
    for check in ["model_id mismatch", "osl of T1 mismatch", "osl of T4 mismatch", "isl of T1 match"] {
        assert!(all.contains(&check.to_owned()), "{check} in {all:?}");
    }
}

#[test]
fn an_engine_that_is_missing_or_cannot_be_loaded_is_said_in_the_lines() {
    let Some(ran) = drive("load", SMALL, &[("FAKE_LOAD", "out of memory")]) else { return };
    assert_eq!((ran.code, ran.examine().faults[0].as_str()), (Some(2), "out of memory"));
    let Some(ran) = drive("missing", SMALL, &[("PYTHONPATH", "/nonexistent")]) else { return };
    assert_eq!(ran.code, Some(2));
    assert!(ran.examine().faults[0].starts_with("ModuleNotFoundError"), "{:?}", ran.examine().faults);
    let unknown = format!("{SMALL}engine_options = {{ gpu_speed = 2 }}\n");
    let Some(ran) = drive("option", &unknown, &[]) else { return };
    assert!(ran.examine().faults[0].contains("unexpected keyword argument"), "{:?}", ran.examine().faults);
}

#[test]
fn the_other_engine_is_driven_too_and_says_nothing_of_single_requests() {
    let suite = "engine = \"tensorrt-llm\"\ntests = [\"T1\"]\niterations = 2\nwarmup = 0\nmax_model_len = 4096\nmax_batch_size = 8\n";
    let Some(ran) = drive("trt", suite, &[]) else { return };
    assert_eq!(ran.code, Some(0), "{}", std::fs::read_to_string(ran.run().join("stderr.log")).unwrap());
    let outcome = ran.examine();
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    assert_eq!(
        (outcome.seen.engine.as_deref(), outcome.seen.quantisation.as_deref()),
        (Some("TensorRT-LLM"), Some("FP8"))
    );
    assert_eq!(outcome.reports.len(), 1);
    assert_eq!(outcome.seen.requests, Some(2.0));
}

#[test]
fn memory_is_read_at_five_moments_and_packages_are_listed() {
    let Some(ran) = drive("memory", SMALL, &[]) else { return };
    let lines = ran.lines();
    let moments: Vec<&str> =
        lines.iter().filter(|line| line["kind"] == "memory").filter_map(|line| line["moment"].as_str()).collect();
    assert_eq!(moments, ["T0", "T1", "T2", "T3", "T4"]);
    let steady = lines.iter().find(|line| line["moment"] == "T3").unwrap();
    assert!(steady["MemAvailable_kib"].as_u64().unwrap() > 0);
    assert_eq!(steady["cuda_free_bytes"], 1_u64 << 30);
    assert!(ran.run().join("work/pip-freeze.txt").is_file());
}

#[test]
fn faults_of_the_settings_are_named() {
    for (text, words) in [
        ("tests = [\"T1\"]", "engine: is missing"),
        ("engine = \"sglang\"", "engine: is \"sglang\""),
        ("engine = \"vllm\"\ntests = [\"T9\"]", "tests: names \"T9\""),
        ("engine = \"vllm\"\ntests = [\"T1\", \"T1\"]", "names \"T1\" twice"),
        ("engine = \"vllm\"\nshapes = [{ name = \"x\", batch = 1, isl = 1 }]", "osl: is missing"),
        ("engine = \"vllm\"\nsweep = { from = 8, to = 4 }", "to: is 4, below 8"),
        ("engine = \"vllm\"\niterations = 0", "iterations: is 0"),
        ("engine = \"tensorrt-llm\"\neager = true", "eager: has no setting of its own"),
        ("engine = \"vllm\"\ndatatype = \"bf16\"", "is not a key of this table"),
    ] {
        let found = faults("python", text, Path::new("."));
        assert!(found.contains(words), "{words} in\n{found}");
    }
    assert_eq!(faults("python", "engine = \"vllm\"", Path::new(".")), "");
    let model = Model { label: "n".into(), ..Model::default() };
    assert_eq!(read("python", "engine = \"vllm\"", Path::new(".")).unwrap().lacks(&model), ["id or path"]);
}
