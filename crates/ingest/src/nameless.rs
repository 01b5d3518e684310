//! A name for the model of a suite that names none.
//!
//! In:  runs labelled as having no model.  Out: the same runs under the model that answered, or under their workload.
//! Not here: labels that people wrote (see `labelling`).
//!
//! Addresses and headings are made of the label, and "none" says nothing to anybody. One name is given to all runs that are compared with
//! each other, so that no comparison is lost to it.

use std::collections::{BTreeMap, BTreeSet};

use sparkbench_model::{Campaign, ModelLabel, Run};

/// Names the models of runs and of planned runs that are not there.
pub(super) fn name(runs: &mut [Run], campaigns: &mut [Campaign]) {
    for campaign in campaigns {
        let is_ours = |run: &Run| run.campaign == campaign.name && run.model == Campaign::NO_MODEL;
        let mut served: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for run in runs.iter().filter(|run| is_ours(run)) {
            served.entry(run.workload.clone()).or_default().extend(answered(run));
        }
        let all: BTreeSet<&String> = served.values().flatten().collect();
        // A campaign of ours lists the label, with all that the suite says of it, which is nothing.
        let listed = campaign.models.remove(Campaign::NO_MODEL).filter(|model| *model != ModelLabel::default());
        let asked = listed.as_ref().and_then(|model| short(model.id.as_deref()?));
        let fallback = match served.keys().collect::<Vec<_>>()[..] {
            [only] if !only.is_empty() => only.clone(),
            _ => campaign.name.clone(),
        };
        let label = |workload: &str| {
            let own = served.get(workload).filter(|names| names.len() == 1).and_then(BTreeSet::first);
            let one = all.first().copied().filter(|_| all.len() == 1);
            asked.as_ref().or(one).or(own).unwrap_or(&fallback).clone()
        };
        for run in runs.iter_mut().filter(|run| run.campaign == campaign.name && run.model == Campaign::NO_MODEL) {
            run.model = label(&run.workload);
        }
        if let Some(model) = listed {
            campaign.models.insert(label(""), model);
        }
        for run in campaign.missing_runs.iter_mut().filter(|run| run.model == Campaign::NO_MODEL) {
            run.model = label(&run.workload);
        }
    }
}

/// The model that answered, else the one that was asked for.
fn answered(run: &Run) -> Option<String> {
    short(run.setup.model_served.as_deref().or(run.setup.model_id.as_deref())?)
}

/// The name of a model without the folder or the organisation before its name.
pub(super) fn short(id: &str) -> Option<String> {
    id.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}
