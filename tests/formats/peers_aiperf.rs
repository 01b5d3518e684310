//! Files of other people's runs of GuideLLM, AIPerf, llama-bench and llama-benchy: what a person reads in them is what is read, and no
//! number of them is lost. Skipped where the files do not lie beside this repository.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sparkbench::archive;
use sparkbench::ingest::{self, Intake, Options, Parsed, PartialRun, Record};
use sparkbench::model::ExtraValue;

fn peers(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/peers").join(name);
    if !path.exists() {
        eprintln!("not checked: '{name}' is not beside this repository");
        return None;
    }
    Some(path)
}

fn read(path: &Path) -> (&'static str, Parsed) {
    let look = ingest::inspect(path).unwrap();
    let parsed = look.outcome.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(parsed.left_out.is_empty(), "{}: {:?}", path.display(), parsed.left_out);
    assert!(parsed.not_understood.is_empty(), "{}: {:?}", path.display(), parsed.not_understood);
    let kind = parsed.kinds.first().copied();
    (kind.or(look.format).unwrap(), parsed)
}

fn partials(parsed: &Parsed) -> Vec<&PartialRun> {
    parsed.records.iter().map(|record| if let Record::Run(partial) = record { &**partial } else { panic!() }).collect()
}

fn metric(partial: &PartialRun, name: &str) -> f64 {
    partial.readings.iter().find(|reading| reading.metric == name).unwrap_or_else(|| panic!("{name}")).value
}

fn extra(partial: &PartialRun, name: &str) -> f64 {
    let found = partial.extras.iter().find(|extra| extra.name == name).unwrap_or_else(|| panic!("{name}"));
    if let ExtraValue::Number(value) = found.value { value } else { panic!("{found:?}") }
}

/// Every number of a document with its pointer.
fn numbers(value: &Value, pointer: &str, found: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => found.push((pointer.to_owned(), number.as_f64().unwrap())),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                numbers(item, &format!("{pointer}/{place}"), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                numbers(item, &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        _ => {}
    }
}

/// Numbers of a file that stand nowhere in what was read: neither by their pointer nor, in settings and lists, by their value.
fn lost(path: &Path, ignored: impl Fn(&Value, &str) -> bool) -> Vec<String> {
    let (_, parsed) = read(path);
    let mut pointers = std::collections::BTreeSet::new();
    let mut values: Vec<f64> = Vec::new();
    for partial in partials(&parsed) {
        let origins = partial.readings.iter().map(|reading| &reading.origin);
        pointers
            .extend(origins.chain(partial.extras.iter().map(|extra| &extra.origin)).filter_map(|o| o.field.clone()));
        // A metric may be in another unit than the figure.
        values.extend(partial.series.iter().flat_map(|series| &series.values).flat_map(|v| [*v, v / 1000.0, v * 1e6]));
        values.extend(partial.setup.more.values().filter_map(|word| word.parse::<f64>().ok()));
        let setup = &partial.setup;
        values.extend([setup.batch, setup.isl, setup.osl, setup.requests, setup.parameters].into_iter().flatten());
    }
    values.extend(parsed.lists.iter().flat_map(|list| list.values.iter().copied()));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut found = Vec::new();
    numbers(&document, "", &mut found);
    assert!(found.len() > 20);
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    found
        .into_iter()
        .filter(|(pointer, value)| !pointers.contains(pointer) && !values.iter().any(|known| near(*known, *value)))
        .filter(|(pointer, _)| !ignored(&document, pointer))
        .map(|(pointer, value)| format!("{pointer} = {value}"))
        .collect()
}

/// What of GuideLLM is not read, and why.
fn not_of_guidellm(document: &Value, pointer: &str) -> bool {
    let parts: Vec<&str> = pointer.split('/').collect();
    // Start and end are moments of the run. Stamps inside a request say no latency that is not there as well.
    if matches!(parts.as_slice(), ["", "benchmarks", _, "start_time" | "end_time"])
        || pointer.contains("/scheduler_info/")
        || pointer.contains("/info/")
    {
        return true;
    }
    let Some(place) = parts.iter().position(|part| matches!(*part, "successful" | "errored" | "incomplete" | "total"))
    else {
        return false;
    };
    let category = document.pointer(&parts[..=place].join("/")).unwrap();
    let good = document.pointer(&format!("{}/successful", parts[..place].join("/"))).unwrap();
    let count = |spread: &Value| spread["count"].as_f64().unwrap_or(1.0);
    // Filled with zeros. Or the same once more. Or the sums from which throughput is computed.
    count(category) <= 0.0 || (parts[place] == "total" && category == good)
}

#[test]
fn no_number_of_a_json_is_lost() {
    // The index of a GPU and the code of an error are parts of names of extras.
    for (name, ignored) in [
        (
            "guidellm/llm-d__llm-d-benchmark/tests__fixtures__guidellm_report_v2.json",
            not_of_guidellm as fn(&Value, &str) -> bool,
        ),
        ("guidellm/neuralmagic__guidellm/entrypoints__assets__benchmarks_stripped.json", not_of_guidellm),
        ("aiperf/ai-dynamo__aiperf/artifacts__run1__profile_export_aiperf.json", |_, p| p.ends_with("/code")),
        ("aiperf/ajcasagrande__aiperf/fixtures__qwen_concurrency1__profile_export_aiperf.json", |_, p| {
            p.ends_with("/gpu_index")
        }),
        ("aiperf/ajcasagrande__aiperf/fixtures__qwen_concurrency2__profile_export_aiperf.json", |_, p| {
            p.ends_with("/gpu_index")
        }),
        ("llama_benchy/eugr__llama-benchy/schemas__sample.json", |_, _| false),
    ] {
        let Some(path) = peers(name) else { return };
        assert_eq!(lost(&path, ignored), [] as [&str; 0], "{name}");
    }
    let Some(folder) = peers("llama_bench/ryanilano__localai-16gb-bench-results") else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(lost(&path, |_, _| false), [] as [&str; 0], "{}", path.display());
    }
}

#[test]
fn guidellm_is_read_as_a_person_reads_it() {
    let Some(path) = peers("guidellm/neuralmagic__guidellm/entrypoints__assets__benchmarks_stripped.json") else {
        return;
    };
    let (format, parsed) = read(&path);
    let [run] = partials(&parsed)[..] else { panic!() };
    assert_eq!(
        (format, run.model.as_deref(), run.workload.as_deref()),
        ("guidellm", Some("example_model"), Some("synthetic-256-128-c1"))
    );
    assert_eq!(metric(run, "request_throughput_req_s"), 1.5481806532737452);
    assert_eq!(metric(run, "e2e_latency_ms"), 644.4743664368339);
    assert_eq!(metric(run, "e2e_latency_ms_p50"), 642.4565315246582, "the median, where p50 is missing");
    assert_eq!(metric(run, "ttft_ms"), 16.792535781860348);
    assert_eq!(metric(run, "tpot_ms"), 4.941609043733832, "its inter-token latency");
    assert_eq!(metric(run, "output_throughput_tok_s"), 5888.0 / 29.997201442718506);
    assert_eq!(extra(run, "output_tokens_per_second_mean"), 198.13346751788123);
    assert_eq!(extra(run, "time_per_output_token_ms_mean"), 4.90300272307966);
    assert_eq!((run.setup.batch, run.setup.requests, run.series.len()), (Some(1.0), Some(47.0), 0));
    let Some(path) = peers("guidellm/llm-d__llm-d-benchmark/tests__fixtures__guidellm_report_v2.json") else { return };
    let (_, parsed) = read(&path);
    let [slow, fast] = partials(&parsed)[..] else { panic!() };
    assert_eq!((slow.setup.request_rate, fast.setup.request_rate), (Some(2.0), Some(4.0)));
    assert_eq!((metric(slow, "tpot_ms"), metric(slow, "e2e_latency_ms")), (1.1508464813232422, 19.78909969329834));
    assert_eq!(
        (slow.setup.tool_version.as_deref(), slow.model.as_deref()),
        (Some("0.8.0.dev18"), Some("e2e-mock-model"))
    );
}

fn all(name: &str) -> Option<Intake> {
    let path = peers(name)?;
    Some(ingest::all(&archive::discover(&[path]).unwrap(), &Options::default()).unwrap())
}

#[test]
fn the_files_of_one_aiperf_run_are_one_run() {
    let Some(intake) = all("aiperf/ajcasagrande__aiperf") else { return };
    let [one, two] = intake.runs.as_slice() else { panic!("{:?}", intake.inputs) };
    assert_eq!(
        (one.model.as_str(), one.workload.as_str(), two.workload.as_str()),
        ("Qwen3-0.6B", "100-200-c1", "100-200-c2")
    );
    assert_eq!((one.value("ttft_ms"), one.value("ttft_ms_p99")), (Some(30.814987671875), Some(34.344268879999994)));
    assert_eq!((one.value("tpot_ms"), one.value("itl_ms")), (Some(18.19909533160138), Some(18.197640450062813)));
    assert_eq!(
        (one.value("output_throughput_tok_s"), two.value("request_throughput_req_s")),
        (Some(50.08213863971112), Some(0.5033347244269587))
    );
    assert_eq!((one.value("power_w"), one.value("sm_clock_mhz")), (Some(129.8854497206704), Some(2709.259776536313)));
    // The file of the requests holds 10 of the 64: it is kept with the run, and no figure is taken from it.
    assert!(one.series.is_empty());
    assert_eq!((one.started.unwrap().iso().as_str(), one.files.len()), ("2025-11-07T21:38:54.797Z", 1));
    let Some(intake) = all("aiperf/ai-dynamo__aiperf") else { return };
    let [run] = intake.runs.as_slice() else { panic!("{:?}", intake.inputs) };
    assert!(run.source.path.ends_with(".json"), "the JSON counts: {:?}", run.source);
    assert_eq!((run.value("ttft_ms"), run.value("tpot_ms")), (Some(2343.219436988764), Some(27.763065454471807)));
    assert_eq!((run.setup.requests, run.setup.batch), (Some(100.0), Some(100.0)));
    let twice: Vec<&str> = run.extras.iter().map(|extra| extra.name.as_str()).collect();
    let mut once = twice.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), twice.len(), "the CSV adds nothing: {twice:?}");
}

#[test]
fn llama_bench_is_read_from_json_and_from_its_table() {
    let Some(intake) = all("llama_bench/ryanilano__localai-16gb-bench-results") else { return };
    assert_eq!((intake.runs.len(), intake.skipped()), (8, 0));
    let run = |workload: &str| intake.runs.iter().find(|run| run.workload == workload).unwrap();
    let tg = run("tg128-d4096");
    assert_eq!(
        (tg.value("output_throughput_tok_s"), tg.value("tpot_ms")),
        (Some(29.689496), Some(4_311_295_442.0 / 1e6 / 128.0))
    );
    assert_eq!(tg.series[0].values, [29.7361, 29.6482, 29.6842]);
    assert_eq!(run("pp512").value("ttft_ms"), Some(395.878134));
    assert_eq!(tg.setup.model_id.as_deref(), Some("Youssofal/Qwen3.6-27B-Abliterated-Heretic-Uncensored-GGUF"));
    assert_eq!(
        (tg.setup.kv_dtype.as_deref(), tg.setup.machine.as_deref()),
        (Some("q8_0"), Some("NVIDIA GeForce RTX 4070 Ti SUPER"))
    );
    let Some(intake) = all("llama_bench/jethac__dgx-spark-hijinks") else { return };
    let [pp, tg] = intake.runs.as_slice() else { panic!("{:?}", intake.inputs) };
    assert_eq!(
        (pp.setup.machine.as_deref(), pp.setup.engine_version.as_deref()),
        (Some("NVIDIA GB10"), Some("308f61c31 (9536)"))
    );
    assert_eq!((tg.value("output_throughput_tok_s"), tg.value("model_memory_gib")), (Some(178.1), Some(1.04)));
    assert_eq!(pp.value("prefill_tok_s"), Some(12505.79));
}

#[test]
fn a_console_and_a_report_with_one_table_are_counted_once() {
    let Some(intake) = all("llama_benchy/djangodevreng__dgx-spark-benchmarks") else { return };
    // Three passes of one file, twelve of the next, one of the last. Each stands in a log and in a report.
    assert_eq!((intake.runs.len(), intake.skipped()), (16, 0), "{:?}", intake.inputs);
    let run = intake.runs.iter().find(|run| run.workload == "pp1024-tg1024-c10").unwrap();
    assert_eq!(
        (run.value("output_throughput_tok_s"), run.value("ttft_ms"), run.value("decode_tok_s")),
        (Some(224.49), Some(883.21), Some(24.14))
    );
    assert_eq!(run.value("tpot_ms"), Some(1000.0 / 24.14));
    assert!(run.source.path.ends_with(".log"), "the log says more: {:?}", run.source);
    let Some(path) = peers("llama_benchy/eugr__llama-benchy/schemas__sample.json") else { return };
    let (format, parsed) = read(&path);
    let [one, two] = partials(&parsed)[..] else { panic!() };
    assert_eq!((format, two.workload.as_deref()), ("llama-benchy", Some("pp2048-tg32-c2")));
    assert_eq!(
        (metric(one, "ttft_ms"), metric(two, "output_throughput_tok_s")),
        (2076.0429790243506, 98.70484912562281)
    );
    assert_eq!(metric(two, "tpot_ms"), 1000.0 / 49.922734796997744);
}

/// Issue 15: the requests file beside a summary held another number of requests, and the total throughput was computed from it.
#[test]
fn a_requests_file_that_holds_fewer_requests_than_its_summary_gives_no_figure() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/peers/aiperf/ajcasagrande__aiperf");
    if !folder.is_dir() {
        eprintln!("skipped: {} is not here", folder.display());
        return;
    }
    let intake = ingest::all(&archive::discover(&[folder]).unwrap(), &Options::default()).unwrap();
    assert_eq!(intake.runs.len(), 2);
    for run in &intake.runs {
        assert!(run.series.is_empty() && run.setup.requests == Some(64.0), "{}", run.id);
        // 6,400 + 12,799 tokens in 255.56 s, or nothing: never ten requests over their own time.
        if let Some(total) = run.value("total_throughput_tok_s") {
            assert!((total / run.value("output_throughput_tok_s").unwrap() - 1.5).abs() < 0.001, "{}: {total}", run.id);
        }
    }
    let said = intake.warnings.join("\n");
    assert_eq!(said.matches("holds 10 requests where the summary beside it says 64").count(), 2, "{said}");
}
