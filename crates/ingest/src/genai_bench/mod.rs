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
use super::sheet::{self, ExtraOf, Scale, Sheet};
use super::{About, Format, Head, Outline, Parsed, PartialRun, SourceFile, json};
use sparkbench_text::error::Error;
use sparkbench_text::slug::slug;

pub(super) use metadata::GenaiBenchMetadata;

/// See the module.
pub(super) struct GenaiBench;

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
/// Figures that are not among our metrics.
const EXTRAS: &[ExtraOf<'_>] = &[
    ("run_duration", "s", None),
    ("num_requests", "requests", None),
    ("num_completed_requests", "requests", None),
    ("num_error_requests", "requests", None),
    ("total_arrivals", "requests", None),
    ("arrival_requests_per_second", "req/s", None),
    ("summary_actual_qps", "req/s", None),
];
/// Keys that became something else.
const TAKEN: &[&str] = &[
    "scenario",
    "num_concurrency",
    "batch_size",
    "iteration_type",
    "stats",
    "error_codes_frequency",
    "requests_per_minute",
];
/// Values of each request that are not among our metrics.
const LISTS: &[&str] = &[
    "num_input_tokens",
    "num_output_tokens",
    "num_reasoning_tokens",
    "total_tokens",
    "input_throughput",
    "output_throughput",
    "output_inference_speed",
    "audio_throughput",
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
    sheet.partial.status = sheet::outcome(completed, errors);
    if !failed {
        sheet.rates(metrics, RATES);
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
            requests(&list, scale, &mut sheet);
        }
    }
    if let Some(codes) = metrics.get("error_codes_frequency") {
        for (code, at) in codes.entries().into_iter().flatten() {
            sheet.extra(&at, &format!("errors {}", super::figure::excerpt(code)), "requests", None);
        }
    }
    sheet.extras(metrics, EXTRAS);
    let mut taken = TAKEN.to_vec();
    taken.extend(EXTRAS.iter().map(|(key, ..)| *key).chain(RATES.iter().map(|(key, _)| *key)));
    sheet.rest(metrics, &taken, None);
    sheet.rest(root, &["aggregated_metrics", "individual_request_metrics", "_time_unit"], None);
    if let (Some(errors), Some(completed)) = (errors, completed.filter(|n| *n > 0.0)) {
        sheet.failures(errors, errors + completed);
    }
    sheet.into(parsed)
}

/// From the unit of the file to milliseconds.
fn scale(root: &At<'_>, metrics: &At<'_>, sheet: &mut Sheet<'_, '_>) -> Scale {
    if let Some(unit) = sheet::text_at(root, "_time_unit") {
        sheet.setting("time_unit", unit.clone());
        return if unit == "ms" { Scale::One } else { Scale::Seconds };
    }
    let slowest = metrics
        .get("stats")
        .and_then(|stats| sheet::number_at(&stats.get("e2e_latency")?, "max"))
        .zip(sheet::number_at(metrics, "run_duration").filter(|seconds| *seconds > 0.0));
    match slowest {
        Some((slowest, seconds)) if slowest > seconds * LONGER => {
            sheet.note(
                "the file names no unit of time, and in seconds its slowest request would have outlasted the run: read as milliseconds",
            );
            Scale::One
        }
        _ => Scale::Seconds,
    }
}

fn statistics(stats: &At<'_>, scale: Scale, sheet: &mut Sheet<'_, '_>) {
    let time = if scale == Scale::One { "ms" } else { "s" };
    for (key, at) in stats.entries().into_iter().flatten() {
        let (metric, unit, why) = match TIMES.iter().find(|(name, _)| *name == key) {
            Some((_, metric)) => (*metric, time, None),
            None if key.contains("throughput") || key.contains("speed") => (None, "tok/s", Some(SINGLE)),
            None if key.contains("tokens") => (None, "tokens", None),
            None => (None, "", None),
        };
        sheet.statistics(&at, metric.map(|metric| (metric, scale)), (key, unit, why));
    }
}

/// The requests that succeeded, in the order of the file.
fn requests(list: &At<'_>, scale: Scale, sheet: &mut Sheet<'_, '_>) {
    let factor = if scale == Scale::One { 1.0 } else { 1000.0 };
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
                let scaled = values(key).into_iter().map(|value| value * factor).collect();
                sheet.series(list, metric, scaled, false);
            }
            None => sheet.list(key, values(key)),
        }
    }
    for key in LISTS {
        sheet.list(key, values(key));
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
    sheet.settings_of(metrics, "", &["scenario", "iteration_type", "batch_size", "num_concurrency"]);
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
