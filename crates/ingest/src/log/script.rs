//! Logs of scripts that time one prompt for each model: `--- Testing NAME ---`, later `Results: 173.25 tok/s | TTFT: 11.8ms | 256 tokens | ...`.
//!
//! In:  such lines.  Out: one partial run for each result.
//! Not here: the script's rate as a metric. It is unclear whether the prompt is included and how the first token was timed, so it is an
//! extra.
//!
//! Seen: scripts around ollama and llama.cpp on a GB10, 2026.

use super::cut::{after, place};
use super::kind::{LogReader, TextKind};
use crate::figure::{Figure, Scale};
use crate::{About, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Extra, Setup, Status};

const RULE: &str = "script-results";
/// Results kept of one text. A sweep has some dozens.
const MOST: usize = 10_000;

/// See the module.
pub(super) static SCRIPT: TextKind = TextKind {
    name: "script-results",
    about: About {
        tool: "scripts around ollama and llama.cpp",
        versions: "2026",
        sign: "`Results: ... tok/s | TTFT: ...ms | ...` in one line",
        reads: "TTFT, total time as E2E latency, tokens, temperature. The rate is kept and not a metric, because nothing says what it counts",
    },
    signs: &["tok/s | TTFT: "],
    marks: &["--- Testing ", "tok/s | TTFT: "],
    start: || Box::<Log>::default(),
};

/// One line of results.
struct Line {
    model: Option<String>,
    number: u64,
    cells: Vec<(String, Figure)>,
}

#[derive(Default)]
struct Log {
    /// The model that is being tested.
    model: Option<String>,
    results: Vec<Line>,
    more: usize,
}

impl LogReader for Log {
    fn line(&mut self, number: u64, line: &str) {
        if let Some(rest) = after(line, "--- Testing ") {
            let name = rest.trim_end_matches([' ', '-']);
            // The size in brackets is part of the title and not of the name.
            let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
            self.model = Some(name.trim().chars().take(120).collect());
            return;
        }
        let Some(before) = place(line, "tok/s | TTFT: ").and_then(|at| line.get(..at)) else { return };
        if self.results.len() == MOST {
            self.more += 1;
            return;
        }
        let start = before.rfind(':').map_or(0, |at| at + 1);
        let cells = line.get(start..).unwrap_or_default().split('|');
        let cells = cells.filter_map(cell).collect();
        self.results.push(Line { model: self.model.clone(), number, cells });
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        if self.results.is_empty() {
            return None;
        }
        let mut parsed = Parsed::default();
        if self.more > 0 {
            parsed.notes.push(format!("{} further results are skipped", self.more));
        }
        for Line { model, number: line, cells } in self.results {
            let mut partial = PartialRun {
                join_role: JoinRole::Alone,
                model: model.clone(),
                status: Some(Status::Done),
                setup: Setup { tool: Some("script".to_owned()), model_id: model, batch: Some(1.0), ..Setup::default() },
                ..PartialRun::default()
            };
            for (name, Figure { value, decimals }) in cells {
                let origin = file.origin(Some(line), Some(name.clone()), RULE);
                let metric = match name.as_str() {
                    "TTFT ms" => Some(("ttft_ms", 1.0)),
                    "total s" => Some(("e2e_latency_ms", 1000.0)),
                    _ => None,
                };
                if let Some((metric, factor)) = metric {
                    let figure = Figure { value, decimals }.scaled(Scale::Times(factor));
                    partial.readings.push(figure.reading(metric, origin));
                    continue;
                }
                if name == "tokens" {
                    partial.setup.osl = Some(value);
                }
                let (name, unit) = name.rsplit_once(' ').map_or((name.as_str(), ""), |(name, unit)| (name, unit));
                let why = (unit == "tok/s").then_some("the script does not say what the rate counts");
                partial.extras.push(Extra::number(name, unit, value, why, origin));
            }
            parsed.records.push(Record::Run(Box::new(partial)));
        }
        Some(parsed)
    }
}

/// `173.25 tok/s`, `TTFT: 11.8ms`, `256 tokens`, `1.734337s total`, `GPU: 51C`: what it is with its unit, and the figure.
fn cell(text: &str) -> Option<(String, Figure)> {
    let (title, rest) = text.rsplit_once(':').map_or(("", text), |(title, rest)| (title.trim(), rest));
    let rest = rest.trim();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    let (number, unit) = rest.split_at_checked(end)?;
    let figure = Figure::parse(number).filter(|figure| figure.value.is_finite())?;
    let mut words = unit.split_whitespace();
    let name = match (title, words.next().unwrap_or_default(), words.next()) {
        ("", "tok/s", _) => "rate tok/s".to_owned(),
        ("", "tokens", _) => "tokens".to_owned(),
        ("", unit, Some(what)) => format!("{what} {unit}"),
        (title, unit, _) => format!("{title} {unit}"),
    };
    Some((name.trim().chars().take(60).collect(), figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_results_is_a_run_of_the_model_above_it() {
        let mut log = Box::<Log>::default();
        log.line(3, "--- Testing small:1b (1B) ---");
        log.line(6, "  Results: 100.5 tok/s | TTFT: 12.5ms | 256 tokens | 2.75s total | GPU: 51C");
        let mut nothing: &[u8] = &[];
        let parsed = log.finish(&SourceFile::new("a.txt", 0, &mut nothing)).unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let found: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(found, [("ttft_ms", 12.5), ("e2e_latency_ms", 2750.0)]);
        assert_eq!((partial.model.as_deref(), partial.setup.osl), (Some("small:1b"), Some(256.0)));
        let extras: Vec<(&str, &str)> = partial.extras.iter().map(|e| (e.name.as_str(), e.unit.as_str())).collect();
        assert_eq!(extras, [("rate", "tok/s"), ("tokens", ""), ("GPU", "C")]);
    }

    #[test]
    fn what_is_no_result_is_not_taken() {
        assert_eq!(cell("nothing here"), None);
        assert_eq!(cell(""), None);
        assert_eq!(cell("é: 5é"), Some(("é é".to_owned(), Figure { value: 5.0, decimals: Some(0) })));
    }
}
