//! The tables that vLLM's conversation benchmark prints, `benchmark_serving_multi_turn.py`.
//!
//! In:  `Statistics summary:`, lines `name = value`, a table as pandas describes it.  Out: one piece a run of the program.
//! Not here: the requests one by one (see `vllm::multi_turn`).
//!
//! With `--warmup-percentages 0%,20%` there is a table for each share that is left out, smallest first: all of one run. The first gives
//! the metrics, the others stand beside it under names that say the share. A narrow terminal breaks a table into several: the header
//! comes again with the columns that are left. There is p90 and, from 100 requests on, p99; never p95. Lengths are counted by the client.

use super::{Kind, Reader};
use crate::ingest::figure::{Figure, excerpt};
use crate::ingest::serving::{self, settings};
use crate::ingest::{About, Parsed, Piece, Record, SourceFile, Standing, vllm};
use crate::model::{Extra, ExtraValue, Origin, Reading, Setup, Status};

const RULE: &str = "vllm-multi-turn-console";
const DERIVED: &str = "vllm-multi-turn-console.derived";
const WITH_ZEROS: &str = "counts answers in one piece as 0";
const TITLE: &str = "Statistics summary";

/// Rows that are metrics of ours.
const METRICS: &[(&str, &str)] = &[("ttft_ms", "ttft_ms"), ("tpot_ms", "tpot_ms"), ("latency_ms", "e2e_latency_ms")];
/// Column, suffix of the metric.
const STATISTICS: &[(&str, &str)] =
    &[("mean", ""), ("50%", "_p50"), ("90%", "_p90"), ("95%", "_p95"), ("99%", "_p99"), ("max", "_max")];
/// Rows of the table.
const ROWS: &[&str] = &["ttft_ms", "tpot_ms", "latency_ms", "input_num_", "output_num_", "time_between_user_turns_sec"];
/// Parameters that the program prints before its tables.
const PARAMETERS: &[&str] =
    &["model", "num_clients", "num_conversations", "active_conversations", "seed", "min_tokens", "max_tokens"];
/// Most tables of one text.
const MOST: usize = 1000;

/// See the module.
pub static MULTI_TURN: Kind = Kind {
    name: "vllm-multi-turn-console",
    about: About {
        tool: "vLLM benchmark_serving_multi_turn.py",
        versions: "2025 to 2026; several tables with `--warmup-percentages`",
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

#[derive(Default)]
struct Console {
    parameters: Vec<(String, String)>,
    in_parameters: bool,
    /// Parameters and tables of each run.
    runs: Vec<(Vec<(String, String)>, Vec<Table>)>,
    count: usize,
}

impl Reader for Console {
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
            let mut piece = piece(file, parameters, tables);
            if several {
                (piece.standing, piece.position) = (Standing::Alone, Some(place));
            }
            parsed.records.push(Record::Piece(Box::new(piece)));
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
        if cells.len() != self.columns.len() {
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

    fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(have, _, _)| have == name).map(|(_, figure, _)| figure.value)
    }
}

fn piece(file: &SourceFile<'_>, parameters: Vec<(String, String)>, tables: Vec<Table>) -> Piece {
    let setup = Setup { tool: Some(vllm::MULTI_TURN.to_owned()), ..Setup::default() };
    let mut piece = Piece { standing: Standing::Trace, setup, status: Some(Status::Done), ..Piece::default() };
    for (name, value) in parameters {
        match name.as_str() {
            "model" => {
                piece.setup.model_id = serving::model_id(&value);
                piece.model = piece.setup.model_id.as_deref().map(|id| serving::last_part(id).to_owned());
            }
            "num_clients" => piece.setup.batch = Figure::parse(&value).and_then(Figure::finite),
            _ => {
                settings::take(&mut piece.setup, &name, &value);
            }
        }
    }
    piece.workload = Some(vllm::multi_turn_workload(piece.setup.batch));
    for (place, table) in tables.iter().enumerate() {
        let suffix = if place == 0 {
            String::new()
        } else {
            format!(" after {}% warm-up", table.warmup.as_deref().unwrap_or("?"))
        };
        give(file, table, &suffix, &mut piece);
    }
    let Some(first) = tables.first() else { return piece };
    if let Some(share) = &first.warmup {
        piece.setup.more.insert("warmup_percentage".to_owned(), share.clone());
    }
    let count = first.cell("ttft_ms", "count");
    piece.setup.requests = count;
    piece.setup.isl = first.cell("input_num_tokens", "mean");
    piece.setup.osl = first.cell("output_num_tokens", "mean");
    if let (Some(count), Some(tokens), Some(seconds)) = (count, piece.setup.osl, first.value("runtime_sec"))
        && count * tokens > 0.0
        && seconds > 0.0
    {
        let origin = file.origin(Some(first.line), None, DERIVED);
        let value = count * tokens / seconds;
        piece.readings.push(Reading { metric: "output_throughput_tok_s".to_owned(), value, decimals: None, origin });
    }
    piece.fingerprint =
        serving::mark(vllm::MULTI_TURN, &[count, first.cell("ttft_ms", "mean"), first.cell("latency_ms", "mean")]);
    piece
}

/// Everything of one table; only the first, without a suffix, has metrics.
fn give(file: &SourceFile<'_>, table: &Table, suffix: &str, piece: &mut Piece) {
    for (name, figure, line) in &table.values {
        let origin = file.origin(Some(*line), None, RULE);
        if name == "requests_per_sec" && suffix.is_empty() {
            let metric = "request_throughput_req_s".to_owned();
            piece.readings.push(Reading { metric, value: figure.value, decimals: figure.decimals, origin });
            continue;
        }
        let (stem, unit) = match name.strip_suffix("_per_sec") {
            Some(stem) => (name.as_str(), if stem == "requests" { "req/s" } else { "" }),
            None => name.strip_suffix("_sec").map_or((name.as_str(), ""), |stem| (stem, "s")),
        };
        piece.extras.push(extra(format!("{stem}{suffix}"), unit, figure.value, origin));
    }
    for (row, column, figure, line) in &table.cells {
        let origin = file.origin(Some(*line), Some(format!("{row}/{column}")), RULE);
        let metric = METRICS.iter().find(|(name, _)| name == row).map(|(_, metric)| *metric);
        let statistic = STATISTICS.iter().find(|(name, _)| name == column).map(|(_, statistic)| *statistic);
        // An answer in one piece has no time per further token, and the program counts it as 0.
        let with_zeros = row == "tpot_ms" && table.cell("tpot_ms", "min") == Some(0.0);
        match metric.zip(statistic) {
            Some((metric, statistic)) if suffix.is_empty() && figure.value > 0.0 && !with_zeros => {
                let metric = format!("{metric}{statistic}");
                piece.readings.push(Reading { metric, value: figure.value, decimals: figure.decimals, origin });
            }
            _ => {
                let (stem, unit) = match row.strip_suffix("_ms") {
                    _ if column == "count" => (row.as_str(), "requests"),
                    Some(stem) => (stem, "ms"),
                    None if row.ends_with("_tokens") => (row.as_str(), "tokens"),
                    None => row.strip_suffix("_sec").map_or((row.as_str(), ""), |stem| (stem, "s")),
                };
                let why = (with_zeros && column != "count").then_some(WITH_ZEROS);
                piece
                    .extras
                    .push(Extra { why, ..extra(format!("{stem} {column}{suffix}"), unit, figure.value, origin) });
            }
        }
    }
}

fn extra(name: String, unit: &str, value: f64, origin: Origin) -> Extra {
    Extra { name, unit: unit.to_owned(), value: ExtraValue::Number(value), why: None, origin }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::log::parse_kind;

    const TABLE: &str = "\
                   count     mean     std      min      25%      50%      75%      90%      99%      max
ttft_ms            166.0    78.22   67.63    45.91    59.94    62.26    64.43    69.66   353.18   567.54
tpot_ms            166.0    25.37    0.57    24.40    25.07    25.31    25.50    25.84    27.50    28.05
latency_ms         166.0  2591.07  326.90  1998.53  2341.62  2573.01  2860.10  3003.50  3268.46  3862.94
input_num_turns    166.0     7.43    4.57     1.00     3.00     7.00    11.00    13.00    17.00    17.00
input_num_tokens   166.0  2006.20  893.56   522.00  1247.75  2019.00  2718.00  3233.00  3736.45  3899.00
output_num_tokens  166.0   100.01   11.80    80.00    91.00    99.00   109.75   116.00   120.00   120.00
";
    const VALUES: &str = "runtime_sec = 215.810\nrequests_per_sec = 0.769\n--------\n";

    fn read(text: &str) -> Vec<Piece> {
        let mut input = text.as_bytes();
        let parsed = parse_kind(&mut SourceFile::new("x.log", text.len() as u64, &mut input), &MULTI_TURN).unwrap();
        assert!(!parsed.kinds.is_empty(), "{parsed:?}");
        let pieces = parsed.records.into_iter().map(|record| match record {
            Record::Piece(piece) => *piece,
            other => panic!("{other:?}"),
        });
        pieces.collect()
    }

    fn value(piece: &Piece, metric: &str) -> Option<f64> {
        piece.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
    }

    #[test]
    fn a_table_gives_its_metrics_and_keeps_the_rest() {
        let text = format!(
            "\u{1b}[33mParameters:\u{1b}[0m\nmodel=org/Some-8B\nnum_clients=2\nseed=0\n---\n\u{1b}[33mStatistics summary:\u{1b}[0m\n{VALUES}{TABLE}---\n"
        );
        let pieces = read(&text);
        let [piece] = pieces.as_slice() else { panic!("{pieces:?}") };
        for (metric, expected) in [
            ("ttft_ms", 78.22),
            ("ttft_ms_p99", 353.18),
            ("tpot_ms_p90", 25.84),
            ("e2e_latency_ms_p50", 2573.01),
            ("e2e_latency_ms_max", 3862.94),
            ("request_throughput_req_s", 0.769),
            ("output_throughput_tok_s", 166.0 * 100.01 / 215.81),
        ] {
            assert_eq!(value(piece, metric), Some(expected), "{metric}");
        }
        // Of 60 cells and 2 lines, 15 and 1 are metrics; one is computed.
        assert_eq!((piece.readings.len(), piece.extras.len()), (15 + 1 + 1, 60 - 15 + 1));
        assert_eq!((piece.setup.batch, piece.setup.requests, piece.setup.osl), (Some(2.0), Some(166.0), Some(100.01)));
        assert_eq!((piece.model.as_deref(), piece.workload.as_deref()), (Some("Some-8B"), Some("multi-turn-c2")));
        assert_eq!(piece.fingerprint.as_deref(), Some("vllm-multi-turn|166.00|78.22|2591.07"));
    }

    #[test]
    fn tables_of_growing_warm_up_are_one_run_and_the_first_counts() {
        let later = TABLE.replace("78.22", "70.00");
        let text = format!(
            "Statistics summary (assuming 0% warmup samples):\n{VALUES}{TABLE}Statistics summary (assuming 20% warmup samples):\n{VALUES}{later}"
        );
        let pieces = read(&text);
        let [piece] = pieces.as_slice() else { panic!("{pieces:?}") };
        assert_eq!(value(piece, "ttft_ms"), Some(78.22));
        let extra = piece.extras.iter().find(|extra| extra.name == "ttft mean after 20% warm-up").unwrap();
        assert_eq!((&extra.value, extra.unit.as_str()), (&ExtraValue::Number(70.0), "ms"));
        let twice = read(&format!("{text}{text}"));
        assert_eq!((twice.len(), twice[1].position), (2, Some(2)), "a share that falls back begins a new run");
    }

    #[test]
    fn statistics_with_the_zeros_of_answers_in_one_piece_are_no_metric() {
        let pieces = read(&format!("Statistics summary:\n{VALUES}{}", TABLE.replace("24.40", " 0.00")));
        assert_eq!((value(&pieces[0], "tpot_ms"), value(&pieces[0], "ttft_ms")), (None, Some(78.22)));
        let mean = pieces[0].extras.iter().find(|extra| extra.name == "tpot mean").unwrap();
        assert_eq!(mean.why, Some(WITH_ZEROS));
    }

    #[test]
    fn a_table_that_a_narrow_terminal_broke_is_whole_again() {
        let text = "Statistics summary:\nruntime_sec = 10.0\nrequests_per_sec = 0.2\n            count   mean  \\\nttft_ms       2.0  50.00   \nlatency_ms    2.0  900.0   \n\n                50%    max  \nttft_ms      50.00  60.00  \nlatency_ms   900.0  950.0\n";
        let pieces = read(text);
        assert_eq!(
            (value(&pieces[0], "ttft_ms_max"), value(&pieces[0], "e2e_latency_ms_p50")),
            (Some(60.0), Some(900.0))
        );
    }
}
