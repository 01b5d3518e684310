//! Hypotheses of a campaign, each checked against its comparisons.
//!
//! In:  what the authors expected, finished comparisons.  Out: [`HypothesisReport`]s, and their sentences for the headline.
//! Not here: the verdicts (see `grammar`), what a suite may say (see `plan`).

use super::headline::{headline_of, unjudged};
use crate::case::Case;
use crate::report::{Comparison, Comparisons, HypothesisReport, Outcome, Sentence, VerdictKind};
use sparkbench_model::{Hypothesis, Metric, within};

/// Every hypothesis, in the order of the campaign, with the sentence that leads its headline.
///
/// The answers over all loads tell, and of metrics that have none the single loads.
pub(super) fn assess(case: &Case<'_>, comparisons: &Comparisons) -> Vec<(HypothesisReport, Sentence)> {
    case.campaign.hypotheses.iter().map(|hypothesis| one(case, hypothesis, comparisons)).collect()
}

fn one(case: &Case<'_>, h: &Hypothesis, comparisons: &Comparisons) -> (HypothesisReport, Sentence) {
    let baseline = h.baseline.clone().or_else(|| case.baseline.map(str::to_owned));
    let about = |rows: &[Comparison]| rows.iter().any(|c| h.metric.as_ref() == Some(&c.metric));
    let of_loads = comparisons.all_loads.is_empty() || (h.metric.is_some() && !about(&comparisons.all_loads));
    let rows = if of_loads { &comparisons.loads } else { &comparisons.all_loads };
    let own: Vec<&Comparison> = rows
        .iter()
        .filter(|c| h.metric.as_ref().map_or(c.primary, |metric| *metric == c.metric))
        .filter(|c| baseline.as_ref().is_none_or(|name| *name == c.baseline))
        .filter(|c| h.candidate.as_ref().is_none_or(|name| *name == c.candidate))
        .collect();
    let is_open = |c: &&&Comparison| matches!(c.verdict.kind, VerdictKind::Inconclusive | VerdictKind::NotComparable);
    let confirming = |c: &Comparison| h.expect.as_deref().is_some_and(|kind| confirms(c, kind));
    let confirmed = own.iter().filter(|c| confirming(c)).count();
    let undecided = own.iter().filter(is_open).filter(|c| !confirming(c)).count();
    let outcome = outcome(h, own.len(), confirmed, undecided);
    let (found, caveats) = found(&own);
    let report = HypothesisReport {
        claim: h.claim.trim().to_owned(),
        metric: h.metric.clone(),
        expected: expected(h, baseline.as_deref()),
        baseline,
        candidate: h.candidate.clone(),
        expect: h.expect.clone(),
        outcome,
        found,
        confirmed,
        undecided,
        comparisons: own.len(),
        because: own.iter().map(|c| c.ident()).collect(),
    };
    let stop = if report.claim.ends_with(['.', '!', '?']) { "" } else { "." };
    let parts = [format!("\u{201c}{}{stop}\u{201d}", report.claim), said(&report), report.found.clone()];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let because = report.because.clone();
    (report, Sentence { text, caveats, because })
}

/// Whether a verdict is the expected one. A difference that is smaller than the margin is sameness within it, whether or
/// not it can be told from zero.
fn confirms(c: &Comparison, expect: &str) -> bool {
    let small = || {
        let told = c.verdict.kind != VerdictKind::NotComparable;
        let tost = c.tost.as_ref().filter(|_| told);
        tost.is_some_and(|t| t.smallest_margin_pct.is_some_and(|least| least < t.margin_pct))
    };
    c.verdict.kind.word() == expect.replace('_', " ") || (expect == "equivalent" && small())
}

fn outcome(h: &Hypothesis, comparisons: usize, confirmed: usize, undecided: usize) -> Outcome {
    match comparisons {
        0 => Outcome::NotMeasured,
        _ if h.expect.is_none() => Outcome::NoExpectation,
        all if confirmed == all => Outcome::Holds,
        _ if confirmed > 0 => Outcome::HoldsInPart,
        // A claim about all cells falls with the first that shows something else.
        all if undecided < all => Outcome::DoesNotHold,
        _ => Outcome::Undecided,
    }
}

/// The outcome as a sentence behind the claim.
fn said(report: &HypothesisReport) -> String {
    match report.outcome {
        Outcome::Holds => "This holds.".to_owned(),
        Outcome::HoldsInPart => format!("This holds in {} of {} comparisons.", report.confirmed, report.comparisons),
        Outcome::DoesNotHold => "This does not hold.".to_owned(),
        Outcome::Undecided => "This is undecided.".to_owned(),
        Outcome::NotMeasured | Outcome::NoExpectation => String::new(),
    }
}

/// Result of the comparisons, metric by metric and pair by pair, with caveats.
fn found(own: &[&Comparison]) -> (String, Vec<String>) {
    let mut parts: Vec<(&str, &str, &str)> = Vec::new();
    for c in own {
        let part = (c.metric.as_str(), c.baseline.as_str(), c.candidate.as_str());
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let (mut texts, mut caveats) = (Vec::new(), Vec::new());
    for part in &parts {
        let cells: Vec<&Comparison> = own
            .iter()
            .filter(|c| (c.metric.as_str(), c.baseline.as_str(), c.candidate.as_str()) == *part)
            .copied()
            .collect();
        let sentence = headline_of(&cells).or_else(|| unjudged(&cells));
        if let Some(sentence) = sentence {
            texts.push(sentence.text);
            caveats.extend(sentence.caveats);
        }
    }
    caveats.dedup();
    if texts.is_empty() {
        ("No run of this campaign speaks about it.".to_owned(), caveats)
    } else {
        (texts.join(" "), caveats)
    }
}

/// The expectation, in words.
fn expected(h: &Hypothesis, baseline: Option<&str>) -> String {
    let label = h.metric.as_deref().and_then(Metric::find).map(|metric| within(&metric.label));
    let (a, b) = (baseline.unwrap_or("the baseline"), h.candidate.as_deref().unwrap_or("the others"));
    let of = label.as_ref().map_or_else(String::new, |label| format!(" in {label}"));
    let more =
        |word: &str| format!("{b} with {word} {} than {a}", label.as_deref().unwrap_or("of the primary metrics"));
    match h.expect.as_deref() {
        None => "not stated".to_owned(),
        Some("equivalent") => {
            let margin = h
                .margin_pct
                .map_or_else(String::new, |margin| format!(" beyond {} %", crate::number::significant(margin, 3)));
            format!("no difference{of} between {a} and {b}{margin}")
        }
        Some("slower") => format!("{b} slower than {a}{of}"),
        Some("faster") => format!("{b} faster than {a}{of}"),
        Some(word @ ("more" | "less")) => more(word),
        Some("inconclusive") => format!("no verdict{of} between {a} and {b}"),
        Some(_) => format!("{a} and {b} cannot be compared{of}"),
    }
}
