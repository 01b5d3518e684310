//! The checks of a campaign as a page shows them: how many there were, and which found what.
//!
//! In:  reports of traps.  Out: plain values for templates.
//! Not here: the pages of the traps (see `traps`).

use super::super::index::{by_trap, overall, worst};
use super::super::labels::{self, Badge, counted};
use super::super::link::trap_href;
use sparkbench_verdict::report::{CampaignReport, Severity, TrapReport, TrapStatus};
use sparkbench_verdict::trap;

/// Traps that fired, each a link, and how many were looked for.
pub(crate) struct TrapStrip {
    /// Findings that are particular to these data, the worst first.
    pub fired: Vec<TrapChip>,
    /// Findings that few runs or requests cause by themselves.
    pub general: Vec<TrapChip>,
    /// The same in one line.
    pub general_line: String,
    /// `23 checks: 9 found something, 12 passed, 2 could not be evaluated.`
    pub line: String,
}

/// One trap that fired.
pub(crate) struct TrapChip {
    /// Its place on the traps page.
    pub href: String,
    /// Severity.
    pub badge: Badge,
    /// Name for people.
    pub title: String,
    /// Subjects it fired on with this severity.
    pub times: usize,
    /// Subjects it fired on with a lesser one: `4 warnings`.
    pub lesser: String,
}

/// Number of caveats beside an answer. Nobody reads more, and the page of the campaign has all.
const MOST_DOUBTS: usize = 3;

/// Notes that limit what any answer is worth: how few runs and machines there are.
const LIMITS: [&str; 2] = ["small-n", "single-setup"];

/// The caveats strip.
pub(crate) fn strip(root: &str, traps: &[&TrapReport]) -> TrapStrip {
    let grouped = by_trap(traps);
    let mut fired: Vec<_> = grouped
        .iter()
        .filter_map(|(id, reports)| {
            let severity = worst(reports)?;
            // An error is never counted away.
            let is_general = trap::find(id).is_some_and(|trap| trap.is_general()) && severity != Severity::Error;
            let chip = chip(root, id, severity, reports);
            Some((severity, is_general, reports.iter().filter(|r| r.status == TrapStatus::Fired).count(), chip))
        })
        .collect();
    fired.sort_by_key(|(severity, ..)| *severity);
    let (general, special): (Vec<_>, Vec<_>) = fired.into_iter().partition(|(_, is_general, ..)| *is_general);
    let findings: usize = general.iter().map(|(.., times, _)| times).sum();
    let general_line = format!(
        "{} found only that there are few runs, requests or machines ({})",
        counted(
            general.len(),
            if special.is_empty() { "check" } else { "more check" },
            if special.is_empty() { "checks" } else { "more checks" }
        ),
        counted(findings, "finding", "findings"),
    );
    let chips = |of: Vec<(Severity, bool, usize, TrapChip)>| of.into_iter().map(|(.., chip)| chip).collect();
    let count = |status| grouped.iter().filter(|(_, reports)| overall(reports) == status).count();
    let line = format!(
        "{}: {} found something, {} passed, {} could not be evaluated.",
        counted(grouped.len(), "check", "checks"),
        count(TrapStatus::Fired),
        count(TrapStatus::Passed),
        count(TrapStatus::NotEvaluated),
    );
    TrapStrip { fired: chips(special), general: chips(general), general_line, line }
}

/// A trap that fired, at its worst.
fn chip(root: &str, id: &str, severity: Severity, reports: &[&TrapReport]) -> TrapChip {
    let count = |as_severe| reports.iter().filter(|r| r.status == TrapStatus::Fired && r.severity == as_severe).count();
    let lesser: Vec<String> = [(Severity::Warning, "warning", "warnings"), (Severity::Note, "note", "notes")]
        .into_iter()
        .map(|(lesser, one, many)| (if lesser > severity { count(lesser) } else { 0 }, one, many))
        .filter(|(times, ..)| *times > 0)
        .map(|(times, one, many)| counted(times, one, many))
        .collect();
    TrapChip {
        href: trap_href(root, id),
        badge: labels::severity(severity),
        title: reports.first().map_or(id, |report| report.title).to_owned(),
        times: count(severity),
        lesser: lesser.join(", "),
    }
}

/// Caveats beyond those in the answer: first those that leave the cause of a difference open, then the gravest.
pub(super) fn doubts(root: &str, campaign: &CampaignReport, traps: &[&TrapReport]) -> Vec<TrapChip> {
    let told = |id: &str| campaign.headline.iter().flat_map(|s| &s.because).any(|because| because == id);
    let opens = |id: &str| {
        trap::find(id).is_some_and(|trap| campaign.primary.iter().any(|metric| trap.leaves_cause_open(metric)))
    };
    let mut found: Vec<(bool, Severity, TrapChip)> = by_trap(traps)
        .into_iter()
        .filter(|(id, _)| !told(id))
        .filter_map(|(id, reports)| {
            let severity = worst(&reports)?;
            let open = opens(id);
            let weighs = open || severity != Severity::Note || LIMITS.contains(&id);
            weighs.then(|| (!open, severity, chip(root, id, severity, &reports)))
        })
        .collect();
    found.sort_by_key(|(closed, severity, _)| (*closed, *severity));
    found.into_iter().take(MOST_DOUBTS).map(|(.., chip)| chip).collect()
}
