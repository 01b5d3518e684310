//! Results of `vllm bench throughput` and `vllm bench latency`: an engine in the same process, no server.
//!
//! In:  one object each.  Out: one partial run each.
//! Not here: their printed output (see `log`), and the model, which neither file names.
//!
//! `tokens_per_second` is of input and output together. The latency benchmark sends a whole batch at once and takes the time until the last
//! answer has arrived. One sample is one batch, not one request, and the file does not state the batch size.
//!
//! Seen: early 2025 to 0.26 (`std_latency`, and in some builds separate input and output tokens).

use crate::at::At;
use crate::figure::Figure;
use crate::json::{self, Kind};
use crate::serving::{self, settings};
use crate::sheet::{last_part, model_id};
use crate::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Extra, Series, Setup, Status};
use sparkbench_text::error::Error;

/// `vllm bench throughput`.
pub(crate) struct Throughput;
/// `vllm bench latency`.
pub(crate) struct Latency;

/// Slug of the tool.
pub(crate) const THROUGHPUT_TOOL: &str = "vllm-bench-throughput";
/// Slug of the tool.
pub(crate) const LATENCY_TOOL: &str = "vllm-bench-latency";

const ELAPSED: &str = "vllm-bench-throughput";
const BATCH: &str = "vllm-bench-latency";
const DERIVED: &str = "vllm-bench-throughput.derived";
const OF_A_BATCH: &str = "a sample is the time of a whole batch, not of a request";

/// The mark of a throughput run: what its file and its console share.
pub(crate) fn throughput_mark(requests_per_second: Option<f64>, tokens_per_second: Option<f64>) -> Option<String> {
    serving::mark(THROUGHPUT_TOOL, &[requests_per_second, tokens_per_second])
}

impl Format for Throughput {
    fn name(&self) -> &'static str {
        THROUGHPUT_TOOL
    }

    fn about(&self) -> About {
        About {
            tool: "vllm bench throughput, benchmark_throughput.py",
            versions: "early 2025 to 0.26, some builds count input and output tokens apart",
            sign: "an object with `elapsed_time` and `requests_per_second`",
            reads: "request throughput, total token throughput, counts",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|outline| outline.has(&["elapsed_time", "requests_per_second"]))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let mut partial = blank(THROUGHPUT_TOOL, "throughput");
        let mut output = None;
        for (key, at) in root.entries()? {
            let taken = match key {
                "requests_per_second" => reading(file, &at, "request_throughput_req_s", 1.0, ELAPSED, &mut partial),
                "tokens_per_second" => reading(file, &at, "total_throughput_tok_s", 1.0, ELAPSED, &mut partial),
                "output_tokens_per_second" | "output_throughput" => {
                    reading(file, &at, "output_throughput_tok_s", 1.0, ELAPSED, &mut partial)
                }
                "num_requests" => at.figure().map(|figure| partial.setup.requests = figure.finite()),
                "total_output_tokens" | "num_output_tokens" | "total_num_output_tokens" => {
                    output = at.figure().ok().and_then(Figure::finite);
                    extra(file, key, "tokens", &at, ELAPSED, &mut partial)
                }
                "elapsed_time" => extra(file, key, "s", &at, ELAPSED, &mut partial),
                _ => other(file, key, &at, ELAPSED, &mut partial),
            };
            parsed.left_out.extend(taken.err());
        }
        let elapsed =
            root.get("elapsed_time").and_then(|at| at.figure().ok()?.finite()).filter(|seconds| *seconds > 0.0);
        let known = partial.readings.iter().any(|reading| reading.metric == "output_throughput_tok_s");
        if let (Some(tokens), Some(seconds), false) = (output.filter(|tokens| *tokens > 0.0), elapsed, known) {
            let rate = Figure::computed(tokens / seconds);
            partial.readings.push(rate.reading("output_throughput_tok_s", file.origin(None, None, DERIVED)));
        }
        let value = |metric: &str| {
            partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
        };
        partial.fingerprint = throughput_mark(value("request_throughput_req_s"), value("total_throughput_tok_s"));
        let failure = partial.readings.is_empty().then(|| Status::Failed("no request was finished".to_owned()));
        partial.status = failure.or(Some(Status::Done));
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

impl Format for Latency {
    fn name(&self) -> &'static str {
        LATENCY_TOOL
    }

    fn about(&self) -> About {
        About {
            tool: "vllm bench latency, benchmark_latency.py",
            versions: "early 2025 to 0.26, later ones add `std_latency`",
            sign: "an object with `avg_latency`, `latencies` and `percentiles`",
            reads: "E2E latency of whole batches: mean, percentiles, every sample",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|outline| {
            outline.has(&["avg_latency"]) && (outline.has(&["latencies"]) || outline.has(&["percentiles"]))
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let mut partial = blank(LATENCY_TOOL, "latency");
        for (key, at) in root.entries()? {
            let taken = match key {
                "avg_latency" => reading(file, &at, "e2e_latency_ms", 1000.0, BATCH, &mut partial),
                "std_latency" => extra(file, key, "s", &at, BATCH, &mut partial),
                "latencies" => samples(file, &at, &mut partial),
                "percentiles" => percentiles(file, &at, &mut partial, &mut parsed),
                _ => other(file, key, &at, BATCH, &mut partial),
            };
            parsed.left_out.extend(taken.err());
        }
        let value = |metric: &str| {
            partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
        };
        partial.fingerprint = serving::mark(LATENCY_TOOL, &[value("e2e_latency_ms"), value("e2e_latency_ms_p50")]);
        partial.status = Some(Status::Done);
        parsed.notes.push(OF_A_BATCH.to_owned());
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

fn blank(tool: &str, workload: &str) -> PartialRun {
    PartialRun {
        join_role: JoinRole::Base,
        workload: Some(workload.to_owned()),
        // There is no server between: the engine is the one that the benchmark is part of.
        setup: Setup { tool: Some(tool.to_owned()), engine: Some("vLLM".to_owned()), ..Setup::default() },
        ..PartialRun::default()
    }
}

/// A figure above zero, scaled. Its digits move with it.
fn reading(
    file: &SourceFile<'_>,
    at: &At<'_>,
    metric: &str,
    scale: f64,
    rule: &'static str,
    partial: &mut PartialRun,
) -> Result<(), Error> {
    let mut found = file.reading(metric, at, rule)?;
    if found.value > 0.0 && found.value.is_finite() {
        if scale != 1.0 {
            found.value *= scale;
            found.decimals = found.decimals.map(|digits| digits.saturating_sub(3));
        }
        partial.readings.push(found);
    }
    Ok(())
}

fn extra(
    file: &SourceFile<'_>,
    name: &str,
    unit: &str,
    at: &At<'_>,
    rule: &'static str,
    partial: &mut PartialRun,
) -> Result<(), Error> {
    if let Some(value) = at.figure()?.finite() {
        let origin = file.origin(Some(at.node.line.into()), Some(at.pointer()), rule);
        partial.extras.push(Extra::number(name, unit, value, None, origin));
    }
    Ok(())
}

/// A key that the user added.
fn other(
    file: &SourceFile<'_>,
    key: &str,
    at: &At<'_>,
    rule: &'static str,
    partial: &mut PartialRun,
) -> Result<(), Error> {
    match &at.node.kind {
        Kind::Number(digits) if settings::is_setting(key) => {
            settings::take(&mut partial.setup, key, digits);
        }
        Kind::Number(_) => extra(file, key, "", at, rule, partial)?,
        Kind::Text(text) if matches!(key, "model" | "model_id") => {
            partial.setup.model_id = model_id(text);
            partial.model = partial.setup.model_id.as_deref().map(|id| last_part(id).to_owned());
        }
        Kind::Text(text) => {
            settings::take(&mut partial.setup, key, text);
        }
        Kind::Bool(value) => {
            settings::take(&mut partial.setup, key, &value.to_string());
        }
        Kind::Null | Kind::List(_) | Kind::Packed(_) | Kind::Map(_) => {}
    }
    Ok(())
}

fn samples(file: &SourceFile<'_>, at: &At<'_>, partial: &mut PartialRun) -> Result<(), Error> {
    let values: Result<Vec<f64>, Error> = at.items()?.map(|item| Ok(item.figure()?.value * 1000.0)).collect();
    let values = values?;
    if !values.is_empty() {
        let origin = file.origin(Some(at.node.line.into()), Some(at.pointer()), BATCH);
        partial.series.push(Series { metric: "e2e_latency_ms".to_owned(), values, origin });
    }
    Ok(())
}

fn percentiles(file: &SourceFile<'_>, at: &At<'_>, partial: &mut PartialRun, parsed: &mut Parsed) -> Result<(), Error> {
    for (percent, value) in at.entries()? {
        let taken = match percent {
            "50" | "90" | "95" | "99" => {
                reading(file, &value, &format!("e2e_latency_ms_p{percent}"), 1000.0, BATCH, partial)
            }
            _ => extra(file, &format!("p{percent}_latency"), "s", &value, BATCH, partial),
        };
        parsed.left_out.extend(taken.err());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &dyn Format, text: &str) -> (PartialRun, Parsed) {
        assert!(format.sniff(&Head::new("x", text, text.len() as u64)), "{text}");
        let mut input = text.as_bytes();
        let mut parsed = format.parse(&mut SourceFile::new("x.json", text.len() as u64, &mut input)).unwrap();
        match parsed.records.pop() {
            Some(Record::Run(partial)) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    fn value(partial: &PartialRun, metric: &str) -> Option<f64> {
        partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
    }

    #[test]
    fn tokens_per_second_are_those_of_input_and_output_together() {
        let (partial, _) = read(
            &Throughput,
            r#"{"elapsed_time": 10.0, "num_requests": 5, "total_num_tokens": 640, "requests_per_second": 0.5, "tokens_per_second": 64.0}"#,
        );
        assert_eq!(
            (value(&partial, "total_throughput_tok_s"), value(&partial, "output_throughput_tok_s")),
            (Some(64.0), None)
        );
        assert_eq!((partial.setup.requests, value(&partial, "request_throughput_req_s")), (Some(5.0), Some(0.5)));
        let names: Vec<&str> = partial.extras.iter().map(|extra| extra.name.as_str()).collect();
        assert_eq!(names, ["elapsed_time", "total_num_tokens"]);
    }

    #[test]
    fn output_tokens_that_a_build_counts_apart_give_the_output_rate() {
        let (partial, _) = read(
            &Throughput,
            r#"{"elapsed_time": 10, "requests_per_second": 0.5, "tokens_per_second": 64, "total_output_tokens": 320, "model": "org/m"}"#,
        );
        assert_eq!((value(&partial, "output_throughput_tok_s"), partial.model.as_deref()), (Some(32.0), Some("m")));
        assert!(partial.readings.iter().any(|reading| reading.origin.rule == DERIVED));
    }

    #[test]
    fn seconds_of_a_batch_become_milliseconds_and_are_said_to_be_of_a_batch() {
        let (partial, parsed) = read(
            &Latency,
            r#"{"avg_latency": 1.5, "std_latency": 0.5, "latencies": [1.0, 2.0], "percentiles": {"10": 1.1, "50": 1.5, "99": 1.99}}"#,
        );
        assert_eq!(
            (value(&partial, "e2e_latency_ms"), value(&partial, "e2e_latency_ms_p99")),
            (Some(1500.0), Some(1990.0))
        );
        assert_eq!((partial.series[0].values.as_slice(), partial.extras.len()), (&[1000.0, 2000.0][..], 2));
        assert_eq!(parsed.notes, [OF_A_BATCH]);
    }
}
