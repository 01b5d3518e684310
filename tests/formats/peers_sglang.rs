//! Real result files of other people, where they lie beside the repository: every figure of a file is taken, as what it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sparkbench::ingest::{Parsed, PartialRun, Record, inspect};
use sparkbench::model::{ExtraValue, Status};

/// The folder of files, where it is there.
fn peers(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("shared/data/peers").join(folder);
    if !path.is_dir() {
        eprintln!("{} is not there; nothing is checked", path.display());
        return None;
    }
    Some(path)
}

/// Files below a folder with this ending, but for what says where they come from.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let Some(path) = peers(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for project in std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        found.extend(std::fs::read_dir(project).unwrap().map(|entry| entry.unwrap().path()));
    }
    found.retain(|path| path.to_str().unwrap().ends_with(ending));
    found.sort();
    found
}

fn read(path: &Path, format: &str) -> Parsed {
    let look = inspect(path).unwrap();
    assert_eq!(look.format, Some(format), "{}", path.display());
    let parsed = look.outcome.unwrap();
    assert!(parsed.left_out.is_empty(), "{}: {:?}", path.display(), parsed.left_out);
    parsed
}

fn partials(parsed: &Parsed) -> Vec<&PartialRun> {
    parsed
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Run(partial) => Some(&**partial),
            _ => None,
        })
        .collect()
}

fn value(partial: &PartialRun, metric: &str) -> Option<f64> {
    partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

fn extra(partial: &PartialRun, name: &str) -> Option<f64> {
    partial.extras.iter().find(|extra| extra.name == name).and_then(|extra| match extra.value {
        ExtraValue::Number(value) => Some(value),
        ExtraValue::Text(_) => None,
    })
}

/// Every number of a document with its JSON pointer.
fn numbers(value: &Value, pointer: &str, found: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => found.push((pointer.to_owned(), number.as_f64().unwrap())),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(place, item)| numbers(item, &format!("{pointer}/{place}"), found));
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                numbers(item, &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        _ => {}
    }
}

/// Asserts that every number of each document in the file became a reading, an extra, part of a series or list, or a setting.
fn nothing_is_lost(path: &Path, parsed: &Parsed, lines: bool, passed_over: &dyn Fn(&str) -> bool) {
    let partials = partials(parsed);
    let mut places: BTreeSet<(u64, &str)> = BTreeSet::new();
    let mut lists: Vec<&str> = Vec::new();
    let mut settings: BTreeSet<String> = BTreeSet::new();
    for partial in &partials {
        let origins = partial.readings.iter().map(|r| &r.origin).chain(partial.extras.iter().map(|e| &e.origin));
        for origin in origins {
            places.insert((if lines { origin.line.unwrap() } else { 0 }, origin.field.as_deref().unwrap()));
        }
        lists.extend(partial.series.iter().filter_map(|series| series.origin.field.as_deref()));
        let setup = &partial.setup;
        for typed in [
            setup.batch,
            setup.isl,
            setup.osl,
            setup.requests,
            setup.request_rate,
            setup.max_model_len,
            setup.memory_utilisation,
            setup.parameters.map(|n| n / 1e9),
        ] {
            settings.extend(typed.map(|value| value.to_string()));
        }
        for text in setup.more.values() {
            settings.extend(text.split_whitespace().filter_map(|word| Some(word.parse::<f64>().ok()?.to_string())));
        }
    }
    let named: Vec<String> = parsed.lists.iter().map(|list| format!("/{}/", list.name)).collect();
    let text = std::fs::read_to_string(path).unwrap().replace(": Infinity", ": null");
    let documents: Vec<&str> = if lines { text.lines().collect() } else { vec![&text] };
    for (number, document) in (1u64..).zip(documents) {
        let mut found = Vec::new();
        numbers(&serde_json::from_str(document).unwrap(), "", &mut found);
        assert!(!found.is_empty());
        for (pointer, value) in found {
            let taken = places.contains(&(if lines { number } else { 0 }, pointer.as_str()))
                || lists.iter().any(|list| pointer.starts_with(&format!("{list}/")))
                || named.iter().any(|name| pointer.contains(name.as_str()))
                || settings.contains(&value.to_string())
                || passed_over(&pointer);
            assert!(taken, "{} line {number}: {pointer} = {value} is lost", path.display());
        }
    }
}

#[test]
fn every_run_of_sglang_is_read_and_no_figure_is_lost() {
    // Launch arguments: those that change a figure are settings, the others are passed over. Every state of a server repeats them.
    let arguments = |pointer: &str| {
        pointer.starts_with("/server_info/") && !pointer.contains("memory_usage") && !pointer.ends_with("last_gen_throughput")
            // The top level of parted servers repeats a decode state.
            || pointer.starts_with("/server_info/internal_states/")
    };
    let mut runs = 0;
    for path in files("sglang_bench_serving", ".jsonl") {
        let parsed = read(&path, "sglang-bench-serving");
        runs += parsed.records.len();
        nothing_is_lost(&path, &parsed, true, &arguments);
    }
    assert!(runs == 0 || runs == 14, "{runs}");
}

#[test]
fn figures_of_sglang_are_those_that_a_person_reads() {
    let Some(folder) = peers("sglang_bench_serving") else { return };
    let parsed =
        read(&folder.join("TonyLi15__sglang-benchmark/benchmarks__results__agg_local.jsonl"), "sglang-bench-serving");
    let [partial] = partials(&parsed)[..] else { panic!() };
    for (metric, expected) in [
        ("request_throughput_req_s", 112.7500110348843),
        ("total_throughput_tok_s", 36913.789862765945),
        ("e2e_latency_ms_p99", 1743.3439849223942),
        ("ttft_ms", 618.0076370667666),
        ("tpot_ms_p50", 13.879961983893827),
        ("itl_ms_p95", 5.666554998606443),
        ("model_memory_gib", 5.97),
        ("kv_cache_gib", 79.02),
        ("kv_cache_tokens", 2_301_748.0),
    ] {
        assert_eq!(value(partial, metric), Some(expected), "{metric}");
    }
    assert_eq!(
        (partial.model.as_deref(), partial.setup.engine_version.as_deref()),
        (Some("Qwen2.5-3B-Instruct"), Some("0.5.5.post3"))
    );
    assert_eq!((partial.setup.batch, partial.setup.request_rate), (Some(200.0), Some(f64::INFINITY)));
    assert_eq!((partial.setup.prefix_cache, partial.setup.memory_utilisation), (Some(true), Some(0.9)));
    assert_eq!(partial.workload.as_deref(), Some("random-512-128-c200"));
    assert_eq!(extra(partial, "internal_states.0.memory_usage.graph"), Some(0.62));

    let parsed = read(
        &folder.join("TonyLi15__sglang-benchmark/benchmarks__results__pd_1p2d_n100_in512_out128_c64.jsonl"),
        "sglang-bench-serving",
    );
    let [partial] = partials(&parsed)[..] else { panic!() };
    assert_eq!((value(partial, "kv_cache_gib"), value(partial, "kv_cache_tokens")), (Some(64.99), Some(1_893_103.0)));
    assert_eq!(extra(partial, "prefill.0.internal_states.0.memory_usage.kvcache"), Some(79.02));
    assert!(partial.extras.iter().all(|extra| !extra.name.starts_with("internal_states")));

    let detailed = files("sglang_bench_serving", "_38769a.jsonl");
    let parsed = read(&detailed[0], "sglang-bench-serving");
    let [partial] = partials(&parsed)[..] else { panic!() };
    let series = |metric: &str| &partial.series.iter().find(|series| series.metric == metric).unwrap().values;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert_eq!((series("ttft_ms").len(), series("e2e_latency_ms").len()), (100, 100));
    // The tool's own means over the same requests.
    assert!((mean(series("ttft_ms")) - 4037.9629086377104).abs() < 1e-6);
    assert!((mean(series("itl_ms")) - 44.462098162305026).abs() < 1e-6);
    // The tool counts end-to-end to the end of the stream, TPOT with it. The gaps end with the last chunk.
    assert!((mean(series("e2e_latency_ms")) / 6709.251890541054 - 1.0).abs() < 0.01);
    assert_eq!(partial.setup.parallel.as_deref(), Some("tp4 pp1 dp2 ep1"));
    assert_eq!(partial.setup.model_id.as_deref(), Some("gpt-oss-120b"), "a folder of the server is nobody's business");
    assert!(!format!("{parsed:?}").contains("/workspace"));

    let parsed = read(
        &folder.join("datacrunch-research__h200-benchmarks/sglang__outputs__llama_3_3_70b_online_output.jsonl"),
        "sglang-bench-serving",
    );
    let runs = partials(&parsed);
    assert_eq!(runs.len(), 7);
    assert_eq!((value(runs[0], "ttft_ms_p50"), value(runs[0], "ttft_ms")), (Some(85.74514742940664), None));
    assert_eq!(value(runs[0], "request_throughput_req_s"), Some(300.0 / 298.3675805060193));
    let derived = runs[0].readings.iter().find(|r| r.metric == "request_throughput_req_s").unwrap();
    assert_eq!(derived.origin.rule, "sglang-bench-serving.derived");
}

#[test]
fn genai_bench_is_read_in_its_unit_and_no_figure_is_lost() {
    let mut runs = 0;
    for path in files("genai_bench", ".json") {
        let name = path.to_str().unwrap();
        if name.contains("metadata") || name.contains("experiment_data") {
            let parsed = read(&path, "genai-bench-metadata");
            nothing_is_lost(&path, &parsed, false, &|_| false);
            let all = format!("{parsed:?}");
            assert!(
                !all.contains("api_key") && !all.contains("/home/") && !all.contains("/Users/") && !all.contains("://")
            );
            continue;
        }
        let parsed = read(&path, "genai-bench");
        runs += parsed.records.len();
        nothing_is_lost(&path, &parsed, false, &|_| false);
        let [partial] = partials(&parsed)[..] else { panic!() };
        assert_eq!(
            (partial.setup.isl, partial.setup.batch, &partial.status),
            (Some(100.0), Some(1.0), &Some(Status::Done))
        );
        if name.contains("main_branch") {
            assert_eq!(value(partial, "output_throughput_tok_s"), Some(94.40343401932063));
            assert_eq!(value(partial, "ttft_ms_p99"), Some(0.3468936604980627 * 1000.0));
            assert_eq!(partial.series[0].values[0], 0.3500749579980038 * 1000.0);
        }
        if name.contains("mock") {
            assert_eq!(value(partial, "request_throughput_req_s"), Some(31.9995250891596 / 60.0));
        }
    }
    assert!(runs == 0 || runs == 3, "{runs}");
}

#[test]
fn inference_perf_is_read_in_seconds_and_no_figure_is_lost() {
    for path in files("inference_perf", ".json") {
        let parsed = read(&path, "inference-perf");
        nothing_is_lost(&path, &parsed, false, &|_| false);
        let [partial] = partials(&parsed)[..] else { panic!() };
        if path.to_str().unwrap().contains("stage_0") {
            assert_eq!(value(partial, "ttft_ms"), Some(0.03331898592878133 * 1000.0));
            assert_eq!(value(partial, "tpot_ms_p50"), Some(0.0034682437246881946 * 1000.0));
            assert_eq!(value(partial, "itl_ms_max"), Some(0.008944935980252922 * 1000.0));
            assert_eq!(value(partial, "output_throughput_tok_s"), Some(62.15363932698074));
            assert_eq!((partial.setup.request_rate, partial.setup.requests), (Some(1.0), Some(60.0)));
        }
    }
}

#[test]
fn inferencex_is_read_in_seconds_and_no_figure_is_lost() {
    for path in files("inferencemax_serving", ".json") {
        let parsed = read(&path, "inferencex");
        nothing_is_lost(&path, &parsed, false, &|_| false);
        let [partial] = partials(&parsed)[..] else { panic!() };
        assert_eq!(value(partial, "ttft_ms_p50"), Some(0.42862243112176657 * 1000.0));
        assert_eq!(value(partial, "total_throughput_tok_s"), Some(5186.142072360132 + 648.2677590450165));
        assert_eq!(
            (partial.setup.isl, partial.setup.osl, partial.setup.batch),
            (Some(1024.0), Some(128.0), Some(32.0))
        );
        assert_eq!(partial.model.as_deref(), Some("GLM-5-FP8"));
    }
}

#[test]
fn bench_full_has_a_run_a_cell_and_no_figure_is_lost() {
    for path in files("bench_full", ".json") {
        let parsed = read(&path, "bench-full");
        // The matrix stands again in each result.
        nothing_is_lost(&path, &parsed, false, &|pointer| pointer.starts_with("/test_matrix/"));
        let runs = partials(&parsed);
        assert_eq!(runs.len(), 14);
        assert_eq!((value(runs[0], "ttft_ms"), value(runs[0], "ttft_ms_max")), (Some(11482.6), Some(18942.0)));
        assert_eq!(
            (value(runs[0], "decode_tok_s"), value(runs[0], "output_throughput_tok_s")),
            (Some(41.9), Some(15.6))
        );
        assert_eq!((runs[0].workload.as_deref(), runs[0].setup.isl), (Some("32768-256"), Some(29155.0)));
        assert_eq!(runs[0].setup.more["cuda_graph_info.cudagraph_mode_requested"], "FULL_AND_PIECEWISE");
        assert_eq!(extra(runs[0], "cuda_graph_info.num_graphs"), Some(35.0));
    }
}

#[test]
fn dgx_spark_bench_has_a_run_a_point_and_zeros_of_failed_requests_are_nothing() {
    for path in files("dgx_spark_bench_json", ".json") {
        let parsed = read(&path, "dgx-spark-bench");
        let runs = partials(&parsed);
        if path.to_str().unwrap().contains("dual") {
            nothing_is_lost(&path, &parsed, false, &|_| false);
            assert_eq!(runs.len(), 5);
            assert_eq!(
                (value(runs[4], "output_throughput_tok_s"), value(runs[4], "ttft_ms_p95")),
                (Some(177.8), Some(1404.0))
            );
            assert_eq!((value(runs[2], "itl_ms_p99"), runs[2].setup.batch), (Some(475.5), Some(4.0)));
        } else {
            nothing_is_lost(&path, &parsed, false, &|pointer| pointer.starts_with("/series/0/points/"));
            assert_eq!(runs.len(), 3);
            assert!(runs.iter().all(|run| run.readings.is_empty()));
            assert_eq!(runs[0].status, Some(Status::Failed("all 264084 requests failed".to_owned())));
            assert_eq!(runs[0].setup.parameters, Some(162e9));
        }
    }
}
