//! The answer of a campaign in one sentence that can be quoted alone.
//!
//! In:  a campaign with its headline, its comparisons.  Out: a sentence of about 25 words at most.
//! Not here: the sentence of each metric (see `headline`), expectations (see `hypothesis`).

use super::headline::{capital_unless_name, change, comparable, mislabelled, tells};
use super::seen;
use crate::distinct::distinct;
use crate::grammar::said::is_time;
use crate::number::{count, fixed, list, range, significant};
use crate::report::{Analysis, CampaignReport, Comparison, Scope, VerdictKind};
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
        .or_else(|| {
            let answers: Vec<&Comparison> = analysis.comparisons.answers(&campaign.name).collect();
            let answers = if answers.is_empty() { &own } else { &answers };
            of_comparisons(answers, &own, campaign)
        })
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

/// The answer of the rows that answer the question: those of all loads, else of the only one. Nothing where they have several baselines, or
/// where each is of single runs.
fn of_comparisons(answers: &[&Comparison], loads: &[&Comparison], campaign: &CampaignReport) -> Option<String> {
    let told: Vec<&Comparison> =
        answers.iter().filter(|c| c.primary && tells(c) && !c.verdict.is_once()).copied().collect();
    let first = *told.first()?;
    if told.iter().any(|c| c.baseline != first.baseline) {
        return None;
    }
    let is = |kind: VerdictKind| told.iter().filter(|c| c.verdict.kind == kind).copied().collect::<Vec<_>>();
    let (same, open) = (is(VerdictKind::Equivalent), is(VerdictKind::Inconclusive));
    let baseline = &first.baseline;
    if told.len() > same.len() + open.len() {
        return difference(&told, campaign);
    }
    let others = candidates(&told);
    if open.is_empty() {
        let labels: Vec<String> = distinct(told.iter().map(|c| within(&c.label)));
        let what = if labels.len() == 1 { format!(" in {}", labels.concat()) } else { String::new() };
        let margins = margins(&same);
        let loads = of_loads(first);
        return Some(format!("No difference{what} larger than {margins} % between {baseline} and {others}{loads}."));
    }
    let also = agreeing(&same, &told);
    let shown = if is_of_speed(&open) { "loss" } else { "difference" };
    let mut text = format!("No {shown} is shown between {baseline} and {others}{}.", of_loads(first));
    text.push_str(&excluded(&open, &told));
    text.push_str(&also);
    text.push_str(&one_side(&told, loads));
    Some(text)
}

/// "Output throughput over all 6 loads", or the label alone.
pub(super) fn about(c: &Comparison) -> String {
    format!("{}{}", c.label, of_loads(c))
}

/// The same with the candidate, where the verdict names no arm.
pub(super) fn about_arm(c: &Comparison) -> String {
    match c.verdict.kind {
        VerdictKind::Inconclusive => format!("{} of {}{}", c.label, c.candidate, of_loads(c)),
        _ => about(c),
    }
}

/// " over all 6 loads" for a row of all loads.
fn of_loads(c: &Comparison) -> String {
    match (c.scope, c.loads.len()) {
        (Scope::AllLoads, 2) => " over both loads".to_owned(),
        (Scope::AllLoads, loads) => format!(" over all {loads} loads"),
        (Scope::Load, _) => String::new(),
    }
}

/// " Within 3 % agree: end-to-end latency, output throughput of docker." Arms are named where only some agree.
fn agreeing(same: &[&Comparison], told: &[&Comparison]) -> String {
    if same.is_empty() {
        return String::new();
    }
    let each = distinct(same.iter().map(|c| within(&c.label))).into_iter().map(|label| {
        let is_of = |c: &&&Comparison| within(&c.label) == label;
        let arms = names(same.iter().filter(is_of).copied());
        let all = names(told.iter().filter(is_of).copied());
        if arms.len() == all.len() {
            return label;
        }
        let arms: Vec<String> = arms.into_iter().map(str::to_owned).collect();
        format!("{label} of {}", list(&arms))
    });
    let each: Vec<String> = each.collect();
    // The same arms in each metric are named once.
    let labels: Vec<String> = distinct(same.iter().map(|c| within(&c.label)));
    let arms_of = |own: &[&Comparison], label: &String| -> Vec<String> {
        names(own.iter().filter(|c| within(&c.label) == *label).copied()).into_iter().map(str::to_owned).collect()
    };
    let arms: Vec<Vec<String>> = labels.iter().map(|label| arms_of(same, label)).collect();
    if let ([first, rest @ ..], Some(one)) = (arms.as_slice(), same.first())
        && rest.iter().all(|arms| arms == first)
        && labels.iter().all(|label| arms_of(told, label).len() > first.len())
    {
        let verb = if first.len() == 1 { "agrees" } else { "agree" };
        let (who, what) = (list(first), list(&labels));
        return format!(" Within {} %, {who} {verb} with {} in {what}.", margins(same), one.baseline);
    }
    let verb = if each.len() == 1 { "agrees" } else { "agree" };
    format!(" Within {} % {verb}: {}.", margins(same), each.join(", "))
}

fn is_of_speed(open: &[&Comparison]) -> bool {
    open.iter().all(|c| is_time(c) || (c.direction == Direction::HigherIsBetter && c.unit.ends_with("/s")))
}

/// " Losses in output throughput up to 3.7 % are not excluded.": of the row that allows the most, among all that have the metric of the open
/// rows. Its arm is named where there are several.
fn excluded(open: &[&Comparison], told: &[&Comparison]) -> String {
    let speed = is_of_speed(open);
    let reach = |c: &&Comparison| if speed { slowest(c) } else { super::headline::bound(c) };
    let is_asked = |c: &&&Comparison| open.iter().any(|open| open.metric == c.metric);
    let most = told.iter().filter(is_asked).filter_map(|c| Some((*c, reach(c)?)));
    let most = most.filter(|(_, (most, _))| *most > 0.0 && most.is_finite()).max_by(|a, b| a.1.0.total_cmp(&b.1.0));
    most.map_or_else(String::new, |(c, (most, places))| {
        let what = if speed { "Losses" } else { "Differences" };
        let arm = if names(told.iter().copied()).len() > 1 { format!(" ({})", c.candidate) } else { String::new() };
        format!(" {what} in {} up to {} % are not excluded{arm}.", within(&c.label), fixed(most, places))
    })
}

/// How much worse the candidate could be, and the places to print it with.
fn slowest(c: &Comparison) -> Option<(f64, usize)> {
    let (interval, (_, places)) = (c.change_ci?, super::headline::bound(c)?);
    let worse = if c.direction == Direction::HigherIsBetter { -interval.low } else { interval.high };
    Some((worse, places))
}

/// " All 6 loads have 0.1 to 3.2 % less, which is not shown after correction.": where one arm is compared and all its loads lie on one side.
fn one_side(told: &[&Comparison], loads: &[&Comparison]) -> String {
    let [only] = told else { return String::new() };
    let own = loads.iter().filter(|c| {
        (c.metric.as_str(), c.candidate.as_str(), c.baseline.as_str())
            == (only.metric.as_str(), only.candidate.as_str(), only.baseline.as_str())
    });
    let changes: Vec<f64> = own.filter_map(|c| c.change_pct).collect();
    let is_all = changes.len() > 1 && changes.len() == only.loads.len();
    let below = changes.iter().all(|change| *change < 0.0);
    if !is_all || !(below || changes.iter().all(|change| *change > 0.0)) {
        return String::new();
    }
    let word = match (is_time(only), below) {
        (true, true) => "shorter",
        (true, false) => "longer",
        (false, true) => "less",
        (false, false) => "more",
    };
    format!(" All {} loads read {} % {word}, which is not shown after correction.", changes.len(), range(&changes, 1))
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
        return Some(format!("{}: {}{also}.", about(only), only.verdict.said));
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
