//! The rows of one model that ran under several labels, judged again as that model.
//!
//! In:  a case.  Out: comparisons of the pooled arms, judged like any other.
//! Not here: how it is known what ran (see the trap `model-mismatch`).

use rayon::prelude::*;

use super::case::{Case, Cell};
use super::columns::Derived;
use super::compare::Pair;
use super::distinct::distinct;
use super::family::{self, Family};
use super::memory::Round;
use super::method::Layout;
use super::report::{Comparison, Group, OrderReport};
use super::{CellValues, finish, order, pairing};
use sparkbench_model::{Metric, Run};

/// Labels under which one model ran, sorted.
pub(crate) fn labels_of(case: &Case<'_>, launched: &str) -> Vec<String> {
    distinct(
        case.cells
            .iter()
            .filter(|cell| launched_as(case, cell.model).as_deref() == Some(launched))
            .map(|cell| cell.model.to_owned()),
    )
}

/// The model that really ran under a label, by the launch path or by the log. Else the one that was asked for.
fn launched_as(case: &Case<'_>, label: &str) -> Option<String> {
    let known = case.campaign.models.get(label);
    known
        .and_then(|m| m.launched_id.clone())
        .or_else(|| case.runs.iter().filter(|r| r.model == label).find_map(|r| r.setup.model_served.clone()))
        .or_else(|| known.and_then(|m| m.id.clone()))
        .or_else(|| case.runs.iter().filter(|r| r.model == label).find_map(|r| r.setup.model_id.clone()))
}

/// The same rows under the model that really ran, where that is one model under several labels.
pub(super) fn pool(case: &Case<'_>, derived: &[Derived], round: &Round<'_>) -> Vec<Comparison> {
    let served: Vec<String> = distinct(case.cells.iter().filter_map(|cell| launched_as(case, cell.model)));
    let mut comparisons = Vec::new();
    for model in served {
        let labels = labels_of(case, &model);
        if labels.len() < 2 {
            continue;
        }
        comparisons.extend(pool_one(case, &model, &labels, derived, round));
    }
    comparisons
}

fn pool_one(
    case: &Case<'_>,
    model: &str,
    labels: &[String],
    derived: &[Derived],
    round: &Round<'_>,
) -> Vec<Comparison> {
    let settings = round.settings;
    let Some(baseline) = case.baseline else { return Vec::new() };
    let environments: Vec<&str> = distinct(case.cells.iter().map(|c| c.environment).filter(|e| *e != baseline));
    let sides: Vec<(&str, Vec<&Run>, OrderReport)> = environments
        .into_iter()
        .map(|candidate| {
            let is_ours =
                |r: &&&Run| labels.contains(&r.model) && (r.environment == baseline || r.environment == candidate);
            let runs: Vec<&Run> = case.runs.iter().filter(is_ours).copied().collect();
            let order = order::of(model, "pooled", &runs);
            (candidate, runs, order)
        })
        .collect();
    let primary: Vec<Metric> = case.primary.iter().filter_map(|name| Metric::find(name)).collect();
    let questions: Vec<_> = sides.iter().flat_map(|side| primary.iter().map(move |metric| (side, metric))).collect();
    // Whole environments are resampled here, a few questions in all.
    let measured: Vec<(Comparison, [Group; 2])> = questions
        .into_par_iter()
        .map(|((candidate, runs, order), metric)| {
            let arm = |environment: &str| {
                let of_arm: Vec<&Run> = runs.iter().filter(|r| r.environment == environment).copied().collect();
                let cell = CellValues {
                    campaign: case.campaign.name.clone(),
                    model: model.to_owned(),
                    workload: "pooled".to_owned(),
                    environment: environment.to_owned(),
                    metric: metric.name.clone(),
                    run_ids: of_arm.iter().map(|r| r.id.clone()).collect(),
                    values: of_arm.iter().map(|r| r.reading(&metric.name).map_or(f64::NAN, |v| v.value)).collect(),
                };
                round.estimate(&cell, metric, &of_arm)
            };
            let (a, b) = (arm(baseline), arm(candidate));
            let units = |environment: &str| {
                let of_arm = runs.iter().filter(|r| r.environment == environment).copied().collect();
                pairing::units(&Cell { model, workload: "pooled", environment, runs: of_arm }, &metric.name)
            };
            let layout = Layout::of(units(baseline), units(candidate));
            let pair = Pair {
                metric,
                a: &a,
                b: &b,
                order,
                layout: &layout,
                pairs: None,
                margin_pct: pairing::margin_of(metric, case.campaign, settings),
                primary: true,
                derived_from: derived
                    .iter()
                    .find(|d| d.column == metric.name)
                    .and_then(|d| d.from.first())
                    .map(String::as_str),
            };
            (round.measure(&pair), [a, b])
        })
        .collect();
    let (comparisons, groups): (Vec<Comparison>, Vec<[Group; 2]>) = measured.into_iter().unzip();
    let groups = groups.concat();
    let mut comparisons: Vec<_> = comparisons.into_iter().map(|c| (c, Vec::new())).collect();
    family::adjust(&mut comparisons, Family::EachArm);
    comparisons.into_par_iter().map(|(c, obstacles)| finish::finish(c, obstacles, &groups, round)).collect()
}
