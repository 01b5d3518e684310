//! The file of `trtllm-bench ... --report_json`.
//!
//! In:  the object.  Out: one partial run, with every number of the file: as a metric, a setting, or an extra figure under its path.
//! Not here: the console output (see `log::trtllm`), memory, which the file does not have.
//!
//! Throughput of the system is over the whole run, output tokens include the first. Times are milliseconds. Time to first token and
//! time per output token are there only for streaming runs. The `latency` mode always streams.
//!
//! The share of memory for the KV cache is a per cent in 0.20 and a fraction later. A fraction is never above 1.
//!
//! Seen: TensorRT-LLM 0.20. Keys of later versions from its documentation and its source (`bench/dataclasses/reporting.py`).

use super::parser::Parser;
use crate::at::At;
use crate::json::Kind;
use crate::log::{fingerprint, shape};
use crate::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile, json};
use sparkbench_archive::manifest::ReportWire;
use sparkbench_model::{Extra, Setup, Status};
use sparkbench_text::error::Error;

/// See the module. The user of the program names it.
pub(super) struct TrtllmJson;

/// See the module. Recognised by its keys.
pub struct TrtllmReport;

const RULE: &str = "trtllm-bench.report";
const TOOL: &str = "trtllm-bench";

const WALL: &str = "wall time of the whole run, not the latency of a request";
const PER_USER: &str = "mean over requests of each one's own rate, not tokens of the system over its time";
const PER_GPU: &str = "output throughput over the number of GPUs";
const SPEED: &str = "1000 over the mean time per output token";
const HANDED_OVER: &str = "how fast requests were handed over, as measured, although all were sent at once";
const AGAIN: &str = "the mean again, which stands beside it";
const LENGTH: &str = "of the data set, not of what was generated";

/// Keys of figures that are metrics: object, key, metric.
const FIGURES: &[(&str, &str, &str)] = &[
    ("performance", "request_throughput_req_s", "request_throughput_req_s"),
    ("performance", "system_output_throughput_tok_s", "output_throughput_tok_s"),
    ("performance", "system_total_throughput_tok_s", "total_throughput_tok_s"),
    ("performance", "avg_request_latency_ms", "e2e_latency_ms"),
    ("streaming_metrics", "avg_ttft_ms", "ttft_ms"),
    ("streaming_metrics", "avg_tpot_ms", "tpot_ms"),
];

/// Objects of statistics: object, key, metric.
const STATISTICS: &[(&str, &str, &str)] = &[
    ("performance", "request_latency_percentiles_ms", "e2e_latency_ms"),
    ("streaming_metrics", "ttft_percentiles", "ttft_ms"),
    ("streaming_metrics", "tpot_percentiles", "tpot_ms"),
];

/// Key of a statistic, suffix.
const SUFFIXES: &[(&str, &str)] =
    &[("p50", "_p50"), ("p90", "_p90"), ("p95", "_p95"), ("p99", "_p99"), ("maximum", "_max")];

/// Paths whose numbers became settings, and need not be extra figures.
const SETTINGS: &[&str] = &[
    "world_info.max_batch_size",
    "world_info.tp_size",
    "world_info.pp_size",
    "world_info.ep_size",
    "world_info.kv_cache_percentage",
    "request_info.avg_input_length",
    "request_info.avg_output_length",
    "request_info.num_requests",
    "machine.memory.total",
];

/// Beginning of a path, unit of the numbers below it, why one is no metric.
const WORDS: &[(&str, &str, Option<&str>)] = &[
    ("performance.total_latency_ms", "ms", Some(WALL)),
    ("performance.output_throughput_per_user_tok_s", "tok/s", Some(PER_USER)),
    ("performance.output_throughput_per_gpu_tok_s", "tok/s", Some(PER_GPU)),
    ("performance.request_latency_percentiles_ms.average", "ms", Some(AGAIN)),
    ("performance.request_latency_percentiles_ms", "ms", None),
    ("streaming_metrics.token_output_speed_tok_s", "tok/s", Some(SPEED)),
    ("streaming_metrics.gen_tps_percentiles", "tok/s", Some(PER_USER)),
    ("streaming_metrics.ttft_percentiles.average", "ms", Some(AGAIN)),
    ("streaming_metrics.tpot_percentiles.average", "ms", Some(AGAIN)),
    ("streaming_metrics.ttft_percentiles", "ms", None),
    ("streaming_metrics.tpot_percentiles", "ms", None),
    ("world_info.issue_rate", "req/s", Some(HANDED_OVER)),
    ("world_info.max_num_tokens", "tokens", None),
    ("decoding_stats.num_draft_tokens_percentiles", "tokens", None),
    ("decoding_stats.num_accepted_draft_tokens_percentiles", "tokens", None),
    ("decoding_stats.acceptance_length_percentiles", "tokens", None),
    ("machine.clocks.mem", "GHz", None),
    ("dataset.num_requests", "", None),
    ("dataset.", "tokens", Some(LENGTH)),
];

impl Parser for TrtllmJson {
    fn name(&self) -> &'static str {
        "trtllm-bench-json"
    }

    fn parse(&self, file: &mut SourceFile<'_>, _: &ReportWire) -> Result<Parsed, Error> {
        let mut parsed = read(file)?;
        for record in &mut parsed.records {
            if let Record::Run(partial) = record {
                // Its run knows what it was for.
                (partial.join_role, partial.workload, partial.fingerprint) = (JoinRole::Trace, None, None);
            }
        }
        Ok(parsed)
    }
}

impl Format for TrtllmReport {
    fn name(&self) -> &'static str {
        "trtllm-bench-report"
    }

    fn about(&self) -> About {
        About {
            tool: "trtllm-bench",
            versions: "TensorRT-LLM 0.20 to 1.3, the share of the KV cache is a per cent in 0.20",
            sign: "an object with `engine` and `performance`, and a request throughput in the latter",
            reads: "throughput, latencies, streaming times, decoding statistics, lengths, settings",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|outline| {
            outline.has(&["engine", "performance"])
                && outline.get("performance").is_some_and(|inner| inner.has(&["request_throughput_req_s"]))
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        read(file)
    }
}

fn read(file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
    let text = file.text()?;
    let node = json::parse(&text)?;
    let root = At::root(&node);
    let _ = root.need("performance")?.entries()?;
    let mut parsed = Parsed::default();
    let mut partial = PartialRun { join_role: JoinRole::Base, ..PartialRun::default() };
    let mut taken: Vec<String> = SETTINGS.iter().map(|path| (*path).to_owned()).collect();
    let mut take = |metric: &str, at: &At<'_>, path: String| match file.reading(metric, at, RULE) {
        Ok(reading) => {
            partial.readings.push(reading);
            taken.push(path);
        }
        Err(error) => parsed.left_out.push(error),
    };
    for (name, key, metric) in FIGURES {
        let Some(object) = root.get(name) else { continue };
        if let Some(at) = object.get(key) {
            take(metric, &at, format!("{name}.{key}"));
        }
    }
    for (name, key, metric) in STATISTICS {
        let Some(object) = root.get(name) else { continue };
        let Some(statistics) = object.get(key) else { continue };
        for (statistic, suffix) in SUFFIXES {
            if let Some(at) = statistics.get(statistic) {
                take(&format!("{metric}{suffix}"), &at, format!("{name}.{key}.{statistic}"));
            }
        }
    }
    match setup(&root) {
        Ok(setup) => partial.setup = setup,
        Err(error) => parsed.left_out.push(error),
    }
    walk(file, &root, "", &taken, &mut partial);
    let wall = figure_of(&root, "performance", "total_latency_ms");
    partial.workload = shape(&partial.setup);
    partial.fingerprint = fingerprint(&partial.setup, wall);
    partial.status = partial.readings.iter().any(|reading| reading.value.is_finite()).then_some(Status::Done);
    parsed.records.push(Record::Run(Box::new(partial)));
    Ok(parsed)
}

fn figure_of(root: &At<'_>, object: &str, key: &str) -> Option<f64> {
    root.get(object)?.get(key)?.figure().ok()?.finite()
}

/// Every number that is neither a metric nor a setting becomes an extra figure, every word a setting. The file is bounded, so is this.
fn walk(file: &SourceFile<'_>, at: &At<'_>, path: &str, taken: &[String], partial: &mut PartialRun) {
    const MOST: usize = 4096;
    if partial.extras.len() >= MOST || partial.setup.more.len() >= MOST {
        return;
    }
    match &at.node.kind {
        Kind::Map(_) => {
            let Ok(entries) = at.entries() else { return };
            for (key, inner) in entries {
                let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                walk(file, &inner, &path, taken, partial);
            }
        }
        Kind::List(_) => {
            let Ok(items) = at.items() else { return };
            for (place, inner) in items.enumerate() {
                walk(file, &inner, &format!("{path}.{place}"), taken, partial);
            }
        }
        Kind::Number(_) if !taken.iter().any(|known| known == path) => {
            let Some(value) = at.figure().ok().and_then(|figure| figure.finite()) else { return };
            let (_, unit, why) = WORDS.iter().find(|(start, ..)| path.starts_with(start)).unwrap_or(&("", "", None));
            let origin = file.origin(Some(at.node.line.into()), Some(at.pointer()), RULE);
            partial.extras.push(Extra::number(path, unit, value, *why, origin));
        }
        Kind::Text(text) if !text.is_empty() && text != "None" => {
            // Only the last part of a path is informative. The rest is private.
            let word = if path.contains("path") || path.contains("dir") {
                text.rsplit('/').next().unwrap_or(text)
            } else {
                text
            };
            let word = word.chars().filter(|c| !c.is_control()).take(200).collect();
            partial.setup.more.insert(path.to_owned(), word);
        }
        Kind::Bool(value) => {
            partial.setup.more.insert(path.to_owned(), value.to_string());
        }
        _ => {}
    }
}

fn setup(root: &At<'_>) -> Result<Setup, Error> {
    // The tool prints Python's None where it has nothing.
    let text = |object: &str, key: &str| -> Result<Option<String>, Error> {
        let Some(object) = root.get(object) else { return Ok(None) };
        let Some(at) = object.get(key) else { return Ok(None) };
        Ok(at.text()?.filter(|text| !text.is_empty() && *text != "None").map(str::to_owned))
    };
    let figure = |object: &str, key: &str| -> Result<Option<f64>, Error> {
        let Some(object) = root.get(object) else { return Ok(None) };
        object.get(key).map_or(Ok(None), |at| Ok(at.figure()?.finite()))
    };
    let sizes = [("tp", "tp_size"), ("pp", "pp_size"), ("ep", "ep_size")].into_iter().filter_map(|(name, key)| {
        let size = figure("world_info", key).ok().flatten()?;
        Some(format!("{name}{size}"))
    });
    let parallel = sizes.collect::<Vec<_>>().join(" ");
    let share = figure("world_info", "kv_cache_percentage")?;
    Ok(Setup {
        engine: Some("TensorRT-LLM".to_owned()),
        engine_version: text("engine", "version")?,
        model_served: text("engine", "model")?,
        machine: text("machine", "name")?,
        quantisation: text("engine", "quantization")?.or(text("engine", "dtype")?),
        kv_dtype: text("engine", "kv_cache_dtype")?,
        batch: figure("world_info", "max_batch_size")?,
        isl: figure("request_info", "avg_input_length")?,
        osl: figure("request_info", "avg_output_length")?,
        requests: figure("request_info", "num_requests")?,
        device_memory_gib: figure("machine", "memory.total")?,
        memory_utilisation: share.map(|share| if share > 1.0 { share / 100.0 } else { share }),
        parallel: (!parallel.is_empty()).then_some(parallel),
        speculative: text("decoding_stats", "mode")?,
        tool: Some(TOOL.to_owned()),
        tool_version: text("engine", "version")?,
        ..Setup::default()
    })
}
