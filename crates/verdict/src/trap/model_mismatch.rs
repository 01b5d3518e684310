//! The requested model and the model that really ran (P9).
//!
//! In:  ids asked for, ids that engines print, ids that the launch path is known to use.  Out: one finding for each model label.
//! Not here: physics that would show it (see `decode_above_roofline`, `same_speed`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, or_missing, seen};
use crate::case::Case;
use crate::distinct::distinct;
use crate::number::{count, list};
use crate::physics::inputs::share;
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::Run;

/// Id of this trap.
pub(crate) const ID: &str = "model-mismatch";
/// Its code among the plausibility rules.
pub(crate) const CODE: &str = "P9";

/// Another model ran.
pub(super) struct ModelMismatch;

impl Trap for ModelMismatch {
    fn id(&self) -> &'static str {
        ID
    }
    fn code(&self) -> Option<&'static str> {
        Some(CODE)
    }
    fn title(&self) -> &'static str {
        "Another model ran than the label says"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        "Another model ran than the label says.\n\n\
         A run is labelled with the model that was asked for. Whether that model ran is another question. A launch script may \
         ignore its argument, a server may answer under an alias, or a cache may contain another revision.\n\n\
         The check compares the requested id with the id that the engine printed or the server reported, run by run. It also \
         uses the id that the launch path is known to use, where the campaign's labels give it with a source. Ids are compared \
         without case and without the folder or owner before the last slash. Every run of a label that does not match is \
         mislabelled.\n\n\
         Make the collector read the id back from the engine. Let it refuse to store a run whose id differs."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "any statement about a model other than the one that ran"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let looks: Vec<Look<'_>> = case.models().into_iter().map(|model| look(case, model)).collect();
        let mislabelled: usize = looks.iter().map(|l| l.other.len()).sum();
        let findings = looks.into_iter().map(|look| say(case, look, mislabelled)).collect();
        or_missing(findings, case)
    }
}

/// One label, its runs, and those that ran something else.
struct Look<'a> {
    model: &'a str,
    runs: usize,
    known: usize,
    asked: Option<String>,
    other: Vec<(&'a Run, String)>,
}

fn look<'a>(case: &Case<'a>, model: &'a str) -> Look<'a> {
    let label = case.campaign.models.get(model);
    let runs: Vec<&'a Run> = case.runs.iter().copied().filter(|run| run.model == model).collect();
    let mut look = Look { model, runs: runs.len(), known: 0, asked: None, other: Vec::new() };
    for run in runs {
        let asked = run.setup.model_id.as_deref().or_else(|| label.and_then(|m| m.id.as_deref()));
        let served = run.setup.model_served.as_deref().or_else(|| label.and_then(|m| m.launched_id.as_deref()));
        if look.asked.is_none() {
            look.asked = asked.map(str::to_owned);
        }
        let (Some(asked), Some(served)) = (asked, served) else { continue };
        look.known += 1;
        if !same(asked, served) {
            look.other.push((run, served.to_owned()));
        }
    }
    look
}

/// Without case, owner and folder: `/models/Org/Name`, `Org/Name` and `name` are one model.
fn same(a: &str, b: &str) -> bool {
    let last = |id: &str| id.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or(id).to_lowercase();
    last(a) == last(b)
}

fn say(case: &Case<'_>, look: Look<'_>, mislabelled: usize) -> Finding {
    let subject = Subject::of(case).with_model(look.model);
    let asked = look.asked.as_deref().unwrap_or("nothing");
    if look.known == 0 {
        let missing = match look.asked {
            Some(_) => "the model id that the engine or the launch path used",
            None => "the model id that was asked for",
        };
        return Finding::not_evaluated(subject, format!("{}: missing {missing}", look.model));
    }
    if look.other.is_empty() {
        return Finding::passed(
            subject,
            format!("{}: {} ran {asked}, as asked", look.model, share(look.known, look.runs)),
        );
    }
    let served: Vec<&str> = distinct(look.other.iter().map(|(_, id)| id.as_str()));
    let message = format!(
        "{}: {} asked for {asked} and ran {}. {mislabelled} of the campaign's {} are mislabelled",
        look.model,
        share(look.other.len(), look.runs),
        list(&served),
        count(case.runs.len(), "run")
    );
    let source = case
        .campaign
        .models
        .get(look.model)
        .and_then(|m| m.launched_source.as_deref())
        .map(|s| Evidence::text(format!("seen in {s}")));
    Finding::fired(subject, message)
        .evidence(source.into_iter().chain(look.other.iter().map(|(run, id)| seen(run, format!("labelled {}, ran {id}", look.model)))))
        .remedy("read these runs under the model that ran. Pass the model argument through the launch script and check the id that the engine prints")
}
