//! The console output of `trtllm-bench`: one run for each report in it.
//!
//! In:  a log of any size, line by line.  Out: one partial run for each run, with what the log prints for the whole run.
//! Not here: what a line of the engine or of the report means (see `engine`, `block`).
//!
//! A run begins with the line that announces it, or, in a log that keeps only reports, with the heading of the next one. A run that was
//! announced and has no report is a failed run, whatever the exit code says.
//!
//! Seen: TensorRT-LLM 0.16 and 0.20. Labels of the other versions up to 1.3 from their source.

use super::super::faults::is_answer;
use super::super::kind::{LogReader, TextKind};
use super::super::marks::{count, joined};
use super::block;
use super::engine::{self, Engine, RULES};
use super::labels::{self, Section};
use crate::{About, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Extra, Setup, Status};

/// Most runs that are kept of one log.
const RUNS: usize = 1000;
const TOOL: &str = "trtllm-bench";

/// The console of `trtllm-bench` and the memory lines of its engine.
pub(crate) static TRTLLM: TextKind = TextKind {
    name: "trtllm-bench-console",
    about: About {
        tool: "trtllm-bench",
        versions: "TensorRT-LLM 0.16 to 1.3, throughput and latency modes (0.16 prints output tokens as `Token Throughput`)",
        sign: "words that only this engine prints, anywhere in a line",
        reads: "reports with breakdowns, decoding statistics, memory lines, settings. A run without a report is a failed run",
    },
    signs: super::SIGNS,
    marks: MARKS,
    start: || Box::<Log>::default(),
};

const PARTS: &[&[&str]] = &[engine::MARKS, labels::MARKS, super::BENCH, super::SERVER, super::super::faults::MARKS];
const MARKS: &[&str] = &joined::<{ count(PARTS) }>(PARTS);

#[derive(Debug, Default)]
struct Log {
    runs: Vec<Run>,
    more: usize,
    run: Run,
    ours: bool,
    bench: bool,
    server: bool,
}

/// One run of the benchmark.
#[derive(Debug, Default)]
struct Run {
    engine: Engine,
    section: Section,
    announced: bool,
    /// It has a report.
    report: bool,
}

impl LogReader for Log {
    fn line(&mut self, number: u64, line: &str) {
        if is_answer(line) {
            return self.run.engine.faults.read(number, line);
        }
        let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
        self.bench |= says(super::BENCH);
        self.server |= says(super::SERVER);
        let announces = line.contains("Preparing to run ") && line.contains("benchmark");
        let section = block::heading(line);
        let results = line.contains("= PERFORMANCE OVERVIEW") || line.contains("= THROUGHPUT OVERVIEW");
        let opens = matches!(section, Some(Section::Backend)) || results;
        if (announces && (self.run.announced || self.run.report)) || (opens && self.run.report) {
            self.next();
        }
        self.run.announced |= announces;
        self.run.report |= results;
        if let Some(section) = section {
            self.run.section = section;
        } else {
            // What the program logs behind its report is no part of it.
            if line.contains("[TRT-LLM]") || line.contains("[TensorRT-LLM]") {
                self.run.section = Section::None;
            }
            block::read(self.run.section, number, line, &mut self.run.engine);
        }
        self.run.engine.read(number, line);
        self.ours |= self.run.engine.ours;
    }

    fn finish(mut self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        let trouble = self.run.engine.faults.trouble().is_some();
        if !(self.ours && (self.bench || trouble && !self.server)) {
            return None;
        }
        self.next();
        let mut parsed = Parsed::default();
        if self.more > 0 {
            parsed.notes.push(format!("{} more runs are in it. The first {RUNS} are read", self.more));
        }
        let several = self.runs.len() > 1;
        for run in self.runs {
            let mut partial = run.partial(file);
            if several {
                partial.join_role = JoinRole::Alone;
            }
            parsed.records.push(Record::Run(Box::new(partial)));
        }
        Some(parsed)
    }
}

impl Log {
    fn next(&mut self) {
        let run = std::mem::take(&mut self.run);
        if self.runs.len() == RUNS {
            self.more += 1;
        } else {
            self.runs.push(run);
        }
    }
}

impl Run {
    fn partial(mut self, file: &SourceFile<'_>) -> PartialRun {
        self.engine.close();
        let Engine { mut found, faults, setup, .. } = self.engine;
        let status = if self.report {
            Status::Done
        } else {
            let why = faults.trouble().map_or_else(String::new, |why| format!(": {why}"));
            Status::Failed(format!("the log has no result block{why}"))
        };
        faults.into(&mut found);
        let (readings, extras) = found.finish(file, RULES);
        let wall = extras.iter().find(|extra| extra.name == "total_latency_ms").and_then(Extra::as_number);
        let setup = Setup {
            engine: Some("TensorRT-LLM".to_owned()),
            tool: Some(TOOL.to_owned()),
            tool_version: setup.engine_version.clone(),
            ..setup
        };
        PartialRun {
            join_role: JoinRole::Trace,
            workload: shape(&setup),
            fingerprint: fingerprint(&setup, wall),
            status: Some(status),
            readings,
            extras,
            setup,
            ..PartialRun::default()
        }
    }
}

/// `128-2048`: mean lengths, in whole tokens.
pub(crate) fn shape(setup: &Setup) -> Option<String> {
    let whole = |length: Option<f64>| length.filter(|length| *length >= 0.0).map(|length| format!("{length:.0}"));
    Some(format!("{}-{}", whole(setup.isl)?, whole(setup.osl)?))
}

/// The same for the console and for the file of one run: both print the wall time, the console to four digits.
pub(crate) fn fingerprint(setup: &Setup, wall_ms: Option<f64>) -> Option<String> {
    let model = setup.model_served.as_deref().unwrap_or_default();
    Some(format!("{TOOL}|{model}|{}|{:.4}", setup.requests?, wall_ms?))
}

#[cfg(test)]
mod tests;
