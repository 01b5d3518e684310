//! What people call a metric in a table of their own: `tg_tok_s`, `TTFT p50 (ms)`, `aggregate_tps`.
//!
//! In:  the name of a column or of a key.  Out: [`Spelling`]: the metric and the unit that the name says, or the nearest names.
//! Not here: the words themselves. They stand with each metric in the catalogue (see `metric`). Names of tools, whose formats know them.
//!
//! A name is words in any order of capitals and signs: a statistic anywhere, a unit at one end, and what is left. All three must be known. A
//! time without a unit is not read, since nobody could tell seconds from milliseconds. Neither is a rate that does not say of what (`tok/s`).

use sparkbench_text::nearest::nearest;

use super::metric::Metric;

/// The unit that a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenIn {
    /// That of the metric.
    OurUnit,
    /// Seconds, of a metric in milliseconds.
    Seconds,
    /// MiB, of a metric in GiB.
    Mebibytes,
}

/// A metric by the name that somebody gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelling {
    /// Contract name.
    pub metric: String,
    pub unit: WrittenIn,
}

/// Statistics in words, and the suffix of the metric.
const STATISTICS: &[(&str, &str)] = &[
    ("mean", ""),
    ("avg", ""),
    ("average", ""),
    ("median", "_p50"),
    ("p50", "_p50"),
    ("p90", "_p90"),
    ("p95", "_p95"),
    ("p99", "_p99"),
    ("max", "_max"),
];

/// Words at the end or at the start of a name, the unit of a metric, and how far the two are apart.
const UNITS: &[(&str, &str, WrittenIn)] = &[
    ("ms", "ms", WrittenIn::OurUnit),
    ("msec", "ms", WrittenIn::OurUnit),
    ("milliseconds", "ms", WrittenIn::OurUnit),
    ("s", "ms", WrittenIn::Seconds),
    ("sec", "ms", WrittenIn::Seconds),
    ("secs", "ms", WrittenIn::Seconds),
    ("seconds", "ms", WrittenIn::Seconds),
    ("s", "s", WrittenIn::OurUnit),
    ("sec", "s", WrittenIn::OurUnit),
    ("secs", "s", WrittenIn::OurUnit),
    ("seconds", "s", WrittenIn::OurUnit),
    ("tps", "tok/s", WrittenIn::OurUnit),
    ("t_s", "tok/s", WrittenIn::OurUnit),
    ("tok_s", "tok/s", WrittenIn::OurUnit),
    ("toks_s", "tok/s", WrittenIn::OurUnit),
    ("tok_sec", "tok/s", WrittenIn::OurUnit),
    ("tok_per_s", "tok/s", WrittenIn::OurUnit),
    ("tok_per_sec", "tok/s", WrittenIn::OurUnit),
    ("tokens_s", "tok/s", WrittenIn::OurUnit),
    ("tokens_sec", "tok/s", WrittenIn::OurUnit),
    ("tokens_per_s", "tok/s", WrittenIn::OurUnit),
    ("tokens_per_sec", "tok/s", WrittenIn::OurUnit),
    ("tokens_per_second", "tok/s", WrittenIn::OurUnit),
    ("rps", "req/s", WrittenIn::OurUnit),
    ("req_s", "req/s", WrittenIn::OurUnit),
    ("req_per_s", "req/s", WrittenIn::OurUnit),
    ("req_per_sec", "req/s", WrittenIn::OurUnit),
    ("requests_per_s", "req/s", WrittenIn::OurUnit),
    ("requests_per_sec", "req/s", WrittenIn::OurUnit),
    ("requests_per_second", "req/s", WrittenIn::OurUnit),
    ("gib", "GiB", WrittenIn::OurUnit),
    ("mib", "GiB", WrittenIn::Mebibytes),
    ("w", "W", WrittenIn::OurUnit),
    ("watt", "W", WrittenIn::OurUnit),
    ("watts", "W", WrittenIn::OurUnit),
    ("j_token", "J/token", WrittenIn::OurUnit),
    ("j_per_token", "J/token", WrittenIn::OurUnit),
    ("joules_per_token", "J/token", WrittenIn::OurUnit),
];

/// Rates that tools write without their unit, each with one meaning: keys of the results of vLLM, SGLang and GenAI-Perf.
const KEYS: &[(&str, &str)] = &[
    ("request_throughput", "request_throughput_req_s"),
    ("output_throughput", "output_throughput_tok_s"),
    ("output_token_throughput", "output_throughput_tok_s"),
    ("total_token_throughput", "total_throughput_tok_s"),
];

/// Rates of a whole run. A percentile of such a name is one of requests and another figure.
const WHOLE_RUN: &[&str] = &["output_throughput_tok_s", "total_throughput_tok_s", "request_throughput_req_s"];

/// The words of a name in lower case, with one `_` between them: `TTFT (ms)` is `ttft_ms`.
pub fn plain(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

/// The metric that a name means: one of the contracts, or a known way to say one.
pub fn read(name: &str) -> Option<Spelling> {
    let ours = |metric: String| Metric::of_catalogue(&metric).map(|metric| metric.name);
    let plain = plain(name);
    if let Some(metric) = ours(name.to_owned()).or_else(|| ours(plain.clone())) {
        return Some(Spelling { metric, unit: WrittenIn::OurUnit });
    }
    let (rest, suffix) = without_statistic(&plain)?;
    if let Some((_, metric)) = KEYS.iter().find(|(key, _)| *key == rest).filter(|_| suffix.is_none()) {
        return Some(Spelling { metric: (*metric).to_owned(), unit: WrittenIn::OurUnit });
    }
    let mut candidates = units(&rest).flat_map(|(unit, written, words)| {
        Metric::words()
            .filter(move |(_, known, all)| *known == unit && all.contains(&words))
            .map(move |(metric, ..)| (metric, written))
    });
    let (metric, unit) = candidates.next()?;
    if suffix.is_some() && WHOLE_RUN.contains(&metric) {
        return None;
    }
    ours(format!("{metric}{}", suffix.unwrap_or_default())).map(|metric| Spelling { metric, unit })
}

/// Contract names that a name which is not read may have meant. Empty where nothing is near.
pub fn near(name: &str) -> Vec<&'static str> {
    let plain = plain(name);
    let Some((rest, _)) = without_statistic(&plain) else { return Vec::new() };
    if rest.is_empty() {
        return Vec::new();
    }
    let without_unit: Vec<&str> =
        Metric::words().filter(|(.., all)| all.contains(&rest.as_str())).map(|(metric, ..)| metric).collect();
    if !without_unit.is_empty() {
        return without_unit;
    }
    if units(&rest).any(|(unit, ..)| unit == "tok/s") {
        return Metric::words().filter(|(_, unit, _)| *unit == "tok/s").map(|(metric, ..)| metric).collect();
    }
    nearest(&rest, Metric::names()).into_iter().collect()
}

/// A name without the word for a statistic, and the suffix of that. None where two stand in it.
fn without_statistic(plain: &str) -> Option<(String, Option<&'static str>)> {
    let mut found = None;
    let mut rest = Vec::new();
    for word in plain.split('_') {
        match STATISTICS.iter().find(|(known, _)| *known == word) {
            Some(_) if found.is_some() => return None,
            Some((_, suffix)) => found = Some(*suffix),
            None => rest.push(word),
        }
    }
    Some((rest.join("_"), found))
}

/// Every unit that a name may end or begin with, and the words beside it.
fn units(rest: &str) -> impl Iterator<Item = (&'static str, WrittenIn, &str)> {
    UNITS.iter().filter_map(move |(word, unit, written)| {
        let beside = match rest.strip_suffix(word) {
            Some("") => "",
            Some(before) => before.strip_suffix('_')?,
            None => rest.strip_prefix(word)?.strip_prefix('_')?,
        };
        Some((*unit, *written, beside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 32: names that people use in their tables, read without a word of configuration.
    #[test]
    fn names_of_hand_made_tables_are_metrics() {
        for (name, metric, unit) in [
            ("ttft_ms_p99", "ttft_ms_p99", WrittenIn::OurUnit),
            ("ttft_p50_ms", "ttft_ms_p50", WrittenIn::OurUnit),
            ("mean_ttft_ms", "ttft_ms", WrittenIn::OurUnit),
            ("TTFT (ms)", "ttft_ms", WrittenIn::OurUnit),
            ("TTFT p95 (s)", "ttft_ms_p95", WrittenIn::Seconds),
            ("time_to_first_token_seconds", "ttft_ms", WrittenIn::Seconds),
            ("tg_tok_s", "decode_tok_s", WrittenIn::OurUnit),
            ("gen_tps", "decode_tok_s", WrittenIn::OurUnit),
            ("decode_tps", "decode_tok_s", WrittenIn::OurUnit),
            ("decode_tps_p50", "decode_tok_s_p50", WrittenIn::OurUnit),
            ("Decode t/s", "decode_tok_s", WrittenIn::OurUnit),
            ("pp_tok_s", "prefill_tok_s", WrittenIn::OurUnit),
            ("prefill_tps", "prefill_tok_s", WrittenIn::OurUnit),
            ("prompt_eval_tps", "prefill_tok_s", WrittenIn::OurUnit),
            ("aggregate_tps", "output_throughput_tok_s", WrittenIn::OurUnit),
            ("agg_tok_s", "output_throughput_tok_s", WrittenIn::OurUnit),
            ("total_token_throughput", "total_throughput_tok_s", WrittenIn::OurUnit),
            ("eval_tps", "decode_tok_s", WrittenIn::OurUnit),
            ("Output tok/s", "output_throughput_tok_s", WrittenIn::OurUnit),
            ("total_tokens_per_second", "total_throughput_tok_s", WrittenIn::OurUnit),
            ("request_throughput_rps", "request_throughput_req_s", WrittenIn::OurUnit),
            ("e2el_p99_ms", "e2e_latency_ms_p99", WrittenIn::OurUnit),
            ("peak_memory_mib", "peak_memory_gib", WrittenIn::Mebibytes),
            ("avg_power_watts", "power_w", WrittenIn::OurUnit),
            ("joules_per_token", "energy_j_per_token", WrittenIn::OurUnit),
            ("model_load_time_s", "model_load_s", WrittenIn::OurUnit),
        ] {
            assert_eq!(read(name), Some(Spelling { metric: metric.to_owned(), unit }), "{name}");
        }
    }

    #[test]
    fn a_name_that_leaves_a_doubt_is_no_metric() {
        for name in [
            "ttft",
            "tok/s",
            "throughput_tok_s",
            "rps",
            "latency_ms",
            "p50_output_tps",
            "p50_output_throughput",
            "mean_output_throughput",
            "throughput",
            "min_ttft_ms",
            "ttft_p75_ms",
            "mean_median_ttft_ms",
            "kvcache_bytes",
            "wall_s",
            "n",
            "",
            "_",
        ] {
            assert_eq!(read(name), None, "{name}");
        }
    }

    #[test]
    fn the_nearest_names_are_those_of_the_unit_or_of_the_letters() {
        assert_eq!(near("ttft"), ["ttft_ms"]);
        assert_eq!(
            near("tok/s"),
            ["output_throughput_tok_s", "total_throughput_tok_s", "decode_tok_s", "prefill_tok_s"]
        );
        assert_eq!(near("ttft_msx"), ["ttft_ms"]);
        assert_eq!((near("wall_s"), near("params_b")), (vec![], vec![]));
    }

    #[test]
    fn no_two_metrics_of_one_unit_share_a_word() {
        let mut seen = std::collections::BTreeSet::new();
        for (metric, unit, words) in Metric::words() {
            for word in words {
                assert!(seen.insert((unit, *word)), "{metric}: {word}");
                assert_eq!(plain(word), *word);
            }
        }
    }
}
