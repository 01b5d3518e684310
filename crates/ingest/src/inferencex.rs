//! InferenceX (InferenceMAX): results that its runner keeps of a serving benchmark.
//!
//! In:  one flat object, or a list of them.  Out: one partial run for each object.
//! Not here: the full result of the benchmark itself.
//!
//! The keys are those of `vllm bench serve` without `_ms`, and times are in **seconds**. The total throughput is missing and is derived.
//! Seen: results of 2026 (`median_` and `p99_` only, `date`, `max_concurrency`). Also aggregates (`hw`, `tp`, `conc`, rates by GPU). There
//! `intvty` is tokens per second for one user, which is 1 / TPOT.

use super::at::At;
use super::sheet::{self, ExtraOf, Scale, Sheet};
use super::{About, Format, Head, Parsed, PartialRun, SourceFile, json};
use sparkbench_model::Instant;
use sparkbench_text::error::Error;
use sparkbench_text::slug::slug;

/// See the module.
pub(super) struct InferenceX;

const RULE: &str = "inferencex";
const DERIVED: &str = "inferencex.derived";

/// Latencies as the keys name them, and as metrics.
const LATENCIES: &[(&str, &str)] =
    &[("_ttft", "ttft_ms"), ("_tpot", "tpot_ms"), ("_itl", "itl_ms"), ("_e2el", "e2e_latency_ms")];
/// Key, metric.
const RATES: &[(&str, &str)] = &[
    ("request_throughput", "request_throughput_req_s"),
    ("output_throughput", "output_throughput_tok_s"),
    ("total_token_throughput", "total_throughput_tok_s"),
];
/// Figures that are not among our metrics: key, unit, why.
const EXTRAS: &[ExtraOf<'_>] = &[
    ("duration", "s", None),
    ("completed", "requests", None),
    ("good_completed", "requests", Some("requests within limits that the file does not say")),
    ("request_goodput", "req/s", Some("within limits that the file does not say")),
    ("total_input_tokens", "tokens", None),
    ("total_output_tokens", "tokens", None),
    ("input_throughput", "tok/s", Some("input tokens alone")),
    ("burstiness", "", None),
    ("tput_per_gpu", "tok/s", Some("input and output tokens, of one GPU")),
    ("output_tput_per_gpu", "tok/s", Some("of one GPU")),
    ("input_tput_per_gpu", "tok/s", Some("input tokens, of one GPU")),
];
const INTERACTIVITY: &str = "tokens a second for one user: one by TPOT";
/// Keys that were converted. A server's address is private.
const TAKEN: &[&str] = &[
    "date",
    "model_id",
    "model",
    "tokenizer_id",
    "request_rate",
    "max_concurrency",
    "conc",
    "num_prompts",
    "hw",
    "framework",
    "precision",
];

impl Format for InferenceX {
    fn name(&self) -> &'static str {
        "inferencex"
    }

    fn about(&self) -> About {
        About {
            tool: "InferenceX (InferenceMAX) result files",
            versions: "results and aggregates of 2025 and 2026",
            sign: "an object with `median_ttft` or `p99_ttft` (no `_ms`) and a concurrency, or rates by GPU",
            reads: "rates, latencies in seconds as milliseconds, shape, load, hardware labels",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(outline) = head.object().or_else(|| head.list()) else { return false };
        let any = |keys: &[&str]| keys.iter().any(|key| outline.get(key).is_some());
        any(&["median_ttft", "p99_ttft", "mean_ttft"])
            && any(&["max_concurrency", "conc", "tput_per_gpu"])
            && !any(&["median_ttft_ms", "stats", "metrics"])
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let mut partials = Vec::new();
        match root.items() {
            Ok(items) => partials.extend(items.take(sheet::RUNS).map(|item| run(file, &item, &mut parsed))),
            Err(_) => partials.push(run(file, &root, &mut parsed)),
        }
        sheet::records(partials, &mut parsed);
        Ok(parsed)
    }
}

fn run(file: &SourceFile<'_>, root: &At<'_>, parsed: &mut Parsed) -> PartialRun {
    let mut sheet = Sheet::new(file, RULE, DERIVED);
    let count = |key: &str| sheet::number_at(root, key);
    labels(root, &mut sheet);
    sheet.extras(root, EXTRAS);
    let mut taken: Vec<&str> = TAKEN.to_vec();
    taken.extend(EXTRAS.iter().map(|(key, ..)| *key).chain(RATES.iter().map(|(key, _)| *key)));
    let failed = count("completed") == Some(0.0);
    if !failed {
        sheet.rates(root, RATES);
        let rates = count("input_throughput").zip(count("output_throughput"));
        if let (Some((input, output)), Some(at)) = (rates, root.get("input_throughput")) {
            sheet.derive(&at, "total_throughput_tok_s", input + output);
        }
    }
    sheet.partial.status = sheet::outcome(count("completed"), None);
    for (key, at) in root.entries().into_iter().flatten() {
        if let Some((ending, metric)) = LATENCIES.iter().find(|(ending, _)| key.ends_with(ending)) {
            taken.push(key);
            match key.strip_suffix(ending).and_then(sheet::suffix) {
                _ if failed => {}
                Some(suffix) => {
                    sheet.scaled(&at, &format!("{metric}{suffix}"), Scale::Seconds);
                }
                None => sheet.extra(&at, key, "s", None),
            }
        } else if key.ends_with("_intvty") {
            taken.push(key);
            sheet.extra(&at, key, "tok/s", Some(INTERACTIVITY));
        }
    }
    sheet.rest(root, &taken, None);
    if let (Some(completed), Some(all)) = (count("completed"), count("num_prompts")) {
        sheet.failures(all - completed, all);
    }
    sheet.into(parsed)
}

fn labels(root: &At<'_>, sheet: &mut Sheet<'_, '_>) {
    let (count, text) = (|key: &str| sheet::number_at(root, key), |key: &str| sheet::text_at(root, key));
    let mean = |key: &str| {
        count(key).zip(count("completed").filter(|n| *n > 0.0)).map(|(tokens, completed)| tokens / completed)
    };
    let model = text("model_id").or_else(|| text("model"));
    let rate = root.get("request_rate").and_then(|at| at.figure().ok()).map(|figure| figure.value);
    let setup = &mut sheet.partial.setup;
    setup.tool = Some(RULE.to_owned());
    setup.batch = count("max_concurrency").or_else(|| count("conc"));
    setup.request_rate = rate.filter(|rate| !rate.is_nan());
    setup.requests = count("num_prompts").or_else(|| count("completed"));
    setup.isl = count("isl").or_else(|| mean("total_input_tokens"));
    setup.osl = count("osl").or_else(|| mean("total_output_tokens"));
    setup.machine = text("hw").or_else(|| text("device"));
    setup.engine = text("framework");
    setup.quantisation = text("precision");
    let parts: Vec<String> =
        ["tp", "ep"].iter().filter_map(|key| count(key).map(|n| format!("{key}{}", sheet::short(n)))).collect();
    setup.parallel = (!parts.is_empty()).then(|| parts.join(" "));
    let mut cell: Vec<String> = [setup.isl, setup.osl].into_iter().flatten().map(|n| sheet::short(n.round())).collect();
    cell.extend(setup.batch.map(|n| format!("c{}", sheet::short(n))));
    cell.extend(setup.request_rate.filter(|rate| rate.is_finite()).map(|rate| format!("r{}", sheet::short(rate))));
    sheet.partial.workload = (!cell.is_empty()).then(|| slug(&cell.join("-")));
    if let Some(id) = model {
        sheet.model(&id);
    }
    if let Some(tokenizer) = text("tokenizer_id") {
        sheet.setting("tokenizer_id", tokenizer);
    }
    // The date is that of writing, in the clock of the client. The run began its duration earlier.
    let ended = text("date").and_then(|date| Instant::parse(&date.replace('-', "_")));
    sheet.partial.ended = ended;
    let lasted = count("duration");
    let started = ended.zip(lasted).map(|(at, seconds)| Instant(at.0.saturating_sub((seconds * 1000.0) as i64)));
    sheet.partial.started_somewhere(started);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use sparkbench_model::Status;

    fn read(text: &str) -> (Vec<PartialRun>, Parsed) {
        let mut input = text.as_bytes();
        let mut parsed = InferenceX.parse(&mut SourceFile::new("r.json", text.len() as u64, &mut input)).unwrap();
        let partials = parsed.records.drain(..).filter_map(|r| if let Record::Run(p) = r { Some(*p) } else { None });
        (partials.collect(), parsed)
    }

    #[test]
    fn seconds_become_milliseconds_and_the_total_is_derived() {
        let (partials, _) = read(
            r#"{"date": "20260213-075419", "model_id": "org/m", "num_prompts": 10, "request_rate": "inf", "max_concurrency": 4, "duration": 2.0,
               "completed": 10, "total_input_tokens": 100, "total_output_tokens": 50, "input_throughput": 50.0, "output_throughput": 25.0,
               "median_ttft": 0.5, "p99_e2el": 2.25, "std_tpot": 0.001}"#,
        );
        let partial = &partials[0];
        let found: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(
            found,
            [
                ("output_throughput_tok_s", 25.0),
                ("total_throughput_tok_s", 75.0),
                ("ttft_ms_p50", 500.0),
                ("e2e_latency_ms_p99", 2250.0)
            ]
        );
        assert_eq!(partial.workload.as_deref(), Some("10-5-c4"));
        assert_eq!((partial.model.as_deref(), partial.setup.request_rate), (Some("m"), Some(f64::INFINITY)));
        assert_eq!(partial.started.unwrap().iso(), "2026-02-13T07:54:17Z");
        assert!(partial.extras.iter().any(|extra| extra.name == "std_tpot" && extra.unit == "s"));
    }

    #[test]
    fn an_aggregate_keeps_rates_by_gpu_as_what_they_are() {
        let (partials, _) = read(
            r#"[{"hw": "h200", "tp": 8, "conc": 64, "model": "org/m", "framework": "vllm", "precision": "fp8", "isl": 1024, "osl": 1024,
                "tput_per_gpu": 1000.5, "mean_ttft": 0.1, "mean_tpot": 0.02, "mean_intvty": 50.0}]"#,
        );
        let partial = &partials[0];
        assert_eq!((partial.setup.machine.as_deref(), partial.setup.parallel.as_deref()), (Some("h200"), Some("tp8")));
        assert_eq!(partial.readings.len(), 2);
        assert_eq!(partial.extras.iter().filter(|extra| extra.why.is_some()).count(), 2);
        assert_eq!(partial.status, None);
    }

    #[test]
    fn a_run_without_an_answer_has_failed_and_measured_nothing() {
        let (partials, _) =
            read(r#"{"max_concurrency": 1, "completed": 0, "median_ttft": 0.0, "output_throughput": 0.0}"#);
        assert!(partials[0].readings.is_empty() && matches!(partials[0].status, Some(Status::Failed(_))));
    }
}
