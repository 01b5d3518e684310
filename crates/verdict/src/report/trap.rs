//! The result of a trap, with its subject and its evidence.
//!
//! In:  filled by the judge and the traps.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use sparkbench_model::Origin;

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

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrapStatus {
    /// The trap is there.
    Fired,
    /// It was looked for with all that is needed, and is not there.
    Passed,
    /// Something was missing. The message says what.
    NotEvaluated,
}

/// Subject of a trap. Absent fields mean "all of them".
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Subject {
    /// Campaign slug.
    pub campaign: String,
    pub model: Option<String>,
    pub workload: Option<String>,
    pub environment: Option<String>,
    pub metric: Option<String>,
}

/// A piece of evidence: a sentence with the figure, and the run or file it comes from.
#[derive(Debug, Clone, Serialize)]
pub struct Evidence {
    /// The observation.
    pub text: String,
    /// Run it was seen in.
    pub run: Option<String>,
    /// Where it is.
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
    /// Its outcome.
    pub status: TrapStatus,
    pub subject: Subject,
    /// One sentence with the figures.
    pub message: String,
    /// Its evidence.
    pub evidence: Vec<Evidence>,
    pub remedy: String,
}
