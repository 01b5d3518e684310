//! Statements of a campaign about itself against its files (P17).
//!
//! In:  statements with their sources, names of the machine.  Out: one finding for each campaign.
//! Not here: published figures (see `published`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, seen};
use crate::case::Case;
use crate::number::count;
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::{Stated, StatedKind};
use sparkbench_text::plural::counted;

/// Stated facts contradict the files.
pub(super) struct StatedFactsContradict;

impl Trap for StatedFactsContradict {
    fn id(&self) -> &'static str {
        "stated-facts-contradict"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P17")
    }
    fn title(&self) -> &'static str {
        "Words and files disagree"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        "The report states something that its own files contradict.\n\n\
         Such a report gives another request count, another unit or another chip than the files behind it. It was not written \
         from those files. The figures beside it deserve the same doubt.\n\n\
         The labels of a campaign tabulate its statements, each with a source and with what configuration or logs show. The \
         check fires when the two differ: numbers by value, words without case and spacing. It also looks for names of other \
         hardware in the statements and in what the runs print, using the machine facts.\n\n\
         Let the report take such facts from the archive. Keep binary and decimal units apart: 100 GiB are 107.4 GB."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "the statements that the files contradict"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let subject = Subject::of(case);
        let machine = case.machine();
        let names: Vec<&str> = case.runs.iter().filter_map(|run| run.setup.machine.as_deref()).collect();
        let can_name = machine.is_some_and(|m| !m.not.is_empty()) && !names.is_empty();
        let stated = &case.campaign.stated;
        if stated.is_empty() && !can_name {
            return vec![Finding::not_evaluated(
                subject,
                "no statements are tabulated, and the facts name no other hardware that the printed machine could be taken for",
            )];
        }
        let contradicted: Vec<&Stated> = stated.iter().filter(|s| differs(&s.said, &s.found)).collect();
        let mut what: Vec<String> = contradicted.iter().map(|s| briefly(s)).collect();
        let mut evidence: Vec<Evidence> = contradicted.iter().map(|s| row(s)).collect();
        if let Some(machine) = machine {
            let wrong = |text: &str| machine.not.iter().find(|word| text.to_lowercase().contains(&word.to_lowercase()));
            let odd = case.runs.iter().find_map(|run| Some((*run, wrong(run.setup.machine.as_deref()?)?)));
            evidence.extend(odd.map(|(run, word)| {
                seen(run, format!("prints a machine of the name '{word}', which is not a {}", machine.title))
            }));
            let said = stated.iter().filter(|s| s.about == StatedKind::Hardware && !differs(&s.said, &s.found));
            evidence.extend(said.filter_map(|s| {
                Some(Evidence::text(format!("{}: '{}' is not a {}", s.said_in, wrong(&s.said)?, machine.title)))
            }));
        }
        if evidence.is_empty() {
            return vec![Finding::passed(
                subject,
                format!("{} and the names that the runs print agree with the files", count(stated.len(), "statement")),
            )];
        }
        what.extend(evidence.iter().skip(contradicted.len()).map(|e| e.text.clone()));
        let message =
            format!("{} contradicted: {}", counted(what.len(), "statement is", "statements are"), what.join("; "));
        vec![
            Finding::fired(subject, message)
                .evidence(evidence)
                .remedy("correct the text, or the files, and say which of the two was wrong"),
        ]
    }
}

/// Stated and found values. The evidence names the places.
fn briefly(stated: &Stated) -> String {
    format!("{}: {} is said, {} is found", kind(stated.about), stated.said, stated.found)
}

fn row(stated: &Stated) -> Evidence {
    Evidence::text(format!(
        "{}: {} ({}) against {} ({})",
        kind(stated.about),
        stated.said,
        stated.said_in,
        stated.found,
        stated.found_in
    ))
}

const fn kind(about: StatedKind) -> &'static str {
    match about {
        StatedKind::Requests => "requests",
        StatedKind::Unit => "unit",
        StatedKind::Hardware => "hardware",
        StatedKind::Runs => "runs",
        StatedKind::Other => "other",
    }
}

/// By value where both are numbers, else letter by letter without spacing and case.
fn differs(said: &str, found: &str) -> bool {
    if let (Ok(a), Ok(b)) = (said.trim().parse::<f64>(), found.trim().parse::<f64>()) {
        return a != b;
    }
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    plain(said) != plain(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ_by_value_and_words_by_letters() {
        for (said, found, expected) in [
            ("50", "100", true),
            ("50", "50.0", false),
            ("GB", "GiB", true),
            ("grace  Blackwell", "Grace Blackwell", false),
        ] {
            assert_eq!(differs(said, found), expected, "{said} {found}");
        }
    }
}
