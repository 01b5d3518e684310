//! Rows of llama-benchy become runs: the row of the prompt and the row of the generation after it are one pass.
//!
//! In:  rows of a table or of a CSV, in their order.  Out: one partial run for each pass.
//! Not here: how a row is found.

use super::super::sheet::{last_part, model_id};
use super::super::{Figure, JoinRole, PartialRun, SourceFile};
use super::{ContextPart, FIRST_RESPONSE, PEAK, PREFILL, Test, WITHOUT_LATENCY, benchy_mark};
use sparkbench_model::{Extra, Setup, Status};

/// What all requests together are where there is one, and each of them where there are several.
pub(super) const PREFILL_RATE: &str = "prefill_tok_s";

/// Key, metric where its mean is one, unit, why it is no metric.
pub(super) const MEASURES: &[(&str, Option<&str>, &str, Option<&str>)] = &[
    ("pp_throughput", None, "tok/s", Some(PREFILL)),
    ("pp_req_throughput", Some(PREFILL_RATE), "tok/s", None),
    ("tg_throughput", Some("output_throughput_tok_s"), "tok/s", None),
    ("tg_req_throughput", Some("decode_tok_s"), "tok/s", None),
    ("peak_throughput", None, "tok/s", Some(PEAK)),
    ("peak_req_throughput", None, "tok/s", Some(PEAK)),
    ("ttfr", None, "ms", Some(FIRST_RESPONSE)),
    ("est_ppt", None, "ms", Some(WITHOUT_LATENCY)),
    ("e2e_ttft", Some("ttft_ms"), "ms", None),
];

/// A figure of a row: which measure, its mean, its deviation, the column of each.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// As the JSON names it: `tg_throughput`.
    pub key: &'static str,
    pub mean: Figure,
    /// Standard deviation over the runs.
    pub deviation: Option<Figure>,
    /// Column of the mean.
    pub column: String,
}

/// One row.
#[derive(Debug, Clone)]
pub(crate) struct BenchyRow {
    /// Line in the file.
    pub line: u64,
    /// As printed.
    pub model: String,
    /// Its measurement.
    pub test: Test,
    /// Its figures.
    pub cells: Vec<Cell>,
}

/// Settings from the lines around the rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableContext {
    /// Version of the tool.
    pub version: Option<String>,
    /// Start, in the zone of the client, which is not named.
    pub date: Option<String>,
    /// How the latency of the network was measured.
    pub latency_mode: Option<String>,
    /// That latency, and its line.
    pub latency_ms: Option<(Figure, u64)>,
}

/// Column as the tables and the CSV name it, key for a prompt, key for a generation.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("t/s (total)", "pp_throughput", "tg_throughput"),
    ("t/s", "pp_throughput", "tg_throughput"),
    ("t_s", "pp_throughput", "tg_throughput"),
    ("t/s (req)", "pp_req_throughput", "tg_req_throughput"),
    ("t_s_req", "pp_req_throughput", "tg_req_throughput"),
    ("peak t/s", "peak_throughput", "peak_throughput"),
    ("peak_ts", "peak_throughput", "peak_throughput"),
    ("peak t/s (req)", "peak_req_throughput", "peak_req_throughput"),
    ("peak_ts_req", "peak_req_throughput", "peak_req_throughput"),
    ("ttfr (ms)", "ttfr", "ttfr"),
    ("ttfr", "ttfr", "ttfr"),
    ("est_ppt (ms)", "est_ppt", "est_ppt"),
    ("est_ppt", "est_ppt", "est_ppt"),
    ("e2e_ttft (ms)", "e2e_ttft", "e2e_ttft"),
    ("e2e_ttft", "e2e_ttft", "e2e_ttft"),
];

/// The measure of a column in a row of this test.
pub(crate) fn key_of(column: &str, test: &Test) -> Option<&'static str> {
    let column = column.trim().to_ascii_lowercase();
    let (_, prompt, generation) = COLUMNS.iter().find(|(name, ..)| *name == column)?;
    Some(if part_of(test) == ContextPart::Prompt { prompt } else { generation })
}

fn part_of(test: &Test) -> ContextPart {
    test.context.unwrap_or(if test.prompt.is_some() { ContextPart::Prompt } else { ContextPart::Generation })
}

/// One partial run for each pass. `rules` are the name of the rule and of what is computed.
pub(crate) fn partials(
    rows: Vec<BenchyRow>,
    around: &TableContext,
    file: &SourceFile<'_>,
    rules: (&'static str, &'static str),
) -> Vec<PartialRun> {
    let mut passes: Vec<(BenchyRow, Option<BenchyRow>)> = Vec::new();
    for row in rows {
        let joins = passes.last().is_some_and(|(first, second)| {
            second.is_none()
                && part_of(&first.test) == ContextPart::Prompt
                && part_of(&row.test) == ContextPart::Generation
                && first.model == row.model
                && (first.test.depth, first.test.concurrency) == (row.test.depth, row.test.concurrency)
                && first.test.context.is_some() == row.test.context.is_some()
        });
        match passes.last_mut() {
            Some((_, second)) if joins => *second = Some(row),
            _ => passes.push((row, None)),
        }
    }
    passes.into_iter().map(|(first, second)| pass(&first, second.as_ref(), around, file, rules)).collect()
}

fn pass(
    first: &BenchyRow,
    second: Option<&BenchyRow>,
    around: &TableContext,
    file: &SourceFile<'_>,
    (rule, derived): (&'static str, &'static str),
) -> PartialRun {
    let mut test = first.test.clone();
    test.generated = test.generated.or(second.and_then(|row| row.test.generated));
    // Without other concurrencies beside it the tool prints none.
    test.concurrency = test.concurrency.or(Some(1));
    let id = model_id(&first.model);
    let mut partial = PartialRun {
        join_role: JoinRole::Body,
        model: id.as_deref().map(|id| last_part(id).to_owned()),
        workload: Some(test.workload()),
        status: Some(Status::Done),
        setup: Setup {
            model_id: id,
            tool: Some("llama-benchy".to_owned()),
            tool_version: around.version.clone(),
            batch: test.concurrency.map(|count| count as f64),
            isl: test.prompt.map(|count| count as f64),
            osl: test.generated.map(|count| count as f64),
            ..Setup::default()
        },
        ..PartialRun::default()
    };
    if let Some(date) = &around.date {
        partial.started_as(date);
    }
    if test.depth > 0 {
        partial.setup.more.insert("context_size".to_owned(), test.depth.to_string());
    }
    if let Some(mode) = &around.latency_mode {
        partial.setup.more.insert("latency_mode".to_owned(), mode.clone());
    }
    let mut decode = None;
    // At concurrency 1 all requests together are the one request, and older versions print one column.
    let is_prefill = |cell: &&Cell| cell.key == "pp_throughput" && test.concurrency == Some(1);
    let by_request = first.cells.iter().any(|cell| cell.key == "pp_req_throughput");
    if let Some(cell) = first.cells.iter().find(is_prefill).filter(|_| !by_request) {
        let origin = file.origin(Some(first.line), Some(cell.column.clone()), rule);
        partial.readings.push(cell.mean.reading(PREFILL_RATE, origin));
    }
    for row in std::iter::once(first).chain(second) {
        for cell in &row.cells {
            take(&mut partial, row, cell, file, rule);
            let alone = cell.key == "tg_throughput" && test.concurrency == Some(1);
            if cell.key == "tg_req_throughput" || (alone && decode.is_none()) {
                decode = Some((cell, row.line));
            }
        }
    }
    if let Some((cell, line)) = decode {
        let origin = file.origin(Some(line), Some(cell.column.clone()), rule);
        if partial.readings.iter().all(|reading| reading.metric != "decode_tok_s") {
            partial.readings.push(cell.mean.reading("decode_tok_s", origin.clone()));
        }
        if cell.mean.value > 0.0 {
            let origin = sparkbench_model::Origin { rule: derived, ..origin };
            partial.readings.push(Figure::computed(1000.0 / cell.mean.value).reading("tpot_ms", origin));
        }
    }
    if let Some((figure, line)) = around.latency_ms {
        let why = Some("of the network, as measured before the run");
        partial.extras.push(Extra::number("latency_ms", "ms", figure.value, why, file.origin(Some(line), None, rule)));
    }
    let mean = |key: &str| {
        let cells = first.cells.iter().chain(second.into_iter().flat_map(|row| &row.cells));
        cells.filter(|cell| cell.key == key).map(|cell| cell.mean.value).next()
    };
    partial.fingerprint = Some(benchy_mark(&first.model, &test, mean("tg_throughput"), mean("e2e_ttft")));
    partial
}

fn take(partial: &mut PartialRun, row: &BenchyRow, cell: &Cell, file: &SourceFile<'_>, rule: &'static str) {
    let Some((key, metric, unit, why)) = MEASURES.iter().find(|(key, ..)| *key == cell.key) else { return };
    let origin = file.origin(Some(row.line), Some(cell.column.clone()), rule);
    match metric {
        Some(metric) => partial.readings.push(cell.mean.reading(*metric, origin.clone())),
        None => partial.extras.push(Extra::number(*key, unit, cell.mean.value, *why, origin.clone())),
    }
    if let Some(deviation) = cell.deviation.and_then(Figure::finite) {
        partial.extras.push(Extra::number(format!("{key}_std"), unit, deviation, None, origin));
    }
}
