//! Addresses of the explanatory pages: one for each pair of environments, one for each model and workload.
//!
//! In:  the analysis.  Out: [`Addresses`]. A page that the site does not have has no address.
//! Not here: the content of these pages.

use std::collections::{BTreeMap, BTreeSet};

use sparkbench_text::escape::file_name;
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::report::Analysis;

/// Name of a cell without a workload in its address.
const NO_WORKLOAD: &str = "all";

/// Campaign and two names within it.
type Key = [String; 3];

/// Paths of the pages of pairs and cells, each taken once.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    pub(super) pairs: BTreeMap<Key, String>,
    pub(super) cells: BTreeMap<Key, String>,
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
                let name = file_name(&format!("{}--{}", anchor_of(&[&key[1]]), anchor_of(&[&key[2]])));
                let path = free(format!("c/{}/{name}", key[0]));
                (key, path)
            })
            .collect();
        let cells = cells
            .into_iter()
            .map(|key| {
                let workload = if key[2].is_empty() { NO_WORKLOAD.to_owned() } else { anchor_of(&[&key[2]]) };
                let path = free(format!("c/{}/{}/{}", key[0], file_name(&anchor_of(&[&key[1]])), file_name(&workload)));
                (key, path)
            })
            .collect();
        Self { pairs, cells }
    }
}
