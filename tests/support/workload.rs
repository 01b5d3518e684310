//! Reads a workload from the text of its table, as a suite does.

#![allow(dead_code)]

use std::path::Path;

use sparkbench::plan::{Faults, Model, Settings};
use sparkbench::workload::{Cell, Outcome, Placement, WORKLOADS, Workload};
use toml::de::DeTable;

fn table(text: &str) -> Settings {
    let parsed = DeTable::parse(text).unwrap_or_else(|cause| panic!("{cause}\n{text}"));
    Settings::from_toml("workloads.w", 1, parsed.get_ref(), text)
}

fn take(kind: &str, text: &str, folder: &Path) -> (Option<Box<dyn Workload>>, Faults) {
    let kind = WORKLOADS.iter().find(|known| known.name() == kind).unwrap();
    let settings = table(text);
    let mut faults = Faults::default();
    let mut reader = settings.reader(&mut faults);
    let workload = kind.read(&mut reader, folder);
    reader.finish();
    (workload, faults)
}

/// The workload, or the words of the faults.
pub fn read(kind: &str, text: &str, folder: &Path) -> Result<Box<dyn Workload>, String> {
    let (workload, faults) = take(kind, text, folder);
    faults.into_result("suite.toml").map_err(|error| error.to_string())?;
    workload.ok_or_else(|| "no workload and no fault".to_owned())
}

/// The faults in words. Empty when there are none.
pub fn faults(kind: &str, text: &str, folder: &Path) -> String {
    take(kind, text, folder).1.into_result("suite.toml").map_or_else(|error| error.to_string(), |()| String::new())
}

/// A cell without a probe.
pub fn cell(model: &Model) -> Cell<'_> {
    Cell { model, probed: None, prepared: &[], repeat: 1, seed: 42, own_program: None, placement: Placement::ALONE }
}

/// `item result` of each check.
pub fn checks(outcome: &Outcome) -> Vec<String> {
    outcome.checks.iter().map(|check| format!("{} {}", check.item, check.result)).collect()
}
