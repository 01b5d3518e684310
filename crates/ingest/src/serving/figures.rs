//! The figures of one run of a serving benchmark under the keys of `vllm bench serve`, and their meaning.
//!
//! In:  keys with figures and places.  Out: readings and extras of a partial run, and the outcome of a run without any success.
//! Not here: where keys come from. A console is read by the key of its label, so JSON and console cannot differ in meaning.
//!
//! Zeros: a run in which every request failed prints 0.0 for everything. The tools also print 0.0 for a time that no request had. Examples
//! are TPOT of one-token answers, and ITL of a server without streaming. A time or a rate of zero or less was never measured. It is kept
//! among the extras and is no metric.

use crate::PartialRun;
use crate::figure::Figure;
use crate::sheet::suffix;
use sparkbench_model::{Extra, ExtraValue, Origin, Status};

/// Part of a key, metric.
const FAMILIES: &[(&str, &str)] = &[
    ("ttft", "ttft_ms"),
    ("tpot", "tpot_ms"),
    ("itl", "itl_ms"),
    ("e2el", "e2e_latency_ms"),
    ("e2e_latency", "e2e_latency_ms"),
];

/// Key, metric.
const RATES: &[(&str, &str)] = &[
    ("request_throughput", "request_throughput_req_s"),
    ("output_throughput", "output_throughput_tok_s"),
    ("total_token_throughput", "total_throughput_tok_s"),
    ("total_throughput", "total_throughput_tok_s"),
];

const ZERO: &str = "zero stands for nothing measured";
const PEAK: &str = "the busiest second alone, and pieces of the stream are counted as tokens";
const GOOD: &str = "only the requests that met the limits which the run was given";
const QUEUE: &str = "counts the wait inside the client too";
const PROBE: &str = "of the probes beside the load, not of its requests";
const STEADY: &str = "of the part of the run in which as many requests were under way as were asked for";
const TURN: &str = "of one turn of the conversations alone";
const ATTAINED: &str = "share of the requests that met the limits which the run was given";
const STEPS: &str = "tokens a denoising model has committed";

/// Key of a figure that is no metric, its unit, and the reason.
const EXTRAS: &[(&str, &str, Option<&str>)] = &[
    ("completed", "requests", None),
    ("failed", "requests", None),
    ("duration", "s", None),
    ("total_input_tokens", "tokens", None),
    ("total_input_text_tokens", "tokens", None),
    ("total_input_vision_tokens", "tokens", None),
    ("total_output_tokens", "tokens", None),
    ("total_output_tokens_retokenized", "tokens", None),
    ("total_input_sequences", "inputs", None),
    ("input_sequence_throughput", "inputs/s", None),
    ("input_throughput", "tok/s", None),
    ("request_goodput", "req/s", Some(GOOD)),
    ("slo_attainment_pct", "%", Some(ATTAINED)),
    ("slo_attainment_by_metric_pct.ttft", "%", Some(ATTAINED)),
    ("slo_attainment_by_metric_pct.tpot", "%", Some(ATTAINED)),
    ("slo_attainment_by_metric_pct.e2e", "%", Some(ATTAINED)),
    ("cache_report.total_prompt_tokens", "tokens", None),
    ("cache_report.total_cached_tokens", "tokens", None),
    ("cache_report.cache_hit_rate_pct", "%", None),
    ("conversations_completed", "conversations", None),
    ("conversations_failed", "conversations", None),
    ("avg_turns_completed", "turns", None),
    ("max_output_tokens_per_s", "tok/s", Some(PEAK)),
    ("max_concurrent_requests", "requests", None),
    ("concurrency", "requests", None),
    ("accept_length", "tokens", None),
    ("spec_decode_acceptance_rate", "%", None),
    ("spec_decode_acceptance_length", "tokens", None),
    ("spec_decode_draft_tokens", "tokens", None),
    ("spec_decode_accepted_tokens", "tokens", None),
    ("diffusion_committed_throughput", "tok/s", Some(STEPS)),
    ("diffusion_committed_tokens", "tokens", None),
    ("probe_completed", "requests", None),
    ("probe_failed", "requests", None),
];

/// Remaining figures of a run without any success.
const FACTS: &[&str] = &["completed", "failed", "duration"];

struct Entry {
    key: String,
    unit: Option<String>,
    figure: Figure,
    origin: Origin,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Figures(Vec<Entry>);

impl Figures {
    /// Adds a figure. A missing one is nothing.
    pub(crate) fn put(&mut self, key: impl Into<String>, figure: Figure, origin: Origin) {
        self.put_with(key.into(), None, figure, origin);
    }

    /// Adds a figure in a unit of the source's own.
    pub(crate) fn put_with(&mut self, key: String, unit: Option<String>, figure: Figure, origin: Origin) {
        if figure.value.is_finite() {
            self.0.push(Entry { key, unit, figure, origin });
        }
    }

    /// The first figure under a key.
    pub(crate) fn get(&self, key: &str) -> Option<f64> {
        self.0.iter().find(|entry| entry.key == key).map(|entry| entry.figure.value)
    }

    /// The figures that JSON and console of one run share in every version, for its mark.
    pub(crate) fn marks(&self, keys: &[&str]) -> Vec<Option<f64>> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    /// Why the run measured nothing, if it did not.
    pub(crate) fn failure(&self) -> Option<String> {
        match self.get("completed") {
            Some(completed) if completed > 0.0 => None,
            Some(_) => Some(match self.get("failed") {
                Some(failed) if failed > 0.0 => format!("all {failed} requests failed"),
                _ => "no request succeeded".to_owned(),
            }),
            // Without a count the times tell: no answer takes no time.
            None => {
                let times = self.0.iter().filter(|entry| entry.key.starts_with("mean_") && entry.key.ends_with("_ms"));
                let mut times = times.peekable();
                (times.peek().is_some() && times.all(|entry| entry.figure.value == 0.0))
                    .then(|| "every time is zero: no request succeeded".to_owned())
            }
        }
    }

    /// Gives everything to the partial run.
    pub(crate) fn give(self, partial: &mut PartialRun) {
        let failure = self.failure();
        let times_of_failure = failure.is_some();
        partial.status = Some(failure.map_or(Status::Done, Status::Failed));
        for entry in self.0 {
            if times_of_failure {
                if FACTS.contains(&entry.key.as_str()) {
                    partial.extras.push(entry.into_extra(None));
                }
                continue;
            }
            match metric(&entry.key) {
                Some(metric) if entry.figure.value > 0.0 => {
                    match partial.readings.iter().find(|reading| reading.metric == metric) {
                        // `median` and `p50` are one figure.
                        Some(same) if same.value == entry.figure.value => {}
                        Some(_) => partial.extras.push(entry.into_extra(None)),
                        None => partial.readings.push(entry.figure.reading(metric, entry.origin)),
                    }
                }
                Some(_) => partial.extras.push(entry.into_extra(Some(ZERO))),
                None => partial.extras.push(entry.into_extra(None)),
            }
        }
    }
}

impl Entry {
    fn into_extra(self, why: Option<&'static str>) -> Extra {
        // A figure of a part of the run has the unit of the same figure of the whole.
        let last = self.key.rsplit('.').next().unwrap_or(&self.key);
        let known_as = |name: &str| EXTRAS.iter().find(|(key, _, _)| *key == name);
        let known = known_as(&self.key).or_else(|| known_as(last));
        let rate = RATES.iter().find(|(key, _)| *key == last).map(|(_, metric)| rate_unit(metric));
        let reason = why.or_else(|| known.and_then(|(_, _, why)| *why)).or_else(|| {
            let key = self.key.as_str();
            if key.starts_with("probe_") {
                Some(PROBE)
            } else if key.starts_with("steady_state.") {
                Some(STEADY)
            } else if key.starts_with("per_turn_metrics.") {
                Some(TURN)
            } else {
                key.contains("including_client_queue").then_some(QUEUE)
            }
        });
        let (name, unit) = match (known, self.unit) {
            (Some((_, unit, _)), _) => (self.key, (*unit).to_owned()),
            (None, Some(unit)) => (self.key, unit),
            (None, None) => match (self.key.strip_suffix("_ms"), self.key.strip_suffix("_s"), rate) {
                (Some(name), ..) => (name.to_owned(), "ms".to_owned()),
                (None, Some(name), None) => (name.to_owned(), "s".to_owned()),
                (None, _, Some(unit)) => (self.key, unit.to_owned()),
                (None, None, None) => (self.key, String::new()),
            },
        };
        Extra { name, unit, value: ExtraValue::Number(self.figure.value), why: reason, origin: self.origin }
    }
}

/// The unit that the name of a rate ends in.
fn rate_unit(metric: &str) -> &'static str {
    if metric.ends_with("_req_s") { "req/s" } else { "tok/s" }
}

/// The metric that a key means.
fn metric(key: &str) -> Option<String> {
    if let Some((_, metric)) = RATES.iter().find(|(name, _)| *name == key) {
        return Some((*metric).to_owned());
    }
    let (statistic, family) = key.strip_suffix("_ms")?.split_once('_')?;
    let (_, metric) = FAMILIES.iter().find(|(name, _)| *name == family)?;
    Some(format!("{metric}{}", suffix(statistic)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Metric;

    fn given(figures: &[(&str, f64)]) -> PartialRun {
        let mut all = Figures::default();
        for (key, value) in figures {
            let origin = Origin { file: "f".into(), line: None, field: None, rule: "r" };
            all.put(*key, Figure::computed(*value), origin);
        }
        let mut partial = PartialRun::default();
        all.give(&mut partial);
        partial
    }

    #[test]
    fn every_metric_is_one_of_the_contracts() {
        for (_, base) in FAMILIES {
            for suffix in ["mean", "median", "p90", "p95", "p99", "max"].map(|statistic| suffix(statistic).unwrap()) {
                assert!(Metric::of_catalogue(&format!("{base}{suffix}")).is_some());
            }
        }
        assert!(RATES.iter().all(|(_, metric)| Metric::of_catalogue(metric).is_some()));
    }

    #[test]
    fn statistics_that_the_contracts_do_not_name_are_kept_beside() {
        let partial = given(&[
            ("completed", 2.0),
            ("median_ttft_ms", 5.0),
            ("p50_ttft_ms", 5.0),
            ("p99.9_ttft_ms", 9.0),
            ("std_itl_ms", 1.0),
        ]);
        assert_eq!(partial.readings.len(), 1);
        let extras: Vec<(&str, &str)> = partial.extras.iter().map(|e| (e.name.as_str(), e.unit.as_str())).collect();
        assert_eq!(extras, [("completed", "requests"), ("p99.9_ttft", "ms"), ("std_itl", "ms")]);
    }

    #[test]
    fn zeros_of_a_run_without_success_are_no_measurements() {
        let partial = given(&[
            ("completed", 0.0),
            ("failed", 4.0),
            ("duration", 1.5),
            ("mean_ttft_ms", 0.0),
            ("output_throughput", 0.0),
        ]);
        assert_eq!(partial.status, Some(Status::Failed("all 4 requests failed".into())));
        assert_eq!((partial.readings.len(), partial.extras.len()), (0, 3));
        let old = given(&[("mean_ttft_ms", 0.0), ("mean_itl_ms", 0.0)]);
        assert!(matches!(old.status, Some(Status::Failed(_))));
    }

    #[test]
    fn a_time_of_zero_was_not_measured() {
        let partial =
            given(&[("completed", 3.0), ("mean_tpot_ms", 0.0), ("median_tpot_ms", -0.0), ("mean_ttft_ms", 7.0)]);
        assert_eq!((partial.readings.len(), partial.extras.len(), &partial.status), (1, 3, &Some(Status::Done)));
        assert_eq!(partial.extras[1].why, Some(ZERO));
    }
}
