//! `server_metrics_export.json`, `.csv` and `.jsonl`: metrics of the server under an AIPerf load.
//!
//! In:  families with their series, tables of them, or one scrape a line.  Out: extras of the runs in the folder.
//! Not here: addresses of servers, buckets, the Parquet of the same scrapes.
//!
//! JSON and CSV summarise each family over the measured phase. A gauge has the distribution of its samples, and a counter has its increase.
//! A histogram has sum, count and estimates from its buckets. JSON lines hold each scrape. Of each row the last value in the measured phase
//! counts, as in a snapshot of `/metrics`, and counters count since the server started. None is a metric of ours, because the server's clock
//! and buckets are not those of the client.

use std::collections::BTreeMap;

use csv::StringRecord;

use super::super::at::At;
use super::super::json::{self, Kind};
use super::super::prometheus::folded;
use super::super::rows::{self, Rows};
use super::super::sheet::{raw_at, text_at};
use super::super::source_file::{JSON_LINE_LIMIT, unreadable};
use super::super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use crate::figure::Figure;
use sparkbench_model::{Extra, Setup};
use sparkbench_text::error::{Error, Place};
use sparkbench_text::prometheus::Labels;

/// See the module.
pub(crate) struct Server;

const RULE: &str = "aiperf-server-metrics";
const CSV_RULE: &str = "aiperf-server-metrics-csv";
const LINES_RULE: &str = "aiperf-server-metrics-jsonl";
/// Most figures of one file.
const FIGURES: usize = 16_384;
const SINCE_START: &str = "since the server started, warm-up and other clients included";
const BY_SERVER: &str = "told by the server of itself, over the measured phase";

/// Statistics of all kinds of families.
const STATS: &[&str] = &[
    "avg",
    "min",
    "max",
    "std",
    "p1",
    "p5",
    "p10",
    "p25",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "total",
    "rate",
    "rate_avg",
    "rate_min",
    "rate_max",
    "rate_std",
    "count",
    "count_rate",
    "sum",
    "sum_rate",
    "p1_estimate",
    "p5_estimate",
    "p10_estimate",
    "p25_estimate",
    "p50_estimate",
    "p75_estimate",
    "p90_estimate",
    "p95_estimate",
    "p99_estimate",
];

impl Format for Server {
    fn name(&self) -> &'static str {
        "aiperf-server-metrics"
    }

    fn about(&self) -> About {
        About {
            tool: "AIPerf, server_metrics_export.json, .csv and .jsonl",
            versions: "0.4 to 0.13, schema 1.0 and 1.1",
            sign: "`summary.endpoints_configured` beside `metrics`, or a comment `AIPerf Server Metrics Export`, or lines with `endpoint_url` and `metrics`",
            reads: "every family of the server over the measured phase as extras, no buckets",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let object = head.object();
        let whole = object.is_some_and(|object| {
            object.get("summary").is_some_and(|at| at.get("endpoints_configured").is_some())
                && object.get("metrics").is_some_and(super::super::Outline::is_map)
        });
        let line = object.is_some_and(|object| object.has(&["endpoint_url", "timestamp_ns", "metrics"]));
        whole || line || head.text.starts_with("# AIPerf Server Metrics Export") || is_header(&head.header())
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let mut figures = Figures::default();
        if is_lines(file.beginning()?) {
            lines(file, &mut figures, &mut parsed)?;
        } else {
            let text = file.text()?;
            match text.trim_start().starts_with('{') {
                true => whole(&text, &mut figures)?,
                false => tables(&text, &mut figures, &mut parsed),
            }
        }
        if figures.rows.is_empty() {
            return Err(Error::archive("it holds no figure of a server").hint("the server may not have answered"));
        }
        figures.finish(file, &mut parsed);
        Ok(parsed)
    }
}

/// True when a file begins with a scrape: the other files have no such stamp.
fn is_lines(beginning: &[u8]) -> bool {
    const FIRST: usize = 4 << 10;
    let first = String::from_utf8_lossy(beginning.get(..FIRST).unwrap_or(beginning));
    ["{", "\"timestamp_ns\"", "\"endpoint_url\""].iter().all(|part| first.contains(part))
}

/// True for the header of one of the tables.
fn is_header(cells: &[&str]) -> bool {
    matches!(cells, ["Endpoint", "Type", "Metric", "Unit", ..] | ["Endpoint", "Metric", "Key", "Value", ..])
}

/// Where a figure is: line, field.
type Location = (Option<u64>, Option<String>);

/// Figures in the order in which each was first seen.
#[derive(Default)]
struct Figures {
    rows: Vec<(String, String, f64, Location)>,
    /// Places by server, family, labels and statistic.
    place: BTreeMap<String, usize>,
    /// How often a name was given: labels that only repeat the model or name a machine are not in it.
    names: BTreeMap<String, usize>,
    rule: &'static str,
    why: Option<&'static str>,
    beyond: u64,
    setup: Setup,
}

impl Figures {
    /// Of two values of one figure the last counts. Two figures of one name keep a number.
    fn put(
        &mut self,
        (server, metric, labels, stat): (&str, &str, &str, &str),
        unit: &str,
        value: f64,
        spot: Location,
    ) {
        if !value.is_finite() {
            return;
        }
        let key = format!("{server}\n{metric}\n{labels}\n{stat}");
        if let Some(row) = self.place.get(&key).and_then(|place| self.rows.get_mut(*place)) {
            (row.2, row.3) = (value, spot);
            return;
        }
        if self.rows.len() >= FIGURES {
            self.beyond += 1;
            return;
        }
        let mut name = named(metric, labels, stat);
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            name = format!("{name} ({count})");
        }
        self.place.insert(key, self.rows.len());
        self.rows.push((name, unit.to_owned(), value, spot));
    }

    /// Takes back all figures so far.
    fn forget(&mut self) {
        self.rows.clear();
        self.place.clear();
        self.names.clear();
        self.beyond = 0;
    }

    fn finish(self, file: &SourceFile<'_>, parsed: &mut Parsed) {
        if self.beyond > 0 {
            parsed.notes.push(format!("{} figures beyond the first {FIGURES} are not taken", self.beyond));
        }
        let (rule, why) = (self.rule, self.why);
        let extras = self.rows.into_iter().map(|(name, unit, value, (line, field))| {
            Extra::number(name, &unit, value, why, file.origin(line, field, rule))
        });
        let partial = PartialRun {
            join_role: JoinRole::WholeFolder,
            extras: extras.collect(),
            setup: self.setup,
            ..PartialRun::default()
        };
        parsed.records.push(Record::Run(Box::new(partial)));
    }
}

/// Name of a figure: `server.vllm:request_success_total finished_reason=stop`. The mean has the bare name.
fn named(metric: &str, labels: &str, stat: &str) -> String {
    let labels = folded(Labels(labels));
    if matches!(stat, "" | "avg") {
        format!("server.{metric}{labels}")
    } else {
        format!("server.{metric}_{stat}{labels}")
    }
}

/// Labels as a snapshot writes them.
fn labels_of(at: Option<At<'_>>) -> String {
    let mut all = String::new();
    for (name, value) in at.iter().flat_map(|at| at.entries().into_iter().flatten()) {
        push_label(&mut all, name, value.text().ok().flatten().unwrap_or_default());
    }
    all
}

fn push_label(all: &mut String, name: &str, value: &str) {
    if !all.is_empty() {
        all.push(',');
    }
    all.push_str(name);
    all.push_str("=\"");
    all.push_str(&value.replace('\\', "\\\\").replace('"', "\\\""));
    all.push('"');
}

fn whole(text: &str, figures: &mut Figures) -> Result<(), Error> {
    let node = json::parse(text)?;
    let root = At::root(&node);
    (figures.rule, figures.why) = (RULE, Some(BY_SERVER));
    figures.setup.tool = Some("aiperf".to_owned());
    figures.setup.tool_version = text_at(&root, "aiperf_version");
    for (part, prefix) in [("metrics", ""), ("warmup_metrics", "warmup.")] {
        let Some(metrics) = root.get(part) else { continue };
        // A family of information has its words in labels, and a one.
        for (metric, at) in metrics.entries()?.filter(|(metric, _)| !metric.ends_with("_info")) {
            let metric = format!("{prefix}{metric}");
            let unit = text_at(&at, "unit").unwrap_or_default();
            let Some(series) = at.get("series") else { continue };
            for one in series.items()? {
                let labels = labels_of(one.get("labels"));
                let server = raw_at(&one, "endpoint_url").unwrap_or_default();
                let Some(stats) = one.get("stats") else { continue };
                for (stat, value) in stats.entries().into_iter().flatten().filter(|(stat, _)| STATS.contains(stat)) {
                    if let Ok(figure) = value.figure() {
                        let spot = (Some(u64::from(value.node.line)), Some(value.pointer()));
                        figures.put((&server, &metric, &labels, stat), &unit_of(stat, &unit), figure.value, spot);
                    }
                }
            }
        }
    }
    Ok(())
}

/// A rate is that of a family's unit, or of its count, a second.
fn unit_of(stat: &str, unit: &str) -> String {
    match (stat, unit) {
        ("count", _) => String::new(),
        ("count_rate", _) => "1/s".to_owned(),
        _ if !stat.contains("rate") => unit.to_owned(),
        (_, "tokens") => "tok/s".to_owned(),
        (_, "requests") => "req/s".to_owned(),
        (_, "") => "1/s".to_owned(),
        (_, unit) => format!("{unit}/s"),
    }
}

fn tables(text: &str, figures: &mut Figures, parsed: &mut Parsed) {
    (figures.rule, figures.why) = (CSV_RULE, Some(BY_SERVER));
    figures.setup.tool = Some("aiperf".to_owned());
    figures.setup.tool_version = text
        .lines()
        .take_while(|line| line.starts_with('#'))
        .find_map(|line| line.strip_prefix("# aiperf_version:"))
        .map(|version| version.trim().to_owned());
    let mut header = StringRecord::new();
    for row in Rows::new(text) {
        let (line, row) = match row {
            Ok(row) => row,
            Err(error) => {
                parsed.left_out.push(error);
                continue;
            }
        };
        if is_header(&row.iter().collect::<Vec<_>>()) {
            header = row;
            continue;
        }
        // Words of information hold paths and names of machines beside settings. The JSON of the run has the settings.
        if header.get(1) != Some("Type") {
            continue;
        }
        if let Err(error) = rows::fits(line, header.len(), row.len()) {
            parsed.left_out.push(error);
            continue;
        }
        let (metric, unit) = (row.get(2).unwrap_or_default(), row.get(3).unwrap_or_default());
        let mut labels = String::new();
        let rest = || header.iter().zip(row.iter()).skip(4);
        for (name, cell) in rest().filter(|(name, cell)| {
            !STATS.contains(name) && !matches!(*name, "Description" | "buckets") && !cell.is_empty()
        }) {
            push_label(&mut labels, name, cell);
        }
        for (stat, cell) in rest().filter(|(name, cell)| STATS.contains(name) && !cell.is_empty()) {
            match Figure::parse(cell) {
                Some(figure) => {
                    let spot = (Some(line), Some(stat.to_owned()));
                    let server = row.get(0).unwrap_or_default();
                    figures.put((server, metric, &labels, stat), &unit_of(stat, unit), figure.value, spot);
                }
                None => parsed.left_out.push(
                    Error::archive("a cell that is not a number is left out")
                        .at(Place::LineField(line, stat.to_owned())),
                ),
            }
        }
    }
}

fn lines(file: &mut SourceFile<'_>, figures: &mut Figures, parsed: &mut Parsed) -> Result<(), Error> {
    (figures.rule, figures.why) = (LINES_RULE, Some(SINCE_START));
    figures.setup.tool = Some("aiperf".to_owned());
    let (mut scrapes, mut phased) = (0u64, false);
    let mut lines = file.lines(JSON_LINE_LIMIT);
    while let Some(line) = lines.next_line().map_err(unreadable)? {
        if line.bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let place = Place::Line(line.number);
        let text = String::from_utf8_lossy(line.bytes);
        let node = match json::parse(&text) {
            Ok(node) if !line.cut => node,
            Ok(_) | Err(_) if line.cut => {
                let error = Error::archive("a scrape is left out").at(place);
                parsed.left_out.push(error.detail(format!("its line is longer than {} KiB", JSON_LINE_LIMIT >> 10)));
                continue;
            }
            Ok(_) => continue,
            Err(error) => {
                parsed.left_out.push(error.at(place));
                continue;
            }
        };
        let root = At::root(&node);
        let phase = ["phase_kind", "benchmark_phase"].into_iter().find_map(|key| text_at(&root, key));
        match phase {
            // Where scrapes have a phase, one without was made before the first or after the last.
            None if phased => continue,
            None => {}
            Some(phase) => {
                if !phased {
                    (phased, scrapes) = (true, 0);
                    figures.forget();
                }
                if phase != "profiling" {
                    continue;
                }
            }
        }
        scrapes += 1;
        let server = raw_at(&root, "endpoint_url").unwrap_or_default();
        let Some(metrics) = root.get("metrics") else { continue };
        for (metric, samples) in metrics.entries().into_iter().flatten().filter(|(name, _)| !name.ends_with("_info")) {
            for sample in samples.items().into_iter().flatten() {
                let labels = labels_of(sample.get("labels"));
                for (key, stat) in [("value", ""), ("sum", "sum"), ("count", "count")] {
                    if let Some(value) = sample.get(key).filter(|at| matches!(at.node.kind, Kind::Number(_)))
                        && let Ok(figure) = value.figure()
                    {
                        let spot = (Some(line.number), Some(value.pointer()));
                        figures.put((&server, metric, &labels, stat), "", figure.value, spot);
                    }
                }
            }
        }
    }
    let of = if phased { " of the measured phase" } else { ", without phases" };
    parsed.notes.push(format!("{scrapes} scrapes{of}. Of each figure the last counts"));
    Ok(())
}

#[cfg(test)]
mod tests;
