//! What came of a trap, about what, and on what evidence.
//!
//! In:  filled by the judge and the traps.  Out: serialised as it stands.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use crate::model::Origin;

/// Severity of a trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The cell cannot be compared.
    Error,
    /// Believe with care.
    Warning,
    /// Worth knowing.
    Note,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrapStatus {
    /// The trap is there.
    Fired,
    /// It was looked for with all that is needed, and is not there.
    Passed,
    /// Something was missing; the message says what.
    NotEvaluated,
}

/// What a trap speaks of. Absent fields mean "all of them".
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Subject {
    /// Campaign slug.
    pub campaign: String,
    /// Model label.
    pub model: Option<String>,
    /// Workload label.
    pub workload: Option<String>,
    /// Environment label.
    pub environment: Option<String>,
    /// Metric.
    pub metric: Option<String>,
}

/// A piece of evidence: a sentence with the figure, and the run or file it comes from.
#[derive(Debug, Clone, Serialize)]
pub struct Evidence {
    /// What was seen.
    pub text: String,
    /// Run it was seen in.
    pub run: Option<String>,
    /// Where it stands.
    pub origin: Option<Origin>,
}

impl Evidence {
    /// Evidence in words only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), run: None, origin: None }
    }

    /// Evidence from one run.
    pub fn run(text: impl Into<String>, run: impl Into<String>) -> Self {
        Self { text: text.into(), run: Some(run.into()), origin: None }
    }
}

/// One trap about one subject.
#[derive(Debug, Clone, Serialize)]
pub struct TrapReport {
    /// Contract id, e.g. `weights-exceed-memory`.
    pub id: &'static str,
    /// `P1` to `P17`, where it is one of these.
    pub code: Option<&'static str>,
    /// Name for people.
    pub title: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What came of it.
    pub status: TrapStatus,
    /// What it speaks of.
    pub subject: Subject,
    /// One sentence with the figures.
    pub message: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub remedy: String,
}
