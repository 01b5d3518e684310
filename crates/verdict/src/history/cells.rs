//! Cells that several campaigns measured, with their runs in order of time.
//!
//! In:  all runs and their campaigns.  Out: [`SharedCell`]s.
//! Not here: figures, changes.
//!
//! A folder may hold a campaign twice, and a table a row twice. A run that starts at the moment of an earlier one and has all its figures is a
//! copy and counts once.

use std::collections::{BTreeMap, BTreeSet};

use crate::Study;
use crate::case::Case;
use sparkbench_model::{Campaign, Instant, Run};

/// The key by which cells of two campaigns are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CellKey {
    pub machine: Option<String>,
    pub model: String,
    /// Lengths, batch and rate where they are known, else the label.
    pub shape: String,
    pub environment: String,
    pub engine: Option<String>,
}

/// A cell that at least two campaigns measured.
pub(super) struct SharedCell<'a> {
    pub key: CellKey,
    /// Campaigns in order of their first runs, each with its runs in order of time.
    pub sides: Vec<(&'a str, Vec<&'a Run>)>,
    /// Runs that are left out as copies.
    pub copies: usize,
}

/// Every such cell, by machine, model, shape, environment and engine.
pub(super) fn shared(study: &Study) -> Vec<SharedCell<'_>> {
    let mut cells: BTreeMap<CellKey, BTreeMap<&str, Vec<&Run>>> = BTreeMap::new();
    for campaign in &study.campaigns {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        let case = Case::of_runs(campaign, own, &study.facts);
        let machine = case.machine().map(|m| m.title.clone()).or_else(|| campaign.machine.clone());
        for cell in &case.cells {
            // Without times there is no order. Without an environment there is nothing to compare.
            let timed: Vec<&Run> = cell.runs.iter().copied().filter(|run| run.started.is_some()).collect();
            if let Some(first) = timed.first().filter(|_| cell.environment != Campaign::UNLABELLED) {
                let key = key(first, machine.as_deref());
                cells.entry(key).or_default().entry(campaign.name.as_str()).or_default().extend(&timed);
            }
        }
    }
    let found = cells.into_iter().map(|(key, by)| {
        let mut sides: Vec<(&str, Vec<&Run>)> = by.into_iter().collect();
        for (_, runs) in &mut sides {
            runs.sort_by_key(|run| run.started);
        }
        sides.sort_by_key(|(name, runs)| (runs.first().and_then(|run| run.started), *name));
        let copies = leave_out_copies(&mut sides);
        SharedCell { key, sides, copies }
    });
    found.filter(|cell| cell.sides.len() > 1).collect()
}

/// What two copies of a run share: when it started, and the bits of its figures.
type Same<'a> = (Option<Instant>, Vec<(&'a str, u64)>);

/// Keeps the first of runs that are the same, and the campaigns that have a run of their own. Gives the number of the others.
fn leave_out_copies(sides: &mut Vec<(&str, Vec<&Run>)>) -> usize {
    let mut seen: BTreeSet<Same<'_>> = BTreeSet::new();
    let mut copies = 0;
    for (_, runs) in sides.iter_mut() {
        runs.retain(|run| {
            let mut figures: Vec<(&str, u64)> =
                run.readings.iter().map(|r| (r.metric.as_str(), r.value.to_bits())).collect();
            figures.extend(run.extras.iter().filter_map(|e| Some((e.name.as_str(), e.as_number()?.to_bits()))));
            figures.sort_unstable();
            let is_new = seen.insert((run.started, figures));
            copies += usize::from(!is_new);
            is_new
        });
    }
    sides.retain(|(_, runs)| !runs.is_empty());
    copies
}

fn key(run: &Run, machine: Option<&str>) -> CellKey {
    let setup = &run.setup;
    let shape = match (setup.isl, setup.osl) {
        (Some(isl), Some(osl)) => {
            let part = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| v.to_string());
            format!("{isl} {osl} {} {}", part(setup.batch), part(setup.request_rate))
        }
        _ => run.workload.clone(),
    };
    CellKey {
        machine: machine.map(str::to_owned).or_else(|| setup.machine.clone()),
        model: setup.model_served.clone().or_else(|| setup.model_id.clone()).unwrap_or_else(|| run.model.clone()),
        shape,
        environment: run.environment.clone(),
        engine: setup.engine.as_ref().map(|engine| engine.to_lowercase()),
    }
}
