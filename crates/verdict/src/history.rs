//! Has it changed? Cells that several campaigns measured, and the verdict from each campaign to the next.
//!
//! In:  all runs, their campaigns, the facts.  Out: [`HistoryReport`]s, none where no cell occurs twice.
//! Not here: any rule of its own. A step is a comparison of two arms whose environments are called by their campaigns.
//!
//! Two campaigns never take turns, so every step carries the caveat of arms that ran one after the other. Engine versions may differ: that is
//! what a history is about, and the step names the change. Any other setting that differs makes the step not comparable, with its reason.
//! So does a machine that neither campaign names.

mod cells;
mod series;

use std::collections::BTreeMap;

use rayon::prelude::*;

use self::cells::SharedCell;
use self::series::{Figure, followed, newest, over_time, reading, versions};
use super::family::{self, Family};
use super::grammar::Incomparability;
use super::memory::Round;
use super::report::{Group, HistoryFigure, HistoryPoint, HistoryReport, HistoryStep};
use super::{CellValues, Settings, Study, change, finish, layout, pairing, trap};
use sparkbench_model::{Campaign, Instant, Metric, Run};

pub use self::series::{CellSeries, Figures, series};

/// Steps from a campaign to the next that are judged one by one. The changes of the whole series say what came before.
const MOST_STEPS: usize = 30;

/// Every cell that at least two campaigns measured, by machine, model, shape and environment.
pub(super) fn report(study: &Study, round: &Round<'_>) -> Vec<HistoryReport> {
    cells::shared(study).into_par_iter().map(|cell| one(study, round, cell)).collect()
}

fn one(study: &Study, round: &Round<'_>, cell: SharedCell<'_>) -> HistoryReport {
    let SharedCell { key, sides, .. } = cell;
    let last = sides.last().and_then(|(_, runs)| runs.first().copied());
    let (model, workload) = last.map_or_else(Default::default, |run| (run.model.clone(), run.workload.clone()));
    let engine = last.and_then(|run| run.setup.engine.clone());
    let metrics = followed(study, &sides);
    let points = sides.iter().map(|(name, runs)| point(name, runs, &metrics, round)).collect::<Vec<_>>();
    let newest_campaign = newest(study, &sides);
    let followed_metrics = metrics.iter().filter_map(|name| Metric::find(name)).filter(|_| key.machine.is_some());
    let series = followed_metrics
        .map(|metric| {
            let margin_pct =
                newest_campaign.map_or(metric.margin_pct, |c| pairing::margin_of(&metric, c, round.settings));
            change::report(&over_time("", &sides, &Figure::from(metric)), margin_pct, round.settings.seed)
        })
        .collect();
    let judged = sides.len().saturating_sub(MOST_STEPS + 1);
    let steps = sides[judged..]
        .windows(2)
        .zip(points[judged..].windows(2))
        .map(|(pair, at)| HistoryStep {
            from: pair[0].0.to_owned(),
            to: pair[1].0.to_owned(),
            changed: changed(&at[0], &at[1]),
            comparisons: step(
                study,
                round,
                (&model, &workload),
                &metrics,
                [&pair[0], &pair[1]],
                key.machine.as_deref(),
            ),
        })
        .collect();
    HistoryReport {
        machine: key.machine,
        model,
        workload,
        environment: key.environment,
        engine,
        metrics,
        points,
        steps,
        series,
    }
}

fn values(campaign: &str, runs: &[&Run], metric: &Metric) -> CellValues {
    CellValues {
        campaign: campaign.to_owned(),
        model: runs.first().map_or_else(String::new, |run| run.model.clone()),
        workload: runs.first().map_or_else(String::new, |run| run.workload.clone()),
        environment: runs.first().map_or_else(String::new, |run| run.environment.clone()),
        metric: metric.name.clone(),
        run_ids: runs.iter().map(|run| run.id.clone()).collect(),
        values: runs.iter().map(|run| reading(run, &metric.name)).collect(),
    }
}

fn point(name: &str, runs: &[&Run], metrics: &[String], round: &Round<'_>) -> HistoryPoint {
    let figures = metrics
        .iter()
        .filter_map(|name| Metric::find(name))
        .map(|metric| {
            let group = round.estimate(&values(name, runs, &metric), &metric, runs);
            HistoryFigure {
                metric: group.metric,
                label: metric.label,
                unit: group.unit,
                direction: group.direction,
                n: group.n,
                mean: group.mean,
                interval: group.t_interval,
                values: group.values,
            }
        })
        .collect();
    let starts: Vec<Instant> = runs.iter().filter_map(|run| run.started).collect();
    HistoryPoint {
        campaign: name.to_owned(),
        first_started_utc: starts.first().copied(),
        last_started_utc: starts.last().copied(),
        versions: versions(runs),
        figures,
    }
}

/// Versions that both sides tell and that are not the same.
fn changed(before: &HistoryPoint, after: &HistoryPoint) -> Vec<(String, String, String)> {
    let old: BTreeMap<&str, &str> = before.versions.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let new = after.versions.iter().filter_map(|(name, value)| {
        let was = old.get(name.as_str()).filter(|was| **was != value.as_str())?;
        Some((name.clone(), (*was).to_owned(), value.clone()))
    });
    new.collect()
}

/// Two campaigns as the arms of one.
fn step(
    study: &Study,
    round: &Round<'_>,
    (model, workload): (&str, &str),
    metrics: &[String],
    sides: [&(&str, Vec<&Run>); 2],
    machine: Option<&str>,
) -> Vec<super::report::Comparison> {
    let [before, after] = sides;
    let later = study.campaigns.iter().find(|c| c.name == after.0);
    let campaign = Campaign {
        name: format!("{} to {}", before.0, after.0),
        baseline: Some(before.0.to_owned()),
        // Versions of the engine may differ between two campaigns.
        compare_by: Some("engine".into()),
        primary: metrics.to_vec(),
        margins_pct: later.map(|c| c.margins_pct.clone()).unwrap_or_default(),
        machine: later.and_then(|c| c.machine.clone()),
        models: later.map(|c| c.models.clone()).unwrap_or_default(),
        ..Campaign::default()
    };
    let runs: Vec<Run> = sides
        .iter()
        .flat_map(|(name, runs)| runs.iter().map(move |run| (*name, *run)))
        .map(|(name, run)| {
            let mut run = run.clone();
            run.campaign.clone_from(&campaign.name);
            run.environment = name.to_owned();
            (run.model, run.workload) = (model.to_owned(), workload.to_owned());
            // Blocks and launches of two campaigns have nothing to do with each other.
            (run.block, run.launch, run.together) = (None, None, None);
            run.readings.retain(|reading| metrics.contains(&reading.metric));
            run
        })
        .collect();
    // The baseline of the command line is an environment, which these arms are not.
    let settings = Settings { baseline: None, ..round.settings.clone() };
    let round = &round.under(&settings);
    let mut case = layout::lay_out(&campaign, runs.iter().collect(), &study.facts, &settings);
    case.over_time = true;
    let groups: Vec<Group> = case
        .cells
        .iter()
        .flat_map(|cell| metrics.iter().filter_map(|name| Metric::find(name)).map(move |metric| (cell, metric)))
        .map(|(cell, metric)| round.estimate(&values(&campaign.name, &cell.runs, &metric), &metric, &cell.runs))
        .collect();
    let derived = case.derived();
    let traps = trap::look(&case);
    let mut compared = pairing::compare_all(&case, &groups, derived, &traps, round);
    family::adjust(&mut compared, Family::EachArm);
    let unnamed = machine.is_none().then(nowhere);
    let finished = |(c, mut obstacles): (super::report::Comparison, Vec<Incomparability>)| {
        obstacles.extend(unnamed.clone());
        finish::finish(c, obstacles, &groups, round)
    };
    compared.into_iter().map(finished).collect()
}

/// Machines that nothing names are one within a campaign only. Seen: one engine on two hosts of one kind, 86 % apart within a day.
fn nowhere() -> Incomparability {
    Incomparability {
        code: "H1".to_owned(),
        trap: None,
        because:
            "no file names the machine of either campaign, so there may be two (machine in a labels.toml names it)"
                .to_owned(),
    }
}
