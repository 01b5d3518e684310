//! The course of a run beside its figures: readings of gates, watchdogs, and the times of each request.
//!
//! In:  nothing.  Out: [`Course`], [`MissingRun`], filled by `ingest`.
//! Not here: telemetry (see [`super::Sample`]), figures.

use serde::Serialize;

use super::finding::Finding;
use super::node::Node;
use super::time::Instant;

/// The course of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Course {
    /// Readings of the gates before it began.
    pub gates: Vec<Finding>,
    /// Findings of the watchdogs and of the checks afterwards.
    pub watched: Vec<Finding>,
    /// Measured requests, in the order of the file.
    pub requests: Vec<Span>,
    /// Further machines, by rank.
    pub nodes: Vec<Node>,
    /// The start as a source gave it, where that leaves something of it open. A start that somebody else gave is another one.
    pub loose_start: Option<(Instant, LooseStart)>,
}

/// What a source leaves open of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LooseStart {
    /// Its zone. It is taken as UTC and may be hours off.
    Zone,
    /// What it is the time of: it stands in the name of a file.
    Name,
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
        one(&mut self.nodes, &other.nodes);
        self.loose_start = self.loose_start.or(other.loose_start);
    }
}

/// A request in time: seconds since a moment that all requests of the run share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Span {
    /// When it was sent.
    pub sent_s: f64,
    /// When its first token came.
    pub first_token_s: Option<f64>,
    /// When its last token came. Absent for one that failed and left no time.
    pub end_s: Option<f64>,
    /// Whether it was answered.
    pub answered: bool,
}

/// Why a planned run is not among the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingReason {
    /// Left out on purpose.
    Skipped,
    /// Begun and not ended.
    Interrupted,
    /// Said to be complete, but nothing of it could be read.
    Unreadable,
    /// Its result was changed or removed, and the owner of the archive gave it up.
    Lost,
    /// Never begun.
    #[default]
    NotRun,
}

impl MissingReason {
    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Interrupted => "interrupted",
            Self::Unreadable => "unreadable",
            Self::Lost => "lost",
            Self::NotRun => "not run",
        }
    }
}

/// A planned run without a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MissingRun {
    /// As planned.
    pub id: String,
    pub environment: String,
    pub model: String,
    pub workload: String,
    /// The k-th run of its cell.
    pub repeat: Option<u32>,
    /// Place in the order of the plan.
    pub position: Option<u32>,
    /// Its outcome.
    pub gone: MissingReason,
    /// Why, as the journal says it.
    pub why: String,
}

/// A part of the archive of a campaign that its owner gave up as lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// Path below the archive.
    pub path: String,
    /// Why, as the journal says it.
    pub why: String,
}

/// In a line, for people.
impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.path, self.why)
    }
}

/// Outcome of a planned run in a journal, complete or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Id of the run.
    pub run: String,
    /// Its outcome.
    pub gone: MissingReason,
    pub why: String,
}
