//! The conclusions that the rows of a campaign support: sentences made by rule from comparisons and traps.
//!
//! In:  the case, its comparisons, traps, derived columns and published checks.  Out: headline, supported, unsupported.
//! Not here: any knowledge of a particular study. The same rules speak about every archive.

pub(super) mod answer;
pub(super) mod design;
mod headline;
mod hypothesis;
mod seen;
pub(super) mod short;

use self::headline::{comparable, headline_of, is_open, open_for_all};
use self::seen::seen;
use super::case::Case;
use super::columns::Derived;
use super::compare;
use super::distinct::distinct;
use super::number::{capital, count, list, significant};
use super::pool;
use super::report::{
    Comparison, Comparisons, Group, HypothesisReport, PublishedCheck, Sentence, Severity, TrapReport, TrapStatus,
};
use super::trap;
use sparkbench_model::{Metric, within};

/// Level of the test of arm by load below which the loads are said to differ.
const LOADS_DIFFER: f64 = 0.05;

/// Flagged values that one sentence names. The pages show all of them.
const MOST_FLAGGED: usize = 4;

/// The sentences of one campaign.
#[derive(Debug, Default)]
pub(crate) struct Conclusions {
    /// The expectation and the outcome.
    pub hypotheses: Vec<HypothesisReport>,
    /// The answer.
    pub headline: Vec<Sentence>,
    /// Conclusions that the rows support.
    pub supported: Vec<Sentence>,
    /// Conclusions that they do not support.
    pub unsupported: Vec<Sentence>,
}

/// Draws the conclusions.
pub(crate) fn conclude(
    case: &Case<'_>,
    groups: &[Group],
    comparisons: &Comparisons,
    pooled: &[Comparison],
    traps: &[TrapReport],
    derived: &[Derived],
    checks: &[PublishedCheck],
) -> Conclusions {
    let mut said = Conclusions::default();
    let own: Vec<&Comparison> = comparisons.iter().collect();
    let unjudged = comparable(&own);
    let some_unjudged = unjudged.is_some();
    said.headline.extend(unjudged);
    said.headline.extend(comparisons.all_loads.iter().filter(|c| c.is_answer).map(over_all_loads));
    let mut open: Vec<(Vec<&Comparison>, Sentence)> = Vec::new();
    for question in questions(&own) {
        for metric in &case.primary {
            let cells: Vec<&Comparison> = own
                .iter()
                .filter(|c| c.metric == *metric && (c.baseline.as_str(), c.candidate.as_str()) == question)
                .copied()
                .collect();
            let verdicts = headline_of(&cells);
            let readings = seen(&cells, traps);
            // Where labels cannot be trusted the readings still can: then they are the answer, and what is left of the verdicts follows.
            if some_unjudged {
                said.headline.extend(readings.clone());
                said.supported.extend(verdicts);
            } else {
                said.headline.extend(verdicts.clone());
                open.extend(verdicts.filter(|_| is_open(&cells)).map(|sentence| (cells, sentence)));
            }
            said.supported.extend(readings);
        }
    }
    lead(&mut said, hypothesis::assess(case, comparisons));
    for metric in &case.primary {
        gather(&mut said.headline, metric, &open);
    }
    let once = own.iter().find(|c| c.primary && c.verdict.is_once());
    said.headline.extend(once.and_then(|c| {
        let because = vec![c.ident()];
        Some(Sentence { text: c.verdict.advice.clone()?, caveats: Vec::new(), because })
    }));
    for comparison in pooled.iter().filter(|c| c.primary) {
        let mut caveats = vec![format!(
            "{} {} and {} {} runs",
            comparison.n_baseline, comparison.baseline, comparison.n_candidate, comparison.candidate
        )];
        caveats.extend(comparison.verdict.caveats.iter().cloned());
        said.supported.push(Sentence {
            text: format!(
                "{}, all runs read as one workload: {}. One model ran under the names {}.",
                comparison.label,
                comparison.verdict.said,
                list(&pool::labels_of(case, &comparison.model)),
            ),
            caveats,
            because: vec![trap::model_mismatch::ID.to_owned()],
        });
    }
    said.supported.extend(independent(case, derived));
    said.supported.extend(flagged(case, groups));
    if let Some(sentence) = reproduced(checks) {
        said.supported.push(sentence);
    }
    said.unsupported.extend(undermined(traps));
    said
}

/// "Output throughput over all 6 loads: docker is 0.98 times as fast as native (0.97 to 0.99). The loads differ: serve-c16 departs most."
fn over_all_loads(c: &Comparison) -> Sentence {
    let differs = c.interaction.as_ref().filter(|found| found.p < LOADS_DIFFER);
    let differs =
        differs.map_or_else(String::new, |found| format!(" The loads differ: {} departs most.", found.departs_most));
    Sentence {
        text: format!("{}: {}.{differs}", answer::about_arm(c), c.verdict.said),
        caveats: c.verdict.caveats.clone(),
        because: vec![c.ident()],
    }
}

/// Makes one sentence of those about one metric that leave everything open, for every candidate against one baseline.
fn gather(headline: &mut Vec<Sentence>, metric: &str, open: &[(Vec<&Comparison>, Sentence)]) {
    let is_of = |cells: &[&Comparison]| cells.first().is_some_and(|c| c.metric == metric);
    let pairs: Vec<(&[&Comparison], &Sentence)> = open
        .iter()
        .filter(|(cells, sentence)| is_of(cells) && headline.contains(sentence))
        .map(|(cells, sentence)| (cells.as_slice(), sentence))
        .collect();
    let mut baselines: Vec<&str> =
        pairs.iter().filter_map(|(cells, _)| cells.first()).map(|c| c.baseline.as_str()).collect();
    baselines.dedup();
    let ([_, _, ..], [_], Some(one)) = (&pairs[..], &baselines[..], open_for_all(&pairs)) else { return };
    let at =
        headline.iter().position(|sentence| pairs.iter().any(|(_, own)| *own == sentence)).unwrap_or(headline.len());
    headline.retain(|sentence| !pairs.iter().any(|(_, own)| *own == sentence));
    headline.insert(at.min(headline.len()), one);
}

/// Puts the hypotheses first. A sentence that one of them holds already would say the same again.
fn lead(said: &mut Conclusions, assessed: Vec<(HypothesisReport, Sentence)>) {
    let (hypotheses, sentences): (Vec<_>, Vec<_>) = assessed.into_iter().unzip();
    let covered = |sentence: &Sentence| {
        // Two pairs of arms may rest on cells of the same names, so the words decide too.
        let holds = |own: &Sentence| own.because == sentence.because && own.text.contains(&sentence.text);
        sentences.iter().any(|own| !own.because.is_empty() && holds(own))
    };
    said.headline.retain(|sentence| !covered(sentence));
    said.headline.splice(0..0, sentences);
    said.hypotheses = hypotheses;
}

fn questions<'a>(comparisons: &[&'a Comparison]) -> Vec<(&'a str, &'a str)> {
    distinct(comparisons.iter().map(|c| (c.baseline.as_str(), c.candidate.as_str())))
}

/// Number of measurements behind the columns.
fn independent(case: &Case<'_>, derived: &[Derived]) -> Option<Sentence> {
    let columns: Vec<&str> = case
        .reported()
        .into_iter()
        .filter(|name| Metric::find(name).is_some_and(|m| m.ratio_scale && m.base() == *name))
        .filter(|name| case.cells.iter().any(|cell| !cell.numbers(name).is_empty()))
        .collect();
    let functions: Vec<&Derived> = derived.iter().filter(|d| columns.contains(&d.column.as_str())).collect();
    if functions.is_empty() {
        return None;
    }
    let rules: Vec<String> = functions.iter().map(|d| d.rule.clone()).collect();
    Some(Sentence {
        text: format!(
            "The rows hold {}, not {}: {}.",
            count(columns.len() - functions.len(), "independent measurement"),
            columns.len(),
            list(&rules)
        ),
        caveats: Vec::new(),
        because: functions.iter().map(|d| d.relation.trap().to_owned()).fold(Vec::new(), |mut ids, id| {
            if !ids.contains(&id) {
                ids.push(id);
            }
            ids
        }),
    })
}

fn reproduced(checks: &[PublishedCheck]) -> Option<Sentence> {
    let text = super::published::summary(checks)?;
    Some(Sentence { text: format!("{text}."), caveats: Vec::new(), because: vec!["published".to_owned()] })
}

/// Every trap that fired takes a kind of claim away. What it takes is written beside the trap.
fn undermined(traps: &[TrapReport]) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for trap in trap::TRAPS {
        let fired: Vec<&TrapReport> = traps
            .iter()
            .filter(|t| t.id == trap.id() && t.status == TrapStatus::Fired && t.severity != Severity::Note)
            .collect();
        let claim = trap.undermines();
        // The gravest finding speaks for all of them, and of several the one that says most.
        let gravest = fired.iter().min_by_key(|t| (t.severity, std::cmp::Reverse(t.message.len())));
        let (Some(first), false) = (gravest, claim.is_empty()) else { continue };
        let more =
            if fired.len() > 1 { format!(" (and {})", count(fired.len() - 1, "more case")) } else { String::new() };
        sentences.push(Sentence {
            text: format!("{}. {}{more}.", capital(claim), begun(first).trim_end_matches('.')),
            caveats: Vec::new(),
            because: vec![trap.id().to_owned()],
        });
    }
    sentences
}

/// The message of a finding as a sentence begins: with a capital, unless it begins with a name.
fn begun(report: &TrapReport) -> String {
    let subject = &report.subject;
    let names = [&subject.model, &subject.workload, &subject.environment, &subject.metric];
    let named = names.into_iter().flatten().any(|name| !name.is_empty() && report.message.starts_with(name.as_str()));
    if named { report.message.clone() } else { capital(&report.message) }
}

/// Runs that a rule flags in a primary metric, with their values: shown and never dropped.
fn flagged(case: &Case<'_>, groups: &[Group]) -> Option<Sentence> {
    let mut said = Vec::new();
    let mut because = Vec::new();
    for group in groups.iter().filter(|g| g.campaign == case.campaign.name && case.primary.contains(&g.metric)) {
        for id in compare::flagged(group) {
            let value = group.run_ids.iter().zip(&group.values).find(|(run, _)| *run == id).map(|(_, v)| *v);
            let (Some(value), Some(median), Some(metric)) = (value, group.median, Metric::find(&group.metric)) else {
                continue;
            };
            because.push(format!("{}|{}|{}", group.model, group.workload, group.metric));
            let away = 100.0 * (value / median - 1.0).abs();
            said.push((
                away,
                format!(
                    "{id}: {} {} {}, median of its cell {}",
                    within(&metric.label),
                    significant(value, 4),
                    metric.unit,
                    significant(median, 4)
                ),
            ));
        }
    }
    because.dedup();
    said.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let all = said.len();
    let named: Vec<String> = said.into_iter().take(MOST_FLAGGED).map(|(_, text)| text).collect();
    (all > 0).then(|| Sentence {
        text: format!(
            "{} in the primary metrics {} flagged as {} and kept in every figure. {} {}.",
            count(all, "value"),
            if all == 1 { "is" } else { "are" },
            if all == 1 { "an outlier" } else { "outliers" },
            if all > named.len() {
                "These lie farthest from their medians."
            } else {
                "These are they, with their medians."
            },
            named.join(". ")
        ),
        caveats: Vec::new(),
        because,
    })
}
