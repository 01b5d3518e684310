//! The CSV of AIPerf and of GenAI-Perf: tables of metrics, of scalars and of GPUs, one below the other.
//!
//! In:  tables separated by blank lines, each with its own header.  Out: one partial run, under the names that the JSON has.
//! Not here: settings and the model, which only the JSON holds.
//!
//! Figures are rounded to two digits, so where the JSON of the same run is there it counts (see `mark`). Columns are found by header:
//! `sum` and `p10` came later, GenAI-Perf counts its percentiles down. GenAI-Perf writes `1,234.56`.

use csv::StringRecord;

use super::super::figure::{Figure, Scale, excerpt};
use super::super::rows::{self, Rows};
use super::super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use super::gpus::Gpus;
use super::{RULE, STAT_KEYS, extra_name, mark, place, summary, tag_and_unit, why_extra};
use sparkbench_model::{Extra, ExtraValue, Instant, Status};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(crate) struct Csv;

/// The first cell of a table of metrics.
const METRIC: &str = "Metric";

impl Format for Csv {
    fn name(&self) -> &'static str {
        "aiperf-csv"
    }

    fn about(&self) -> About {
        About {
            tool: "AIPerf, profile_export_aiperf.csv",
            versions: "mid 2025 to 0.13, `sum` and `p10` came later",
            sign: "a header `Metric,avg,min,max` with percentiles upwards",
            reads: "the figures of the JSON, rounded to two digits, and figures of GPUs (counted once where the JSON is there)",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let header = head.header();
        is_header(&header) && !counts_down(&header)
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        read(file, RULE, "aiperf")
    }
}

/// True for the header of a table of metrics.
pub(super) fn is_header(cells: &[&str]) -> bool {
    matches!(cells, [METRIC, "avg", "min", "max", ..])
}

/// True for a header of GenAI-Perf.
pub(super) fn counts_down(cells: &[&str]) -> bool {
    let at = |name: &str| cells.iter().position(|cell| *cell == name);
    at("p99").zip(at("p50")).is_some_and(|(p99, p50)| p99 < p50)
}

/// Kind of the rows below a header.
enum Part {
    None,
    Metrics,
    Scalars,
    Gpus,
}

/// Reads either tool's file.
pub(super) fn read(file: &mut SourceFile<'_>, rule: &'static str, tool: &'static str) -> Result<Parsed, Error> {
    let text = file.text()?;
    let mut parsed = Parsed::default();
    if summary::phase_of(file.path).is_some() {
        parsed.notes.push("a phase of a run that is read from the folder above".to_owned());
        return Ok(parsed);
    }
    let mut table = Table { file, rule, partial: PartialRun::default(), gpus: Gpus::default(), met: Vec::new() };
    let (mut part, mut header) = (Part::None, StringRecord::new());
    for row in Rows::new(&text) {
        let (line, row) = match row {
            Ok(row) => row,
            Err(error) => {
                parsed.left_out.push(error);
                continue;
            }
        };
        let first = row.get(0).unwrap_or_default();
        let is_header = matches!((first, row.get(1)), (METRIC, Some("avg" | "Value" | "GPU"))) || first == "Endpoint";
        if is_header {
            part = match row.get(1) {
                Some("avg") => Part::Metrics,
                Some("Value") => Part::Scalars,
                _ => Part::Gpus,
            };
            header = row;
            continue;
        }
        let faults = match part {
            Part::None => {
                vec![Error::archive("a row is left out").at(Place::Line(line)).detail("no header stands above it")]
            }
            _ if row.len() != header.len() => rows::fits(line, header.len(), row.len()).err().into_iter().collect(),
            Part::Metrics | Part::Scalars => table.metric(line, &row, &header),
            Part::Gpus => table.gpu(line, &row, &header),
        };
        parsed.left_out.extend(faults);
    }
    parsed.notes.extend(table.gpus.note());
    let mut partial = table.finish(tool);
    if tool == "genai-perf" {
        partial.setup.tool = Some("genai-perf".to_owned());
    }
    if partial.readings.is_empty() && partial.extras.is_empty() {
        return Err(Error::archive("no row of it is a metric"));
    }
    parsed.records.push(Record::Run(Box::new(partial)));
    Ok(parsed)
}

struct Table<'f, 'i> {
    file: &'f SourceFile<'i>,
    rule: &'static str,
    partial: PartialRun,
    gpus: Gpus,
    /// GPUs by what the rows call them, and the beginning of the names of their extras.
    met: Vec<(String, String)>,
}

impl Table<'_, '_> {
    /// A row `Time to First Token (ms),12.30,...` or `Request Count,5`.
    fn metric(&mut self, line: u64, row: &StringRecord, header: &StringRecord) -> Vec<Error> {
        let (tag, unit) = tag_and_unit(row.get(0).unwrap_or_default());
        self.cells(line, row, header, 1, "", &tag, &unit, true)
    }

    /// A row of a GPU, whose columns are in any order.
    fn gpu(&mut self, line: u64, row: &StringRecord, header: &StringRecord) -> Vec<Error> {
        let cell = |name: &str| header.iter().position(|cell| cell == name).and_then(|place| row.get(place));
        let Some(metric) = cell(METRIC) else { return Vec::new() };
        let (tag, unit) = tag_and_unit(metric);
        let who = format!(
            "{}/{}",
            cell("Endpoint").unwrap_or_default(),
            cell("GPU_Index").or(cell("GPU")).unwrap_or_default()
        );
        let known = self.met.iter().position(|(name, _)| *name == who);
        let place = known.unwrap_or_else(|| {
            let (prefix, _) = self.gpus.meet(cell("GPU_UUID").unwrap_or(&who));
            self.met.push((who, prefix));
            self.met.len() - 1
        });
        if let Some(name) = cell("GPU_Name") {
            self.partial.setup.machine.get_or_insert_with(|| name.to_owned());
        }
        let prefix = self.met.get(place).map_or_else(String::new, |(_, prefix)| prefix.clone());
        self.cells(line, row, header, 1, &prefix, &tag, &unit, place == 0)
    }

    /// The statistics of one row. A cell without a figure is absent.
    #[expect(clippy::too_many_arguments, reason = "the parts of one row")]
    fn cells(
        &mut self,
        line: u64,
        row: &StringRecord,
        header: &StringRecord,
        from: usize,
        prefix: &str,
        tag: &str,
        unit: &str,
        metrics: bool,
    ) -> Vec<Error> {
        let mut faults = Vec::new();
        for (column, cell) in header.iter().zip(row.iter()).skip(from) {
            let stat = if column == "Value" { "avg" } else { column };
            if !STAT_KEYS.contains(&stat) {
                continue;
            }
            let Some(figure) = figure(cell) else {
                let detail = format!("expected a number, found \"{}\"", excerpt(cell));
                faults.push(
                    Error::archive("a cell is left out").at(Place::LineField(line, column.to_owned())).detail(detail),
                );
                continue;
            };
            if figure.value.is_nan() {
                continue;
            }
            let origin = self.file.origin(Some(line), Some(column.to_owned()), self.rule);
            let known = place(tag, unit, stat)
                .filter(|(metric, _)| metrics && self.partial.readings.iter().all(|reading| reading.metric != *metric));
            match known {
                Some((metric, factor)) => {
                    self.partial.readings.push(figure.scaled(Scale::Times(factor)).reading(metric, origin));
                }
                None => self.partial.extras.push(Extra {
                    name: extra_name(prefix, tag, stat),
                    unit: if stat == "count" { String::new() } else { unit.to_owned() },
                    value: match figure.finite() {
                        Some(value) => ExtraValue::Number(value),
                        None => ExtraValue::Text("inf".to_owned()),
                    },
                    why: why_extra(tag, unit),
                    origin,
                }),
            }
        }
        faults
    }

    fn finish(self, tool: &str) -> PartialRun {
        let mut partial = self.partial;
        let extra = |name: &str| partial.extras.iter().find(|extra| extra.name == name).and_then(Extra::as_number);
        let reading = |name: &str| partial.readings.iter().find(|reading| reading.metric == name).map(|r| r.value);
        let (good, bad) = (extra("request_count"), extra("error_request_count").unwrap_or(0.0));
        let stamp = |name: &str| extra(name).and_then(|ns| Instant::from_unix_seconds(ns / 1e9));
        let times = (stamp("min_request_timestamp"), stamp("max_response_timestamp"));
        let mark = mark(
            tool,
            [good, extra("benchmark_duration"), reading("output_throughput_tok_s"), reading("e2e_latency_ms")],
        );
        let lengths = (extra("input_sequence_length"), extra("output_sequence_length"));
        let failed = bad > 0.0 && good.is_none_or(|good| good <= 0.0);
        partial.setup.tool = Some("aiperf".to_owned());
        partial.setup.requests = good.map(|good| good + bad);
        (partial.setup.isl, partial.setup.osl) = lengths;
        (partial.started, partial.ended) = times;
        partial.fingerprint = mark;
        partial.join_role = JoinRole::Trace;
        partial.status = if failed {
            partial.readings.clear();
            Some(Status::Failed(format!("all {bad} requests failed")))
        } else {
            good.map(|_| Status::Done)
        };
        partial
    }
}

/// A cell as a figure. Commas between thousands are taken off where the point shows that they are no decimal sign.
fn figure(cell: &str) -> Option<Figure> {
    Figure::parse(cell).or_else(|| {
        let (whole, rest) = cell.split_once('.')?;
        let mut groups = whole.trim_start_matches('-').split(',');
        let first = groups.next()?;
        let fits = (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
        fits.then(|| Figure::parse(&format!("{}.{rest}", whole.replace(',', "")))).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partial(text: &str) -> (PartialRun, Parsed) {
        let mut input = text.as_bytes();
        let mut parsed =
            Csv.parse(&mut SourceFile::new("profile_export_aiperf.csv", text.len() as u64, &mut input)).unwrap();
        match parsed.records.remove(0) {
            Record::Run(partial) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn columns_are_found_by_their_header_and_an_empty_cell_is_absent() {
        let (partial, parsed) = partial(
            "Metric,avg,min,max,sum,p99,p50\r\nTime to First Token (ms),12.50,1.00,,75.00,20.25,12.00\r\n\r\n\
             Metric,Value\r\nRequest Count,6.00\r\nError Request Count,2\r\nRequest Throughput (requests/sec),3.00\r\n\
             Output Token Throughput (tokens/sec),\"1,234.50\"\r\n",
        );
        let found: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(
            found,
            [
                ("ttft_ms", 12.5),
                ("ttft_ms_p99", 20.25),
                ("ttft_ms_p50", 12.0),
                ("request_throughput_req_s", 3.0),
                ("output_throughput_tok_s", 1234.5)
            ]
        );
        assert_eq!((partial.setup.requests, partial.status), (Some(8.0), Some(Status::Done)));
        assert_eq!(partial.readings[0].origin.line, Some(2));
        assert!(parsed.left_out.is_empty(), "{:?}", parsed.left_out);
    }

    #[test]
    fn the_first_gpu_is_that_of_the_run_and_the_others_are_extras() {
        let (partial, parsed) = partial(
            "Metric,avg,min,max,p50\r\nRequest Latency (ms),5.00,,,\r\n\r\n\r\n\
             Endpoint,GPU_Index,GPU_Name,GPU_UUID,Metric,avg,max,Hostname\r\n\
             a:9400,0,NVIDIA GB10,GPU-1,GPU Power Usage (W),40.00,50.00,box\r\n\
             a:9400,1,NVIDIA GB10,GPU-2,GPU Power Usage (W),41.00,51.00,box\r\n",
        );
        let found: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(found, [("e2e_latency_ms", 5.0), ("power_w", 40.0), ("power_w_max", 50.0)]);
        let extras: Vec<&str> = partial.extras.iter().map(|extra| extra.name.as_str()).collect();
        assert_eq!(extras, ["gpu1.gpu_power_usage", "gpu1.gpu_power_usage_max"]);
        assert!(parsed.notes[0].starts_with("2 GPUs"), "{:?}", parsed.notes);
        assert!(!format!("{partial:?}").contains("box"), "no host name is taken");
    }

    #[test]
    fn a_row_of_another_length_is_left_out_and_named() {
        let (partial, parsed) =
            partial("Metric,avg,p50\r\nTime to First Token (ms),12.50,12.00\r\n# remark\r\nA (ms),1\r\n");
        let faults: Vec<String> = parsed.left_out.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "a row is left out\n  where: line 3: expected 3 cells, found 1",
                "a row is left out\n  where: line 4: expected 3 cells, found 2",
            ]
        );
        assert_eq!((partial.readings.len(), partial.extras.len()), (2, 0));
    }
}
