//! The result of one check of the machine: a gate, a watchdog, a check.
//!
//! In:  nothing.  Out: [`Finding`], one reading against one limit, with its remedy.
//! Not here: taking readings (see `host`), deciding limits (see `run`).

use serde::{Deserialize, Serialize};

/// What follows from a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Within the limit.
    #[default]
    Passed,
    /// Nothing to read here, or no limit was set. Archived, with the reason in `reading`.
    NotAvailable,
    /// Outside what is advisable. The run goes on and carries the mark.
    Warned,
    /// The run may not start, or must stop, or fails.
    Refused,
}

/// One reading against one limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// Stable name in words, e.g. `gpu-temperature`, `memory-available`.
    pub gate: String,
    /// The consequence.
    pub level: Level,
    /// The reading for people, with its unit, or why nothing could be read.
    pub reading: String,
    /// The same as a number where it is one.
    pub value: Option<f64>,
    /// Unit of `value`.
    pub unit: Option<String>,
    /// The limit, for people.
    pub limit: Option<String>,
    /// What to do about it. Present whenever the level is not `passed`.
    pub remedy: Option<String>,
    /// Seconds waited until it held, where the gate waits.
    pub waited_s: Option<f64>,
    /// When it was read, ISO 8601 in UTC.
    pub at_utc: Option<String>,
}

impl Finding {
    /// A reading within its limit.
    pub fn passed(gate: &str, reading: impl Into<String>) -> Self {
        Self { gate: gate.to_owned(), level: Level::Passed, reading: reading.into(), ..Self::default() }
    }

    /// Nothing could be read, and why.
    pub fn not_available(gate: &str, why: impl Into<String>) -> Self {
        Self { level: Level::NotAvailable, ..Self::passed(gate, why) }
    }

    /// Outside what is advisable.
    pub fn warned(gate: &str, reading: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Warned, remedy: Some(remedy.into()), ..Self::passed(gate, reading) }
    }

    /// The run may not start, must stop, or fails.
    pub fn refused(gate: &str, reading: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Refused, remedy: Some(remedy.into()), ..Self::passed(gate, reading) }
    }

    /// Adds the number behind the reading.
    #[must_use]
    pub fn value(mut self, value: f64, unit: &str) -> Self {
        self.value = value.is_finite().then_some(value);
        self.unit = Some(unit.to_owned());
        self
    }

    /// Adds the limit in words.
    #[must_use]
    pub fn limit(mut self, limit: impl Into<String>) -> Self {
        self.limit = Some(limit.into());
        self
    }
}
