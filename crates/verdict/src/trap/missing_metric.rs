//! A metric is missing although it was promised or other runs report it (P14).
//!
//! In:  planned metrics, readings.  Out: one finding for each metric with gaps, else one for each campaign.
//! Not here: metrics that were neither promised nor reported.

use std::collections::BTreeSet;

use super::declaration::{Theme, Trap};
use super::finding::{Finding, named};
use crate::case::Case;
use crate::distinct::distinct;
use crate::number::count;
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::Run;

pub(super) struct MissingMetric;

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
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        "Some runs do not report a metric.\n\n\
         A column of nulls is easily read as \"no difference\". A mean over the runs that happened to report is a mean over a \
         selected sample.\n\n\
         The check looks at each metric that the campaign promises, or that some runs of a workload report. It fires when the \
         metric is null, NaN or absent in at least one run of the workload. The finding counts these runs. It names their \
         environments.\n\n\
         Let the collector fail a run whose log lacks a planned metric, while the machine is still at hand. Never fill a gap \
         with 0 or -1."
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
    // A metric that a whole workload never mentions is not planned there, unless the campaign promised it.
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
    let by_place: Vec<(&str, &str)> =
        distinct(without.iter().map(|run| (run.model.as_str(), run.environment.as_str())));
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
        "collect these runs again, or compare only cells that report the metric"
    };
    Some(Finding::fired(Subject::of(case).with_metric(metric), message).evidence(rows).remedy(advice))
}
