//! A whole campaign on one line: the change that a reader must know first, with its interval and the word of its verdict.
//!
//! In:  finished comparisons.  Out: [`Badge`], words only.
//! Not here: drawing, and any new number.
//!
//! A badge that shows the best of several results is an advertisement. This one shows the primary comparison that speaks most against
//! the candidate, and says of how many it is the worst.

use super::number::{decimals, fixed, signed};
use super::report::{Comparison, VerdictKind};

/// Text of a badge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Badge {
    /// Who is compared with whom, and by which metric.
    pub subject: String,
    /// Change, interval, verdict.
    pub message: String,
    /// The verdict, which also decides the colour. The word in the message says the same.
    pub kind: VerdictKind,
}

/// The badge of these comparisons: of the primary ones where there are any. None without a comparison.
pub fn of<'a>(comparisons: impl Iterator<Item = &'a Comparison> + Clone) -> Option<Badge> {
    let primary = comparisons.clone().filter(|c| c.primary && c.derived_from.is_none());
    let any_primary = primary.clone().next().is_some();
    let eligible: Vec<&Comparison> = if any_primary { primary.collect() } else { comparisons.collect() };
    // The first of equals: the order of comparisons is that of the campaign.
    let worst = eligible.iter().copied().reduce(|a, b| if is_worse(b, a) { b } else { a })?;
    let mut message = said(worst);
    if eligible.len() > 1 {
        message.push_str(&format!(", worst of {} comparisons", eligible.len()));
    }
    let subject = format!("{} against {}: {}", worst.candidate, worst.baseline, worst.label);
    Some(Badge { subject, message, kind: worst.verdict.kind })
}

/// How much a verdict speaks against the candidate: what is worse, then what is not known, then what has no worse side.
const fn rank(kind: VerdictKind) -> u8 {
    match kind {
        VerdictKind::Slower => 5,
        VerdictKind::NotComparable => 4,
        VerdictKind::Inconclusive => 3,
        VerdictKind::More | VerdictKind::Less => 2,
        VerdictKind::Equivalent => 1,
        VerdictKind::Faster => 0,
    }
}

fn is_worse(a: &Comparison, b: &Comparison) -> bool {
    // What is not known is as bad as it may be.
    let overhead = |c: &Comparison| match (c.verdict.kind, &c.overhead_ci) {
        (VerdictKind::Inconclusive, Some(ci)) => ci.high,
        _ => c.overhead_pct.unwrap_or(f64::NEG_INFINITY),
    };
    let (own, other) = (rank(a.verdict.kind), rank(b.verdict.kind));
    own > other || own == other && overhead(a) > overhead(b)
}

fn said(c: &Comparison) -> String {
    let word = c.verdict.word();
    if c.verdict.kind == VerdictKind::NotComparable && !c.verdict.is_once() {
        return word.to_owned();
    }
    let interval = c.change_ci.map(|ci| (ci.low, ci.high));
    match (c.change_pct, interval) {
        (Some(size), Some((low, high))) if low.is_finite() && high.is_finite() => {
            let places = decimals(low, high);
            format!("{}% ({} to {}), {word}", signed(size, places), fixed(low, places), fixed(high, places))
        }
        (Some(size), _) => format!("{}% (no interval), {word}", signed(size, 1)),
        (None, _) => word.to_owned(),
    }
}
