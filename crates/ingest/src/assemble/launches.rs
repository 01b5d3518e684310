//! Gives the launches of a campaign their numbers.
//!
//! In:  runs, sorted by campaign and time.  Out: the same with [`Run::launch`], where a launch is known.
//! Not here: numbers that an archive has recorded, which stay.

use std::collections::BTreeMap;

use sparkbench_model::Run;

/// Runs that one process made were measured on one start of the engine. Their numbers follow those that are recorded.
pub(super) fn number(runs: &mut [Run]) {
    for own in runs.chunk_by_mut(|a, b| a.campaign == b.campaign) {
        let recorded = own.iter().filter_map(|run| run.launch).max().unwrap_or(0);
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        for run in own.iter_mut().filter(|run| run.launch.is_none()) {
            let Some(together) = &run.together else { continue };
            let next = recorded.saturating_add(numbers.len() as u32).saturating_add(1);
            run.launch = Some(*numbers.entry(together.clone()).or_insert(next));
        }
    }
}
