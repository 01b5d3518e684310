//! Requests of vLLM's conversation benchmark, `benchmark_serving_multi_turn.py`: one object or one row for each request.
//!
//! In:  the list that `--stats-json-output` writes, or CSV with the same names (the raw sheet of `--excel-output`, see `workbook`).
//! Out: one partial run with series, and rates over the time from the first start to the last end.
//! Not here: the tables it prints (see `log`).
//!
//! The benchmark counts tokens itself, with its own tokenizer, and corrects TTFT and TPOT for a first chunk of several tokens. So TPOT is by
//! tokens and not by chunks. `tpot_ms` of 0 means an answer in one chunk, so TPOT is absent. It prints no gaps, so there is no ITL.
//! `approx_cached_percent` is computed from token counts. It is not a cache hit rate. Seen: 2025 to 2026.

use std::collections::BTreeSet;

use crate::at::At;
use crate::figure::{Figure, excerpt};
use crate::json::{self, Kind};
use crate::rows::Rows;
use crate::serving;
use crate::{About, Format, Head, JoinRole, List, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Extra, Series, Setup, Status};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(crate) struct MultiTurn;

/// Slug of the tool.
pub(crate) const TOOL: &str = "vllm-multi-turn";
const RULE: &str = "vllm-multi-turn";
const DERIVED: &str = "vllm-multi-turn.derived";
const BY_COUNTS: &str = "computed by the client from token counts, so not a rate of cache hits";

/// Columns, in the order in which the program has them.
const COLUMNS: &[&str] = &[
    "ttft_ms",
    "tpot_ms",
    "latency_ms",
    "start_time_ms",
    "input_num_turns",
    "input_num_tokens",
    "output_num_tokens",
    "output_num_chunks",
    "output_num_first_chunk_tokens",
    "approx_cached_percent",
    "client_id",
];
pub(super) const NEEDED: [&str; 3] = ["ttft_ms", "latency_ms", "input_num_turns"];

impl Format for MultiTurn {
    fn name(&self) -> &'static str {
        "vllm-multi-turn"
    }

    fn about(&self) -> About {
        About {
            tool: "vLLM benchmark_serving_multi_turn.py",
            versions: "2025 to 2026: JSON since `--stats-json-output`, CSV as exported from its sheet",
            sign: "a list of objects, or a CSV header, with `ttft_ms`, `latency_ms` and `input_num_turns`",
            reads: "TTFT, TPOT, E2E latency and tokens of every request",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.list().is_some_and(|outline| outline.has(&NEEDED)) || {
            let header = head.header();
            NEEDED.iter().all(|name| header.contains(name))
        }
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        let turns = if text.trim_start().starts_with('[') { of_json(&text)? } else { of_csv(&text, &mut parsed) };
        let partial = turns.partial(file, &mut parsed)?;
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

/// The requests of a table with these columns.
///
/// # Errors
/// When it holds none.
pub(super) fn of_table(text: &str, file: &SourceFile<'_>) -> Result<Parsed, Error> {
    let mut parsed = Parsed::default();
    let partial = of_csv(text, &mut parsed).partial(file, &mut parsed)?;
    parsed.records.push(Record::Run(Box::new(partial)));
    Ok(parsed)
}

/// Columns of all requests. What a request lacks is NaN.
struct Turns {
    columns: Vec<(&'static str, Vec<f64>)>,
    count: usize,
    line: Option<u64>,
}

fn of_json(text: &str) -> Result<Turns, Error> {
    let node = json::parse(text)?;
    let root = At::root(&node);
    let mut columns: Vec<(&'static str, Vec<f64>)> = COLUMNS.iter().map(|name| (*name, Vec::new())).collect();
    let mut count = 0;
    for item in root.items()? {
        count += 1;
        for (name, values) in &mut columns {
            let value = item.get(name).map(|at| match &at.node.kind {
                Kind::Number(digits) => digits.parse().unwrap_or(f64::NAN),
                _ => f64::NAN,
            });
            values.push(value.unwrap_or(f64::NAN));
        }
    }
    Ok(Turns { columns, count, line: None })
}

fn of_csv(text: &str, parsed: &mut Parsed) -> Turns {
    let mut turns = Turns { columns: Vec::new(), count: 0, line: None };
    let mut places: Vec<usize> = Vec::new();
    for row in Rows::new(text) {
        let (line, row) = match row {
            Ok(row) => row,
            Err(error) => {
                parsed.left_out.push(error);
                continue;
            }
        };
        if turns.line.is_none() {
            turns.line = Some(line);
            for (place, cell) in row.iter().enumerate() {
                if let Some(name) = COLUMNS.iter().find(|name| **name == cell) {
                    turns.columns.push((name, Vec::new()));
                    places.push(place);
                }
            }
            continue;
        }
        turns.count += 1;
        for ((name, values), place) in turns.columns.iter_mut().zip(&places) {
            let cell = row.get(*place).unwrap_or_default();
            let figure = Figure::parse(cell);
            if figure.is_none() {
                parsed.left_out.push(
                    Error::archive("a cell is left out")
                        .at(Place::LineField(line, (*name).to_owned()))
                        .detail(format!("expected a number, found \"{}\"", excerpt(cell))),
                );
            }
            values.push(figure.map_or(f64::NAN, |figure| figure.value));
        }
    }
    turns
}

impl Turns {
    fn column(&self, name: &str) -> &[f64] {
        self.columns.iter().find(|(have, _)| *have == name).map_or(&[], |(_, values)| values)
    }

    fn mean(&self, name: &str) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0u32);
        for value in self.column(name).iter().filter(|value| value.is_finite()) {
            sum += value;
            count += 1;
        }
        (count > 0).then(|| sum / f64::from(count))
    }

    fn partial(&self, file: &SourceFile<'_>, parsed: &mut Parsed) -> Result<PartialRun, Error> {
        if self.count == 0 {
            return Err(Error::archive("it holds no request").hint("the benchmark may have stopped early"));
        }
        let origin = |field: &str, rule| file.origin(self.line, Some(field.to_owned()), rule);
        let clients: BTreeSet<u64> =
            self.column("client_id").iter().filter(|id| id.is_finite()).map(|id| id.to_bits()).collect();
        let setup = Setup {
            tool: Some(TOOL.to_owned()),
            batch: (!clients.is_empty()).then_some(clients.len() as f64),
            requests: Some(self.count as f64),
            isl: self.mean("input_num_tokens"),
            osl: self.mean("output_num_tokens"),
            ..Setup::default()
        };
        let mut partial =
            PartialRun { join_role: JoinRole::Base, setup, status: Some(Status::Done), ..PartialRun::default() };
        partial.workload = Some(workload(partial.setup.batch));
        let first_pieces = self.column("output_num_first_chunk_tokens");
        let not_streamed = first_pieces.iter().filter(|tokens| **tokens == 0.0).count();
        if not_streamed > 0 {
            parsed.notes.push(format!("{not_streamed} of {} answers were not streamed: they have no TTFT", self.count));
        }
        for (name, metric) in [("ttft_ms", "ttft_ms"), ("tpot_ms", "tpot_ms"), ("latency_ms", "e2e_latency_ms")] {
            // An answer in one chunk has a TPOT of 0, which is no measurement. Without any token in its first chunk it was not streamed, and
            // its TTFT is the time of the whole answer.
            let whole = |place: usize| name == "ttft_ms" && first_pieces.get(place) == Some(&0.0);
            let value = |(place, value): (usize, &f64)| if *value > 0.0 && !whole(place) { *value } else { f64::NAN };
            let values: Vec<f64> = self.column(name).iter().enumerate().map(value).collect();
            if values.iter().any(|value| value.is_finite()) {
                partial.series.push(Series { metric: metric.to_owned(), values, origin: origin(name, RULE) });
            }
        }
        for (name, values) in &self.columns {
            if !matches!(*name, "ttft_ms" | "tpot_ms" | "latency_ms") && values.iter().any(|value| value.is_finite()) {
                parsed.lists.push(List { part: None, name: (*name).to_owned(), values: values.clone() });
            }
        }
        let means: [(&str, &str, &str, Option<&'static str>); 4] = [
            ("input_num_turns", "input_num_turns_mean", "", None),
            ("output_num_chunks", "output_num_chunks_mean", "", None),
            ("output_num_first_chunk_tokens", "output_num_first_chunk_tokens_mean", "tokens", None),
            ("approx_cached_percent", "approx_cached_percent_mean", "%", Some(BY_COUNTS)),
        ];
        for (column, name, unit, why) in means {
            if let Some(mean) = self.mean(column) {
                partial.extras.push(Extra::number(name, unit, mean, why, origin(column, DERIVED)));
            }
        }
        self.rates(file, &mut partial);
        partial.fingerprint =
            serving::mark(TOOL, &[Some(self.count as f64), self.mean("ttft_ms"), self.mean("latency_ms")]);
        Ok(partial)
    }

    /// Requests and tokens over the time from the first start to the last end, as the program takes it.
    fn rates(&self, file: &SourceFile<'_>, partial: &mut PartialRun) {
        let starts = self.column("start_time_ms");
        let ends = starts.iter().zip(self.column("latency_ms")).map(|(start, taken)| start + taken);
        let last = ends.filter(|end| end.is_finite()).fold(f64::NEG_INFINITY, f64::max);
        let first = starts.iter().filter(|start| start.is_finite()).copied().fold(f64::INFINITY, f64::min);
        let seconds = (last - first) / 1000.0;
        if !(seconds.is_finite() && seconds > 0.0) {
            return;
        }
        let tokens: f64 = self.column("output_num_tokens").iter().filter(|tokens| tokens.is_finite()).sum();
        for (metric, amount) in [("request_throughput_req_s", self.count as f64), ("output_throughput_tok_s", tokens)] {
            if amount > 0.0 {
                let origin = file.origin(self.line, Some("start_time_ms".to_owned()), DERIVED);
                partial.readings.push(Figure::computed(amount / seconds).reading(metric, origin));
            }
        }
    }
}

/// Label of a load of conversations.
pub(crate) fn workload(clients: Option<f64>) -> String {
    clients.map_or_else(|| "multi-turn".to_owned(), |clients| format!("multi-turn-c{clients}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (PartialRun, Parsed) {
        assert!(MultiTurn.sniff(&Head::new("x", text, 1)));
        let mut input = text.as_bytes();
        let mut parsed = MultiTurn.parse(&mut SourceFile::new("x", text.len() as u64, &mut input)).unwrap();
        match parsed.records.pop() {
            Some(Record::Run(partial)) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    const JSON: &str = r#"[
        {"ttft_ms": 50.0, "tpot_ms": 10.0, "latency_ms": 1000.0, "start_time_ms": 5000.0, "input_num_turns": 1,
         "input_num_tokens": 100, "output_num_tokens": 96, "approx_cached_percent": 0.0, "conversation_id": "c", "client_id": 0},
        {"ttft_ms": 70.0, "tpot_ms": 0.0, "latency_ms": 70.0, "start_time_ms": 6000.0, "input_num_turns": 3,
         "input_num_tokens": 300, "output_num_tokens": 4, "approx_cached_percent": 50.0, "conversation_id": "d", "client_id": 1}]"#;
    const CSV: &str = "ttft_ms,tpot_ms,latency_ms,start_time_ms,input_num_turns,input_num_tokens,output_num_tokens,approx_cached_percent,conversation_id,client_id\n\
        50.0,10.0,1000.0,5000.0,1,100,96,0.0,c,0\n70.0,0.0,70.0,6000.0,3,300,4,50.0,d,1\n";

    #[test]
    fn list_and_table_of_the_same_requests_are_the_same_run() {
        let (json, lists) = read(JSON);
        let (csv, _) = read(CSV);
        assert_eq!(json.fingerprint.as_deref(), Some("vllm-multi-turn|2.00|60.00|535.00"));
        assert_eq!(json.fingerprint, csv.fingerprint);
        for partial in [&json, &csv] {
            let ttft = &partial.series[0];
            assert_eq!((ttft.metric.as_str(), ttft.values.as_slice()), ("ttft_ms", &[50.0, 70.0][..]));
            assert!(partial.series[1].values[1].is_nan(), "an answer in one piece has no time per further token");
            assert_eq!(
                (partial.setup.batch, partial.setup.isl, partial.setup.osl),
                (Some(2.0), Some(200.0), Some(50.0))
            );
            let rates: Vec<f64> = partial.readings.iter().map(|reading| reading.value).collect();
            assert_eq!(rates, [2.0 / 1.07, 100.0 / 1.07]);
        }
        assert_eq!(lists.lists.len(), 6);
        assert_eq!(json.workload.as_deref(), Some("multi-turn-c2"));
    }

    #[test]
    fn a_bad_cell_is_named_and_the_rest_is_read() {
        let (partial, parsed) = read("ttft_ms,latency_ms,input_num_turns\nsoon,9,1\n7,8,1\n");
        assert!(parsed.left_out[0].to_string().contains("soon"), "{:?}", parsed.left_out);
        assert_eq!(partial.series[1].values, [9.0, 8.0]);
    }
}
