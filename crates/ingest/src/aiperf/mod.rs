//! AIPerf and its predecessor GenAI-Perf: what their metrics mean, whatever file they are in.
//!
//! In:  names, units and statistics.  Out: our metrics, and extras for the rest.
//! Not here: the files (see the modules below).
//!
//! Two names mislead. `inter_token_latency` is one number a request, (latency - TTFT) / (tokens - 1), and so our TPOT. The gaps
//! themselves are `inter_chunk_latency`. `request_count` counts successes only. Failures are in `error_request_count`.

mod genai;
mod genai_raw;
mod gpus;
mod records;
mod server;
mod summary;
mod sweep;
mod tables;
mod timeslices;

use super::at::At;
use super::json::Kind;
use super::sheet::{Scale, Sheet, suffix, text_at};

pub(super) use genai::GenaiPerf;
pub(super) use genai_raw::GenaiPerfRaw;
pub(super) use records::Records;
pub(super) use server::Server;
pub(super) use summary::Summary;
pub(super) use sweep::Sweep;
pub(super) use tables::Csv;
pub(super) use timeslices::Timeslices;

/// Name of the rule for figures of AIPerf, in JSON and in CSV.
const RULE: &str = "aiperf";
const DERIVED: &str = "aiperf.derived";
/// The same of GenAI-Perf.
const GENAI: &str = "genai-perf";
const GENAI_DERIVED: &str = "genai-perf.derived";

/// Meaning of the tool's metric here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// A latency over requests, in any unit of time.
    Time(&'static str),
    /// A rate of the whole run.
    Rate(&'static str),
    /// A figure of the GPU in this unit.
    Gpu(&'static str, &'static str),
    /// Nothing of ours.
    Other,
}

/// Tag, what it means.
const MEANINGS: &[(&str, Meaning)] = &[
    ("request_throughput", Meaning::Rate("request_throughput_req_s")),
    ("output_token_throughput", Meaning::Rate("output_throughput_tok_s")),
    ("total_token_throughput", Meaning::Rate("total_throughput_tok_s")),
    ("time_to_first_token", Meaning::Time("ttft_ms")),
    ("ttft", Meaning::Time("ttft_ms")),
    ("inter_token_latency", Meaning::Time("tpot_ms")),
    ("inter_chunk_latency", Meaning::Time("itl_ms")),
    ("request_latency", Meaning::Time("e2e_latency_ms")),
    ("gpu_power_usage", Meaning::Gpu("power_w", "W")),
    ("nvidia_power_usage", Meaning::Gpu("power_w", "W")),
    ("nvidia_gpu_power_usage", Meaning::Gpu("power_w", "W")),
    ("gpu_utilization", Meaning::Gpu("gpu_util_pct", "%")),
    ("nvidia_gpu_utilization", Meaning::Gpu("gpu_util_pct", "%")),
    ("sm_clock_frequency", Meaning::Gpu("sm_clock_mhz", "MHz")),
    ("gpu_clock_sm", Meaning::Gpu("sm_clock_mhz", "MHz")),
];

/// Tag, why it is not one of our metrics although one could take it for one.
const WHY: &[(&str, &str)] = &[
    ("time_to_second_token", "the gap from the first to the second token"),
    ("ttst", "the gap from the first to the second token"),
    ("time_to_first_output_token", "to the first token that is no reasoning"),
    ("output_token_throughput_per_user", "the mean of the decode rates of single requests"),
    ("e2e_output_token_throughput", "the output tokens of a request over its whole latency"),
    ("prefill_throughput", "input tokens of a request over its time to first token"),
    ("prefill_throughput_per_user", "input tokens of a request over its time to first token"),
    ("input_token_throughput", "input tokens alone"),
    ("goodput", "requests that meet limits which are not those of another run"),
    ("request_goodput", "requests that meet limits which are not those of another run"),
    ("output_token_count", "without the tokens of reasoning, which output_sequence_length holds"),
    ("effective_latency", "counts from the moment at which the request was due"),
    ("energy_consumption", "a counter that runs from the start of the machine"),
    ("gpu_memory_used", "memory of the whole GPU, in units of 10^9 bytes"),
    ("nvidia_memory_used", "memory of the whole GPU, in units of 10^9 bytes"),
];

/// Headers whose tag is another word.
const HEADERS: &[(&str, &str)] = &[
    ("total_input_sequence_length", "total_isl"),
    ("total_output_sequence_length", "total_osl"),
    ("error_input_sequence_length", "error_isl"),
    ("total_error_input_sequence_length", "total_error_isl"),
    ("minimum_request_timestamp", "min_request_timestamp"),
    ("maximum_response_timestamp", "max_response_timestamp"),
    ("credit-to-start_latency", "credit_to_start_latency"),
    ("completed_requests_success_+_error", "completed_request_count"),
    ("effective_latency_co-aware", "effective_latency"),
    ("usage_completion_diff_%", "usage_completion_tokens_diff_pct"),
    ("usage_prompt_diff_%", "usage_prompt_tokens_diff_pct"),
    ("osl_mismatch_diff_%", "osl_mismatch_diff_pct"),
    ("http_data_received", "http_req_data_received"),
    ("http_data_sent", "http_req_data_sent"),
    ("http_blocked", "http_req_blocked"),
    ("http_chunks_received", "http_req_chunks_received"),
    ("http_chunks_sent", "http_req_chunks_sent"),
    ("http_connecting", "http_req_connecting"),
    ("http_connection_overhead", "http_req_connection_overhead"),
    ("http_connection_reused", "http_req_connection_reused"),
    ("http_dns_lookup", "http_req_dns_lookup"),
    ("http_duration_excl._conn", "http_req_duration"),
    ("http_receiving", "http_req_receiving"),
    ("http_sending", "http_req_sending"),
    ("http_total_time", "http_req_total"),
    ("http_waiting_ttfb", "http_req_waiting"),
];

/// Statistics that are shown as figures. Other keys of a metric are words.
const STAT_KEYS: &[&str] =
    &["avg", "min", "max", "std", "count", "sum", "value", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"];

/// A name of a metric as its tag: `Time to First Token` is `time_to_first_token`.
fn tag_of(name: &str) -> String {
    let mut tag = String::with_capacity(name.len());
    for c in name.trim().chars().filter(|c| !matches!(c, '(' | ')')) {
        tag.push(if c == ' ' { '_' } else { c.to_ascii_lowercase() });
    }
    if let Some(bare) = tag.strip_suffix("_error-adjusted") {
        return format!("adj_{bare}");
    }
    HEADERS.iter().find(|(header, _)| *header == tag).map_or(tag, |(_, known)| (*known).to_owned())
}

/// `Request Latency (ms)` as tag and unit.
fn tag_and_unit(header: &str) -> (String, String) {
    let header = header.trim();
    // Only the last brackets hold the unit: `Effective Latency (CO-aware) (ms)`. GenAI-Perf has `(per sec)`.
    let split = header.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    let is_unit = |unit: &str| unit == "per sec" || !unit.contains(' ') && unit != "TTFB";
    match split.filter(|(_, unit)| is_unit(unit)) {
        Some((name, unit)) => (tag_of(name), unit.to_owned()),
        None => (tag_of(header), String::new()),
    }
}

fn meaning(tag: &str) -> Meaning {
    MEANINGS.iter().find(|(name, _)| *name == tag).map_or(Meaning::Other, |(_, meaning)| *meaning)
}

fn why(tag: &str) -> Option<&'static str> {
    WHY.iter().find(|(name, _)| *name == tag).map(|(_, why)| *why)
}

/// Factor from a unit of time to milliseconds.
fn to_ms(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 1.0,
        "s" | "sec" | "seconds" => 1000.0,
        "us" | "µs" => 1e-3,
        "ns" => 1e-6,
        _ => return None,
    })
}

/// The metric that one statistic of a tag is, and the factor to its unit. Nothing when it is an extra.
fn place(tag: &str, unit: &str, stat: &str) -> Option<(String, f64)> {
    let suffix = suffix(stat)?;
    match meaning(tag) {
        Meaning::Time(metric) => Some((format!("{metric}{suffix}"), to_ms(unit)?)),
        Meaning::Rate(metric) => suffix.is_empty().then(|| (metric.to_owned(), 1.0)),
        Meaning::Gpu(metric, expected) => (unit == expected).then(|| (format!("{metric}{suffix}"), 1.0)),
        Meaning::Other => None,
    }
}

/// Name of an extra for one statistic of a tag: the mean has the bare name.
fn extra_name(prefix: &str, tag: &str, stat: &str) -> String {
    if matches!(stat, "avg" | "value") { format!("{prefix}{tag}") } else { format!("{prefix}{tag}_{stat}") }
}

/// Why a figure with the name of a metric is no metric: the reason of its tag, or a unit that is not known.
fn why_extra(tag: &str, unit: &str) -> Option<&'static str> {
    why(tag).or_else(|| match meaning(tag) {
        Meaning::Time(_) if to_ms(unit).is_none() => Some("its unit is not known"),
        Meaning::Gpu(_, expected) if unit != expected => Some("its unit is not the usual one"),
        _ => None,
    })
}

/// All statistics of one metric object `{unit, avg, p50, ...}`. With `metrics` false everything is an extra.
fn spread(sheet: &mut Sheet<'_, '_>, prefix: &str, tag: &str, at: &At<'_>, metrics: bool) {
    let unit = text_at(at, "unit").unwrap_or_default();
    for (stat, value) in at.entries().into_iter().flatten() {
        if !STAT_KEYS.contains(&stat) {
            if !matches!(value.node.kind, Kind::Text(_) | Kind::Null | Kind::Bool(_)) {
                sheet.numbers(&value, &format!("{prefix}{tag}.{}", tag_of(stat)), "", None);
            }
            continue;
        }
        match place(tag, &unit, stat).filter(|_| metrics) {
            Some((metric, factor)) => {
                sheet.scaled(&value, &metric, Scale::Times(factor));
            }
            None => {
                let shown = if stat == "count" { "" } else { unit.as_str() };
                sheet.extra(&value, &extra_name(prefix, tag, stat), shown, why_extra(tag, &unit));
            }
        }
    }
}

/// True for an object that holds the statistics of a metric.
fn is_metric(at: &At<'_>) -> bool {
    at.get("unit").is_some() && (at.get("avg").is_some() || at.get("value").is_some())
}

/// Mark that is the same in every copy of a run, rounded as in the CSV.
fn mark(tool: &str, figures: [Option<f64>; 4]) -> Option<String> {
    let known = figures.iter().flatten().count();
    let figures: Vec<String> =
        figures.iter().map(|figure| figure.map_or_else(String::new, |value| format!("{value:.2}"))).collect();
    (known >= 3).then(|| format!("{tool}|{}", figures.join("|")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_gives_tag_and_unit() {
        for (header, tag, unit) in [
            ("Time to First Token (ms)", "time_to_first_token", "ms"),
            ("Request Count", "request_count", ""),
            ("Effective Latency (CO-aware) (ms)", "effective_latency", "ms"),
            (
                "Output Token Throughput Per User (tokens/sec/user)",
                "output_token_throughput_per_user",
                "tokens/sec/user",
            ),
            ("HTTP Waiting (TTFB) (ms)", "http_req_waiting", "ms"),
            ("Completed Requests (Success + Error)", "completed_request_count", ""),
            ("Request Throughput (per sec)", "request_throughput", "per sec"),
            ("Time to First Token (error-adjusted) (ms)", "adj_time_to_first_token", "ms"),
            ("Error Input Sequence Length (tokens)", "error_isl", "tokens"),
        ] {
            assert_eq!(tag_and_unit(header), (tag.to_owned(), unit.to_owned()));
        }
    }

    #[test]
    fn the_tools_inter_token_latency_is_our_tpot_and_its_chunk_gaps_are_our_itl() {
        assert_eq!(place("inter_token_latency", "ms", "p99"), Some(("tpot_ms_p99".into(), 1.0)));
        assert_eq!(place("inter_chunk_latency", "ns", "avg"), Some(("itl_ms".into(), 1e-6)));
        assert_eq!(place("request_latency", "ticks", "avg"), None);
        assert_eq!(place("output_token_throughput", "tokens/sec", "p50"), None, "a rate of the run has no percentile");
    }
}
