//! What is known while runs are put together.
//!
//! In:  records of files.  Out: [`Home`], [`Draft`] and [`Told`].
//! Not here: any rule of joining.

use std::collections::BTreeSet;

use crate::PartialRun;
use crate::labels::Labels;
use sparkbench_archive::Recorded;
use sparkbench_model::{Campaign, LocalFacts, Loss, Outcome, PublishedCell};

/// Known facts of one folder that is a campaign.
#[derive(Default)]
pub(crate) struct Home {
    /// From `labels.toml`, with the file's number. None for labels from the command line.
    pub labels: Option<(Option<usize>, Labels)>,
    /// From `campaign.json`.
    pub campaign: Option<Campaign>,
    /// Whether a table of declared cells or the words of authors lie in it.
    pub stands: bool,
    /// From its journal.
    pub outcomes: Vec<Outcome>,
    /// From its journal too.
    pub losses: Vec<Loss>,
    /// From tables of published figures.
    pub published: Vec<PublishedCell>,
}

/// A run on its way: the partial run, and the numbers of the files it came from.
pub(crate) struct Draft {
    pub partial: PartialRun,
    pub home: String,
    pub main: usize,
    /// Further files, each with the rule by which it belongs to the run.
    pub others: Vec<(usize, String)>,
    pub together: Option<String>,
    /// Whether it only shows a machine (telemetry, a snapshot of the GPU): nothing was measured beside it.
    pub shown_only: bool,
}

impl Draft {
    /// Notes a further file, once.
    pub(crate) fn take(&mut self, number: usize, rule: &str) {
        if number != self.main && self.others.iter().all(|(other, _)| *other != number) {
            self.others.push((number, rule.to_owned()));
        }
    }
}

/// What was found beside the runs.
pub(crate) struct Told {
    /// Facts of files.
    pub facts: Vec<LocalFacts>,
    /// Files that are not what was recorded of them.
    pub recorded: Recorded,
    /// Folders of campaigns whose runs say themselves what a cell is: archives of ours.
    pub declared: BTreeSet<String>,
}
