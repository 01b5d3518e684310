//! The trap engine: every way a benchmark is known to lie has a named check here.
//!
//! In:  one campaign as a [`Case`].  Out: findings, each fired, passed or not evaluated.
//! Not here: what a verdict makes of them.
//!
//! Adding a trap is one file and one line in [`TRAPS`]. A state of the machine or a setting of the arms is a row of the file that has such rows.

pub(crate) mod finding;
pub(crate) mod physics;

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
mod model_mismatch;
mod order;
mod outlier_rule;
mod page_cache;
mod request_errors;
mod run_count;
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
use super::report::{Severity, TrapReport};

pub use super::columns::{Derived, Relation, derived_columns};
pub use few_requests::{TAILS, needed as requests_needed};
pub use finding::Finding;
pub use memory_scope::sized_before_the_pool;

/// What a trap casts doubt on. Pages gather what a campaign does not show under these heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Theme {
    /// Which model, settings and definitions the figures belong to.
    Labels,
    /// When the runs were made.
    Order,
    /// What the memory figures count.
    Memory,
    /// How many runs, requests and metrics there are.
    Counts,
    /// The state of the machine and of the load client.
    Machine,
}

impl Theme {
    /// The theme of the trap of this id.
    pub fn of(id: &str) -> Option<Self> {
        TRAPS.iter().find(|trap| trap.id() == id).map(|trap| trap.theme())
    }

    /// A word or two for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Labels => "Labels",
            Self::Order => "Order",
            Self::Memory => "Memory figures",
            Self::Counts => "Counts",
            Self::Machine => "Machine",
        }
    }

    /// Summary of the findings under this head.
    pub const fn doubt(self) -> &'static str {
        match self {
            Self::Labels => "The model, its settings or the report may not be what the labels say.",
            Self::Order => "Time or chance, and not the environment, may have caused a difference.",
            Self::Memory => "The memory figures may not be those of the engine.",
            Self::Counts => "Runs, requests or metrics are missing, repeated or too few.",
            Self::Machine => "The machine or the load client was not in the same state for every run.",
        }
    }
}

/// One named way in which a benchmark lies.
pub trait Trap: Sync {
    /// Contract id, words joined by hyphens.
    fn id(&self) -> &'static str;
    /// `P1` to `P17`, where it is one of the plausibility rules.
    fn code(&self) -> Option<&'static str> {
        None
    }
    /// Name for people, a few words.
    fn title(&self) -> &'static str;
    /// How bad it is when it fires.
    fn severity(&self) -> Severity;
    /// The conclusions that it casts doubt on.
    fn theme(&self) -> Theme;
    /// Four paragraphs of Markdown, separated by empty lines: what it is, why it matters, how it is checked, how to avoid it. Thresholds
    /// come from the constants. The page heads them, so they need not say which is which.
    fn about(&self) -> String;
    /// The claim that falls when this trap fires, as a clause after "not supported:". Empty when none does.
    fn undermines(&self) -> &'static str {
        ""
    }
    /// Whether a difference in this metric keeps an open cause when the trap fires: something else than the environment may have made it.
    fn leaves_cause_open(&self, _metric: &str) -> bool {
        false
    }
    /// Whether the comparison of two arms says the same with both values, so that the trap itself need not forbid it.
    fn told_by_pair(&self) -> bool {
        false
    }
    /// Whether it fires for how few runs, requests or machines there are, whatever they show. Pages count such traps in one line, so that
    /// what is particular to these data comes first.
    fn is_general(&self) -> bool {
        false
    }
    /// Looks. At least one finding. "cannot look" is a finding too.
    fn check(&self, case: &Case<'_>) -> Vec<Finding>;
}

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

/// Whether the pairing reports the same as the trap of this id.
pub fn told_by_pair(id: &str) -> bool {
    TRAPS.iter().any(|trap| trap.id() == id && trap.told_by_pair())
}

/// Whether the trap of this id fires for how little there is, and not for what it shows.
pub fn is_general(id: &str) -> bool {
    TRAPS.iter().any(|trap| trap.id() == id && trap.is_general())
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
