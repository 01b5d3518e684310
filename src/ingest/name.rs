//! Ids of runs: unique, safe, and the same on every machine.
//!
//! In:  what is known of a run.  Out: its id.
//! Not here: how a slug is made.

use std::collections::BTreeSet;

use super::{Piece, slug};
use crate::model::Campaign;

/// Stands for an environment or a model that neither the file nor any label names.
pub const UNLABELLED: &str = Campaign::UNLABELLED;

/// Workload of archives that have only one and do not name it.
pub const ONE_WORKLOAD: &str = "default";

/// The ids given so far.
#[derive(Default)]
pub(super) struct Ids {
    taken: BTreeSet<String>,
}

impl Ids {
    /// The id of a run, and a note when the source's own id was taken already.
    pub fn give(&mut self, piece: &Piece) -> (String, Option<String>) {
        let wanted = piece.id.as_deref().map_or_else(|| made(piece), slug);
        let id = self.unique(&wanted);
        let note = (piece.id.is_some() && id != wanted)
            .then(|| format!("two runs have the id '{wanted}'; both are kept, the later one as '{id}'"));
        (id, note)
    }

    fn unique(&mut self, wanted: &str) -> String {
        let mut id = wanted.to_owned();
        let mut count = 2u32;
        while !self.taken.insert(id.clone()) {
            id = format!("{wanted}-{count}");
            count += 1;
        }
        id
    }
}

/// `{environment}_{model}_{workload}_iter{n}_{start}`, as far as known: the names of the flat layout, which sort and read well.
fn made(piece: &Piece) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.push(slug(piece.environment.as_deref().unwrap_or(UNLABELLED)));
    parts.push(slug(piece.model.as_deref().unwrap_or(UNLABELLED)));
    parts.extend(piece.workload.as_deref().map(slug));
    parts.extend(piece.repeat.map(|n| format!("iter{n}")));
    parts.extend(piece.started.map(|at| at.iso().chars().take(19).filter(char::is_ascii_digit).collect::<String>()));
    slug(&parts.join("_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Instant;

    #[test]
    fn two_runs_with_one_id_are_two_runs() {
        let mut ids = Ids::default();
        let piece = Piece { id: Some("../Run 1".into()), ..Piece::default() };
        assert_eq!(ids.give(&piece), ("run-1".into(), None));
        let (second, note) = ids.give(&piece);
        assert_eq!(second, "run-1-2");
        assert_eq!(note.as_deref(), Some("two runs have the id 'run-1'; both are kept, the later one as 'run-1-2'"));
    }

    #[test]
    fn a_made_id_says_what_ran_and_when() {
        let piece = Piece {
            environment: Some("native".into()),
            model: Some("7B".into()),
            repeat: Some(3),
            started: Instant::parse("20251109_022626"),
            ..Piece::default()
        };
        assert_eq!(Ids::default().give(&piece).0, "native_7b_iter3_20251109022626");
    }
}
