//! The file of `trtllm-bench ... --report_json`.
//!
//! In:  the object.  Out: one piece.
//! Not here: the console output (see `trtllm_log`), estimates of the planner.
//!
//! Throughput of the system is over the whole run, output tokens include the first. Times are milliseconds. Time to first token and
//! time per output token stand there only for streaming runs; the `latency` mode always streams.
//!
//! Seen: TensorRT-LLM 0.20; keys of later versions from its documentation and its source (`bench/dataclasses/reporting.py`).

use super::Parser;
use crate::archive::manifest::ReportWire;
use crate::error::Error;
use crate::ingest::at::At;
use crate::ingest::{Parsed, Piece, Record, SourceFile, Standing, json};
use crate::model::Setup;

/// See the module.
pub(super) struct TrtllmJson;

const RULE: &str = "trtllm-bench.report";

/// Keys below an object, metric.
const FIGURES: &[(&str, &str, &str)] = &[
    ("performance", "request_throughput_req_s", "request_throughput_req_s"),
    ("performance", "system_output_throughput_tok_s", "output_throughput_tok_s"),
    ("performance", "system_total_throughput_tok_s", "total_throughput_tok_s"),
    ("performance", "avg_request_latency_ms", "e2e_latency_ms"),
    ("streaming_metrics", "avg_ttft_ms", "ttft_ms"),
    ("streaming_metrics", "avg_tpot_ms", "tpot_ms"),
];

/// Objects of statistics, metric.
const STATISTICS: &[(&str, &str, &str)] = &[
    ("performance", "request_latency_percentiles_ms", "e2e_latency_ms"),
    ("streaming_metrics", "ttft_percentiles", "ttft_ms"),
    ("streaming_metrics", "tpot_percentiles", "tpot_ms"),
];

/// Key of a statistic, suffix.
const SUFFIXES: &[(&str, &str)] =
    &[("p50", "_p50"), ("p90", "_p90"), ("p95", "_p95"), ("p99", "_p99"), ("maximum", "_max")];

impl Parser for TrtllmJson {
    fn name(&self) -> &'static str {
        "trtllm-bench-json"
    }

    fn parse(&self, file: &mut SourceFile<'_>, _: &ReportWire) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let _ = root.need("performance")?.entries()?;
        let mut parsed = Parsed::default();
        let mut piece = Piece { standing: Standing::Trace, ..Piece::default() };
        let mut take = |metric: &str, at: &At<'_>| match file.reading(metric, at, RULE) {
            Ok(reading) => piece.readings.push(reading),
            Err(error) => parsed.left_out.push(error),
        };
        for (object, key, metric) in FIGURES {
            let Some(object) = root.get(object) else { continue };
            if let Some(at) = object.get(key) {
                take(metric, &at);
            }
        }
        for (object, key, metric) in STATISTICS {
            let Some(object) = root.get(object) else { continue };
            let Some(statistics) = object.get(key) else { continue };
            for (name, suffix) in SUFFIXES {
                if let Some(at) = statistics.get(name) {
                    take(&format!("{metric}{suffix}"), &at);
                }
            }
        }
        match setup(&root) {
            Ok(setup) => piece.setup = setup,
            Err(error) => parsed.left_out.push(error),
        }
        parsed.records.push(Record::Piece(Box::new(piece)));
        Ok(parsed)
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
    Ok(Setup {
        engine: Some("TensorRT-LLM".to_owned()),
        engine_version: text("engine", "version")?,
        model_served: text("engine", "model")?,
        machine: text("machine", "name")?,
        quantisation: text("engine", "quantization")?.or(text("engine", "dtype")?),
        batch: figure("world_info", "max_batch_size")?,
        isl: figure("request_info", "avg_input_length")?,
        osl: figure("request_info", "avg_output_length")?,
        requests: figure("request_info", "num_requests")?,
        device_memory_gib: figure("machine", "memory.total")?,
        ..Setup::default()
    })
}
