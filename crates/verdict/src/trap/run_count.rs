//! The number of runs must be the planned one (P13).
//!
//! In:  runs of each cell, the planned number.  Out: one finding for each cell that differs, else one for each campaign.
//! Not here: which run is one too many (see `duplicate_runs`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, cell_place};
use crate::case::Case;
use crate::number::count;
use crate::report::{Evidence, Severity, Subject};

/// Runs found differ from runs planned.
pub(super) struct RunCount;

impl Trap for RunCount {
    fn id(&self) -> &'static str {
        "run-count"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P13")
    }
    fn title(&self) -> &'static str {
        "More or fewer runs than planned"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        "There are more or fewer runs than planned.\n\n\
         Somebody may add runs until a figure looks right, or leave out those that look wrong. Every interval is then too \
         short. The only protection is a number of runs that was fixed beforehand.\n\n\
         The check compares the runs of each cell with the planned number of repeats, failed runs included. It fires when they \
         differ in either direction. Without a plan it cannot judge, and gives the counts it found.\n\n\
         Write the number of repeats into the plan before the first run, and let the collector stop there. Archive aborted \
         attempts as such."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "that the number of runs was fixed before the first one"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let subject = Subject::of(case);
        let found: Vec<Evidence> = case
            .cells
            .iter()
            .map(|cell| Evidence::text(format!("{}: {}", cell_place(case, cell), count(cell.runs.len(), "run"))))
            .collect();
        let Some(planned) = case.planned_repeats().map(|n| n as usize) else {
            return vec![Finding::not_evaluated(subject, "no planned number of repeats is stated").evidence(found)];
        };
        if case.cells.is_empty() {
            return vec![Finding::not_evaluated(subject, "the campaign has no runs")];
        }
        let off: Vec<Finding> = case
            .cells
            .iter()
            .filter(|cell| cell.runs.len() != planned)
            .map(|cell| {
                let n = cell.runs.len();
                let kind = if n > planned { "The means use all of them" } else { "The rest is not in the archive" };
                let message =
                    format!("{} has {} where {planned} were planned. {kind}", cell_place(case, cell), count(n, "run"));
                Finding::fired(Subject::cell(case, cell), message)
                    .evidence(cell.runs.iter().map(|run| {
                        let when = run.started.map_or_else(|| "at an unknown time".to_owned(), |t| t.iso());
                        Evidence::run(format!("started {when}"), run.id.clone())
                    }))
                    .remedy("say why the number differs, and judge with and without the runs in question")
            })
            .collect();
        if off.is_empty() {
            return vec![
                Finding::passed(subject, format!("every cell has the planned {}", count(planned, "run")))
                    .evidence(found),
            ];
        }
        off
    }
}
