//! Arms that were measured under different settings.
//!
//! In:  settings of the runs.  Out: one finding a candidate.
//! Not here: lengths (see `token_counts`), the engine itself (see `engine_differs`).

use super::{Finding, Trap, sides};
use crate::verdict::alike;
use crate::verdict::case::Case;
use crate::verdict::report::Severity;

/// Settings differ.
pub struct SettingsDiffer;

impl Trap for SettingsDiffer {
    fn id(&self) -> &'static str {
        alike::SETTINGS
    }
    fn title(&self) -> &'static str {
        "Settings that change the answer differ"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn about(&self) -> String {
        "Two servers with another maximum length, another share of the memory, another precision, a cache of prefixes on one side or another number of concurrent requests are two systems, and the \
         environment they run in is the least of what tells them apart. The check compares, for each candidate and its baseline: model, quantisation, data type of the KV cache, batch or concurrency \
         limit, request rate, maximum model length, memory utilisation, speculative decoding, prefix cache, parallelism, number of requests where it was planned, and the benchmark itself. It fires \
         when both sides tell a setting and the two are not the same; what one side alone tells is a caveat of the verdict. To avoid the trap, start both sides from one file of settings and archive it."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "that the environment alone tells the arms apart"
    }
    fn told_by_pair(&self) -> bool {
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        sides::settings(
            case,
            self.id(),
            "no setting is known on both sides",
            "run both sides with the same settings, or compare the settings themselves with `compare_by`",
        )
    }
}
