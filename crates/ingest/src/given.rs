//! The files that the user named beside those to be read.
//!
//! In:  [`Options`].  Out: [`Given`].
//! Not here: files of the same kinds that lie among the others.

use super::custom::{self, Definitions};
use super::facts;
use super::labels::Labels;
use super::labels_file;
use super::options::Options;
use sparkbench_model::LocalFacts;
use sparkbench_text::error::Error;

/// Content of the files named on the command line.
#[derive(Default)]
pub(super) struct Given {
    pub labels: Option<Labels>,
    pub metrics: Option<Definitions>,
    pub facts: Option<LocalFacts>,
}

impl Given {
    /// Reads them.
    ///
    /// # Errors
    /// When one cannot be used.
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        Ok(Self {
            labels: options.labels.as_deref().map(labels_file::from_command_line).transpose()?,
            metrics: options.metrics.as_deref().map(custom::from_command_line).transpose()?,
            facts: options.facts.as_deref().map(facts::from_command_line).transpose()?,
        })
    }
}
