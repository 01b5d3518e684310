//! A campaign with a fixed number of runs that ended before it had them.
//!
//! In:  the plan, and the outcome of each planned run.  Out: one finding for each campaign.
//! Not here: a cell with another number of runs than the others (see `run_count`).

use super::declaration::{Theme, Trap};
use super::finding::Finding;
use crate::case::Case;
use crate::number::count;
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::{MissingReason, MissingRun};

/// The plan was not finished.
pub(super) struct StoppedEarly;

impl Trap for StoppedEarly {
    fn id(&self) -> &'static str {
        "stopped-early"
    }
    fn title(&self) -> &'static str {
        "Stopped before the plan was done"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        "The campaign stopped before its plan was finished.\n\n\
         Whoever watches the figures and stops when they look right finds differences that do not exist. With a check after \
         every run, chance alone gives p below 0.05 in far more than 5 % of campaigns. Nobody can see afterwards why a campaign \
         was stopped. A plan that was not finished is therefore shown with both counts.\n\n\
         The check compares the plan of the archive with its runs. It fires when planned runs were never made. Where only the \
         planned repeats are known, it fires when every cell has fewer. A campaign that was designed to stop when it is decided \
         does not fire. Its checks were fixed beforehand, and its error rates count them.\n\n\
         Finish the plan. Otherwise let the suite stop by itself: repeats = { min = 5, max = 30, until = \"decided\" }."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "that the campaign did not end because of what its figures showed"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let subject = Subject::of(case);
        let campaign = case.campaign;
        let never: Vec<&MissingRun> = campaign
            .missing_runs
            .iter()
            .filter(|run| matches!(run.gone, MissingReason::NotRun | MissingReason::Interrupted))
            .collect();
        if let Some(design) = &campaign.design {
            let said =
                match (campaign.missing_runs.iter().any(|run| run.gone == MissingReason::Skipped), never.is_empty()) {
                    (true, _) => "it ended at a look of its design, which counts every look",
                    (false, true) => "it ran to the last look of its design",
                    (false, false) => "it is between two looks of its design, and only looks that were taken decide",
                };
            return vec![Finding::passed(subject, format!("{said} ({})", design.words()))];
        }
        if campaign.planned_runs > 0 {
            let made = campaign.planned_runs - never.len().min(campaign.planned_runs);
            if never.is_empty() {
                let all = count(campaign.planned_runs, "planned run");
                return vec![Finding::passed(subject, format!("none of {all} is left over"))];
            }
            let message = format!(
                "{} of {} were made. The campaign ended before its plan did",
                count(made, "run"),
                count(campaign.planned_runs, "planned run")
            );
            let rows = never.iter().map(|run| Evidence::text(format!("{}: {}", run.id, run.gone.words())));
            return vec![Finding::fired(subject, message).evidence(rows).remedy(REMEDY)];
        }
        let Some(planned) = campaign.planned_repeats.map(|n| n as usize).filter(|_| !case.cells.is_empty()) else {
            return vec![Finding::not_evaluated(subject, "no plan and no planned number of repeats is known")];
        };
        let most = case.cells.iter().map(|cell| cell.runs.len()).max().unwrap_or(0);
        if most >= planned {
            return vec![Finding::passed(subject, format!("a cell has all its {}", count(planned, "planned run")))];
        }
        let message = format!("no cell has more than {} of {}", count(most, "run"), count(planned, "planned run"));
        let rows = case.cells.iter().map(|cell| {
            let runs = count(cell.runs.len(), "run");
            Evidence::text(format!("{}, {}, {}: {runs}", cell.model, cell.workload, cell.environment))
        });
        vec![Finding::fired(subject, message).evidence(rows).remedy(REMEDY)]
    }
}

const REMEDY: &str = "finish the plan with 'sparkbench collect SUITE --resume'. Next time fix the looks in the suite and let it stop by itself";
