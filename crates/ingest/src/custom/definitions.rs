//! Definitions of metrics, and in which folders they hold.
//!
//! In:  definitions as they were read.  Out: those that hold in a folder.
//! Not here: reading them (see `toml`), working them out (see the module above).

use std::collections::BTreeMap;

use sparkbench_model::CustomMetric;

/// Definitions by name.
pub type Definitions = BTreeMap<String, CustomMetric>;

/// Where definitions lie, by folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct DefinitionsByFolder {
    folders: BTreeMap<String, Definitions>,
}

impl DefinitionsByFolder {
    /// Definitions that hold for a folder and what is below.
    pub(crate) fn add(&mut self, folder: &str, definitions: Definitions) {
        self.folders.entry(folder.to_owned()).or_default().extend(definitions);
    }

    /// Those that hold in a folder: its own, then those of the folders above it.
    pub(crate) fn of(&self, folder: &str) -> Definitions {
        let mut all = Definitions::new();
        let mut at = Some(folder);
        while let Some(folder) = at {
            for (name, custom) in self.folders.get(folder).into_iter().flatten() {
                all.entry(name.clone()).or_insert_with(|| custom.clone());
            }
            at = match folder.rsplit_once('/') {
                Some((up, _)) => Some(up),
                None if folder.is_empty() => None,
                None => Some(""),
            };
        }
        all
    }
}
