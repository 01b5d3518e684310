//! What happened in a run beside its figures: what the gates read, what was watched, and when each request was on its way.
//!
//! In:  nothing.  Out: [`Course`], [`Unmade`], filled by `ingest`.
//! Not here: telemetry (see [`super::Sample`]), figures.

use serde::Serialize;

use super::finding::Finding;

/// The course of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Course {
    /// Readings of the gates before it began.
    pub gates: Vec<Finding>,
    /// What the watchdogs saw, and the checks after it.
    pub watched: Vec<Finding>,
    /// Measured requests, in the order of the file.
    pub requests: Vec<Span>,
}

impl Course {
    /// Takes over what this one lacks.
    pub fn fill(&mut self, other: &Self) {
        fn one<T: Clone>(own: &mut Vec<T>, other: &[T]) {
            if own.is_empty() {
                own.extend_from_slice(other);
            }
        }
        one(&mut self.gates, &other.gates);
        one(&mut self.watched, &other.watched);
        one(&mut self.requests, &other.requests);
    }
}

/// A request in time: seconds since a moment that all requests of the run share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Span {
    /// When it was sent.
    pub sent_s: f64,
    /// When its first token came.
    pub first_token_s: Option<f64>,
    /// When its last token came; absent for one that failed and left no time.
    pub end_s: Option<f64>,
    /// Whether it was answered.
    pub answered: bool,
}

/// Why a planned run is not among the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// Left out on purpose.
    Skipped,
    /// Begun and not ended.
    Interrupted,
    /// Said to be complete, but nothing of it could be read.
    Unreadable,
    /// Never begun.
    #[default]
    NotRun,
}

impl Gone {
    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Interrupted => "interrupted",
            Self::Unreadable => "unreadable",
            Self::NotRun => "not run",
        }
    }
}

/// A planned run without a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Unmade {
    /// As planned.
    pub id: String,
    /// Environment label.
    pub environment: String,
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// The k-th run of its cell.
    pub repeat: Option<u32>,
    /// Place in the order of the plan.
    pub position: Option<u32>,
    /// What became of it.
    pub gone: Gone,
    /// Why, as the journal says it.
    pub why: String,
}

/// What a journal says of a planned run that it does not call complete, or calls complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Id of the run.
    pub run: String,
    /// What became of it.
    pub gone: Gone,
    /// Why.
    pub why: String,
}
