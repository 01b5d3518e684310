//! LLMPerf (`token_benchmark_ray.py`): the summary of a run.
//!
//! In:  one flat object, or an object that holds several under names.  Out: one partial run for each.
//! Not here: its requests (`*_individual_responses.json`), which are kept and not read.
//!
//! `inter_token_latency_s` is the time of the whole request over its output tokens, so the time to the first token is in it. It is neither TPOT
//! nor ITL, and is kept beside the metrics. Tokens are those of one fixed tokenizer, whatever the model. `timestamp` is the moment of writing.
//! Seen: files of 2024, whose `version` is `2023-08-31`.

use super::at::At;
use super::serving::warm_up;
use super::sheet::{self, Scale, Sheet};
use super::{About, Format, Head, Parsed, PartialRun, SourceFile, json};
use sparkbench_model::Instant;
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct LlmPerf;

const RULE: &str = "llmperf";
const DERIVED: &str = "llmperf.derived";

/// Keys that every summary has.
const SIGNS: &[&str] = &["num_concurrent_requests", "results_ttft_s_mean", "results_num_completed_requests"];

/// Why the time that the tool calls inter-token latency is no metric.
const WITH_FIRST: &str = "the whole request over its output tokens, the time to the first token among it";
/// Why the rate of requests is no throughput.
const PER_REQUEST: &str = "output tokens over the time of the whole request, one figure a request";

/// Beginning of a key, metric, name and unit beside the metrics, why.
type KeyFamily = (&'static str, Option<&'static str>, &'static str, &'static str, Option<&'static str>);

const FAMILIES: &[KeyFamily] = &[
    ("results_ttft_s_", Some("ttft_ms"), "ttft", "s", None),
    ("results_end_to_end_latency_s_", Some("e2e_latency_ms"), "end_to_end_latency", "s", None),
    ("results_inter_token_latency_s_", None, "inter_token_latency", "s", Some(WITH_FIRST)),
    ("results_request_output_throughput_token_per_s_", None, "request_output_throughput", "tok/s", Some(PER_REQUEST)),
    ("results_number_input_tokens_", None, "number_input_tokens", "tokens", None),
    ("results_number_output_tokens_", None, "number_output_tokens", "tokens", None),
];

/// Keys that are read one by one, or say nothing.
const TAKEN: &[&str] = &[
    "version",
    "name",
    "model",
    "mean_input_tokens",
    "mean_output_tokens",
    "num_concurrent_requests",
    "timestamp",
    "results_mean_output_throughput_token_per_s",
    "results_num_requests_started",
    "results_num_completed_requests",
    "results_num_completed_requests_per_min",
    "results_number_errors",
    "results_error_rate",
    "results_error_code_frequency",
];

impl Format for LlmPerf {
    fn name(&self) -> &'static str {
        RULE
    }

    fn about(&self) -> About {
        About {
            tool: "LLMPerf, token_benchmark_ray.py",
            versions: "2024, version 2023-08-31 of its summary",
            sign: "an object with `num_concurrent_requests`, `results_ttft_s_mean` and `results_num_completed_requests`, or one that holds such",
            reads: "throughput, TTFT, E2E latency, lengths, load. Its inter-token latency holds the first token and is kept beside",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|outline| {
            let first = outline.keys().first().and_then(|key| outline.get(key));
            outline.has(SIGNS) || first.is_some_and(|inner| inner.has(SIGNS))
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let mut partials: Vec<PartialRun> = Vec::new();
        let summaries: Vec<At<'_>> = match is_summary(&root) {
            true => vec![root],
            false => root.entries()?.map(|(_, inner)| inner).filter(is_summary).take(sheet::RUNS).collect(),
        };
        for summary in &summaries {
            match warm_up::note(summary) {
                Some(note) if !parsed.notes.contains(&note) => parsed.notes.push(note),
                Some(_) => {}
                None => partials.push(run(file, summary, &mut parsed)),
            }
        }
        if summaries.is_empty() {
            return Err(Error::archive("it holds no summary of a run"));
        }
        sheet::records(partials, &mut parsed);
        Ok(parsed)
    }
}

fn is_summary(at: &At<'_>) -> bool {
    SIGNS.iter().all(|key| at.get(key).is_some())
}

fn run(file: &SourceFile<'_>, root: &At<'_>, parsed: &mut Parsed) -> PartialRun {
    let mut sheet = Sheet::new(file, RULE, DERIVED);
    let count = |key: &str| sheet::number_at(root, key);
    let (completed, failed) = (count("results_num_completed_requests"), count("results_number_errors"));
    let nothing = completed == Some(0.0);
    sheet.partial.status = sheet::outcome(completed, failed);
    let setup = &mut sheet.partial.setup;
    setup.tool = Some(RULE.to_owned());
    setup.batch = count("num_concurrent_requests");
    (setup.isl, setup.osl) = (count("mean_input_tokens"), count("mean_output_tokens"));
    setup.requests = count("results_num_requests_started");
    sheet.partial.workload = sheet::cell(None, setup.isl, setup.osl, sheet::load(setup.batch, None));
    // Seconds that fit a moment: of a wild figure nothing is made.
    let ended = count("timestamp").filter(|seconds| (0.0..1.0e11).contains(seconds));
    sheet.partial.ended = ended.map(|seconds| Instant((seconds * 1000.0) as i64));
    if let Some(id) = sheet::text_at(root, "model") {
        sheet.model(&id);
    }
    let mut taken: Vec<&str> = TAKEN.to_vec();
    for (key, at) in root.entries().into_iter().flatten() {
        let family = FAMILIES.iter().find_map(|family| Some((family, key.strip_prefix(family.0)?)));
        let Some(((_, metric, name, unit, why), statistic)) = family else { continue };
        taken.push(key);
        let statistic = statistic.strip_prefix("quantiles_").unwrap_or(statistic);
        match metric.zip(sheet::suffix(statistic)) {
            _ if nothing => {}
            Some((metric, suffix)) => {
                sheet.scaled(&at, &format!("{metric}{suffix}"), Scale::Seconds);
            }
            None => sheet.extra(&at, &format!("{name}_{statistic}"), unit, *why),
        }
    }
    if !nothing {
        if let Some(at) = root.get("results_mean_output_throughput_token_per_s") {
            sheet.metric(&at, "output_throughput_tok_s");
        }
        if let (Some(a_minute), Some(at)) =
            (count("results_num_completed_requests_per_min"), root.get("results_num_completed_requests_per_min"))
        {
            sheet.derive(&at, "request_throughput_req_s", a_minute / 60.0);
        }
    }
    sheet.extras(
        root,
        &[
            ("results_num_completed_requests", "requests", None),
            ("results_number_errors", "requests", None),
            ("results_error_rate", "", None),
        ],
    );
    if let (Some(failed), false) = (failed, nothing) {
        sheet.failures(failed, failed + completed.unwrap_or(0.0));
    }
    sheet.rest(root, &taken, None);
    sheet.into(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use sparkbench_model::Status;

    const SUMMARY: &str = r#"{"version": "2023-08-31", "name": "m_550_150_summary", "model": "org/m-8b", "mean_input_tokens": 550, "stddev_input_tokens": 0,
        "mean_output_tokens": 150, "stddev_output_tokens": 0, "num_concurrent_requests": 5, "additional_sampling_params": "{}",
        "results_inter_token_latency_s_quantiles_p50": 0.0118, "results_inter_token_latency_s_mean": 0.01215,
        "results_ttft_s_quantiles_p25": 0.19336, "results_ttft_s_quantiles_p50": 0.2417, "results_ttft_s_quantiles_p99": 0.41089,
        "results_ttft_s_mean": 0.24895, "results_ttft_s_max": 0.43506, "results_end_to_end_latency_s_mean": 1.8437,
        "results_request_output_throughput_token_per_s_mean": 86.314, "results_number_output_tokens_mean": 154.5,
        "results_num_requests_started": 50, "results_error_rate": 0.0, "results_number_errors": 0, "results_error_code_frequency": "{}",
        "results_mean_output_throughput_token_per_s": 335.4, "results_num_completed_requests": 50,
        "results_num_completed_requests_per_min": 134.2, "timestamp": 1772360000}"#;

    fn read(text: &str) -> (Vec<PartialRun>, Parsed) {
        assert!(LlmPerf.sniff(&Head::new("m_550_150_summary.json", text, 1)), "{text}");
        let mut input = text.as_bytes();
        let mut parsed = LlmPerf.parse(&mut SourceFile::new("s.json", text.len() as u64, &mut input)).unwrap();
        let partials = parsed.records.drain(..).filter_map(|r| if let Record::Run(p) = r { Some(*p) } else { None });
        (partials.collect(), parsed)
    }

    /// Issue 32, case 17.
    #[test]
    fn a_summary_is_a_run_and_its_inter_token_latency_is_no_metric() {
        let (partials, parsed) = read(SUMMARY);
        let [partial] = partials.as_slice() else { panic!("{partials:?}") };
        let mut found: Vec<(&str, f64)> =
            partial.readings.iter().map(|r| (r.metric.as_str(), (r.value * 1000.0).round() / 1000.0)).collect();
        found.sort_by(|a, b| a.0.cmp(b.0));
        assert_eq!(
            found,
            [
                ("e2e_latency_ms", 1843.7),
                ("output_throughput_tok_s", 335.4),
                ("request_throughput_req_s", 2.237),
                ("ttft_ms", 248.95),
                ("ttft_ms_max", 435.06),
                ("ttft_ms_p50", 241.7),
                ("ttft_ms_p99", 410.89)
            ]
        );
        let beside = partial.extras.iter().find(|extra| extra.name == "inter_token_latency_mean").unwrap();
        assert_eq!((beside.unit.as_str(), beside.why), ("s", Some(WITH_FIRST)));
        assert_eq!((partial.model.as_deref(), partial.workload.as_deref()), (Some("m-8b"), Some("550-150-c5")));
        assert_eq!(partial.ended.unwrap().iso(), "2026-03-01T10:13:20Z");
        assert_eq!((&partial.status, parsed.left_out.len()), (&Some(Status::Done), 0));
    }

    #[test]
    fn several_summaries_under_names_are_several_runs() {
        let (partials, _) =
            read(&format!("{{\"1\": {SUMMARY}, \"2\": {}}}", SUMMARY.replace("requests\": 5,", "requests\": 8,")));
        let cells: Vec<_> = partials.iter().map(|partial| partial.workload.as_deref()).collect();
        assert_eq!(cells, [Some("550-150-c5"), Some("550-150-c8")]);
    }

    #[test]
    fn a_summary_whose_metadata_calls_it_a_warm_up_is_no_run() {
        let (partials, parsed) =
            read(&format!("{{\"1\": {SUMMARY}, \"2\": {}}}", SUMMARY.replacen('{', "{\"type\": \"warmup\", ", 1)));
        assert_eq!((partials.len(), parsed.notes), (1, vec![warm_up::said_by("type")]));
    }

    #[test]
    fn zeros_of_a_run_without_an_answer_measure_nothing() {
        let (partials, _) = read(
            &SUMMARY
                .replace("completed_requests\": 50", "completed_requests\": 0")
                .replace("errors\": 0", "errors\": 50"),
        );
        assert_eq!(partials[0].readings.len(), 0);
        assert_eq!(partials[0].status, Some(Status::Failed("all 50 requests failed".to_owned())));
    }
}
