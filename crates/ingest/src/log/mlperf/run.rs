//! The lines of one run of LoadGen.
//!
//! In:  labels and values, or keys of the detailed log.  Out: a partial run.
//! Not here: which line belongs to which run.

use crate::figure::Figure;
use crate::sheet::{plain, suffix};
use crate::{JoinRole, Parsed, PartialRun, SourceFile};
use sparkbench_model::{Extra, ExtraValue, Reading, Setup, Status, known_extra};
use sparkbench_text::slug::slug;

const RULE: &str = "mlperf-loadgen";
/// Nanoseconds in a millisecond.
const NS: f64 = 1e6;
/// Label of a rate, metric.
const RATES: &[(&str, &str)] = &[
    ("Completed samples per second", "request_throughput_req_s"),
    ("Samples per second", "request_throughput_req_s"),
    ("QPS w/ loadgen overhead", "request_throughput_req_s"),
    ("Completed tokens per second", "output_throughput_tok_s"),
    ("Tokens per second", "output_throughput_tok_s"),
    ("TPS w/ loadgen overhead", "output_throughput_tok_s"),
];
/// Label of another rate, unit, why.
const OTHERS: &[(&str, &str, &str)] = &[
    ("Scheduled samples per second", "req/s", "what was offered, not what was done"),
    ("QPS w/o loadgen overhead", "req/s", "one by the mean latency"),
    ("TPS w/o loadgen overhead", "tok/s", BY_LATENCIES),
];
/// End of the label of a latency, metric. One program writes both names of TPOT into one summary.
const LATENCIES: &[(&str, &str)] = &[
    ("first token latency (ns)", "ttft_ms"),
    ("first token percentile latency (ns)", "ttft_ms"),
    ("time to output token (ns)", "tpot_ms"),
    ("time per output token (ns)", "tpot_ms"),
    ("latency (ns)", "e2e_latency_ms"),
];
/// Keys of the detailed log: key, metric, the scenario whose summary gives that figure where there are several of one meaning.
const DETAILS: &[(&str, &str, Option<&str>)] = &[
    ("result_completed_samples_per_sec", "request_throughput_req_s", None),
    ("result_samples_per_second", "request_throughput_req_s", None),
    ("result_qps_with_loadgen_overhead", "request_throughput_req_s", None),
    ("result_tokens_per_second", "output_throughput_tok_s", None),
    ("result_completed_tokens_per_second", "output_throughput_tok_s", Some("server")),
    ("result_token_throughput_with_loadgen_overhead", "output_throughput_tok_s", Some("singlestream")),
];
/// Key of tokens by the sum of latencies, which it gives for a nanosecond.
const TOKENS_A_NS: &str = "result_token_throughput";

const PER_QUERY: &str = "of a query of several samples";
const BY_LATENCIES: &str = "tokens by the sum of latencies";
const ESTIMATE: &str = "an estimate by early stopping, above the percentile itself";

/// Metric, what is written, divisor, line, key.
type Taken = (String, Figure, f64, u64, Option<String>);
/// Name, unit, what is written, why it is no metric, line.
type Other = (String, &'static str, f64, Option<&'static str>, u64);

/// Most figures and most settings that are kept of one run.
const KEPT: usize = 512;
/// Limit for reported unmet conditions. The tool has four.
const CONDITIONS: usize = 8;

/// See the module.
#[derive(Default)]
pub(super) struct Run {
    readings: Vec<Taken>,
    extras: Vec<Other>,
    /// Settings, among them the version.
    pub setup: Setup,
    /// Label of the scenario.
    pub scenario: Option<String>,
    accuracy: bool,
    /// Whether the result is called invalid, and the line that says so.
    invalid: Option<(bool, u64)>,
    /// Unmet conditions.
    unmet: Vec<String>,
    /// The summary gives latencies of whole queries, each of several samples. First tokens and TPOT are those of samples.
    per_query: bool,
    /// `ttft` and `tpot` have an early stopping of their own, under one label.
    section: &'static str,
    queries: Option<f64>,
    samples: Option<f64>,
}

/// A scenario as a label: `Single Stream` and `SingleStream` are one.
pub(super) fn scenario(word: &str) -> String {
    slug(word).replace("single-stream", "singlestream").replace("multi-stream", "multistream")
}

impl Run {
    /// A line of the results and of the additional statistics.
    pub(super) fn result(&mut self, number: u64, label: &str, value: &str) {
        match label {
            "Scenario" => {
                let scenario = scenario(value);
                self.per_query = scenario == "multistream";
                self.scenario = Some(scenario);
            }
            "Mode" => {
                self.accuracy = value.starts_with("Accuracy");
                self.setting("mode", value);
            }
            "SUT name" => {}
            "Result is" => self.verdict(number, value),
            "Per-query latency" => self.per_query = true,
            "TTFT Early Stopping Result" => self.section = "ttft ",
            "TPOT Early Stopping Result" => self.section = "tpot ",
            _ if label.ends_with("satisfied") => {
                if value.eq_ignore_ascii_case("no") {
                    self.unmet(label.trim_end_matches("satisfied").trim_end());
                }
                if let (Some(label), Some(value)) = (plain(label), plain(value)) {
                    self.setting(&label, &value);
                }
            }
            _ => {
                let Some(figure) = Figure::parse(value).filter(|figure| figure.value.is_finite()) else { return };
                self.figure(number, label, figure);
            }
        }
    }

    /// Whether the result is `VALID`.
    pub(super) fn verdict(&mut self, number: u64, word: &str) {
        self.invalid = Some((word != "VALID", number));
    }

    /// A condition of the detailed log, such as `result_min_duration_met`.
    pub(super) fn condition(&mut self, key: &str, met: bool) {
        if !met && let Some(name) = key.strip_suffix("_met") {
            self.unmet(&name.trim_start_matches("result_").replace('_', " "));
        }
    }

    fn unmet(&mut self, name: &str) {
        if self.unmet.len() < CONDITIONS {
            self.unmet.extend(plain(&name.to_lowercase()));
        }
    }

    fn figure(&mut self, number: u64, label: &str, figure: Figure) {
        if let Some((_, metric)) = RATES.iter().find(|(name, _)| name.eq_ignore_ascii_case(label)) {
            self.reading(metric.to_string(), figure, 1.0, number, None);
            return;
        }
        if let Some((name, unit, why)) = OTHERS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(label)) {
            self.extra(((*name).to_owned(), unit, figure.value, Some(why), number));
            return;
        }
        let lower = label.to_ascii_lowercase();
        if lower.contains("early stopping") {
            self.extra((format!("{}{lower}", self.section), "ns", figure.value, Some(ESTIMATE), number));
        } else if let Some((start, metric)) =
            LATENCIES.iter().find_map(|(end, metric)| Some((lower.strip_suffix(end)?.trim(), *metric)))
        {
            match (statistic(start), self.per_query && metric == "e2e_latency_ms") {
                (Some(statistic), false) if suffix(&statistic).is_some() => {
                    let suffix = suffix(&statistic).unwrap_or_default();
                    self.reading(format!("{metric}{suffix}"), figure, NS, number, None);
                }
                (_, per_query) => {
                    let name = lower.strip_suffix(" (ns)").unwrap_or(&lower).to_owned();
                    self.extra((name, "ns", figure.value, per_query.then_some(PER_QUERY), number));
                }
            }
        } else {
            self.extra((label.to_owned(), "", figure.value, None, number));
        }
    }

    /// A figure of the detailed log.
    pub(super) fn detail(&mut self, number: u64, key: &str, figure: Figure) {
        if !figure.value.is_finite() {
            return;
        }
        let field = Some(format!("/{key}"));
        let of_this = |only: Option<&str>| only.is_none() || only == self.scenario.as_deref();
        if let Some((_, metric, _)) = DETAILS.iter().find(|(name, _, only)| *name == key && of_this(*only)) {
            self.reading((*metric).to_owned(), figure, 1.0, number, field);
            return;
        }
        match key {
            "result_query_count" => self.queries = figure.finite(),
            "effective_samples_per_query" => self.samples = figure.finite(),
            TOKENS_A_NS => {
                self.extra((key.to_owned(), "tok/s", figure.value * 1e9, Some(BY_LATENCIES), number));
                return;
            }
            // Zero is the estimate of the scenarios that make none.
            _ if key.starts_with("early_stopping_latency") && figure.value <= 0.0 => return,
            _ => {}
        }
        if !key.starts_with("result_") && !key.starts_with("early_stopping") {
            self.setting(key, &figure.value.to_string());
            return;
        }
        let found = detailed_latency(key);
        match found.filter(|(_, statistic)| suffix(statistic).is_some()) {
            Some((metric, statistic)) => {
                let suffix = suffix(&statistic).unwrap_or_default();
                self.reading(format!("{metric}{suffix}"), figure, NS, number, field);
            }
            None => {
                let unit = match key {
                    "result_completed_tokens_per_second" | "result_token_throughput_with_loadgen_overhead" => "tok/s",
                    "result_scheduled_samples_per_sec" | "result_qps_without_loadgen_overhead" => "req/s",
                    _ if key.ends_with("_ns") || key.contains("output_token_") => "ns",
                    // Of a single stream and of a multi-stream: no unit, but the scenario.
                    "early_stopping_latency_ss" | "early_stopping_latency_ms" => "ns",
                    _ => "",
                };
                let why = if key.starts_with("early_stopping_latency") {
                    Some(ESTIMATE)
                } else {
                    (key.contains("per_query") || key.ends_with("query_latency_ns")).then_some(PER_QUERY)
                };
                self.extra((key.to_owned(), unit, figure.value, why, number));
            }
        }
    }

    /// Keeps a setting.
    pub(super) fn setting(&mut self, name: &str, value: &str) {
        if self.setup.more.len() < KEPT {
            self.setup.more.insert(name.to_owned(), value.to_owned());
        }
    }

    fn extra(&mut self, extra: Other) {
        if self.extras.len() < KEPT {
            self.extras.push(extra);
        }
    }

    fn reading(&mut self, metric: String, figure: Figure, divisor: f64, number: u64, field: Option<String>) {
        // The headline percentile is repeated among the additional ones.
        if self.readings.iter().all(|(ours, ..)| *ours != metric) {
            self.readings.push((metric, figure, divisor, number, field));
        }
    }

    pub(super) fn partial(self, file: &SourceFile<'_>, join_role: JoinRole, parsed: &mut Parsed) -> PartialRun {
        let reading = |(metric, figure, divisor, line, field): Taken| Reading {
            metric,
            value: figure.value / divisor,
            decimals: if divisor == 1.0 { figure.decimals } else { figure.decimals.map(|_| 6) },
            origin: file.origin(Some(line), field, RULE),
        };
        let extra = |(name, unit, value, why, line): Other| {
            Extra::number(name, unit, value, why, file.origin(Some(line), None, RULE))
        };
        let readings: Vec<Reading> = self.readings.into_iter().map(reading).collect();
        let mut extras: Vec<Extra> = self.extras.into_iter().map(extra).collect();
        if let Some((true, line)) = self.invalid {
            let unmet = if self.unmet.is_empty() {
                "a limit, a duration or a count was not met".to_owned()
            } else {
                format!("not met: {}", self.unmet.join(", "))
            };
            parsed.notes.push(format!("LoadGen calls the result INVALID: {unmet}"));
            extras.push(Extra {
                name: known_extra::INVALID.to_owned(),
                unit: String::new(),
                value: ExtraValue::Text(unmet),
                why: None,
                origin: file.origin(Some(line), None, RULE),
            });
        }
        if self.accuracy {
            parsed.notes.push("a run for accuracy: what it measures of speed is not a result".to_owned());
        }
        let mut setup = Setup { tool: Some(RULE.to_owned()), ..self.setup };
        setup.requests = self.queries.map(|queries| queries * self.samples.unwrap_or(1.0)).or(setup.requests);
        if let Some((invalid, _)) = self.invalid {
            setup.more.insert("result".to_owned(), if invalid { "INVALID" } else { "VALID" }.to_owned());
        }
        // What speaks beside others does not say that they ended.
        let done = join_role != JoinRole::WholeFolder && self.invalid.is_some() && !readings.is_empty();
        PartialRun {
            join_role,
            workload: self.scenario.filter(|_| join_role != JoinRole::WholeFolder),
            status: done.then_some(Status::Done),
            readings: if self.accuracy { Vec::new() } else { readings },
            extras,
            setup,
            ..PartialRun::default()
        }
    }
}

/// `Min`, `Mean`, `90.00 percentile`, `90th percentile`, `99.0th`: the statistic as other tools name it.
fn statistic(words: &str) -> Option<String> {
    let first = words.split_whitespace().next()?;
    if matches!(first, "min" | "max" | "mean") {
        return Some(first.to_owned());
    }
    let digits: String = first.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    percentile(&digits)
}

/// `99.00` and `99` are `p99`, `99.90` is `p99.9`.
fn percentile(digits: &str) -> Option<String> {
    let value: f64 = digits.parse().ok()?;
    Some(format!("p{value}"))
}

/// Metric and statistic of `result_first_token_99.00_percentile_latency_ns` and its kin.
fn detailed_latency(key: &str) -> Option<(&'static str, String)> {
    let rest = key.strip_prefix("result_")?;
    let (metric, rest) = if let Some(rest) = rest.strip_prefix("first_token_") {
        ("ttft_ms", rest)
    } else if let Some(rest) =
        rest.strip_prefix("time_per_output_token_").or_else(|| rest.strip_prefix("time_to_output_token_"))
    {
        ("tpot_ms", rest)
    } else {
        ("e2e_latency_ms", rest)
    };
    if rest.contains("per_query") || rest.contains("query_latency") || rest.contains("count") {
        return None;
    }
    let first = rest.split('_').next()?;
    if matches!(first, "min" | "max" | "mean") {
        return Some((metric, first.to_owned()));
    }
    rest.contains("percentile").then(|| percentile(first)).flatten().map(|statistic| (metric, statistic))
}
