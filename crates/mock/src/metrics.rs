//! The server's counters, in Prometheus text under vLLM's names.
//!
//! In:  [`Counts`].  Out: text.
//! Not here: counting (see `server`).
//!
//! Names as of vLLM's `v1/metrics/loggers.py`: counters end with `_total`, and the prefix cache counts tokens, not requests.

use std::fmt::Write as _;

/// Totals since the start, and what is so now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Requests being answered.
    pub running: u32,
    /// Requests that wait for a place.
    pub waiting: u32,
    pub prompt_tokens: u64,
    /// Tokens of answers that were handed out.
    pub generation_tokens: u64,
    /// Tokens of prompts that were looked up in the prefix cache.
    pub cache_queries: u64,
    /// Of these, known.
    pub cache_hits: u64,
    /// Answers that came to their end by themselves.
    pub stopped: u64,
    /// Answers that came to their end by `max_tokens`.
    pub length: u64,
    /// Answers that were ended by the client.
    pub aborted: u64,
}

pub(super) fn page(counts: &Counts, model: &str) -> String {
    let mut text = String::with_capacity(2048);
    let mut line = |name: &str, kind: &str, help: &str, label: &str, value: u64, first: bool| {
        if first {
            let _ = writeln!(text, "# HELP vllm:{name} {help}\n# TYPE vllm:{name} {kind}");
        }
        let _ = writeln!(text, "vllm:{name}{{engine=\"0\",{label}model_name=\"{model}\"}} {value}.0");
    };
    let Counts { running, waiting, .. } = *counts;
    line("num_requests_running", "gauge", "Number of requests in model execution batches.", "", running.into(), true);
    line("num_requests_waiting", "gauge", "Number of requests waiting to be processed.", "", waiting.into(), true);
    line("prompt_tokens_total", "counter", "Number of prefill tokens processed.", "", counts.prompt_tokens, true);
    line(
        "generation_tokens_total",
        "counter",
        "Number of generation tokens processed.",
        "",
        counts.generation_tokens,
        true,
    );
    line(
        "prefix_cache_queries_total",
        "counter",
        "Prefix cache queries, in terms of number of queried tokens.",
        "",
        counts.cache_queries,
        true,
    );
    line(
        "prefix_cache_hits_total",
        "counter",
        "Prefix cache hits, in terms of number of cached tokens.",
        "",
        counts.cache_hits,
        true,
    );
    let help = "Count of successfully processed requests.";
    line("request_success_total", "counter", help, "finished_reason=\"stop\",", counts.stopped, true);
    line("request_success_total", "counter", help, "finished_reason=\"length\",", counts.length, false);
    line("request_success_total", "counter", help, "finished_reason=\"abort\",", counts.aborted, false);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_names_of_vllm() {
        let page = page(&Counts { running: 3, cache_hits: 32, length: 7, ..Counts::default() }, "mock");
        assert!(page.contains("# TYPE vllm:num_requests_running gauge\n"));
        assert!(page.contains("vllm:num_requests_running{engine=\"0\",model_name=\"mock\"} 3.0\n"));
        assert!(page.contains("vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"mock\"} 32.0\n"));
        assert!(
            page.contains(
                "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"mock\"} 7.0\n"
            )
        );
    }
}
