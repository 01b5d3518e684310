//! Runs on a machine that did something else.
//!
//! In:  the state of the machine that our own archives hold before and after each run.  Out: one finding a cell.
//! Not here: how it is read (see `run::state`).

use super::finding::{or_missing, place, seen};
use super::sides::state;
use super::{Finding, Trap};
use crate::model::Run;
use crate::verdict::case::Case;
use crate::verdict::number::{count, significant};
use crate::verdict::report::{Severity, Subject};

/// Load average before a run above which the machine was not idle: two processes that run all the time.
pub const LIMIT: f64 = 2.0;

/// The host was busy.
pub struct HostLoad;

impl Trap for HostLoad {
    fn id(&self) -> &'static str {
        "host-load"
    }
    fn title(&self) -> &'static str {
        "The machine was busy before the run"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn about(&self) -> String {
        format!(
            "The scheduler of an engine is one thread of the host: when another program takes its processor, tokens come late although the GPU is free, and power and clocks are shared as well. The check looks at the load average of the last minute before each \
             run, before the run itself could add to it, and fires above {LIMIT}. What the run before left behind is still in that figure, which is one more reason for a pause. To avoid the trap, measure on an idle machine, and let the pre-flight wait until it is."
        )
    }
    fn undermines(&self) -> &'static str {
        "that the machine did nothing else"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let findings = case
            .cells
            .iter()
            .map(|cell| {
                let subject = Subject::cell(case, cell);
                let place = format!("{} in {}", place(case, cell.model, cell.workload), cell.environment);
                let known: Vec<(&Run, f64)> =
                    cell.runs.iter().filter_map(|run| Some((*run, state(run, "load_1m", "before")?))).collect();
                if known.is_empty() {
                    return Finding::not_evaluated(subject, format!("{place}: no load average"));
                }
                let over: Vec<(&Run, f64)> = known.iter().filter(|(_, value)| *value > LIMIT).copied().collect();
                if over.is_empty() {
                    return Finding::passed(
                        subject,
                        format!("{place}: a load of at most {LIMIT} before the run in {}", count(known.len(), "run")),
                    );
                }
                Finding::fired(
                    subject,
                    format!(
                        "{place}: a load above {LIMIT} before the run in {} of {}",
                        over.len(),
                        count(known.len(), "run")
                    ),
                )
                .evidence(
                    over.iter().map(|(run, value)| {
                        seen(run, format!("{} load average over one minute", significant(*value, 3)))
                    }),
                )
                .remedy("wait until the machine is idle before every run")
            })
            .collect();
        or_missing(findings, case, "the campaign has no runs")
    }
}
