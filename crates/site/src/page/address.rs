//! Addresses of the explanatory pages: one for each pair of environments, one for each model and workload.
//!
//! In:  the analysis.  Out: [`Addresses`]. A page that the site does not have has no address.
//! Not here: the content of these pages.

use std::collections::{BTreeMap, BTreeSet};

use super::index::{Site, slug};
use sparkbench_text::escape::file_name;
use sparkbench_verdict::report::{Analysis, Comparison};

/// Name of a cell without a workload in its address.
const NO_WORKLOAD: &str = "all";

/// Campaign and two names within it.
type Key = [String; 3];

/// Paths of the pages of pairs and cells, each taken once.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    pairs: BTreeMap<Key, String>,
    cells: BTreeMap<Key, String>,
}

impl Addresses {
    /// Of every pair that is compared and every cell that has a run or a group.
    pub(super) fn of(analysis: &Analysis) -> Self {
        let key = |campaign: &str, a: &str, b: &str| [campaign.to_owned(), a.to_owned(), b.to_owned()];
        let pairs: BTreeSet<Key> =
            analysis.comparisons.iter().map(|c| key(&c.campaign, &c.baseline, &c.candidate)).collect();
        let cells: BTreeSet<Key> = (analysis.runs.iter().map(|r| key(&r.campaign, &r.model, &r.workload)))
            .chain(analysis.groups.iter().map(|g| key(&g.campaign, &g.model, &g.workload)))
            .collect();
        // A slug keeps letters and digits only, so two names may share one: the later in order gets a number.
        let mut taken = BTreeSet::new();
        let mut free = |base: String| {
            let mut path = format!("{base}/index.html");
            let mut k = 2;
            while !taken.insert(path.clone()) {
                path = format!("{base}-{k}/index.html");
                k += 1;
            }
            path
        };
        let pairs = pairs
            .into_iter()
            .map(|key| {
                let name = file_name(&format!("{}--{}", slug(&[&key[1]]), slug(&[&key[2]])));
                let path = free(format!("c/{}/{name}", key[0]));
                (key, path)
            })
            .collect();
        let cells = cells
            .into_iter()
            .map(|key| {
                let workload = if key[2].is_empty() { NO_WORKLOAD.to_owned() } else { slug(&[&key[2]]) };
                let path = free(format!("c/{}/{}/{}", key[0], file_name(&slug(&[&key[1]])), file_name(&workload)));
                (key, path)
            })
            .collect();
        Self { pairs, cells }
    }
}

impl Site<'_> {
    /// Every pair of environments with its path: campaign, baseline, candidate.
    pub fn pair_pages(&self) -> impl Iterator<Item = ([&str; 3], &str)> {
        self.addresses.pairs.iter().map(|(key, path)| (key.each_ref().map(String::as_str), path.as_str()))
    }

    /// Every cell with its path: campaign, model, workload.
    pub fn cell_pages(&self) -> impl Iterator<Item = ([&str; 3], &str)> {
        self.addresses.cells.iter().map(|(key, path)| (key.each_ref().map(String::as_str), path.as_str()))
    }

    /// The page of a model and workload, below the site.
    pub fn cell(&self, campaign: &str, model: &str, workload: &str) -> Option<&str> {
        let key = [campaign.to_owned(), model.to_owned(), workload.to_owned()];
        self.addresses.cells.get(&key).map(String::as_str).filter(|path| self.has(path))
    }

    /// The page of a pair of environments, below the site.
    pub fn pair(&self, campaign: &str, baseline: &str, candidate: &str) -> Option<&str> {
        let key = [campaign.to_owned(), baseline.to_owned(), candidate.to_owned()];
        self.addresses.pairs.get(&key).map(String::as_str).filter(|path| self.has(path))
    }

    /// Where a comparison is reported in full: on the page of its cell, else on that of its campaign.
    pub fn account(&self, root: &str, anchor: &str, c: &Comparison) -> String {
        match self.cell(&c.campaign, &c.model, &c.workload) {
            Some(path) => format!("{root}{path}#{anchor}"),
            None => format!("{root}c/{}/index.html#{anchor}", c.campaign),
        }
    }
}
