//! Metrics of cells over time: a series of each, with a point for each campaign.
//!
//! In:  cells that several campaigns measured.  Out: [`CellSeries`].
//! Not here: the search for changes (see [`crate::change`]).

use std::collections::{BTreeMap, BTreeSet};

use super::cells::{self, SharedCell};
use crate::{Settings, Study, layout, pairing};
use sparkbench_model::{Campaign, Extra, Instant, Metric, Run, TimePoint, TimeSeries};
use sparkbench_stats::{Sample, sample};

/// Further settings that tell a version.
const VERSIONS: &[&str] = &["driver_version", "cuda_version", "kernel", "image"];

/// Metrics that are followed where the newest campaign names no primary ones.
const MOST_METRICS: usize = 3;

/// Which figures become series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    /// Primary metrics that every campaign reports. Where there are none, all.
    Primary,
    /// All that two campaigns report: the primary metrics first, then the other metrics, then columns that no metric means.
    All,
}

/// A metric of a cell over several campaigns, a point each.
#[derive(Debug, Clone)]
pub struct CellSeries {
    /// The points, named by their campaigns.
    pub series: TimeSeries,
    /// Margin of the metric, per cent: that of the settings, else of the newest campaign, else the default. A
    /// column that no metric means has 0.
    pub margin_pct: f64,
    /// Whether a file names the machine. Without its name there may be two.
    pub machine_named: bool,
    /// Runs of the cell that are copies of others and count once.
    pub copies: usize,
}

/// Every cell that at least two campaigns measured, as series of its figures.
pub fn series(study: &Study, settings: &Settings, which: Figures) -> Vec<CellSeries> {
    let mut found = Vec::new();
    for cell in cells::shared(study) {
        let SharedCell { key, sides, copies } = &cell;
        let newest = newest(study, sides);
        let run = sides.last().and_then(|(_, runs)| runs.first());
        let (model, workload) = run.map_or(("", ""), |run| (run.model.as_str(), run.workload.as_str()));
        let engine = run.and_then(|run| run.setup.engine.as_deref()).unwrap_or_default();
        let parts = [key.machine.as_deref().unwrap_or_default(), model, workload, &key.environment, engine];
        let subject = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
        for figure in figures(study, sides, which) {
            let margin_pct = figure.metric.as_ref().map_or(0.0, |metric| {
                newest.map_or(metric.margin_pct, |campaign| pairing::margin_of(metric, campaign, settings))
            });
            found.push(CellSeries {
                series: over_time(&subject, sides, &figure),
                margin_pct,
                machine_named: key.machine.is_some(),
                copies: *copies,
            });
        }
    }
    found
}

/// The newest campaign.
pub(super) fn newest<'a>(study: &'a Study, sides: &[(&str, Vec<&Run>)]) -> Option<&'a Campaign> {
    sides.last().and_then(|(name, _)| study.campaigns.iter().find(|campaign| campaign.name == *name))
}

/// A figure that is followed.
pub(super) struct Figure {
    pub name: String,
    pub unit: String,
    /// Absent for a column that no metric means.
    pub metric: Option<Metric>,
}

impl From<Metric> for Figure {
    fn from(metric: Metric) -> Self {
        Self { name: metric.name.clone(), unit: metric.unit.to_owned(), metric: Some(metric) }
    }
}

impl Figure {
    /// Its value in a run. Missing is NaN. A column counts in its unit only.
    fn of(&self, run: &Run) -> f64 {
        if self.metric.is_some() {
            return reading(run, &self.name);
        }
        let own = run.extras.iter().find(|extra| extra.name == self.name && extra.unit == self.unit);
        own.and_then(Extra::as_number).unwrap_or(f64::NAN)
    }
}

/// Figures of the cell, in the order in which they are shown.
fn figures(study: &Study, sides: &[(&str, Vec<&Run>)], which: Figures) -> Vec<Figure> {
    if which == Figures::Primary {
        let names = followed(study, sides);
        if !names.is_empty() {
            return names.iter().filter_map(|name| Metric::find(name)).map(Figure::from).collect();
        }
    }
    let mut metrics: BTreeMap<&str, usize> = BTreeMap::new();
    let mut columns: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (_, runs) in sides {
        for name in reported(runs) {
            *metrics.entry(name).or_default() += 1;
        }
        let extras = runs.iter().flat_map(|run| &run.extras).filter(|extra| extra.as_number().is_some());
        for column in extras.map(|extra| (extra.name.as_str(), extra.unit.as_str())).collect::<BTreeSet<_>>() {
            *columns.entry(column).or_default() += 1;
        }
    }
    let mut names: Vec<&str> = metrics.iter().filter(|(_, n)| **n > 1).map(|(name, _)| *name).collect();
    let primary = newest(study, sides).map_or(&[][..], |campaign| campaign.primary.as_slice());
    let place = |name: &str| primary.iter().position(|own| own == name).unwrap_or(usize::MAX);
    names.sort_by_key(|name| (place(name), layout::place(name)));
    let columns = columns.into_iter().filter(|((name, _), n)| *n > 1 && !metrics.contains_key(name));
    let columns =
        columns.map(|((name, unit), _)| Figure { name: name.to_owned(), unit: unit.to_owned(), metric: None });
    names.into_iter().filter_map(Metric::find).map(Figure::from).chain(columns).collect()
}

/// Metrics with a finite figure in a run.
fn reported<'a>(runs: &[&'a Run]) -> BTreeSet<&'a str> {
    let readings = runs.iter().flat_map(|run| &run.readings).filter(|reading| reading.value.is_finite());
    readings.map(|reading| reading.metric.as_str()).collect()
}

/// A campaign as a point: the mean over its runs, with their number and spread, and everything that is known of the moment.
fn time_point(row: usize, name: &str, runs: &[&Run], figure: &Figure) -> Option<TimePoint> {
    let sample = Sample::new(runs.iter().map(|run| figure.of(run)));
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

/// A figure of a cell, a point for each campaign that has it.
pub(super) fn over_time(subject: &str, sides: &[(&str, Vec<&Run>)], figure: &Figure) -> TimeSeries {
    let points = sides.iter().enumerate().filter_map(|(row, (name, runs))| time_point(row, name, runs, figure));
    TimeSeries {
        subject: subject.to_owned(),
        metric: figure.name.clone(),
        unit: figure.unit.clone(),
        direction: figure.metric.as_ref().map(|metric| metric.direction),
        points: points.collect(),
    }
}

/// Primary metrics of the newest campaign that every campaign reports, else the first of the catalogue that they share.
pub(super) fn followed(study: &Study, sides: &[(&str, Vec<&Run>)]) -> Vec<String> {
    let mut shared: Option<BTreeSet<&str>> = None;
    for (_, runs) in sides {
        let own = reported(runs);
        shared = Some(shared.map_or_else(|| own.clone(), |all| all.intersection(&own).copied().collect()));
    }
    let shared = shared.unwrap_or_default();
    let primary: Vec<String> = newest(study, sides)
        .map(|c| c.primary.iter().filter(|m| shared.contains(m.as_str())).cloned().collect())
        .unwrap_or_default();
    if !primary.is_empty() {
        return primary;
    }
    let mut known: Vec<Metric> = shared.iter().filter_map(|name| Metric::find(name)).collect();
    known.sort_by_key(|metric| layout::place(&metric.name));
    known.into_iter().take(MOST_METRICS).map(|metric| metric.name).collect()
}

/// As the source gives it. Missing is NaN.
pub(super) fn reading(run: &Run, metric: &str) -> f64 {
    run.readings.iter().find(|r| r.metric == metric).map_or(f64::NAN, |r| r.value)
}

/// Versions that the runs report. Several of one kind are listed together.
pub(super) fn versions(runs: &[&Run]) -> Vec<(String, String)> {
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
