//! Judgements: estimates and named thresholds become verdicts, traps and sentences.
//!
//! In:  campaigns, runs and facts as plain values.  Out: [`report::Analysis`], the one structure that pages and `analysis.json` show.
//! Not here: files, frames, drawing, HTML.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

pub mod across;
pub mod alike;
pub(crate) mod all_loads;
pub mod badge;
pub mod calibration;
pub mod case;
pub mod change;
pub mod columns;
pub(crate) mod compare;
pub(crate) mod conclusion;
pub(crate) mod cost;
pub mod course;
pub(crate) mod criteria;
pub(crate) mod definitions;
pub mod derive;
pub(crate) mod distinct;
pub mod effect;
pub(crate) mod essential;
pub(crate) mod estimate;
pub mod facts;
pub(crate) mod family;
pub(crate) mod finish;
pub(crate) mod grammar;
pub(crate) mod group;
pub mod history;
pub mod judge;
pub mod layout;
pub mod mark;
pub mod measured;
mod memory;
pub mod method;
pub(crate) mod next;
pub mod number;
pub(crate) mod order;
pub(crate) mod pairing;
pub(crate) mod physics;
pub(crate) mod pool;
pub(crate) mod price;
pub(crate) mod promise;
pub(crate) mod published;
pub(crate) mod reference;
mod replication;
pub mod report;
pub mod sequential;
pub(crate) mod shift;
pub mod stability;
pub(crate) mod strata;
pub mod summary;
pub(crate) mod telemetry;
#[cfg(test)]
mod testing;
pub mod trap;

use std::collections::BTreeMap;

use sparkbench_model::{Campaign, Facts, Run};
use sparkbench_stats::bootstrap;

pub use judge::{again, judge};
pub use memory::Memory;
pub use memory::RoundCache;

/// Coefficient of variation over which a caveat is due, per cent: the published study's own success criterion.
pub const CV_LIMIT_PCT: f64 = 5.0;

/// Settings of the analysis.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Two-sided level, strictly inside (0, 1).
    pub confidence: f64,
    /// Draws of each bootstrap.
    pub resamples: usize,
    /// Seed of every random draw.
    pub seed: u64,
    /// Environment that others are compared with. `None`: chosen per campaign.
    pub baseline: Option<String>,
    /// Margins that override those of the campaigns, per cent.
    pub margins_pct: BTreeMap<String, f64>,
}

impl Settings {
    /// A bootstrap or permutation job. One thread each: the judge runs many at once.
    pub fn job(&self, key: String) -> bootstrap::Job {
        bootstrap::Job { seed: self.seed, key, resamples: self.resamples, confidence: self.confidence, threads: 1 }
    }

    /// Significance level that belongs to the confidence level.
    pub fn alpha(&self) -> f64 {
        // Rounded so that 1 - 0.95 is 0.05 and not 0.050000000000000044.
        ((1.0 - self.confidence) * 1e12).round() / 1e12
    }
}

/// Everything there is to judge.
#[derive(Debug)]
pub struct Study {
    /// One for each campaign of the runs.
    pub campaigns: Vec<Campaign>,
    /// By campaign, then in order of time.
    pub runs: Vec<Run>,
    /// Machines and models.
    pub facts: Facts,
    /// Files that were examined.
    pub inputs: Vec<report::Input>,
}

/// The values of one cell and metric in order of time. Missing is NaN, infinite is infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct CellValues {
    /// Campaign slug.
    pub campaign: String,
    pub model: String,
    pub workload: String,
    pub environment: String,
    /// Contract name.
    pub metric: String,
    /// Ids of the runs, beside the values.
    pub run_ids: Vec<String>,
    pub values: Vec<f64>,
}
