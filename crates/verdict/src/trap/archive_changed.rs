//! Files that are not what was recorded of them.
//!
//! In:  what the hashes beside the files showed.  Out: one finding for each cell with such a file, and one for the rest of the campaign.
//! Not here: hashing (see `archive`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, first_of};
use crate::case::Case;
use crate::distinct::distinct;
use crate::number::count;
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::{Altered, Origin, Run};

/// Files are not what was recorded.
pub(super) struct ArchiveChanged;

impl Trap for ArchiveChanged {
    fn id(&self) -> &'static str {
        "archive-changed"
    }
    fn title(&self) -> &'static str {
        "Files are not what was recorded"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        "A file differs from the hash that was recorded of it, is missing, or was added.\n\n\
         The figures of such a file may not be those that were measured. Somebody may have corrected one, a copy may have been cut \
         short, or a disk may have failed. Nobody can tell which from the file alone. So nothing is concluded from its cell.\n\n\
         Every hash that stands beside a file is compared with the file as it is read: those of the journal, of the seal, of each \
         'run.json', of lists such as 'SHA256SUMS', and of 'NAME.sha256'. What a killed collector left unfinished is a warning. Where no \
         hash was recorded, nothing is compared. A loss that its owner accepted is on record, and the front page counts it.\n\n\
         Restore the files from a copy. 'sparkbench verify' checks an archive to the last byte. Keep results read-only once they are \
         complete, and put corrections into labels."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "that the figures are those that were measured"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let subject = Subject::of(case);
        let altered = &case.campaign.altered;
        if altered.is_empty() {
            return vec![match case.campaign.recorded_files {
                0 => Finding::not_evaluated(subject, "no hashes were recorded beside the files of these runs"),
                files => Finding::passed(subject, format!("the hashes recorded beside {} match", count(files, "file"))),
            }];
        }
        let mut findings = Vec::new();
        for cell in &case.cells {
            let rows: Vec<(&Run, &Altered)> = cell
                .runs
                .iter()
                .flat_map(|run| {
                    altered.iter().filter(move |a| a.concerns(&run.source, &run.files)).map(move |a| (*run, a))
                })
                .collect();
            if !rows.is_empty() {
                let evidence = rows.iter().map(|(run, altered)| Evidence { run: Some(run.id.clone()), ..row(altered) });
                let files: Vec<&Altered> = distinct(rows.iter().map(|(_, altered)| *altered));
                findings.push(finding(Subject::cell(case, cell), &files).evidence(evidence));
            }
        }
        let of_no_run: Vec<&Altered> = altered
            .iter()
            .filter(|altered| !case.runs.iter().any(|run| altered.concerns(&run.source, &run.files)))
            .collect();
        if !of_no_run.is_empty() {
            findings.push(finding(subject, &of_no_run).evidence(of_no_run.iter().map(|altered| row(altered))));
        }
        findings
    }
}

fn row(altered: &Altered) -> Evidence {
    let origin = Origin { file: altered.path.clone(), line: None, field: None, rule: "recorded.hash" };
    Evidence { origin: Some(origin), ..Evidence::text(altered.sentence()) }
}

fn finding(subject: Subject, files: &[&Altered]) -> Finding {
    let named = files.iter().map(|altered| format!("{} ({})", altered.path, altered.kind.word()));
    let is = if files.len() == 1 { "is" } else { "are" };
    let message = format!("{} {is} not as recorded: {}", count(files.len(), "file"), first_of(named));
    let remedies: Vec<&str> = distinct(files.iter().map(|altered| altered.remedy.as_str()));
    let finding = Finding::fired(subject, message).remedy(remedies.join(". "));
    if files.iter().any(|altered| altered.is_error) { finding } else { finding.severity(Severity::Warning) }
}
