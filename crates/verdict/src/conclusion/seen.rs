//! Conclusions about a metric from its rows alone: labels may be wrong, but the readings remain.
//!
//! In:  the comparisons of one metric, the traps.  Out: one sentence.
//! Not here: verdicts (see `headline`).

use super::headline::{change, mislabelled};
use crate::number::{capital, count, list, range, signed_range};
use crate::report::{Comparison, Sentence, TrapReport, TrapStatus, VerdictKind};
use crate::trap;
use sparkbench_model::within;

/// Conclusions from the rows of one metric without their model labels, which may be wrong while the readings are right.
pub(super) fn seen(cells: &[&Comparison], traps: &[TrapReport]) -> Option<Sentence> {
    let usable: Vec<&Comparison> =
        cells.iter().filter(|c| c.change_pct.is_some() && c.change_ci.is_some()).copied().collect();
    let first = *usable.first()?;
    let because: Vec<String> = usable.iter().map(|c| c.ident()).collect();
    let beside_zero = |c: &Comparison| c.overhead_ci.as_ref().is_some_and(|i| i.low > 0.0 || i.high < 0.0);
    // Of many intervals of 95 % some leave zero out by chance: where there is a verdict, its adjusted p decides.
    let shown = |c: &Comparison| match c.verdict.kind {
        VerdictKind::NotComparable => beside_zero(c),
        VerdictKind::Equivalent | VerdictKind::Inconclusive => false,
        VerdictKind::Slower | VerdictKind::Faster | VerdictKind::More | VerdictKind::Less => true,
    };
    let apart: Vec<&Comparison> = usable.iter().filter(|c| shown(c)).copied().collect();
    let label = within(&first.label);
    let (a, b) = (&first.baseline, &first.candidate);
    let unjudged = usable.iter().any(|c| c.verdict.kind == VerdictKind::NotComparable);
    let mut caveats = Vec::new();
    if unjudged {
        caveats.push("read over all rows, also those that have no verdict".to_owned());
    }
    // Some of these rows are then of another model than their label says.
    let whichever = if mislabelled(&usable).is_empty() { "" } else { ", whichever model ran" };
    let several = |n: usize| match usable.len() {
        1 => whichever.to_owned(),
        all if n == all => format!(" in {}{whichever}", count(all, "comparison")),
        all => format!(" in {n} of {}{whichever}", count(all, "comparison")),
    };
    if apart.is_empty() {
        let changes: Vec<f64> = usable.iter().filter_map(|c| c.change_pct).collect();
        // As many places as the widest interval leaves a meaning.
        let places = usable.iter().filter_map(|c| c.change_ci).map(|i| crate::number::decimals(i.low, i.high));
        let reads = signed_range(&changes, places.min().unwrap_or(2));
        let than = if usable.iter().any(|c| beside_zero(c)) {
            format!(", and none is shown after adjusting for {}", count(first.p_adjusted.family_size, "comparison"))
        } else {
            ", and every interval includes zero".to_owned()
        };
        // A difference that may be there and was not found is no measured sameness.
        let same = usable.iter().all(|c| c.verdict.kind == VerdictKind::Equivalent);
        let text = format!(
            "No {} difference in {label}: {b} reads {reads} % against {a}{}{than}.",
            if same { "measurable" } else { "clear" },
            several(usable.len())
        );
        return Some(Sentence { text, caveats, because });
    }
    let differences: Vec<f64> = apart.iter().filter_map(|c| c.difference).collect();
    let changes: Vec<f64> = apart.iter().filter_map(|c| c.change_pct).collect();
    let one_side = differences.iter().all(|d| *d > 0.0) || differences.iter().all(|d| *d < 0.0);
    let least = differences.iter().map(|d| d.abs()).fold(f64::INFINITY, f64::min);
    let digits = if least >= 10.0 {
        1
    } else if least >= 0.1 {
        2
    } else {
        4
    };
    let unproven = causes_open(first, traps);
    if !unproven.is_empty() {
        caveats.push(format!("the cause is not shown: {}", list(&unproven)));
    }
    let cause = if unproven.is_empty() { "" } else { " The data do not show the cause." };
    let (many, unit) = (several(apart.len()), first.unit);
    let text = if one_side {
        format!("{} (by {} {unit}){many}.{cause}", change(&apart), range(&differences, digits))
    } else {
        format!(
            "{label} differs between {a} and {b} in both directions: {} % ({} {unit}){many}.{cause}",
            signed_range(&changes, 1),
            signed_range(&differences, digits)
        )
    };
    Some(Sentence { text: if text.starts_with(b.as_str()) { text } else { capital(&text) }, caveats, because })
}

/// Traps that leave the cause of a difference open: what was measured, and when.
pub(super) fn causes_open(c: &Comparison, traps: &[TrapReport]) -> Vec<String> {
    let fired = |id: &str| {
        traps.iter().any(|t| t.id == id && t.status == TrapStatus::Fired && t.subject.campaign == c.campaign)
    };
    trap::TRAPS.iter().filter(|t| t.leaves_cause_open(&c.metric) && fired(t.id())).map(|t| within(t.title())).collect()
}
