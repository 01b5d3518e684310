//! The metrics of one benchmark: distributions over requests, separated by how the requests ended.

use super::super::at::At;
use super::super::json::Kind;
use super::super::sheet::{Scale, Sheet, number_at, suffix};

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

/// Why a latency of zeros is no measurement.
pub(super) const NOT_STREAMED: &str = "zeros: nothing was measured, as in a run without streaming";

/// Everything below `metrics`.
pub(super) fn all(sheet: &mut Sheet<'_, '_>, benchmark: &At<'_>, good: Option<f64>, failed: bool) {
    let Some(metrics) = benchmark.get("metrics") else { return };
    if !failed {
        rates(sheet, benchmark, &metrics);
    }
    for (key, at) in metrics.entries().into_iter().flatten() {
        let latency = LATENCIES.iter().find(|(name, ..)| *name == key).filter(|_| !failed);
        if let Some((_, metric, factor)) = latency
            && let Some(good_ones) = at.get("successful")
        {
            let zeros = number_at(&good_ones, "max").is_some_and(|max| max <= 0.0);
            if zeros {
                measure(sheet, key, &at, Some(NOT_STREAMED));
                continue;
            }
            spread(sheet, key, &good_ones, Some((metric, *factor)), why(key));
            let weighs = *metric == "tpot_ms"
                && number_at(&good_ones, "count").zip(good).is_some_and(|(count, good)| count > good);
            if weighs {
                sheet.note("inter_token_latency_ms weighs each request by its tokens. So does what is read as TPOT");
            }
            others(sheet, key, &at, why(key));
            continue;
        }
        measure(sheet, key, &at, why(key));
    }
}

/// Throughput: requests as the file gives them, tokens by sum and duration, and the file's mean only where those are missing.
fn rates(sheet: &mut Sheet<'_, '_>, benchmark: &At<'_>, metrics: &At<'_>) {
    if let Some(at) = metrics.get("requests_per_second")
        && let Some(good) = at.get("successful")
        && number_at(&good, "count") != Some(0.0)
        && let Some(mean) = good.get("mean")
    {
        sheet.metric(&mean, "request_throughput_req_s");
    }
    let span = number_at(benchmark, "end_time").zip(number_at(benchmark, "start_time"));
    let duration = number_at(benchmark, "duration").or_else(|| span.map(|(end, start)| end - start));
    let duration = duration.filter(|seconds| *seconds > 0.0);
    for (key, metric, counts) in RATES {
        let sums = counts.iter().map(|count| {
            number_at(metrics, [count, "successful", "total_sum"])
                .filter(|_| number_at(metrics, [count, "successful", "count"]).is_some_and(|count| count > 0.0))
        });
        let tokens: Option<f64> = sums.sum();
        let first = counts.first().and_then(|count| metrics.get(count));
        if let (Some(tokens), Some(seconds), Some(at)) = (tokens, duration, first) {
            sheet.derive(&at, metric, tokens / seconds);
            sheet.note(
                "throughput in tokens is the sum over the successful requests by the duration, not the mean over time",
            );
        } else if let Some(at) = metrics.get(key)
            && let Some(good) = at.get("successful")
            && number_at(&good, "count") != Some(0.0)
            && let Some(mean) = good.get("mean")
        {
            sheet.metric(&mean, metric);
            sheet.note("throughput in tokens is the mean over time that the file gives");
        }
    }
}

pub(super) fn why(key: &str) -> Option<&'static str> {
    WHY.iter().find(|(name, _)| *name == key).map(|(_, why)| *why)
}

/// Values below a key: a distribution, one by outcome, groups of them, a number.
fn measure(sheet: &mut Sheet<'_, '_>, name: &str, at: &At<'_>, reason: Option<&'static str>) {
    let is_spread = |at: &At<'_>| at.get("mean").is_some() && at.get("count").is_some();
    if at.get("successful").is_some_and(|good| is_spread(&good)) {
        if let Some(good) = at.get("successful") {
            spread(sheet, name, &good, None, reason);
        }
        others(sheet, name, at, reason);
    } else if is_spread(at) {
        spread(sheet, name, at, None, reason);
    } else {
        match &at.node.kind {
            Kind::Map(_) => {
                for (key, inner) in at.entries().into_iter().flatten() {
                    measure(sheet, &format!("{name}.{key}"), &inner, reason);
                }
            }
            Kind::List(_) => {
                for (place, inner) in at.items().into_iter().flatten().enumerate() {
                    measure(sheet, &format!("{name}.{place}"), &inner, reason);
                }
            }
            _ => sheet.numbers(at, name, "", reason),
        }
    }
}

/// The outcomes other than success. `total` only where it is more than the successful ones.
fn others(sheet: &mut Sheet<'_, '_>, name: &str, at: &At<'_>, reason: Option<&'static str>) {
    let figures = ["count", "total_sum", "mean", "std_dev", "min", "max"];
    let repeats = figures.iter().all(|name| number_at(at, ["total", name]) == number_at(at, ["successful", name]));
    for (outcome, inner) in at.entries().into_iter().flatten() {
        let same = outcome == "total" && repeats;
        if outcome != "successful" && !same {
            spread(sheet, &format!("{name}.{outcome}"), &inner, None, reason);
        }
    }
}

/// All statistics of one distribution. One without values is filled with zeros and says nothing.
fn spread(
    sheet: &mut Sheet<'_, '_>,
    name: &str,
    at: &At<'_>,
    metric: Option<(&str, f64)>,
    reason: Option<&'static str>,
) {
    if number_at(at, "count").is_some_and(|count| count <= 0.0) {
        return;
    }
    let unit = unit_of(name);
    let taken = sheet.reading("request_throughput_req_s").is_some();
    let mut put = |stat: &str, value: &At<'_>| {
        match metric.zip(suffix(stat).filter(|_| stat != "median")) {
            Some(((metric, factor), suffix)) => {
                sheet.scaled(value, &format!("{metric}{suffix}"), Scale::Times(factor));
            }
            // It is the request throughput.
            None if name == "requests_per_second" && stat == "mean" && taken => {}
            None => {
                let unit = if matches!(stat, "count" | "variance") { "" } else { unit };
                sheet.numbers(value, &format!("{name}_{stat}"), unit, reason);
            }
        }
    };
    // Some files of schema 1 have no p50 among the percentiles. The median is the same figure, and beside p50 it is none of its own.
    let has_p50 = number_at(at, ["percentiles", "p50"]).is_some();
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
