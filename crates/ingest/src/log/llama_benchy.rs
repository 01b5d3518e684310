//! The table of `llama-benchy`, in Markdown or on a console, with other text around it.
//!
//! In:  rows with `t/s`, `ttfr (ms)`, `e2e_ttft (ms)` and their relatives.  Out: a run for each pass: the row of the prompt and the row of
//! the generation below it.
//! Not here: its JSON and CSV (see `llama`).
//!
//! The figure behind the sign is one standard deviation over the runs. With one concurrency of 1 there is one column `t/s` and no `(c1)`.
//! Seen: 0.1 to 0.4.0.

use super::columns::{Columns, cell, pair};
use super::kind::{LogReader, TextKind};
use crate::figure::{Figure, excerpt};
use crate::llama::Test;
use crate::llama::passes::{BenchyRow, Cell, TableContext, key_of, partials};
use crate::{About, Parsed, Record, SourceFile};

const RULE: &str = "llama-benchy-markdown";
const DERIVED: &str = "llama-benchy-markdown.derived";

/// Most rows that are kept of one text.
const ROWS: usize = 20_000;

/// The table of llama-benchy.
pub(super) static LLAMA_BENCHY: TextKind = TextKind {
    name: "llama-benchy-markdown",
    about: About {
        tool: "llama-benchy, its table",
        versions: "0.1 to 0.4.0, older ones count chunks as tokens",
        sign: "a table with the columns `model`, `test` and `ttfr (ms)` or `t/s (total)`",
        reads: "a run for each pass: output throughput, decode rate, TPOT, TTFT, prefill rate, version and date",
    },
    signs: &["llama-benchy (", "ttfr (ms)", "e2e_ttft (ms)", "t/s (total)"],
    marks: &[
        "t/s",
        "ttfr (ms)",
        "±",
        "+/-",
        "\u{fffd}",
        " pp",
        " tg",
        "|pp",
        "|tg",
        "ctx_",
        "llama-benchy (",
        "latency mode:",
        "Average latency (",
        "tokenizer as approximation",
    ],
    start: || Box::<Table>::default(),
};

/// Columns of which llama-bench has none.
const OURS: &[&str] = &["t/s (total)", "ttfr (ms)", "est_ppt (ms)", "e2e_ttft (ms)", "peak t/s"];

#[derive(Default)]
struct Table {
    columns: Columns,
    /// Rows of each table, with the text around it.
    blocks: Vec<(Vec<BenchyRow>, TableContext)>,
    rows: Vec<BenchyRow>,
    count: usize,
    passed: usize,
    around: TableContext,
    approximate: bool,
    not_understood: Vec<String>,
}

impl LogReader for Table {
    fn line(&mut self, number: u64, line: &str) {
        if line.contains('|') && !line.contains("latency mode:") {
            self.row(number, line);
        }
        if let Some(version) = after(line, "llama-benchy (").and_then(|rest| rest.split_once(')')) {
            // The name is above and below a table on a console. Below it, it closes the table.
            self.around.version = Some(version.0.to_owned());
        }
        if let Some(mode) = after(line, "latency mode:") {
            self.around.latency_mode = Some(mode.trim().to_owned()).filter(|mode| mode.len() < 40);
            if let Some((date, _)) = after(line, "date:").and_then(|rest| rest.split_once('|')) {
                self.around.date = Some(date.trim().to_owned());
            }
            self.close();
        }
        if let Some((_, rest)) = after(line, "Average latency (").and_then(|rest| rest.split_once("):")) {
            let figure =
                rest.split_whitespace().next().and_then(Figure::parse).filter(|figure| figure.value.is_finite());
            self.around.latency_ms = figure.map(|figure| (figure, number));
        }
        self.approximate |= line.contains("tokenizer as approximation");
    }

    fn finish(mut self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        self.close();
        if self.blocks.is_empty() {
            return None;
        }
        let mut parsed = Parsed { not_understood: self.not_understood, ..Parsed::default() };
        if self.passed > 0 {
            parsed.notes.push(format!("{} rows behind the first {ROWS} are skipped", self.passed));
        }
        if self.approximate {
            parsed.notes.push("lengths of prompts are those of another model's tokenizer".to_owned());
        }
        for (rows, around) in self.blocks {
            let found = partials(rows, &around, file, (RULE, DERIVED));
            parsed.records.extend(found.into_iter().map(|partial| Record::Run(Box::new(partial))));
        }
        Some(parsed)
    }
}

impl Table {
    fn row(&mut self, number: u64, line: &str) {
        let has = |names: &[String], wanted: &str| names.iter().any(|name| name == wanted);
        let is_ours = |names: &[String]| {
            has(names, "test") && has(names, "model") && OURS.iter().any(|wanted| has(names, wanted))
        };
        let Some(row) = self.columns.line(line, is_ours) else { return };
        let Some(test) = cell(&row, "test").and_then(Test::parse) else { return };
        let mut cells = Vec::new();
        for (column, text) in row.iter().filter(|(_, text)| !text.is_empty()) {
            let Some(key) = key_of(column, &test) else { continue };
            match pair(text) {
                Some((mean, deviation)) => cells.push(Cell { key, mean, deviation, column: column.clone() }),
                None if self.not_understood.len() < 20 => {
                    self.not_understood.push(format!("line {number}, column '{column}': \"{}\"", excerpt(text)));
                }
                None => {}
            }
        }
        if cells.is_empty() {
            return;
        }
        if self.count >= ROWS {
            self.passed += 1;
            return;
        }
        self.count += 1;
        self.rows.push(BenchyRow {
            line: number,
            model: cell(&row, "model").unwrap_or_default().to_owned(),
            test,
            cells,
        });
    }

    /// The rows so far belong to what was said around them.
    fn close(&mut self) {
        if !self.rows.is_empty() {
            let around = self.around.clone();
            self.blocks.push((std::mem::take(&mut self.rows), around));
            self.around.latency_ms = None;
        }
    }
}

fn after<'a>(line: &'a str, phrase: &str) -> Option<&'a str> {
    line.split_once(phrase).map(|(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::super::Text;
    use super::*;
    use crate::{Format as _, PartialRun};

    fn read(text: &str) -> (Vec<PartialRun>, Parsed) {
        let mut input = text.as_bytes();
        let mut parsed = Text.parse(&mut SourceFile::new("chat.log", text.len() as u64, &mut input)).unwrap();
        let partials =
            parsed.records.drain(..).map(|r| if let Record::Run(partial) = r { *partial } else { panic!() }).collect();
        (partials, parsed)
    }

    fn found(run: &PartialRun) -> Vec<(&str, f64)> {
        run.readings.iter().map(|reading| (reading.metric.as_str(), reading.value)).collect()
    }

    #[test]
    fn the_row_of_the_prompt_and_the_row_of_the_generation_are_one_run() {
        let (runs, parsed) = read(
            "llama-benchy (0.4.0)\nFalling back to 'gpt2' tokenizer as approximation.\nAverage latency (generation): 65.28 ms\n\
             | model   |         test |      t/s (total) |         t/s (req) |      peak t/s |   peak t/s (req) |       ttfr (ms) |    est_ppt (ms) |   e2e_ttft (ms) |\n\
             |:--------|-------------:|-----------------:|------------------:|--------------:|-----------------:|----------------:|----------------:|----------------:|\n\
             | org/m   |  pp1024 (c5) | 6254.72 ± 352.20 |  2707.58 ± 2083.89 |               |                  | 544.92 ± 197.58 | 479.64 ± 197.58 | 545.00 ± 197.58 |\n\
             | org/m   |  tg1024 (c5) |    124.73 ± 3.76 |      25.00 ± 0.14 | 140.00 ± 0.00 |     28.80 ± 0.40 |                 |                 |                 |\n\
             | org/m   | ctx_pp @ d4096 (c5) |    10.00 ± 1.00 |      5.00 ± 0.14 |  |  |                 |                 |                 |\n\n\
             llama-benchy (0.4.0)\ndate: 2026-08-06 05:30:03 | latency mode: generation\n",
        );
        assert_eq!((parsed.kinds.as_slice(), parsed.notes.len()), (&["llama-benchy-markdown"][..], 1));
        let [run, context] = runs.as_slice() else { panic!("{runs:?}") };
        assert_eq!(
            found(run),
            [
                ("prefill_tok_s", 2707.58),
                ("ttft_ms", 545.0),
                ("output_throughput_tok_s", 124.73),
                ("decode_tok_s", 25.0),
                ("tpot_ms", 40.0)
            ]
        );
        assert_eq!((run.workload.as_deref(), run.setup.batch), (Some("pp1024-tg1024-c5"), Some(5.0)));
        assert_eq!(run.started.unwrap().iso(), "2026-08-06T05:30:03Z");
        assert_eq!((run.setup.tool_version.as_deref(), run.setup.model_id.as_deref()), (Some("0.4.0"), Some("org/m")));
        assert_eq!((context.workload.as_deref(), found(context).len()), (Some("ctx-d4096-c5"), 1));
        // Five pairs of extras and the deviations of four metrics, and the latency.
        assert_eq!(run.extras.len(), 5 * 2 + 4 + 1);
    }

    #[test]
    fn with_one_stream_there_is_one_column_and_it_is_both_rates() {
        let (runs, _) = read(
            "| model | test | t/s | peak t/s | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |\n|:--|--:|--:|--:|--:|--:|--:|\n\
             | m | pp2048 @ d4096 | 900.00 ± 1.00 | | 2.00 ± 0.1 | 1.00 ± 0.1 | 2.50 ± 0.1 |\n| m | tg32 @ d4096 | 50.00 ± 0.5 | 51.00 ± 0.0 | | | |\n",
        );
        let [run] = runs.as_slice() else { panic!("{runs:?}") };
        assert_eq!(
            found(run),
            [
                ("prefill_tok_s", 900.0),
                ("ttft_ms", 2.5),
                ("output_throughput_tok_s", 50.0),
                ("decode_tok_s", 50.0),
                ("tpot_ms", 20.0)
            ]
        );
        assert_eq!(run.workload.as_deref(), Some("pp2048-tg32-d4096-c1"));
    }
}
