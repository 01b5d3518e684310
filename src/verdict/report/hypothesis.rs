//! What the authors of a campaign expected before its first run, and what came of it.
//!
//! In:  filled by `verdict::hypothesis`.  Out: serialised as it stands.
//! Not here: how an outcome came about, how it is shown.

use serde::Serialize;

/// What came of a hypothesis.
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
    /// It expects no verdict that could be held against one.
    NoExpectation,
}

/// One hypothesis.
#[derive(Debug, Clone, Serialize)]
pub struct HypothesisReport {
    /// In the words of the authors.
    pub claim: String,
    /// Metric that decides; absent where the primary metrics do.
    pub metric: Option<String>,
    /// Environment held against.
    pub baseline: Option<String>,
    /// Environment under question; absent where every other one is.
    pub candidate: Option<String>,
    /// Kind of verdict that was expected.
    pub expect: Option<String>,
    /// The same in words.
    pub expected: String,
    /// What came of it.
    pub outcome: Outcome,
    /// What the comparisons say, in words.
    pub found: String,
    /// Comparisons that found what was expected.
    pub confirmed: usize,
    /// Comparisons that speak about it.
    pub comparisons: usize,
    /// Ids of these comparisons: `model|workload|metric`.
    pub because: Vec<String>,
}
