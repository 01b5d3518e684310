//! The trap engine: every way a benchmark is known to lie has a named check here.
//!
//! In:  one campaign as a [`Case`].  Out: findings, each fired, passed or not evaluated.
//! Not here: what a verdict makes of them.
//!
//! Adding a trap is one file and one line in [`TRAPS`].

use super::case::Case;
use super::report::{Evidence, Severity, Subject, TrapReport, TrapStatus};

/// One named way in which a benchmark lies.
pub trait Trap: Sync {
    /// Contract id, words joined by hyphens.
    fn id(&self) -> &'static str;
    /// `P1` to `P17`, where it is one of the plausibility rules.
    fn code(&self) -> Option<&'static str> {
        None
    }
    /// Name for people, a few words.
    fn title(&self) -> &'static str;
    /// How bad it is when it fires.
    fn severity(&self) -> Severity;
    /// One paragraph of Markdown: why it misleads, how it is detected (with its thresholds, from the constants), how to avoid it.
    fn about(&self) -> String;
    /// The claim that falls when this trap fires, as a clause after "not supported:"; empty when none does.
    fn undermines(&self) -> &'static str {
        ""
    }
    /// Looks. At least one finding; "cannot look" is a finding too.
    fn check(&self, case: &Case<'_>) -> Vec<Finding>;
}

/// What a trap saw of one subject.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Fired, passed or not evaluated.
    pub status: TrapStatus,
    /// What it speaks of.
    pub subject: Subject,
    /// One sentence with the figures; when not evaluated, what was missing.
    pub message: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What to do about it.
    pub remedy: String,
    /// Overrides the trap's own severity where a rule has two.
    pub severity: Option<Severity>,
}

/// Every trap, in the order in which pages list them.
pub static TRAPS: &[&dyn Trap] = &[];

/// Runs every trap over a campaign. Sorted by the order of [`TRAPS`], then by subject.
pub fn look(case: &Case<'_>) -> Vec<TrapReport> {
    let mut reports = Vec::new();
    for trap in TRAPS {
        let mut findings = trap.check(case);
        findings.sort_by(|a, b| a.subject.cmp(&b.subject));
        reports.extend(findings.into_iter().map(|finding| TrapReport {
            id: trap.id(),
            code: trap.code(),
            title: trap.title(),
            severity: finding.severity.unwrap_or_else(|| trap.severity()),
            status: finding.status,
            subject: finding.subject,
            message: finding.message,
            evidence: finding.evidence,
            remedy: finding.remedy,
        }));
    }
    reports
}
