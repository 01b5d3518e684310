//! Consoles, reports and server logs of other people's runs, where they are at hand: every one is recognised, and says what a person reads in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sparkbench::archive;
use sparkbench::ingest::{self, Options, Parsed, PartialRun, Record};
use sparkbench::model::{ExtraValue, Status};

use crate::support::folder::Folder;

fn peers() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("shared/data/peers");
    if !folder.is_dir() {
        eprintln!("{} is not here; nothing is checked", folder.display());
        return None;
    }
    Some(folder)
}

fn read(path: &Path) -> (Option<&'static str>, Parsed) {
    let look = ingest::inspect(path).unwrap();
    (look.format, look.outcome.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn partials(parsed: &Parsed) -> Vec<&PartialRun> {
    let partials = parsed.records.iter().map(|record| match record {
        Record::Run(partial) => &**partial,
        other => panic!("{other:?}"),
    });
    partials.collect()
}

/// A metric, or an extra figure.
fn value(partial: &PartialRun, name: &str) -> Option<f64> {
    let reading = partial.readings.iter().find(|reading| reading.metric == name).map(|reading| reading.value);
    reading.or_else(|| {
        partial.extras.iter().find(|extra| extra.name == name).and_then(|extra| match extra.value {
            ExtraValue::Number(value) => Some(value),
            ExtraValue::Text(_) => None,
        })
    })
}

fn check(path: &Path, kind: &str, expected: &[(&str, f64)]) -> PartialRun {
    let (_, parsed) = read(path);
    assert_eq!(parsed.kinds, [kind], "{}", path.display());
    assert!(parsed.left_out.is_empty(), "{:?}", parsed.left_out);
    let [partial] = partials(&parsed)[..] else { panic!("{} runs", parsed.records.len()) };
    for (name, figure) in expected {
        assert_eq!(value(partial, name), Some(*figure), "{name} of {}", path.display());
    }
    partial.clone()
}

#[test]
fn consoles_of_trtllm_bench_say_what_stands_in_them() {
    let Some(peers) = peers() else { return };
    let folder = peers.join("trtllm_bench");
    let wayne = folder.join("waynehacking8__trtllm-triton-serving");
    let partial = check(
        &wayne.join("results__waterfall__W0a_kv090.txt"),
        "trtllm-bench-console",
        &[
            ("request_throughput_req_s", 217.0701),
            ("output_throughput_tok_s", 27784.9728),
            ("total_throughput_tok_s", 55569.9457),
            ("e2e_latency_ms", 68236.6379),
            ("e2e_latency_ms_p99", 123591.7262),
            ("e2e_latency_ms_max", 123606.7019),
            ("e2e_latency_ms min", 13933.3335),
            ("total_latency_ms", 138204.202),
            ("output_throughput_per_user", 2.8022),
            ("kv_cache_gib", 61.18),
            ("kv_cache_tokens", 1_002_304.0),
            ("kv_cache_gib before the last", 0.56),
            ("model_memory_gib", 8.55),
            ("model_load_s", 4.1),
            ("peak_memory_gib", 11.77),
            ("average_concurrent_requests", 14812.1338),
            ("dataset sequence length p99", 256.0),
        ],
    );
    assert_eq!((partial.status, partial.setup.kv_dtype.as_deref()), (Some(Status::Done), Some("FP8")));
    assert_eq!((partial.workload.as_deref(), partial.setup.parallel.as_deref()), (Some("128-128"), Some("tp1 pp1")));
    for (name, output, requests, wall) in
        [("1024_1024_3000", 10893.8728, 10.6385, 281993.3779), ("128_128_30000", 14389.7989, 112.4203, 266855.71)]
    {
        let path = folder.join(format!("shaamil101-etched__trtllm-benchmarks/results__result_{name}.txt"));
        let expected =
            [("output_throughput_tok_s", output), ("request_throughput_req_s", requests), ("total_latency_ms", wall)];
        let partial = check(&path, "trtllm-bench-console", &expected);
        assert_eq!(
            (value(&partial, "kv_cache_gib"), value(&partial, "kv_cache_tokens")),
            (Some(52.08), Some(2_730_752.0))
        );
        assert_eq!(partial.extras.iter().filter(|extra| extra.name.starts_with("kv_cache_gib of process")).count(), 8);
        assert_eq!(value(&partial, "model_memory_gib"), Some(8727.0 / 1024.0));
        assert_eq!(value(&partial, "total_throughput_tok_s"), None, "this version does not print it");
    }
}

/// Numbers of a report that are settings, by path.
const SETTINGS: &[&str] = &[
    "/world_info/tp_size",
    "/world_info/pp_size",
    "/world_info/max_batch_size",
    "/world_info/kv_cache_percentage",
    "/request_info/num_requests",
    "/request_info/avg_input_length",
    "/request_info/avg_output_length",
];

fn numbers(value: &serde_json::Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Number(_) => {
            found.insert(path.to_owned());
        }
        serde_json::Value::Array(items) => {
            items.iter().enumerate().for_each(|(place, item)| numbers(item, &format!("{path}/{place}"), found));
        }
        serde_json::Value::Object(entries) => {
            entries.iter().for_each(|(key, item)| numbers(item, &format!("{path}/{key}"), found));
        }
        _ => {}
    }
}

#[test]
fn every_number_of_a_report_is_taken_from_where_it_stands() {
    let Some(peers) = peers() else { return };
    let wayne = peers.join("trtllm_bench/waynehacking8__trtllm-triton-serving");
    for name in ["W0a_kv090", "W0b_cg2048", "W1_osl256"] {
        let path = wayne.join(format!("results__waterfall__{name}.report.json"));
        let (format, parsed) = read(&path);
        assert_eq!(format, Some("trtllm-bench-report"));
        let partial = partials(&parsed)[0];
        let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let (mut all, mut taken) = (BTreeSet::new(), BTreeSet::new());
        numbers(&json, "", &mut all);
        for reading in &partial.readings {
            let at = reading.origin.field.clone().unwrap();
            assert_eq!(json.pointer(&at).and_then(serde_json::Value::as_f64), Some(reading.value), "{at}");
            taken.insert(at);
        }
        for extra in &partial.extras {
            let at = extra.origin.field.clone().unwrap();
            assert_eq!(extra.value, ExtraValue::Number(json.pointer(&at).unwrap().as_f64().unwrap()), "{at}");
            taken.insert(at);
        }
        let missing: Vec<&String> = all.difference(&taken).filter(|at| !SETTINGS.contains(&at.as_str())).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
        let per_cent = json["world_info"]["kv_cache_percentage"].as_f64().unwrap();
        assert_eq!(partial.setup.memory_utilisation, Some(per_cent / 100.0));
        assert_eq!(partial.setup.requests, json["request_info"]["num_requests"].as_f64());
        // The console of the same run is known as its copy.
        let (_, console) = read(&wayne.join(format!("results__waterfall__{name}.txt")));
        assert_eq!(partials(&console)[0].fingerprint, partial.fingerprint, "{name}");
    }
}

#[test]
fn server_logs_of_vllm_say_what_stands_in_them() {
    let Some(peers) = peers() else { return };
    let logs = peers.join("server_logs");
    let django = logs.join("djangodevreng__dgx-spark-benchmarks");
    let super_120b = check(
        &django.join("nemotron-3-super-120b-a12b__nvfp4___bootlog.txt"),
        "vllm-server-log",
        &[
            ("model_memory_gib", 75.03),
            ("model_load_s", 7505.432981),
            ("kv_cache_gib", 36.25),
            ("kv_cache_tokens", 1_399_712.0),
            ("maximum_concurrency", 27.81),
            ("maximum_concurrency_at", 131_072.0),
            ("cuda_graph_memory", 0.44),
            ("loading_weights_s", 529.8),
            ("loading_weights_s 2", 76.6),
            ("torch_compile_s", 18.0),
            ("torch_compile_s 2", 3.79),
            ("init_engine_s", 73.48),
        ],
    );
    assert_eq!(super_120b.setup.speculative.as_deref(), Some("mtp 3"));
    assert_eq!((super_120b.setup.max_model_len, super_120b.setup.memory_utilisation), (Some(131_072.0), Some(0.95)));
    assert_eq!(super_120b.model.as_deref(), Some("NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"));
    let nano = check(
        &django.join("nemotron-3-nano-4b__bf16___bootlog.txt"),
        "vllm-server-log",
        &[
            ("kv_cache_gib", 103.39),
            ("kv_cache_tokens", 1_934_432.0),
            ("model_memory_gib", 7.43),
            ("windows", 554.0),
            ("windows_with_output", 550.0),
        ],
    );
    assert_eq!(nano.setup.kv_dtype.as_deref(), Some("fp8_e4m3"));
    let crash = check(&django.join("nemotron-3-super-120b-a12b__nvfp4___server-crash.log"), "vllm-server-log", &[]);
    assert!(crash.readings.is_empty(), "{:?}", crash.readings);
    let Some(Status::Failed(why)) = &crash.status else { panic!("{:?}", crash.status) };
    assert!(why.contains("ValueError: Failed to find a kernel"), "{why}");
    assert_eq!((crash.setup.engine_version.as_deref(), crash.setup.max_model_len), (Some("0.26.0"), Some(131_072.0)));
    let jethac = logs.join("jethac__dgx-spark-hijinks");
    check(
        &jethac.join("results__vllm_gemma4_26b_a4b_bf16_20260607T131917Z_server.log"),
        "vllm-server-log",
        &[
            ("model_memory_gib", 48.5),
            ("kv_cache_gib", 40.61),
            ("kv_cache_tokens", 177_440.0),
            ("estimated_cuda_graph_memory", 1.69),
        ],
    );
    let aeon = check(
        &jethac.join("results__aeon_gemma26_dflash_20260608T0436JST_server.log"),
        "vllm-server-log",
        &[
            ("model_memory_gib", 17.17),
            ("kv_cache_tokens", 519_920.0),
            ("cuda_graph_memory", 1.64),
            ("loading_weights_s 2", 5.92),
        ],
    );
    let text =
        std::fs::read_to_string(jethac.join("results__aeon_gemma26_dflash_20260608T0436JST_server.log")).unwrap();
    let sum = |word: &str| -> f64 {
        let figures = text.lines().filter(|line| line.contains("SpecDecoding metrics:")).map(|line| {
            let rest = line.split_once(word).unwrap().1;
            rest.trim_start().split(' ').next().unwrap().parse::<f64>().unwrap()
        });
        figures.sum()
    };
    assert_eq!(value(&aeon, "spec_decode_accepted"), Some(sum(" Accepted:")));
    assert_eq!(value(&aeon, "spec_decode_drafted"), Some(sum(" Drafted:")));
}

#[test]
fn server_logs_of_the_other_engines_say_what_stands_in_them() {
    let Some(peers) = peers() else { return };
    let logs = peers.join("server_logs");
    let jethac = logs.join("jethac__dgx-spark-hijinks");
    for (name, tokens, gib, memory, load) in [
        ("results__sglang_20260607T115213Z_server.log", 6827.0, 0.18, 3.01, 33.49),
        ("results__sglang_qwen25_1_5b_fp8kv_20260608T0332JST_server.log", 3_113_713.0, 41.58, 3.27, 20.11),
        ("results__sglang_qwen_fp4kv_autosafe_server_20260608.log", 5_537_976.0, 41.6, 3.27, 23.39),
    ] {
        let expected = [("kv_cache_tokens", tokens), ("model_memory_gib", memory), ("model_load_s", load)];
        let partial = check(&jethac.join(name), "sglang-server-log", &expected);
        assert!((value(&partial, "kv_cache_gib").unwrap() - gib).abs() < 1e-9, "keys and values together");
        assert_eq!(
            (partial.setup.max_model_len, partial.model.as_deref()),
            (Some(32768.0), Some("Qwen2.5-1.5B-Instruct"))
        );
        assert_eq!(partial.setup.engine_version.as_deref(), Some("0.5.11+05fb6a52"));
    }
    let partial = check(
        &logs.join("SRO-SA__trtllm-qwen-benchmark/server.log"),
        "trtllm-server-log",
        &[
            ("kv_cache_gib", 39.26),
            ("kv_cache_gib before the last", 1.38),
            ("kv_blocks", 58473.0),
            ("tokens_per_block", 32.0),
            ("kv_cache_tokens", 58473.0 * 32.0),
            ("model_memory_gib", 2.23),
            ("peak_memory_gib", 5.13),
        ],
    );
    assert_eq!(partial.setup.device_memory_gib, Some(47.37));
    let Some(Status::Failed(why)) = &partial.status else { panic!("{:?}", partial.status) };
    assert!(why.starts_with("segmentation fault"), "{why}");
}

#[test]
fn the_log_of_our_own_earlier_study_is_no_server_log() {
    let Some(peers) = peers() else { return };
    let path = peers.parent().unwrap().join("h200-ab/native_llama1b_iter1_20261120_234334.log");
    if path.is_file() {
        assert!(read(&path).1.kinds.is_empty(), "it says 'Model loading took' and is the log of a benchmark");
    }
}

#[test]
fn a_report_and_its_console_are_one_run_and_a_server_log_speaks_of_its_folder() {
    let Some(peers) = peers() else { return };
    let intake = |path: PathBuf| ingest::all(&archive::discover(&[path]).unwrap(), &Options::default()).unwrap();
    let bench = intake(peers.join("trtllm_bench/waynehacking8__trtllm-triton-serving"));
    let runs: Vec<_> = bench.runs.iter().filter(|run| run.setup.tool.as_deref() == Some("trtllm-bench")).collect();
    assert_eq!(runs.len(), 3);
    for run in runs {
        // The report has more digits, the console the memory.
        let throughput = run.reading("output_throughput_tok_s").unwrap();
        assert_eq!(throughput.origin.rule, "trtllm-bench.report");
        assert!(run.value("kv_cache_gib").is_some() && run.files.len() == 1, "{:?}", run.files);
    }
    let folder = Folder::new("peers-logs-beside");
    let log = peers
        .join("server_logs/jethac__dgx-spark-hijinks/results__vllm_gemma4_26b_a4b_bf16_20260607T131917Z_server.log");
    std::fs::copy(log, folder.path().join("server.log")).unwrap();
    for place in 1..=2 {
        let report =
            peers.join("trtllm_bench/waynehacking8__trtllm-triton-serving/results__waterfall__W0a_kv090.report.json");
        let text = std::fs::read_to_string(report).unwrap().replace("138204.201992", &format!("13820{place}.5"));
        // Of the model that the server served: of another one the log would say nothing (issue 15).
        let text = text.replace("Llama-3.1-8B-Instruct-FP8", "gemma-4-26B-A4B-it");
        folder.put(&format!("runs/r{place}.json"), text);
    }
    let beside = intake(folder.path().to_owned());
    assert_eq!(beside.runs.len(), 2);
    for run in &beside.runs {
        assert_eq!((run.value("kv_cache_tokens"), run.setup.max_model_len), (Some(177_440.0), Some(8192.0)));
        assert_eq!(run.setup.engine.as_deref(), Some("TensorRT-LLM"), "what a result says of itself stays");
    }
}

/// Issue 15: a run got the memory, the engine and the load time of a server that served another model, or none at all.
#[test]
fn the_log_of_a_server_is_joined_to_no_run_of_another_model_and_to_none_where_it_never_served() {
    let Some(peers) = peers() else { return };
    let result = peers.join("vllm_bench_serve/PalatineVision__dgx-spark-benchmark/qwen-0_6B__results__Qwen_Qwen3-0.6B-FP8_conc1_in32000_out1024_low_context_chat_20260210_005805.json");
    let logs = peers.join("server_logs");
    for (log, why, failed) in [
        (
            "jethac__dgx-spark-hijinks/results__vllm_gemma4_26b_a4b_bf16_20260607T131917Z_server.log",
            "joined to no run: its server served gemma-4-26b-a4b-it, the run is of qwen3-0.6b-fp8",
            false,
        ),
        (
            "djangodevreng__dgx-spark-benchmarks/nemotron-3-super-120b-a12b__nvfp4___server-crash.log",
            "joined to no run: its server never came up",
            true,
        ),
    ] {
        let folder = Folder::new("peers-logs-other-model");
        std::fs::copy(&result, folder.path().join("result.json")).unwrap();
        std::fs::copy(logs.join(log), folder.path().join("server.log")).unwrap();
        let found = archive::discover(&[folder.path().to_owned()]).unwrap();
        let intake = ingest::all(&found, &Options::default()).unwrap();
        let of = |name: &str| intake.runs.iter().find(|run| run.source.path == name).unwrap();
        let run = of("result.json");
        assert!(run.value("model_memory_gib").is_none() && run.value("kv_cache_gib").is_none(), "{log}");
        assert!(run.value("model_load_s").is_none() && run.setup.engine.is_none(), "{log}");
        let reason = intake.inputs.iter().find(|input| input.path == "server.log").unwrap().reason.clone();
        assert!(reason.as_ref().is_some_and(|reason| reason.contains(why)), "{log}: {reason:?}");
        assert_eq!(matches!(of("server.log").status, Status::Failed(_)), failed, "{log}");
    }
}
