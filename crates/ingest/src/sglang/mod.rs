//! `sglang.bench_serving --output-file`: one object for each run, appended to the file, so a file holds any number of them.
//!
//! In:  JSON Lines (or a list, or objects printed over several lines).  Out: one partial run for each, with the server's information (see
//! `server`) and the requests of `--output-details` (see `details`).
//! Not here: the console block.
//!
//! A line carries the whole `server_info` and, with details, every gap between two chunks. Lines of many MiB are usual, so a line may be as
//! long as a file that is read whole. Lines are read one by one, so a file of many runs needs the memory of its longest.
//!
//! Seen: lines of early 2025 (medians, one throughput, no `request_throughput`, which is derived). 0.5.5 to 0.5.8 have the full set. Later
//! ones have `failed`, `max_itl_ms` and peaks. Forks have a subset under their own names.

mod details;
mod labels;
mod lines;
mod server;

use super::at::At;
use super::serving::warm_up;
use super::sheet::{self, ExtraOf, Sheet};
use super::{About, Format, Head, Parsed, PartialRun, SourceFile, json};
use details::Stream;
use labels::RULE;
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct BenchServing;

const DERIVED: &str = "sglang-bench-serving.derived";

/// Keys that this tool alone writes.
const OWN: &[&str] = &[
    "total_output_tokens_retokenized",
    "random_range_ratio",
    "sharegpt_output_len",
    "mean_e2e_latency_ms",
    "median_e2e_latency_ms",
];
/// A run has one of these.
const RESULTS: &[&str] = &["completed", "duration", "output_throughput", "server_info"];

/// Latencies as the keys name them, and as metrics.
const LATENCIES: &[(&str, &str)] =
    &[("_e2e_latency_ms", "e2e_latency_ms"), ("_ttft_ms", "ttft_ms"), ("_tpot_ms", "tpot_ms"), ("_itl_ms", "itl_ms")];

/// Key, metric.
const RATES: &[(&str, &str)] = &[
    ("request_throughput", "request_throughput_req_s"),
    ("output_throughput", "output_throughput_tok_s"),
    ("total_throughput", "total_throughput_tok_s"),
    ("total_token_throughput", "total_throughput_tok_s"),
];

/// Figures that are not among our metrics: key, unit, why.
const EXTRAS: &[ExtraOf<'_>] = &[
    ("duration", "s", None),
    ("completed", "requests", None),
    ("failed", "requests", None),
    ("num_prompts", "requests", None),
    ("total_input_tokens", "tokens", None),
    ("total_input_text_tokens", "tokens", None),
    ("total_input_vision_tokens", "tokens", None),
    ("total_output_tokens", "tokens", None),
    ("total_generated_tokens", "tokens", None),
    ("total_output_tokens_retokenized", "tokens", Some("counted again from the text by the client's tokenizer")),
    ("input_throughput", "tok/s", Some("input tokens alone")),
    ("output_throughput_retokenized", "tok/s", Some("of tokens counted again from the text")),
    ("total_throughput_retokenized", "tok/s", Some("of tokens counted again from the text")),
    ("concurrency", "", Some("sum of latencies by duration: the average in flight, not the limit")),
    ("accept_length", "tokens", None),
    ("max_output_tokens_per_s", "tok/s", Some("the best second, counted in chunks")),
    ("max_concurrent_requests", "requests", None),
    ("benchmark_start_time", "s", None),
    ("benchmark_end_time", "s", None),
    ("random_input_len", "tokens", None),
    ("random_output_len", "tokens", None),
    ("request_goodput", "req/s", Some("only the requests that met the limits which the run was given")),
    ("slo_attainment", "", Some("share of the requests that met the limits which the run was given, 0 to 1")),
    ("random_range_ratio", "", None),
    ("sharegpt_output_len", "tokens", None),
];

/// Keys that became something else, or are read elsewhere.
const TAKEN: &[&str] =
    &["backend", "dataset_name", "request_rate", "max_concurrency", "server_info", "model", "model_id"];

/// Share by which the two counts of output tokens may differ before rates by token are doubted. Usual is a thousandth.
const WIDELY: f64 = 0.05;

impl Format for BenchServing {
    fn name(&self) -> &'static str {
        "sglang-bench-serving"
    }

    fn about(&self) -> About {
        About {
            tool: "sglang.bench_serving --output-file",
            versions: "early 2025 (medians only) to 2026, with and without --output-details, forks with a subset",
            sign: "objects with retokenized counts, `random_range_ratio` or `..._e2e_latency_ms`, one a line",
            reads: "rates, latencies, per-request latencies, memory and settings of the server, one run a line",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(outline) = head.object().or_else(|| head.list()) else { return false };
        let any = |keys: &[&str]| keys.iter().any(|key| outline.get(key).is_some());
        // A run of vLLM may carry any word that was given to it by hand, but names its model and its tokenizer.
        let vllm =
            outline.has(&["model_id", "tokenizer_id"]) && outline.get("total_output_tokens_retokenized").is_none();
        any(OWN) && any(RESULTS) && !vllm
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let (mut partials, mut strangers): (Vec<PartialRun>, usize) = (Vec::new(), 0);
        // The lines hold the file while its path is needed for origins.
        let mut nothing: &[u8] = b"";
        let named = SourceFile::new(file.path, file.bytes, &mut nothing);
        let mut objects = lines::Objects::new(file);
        while let Some(object) = objects.next()? {
            let node = match json::parse(object.text) {
                Ok(node) => node,
                Err(error) => {
                    // A file that is no JSON at all has one cause for all its lines.
                    if parsed.left_out.len() < sheet::RUNS {
                        parsed.left_out.push(sheet::moved(error, object.above));
                    }
                    continue;
                }
            };
            let root = At::root(&node);
            let mut take = |at: &At<'_>| {
                if partials.len() >= sheet::RUNS || RESULTS.iter().all(|key| at.get(key).is_none()) {
                    strangers += 1;
                } else if let Some(note) = warm_up::note(at) {
                    if !parsed.notes.contains(&note) {
                        parsed.notes.push(note);
                    }
                } else {
                    partials.push(run(&named, at, object.above, &mut parsed));
                }
            };
            match root.items() {
                Ok(items) => items.for_each(|item| take(&item)),
                Err(_) => take(&root),
            }
        }
        if partials.is_empty() && parsed.left_out.is_empty() && parsed.notes.is_empty() {
            return Err(Error::archive("the file holds no run"));
        }
        if strangers > 0 {
            parsed.notes.push(format!("{strangers} objects of the file are no runs"));
        }
        sheet::records(partials, &mut parsed);
        Ok(parsed)
    }
}

/// One run.
fn run(file: &SourceFile<'_>, root: &At<'_>, above: u64, parsed: &mut Parsed) -> PartialRun {
    let mut sheet = Sheet::new(file, RULE, DERIVED).below(above);
    labels::read(root, &mut sheet);
    let count = |key: &str| sheet::number_at(root, key);
    let output = count("total_output_tokens").or_else(|| count("total_generated_tokens"));
    let (completed, input, seconds) = (count("completed"), count("total_input_tokens"), count("duration"));
    sheet.extras(root, EXTRAS);
    let mut taken: Vec<&str> = EXTRAS.iter().map(|(key, ..)| *key).collect();
    taken.extend(TAKEN.iter().chain(details::KEYS));
    taken.extend(root.entries().into_iter().flatten().map(|(key, _)| key).filter(|key| latency(key).is_some()));
    sheet.partial.status = sheet::outcome(completed, None);
    if completed == Some(0.0) {
        taken.extend(RATES.iter().map(|(key, _)| *key));
    } else {
        taken.extend(sheet.rates(root, RATES));
        if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
            let both = input.zip(output).map(|(input, output)| input + output);
            for (metric, amount) in [
                ("request_throughput_req_s", completed),
                ("output_throughput_tok_s", output),
                ("total_throughput_tok_s", both),
            ] {
                if let (Some(amount), Some(at)) = (amount, root.get("duration")) {
                    sheet.derive(&at, metric, amount / seconds);
                }
            }
        }
        let streamed = latencies(root, &mut sheet);
        details::read(root, &mut sheet, streamed);
    }
    if let Some(info) = root.get("server_info") {
        server::read(&info, &mut sheet);
    }
    sheet.rest(root, &taken, None);
    if let (Some(output), Some(again)) = (output, count("total_output_tokens_retokenized"))
        && output > 0.0
        && (again - output).abs() > WIDELY * output
    {
        sheet.note(format!(
            "{again} output tokens when counted again from the text, {output} as reported: rates and times by token are unsure (the tool \
             takes the length that was asked for when the server reports none)"
        ));
    }
    if let (Some(completed), Some(all)) = (completed, sheet.partial.setup.requests) {
        sheet.failures(all - completed, all);
    }
    sheet.partial.fingerprint = seconds.zip(completed).map(|(seconds, completed)| {
        let tokens = |tokens: Option<f64>| tokens.map(sheet::short).unwrap_or_default();
        format!("sglang-bench|{completed}|{}|{}|{seconds:.2}", tokens(input), tokens(output))
    });
    sheet.into(parsed)
}

/// Statistic and metric of a key such as `p99_ttft_ms`.
fn latency(key: &str) -> Option<(&str, &'static str)> {
    LATENCIES.iter().find_map(|(ending, metric)| {
        let statistic = key.strip_suffix(ending)?;
        let percentile =
            statistic.strip_prefix('p').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        (percentile || matches!(statistic, "mean" | "median" | "std" | "min" | "max")).then_some((statistic, *metric))
    })
}

/// Takes the latencies. Tells what the answers were.
fn latencies(root: &At<'_>, sheet: &mut Sheet<'_, '_>) -> Stream {
    const UNSTREAMED: &str = "the answers came in one piece";
    let at_most_zero = |key: &str| sheet::number_at(root, key).is_some_and(|value| value <= 0.0);
    let streamed = !(at_most_zero("median_tpot_ms") || (at_most_zero("mean_itl_ms") && at_most_zero("median_itl_ms")));
    // One token is its own first. Of several in one chunk the first came with the last. A gap above zero shows that some were streamed.
    // A TPOT above zero beside gaps that are all zero does not.
    let gaps = sheet::number_at(root, "mean_itl_ms").or_else(|| sheet::number_at(root, "mean_tpot_ms"));
    let whole = gaps.is_none_or(|mean| mean <= 0.0)
        && sheet::number_at(root, "total_output_tokens")
            .zip(sheet::number_at(root, "completed"))
            .is_some_and(|(tokens, completed)| tokens > completed);
    if !streamed && whole {
        sheet.note("the answers came in one piece: TTFT, TPOT and ITL are no measurements");
    } else if !streamed {
        sheet.note("the answers came in one piece or are one token long: TPOT and ITL are no measurements");
    }
    for (key, at) in root.entries().into_iter().flatten() {
        let Some((statistic, metric)) = latency(key) else { continue };
        let useless = !streamed && (matches!(metric, "tpot_ms" | "itl_ms") || (metric == "ttft_ms" && whole));
        match sheet::suffix(statistic) {
            Some(suffix) if !useless => {
                sheet.metric(&at, &format!("{metric}{suffix}"));
            }
            _ => sheet.extra(&at, key.strip_suffix("_ms").unwrap_or(key), "ms", useless.then_some(UNSTREAMED)),
        }
    }
    match (streamed, whole) {
        (true, _) => Stream::Streamed,
        (false, true) => Stream::Whole,
        (false, false) => Stream::OneToken,
    }
}

#[cfg(test)]
mod tests;
