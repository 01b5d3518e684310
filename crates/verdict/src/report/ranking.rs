//! Arms in order, stratum by stratum.
//!
//! In:  filled by `conclusion::design`.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use sparkbench_model::Direction;

/// One figure of the arms that were measured in one stratum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    pub model: String,
    pub workload: String,
    /// Contract name.
    pub metric: String,
    /// For people.
    pub label: String,
    pub unit: &'static str,
    pub direction: Direction,
    /// The best first. Where nothing is better, the largest first.
    pub arms: Vec<RankedArm>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedArm {
    pub arm: String,
    /// Values behind the mean: launches, or runs where launches are not recorded.
    pub n: usize,
    pub mean: f64,
    /// Lower end of the t-interval, where there are two values or more.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// How good it is beside the best, which has 1: of a rate its share, of a time the inverse. Where nothing is better, the share of the
    /// largest.
    pub ratio: f64,
}
