//! The labels of the report of `trtllm-bench`, and their meanings.
//!
//! In:  nothing.  Out: tables.
//! Not here: reading (see `block`).
//!
//! Source: `bench/dataclasses/reporting.py` of TensorRT-LLM 0.16 to 1.3, and its documentation of the latency mode.

/// Sections, as their headings begin.
pub(super) const SECTIONS: &[(&str, Section)] = &[
    ("= DATASET DETAILS", Section::Dataset),
    ("= PYTORCH BACKEND", Section::Backend),
    ("= ENGINE DETAILS", Section::Backend),
    ("= AUTODEPLOY", Section::Backend),
    ("= MACHINE DETAILS", Section::Machine),
    ("= REQUEST DETAILS", Section::Overview),
    ("= WORLD + RUNTIME", Section::Overview),
    ("= PERFORMANCE OVERVIEW", Section::Overview),
    ("= GENERAL OVERVIEW", Section::OldLatency),
    ("= THROUGHPUT OVERVIEW", Section::OldLatency),
    ("= LATENCY OVERVIEW", Section::OldLatency),
    ("= GENERATION LATENCY BREAKDOWN", Section::Generation),
    ("= ACCEPTANCE BREAKDOWN", Section::Acceptance),
    ("= DECODING STATISTICS", Section::Overview),
];

/// Marks of the lines of a report.
pub(super) const MARKS: &[&str] = &[
    "= DATASET DETAILS",
    "= PYTORCH BACKEND",
    "= ENGINE DETAILS",
    "= AUTODEPLOY",
    "= MACHINE DETAILS",
    "= REQUEST DETAILS",
    "= WORLD + RUNTIME",
    "= PERFORMANCE OVERVIEW",
    "= GENERAL OVERVIEW",
    "= THROUGHPUT OVERVIEW",
    "= LATENCY OVERVIEW",
    "= GENERATION LATENCY BREAKDOWN",
    "= ACCEPTANCE BREAKDOWN",
    "= DECODING STATISTICS",
    "TensorRT-LLM Version",
    "TensorRT LLM Version",
    "Throughput (",
    "Throughput [",
    "Output Speed (",
    "Total Latency (ms)",
    "Average request latency",
    "Average time-",
    "Average inter-token latency",
    "Acceptance Rate (",
    "[Latency]",
    "[TTFT]",
    "[TPOT]",
    "[GTPS]",
    "[DT]",
    "[ADT]",
    "[DAR]",
    "[AL]",
    "MIN:",
    "MAX:",
    "AVG:",
    "P50:",
    "P90:",
    "P95:",
    "P99:",
    "MIN (ms):",
    "MAX (ms):",
    "AVG (ms):",
    "P50 (ms):",
    "P90 (ms):",
    "P95 (ms):",
    "P99 (ms):",
    "Model:",
    "Dtype:",
    "Quantization:",
    "Sequence Length:",
    "Input Length:",
    "Number of requests:",
    "Number of Sequences:",
    "Number of concurrent requests:",
    "Average Input Length",
    "Average Output Length",
    "TP Size:",
    "PP Size:",
    "EP Size:",
    "Max Runtime",
    "Scheduling Policy:",
    "KV Memory Percentage:",
    "Issue Rate (req/sec):",
    ", memory ",
];

const WALL: &str = "wall time of the whole run, not the latency of a request";
const PER_USER: &str = "mean over requests of each one's own rate, not tokens of the system over its time";
const PER_GPU: &str = "output throughput over the number of GPUs";
const SPEED: &str = "1000 over the mean time per output token";
const HANDED_OVER: &str = "how fast requests were handed over, as measured, although all were sent at once";
pub(super) const GENERATION: &str = "time between the first and the last token of a request";
const GENERATION_RATE: &str = "output tokens over the time between first and last token, summed over requests";

/// Label, metric.
pub(super) const METRICS: &[(&str, &str)] = &[
    ("Request Throughput (req/sec)", "request_throughput_req_s"),
    ("Total Output Throughput (tokens/sec)", "output_throughput_tok_s"),
    // Version 0.16: output tokens.
    ("Token Throughput (tokens/sec)", "output_throughput_tok_s"),
    ("Total Token Throughput (tokens/sec)", "total_throughput_tok_s"),
    ("Average request latency (ms)", "e2e_latency_ms"),
    ("Average time-to-first-token [TTFT] (ms)", "ttft_ms"),
    ("Average time-to-first-token (ms)", "ttft_ms"),
    ("Average time-per-output-token [TPOT] (ms)", "tpot_ms"),
    // Latency mode of 0.16 and 0.17: (latency - first token) / (tokens - 1) of each request.
    ("Average inter-token latency (ms)", "tpot_ms"),
];

/// Label, name, unit, why it is no metric.
pub(super) const EXTRAS: &[(&str, &str, &str, Option<&str>)] = &[
    ("Total Latency (ms)", "total_latency_ms", "ms", Some(WALL)),
    ("Per User Output Throughput [w/ ctx] (tps/user)", "output_throughput_per_user", "tok/s", Some(PER_USER)),
    ("Per User Output Throughput (tps/user)", "output_throughput_per_user", "tok/s", Some(PER_USER)),
    ("Per User Output Throughput (tokens/sec/user)", "output_throughput_per_user", "tok/s", Some(PER_USER)),
    ("Per GPU Output Throughput (tps/gpu)", "output_throughput_per_gpu", "tok/s", Some(PER_GPU)),
    ("Per GPU Output Throughput (tokens/sec/gpu)", "output_throughput_per_gpu", "tok/s", Some(PER_GPU)),
    ("Per User Output Speed (tps/user)", "token_output_speed", "tok/s", Some(SPEED)),
    ("Generation Token Throughput (tokens/sec)", "generation_throughput", "tok/s", Some(GENERATION_RATE)),
    ("Acceptance Rate (Speculative)", "acceptance_rate", "", None),
    ("Number of concurrent requests", "average_concurrent_requests", "", None),
    ("Issue Rate (req/sec)", "issue_rate", "req/s", Some(HANDED_OVER)),
    ("Number of Sequences", "dataset_sequences", "", None),
];

/// Tag of a breakdown, metric or name of an extra, unit of the extra.
pub(super) const BREAKDOWNS: &[(&str, &str, &str)] = &[
    ("[Latency]", "e2e_latency_ms", "ms"),
    ("[TTFT]", "ttft_ms", "ms"),
    ("[TPOT]", "tpot_ms", "ms"),
    ("[GTPS]", "generation_throughput_per_user", "tok/s"),
    ("[DT]", "draft_tokens", "tokens"),
    ("[ADT]", "accepted_draft_tokens", "tokens"),
    ("[DAR]", "draft_acceptance_rate", ""),
    ("[AL]", "acceptance_length", "tokens"),
];

/// Key of a line of statistics, suffix of the metric. None where no metric has it.
pub(super) const STATISTICS: &[(&str, Option<&str>, &str)] = &[
    ("P50", Some("_p50"), "p50"),
    ("P90", Some("_p90"), "p90"),
    ("P95", Some("_p95"), "p95"),
    ("P99", Some("_p99"), "p99"),
    ("MAXIMUM", Some("_max"), "max"),
    ("AVERAGE", Some(""), "mean"),
    ("MINIMUM", None, "min"),
    ("MAX", Some("_max"), "max"),
    ("AVG", Some(""), "mean"),
    ("MIN", None, "min"),
];

/// Labels of settings. The longer ones first, where one ends with another.
pub(super) const SETTINGS: &[&str] = &[
    "KV Cache Dtype",
    "Dtype",
    "Model",
    "TensorRT-LLM Version",
    "TensorRT LLM Version",
    "Quantization",
    "Number of requests",
    "Average Input Length (tokens)",
    "Average Output Length (tokens)",
    "Max Runtime Batch Size",
    "Max Runtime Tokens",
    "Max Sequence Length",
    "Max Input Length",
    "KV Memory Percentage",
    "TP Size",
    "PP Size",
    "EP Size",
    "Scheduling Policy",
];

/// Position of a line in the report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Section {
    /// Before the first heading.
    #[default]
    None,
    Dataset,
    Backend,
    Machine,
    Overview,
    OldLatency,
    Generation,
    Acceptance,
}
