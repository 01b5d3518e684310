//! The workload `gpu-probe` of a suite: this very program, run inside the environment.
//!
//! In:  settings.  Out: its command line, and the content of its file.
//! Not here: measuring, which the program does on the other side.

use std::path::Path;

use serde_json::Value;

use super::plan::{ITERATIONS, MOST_ITERATIONS, MOST_SIZE, ProbePlan};
use crate::env::Invocation;
use crate::workload::cell::Cell;
use crate::workload::kind::{Workload, WorkloadKind};
use crate::workload::outcome::{Outcome, report_path};
use sparkbench_archive::manifest::{CheckWire, ReportWire, SeenWire};
use sparkbench_archive::{FileName, disk};
use sparkbench_host::cuda::Precision;
use sparkbench_ingest::reports;
use sparkbench_plan::Reader;
use sparkbench_text::error::{Error, Kind};

/// File that the program leaves in the run's own folder.
const FILE: &str = "result.json";
/// Parser of it.
const PARSER: &str = "result-json";
/// Largest result file that is read. A probe of ten thousand iterations stays below it.
const MOST_BYTES: u64 = 64 << 20;

/// The kind.
pub struct GpuProbe;

impl WorkloadKind for GpuProbe {
    fn name(&self) -> &'static str {
        "gpu-probe"
    }

    fn read(&self, settings: &mut Reader<'_>, _: &Path) -> Option<Box<dyn Workload>> {
        let quick = settings.switch("quick").unwrap_or(false);
        let device = settings.whole_within("device", 0, 63).unwrap_or(0);
        let iterations = settings.whole_within("iterations", 1, i64::from(MOST_ITERATIONS));
        let precisions = precisions(settings);
        let headline_given = settings.text("headline");
        let sizes = sizes(settings);
        if quick {
            for key in ["precisions", "sizes", "iterations", "headline"] {
                // Both together would leave open which one holds.
                if has(settings, key) {
                    settings.fault(
                        key,
                        "cannot be combined with quick = true, which sets it",
                        "leave out one of the two",
                    );
                }
            }
        }
        let headline = match headline_given.as_deref().map(Precision::find) {
            Some(Some(named)) if precisions.contains(&named) => named,
            Some(_) => {
                let names: Vec<&str> = precisions.iter().map(|precision| precision.name()).collect();
                settings.fault("headline", "is none of the precisions", format!("one of: {}", names.join(", ")));
                return None;
            }
            None if precisions.contains(&Precision::Bf16) => Precision::Bf16,
            None => precisions.last().copied()?,
        };
        let plan = if quick {
            ProbePlan::quick()
        } else {
            let iterations = iterations.and_then(|n| u32::try_from(n).ok()).unwrap_or(ITERATIONS);
            ProbePlan::full(&precisions, &sizes, iterations, headline)
        };
        Some(Box::new(Probe { plan, precisions, sizes, device }))
    }
}

fn has(settings: &mut Reader<'_>, key: &str) -> bool {
    match key {
        "precisions" => settings.has("precisions"),
        "sizes" => settings.has("sizes"),
        "iterations" => settings.has("iterations"),
        _ => settings.has("headline"),
    }
}

fn precisions(settings: &mut Reader<'_>) -> Vec<Precision> {
    let names = settings.texts("precisions");
    if names.is_empty() {
        if settings.has("precisions") {
            settings.fault("precisions", "names none", "fp32, tf32, fp16, bf16, or leave the key out");
        }
        return vec![Precision::Fp32, Precision::Fp16, Precision::Bf16];
    }
    let mut found = Vec::new();
    for name in names {
        match Precision::find(&name) {
            Some(precision) => found.push(precision),
            None => settings.fault("precisions", format!("names \"{name}\""), "known: fp32, tf32, fp16, bf16"),
        }
    }
    found
}

fn sizes(settings: &mut Reader<'_>) -> Vec<usize> {
    let mut sizes = Vec::new();
    for number in settings.numbers("sizes") {
        if number.fract() == 0.0 && (1.0..=MOST_SIZE as f64).contains(&number) {
            // Whole and within range, so the cast keeps the value.
            sizes.push(number as usize);
        } else {
            settings.fault("sizes", format!("holds {number}"), format!("give whole numbers from 1 to {MOST_SIZE}"));
        }
    }
    sizes
}

/// A probe of a suite.
struct Probe {
    plan: ProbePlan,
    precisions: Vec<Precision>,
    sizes: Vec<usize>,
    device: i64,
}

impl Probe {
    /// Arguments after the name of the program.
    fn arguments(&self, file: &Path) -> Vec<String> {
        let mut argv = vec!["gpu-probe".to_owned(), "--device".to_owned(), self.device.to_string()];
        let mut option = |name: &str, value: String| argv.extend([name.to_owned(), value]);
        option("--json", file.to_string_lossy().into_owned());
        if self.plan.quick {
            argv.push("--quick".to_owned());
            return argv;
        }
        let join = |list: Vec<String>| list.join(",");
        option("--precisions", join(self.precisions.iter().map(|p| p.name().to_owned()).collect()));
        if !self.sizes.is_empty() {
            option("--sizes", join(self.sizes.iter().map(ToString::to_string).collect()));
        }
        option("--iterations", self.plan.iterations.to_string());
        option("--headline", self.plan.headline.name().to_owned());
        argv
    }
}

impl Workload for Probe {
    fn needs_own_program(&self) -> bool {
        true
    }

    fn needs_gpu(&self) -> bool {
        true
    }

    fn expected_s(&self) -> Option<f64> {
        Some(self.plan.expected_s())
    }

    fn assets(&self, _: &Cell<'_>) -> Result<Vec<(FileName, Vec<u8>)>, Error> {
        Ok(Vec::new())
    }

    fn probe(&self, _: &Cell<'_>, _: &Path) -> Option<Invocation> {
        None
    }

    fn prepare(&self, _: &Cell<'_>, _: &Path) -> Result<Option<Invocation>, Error> {
        Ok(None)
    }

    fn measure(&self, cell: &Cell<'_>, work: &Path) -> Result<Invocation, Error> {
        let program = cell.own_program.ok_or_else(|| {
            Error::new(Kind::Workload, "gpu-probe runs this very program, and its file could not be found")
                .hint("start sparkbench by its full path, from a file that still exists")
        })?;
        let mut argv = vec![program.to_string_lossy().into_owned()];
        argv.extend(self.arguments(&work.join(FILE)));
        Ok(Invocation { argv, ..Invocation::default() })
    }

    fn asked(&self, _: &Cell<'_>) -> SeenWire {
        SeenWire {
            engine: Some("cuBLAS".to_owned()),
            quantisation: Some(self.plan.headline.name().to_owned()),
            ..SeenWire::default()
        }
    }

    fn examine(&self, _: &Cell<'_>, folder: &Path) -> Outcome {
        let path = report_path(FILE);
        let entry = ReportWire {
            path: path.to_string_lossy().into_owned(),
            parser: PARSER.to_owned(),
            ..ReportWire::default()
        };
        let mut outcome = Outcome { reports: vec![entry.clone()], ..Outcome::default() };
        match read(&folder.join(&path)) {
            Ok(bytes) => self.judge(&bytes, &entry, &mut outcome),
            Err(why) => {
                outcome.reports.clear();
                outcome.faults.push(format!("{} cannot be read: {why}", entry.path));
            }
        }
        outcome
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let length = std::fs::metadata(path).map_err(|cause| cause.to_string())?.len();
    if length > MOST_BYTES {
        return Err(format!("{length} bytes are more than a probe writes"));
    }
    disk::read_plain(path).map_err(|cause| cause.to_string())
}

impl Probe {
    /// Content of the file: its figures, and for each part whether the whole request was measured.
    fn judge(&self, bytes: &[u8], entry: &ReportWire, outcome: &mut Outcome) {
        let report = match reports::report(&entry.path, bytes, entry) {
            Ok(report) => report,
            Err(error) => {
                outcome.faults.push(format!("{}: {}", entry.path, error.what));
                return;
            }
        };
        outcome.marks.extend(report.left_out);
        outcome.marks.extend(report.notes.into_iter().filter(|note| !note.starts_with("failed: ")));
        if let Some(part) = report.parts.into_iter().next() {
            for metric in ["gemm_tflops", "memory_bandwidth_gb_s"] {
                if part.metrics.get(metric).copied().flatten().is_none() {
                    outcome.faults.push(format!("{} has no {metric}", entry.path));
                }
            }
            outcome.seen = part.seen;
        }
        // The parser has read it, so it is JSON. An empty list of parts then fails the check below.
        let file: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let parts = file.pointer("/probe/parts").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut fewest = None;
        for part in &parts {
            let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
            if text("state") == "failed" {
                outcome.faults.push(format!("{}: {}", text("name"), text("reason")));
            }
            let times = part.get("device_ms_per_launch").and_then(Value::as_array).map(Vec::len);
            fewest = [fewest, times].into_iter().flatten().min();
        }
        let source = entry.path.as_str();
        outcome.checks = vec![
            counted("parts", self.plan.parts.len(), Some(parts.len()), source),
            counted("iterations", self.plan.iterations as usize, fewest, source),
        ];
    }
}

/// A number that was asked for against the one in the file.
fn counted(item: &str, asked: usize, ran: Option<usize>, source: &str) -> CheckWire {
    let result = match ran {
        Some(ran) if ran == asked => "match",
        Some(_) => "mismatch",
        None => "unknown",
    };
    CheckWire {
        item: item.to_owned(),
        asked: Some(asked.to_string()),
        ran: ran.map(|ran| ran.to_string()),
        source: source.to_owned(),
        result: result.to_owned(),
    }
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
