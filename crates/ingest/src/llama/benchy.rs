//! `llama-benchy --format json`: one pass of prompt and generation a run.
//!
//! In:  one object with `benchmarks`.  Out: a run for each, the passes that only fill the context apart.
//! Not here: its tables (see `log::llama_benchy`) and its CSV (see `benchy_csv`).
//!
//! Rates are those of the decode phase: tokens after the first over the time after the first. `tg_throughput` is that of all requests
//! together, `tg_req_throughput` of one. `ttfr` is to the first chunk, whatever is in it. `e2e_ttft` is our TTFT. Older releases counted
//! chunks as tokens. Seen: 0.2.2 to 0.4.0.

use super::super::at::At;
use super::super::json::{self, Kind};
use super::super::sheet::{Sheet, bool_at, number_at, raw_at, text_at};
use super::super::{About, Format, Head, JoinRole, Parsed, SourceFile};
use super::passes::{MEASURES, PREFILL_RATE};
use super::{ContextPart, Test, benchy_mark};
use sparkbench_model::Status;
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct LlamaBenchy;

const RULE: &str = "llama-benchy";
const DERIVED: &str = "llama-benchy.derived";

impl Format for LlamaBenchy {
    fn name(&self) -> &'static str {
        "llama-benchy"
    }

    fn about(&self) -> About {
        About {
            tool: "llama-benchy --format json",
            versions: "0.2.2 to 0.4.0, older ones count chunks as tokens",
            sign: "an object with `latency_mode` and `benchmarks` that have `pp_throughput` or `tg_throughput`",
            reads: "a run for each pass: output throughput, decode rate, TPOT, TTFT with every request, prefill rate",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(object) = head.object() else { return false };
        object.get("benchmarks").is_some_and(|list| {
            list.is_list()
                && (list.get("tg_throughput").or_else(|| list.get("pp_throughput")).is_some()
                    && (object.get("latency_mode").is_some() || list.get("response_size").is_some()))
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        for benchmark in root.need("benchmarks")?.items()? {
            let mut sheet = Sheet::new(file, RULE, DERIVED);
            one(&mut sheet, &root, &benchmark);
            sheet.finish(&mut parsed);
        }
        Ok(parsed)
    }
}

fn one(sheet: &mut Sheet<'_, '_>, root: &At<'_>, benchmark: &At<'_>) {
    let count = |key: &str| number_at(benchmark, key).map(|value| value.max(0.0) as u64);
    let context = bool_at(benchmark, "is_context_prefill_phase") == Some(true);
    let test = Test {
        prompt: count("prompt_size").filter(|_| !context),
        generated: count("response_size").filter(|_| !context),
        depth: count("context_size").unwrap_or(0),
        concurrency: count("concurrency"),
        context: context.then_some(ContextPart::Prompt),
    };
    sheet.partial.workload = Some(test.workload());
    let alone = test.concurrency.is_none_or(|count| count <= 1) && benchmark.get("pp_req_throughput").is_none();
    for (key, metric, unit, why) in MEASURES {
        let Some(measure) = benchmark.get(key) else { continue };
        let metric = if *key == "pp_throughput" && alone { &Some(PREFILL_RATE) } else { metric };
        if let Some(mean) = measure.get("mean") {
            match metric {
                Some(metric) => {
                    let value = sheet.metric(&mean, metric);
                    if let Some(rate) = value.filter(|rate| *metric == "decode_tok_s" && *rate > 0.0) {
                        sheet.derive(&mean, "tpot_ms", 1000.0 / rate);
                    }
                }
                None => sheet.extra(&mean, key, unit, *why),
            }
        }
        if let Some(std) = measure.get("std") {
            sheet.extra(&std, &format!("{key}_std"), unit, None);
        }
        if let Some(values) = measure.get("values") {
            match metric {
                Some(metric) => sheet.series_at(&values, metric, 1.0, false),
                None => sheet.list_at(&values, &format!("{}.{key}", test.workload())),
            }
        }
    }
    for key in ["throughput_over_time", "requests_throughput_over_time"] {
        if let Some(runs) = benchmark.get(key) {
            over_time(sheet, &format!("{}.{key}", test.workload()), &runs);
        }
    }
    if let Some(latency) = root.get("latency_ms") {
        sheet.extra(&latency, "latency_ms", "ms", Some("of the network, as measured before the run"));
    }
    let number = |key: &str| number_at(benchmark, [key, "mean"]);
    let model = raw_at(root, "model");
    let (rate, ttft) = (number("tg_throughput"), number("e2e_ttft"));
    let requests = ["e2e_ttft", "ttfr", "tg_req_throughput"].iter().find_map(|key| {
        let measure = benchmark.get(key)?;
        let values = measure.get("values")?;
        values.items().ok().map(|items| items.count() as f64)
    });
    if let Some(model) = &model {
        sheet.model(model);
    }
    let partial = &mut sheet.partial;
    partial.fingerprint = Some(benchy_mark(model.as_deref().unwrap_or_default(), &test, rate, ttft));
    if let Some(time) = text_at(root, "timestamp") {
        partial.started_as(&time);
    }
    partial.join_role = JoinRole::Body;
    let measured = MEASURES.iter().any(|(key, ..)| number(key).is_some());
    partial.status = Some(if measured { Status::Done } else { Status::Failed("no request gave a token".to_owned()) });
    let setup = &mut partial.setup;
    setup.tool = Some("llama-benchy".to_owned());
    setup.tool_version = text_at(root, "version");
    setup.batch = number_at(benchmark, "concurrency");
    setup.isl = number_at(benchmark, "prompt_size");
    setup.osl = number_at(benchmark, "response_size");
    setup.requests = requests;
    // The flag means that a filled context is asked for again. Without it the server may cache all the same.
    setup.prefix_cache = bool_at(root, "prefix_caching_enabled").filter(|cached| *cached);
    sheet.settings_of(root, "", &["latency_mode", "prefix_caching_enabled", "max_concurrency"]);
    sheet.settings_of(benchmark, "", &["context_size", "is_context_prefill_phase"]);
}

/// Pairs of time and rate, a list of each for every run, however deep they lie.
fn over_time(sheet: &mut Sheet<'_, '_>, name: &str, at: &At<'_>) {
    let Kind::List(items) = &at.node.kind else { return };
    let is_pair = |kind: &Kind<'_>| matches!(kind, Kind::List(pair) if pair.len() == 2 && pair.iter().all(|n| matches!(n.kind, Kind::Number(_))));
    if !items.is_empty() && items.iter().all(|item| is_pair(&item.kind)) {
        let part = |place: usize| -> Vec<f64> {
            let pairs = at.items().into_iter().flatten();
            pairs.filter_map(|pair| pair.items().ok()?.nth(place)?.figure().ok().map(|figure| figure.value)).collect()
        };
        sheet.list(&format!("{name}.seconds"), part(0));
        sheet.list(&format!("{name}.tok_s"), part(1));
        return;
    }
    for (place, inner) in at.items().into_iter().flatten().enumerate() {
        over_time(sheet, &format!("{name}.{place}"), &inner);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Record;
    use super::*;

    #[test]
    fn a_pass_that_fills_the_context_stands_apart_and_null_is_nothing() {
        let text = r#"{"version": "0.4.0", "timestamp": "2026-02-07 19:09:00Z", "latency_mode": "api", "latency_ms": 1.5, "model": "org/m",
          "prefix_caching_enabled": true, "max_concurrency": 2, "benchmarks": [
          {"concurrency": 2, "context_size": 4096, "prompt_size": 512, "response_size": 32, "is_context_prefill_phase": true,
           "pp_throughput": {"mean": 900.0, "std": 1.0, "values": [899, 901]}, "tg_throughput": null},
          {"concurrency": 2, "context_size": 4096, "prompt_size": 512, "response_size": 32, "is_context_prefill_phase": false,
           "tg_throughput": {"mean": 50.0, "std": 0.5, "values": [49.5, 50.5]}, "tg_req_throughput": {"mean": 25.0, "std": 0.1, "values": [25.0]},
           "ttfr": {"mean": 9.0, "std": 0.0, "values": [9.0]}, "e2e_ttft": {"mean": 10.0, "std": 0.0, "values": [9.0, 11.0]},
           "throughput_over_time": [[[0.0, 1.0], [0.5, 2.0]]]}]}"#;
        let mut input = text.as_bytes();
        let parsed = LlamaBenchy.parse(&mut SourceFile::new("r.json", text.len() as u64, &mut input)).unwrap();
        let [Record::Run(fills), Record::Run(run)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        assert_eq!(
            (fills.workload.as_deref(), run.workload.as_deref()),
            (Some("ctx-d4096-c2"), Some("pp512-tg32-d4096-c2"))
        );
        assert_eq!(
            (fills.readings.len(), &fills.status, fills.extras[0].name.as_str()),
            (0, &Some(Status::Done), "pp_throughput")
        );
        let found: Vec<(&str, f64)> = run.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(
            found,
            [("output_throughput_tok_s", 50.0), ("decode_tok_s", 25.0), ("tpot_ms", 40.0), ("ttft_ms", 10.0)]
        );
        assert_eq!(run.fingerprint.as_deref(), Some("llama-benchy|org/m|pp512-tg32-d4096-c2|50.00|10.00"));
        assert_eq!(parsed.lists.iter().filter(|list| list.name.contains("over_time")).count(), 2);
    }
}
