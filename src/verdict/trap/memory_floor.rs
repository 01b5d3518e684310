//! Runs that began with next to no memory left.
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

/// Less memory available before a run than this leaves none for the run, GiB.
pub const LIMIT_GIB: f64 = 4.0;

/// Memory was short.
pub struct MemoryFloor;

impl Trap for MemoryFloor {
    fn id(&self) -> &'static str {
        "memory-floor"
    }
    fn title(&self) -> &'static str {
        "Memory was short before the run"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn about(&self) -> String {
        format!(
            "A run that begins with hardly any memory available shares it with whatever was left over: the engine gets a smaller cache, the kernel reclaims pages while requests are timed, and at worst the run is ended from outside. The check looks at the memory \
             available before each run and fires below {LIMIT_GIB} GiB. To avoid the trap, end every process of the run before, wait until its memory is back, and let the pre-flight refuse to start without it."
        )
    }
    fn undermines(&self) -> &'static str {
        "figures of runs that began without memory"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let findings = case
            .cells
            .iter()
            .map(|cell| {
                let subject = Subject::cell(case, cell);
                let place = format!("{} in {}", place(case, cell.model, cell.workload), cell.environment);
                let known: Vec<(&Run, f64)> = cell
                    .runs
                    .iter()
                    .filter_map(|run| Some((*run, state(run, "memory_available", "before")?)))
                    .collect();
                if known.is_empty() {
                    return Finding::not_evaluated(subject, format!("{place}: no figure of the memory available"));
                }
                let over: Vec<(&Run, f64)> = known.iter().filter(|(_, value)| *value < LIMIT_GIB).copied().collect();
                if over.is_empty() {
                    return Finding::passed(
                        subject,
                        format!(
                            "{place}: at least {LIMIT_GIB} GiB available before the run in {}",
                            count(known.len(), "run")
                        ),
                    );
                }
                Finding::fired(
                    subject,
                    format!(
                        "{place}: less than {LIMIT_GIB} GiB available before the run in {} of {}",
                        over.len(),
                        count(known.len(), "run")
                    ),
                )
                .evidence(
                    over.iter().map(|(run, value)| seen(run, format!("{} GiB available", significant(*value, 3)))),
                )
                .remedy("end what is left of the run before and wait until its memory is back")
            })
            .collect();
        or_missing(findings, case, "the campaign has no runs")
    }
}
