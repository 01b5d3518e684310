//! Telemetry and machine states: the five output forms of nvidia-smi, and the files of scripts that replace it.
//!
//! In:  tables and texts of any size.  Out: samples in order of time, or the figures of a single snapshot.
//! Not here: cutting to the window of a run and what follows from it (see `verdict::telemetry`).

mod cell;
mod collect;
mod column;
mod csv;
mod dmon;
mod free;
mod json;
mod per_watt;
mod query;
mod table;

pub(super) use csv::{Script, SmiCsv};
pub(super) use dmon::Dmon;
pub(super) use free::FreeLog;
pub(super) use json::TelemetryJson;
pub(super) use per_watt::PerWatt;
pub(super) use query::Query;
pub(super) use table::BoxTable;

use super::figure::Figure;
use super::{JoinRole, PartialRun, SourceFile};
use sparkbench_model::{Extra, ExtraValue};

/// A figure of a snapshot of the machine.
fn extra(
    file: &SourceFile<'_>,
    name: String,
    unit: &str,
    value: f64,
    at: (Option<u64>, Option<String>),
    rule: &'static str,
) -> Option<Extra> {
    value.is_finite().then(|| Extra::number(name, unit, value, None, file.origin(at.0, at.1, rule)))
}

/// Words of a snapshot of the machine.
fn words(
    file: &SourceFile<'_>,
    name: String,
    text: &str,
    at: (Option<u64>, Option<String>),
    rule: &'static str,
) -> Extra {
    Extra {
        name,
        unit: String::new(),
        value: ExtraValue::Text(super::figure::excerpt(text)),
        why: None,
        origin: file.origin(at.0, at.1, rule),
    }
}

/// A partial run that joins the runs of its launch.
fn detail() -> PartialRun {
    PartialRun { join_role: JoinRole::Detail, ..PartialRun::default() }
}

/// The finite value of a cell with its unit. Nothing for what is missing or no figure.
fn plain(text: &str) -> Option<(f64, &'static str)> {
    cell::figure(text).and_then(|(figure, unit): (Figure, _)| Some((figure.finite()?, unit)))
}
