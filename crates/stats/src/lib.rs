//! Formulas over `&[f64]`: estimates, intervals, tests, adjustments, checks of order and drift.
//!
//! In:  plain values in order of time. [`Sample`] counts and drops infinite and missing ones.
//! Out: plain structs. A statistic that does not exist is `None`, never 0 and never NaN.
//! Not here: files, frames, clocks, printing, and words like "slower" (see `verdict`).
//!
//! Differences are always B minus A, where A is the baseline. Tests are two-sided. A `confidence` is a two-sided level inside (0, 1).
//! The level of the tests that need one is `1 - confidence`.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

pub mod adjust;
pub mod agreement;
pub mod blocks;
pub mod bootstrap;
pub mod brown_forsythe;
pub mod change;
pub mod consecutive;
pub mod contrast;
pub mod descriptive;
pub mod dist;
pub mod drift;
pub mod economy;
pub mod effect;
mod exact_null;
pub mod fieller;
pub mod hierarchical;
pub mod integral;
pub mod mann_whitney;
pub mod noncentral_t;
pub mod order;
pub mod order_statistic;
pub mod outlier;
pub mod overhead;
pub mod permutation;
pub mod power;
pub mod promise;
pub mod quantile;
pub(crate) mod quantile_sequence;
pub mod random;
pub(crate) mod rank;
pub mod replication;
pub mod roofline;
mod root;
pub mod sample;
pub mod sen;
pub mod sequential;
pub(crate) mod shapiro;
pub mod shift;
pub mod student;
mod ties;
pub mod tost;
pub(crate) mod wilcoxon;

pub use adjust::{benjamini_hochberg, bonferroni, holm};
pub use agreement::{Agreement, agreement};
pub use blocks::is_one_measurement;
pub use brown_forsythe::{BrownForsythe, brown_forsythe};
pub use contrast::Contrast;
pub use descriptive::{Descriptive, describe};
pub use drift::{Drift, drift};
pub use effect::{HedgesG, cliff_delta, cohen_d, hedges_g};
pub use fieller::ratio_interval;
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use order::{Order, OrderKind, balanced_pairs, drift_allowance_pct, order};
pub use order_statistic::{OrderInterval, quantile_interval};
pub use outlier::{Outliers, outliers};
pub use overhead::{Direction, log_ratio_overhead_pct, overhead_pct};
pub use quantile::{is_supported, is_tail, needed, quantile_sorted, quantiles_and_max, sorted};
pub use quantile_sequence::{QuantileSequence, quantile_sequence};
pub use sample::{Sample, mean, sd};
pub use shapiro::{Shapiro, shapiro};
pub use student::{TTest, paired, student, welch};
pub use tost::{Tost, smallest_margin_pct, tost};
pub use wilcoxon::{Wilcoxon, wilcoxon};

use serde::Serialize;

/// How a p-value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// From the exact null distribution.
    Exact,
    /// From the normal approximation, corrected for ties and continuity where the contract says so.
    Normal,
    /// From seeded random draws.
    MonteCarlo,
}

impl Method {
    /// Name in the contracts.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Normal => "normal",
            Self::MonteCarlo => "monte_carlo",
        }
    }
}
