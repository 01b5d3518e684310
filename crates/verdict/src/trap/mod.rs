//! The trap engine: every way a benchmark is known to lie has a named check here.
//!
//! In:  one campaign as a [`Case`].  Out: findings, each fired, passed or not evaluated.
//! Not here: what a verdict makes of them.
//!
//! Adding a trap is one file and one line in [`TRAPS`]. A state of the machine or a setting of the arms is a row of the file that has such rows.

pub(crate) mod declaration;
pub(crate) mod finding;
pub(crate) mod model_mismatch;

mod affine_columns;
mod archive_changed;
mod arms_differ;
mod autocorrelated;
mod bursts;
mod client_limited;
mod clock_unstable;
mod clocks_disagree;
mod decode_above_roofline;
mod decode_below_band;
mod definition_differs;
mod derived_column;
mod drift;
mod duplicate_runs;
mod facts_overridden;
mod failed_runs;
mod few_requests;
mod first_run;
mod kv_budget;
mod kv_tokens;
mod link_below_promise;
mod memory_inconsistent;
mod memory_scope;
mod missing_metric;
mod one_launch;
mod order;
mod outlier_rule;
mod page_cache;
mod request_errors;
mod run_count;
mod run_figures;
mod runs_overlap;
mod same_speed;
mod sides;
mod single_setup;
mod small_n;
mod start_temperature;
mod state;
mod stated_facts;
mod stopped_early;
mod temperature;
mod throttled;
mod token_counts;
mod variance;
mod weights_exceed;
mod work_time;

use rayon::prelude::*;

use super::case::Case;
use super::report::TrapReport;

pub use declaration::{Theme, Trap};
pub use few_requests::tail_of;
pub use finding::Finding;
pub use memory_scope::sized_before_the_pool;
pub use sparkbench_stats::needed as requests_needed;

/// Every trap, in the order in which pages list them.
pub static TRAPS: &[&dyn Trap] = &[
    &weights_exceed::WeightsExceedMemory,
    &decode_above_roofline::DecodeAboveRoofline,
    &same_speed::SameSpeedUnlikeModels,
    &work_time::WorkTimeMismatch,
    &derived_column::DerivedColumn,
    &memory_inconsistent::MemoryInconsistent,
    &affine_columns::AffineColumns,
    &kv_tokens::KvTokensMismatch,
    &model_mismatch::ModelMismatch,
    &temperature::TemperatureOutOfRange,
    &failed_runs::FailedRuns,
    &duplicate_runs::DuplicateRuns,
    &run_count::RunCount,
    &stopped_early::StoppedEarly,
    &missing_metric::MissingMetric,
    &memory_scope::MemoryScope,
    &runs_overlap::RunsOverlap,
    &stated_facts::StatedFactsContradict,
    &archive_changed::ArchiveChanged,
    &facts_overridden::FactsOverridden,
    &order::OrderNotInterleaved,
    &drift::DriftWithinArm,
    &autocorrelated::AutocorrelatedRuns,
    &first_run::FirstRunEffect,
    &start_temperature::StartTemperatureDiffers,
    &variance::VarianceDiffers,
    &small_n::SmallN,
    &one_launch::OneLaunch,
    &outlier_rule::OutlierRuleCannotFire,
    &few_requests::FewRequestsForPercentile,
    &arms_differ::SETTINGS,
    &arms_differ::ENGINE,
    &token_counts::TokenCountsDiffer,
    &definition_differs::DefinitionDiffers,
    &kv_budget::KvBudgetDiffers,
    &request_errors::RequestErrors,
    &client_limited::ClientLimited,
    &bursts::AnswersInBursts,
    &page_cache::PageCacheDiffers,
    &state::SWAP_USED,
    &state::MEMORY_FLOOR,
    &state::HOST_LOAD,
    &single_setup::SingleSetup,
    &decode_below_band::DecodeBelowBand,
    &throttled::Throttled,
    &clock_unstable::ClockUnstable,
    &clocks_disagree::ClocksDisagree,
    &link_below_promise::LinkBelowPromise,
];

/// The trap of this id.
pub fn find(id: &str) -> Option<&'static dyn Trap> {
    TRAPS.iter().find(|trap| trap.id() == id).copied()
}

/// Runs every trap over a campaign. Sorted by the order of [`TRAPS`], then by subject.
pub fn look(case: &Case<'_>) -> Vec<TrapReport> {
    let look = |trap: &&dyn Trap| {
        let mut findings = trap.check(case);
        findings.sort_by(|a, b| a.subject.cmp(&b.subject));
        let report = |finding: Finding| TrapReport {
            id: trap.id(),
            code: trap.code(),
            title: trap.title(),
            severity: finding.severity.unwrap_or_else(|| trap.severity()),
            status: finding.status,
            subject: finding.subject,
            message: finding.message,
            evidence: finding.evidence,
            remedy: finding.remedy,
        };
        findings.into_iter().map(report).collect::<Vec<_>>()
    };
    // One a piece of work: a few of them take most of the time.
    TRAPS.par_iter().with_max_len(1).map(look).collect::<Vec<_>>().into_iter().flatten().collect()
}
