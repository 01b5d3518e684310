//! The first run after a change of environment or model is often unlike the others.
//!
//! In:  values in order of time over the whole campaign.  Out: one finding for each cell and metric, else one for each question.
//! Not here: outliers in general (see `stats::outlier`).

use super::declaration::{Theme, Trap};
use super::finding::{CellCheck, Finding, by_question, cell_place, named, read, unit};
use crate::case::{Case, Cell};
use crate::number::{count, significant};
use crate::report::{Severity, Subject};
use sparkbench_model::Run;
use sparkbench_stats::{self as stats, outlier::FENCE};

/// Fewest other runs of an arm from which fences are drawn.
pub(super) const MIN_OTHERS: usize = 4;

/// A first run this close to the median of the others gets a note and no warning, per cent of that median.
pub(super) const SLIGHT_PCT: f64 = 1.0;

pub(super) struct FirstRunEffect;

impl Trap for FirstRunEffect {
    fn id(&self) -> &'static str {
        "first-run-effect"
    }
    fn title(&self) -> &'static str {
        "The first run is unlike the others"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Order
    }
    fn about(&self) -> String {
        format!(
            "The first run after a change lies far from the others.\n\n\
             The first run finds files that are not cached, kernels that are not compiled and a cold chip. Sometimes it is the \
             other way round, and memory is full of what ran before.\n\n\
             The check takes each first run after a change of environment or model. It fires when the run lies beyond Tukey's \
             fences around that arm's other runs: {FENCE} interquartile ranges outside their quartiles. At least {MIN_OTHERS} \
             others are needed. Where environments alternate every run follows a change, so only the first run of each arm is \
             checked. A run within {SLIGHT_PCT} % of the others' median is a note only. The run stays in all results.\n\n\
             Plan one warm-up run after each change and discard it. Restore the same cache state before every run."
        )
    }
    fn undermines(&self) -> &'static str {
        "that the first runs are like the others"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        by_question(
            case,
            "no first run after a change lies outside the fences around the other runs of its arm",
            |cell, metric| look(case, cell, metric),
        )
    }
}

/// Ids of the runs of a cell that follow a change. Only its very first where most of them do.
fn firsts<'a>(case: &Case<'a>, cell: &Cell<'a>) -> Vec<&'a Run> {
    // Workloads of one launch follow each other by plan: the sequence is that of this workload alone.
    let sequence: Vec<&Run> = case.runs.iter().copied().filter(|run| run.workload == cell.workload).collect();
    let mut before: Option<&Run> = None;
    let mut firsts = Vec::new();
    for run in sequence {
        let changed = before.is_none_or(|b| b.environment != run.environment || b.model != run.model);
        if changed && run.environment == cell.environment && run.model == cell.model {
            firsts.push(run);
        }
        before = Some(run);
    }
    if 2 * firsts.len() > cell.runs.len() {
        firsts.truncate(1);
    }
    firsts
}

fn look(case: &Case<'_>, cell: &Cell<'_>, metric: &str) -> CellCheck {
    if cell.runs.iter().any(|run| run.started.is_none()) {
        return CellCheck::NotEvaluable("runs without a start time".to_owned());
    }
    let values = cell.values(metric);
    let firsts = firsts(case, cell);
    let is_first = |run: &Run| firsts.iter().any(|first| first.id == run.id);
    let others: Vec<f64> = values.iter().filter(|(run, _)| !is_first(run)).map(|(_, v)| *v).collect();
    let looked: Vec<&(&Run, f64)> = values.iter().filter(|(run, _)| is_first(run)).collect();
    if others.len() < MIN_OTHERS || looked.is_empty() {
        return CellCheck::NotEvaluable(format!(
            "{}, {MIN_OTHERS} besides the first are needed",
            count(values.len(), "value")
        ));
    }
    let others = stats::sorted(&others);
    let Some((low, high)) = stats::outlier::fences(&others) else {
        return CellCheck::NotEvaluable("no fences".to_owned());
    };
    let unit = unit(metric);
    let outside: Vec<&&(&Run, f64)> = looked.iter().filter(|(_, v)| *v < low || *v > high).collect();
    let Some((_, value)) = outside.first().map(|hit| **hit) else {
        return CellCheck::Clean(format!(
            "first {}{unit}, within the fences {} to {}{unit}",
            significant(looked[0].1, 5),
            significant(low, 5),
            significant(high, 5)
        ));
    };
    let message = format!(
        "{} of {}: the first run gives {}{unit}, outside the fences around the other {}, {} to {}{unit}",
        named(metric),
        cell_place(case, cell),
        significant(*value, 5),
        count(others.len(), "run"),
        significant(low, 5),
        significant(high, 5)
    );
    let median = stats::quantile_sorted(&others, 0.5);
    let slight = outside.iter().all(|(_, v)| (v - median).abs() <= SLIGHT_PCT / 100.0 * median.abs());
    let finding = Finding::fired(Subject::cell(case, cell).with_metric(metric), message)
        .evidence(
            outside.iter().map(|(run, v)| {
                read(run, metric, format!("{}{unit} in the first run after a change", significant(*v, 6)))
            }),
        )
        .remedy(
            "plan a warm-up run after each change of the environment and leave it out by plan. These results still hold the first runs",
        );
    CellCheck::There(if slight { finding.severity(Severity::Note) } else { finding })
}
