//! Tests of the workload: settings, command line, and the reading of its file.

use super::*;
use crate::workload::placement::Placement;
use serde_json::json;
use sparkbench_plan::{Faults, Model, Settings};
use toml::de::DeTable;

fn read(text: &str) -> (Option<Box<dyn Workload>>, Vec<String>) {
    let table = DeTable::parse(text).unwrap();
    let settings = Settings::from_toml("workloads.probe", 1, table.get_ref(), text);
    let mut faults = Faults::default();
    let mut reader = settings.reader(&mut faults);
    let workload = GpuProbe.read(&mut reader, Path::new("."));
    reader.finish();
    (workload, faults.sorted().into_iter().map(|fault| format!("{}: {}", fault.key, fault.what)).collect())
}

fn cell<'a>(model: &'a Model, own_program: Option<&'a Path>) -> Cell<'a> {
    Cell { model, probed: None, prepared: &[], repeat: 1, seed: 1, own_program, placement: Placement::ALONE }
}

fn argv(text: &str) -> String {
    let (workload, faults) = read(text);
    assert_eq!(faults, Vec::<String>::new());
    let model = Model::default();
    let cell = cell(&model, Some(Path::new("/w/sparkbench")));
    workload.unwrap().measure(&cell, Path::new("/w")).unwrap().argv.join(" ")
}

#[test]
fn settings_become_the_options_of_the_verb() {
    assert_eq!(
        argv(""),
        "/w/sparkbench gpu-probe --device 0 --json /w/result.json --precisions fp32,fp16,bf16 --iterations 10 --headline bf16"
    );
    assert_eq!(
        argv("precisions = [\"fp32\"]\nsizes = [10000]\niterations = 3\ndevice = 1"),
        "/w/sparkbench gpu-probe --device 1 --json /w/result.json --precisions fp32 --sizes 10000 --iterations 3 --headline fp32"
    );
    assert_eq!(argv("quick = true"), "/w/sparkbench gpu-probe --device 0 --json /w/result.json --quick");
}

#[test]
fn every_fault_of_the_settings_is_named() {
    for (text, words) in [
        ("precisions = [\"fp8\"]", "precisions"),
        ("precisions = []", "precisions"),
        ("sizes = [0]", "sizes"),
        ("sizes = [1.5]", "sizes"),
        ("iterations = 0", "iterations"),
        ("headline = \"tf32\"", "headline"),
        ("quick = true\nsizes = [64]", "sizes"),
        ("speed = 1", "speed"),
    ] {
        let (_, faults) = read(text);
        assert!(faults.len() == 1 && faults[0].contains(words), "{text}: {faults:?}");
    }
}

#[test]
fn without_our_own_program_there_is_nothing_to_run() {
    let (workload, _) = read("");
    let model = Model::default();
    assert!(workload.unwrap().measure(&cell(&model, None), Path::new("/w")).is_err());
}

fn examined(file: Option<&str>) -> Outcome {
    let folder = sparkbench_testing::Folder::new("probe-kind");
    std::fs::create_dir_all(folder.join("work")).unwrap();
    if let Some(file) = file {
        std::fs::write(folder.join("work/result.json"), file).unwrap();
    }
    let (workload, _) = read("precisions = [\"bf16\"]\nsizes = [64]\niterations = 2");
    let model = Model::default();
    workload.unwrap().examine(&cell(&model, None), &folder)
}

fn file(gemm: Value, state: &str, times: usize) -> String {
    let part = |name: &str| json!({"name": name, "state": state, "reason": "broken", "device_ms_per_launch": vec![1.0; times]});
    json!({
        "schema": "sparkbench.result/1",
        "metrics": {"gemm_tflops": gemm, "memory_bandwidth_gb_s": 230.5},
        "iterations": [{"name": "gemm bf16 64", "metric": "gemm_tflops", "unit": "TFLOP/s", "values": [1.0, 1.1]}],
        "seen": {"machine": "NVIDIA GB10", "engine": "cuBLAS"},
        "notes": ["one thing", "failed: gemm: broken"],
        "probe": {"parts": [part("gemm bf16 64"), part("copy"), part("read sgemv"), part("read sasum")]},
    })
    .to_string()
}

#[test]
fn a_whole_file_passes_with_its_figures_and_its_checks() {
    let outcome = examined(Some(&file(json!(1.05), "measured", 2)));
    assert_eq!(outcome.faults, Vec::<String>::new());
    assert_eq!(outcome.seen.machine.as_deref(), Some("NVIDIA GB10"));
    assert_eq!(outcome.marks, ["one thing"]);
    assert!(outcome.checks.len() == 2 && outcome.checks.iter().all(|check| check.result == "match"));
    assert_eq!(
        (outcome.reports[0].path.as_str(), outcome.reports[0].parser.as_str()),
        ("work/result.json", "result-json")
    );
}

#[test]
fn what_is_missing_broken_or_short_fails_the_run() {
    let faults = |text: Option<&str>| examined(text).faults.join("; ");
    assert!(faults(None).contains("cannot be read"));
    assert!(!faults(Some("{")).is_empty() && !faults(Some("")).is_empty() && !faults(Some("[]")).is_empty());
    assert!(faults(Some(&file(Value::Null, "measured", 2))).contains("no gemm_tflops"));
    assert!(faults(Some(&file(json!(1.0), "failed", 2))).contains("broken"));
    let short = examined(Some(&file(json!(1.0), "measured", 1)));
    assert_eq!(short.checks[1].result, "mismatch");
    let none = examined(Some(
        "{\"schema\": \"sparkbench.result/1\", \"metrics\": {\"gemm_tflops\": 1, \"memory_bandwidth_gb_s\": 1}}",
    ));
    assert_eq!((none.checks[0].result.as_str(), none.checks[1].result.as_str()), ("mismatch", "unknown"));
}
