//! Named parsers: which file a run left, and how its figures are read.
//!
//! In:  a file, and the entry of `run.json` that names it.  Out: [`Parsed`], as from any format, and [`RunReport`], the same for a workload.
//! Not here: deciding whether a figure is good enough (see `workload`), means.
//!
//! A format is recognised by the content of a file. The user of the program names a parser. So a file of any shape can be read, and no file
//! is read by chance. A parser is one file below this folder and one line in [`PARSERS`].

mod iterations;
mod lines;
mod parser;
mod pattern;
mod result;
mod seen;
mod trtllm_json;
mod trtllm_requests;

use std::collections::BTreeMap;
use std::io::BufRead;

use super::{Format, JoinRole, Parsed, PartialRun, Record, SourceFile, log, requests};
use sparkbench_archive::manifest::{ReportWire, SeenWire};
use sparkbench_model::{Setup, Status};
use sparkbench_text::error::Error;

pub use iterations::{ITERATIONS_SCHEMA, IterationsFile};
pub use parser::Parser;
pub use result::{RESULT_SCHEMA, ResultFile};
pub use trtllm_json::TrtllmReport;

/// Every named parser.
pub static PARSERS: &[&dyn Parser] = &[
    &result::ResultFile,
    &iterations::IterationsFile,
    &lines::Lines,
    &pattern::Pattern,
    &trtllm_json::TrtllmJson,
    &trtllm_requests::TrtllmRequests,
    &TrtllmLog,
    &RequestsFile,
    &ByLook,
];

/// The parser of a name.
pub fn find(name: &str) -> Option<&'static dyn Parser> {
    PARSERS.iter().find(|parser| parser.name() == name).copied()
}

/// Names of all parsers, for messages.
pub fn names() -> String {
    PARSERS.iter().map(|parser| parser.name()).collect::<Vec<_>>().join(", ")
}

/// Reads a file by the parser that its entry names.
///
/// # Errors
/// When there is no parser of that name, or nothing of the file can be used.
pub fn parse(file: &mut SourceFile<'_>, report: &ReportWire) -> Result<Parsed, Error> {
    let parser = find(&report.parser).ok_or_else(|| {
        Error::archive(format!("there is no parser \"{}\"", super::figure::excerpt(&report.parser)))
            .hint(format!("known: {}", names()))
    })?;
    parser.parse(file, report)
}

/// The console output of `trtllm-bench`.
struct TrtllmLog;

impl Parser for TrtllmLog {
    fn name(&self) -> &'static str {
        "trtllm-bench-log"
    }

    fn parse(&self, file: &mut SourceFile<'_>, _: &ReportWire) -> Result<Parsed, Error> {
        let mut parsed = log::parse_kind(file, &log::TRTLLM)?;
        for record in &mut parsed.records {
            if let Record::Run(partial) = record {
                // The report beside it prints more digits of the same figures, so the log only fills what it lacks.
                partial.join_role = JoinRole::Detail;
                // The suite names the planned run. Another name for the same shape would only conflict with it.
                partial.workload = None;
                partial.fingerprint = None;
            }
        }
        // One file of one launch is one run, however often the program began.
        if parsed.records.len() > 1 {
            parsed
                .notes
                .push(format!("{} runs of the benchmark are in it. The last one is read", parsed.records.len()));
            parsed.records.drain(..parsed.records.len() - 1);
        }
        Ok(parsed)
    }
}

/// One request a line, as the archive holds them.
struct RequestsFile;

impl Parser for RequestsFile {
    fn name(&self) -> &'static str {
        "requests"
    }

    fn parse(&self, file: &mut SourceFile<'_>, entry: &ReportWire) -> Result<Parsed, Error> {
        let mut parsed = requests::Requests.parse(file)?;
        // Several files of one launch are several runs. The lines of one file need not say which.
        if let Some(test) = &entry.test {
            for record in &mut parsed.records {
                if let Record::Run(partial) = record {
                    partial.part = partial.part.take().or_else(|| Some(test.clone()));
                    partial.join_role = JoinRole::Body;
                }
            }
        }
        if let Some(why) = &entry.failure {
            for record in &mut parsed.records {
                if let Record::Run(partial) = record {
                    partial.status = Some(Status::Failed(why.clone()));
                }
            }
        }
        Ok(parsed)
    }
}

/// The result of any tool, read by the format that its look says.
struct ByLook;

impl Parser for ByLook {
    fn name(&self) -> &'static str {
        "by-look"
    }

    fn parse(&self, file: &mut SourceFile<'_>, entry: &ReportWire) -> Result<Parsed, Error> {
        let mut parsed = super::look::sniffed(file)?;
        let mut runs = parsed.records.iter().filter(|record| matches!(record, Record::Run(_))).count();
        if runs == 0 {
            return Err(Error::archive("no run is in it").hint("name the file that holds the result"));
        }
        // The run is the one that was started: what else the file holds belongs to no run of the plan.
        parsed.records.retain(|record| {
            let partial = matches!(record, Record::Run(_));
            runs -= usize::from(partial);
            partial && runs == 0
        });
        for record in &mut parsed.records {
            if let Record::Run(partial) = record {
                partial.join_role = JoinRole::Body;
                partial.part = entry.test.clone();
                // Labels are the suite's, and so are the times: the clock of a tool may be on another zone.
                let own = std::mem::take(&mut **partial);
                **partial = PartialRun {
                    campaign: None,
                    id: None,
                    environment: None,
                    model: None,
                    workload: None,
                    repeat: None,
                    block: None,
                    position: None,
                    started: None,
                    ended: None,
                    fingerprint: None,
                    ..own
                };
            }
        }
        Ok(parsed)
    }
}

/// What one part of a report says, for anyone who checks a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReportPart {
    /// Name of the test, where the report holds several.
    pub name: Option<String>,
    /// Figures by metric. `None` where the program says that it has none.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// Values of each iteration or request, by metric.
    pub series: BTreeMap<String, Vec<f64>>,
    /// Values of each iteration under names of the program's own, which are no metrics.
    pub lists: BTreeMap<String, Vec<f64>>,
    /// The program's own report of what it ran.
    pub seen: SeenWire,
    /// Why the program counts as failed, where the report shows it.
    pub failure: Option<String>,
}

/// What a file says, for anyone who checks a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunReport {
    /// Its parts, in the order of the file.
    pub parts: Vec<ReportPart>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Unusable parts.
    pub left_out: Vec<String>,
}

impl From<Parsed> for RunReport {
    fn from(parsed: Parsed) -> Self {
        let mut report = Self { notes: parsed.notes, ..Self::default() };
        report.left_out = parsed.left_out.iter().map(super::one_line).collect();
        for record in parsed.records {
            let Record::Run(partial) = record else { continue };
            let lists = parsed.lists.iter().filter(|list| list.part == partial.part);
            report.parts.push(ReportPart {
                lists: lists.map(|list| (list.name.clone(), list.values.clone())).collect(),
                name: partial.part,
                metrics: partial
                    .readings
                    .into_iter()
                    .map(|reading| (reading.metric, Some(reading.value).filter(|value| value.is_finite())))
                    .collect(),
                series: partial.series.into_iter().map(|series| (series.metric, series.values)).collect(),
                seen: seen(partial.setup),
                failure: match partial.status {
                    Some(Status::Failed(why)) => Some(why),
                    _ => None,
                },
            });
        }
        report
    }
}

/// Reads the bytes of a file as a [`RunReport`]. `path` is how messages name it.
///
/// # Errors
/// Like [`parse`].
pub fn report(path: &str, bytes: &[u8], entry: &ReportWire) -> Result<RunReport, Error> {
    let mut input = bytes;
    report_from(path, bytes.len() as u64, &mut input, entry)
}

/// Like [`report`], for a file behind a reader with its size in bytes. A file with one line for each request may have any size.
///
/// # Errors
/// Like [`parse`].
pub fn report_from(path: &str, bytes: u64, input: &mut dyn BufRead, entry: &ReportWire) -> Result<RunReport, Error> {
    parse(&mut SourceFile::new(path, bytes, input), entry).map(RunReport::from)
}

fn seen(setup: Setup) -> SeenWire {
    SeenWire {
        model_id: setup.model_served,
        machine: setup.machine,
        engine: setup.engine,
        engine_version: setup.engine_version,
        quantisation: setup.quantisation,
        batch: setup.batch,
        isl: setup.isl,
        osl: setup.osl,
        requests: setup.requests,
        parameters: setup.parameters,
        device_memory_gib: setup.device_memory_gib,
        model_memory_gib: setup.model_memory_gib,
    }
}

#[cfg(test)]
mod tests;
