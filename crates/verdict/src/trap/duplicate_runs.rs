//! One run that is counted twice (P12).
//!
//! In:  figures, start times and repeat labels.  Out: findings about copied rows, and about labels of each cell.
//! Not here: how many runs there should be (see `run_count`).

use std::collections::BTreeMap;

use super::declaration::{Theme, Trap};
use super::finding::{Finding, cell_place, seen};
use crate::case::{Case, Cell};
use crate::number::{count, list};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::{Instant, Run};

/// Equal rows are copies only when they agree in this many significant digits in all: fewer happen by chance.
pub(super) const DIGITS: usize = 8;

pub(super) struct DuplicateRuns;

impl Trap for DuplicateRuns {
    fn id(&self) -> &'static str {
        "duplicate-runs"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P12")
    }
    fn title(&self) -> &'static str {
        "A run that appears twice"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        format!(
            "One run is counted twice.\n\n\
             A row may be copied, merged twice or read from two files. The sample then looks larger and steadier than it is.\n\n\
             The check looks for three signs. Two runs of different launches agree in every figure, over at least {DIGITS} \
             significant digits of columns that vary. Two such runs also have the same start time. One repeat number stands twice \
             in a cell, so somebody started a run again and kept both. Runs of one launch rightly share their start time and do not \
             count against each other.\n\n\
             Give every run an id when it starts. Keep aborted attempts under their own number. Decide beforehand which attempts \
             count."
        )
    }
    fn undermines(&self) -> &'static str {
        "that every row is a run of its own"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        if case.runs.is_empty() {
            return vec![Finding::not_evaluated(Subject::of(case), "the campaign has no runs")];
        }
        let mut findings = vec![rows(case)];
        let labels: Vec<Finding> = case.cells.iter().filter_map(|cell| labels(case, cell)).collect();
        if findings[0].status == crate::report::TrapStatus::Passed && !labels.is_empty() {
            // One subject, one answer: the labels represent their cells, and the rows are listed there.
            let said = findings.remove(0).message;
            return labels.into_iter().map(|f| f.evidence([Evidence::text(said.clone())])).collect();
        }
        findings.extend(labels);
        findings
    }
}

fn rows(case: &Case<'_>) -> Finding {
    let subject = Subject::of(case);
    let apart = |a: &Run, b: &Run| a.together.is_none() || a.together != b.together;
    let mut evidence = Vec::new();
    let mut by_figures: BTreeMap<Vec<(&str, u64)>, Vec<&Run>> = BTreeMap::new();
    let varying = varying(case);
    for run in &case.runs {
        if let Some(figures) = fingerprint(run, &varying) {
            by_figures.entry(figures).or_default().push(run);
        }
    }
    let looked = !by_figures.is_empty();
    for twins in by_figures.values().filter(|twins| twins.len() > 1) {
        if let [first, rest @ ..] = twins.as_slice() {
            evidence.extend(
                rest.iter()
                    .filter(|run| apart(first, run))
                    .map(|run| seen(run, format!("every figure as in {}", first.id))),
            );
        }
    }
    let mut by_start: BTreeMap<Instant, Vec<&Run>> = BTreeMap::new();
    for run in &case.runs {
        if let Some(start) = run.started {
            by_start.entry(start).or_default().push(run);
        }
    }
    for (start, twins) in by_start.iter().filter(|(_, twins)| twins.len() > 1) {
        if let [first, rest @ ..] = twins.as_slice() {
            evidence.extend(
                rest.iter()
                    .filter(|run| apart(first, run))
                    .map(|run| seen(run, format!("started at {}, as {}", start.iso(), first.id))),
            );
        }
    }
    if !looked && by_start.is_empty() {
        return Finding::not_evaluated(
            subject,
            format!("no start times, and no row of varying figures with {DIGITS} significant digits in all"),
        );
    }
    if evidence.is_empty() {
        return Finding::passed(
            subject,
            format!(
                "no two of {} from different launches share all figures or a start time",
                count(case.runs.len(), "run")
            ),
        );
    }
    Finding::fired(
        subject,
        format!("{} of {} repeat another run's figures or start time", evidence.len(), count(case.runs.len(), "run")),
    )
    .evidence(evidence)
    .remedy("keep one of each pair, and find out which file or merge brought the other")
}

/// Metrics that differ between runs. A constant says nothing about who is whose copy.
fn varying<'a>(case: &Case<'a>) -> Vec<&'a str> {
    let mut metrics = case.metrics();
    metrics.retain(|metric| {
        let mut values = case.runs.iter().filter_map(|run| run.value(metric));
        values.next().is_some_and(|first| values.any(|other| other != first))
    });
    metrics
}

/// All varying figures of a run, or nothing where they are too coarse to distinguish runs.
fn fingerprint<'a>(run: &Run, varying: &[&'a str]) -> Option<Vec<(&'a str, u64)>> {
    let figures: Vec<(&str, f64)> = varying.iter().filter_map(|metric| Some((*metric, run.value(metric)?))).collect();
    let digits: usize = figures.iter().map(|(_, value)| significant_digits(*value)).sum();
    (digits >= DIGITS).then(|| figures.into_iter().map(|(metric, value)| (metric, value.to_bits())).collect())
}

fn significant_digits(value: f64) -> usize {
    let text = format!("{:e}", value.abs());
    text.split('e').next().map_or(0, |mantissa| mantissa.bytes().filter(u8::is_ascii_digit).count())
}

fn labels(case: &Case<'_>, cell: &Cell<'_>) -> Option<Finding> {
    let mut by_label: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
    for run in &cell.runs {
        if let Some(repeat) = run.repeat {
            by_label.entry(repeat).or_default().push(run);
        }
    }
    by_label.retain(|_, runs| runs.len() > 1);
    if by_label.is_empty() {
        return None;
    }
    let said: Vec<String> =
        by_label.iter().map(|(label, runs)| format!("{} runs called repeat {label}", runs.len())).collect();
    let message = format!("{} has {}", cell_place(case, cell), list(&said));
    let evidence = by_label.iter().flat_map(|(label, runs)| {
        runs.iter().map(move |run| {
            let when = run.started.map_or_else(|| "at an unknown time".to_owned(), |t| format!("at {}", t.iso()));
            seen(run, format!("labelled repeat {label}, started {when}"))
        })
    });
    Some(
        Finding::fired(Subject::cell(case, cell), message).evidence(evidence).remedy(
            "say which attempts were meant to count and why the others were made. Results here use all of them",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_counted_without_leading_and_trailing_zeros() {
        for (value, expected) in [(119.1443, 7), (0.9308, 4), (40.0, 1), (0.0, 1)] {
            assert_eq!(significant_digits(value), expected, "{value}");
        }
    }
}
