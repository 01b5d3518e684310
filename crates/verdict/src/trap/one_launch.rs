//! Runs of an arm that share one start of the engine.
//!
//! In:  the launches of the runs of each cell.  Out: one finding for each question.
//! Not here: the mean over runs of one launch (see `strata`), the number of runs (see `small_n`).

use std::collections::BTreeSet;

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place};
use crate::case::{Case, Cell};
use crate::number::{count, list};
use crate::report::{Evidence, Severity, Subject};

/// One start of the engine.
pub(super) struct OneLaunch;

impl Trap for OneLaunch {
    fn id(&self) -> &'static str {
        "one-launch"
    }
    fn title(&self) -> &'static str {
        "All runs within one launch"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        "All runs of an arm were measured on one start of the engine.\n\n\
         An engine decides much when it starts: which kernels it takes, where its memory lies, how it is bound to cores. Runs on \
         one start share all of that and agree more closely than runs on several. Their interval says how well this start was \
         measured. It does not say how the next start will do. A difference between two arms may then be one between two starts.\n\n\
         The check counts the launches that the runs of each arm name. It fires where an arm of at least two runs has one launch. \
         It cannot look where an archive does not say which launch a run belongs to.\n\n\
         Start the engine anew several times and measure each start. A suite does so, because each of its runs starts what it \
         measures."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "what another start of the engine would show"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

/// The launches of a cell. Absent where a run does not say its own.
fn launches(cell: &Cell<'_>) -> Option<BTreeSet<u32>> {
    cell.runs.iter().map(|run| run.launch).collect()
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let arms = case.arms(model, workload);
    let known: Vec<(&Cell<'_>, BTreeSet<u32>)> = arms
        .iter()
        .copied()
        .filter(|cell| cell.runs.len() > 1)
        .filter_map(|cell| Some((cell, launches(cell)?)))
        .collect();
    let rows = known.iter().map(|(cell, launches)| {
        let (runs, launches) = (count(cell.runs.len(), "run"), counted(launches.len()));
        Evidence::text(format!("{}: {runs}, {launches}", cell.environment))
    });
    let alone: Vec<&str> =
        known.iter().filter(|(_, launches)| launches.len() == 1).map(|(cell, _)| cell.environment).collect();
    if known.is_empty() {
        let why = if arms.iter().all(|cell| cell.runs.len() < 2) {
            "no arm has two runs"
        } else {
            "restarts of the engine are not recorded"
        };
        return Finding::not_evaluated(subject, format!("{place}: {why}"));
    }
    if alone.is_empty() {
        return Finding::passed(subject, format!("{place}: each arm was measured on several starts of the engine"))
            .evidence(rows);
    }
    Finding::fired(
        subject,
        format!(
            "{place}: {} within one launch, so its interval says nothing of another start of the engine",
            list(&alone)
        ),
    )
    .evidence(rows)
    .remedy("start the engine anew several times, at best in turns with the other arms, and measure each start")
}

fn counted(launches: usize) -> String {
    if launches == 1 { "1 launch".to_owned() } else { format!("{launches} launches") }
}
