//! The expectations of a campaign's authors before its first run, and their outcome.
//!
//! In:  filled by `verdict::hypothesis`.  Out: JSON with the same names.
//! Not here: how an outcome came about, how it is shown.

use serde::Serialize;

/// Outcome of a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every comparison found what was expected.
    Holds,
    /// Some comparisons found it, others something else.
    HoldsInPart,
    /// Every comparison that decides found something else.
    DoesNotHold,
    /// The comparisons decide nothing.
    Undecided,
    /// No runs speak about it.
    NotMeasured,
    /// It expects no verdict that could be checked.
    NoExpectation,
}

/// One hypothesis.
#[derive(Debug, Clone, Serialize)]
pub struct HypothesisReport {
    /// In the words of the authors.
    pub claim: String,
    /// Metric that decides. Absent where the primary metrics do.
    pub metric: Option<String>,
    /// Environment to compare with.
    pub baseline: Option<String>,
    /// Environment under question. Absent where every other one is.
    pub candidate: Option<String>,
    /// Kind of verdict that was expected.
    pub expect: Option<String>,
    /// The same in words.
    pub expected: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// Result of the comparisons, in words.
    pub found: String,
    /// Comparisons that found what was expected.
    pub confirmed: usize,
    /// Comparisons that are undecided, or cannot be compared, and did not find it.
    pub undecided: usize,
    /// Comparisons that speak about it.
    pub comparisons: usize,
    /// Ids of these comparisons: `model|workload|metric`.
    pub because: Vec<String>,
}

impl HypothesisReport {
    /// Whether no comparison found anything else than what was expected.
    pub fn is_open_elsewhere(&self) -> bool {
        self.confirmed + self.undecided == self.comparisons
    }
}
