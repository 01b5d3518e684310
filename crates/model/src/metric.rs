//! The catalogue of metrics: name, unit, which way is better, and the default margin.
//!
//! In:  a metric name as the contracts spell it, or one that a campaign defined.  Out: [`Metric`].
//! Not here: values. Formatting for people beyond the label and the unit. How a metric of one's own is defined (see `custom`).

use serde::{Deserialize, Serialize};

use super::custom;

/// Which way is better, and what a per cent may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Times, energy, cost.
    LowerIsBetter,
    /// Rates.
    HigherIsBetter,
    /// Memory, power: more or less, without a winner.
    Neutral,
}

/// What is known of a metric by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Contract name, with unit and, for percentiles, the suffix.
    pub name: String,
    /// For people, without the unit.
    pub label: String,
    /// Unit as printed.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// False where zero is arbitrary (temperature, per cent): no per cent of it is ever formed.
    pub ratio_scale: bool,
    /// Default equivalence margin, per cent of the baseline (statistics contract 4.9).
    pub margin_pct: f64,
    /// What it is. Of a metric that a campaign defined, the definition.
    pub about: &'static str,
    /// True for a metric that a campaign defined, and that the catalogue does not have.
    pub custom: bool,
}

/// Margin for throughput, TPOT, ITL, decode rate and end-to-end latency: what a user of a server would notice at the earliest.
pub const MARGIN_RATE_PCT: f64 = 2.0;
/// Margin for TTFT, p90, p95, memory, KV cache, energy and load time, which vary more between identical runs.
pub const MARGIN_WIDE_PCT: f64 = 5.0;
/// Margin for p99 and for the maximum, which rest on very few requests.
pub const MARGIN_TAIL_PCT: f64 = 10.0;

/// Name, label, unit, direction, whether it has a ratio scale, margin, what it is, and what people call it in tables of their own: words without
/// statistic and unit (see `spelling`). A word that tools use for several of these metrics is none of them.
struct Entry(&'static str, &'static str, &'static str, Direction, bool, f64, &'static str, &'static [&'static str]);

use Direction::{HigherIsBetter as Higher, LowerIsBetter as Lower, Neutral};

/// Every base name of the contracts, in the order in which tables show them.
const CATALOGUE: &[Entry] = &[
    Entry(
        "output_throughput_tok_s",
        "Output throughput",
        "tok/s",
        Higher,
        true,
        MARGIN_RATE_PCT,
        "output tokens divided by the time of the measured window",
        &[
            "output",
            "output_throughput",
            "output_token_throughput",
            "agg",
            "agg_throughput",
            "aggregate",
            "aggregate_token",
            "aggregate_throughput",
            "aggregated",
            "aggregated_throughput",
            "generation_throughput",
            "system",
            "system_throughput",
        ],
    ),
    Entry(
        "total_throughput_tok_s",
        "Total throughput",
        "tok/s",
        Higher,
        true,
        MARGIN_RATE_PCT,
        "input and output tokens divided by the time of the measured window",
        &["total", "total_throughput", "total_token_throughput"],
    ),
    Entry(
        "request_throughput_req_s",
        "Request throughput",
        "req/s",
        Higher,
        true,
        MARGIN_RATE_PCT,
        "answered requests divided by the time of the measured window",
        &["request_throughput"],
    ),
    Entry(
        "decode_tok_s",
        "Decode rate",
        "tok/s",
        Higher,
        true,
        MARGIN_RATE_PCT,
        "output tokens a second of one request, after its first token",
        &["decode", "decode_rate", "decode_speed", "decode_throughput", "eval", "eval_rate", "gen", "generation", "tg"],
    ),
    Entry(
        "prefill_tok_s",
        "Prefill rate",
        "tok/s",
        Higher,
        true,
        MARGIN_RATE_PCT,
        "prompt tokens a second of one request, before its first token",
        &[
            "pp",
            "prefill",
            "prefill_rate",
            "prefill_speed",
            "prefill_throughput",
            "prompt",
            "prompt_eval",
            "prompt_processing",
        ],
    ),
    Entry(
        "e2e_latency_ms",
        "End-to-end latency",
        "ms",
        Lower,
        true,
        MARGIN_RATE_PCT,
        "from sending a request to its last output token",
        &["e2e", "e2e_latency", "e2el", "end_to_end", "end_to_end_latency", "request_latency"],
    ),
    Entry(
        "ttft_ms",
        "Time to first token",
        "ms",
        Lower,
        true,
        MARGIN_WIDE_PCT,
        "from sending a request to its first output token",
        &["ttft", "time_to_first_token", "first_token", "first_token_latency"],
    ),
    Entry(
        "tpot_ms",
        "Time per output token",
        "ms",
        Lower,
        true,
        MARGIN_RATE_PCT,
        "(end-to-end latency - TTFT) / (output tokens - 1), one figure a request",
        &["tpot", "time_per_output_token"],
    ),
    Entry(
        "itl_ms",
        "Inter-token latency",
        "ms",
        Lower,
        true,
        MARGIN_RATE_PCT,
        "gap between one piece of output and the next, one figure a gap",
        &["itl"],
    ),
    Entry(
        "peak_memory_gib",
        "Peak memory",
        "GiB",
        Neutral,
        true,
        MARGIN_WIDE_PCT,
        "most memory that was in use during the run",
        &["peak_memory", "peak_mem", "peak_gpu_memory", "peak_vram"],
    ),
    Entry(
        "model_memory_gib",
        "Model memory",
        "GiB",
        Neutral,
        true,
        MARGIN_WIDE_PCT,
        "memory of the weights, as the engine says",
        &["model_memory"],
    ),
    Entry(
        "kv_cache_gib",
        "KV cache",
        "GiB",
        Neutral,
        true,
        MARGIN_WIDE_PCT,
        "memory of the KV cache, as the engine says",
        &["kv_cache"],
    ),
    Entry(
        "kv_cache_tokens",
        "KV cache capacity",
        "tokens",
        Neutral,
        true,
        MARGIN_WIDE_PCT,
        "tokens that fit into the KV cache, as the engine says",
        &[],
    ),
    Entry(
        "gpu_util_pct",
        "GPU utilisation",
        "%",
        Neutral,
        false,
        MARGIN_WIDE_PCT,
        "mean utilisation of the GPU during the run",
        &[],
    ),
    Entry("power_w", "Power", "W", Neutral, true, MARGIN_WIDE_PCT, "mean power during the run", &["power"]),
    Entry(
        "energy_j_per_token",
        "Energy per token",
        "J/token",
        Lower,
        true,
        MARGIN_WIDE_PCT,
        "energy of the run divided by its output tokens",
        &["", "energy"],
    ),
    Entry(
        "gpu_temp_start_c",
        "GPU temperature at start",
        "°C",
        Neutral,
        false,
        MARGIN_WIDE_PCT,
        "temperature of the GPU before the run",
        &[],
    ),
    Entry(
        "gpu_temp_end_c",
        "GPU temperature at end",
        "°C",
        Neutral,
        false,
        MARGIN_WIDE_PCT,
        "temperature of the GPU after the run",
        &[],
    ),
    Entry(
        "sm_clock_mhz",
        "SM clock",
        "MHz",
        Neutral,
        true,
        MARGIN_RATE_PCT,
        "mean clock of the multiprocessors during the run",
        &[],
    ),
    Entry(
        "model_load_s",
        "Model load time",
        "s",
        Lower,
        true,
        MARGIN_WIDE_PCT,
        "time that the engine took to load the model",
        &["model_load", "model_load_time"],
    ),
    Entry(
        "gemm_tflops",
        "GEMM rate",
        "TFLOP/s",
        Higher,
        true,
        MARGIN_RATE_PCT,
        "operations of a matrix product divided by its time",
        &[],
    ),
    Entry(
        "memory_bandwidth_gb_s",
        "Memory bandwidth",
        "GB/s",
        Higher,
        true,
        MARGIN_RATE_PCT,
        "bytes read and written divided by the time, of a copy in memory",
        &[],
    ),
    Entry(
        "usd_per_million_tokens",
        "Cost per million output tokens",
        "USD",
        Lower,
        true,
        MARGIN_RATE_PCT,
        "price of the machine for the time of a million output tokens",
        &[],
    ),
    Entry(
        "roofline_pct",
        "Share of the roofline",
        "%",
        Higher,
        false,
        MARGIN_RATE_PCT,
        "share of the speed that the memory bandwidth allows",
        &[],
    ),
];

/// Suffixes for statistics over the requests of one run. The bare name is their mean.
pub const SUFFIXES: &[&str] = &["p50", "p90", "p95", "p99", "max"];

/// A label in the middle of a sentence: `time to first token`, but `GPU temperature at end`.
pub fn within(label: &str) -> String {
    let mut letters = label.chars();
    match (letters.next(), letters.as_str()) {
        (Some(first), rest) if rest.starts_with(|c: char| c.is_lowercase() || c == ' ') => {
            first.to_lowercase().chain(rest.chars()).collect()
        }
        _ => label.to_owned(),
    }
}

impl Metric {
    /// Looks a name up, in the catalogue and then among the metrics that were [defined](custom::define). `None` when neither knows it.
    pub fn find(name: &str) -> Option<Self> {
        Self::of_catalogue(name).or_else(|| custom::find(name))
    }

    /// Looks a name up in the catalogue alone.
    pub fn of_catalogue(name: &str) -> Option<Self> {
        let (base, suffix) = split(name);
        let Entry(_, label, unit, direction, ratio_scale, margin, about, _) = CATALOGUE.iter().find(|e| e.0 == base)?;
        let margin_pct = match suffix {
            Some("p90" | "p95") => MARGIN_WIDE_PCT,
            Some("p99" | "max") => MARGIN_TAIL_PCT,
            _ => *margin,
        };
        let label = match suffix {
            Some("max") => format!("{label}, maximum"),
            Some(s) => format!("{label}, {s}"),
            None => (*label).to_owned(),
        };
        Some(Self {
            name: name.to_owned(),
            label,
            unit,
            direction: *direction,
            ratio_scale: *ratio_scale,
            margin_pct,
            about,
            custom: false,
        })
    }

    /// Base name without the statistic: `ttft_ms_p99` is `ttft_ms`.
    pub fn base(&self) -> &str {
        split(&self.name).0
    }

    /// Place in the catalogue, for a stable and meaningful order of tables. Percentiles follow their mean, and metrics that were defined
    /// follow by name.
    pub fn rank(&self) -> usize {
        if self.custom {
            return CATALOGUE.len() * (SUFFIXES.len() + 1) + custom::rank(&self.name);
        }
        let (base, suffix) = split(&self.name);
        let row = CATALOGUE.iter().position(|e| e.0 == base).unwrap_or(CATALOGUE.len());
        let column = suffix.and_then(|s| SUFFIXES.iter().position(|k| *k == s)).map_or(0, |k| k + 1);
        row * (SUFFIXES.len() + 1) + column
    }

    /// Every base name, in catalogue order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CATALOGUE.iter().map(|e| e.0)
    }

    /// Base name, unit and words of every metric, in catalogue order (see `spelling`).
    pub(crate) fn words() -> impl Iterator<Item = (&'static str, &'static str, &'static [&'static str])> {
        CATALOGUE.iter().map(|Entry(name, _, unit, .., words)| (*name, *unit, *words))
    }

    /// True for quantities that cannot be zero or negative: times, rates, memory, tokens, power, cost. Of a metric that was defined nothing
    /// of the kind is known.
    pub const fn is_positive(&self) -> bool {
        self.ratio_scale && !self.custom
    }
}

/// Splits the statistic off a name. Only times carry one: `decode_tok_s` has none.
fn split(name: &str) -> (&str, Option<&str>) {
    if CATALOGUE.iter().any(|e| e.0 == name) {
        return (name, None);
    }
    match name.rsplit_once('_') {
        Some((base, suffix)) if SUFFIXES.contains(&suffix) && CATALOGUE.iter().any(|e| e.0 == base) => {
            (base, Some(suffix))
        }
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_inherits_unit_and_direction_and_has_its_own_margin() {
        let p99 = Metric::find("ttft_ms_p99").unwrap();
        assert_eq!((p99.base(), p99.unit, p99.direction, p99.margin_pct), ("ttft_ms", "ms", Lower, 10.0));
        assert_eq!(Metric::find("e2e_latency_ms_p50").unwrap().margin_pct, 2.0);
        assert_eq!(p99.label, "Time to first token, p99");
        assert_eq!(within(&p99.label), "time to first token, p99");
        assert_eq!(within("KV cache"), "KV cache");
        assert_eq!(within("End-to-end latency"), "end-to-end latency");
    }

    #[test]
    fn an_unknown_name_is_unknown() {
        assert_eq!(Metric::find("tokens_per_fortnight"), None);
        assert_eq!(Metric::find("ttft_ms_p42"), None);
    }

    #[test]
    fn percentiles_stand_behind_their_mean() {
        let rank = |name| Metric::find(name).unwrap().rank();
        assert!(rank("ttft_ms") < rank("ttft_ms_p50") && rank("ttft_ms_max") < rank("tpot_ms"));
    }
}
