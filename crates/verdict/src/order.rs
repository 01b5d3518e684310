//! The order in which the arms were run.
//!
//! In:  runs of the arms of one question.  Out: [`OrderReport`], the pairs that a design offers.
//! Not here: formulas (see `stats::order`), the method (see `method`).

use super::distinct::distinct;
use super::method::{Design, Layout, WholeBlock};
use super::report::{Interval, OrderReport, PairRow, PairsReport};
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

/// Pairs of runs: those of whole blocks, else of an alternating order the balanced windows of two. A window in which either value is missing
/// is no pair. Fewer than two are no design.
pub(crate) fn pairs(
    layout: &Layout,
    order: &OrderReport,
    runs: &[&Run],
    baseline: &str,
    metric: &str,
) -> Option<Vec<PairRow>> {
    let rows: Vec<PairRow> = if layout.design == Design::InBlocks {
        let row = |block: &WholeBlock| {
            let ([a, b], from, to) = (&block.runs, stats::mean(&block.a), stats::mean(&block.b));
            PairRow {
                block: Some(block.number),
                baseline_run: a.clone(),
                candidate_run: b.clone(),
                baseline: from,
                candidate: to,
                difference: to - from,
            }
        };
        layout.blocks.iter().map(row).collect()
    } else if order.kind == "interleaved" {
        let labels: Vec<usize> = runs.iter().map(|run| usize::from(run.environment != baseline)).collect();
        let row = |(a, b): (usize, usize)| {
            let (a, b) = (runs.get(a)?, runs.get(b)?);
            let (from, to) = (a.value(metric)?, b.value(metric)?);
            Some(PairRow {
                block: None,
                baseline_run: a.id.clone(),
                candidate_run: b.id.clone(),
                baseline: from,
                candidate: to,
                difference: to - from,
            })
        };
        stats::balanced_pairs(&labels, 0, 1).into_iter().filter_map(row).collect()
    } else {
        return None;
    };
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
