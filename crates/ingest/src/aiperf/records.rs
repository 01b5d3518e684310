//! `profile_export.jsonl`: requests of an AIPerf run, one a line.
//!
//! In:  lines of any number, one at a time.  Out: one partial run with a series of each latency, and rates over the window.
//! Not here: means, percentiles, and the model, which only the summary names (see `summary`).
//!
//! Only requests of the measured phase count, and only those that succeeded. Time stamps are nanoseconds since 1970. No float holds them, so
//! they are read as whole numbers. Seen: August 2025 to 0.13, which adds `credit_issued_ns` and the name of the phase.

use super::super::figure::Figure;
use std::collections::BTreeMap;

use super::super::at::At;
use super::super::json::{self, Kind};
use super::super::sheet::{bool_at, find, number_at, text_at};
use super::super::source_file::{JSON_LINE_LIMIT, unreadable};
use super::super::{About, Format, Head, JoinRole, List, Parsed, PartialRun, Record, SourceFile};
use super::{Meaning, meaning, to_ms};
use sparkbench_model::{Extra, Instant, Origin, Series, Setup, Status};
use sparkbench_text::error::{Error, Place};
use sparkbench_text::slug::slug;

/// See the module.
pub(crate) struct Records;

const RULE: &str = "aiperf-records";
const DERIVED: &str = "aiperf-records.derived";
/// Most names of metrics that are followed. Far more than the tool has.
const TAGS: usize = 256;
/// Most kinds of errors that are distinguished.
const KINDS: usize = 64;

impl Format for Records {
    fn name(&self) -> &'static str {
        "aiperf-records"
    }

    fn about(&self) -> About {
        About {
            tool: "AIPerf, profile_export.jsonl",
            versions: "August 2025 to 0.13",
            sign: "JSON Lines with `metadata` and `metrics`, and metrics with `value` and `unit`",
            reads: "TTFT, TPOT, ITL and E2E latency of each request that succeeded in the measured phase, rates over the window",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(object) = head.object() else { return false };
        let is_value = |metrics: &super::super::Outline<'_>| {
            metrics.keys().into_iter().any(|key| metrics.get(key).is_some_and(|at| at.has(&["value", "unit"])))
        };
        let stamps = object.get("metadata").is_some_and(|at| at.get("request_start_ns").is_some());
        object.get("metrics").is_some_and(|metrics| metrics.is_map() && (stamps || is_value(metrics)))
            && object.get("metadata").is_some()
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let mut all = Requests::default();
        let mut lines = file.lines(JSON_LINE_LIMIT);
        while let Some(line) = lines.next_line().map_err(unreadable)? {
            if line.bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let place = Place::Line(line.number);
            if line.cut {
                let limit = JSON_LINE_LIMIT >> 10;
                let error = Error::archive("a request is left out");
                parsed.left_out.push(error.at(place).detail(format!("its line is longer than {limit} KiB")));
                continue;
            }
            let text = String::from_utf8_lossy(line.bytes);
            match json::parse(&text) {
                Ok(node) => all.take(&At::root(&node), line.number, &mut parsed),
                Err(error) => parsed.left_out.push(error.at(place)),
            }
        }
        if all.lines == 0 {
            return Err(Error::archive("no line of it is a request"));
        }
        all.finish(file, &mut parsed);
        Ok(parsed)
    }
}

/// Values of one tag over the requests that count.
struct Column {
    unit: String,
    values: Vec<f64>,
    line: u64,
}

#[derive(Default)]
struct Requests {
    lines: usize,
    good: usize,
    failed: usize,
    warm: usize,
    errors: BTreeMap<String, f64>,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    columns: BTreeMap<String, Column>,
}

impl Requests {
    fn take(&mut self, root: &At<'_>, line: u64, parsed: &mut Parsed) {
        let Some(metadata) = root.get("metadata") else {
            let error = Error::archive("a line that is not a request is left out");
            parsed.left_out.push(error.at(Place::Line(line)).detail("it has no 'metadata'"));
            return;
        };
        self.lines += 1;
        let phase = ["phase_kind", "benchmark_phase"].into_iter().find_map(|key| text_at(&metadata, key));
        if phase.is_some_and(|phase| phase != "profiling") {
            self.warm += 1;
            return;
        }
        let ns = |key: &str| find(&metadata, key, |at| at.whole().ok()?);
        let (start, end) = (ns("request_start_ns"), ns("request_end_ns"));
        self.first_ns = self.first_ns.into_iter().chain(start).min();
        self.last_ns = self.last_ns.into_iter().chain(end).max();
        let cancelled = bool_at(&metadata, "was_cancelled") == Some(true);
        let error = root.get("error").filter(|error| !matches!(error.node.kind, Kind::Null));
        if error.is_some() || cancelled {
            self.failed += 1;
            let kind = error.as_ref().and_then(|error| text_at(error, "type").or_else(|| text_at(error, [])));
            let code = error.as_ref().and_then(|error| number_at(error, "code")).map(|code| format!("_{code}"));
            let kind =
                kind.map_or_else(|| if cancelled { "cancelled" } else { "unknown" }.to_owned(), |kind| slug(&kind));
            let kind = format!("{kind}{}", code.unwrap_or_default());
            if self.errors.len() < KINDS || self.errors.contains_key(&kind) {
                *self.errors.entry(kind).or_default() += 1.0;
            }
            return;
        }
        if let Some(metrics) = root.get("metrics") {
            for (tag, metric) in metrics.entries().into_iter().flatten() {
                if let Err(error) = self.value(tag, &metric, line) {
                    parsed.left_out.push(error.at(Place::LineField(line, format!("/metrics/{tag}"))));
                }
            }
        }
        self.good += 1;
    }

    /// One metric of one request: a number, or the list of its gaps.
    fn value(&mut self, tag: &str, metric: &At<'_>, line: u64) -> Result<(), Error> {
        let Some(value) = metric.get("value") else { return Ok(()) };
        if !self.columns.contains_key(tag) {
            if self.columns.len() >= TAGS {
                return Ok(());
            }
            let unit = text_at(metric, "unit").unwrap_or_default();
            self.columns.insert(tag.to_owned(), Column { unit, values: Vec::new(), line });
        }
        let Some(column) = self.columns.get_mut(tag) else { return Ok(()) };
        if let Kind::List(_) = value.node.kind {
            for item in value.items()? {
                column.values.push(item.figure()?.value);
            }
            return Ok(());
        }
        let figure = value.figure()?;
        // One value for each request, in their order: what a request lacks is missing.
        if column.values.len() < self.good {
            column.values.resize(self.good, f64::NAN);
        }
        column.values.push(figure.value);
        Ok(())
    }

    fn finish(self, file: &SourceFile<'_>, parsed: &mut Parsed) {
        let origin = |line: Option<u64>, field: &str, rule: &'static str| -> Origin {
            file.origin(line, Some(format!("/metrics/{field}/value")), rule)
        };
        let window = self.first_ns.zip(self.last_ns).map(|(first, last)| last.saturating_sub(first) as f64 / 1e9);
        let stamp = |ns: Option<i64>| ns.map(|ns| Instant(ns.div_euclid(1_000_000)));
        let mut partial = PartialRun {
            join_role: JoinRole::Trace,
            started: stamp(self.first_ns),
            ended: stamp(self.last_ns),
            setup: Setup {
                tool: Some("aiperf".to_owned()),
                requests: Some((self.good + self.failed) as f64),
                ..Setup::default()
            },
            ..PartialRun::default()
        };
        partial.status = Some(match (self.good, self.failed) {
            (0, 0) => Status::Unrecorded,
            (0, failed) => Status::Failed(format!("all {failed} requests failed")),
            _ => Status::Done,
        });
        let sum = |tag: &str| -> Option<f64> {
            let column = self.columns.get(tag)?;
            (column.values.len() == self.good && column.values.iter().all(|value| value.is_finite()))
                .then(|| column.values.iter().sum())
        };
        let (input, output) = (sum("input_sequence_length"), sum("output_sequence_length"));
        let mean = |total: Option<f64>| total.filter(|_| self.good > 0).map(|total| total / self.good as f64);
        (partial.setup.isl, partial.setup.osl) = (mean(input), mean(output));
        if let Some(seconds) = window.filter(|seconds| *seconds > 0.0 && self.good > 0) {
            let both = input.zip(output).map(|(input, output)| input + output);
            for (metric, amount, tag) in [
                ("request_throughput_req_s", Some(self.good as f64), "request_latency"),
                ("output_throughput_tok_s", output, "output_sequence_length"),
                ("total_throughput_tok_s", both, "input_sequence_length"),
            ] {
                if let Some(amount) = amount {
                    let origin = origin(None, tag, DERIVED);
                    partial.readings.push(Figure::computed(amount / seconds).reading(metric, origin));
                }
            }
        }
        for (name, count) in [("failed_requests", self.failed), ("warmup_requests", self.warm)] {
            if count > 0 {
                partial.extras.push(counted(file, name, count as f64));
            }
        }
        for (kind, count) in &self.errors {
            partial.extras.push(counted(file, &format!("errors.{kind}"), *count));
        }
        if self.failed > 0 {
            let all = self.failed + self.good;
            parsed.notes.push(format!("{} of {all} requests failed. They are excluded from latencies", self.failed));
        }
        if self.warm > 0 {
            parsed.notes.push(format!("{} requests of the warm-up enter nothing", self.warm));
        }
        for (tag, mut column) in self.columns {
            match (meaning(&tag), to_ms(&column.unit)) {
                (Meaning::Time(metric), Some(factor)) => {
                    if (factor - 1.0).abs() > f64::EPSILON {
                        column.values.iter_mut().for_each(|value| *value *= factor);
                    }
                    let origin = origin(Some(column.line), &tag, RULE);
                    partial.series.push(Series { metric: metric.to_owned(), values: column.values, origin });
                }
                _ => parsed.lists.push(List { part: None, name: tag, values: column.values }),
            }
        }
        parsed.records.push(Record::Run(Box::new(partial)));
    }
}

fn counted(file: &SourceFile<'_>, name: &str, count: f64) -> Extra {
    Extra::number(name, "", count, None, file.origin(None, None, DERIVED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[String]) -> (PartialRun, Parsed) {
        let text = lines.join("\n");
        assert!(Records.sniff(&Head::new("x.jsonl", &text, 1)));
        let mut input = text.as_bytes();
        let mut parsed = Records.parse(&mut SourceFile::new("x.jsonl", text.len() as u64, &mut input)).unwrap();
        match parsed.records.remove(0) {
            Record::Run(partial) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    fn request(phase: &str, start: i64, metrics: &str, error: &str) -> String {
        let end = start + 500_000_000;
        format!(
            r#"{{"metadata": {{"benchmark_phase": "{phase}", "request_start_ns": {start}, "request_end_ns": {end}, "was_cancelled": false}}, "metrics": {{{metrics}}}, "error": {error}}}"#
        )
    }

    #[test]
    fn only_successes_of_the_measured_phase_count_and_nanoseconds_are_whole() {
        let good = r#""request_latency": {"value": 500.0, "unit": "ms"}, "time_to_first_token": {"value": 0.1, "unit": "s"},
            "inter_chunk_latency": {"value": [1.5, 2.5], "unit": "ms"}, "output_sequence_length": {"value": 3, "unit": "tokens"}"#
            .replace('\n', " ");
        let lines = [
            request("warmup", 1_000, &good, "null"),
            request("profiling", 1_762_551_534_797_067_827, &good, "null"),
            request("profiling", 1_762_551_535_297_067_827, &good, "null"),
            request(
                "profiling",
                1_762_551_535_297_067_827,
                r#""error_isl": {"value": 5, "unit": "tokens"}"#,
                r#"{"type": "Timeout", "message": "http://box"}"#,
            ),
            "{\"metadata\": ".to_owned(),
        ];
        let (run, parsed) = read(&lines);
        let series: Vec<(&str, &[f64])> = run.series.iter().map(|s| (s.metric.as_str(), s.values.as_slice())).collect();
        assert_eq!(
            series,
            [
                ("itl_ms", &[1.5, 2.5, 1.5, 2.5][..]),
                ("e2e_latency_ms", &[500.0, 500.0][..]),
                ("ttft_ms", &[100.0, 100.0][..])
            ]
        );
        let rates: Vec<(&str, f64)> = run.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(rates, [("request_throughput_req_s", 2.0), ("output_throughput_tok_s", 6.0)]);
        let extras: Vec<&str> = run.extras.iter().map(|extra| extra.name.as_str()).collect();
        assert_eq!(extras, ["failed_requests", "warmup_requests", "errors.timeout"]);
        assert_eq!((run.setup.requests, run.started.unwrap().0), (Some(3.0), 1_762_551_534_797));
        assert_eq!(parsed.left_out.len(), 1);
        assert!(!format!("{run:?}").contains("box"));
    }

    #[test]
    fn a_run_in_which_all_failed_has_no_rate() {
        let (run, _) = read(&[request("profiling", 5, "", r#"{"type": "X"}"#)]);
        assert!(run.readings.is_empty() && matches!(run.status, Some(Status::Failed(_))), "{run:?}");
    }
}
