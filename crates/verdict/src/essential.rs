//! The five figures that every comparison carries, each with its count and interval, or with the reason why it is empty.
//!
//! In:  a campaign laid out, and its groups.  Out: [`Essential`] rows by model, workload and environment.
//! Not here: verdicts.

use super::case::{Case, Cell};
use super::report::{Essential, EssentialCell, Group, Interval};
use sparkbench_model::Metric;

/// Decode throughput, time per output token, model memory, KV cache and its capacity, in the order of the table.
pub(crate) const ESSENTIALS: &[&str] =
    &["decode_tok_s", "tpot_ms", "model_memory_gib", "kv_cache_gib", "kv_cache_tokens"];

/// The rows of one campaign.
pub(crate) fn rows(case: &Case<'_>, groups: &[Group]) -> Vec<Essential> {
    let mut rows = Vec::new();
    for (model, workload) in case.questions() {
        let arms = case.arms(model, workload);
        let mut environments: Vec<&str> = case.cells.iter().map(|cell| cell.environment).collect();
        environments.sort_by_key(|name| (Some(*name) != case.baseline, *name));
        environments.dedup();
        for environment in environments {
            let cell = arms.iter().find(|cell| cell.environment == environment).copied();
            let cells =
                ESSENTIALS.iter().map(|metric| figure(case, cell, (model, workload, environment), metric, groups));
            rows.push(Essential {
                model: model.to_owned(),
                workload: workload.to_owned(),
                environment: environment.to_owned(),
                cells: cells.collect(),
            });
        }
    }
    rows
}

pub(super) fn figure(
    case: &Case<'_>,
    cell: Option<&Cell<'_>>,
    (model, workload, environment): (&str, &str, &str),
    metric: &str,
    groups: &[Group],
) -> EssentialCell {
    let known = Metric::find(metric);
    let group = groups.iter().find(|g| {
        g.campaign == case.campaign.name
            && g.model == model
            && g.workload == workload
            && g.environment == environment
            && g.metric == metric
            && g.n > 0
    });
    let label = known.as_ref().map_or_else(|| metric.to_owned(), |m| m.label.clone());
    let unit = known.map_or("", |m| m.unit);
    EssentialCell {
        metric: metric.to_owned(),
        label,
        unit,
        n: group.map_or(0, |g| g.n),
        mean: group.and_then(|g| g.mean),
        interval: group.and_then(|g| g.t_interval.map(|i| Interval::new(i.low, i.high))),
        empty: group.is_none().then(|| why(case, cell, metric)),
    }
}

/// Why there is no figure: four different things that an empty cell could mean.
fn why(case: &Case<'_>, cell: Option<&Cell<'_>>, metric: &str) -> String {
    let Some(cell) = cell else { return "not run".to_owned() };
    let failed = cell.runs.iter().filter(|run| run.has_failed()).count();
    if failed == cell.runs.len() {
        return "every run failed".to_owned();
    }
    if cell.runs.iter().any(|run| run.reading(metric).is_some()) {
        return "reported without a value".to_owned();
    }
    let planned = &case.campaign.planned_metrics;
    if !planned.is_empty() && !planned.iter().any(|name| name == metric) {
        return "not planned".to_owned();
    }
    let promised = planned.iter().any(|name| name == metric);
    let failures = if failed > 0 { format!("; {failed} of {} runs failed", cell.runs.len()) } else { String::new() };
    format!("{}{failures}", if promised { "planned and not reported" } else { "not reported" })
}
