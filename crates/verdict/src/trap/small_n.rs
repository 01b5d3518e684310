//! Few runs: what a handful of repeats can and cannot show.
//!
//! In:  runs of each cell.  Out: one finding for each question.
//! Not here: the power of a comparison (see `stats::power`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place};
use crate::case::Case;
use crate::number::count;
use crate::report::{Evidence, Severity, Subject};

/// Below this number of runs in an arm bootstrap intervals are too short and are not used for verdicts (statistics contract 3.6).
pub(super) const ENOUGH: usize = sparkbench_stats::bootstrap::SMALL_N;
/// Below this number the median has no interval at 95 % and most exact tests cannot reach 0.05 (statistics contract 2.7).
pub(super) const BARELY: usize = 6;

/// Few runs.
pub(super) struct SmallN;

impl Trap for SmallN {
    fn id(&self) -> &'static str {
        "small-n"
    }
    fn title(&self) -> &'static str {
        "Few runs"
    }
    fn severity(&self) -> Severity {
        Severity::Note
    }
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        format!(
            "There are few runs per arm.\n\n\
             With few runs the standard deviation itself is uncertain. At ten runs its 95 % interval reaches from a third below to \
             four fifths above it. Below about {ENOUGH} runs bootstrap intervals come out too short, because they take the sample \
             for the population. Verdicts there use an interval with t quantiles and say so. Below {BARELY} runs the median has no \
             95 % interval at all. A signed-rank test with fewer than {BARELY} pairs cannot reach 0.05, whatever the data. Nor can \
             a rank-sum test with fewer than four runs an arm.\n\n\
             The check fires when any arm has fewer than {ENOUGH} runs. Below {BARELY} runs it is a warning.\n\n\
             Plan the runs from the smallest difference that matters. More requests inside a run do not help, because they share \
             one process, one temperature and one moment."
        )
    }
    fn is_general(&self) -> bool {
        // A count of runs says nothing about their values.
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let arms = case.arms(model, workload);
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let least = arms.iter().map(|cell| cell.runs.len()).min().unwrap_or(0);
    let rows =
        arms.iter().map(|cell| Evidence::text(format!("{}: {}", cell.environment, count(cell.runs.len(), "run"))));
    if least >= ENOUGH {
        return Finding::passed(subject, format!("{place}: at least {} in each environment", count(least, "run")))
            .evidence(rows);
    }
    let message = format!("{place}: {} in the smallest arm, below {ENOUGH}", count(least, "run"));
    let remedy = match case.planned_repeats() {
        Some(planned) if planned as usize > least => format!("{planned} were planned. Finish the plan before judging"),
        Some(planned) => format!("plan more than {planned} repeats. Each comparison says how many would decide it"),
        None => "plan the number of runs beforehand. Each comparison says how many would decide it".to_owned(),
    };
    let finding = Finding::fired(subject, message).evidence(rows).remedy(remedy);
    if least < BARELY { finding.severity(Severity::Warning) } else { finding }
}
