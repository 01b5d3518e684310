//! genai-bench: a run of one scenario at one concurrency, or several runs nested by both.
//!
//! In:  one object, or objects within objects.  Out: one partial run for each run, with its requests.
//! Not here: the sheet of the experiment (see `metadata`), which names model and engine.
//!
//! Times are in seconds, or in the unit in `_time_unit`. Newer versions convert what they save when the reports were requested in
//! milliseconds, but `run_duration` and all rates stay in seconds. Without `_time_unit`, a file whose slowest request would outlast its run
//! can only be in milliseconds. There is no ITL. `output_throughput` below `stats` is that of single requests. Requests with an `error_code`
//! are excluded from all figures. Seen: 2024 (`requests_per_minute`), 0.0.2 to 0.0.5, forks with arrivals and network times.

mod metadata;

use super::at::At;
use super::json::Kind;
use super::sheet::{self, Sheet};
use super::{About, Format, Head, List, Outline, Parsed, PartialRun, SourceFile, json, slug};
use crate::error::Error;
use crate::model::Status;

pub use metadata::Metadata;

/// See the module.
pub struct GenaiBench;

const RULE: &str = "genai-bench";
const DERIVED: &str = "genai-bench.derived";

/// Deepest place of a run: scenario, concurrency, and a list or two around.
const DEPTH: usize = 5;
/// Share by which the slowest request may outlast its run before its unit is doubted: clocks start at different moments.
const LONGER: f64 = 1.05;

/// Statistics of requests in the unit of time, and their metrics.
const TIMES: &[(&str, Option<&str>)] = &[
    ("ttft", Some("ttft_ms")),
    ("tpot", Some("tpot_ms")),
    ("e2e_latency", Some("e2e_latency_ms")),
    ("output_latency", None),
];
/// Key, metric.
const RATES: &[(&str, &str)] = &[
    ("mean_output_throughput_tokens_per_s", "output_throughput_tok_s"),
    ("mean_total_tokens_throughput_tokens_per_s", "total_throughput_tok_s"),
    ("requests_per_second", "request_throughput_req_s"),
];
const SINGLE: &str = "of single requests, not of the system";

impl Format for GenaiBench {
    fn name(&self) -> &'static str {
        "genai-bench"
    }

    fn about(&self) -> About {
        About {
            tool: "genai-bench",
            versions: "2024 to 0.0.5, with times in seconds or as `_time_unit` says, as one run or nested by scenario and concurrency",
            sign: "`aggregated_metrics` with `individual_request_metrics`, or such objects within objects",
            reads: "rates, TTFT, TPOT, E2E latency of the run and of each request, lengths, errors by code",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        fn inside(outline: &Outline<'_>, depth: usize) -> bool {
            let run = |outline: &Outline<'_>| {
                outline.get("aggregated_metrics").is_some_and(|metrics| {
                    outline.get("individual_request_metrics").is_some() || metrics.get("stats").is_some()
                })
            };
            match outline {
                Outline::Map(entries) => {
                    run(outline) || (depth > 0 && entries.iter().any(|(_, inner)| inside(inner, depth - 1)))
                }
                Outline::List(Some(first)) => depth > 0 && inside(first, depth - 1),
                _ => false,
            }
        }
        head.outline().is_some_and(|outline| inside(outline, DEPTH))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let mut parsed = Parsed::default();
        let mut partials = Vec::new();
        runs(file, &At::root(&node), DEPTH, &mut partials, &mut parsed);
        sheet::records(partials, &mut parsed);
        Ok(parsed)
    }
}

/// Looks for runs, in the order of the file.
fn runs(file: &SourceFile<'_>, at: &At<'_>, depth: usize, partials: &mut Vec<PartialRun>, parsed: &mut Parsed) {
    if let Some(metrics) = at.get("aggregated_metrics")
        && partials.len() < sheet::RUNS
    {
        partials.push(run(file, at, &metrics, parsed));
        return;
    }
    if depth == 0 || partials.len() >= sheet::RUNS {
        return;
    }
    for (_, inner) in at.entries().into_iter().flatten() {
        runs(file, &inner, depth - 1, partials, parsed);
    }
    for inner in at.items().into_iter().flatten() {
        runs(file, &inner, depth - 1, partials, parsed);
    }
}

fn run(file: &SourceFile<'_>, root: &At<'_>, metrics: &At<'_>, parsed: &mut Parsed) -> PartialRun {
    let mut sheet = Sheet::new(file, RULE, DERIVED);
    let count = |key: &str| sheet::number_at(metrics, key);
    let scale = scale(root, metrics, &mut sheet);
    labels(metrics, &mut sheet);
    let (completed, errors) = (count("num_completed_requests"), count("num_error_requests"));
    let failed = completed == Some(0.0);
    sheet.partial.status = match (failed, errors) {
        (true, Some(errors)) if errors > 0.0 => {
            Some(Status::Failed(format!("all {} requests failed", sheet::short(errors))))
        }
        (true, _) => Some(Status::Failed("no request was answered".to_owned())),
        (false, _) => completed.map(|_| Status::Done),
    };
    if !failed {
        for (key, metric) in RATES {
            if let Some(at) = metrics.get(key) {
                sheet.metric(&at, metric, 1.0);
            }
        }
        if let Some(at) = metrics.get("requests_per_minute")
            && let Some(rate) = sheet.number(&at)
        {
            sheet.extra(&at, "requests", "1/min", None);
            sheet.derive(&at, "request_throughput_req_s", rate / 60.0);
        }
        if let Some(stats) = metrics.get("stats") {
            statistics(&stats, scale, &mut sheet);
        }
        if let Some(list) = root.get("individual_request_metrics") {
            requests(&list, scale, &mut sheet, parsed);
        }
    }
    if let Some(codes) = metrics.get("error_codes_frequency") {
        for (code, at) in codes.entries().into_iter().flatten() {
            sheet.extra(&at, &format!("errors {}", super::figure::excerpt(code)), "requests", None);
        }
    }
    for (key, unit) in [
        ("run_duration", "s"),
        ("num_requests", "requests"),
        ("num_completed_requests", "requests"),
        ("num_error_requests", "requests"),
        ("total_arrivals", "requests"),
        ("arrival_requests_per_second", "req/s"),
        ("summary_actual_qps", "req/s"),
    ] {
        if let Some(at) = metrics.get(key) {
            sheet.extra(&at, key, unit, None);
        }
    }
    let rates: Vec<&str> = RATES.iter().map(|(key, _)| *key).collect();
    let known = [
        "scenario",
        "num_concurrency",
        "batch_size",
        "iteration_type",
        "stats",
        "error_codes_frequency",
        "run_duration",
        "num_requests",
        "num_completed_requests",
        "num_error_requests",
        "total_arrivals",
        "arrival_requests_per_second",
        "summary_actual_qps",
        "requests_per_minute",
    ];
    sheet.rest(metrics, &[&rates[..], &known[..]].concat(), None);
    sheet.rest(root, &["aggregated_metrics", "individual_request_metrics", "_time_unit"], None);
    if let (Some(errors), Some(completed)) = (errors.filter(|n| *n > 0.0), completed.filter(|n| *n > 0.0)) {
        sheet
            .notes
            .push(format!("{errors} of {} requests failed. They are excluded from latencies", errors + completed));
    }
    sheet.into(parsed)
}

/// Factor from the unit of the file to milliseconds.
fn scale(root: &At<'_>, metrics: &At<'_>, sheet: &mut Sheet<'_, '_>) -> f64 {
    if let Some(unit) = sheet::text_at(root, "_time_unit") {
        sheet.setting("time_unit", unit.clone());
        return if unit == "ms" { 1.0 } else { 1000.0 };
    }
    let slowest = metrics
        .get("stats")
        .and_then(|stats| sheet::number_at(&stats.get("e2e_latency")?, "max"))
        .zip(sheet::number_at(metrics, "run_duration").filter(|seconds| *seconds > 0.0));
    match slowest {
        Some((slowest, seconds)) if slowest > seconds * LONGER => {
            sheet.notes.push(
                "the file names no unit of time, and in seconds its slowest request would have outlasted the run: read as milliseconds".to_owned(),
            );
            1.0
        }
        _ => 1000.0,
    }
}

fn statistics(stats: &At<'_>, scale: f64, sheet: &mut Sheet<'_, '_>) {
    let unit = if scale == 1.0 { "ms" } else { "s" };
    for (key, at) in stats.entries().into_iter().flatten() {
        let time = TIMES.iter().find(|(name, _)| *name == key);
        for (statistic, value) in at.entries().into_iter().flatten() {
            if value.node.kind == Kind::Null {
                continue;
            }
            let name = format!("{key}_{statistic}");
            match time {
                Some((_, Some(metric))) if sheet::suffix(statistic).is_some() => {
                    let suffix = sheet::suffix(statistic).unwrap_or_default();
                    sheet.metric(&value, &format!("{metric}{suffix}"), scale);
                }
                Some(_) => sheet.extra(&value, &name, unit, None),
                None if key.contains("throughput") || key.contains("speed") => {
                    sheet.extra(&value, &name, "tok/s", Some(SINGLE));
                }
                None if key.contains("tokens") => sheet.extra(&value, &name, "tokens", None),
                None => sheet.extra(&value, &name, "", None),
            }
        }
    }
}

/// The requests that succeeded, in the order of the file.
fn requests(list: &At<'_>, scale: f64, sheet: &mut Sheet<'_, '_>, parsed: &mut Parsed) {
    let good: Vec<At<'_>> = list
        .items()
        .into_iter()
        .flatten()
        .filter(|request| request.get("error_code").is_none_or(|code| code.node.kind == Kind::Null))
        .collect();
    let values = |key: &str| -> Vec<f64> {
        let value = |request: &At<'_>| request.get(key).and_then(|at| at.figure().ok()).map_or(f64::NAN, |f| f.value);
        good.iter().map(value).collect()
    };
    for (key, metric) in TIMES {
        match metric {
            Some(metric) => {
                let scaled = values(key).into_iter().map(|value| value * scale).collect();
                sheet.series(list, metric, scaled, false);
            }
            None => keep(parsed, key, values(key)),
        }
    }
    for key in [
        "num_input_tokens",
        "num_output_tokens",
        "num_reasoning_tokens",
        "total_tokens",
        "input_throughput",
        "output_throughput",
        "output_inference_speed",
        "audio_throughput",
    ] {
        keep(parsed, key, values(key));
    }
}

fn keep(parsed: &mut Parsed, name: &str, values: Vec<f64>) {
    if values.iter().any(|value| value.is_finite()) {
        parsed.lists.push(List { part: None, name: name.to_owned(), values });
    }
}

fn labels(metrics: &At<'_>, sheet: &mut Sheet<'_, '_>) {
    let count = |key: &str| sheet::number_at(metrics, key);
    let scenario = sheet::text_at(metrics, "scenario");
    let kind = sheet::text_at(metrics, "iteration_type");
    let lengths = scenario.as_deref().and_then(lengths);
    let mean = |key: &str| sheet::number_at(&metrics.get("stats")?.get(key)?, "mean");
    let setup = &mut sheet.partial.setup;
    setup.tool = Some(RULE.to_owned());
    setup.isl = lengths.map(|(input, _)| input).or_else(|| mean("num_input_tokens"));
    setup.osl = lengths.map(|(_, output)| output).or_else(|| mean("num_output_tokens"));
    setup.requests = count("num_requests").or_else(|| {
        count("num_completed_requests").map(|completed| completed + count("num_error_requests").unwrap_or(0.0))
    });
    let mut cell = vec![scenario.as_deref().map_or_else(|| RULE.to_owned(), slug)];
    match kind.as_deref() {
        Some(kind) if kind.contains("rate") || kind.contains("qps") => {
            // Forks with an open loop write the rate where the concurrency stood.
            setup.request_rate = count("request_rate").or_else(|| count("num_concurrency"));
            cell.extend(setup.request_rate.map(|rate| format!("r{}", sheet::short(rate))));
        }
        Some("batch_size") => {
            setup.batch = count("batch_size");
            cell.extend(setup.batch.map(|n| format!("b{}", sheet::short(n))));
        }
        _ => {
            setup.batch = count("num_concurrency");
            cell.extend(setup.batch.map(|n| format!("c{}", sheet::short(n))));
        }
    }
    sheet.partial.workload = Some(slug(&cell.join("-")));
    for key in ["scenario", "iteration_type", "batch_size", "num_concurrency"] {
        if let Some(at) = metrics.get(key) {
            sheet.setting_at(&at, key);
        }
    }
}

/// Input and output length of `D(100,100)` and the means of `N(480,240)/(300,150)`. Others have none.
fn lengths(scenario: &str) -> Option<(f64, f64)> {
    let pair = |text: &str| -> Option<(f64, f64)> {
        let (one, other) = text.trim().strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
        Some((one.trim().parse().ok()?, other.trim().parse().ok()?))
    };
    match scenario.split_at_checked(1)? {
        ("D", rest) => pair(rest),
        ("N", rest) => {
            let (input, output) = rest.split_once('/')?;
            Some((pair(input)?.0, pair(output)?.0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
