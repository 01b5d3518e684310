//! The final output of `vllm bench throughput` and `vllm bench latency`.
//!
//! In:  `Throughput: 2.76 requests/s, 1190.97 total tokens/s, 595.49 output tokens/s`, and lines such as `Avg latency: 7.42 seconds`.
//! Out: one partial run for each text.
//! Not here: the files of the same runs (see `vllm::offline`).
//!
//! Until 2024 the line ended in plain `tokens/s`: input and output together. The last line of each kind counts.

use super::kind::{LogReader, TextKind};
use crate::figure::{Figure, Scale};
use crate::serving;
use crate::{About, JoinRole, Parsed, PartialRun, Record, SourceFile, vllm};
use sparkbench_model::{Extra, Setup, Status};

const THROUGHPUT_RULE: &str = "vllm-bench-throughput-console";
const LATENCY_RULE: &str = "vllm-bench-latency-console";

/// The line of `vllm bench throughput`.
pub(super) static THROUGHPUT: TextKind = TextKind {
    name: "vllm-bench-throughput-console",
    about: About {
        tool: "vllm bench throughput, benchmark_throughput.py",
        versions: "2023 to 0.26, `tokens/s` without `total` and `output` in the oldest",
        sign: "`Throughput: ... requests/s, ... tokens/s`",
        reads: "request, total and output throughput, tokens",
    },
    signs: &[" requests/s, "],
    marks: &[" requests/s, ", "Total num prompt tokens:", "Total num output tokens:"],
    start: || Box::<Throughput>::default(),
};

/// The lines of `vllm bench latency`.
pub(super) static LATENCY: TextKind = TextKind {
    name: "vllm-bench-latency-console",
    about: About {
        tool: "vllm bench latency, benchmark_latency.py",
        versions: "2024 to 0.26, later ones add `Std latency`",
        sign: "`Avg latency: ... seconds` and `..% percentile latency: ... seconds`",
        reads: "E2E latency of whole batches: mean and percentiles",
    },
    signs: &["% percentile latency: "],
    marks: &["Avg latency: ", "Std latency: ", "% percentile latency: "],
    start: || Box::<Latency>::default(),
};

/// A figure and its line.
type LogFindings = (String, Figure, u64);

fn keep(list: &mut Vec<LogFindings>, name: &str, figure: Figure, line: u64) {
    match list.iter_mut().find(|(have, _, _)| have == name) {
        Some(entry) => (entry.1, entry.2) = (figure, line),
        None => list.push((name.to_owned(), figure, line)),
    }
}

fn first(text: &str) -> Option<Figure> {
    Figure::parse(text.split_whitespace().next()?).filter(|figure| figure.value.is_finite())
}

#[derive(Default)]
struct Throughput {
    rates: Vec<LogFindings>,
    tokens: Vec<LogFindings>,
}

impl LogReader for Throughput {
    fn line(&mut self, number: u64, line: &str) {
        for label in ["prompt", "output"] {
            let phrase = format!("Total num {label} tokens:");
            if let Some(figure) = line.split_once(&phrase).and_then(|(_, rest)| first(rest)) {
                keep(&mut self.tokens, &format!("total_num_{label}_tokens"), figure, number);
            }
        }
        let Some((_, rates)) = line.split_once("Throughput: ") else { return };
        for part in rates.split(", ") {
            let Some((value, unit)) = part.trim().split_once(' ') else { continue };
            let metric = match unit.trim() {
                "requests/s" => "request_throughput_req_s",
                "total tokens/s" | "tokens/s" => "total_throughput_tok_s",
                "output tokens/s" => "output_throughput_tok_s",
                _ => continue,
            };
            if let Some(figure) = first(value) {
                keep(&mut self.rates, metric, figure, number);
            }
        }
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        if self.rates.len() < 2 {
            return None;
        }
        let value =
            |metric: &str| self.rates.iter().find(|(name, _, _)| name == metric).map(|(_, figure, _)| figure.value);
        let mut partial = blank(vllm::THROUGHPUT_TOOL, "throughput");
        partial.fingerprint = vllm::throughput_mark(value("request_throughput_req_s"), value("total_throughput_tok_s"));
        for (name, figure, line) in self.tokens {
            partial.extras.push(extra(file, &name, "tokens", figure, line, THROUGHPUT_RULE));
        }
        readings(file, self.rates, THROUGHPUT_RULE, Scale::One, &mut partial);
        Some(done(partial))
    }
}

#[derive(Default)]
struct Latency {
    mean: Option<(Figure, u64)>,
    spread: Option<(Figure, u64)>,
    percentiles: Vec<LogFindings>,
}

impl LogReader for Latency {
    fn line(&mut self, number: u64, line: &str) {
        // Other programs print an average too, in milliseconds.
        if !line.contains("seconds") {
            return;
        }
        let after = |phrase: &str| line.split_once(phrase).and_then(|(_, rest)| Some((first(rest)?, number)));
        self.mean = after("Avg latency: ").or(self.mean);
        self.spread = after("Std latency: ").or(self.spread);
        if let Some((before, rest)) = line.split_once("% percentile latency: ")
            && let Some(figure) = first(rest)
        {
            let digits = before.rsplit(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
            keep(&mut self.percentiles, digits, figure, number);
        }
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        let ((mean, line), false) = (self.mean?, self.percentiles.is_empty()) else { return None };
        let mut partial = blank(vllm::LATENCY_TOOL, "latency");
        let mut readings_of = vec![("e2e_latency_ms".to_owned(), mean, line)];
        for (percent, figure, line) in self.percentiles {
            if matches!(percent.as_str(), "50" | "90" | "95" | "99") {
                readings_of.push((format!("e2e_latency_ms_p{percent}"), figure, line));
            } else {
                partial.extras.push(extra(file, &format!("p{percent}_latency"), "s", figure, line, LATENCY_RULE));
            }
        }
        if let Some((figure, line)) = self.spread {
            partial.extras.push(extra(file, "std_latency", "s", figure, line, LATENCY_RULE));
        }
        readings(file, readings_of, LATENCY_RULE, Scale::Seconds, &mut partial);
        let value = |metric: &str| {
            partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
        };
        partial.fingerprint =
            serving::mark(vllm::LATENCY_TOOL, &[value("e2e_latency_ms"), value("e2e_latency_ms_p50")]);
        let mut parsed = done(partial);
        parsed.notes.push("a sample is the time of a whole batch, not of a request".to_owned());
        Some(parsed)
    }
}

fn blank(tool: &str, workload: &str) -> PartialRun {
    PartialRun {
        join_role: JoinRole::Trace,
        workload: Some(workload.to_owned()),
        setup: Setup { tool: Some(tool.to_owned()), engine: Some("vLLM".to_owned()), ..Setup::default() },
        ..PartialRun::default()
    }
}

fn done(partial: PartialRun) -> Parsed {
    let status =
        if partial.readings.is_empty() { Status::Failed("no request was finished".to_owned()) } else { Status::Done };
    let partial = PartialRun { status: Some(status), ..partial };
    Parsed { records: vec![Record::Run(Box::new(partial))], ..Parsed::default() }
}

fn readings(
    file: &SourceFile<'_>,
    found: Vec<LogFindings>,
    rule: &'static str,
    scale: Scale,
    partial: &mut PartialRun,
) {
    for (metric, figure, line) in found {
        if figure.value > 0.0 {
            let origin = file.origin(Some(line), None, rule);
            partial.readings.push(figure.scaled(scale).reading(metric, origin));
        }
    }
}

fn extra(file: &SourceFile<'_>, name: &str, unit: &str, figure: Figure, line: u64, rule: &'static str) -> Extra {
    Extra::number(name, unit, figure.value, None, file.origin(Some(line), None, rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::parse_kind;

    fn read(kind: &TextKind, text: &str) -> Option<PartialRun> {
        let mut input = text.as_bytes();
        let mut parsed = parse_kind(&mut SourceFile::new("x.log", text.len() as u64, &mut input), kind).unwrap();
        let is_ours = !parsed.kinds.is_empty();
        match parsed.records.pop() {
            Some(Record::Run(partial)) if is_ours => Some(*partial),
            _ => None,
        }
    }

    fn value(partial: &PartialRun, metric: &str) -> Option<f64> {
        partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
    }

    #[test]
    fn the_line_of_throughput_is_read_in_all_its_versions() {
        let new = "INFO x | Throughput: 2.76 requests/s, 1190.97 total tokens/s, 595.49 output tokens/s\nTotal num prompt tokens:  43102\nTotal num output tokens:  43102\n";
        let partial = read(&THROUGHPUT, new).unwrap();
        assert_eq!(
            (value(&partial, "total_throughput_tok_s"), value(&partial, "output_throughput_tok_s")),
            (Some(1190.97), Some(595.49))
        );
        assert_eq!((value(&partial, "request_throughput_req_s"), partial.extras.len()), (Some(2.76), 2));
        assert_eq!(partial.fingerprint.as_deref(), Some("vllm-bench-throughput|2.76|1190.97"));
        let old = read(&THROUGHPUT, "Throughput: 2.76 requests/s, 1190.97 tokens/s\n").unwrap();
        assert_eq!(
            (value(&old, "total_throughput_tok_s"), value(&old, "output_throughput_tok_s")),
            (Some(1190.97), None)
        );
        assert!(read(&THROUGHPUT, "Throughput: 3 apples/s\n").is_none());
    }

    #[test]
    fn seconds_of_batches_become_milliseconds() {
        let text = "Avg latency: 1.5 seconds\nStd latency: 0.25 seconds\n10% percentile latency: 1.25 seconds\n99% percentile latency: 1.75 seconds\n";
        let partial = read(&LATENCY, text).unwrap();
        assert_eq!(
            (value(&partial, "e2e_latency_ms"), value(&partial, "e2e_latency_ms_p99"), partial.extras.len()),
            (Some(1500.0), Some(1750.0), 2)
        );
        assert!(read(&LATENCY, "Avg latency: 15 ms\n").is_none());
    }
}
