//! Whether a file about a whole folder belongs to a run: the same model, a server that started, and times that overlap.
//!
//! In:  the log of a server, a sheet of settings, the server's counters, the runs of its folder.  Out: for each run the rule by which the
//! file belongs to it, or the reason why not.
//! Not here: which runs are in its folder (see `join`), what a run takes from a log (see `merge`).
//!
//! A folder may hold the log of yesterday's server beside today's results. Joined, the results would get the memory, the engine and the load
//! time of another model, and no later check could detect it.

use std::collections::BTreeSet;

use super::draft::Draft;
use crate::{PartialRun, ServerState};

/// The rule or the reason for each run, in their order. `number`: the file that is to be joined.
pub(super) fn belongs(number: usize, log: &PartialRun, runs: &[&Draft]) -> Vec<Result<&'static str, String>> {
    let named: BTreeSet<String> = runs.iter().filter_map(|run| names(&run.partial).pop()).collect();
    let each = runs.iter().map(|run| match run.main == number {
        // A console that shows the server and its result.
        true => Ok("it stands in the same file"),
        false => belongs_to(log, &run.partial, named.len()),
    });
    each.collect()
}

fn belongs_to(log: &PartialRun, run: &PartialRun, models: usize) -> Result<&'static str, String> {
    if log.server == Some(ServerState::NeverUp) {
        return Err("its server never came up".to_owned());
    }
    if let (Some((from, to)), Some((begun, ended))) = (log.started.zip(log.ended), run.started.zip(run.ended))
        && (to < begun || ended < from)
    {
        let what = if log.server.is_some() { "its server ran" } else { "it speaks of the time" };
        return Err(format!("{what} from {} to {}, before or after the run", from.iso(), to.iso()));
    }
    let (theirs, ours) = (names(log), names(run));
    match (theirs.is_empty(), ours.is_empty()) {
        (false, false) if theirs.iter().any(|name| ours.contains(name)) => Ok("the model is the same"),
        (false, false) => {
            let shown = |names: &[String]| names.last().cloned().unwrap_or_default();
            let what = if log.server.is_some() { "its server served" } else { "it is of" };
            Err(format!("{what} {}, the run is of {}", shown(&theirs), shown(&ours)))
        }
        _ if models <= 1 => Ok("one of the two names no model, and the folder holds one"),
        _ => Err("one of the two names no model, and the folder holds several".to_owned()),
    }
}

/// Names of a file for its model, the most specific last: without owner, folder and ending, and without case.
fn names(partial: &PartialRun) -> Vec<String> {
    let setup = &partial.setup;
    let plain = |name: &String| {
        let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_lowercase();
        last.strip_suffix(".gguf").map_or(last.clone(), str::to_owned)
    };
    [&partial.model, &setup.model_served, &setup.model_id].into_iter().flatten().map(plain).collect()
}
