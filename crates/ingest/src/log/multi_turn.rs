//! The tables that vLLM's conversation benchmark prints, `benchmark_serving_multi_turn.py`.
//!
//! In:  `Statistics summary:`, lines `name = value`, a table as pandas describes it.  Out: one partial run for each run of the program.
//! Not here: the requests one by one (see `vllm::multi_turn`).
//!
//! With `--warmup-percentages 0%,20%` there is a table for each share that is left out, smallest first: all of one run. The first gives
//! the metrics, the others are beside it under names that say the share. A narrow terminal breaks a table into several: the header
//! comes again with the columns that are left. There is p90 and, from 100 requests on, p99. Never p95. Lengths are counted by the client.

use super::kind::{LogReader, TextKind};
use crate::figure::{Figure, excerpt};
use crate::serving::{self, settings};
use crate::sheet::{last_part, model_id};
use crate::{About, JoinRole, Parsed, PartialRun, Record, SourceFile, vllm};
use sparkbench_model::{Extra, Origin, Setup, Status};

const RULE: &str = "vllm-multi-turn-console";
const DERIVED: &str = "vllm-multi-turn-console.derived";
const WITH_ZEROS: &str = "counts answers in one piece as 0";
const PERHAPS_ZEROS: &str = "may count answers in one piece as 0: the least value was cut off the table";
const UNSTREAMED: &str = "the answers came in one piece";
const TITLE: &str = "Statistics summary";

/// Rows that are our metrics.
const METRICS: &[(&str, &str)] = &[("ttft_ms", "ttft_ms"), ("tpot_ms", "tpot_ms"), ("latency_ms", "e2e_latency_ms")];
/// Column, suffix of the metric.
const STATISTICS: &[(&str, &str)] =
    &[("mean", ""), ("50%", "_p50"), ("90%", "_p90"), ("95%", "_p95"), ("99%", "_p99"), ("max", "_max")];
/// Rows of the table.
const ROWS: &[&str] = &["ttft_ms", "tpot_ms", "latency_ms", "input_num_", "output_num_", "time_between_user_turns_sec"];
/// Parameters that the program prints before its tables.
const PARAMETERS: &[&str] =
    &["model", "num_clients", "num_conversations", "active_conversations", "seed", "min_tokens", "max_tokens"];
/// Most cells of one table: eight rows of twelve are usual.
const CELLS: usize = 512;
/// Most tables of one text.
const MOST: usize = 1000;

/// See the module.
pub(super) static MULTI_TURN: TextKind = TextKind {
    name: "vllm-multi-turn-console",
    about: About {
        tool: "vLLM benchmark_serving_multi_turn.py",
        versions: "2025 to 2026, several tables with `--warmup-percentages`",
        sign: "`Statistics summary` and a table with `ttft_ms`",
        reads: "TTFT, TPOT, E2E latency, rates, lengths, every table",
    },
    signs: &["Statistics summary:", "Statistics summary (assuming"],
    marks: &[
        TITLE,
        "_sec = ",
        "ttft_ms",
        "tpot_ms",
        "latency_ms",
        "input_num_",
        "output_num_",
        "time_between_user_turns_sec",
        "  mean  ",
        "%  ",
        "    max",
        "Parameters:",
        "model=",
        "num_clients=",
        "num_conversations=",
        "active_conversations=",
        "seed=",
        "min_tokens=",
        "max_tokens=",
    ],
    start: || Box::<Console>::default(),
};

/// One table: what its title says, the lines below, the cells.
struct Table {
    line: u64,
    /// Per cent of the requests that were left out, as printed.
    warmup: Option<String>,
    values: Vec<(String, Figure, u64)>,
    columns: Vec<String>,
    cells: Vec<(String, String, Figure, u64)>,
}

/// Parameters and tables of one run.
type Run = (Vec<(String, String)>, Vec<Table>);

#[derive(Default)]
struct Console {
    parameters: Vec<(String, String)>,
    in_parameters: bool,
    runs: Vec<Run>,
    count: usize,
}

impl LogReader for Console {
    fn line(&mut self, number: u64, line: &str) {
        if line.contains(TITLE) {
            self.begin(number, line);
        } else if line.trim_end().ends_with("Parameters:") {
            if !line.contains("Generation") {
                self.parameters.clear();
            }
            self.in_parameters = true;
        } else if self.in_parameters {
            if let Some((name, value)) = line.trim().split_once('=')
                && PARAMETERS.contains(&name)
                && self.parameters.len() < PARAMETERS.len()
            {
                self.parameters.push((name.to_owned(), value.to_owned()));
            }
        } else if let Some(table) = self.runs.last_mut().and_then(|(_, tables)| tables.last_mut()) {
            table.line(number, line);
        }
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        let mut parsed = Parsed::default();
        let runs: Vec<_> = self
            .runs
            .into_iter()
            .filter(|(_, tables)| tables.iter().any(|table| table.cells.iter().any(|(row, _, _, _)| row == "ttft_ms")))
            .collect();
        let several = runs.len() > 1;
        for (place, (parameters, tables)) in (1..).zip(runs) {
            let mut partial = partial(file, parameters, tables);
            if several {
                (partial.join_role, partial.position) = (JoinRole::Alone, Some(place));
            }
            parsed.records.push(Record::Run(Box::new(partial)));
        }
        (!parsed.records.is_empty()).then_some(parsed)
    }
}

impl Console {
    /// A title: of the run before when it names a larger share of warm-up, else of a new one.
    fn begin(&mut self, number: u64, line: &str) {
        self.in_parameters = false;
        self.count += 1;
        if self.count > MOST {
            return;
        }
        let warmup = line
            .split_once("(assuming ")
            .and_then(|(_, rest)| rest.split_once('%'))
            .map(|(share, _)| share.trim().to_owned());
        let share = |warmup: &Option<String>| warmup.as_deref().and_then(|share| share.parse::<f64>().ok());
        let table = Table { line: number, warmup, values: Vec::new(), columns: Vec::new(), cells: Vec::new() };
        match self.runs.last_mut() {
            Some((_, tables))
                if tables.last().is_some_and(|last| {
                    share(&last.warmup).zip(share(&table.warmup)).is_some_and(|(before, now)| now > before)
                }) && self.parameters.is_empty() =>
            {
                tables.push(table);
            }
            _ => self.runs.push((std::mem::take(&mut self.parameters), vec![table])),
        }
    }
}

impl Table {
    fn line(&mut self, number: u64, line: &str) {
        if let Some((name, value)) = line.split_once(" = ") {
            let name = name.split_whitespace().next_back().unwrap_or_default();
            if let Some(figure) = Figure::parse(value.trim()).filter(|figure| figure.value.is_finite())
                && self.columns.is_empty()
                && self.values.len() < CELLS
            {
                self.values.push((excerpt(name), figure, number));
            }
            return;
        }
        let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "\\").collect();
        let is_column = |word: &&str| {
            matches!(*word, "count" | "mean" | "std" | "min" | "max" | "...")
                || word.strip_suffix('%').is_some_and(|share| share.parse::<f64>().is_ok())
        };
        if !words.is_empty() && words.iter().all(is_column) {
            self.columns = words.into_iter().map(str::to_owned).collect();
            return;
        }
        let Some(at) = words.iter().position(|word| ROWS.iter().any(|row| word.starts_with(row))) else { return };
        let Some((row, cells)) = words.get(at..).and_then(<[&str]>::split_first) else { return };
        if cells.len() != self.columns.len() || self.cells.len() > CELLS {
            return;
        }
        for (column, cell) in self.columns.iter().zip(cells) {
            if let Some(figure) = Figure::parse(cell).filter(|figure| figure.value.is_finite()) {
                self.cells.push(((*row).to_owned(), column.clone(), figure, number));
            }
        }
    }

    fn cell(&self, row: &str, column: &str) -> Option<f64> {
        self.cells.iter().find(|(r, c, _, _)| r == row && c == column).map(|(_, _, figure, _)| figure.value)
    }

    /// Why the times per token may be no such: zeros of answers in one chunk are among them, or may be.
    ///
    /// On paper and in files the table is cut in the middle, and the least value goes first. One zero among n values of mean m makes their
    /// standard deviation at least m sqrt(n) / (n - 1). Below that there is no zero.
    fn zeros(&self) -> Option<&'static str> {
        if let Some(least) = self.cell("tpot_ms", "min") {
            return (least == 0.0).then_some(WITH_ZEROS);
        }
        if !self.columns.iter().any(|column| column == "...") {
            return None;
        }
        let all = |column| self.cell("tpot_ms", column);
        let (Some(n), Some(mean), Some(sd)) = (all("count"), all("mean"), all("std")) else {
            return Some(PERHAPS_ZEROS);
        };
        let none = n > 1.0 && sd < mean * n.sqrt() / (n - 1.0);
        (!none).then_some(PERHAPS_ZEROS)
    }

    /// Whether answers of several tokens came in one chunk.
    fn is_whole(&self) -> bool {
        self.cell("output_num_chunks", "max") == Some(0.0)
            && self.cell("output_num_tokens", "mean").is_some_and(|tokens| tokens > 1.0)
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(have, _, _)| have == name).map(|(_, figure, _)| figure.value)
    }
}

fn partial(file: &SourceFile<'_>, parameters: Vec<(String, String)>, tables: Vec<Table>) -> PartialRun {
    let setup = Setup { tool: Some(vllm::MULTI_TURN.to_owned()), ..Setup::default() };
    let mut partial =
        PartialRun { join_role: JoinRole::Trace, setup, status: Some(Status::Done), ..PartialRun::default() };
    for (name, value) in parameters {
        match name.as_str() {
            "model" => {
                partial.setup.model_id = model_id(&value);
                partial.model = partial.setup.model_id.as_deref().map(|id| last_part(id).to_owned());
            }
            "num_clients" => partial.setup.batch = Figure::parse(&value).and_then(Figure::finite),
            _ => {
                settings::take(&mut partial.setup, &name, &value);
            }
        }
    }
    partial.workload = Some(vllm::multi_turn_workload(partial.setup.batch));
    for (place, table) in tables.iter().enumerate() {
        let suffix = if place == 0 {
            String::new()
        } else {
            format!(" after {}% warm-up", table.warmup.as_deref().unwrap_or("?"))
        };
        give(file, table, &suffix, &mut partial);
    }
    let Some(first) = tables.first() else { return partial };
    if let Some(share) = &first.warmup {
        partial.setup.more.insert("warmup_percentage".to_owned(), share.clone());
    }
    let count = first.cell("ttft_ms", "count");
    partial.setup.requests = count;
    partial.setup.isl = first.cell("input_num_tokens", "mean");
    partial.setup.osl = first.cell("output_num_tokens", "mean");
    if let (Some(count), Some(tokens), Some(seconds)) = (count, partial.setup.osl, first.value("runtime_sec"))
        && count * tokens > 0.0
        && seconds > 0.0
    {
        let origin = file.origin(Some(first.line), None, DERIVED);
        let rate = Figure::computed(count * tokens / seconds);
        partial.readings.push(rate.reading("output_throughput_tok_s", origin));
    }
    partial.fingerprint =
        serving::mark(vllm::MULTI_TURN, &[count, first.cell("ttft_ms", "mean"), first.cell("latency_ms", "mean")]);
    partial
}

/// Everything of one table. Only the first, without a suffix, has metrics.
fn give(file: &SourceFile<'_>, table: &Table, suffix: &str, partial: &mut PartialRun) {
    for (name, figure, line) in &table.values {
        let origin = file.origin(Some(*line), None, RULE);
        if name == "requests_per_sec" && suffix.is_empty() {
            partial.readings.push(figure.reading("request_throughput_req_s", origin));
            continue;
        }
        let (stem, unit) = match name.strip_suffix("_per_sec") {
            Some(stem) => (name.as_str(), if stem == "requests" { "req/s" } else { "" }),
            None => name.strip_suffix("_sec").map_or((name.as_str(), ""), |stem| (stem, "s")),
        };
        partial.extras.push(extra(format!("{stem}{suffix}"), unit, figure.value, origin));
    }
    for (row, column, figure, line) in &table.cells {
        let origin = file.origin(Some(*line), Some(format!("{row}/{column}")), RULE);
        let metric = METRICS.iter().find(|(name, _)| name == row).map(|(_, metric)| *metric);
        let statistic = STATISTICS.iter().find(|(name, _)| name == column).map(|(_, statistic)| *statistic);
        // An answer in one chunk has no time per further token, and the program counts it as 0.
        let doubt = match row.as_str() {
            "tpot_ms" => table.zeros(),
            "ttft_ms" => table.is_whole().then_some(UNSTREAMED),
            _ => None,
        };
        match metric.zip(statistic) {
            Some((metric, statistic)) if suffix.is_empty() && figure.value > 0.0 && doubt.is_none() => {
                partial.readings.push(figure.reading(format!("{metric}{statistic}"), origin));
            }
            _ => {
                let (stem, unit) = match row.strip_suffix("_ms") {
                    _ if column == "count" => (row.as_str(), "requests"),
                    Some(stem) => (stem, "ms"),
                    None if row.ends_with("_tokens") => (row.as_str(), "tokens"),
                    None => row.strip_suffix("_sec").map_or((row.as_str(), ""), |stem| (stem, "s")),
                };
                let why = doubt.filter(|_| column != "count");
                partial
                    .extras
                    .push(Extra { why, ..extra(format!("{stem} {column}{suffix}"), unit, figure.value, origin) });
            }
        }
    }
}

fn extra(name: String, unit: &str, value: f64, origin: Origin) -> Extra {
    Extra::number(name, unit, value, None, origin)
}

#[cfg(test)]
#[path = "multi_turn_tests.rs"]
mod tests;
