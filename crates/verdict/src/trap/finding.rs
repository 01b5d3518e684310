//! The result of a trap, and the words that all traps share.
//!
//! In:  a status, a subject and a sentence.  Out: [`Finding`].
//! Not here: the search itself.

use crate::case::{Case, Cell};
use crate::number::list;
use crate::report::{Evidence, Severity, Subject, TrapStatus};
use sparkbench_model::{Metric, Origin, Run};
use sparkbench_stats::drift::{Drift, drift};

/// Rows of evidence that one finding lists. The rest is counted. A page stays readable and an archive of a million runs stays small.
pub(crate) const MAX_EVIDENCE: usize = 24;
/// Things that a message names.
const MOST_NAMED: usize = 3;
/// Significance level of the checks that test something, two-sided (statistics contract, head).
pub(crate) const ALPHA: f64 = 0.05;

/// Finding of a trap for one subject.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Fired, passed or not evaluated.
    pub status: TrapStatus,
    pub subject: Subject,
    /// One sentence with the figures. When not evaluated, what was missing.
    pub message: String,
    /// Its evidence.
    pub evidence: Vec<Evidence>,
    pub remedy: String,
    /// Overrides the trap's own severity where a rule has two.
    pub severity: Option<Severity>,
}

impl Finding {
    fn new(status: TrapStatus, subject: Subject, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, subject, message, evidence: Vec::new(), remedy: String::new(), severity: None }
    }

    /// The trap is there.
    pub fn fired(subject: Subject, message: impl Into<String>) -> Self {
        Self::new(TrapStatus::Fired, subject, message)
    }

    /// All that is needed was there, and the trap is not.
    pub fn passed(subject: Subject, message: impl Into<String>) -> Self {
        Self::new(TrapStatus::Passed, subject, message)
    }

    /// Something was missing. The message says exactly what.
    pub fn not_evaluated(subject: Subject, message: impl Into<String>) -> Self {
        Self::new(TrapStatus::NotEvaluated, subject, message)
    }

    /// Adds evidence, at most `MAX_EVIDENCE` rows and a count of the rest.
    #[must_use]
    pub fn evidence(mut self, rows: impl IntoIterator<Item = Evidence>) -> Self {
        let mut more = 0;
        for row in rows {
            if self.evidence.len() < MAX_EVIDENCE {
                self.evidence.push(row);
            } else {
                more += 1;
            }
        }
        if more > 0 {
            self.evidence.push(Evidence::text(format!("and {more} more")));
        }
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Says how bad it is where that differs from the trap's own severity.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }
}

impl Subject {
    /// The whole campaign.
    pub fn of(case: &Case<'_>) -> Self {
        Self { campaign: case.campaign.name.clone(), ..Self::default() }
    }

    /// One model and workload in all environments.
    pub fn question(case: &Case<'_>, model: &str, workload: &str) -> Self {
        Self { model: Some(model.to_owned()), workload: Some(workload.to_owned()), ..Self::of(case) }
    }

    /// One cell.
    pub fn cell(case: &Case<'_>, cell: &Cell<'_>) -> Self {
        Self { environment: Some(cell.environment.to_owned()), ..Self::question(case, cell.model, cell.workload) }
    }

    /// Narrowed to a model.
    #[must_use]
    pub fn with_model(self, model: &str) -> Self {
        Self { model: Some(model.to_owned()), ..self }
    }

    /// Narrowed to a metric.
    #[must_use]
    pub fn with_metric(self, metric: &str) -> Self {
        Self { metric: Some(metric.to_owned()), ..self }
    }
}

/// The findings, or one that says there was nothing to look at: silence is not an answer.
pub(crate) fn or_missing(findings: Vec<Finding>, case: &Case<'_>) -> Vec<Finding> {
    let missing = || Finding::not_evaluated(Subject::of(case), "the campaign has no runs");
    if findings.is_empty() { vec![missing()] } else { findings }
}

/// One finding for each model and workload.
pub(crate) fn each_question(case: &Case<'_>, look: impl Fn(&Case<'_>, &str, &str) -> Finding) -> Vec<Finding> {
    or_missing(case.questions().into_iter().map(|(model, workload)| look(case, model, workload)).collect(), case)
}

/// One finding for each cell.
pub(crate) fn each_cell(case: &Case<'_>, look: impl Fn(&Case<'_>, &Cell<'_>) -> Finding) -> Vec<Finding> {
    or_missing(case.cells.iter().map(|cell| look(case, cell)).collect(), case)
}

/// `a, b, c and 2 more`: a message names the first ones, and its evidence has all.
pub(crate) fn first_of(names: impl Iterator<Item = String>) -> String {
    let mut named: Vec<String> = names.collect();
    let more = named.len().saturating_sub(MOST_NAMED);
    named.truncate(MOST_NAMED);
    named.extend((more > 0).then(|| format!("{more} more")));
    list(&named)
}

/// A metric inside a sentence: `output throughput`, `KV cache`.
pub(crate) fn named(metric: &str) -> String {
    let Some(known) = Metric::find(metric) else { return metric.to_owned() };
    let mut letters = known.label.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(std::iter::once(second)).chain(letters).collect()
        }
        _ => known.label,
    }
}

/// Unit of a metric, with the space that parts it from a figure. Empty where none is known.
pub(crate) fn unit(metric: &str) -> String {
    Metric::find(metric)
        .filter(|known| !known.unit.is_empty())
        .map_or_else(String::new, |known| format!(" {}", known.unit))
}

/// A model and a workload inside a sentence. The workload only where the campaign has several.
pub(crate) fn place(case: &Case<'_>, model: &str, workload: &str) -> String {
    let alone = case.cells.iter().all(|cell| cell.workload == workload);
    if alone { model.to_owned() } else { format!("{model}, {workload}") }
}

/// The same with its environment.
pub(crate) fn cell_place(case: &Case<'_>, cell: &Cell<'_>) -> String {
    format!("{} in {}", place(case, cell.model, cell.workload), cell.environment)
}

/// A fact of a run as a whole, with its line, since no single field holds it.
pub(crate) fn seen(run: &Run, text: impl Into<String>) -> Evidence {
    let mut evidence = Evidence::run(text, run.id.clone());
    let first = run.readings.first().map(|reading| reading.origin.clone());
    evidence.origin = first.map(|origin| Origin { field: None, ..origin });
    evidence
}

/// One reading as evidence, with the place where it is.
pub(crate) fn read(run: &Run, metric: &str, text: impl Into<String>) -> Evidence {
    let mut evidence = Evidence::run(text, run.id.clone());
    evidence.origin = run.reading(metric).map(|reading| reading.origin.clone());
    evidence
}

/// Metrics that order and spread are judged by: the primary ones, or, where none are chosen, every plain metric with a true zero.
pub(crate) fn judged<'a>(case: &'a Case<'a>) -> Vec<&'a str> {
    if !case.primary.is_empty() {
        return case.primary.iter().map(String::as_str).collect();
    }
    let mut known: Vec<(usize, &str)> = case
        .reported()
        .into_iter()
        .filter_map(|name| Metric::find(name).map(|metric| (metric, name)))
        .filter(|(metric, name)| metric.ratio_scale && metric.base() == *name)
        .map(|(metric, name)| (metric.rank(), name))
        .collect();
    known.sort_unstable();
    known.into_iter().map(|(_, name)| name).collect()
}

/// Result of a check of one cell and metric.
pub(crate) enum CellCheck {
    /// The trap is there.
    There(Finding),
    /// It is not. What was measured, in a few words.
    Clean(String),
    /// It could not be looked for. What was missing.
    NotEvaluable(String),
}

/// Looks at every cell and judged metric. Each hit is a finding. A question without a hit gets one, with what was measured or what was missing.
pub(crate) fn by_question(case: &Case<'_>, clean: &str, look: impl Fn(&Cell<'_>, &str) -> CellCheck) -> Vec<Finding> {
    let metrics = judged(case);
    let mut findings = Vec::new();
    for (model, workload) in case.questions() {
        let (mut hits, mut cleared, mut not_evaluable) = (Vec::new(), Vec::new(), Vec::new());
        for cell in case.arms(model, workload) {
            for metric in &metrics {
                match look(cell, metric) {
                    CellCheck::There(finding) => hits.push(finding),
                    CellCheck::Clean(text) => cleared.push(format!("{}, {}: {text}", cell.environment, named(metric))),
                    CellCheck::NotEvaluable(text) => {
                        not_evaluable.push(format!("{}, {}: {text}", cell.environment, named(metric)))
                    }
                }
            }
        }
        let subject = Subject::question(case, model, workload);
        if !hits.is_empty() {
            findings.extend(hits);
        } else if !cleared.is_empty() {
            findings.push(Finding::passed(subject, clean).evidence(cleared.into_iter().map(Evidence::text)));
        } else {
            let missing = match not_evaluable.first() {
                Some(first) => format!("nothing to look at: {first}"),
                None => "no metric of this campaign is known here".to_owned(),
            };
            findings
                .push(Finding::not_evaluated(subject, missing).evidence(not_evaluable.into_iter().map(Evidence::text)));
        }
    }
    or_missing(findings, case)
}

/// The course of a cell's values in time.
///
/// # Errors
/// What was missing, in words.
pub(crate) fn in_time(cell: &Cell<'_>, numbers: &[f64]) -> Result<Drift, String> {
    if cell.runs.iter().any(|run| run.started.is_none()) {
        return Err("runs without a start time".to_owned());
    }
    drift(numbers, 1.0 - ALPHA).ok_or_else(|| match numbers.len() {
        n if n < 3 => format!("{n} values, three are needed"),
        _ => "all values are the same".to_owned(),
    })
}

/// Measures of the campaign against drift and heat, so that advice does not repeat them.
pub(crate) fn cooldown(case: &Case<'_>) -> String {
    match case.campaign.cooldown_s {
        Some(pause) if pause > 0.0 => {
            format!("The stated pause of {} s between runs did not prevent it", crate::number::significant(pause, 4))
        }
        Some(_) => "There is no pause between runs. Add one".to_owned(),
        None => "No pause between runs is stated. State one and keep it".to_owned(),
    }
}
