//! A comparison of a campaign with interim looks: the look that counts, and the looks before it.
//!
//! In:  filled by [`crate::sequential`].  Out: JSON with the same names.
//! Not here: how a number came about (see `stats::sequential`).

use serde::Serialize;

use super::Interval;

/// Result of a look, in the words of the verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LookDecision {
    /// The candidate is worse.
    Slower,
    /// The candidate is better.
    Faster,
    /// The candidate has more.
    More,
    /// The candidate has less.
    Less,
    /// The arms differ by less than the margin.
    Equivalent,
    /// Nothing is shown yet, and another look follows.
    GoOn,
    /// Nothing is shown at the last look.
    Inconclusive,
}

impl LookDecision {
    /// Whether it ends the comparison.
    pub const fn decides(self) -> bool {
        !matches!(self, Self::GoOn | Self::Inconclusive)
    }

    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::More => "more",
            Self::Less => "less",
            Self::Equivalent => "equivalent",
            Self::GoOn => "go on",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// The look that counts: the one that decided, else the last one that was reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SequentialReport {
    /// Which look of the design, from 1.
    pub look: usize,
    /// Whole blocks at it.
    pub n: usize,
    /// Share of the blocks of the design, 0 to 1.
    pub information: f64,
    /// Boundary of the two-sided test of a difference, as a z. Absent where nothing is spent at this look that a number could hold.
    pub z_boundary: Option<f64>,
    /// The two-sided level that follows for a test of one look.
    pub nominal_p: f64,
    /// Result of this look.
    pub decision: LookDecision,
    /// Repeated confidence interval of the overhead, per cent. Its level is 1 - `nominal_p`, and it may be read at every look. Absent where
    /// it is unbounded or no per cent exists.
    pub repeated_interval_pct: Option<Interval>,
    /// p by stagewise ordering.
    pub stagewise_p: Option<f64>,
    /// Median-unbiased estimate of the overhead, per cent.
    pub median_unbiased_pct: Option<f64>,
    /// Blocks of the design that this comparison did not need: as many runs of each arm.
    pub runs_saved_of_max: usize,
    /// Overhead at this look, per cent: the plain estimate, which is too large on average where a difference stopped the comparison.
    pub overhead_pct: Option<f64>,
    /// Repeated confidence interval of the difference, in the unit of the metric.
    pub repeated_interval: Option<Interval>,
    /// Margin of equivalence, per cent. Absent where equivalence is not tested.
    pub margin_pct: Option<f64>,
    /// Whether no look that is left can decide the comparison.
    pub without_prospects: bool,
    /// The design, as it was fixed before the first run.
    pub design: DesignReport,
    /// Every look that was reached, in order. Looks after the one that counts are shown and change nothing.
    pub looks: Vec<LookReport>,
}

/// The design of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DesignReport {
    /// `obf`, `pocock` or `linear`.
    pub spending: &'static str,
    /// Error rate of the family, both sides together.
    pub alpha: f64,
    /// Comparisons that share it.
    pub family: usize,
    /// Blocks at each look.
    pub looks: Vec<usize>,
}

/// One look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LookReport {
    /// Which look of the design, from 1.
    pub look: usize,
    /// Whole blocks.
    pub n: usize,
    /// Share of the blocks of the design.
    pub information: f64,
    /// p of Welch's test on all blocks so far.
    pub p: f64,
    /// The same as a normal score with the sign of the difference. Absent for a p of 0.
    pub z: Option<f64>,
    /// Boundary of the test of a difference.
    pub z_boundary: Option<f64>,
    /// Its nominal level.
    pub nominal_p: f64,
    /// Larger p of the two tests of equivalence.
    pub equivalence_p: Option<f64>,
    /// Nominal level of each of them, one-sided.
    pub equivalence_nominal_p: f64,
    /// Overhead so far, per cent.
    pub overhead_pct: Option<f64>,
    /// Repeated confidence interval of the overhead, per cent.
    pub repeated_interval_pct: Option<Interval>,
    /// Difference of the means so far, in the unit of the metric.
    pub difference: f64,
    /// Repeated confidence interval of the difference.
    pub repeated_interval: Option<Interval>,
    pub decision: LookDecision,
}

impl SequentialReport {
    /// Whether it ended before the last look of the design, or at it, with a decision.
    pub fn is_decided(&self) -> bool {
        self.decision.decides()
    }

    /// Confidence of the repeated intervals of all looks together, per cent.
    pub fn confidence_pct(&self) -> f64 {
        100.0 * (1.0 - self.design.alpha)
    }

    /// Blocks of the whole design.
    pub fn blocks(&self) -> usize {
        self.design.looks.last().copied().unwrap_or(0)
    }
}
