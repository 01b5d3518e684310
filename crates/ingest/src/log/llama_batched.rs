//! The table of `llama-batched-bench`, with other text around it.
//!
//! In:  the line of its settings, rows with a `S_TG t/s` column.  Out: a run for each row.
//! Not here: what the figures mean, and its JSON Lines (see `llama::batched`).
//!
//! Seen: one build of 2026. Older ones begin the line of the settings with `main:`.

use std::collections::BTreeMap;

use super::columns::{Columns, cell};
use super::kind::{LogReader, TextKind};
use crate::figure::Figure;
use crate::llama::batched::{MEASURES, setup, workload};
use crate::{About, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Extra, Setup, Status};

const RULE: &str = "llama-batched-bench-markdown";

/// Most rows that are kept of one text.
const ROWS: usize = 20_000;
/// Most settings that are kept.
const SETTINGS: usize = 40;

/// The table of llama-batched-bench.
pub(super) static LLAMA_BATCHED: TextKind = TextKind {
    name: RULE,
    about: About {
        tool: "llama-batched-bench of llama.cpp",
        versions: "a build of 2026",
        sign: "a table with the columns `PP`, `TG`, `B`, `N_KV` and `S_TG t/s`",
        reads: "a run for each row: rates of generation and of all tokens, prefill rate, times, the settings above",
    },
    signs: &["S_TG t/s"],
    // Rows hold nothing but figures, and blanks in front of those that are short.
    marks: &["S_TG t/s", "n_kv_max = ", "|   "],
    start: || Box::<Table>::default(),
};

/// One row.
struct Row {
    line: u64,
    prompt: u64,
    generated: u64,
    sequences: u64,
    figures: Vec<(usize, Figure)>,
    settings: BTreeMap<String, String>,
}

#[derive(Default)]
struct Table {
    columns: Columns,
    /// A header was seen.
    open: bool,
    rows: Vec<Row>,
    passed: usize,
    /// Of the launch that prints the rows that come.
    settings: BTreeMap<String, String>,
}

impl LogReader for Table {
    fn line(&mut self, number: u64, line: &str) {
        if let Some((_, rest)) = line.split_once("n_kv_max = ") {
            let first = std::iter::once(("n_kv_max", rest.split(',').next().unwrap_or_default()));
            let others = rest.split(',').filter_map(|part| part.split_once(" = "));
            let pairs = first.chain(others).take(SETTINGS).map(|(name, value)| (name.trim(), value.trim()));
            // Only figures are there.
            let pairs = pairs.filter(|(name, value)| name.len() < 40 && Figure::parse(value).is_some());
            self.settings = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            return;
        }
        self.open = self.open || line.contains("S_TG t/s");
        if self.open {
            self.row(number, line);
        }
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        if self.rows.is_empty() {
            return None;
        }
        let mut parsed = Parsed::default();
        if self.passed > 0 {
            parsed.notes.push(format!("{} rows behind the first {ROWS} are skipped", self.passed));
        }
        parsed.records = self.rows.into_iter().map(|row| Record::Run(Box::new(row.partial(file)))).collect();
        Some(parsed)
    }
}

impl Table {
    fn row(&mut self, line_number: u64, line: &str) {
        let is_ours = |names: &[String]| {
            ["pp", "tg", "b", "s_tg t/s"].iter().all(|wanted| names.iter().any(|name| name == wanted))
        };
        let Some(row) = self.columns.line(line, is_ours) else { return };
        let count = |name: &str| cell(&row, name).and_then(|cell| cell.parse::<u64>().ok());
        let (Some(prompt), Some(generated), Some(sequences)) = (count("pp"), count("tg"), count("b")) else { return };
        if self.rows.len() >= ROWS {
            self.passed += 1;
            return;
        }
        let figure = |name: &str| cell(&row, name).and_then(Figure::parse).filter(|figure| figure.value.is_finite());
        let figures = MEASURES.iter().enumerate();
        let figures = figures.filter_map(|(place, measure)| Some((place, figure(measure.column)?))).collect();
        let settings = self.settings.clone();
        self.rows.push(Row { line: line_number, prompt, generated, sequences, figures, settings });
    }
}

impl Row {
    fn partial(self, file: &SourceFile<'_>) -> PartialRun {
        let mut partial = PartialRun {
            join_role: JoinRole::Body,
            workload: Some(workload(self.prompt, self.generated, self.sequences)),
            status: Some(Status::Done),
            setup: Setup { more: self.settings, ..setup(self.prompt, self.generated, self.sequences) },
            ..PartialRun::default()
        };
        for (place, figure) in self.figures {
            let Some(measure) = MEASURES.get(place) else { continue };
            let origin = file.origin(Some(self.line), Some(measure.column.to_owned()), RULE);
            match (measure.metric(self.sequences), measure.unit) {
                // A row without generation has a rate of 0 over no time.
                (Some(metric), _) if figure.value > 0.0 => partial.readings.push(figure.reading(metric, origin)),
                (Some(_), _) => {}
                (None, unit) => {
                    let unit = unit.unwrap_or_default();
                    partial.extras.push(Extra::number(measure.name, unit, figure.value, measure.why, origin));
                }
            }
        }
        partial
    }
}

#[cfg(test)]
mod tests {
    use super::super::Text;
    use super::*;
    use crate::Format as _;

    #[test]
    fn rows_are_runs_with_the_settings_above() {
        let text = "llama_batched_bench: n_kv_max = 4096, n_batch = 512, flash_attn = -1, is_pp_shared = 0\n\n\
            |    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n\
            |-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n\
            |    32 |     16 |    2 |     96 |    0.012 |  5528.68 |    0.014 |  2241.05 |    0.026 |  3713.01 |\n\
            | 16384 |    128 |   32 |  65536 |   12.345 |  5528.68 |   10.014 |     0.00 |   22.359 |  3713.01 |\n";
        let mut input = text.as_bytes();
        let parsed = Text.parse(&mut SourceFile::new("bench.txt", text.len() as u64, &mut input)).unwrap();
        assert_eq!(parsed.kinds, [RULE]);
        let [Record::Run(run), Record::Run(long)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let found: Vec<_> = run.readings.iter().map(|r| (r.metric.as_str(), r.value, r.origin.line)).collect();
        assert_eq!(
            found,
            [("output_throughput_tok_s", 2241.05, Some(5)), ("total_throughput_tok_s", 3713.01, Some(5))]
        );
        assert_eq!((run.workload.as_deref(), run.setup.batch, run.extras.len()), (Some("pp32-tg16-c2"), Some(2.0), 5));
        let more: Vec<(&str, &str)> =
            run.setup.more.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(more, [("flash_attn", "-1"), ("is_pp_shared", "0"), ("n_batch", "512"), ("n_kv_max", "4096")]);
        assert_eq!((long.workload.as_deref(), long.readings.len()), (Some("pp16384-tg128-c32"), 1));
    }
}
