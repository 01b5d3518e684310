//! Runs that occur twice: the most complete copy is kept.
//!
//! In:  the drafts of all runs.  Out: drafts without copies, and a note for each copy.
//! Not here: what makes two runs one (see `fingerprint` of a partial run).

use std::collections::BTreeMap;

use super::draft::Draft;
use crate::file_report::FileReport;
use crate::{JoinRole, PartialRun};
use sparkbench_archive::Discovery;

/// Keeps of each run that was copied the fullest: a result before a console, then the one with more figures, then the first. Runs that are
/// known to have started at different moments are no copies, however alike their figures are.
pub(super) fn copies(drafts: &mut Vec<Draft>, found: &Discovery, report: &mut FileReport) {
    let path = |number: usize| found.files.get(number).map_or("", |file| file.path.as_str());
    // A console prints fewer digits than a file holds. Its figures are in lines and not in fields.
    let printed = |partial: &PartialRun| partial.readings.first().is_some_and(|reading| reading.origin.field.is_none());
    let rank = |place: usize, draft: &Draft| {
        let partial = &draft.partial;
        let figures = partial.readings.len() + partial.series.len() + partial.extras.len();
        let console = matches!(partial.join_role, JoinRole::Trace | JoinRole::WholeFolder) || printed(partial);
        (console, usize::MAX - figures, draft.main, place)
    };
    let mut order: Vec<_> = drafts.iter().enumerate().map(|(place, draft)| (rank(place, draft), place)).collect();
    order.sort_unstable();
    let mut kept: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    let mut gone: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, place) in order {
        let Some(draft) = drafts.get(place) else { continue };
        let Some(mark) = &draft.partial.fingerprint else { continue };
        let known = kept.entry((draft.home.as_str(), mark.as_str())).or_default();
        let same = |other: &&usize| {
            let other = drafts.get(**other).and_then(|other| other.partial.started);
            draft.partial.started.is_none() || other.is_none() || draft.partial.started == other
        };
        match known.iter().find(same) {
            Some(original) => {
                gone.insert(place, drafts.get(*original).map_or(draft.main, |original| original.main));
            }
            None => known.push(place),
        }
    }
    let mut place = 0;
    drafts.retain(|draft| {
        let original = gone.get(&place);
        place += 1;
        let Some(original) = original else { return true };
        let word =
            if *original == draft.main { "further up".to_owned() } else { format!("from '{}'", path(*original)) };
        report.note(draft.main, format!("a copy of a run that is read {word}. It is not counted twice"));
        false
    });
    // A summary of many runs may lie above the folders of the runs that it repeats.
    let below: Vec<(String, String, usize)> = drafts
        .iter()
        .filter(|draft| draft.partial.join_role != JoinRole::Alone)
        .filter_map(|draft| Some((draft.partial.fingerprint.clone()?, draft.home.clone(), draft.main)))
        .collect();
    drafts.retain(|draft| {
        let is_below = |home: &str| {
            home.strip_prefix(&draft.home)
                .is_some_and(|rest| rest.starts_with('/') || (draft.home.is_empty() && !rest.is_empty()))
        };
        let same =
            below.iter().find(|(mark, home, _)| Some(mark) == draft.partial.fingerprint.as_ref() && is_below(home));
        let Some((_, _, kept)) = same.filter(|_| draft.partial.join_role == JoinRole::Alone) else { return true };
        report
            .note(draft.main, format!("a copy of a run that is read from '{}'. It is not counted twice", path(*kept)));
        false
    });
}
