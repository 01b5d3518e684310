//! The answer of a campaign in one sentence that can be quoted alone.
//!
//! In:  a campaign with its headline, its comparisons.  Out: a sentence of about 25 words at most.
//! Not here: the sentence of each metric (see `headline`), expectations (see `hypothesis`).

use super::headline::{capital_unless_name, change, comparable, mislabelled, tells};
use super::seen;
use crate::grammar::said::is_time;
use crate::number::{count, fixed, significant};
use crate::report::{Analysis, CampaignReport, Comparison, VerdictKind};
use sparkbench_model::{Direction, within};

/// Candidates that the sentence names. More are counted.
const MOST_NAMED: usize = 3;

/// Gives every campaign its answer.
pub(crate) fn give(analysis: &mut Analysis) {
    let answers: Vec<Option<String>> = analysis.campaigns.iter().map(|campaign| answer(analysis, campaign)).collect();
    for (campaign, answer) in analysis.campaigns.iter_mut().zip(answers) {
        campaign.answer = answer;
    }
}

/// Load clients, where they are what is compared. Otherwise what the labels are worth, since everything else depends on it, with what is
/// left to compare, then what the design gave as the answer, and then the comparisons. Where no comparison tells anything, the answer is
/// the first sentence of the headline.
fn answer(analysis: &Analysis, campaign: &CampaignReport) -> Option<String> {
    let own: Vec<&Comparison> = analysis.comparisons.iter().filter(|c| c.campaign == campaign.name).collect();
    let first = || {
        let first = campaign.headline.get(campaign.hypotheses.len()).or_else(|| campaign.headline.first())?;
        Some(first.lead().to_owned())
    };
    if analysis.is_about_clients(campaign) {
        return first();
    }
    let labels = || comparable(&own).map(|sentence| sentence.text);
    of_the_only_model(analysis, &own, campaign)
        .or_else(|| {
            let parts: Vec<String> = labels().into_iter().chain(campaign.answer.clone()).collect();
            (!parts.is_empty()).then(|| parts.join(" "))
        })
        .or_else(|| of_comparisons(&own, campaign))
        .or_else(first)
}

/// What came out for the one model that was really measured, where another ran under the names of all others. Nothing where several
/// comparisons of one metric, or of single runs, would need more than a sentence.
fn of_the_only_model(analysis: &Analysis, own: &[&Comparison], campaign: &CampaignReport) -> Option<String> {
    let others = mislabelled(own);
    let told: Vec<&Comparison> = own.iter().filter(|c| c.primary && tells(c)).copied().collect();
    let model = &told.first()?.model;
    let is_simple = |c: &&Comparison| {
        let one_metric = told.iter().filter(|other| other.metric == c.metric).count() == 1;
        c.model == *model && one_metric && !c.verdict.is_once()
    };
    let judged = |c: &&Comparison| c.model == *model || others.contains(&c.model.as_str());
    if others.is_empty() || !told.iter().all(is_simple) || !own.iter().filter(|c| c.primary).all(judged) {
        return None;
    }
    let first = told.iter().filter(|c| is_apart(c)).min_by_key(|c| rank(c, campaign)).copied();
    let same = told.iter().find(|c| c.verdict.kind == VerdictKind::Equivalent).copied();
    let found = match (first, same) {
        (Some(c), same) => {
            let than = format!(" than {}", c.baseline);
            let change = change(&[c]);
            let cause = if seen::causes_open(c, &analysis.traps).is_empty() { "" } else { " (cause not shown)" };
            let also = same.map_or_else(String::new, |same| {
                format!(", and {} agrees within {} %", within(&same.label), margins(&[same]))
            });
            format!("{}{cause}{also}", change.strip_suffix(&than).unwrap_or(&change))
        }
        (None, Some(same)) => {
            let (a, b) = (&same.baseline, &same.candidate);
            format!("{} agrees within {} % between {a} and {b}", within(&same.label), margins(&[same]))
        }
        (None, None) => return None,
    };
    Some(format!("Only {model} ran under its own name: {found}."))
}

/// The answer of the primary comparisons. Nothing where they have several baselines, or where each is of single runs.
fn of_comparisons(own: &[&Comparison], campaign: &CampaignReport) -> Option<String> {
    let told: Vec<&Comparison> =
        own.iter().filter(|c| c.primary && tells(c) && !c.verdict.is_once()).copied().collect();
    let first = *told.first()?;
    if told.iter().any(|c| c.baseline != first.baseline) {
        return None;
    }
    let is = |kind: VerdictKind| told.iter().filter(|c| c.verdict.kind == kind).copied().collect::<Vec<_>>();
    let (same, open) = (is(VerdictKind::Equivalent), is(VerdictKind::Inconclusive));
    let apart = told.len() - same.len() - open.len();
    let baseline = &first.baseline;
    if apart > 0 {
        return difference(&told, campaign);
    }
    let others = candidates(&told);
    Some(match (same.len(), open.len(), told.len()) {
        (_, 0, 1) => format!(
            "No difference in {} larger than {} % between {baseline} and {others}.",
            within(&first.label),
            margins(&same)
        ),
        (_, 0, all) => format!(
            "No difference between {baseline} and {others}: all {all} comparisons agree within {} %.",
            margins(&same)
        ),
        (0, _, 1) => format!(
            "The comparison of {} between {baseline} and {others} is undecided{}.",
            within(&first.label),
            bound(&open)
        ),
        (0, _, all) => {
            format!("{}: all {all} comparisons between {baseline} and {others} are undecided.", nothing_shown(&open))
        }
        (same_n, open_n, all) if same_n > open_n => format!(
            "{}: {same_n} of {all} comparisons between {baseline} and {others} agree, and {open_n} {} undecided.",
            nothing_shown(&open),
            if open_n == 1 { "is" } else { "are" }
        ),
        (_, open_n, all) => format!(
            "{}: {open_n} of {all} comparisons between {baseline} and {others} {} undecided.",
            nothing_shown(&open),
            if open_n == 1 { "is" } else { "are" }
        ),
    })
}

/// "No slowdown is shown, but up to 4.2 % is possible": what people ask first, where no comparison shows a difference. Of the undecided ones.
fn nothing_shown(open: &[&Comparison]) -> String {
    let of_speed = |c: &&Comparison| is_time(c) || (c.direction == Direction::HigherIsBetter && c.unit.ends_with("/s"));
    let speed = open.iter().all(of_speed);
    let what = if speed { "slowdown" } else { "difference" };
    let most = open.iter().filter_map(|c| if speed { slowest(c) } else { super::headline::bound(c) });
    let most = most.filter(|(most, _)| *most > 0.0 && most.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0));
    let most =
        most.map_or_else(String::new, |(most, places)| format!(", but up to {} % is possible", fixed(most, places)));
    format!("No {what} is shown{most}")
}

/// How much worse the candidate could be, and the places to print it with.
fn slowest(c: &Comparison) -> Option<(f64, usize)> {
    let (interval, (_, places)) = (c.change_ci?, super::headline::bound(c)?);
    let worse = if c.direction == Direction::HigherIsBetter { -interval.low } else { interval.high };
    Some((worse, places))
}

/// Whether a verdict shows a difference.
fn is_apart(c: &Comparison) -> bool {
    !matches!(c.verdict.kind, VerdictKind::Equivalent | VerdictKind::Inconclusive)
}

/// Place of the metric of a comparison among the primary metrics of its campaign.
fn rank(c: &Comparison, campaign: &CampaignReport) -> usize {
    campaign.primary.iter().position(|name| *name == c.metric).unwrap_or(usize::MAX)
}

/// The difference in the first of the primary metrics that has one: of the candidate that differs most, over its cells.
fn difference(told: &[&Comparison], campaign: &CampaignReport) -> Option<String> {
    let metric = &told.iter().filter(|c| is_apart(c)).min_by_key(|c| rank(c, campaign))?.metric;
    let size = |c: &Comparison| c.change_pct.map_or(0.0, f64::abs);
    let of_metric: Vec<&Comparison> = told.iter().filter(|c| c.metric == *metric).copied().collect();
    let most = of_metric.iter().filter(|c| is_apart(c)).max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let cells: Vec<&Comparison> = of_metric.iter().filter(|c| c.candidate == most.candidate).copied().collect();
    let own: Vec<&Comparison> = cells.iter().filter(|c| is_apart(c)).copied().collect();
    // Other candidates of which the same metric differs are named, so that nobody takes one for all.
    let mut others = names(of_metric.iter().filter(|c| is_apart(c)).copied());
    others.retain(|name| *name != most.candidate);
    let also = match others.as_slice() {
        [] => String::new(),
        [one] => format!(", and {one} differs too"),
        many => format!(", and {} differ too", count(many.len(), "other")),
    };
    if let ([only], [_]) = (own.as_slice(), cells.as_slice()) {
        return Some(format!("{}: {}{also}.", only.label, only.verdict.said));
    }
    let among = if own.len() == cells.len() {
        format!(" in all {} comparisons", cells.len())
    } else {
        format!(" in {} of {} comparisons", own.len(), cells.len())
    };
    Some(capital_unless_name(&format!("{}{among}{also}.", change(&own)), most))
}

/// `chroot`, `chroot or docker`, `any of the 5 others`.
fn candidates(told: &[&Comparison]) -> String {
    match names(told.iter().copied()).as_slice() {
        many if many.len() > MOST_NAMED => format!("any of the {}", count(many.len(), "other")),
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        names => names.concat(),
    }
}

/// Every candidate once, in the order of the comparisons.
fn names<'c>(comparisons: impl Iterator<Item = &'c Comparison>) -> Vec<&'c str> {
    let mut names: Vec<&str> = Vec::new();
    for c in comparisons {
        if !names.contains(&c.candidate.as_str()) {
            names.push(&c.candidate);
        }
    }
    names
}

/// `3`, or `2 to 5`: the margins within which comparisons agree, per cent.
fn margins(same: &[&Comparison]) -> String {
    let margins = || same.iter().filter_map(|c| Some(c.tost.as_ref()?.margin_pct));
    let (low, high) = (margins().fold(f64::INFINITY, f64::min), margins().fold(0.0, f64::max));
    if low < high { format!("{} to {}", significant(low, 3), significant(high, 3)) } else { significant(high, 3) }
}

/// `: the difference could be up to 7.5 %`.
fn bound(open: &[&Comparison]) -> String {
    let most = open.iter().filter_map(|c| super::headline::bound(c)).max_by(|a, b| a.0.total_cmp(&b.0));
    most.map_or_else(String::new, |(most, places)| format!(": the difference could be up to {} %", fixed(most, places)))
}
