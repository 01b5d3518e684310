//! The file of `trtllm-bench ... --request_json`: what happened to each request.
//!
//! In:  a list of objects with times in nanoseconds of one clock.  Out: one partial run with a series of each latency.
//! Not here: throughput, which the tool's own report gives.
//!
//! A first token that was not seen apart, because nothing was streamed, has the time -1 or that of the end. It gives no TTFT.
//!
//! Source: `bench/dataclasses/statistics.py` of TensorRT-LLM. No recorded file was available.

use serde::Deserialize;

use super::parser::Parser;
use crate::{JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_archive::manifest::ReportWire;
use sparkbench_model::{Series, Setup};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(super) struct TrtllmRequests;

const RULE: &str = "trtllm-bench.requests";
const MS_PER_NS: f64 = 1e-6;

/// One request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    start_timestamp: Option<f64>,
    first_token_timestamp: Option<f64>,
    end_timestamp: Option<f64>,
    output_tokens: Option<f64>,
    error_tokens: f64,
}

impl Parser for TrtllmRequests {
    fn name(&self) -> &'static str {
        "trtllm-bench-requests"
    }

    fn parse(&self, file: &mut SourceFile<'_>, _: &ReportWire) -> Result<Parsed, Error> {
        let text = file.text()?;
        let requests: Vec<Wire> = serde_json::from_str(&text).map_err(|cause| {
            Error::archive("not a list of requests").at(Place::Line(cause.line() as u64)).because(cause)
        })?;
        let (mut e2e, mut ttft, mut tpot) = (Vec::new(), Vec::new(), Vec::new());
        let mut failed = 0usize;
        for request in &requests {
            let (Some(start), Some(end)) = (request.start_timestamp, request.end_timestamp) else { continue };
            if request.error_tokens > 0.0 || end <= start {
                failed += 1;
                continue;
            }
            let whole = (end - start) * MS_PER_NS;
            e2e.push(whole);
            let Some(first) = request.first_token_timestamp.filter(|first| *first > start && *first < end) else {
                continue;
            };
            let first = (first - start) * MS_PER_NS;
            ttft.push(first);
            if let Some(tokens) = request.output_tokens.filter(|tokens| *tokens >= 2.0) {
                tpot.push((whole - first) / (tokens - 1.0));
            }
        }
        let mut parsed = Parsed::default();
        if failed > 0 {
            parsed
                .notes
                .push(format!("{failed} of {} requests failed. They are excluded from latencies", requests.len()));
        }
        let series = [("e2e_latency_ms", e2e), ("ttft_ms", ttft), ("tpot_ms", tpot)]
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(metric, values)| Series { metric: metric.to_owned(), values, origin: file.origin(None, None, RULE) })
            .collect();
        let setup = Setup { requests: Some(requests.len() as f64), ..Setup::default() };
        let partial = PartialRun { join_role: JoinRole::Detail, series, setup, ..PartialRun::default() };
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}
