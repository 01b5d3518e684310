//! The method tried on identical arms, as pages and `analysis.json` show it.
//!
//! In:  filled by [`crate::verdict`].  Out: serialised as it stands.
//! Not here: how it is done (see `verdict::calibration`).

use serde::Serialize;

use super::VerdictKind;

/// What the rules say of halves of single arms, which do not differ by construction.
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
    /// What the level of the test lets one expect, per cent.
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
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// Environment label.
    pub environment: String,
    /// Contract name.
    pub metric: String,
    /// Runs.
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
