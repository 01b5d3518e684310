//! Lines of an SGLang server during answers: batches of prefill and of decoding, retractions.
//!
//! In:  lines.  Out: sums, means and maxima as extra figures.
//! Not here: figures of a benchmark. The batches include warm-up, other clients and pauses.

use super::super::cut::{after, value_after};
use super::super::findings::{LogFindings, Spread};

/// Marks of these lines.
pub(super) const MARKS: &[&str] = &["Prefill batch", "Decode batch", "Retract requests", "#retracted_reqs"];

const BATCHES: &str = "of the lines that the server prints for some batches, not a benchmark";
const LIFE: &str = "over the life of the server, warm-up and other clients included";

/// Traffic of one start.
#[derive(Debug, Default)]
pub(super) struct SglangTraffic {
    prefills: u64,
    new_tokens: f64,
    cached_tokens: f64,
    input_rate: Spread,
    decodes: u64,
    rate: Spread,
    running: Spread,
    queued: Spread,
    usage: Spread,
    accepted: Spread,
    accept_rate: Spread,
    retracted: f64,
}

impl SglangTraffic {
    /// True when the line was one of these.
    pub(super) fn read(&mut self, line: &str) -> bool {
        if let Some(rest) = after(line, "Prefill batch") {
            self.prefills += 1;
            self.new_tokens += value_after(rest, "#new-token:").unwrap_or(0.0);
            self.cached_tokens += value_after(rest, "#cached-token:").unwrap_or(0.0);
            add(&mut self.queued, rest, "#queue-req:");
            add(&mut self.input_rate, rest, "input throughput (token/s):");
            return true;
        }
        if let Some(rest) = after(line, "Decode batch") {
            self.decodes += 1;
            add(&mut self.rate, rest, "gen throughput (token/s):");
            add(&mut self.running, rest, "#running-req:");
            add(&mut self.queued, rest, "#queue-req:");
            add(&mut self.usage, rest, "token usage:");
            add(&mut self.accepted, rest, "accept len:");
            add(&mut self.accept_rate, rest, "accept rate:");
            return true;
        }
        if let Some(count) = value_after(line, "#retracted_reqs:").or_else(|| value_after(line, "#retracted_reqs=")) {
            self.retracted += count;
            return true;
        }
        false
    }

    /// The finished sums.
    pub(super) fn into(self, found: &mut LogFindings) {
        if self.prefills > 0 {
            found.over_all("prefill_batches", "", self.prefills as f64, None);
            found.over_all("prefill_new_tokens", "tokens", self.new_tokens, LIFE);
            found.over_all("prefill_cached_tokens", "tokens", self.cached_tokens, LIFE);
            let all = self.new_tokens + self.cached_tokens;
            if all > 0.0 {
                found.over_all("prefix_cache_hit_rate", "%", 100.0 * self.cached_tokens / all, LIFE);
            }
        }
        if self.decodes > 0 {
            found.over_all("decode_batches", "", self.decodes as f64, None);
        }
        for (name, unit, spread, why) in [
            ("batch_input_throughput", "tok/s", self.input_rate, BATCHES),
            ("batch_generation_throughput", "tok/s", self.rate, BATCHES),
            ("running_requests", "", self.running, BATCHES),
            ("queued_requests", "", self.queued, BATCHES),
            ("token_usage", "", self.usage, BATCHES),
            ("spec_decode_acceptance_length", "tokens", self.accepted, BATCHES),
            ("spec_decode_acceptance_rate", "", self.accept_rate, BATCHES),
        ] {
            if let Some(mean) = spread.mean() {
                found.over_all(&format!("{name} mean"), unit, mean, why);
                found.over_all(&format!("{name} max"), unit, spread.max, why);
            }
        }
        if self.retracted > 0.0 {
            found.over_all(
                "preemptions",
                "",
                self.retracted,
                "requests that were retracted because the KV cache was full",
            );
        }
    }
}

fn add(spread: &mut Spread, rest: &str, phrase: &str) {
    if let Some(value) = value_after(rest, phrase) {
        spread.add(value);
    }
}
