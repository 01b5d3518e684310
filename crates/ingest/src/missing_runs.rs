//! Missing planned runs, each with the journal's reason.
//!
//! In:  the plan of a campaign, its journal, its runs.  Out: [`Campaign::missing_runs`] and [`Campaign::losses`].
//! Not here: reading either file.

use std::collections::BTreeSet;

use sparkbench_archive::manifest::{RUN_FILE, RUNS_FOLDER};
use sparkbench_model::{Campaign, Loss, MissingReason, Outcome, Run};

/// Records for every planned run what the journal says.
pub(super) fn told(campaign: &mut Campaign, outcomes: &[Outcome]) {
    for outcome in outcomes {
        if let Some(run) = campaign.missing_runs.iter_mut().find(|run| run.id == outcome.run) {
            run.gone = outcome.gone;
            run.why.clone_from(&outcome.why);
        }
    }
}

/// Removes those whose run exists. A run is known by its folder: its id may have been changed to make it unique.
pub(super) fn settle(campaign: &mut Campaign, runs: &[Run]) {
    let files =
        runs.iter().filter(|run| run.campaign == campaign.name).flat_map(|run| run.files.iter().chain([&run.source]));
    let made: BTreeSet<&str> = files.filter_map(|file| folder(&file.path)).collect();
    campaign.planned_runs = campaign.missing_runs.len();
    campaign.missing_runs.retain(|run| !made.contains(run.id.as_str()));
    let is_missing = |loss: &Loss| {
        let id = loss.path.strip_prefix(RUNS_FOLDER).and_then(|rest| rest.strip_prefix('/'));
        campaign.missing_runs.iter().any(|run| Some(run.id.as_str()) == id)
    };
    campaign.losses.retain(|loss| !is_missing(loss));
    for run in campaign.missing_runs.iter_mut().filter(|run| run.why.is_empty()) {
        run.why = match run.gone {
            MissingReason::Skipped => "the journal names no reason",
            MissingReason::Interrupted => "it was begun, and the journal has no end of it",
            MissingReason::Unreadable => "the journal calls it complete, and nothing of it could be read as a run",
            MissingReason::Lost => "its result was lost, and the owner of the archive gave it up",
            MissingReason::NotRun => "it was planned and never begun",
        }
        .to_owned();
    }
}

/// Name of the folder of the run that a `run.json` lies in.
fn folder(path: &str) -> Option<&str> {
    let (above, name) = path.strip_suffix(RUN_FILE)?.strip_suffix('/')?.rsplit_once('/').unwrap_or(("", path));
    (above == RUNS_FOLDER || above.ends_with(&format!("/{RUNS_FOLDER}"))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_known_by_its_folder() {
        assert_eq!(folder("runs/001-a/run.json"), Some("001-a"));
        assert_eq!(folder("camp/runs/001-a/run.json"), Some("001-a"));
        assert_eq!(folder("camp/other/001-a/run.json"), None);
        assert_eq!(folder("run.json"), None);
    }
}
