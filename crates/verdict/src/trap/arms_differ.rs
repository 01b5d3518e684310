//! Arms that ran another engine, or under other settings.
//!
//! In:  engine names, versions and settings of the runs.  Out: one finding for each candidate.
//! Not here: which settings there are (see `verdict::alike`), lengths (see `token_counts`).

use super::declaration::{Theme, Trap};
use super::finding::Finding;
use super::sides;
use crate::alike;
use crate::case::Case;
use crate::report::Severity;

/// Settings that must be the same on both sides of a comparison.
pub(super) struct ArmsDiffer {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    undermines: &'static str,
    missing: &'static str,
    remedy: &'static str,
}

/// Settings differ.
pub(super) static SETTINGS: ArmsDiffer = ArmsDiffer {
    id: alike::SETTINGS,
    title: "Settings that change the answer differ",
    about: "The two sides of a comparison ran under different settings.\n\n\
            Two servers may differ in maximum length, share of the memory, precision, prefix cache or number of concurrent \
            requests. They are then two systems. The environment is the least of their differences.\n\n\
            The check compares the settings of each candidate with those of its baseline. These are model, quantisation, data type \
            of the KV cache, batch or concurrency limit, request rate, maximum model length and memory utilisation. They are also \
            speculative decoding, prefix cache, parallelism, number of requests where it was planned, and the benchmark itself. It \
            fires when both sides give a setting and the two differ. What only one side gives is a caveat of the verdict.\n\n\
            Start both sides from one file of settings, and archive that file.",
    undermines: "that the environment alone tells the arms apart",
    missing: "no setting is known on both sides",
    remedy: "run both sides with the same settings, or compare the settings themselves with 'compare_by'",
};

/// Engines differ.
pub(super) static ENGINE: ArmsDiffer = ArmsDiffer {
    id: alike::ENGINE,
    title: "The arms ran different engines",
    about: "The two sides of a comparison ran different builds of an engine.\n\n\
            A container image and the packages beside it rarely contain the same build. Between two releases kernels, schedulers \
            and defaults change by more than any environment costs.\n\n\
            The check compares the name and version of the engine in the files of each candidate and of its baseline. It fires \
            when they differ. It is silent where the campaign compares engines on purpose.\n\n\
            Install the very version that the image contains. Archive what the engine prints about itself at its start.",
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
    fn theme(&self) -> Theme {
        Theme::Labels
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
