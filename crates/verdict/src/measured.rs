//! The results of a campaign without comparisons: one row for each cell, and a sentence about the best.
//!
//! In:  the campaign, its places, its costs, its groups.  Out: [`MeasuredRow`]s and [`Sentence`]s.
//! Not here: any verdict. The best row is the best mean, and no claim that it differs from the next.

use std::collections::BTreeMap;

use super::across::shape;
use super::case::Case;
use super::number::significant;
use super::report::across::Place;
use super::report::{CostReport, EssentialCell, Group, MeasuredRow, Sentence};
use super::strata::counted;
use super::{essential, layout};
use sparkbench_model::{Direction, Metric, within};

/// The columns, as far as any cell has them. Without the first one the campaign is about something else.
const COLUMNS: [&str; 3] = ["output_throughput_tok_s", "ttft_ms", "tpot_ms"];

/// Caveat of a figure of one run.
pub(crate) const ALONE: &str = "a single run, without an interval";

/// The rows of one campaign, by model, engine, lengths and load.
pub(crate) fn rows(case: &Case<'_>, places: &[Place], costs: &[CostReport], groups: &[Group]) -> Vec<MeasuredRow> {
    let own: Vec<&Place> = places.iter().filter(|place| place.cell.campaign == case.campaign.name).collect();
    let columns = columns(case);
    let mut rows: Vec<(Option<usize>, MeasuredRow)> = shape::shapes(&own)
        .into_iter()
        .zip(&own)
        .map(|(shape, place)| (shape, row(case, place, &columns, costs, groups)))
        .collect();
    mark_best(&mut rows);
    rows.sort_by(|(_, a), (_, b)| {
        let lengths = |row: &MeasuredRow| [row.isl, row.osl, row.request_rate, row.batch].map(|v| v.unwrap_or(0.0));
        let names = |row: &MeasuredRow| (row.model.clone(), row.engine.clone(), row.engine_version.clone());
        let (ours, theirs) = (lengths(a), lengths(b));
        let by_lengths = || ours.iter().zip(&theirs).map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne());
        names(a)
            .cmp(&names(b))
            .then_with(|| by_lengths().unwrap_or(std::cmp::Ordering::Equal))
            .then_with(|| (&a.workload, &a.environment).cmp(&(&b.workload, &b.environment)))
    });
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Output and what a user waits for. Without any output the first metrics that the campaign has.
fn columns(case: &Case<'_>) -> Vec<String> {
    let measured = |name: &str| case.cells.iter().any(|cell| !cell.numbers(name).is_empty());
    if measured(COLUMNS[0]) {
        return COLUMNS.iter().filter(|name| measured(name)).map(|name| (*name).to_owned()).collect();
    }
    let mut names: Vec<String> = case.metrics().into_iter().map(str::to_owned).filter(|name| measured(name)).collect();
    names.retain(|name| Metric::find(name).is_some_and(|metric| metric.base() == name));
    // A rate says best how much was done, as output would.
    let rate = |name: &str| Metric::find(name).is_some_and(|metric| metric.direction == Direction::HigherIsBetter);
    names.sort_by_key(|name| (!rate(name), layout::place(name)));
    names.truncate(COLUMNS.len());
    names
}

fn row(case: &Case<'_>, place: &Place, columns: &[String], costs: &[CostReport], groups: &[Group]) -> MeasuredRow {
    let name = &place.cell;
    let key = (name.model.as_str(), name.workload.as_str(), name.environment.as_str());
    let cell = case.cells.iter().find(|cell| (cell.model, cell.workload, cell.environment) == key);
    let cost = costs.iter().find(|cost| {
        cost.campaign == name.campaign
            && (cost.model.as_str(), cost.workload.as_str(), cost.environment.as_str()) == key
    });
    MeasuredRow {
        model: name.model.clone(),
        workload: name.workload.clone(),
        environment: name.environment.clone(),
        engine: place.engine.clone(),
        engine_version: place.engine_version.clone(),
        quantisation: place.quantisation.clone(),
        isl: place.isl,
        osl: place.osl,
        batch: place.batch,
        request_rate: place.request_rate,
        runs: place.runs,
        failed: place.failed,
        figures: columns.iter().map(|metric| essential::figure(case, cell, key, metric, groups)).collect(),
        usd_per_million_output: cost.and_then(|cost| cost.usd_per_million_output),
        best_of: None,
        left_out: cell
            .is_some_and(|cell| counted::keeps_up(cell) == Some(false) || counted::runs(cell).next().is_none()),
    }
}

/// The first figure and which way it is better. Absent where the row has none or is left out, or the metric has no better.
fn first(row: &MeasuredRow) -> Option<(f64, Direction)> {
    let figure = row.figures.first().filter(|_| !row.left_out)?;
    let direction = Metric::find(&figure.metric)?.direction;
    Some((figure.mean?, direction)).filter(|_| direction != Direction::Neutral)
}

/// Which of some rows is the best, by their places. The first of equals.
fn best<'r>(rows: impl Iterator<Item = (usize, &'r MeasuredRow)>) -> Option<usize> {
    let told = rows.filter_map(|(k, row)| Some((k, first(row)?)));
    let better = |a: f64, b: f64, direction| if direction == Direction::LowerIsBetter { a < b } else { a > b };
    told.reduce(|a, b| if better(b.1.0, a.1.0, a.1.1) { b } else { a }).map(|(k, _)| k)
}

fn mark_best(rows: &mut [(Option<usize>, MeasuredRow)]) {
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (k, (shape, row)) in rows.iter().enumerate() {
        if first(row).is_some() {
            // A cell with unknown lengths is like no other.
            let shape = shape.ok_or_else(|| (row.workload.clone(), row.environment.clone()));
            let key = (row.model.clone(), row.engine.clone(), row.engine_version.clone(), shape);
            alike.entry(key).or_default().push(k);
        }
    }
    for members in alike.values() {
        if let Some(k) = best(members.iter().map(|k| (*k, &rows[*k].1))) {
            rows[k].1.best_of = Some(members.len());
        }
    }
}

/// The best row, and what a user waits for there: each a sentence that can be quoted alone.
pub(crate) fn sentences(rows: &[MeasuredRow]) -> Vec<Sentence> {
    let Some(best) = best(rows.iter().enumerate()).and_then(|k| rows.get(k)) else { return Vec::new() };
    let told = rows.iter().filter(|row| first(row).is_some()).count();
    let Some(figure) = best.figures.first() else { return Vec::new() };
    let lower = Metric::find(&figure.metric).is_some_and(|metric| metric.direction == Direction::LowerIsBetter);
    let (label, value) = (within(&figure.label), shown(figure));
    let subject = match &best.engine {
        Some(engine) => format!("{} with {engine}", best.model),
        None => best.model.clone(),
    };
    let at = at(best);
    let text = if told == 1 {
        let runs = figure.interval.map_or_else(String::new, |i| {
            format!(" ({} runs, {} to {})", figure.n, significant(i.low, 4), significant(i.high, 4))
        });
        format!("The {label} of {subject} is {value}{runs}{at}.")
    } else {
        let end = if lower { "lowest" } else { "highest" };
        format!("The {end} {label} is {value}: {subject}{at}, the best of {told} settings.")
    };
    let runs = match (figure.n, figure.interval) {
        (1, _) => ALONE.to_owned(),
        (n, Some(i)) => format!("mean of {n} runs, interval {} to {}", significant(i.low, 4), significant(i.high, 4)),
        (n, None) => format!("mean of {n} runs"),
    };
    let mut said = vec![Sentence { text, caveats: vec![runs], because: Vec::new() }];
    let wait = |metric: &str| best.figures.iter().find(|f| f.metric == metric && f.mean.is_some()).map(shown);
    if let (false, Some(ttft), tpot) = (figure.metric.starts_with("ttft"), wait("ttft_ms"), wait("tpot_ms")) {
        let further = tpot.map_or(String::new(), |tpot| format!(", and {tpot} for each further one"));
        let text = format!("A request waits {ttft} for its first token there{further}, on average.");
        said.push(Sentence { text, caveats: Vec::new(), because: Vec::new() });
    }
    said
}

/// What is said of rows with which no server kept up: the figure is its limit, and no answer to what was asked of it.
pub(crate) fn overloaded(rows: &[MeasuredRow]) -> Option<Sentence> {
    let row = rows.iter().find(|row| row.left_out && row.failed < row.runs)?;
    let figure = row.figures.first().filter(|figure| figure.mean.is_some())?;
    let subject =
        row.engine.as_ref().map_or_else(|| row.model.clone(), |engine| format!("{} with {engine}", row.model));
    let text = format!("{subject} falls behind{}: its {} is {} there.", at(row), within(&figure.label), shown(figure));
    Some(Sentence { text, caveats: Vec::new(), because: Vec::new() })
}

/// A figure with its unit.
fn shown(figure: &EssentialCell) -> String {
    let value = figure.mean.map_or_else(String::new, |mean| significant(mean, 4));
    if figure.unit.is_empty() { value } else { format!("{value} {}", figure.unit) }
}

/// Lengths and load, or the name of the workload where neither is known.
fn at(row: &MeasuredRow) -> String {
    let lengths = lengths(row.isl.and_then(tokens), row.osl.and_then(tokens)).map(|said| format!(" with {said}"));
    let before = if row.request_rate.is_some() { " at " } else { ", " };
    let load = load(row.request_rate, row.batch).map(|said| format!("{before}{said}"));
    match lengths.unwrap_or_default() + &load.unwrap_or_default() {
        nothing if nothing.is_empty() && !["", row.model.as_str()].contains(&row.workload.as_str()) => {
            format!(" in {}", row.workload)
        }
        at => at,
    }
}

/// A number of tokens as sentences have it. A length of zero is a part of the work that was left out.
pub fn tokens(mean: f64) -> Option<String> {
    (mean > 0.0).then(|| significant(mean.round(), 9))
}

/// "64 tokens in and 32 out", of a request.
pub fn lengths(input: Option<String>, output: Option<String>) -> Option<String> {
    match (input, output) {
        (Some(input), Some(output)) => Some(format!("{input} tokens in and {output} out")),
        (Some(input), None) => Some(format!("{input} tokens in")),
        (None, Some(output)) => Some(format!("{output} tokens out")),
        (None, None) => None,
    }
}

/// "2 requests a second, at most 8 at a time".
pub fn load(request_rate: Option<f64>, batch: Option<f64>) -> Option<String> {
    let several =
        |n: f64, digits| format!("{} {}", significant(n, digits), if n == 1.0 { "request" } else { "requests" });
    match (request_rate, batch) {
        (Some(rate), Some(batch)) => {
            Some(format!("{} a second, at most {} at a time", several(rate, 4), significant(batch, 6)))
        }
        (Some(rate), None) => Some(format!("{} a second", several(rate, 4))),
        (None, Some(batch)) => Some(format!("{} at a time", several(batch, 6))),
        (None, None) => None,
    }
}
