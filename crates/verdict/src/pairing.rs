//! Which arms are compared with each other, and what forbids it.
//!
//! In:  a campaign's cells, their groups, the traps that fired.  Out: measured comparisons with their obstacles.
//! Not here: adjustment for the family (see `family`), the choice of words (see `finish` and `grammar`).

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::alike::Compared;
use super::case::{Case, Cell};
use super::columns::Derived;
use super::compare::Pair;
use super::definitions::{DEFINITION, DefinitionCheck};
use super::distinct::distinct;
use super::grammar::Incomparability;
use super::group::OfRequests;
use super::memory::Round;
use super::method::{Layout, Unit};
use super::report::{Comparison, Group, Severity, TrapReport, TrapStatus};
use super::trap;
use super::{CellValues, Settings, alike, definitions, derive, group, order};
use sparkbench_model::{Campaign, Metric, Run, Setting, within};

/// Margin of a metric, per cent: of the command line, else of the campaign, else of the catalogue.
pub(crate) fn margin_of(metric: &Metric, campaign: &Campaign, settings: &Settings) -> f64 {
    let given =
        |margins: &BTreeMap<String, f64>| margins.get(&metric.name).or_else(|| margins.get(metric.base())).copied();
    given(&settings.margins_pct).or_else(|| given(&campaign.margins_pct)).unwrap_or(metric.margin_pct)
}

/// Every baseline-candidate pair of environments, every metric.
pub(super) fn compare_all(
    case: &Case<'_>,
    groups: &[Group],
    derived: &[Derived],
    traps: &[TrapReport],
    round: &Round<'_>,
) -> Vec<(Comparison, Vec<Incomparability>)> {
    let settings = round.settings;
    let mut jobs = Vec::new();
    for (model, workload) in case.questions() {
        let arms = case.arms(model, workload);
        let Some((base, candidates)) = arms.split_first().filter(|(base, _)| Some(base.environment) == case.baseline)
        else {
            continue;
        };
        for candidate in candidates {
            let mut runs = case.runs_of(model, workload);
            runs.retain(|r| r.environment == base.environment || r.environment == candidate.environment);
            let order = order::of(model, workload, &runs);
            jobs.push((*base, *candidate, runs, order));
        }
    }
    jobs.par_iter()
        .flat_map(|(base, candidate, runs, order)| {
            // One by one: where one cell alone is new, all the work is in neighbours.
            measured_metrics(case, base, candidate).into_par_iter().with_max_len(1).map(move |metric| {
                let find = |cell: &Cell<'_>| {
                    groups.iter().find(|g| {
                        g.campaign == case.campaign.name
                            && g.model == cell.model
                            && g.workload == cell.workload
                            && g.environment == cell.environment
                            && g.metric == metric.name
                    })
                };
                let (empty_a, empty_b);
                let a = match find(base) {
                    Some(group) => group,
                    None => {
                        empty_a = empty_group(case, base, &metric, settings);
                        &empty_a
                    }
                };
                let b = match find(candidate) {
                    Some(group) => group,
                    None => {
                        empty_b = empty_group(case, candidate, &metric, settings);
                        &empty_b
                    }
                };
                let (of_base, of_candidate) = (units(base, &metric.name), units(candidate, &metric.name));
                let layout = match case.over_time {
                    true => Layout::over_time(of_base, of_candidate),
                    false => Layout::of(of_base, of_candidate),
                };
                let pairs = order::pairs(&layout, order, runs, base.environment, &metric.name);
                let pair = Pair {
                    metric: &metric,
                    a,
                    b,
                    order,
                    layout: &layout,
                    pairs: pairs.as_deref(),
                    margin_pct: margin_of(&metric, case.campaign, settings),
                    primary: case.primary.contains(&metric.name),
                    derived_from: derived
                        .iter()
                        .find(|d| d.column == metric.name)
                        .and_then(|d| d.from.first())
                        .map(String::as_str)
                        .or_else(|| base.runs.iter().find_map(|run| derive::source(run, &metric.name))),
                };
                let mut comparison = round.measure(&pair);
                let compared = Compared::of(case.campaign);
                let obstacles = obstacles(&pair, base, candidate, traps, compared);
                comparison.pairs = pairs.map(|rows| order::about_pairs(rows, settings.confidence));
                comparison.shift = round.shift(base, candidate, &metric);
                comparison.verdict.caveats = caveats(base, candidate, &metric, compared);
                (comparison, obstacles)
            })
        })
        .collect()
}

/// Metrics that either arm reports, even if every value is missing: a promised column that holds nothing is worth a row.
fn measured_metrics(case: &Case<'_>, a: &Cell<'_>, b: &Cell<'_>) -> Vec<Metric> {
    let names: Vec<&str> = distinct(
        a.runs
            .iter()
            .chain(&b.runs)
            .flat_map(|run| run.readings.iter().map(|r| r.metric.as_str()))
            .chain(case.campaign.planned_metrics.iter().map(String::as_str)),
    );
    names.into_iter().filter_map(Metric::find).collect()
}

/// The figures of an arm, in order of time. Several runs of one launch of the engine are one figure, unless all are of one.
pub(super) fn units(cell: &Cell<'_>, metric: &str) -> Vec<Unit> {
    let values = cell.values(metric);
    let launches = distinct(values.iter().filter_map(|(run, _)| run.launch));
    let is_known = values.iter().all(|(run, _)| run.launch.is_some());
    let launch = |run: &Run| run.launch.filter(|_| is_known && launches.len() > 1);
    let mut units: Vec<(Option<u32>, Unit, f64)> = Vec::new();
    for (run, value) in values {
        let own = launch(run);
        match units.iter_mut().find(|(known, ..)| own.is_some() && *known == own) {
            Some((_, unit, n)) => {
                unit.value += (value - unit.value) / (*n + 1.0);
                *n += 1.0;
            }
            None => {
                let unit =
                    Unit { run: run.id.clone(), block: run.block, repeat: run.repeat, started: run.started, value };
                units.push((own, unit, 1.0));
            }
        }
    }
    units.into_iter().map(|(_, unit, _)| unit).collect()
}

fn empty_group(case: &Case<'_>, cell: &Cell<'_>, metric: &Metric, settings: &Settings) -> Group {
    let values = CellValues {
        campaign: case.campaign.name.clone(),
        model: cell.model.to_owned(),
        workload: cell.workload.to_owned(),
        environment: cell.environment.to_owned(),
        metric: metric.name.clone(),
        run_ids: Vec::new(),
        values: Vec::new(),
    };
    group::describe(&values, metric, &[], settings, OfRequests::Nothing)
}

/// Rule 1 of the grammar.
pub(super) fn obstacles(
    pair: &Pair<'_>,
    a: &Cell<'_>,
    b: &Cell<'_>,
    traps: &[TrapReport],
    compared: Compared<'_>,
) -> Vec<Incomparability> {
    let mut found: Vec<Incomparability> = Vec::new();
    let mut add = |code: &str, because: String| {
        if !found.iter().any(|o| o.code == code) {
            found.push(Incomparability { code: code.to_owned(), trap: None, because });
        }
    };
    let gravest = |t: &&TrapReport| t.status == TrapStatus::Fired && t.severity == Severity::Error;
    for trap in traps.iter().filter(gravest).filter(|t| !trap::find(t.id).is_some_and(|trap| trap.told_by_pair())) {
        let subject = &trap.subject;
        let about = |field: &Option<String>, value: &str| field.as_deref().is_none_or(|f| f == value);
        let arm = subject.environment.as_deref().is_none_or(|e| e == a.environment || e == b.environment);
        if about(&subject.model, a.model)
            && about(&subject.workload, a.workload)
            && about(&subject.metric, &pair.metric.name)
            && arm
        {
            let code = trap.code.unwrap_or(trap.id);
            add(code, format!("{} ({code})", within(trap.title)));
        }
    }
    for arm in [pair.a, pair.b] {
        let name = &arm.environment;
        if arm.n_infinite > 0 {
            add("N3", format!("{name} holds infinite values (N3)"));
        }
        match arm.n {
            0 => add("N2", format!("{name} has no value of this metric (N2)")),
            1 => add("N1", format!("{name} has a single run (N1)")),
            _ => {}
        }
        // Single runs are not judged anyway, and are shown as such.
        if pair.a.n.min(pair.b.n) > 1 && arm.flags.iter().any(|flag| flag == group::FEW_REQUESTS) {
            let needed = trap::tail_of(&pair.metric.name).map_or(0, trap::requests_needed);
            add("N5", format!("{name} has fewer requests in a run than the {needed} that this percentile needs (N5)"));
        }
        if pair.metric.is_positive() && arm.mean.is_some_and(|mean| mean <= 0.0) {
            add("N4", format!("the mean of {name} is not positive (N4)"));
        }
    }
    if let Some(arm) = [a, b].into_iter().find(|cell| cell.environment == Campaign::UNLABELLED) {
        let label = Setting::label_of(compared.setting.unwrap_or("environment"));
        let because =
            format!("no file and no label says the {label} of {}", super::number::count(arm.runs.len(), "run"));
        found.push(Incomparability { code: Campaign::UNLABELLED.to_owned(), trap: None, because });
    }
    for difference in alike::hold(a, b, compared).differ {
        let code = if difference.code.is_empty() { difference.trap } else { difference.code };
        found.push(Incomparability {
            code: code.to_owned(),
            trap: Some(difference.trap),
            because: difference.because(),
        });
    }
    if let Some(DefinitionCheck::Differ(because)) = definitions::hold(a, b, pair.metric) {
        found.push(Incomparability { code: DEFINITION.to_owned(), trap: None, because });
    }
    found
}

/// Caveats of a comparison that do not forbid it: settings that only one side states, tools that measure alike and not the same.
pub(super) fn caveats(a: &Cell<'_>, b: &Cell<'_>, metric: &Metric, compared: Compared<'_>) -> Vec<String> {
    let definition = match definitions::hold(a, b, metric) {
        Some(DefinitionCheck::Alike(text) | DefinitionCheck::Unknown(text)) => Some(text),
        Some(DefinitionCheck::Same | DefinitionCheck::Differ(_)) | None => None,
    };
    let sides = alike::hold(a, b, compared);
    sides.with_it().into_iter().chain(sides.caveat()).chain(definition).collect()
}
