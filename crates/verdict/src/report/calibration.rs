//! The method applied to identical arms, as pages and `analysis.json` show it.
//!
//! In:  filled by [`crate`].  Out: JSON with the same names.
//! Not here: how it is done (see `verdict::calibration`).

use serde::Serialize;

use super::VerdictKind;

/// Result of the rules for halves of single arms, which do not differ by construction.
#[derive(Debug, Clone, Serialize)]
pub struct CalibrationReport {
    /// Campaign slug.
    pub campaign: String,
    /// Random splits of all arms together.
    pub splits: usize,
    /// Of these, called different.
    pub different: usize,
    /// The same in per cent.
    pub different_pct: f64,
    /// Expected share at the level of the test, per cent.
    pub expected_pct: f64,
    /// Arms whose odd and even runs are called different.
    pub different_by_turns: usize,
    /// Arms whose first and second half in time are called different.
    pub different_by_halves: usize,
    /// Arm by arm.
    pub arms: Vec<CalibrationArm>,
}

/// One arm.
#[derive(Debug, Clone, Serialize)]
pub struct CalibrationArm {
    pub model: String,
    pub workload: String,
    pub environment: String,
    /// Contract name.
    pub metric: String,
    pub n: usize,
    /// Random splits into two halves.
    pub splits: usize,
    /// Called different.
    pub different: usize,
    /// Called equivalent within the margin.
    pub equivalent: usize,
    /// Neither.
    pub inconclusive: usize,
    /// First, third, fifth ... run against second, fourth ...
    pub by_turns: VerdictKind,
    /// First half in time against the second.
    pub by_halves: VerdictKind,
}
