//! One campaign, as the analysis shows it: what it is, and what follows from its comparisons.
//!
//! In:  a case, its groups, comparisons and traps.  Out: [`CampaignReport`].
//! Not here: the rules (see `conclusion`, `criteria`, `published`).

use crate::case::{Case, Cell};
use crate::columns::Derived;
use crate::distinct::distinct;
use crate::report::{CampaignReport, Comparison, Comparisons, Group, TrapReport};
use crate::{Settings, conclusion, criteria, essential, order, pairing, published};
use sparkbench_model::Metric;

/// A campaign with its conclusions.
pub(super) fn report(
    case: &Case<'_>,
    groups: &[Group],
    comparisons: &Comparisons,
    pooled: Vec<Comparison>,
    traps: &[TrapReport],
    derived: &[Derived],
    settings: &Settings,
) -> CampaignReport {
    let campaign = case.campaign;
    let names = |of: fn(&Cell<'_>) -> String| distinct(case.cells.iter().map(of));
    let mut starts: Vec<_> = case.runs.iter().filter_map(|run| run.started).collect();
    starts.sort_unstable();
    let checks = published::check(campaign, groups);
    let said = conclusion::conclude(case, groups, comparisons, &pooled, traps, derived, &checks);
    CampaignReport {
        name: campaign.name.clone(),
        title: campaign.title.clone().unwrap_or_else(|| campaign.name.clone()),
        question: campaign.question.clone(),
        prose: campaign.prose.clone(),
        study: campaign.study.clone(),
        provenance: campaign.provenance.clone(),
        machine: case.machine().map(|m| m.title.clone()).or_else(|| campaign.machine.clone()),
        baseline: case.baseline.map(str::to_owned),
        environments: names(|c| c.environment.to_owned()),
        models: names(|c| c.model.to_owned()),
        workloads: names(|c| c.workload.to_owned()),
        primary: case.primary.clone(),
        margins_pct: case
            .metrics()
            .into_iter()
            .filter_map(Metric::find)
            .map(|m| (m.name.clone(), pairing::margin_of(&m, campaign, settings)))
            .collect(),
        metrics: campaign.metrics.clone(),
        runs: case.runs.len(),
        failed: case.runs.iter().filter(|run| run.has_failed()).count(),
        first_started_utc: starts.first().copied(),
        last_started_utc: starts.last().copied(),
        order: case
            .questions()
            .into_iter()
            .map(|(model, workload)| order::of(model, workload, &case.runs_of(model, workload)))
            .collect(),
        hypotheses: said.hypotheses,
        answer: None,
        headline: said.headline,
        supported: said.supported,
        unsupported: said.unsupported,
        next: Vec::new(),
        pooled,
        published_summary: published::summary(&checks),
        published: checks,
        criteria: criteria::assess(case, groups, comparisons),
        factors: campaign.factors.clone(),
        asked: campaign.asked.clone(),
        ranking: Vec::new(),
        compare_by: campaign.compare_by.clone(),
        essentials: essential::rows(case, groups),
        measured: Vec::new(),
        archive_sha256: campaign.archive_sha256.clone(),
    }
}
