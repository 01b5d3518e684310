//! Further machines of a run, and the links between the machines of a campaign.
//!
//! In:  nothing.  Out: [`Node`], [`ClockOffset`], [`MeasuredLink`], filled by `ingest` and written by `run`.
//! Not here: what follows from them (see `verdict`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Finding, Sample};

/// A further machine of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// Name of its folder.
    pub name: String,
    /// From 1. The head is 0.
    pub rank: u32,
    /// The worker of the engine there, one argument each. Empty where none ran.
    pub command: Vec<String>,
    /// Why it makes the run a failed one, where it does.
    pub failure: Option<String>,
    /// Readings of its gates.
    pub gates: Vec<Finding>,
    /// Findings of its watchdogs.
    pub watched: Vec<Finding>,
    /// Its clocks before the run.
    pub clock_before: Option<ClockOffset>,
    /// The same after it.
    pub clock_after: Option<ClockOffset>,
    /// Its samples in time order, on the clock of the head.
    pub telemetry: Vec<Sample>,
}

/// The clocks of a machine against those of the head, from the shortest of many round trips.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockOffset {
    /// Its monotonic clock less that of the head, seconds.
    pub ahead_s: f64,
    /// Its wall clock less that of the head, seconds.
    pub wall_ahead_s: f64,
    /// The most by which either may be wrong: half of the shortest round trip, seconds.
    pub bound_s: f64,
}

/// The way from one machine of a campaign to another, as it was measured before the first run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MeasuredLink {
    /// Name of the machine that sends. `head` is the one that `collect` ran on.
    pub from: String,
    /// Name of the receiving machine.
    pub to: String,
    /// Device of the one that receives.
    pub device: Option<String>,
    /// What its driver promises, Mbit/s.
    pub speed_mbit_s: Option<f64>,
    /// Name of the RDMA device behind it.
    pub rdma: Option<String>,
    /// Largest packet, bytes.
    pub mtu: Option<f64>,
    /// Median round trip of 64 bytes over TCP, µs.
    pub rtt_p50_us: Option<f64>,
    /// 99th percentile, µs.
    pub rtt_p99_us: Option<f64>,
    /// Bandwidth over TCP by the number of connections, Gbit/s.
    pub tcp_gbit_s: BTreeMap<u32, f64>,
    /// What `ib_write_bw` measured, Gbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdma_gbit_s: Option<f64>,
    /// Why nothing was measured, where nothing was.
    pub error: Option<String>,
}

impl Node {
    /// Its wall clock less that of the head, seconds: the mean of what was read before and after the run.
    pub fn wall_ahead_s(&self) -> Option<f64> {
        let read = [self.clock_before, self.clock_after].into_iter().flatten().map(|clock| clock.wall_ahead_s);
        let known: Vec<f64> = read.collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }

    /// The most by which its times may be wrong on the clock of the head, seconds.
    pub fn bound_s(&self) -> Option<f64> {
        [self.clock_before, self.clock_after].into_iter().flatten().map(|clock| clock.bound_s).reduce(f64::max)
    }
}

impl MeasuredLink {
    /// The most that it carried, Gbit/s.
    pub fn best_gbit_s(&self) -> Option<f64> {
        self.tcp_gbit_s.values().copied().chain(self.rdma_gbit_s).reduce(f64::max)
    }
}
