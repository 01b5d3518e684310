//! Forest plots: changes with their intervals and margins.
//!
//! In:  comparisons with their anchors.  Out: a drawing, its finding, and the verdicts counted beside it.
//! Not here: metrics without a true zero, which have no per cent and are left to the tables.

use std::collections::BTreeMap;

use super::{FigureView, ends};
use crate::chart::VerdictMark;
use crate::chart::forest::{self, Forest, Panel};
use crate::page::campaign::cell;
use crate::page::comparison::RowView;
use crate::page::labels::{self, place};
use crate::page::number::plain;
use sparkbench_model::{Direction, within};
use sparkbench_verdict::report::{CampaignReport, Comparison, Scope, VerdictKind};

/// Changes with their intervals and margins. One panel per metric and pair of environments. Metrics without a true
/// zero have no per cent and are left to the tables.
pub(crate) fn forest(
    id: &str,
    title: &str,
    campaign: &CampaignReport,
    comparisons: &[(&str, &Comparison)],
    root: &str,
) -> Option<FigureView> {
    forest_to(id, title, campaign, comparisons, &|anchor, _| format!("{root}c/{}/index.html#{anchor}", campaign.name))
}

/// The same with rows that lead where `href` says.
pub(crate) fn forest_to(
    id: &str,
    title: &str,
    campaign: &CampaignReport,
    comparisons: &[(&str, &Comparison)],
    href: &dyn Fn(&str, &Comparison) -> String,
) -> Option<FigureView> {
    let mut panels: Vec<Panel> = Vec::new();
    let several_pairs = campaign.environments.len() > 2;
    for (anchor, c) in comparisons.iter().filter(|(_, c)| has_per_cent(c)) {
        let way = match c.direction {
            Direction::Neutral => "right: more",
            Direction::HigherIsBetter => "right: more, which is better",
            Direction::LowerIsBetter => "right: more, which is worse",
        };
        let pair = if several_pairs { format!(", {} against {}", c.candidate, c.baseline) } else { String::new() };
        let heading = format!("{}{pair} ({way})", c.label);
        let label = match (campaign.models.len() > 1, campaign.workloads.len() > 1) {
            _ if c.scope == Scope::AllLoads => place(c),
            (true, true) => format!("{} · {}", c.model, c.workload),
            // The one model is named above. Of a long label the end is cut, which is what tells the rows apart.
            (false, true) => c.workload.clone(),
            (_, false) => c.model.clone(),
        };
        let row = forest::Comparison {
            label,
            group: None,
            estimate: c.change_pct,
            interval: c.change_ci.map(ends),
            // The 90 % interval does not count the looks.
            inner: c.overhead_ci90.filter(|_| c.sequential.is_none()).and_then(|ci| c.change_within(ci)).map(ends),
            margin: c.tost.as_ref().map(|t| t.margin_pct),
            verdict: labels::judged(c).word.to_owned(),
            // A ratio of single runs has its mark, hollow: it decides nothing.
            kind: match c.verdict.is_once() {
                true => VerdictMark::Inconclusive,
                false => VerdictMark::from_word(c.verdict.kind.word()).unwrap_or_default(),
            },
            href: Some(href(anchor, c)),
        };
        match panels.iter_mut().find(|p| p.heading == heading) {
            Some(panel) => panel.rows.push(row),
            None => panels.push(Panel { heading, rows: vec![row] }),
        }
    }
    if panels.is_empty() {
        return None;
    }
    let against = campaign.baseline.as_deref().unwrap_or("the baseline");
    let chart = Forest {
        title: title.to_owned(),
        finding: Some(forest_finding(campaign, comparisons)),
        axis: format!("change against {against}, %"),
        unit: "%".into(),
        panels,
    };
    let mut view = FigureView::new(id, chart.draw(id));
    view.tally = tally(comparisons);
    if let Some(report) = comparisons.iter().find_map(|(_, c)| c.sequential.as_ref()) {
        let level = plain(report.confidence_pct());
        view.note = Some(format!(
            "This campaign stops when it is decided: the lines are repeated {level} % intervals, which may be read at every look."
        ));
    }
    Some(view)
}

/// A forest plot in one sentence: the largest shown difference, or that there is none. How many there are of each
/// verdict is counted beside it.
fn forest_finding(campaign: &CampaignReport, comparisons: &[(&str, &Comparison)]) -> String {
    let drawn: Vec<&Comparison> = comparisons.iter().map(|(_, c)| *c).filter(|c| has_per_cent(c)).collect();
    let shown = |c: &&&Comparison| {
        let kind = c.verdict.kind;
        use VerdictKind::{Faster, Less, More, Slower};
        matches!(kind, Slower | Faster | More | Less) && c.change_pct.is_some_and(f64::is_finite)
    };
    let size = |c: &Comparison| c.change_pct.map_or(0.0, f64::abs);
    // The first of equals, in the order of the rows.
    let largest = drawn.iter().filter(shown).copied().reduce(|a, b| if size(b) > size(a) { b } else { a });
    if let Some(c) = largest {
        let row = RowView::new("", c);
        let pair = match campaign.environments.len() {
            0..=2 => String::new(),
            _ => format!(", {} against {}", c.candidate, c.baseline),
        };
        let interval = if row.change_ci.is_empty() { String::new() } else { format!(" {}", row.change_ci) };
        return format!(
            "The {} is {}{interval}, {}: {} of {}{pair}.",
            if drawn.iter().filter(shown).count() == 1 { "one difference shown" } else { "largest difference shown" },
            row.change,
            row.badge.word,
            within(&c.label),
            if c.scope == Scope::AllLoads { place(c) } else { cell(campaign, &c.model, &c.workload) },
        );
    }
    let same = drawn.iter().filter(|c| c.verdict.kind == VerdictKind::Equivalent).count();
    let once = drawn.iter().filter(|c| c.verdict.is_once()).count();
    let incomparable = drawn.iter().filter(|c| c.verdict.kind == VerdictKind::NotComparable).count();
    let others = match drawn.len() - same {
        1 if incomparable == 1 => "The other is not comparable.",
        1 => "The other is undecided.",
        n if incomparable == n => "The others are not comparable.",
        _ if incomparable > 0 => "The others are undecided or not comparable.",
        _ => "The others are undecided.",
    };
    match drawn.len() {
        1 if same == 1 => "The difference lies within its margin.".into(),
        n if same == n => format!("All {n} differences lie within their margins."),
        n if once == n => "Single runs: a ratio each, and no interval.".into(),
        n if incomparable == n => "None of these comparisons has a verdict.".into(),
        n if same == 1 => format!("1 of {n} lies within its margin. {others}"),
        n if same > 0 => format!("{same} of {n} lie within their margins. {others}"),
        _ => "Nothing is decided: none is shown to differ, and none to lie within its margin.".into(),
    }
}

/// Verdict kinds with their counts, in the order of the contract.
pub(crate) fn tally(comparisons: &[(&str, &Comparison)]) -> Vec<(labels::Badge, usize)> {
    let mut counts = BTreeMap::new();
    for (_, comparison) in comparisons {
        let of_kind =
            counts.entry((comparison.verdict.kind, comparison.verdict.is_once())).or_insert((*comparison, 0_usize));
        of_kind.1 += 1;
    }
    counts.into_values().map(|(one, n)| (labels::judged(one), n)).collect()
}

/// Whether a comparison has a place in a forest plot.
pub(crate) fn has_per_cent(c: &Comparison) -> bool {
    c.change_pct.is_some() || c.derived_from.is_none() && c.primary
}
