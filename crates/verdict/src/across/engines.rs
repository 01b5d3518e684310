//! Engine beside engine: the same model, machine, lengths and load.
//!
//! In:  spots of all campaigns.  Out: [`EngineTable`]s.
//! Not here: the rules of comparability (see `alike`, `definitions`, `grammar`), which decide every row.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::naming::{labels, slug, unique};
use super::placed_cell::PlacedCell;
use super::shape::clusters;
use crate::alike::Compared;
use crate::compare::Pair;
use crate::family::{self, Family};
use crate::grammar::Incomparability;
use crate::memory::Round;
use crate::method::Layout;
use crate::report::across::{EngineRow, EngineTable, Place};
use crate::report::{Comparison, Group};
use crate::{CellValues, Settings, alike, finish, order, pairing};
use sparkbench_model::{Campaign, Metric, Run};

/// Metrics that engines are compared with each other by.
const METRICS: [&str; 5] = ["output_throughput_tok_s", "ttft_ms", "tpot_ms", "e2e_latency_ms", "peak_memory_gib"];

/// The label that distinguishes the arms.
const COMPARED: Compared<'static> = Compared { setting: Some("engine"), with: &[] };

/// A table wherever two engines were given the same work.
pub(crate) fn tables(spots: &[PlacedCell<'_, '_>], round: &Round<'_>) -> Vec<EngineTable> {
    let spots: Vec<&PlacedCell<'_, '_>> =
        spots.iter().filter(|s| s.place.engine.is_some() && s.place.output_tok_s.is_some()).collect();
    let isl = clusters(&spots.iter().map(|s| s.place.isl).collect::<Vec<_>>());
    let osl = clusters(&spots.iter().map(|s| s.place.osl).collect::<Vec<_>>());
    let mut found: BTreeMap<_, Vec<&PlacedCell<'_, '_>>> = BTreeMap::new();
    for (k, spot) in spots.iter().enumerate() {
        let p = &spot.place;
        let bits = |value: Option<f64>| value.map(f64::to_bits);
        // Work of unknown length or load is like no other.
        if osl[k].is_none() || (p.batch.is_none() && p.request_rate.is_none()) {
            continue;
        }
        let model = p.model_id.as_ref().unwrap_or(&p.cell.model).to_lowercase();
        // Machines that nothing names are one within a campaign only.
        let machine = (p.machine.clone().ok_or_else(|| p.cell.campaign.clone()), p.devices.to_bits());
        found.entry((model, machine, isl[k], osl[k], bits(p.batch), bits(p.request_rate))).or_default().push(spot);
    }
    let mut taken = BTreeSet::new();
    found
        .into_values()
        .filter(|spots| {
            let names: BTreeSet<String> =
                spots.iter().filter_map(|s| s.place.engine.as_ref()).map(|name| name.to_lowercase()).collect();
            names.len() >= 2
        })
        .map(|spots| table(spots, &mut taken, round))
        .collect()
}

fn table(mut spots: Vec<&PlacedCell<'_, '_>>, taken: &mut BTreeSet<String>, round: &Round<'_>) -> EngineTable {
    let settings = round.settings;
    // First the environment that most engines share, then most runs. So the others are compared with the best-known and most similar one.
    let shared: BTreeMap<String, usize> = spots.iter().fold(BTreeMap::new(), |mut seen, spot| {
        *seen.entry(spot.place.cell.environment.clone()).or_default() += 1;
        seen
    });
    spots.sort_by_key(|spot| {
        let place = &spot.place;
        let common = shared.get(&place.cell.environment).copied();
        (Reverse(common), Reverse(place.runs), place.engine.clone(), place.cell.clone())
    });
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let names = labels(
        &spots
            .iter()
            .map(|spot| {
                let p = &spot.place;
                let cell = &p.cell;
                let environment = Some(&cell.environment).filter(|e| p.engine.as_ref() != Some(e));
                vec![
                    text(&p.engine),
                    text(&p.engine_version),
                    text(&p.quantisation),
                    environment.cloned().unwrap_or_default(),
                    cell.campaign.clone(),
                    cell.workload.clone(),
                    cell.model.clone(),
                ]
            })
            .collect::<Vec<_>>(),
    );
    let first = &spots[0].place;
    let comparisons = compare_all(&spots, &names, round);
    let mean = |of: fn(&Place) -> Option<f64>| {
        let values: Vec<f64> = spots.iter().filter_map(|s| of(&s.place)).collect();
        (!values.is_empty()).then(|| sparkbench_stats::mean(&values).round())
    };
    let model = first.model_id.clone().unwrap_or_else(|| first.cell.model.clone());
    let (isl, osl) = (mean(|p| p.isl), mean(|p| p.osl));
    let shown = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v}"));
    let base = slug(&[
        &model,
        first.machine.as_deref().unwrap_or(""),
        &shown(isl),
        &shown(osl),
        &shown(first.batch),
        &shown(first.request_rate),
    ]);
    EngineTable {
        id: unique(taken, base),
        model,
        machine: first.machine.clone(),
        machine_title: first.machine_title.clone(),
        devices: first.devices,
        isl,
        osl,
        batch: first.batch,
        request_rate: first.request_rate,
        rows: spots.iter().zip(names).map(|(spot, label)| row(spot, label, settings)).collect(),
        comparisons,
    }
}

fn row(spot: &PlacedCell<'_, '_>, label: String, settings: &Settings) -> EngineRow {
    let p = &spot.place;
    let figure = |metric: &str| spot.figure(metric, settings);
    EngineRow {
        label,
        cell: p.cell.clone(),
        engine: p.engine.clone().unwrap_or_default(),
        engine_version: p.engine_version.clone(),
        quantisation: p.quantisation.clone(),
        runs: p.runs,
        output_tok_s: p.output_tok_s,
        ttft_ms: figure("ttft_ms"),
        tpot_ms: figure("tpot_ms"),
        e2e_latency_ms: figure("e2e_latency_ms"),
        peak_memory_gib: figure("peak_memory_gib"),
    }
}

/// Every other spot against the first, by the same rules as two environments of one campaign.
fn compare_all(spots: &[&PlacedCell<'_, '_>], names: &[String], round: &Round<'_>) -> Vec<Comparison> {
    let settings = round.settings;
    let Some((base, others)) = spots.split_first() else { return Vec::new() };
    let engine = |spot: &PlacedCell<'_, '_>| spot.place.engine.as_ref().map(|name| name.to_lowercase());
    let mut groups: Vec<Group> = Vec::new();
    let mut measured = Vec::new();
    // Another environment of the same engine is the question of its own campaign.
    for (other, name) in others.iter().zip(&names[1..]).filter(|(other, _)| engine(other) != engine(base)) {
        let mut runs: Vec<Run> = Vec::new();
        for (spot, label) in [(base, &names[0]), (other, name)] {
            runs.extend(spot.cell.runs.iter().map(|run| Run { environment: label.clone(), ..(*run).clone() }));
        }
        runs.sort_by_key(|run| (run.started.is_none(), run.started));
        let in_order: Vec<&Run> = runs.iter().collect();
        let order = order::of(base.cell.model, base.cell.workload, &in_order);
        for metric in METRICS.into_iter().filter_map(Metric::find) {
            let known = |spot: &PlacedCell<'_, '_>| !spot.cell.numbers(&metric.name).is_empty();
            // A metric that neither side has is no row. One that a single side has is marked.
            if !known(base) && !known(other) {
                continue;
            }
            let (a, b) = (arm(base, base, &names[0], &metric, round), arm(base, other, name, &metric, round));
            let layout = Layout::of(pairing::units(base.cell, &metric.name), pairing::units(other.cell, &metric.name));
            let pair = Pair {
                metric: &metric,
                a: &a,
                b: &b,
                order: &order,
                layout: &layout,
                pairs: None,
                margin_pct: pairing::margin_of(&metric, base.case.campaign, settings),
                primary: metric.name == METRICS[0],
                derived_from: None,
            };
            let mut comparison = round.measure(&pair);
            let mut obstacles = pairing::obstacles(&pair, base.cell, other.cell, &[], COMPARED);
            comparison.verdict.caveats = pairing::caveats(base.cell, other.cell, &metric, COMPARED);
            // An environment that no label says is no unknown engine: it qualifies the verdict.
            obstacles.retain(|obstacle| obstacle.code != Campaign::UNLABELLED);
            match environments(base, other) {
                EnvironmentMatch::Same => {}
                EnvironmentMatch::Differ(because) => {
                    let (code, trap) = (alike::SETTINGS.to_owned(), Some(alike::SETTINGS));
                    obstacles.push(Incomparability { code, trap, because });
                }
                EnvironmentMatch::Unknown(caveat) => comparison.verdict.caveats.push(caveat),
            }
            measured.push((comparison, obstacles));
            groups.extend([a, b]);
        }
    }
    family::adjust(&mut measured, Family::EachArm);
    measured.into_iter().map(|(c, obstacles)| finish::finish(c, obstacles, &groups, round)).collect()
}

/// Notes on the environments of two spots.
enum EnvironmentMatch {
    Same,
    Differ(String),
    Unknown(String),
}

/// Whether two engines ran in the same environment. In a campaign that compares engines the label of an arm is its engine, and its
/// environment is a setting like any other.
fn environments(a: &PlacedCell<'_, '_>, b: &PlacedCell<'_, '_>) -> EnvironmentMatch {
    let label = |spot: &PlacedCell<'_, '_>| {
        let by_engine = spot.case.campaign.compare_by.is_some();
        let own = spot.place.cell.environment.clone();
        (!by_engine && spot.place.engine.as_ref() != Some(&own)).then_some(own)
    };
    let (Some(left), Some(right)) = (label(a), label(b)) else { return EnvironmentMatch::Same };
    if left == Campaign::UNLABELLED || right == Campaign::UNLABELLED {
        return EnvironmentMatch::Unknown("environment not told".to_owned());
    }
    if left == right {
        EnvironmentMatch::Same
    } else {
        EnvironmentMatch::Differ(format!("the environment differs: {left} against {right}"))
    }
}

/// The group of a spot under the names of the first one, with the label of its row as its environment.
fn arm(base: &PlacedCell<'_, '_>, spot: &PlacedCell<'_, '_>, label: &str, metric: &Metric, round: &Round<'_>) -> Group {
    let values = spot.cell.values(&metric.name);
    let cell = CellValues {
        campaign: base.place.cell.campaign.clone(),
        model: base.place.cell.model.clone(),
        workload: base.place.cell.workload.clone(),
        environment: label.to_owned(),
        metric: metric.name.clone(),
        run_ids: values.iter().map(|(run, _)| run.id.clone()).collect(),
        values: values.iter().map(|(_, value)| *value).collect(),
    };
    let runs: Vec<&Run> = values.iter().map(|(run, _)| *run).collect();
    round.estimate(&cell, metric, &runs)
}
