//! MLPerf LoadGen: `mlperf_log_summary.txt`, also inside a console, and the `:::MLLOG` lines of `mlperf_log_detail.txt`.
//!
//! In:  lines.  Out: one partial run for each summary. The detailed log adds counts and the version.
//! Not here: accuracy, traces, logs of MLPerf Training (the same lines without LoadGen's keys).
//!
//! All latencies are in nanoseconds and run from the moment at which the query was **scheduled**. Server: the completed rates are the
//! throughput, the scheduled rate is the offered load. Offline: one query of all samples, so latencies count from the start of the test.
//! Multi-stream: a query holds several samples, so its latency is not that of a request. First tokens and TPOT are those of samples, and the
//! detailed log has the latency of samples too. Counts are of queries, so requests are queries times samples a query. `Result is : INVALID`
//! means that a limit or a count was not met. The figures are kept, and the run is marked. Seen: LoadGen 0.5 to 5.1 in documents and
//! sources, 6.0.17 in runs. Token figures since 4.0.

mod run;

use super::kind::{LogReader, TextKind};
use crate::at::At;
use crate::figure::Figure;
use crate::json::{self, Kind as Json};
use crate::sheet::plain;
use crate::{About, JoinRole, Parsed, Record, SourceFile};

use run::{Run, scenario};

/// Most summaries that are read of one text: a campaign, not a quarry.
const RUNS: usize = 1024;
const HEADING: &str = "MLPerf Results Summary";
const DETAIL: &str = ":::MLLOG";

/// Phrases of which a line must hold one to be read.
const MARKS: &[&str] = &[
    HEADING,
    DETAIL,
    "Scenario :",
    "Mode     :",
    "Result is :",
    "per second",
    "latency (ns)",
    "Output Token (ns)",
    "loadgen overhead",
    "Early stopping",
    "satisfied",
    "Per-query latency",
    "samples_per_query :",
    "target_qps :",
    "max_async_queries :",
    "duration (ms)",
    "query_count :",
    "rng_seed :",
    "accuracy_log_",
    "print_timestamps :",
    "performance_issue_",
    "performance_sample_count :",
    "sample_concatenate_permutation",
];

/// MLPerf LoadGen's summary and detailed log.
pub(super) static MLPERF: TextKind = TextKind {
    name: "mlperf-loadgen",
    about: About {
        tool: "MLPerf LoadGen (`mlperf_log_summary.txt`, `mlperf_log_detail.txt`)",
        versions: "0.5 to 6.0, tokens since 4.0",
        sign: "`MLPerf Results Summary`, or `:::MLLOG` lines with keys of LoadGen",
        reads: "rates, latency, TTFT and TPOT with percentiles, verdict, settings, counts and version from the detailed log",
    },
    signs: &[HEADING, "\"loadgen_version\"", "\"namespace\": \"mlperf::logging\""],
    marks: MARKS,
    start: || Box::<Log>::default(),
};

#[derive(Default)]
struct Log {
    runs: Vec<Run>,
    detail: Option<Run>,
    part: Part,
}

/// Position of the line in a summary.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Outside,
    Results,
    Parameters,
}

impl LogReader for Log {
    fn line(&mut self, number: u64, line: &str) {
        if let Some((_, rest)) = line.split_once(DETAIL) {
            self.detailed(number, rest);
            return;
        }
        if line.contains(HEADING) {
            self.part = if self.runs.len() < RUNS { Part::Results } else { Part::Outside };
            if self.part == Part::Results {
                self.runs.push(Run::default());
            }
            return;
        }
        if self.part == Part::Outside {
            return;
        }
        let part = self.part;
        let Some(run) = self.runs.last_mut() else { return };
        let Some((label, value)) = line.rsplit_once(':') else { return };
        // A launcher puts its own prefix in front.
        let label = label.rsplit_once("| ").map_or(label, |(_, label)| label);
        let (label, value) = (label.trim().trim_start_matches("* ").trim(), value.trim());
        if label == "samples_per_query" {
            self.part = Part::Parameters;
        }
        if part == Part::Parameters || label == "samples_per_query" {
            if value.is_empty() || label.contains(' ') && !label.ends_with(')') {
                return;
            }
            if label == "target_qps" && run.scenario.as_deref() == Some("server") {
                run.setup.request_rate = Figure::parse(value).and_then(Figure::finite);
            }
            if let (Some(name), Some(value)) = (plain(label), plain(value)) {
                run.setting(&name, &value);
            }
            return;
        }
        run.result(number, label, value);
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        let mut parsed = Parsed::default();
        let several = self.runs.len() > 1;
        for run in self.runs {
            let join_role = if several { JoinRole::Alone } else { JoinRole::Base };
            let partial = run.partial(file, join_role, &mut parsed);
            parsed.records.push(Record::Run(Box::new(partial)));
        }
        if let Some(detail) =
            self.detail.filter(|detail| detail.scenario.is_some() || detail.setup.tool_version.is_some())
        {
            let partial = detail.partial(file, JoinRole::WholeFolder, &mut parsed);
            parsed.records.push(Record::Run(Box::new(partial)));
        }
        (!parsed.records.is_empty()).then_some(parsed)
    }
}

impl Log {
    /// One `:::MLLOG {...}` line.
    fn detailed(&mut self, number: u64, rest: &str) {
        let Ok(node) = json::parse(rest.trim()) else { return };
        let root = At::root(&node);
        let (Some(key), Some(value)) = (root.get("key"), root.get("value")) else { return };
        let Json::Text(key) = &key.node.kind else { return };
        let key = key.as_ref();
        let ours = ["result_", "effective_", "generated_", "loadgen_", "early_stopping"]
            .iter()
            .any(|start| key.starts_with(start));
        let namespace =
            root.get("namespace").is_some_and(|at| matches!(&at.node.kind, Json::Text(t) if t == "mlperf::logging"));
        if !ours || !(namespace || self.detail.is_some() || key == "loadgen_version") {
            return;
        }
        let run = self.detail.get_or_insert_with(Run::default);
        let word = match &value.node.kind {
            Json::Text(text) => plain(text),
            Json::Bool(value) => Some(value.to_string()),
            _ => None,
        };
        match (key, word) {
            ("loadgen_version", Some(word)) => run.setup.tool_version = Some(word),
            ("effective_scenario", Some(word)) => run.scenario = Some(scenario(&word)),
            ("result_validity", Some(word)) => run.verdict(number, &word),
            (_, Some(word)) => {
                if let Json::Bool(met) = value.node.kind {
                    run.condition(key, met);
                }
                run.setting(key, &word);
            }
            (_, None) => {
                if let Ok(figure) = value.figure() {
                    run.detail(number, key, figure);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
