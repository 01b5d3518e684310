//! GuideLLM's `benchmarks.json` and `benchmarks.yaml`: one benchmark for each rate of a sweep.
//!
//! In:  one object with `benchmarks`, as JSON or as YAML.  Out: a run for each.
//! Not here: its CSV (see `csv`), its HTML for people, prompts and answers.
//!
//! Traps, each of which is handled: `request_latency` is in seconds beside `*_ms`. `time_per_output_token_ms` includes the first token and
//! is no TPOT. `inter_token_latency_ms` is one number a request and is our TPOT. Means of tokens per second weigh by time, so throughput is
//! computed from sums and the duration where both are there. A category without requests is filled with zeros. Requests that the end of a
//! timed run cut off are `incomplete` and excluded from latencies. Lists of requests may be samples.
//!
//! Seen: schema 1 (2025, to 0.3: `args`, `worker`, `run_stats`). Schema 2 (0.4 to 0.8.1) has `config`, `scheduler_state`,
//! `scheduler_metrics` and totals inside `metrics`. In schema 2 `inter_token_latency_ms` weighs each request by its tokens.

mod csv;
mod measures;
mod requests;
mod setup;

use super::at::At;
use super::sheet::{ExtraOf, Sheet, number_at, text_at};
use super::{About, Format, Head, JoinRole, Parsed, SourceFile};
use super::{json, yaml};
use sparkbench_model::{Instant, Status};
use sparkbench_text::error::{Error, Place};

pub(super) use csv::GuideLlmCsv;

/// See the module.
pub(super) struct GuideLlm;

const RULE: &str = "guidellm";
const DERIVED: &str = "guidellm.derived";

/// Parts of a benchmark whose numbers are figures of the run.
const FIGURES: &[&str] = &["run_stats", "scheduler_state", "scheduler_metrics", "request_totals"];
/// Numbers of a benchmark.
const SECONDS: &[ExtraOf<'_>] =
    &[("duration", "s", None), ("warmup_duration", "s", None), ("cooldown_duration", "s", None)];

impl Format for GuideLlm {
    fn name(&self) -> &'static str {
        "guidellm"
    }

    fn about(&self) -> About {
        About {
            tool: "GuideLLM, benchmarks.json and benchmarks.yaml",
            versions: "schema 1 (to 0.3) and schema 2 (0.4 to 0.8.1)",
            sign: "an object whose `benchmarks` begin with a `generative_benchmark`, or YAML with `benchmarks` and its latencies",
            reads: "a run for each benchmark of a sweep: throughput, TTFT, TPOT, E2E latency, each successful request",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(object) = head.object() else { return is_yaml(head.text) };
        let kind = object.get("benchmarks").and_then(|list| list.get("type_")).and_then(super::Outline::text);
        kind.is_some_and(|kind| kind.starts_with("generative_benchmark"))
            || object.get("metadata").is_some_and(|at| at.get("guidellm_version").is_some())
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        let turned = if text.trim_start().starts_with('{') { None } else { Some(yaml::to_json(&text)?) };
        if let Some((_, aliases @ 1..)) = &turned {
            parsed.notes.push(format!("{aliases} aliases are not followed. What they name is missing"));
        }
        let node = json::parse(turned.as_ref().map_or(&text, |(json, _)| json))?;
        let root = At::root(&node);
        let benchmarks = root.need("benchmarks")?;
        for benchmark in benchmarks.items()? {
            if benchmark.get("metrics").is_none() {
                parsed.left_out.push(
                    Error::archive("a benchmark is left out")
                        .at(Place::Field(benchmark.pointer()))
                        .detail("it has no 'metrics'"),
                );
                continue;
            }
            let mut sheet = Sheet::new(file, RULE, DERIVED);
            one(&mut sheet, &root, &benchmark);
            sheet.finish(&mut parsed);
        }
        if let Some(conclusions) = root.get("conclusions")
            && conclusions.items().is_ok_and(|mut items| items.next().is_some())
        {
            parsed.not_understood.push(format!("line {}: '/conclusions' of the profile", conclusions.node.line));
        }
        Ok(parsed)
    }
}

/// Whether a text is the YAML: the program sorts keys, so the kind of a benchmark comes after its metrics.
fn is_yaml(text: &str) -> bool {
    let top = |key: &str| text.split(['\n', '\r']).any(|line| line.strip_prefix(key) == Some(":"));
    top("benchmarks") && text.contains("inter_token_latency_ms:")
}

/// One benchmark.
fn one(sheet: &mut Sheet<'_, '_>, root: &At<'_>, benchmark: &At<'_>) {
    let total = |name: &str| {
        number_at(benchmark, ["metrics", "request_totals", name])
            .or_else(|| number_at(benchmark, ["request_totals", name]))
            .or_else(|| number_at(benchmark, ["run_stats", "requests_made", name]))
    };
    let (good, bad, cut) = (total("successful"), total("errored"), total("incomplete"));
    let failed = good.is_some_and(|good| good <= 0.0);
    setup::read(sheet, root, benchmark);
    measures::all(sheet, benchmark, good, failed);
    requests::all(sheet, benchmark, good);
    for key in FIGURES {
        if let Some(at) = benchmark.get(key) {
            sheet.numbers(&at, key, "", None);
        }
    }
    sheet.extras(benchmark, SECONDS);
    let partial = &mut sheet.partial;
    partial.started = number_at(benchmark, "start_time").and_then(Instant::from_unix_seconds);
    partial.ended = number_at(benchmark, "end_time").and_then(Instant::from_unix_seconds);
    partial.setup.requests = total("total").or(good);
    partial.status = good.map(|_| match failed {
        true => Status::Failed(format!(
            "no request succeeded: {} failed, {} were cut off",
            bad.unwrap_or(0.0),
            cut.unwrap_or(0.0)
        )),
        false => Status::Done,
    });
    let id = text_at(benchmark, "id_").or_else(|| text_at(benchmark, ["config", "id_"]));
    partial.fingerprint = id.map(|id| format!("guidellm|{id}"));
    partial.join_role = JoinRole::Body;
    for (count, word) in [(bad, "failed"), (cut, "were cut off at the end")] {
        if let Some(count) = count.filter(|count| *count > 0.0 && !failed) {
            let all = total("total").unwrap_or(count);
            let name = sheet.partial.workload.clone().unwrap_or_default();
            sheet.note(format!("{name}: {count} of {all} requests {word}. They are excluded from latencies"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PartialRun, Record};
    use super::*;
    use sparkbench_model::known_extra;

    fn read(text: &str) -> (PartialRun, Parsed) {
        let mut input = text.as_bytes();
        let mut parsed = GuideLlm.parse(&mut SourceFile::new("b.json", text.len() as u64, &mut input)).unwrap();
        match parsed.records.remove(0) {
            Record::Run(partial) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    fn benchmark(totals: &str, metrics: &str, more: &str) -> String {
        format!(
            r#"{{"benchmarks": [{{"type_": "generative_benchmark", "config": {{"id_": "x", "strategy": {{"type_": "poisson", "rate": 4.0}}, "backend": {{"model": "org/m"}}}},
            "metrics": {{"request_totals": {totals}, {metrics}}}, "start_time": 10.0, "end_time": 12.0 {more}}}]}}"#
        )
    }

    #[test]
    fn a_run_without_a_success_has_no_metric() {
        let zeros =
            r#""request_latency": {"successful": {"mean": 0.0, "max": 0.0, "count": 0, "percentiles": {"p50": 0.0}}}"#;
        let (run, _) = read(&benchmark(r#"{"successful": 0, "errored": 3, "incomplete": 1, "total": 4}"#, zeros, ""));
        assert!(run.readings.is_empty() && matches!(run.status, Some(Status::Failed(_))), "{run:?}");
        assert_eq!((run.setup.requests, run.extras.len()), (Some(4.0), 4));
    }

    #[test]
    fn failures_have_a_name_that_the_check_knows_and_what_a_sweep_measured_is_no_setting() {
        let args = r#", "args": {"profile": {"type_": "concurrent", "streams": [1, 2], "measured_rates": [6.8, 12.7],
            "measured_concurrencies": [0.8, 1.7]}}"#;
        let (run, _) =
            read(&benchmark(r#"{"successful": 2, "errored": 1, "incomplete": 0, "total": 3}"#, r#""x": 1"#, args));
        let named = |names: &[&str]| run.extras.iter().any(|extra| names.contains(&extra.name.as_str()));
        assert!(named(known_extra::FAILED_REQUESTS) && named(known_extra::ANSWERED_REQUESTS), "{:?}", run.extras);
        assert!(run.setup.more.contains_key("profile.streams.1"), "{:?}", run.setup.more);
        assert!(!run.setup.more.keys().any(|name| name.contains("measured")), "{:?}", run.setup.more);
    }

    #[test]
    fn throughput_is_the_mean_over_time_only_where_the_sum_is_missing() {
        let totals = r#"{"successful": 2, "errored": 0, "incomplete": 0, "total": 2}"#;
        let mean = r#""output_tokens_per_second": {"successful": {"mean": 7.0, "count": 9}}"#;
        let sum = r#""output_token_count": {"successful": {"mean": 5.0, "count": 2, "total_sum": 10.0}}"#;
        let throughput = |metrics: &str| {
            let (run, parsed) = read(&benchmark(totals, metrics, r#", "duration": 2.0"#));
            let reading = run.readings.iter().find(|r| r.metric == "output_throughput_tok_s").unwrap();
            (reading.value, reading.origin.rule, parsed.notes.len())
        };
        assert_eq!(throughput(mean), (7.0, RULE, 1));
        assert_eq!(throughput(&format!("{mean}, {sum}")), (5.0, DERIVED, 1));
    }

    #[test]
    fn a_sample_of_the_requests_is_no_series_and_zeros_are_no_latency() {
        let totals = r#"{"successful": 2, "errored": 0, "incomplete": 0, "total": 2}"#;
        let ttft = r#""time_to_first_token_ms": {"successful": {"mean": 0.0, "max": 0.0, "count": 2}}"#;
        let one =
            r#", "requests": {"successful": [{"request_latency": 0.5, "prompt": "a secret"}], "incomplete": null}"#;
        let (run, parsed) = read(&benchmark(totals, ttft, one));
        assert!(run.series.is_empty() && run.readings.is_empty(), "{run:?}");
        assert_eq!(
            (parsed.lists[0].name.as_str(), &parsed.lists[0].values[..]),
            ("requests.successful.request_latency", &[0.5][..])
        );
        assert!(!format!("{run:?}{parsed:?}").contains("secret"));
        assert_eq!((run.workload.as_deref(), run.setup.request_rate), (Some("poisson-r4"), Some(4.0)));
        let two = one.replace("[{", r#"[{"request_latency": 0.25}, {"#);
        let (run, _) = read(&benchmark(totals, ttft, &two));
        assert_eq!(run.series[0].values, [250.0, 500.0]);
    }
}
