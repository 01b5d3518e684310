//! Across cells and campaigns: groups of cells, and their comparison side by side.
//!
//! In:  the laid-out campaigns.  Out: [`Across`], arrays of the analysis.
//! Not here: formulas (see `stats`), drawing (see `chart`), the verdict on a pair of environments (see `judge`).
//!
//! Cells are put side by side by what was asked of them: model, machine, precision, lengths, load. What is put side by side is not thereby
//! compared: a verdict needs the rules of `alike` and `definitions`, which `engines` applies.

pub mod agreement;
mod engines;
mod frontier;
mod grid;
mod memory;
mod rooflines;
pub(crate) mod shape;
mod summary;
mod sweep;
#[cfg(test)]
mod tests;

use super::alike::TOKENS_TOLERANCE_PCT;
use super::case::{Case, Cell};
use super::memory::Round;
use super::physics::PhysicsFacts;
use super::report::across::{CellName, Place};
use super::report::{Across, Estimate};
use super::{Settings, estimate};
use sparkbench_model::{Run, Status};

/// Requests a second from which a rate is no rate: tools that have no word for "all at once" are given such numbers. No server of language
/// models starts a request every ten microseconds.
pub const UNLIMITED_REQ_S: f64 = 100_000.0;

/// A cell with its place.
#[derive(Debug)]
pub(super) struct PlacedCell<'c, 'a> {
    pub place: Place,
    pub cell: &'c Cell<'a>,
    pub case: &'c Case<'a>,
}

impl PlacedCell<'_, '_> {
    /// Mean of a metric over the runs of the cell.
    fn figure(&self, metric: &str, settings: &Settings) -> Option<Estimate> {
        estimate::of(&self.cell.numbers(metric), settings.confidence)
    }

    /// Mean of what a closure makes of each run.
    fn each(&self, of: impl Fn(&Run) -> Option<f64>, settings: &Settings) -> Option<Estimate> {
        let values: Vec<f64> = self.cell.runs.iter().filter_map(|run| of(run)).filter(|v| v.is_finite()).collect();
        estimate::of(&values, settings.confidence)
    }
}

/// Everything across the campaigns.
pub(super) fn report(cases: &[Case<'_>], round: &Round<'_>) -> Across {
    let settings = round.settings;
    let spots: Vec<PlacedCell<'_, '_>> = cases.iter().flat_map(|case| spots(case, settings)).collect();
    let places: Vec<&Place> = spots.iter().map(|spot| &spot.place).collect();
    let shapes = shape::shapes(&places);
    let sweeps = sweep::sweeps(&spots, &shapes, settings);
    Across {
        model_summaries: summary::models(&places),
        machine_summaries: summary::machines(&places),
        frontiers: frontier::frontiers(&sweeps, &spots),
        sweeps,
        grids: grid::grids(&spots),
        rooflines: rooflines::rooflines(cases, settings),
        memory_stacks: cases.iter().flat_map(|case| memory::stacks(case, settings)).collect(),
        engines: engines::tables(&spots, round),
        agreements: agreement::tables(&spots, round),
        places: spots.into_iter().map(|spot| spot.place).collect(),
    }
}

fn spots<'c, 'a>(case: &'c Case<'a>, settings: &Settings) -> Vec<PlacedCell<'c, 'a>> {
    let grounds = PhysicsFacts::of(case);
    case.cells
        .iter()
        .filter_map(|cell| Some(PlacedCell { place: place(case, &grounds, cell, settings)?, cell, case }))
        .collect()
}

fn place<'a>(case: &Case<'a>, grounds: &PhysicsFacts<'_, 'a>, cell: &Cell<'a>, settings: &Settings) -> Option<Place> {
    let first: &'a Run = cell.runs.first().copied()?;
    let known = grounds.machine(first);
    let printed = first.setup.machine.clone().or_else(|| case.campaign.machine.clone());
    let label = case.campaign.models.get(cell.model);
    let rate = first.setup.request_rate.filter(|rate| *rate < UNLIMITED_REQ_S);
    Some(Place {
        cell: CellName {
            campaign: case.campaign.name.clone(),
            model: cell.model.to_owned(),
            workload: cell.workload.to_owned(),
            environment: cell.environment.to_owned(),
        },
        machine: known.map(|(key, _)| key.to_owned()).or_else(|| printed.clone()),
        machine_title: known.map(|(_, machine)| machine.title.clone()).or(printed),
        devices: grounds.devices(first),
        model_id: first.setup.model_id.clone().or_else(|| label.and_then(|model| model.id.clone())),
        engine: one(cell, |run| run.setup.engine.clone()),
        engine_version: one(cell, |run| run.setup.engine_version.clone()),
        quantisation: grounds.precision(first).map(str::to_lowercase),
        isl: mean(cell, |run| run.setup.isl),
        osl: mean(cell, |run| run.setup.osl),
        batch: shape::batch(cell).or_else(|| label.and_then(|model| model.batch)),
        request_rate: rate,
        runs: cell.runs.len(),
        failed: cell.runs.iter().filter(|run| matches!(run.status, Status::Failed(_))).count(),
        output_tok_s: estimate::of(&cell.numbers("output_throughput_tok_s"), settings.confidence),
    })
}

/// The value on which all runs of a cell that state it agree. Several words are joined.
fn one(cell: &Cell<'_>, of: impl Fn(&Run) -> Option<String>) -> Option<String> {
    let mut values: Vec<String> = cell.runs.iter().filter_map(|run| of(run)).collect();
    values.sort_unstable();
    values.dedup();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Mean of lengths above zero. A length of zero is a part of the work that was left out (prompt alone, output alone) and stays.
fn mean(cell: &Cell<'_>, of: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = cell.runs.iter().filter_map(|run| of(run)).filter(|v| v.is_finite() && *v >= 0.0).collect();
    (!values.is_empty()).then(|| sparkbench_stats::mean(&values))
}

/// Values that lie within the tolerance of lengths of the first of their cluster are one. Gives the number of its cluster for each.
pub(super) fn clusters(values: &[Option<f64>]) -> Vec<Option<usize>> {
    let mut sorted: Vec<f64> = values.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let mut starts: Vec<f64> = Vec::new();
    for value in sorted {
        if starts.last().is_none_or(|start| value - start > TOKENS_TOLERANCE_PCT / 100.0 * start) {
            starts.push(value);
        }
    }
    let of = |value: f64| starts.iter().rposition(|start| *start <= value);
    values.iter().map(|value| value.and_then(of)).collect()
}

/// Lower-case letters, digits and single hyphens.
pub(super) fn slug(parts: &[&str]) -> String {
    let mut out = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        for c in part.chars() {
            match c {
                c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
                _ if out.ends_with('-') || out.is_empty() => {}
                _ => out.push('-'),
            }
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// Makes ids unique in their order: a second `a` becomes `a-2`.
pub(super) fn unique(taken: &mut std::collections::BTreeSet<String>, base: String) -> String {
    let base = if base.is_empty() { "all".to_owned() } else { base };
    let mut id = base.clone();
    let mut k = 2;
    while !taken.insert(id.clone()) {
        id = format!("{base}-{k}");
        k += 1;
    }
    id
}

/// Names that distinguish rows: the first part, and of the others, in their order, those that part rows which were alike so far.
pub(super) fn labels(rows: &[Vec<String>]) -> Vec<String> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let named = |parts: &[usize]| -> Vec<String> {
        let told = |row: &Vec<String>| -> Vec<String> {
            parts.iter().filter_map(|k| row.get(*k)).filter(|part| !part.is_empty()).cloned().collect()
        };
        rows.iter().map(|row| told(row).join(", ")).collect()
    };
    let distinct = |names: &[String]| names.iter().collect::<std::collections::BTreeSet<_>>().len();
    let mut parts = vec![0];
    let mut names = named(&parts);
    for k in 1..width {
        parts.push(k);
        let more = named(&parts);
        if distinct(&more) > distinct(&names) {
            names = more;
        } else {
            parts.pop();
        }
    }
    names
}
