//! P14: a metric that was promised, or that other runs report, and is not there.
//!
//! In:  planned metrics, readings.  Out: one finding a metric with gaps, else one a campaign.
//! Not here: metrics that nobody promised and nobody reports.

use std::collections::BTreeSet;

use super::finding::named;
use super::{Finding, Trap};
use crate::model::Run;
use crate::verdict::case::Case;
use crate::verdict::number::count;
use crate::verdict::report::{Evidence, Severity, Subject};

/// A metric is missing.
pub struct MissingMetric;

impl Trap for MissingMetric {
    fn id(&self) -> &'static str {
        "missing-metric"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P14")
    }
    fn title(&self) -> &'static str {
        "A promised metric is missing"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn about(&self) -> String {
        "A column of nulls is easily read as \"no difference\", and a mean over those runs that happened to report is a mean over a selected sample. The check fires for each metric that \
         the campaign promises, or that some runs of a workload report, and that is null, NaN or absent in at least one run of it. It says in how many runs it is missing and in which \
         environments. To avoid the trap, let the collector fail a run whose log does not give every planned metric, while the machine is still at hand, and never fill a gap with 0 or -1."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "any statement about a metric that the runs do not report"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let subject = Subject::of(case);
        if case.runs.is_empty() {
            return vec![Finding::not_evaluated(subject, "the campaign has no runs")];
        }
        let promised: BTreeSet<&str> = case.campaign.planned_metrics.iter().map(String::as_str).collect();
        let metrics: BTreeSet<&str> = promised.iter().copied().chain(case.reported()).collect();
        if metrics.is_empty() {
            return vec![Finding::not_evaluated(subject, "no metric is promised and no run reports one")];
        }
        let gaps: Vec<Finding> =
            metrics.iter().filter_map(|metric| look(case, metric, promised.contains(metric))).collect();
        if gaps.is_empty() {
            let said = if promised.is_empty() { "; none is promised by the campaign" } else { "" };
            let message = format!("every run has a figure for each of {}{said}", count(metrics.len(), "metric"));
            return vec![Finding::passed(subject, message)];
        }
        gaps
    }
}

fn look(case: &Case<'_>, metric: &str, promised: bool) -> Option<Finding> {
    // A metric that a whole workload never speaks of is not planned there, unless the campaign promised it.
    let planned_in: BTreeSet<&str> = case
        .runs
        .iter()
        .filter(|run| promised || run.reading(metric).is_some())
        .map(|run| run.workload.as_str())
        .collect();
    let runs: Vec<&Run> = case.runs.iter().copied().filter(|run| planned_in.contains(run.workload.as_str())).collect();
    let without: Vec<&Run> = runs.iter().copied().filter(|run| run.value(metric).is_none()).collect();
    if without.is_empty() {
        return None;
    }
    let mut by_place: Vec<(&str, &str)> =
        without.iter().map(|run| (run.model.as_str(), run.environment.as_str())).collect();
    by_place.sort_unstable();
    by_place.dedup();
    let promise = if promised { "promised" } else { "reported by others" };
    let message =
        format!("{} is {promise} and missing in {} of {}", named(metric), without.len(), count(runs.len(), "run"));
    let rows = by_place.into_iter().map(|(model, environment)| {
        let n = |list: &[&Run]| list.iter().filter(|run| run.model == model && run.environment == environment).count();
        Evidence::text(format!("{model} in {environment}: missing in {} of {}", n(&without), count(n(&runs), "run")))
    });
    let advice = if without.len() == runs.len() {
        "no run has it: check that the collector reads it from the log, or take it off the plan and out of the conclusions"
    } else {
        "collect the missing runs again, or compare only cells that have it"
    };
    Some(Finding::fired(Subject::of(case).with_metric(metric), message).evidence(rows).remedy(advice))
}
