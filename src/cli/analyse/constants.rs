//! Thresholds that the method page quotes, taken from the constants that decide, so that prose cannot drift from code.
//!
//! In:  named constants of `stats` and `verdict`.  Out: text by name, as `page::CONSTANTS` asks for them.
//! Not here: the prose.

use std::collections::BTreeMap;

use sparkbench_stats::{agreement, bootstrap, dist, drift, mann_whitney, order, outlier, permutation, power};
use sparkbench_verdict::CV_LIMIT_PCT;
use sparkbench_verdict::number::significant;

/// Every threshold by the name the prose uses.
pub(super) fn constants() -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("agreement_z", significant(dist::normal_quantile(0.5 + 0.5 * agreement::HELD), 3)),
        ("autocorrelation_z", significant(drift::Z_975, 3)),
        ("bca_from_n", bootstrap::SMALL_N.to_string()),
        ("cv_limit_pct", significant(CV_LIMIT_PCT, 3)),
        ("exact_permutations", permutation::EXACT_SPLITS.to_string()),
        ("exact_rank_n", mann_whitney::EXACT_BELOW.to_string()),
        ("interleaved_share", significant(order::INTERLEAVED_SHARE, 3)),
        ("modified_z", significant(outlier::MODIFIED_Z, 3)),
        ("permutation_draws", permutation::RANDOM_SPLITS.to_string()),
        ("power_effect_pct", significant(power::STATED_PCT, 3)),
        ("power_target", significant(power::TARGET_POWER, 3)),
        ("three_sigma", significant(outlier::SIGMA, 3)),
        ("tukey_fence", significant(outlier::FENCE, 3)),
    ])
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_threshold_the_prose_may_quote_is_there() {
        let given = super::constants();
        for name in sparkbench_site::page::CONSTANTS {
            assert!(given.contains_key(name), "{name} is missing");
        }
    }
}
