//! Ids of runs: unique, safe, and the same on every machine.
//!
//! In:  the known facts of a run.  Out: its id.
//! Not here: how a slug is made.

use std::collections::BTreeSet;

use super::PartialRun;
use sparkbench_model::Campaign;
use sparkbench_text::slug::slug;

/// Stands for an environment or a model that neither the file nor any label names.
pub(super) const UNLABELLED: &str = Campaign::UNLABELLED;

/// Workload of archives that have only one and do not name it.
pub(super) const ONE_WORKLOAD: &str = "default";

/// The ids given so far.
#[derive(Default)]
pub(super) struct Ids {
    taken: BTreeSet<String>,
}

impl Ids {
    /// The id of a run, and a note when the source's own id was taken already.
    pub(super) fn give(&mut self, partial: &PartialRun) -> (String, Option<String>) {
        let wanted = partial.id.as_deref().map_or_else(|| made(partial), slug);
        let id = self.unique(&wanted);
        let note = (partial.id.is_some() && id != wanted)
            .then(|| format!("two runs have the id '{wanted}'. Both are kept, the later one as '{id}'"));
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
fn made(partial: &PartialRun) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.push(slug(partial.environment.as_deref().unwrap_or(UNLABELLED)));
    parts.push(slug(partial.model.as_deref().unwrap_or(UNLABELLED)));
    parts.extend(partial.workload.as_deref().map(slug));
    parts.extend(partial.repeat.map(|n| format!("iter{n}")));
    parts.extend(partial.started.map(|at| at.iso().chars().take(19).filter(char::is_ascii_digit).collect::<String>()));
    slug(&parts.join("_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Instant;

    #[test]
    fn two_runs_with_one_id_are_two_runs() {
        let mut ids = Ids::default();
        let partial = PartialRun { id: Some("../Run 1".into()), ..PartialRun::default() };
        assert_eq!(ids.give(&partial), ("run-1".into(), None));
        let (second, note) = ids.give(&partial);
        assert_eq!(second, "run-1-2");
        assert_eq!(note.as_deref(), Some("two runs have the id 'run-1'. Both are kept, the later one as 'run-1-2'"));
    }

    #[test]
    fn a_made_id_says_what_ran_and_when() {
        let partial = PartialRun {
            environment: Some("native".into()),
            model: Some("7B".into()),
            repeat: Some(3),
            started: Instant::parse("20251109_022626"),
            ..PartialRun::default()
        };
        assert_eq!(Ids::default().give(&partial).0, "native_7b_iter3_20251109022626");
    }
}
