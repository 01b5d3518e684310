//! inference-perf: `stage_N_lifecycle_metrics.json`, their summary, and the server's metrics of the same time.
//!
//! In:  one object.  Out: one partial run for each stage. The summary is a run of its own after several stages, and a copy after one.
//! `..._prometheus_metrics.json` adds to them.
//! Not here: single requests, messages of errors.
//!
//! All times are in **seconds**. `time_per_output_token` is TPOT. `normalized_time_per_output_token` includes the first token too and is not
//! TPOT. `inter_token_latency` are single gaps. Latencies are null where the answers were not streamed. Seen: files of 2025 (`prompt_len`)
//! and 0.7 (`prompt_tokens`, `benchmark_time_seconds`, goodput, retries).

use super::at::At;
use super::json::Kind;
use super::sheet::{self, Scale, Sheet};
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile, json};
use sparkbench_text::error::Error;
use sparkbench_text::slug::slug;

/// See the module.
pub(super) struct InferencePerf;

const RULE: &str = "inference-perf";
const DERIVED: &str = "inference-perf.derived";

/// Key below `latency`, metric.
const LATENCIES: &[(&str, &str)] = &[
    ("request_latency", "e2e_latency_ms"),
    ("time_to_first_token", "ttft_ms"),
    ("time_per_output_token", "tpot_ms"),
    ("inter_token_latency", "itl_ms"),
];
/// Key below `throughput`, metric.
const RATES: &[(&str, &str)] = &[
    ("requests_per_sec", "request_throughput_req_s"),
    ("output_tokens_per_sec", "output_throughput_tok_s"),
    ("total_tokens_per_sec", "total_throughput_tok_s"),
];
/// Workload of a summary.
const ALL_STAGES: &str = "all-stages";
const WITH_FIRST: &str = "the whole latency by the output tokens: holds the time to the first token";
const SERVER_SIDE: &str = "as the server counted it";

impl Format for InferencePerf {
    fn name(&self) -> &'static str {
        "inference-perf"
    }

    fn about(&self) -> About {
        About {
            tool: "inference-perf",
            versions: "2025 to 0.7, with and without streaming",
            sign: "an object with `load_summary` and `successes`",
            reads: "rates, latencies in seconds as milliseconds, load and its delays, failures, lengths",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|outline| {
            ["load_summary", "successes"].iter().all(|key| outline.get(key).is_some_and(|value| value.is_map()))
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let partial = run(file, &root, &mut parsed)?;
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

fn run(file: &SourceFile<'_>, root: &At<'_>, parsed: &mut Parsed) -> Result<PartialRun, Error> {
    let mut sheet = Sheet::new(file, RULE, DERIVED);
    sheet.partial.setup.tool = Some(RULE.to_owned());
    let (load, good) = (root.need("load_summary")?, root.need("successes")?);
    if good.get("latency").is_none() {
        sheet.partial.join_role = JoinRole::WholeFolder;
        sheet.leaf(&good, "server", Some(SERVER_SIDE));
        return Ok(sheet.into(parsed));
    }
    sheet.partial.join_role = JoinRole::Base;
    let failures = root.get("failures");
    let failed = failures.as_ref().and_then(|at| sheet::number_at(at, "count"));
    let done = sheet::number_at(&good, "count");
    labels(&load, &good, &mut sheet);
    sheet.partial.status = sheet::outcome(done, failed);
    let nothing = done == Some(0.0);
    if let Some(latency) = good.get("latency") {
        for (key, at) in latency.entries().into_iter().flatten() {
            let metric = LATENCIES.iter().find(|(name, _)| *name == key && !nothing);
            let why = (key == "normalized_time_per_output_token").then_some(WITH_FIRST);
            sheet.statistics(&at, metric.map(|(_, metric)| (*metric, Scale::Seconds)), (key, "s", why));
        }
    }
    if let Some(rates) = good.get("throughput") {
        for (key, at) in rates.entries().into_iter().flatten() {
            match RATES.iter().find(|(name, _)| *name == key) {
                Some((_, metric)) if !nothing => {
                    sheet.metric(&at, metric);
                }
                _ => sheet.extra(&at, sheet::unit_of(key).0, unit(key), None),
            }
        }
    }
    for (key, at) in good.entries().into_iter().flatten().filter(|(key, _)| !matches!(*key, "latency" | "throughput")) {
        statistics(&at, key, unit(key), &mut sheet);
    }
    for (key, at) in load.entries().into_iter().flatten() {
        statistics(&at, &format!("load.{key}"), unit(key), &mut sheet);
    }
    if let Some(failures) = &failures {
        for (key, at) in failures.entries().into_iter().flatten() {
            // Labels of errors are counted. What they say may hold anything.
            if key == "by_label" {
                for (label, error) in at.entries().into_iter().flatten() {
                    if let Some(count) = error.get("count") {
                        sheet.extra(&count, &format!("failures.{}", super::figure::excerpt(label)), "requests", None);
                    }
                }
            } else {
                statistics(&at, &format!("failures.{key}"), unit(key), &mut sheet);
            }
        }
    }
    sheet.rest(root, &["load_summary", "successes", "failures"], None);
    if let Some(failed) = failed.filter(|_| !nothing) {
        sheet.failures(failed, failed + done.unwrap_or(0.0));
    }
    if sheet.partial.workload.as_deref() == Some(ALL_STAGES) {
        sheet.note("over all stages: where the stages lie beside it, their requests stand here again");
    }
    let mark = |metric: &str| sheet.reading(metric).map(|value| format!("{value:.9}")).unwrap_or_default();
    if let Some(done) = done.filter(|_| !nothing) {
        sheet.partial.fingerprint =
            Some(format!("{RULE}|{done}|{}|{}", mark("e2e_latency_ms"), mark("request_throughput_req_s")));
    }
    Ok(sheet.into(parsed))
}

/// A figure, or statistics of one. Texts stay behind.
fn statistics(at: &At<'_>, name: &str, unit: &str, sheet: &mut Sheet<'_, '_>) {
    match &at.node.kind {
        Kind::Number(_) => sheet.extra(at, name, unit, None),
        Kind::Map(_) => {
            for (key, value) in at.entries().into_iter().flatten() {
                statistics(&value, &format!("{name}_{key}"), unit, sheet);
            }
        }
        _ => {}
    }
}

/// Units of what the tool names without one.
fn unit(key: &str) -> &'static str {
    match key {
        "count" => "requests",
        "prompt_len" | "output_len" | "prompt_tokens" | "output_tokens" => "tokens",
        "request_latency" | "schedule_delay" | "send_duration" => "s",
        "requested_rate" | "achieved_rate" => "req/s",
        "input_tokens_per_sec" => "tok/s",
        "request_size_bytes" => "bytes",
        _ => sheet::unit_of(key).1,
    }
}

fn labels(load: &At<'_>, good: &At<'_>, sheet: &mut Sheet<'_, '_>) {
    let mean = |keys: [&str; 2]| keys.iter().find_map(|key| sheet::number_at(&good.get(key)?, "mean"));
    let setup = &mut sheet.partial.setup;
    setup.requests = sheet::number_at(load, "count");
    setup.request_rate = sheet::number_at(load, "requested_rate");
    setup.batch = sheet::number_at(load, "concurrency");
    setup.isl = mean(["prompt_len", "prompt_tokens"]);
    setup.osl = mean(["output_len", "output_tokens"]);
    // A stage for a fixed number of users has a rate too: a count of requests, not of requests a second.
    let cell = match (setup.batch, setup.request_rate) {
        (Some(users), _) => format!("c{}", sheet::short(users)),
        (None, Some(rate)) => format!("r{}", sheet::short(rate)),
        (None, None) => ALL_STAGES.to_owned(),
    };
    if setup.batch.is_some() {
        setup.request_rate = None;
    }
    sheet.partial.workload = Some(slug(&cell));
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Status;

    fn read(text: &str) -> (PartialRun, Parsed) {
        let mut input = text.as_bytes();
        let mut parsed = InferencePerf.parse(&mut SourceFile::new("s.json", text.len() as u64, &mut input)).unwrap();
        match parsed.records.pop() {
            Some(Record::Run(partial)) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn seconds_become_milliseconds_and_the_normalised_time_is_no_tpot() {
        let (partial, parsed) = read(
            r#"{"load_summary": {"count": 3, "schedule_delay": {"mean": 0.5}, "requested_rate": 2.5},
               "successes": {"count": 2, "latency": {"request_latency": {"mean": 0.25, "p99.9": 0.5, "median": 0.125},
                 "time_per_output_token": {"mean": 0.004}, "normalized_time_per_output_token": {"mean": 0.008}, "time_to_first_token": null},
                 "throughput": {"input_tokens_per_sec": 9.0, "output_tokens_per_sec": 5.0}, "prompt_len": {"mean": 10.0, "max": 11}},
               "failures": {"count": 1, "request_latency": {"mean": 1.0}, "by_label": {"503": {"count": 1, "messages": [{"message": "host x"}]}}}}"#,
        );
        let found: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(
            found,
            [
                ("e2e_latency_ms", 250.0),
                ("e2e_latency_ms_p50", 125.0),
                ("tpot_ms", 4.0),
                ("output_throughput_tok_s", 5.0)
            ]
        );
        assert!(
            partial
                .extras
                .iter()
                .any(|e| e.name == "normalized_time_per_output_token_mean" && e.why == Some(WITH_FIRST))
        );
        assert!(partial.extras.iter().any(|e| e.name == "failures.503") && !format!("{partial:?}").contains("host x"));
        assert_eq!((partial.setup.request_rate, partial.workload.as_deref()), (Some(2.5), Some("r2.5")));
        assert_eq!(parsed.notes, ["1 of 3 requests failed. They are excluded from latencies"]);
    }

    #[test]
    fn what_the_server_counted_speaks_beside_the_runs() {
        let (partial, _) = read(
            r#"{"load_summary": {}, "successes": {"count": 2, "time_to_first_token": {"mean": 0.5}}, "failures": {}}"#,
        );
        assert_eq!((partial.join_role, partial.readings.len(), partial.extras.len()), (JoinRole::WholeFolder, 0, 2));
    }

    #[test]
    fn requests_that_all_failed_measure_nothing() {
        let (partial, _) = read(
            r#"{"load_summary": {"count": 2}, "successes": {"count": 0, "latency": {"request_latency": null}, "throughput": {"requests_per_sec": 0.0}}, "failures": {"count": 2}}"#,
        );
        assert_eq!(partial.status, Some(Status::Failed("all 2 requests failed".to_owned())));
        assert!(partial.readings.is_empty());
    }
}
