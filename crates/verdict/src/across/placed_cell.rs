//! A cell with its place: what was asked of it.
//!
//! In:  a campaign, the facts.  Out: [`PlacedCell`].
//! Not here: putting cells side by side.

use super::shape;
use crate::case::{Case, Cell};
use crate::physics::PhysicsFacts;
use crate::report::Estimate;
use crate::report::across::{CellName, Place};
use crate::{Settings, estimate};
use sparkbench_model::Run;

/// Requests a second from which a rate is no rate: tools that have no word for "all at once" are given such numbers. No server of language
/// models starts a request every ten microseconds.
const UNLIMITED_REQ_S: f64 = 100_000.0;

/// A cell with its place.
#[derive(Debug)]
pub(crate) struct PlacedCell<'c, 'a> {
    pub place: Place,
    pub cell: &'c Cell<'a>,
    pub case: &'c Case<'a>,
}

impl PlacedCell<'_, '_> {
    /// Mean of a metric over the runs of the cell.
    pub(super) fn figure(&self, metric: &str, settings: &Settings) -> Option<Estimate> {
        estimate::of(&self.cell.numbers(metric), settings.confidence)
    }

    /// Mean of what a closure makes of each run.
    pub(super) fn each(&self, of: impl Fn(&Run) -> Option<f64>, settings: &Settings) -> Option<Estimate> {
        let values: Vec<f64> = self.cell.runs.iter().filter_map(|run| of(run)).filter(|v| v.is_finite()).collect();
        estimate::of(&values, settings.confidence)
    }
}

/// The cells of a campaign that have a run.
pub(super) fn of<'c, 'a>(case: &'c Case<'a>, settings: &Settings) -> Vec<PlacedCell<'c, 'a>> {
    let grounds = PhysicsFacts::of(case);
    case.cells
        .iter()
        .filter_map(|cell| Some(PlacedCell { place: place(case, &grounds, cell, settings)?, cell, case }))
        .collect()
}

fn place<'a>(case: &Case<'a>, grounds: &PhysicsFacts<'_, 'a>, cell: &Cell<'a>, settings: &Settings) -> Option<Place> {
    let first: &'a Run = cell.runs.first().copied()?;
    let known = grounds.machine(first);
    let printed = case.machine_name(first).map(str::to_owned);
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
        engine: cell.stated(|run| run.setup.engine.clone()),
        engine_version: cell.stated(|run| run.setup.engine_version.clone()),
        quantisation: grounds.precision(first).map(str::to_lowercase),
        isl: mean(cell, |run| run.setup.isl),
        osl: mean(cell, |run| run.setup.osl),
        batch: shape::batch(cell).or_else(|| label.and_then(|model| model.batch)),
        request_rate: rate,
        runs: cell.runs.len(),
        failed: cell.runs.iter().filter(|run| run.has_failed()).count(),
        output_tok_s: estimate::of(&cell.numbers("output_throughput_tok_s"), settings.confidence),
    })
}

/// Mean of lengths above zero. A length of zero is a part of the work that was left out (prompt alone, output alone) and stays.
fn mean(cell: &Cell<'_>, of: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = cell.runs.iter().filter_map(|run| of(run)).filter(|v| v.is_finite() && *v >= 0.0).collect();
    (!values.is_empty()).then(|| sparkbench_stats::mean(&values))
}
