//! Real files of vLLM's benchmarks, made by other people's runs, read as a person reads them. They lie beside the repository. Where they
//! do not, there is nothing to check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sparkbench::archive;
use sparkbench::ingest::{self, Intake, Options, PartialRun, Record};
use sparkbench::model::{ExtraValue, Run, Status};

/// Keys whose numbers are not taken, and why.
const IGNORED: &[(&str, &str)] = &[
    ("rtfx", "0.0 for everything but audio"),
    // Equal to the median beside it, which is checked.
    ("p50_", "the median under its other name"),
];

fn peers(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.join("shared/data/peers").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("{} is not there; nothing is checked", path.display());
    None
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn partials(path: &Path, format: &str) -> Vec<PartialRun> {
    let look = ingest::inspect(path).unwrap();
    let parsed = look.outcome.unwrap();
    let kinds = if parsed.kinds.is_empty() { vec![look.format.unwrap()] } else { parsed.kinds.clone() };
    assert!(kinds.contains(&format), "{}: {kinds:?}", path.display());
    assert!(parsed.left_out.is_empty() && parsed.not_understood.is_empty(), "{}: {parsed:?}", path.display());
    let partials = parsed.records.into_iter().filter_map(|record| match record {
        Record::Run(partial) => Some(*partial),
        _ => None,
    });
    partials.collect()
}

/// Every figure that was taken, whatever it was taken for.
fn taken(partial: &PartialRun) -> Vec<f64> {
    let setup = &partial.setup;
    let mut all: Vec<f64> = partial.readings.iter().map(|reading| reading.value).collect();
    all.extend(partial.series.iter().flat_map(|series| series.values.iter().copied()));
    all.extend(partial.extras.iter().filter_map(|extra| match extra.value {
        ExtraValue::Number(value) => Some(value),
        ExtraValue::Text(_) => None,
    }));
    all.extend(
        [
            setup.batch,
            setup.isl,
            setup.osl,
            setup.requests,
            setup.request_rate,
            setup.max_model_len,
            setup.memory_utilisation,
        ]
        .into_iter()
        .flatten(),
    );
    all.extend(setup.more.values().filter_map(|value| value.parse::<f64>().ok()));
    all
}

fn leaves(key: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => found.push((key.to_owned(), number.as_f64().unwrap())),
        Value::Array(items) => items.iter().for_each(|item| leaves(key, item, found)),
        Value::Object(map) => map.iter().for_each(|(name, item)| leaves(name, item, found)),
        _ => {}
    }
}

fn every_number_is_there(path: &Path, partial: &PartialRun, scale: f64) {
    let value: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut found = Vec::new();
    leaves("", &value, &mut found);
    let taken = taken(partial);
    for (key, number) in found {
        let near = |value: &f64| *value == number || (value - number * scale).abs() <= 1e-12 * value.abs();
        let ignored = IGNORED.iter().any(|(name, _)| key.starts_with(name));
        assert!(ignored || taken.iter().any(near), "{}: {key} = {number} is lost", path.display());
    }
}

fn read(folder: &Path) -> Intake {
    ingest::all(&archive::discover(&[folder.to_owned()]).unwrap(), &Options::default()).unwrap()
}

fn run<'a>(intake: &'a Intake, end: &str) -> &'a Run {
    intake.runs.iter().find(|run| run.source.path.ends_with(end)).unwrap_or_else(|| panic!("{end}"))
}

#[test]
fn every_result_is_recognised_and_no_number_of_it_is_lost() {
    let Some(folder) = peers("vllm_bench_serve") else { return };
    let mut count = 0;
    for path in files(&folder, ".json") {
        if path.to_string_lossy().ends_with("meta.json") {
            let partials = partials(&path, "sidecar-meta");
            every_number_is_there(&path, &partials[0], 1.0);
            continue;
        }
        let partials = partials(&path, "vllm-bench-serve");
        let [partial] = partials.as_slice() else { panic!("{}", path.display()) };
        assert!(partial.status == Some(Status::Done) && partial.model.is_some() && partial.workload.is_some());
        assert!(partial.fingerprint.is_some() && partial.ended.is_some());
        every_number_is_there(&path, partial, 1.0);
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn every_console_is_the_run_of_the_json_beside_it() {
    let Some(folder) = peers("vllm_bench_serve") else { return };
    let mut beside = 0;
    for ending in [".log", ".txt", ".md"] {
        for path in files(&folder, ending).into_iter().filter(|path| !path.ends_with("PROVENANCE.md")) {
            let partials = partials(&path, "vllm-bench-serve-console");
            let [console] = partials.as_slice() else { panic!("{}", path.display()) };
            let json = path.with_extension("json");
            if !json.is_file() {
                continue;
            }
            beside += 1;
            let result = &self::partials(&json, "vllm-bench-serve")[0];
            assert_eq!(console.fingerprint, result.fingerprint, "{}", path.display());
            assert_eq!(console.workload, result.workload, "{}", path.display());
            assert_eq!(console.readings.len(), result.readings.len(), "{}", path.display());
            for reading in &console.readings {
                let exact = result.readings.iter().find(|other| other.metric == reading.metric).unwrap();
                assert!((exact.value - reading.value).abs() < 0.005_001, "{}: {}", path.display(), reading.metric);
            }
        }
    }
    assert!(beside >= 6, "{beside}");
}

#[test]
fn figures_stand_as_a_person_reads_them() {
    let Some(folder) = peers("vllm_bench_serve") else { return };
    let intake = read(&folder);
    assert_eq!(intake.skipped(), 0, "{:?}", intake.inputs.iter().filter(|input| input.skipped).collect::<Vec<_>>());
    let peak = run(&intake, "nemotron-3-nano-30b-a3b__fp8__10-monday-peak.json");
    for (metric, value) in [
        ("output_throughput_tok_s", 188.16447262309546),
        ("total_throughput_tok_s", 1693.883328178165),
        ("ttft_ms", 1078.3677167743251),
        ("ttft_ms_p50", 985.6203285016818),
        ("itl_ms_p95", 331.75986938876986),
        ("e2e_latency_ms_p99", 123222.34610417596),
    ] {
        assert_eq!(peak.value(metric), Some(value), "{metric}");
    }
    assert_eq!((peak.setup.batch, peak.setup.request_rate, peak.setup.requests), (Some(25.0), Some(1.5), Some(300.0)));
    assert_eq!(peak.setup.more.get("dataset_name").map(String::as_str), Some("random"), "from the console beside it");
    assert_eq!(peak.settings["model"].value, "NVIDIA-Nemotron-3-Nano-30B-A3B-FP8");
    let early = run(&intake, "results__serving_llama8B_tp1_qps_4.json");
    assert_eq!((early.value("tpot_ms_p99"), early.value("output_throughput_tok_s")), (Some(143.40696907602245), None));
    let unfinished = run(&intake, "rayoss251-x2__all-parts__conc16.json");
    assert_eq!(
        (unfinished.setup.requests, unfinished.value("request_throughput_req_s")),
        (Some(320.0), Some(9.303111143890275))
    );
    let input =
        intake.inputs.iter().find(|input| input.path.ends_with("rayoss251-x2__all-parts__conc16.json")).unwrap();
    assert!(input.reason.as_deref().unwrap().contains("82 of 320 requests are not among the completed"), "{input:?}");
    let console = intake.runs.iter().filter(|run| run.source.path.ends_with("bench-medium-rate4.log")).count();
    assert_eq!(console, 0, "it is a copy of result-medium-rate4.json");
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    intake
        .inputs
        .iter()
        .filter_map(|input| input.format.as_deref())
        .for_each(|format| *kinds.entry(format).or_default() += 1);
    eprintln!("{} runs of {kinds:?}", intake.runs.len());
}

#[test]
fn offline_results_keep_their_seconds_and_their_meaning() {
    let Some(folder) = peers("vllm_bench_offline") else { return };
    for path in files(&folder, ".json") {
        let latency = path.to_string_lossy().contains("latency");
        let partials = partials(&path, if latency { "vllm-bench-latency" } else { "vllm-bench-throughput" });
        let value =
            |metric: &str| partials[0].readings.iter().find(|reading| reading.metric == metric).map(|r| r.value);
        every_number_is_there(&path, &partials[0], 1000.0);
        if latency {
            assert_eq!(value("e2e_latency_ms_p99"), Some(7.734547998122871 * 1000.0));
            assert_eq!(partials[0].series[0].values.len(), 15);
        } else {
            assert_eq!(
                (value("total_throughput_tok_s"), value("output_throughput_tok_s")),
                (Some(1190.9743920852), None)
            );
        }
    }
}

#[test]
fn the_table_of_conversations_is_read_cell_by_cell() {
    let Some(folder) = peers("vllm_multi_turn") else { return };
    for path in files(&folder, ".txt") {
        let partials = partials(&path, "vllm-multi-turn-console");
        let [partial] = partials.as_slice() else { panic!("{partials:?}") };
        let text = std::fs::read_to_string(&path).unwrap();
        let taken = taken(partial);
        for word in text.split_whitespace().filter_map(|word| word.parse::<f64>().ok()) {
            assert!(taken.contains(&word), "{word} is lost");
        }
        let value = |metric: &str| partial.readings.iter().find(|reading| reading.metric == metric).map(|r| r.value);
        assert_eq!((value("ttft_ms_p99"), value("e2e_latency_ms_max")), (Some(353.18), Some(3862.94)));
        assert_eq!(value("output_throughput_tok_s"), Some(166.0 * 100.01 / 215.81));
    }
}

#[test]
fn a_console_of_sglang_is_told_from_one_of_vllm() {
    let Some(folder) = peers("sglang_bench_serving") else { return };
    for path in files(&folder, ".txt") {
        let partials = partials(&path, "sglang-bench-serving-console");
        let [partial] = partials.as_slice() else { panic!("{partials:?}") };
        let value = |metric: &str| partial.readings.iter().find(|reading| reading.metric == metric).map(|r| r.value);
        assert_eq!(
            (value("e2e_latency_ms_p90"), value("itl_ms_max"), value("tpot_ms_p99")),
            (Some(8046.13), Some(3322.13), Some(431.83))
        );
        assert_eq!(partial.workload.as_deref(), Some("random-1024-128-c100"));
        assert_eq!((partial.setup.batch, partial.setup.engine.as_deref()), (Some(100.0), Some("SGLang")));
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, block) = text.split_once("= Serving Benchmark Result =").unwrap();
        let taken = taken(partial);
        for word in block.split_whitespace().filter_map(|word| word.parse::<f64>().ok()) {
            assert!(taken.contains(&word), "{word} is lost");
        }
    }
}
