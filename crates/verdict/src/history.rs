//! Has it changed? Cells that several campaigns measured, and the verdict from each campaign to the next.
//!
//! In:  all runs, their campaigns, the facts.  Out: [`HistoryReport`]s, none where no cell occurs twice.
//! Not here: any rule of its own. A step is a comparison of two arms whose environments are called by their campaigns.
//!
//! Two campaigns never take turns, so every step carries the caveat of arms that ran one after the other. Engine versions may differ: that is
//! what a history is about, and the step names the change. Any other setting that differs makes the step not comparable, with its reason.
//! So does a machine that neither campaign names.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::case::Case;
use super::grammar::Incomparability;
use super::memory::Round;
use super::report::{Group, HistoryFigure, HistoryPoint, HistoryReport, HistoryStep};
use super::{CellValues, Settings, Study, change, family, finish, layout, pairing, trap};
use sparkbench_model::{Campaign, Instant, Metric, Run, TimePoint, TimeSeries};
use sparkbench_stats::{Sample, sample};

/// Metrics that are followed where the newest campaign names no primary ones.
const MOST_METRICS: usize = 3;

/// Steps from a campaign to the next that are judged one by one. The changes of the whole series say what came before.
const MOST_STEPS: usize = 30;

/// Further settings that tell a version.
const VERSIONS: &[&str] = &["driver_version", "cuda_version", "kernel", "image"];

/// Key by which cells of two campaigns are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    machine: Option<String>,
    model: String,
    /// Lengths, batch and rate where they are known, else the label.
    shape: String,
    environment: String,
    engine: Option<String>,
}

/// Runs of one cell by campaign.
type Cells<'a> = BTreeMap<Key, BTreeMap<&'a str, Vec<&'a Run>>>;

/// Every cell, with its runs by campaign.
fn cells(study: &Study) -> Cells<'_> {
    let mut cells: Cells<'_> = BTreeMap::new();
    for campaign in &study.campaigns {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        let case = Case::of_runs(campaign, own, &study.facts);
        let machine = case.machine().map(|m| m.title.clone()).or_else(|| campaign.machine.clone());
        for cell in &case.cells {
            // Without times there is no order. Without an environment there is nothing to compare.
            let timed: Vec<&Run> = cell.runs.iter().copied().filter(|run| run.started.is_some()).collect();
            if let Some(first) = timed.first().filter(|_| cell.environment != Campaign::UNLABELLED) {
                let key = key(first, machine.as_deref());
                cells.entry(key).or_default().entry(campaign.name.as_str()).or_default().extend(&timed);
            }
        }
    }
    cells
}

/// Every cell that at least two campaigns measured, by machine, model, shape and environment.
pub(super) fn report(study: &Study, round: &Round<'_>) -> Vec<HistoryReport> {
    let shared: Vec<(Key, BTreeMap<&str, Vec<&Run>>)> =
        cells(study).into_iter().filter(|(_, by)| by.len() > 1).collect();
    shared.into_par_iter().map(|(key, by)| one(study, round, key, by)).collect()
}

/// A metric of a cell over several campaigns, a point each.
#[derive(Debug, Clone)]
pub struct CellSeries {
    /// The points, named by their campaigns.
    pub series: TimeSeries,
    /// Margin of the metric, per cent: that of the settings, else of the newest campaign, else the default.
    pub margin_pct: f64,
    /// Whether a file names the machine. Without its name there may be two.
    pub machine_named: bool,
}

/// Every cell that at least two campaigns measured, as series of its followed metrics and of those that are asked for.
pub fn series(study: &Study, settings: &Settings, asked: &[String]) -> Vec<CellSeries> {
    let mut found = Vec::new();
    for (key, by) in cells(study).into_iter().filter(|(_, by)| by.len() > 1) {
        let sides = in_time(by);
        let newest = sides.last().and_then(|(name, _)| study.campaigns.iter().find(|c| c.name == *name));
        let run = sides.last().and_then(|(_, runs)| runs.first());
        let (model, workload) = run.map_or(("", ""), |run| (run.model.as_str(), run.workload.as_str()));
        let engine = run.and_then(|run| run.setup.engine.as_deref()).unwrap_or_default();
        let parts = [key.machine.as_deref().unwrap_or_default(), model, workload, &key.environment, engine];
        let subject = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
        let mut names = followed(study, &sides);
        let further: Vec<String> = asked.iter().filter(|name| !names.contains(name)).cloned().collect();
        names.extend(further);
        for metric in names.iter().filter_map(|name| Metric::find(name)) {
            let margin_pct = newest.map_or(metric.margin_pct, |c| pairing::margin_of(&metric, c, settings));
            found.push(CellSeries {
                series: over_time(&subject, &sides, &metric),
                margin_pct,
                machine_named: key.machine.is_some(),
            });
        }
    }
    found
}

/// Runs of each campaign in order of time, the campaigns in order of their first runs.
fn in_time<'a>(by: BTreeMap<&'a str, Vec<&'a Run>>) -> Vec<(&'a str, Vec<&'a Run>)> {
    let mut sides: Vec<(&str, Vec<&Run>)> = by.into_iter().collect();
    for (_, runs) in &mut sides {
        runs.sort_by_key(|run| run.started);
    }
    sides.sort_by_key(|(name, runs)| (runs.first().and_then(|run| run.started), *name));
    sides
}

/// A campaign as a point: the mean over its runs, with their number and spread, and everything that is known of the moment.
fn time_point(row: usize, name: &str, runs: &[&Run], metric: &Metric) -> Option<TimePoint> {
    let sample = Sample::new(runs.iter().map(|run| reading(run, &metric.name)));
    if sample.is_empty() {
        return None;
    }
    let started = runs.iter().find_map(|run| run.started);
    Some(TimePoint {
        row,
        time: started.map_or_else(String::new, Instant::iso),
        name: Some(name.to_owned()),
        value: sample::mean(sample.values()),
        n: Some(sample.len()),
        sd: sample::sd(sample.values()),
        labels: circumstances(runs),
    })
}

/// Versions and settings of the runs, and the means of what their machine read.
fn circumstances(runs: &[&Run]) -> Vec<(String, String)> {
    let mut said = versions(runs);
    let mut settings: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        let setup = &run.setup;
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let known = [
            ("quantisation", setup.quantisation.clone()),
            ("KV cache type", setup.kv_dtype.clone()),
            ("speculative decoding", setup.speculative.clone()),
            ("parallelism", setup.parallel.clone()),
            ("prefix cache", setup.prefix_cache.map(|on| if on { "on" } else { "off" }.to_owned())),
            ("longest context", number(setup.max_model_len)),
            ("memory share", number(setup.memory_utilisation)),
            ("requests", number(setup.requests)),
        ];
        for (name, value) in known {
            settings.entry(name).or_default().extend(value);
        }
        for (name, value) in setup.more.iter().filter(|(name, _)| !VERSIONS.contains(&name.as_str())) {
            settings.entry(name).or_default().insert(value.clone());
        }
    }
    let told = settings.into_iter().filter(|(_, values)| !values.is_empty());
    said.extend(told.map(|(name, values)| (name.to_owned(), values.into_iter().collect::<Vec<_>>().join(", "))));
    let mean = |values: Vec<f64>| (!values.is_empty()).then(|| format!("{:.1}", sample::mean(&values)));
    let temperatures = runs.iter().filter_map(|run| run.setup.start_temp_c.or_else(|| run.value("gpu_temp_start_c")));
    let clocks = runs.iter().filter_map(|run| run.value("sm_clock_mhz"));
    let readings = [("start temperature, °C", mean(temperatures.collect())), ("clock, MHz", mean(clocks.collect()))];
    said.extend(readings.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    said
}

fn key(run: &Run, machine: Option<&str>) -> Key {
    let setup = &run.setup;
    let shape = match (setup.isl, setup.osl) {
        (Some(isl), Some(osl)) => {
            let part = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| v.to_string());
            format!("{isl} {osl} {} {}", part(setup.batch), part(setup.request_rate))
        }
        _ => run.workload.clone(),
    };
    Key {
        machine: machine.map(str::to_owned).or_else(|| setup.machine.clone()),
        model: setup.model_served.clone().or_else(|| setup.model_id.clone()).unwrap_or_else(|| run.model.clone()),
        shape,
        environment: run.environment.clone(),
        engine: setup.engine.as_ref().map(|engine| engine.to_lowercase()),
    }
}

fn one(study: &Study, round: &Round<'_>, key: Key, by: BTreeMap<&str, Vec<&Run>>) -> HistoryReport {
    let sides = in_time(by);
    let newest = sides.last().and_then(|(_, runs)| runs.first().copied());
    let (model, workload) = newest.map_or_else(Default::default, |run| (run.model.clone(), run.workload.clone()));
    let engine = newest.and_then(|run| run.setup.engine.clone());
    let metrics = followed(study, &sides);
    let points = sides.iter().map(|(name, runs)| point(name, runs, &metrics, round)).collect::<Vec<_>>();
    let newest_campaign = sides.last().and_then(|(name, _)| study.campaigns.iter().find(|c| c.name == *name));
    let followed_metrics = metrics.iter().filter_map(|name| Metric::find(name)).filter(|_| key.machine.is_some());
    let series = followed_metrics
        .map(|metric| {
            let margin_pct =
                newest_campaign.map_or(metric.margin_pct, |c| pairing::margin_of(&metric, c, round.settings));
            change::report(&over_time("", &sides, &metric), margin_pct, round.settings.seed)
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

/// A metric of a cell, a point for each campaign that has it.
fn over_time(subject: &str, sides: &[(&str, Vec<&Run>)], metric: &Metric) -> TimeSeries {
    let points = sides.iter().enumerate().filter_map(|(row, (name, runs))| time_point(row, name, runs, metric));
    TimeSeries {
        subject: subject.to_owned(),
        metric: metric.name.clone(),
        unit: metric.unit.to_owned(),
        direction: Some(metric.direction),
        points: points.collect(),
    }
}

/// Primary metrics of the newest campaign that every campaign reports, else the first of the catalogue that they share.
fn followed(study: &Study, sides: &[(&str, Vec<&Run>)]) -> Vec<String> {
    let reported = |runs: &[&Run]| -> BTreeSet<String> {
        runs.iter().flat_map(|r| &r.readings).filter(|r| r.value.is_finite()).map(|r| r.metric.clone()).collect()
    };
    let mut shared: Option<BTreeSet<String>> = None;
    for (_, runs) in sides {
        let own = reported(runs);
        shared = Some(shared.map_or_else(|| own.clone(), |all| all.intersection(&own).cloned().collect()));
    }
    let shared = shared.unwrap_or_default();
    let newest = sides.last().and_then(|(name, _)| study.campaigns.iter().find(|c| c.name == *name));
    let primary: Vec<String> =
        newest.map(|c| c.primary.iter().filter(|m| shared.contains(*m)).cloned().collect()).unwrap_or_default();
    if !primary.is_empty() {
        return primary;
    }
    let mut known: Vec<Metric> = shared.iter().filter_map(|name| Metric::find(name)).collect();
    known.sort_by_key(|metric| layout::place(&metric.name));
    known.into_iter().take(MOST_METRICS).map(|metric| metric.name).collect()
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

/// As the source gives it. Missing is NaN.
fn reading(run: &Run, metric: &str) -> f64 {
    run.readings.iter().find(|r| r.metric == metric).map_or(f64::NAN, |r| r.value)
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

/// Versions that the runs report. Several of one kind are listed together.
fn versions(runs: &[&Run]) -> Vec<(String, String)> {
    let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        let setup = &run.setup;
        let mut add = |name: &str, value: &Option<String>| {
            if let Some(value) = value {
                said.entry(name.to_owned()).or_default().insert(value.clone());
            }
        };
        add("engine version", &setup.engine_version);
        add("benchmark version", &setup.tool_version);
        for name in VERSIONS {
            add(&name.replace('_', " "), &setup.more.get(*name).cloned());
        }
    }
    said.into_iter().map(|(name, values)| (name, values.into_iter().collect::<Vec<_>>().join(", "))).collect()
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
    let case = layout::lay_out(&campaign, runs.iter().collect(), &study.facts, &settings);
    let groups: Vec<Group> = case
        .cells
        .iter()
        .flat_map(|cell| metrics.iter().filter_map(|name| Metric::find(name)).map(move |metric| (cell, metric)))
        .map(|(cell, metric)| round.estimate(&values(&campaign.name, &cell.runs, &metric), &metric, &cell.runs))
        .collect();
    let derived = case.derived();
    let traps = trap::look(&case);
    let mut compared = pairing::compare_all(&case, &groups, derived, &traps, round);
    family::adjust(&mut compared);
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
