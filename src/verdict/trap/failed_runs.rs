//! P11: runs that did not come to their end.
//!
//! In:  status and exit status of each run.  Out: one finding a cell with failures, else one a campaign.
//! Not here: runs that are not in the archive at all (see `run_count`).

use super::finding::seen;
use super::{Finding, Trap};
use crate::model::{Run, Status};
use crate::verdict::case::Case;
use crate::verdict::number::{count, list};
use crate::verdict::report::{Severity, Subject};

/// Failed or unrecorded ends.
pub struct FailedRuns;

impl Trap for FailedRuns {
    fn id(&self) -> &'static str {
        "failed-runs"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P11")
    }
    fn title(&self) -> &'static str {
        "A run failed, or its end is unrecorded"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn about(&self) -> String {
        "A run that crashed, timed out or was stopped may still leave a figure, measured over whatever it managed to do. The check fires when a run's exit status is not 0, \
         or is not recorded though other runs of the campaign record theirs. A failed run whose figures enter the means makes its cell invalid; one that left no figure is \
         a warning, because an environment in which runs fail is not equal to one in which they do not. Where no run records an exit status, nothing can be said. \
         To avoid it, archive failed runs as failed runs, with their logs: a file that lists only successes hides them."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "that the runs shown are all the runs that were made"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let subject = Subject::of(case);
        if case.runs.is_empty() {
            return vec![Finding::not_evaluated(subject, "the campaign has no runs")];
        }
        if !case.runs.iter().any(|run| recorded(run)) {
            return vec![Finding::not_evaluated(subject, "no run records an exit status")];
        }
        let findings: Vec<Finding> = case.cells.iter().filter_map(|cell| look(case, cell)).collect();
        if findings.is_empty() {
            let message = format!(
                "all {} ended with exit status 0; a failed run would have to be in the archive to be seen",
                count(case.runs.len(), "run")
            );
            return vec![Finding::passed(subject, message)];
        }
        findings
    }
}

fn recorded(run: &Run) -> bool {
    run.status != Status::Unrecorded || run.setup.exit_code.is_some()
}

/// How a run ended, when not well.
fn ill(run: &Run) -> Option<String> {
    match (&run.status, run.setup.exit_code) {
        (Status::Failed(how), _) => Some(format!("failed: {how}")),
        (_, Some(code)) if code != 0 => Some(format!("exit status {code}")),
        (Status::Unrecorded, None) => Some("exit status not recorded".to_owned()),
        _ => None,
    }
}

fn look(case: &Case<'_>, cell: &crate::verdict::case::Cell<'_>) -> Option<Finding> {
    let bad: Vec<(&Run, String)> = cell.runs.iter().filter_map(|run| Some((*run, ill(run)?))).collect();
    if bad.is_empty() {
        return None;
    }
    let counted = bad.iter().filter(|(run, _)| run.readings.iter().any(|r| r.value.is_finite())).count();
    let mut how: Vec<&str> = bad.iter().map(|(_, how)| how.as_str()).collect();
    how.sort_unstable();
    how.dedup();
    let message = format!(
        "{} of {} of {} in {} did not end well ({}); {counted} of them report figures",
        bad.len(),
        count(cell.runs.len(), "run"),
        cell.model,
        cell.environment,
        list(&how)
    );
    let finding = Finding::fired(Subject::cell(case, cell), message)
        .evidence(bad.iter().map(|(run, how)| seen(run, how.clone())))
        .remedy("read the logs of these runs, mend the cause and collect the cell again; do not replace single runs");
    Some(if counted == 0 { finding.severity(Severity::Warning) } else { finding })
}
