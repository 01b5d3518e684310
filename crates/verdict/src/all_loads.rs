//! The answer of a campaign: one comparison of an arm and a metric over all its loads.
//!
//! In:  a case, its comparisons of single loads.  Out: comparisons of scope [`Scope::AllLoads`], and which metrics are one measurement.
//! Not here: the method (see `effect`), families, verdicts.
//!
//! The figure of an arm in a block is the geometric mean over the loads, so that the comparison is the mean of the log ratios. A block
//! counts where both arms have every load in it.

use std::collections::BTreeMap;

use rayon::prelude::*;
use sparkbench_model::{Instant, Metric, Run};
use sparkbench_stats::overhead::on_scale;
use sparkbench_stats::{self as stats, Direction, blocks, overhead};

use super::case::Case;
use super::compare::{self, Pair};
use super::distinct::distinct;
use super::grammar::Incomparability;
use super::memory::Round;
use super::method::{Design, Layout, Unit};
use super::report::{Comparison, Group, InteractionReport, Interval, Scope};
use super::{CellValues, order, pairing};

/// Fewest loads of which a mean says more than each of them.
const LEAST_LOADS: usize = 2;

/// What names a row before it is measured: arms, metric, loads.
struct Question<'c> {
    baseline: &'c str,
    candidate: &'c str,
    metric: Metric,
    derived_from: Option<&'c str>,
    counted_with: Option<&'c str>,
    /// Models and workloads.
    loads: Vec<(&'c str, &'c str)>,
}

/// What all loads of one arm measured in one round.
#[derive(Debug)]
struct Launch<'a> {
    /// The first of its runs.
    run: &'a Run,
    started: Option<Instant>,
    /// On the scale of the comparison, one a load.
    of_loads: Vec<f64>,
}

/// One row for each arm and primary metric, with the groups it rests on.
pub(super) fn compare_all(
    case: &Case<'_>,
    rows: &[(Comparison, Vec<Incomparability>)],
    round: &Round<'_>,
) -> Vec<(Comparison, [Group; 2])> {
    let questions: Vec<Question<'_>> = questions(rows);
    questions.par_iter().with_max_len(1).filter_map(|question| one(case, question, round)).collect()
}

fn questions(rows: &[(Comparison, Vec<Incomparability>)]) -> Vec<Question<'_>> {
    let mut found: Vec<Question<'_>> = Vec::new();
    // What cannot be compared under one load is no part of the mean.
    for (c, _) in rows.iter().filter(|(c, obstacles)| c.primary && obstacles.is_empty()) {
        let load = (c.model.as_str(), c.workload.as_str());
        let known = found.iter_mut().find(|q| {
            (q.baseline, q.candidate, q.metric.name.as_str()) == (&c.baseline, &c.candidate, c.metric.as_str())
        });
        match (known, Metric::find(&c.metric)) {
            (Some(question), _) => question.loads.push(load),
            (None, Some(metric)) => found.push(Question {
                baseline: &c.baseline,
                candidate: &c.candidate,
                metric,
                derived_from: c.derived_from.as_deref(),
                counted_with: c.counted_with.as_deref(),
                loads: vec![load],
            }),
            (None, None) => {}
        }
    }
    found.retain(|question| question.loads.len() >= LEAST_LOADS);
    found
}

fn one(case: &Case<'_>, question: &Question<'_>, round: &Round<'_>) -> Option<(Comparison, [Group; 2])> {
    let Question { baseline, candidate, metric, derived_from, counted_with, loads } = question;
    let direction = compare::direction_of(metric);
    let launches = |arm: &str| launches(case, arm, &metric.name, loads, direction);
    let (a, b) = (launches(baseline), launches(candidate));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let models: Vec<&str> = distinct(loads.iter().map(|(model, _)| *model));
    let model = if let [only] = models.as_slice() { only } else { "" };
    let group = |arm: &str, launches: &[Launch<'_>]| {
        let cell = CellValues {
            campaign: case.campaign.name.clone(),
            model: model.to_owned(),
            workload: String::new(),
            environment: arm.to_owned(),
            metric: metric.name.clone(),
            run_ids: launches.iter().map(|launch| launch.run.id.clone()).collect(),
            values: launches.iter().map(|launch| launch.value(direction)).collect(),
        };
        let runs: Vec<&Run> = launches.iter().map(|launch| launch.run).collect();
        round.estimate(&cell, metric, &runs)
    };
    let groups = [group(baseline, &a), group(candidate, &b)];
    let mut runs: Vec<&Run> = a.iter().chain(&b).map(|launch| launch.run).collect();
    runs.sort_by_key(|run| (run.started.is_none(), run.started));
    let order = order::of(model, "", &runs);
    let units = |launches: &[Launch<'_>]| launches.iter().map(|launch| launch.unit(direction)).collect();
    let layout = Layout::of(units(&a), units(&b));
    let pairs = order::pairs(&layout, &order, &runs, baseline, &metric.name);
    let [of_a, of_b] = &groups;
    let pair = Pair {
        metric,
        a: of_a,
        b: of_b,
        order: &order,
        layout: &layout,
        pairs: pairs.as_deref(),
        margin_pct: pairing::margin_of(metric, case.campaign, round.settings),
        primary: true,
        derived_from: *derived_from,
    };
    let mut row = round.measure(&pair);
    row.scope = Scope::AllLoads;
    row.counted_with = counted_with.map(str::to_owned);
    row.loads = loads.iter().map(|(model, workload)| load_name(model, workload, models.len() > 1)).collect();
    row.interaction = interaction(&layout, &a, &b, &row.loads, direction);
    row.pairs = pairs.map(|rows| order::about_pairs(rows, round.settings.confidence));
    Some((row, groups))
}

fn load_name(model: &str, workload: &str, with_model: bool) -> String {
    if with_model { format!("{model} {workload}") } else { workload.to_owned() }
}

impl Launch<'_> {
    /// Back from the scale of the comparison: the geometric mean over the loads.
    fn value(&self, direction: Direction) -> f64 {
        let mean = stats::mean(&self.of_loads);
        if direction == Direction::DifferenceOnly { mean } else { mean.exp() }
    }

    fn unit(&self, direction: Direction) -> Unit {
        Unit {
            run: self.run.id.clone(),
            block: self.run.block,
            repeat: self.run.repeat,
            started: self.started,
            value: self.value(direction),
        }
    }
}

/// What an arm measured under all loads, round by round. A round that lacks a load is left out. Rounds are blocks, else repeats, else the
/// places in the order of time.
fn launches<'a>(
    case: &Case<'a>,
    arm: &str,
    metric: &str,
    loads: &[(&str, &str)],
    direction: Direction,
) -> Vec<Launch<'a>> {
    let cells: Vec<Vec<(&'a Run, f64)>> = loads
        .iter()
        .filter_map(|(model, workload)| {
            case.cells.iter().find(|c| c.environment == arm && c.model == *model && c.workload == *workload)
        })
        .map(|cell| cell.values(metric))
        .collect();
    if cells.len() < loads.len() {
        return Vec::new();
    }
    let runs = || cells.iter().flatten().map(|(run, _)| run);
    let round = |of: fn(&Run) -> Option<u32>| runs().all(|run| of(run).is_some()).then_some(of);
    let numbering = round(|run| run.block).or_else(|| round(|run| run.repeat));
    let mut rounds: BTreeMap<u32, Vec<Vec<(&'a Run, f64)>>> = BTreeMap::new();
    for (load, cell) in cells.iter().enumerate() {
        for (place, (run, value)) in cell.iter().enumerate() {
            let key = numbering.and_then(|of| of(run)).unwrap_or(u32::try_from(place).unwrap_or(u32::MAX));
            let of_round = rounds.entry(key).or_insert_with(|| vec![Vec::new(); cells.len()]);
            if let Some(of_load) = of_round.get_mut(load) {
                of_load.push((run, *value));
            }
        }
    }
    let mut found: Vec<Launch<'a>> = rounds
        .into_values()
        .filter(|of_loads| of_loads.iter().all(|runs| !runs.is_empty()))
        .filter_map(|of_loads| {
            let scale = |runs: &Vec<(&Run, f64)>| {
                let values: Vec<f64> = runs.iter().map(|(_, value)| on_scale(*value, direction)).collect();
                stats::mean(&values)
            };
            let starts: Option<Vec<f64>> =
                of_loads.iter().flatten().map(|(run, _)| run.started.map(|at| at.0 as f64)).collect();
            let started = starts.map(|starts| Instant(stats::mean(&starts) as i64));
            let (run, _) = *of_loads.first()?.first()?;
            let of_loads: Vec<f64> = of_loads.iter().map(scale).collect();
            of_loads.iter().all(|value| value.is_finite()).then_some(Launch { run, started, of_loads })
        })
        .collect();
    found.sort_by_key(|launch| (launch.started.is_none(), launch.started));
    found
}

/// Whether the difference depends on the load: in whole blocks of one launch of each arm.
fn interaction(
    layout: &Layout,
    a: &[Launch<'_>],
    b: &[Launch<'_>],
    loads: &[String],
    direction: Direction,
) -> Option<InteractionReport> {
    if layout.design != Design::InBlocks {
        return None;
    }
    let of = |launches: &[Launch<'_>], run: &str| -> Option<Vec<f64>> {
        launches.iter().find(|launch| launch.run.id == run).map(|launch| launch.of_loads.clone())
    };
    let differences: Vec<Vec<f64>> = layout
        .blocks
        .iter()
        .filter_map(|block| {
            let [first, second] = &block.runs;
            Some(of(b, second)?.iter().zip(of(a, first)?).map(|(b, a)| b - a).collect())
        })
        .collect();
    let found = blocks::interaction(&differences)?;
    let of_load =
        |load: usize| stats::mean(&differences.iter().filter_map(|row| row.get(load)).copied().collect::<Vec<_>>());
    let each: Vec<f64> = (0..loads.len()).map(|load| overhead::from_scale(of_load(load), direction)).collect();
    let ends = each.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    let per_cent = direction != Direction::DifferenceOnly && ends.0.is_finite() && ends.1.is_finite();
    Some(InteractionReport {
        f: found.f,
        df1: found.df1,
        df2: found.df2,
        p: found.p,
        departs_most: loads.get(found.departs_most)?.clone(),
        range_pct: per_cent.then(|| Interval::new(ends.0, ends.1)),
    })
}

/// Names on each primary metric that is one measurement with an earlier one that metric: throughput and latency of a closed loop are. Looked
/// at in the residuals of each arm about its own mean.
pub(super) fn count_once(case: &Case<'_>, rows: &mut [(Comparison, Vec<Incomparability>)]) {
    let own: Vec<(String, String)> = {
        let arms: Vec<&str> = distinct(case.cells.iter().map(|cell| cell.environment));
        let is_own = |name: &&String| rows.iter().any(|(c, _)| c.metric == **name && c.derived_from.is_none());
        let primary: Vec<&String> = case.primary.iter().filter(is_own).collect();
        let mut found: Vec<(String, String)> = Vec::new();
        for (place, later) in primary.iter().enumerate() {
            let earlier = primary.iter().take(place).find(|earlier| {
                !found.iter().any(|(name, _)| name == **earlier) && is_one_measurement(case, &arms, earlier, later)
            });
            if let Some(earlier) = earlier {
                found.push(((*later).clone(), (*earlier).clone()));
            }
        }
        found
    };
    for (c, _) in rows.iter_mut() {
        c.counted_with = own.iter().find(|(later, _)| *later == c.metric).map(|(_, earlier)| earlier.clone());
    }
}

fn is_one_measurement(case: &Case<'_>, arms: &[&str], first: &str, second: &str) -> bool {
    let of_ratio = |name: &str| Metric::find(name).is_some_and(|metric| metric.ratio_scale);
    if !of_ratio(first) || !of_ratio(second) {
        return false;
    }
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for arm in arms {
        let loads: Vec<(&str, &str)> = case
            .cells
            .iter()
            .filter(|cell| {
                cell.environment == *arm && !cell.numbers(first).is_empty() && !cell.numbers(second).is_empty()
            })
            .map(|cell| (cell.model, cell.workload))
            .collect();
        if loads.is_empty() {
            continue;
        }
        let of = |metric: &str| launches(case, arm, metric, &loads, Direction::Neutral);
        let (of_first, of_second) = (of(first), of(second));
        let both: Vec<(f64, f64)> = of_first
            .iter()
            .filter_map(|launch| {
                let other = of_second.iter().find(|other| other.run.id == launch.run.id)?;
                Some((stats::mean(&launch.of_loads), stats::mean(&other.of_loads)))
            })
            .collect();
        let mean = |of: fn(&(f64, f64)) -> f64| stats::mean(&both.iter().map(of).collect::<Vec<_>>());
        let (mean_x, mean_y) = (mean(|pair| pair.0), mean(|pair| pair.1));
        x.extend(both.iter().map(|pair| pair.0 - mean_x));
        y.extend(both.iter().map(|pair| pair.1 - mean_y));
    }
    blocks::is_one_measurement(&x, &y)
}
