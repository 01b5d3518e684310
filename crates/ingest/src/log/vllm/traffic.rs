//! Lines of a vLLM server during answers: a window every ten seconds, speculative decoding, preemptions.
//!
//! In:  lines.  Out: sums, means and maxima as extra figures.
//! Not here: figures of a benchmark. The windows include warm-up, other clients and pauses.
//!
//! Acceptance rates of windows are not averaged. Accepted and drafted tokens are summed, because windows differ in size.

use super::super::cut::{after, number_after, value_after};
use super::super::findings::{LogFindings, Spread};

/// Marks of these lines.
pub(super) const MARKS: &[&str] =
    &["SpecDecoding metrics:", "Speculative metrics:", "is preempted by", "num_cumulative_preemption="];

const WINDOWS: &str = "windows of the server that are not idle, not a benchmark";
const LIFE: &str = "over the life of the server, warm-up and other clients included";

/// Most positions of a draft that are distinguished.
const POSITIONS: usize = 64;

/// Traffic of one start.
#[derive(Debug, Default)]
pub(super) struct VllmTraffic {
    windows: u64,
    prompt: Spread,
    generation: Spread,
    running: Spread,
    waiting: Spread,
    kv_usage: Spread,
    prefix_last: Option<(f64, u64)>,
    accepted: f64,
    drafted: f64,
    drafts: f64,
    spec_windows: u64,
    positions: Vec<f64>,
    old_speculation: Option<(f64, f64, u64)>,
    preempted: u64,
    cumulative: Option<(f64, u64)>,
}

impl VllmTraffic {
    /// True when the line was one of these.
    pub(super) fn read(&mut self, line_number: u64, line: &str) -> bool {
        if let Some(rest) = after(line, "Avg prompt throughput:") {
            self.window(line_number, rest);
            return true;
        }
        if let Some(rest) = after(line, "SpecDecoding metrics:") {
            self.speculation(rest);
            return true;
        }
        if let Some(rest) = after(line, "Speculative metrics:") {
            let accepted = value_after(rest, "Number of accepted tokens:");
            let drafted = value_after(rest, "Number of draft tokens:")
                .or_else(|| value_after(rest, "Number of draft tokens tokens:"));
            self.old_speculation = accepted
                .zip(drafted)
                .map(|(accepted, drafted)| (accepted, drafted, line_number))
                .or(self.old_speculation);
            return true;
        }
        if line.contains("is preempted by") {
            self.preempted += 1;
            if let Some(total) = value_after(line, "num_cumulative_preemption=")
                .or_else(|| value_after(line, "total_num_cumulative_preemption="))
            {
                self.cumulative = Some((total, line_number));
            }
            return true;
        }
        false
    }

    fn window(&mut self, line_number: u64, rest: &str) {
        self.windows += 1;
        let prompt = number_after(rest, "").map_or(0.0, |figure| figure.value);
        let generation = value_after(rest, "Avg generation throughput:").unwrap_or(0.0);
        if prompt > 0.0 {
            self.prompt.add(prompt);
        }
        if generation > 0.0 {
            self.generation.add(generation);
        }
        for (phrase, spread) in [
            ("Running:", &mut self.running),
            ("Waiting:", &mut self.waiting),
            ("GPU KV cache usage:", &mut self.kv_usage),
        ] {
            // Before 0.8 `Pending:`. On a processor the one cache is the CPU's. GPU builds before 0.8 print that one too, for swapping.
            let other = match phrase {
                "Waiting:" => "Pending:",
                "GPU KV cache usage:" => "CPU KV cache usage:",
                other => other,
            };
            if let Some(value) = value_after(rest, phrase).or_else(|| value_after(rest, other)) {
                spread.add(value);
            }
        }
        let hits = after(rest, ", Prefix cache hit rate:").map(|rest| rest.trim_start().trim_start_matches("GPU:"));
        if let Some(rate) = hits.and_then(|rest| number_after(rest, "")) {
            self.prefix_last = Some((rate.value, line_number));
        }
    }

    fn speculation(&mut self, rest: &str) {
        let (Some(accepted), Some(drafted)) = (value_after(rest, "Accepted:"), value_after(rest, "Drafted:")) else {
            return;
        };
        self.spec_windows += 1;
        self.accepted += accepted;
        self.drafted += drafted;
        let rates = after(rest, "Per-position acceptance rate:").unwrap_or_default();
        let rates = rates.split("Avg").next().unwrap_or_default();
        let rates: Vec<f64> = rates.split(',').take(POSITIONS).filter_map(|rate| rate.trim().parse().ok()).collect();
        if rates.is_empty() || rates.iter().any(|rate: &f64| !rate.is_finite()) {
            return;
        }
        // Each draft has as many tokens as there are positions.
        let drafts = drafted / rates.len() as f64;
        self.drafts += drafts;
        self.positions.resize(self.positions.len().max(rates.len()), 0.0);
        for (sum, rate) in self.positions.iter_mut().zip(rates) {
            *sum += rate * drafts;
        }
    }

    /// The finished sums.
    pub(super) fn into(self, found: &mut LogFindings) {
        if self.windows > 0 {
            found.over_all("windows", "", self.windows as f64, None);
            found.over_all("windows_with_output", "", self.generation.count as f64, None);
        }
        for (name, spread) in
            [("window_generation_throughput", self.generation), ("window_prompt_throughput", self.prompt)]
        {
            if let Some(mean) = spread.mean() {
                found.over_all(&format!("{name} mean"), "tok/s", mean, WINDOWS);
                found.over_all(&format!("{name} max"), "tok/s", spread.max, WINDOWS);
            }
        }
        for (name, unit, spread) in [
            ("running_requests", "", self.running),
            ("waiting_requests", "", self.waiting),
            ("kv_cache_usage", "%", self.kv_usage),
        ] {
            if let Some(mean) = spread.mean() {
                found.over_all(&format!("{name} mean"), unit, mean, LIFE);
                found.over_all(&format!("{name} max"), unit, spread.max, None);
            }
        }
        if let Some((rate, line)) = self.prefix_last {
            found.extra_because(
                "prefix_cache_hit_rate",
                "%",
                rate,
                line,
                "of the latest queries, as the last window prints it",
            );
        }
        self.speculation_into(found);
        if self.preempted > 0 {
            found.over_all(
                "preemptions seen",
                "",
                self.preempted as f64,
                "a message is printed for some preemptions only",
            );
        }
        if let Some((total, line)) = self.cumulative {
            found.extra("preemptions", "", total, line);
        }
    }

    fn speculation_into(&self, found: &mut LogFindings) {
        if let Some((accepted, drafted, line)) = self.old_speculation {
            found.extra("spec_decode_accepted", "tokens", accepted, line);
            found.extra("spec_decode_drafted", "tokens", drafted, line);
        }
        if self.spec_windows == 0 {
            return;
        }
        found.over_all("spec_decode_accepted", "tokens", self.accepted, LIFE);
        found.over_all("spec_decode_drafted", "tokens", self.drafted, LIFE);
        if self.drafted > 0.0 {
            found.over_all("spec_decode_acceptance_rate", "%", 100.0 * self.accepted / self.drafted, LIFE);
        }
        if self.drafts > 0.0 {
            // The token that the model itself adds to each draft counts in the length.
            found.over_all("spec_decode_acceptance_length", "tokens", 1.0 + self.accepted / self.drafts, LIFE);
            for (position, sum) in self.positions.iter().enumerate() {
                found.over_all(
                    &format!("spec_decode_acceptance_rate at {}", position + 1),
                    "",
                    sum / self.drafts,
                    LIFE,
                );
            }
        }
    }
}
