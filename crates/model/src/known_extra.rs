//! Further figures of a run that a check looks for by name.
//!
//! In:  a run.  Out: the figure of the first name that is there.
//! Not here: its use.

use super::{Extra, ExtraValue, Run};

/// Requests that failed, as the tools name their count.
pub const FAILED_REQUESTS: &[&str] = &[
    "failed_requests",
    "failed",
    "num_failed",
    "requests_failed",
    "error_request_count",
    "num_error_requests",
    "errored_requests",
    "requests_errored",
    "errored",
    // GuideLLM: JSON and YAML of either schema, then the CSV of either.
    "request_totals.errored",
    "run_stats.requests_made.errored",
    "request_counts_errored",
    "failures",
    "failures_count",
];
/// Requests that were answered.
pub const ANSWERED_REQUESTS: &[&str] = &[
    "completed",
    "completed_requests",
    "successful_requests",
    "requests_successful",
    "num_completed_requests",
    "request_count",
    "successful",
    "request_totals.successful",
    "run_stats.requests_made.successful",
    "request_counts_successful",
    "successes",
    "successes_count",
    "good_completed",
];
/// Share of the requests that failed, 0 to 1.
pub const ERROR_RATE: &[&str] = &["error_rate"];
/// Answers of several tokens that came at one moment. They have no TPOT.
pub const WHOLE_ANSWERS: &str = "answers_at_one_moment";
/// Why the load generator may have been the limit: text. Empty where it was not.
pub const CLIENT_LIMITED: &str = "client_limited";
/// Why the tool itself calls the result invalid: text.
pub const INVALID: &str = "result_invalid";
/// Processor time of every process of a run that was waited for, user mode and kernel, seconds.
pub const PROCESSOR_S: &str = "processor_s";
/// State of the machine at a moment: what, and before or after the run.
pub const STATE: &[(&str, &str)] = &[
    ("memory_free", "GiB"),
    ("memory_available", "GiB"),
    ("page_cache", "GiB"),
    ("swap_used", "GiB"),
    ("gpu_memory_used", "GiB"),
    ("load_1m", ""),
];

/// The figure of the first of these names: case, and what joins the words, do not matter.
pub fn number(run: &Run, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| run.extras.iter().find(|extra| alike(&extra.name, name)).and_then(Extra::as_number))
}

/// The words of this name.
pub fn text<'a>(run: &'a Run, name: &str) -> Option<&'a str> {
    run.extras.iter().find(|extra| alike(&extra.name, name)).and_then(|extra| match &extra.value {
        ExtraValue::Text(text) => Some(text.as_str()),
        ExtraValue::Number(_) => None,
    })
}

fn alike(name: &str, wanted: &str) -> bool {
    let letters = |text: &'_ str| -> Vec<u8> {
        text.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    letters(name) == letters(wanted)
}
