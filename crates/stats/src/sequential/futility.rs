//! Whether the remaining looks can still decide a comparison.
//!
//! In:  a comparison at a look, the levels of the remaining looks.  Out: yes or no.
//! Not here: the consequence (see `run`).
//!
//! The most favourable course is assumed. The coming blocks have any one mean difference inside the present 95 % interval, whichever helps
//! most, and the spread stays as it is. If no remaining look would decide even then, the comparison is without prospects. To stop for it, or
//! not to, leaves the error rates as they are, because it declares no difference and no equivalence.

use super::course::{self, Pair};
use super::design::Levels;
use crate::dist;

/// Confidence of the interval from which the most favourable course is taken.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Whether no look after the first `now` blocks can decide. `later` are the blocks at the looks that are left, and `levels` those of all
/// looks, the last of which belong to them. Without two values in an arm nothing is known, and so nothing is without prospects.
pub(super) fn is_hopeless(pair: &Pair<'_>, now: usize, later: &[usize], levels: &Levels) -> bool {
    let Some(found) = course::contrast(pair, now) else { return false };
    let (d, se, df) = (found.estimate, found.se, found.df);
    let (low, high) = found.interval(CONFIDENCE);
    let limits = pair.limits();
    let first = levels.difference_p.len().saturating_sub(later.len());
    let can = |at: usize, then: usize| {
        let (n, whole) = (now as f64, then as f64);
        let se = se * (n / whole).sqrt();
        let df = df * (whole - 1.0) / (n - 1.0);
        let at_end = |rest: f64| (n * d + (whole - n) * rest) / whole;
        let level = |levels: &[f64]| levels.get(first + at).copied().unwrap_or(0.0);
        let differs =
            [low, high].into_iter().any(|rest| dist::t_two_sided(at_end(rest) / se, df) < level(&levels.difference_p));
        // The mean to come that brings the whole closest to the middle of the margin.
        let same = limits.is_some_and(|(least, most)| {
            let middle = 0.5 * (least + most);
            let best = ((middle * whole - n * d) / (whole - n)).clamp(low, high);
            let (end, level) = (at_end(best), level(&levels.equivalence_p));
            dist::t_sf((end - least) / se, df).max(dist::t_sf((most - end) / se, df)) < level
        });
        differs || same
    };
    // Without any spread every look decides.
    se > 0.0 && !later.iter().enumerate().any(|(at, then)| *then > now && can(at, *then))
}
