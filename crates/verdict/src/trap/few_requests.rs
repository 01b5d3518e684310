//! Percentiles of fewer requests than they need.
//!
//! In:  requests of each run, percentiles that the runs report.  Out: one finding for each question.
//! Not here: percentiles over all runs (see `stats::hierarchical`).

use std::collections::BTreeMap;

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place};
use super::run_figures::answered_requests;
use crate::case::Case;
use crate::number::{count, list};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::{Metric, Run};
use sparkbench_stats::needed;

/// Percentiles far from the middle, and the share below them.
const TAILS: &[(&str, f64)] = &[("p90", 0.90), ("p95", 0.95), ("p99", 0.99)];

/// The percentile that a metric is by its name, where that lies far from the middle.
pub fn tail_of(metric: &str) -> Option<f64> {
    let ends = |tail: &str| metric.strip_suffix(tail).is_some_and(|rest| rest.ends_with('_'));
    TAILS.iter().find(|(tail, _)| ends(tail)).map(|(_, p)| *p)
}

pub(super) struct FewRequestsForPercentile;

impl Trap for FewRequestsForPercentile {
    fn id(&self) -> &'static str {
        "few-requests-for-percentile"
    }
    fn title(&self) -> &'static str {
        "Percentiles of too few requests"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        let needs: Vec<String> = TAILS.iter().map(|(name, p)| format!("{} for {name}", needed(*p))).collect();
        format!(
            "A percentile rests on too few requests.\n\n\
             A p99 of thirty requests is a number between the two slowest of them. A percentile can be trusted once five values lie \
             beyond it. For p of n values that is n(1-p) of at least 5.\n\n\
             The check counts the requests of each run. It fires when a run reports a percentile of fewer than it needs: {}. Such a \
             figure is shown without an interval, and no comparison is judged by it.\n\n\
             Send more requests in each run, or report a percentile that the number can carry.",
            list(&needs)
        )
    }
    fn undermines(&self) -> &'static str {
        "the tail percentiles of single runs"
    }
    fn is_general(&self) -> bool {
        // How many requests a percentile needs is arithmetic, whatever they took.
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

/// Requests behind a run's percentile of a metric: as listed, else those that were answered, else as stated. A request that failed or was
/// cut off has no latency.
fn requests(run: &Run, base: &str) -> Option<usize> {
    let listed =
        run.series.iter().find(|s| s.metric == base).map(|s| s.values.iter().filter(|v| v.is_finite()).count());
    listed.or_else(|| answered_requests(run).filter(|n| *n >= 0.0 && n.is_finite()).map(|n| n as usize))
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    // Least requests, runs below the need and runs in all, by percentile.
    let mut seen: BTreeMap<usize, (usize, usize, usize)> = BTreeMap::new();
    let mut reported = false;
    for run in case.runs_by_arm(model, workload) {
        for (i, (name, p)) in TAILS.iter().enumerate() {
            for reading in run.readings.iter().filter(|r| r.metric.ends_with(name)) {
                let Some(metric) = Metric::find(&reading.metric).filter(|m| m.base() != m.name) else { continue };
                reported = true;
                let Some(n) = requests(run, metric.base()) else { continue };
                let entry = seen.entry(i).or_insert((n, 0, 0));
                entry.0 = entry.0.min(n);
                entry.1 += usize::from(n < needed(*p));
                entry.2 += 1;
            }
        }
    }
    if seen.is_empty() {
        let missing =
            if reported { "the number of requests behind the percentiles" } else { "percentiles of requests" };
        return Finding::not_evaluated(subject, format!("{place}: missing {missing}"));
    }
    let short: Vec<(&str, f64, usize)> =
        seen.iter().filter(|(_, s)| s.1 > 0).map(|(i, s)| (TAILS[*i].0, TAILS[*i].1, s.0)).collect();
    let rows = seen.iter().map(|(i, (n, below, all))| {
        let (name, p) = TAILS[*i];
        Evidence::text(format!(
            "{name}: {} in the smallest run, {} needed. {below} of {all} figures rest on fewer",
            count(*n, "request"),
            needed(p)
        ))
    });
    if short.is_empty() {
        return Finding::passed(subject, format!("{place}: every reported percentile rests on enough requests"))
            .evidence(rows);
    }
    let said: Vec<String> = short.iter().map(|(name, p, _)| format!("{name} needs {}", needed(*p))).collect();
    let fewest = short.iter().map(|s| s.2).min().unwrap_or(0);
    Finding::fired(
        subject,
        format!("{place}: runs report percentiles of {}, where {}", count(fewest, "request"), list(&said)),
    )
    .evidence(rows)
    .remedy("send more requests in each run, or judge by a percentile that the number can carry")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{measured, reading};
    use sparkbench_model::{Extra, ExtraValue, Setup};

    #[test]
    fn a_request_without_an_answer_stands_behind_no_percentile() {
        let setup = Setup { requests: Some(100.0), ..Setup::default() };
        let mut run = measured("a", setup, &[("ttft_ms_p99", 5.0)]);
        assert_eq!(requests(&run, "ttft_ms"), Some(100));
        run.extras.push(Extra {
            name: "request_totals.successful".to_owned(),
            unit: String::new(),
            value: ExtraValue::Number(90.0),
            why: None,
            origin: reading("ttft_ms", 1.0).origin,
        });
        assert_eq!(requests(&run, "ttft_ms"), Some(90));
    }
}
