//! Groups and runs by cell, and the link targets of a cell's figures.
//!
//! In:  the groups and runs of the analysis.  Out: [`Cells`].
//! Not here: what a page shows of a cell.

use std::collections::BTreeMap;

use crate::page::index::Site;
use crate::page::link::run_href;
use sparkbench_verdict::report::Group;
use sparkbench_verdict::report::across::CellName;

/// Groups and runs by the cell that they belong to.
#[derive(Debug)]
pub(crate) struct Cells<'a> {
    groups: BTreeMap<CellKey<'a>, Vec<&'a Group>>,
    runs: BTreeMap<CellKey<'a>, Vec<&'a str>>,
}

type CellKey<'a> = (&'a str, &'a str, &'a str, &'a str);

fn key(cell: &CellName) -> CellKey<'_> {
    (&cell.campaign, &cell.model, &cell.workload, &cell.environment)
}

impl<'a> Cells<'a> {
    /// Cells that a page mentions.
    pub(crate) fn of(site: &Site<'a>, wanted: impl Fn(CellKey<'a>) -> bool) -> Self {
        let mut cells = Self { groups: BTreeMap::new(), runs: BTreeMap::new() };
        for group in &site.analysis.groups {
            let key =
                (group.campaign.as_str(), group.model.as_str(), group.workload.as_str(), group.environment.as_str());
            if wanted(key) {
                cells.groups.entry(key).or_default().push(group);
            }
        }
        for run in &site.analysis.runs {
            let key = (run.campaign.as_str(), run.model.as_str(), run.workload.as_str(), run.environment.as_str());
            if wanted(key) {
                cells.runs.entry(key).or_default().push(&run.id);
            }
        }
        cells
    }

    /// Groups of a cell.
    pub(crate) fn groups<'s>(&'s self, cell: &'s CellName) -> &'s [&'a Group] {
        // Keys that live as long as the question: the map's own live longer.
        let groups: &'s BTreeMap<CellKey<'s>, Vec<&'a Group>> = &self.groups;
        groups.get(&key(cell)).map_or(&[], Vec::as_slice)
    }

    /// Ids of the runs of a cell.
    pub(crate) fn runs<'s>(&'s self, cell: &'s CellName) -> &'s [&'a str] {
        let runs: &'s BTreeMap<CellKey<'s>, Vec<&'a str>> = &self.runs;
        runs.get(&key(cell)).map_or(&[], Vec::as_slice)
    }
    /// Where a figure of a cell comes from: its only run, its own page, else its campaign.
    pub(crate) fn href(&self, site: &Site<'_>, root: &str, cell: &CellName) -> Option<String> {
        if let [only] = self.runs(cell) {
            let path = run_href("", only);
            if site.has(&path) {
                return Some(format!("{root}{path}"));
            }
        }
        if let Some(own) = site.cell(&cell.campaign, &cell.model, &cell.workload) {
            return Some(format!("{root}{own}"));
        }
        let campaign = format!("c/{}/index.html", cell.campaign);
        site.has(&campaign).then(|| format!("{root}{campaign}"))
    }
}
