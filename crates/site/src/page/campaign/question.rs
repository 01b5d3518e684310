//! The questions of a campaign: one model, one workload, two environments, with the rows, accounts and drawings of each.
//!
//! In:  comparisons, groups, runs.  Out: [`Question`]s.
//! Not here: one row or one account (see `comparison`), drawing (see `figure`).

use std::collections::{BTreeMap, BTreeSet};

use super::order::{OrderView, order};
use super::{ROOT, cell, rank};
use crate::page::comparison::{Account, Brief, RowView};
use crate::page::figure::{self, FigureView};
use crate::page::index::Site;
use crate::page::labels::{ALL_LOADS, place};
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::report::{CampaignReport, Comparison, Group, RunReport};

/// Charts of runs in order that a page shows at full width. More are drawn side by side, small.
const MOST_WIDE: usize = 6;

/// Comparisons told in full where a campaign names no primary metric.
const FEW_IN_FULL: usize = 3;

/// One model, workload and pair of environments.
pub(super) struct Question {
    pub id: String,
    pub heading: String,
    pub baseline: String,
    pub candidate: String,
    /// The page of this model and workload.
    pub cell: Option<String>,
    pub rows: Vec<RowView>,
    pub other_rows: Vec<RowView>,
    pub accounts: Vec<Account>,
    pub briefs: Vec<Brief>,
    pub order: Option<OrderView>,
    pub figures: Vec<FigureView>,
    /// Small drawings side by side.
    pub grid: bool,
}

/// Every model, workload and pair of environments that is compared, with its drawings.
pub(super) fn questions(
    site: &Site<'_>,
    campaign: &CampaignReport,
    comparisons: &[(&str, &Comparison)],
    groups: &[&Group],
    runs: &[&RunReport],
) -> Vec<Question> {
    // Model, workload, candidate, baseline.
    let mut keyed: BTreeMap<[&str; 4], Vec<(&str, &Comparison)>> = BTreeMap::new();
    for (anchor, c) in comparisons {
        keyed.entry([&c.model, &c.workload, &c.candidate, &c.baseline]).or_default().push((*anchor, *c));
    }
    let mut drawn: Vec<(&str, &str)> = Vec::new();
    let cells: BTreeSet<[&str; 2]> = keyed.keys().map(|[model, workload, ..]| [*model, *workload]).collect();
    let grid = cells.len() * campaign.primary.len() > MOST_WIDE;
    let mut ids = BTreeSet::new();
    keyed
        .into_iter()
        .map(|([model, workload, candidate, baseline], mut members)| {
            // Primary metrics first, then in the order of the catalogue.
            members.sort_by_key(|(_, c)| (!c.primary, rank(&c.metric), c.metric.clone()));
            // A second candidate shares the drawings of its model with the first: they show every environment.
            let first_of_model = !drawn.contains(&(model, workload));
            drawn.push((model, workload));
            // Labels that differ in case or signs only share a slug.
            let mut id = anchor_of(&["q", model, workload, candidate]);
            while !ids.insert(id.clone()) {
                id.push('x');
            }
            let figures = if first_of_model {
                order_figures(site, campaign, (&id, grid), (model, workload), groups, runs)
            } else {
                Vec::new()
            };
            let (full, short): (Vec<_>, Vec<_>) =
                members.iter().enumerate().partition(|(k, (_, c))| in_full(campaign, *k, c));
            Question {
                heading: format!("{}: {candidate} against {baseline}", cell(campaign, model, workload)),
                baseline: baseline.to_owned(),
                candidate: candidate.to_owned(),
                cell: site.cell(&campaign.name, model, workload).map(|path| format!("{ROOT}{path}")),
                rows: full.iter().map(|(_, (anchor, c))| RowView::new(anchor, c)).collect(),
                other_rows: short.iter().map(|(_, (anchor, c))| RowView::new(anchor, c)).collect(),
                accounts: full.iter().map(|(_, (anchor, c))| Account::new(anchor, c)).collect(),
                briefs: short.iter().map(|(_, (anchor, c))| Brief::new(anchor, c)).collect(),
                grid,
                order: order(campaign, model, workload).filter(|_| first_of_model),
                figures,
                id,
            }
        })
        .collect()
}

/// Whether a comparison has its whole account on the page. The others are summarised, and the files have them whole.
fn in_full(campaign: &CampaignReport, place: usize, c: &Comparison) -> bool {
    c.primary || campaign.primary.is_empty() && place < FEW_IN_FULL
}

/// The rows read again as one workload, where the launch path shows that several labels ran one model.
pub(super) fn pooled(campaign: &CampaignReport) -> Vec<Question> {
    beyond_cells(&campaign.pooled.iter().collect::<Vec<_>>(), "pooled", |c| {
        format!("As one workload, {}", cell(campaign, &c.model, &c.workload))
    })
}

/// The answers over all loads, with every estimate and test.
pub(super) fn over_all_loads(site: &Site<'_>, campaign: &CampaignReport) -> Vec<Question> {
    beyond_cells(&site.all_loads(&campaign.name), ALL_LOADS, place)
}

/// Rows that are about no single cell, by arms.
fn beyond_cells(rows: &[&Comparison], prefix: &str, about: impl Fn(&Comparison) -> String) -> Vec<Question> {
    let mut keyed: BTreeMap<[&str; 4], Vec<&Comparison>> = BTreeMap::new();
    for c in rows {
        keyed.entry([&c.model, &c.workload, &c.candidate, &c.baseline]).or_default().push(c);
    }
    let mut anchors = BTreeSet::new();
    keyed
        .into_iter()
        .map(|([model, workload, candidate, baseline], members)| {
            let heading = members.first().map(|c| about(c)).unwrap_or_default();
            let anchored: Vec<(String, &Comparison)> = members
                .into_iter()
                .map(|c| {
                    let base = anchor_of(&[prefix, &c.model, &c.workload, &c.metric, &c.candidate]);
                    let mut anchor = base.clone();
                    while !anchors.insert(anchor.clone()) {
                        anchor.push('x');
                    }
                    (anchor, c)
                })
                .collect();
            Question {
                id: anchor_of(&[prefix, "q", model, workload, candidate]),
                heading: format!("{heading}: {candidate} against {baseline}"),
                baseline: baseline.to_owned(),
                candidate: candidate.to_owned(),
                cell: None,
                rows: anchored.iter().map(|(anchor, c)| RowView::new(anchor, c)).collect(),
                accounts: anchored.iter().map(|(anchor, c)| Account::new(anchor, c)).collect(),
                other_rows: Vec::new(),
                briefs: Vec::new(),
                grid: false,
                order: None,
                figures: Vec::new(),
            }
        })
        .collect()
}

/// The runs of one model and workload in order of time, a drawing for each primary metric.
fn order_figures(
    site: &Site<'_>,
    campaign: &CampaignReport,
    (id, compact): (&str, bool),
    (model, workload): (&str, &str),
    groups: &[&Group],
    runs: &[&RunReport],
) -> Vec<FigureView> {
    let runs: Vec<&RunReport> = runs.iter().copied().filter(|r| r.model == model && r.workload == workload).collect();
    campaign
        .primary
        .iter()
        .filter_map(|metric| {
            let members = arms(
                campaign,
                groups.iter().copied().filter(|g| {
                    g.model == model && g.workload == workload && &g.metric == metric && !g.values.is_empty()
                }),
            );
            figure::run_order(site, &anchor_of(&[id, "order", metric]), &members, &runs, ROOT, compact)
        })
        .collect()
}

/// Every run of each primary metric, by environment.
pub(super) fn spreads(site: &Site<'_>, campaign: &CampaignReport, groups: &[&Group]) -> Vec<FigureView> {
    campaign
        .primary
        .iter()
        .filter_map(|metric| {
            let members = arms(campaign, groups.iter().copied().filter(|g| &g.metric == metric));
            figure::spread(site, &anchor_of(&["spread", metric]), &members)
        })
        .collect()
}

/// The baseline first within each cell, so that colours mean the same in every chart.
pub(crate) fn arms<'a>(campaign: &CampaignReport, groups: impl Iterator<Item = &'a Group>) -> Vec<&'a Group> {
    let mut members: Vec<&Group> = groups.collect();
    members.sort_by_key(|g| {
        (&g.model, &g.workload, Some(g.environment.as_str()) != campaign.baseline.as_deref(), &g.environment)
    });
    members
}
