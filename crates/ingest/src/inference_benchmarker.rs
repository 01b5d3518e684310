//! Hugging Face `inference-benchmarker`: the report of a sweep.
//!
//! In:  one object.  Out: one partial run for each step. Figures of the warm-up stay with the first.
//! Not here: the machine of the client, above all its name.
//!
//! `inter_token_latency_ms` is one mean for each request and therefore TPOT, not ITL. It divides all gaps by the tokens after the first.
//! Early versions divide by all tokens, or by chunks. Each chunk is tokenised again, so some tokens at the seams of chunks count twice. Early
//! versions cut times to whole milliseconds and had no end-to-end latency. Seen: the reports of late 2024 and of 2025, in the sources.

use super::at::At;
use super::sheet::{self, Sheet};
use super::{About, Format, Head, Parsed, PartialRun, SourceFile, json};
use sparkbench_model::Status;
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct InferenceBenchmarker;

const RULE: &str = "inference-benchmarker";
const DERIVED: &str = "inference-benchmarker.derived";

/// Key, metric.
const RATES: &[(&str, &str)] =
    &[("request_rate", "request_throughput_req_s"), ("token_throughput_secs", "output_throughput_tok_s")];
/// Beginning of a key, metric.
const LATENCIES: &[(&str, &str)] = &[
    ("time_to_first_token_ms_", "ttft_ms"),
    ("inter_token_latency_ms_", "tpot_ms"),
    ("e2e_latency_ms_", "e2e_latency_ms"),
];
/// Key, unit.
const COUNTS: &[(&str, &str)] = &[
    ("total_requests", "requests"),
    ("failed_requests", "requests"),
    ("successful_requests", "requests"),
    ("total_tokens", "tokens"),
    ("total_tokens_sent", "tokens"),
    ("duration_ms", "ms"),
];
const WARMUP: &str = "of the warm-up";

impl Format for InferenceBenchmarker {
    fn name(&self) -> &'static str {
        RULE
    }

    fn about(&self) -> About {
        About {
            tool: "Hugging Face inference-benchmarker",
            versions: "late 2024 (whole milliseconds, no E2E latency) to 2025",
            sign: "an object with `config` and `results` that have `executor_type` and `token_throughput_secs`",
            reads: "throughput, TTFT, TPOT (there called inter-token latency), E2E latency of each step, without the warm-up",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|outline| {
            outline.get("results").is_some_and(|results| {
                results.is_list() && results.has(&["executor_type"]) && results.get("token_throughput_secs").is_some()
            })
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let results = root.need("results")?;
        let mut parsed = Parsed::default();
        let mut partials: Vec<PartialRun> = Vec::new();
        let mut warm = Sheet::new(file, RULE, DERIVED);
        for result in results.items()?.take(sheet::RUNS) {
            if sheet::text_at(&result, "id").is_some_and(|id| id.starts_with("warmup")) {
                warmed(&result, &mut warm);
            } else {
                partials.push(step(file, &root, &result, &mut parsed));
            }
        }
        let warmup = warm.into(&mut parsed).extras;
        if partials.is_empty() {
            let status = Status::Failed("the report has no step besides the warm-up".to_owned());
            partials.push(PartialRun { status: Some(status), ..PartialRun::default() });
        }
        if let Some(first) = partials.first_mut() {
            first.extras.extend(warmup);
        }
        sheet::records(partials, &mut parsed);
        Ok(parsed)
    }
}

/// The figures of the warm-up, as extras.
fn warmed(result: &At<'_>, sheet: &mut Sheet<'_, '_>) {
    for (key, at) in result.entries().into_iter().flatten() {
        let unit = match key {
            "token_throughput_secs" => "tok/s",
            "request_rate" => "req/s",
            _ if key.contains("_ms") => "ms",
            _ => COUNTS.iter().find(|(name, _)| *name == key).map_or("", |(_, unit)| *unit),
        };
        if matches!(at.node.kind, json::Kind::Number(_)) {
            sheet.extra(&at, &format!("warmup.{}", key.replacen("_ms", "", 1)), unit, Some(WARMUP));
        } else if key == "config" {
            sheet.leaf(&at, "warmup.config", Some(WARMUP));
        }
    }
}

fn step(file: &SourceFile<'_>, root: &At<'_>, result: &At<'_>, parsed: &mut Parsed) -> PartialRun {
    let mut sheet = Sheet::new(file, RULE, DERIVED);
    let count = |key: &str| sheet::number_at(result, key);
    labels(root, result, &mut sheet);
    let (good, failed) = (count("successful_requests"), count("failed_requests"));
    let nothing = good == Some(0.0);
    sheet.partial.status = sheet::outcome(good, failed);
    for (key, at) in result.entries().into_iter().flatten() {
        let latency = LATENCIES.iter().find_map(|(start, metric)| Some((*metric, key.strip_prefix(start)?)));
        let rate = RATES.iter().find(|(name, _)| *name == key);
        if let Some((_, unit)) = COUNTS.iter().find(|(name, _)| *name == key) {
            sheet.extra(&at, key.strip_suffix("_ms").unwrap_or(key), unit, None);
        } else if let Some((metric, statistic)) = latency {
            match sheet::suffix(statistic) {
                _ if nothing => {}
                Some(suffix) => {
                    sheet.metric(&at, &format!("{metric}{suffix}"));
                }
                None => sheet.extra(&at, &key.replacen("_ms_", "_", 1), "ms", None),
            }
        } else if let Some((_, metric)) = rate {
            if !nothing {
                sheet.metric(&at, metric);
            }
        } else if !matches!(key, "id" | "executor_type" | "config") {
            sheet.leaf(&at, key, None);
        }
    }
    let tokens = count("total_tokens").zip(count("total_tokens_sent")).map(|(output, input)| output + input);
    let seconds = count("duration_ms").filter(|ms| *ms > 0.0).map(|ms| ms / 1000.0);
    if let (Some(tokens), Some(seconds), Some(at), false) = (tokens, seconds, result.get("total_tokens_sent"), nothing)
    {
        sheet.derive(&at, "total_throughput_tok_s", tokens / seconds);
    }
    if let Some(failed) = failed.filter(|_| !nothing) {
        sheet.failures(failed, failed + good.unwrap_or(0.0));
    }
    sheet.into(parsed)
}

fn labels(root: &At<'_>, result: &At<'_>, sheet: &mut Sheet<'_, '_>) {
    sheet.partial.setup.tool = Some(RULE.to_owned());
    sheet.partial.setup.requests = sheet::number_at(result, "total_requests");
    let kind = sheet::text_at(result, "executor_type");
    let mut load = None;
    if let Some(config) = result.get("config") {
        let (users, rate) = (sheet::number_at(&config, "max_vus"), sheet::number_at(&config, "rate"));
        sheet.partial.setup.batch = users;
        sheet.partial.setup.request_rate = rate;
        // The tool names its steps by rates of two digits.
        load = rate.map(|rate| format!("r{rate:.2}")).or_else(|| sheet::load(users, None));
        sheet.settings_but(&config, "", &[]);
    }
    if let Some(kind) = kind {
        sheet.setting("executor_type", kind);
    }
    if let Some(config) = root.get("config") {
        let length = |key: &str| sheet::number_at(&config.get(key)?, "num_tokens");
        let setup = &mut sheet.partial.setup;
        (setup.isl, setup.osl) = (length("prompt_options"), length("decode_options"));
        if let Some(id) = sheet::text_at(&config, "model_name").or_else(|| sheet::text_at(&config, "tokenizer")) {
            sheet.model(&id);
        }
        const GROUPS: &[&str] = &["prompt_options", "decode_options", "meta"];
        for key in GROUPS {
            if let Some(at) = config.get(key) {
                sheet.settings_but(&at, &format!("{key}."), &[]);
            }
        }
        sheet.settings_but(&config, "config.", &[GROUPS, &["run_id"]].concat());
    }
    let setup = &sheet.partial.setup;
    sheet.partial.workload = sheet::cell(None, setup.isl, setup.osl, load);
    // The report begins with the warm-up and ends with the last step. When a step began is not said.
    sheet.settings_of(root, "report.", &["start_time", "end_time"]);
    if let Some(system) = root.get("system") {
        sheet.settings_of(&system, "client.", &["memory", "os_name", "os_version", "kernel"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn a_step_is_a_run_and_the_warm_up_is_none() {
        let text = r#"{"config": {"max_vus": 8, "model_name": "org/m", "prompt_options": {"num_tokens": 200}, "decode_options": {"num_tokens": 100}, "rates": null},
          "results": [
            {"id": "warmup", "executor_type": "ConstantVUs", "config": {"max_vus": 1}, "token_throughput_secs": 1.0, "successful_requests": 1, "failed_requests": 0},
            {"id": "constant@1.50req/s", "executor_type": "ConstantArrivalRate", "config": {"max_vus": 8, "duration_secs": 60, "rate": 1.5},
             "total_requests": 10, "total_tokens": 1000, "token_throughput_secs": 100.0, "duration_ms": 10000, "time_to_first_token_ms_avg": 20.5,
             "inter_token_latency_ms_p90": 5.25, "e2e_latency_ms_p95": 700, "failed_requests": 1, "successful_requests": 9, "request_rate": 0.9, "total_tokens_sent": 1800}],
          "start_time": "2025-02-01T10:00:00.5+00:00", "end_time": "2025-02-01T10:02:00+00:00", "system": {"hostname": "secret-box", "memory": "1 GB"}}"#;
        let mut input = text.as_bytes();
        let parsed = InferenceBenchmarker.parse(&mut SourceFile::new("r.json", text.len() as u64, &mut input)).unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let mut found: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        found.sort_by(|a, b| a.0.cmp(b.0));
        assert_eq!(
            found,
            [
                ("e2e_latency_ms_p95", 700.0),
                ("output_throughput_tok_s", 100.0),
                ("request_throughput_req_s", 0.9),
                ("total_throughput_tok_s", 280.0),
                ("tpot_ms_p90", 5.25),
                ("ttft_ms", 20.5)
            ]
        );
        assert_eq!((partial.workload.as_deref(), partial.setup.request_rate), (Some("200-100-r1.50"), Some(1.5)));
        assert!(partial.extras.iter().any(|extra| extra.name.starts_with("warmup.") && extra.why == Some(WARMUP)));
        assert!(!format!("{parsed:?}").contains("secret-box"));
        assert_eq!(parsed.notes, ["1 of 10 requests failed. They are excluded from latencies"]);
    }
}
