//! Data of a further machine of a run in `run.json`.
//!
//! In:  nothing.  Out: [`NodeWire`].
//! Not here: the outcome (see `verdict`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CheckWire, ProcessWire, SamplerWire, StateWire};
use sparkbench_model::{ClockOffset, Finding};

/// A further machine of one run. Its files lie in `nodes/<name>/` below the run's folder. Times are on its own clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeWire {
    /// From 1. The head is 0.
    pub rank: u32,
    /// State of the machine before the first process of the run.
    pub before: Option<StateWire>,
    /// The same after the last.
    pub after: Option<StateWire>,
    /// Every gate with its reading.
    pub gates: Vec<Finding>,
    /// Findings of the watchdogs.
    pub watched: Vec<Finding>,
    /// The worker of the engine that ran there, one argument each. Empty where none did.
    pub command: Vec<String>,
    /// Its exit status. Absent when a signal ended it.
    pub exit_code: Option<i64>,
    /// Its variables, secrets masked.
    pub variables: BTreeMap<String, String>,
    /// The request and what ran.
    pub checks: Vec<CheckWire>,
    /// The environment's own word.
    pub environment_state: Option<serde_json::Value>,
    /// Processor time, memory and signals of its process tree.
    pub process: Option<ProcessWire>,
    /// Cost of the sampler.
    pub sampler: Option<SamplerWire>,
    /// Telemetry fields that stay empty, and why.
    pub absent: BTreeMap<String, String>,
    /// Start of the worker on the machine's own monotonic clock, seconds.
    pub started_monotonic_s: Option<f64>,
    /// Its end.
    pub ended_monotonic_s: Option<f64>,
    /// Its clocks against those of the head, before the run.
    pub clock_before: Option<ClockOffset>,
    /// The same after it.
    pub clock_after: Option<ClockOffset>,
    /// Why this machine makes the run a failed one, where it does.
    pub failure: Option<String>,
}
