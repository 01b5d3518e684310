//! Arms that ran another engine, or another version of it.
//!
//! In:  engine names and versions.  Out: one finding a candidate.
//! Not here: settings of the engine (see `settings_differ`).

use super::{Finding, Trap, sides};
use crate::verdict::alike;
use crate::verdict::case::Case;
use crate::verdict::report::Severity;

/// Engines differ.
pub struct EngineDiffers;

impl Trap for EngineDiffers {
    fn id(&self) -> &'static str {
        alike::ENGINE
    }
    fn title(&self) -> &'static str {
        "The arms ran different engines"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn about(&self) -> String {
        "A container image and the packages beside it rarely hold the same build of an engine, and between two releases kernels, schedulers and defaults change by more than any environment costs. \
         The check compares name and version of the engine that the files of each candidate and of its baseline tell, and fires when they are not the same. It is silent where the campaign compares engines \
         on purpose. To avoid the trap, install the very version that the image holds, and archive what the engine prints of itself at its start."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "that the environment, and not the engine, makes a difference"
    }
    fn told_by_pair(&self) -> bool {
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        sides::settings(
            case,
            self.id(),
            "the engine is not known on both sides",
            "install one version of the engine in every environment",
        )
    }
}
