//! A rank's report on its share of a load, beside the raw files.
//!
//! In:  the rank's own summary.  Out: [`RankReport`] for rank 0.
//! Not here: figures of the whole load (see `load::summary`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::certificate::ClientCertificate;
use crate::chat::Figures;
use crate::store::Stored;
use crate::summary::Summary;
use sparkbench_host::net::Ns;
use sparkbench_text::error::Error;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankReport {
    /// From where its files count, on its own clock.
    pub origin: Ns,
    /// Counts of what was stored.
    pub tally: Tally,
    /// Measured requests of its share, where they have a number.
    pub planned: Option<u64>,
    /// Answered.
    pub completed: u64,
    /// Not answered.
    pub failed: u64,
    /// In flight when it was stopped.
    pub cancelled: u64,
    /// Answers that nobody had asked for.
    pub unasked: u64,
    /// Delay of the first measured request, ns.
    pub first_late_ns: Option<i64>,
    /// Its certificate.
    pub client: ClientCertificate,
    /// For conversations.
    pub figures: Option<Figures>,
    /// Why not all of it could be written.
    pub failure: Option<String>,
    /// Why it ended before its plan did.
    pub gave_up: Option<String>,
}

impl RankReport {
    /// Of the summary of a share.
    pub fn of(summary: &Summary, stored: &Stored, first_late_ns: Option<i64>, failure: Option<&Error>) -> Self {
        Self {
            origin: stored.origin,
            tally: Tally::of(stored),
            planned: Some(summary.planned),
            completed: summary.completed,
            failed: summary.failed,
            cancelled: summary.cancelled,
            unasked: summary.unasked,
            first_late_ns,
            client: summary.client.clone(),
            figures: summary.conversations.clone(),
            failure: failure.map(Error::in_short),
            gave_up: None,
        }
    }
}

/// Counts of [`Stored`] beside its rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// [`Stored::requests`].
    pub requests: u64,
    /// [`Stored::chunks`].
    pub chunks: u64,
    /// [`Stored::before`].
    pub before: (u64, u64),
    /// [`Stored::before_failed`].
    pub before_failed: u64,
    /// [`Stored::before_said`].
    pub before_said: BTreeMap<String, u64>,
    /// [`Stored::resent_after`].
    pub resent_after: BTreeMap<String, u64>,
    /// [`Stored::retry_after`].
    pub retry_after: BTreeMap<String, u64>,
    /// [`Stored::said`].
    pub said: BTreeMap<String, u64>,
    /// [`Stored::http`].
    pub http: BTreeMap<u16, u64>,
    /// [`Stored::models`].
    pub models: BTreeMap<String, u64>,
    /// [`Stored::finishes`].
    pub finishes: BTreeMap<String, u64>,
}

impl Tally {
    /// Of what was stored.
    pub fn of(stored: &Stored) -> Self {
        Self {
            requests: stored.requests,
            chunks: stored.chunks,
            before: stored.before,
            before_failed: stored.before_failed,
            before_said: stored.before_said.clone(),
            resent_after: stored.resent_after.clone(),
            retry_after: stored.retry_after.clone(),
            said: stored.said.clone(),
            http: stored.http.clone(),
            models: stored.models.clone(),
            finishes: stored.finishes.clone(),
        }
    }

    /// Adds it to what is stored here.
    pub fn add_to(&self, stored: &mut Stored) {
        stored.requests += self.requests;
        stored.chunks += self.chunks;
        stored.before.0 += self.before.0;
        stored.before.1 += self.before.1;
        stored.before_failed += self.before_failed;
        add(&mut stored.before_said, &self.before_said);
        add(&mut stored.resent_after, &self.resent_after);
        add(&mut stored.retry_after, &self.retry_after);
        add(&mut stored.said, &self.said);
        add(&mut stored.http, &self.http);
        add(&mut stored.models, &self.models);
        add(&mut stored.finishes, &self.finishes);
    }
}

fn add<K: Clone + Ord>(sum: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (word, count) in more {
        *sum.entry(word.clone()).or_default() += count;
    }
}
