//! The same rows read again under the model that really ran, where that is one model under several labels.
//!
//! In:  a case.  Out: comparisons of the pooled arms, judged like any other.
//! Not here: how it is known what ran (see the trap `model-mismatch`).

use super::case::Case;
use super::compare::{self, Pair};
use super::report::Comparison;
use super::trap::Derived;
use super::{CellValues, Settings, family, finish, group, order, pairing};
use crate::model::{Metric, Run};

/// Labels under which one model ran, sorted.
pub fn labels_of(case: &Case<'_>, launched: &str) -> Vec<String> {
    let mut labels: Vec<String> = case
        .cells
        .iter()
        .filter(|cell| launched_as(case, cell.model).as_deref() == Some(launched))
        .map(|cell| cell.model.to_owned())
        .collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// The model that really ran under a label, by the launch path or by the log; else the one that was asked for.
fn launched_as(case: &Case<'_>, label: &str) -> Option<String> {
    let known = case.campaign.models.get(label);
    known
        .and_then(|m| m.launched_id.clone())
        .or_else(|| case.runs.iter().filter(|r| r.model == label).find_map(|r| r.setup.model_served.clone()))
        .or_else(|| known.and_then(|m| m.id.clone()))
        .or_else(|| case.runs.iter().filter(|r| r.model == label).find_map(|r| r.setup.model_id.clone()))
}

/// The same rows under the model that really ran, where that is one model under several labels.
pub fn pool(case: &Case<'_>, derived: &[Derived], settings: &Settings) -> Vec<Comparison> {
    let mut served: Vec<String> = case.cells.iter().filter_map(|cell| launched_as(case, cell.model)).collect();
    served.sort_unstable();
    served.dedup();
    let mut comparisons = Vec::new();
    for model in served {
        let labels = labels_of(case, &model);
        if labels.len() < 2 {
            continue;
        }
        comparisons.extend(pool_one(case, &model, &labels, derived, settings));
    }
    comparisons
}

fn pool_one(
    case: &Case<'_>,
    model: &str,
    labels: &[String],
    derived: &[Derived],
    settings: &Settings,
) -> Vec<Comparison> {
    let Some(baseline) = case.baseline else { return Vec::new() };
    let mut environments: Vec<&str> = case.cells.iter().map(|c| c.environment).filter(|e| *e != baseline).collect();
    environments.sort_unstable();
    environments.dedup();
    let mut comparisons = Vec::new();
    let mut groups = Vec::new();
    for candidate in environments {
        let runs: Vec<&Run> = case
            .runs
            .iter()
            .filter(|r| labels.contains(&r.model) && (r.environment == baseline || r.environment == candidate))
            .copied()
            .collect();
        let order = order::of(model, "pooled", &runs);
        for name in &case.primary {
            let Some(metric) = Metric::find(name) else { continue };
            let arm = |environment: &str| {
                let of_arm: Vec<&Run> = runs.iter().filter(|r| r.environment == environment).copied().collect();
                let cell = CellValues {
                    campaign: case.campaign.name.clone(),
                    model: model.to_owned(),
                    workload: "pooled".to_owned(),
                    environment: environment.to_owned(),
                    metric: name.clone(),
                    run_ids: of_arm.iter().map(|r| r.id.clone()).collect(),
                    values: of_arm.iter().map(|r| r.reading(name).map_or(f64::NAN, |v| v.value)).collect(),
                };
                group::describe(&cell, &metric, &of_arm, settings)
            };
            let (a, b) = (arm(baseline), arm(candidate));
            let pair = Pair {
                metric: &metric,
                a: &a,
                b: &b,
                order: &order,
                pairs: None,
                margin_pct: pairing::margin_of(&metric, case.campaign, settings),
                primary: true,
                derived_from: derived
                    .iter()
                    .find(|d| d.column == *name)
                    .and_then(|d| d.from.first())
                    .map(String::as_str),
            };
            comparisons.push((compare::measure(&pair, settings), Vec::new()));
            groups.extend([a, b]);
        }
    }
    family::adjust(&mut comparisons);
    comparisons.into_iter().map(|(c, obstacles)| finish::finish(c, obstacles, &groups, settings)).collect()
}
