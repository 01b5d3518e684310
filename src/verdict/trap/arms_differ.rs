//! Arms that ran another engine, or under other settings.
//!
//! In:  engine names, versions and settings of the runs.  Out: one finding a candidate.
//! Not here: which settings there are (see `verdict::alike`), lengths (see `token_counts`).

use super::{Finding, Trap, sides};
use crate::verdict::alike;
use crate::verdict::case::Case;
use crate::verdict::report::Severity;

/// What must be the same on both sides of a comparison.
pub struct ArmsDiffer {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    undermines: &'static str,
    missing: &'static str,
    remedy: &'static str,
}

/// Settings differ.
pub static SETTINGS: ArmsDiffer = ArmsDiffer {
    id: alike::SETTINGS,
    title: "Settings that change the answer differ",
    about: "Two servers with another maximum length, another share of the memory, another precision, a cache of prefixes on one side or another number of concurrent requests are two systems, and the \
            environment they run in is the least of what tells them apart. The check compares, for each candidate and its baseline: model, quantisation, data type of the KV cache, batch or concurrency \
            limit, request rate, maximum model length, memory utilisation, speculative decoding, prefix cache, parallelism, number of requests where it was planned, and the benchmark itself. It fires \
            when both sides tell a setting and the two are not the same; what one side alone tells is a caveat of the verdict. To avoid the trap, start both sides from one file of settings and archive it.",
    undermines: "that the environment alone tells the arms apart",
    missing: "no setting is known on both sides",
    remedy: "run both sides with the same settings, or compare the settings themselves with 'compare_by'",
};

/// Engines differ.
pub static ENGINE: ArmsDiffer = ArmsDiffer {
    id: alike::ENGINE,
    title: "The arms ran different engines",
    about: "A container image and the packages beside it rarely hold the same build of an engine, and between two releases kernels, schedulers and defaults change by more than any environment costs. \
            The check compares name and version of the engine that the files of each candidate and of its baseline tell, and fires when they are not the same. It is silent where the campaign compares engines \
            on purpose. To avoid the trap, install the very version that the image holds, and archive what the engine prints of itself at its start.",
    undermines: "that the environment, and not the engine, makes a difference",
    missing: "the engine is not known on both sides",
    remedy: "install one version of the engine in every environment",
};

impl Trap for ArmsDiffer {
    fn id(&self) -> &'static str {
        self.id
    }
    fn title(&self) -> &'static str {
        self.title
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn about(&self) -> String {
        self.about.to_owned()
    }
    fn undermines(&self) -> &'static str {
        self.undermines
    }
    fn told_by_pair(&self) -> bool {
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        sides::settings(case, self.id, self.missing, self.remedy)
    }
}
