//! Runs that used swap.
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

/// More swap in use than this is no leftover of the start of the machine, GiB.
pub const LIMIT_GIB: f64 = 0.25;

/// Swap was used.
pub struct SwapUsed;

impl Trap for SwapUsed {
    fn id(&self) -> &'static str {
        "swap-used"
    }
    fn title(&self) -> &'static str {
        "Swap was in use"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn about(&self) -> String {
        format!(
            "Memory that was swapped out comes back at the speed of a disk, a hundred times slower than memory, and the run that touches it waits for it; on a machine whose GPU shares the memory of the host, weights and KV cache push the rest \
             of the system out. The check looks at the swap in use before and after each run and fires above {LIMIT_GIB} GiB. To avoid the trap, turn swap off for the campaign, or leave the engine less memory."
        )
    }
    fn undermines(&self) -> &'static str {
        "figures of runs that may have waited for a disk"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let findings = case
            .cells
            .iter()
            .map(|cell| {
                let subject = Subject::cell(case, cell);
                let place = format!("{} in {}", place(case, cell.model, cell.workload), cell.environment);
                let known: Vec<(&Run, f64)> = cell.runs.iter().filter_map(|run| Some((*run, swap(run)?))).collect();
                if known.is_empty() {
                    return Finding::not_evaluated(subject, format!("{place}: no figure of swap"));
                }
                let over: Vec<(&Run, f64)> = known.iter().filter(|(_, value)| *value > LIMIT_GIB).copied().collect();
                if over.is_empty() {
                    return Finding::passed(
                        subject,
                        format!("{place}: at most {LIMIT_GIB} GiB of swap in {}", count(known.len(), "run")),
                    );
                }
                Finding::fired(
                    subject,
                    format!(
                        "{place}: more than {LIMIT_GIB} GiB of swap in {} of {}",
                        over.len(),
                        count(known.len(), "run")
                    ),
                )
                .evidence(
                    over.iter().map(|(run, value)| seen(run, format!("{} GiB of swap in use", significant(*value, 3)))),
                )
                .remedy("turn swap off, or leave the engine less memory")
            })
            .collect();
        or_missing(findings, case, "the campaign has no runs")
    }
}

fn swap(run: &Run) -> Option<f64> {
    let both = [state(run, "swap_used", "before"), state(run, "swap_used", "after")];
    both.into_iter().flatten().max_by(f64::total_cmp)
}
