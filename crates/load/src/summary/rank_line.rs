//! One line for each of several clients in the summary of all.
//!
//! In:  nothing.  Out: [`RankLine`].
//! Not here: filling it (see `ranks::merge`), the report of a rank on its share (see `ranks::report`).

use serde::Serialize;

use crate::certificate::ClientCertificate;

/// A rank in the summary of all: `ranks` of `sparkbench.load/1`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RankLine {
    /// From 0.
    pub rank: u32,
    /// Name of its machine.
    pub host: String,
    /// Measured requests of its share, where they have a number.
    pub planned: Option<u64>,
    /// Answered.
    pub completed: u64,
    /// Not answered.
    pub failed: u64,
    /// In flight when it was stopped.
    pub cancelled: u64,
    /// Delay of its first measured request.
    pub first_late_ms: Option<f64>,
    /// The most by which its clock may be wrong against that of rank 0. Null for rank 0.
    pub clock_bound_ms: Option<f64>,
    /// How much its clock went away from that of rank 0 during the load. Null for rank 0.
    pub clock_drift_ms: Option<f64>,
    /// Why nothing of it is in the figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Its certificate. Null where it handed nothing in.
    pub client: Option<ClientCertificate>,
}
