//! Facts of files that contradict the shipped ones, or each other.
//!
//! In:  the conflicts of the facts.  Out: one finding for each campaign.
//! Not here: which of them counts (see `verdict::facts`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, first_of};
use crate::case::Case;
use crate::number::count;
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::FactConflict;

/// Facts contradict each other.
pub(super) struct FactsOverridden;

impl Trap for FactsOverridden {
    fn id(&self) -> &'static str {
        "facts-overridden"
    }
    fn title(&self) -> &'static str {
        "Facts contradict each other"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        "A file gives another figure of a machine, a model or a price than the shipped facts.\n\n\
         Shares of the roofline, costs and the physical checks rest on these facts. A bandwidth that is ten times too high lets an \
         impossible rate pass. Whoever hands over results must not hand over the physics that they are checked by.\n\n\
         Every file of facts is held against the shipped facts and against the other files, figure by figure. Names that resolve to one \
         machine count as one. The shipped figure counts unless the file was given with '--facts', or the labels of its folder say \
         'facts = \"local\"'. Of two such files the first counts. The check fires for every figure on which two sources differ.\n\n\
         Remove the figure from the file, or allow it on purpose. Give a machine of your own a name of its own."
            .to_owned()
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let subject = Subject::of(case);
        let conflicts = &case.campaign.fact_conflicts;
        if conflicts.is_empty() {
            return vec![match case.campaign.facts_files {
                0 => Finding::not_evaluated(subject, "no file beside these results gives facts"),
                files => Finding::passed(
                    subject,
                    format!(
                        "no fact about these machines and models is contradicted by {} of facts",
                        count(files, "file")
                    ),
                ),
            }];
        }
        let message = format!(
            "{} differs by source: {}",
            count(conflicts.len(), "figure"),
            first_of(conflicts.iter().map(brief))
        );
        let message = if conflicts.len() == 1 { message } else { message.replacen("differs", "differ", 1) };
        let remedy = if conflicts.iter().any(|conflict| conflict.used_from == FactConflict::SHIPPED) {
            "remove these figures from the file. If they are right, give it with --facts, or write facts = \"local\" into the labels.toml of its folder"
        } else {
            "compare the values and their sources. Remove those that are wrong from the file"
        };
        vec![
            Finding::fired(subject, message)
                .evidence(conflicts.iter().map(|conflict| Evidence::text(conflict.sentence())))
                .remedy(remedy),
        ]
    }
}

/// `bandwidth_gb_s of machines.gb10 (273 against 546)`
fn brief(conflict: &FactConflict) -> String {
    let FactConflict { table, key, figure, used, unused, .. } = conflict;
    format!("{figure} of {table}.{key} ({used} counts, {unused} does not)")
}
