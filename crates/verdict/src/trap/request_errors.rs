//! Runs in which requests failed.
//!
//! In:  counts of answered and failed requests.  Out: one finding for each cell.
//! Not here: runs that failed as a whole (see `failed_runs`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, cell_place, each_cell, seen};
use crate::case::{Case, Cell};
use crate::number::{count, significant};
use crate::report::{Severity, Subject};
use sparkbench_model::{Run, known_extra};

/// Share of failed requests above which a run's latencies are those of a selected sample, per cent.
pub(super) const LIMIT_PCT: f64 = 1.0;

/// Requests failed.
pub(super) struct RequestErrors;

impl Trap for RequestErrors {
    fn id(&self) -> &'static str {
        "request-errors"
    }
    fn title(&self) -> &'static str {
        "Requests failed"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        format!(
            "Some requests failed and left no latency.\n\n\
             Tools leave failed requests out of latency but keep their share of the wall time. A server that refuses a part of its \
             load therefore looks quick. Its throughput is that of fewer requests than were sent.\n\n\
             The check adds up the answered and failed requests that the files count, over the runs of each cell. It fires when \
             more than {LIMIT_PCT} % failed.\n\n\
             Let a run with errors fail, and look at the kinds of errors first. State goodput over all requests that were planned."
        )
    }
    fn undermines(&self) -> &'static str {
        "latencies that leave failed requests out"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_cell(case, look)
    }
}

/// Failed and all requests of a run, where its files say so.
fn counts(run: &Run) -> Option<(f64, f64)> {
    let sent = run.setup.requests;
    let answered = known_extra::number(run, known_extra::ANSWERED_REQUESTS);
    let failed = known_extra::number(run, known_extra::FAILED_REQUESTS)
        .or_else(|| Some(known_extra::number(run, known_extra::ERROR_RATE)? * sent?))
        .or_else(|| counts_prompts(run).then_some((sent? - answered?).max(0.0)))?;
    let all = answered.map_or(sent, |answered| Some(answered + failed)).or(sent)?;
    (all > 0.0).then_some((failed, all.max(failed)))
}

/// Tools whose number of requests is that of the prompts sent, and no upper limit of a load that ends by time.
fn counts_prompts(run: &Run) -> bool {
    run.setup.tool.as_deref().is_some_and(|tool| tool.starts_with("vllm-bench") || tool.starts_with("sglang"))
}

fn look(case: &Case<'_>, cell: &Cell<'_>) -> Finding {
    let subject = Subject::cell(case, cell);
    let place = cell_place(case, cell);
    let known: Vec<(&Run, f64, f64)> =
        cell.runs.iter().filter_map(|run| counts(run).map(|(failed, all)| (*run, failed, all))).collect();
    if known.is_empty() {
        return Finding::not_evaluated(subject, format!("{place}: no counts of failed requests"));
    }
    let (failed, all) = known.iter().fold((0.0, 0.0), |(f, a), (_, failed, all)| (f + failed, a + all));
    let share = 100.0 * failed / all;
    let message = format!(
        "{place}: {} of {} requests failed in {}",
        significant(failed, 6),
        significant(all, 6),
        count(known.len(), "run")
    );
    if share <= LIMIT_PCT {
        return Finding::passed(subject, message);
    }
    Finding::fired(subject, format!("{message}, {} %", significant(share, 2)))
        .evidence(
            known
                .iter()
                .filter(|(_, failed, _)| *failed > 0.0)
                .map(|(run, failed, all)| seen(run, format!("{failed} of {all} failed"))),
        )
        .remedy("find out why they failed before reading any latency of these runs")
}
