//! The order in which the arms were run, and its effect on a verdict.
//!
//! In:  runs of the arms of one question.  Out: [`OrderReport`], the pairs that an interleaved design offers, the drift allowance.
//! Not here: formulas (see `stats::order`).

use super::distinct::distinct;
use super::report::{Group, Interval, OrderReport, PairRow, PairsReport};
use sparkbench_model::Run;
use sparkbench_stats as stats;

/// Order of the runs of one question. `runs` in order of time, of any number of environments.
pub(crate) fn of(model: &str, workload: &str, runs: &[&Run]) -> OrderReport {
    let sequence: Vec<String> = runs.iter().map(|run| run.environment.clone()).collect();
    let mut report = OrderReport {
        model: model.to_owned(),
        workload: workload.to_owned(),
        kind: "unknown".to_owned(),
        stretches: 0,
        balanced_share: None,
        p_too_few: None,
        sequence,
    };
    if runs.is_empty() || runs.iter().any(|run| run.started.is_none()) {
        return report;
    }
    let names: Vec<&str> = distinct(report.sequence.iter().map(String::as_str));
    let labels: Vec<usize> =
        report.sequence.iter().map(|name| names.iter().position(|n| n == name).unwrap_or(0)).collect();
    if let Some(found) = stats::order(&labels) {
        report.kind = found.kind.word().to_owned();
        report.stretches = found.runs;
        report.balanced_share = found.balanced_share;
        report.p_too_few = found.p_too_few;
    }
    report
}

/// Pairs of an interleaved design: the balanced windows of two in order of time.
/// A window in which either value is missing is no pair. Fewer than two are no design.
pub(crate) fn pairs(order: &OrderReport, runs: &[&Run], baseline: &str, metric: &str) -> Option<Vec<PairRow>> {
    if order.kind != "interleaved" {
        return None;
    }
    let labels: Vec<usize> = runs.iter().map(|run| usize::from(run.environment != baseline)).collect();
    let row = |(a, b): (usize, usize)| {
        let (a, b) = (runs.get(a)?, runs.get(b)?);
        let (from, to) = (a.value(metric)?, b.value(metric)?);
        Some(PairRow {
            // Two labels that differ name no block of both.
            block: a.block.filter(|block| b.block == Some(*block)),
            baseline_run: a.id.clone(),
            candidate_run: b.id.clone(),
            baseline: from,
            candidate: to,
            difference: to - from,
        })
    };
    let rows: Vec<PairRow> = stats::balanced_pairs(&labels, 0, 1).into_iter().filter_map(row).collect();
    (rows.len() >= 2).then_some(rows)
}

/// Pairs with what their differences say together.
pub(crate) fn about_pairs(rows: Vec<PairRow>, confidence: f64) -> PairsReport {
    let differences: Vec<f64> = rows.iter().map(|row| row.difference).collect();
    let t = stats::student::paired(&differences, confidence);
    PairsReport {
        above: differences.iter().filter(|d| **d > 0.0).count(),
        below: differences.iter().filter(|d| **d < 0.0).count(),
        equal: differences.iter().filter(|d| **d == 0.0).count(),
        mean_difference: (!differences.is_empty()).then(|| stats::mean(&differences)),
        interval: t.map(|t| Interval::new(t.diff_lo, t.diff_hi)),
        rows,
    }
}

/// The part of a difference that time alone may explain, and in which arm. In per cent of the mean, or in the unit of the metric. `kind` is
/// that of [`OrderReport`].
///
/// Zero for an interleaved design, where drift falls on both arms alike.
pub(crate) fn drift_allowance(kind: &str, a: &Group, b: &Group, per_cent: bool) -> (f64, Option<String>) {
    if kind == "interleaved" || kind == "unknown" {
        return (0.0, None);
    }
    let mut most = (0.0, None);
    for arm in [a, b] {
        let significant = arm.drift.p.is_some_and(|p| p < stats::order::DRIFT_ALPHA);
        let size = if per_cent {
            arm.drift.drift_pct
        } else {
            arm.drift.sen_slope.map(|slope| slope * (arm.n.saturating_sub(1)) as f64)
        };
        if let (true, Some(size)) = (significant, size)
            && size.abs() > most.0
        {
            most = (size.abs(), Some(arm.environment.clone()));
        }
    }
    most
}
