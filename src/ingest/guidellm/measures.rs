//! The metrics of one benchmark: distributions over requests, separated by how the requests ended.

use super::super::at::At;
use super::super::fill::{Fill, number_at};
use super::super::json::Kind;

/// A distribution of requests that succeeded: key, metric, factor to its unit.
pub(super) const LATENCIES: [(&str, &str, f64); 3] = [
    ("request_latency", "e2e_latency_ms", 1000.0),
    ("time_to_first_token_ms", "ttft_ms", 1.0),
    ("inter_token_latency_ms", "tpot_ms", 1.0),
];

/// Rates: key, metric, the counts whose sums over the duration it is.
pub(super) const RATES: &[(&str, &str, &[&str])] = &[
    ("output_tokens_per_second", "output_throughput_tok_s", &["output_token_count"]),
    ("tokens_per_second", "total_throughput_tok_s", &["prompt_token_count", "output_token_count"]),
];

/// Key, why it is not one of our metrics.
const WHY: &[(&str, &str)] = &[
    ("time_per_output_token_ms", "the whole latency over the output tokens: it holds the first token"),
    ("time_to_first_output_token_ms", "to the first token that is no reasoning"),
    ("output_tokens_per_second", "a mean over time, while throughput is tokens by duration"),
    ("tokens_per_second", "a mean over time, while throughput is tokens by duration"),
    ("request_scheduled_latency", "counts from the moment at which the request was due"),
    ("request_goodput", "requests that meet limits which are not those of another run"),
];

/// Statistic as the file names it, suffix of the metric.
pub(super) const STATISTICS: &[(&str, &str)] =
    &[("mean", ""), ("p50", "_p50"), ("p90", "_p90"), ("p95", "_p95"), ("p99", "_p99"), ("max", "_max")];

/// Why a latency of zeros is no measurement.
pub(super) const NOT_STREAMED: &str = "zeros: nothing was measured, as in a run without streaming";

/// Everything below `metrics`.
pub(super) fn all(fill: &mut Fill<'_, '_>, benchmark: &At<'_>, good: Option<f64>, failed: bool) {
    let Some(metrics) = benchmark.get("metrics") else { return };
    if !failed {
        rates(fill, benchmark, &metrics);
    }
    for (key, at) in metrics.entries().into_iter().flatten() {
        let latency = LATENCIES.iter().find(|(name, ..)| *name == key).filter(|_| !failed);
        if let Some((_, metric, factor)) = latency
            && let Some(good_ones) = at.get("successful")
        {
            let zeros = number_at(&good_ones, &["max"]).is_some_and(|max| max <= 0.0);
            if zeros {
                measure(fill, key, &at, Some(NOT_STREAMED));
                continue;
            }
            spread(fill, key, &good_ones, Some((metric, *factor)), why(key));
            let weighs = *metric == "tpot_ms"
                && number_at(&good_ones, &["count"]).zip(good).is_some_and(|(count, good)| count > good);
            if weighs {
                fill.note("inter_token_latency_ms weighs each request by its tokens. So does what is read as TPOT");
            }
            others(fill, key, &at, why(key));
            continue;
        }
        measure(fill, key, &at, why(key));
    }
}

/// Throughput: requests as the file gives them, tokens by sum and duration, and the file's mean only where those are missing.
fn rates(fill: &mut Fill<'_, '_>, benchmark: &At<'_>, metrics: &At<'_>) {
    if let Some(at) = metrics.get("requests_per_second")
        && let Some(good) = at.get("successful")
        && number_at(&good, &["count"]) != Some(0.0)
        && let Some(mean) = good.get("mean")
    {
        fill.metric("request_throughput_req_s", &mean);
    }
    let span = number_at(benchmark, &["end_time"]).zip(number_at(benchmark, &["start_time"]));
    let duration = number_at(benchmark, &["duration"]).or_else(|| span.map(|(end, start)| end - start));
    let duration = duration.filter(|seconds| *seconds > 0.0);
    for (key, metric, counts) in RATES {
        let sums = counts.iter().map(|count| {
            number_at(metrics, &[count, "successful", "total_sum"])
                .filter(|_| number_at(metrics, &[count, "successful", "count"]).is_some_and(|count| count > 0.0))
        });
        let tokens: Option<f64> = sums.sum();
        let first = counts.first().and_then(|count| metrics.get(count));
        if let (Some(tokens), Some(seconds), Some(at)) = (tokens, duration, first) {
            fill.derive(metric, tokens / seconds, &at);
            fill.note(
                "throughput in tokens is the sum over the successful requests by the duration, not the mean over time",
            );
        } else if let Some(at) = metrics.get(key)
            && let Some(good) = at.get("successful")
            && number_at(&good, &["count"]) != Some(0.0)
            && let Some(mean) = good.get("mean")
        {
            fill.metric(metric, &mean);
            fill.note("throughput in tokens is the mean over time that the file gives");
        }
    }
}

pub(super) fn why(key: &str) -> Option<&'static str> {
    WHY.iter().find(|(name, _)| *name == key).map(|(_, why)| *why)
}

/// Values below a key: a distribution, one by outcome, groups of them, a number.
fn measure(fill: &mut Fill<'_, '_>, name: &str, at: &At<'_>, reason: Option<&'static str>) {
    let is_spread = |at: &At<'_>| at.get("mean").is_some() && at.get("count").is_some();
    if at.get("successful").is_some_and(|good| is_spread(&good)) {
        if let Some(good) = at.get("successful") {
            spread(fill, name, &good, None, reason);
        }
        others(fill, name, at, reason);
    } else if is_spread(at) {
        spread(fill, name, at, None, reason);
    } else {
        match &at.node.kind {
            Kind::Map(_) => {
                for (key, inner) in at.entries().into_iter().flatten() {
                    measure(fill, &format!("{name}.{key}"), &inner, reason);
                }
            }
            Kind::List(_) => {
                for (place, inner) in at.items().into_iter().flatten().enumerate() {
                    measure(fill, &format!("{name}.{place}"), &inner, reason);
                }
            }
            _ => fill.numbers(name, at, reason),
        }
    }
}

/// The outcomes other than success. `total` only where it is more than the successful ones.
fn others(fill: &mut Fill<'_, '_>, name: &str, at: &At<'_>, reason: Option<&'static str>) {
    let figures = ["count", "total_sum", "mean", "std_dev", "min", "max"];
    let repeats = figures.iter().all(|name| number_at(at, &["total", name]) == number_at(at, &["successful", name]));
    for (outcome, inner) in at.entries().into_iter().flatten() {
        let same = outcome == "total" && repeats;
        if outcome != "successful" && !same {
            spread(fill, &format!("{name}.{outcome}"), &inner, None, reason);
        }
    }
}

/// All statistics of one distribution. One without values is filled with zeros and says nothing.
fn spread(fill: &mut Fill<'_, '_>, name: &str, at: &At<'_>, metric: Option<(&str, f64)>, reason: Option<&'static str>) {
    if number_at(at, &["count"]).is_some_and(|count| count <= 0.0) {
        return;
    }
    let unit = unit_of(name);
    let taken = fill.partial.readings.iter().any(|reading| reading.metric == "request_throughput_req_s");
    let mut put = |stat: &str, value: &At<'_>| {
        let suffix = STATISTICS.iter().find(|(known, _)| *known == stat).map(|(_, suffix)| *suffix);
        match metric.zip(suffix) {
            Some(((metric, factor), suffix)) => {
                fill.scaled(&format!("{metric}{suffix}"), value, factor);
            }
            // It is the request throughput.
            None if name == "requests_per_second" && stat == "mean" && taken => {}
            None => {
                let unit = if matches!(stat, "count" | "variance") { "" } else { unit };
                fill.numbers_as(&format!("{name}_{stat}"), unit, value, reason);
            }
        }
    };
    // Some files of schema 1 have no p50 among the percentiles. The median is the same figure.
    let has_p50 = number_at(at, &["percentiles", "p50"]).is_some();
    for (stat, value) in at.entries().into_iter().flatten() {
        match (stat, &value.node.kind) {
            ("percentiles", _) => {
                for (point, value) in value.entries().into_iter().flatten() {
                    put(point, &value);
                }
            }
            ("median", _) if !has_p50 => put("p50", &value),
            (_, Kind::Null) => {}
            _ => put(stat, &value),
        }
    }
}

pub(super) fn unit_of(name: &str) -> &'static str {
    let name = name.split('.').next().unwrap_or(name);
    match name {
        "request_latency" | "request_scheduled_latency" | "generation_delay" => "s",
        "requests_per_second" | "request_goodput" => "req/s",
        _ if name.ends_with("_ms") => "ms",
        _ if name.ends_with("tokens_per_second") => "tok/s",
        _ if name.ends_with("_delay") => "s",
        _ if name.ends_with("token_count") => "tokens",
        _ => "",
    }
}
