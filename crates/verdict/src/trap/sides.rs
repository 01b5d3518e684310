//! The candidate of each question beside its baseline: the shared part of the checks of settings.
//!
//! In:  a case, and what to look at.  Out: one finding for each candidate.
//! Not here: which settings there are (see `verdict::alike`).

use super::finding::{Finding, or_missing, place};
use crate::alike::{self, Compared, Difference};
use crate::case::{Case, Cell};
use crate::number::list;
use crate::report::{Evidence, Subject};

/// Checks each candidate against the baseline of its question, with the words for the two inside a sentence. A question without a candidate
/// cannot be checked.
pub(super) fn by_candidate(
    case: &Case<'_>,
    look: impl Fn(&Cell<'_>, &Cell<'_>, Subject, &str) -> Finding,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (model, workload) in case.questions() {
        let arms = case.arms(model, workload);
        match arms.split_first() {
            Some((base, candidates)) if !candidates.is_empty() => {
                findings.extend(candidates.iter().map(|cell| {
                    let model = place(case, model, workload);
                    let place = format!("{model}, {} beside {}", cell.environment, base.environment);
                    look(base, cell, Subject::cell(case, cell), &place)
                }));
            }
            _ => findings.push(Finding::not_evaluated(
                Subject::question(case, model, workload),
                format!("{}: one environment only", place(case, model, workload)),
            )),
        }
    }
    or_missing(findings, case)
}

/// The settings that belong to one trap, of each candidate.
pub(super) fn settings(case: &Case<'_>, trap: &'static str, missing: &str, remedy: &str) -> Vec<Finding> {
    by_candidate(case, |base, cell, subject, place| {
        let sides = alike::hold(base, cell, Compared::of(case.campaign));
        let differ: Vec<&Difference> = sides.differ.iter().filter(|d| d.trap == trap).collect();
        let agree: Vec<&str> = sides.agree.iter().filter(|(of, _)| *of == trap).map(|(_, setting)| *setting).collect();
        if !differ.is_empty() {
            let said: Vec<String> =
                differ.iter().map(|d| format!("{} {} against {}", d.setting, d.left, d.right)).collect();
            let rows = differ.iter().map(|d| {
                Evidence::text(format!(
                    "{}: {} in {}, {} in {}",
                    d.setting, d.left, base.environment, d.right, cell.environment
                ))
            });
            return Finding::fired(subject, format!("{place}: {}", list(&said))).evidence(rows).remedy(remedy);
        }
        if agree.is_empty() {
            return Finding::not_evaluated(subject, format!("{place}: {missing}"));
        }
        Finding::passed(subject, format!("{place}: the same {}", list(&agree)))
    })
}
