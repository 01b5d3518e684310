//! What the rows of a campaign support, and what they do not: sentences made by rule from comparisons and traps.
//!
//! In:  the case, its comparisons, traps, derived columns and published checks.  Out: headline, supported, unsupported.
//! Not here: any knowledge of a particular study. The same rules speak about every archive.

use super::case::Case;
use super::compare;
use super::number::{count, fixed, list, significant};
use super::pool;
use super::report::{Comparison, Group, PublishedCheck, Sentence, Severity, TrapReport, TrapStatus, VerdictKind};
use super::trap::{self, Derived};
use crate::model::{Metric, within};

/// Flagged values that one sentence names; the pages show all of them.
const MOST_FLAGGED: usize = 4;

/// The sentences of one campaign.
#[derive(Debug, Default)]
pub struct Conclusions {
    /// The answer.
    pub headline: Vec<Sentence>,
    /// What the rows support.
    pub supported: Vec<Sentence>,
    /// What they do not.
    pub unsupported: Vec<Sentence>,
}

/// Draws the conclusions.
pub fn conclude(
    case: &Case<'_>,
    groups: &[Group],
    comparisons: &[Comparison],
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
                said.headline.extend(verdicts);
            }
            said.supported.extend(readings);
        }
    }
    for comparison in pooled.iter().filter(|c| c.primary) {
        said.supported.push(Sentence {
            text: format!(
                "Read as one workload, since the launch path shows one model under {}: {}, {} {} and {} {} runs: {}",
                list(&pool::labels_of(case, &comparison.model)),
                within(&comparison.label),
                comparison.n_baseline,
                comparison.baseline,
                comparison.n_candidate,
                comparison.candidate,
                comparison.verdict.text
            ),
            because: vec!["model-mismatch".to_owned()],
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

fn questions<'a>(comparisons: &[&'a Comparison]) -> Vec<(&'a str, &'a str)> {
    let mut pairs: Vec<_> = comparisons.iter().map(|c| (c.baseline.as_str(), c.candidate.as_str())).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn id(c: &Comparison) -> String {
    format!("{}|{}|{}", c.model, c.workload, c.metric)
}

/// Where a cell is, in words: only what tells it from the others.
fn place(c: &Comparison, cells: &[&Comparison]) -> String {
    let several = |of: fn(&Comparison) -> &str| cells.iter().any(|other| of(other) != of(c));
    match (several(|c| &c.model), several(|c| &c.workload)) {
        (true, true) => format!("{} {}", c.model, c.workload),
        (true, false) => c.model.clone(),
        (false, _) => c.workload.clone(),
    }
}

/// "2 of 3 models cannot be judged: ...": said first, since everything else depends on it. Each model has its own reasons.
fn comparable(comparisons: &[&Comparison]) -> Option<Sentence> {
    let primary: Vec<&Comparison> = comparisons.iter().filter(|c| c.primary).copied().collect();
    let mut models: Vec<&str> = primary.iter().map(|c| c.model.as_str()).collect();
    models.sort_unstable();
    models.dedup();
    let mut lost = Vec::new();
    let mut codes = Vec::new();
    for model in &models {
        let own: Vec<&Comparison> = primary.iter().filter(|c| c.model == *model).copied().collect();
        if own.iter().any(|c| c.verdict.kind != VerdictKind::NotComparable) {
            continue;
        }
        let mut reasons: Vec<&str> = Vec::new();
        for because in own.iter().flat_map(|c| &c.verdict.because) {
            if !reasons.contains(&because.as_str()) {
                reasons.push(because);
            }
        }
        codes.extend(own.iter().flat_map(|c| c.verdict.reasons.iter().cloned()));
        lost.push(format!("{model}, because {}", list(&reasons)));
    }
    if lost.is_empty() {
        return None;
    }
    let ids = trap::TRAPS.iter().filter(|t| t.code().is_some_and(|code| codes.iter().any(|c| c == code)));
    Some(Sentence {
        text: format!("{} of {} cannot be judged: {}.", lost.len(), count(models.len(), "model"), lost.join("; ")),
        because: ids.map(|t| t.id().to_owned()).collect(),
    })
}

/// "7 + 7 interleaved runs": what the cells of a sentence rest on; absent where they differ.
fn design(cells: &[&Comparison]) -> Option<String> {
    let first = cells.first()?;
    let same = |c: &&&Comparison| {
        (c.n_baseline, c.n_candidate, &c.order) == (first.n_baseline, first.n_candidate, &first.order)
    };
    if !cells.iter().all(|c| same(&c)) {
        return None;
    }
    let how = match first.order.as_str() {
        "interleaved" => "interleaved runs",
        // The caveats say what is wrong with any other order.
        _ => "runs",
    };
    let each = if cells.len() > 1 { " each" } else { "" };
    Some(format!(" ({} + {} {how}{each})", first.n_baseline, first.n_candidate))
}

/// One sentence for one primary metric over all cells that can be judged.
fn headline_of(cells: &[&Comparison]) -> Option<Sentence> {
    let judged: Vec<&Comparison> =
        cells.iter().filter(|c| c.verdict.kind != VerdictKind::NotComparable).copied().collect();
    let first = *judged.first()?;
    let because = judged.iter().map(|c| id(c)).collect();
    if let [only] = judged.as_slice() {
        let at = place(only, cells);
        let at = if at.is_empty() { String::new() } else { format!(", {at}") };
        let text = format!("{}{at}{}: {}", only.label, design(&judged).unwrap_or_default(), only.verdict.text);
        return Some(Sentence { text, because });
    }
    let mut parts = Vec::new();
    let mut kinds: Vec<VerdictKind> = judged.iter().map(|c| c.verdict.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let of_kind: Vec<&Comparison> = judged.iter().filter(|c| c.verdict.kind == kind).copied().collect();
        let where_: Vec<String> = of_kind.iter().map(|c| place(c, cells)).collect();
        let sizes = range(&of_kind.iter().filter_map(|c| c.overhead_pct).collect::<Vec<_>>(), 1);
        let (a, b) = (&first.baseline, &first.candidate);
        parts.push(match kind {
            VerdictKind::Equivalent => {
                let margin = of_kind.iter().filter_map(|c| Some(c.tost.as_ref()?.margin_pct)).fold(0.0, f64::max);
                format!("{a} and {b} are equivalent within {}% for {}", significant(margin, 3), list(&where_))
            }
            VerdictKind::Inconclusive => {
                let most = of_kind.iter().filter_map(|c| bound(c)).max_by(|a, b| a.0.total_cmp(&b.0));
                let most = most.map_or_else(
                    || "the runs set no bound on it".to_owned(),
                    |(most, places)| format!("it could be as large as {}%", fixed(most, places)),
                );
                format!("no difference shown for {}, where {most}", list(&where_))
            }
            _ => format!("{b} is {sizes}% {} than {a} for {}", kind.word(), list(&where_)),
        });
    }
    let shared: Vec<&String> = first
        .verdict
        .caveats
        .iter()
        .filter(|caveat| judged.iter().all(|c| c.verdict.caveats.contains(caveat)))
        .collect();
    let mut caveats: Vec<String> = shared.iter().map(|caveat| (*caveat).clone()).collect();
    for c in &judged {
        let own: Vec<&str> =
            c.verdict.caveats.iter().filter(|caveat| !shared.contains(caveat)).map(String::as_str).collect();
        if !own.is_empty() {
            caveats.push(format!("{}: {}", place(c, cells), own.join(", ")));
        }
    }
    let caveats: String = caveats.iter().map(|c| format!("; {c}")).collect();
    let design = design(&judged).unwrap_or_default();
    Some(Sentence { text: format!("{}{design}: {}{caveats}.", first.label, parts.join("; ")), because })
}

/// The largest difference that an interval allows, and the places to print it with: those of the verdict's own sentence.
fn bound(c: &Comparison) -> Option<(f64, usize)> {
    let interval = c.overhead_ci.as_ref()?;
    let most = interval.low.abs().max(interval.high.abs()) + c.drift_allowance_pct;
    Some((most, super::number::decimals(interval.low, interval.high)))
}

/// "0.3" or "0.1 to 0.3", without signs: the words around it carry the side.
fn range(values: &[f64], decimals: usize) -> String {
    let low = values.iter().map(|v| v.abs()).fold(f64::INFINITY, f64::min);
    let high = values.iter().map(|v| v.abs()).fold(0.0, f64::max);
    let (low, high) = (fixed(low, decimals), fixed(high, decimals));
    if low == high { low } else { format!("{low} to {high}") }
}

/// What the rows show of one metric whatever the models are called: the labels may be wrong and the readings still be readings.
fn seen(cells: &[&Comparison], traps: &[TrapReport]) -> Option<Sentence> {
    let usable: Vec<&Comparison> =
        cells.iter().filter(|c| c.overhead_pct.is_some() && c.overhead_ci.is_some()).copied().collect();
    let first = *usable.first()?;
    let because: Vec<String> = usable.iter().map(|c| id(c)).collect();
    let shown = |c: &Comparison| {
        let (size, interval) = (c.overhead_pct.unwrap_or(0.0), c.overhead_ci.as_ref());
        interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0) && size.abs() > c.drift_allowance_pct
    };
    let apart: Vec<&Comparison> = usable.iter().filter(|c| shown(c)).copied().collect();
    let label = within(&first.label);
    let drift = usable.iter().map(|c| c.drift_allowance_pct).fold(0.0, f64::max);
    let beyond =
        if drift > 0.0 { format!("beyond drift of up to {}%", fixed(drift, 1)) } else { "by the intervals".to_owned() };
    let (a, b) = (&first.baseline, &first.candidate);
    let unjudged = usable.iter().any(|c| c.verdict.kind == VerdictKind::NotComparable);
    let whatever = if unjudged { "Whatever the labels are worth, " } else { "" };
    if apart.is_empty() {
        let sizes: Vec<f64> = usable.iter().filter_map(|c| c.overhead_pct).collect();
        let (low, high) = (
            sizes.iter().copied().fold(f64::INFINITY, f64::min),
            sizes.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        // As many places as the widest interval leaves a meaning.
        let places =
            usable.iter().filter_map(|c| c.overhead_ci.as_ref()).map(|i| super::number::decimals(i.low, i.high));
        let places = places.min().unwrap_or(2);
        let (low, high) = (super::number::signed(low, places), super::number::signed(high, places));
        let reads = if low == high { low } else { format!("{low} to {high}") };
        let cells = if usable.len() > 1 { format!(" in {}", count(usable.len(), "comparison")) } else { String::new() };
        let text = format!(
            "{whatever}no {label} difference between {a} and {b} is shown {beyond}: the overhead reads {reads}%{cells}."
        );
        return Some(Sentence { text: capital(&text), because });
    }
    let one_side = apart.iter().all(|c| c.difference.is_some_and(|d| d > 0.0))
        || apart.iter().all(|c| c.difference.is_some_and(|d| d < 0.0));
    let differences: Vec<f64> = apart.iter().filter_map(|c| c.difference).collect();
    let sizes: Vec<f64> = apart.iter().filter_map(|c| c.overhead_pct).collect();
    let least = differences.iter().map(|d| d.abs()).fold(f64::INFINITY, f64::min);
    let digits = if least >= 10.0 {
        1
    } else if least >= 0.1 {
        2
    } else {
        4
    };
    let side = if differences.iter().all(|d| *d > 0.0) { "higher" } else { "lower" };
    let of = match usable.len() {
        1 => String::new(),
        all => format!("{} of {} ", apart.len(), count(all, "comparison")),
    };
    let mut text = if one_side {
        format!(
            "{whatever}the {label} reading is {} {} {side} in {b} than in {a} ({}%), {of}{beyond}",
            range(&differences, digits),
            first.unit,
            range(&sizes, 1),
        )
    } else {
        format!(
            "{whatever}the {label} reading of {b} differs from {a} by {} {} ({}%), in both directions, in {} of {}",
            range(&differences, digits),
            first.unit,
            range(&sizes, 1),
            apart.len(),
            count(usable.len(), "comparison"),
        )
    };
    let unproven = causes_open(first, traps);
    if !unproven.is_empty() {
        text.push_str(&format!("; the cause is not shown ({})", list(&unproven)));
    }
    text.push('.');
    Some(Sentence { text: capital(&text), because })
}

/// Traps that leave the cause of a difference open: what was measured, and when.
fn causes_open(c: &Comparison, traps: &[TrapReport]) -> Vec<String> {
    let fired = |id: &str| {
        traps.iter().any(|t| t.id == id && t.status == TrapStatus::Fired && t.subject.campaign == c.campaign)
    };
    trap::TRAPS.iter().filter(|t| t.leaves_cause_open(&c.metric) && fired(t.id())).map(|t| within(t.title())).collect()
}

/// How many measurements stand behind the columns.
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
    Some(Sentence { text: format!("{text}."), because: vec!["published".to_owned()] })
}

/// Every trap that fired takes a kind of claim away; what it takes is written beside the trap.
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
        let more = if fired.len() > 1 { format!(" (and {} more)", fired.len() - 1) } else { String::new() };
        sentences.push(Sentence {
            text: format!("{}: {}{more}.", capital(claim), first.message.trim_end_matches('.')),
            because: vec![trap.id().to_owned()],
        });
    }
    sentences
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Runs that a rule flags in a primary metric, with their values: seen by everybody, dropped by nobody.
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
                    "{id} ({} {} {}, median of its cell {})",
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
            "{} in the primary metrics {} flagged as {} and kept in every figure; {}: {}.",
            count(all, "value"),
            if all == 1 { "is" } else { "are" },
            if all == 1 { "an outlier" } else { "outliers" },
            if all > named.len() { "the farthest from their medians" } else { "with their medians" },
            list(&named)
        ),
        because,
    })
}
