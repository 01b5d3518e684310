//! Runs that did not end properly (P11).
//!
//! In:  status and exit status of each run.  Out: one finding for each cell with failures, else one for each campaign.
//! Not here: runs that are not in the archive at all (see `run_count`).

use std::collections::BTreeSet;

use super::declaration::{Theme, Trap};
use super::finding::{Finding, seen};
use crate::case::Case;
use crate::distinct::distinct;
use crate::number::{count, list};
use crate::report::{Severity, Subject};
use sparkbench_model::{Run, Source, Status};

/// Failed or unrecorded ends.
pub(super) struct FailedRuns;

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
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        "A run that failed is among the results.\n\n\
         A run that crashed, timed out or was stopped may still leave a figure. That figure covers whatever the run managed to \
         do. An environment in which runs fail is also not equal to one in which they do not.\n\n\
         The check fires when a run's exit status is not 0. It also fires when a status is missing though other runs from the \
         same kind of file record theirs. Figures of a failed run enter no mean. Its cell is invalid all the same. A run that left \
         no figure is a warning. Where no run records an exit status, nothing can be said.\n\n\
         Archive failed runs as failed runs, with their logs. A file that lists only successes hides them."
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
        let telling = telling(&case.runs);
        let findings: Vec<Finding> = case.cells.iter().filter_map(|cell| look(case, cell, &telling)).collect();
        if findings.is_empty() {
            let known = case.runs.iter().filter(|run| recorded(run)).count();
            let silent = case.runs.len() - known;
            let rest = if silent == 0 {
                String::new()
            } else {
                format!(" ({} of a kind of file without one beside them)", count(silent, "run"))
            };
            let message = format!(
                "all {} ended with exit status 0{rest}. A failed run would have to be in the archive to be seen",
                count(known, "run")
            );
            return vec![Finding::passed(subject, message)];
        }
        findings
    }
}

fn recorded(run: &Run) -> bool {
    run.status != Status::Unrecorded || run.setup.exit_code.is_some()
}

/// Kinds of files whose runs record an end. Most tools record none, so beside such runs the silence of theirs means nothing.
fn telling<'a>(runs: &[&'a Run]) -> BTreeSet<&'a str> {
    runs.iter().filter(|run| recorded(run)).flat_map(|run| formats(run)).collect()
}

/// Kinds of its main file and of those that hold figures of it: a sampler beside unlike tools makes them no kin.
fn formats(run: &Run) -> impl Iterator<Item = &str> {
    let measured = |file: &&Source| run.readings.iter().any(|reading| reading.origin.file == file.path);
    std::iter::once(&run.source).chain(run.files.iter().filter(measured)).map(|file| file.format.as_str())
}

/// How a run ended, when not well.
fn ill(run: &Run, telling: &BTreeSet<&str>) -> Option<String> {
    match (&run.status, run.setup.exit_code) {
        (Status::Failed(how), _) => Some(format!("failed: {how}")),
        (_, Some(code)) if code != 0 => Some(format!("exit status {code}")),
        (Status::Unrecorded, None) if formats(run).any(|format| telling.contains(format)) => {
            Some("exit status not recorded".to_owned())
        }
        _ => None,
    }
}

fn look(case: &Case<'_>, cell: &crate::case::Cell<'_>, telling: &BTreeSet<&str>) -> Option<Finding> {
    let bad: Vec<(&Run, String)> = cell.runs.iter().filter_map(|run| Some((*run, ill(run, telling)?))).collect();
    if bad.is_empty() {
        return None;
    }
    let counted = bad.iter().filter(|(run, _)| run.readings.iter().any(|r| r.value.is_finite())).count();
    let how: Vec<&str> = distinct(bad.iter().map(|(_, how)| how.as_str()));
    let message = format!(
        "{} of {} of {} in {} did not end well ({}). {counted} of them report figures",
        bad.len(),
        count(cell.runs.len(), "run"),
        cell.model,
        cell.environment,
        list(&how)
    );
    let finding = Finding::fired(Subject::cell(case, cell), message)
        .evidence(bad.iter().map(|(run, how)| seen(run, how.clone())))
        .remedy("read the logs of these runs, mend the cause and collect the cell again. Do not replace single runs");
    Some(if counted == 0 { finding.severity(Severity::Warning) } else { finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::builtin;
    use crate::report::TrapStatus;
    use crate::testing::measured;
    use sparkbench_model::{Campaign, Setup};

    #[test]
    fn silence_of_a_kind_of_file_that_never_tells_is_no_failure() {
        let run = |format: &str, exit_code: Option<i64>| {
            let mut run = measured("a", Setup { exit_code, ..Setup::default() }, &[("tpot_ms", 9.0)]);
            run.source.format = format.to_owned();
            run.status = if exit_code.is_some() { Status::Done } else { Status::Unrecorded };
            run
        };
        let (facts, campaign) = (builtin().unwrap(), Campaign { name: "c".into(), ..Campaign::default() });
        let look = |runs: &[Run]| {
            let finding = FailedRuns.check(&Case::of_runs(&campaign, runs.iter().collect(), &facts)).remove(0);
            (finding.status, finding.message)
        };
        let (status, message) = look(&[run("flat-log", Some(0)), run("vllm-bench-serve", None)]);
        assert_eq!(status, TrapStatus::Passed);
        assert!(
            message.starts_with("all 1 run ended with exit status 0 (1 run of a kind of file without one"),
            "{message}"
        );
        assert_eq!(look(&[run("flat-log", Some(0)), run("flat-log", None)]).0, TrapStatus::Fired);
        assert_eq!(look(&[run("flat-log", Some(1)), run("vllm-bench-serve", None)]).0, TrapStatus::Fired);
        assert_eq!(look(&[run("vllm-bench-serve", None)]).0, TrapStatus::NotEvaluated);
    }
}
