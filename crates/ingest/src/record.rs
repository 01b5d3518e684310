//! What a file can say, one statement at a time.
//!
//! In:  nothing.  Out: [`Record`].
//! Not here: what the statements of several files mean together (see `assemble`).

use super::custom::Definitions;
use super::labels::Labels;
use super::partial_run::PartialRun;
use sparkbench_model::{Campaign, Facts};

/// One statement of a file.
#[derive(Debug, Clone)]
pub enum Record {
    /// Something about one run, or about all runs of one launch.
    Run(Box<PartialRun>),
    /// A campaign's own words.
    Campaign(Box<Campaign>),
    /// Words that a person wrote beside foreign files.
    Labels(Box<Labels>),
    /// Metrics that a person defines.
    Metrics(Definitions),
    /// Machines and models.
    Facts(Box<Facts>),
    /// Outcomes of a campaign's runs, from its journal.
    Journal(Vec<sparkbench_model::Outcome>),
    /// What the owner of a campaign's archive gave up as lost, from its journal: each with its reason.
    Losses(Vec<sparkbench_model::Loss>),
    /// Figures that were published about the campaign.
    Published(Vec<sparkbench_model::PublishedCell>),
}
