//! A campaign that was measured on one machine in one session.
//!
//! In:  machine names and the times of the runs.  Out: one finding for each campaign.
//! Not here: the spread over runs (see `variance`, `small_n`).

use std::collections::BTreeSet;

use super::declaration::{Theme, Trap};
use super::finding::Finding;
use crate::case::Case;
use crate::number::{count, list};
use crate::report::{Evidence, Severity, Subject};

/// One setup.
pub(super) struct SingleSetup;

impl Trap for SingleSetup {
    fn id(&self) -> &'static str {
        "single-setup"
    }
    fn title(&self) -> &'static str {
        "One machine only"
    }
    fn severity(&self) -> Severity {
        Severity::Note
    }
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        "All runs come from one machine.\n\n\
         Runs on one machine, with one installation of the driver and the engine, repeat each other closely. They also share \
         whatever is particular to that machine: a warm chip, a firmware, a disk, a library. Their interval describes that \
         machine, and not machines of its kind.\n\n\
         The check counts the names of machines that the runs print. It notes when there is only one. Two machines of one name \
         count as one, since an archive without host names cannot tell them apart.\n\n\
         Repeat the campaign on a second machine, and analyse both together."
            .to_owned()
    }
    fn is_general(&self) -> bool {
        // Nearly every campaign has one machine.
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let subject = Subject::of(case);
        let printed: BTreeSet<&str> = case.runs.iter().filter_map(|run| run.setup.machine.as_deref()).collect();
        // A label is a key of the facts, which know the name for people.
        let titled = |label| case.machine().map_or(label, |known| known.title.as_str());
        let labelled = case.campaign.machine.as_deref().map(titled);
        let names: Vec<&str> =
            if printed.is_empty() { labelled.into_iter().collect() } else { printed.into_iter().collect() };
        match names.as_slice() {
            [] => vec![Finding::not_evaluated(subject, "no run and no label says on which machine it was measured")],
            [one] => vec![
                Finding::fired(
                    subject,
                    format!(
                        "{} on one kind of machine, {one}: what is particular to it is in every figure",
                        count(case.runs.len(), "run")
                    ),
                )
                .evidence([Evidence::text(format!("machine: {one}"))])
                .remedy("repeat the campaign on a second machine and analyse both together"),
            ],
            several => vec![Finding::passed(subject, format!("runs on {}", list(several)))],
        }
    }
}
