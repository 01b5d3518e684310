//! Whether a file that speaks of a whole folder speaks of a run: the same model, a server that came up, and times that meet.
//!
//! In:  the log of a server, a sheet of settings, what a server counted; the runs of its folder.  Out: for each run the rule by which the
//! file belongs to it, or the reason why not.
//! Not here: which runs lie in its folder (see `join`), what a run takes from a log (see `merge`).
//!
//! A folder may hold the log of yesterday's server beside today's results. Joined to them it would give them the memory, the engine and
//! the load time of another model, and no later check could tell.

use std::collections::BTreeSet;

use super::Draft;
use crate::ingest::{Piece, ServerState};

/// The rule or the reason for each run, in their order. `number`: the file that is to be joined.
pub(super) fn belongs(number: usize, log: &Piece, runs: &[&Draft]) -> Vec<Result<&'static str, String>> {
    let named: BTreeSet<String> = runs.iter().filter_map(|run| names(&run.piece).pop()).collect();
    let each = runs.iter().map(|run| match run.main == number {
        // A console that shows the server and its result.
        true => Ok("it stands in the same file"),
        false => belongs_to(log, &run.piece, named.len()),
    });
    each.collect()
}

fn belongs_to(log: &Piece, run: &Piece, models: usize) -> Result<&'static str, String> {
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

/// What a file calls its model, the most telling last: without owner, folder and ending, and without case.
fn names(piece: &Piece) -> Vec<String> {
    let setup = &piece.setup;
    let plain = |name: &String| {
        let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_lowercase();
        last.strip_suffix(".gguf").map_or(last.clone(), str::to_owned)
    };
    [&piece.model, &setup.model_served, &setup.model_id].into_iter().flatten().map(plain).collect()
}
