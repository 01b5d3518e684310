//! Output against load: cells of one shape of requests at several batch sizes, limits of concurrency, or rates.
//!
//! In:  spots and their shapes.  Out: [`Sweep`]s.
//! Not here: which loads are best (see `cost`), drawing.

use std::collections::{BTreeMap, BTreeSet};

use super::naming::{labels, slug, unique};
use super::placed_cell::PlacedCell;
use crate::Settings;
use crate::number::{list, significant};
use crate::report::Estimate;
use crate::report::across::{Place, Sweep, SweepLine, SweepPoint};

/// Finite rates are the load where there are any. Else the limit of concurrency is.
fn load(spot: &PlacedCell<'_, '_>) -> Option<(&'static str, f64)> {
    let place = &spot.place;
    place.request_rate.map(|rate| ("request_rate", rate)).or_else(|| Some(("batch", place.batch?)))
}

/// Every shape that was measured at two loads or more by one environment and engine.
pub(crate) fn sweeps(spots: &[PlacedCell<'_, '_>], shapes: &[Option<usize>], settings: &Settings) -> Vec<Sweep> {
    let mut found: BTreeMap<(usize, &str), Vec<(f64, &PlacedCell<'_, '_>)>> = BTreeMap::new();
    for (spot, shape) in spots.iter().zip(shapes) {
        let Some((shape, (kind, load))) = shape.zip(load(spot)) else { continue };
        if spot.place.output_tok_s.is_some() {
            found.entry((shape, kind)).or_default().push((load, spot));
        }
    }
    let mut taken: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut sweeps = Vec::new();
    for ((_, kind), cells) in found {
        let Some(first) = cells.first().map(|(_, spot)| &spot.place) else { continue };
        let lines = lines(&cells, settings);
        if lines.is_empty() {
            continue;
        }
        let lengths = |of: fn(&Place) -> Option<f64>| -> Vec<f64> {
            cells.iter().filter_map(|(_, spot)| of(&spot.place)).collect()
        };
        let (isl, osl) = (lengths(|p| p.isl), lengths(|p| p.osl));
        let mean = |values: &[f64]| (!values.is_empty()).then(|| sparkbench_stats::mean(values));
        let shown = |values: &[f64]| mean(values).map_or(String::new(), |v| significant(v.round(), 6));
        let base = slug(&[
            first.machine.as_deref().unwrap_or(""),
            first.quantisation.as_deref().unwrap_or(""),
            &shown(&isl),
            &shown(&osl),
            if kind == "batch" { "" } else { "rate" },
        ]);
        sweeps.push(Sweep {
            id: unique(taken.entry(&first.cell.model).or_default(), base),
            model: first.cell.model.clone(),
            machine: first.machine.clone(),
            machine_title: first.machine_title.clone(),
            devices: first.devices,
            quantisation: first.quantisation.clone(),
            isl: mean(&isl),
            osl: mean(&osl),
            length_spread_pct: spread_pct(&isl).max(spread_pct(&osl)),
            load: kind,
            finding: finding(&lines, kind),
            lines,
        });
    }
    sweeps.sort_by(|a, b| (&a.model, &a.id).cmp(&(&b.model, &b.id)));
    sweeps
}

/// Greatest over least, less one, per cent.
fn spread_pct(values: &[f64]) -> f64 {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > 0.0 && high.is_finite() { 100.0 * (high / low - 1.0) } else { 0.0 }
}

/// Lines with two loads or more. A load that a line has twice begins a further line: two workloads under one set of settings.
fn lines(cells: &[(f64, &PlacedCell<'_, '_>)], settings: &Settings) -> Vec<SweepLine> {
    // The baseline first, as everywhere: a line keeps the look that its environment has on other pages.
    type Key = (bool, String, String, Option<String>, Option<String>, String, usize);
    let mut by_line: BTreeMap<Key, Vec<(f64, &PlacedCell<'_, '_>)>> = BTreeMap::new();
    let mut cells: Vec<(f64, &PlacedCell<'_, '_>)> = cells.to_vec();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.place.cell.cmp(&b.1.place.cell)));
    for (load, spot) in cells {
        let place = &spot.place;
        let settings = other_settings(spot);
        for copy in 0.. {
            let key = (
                spot.case.baseline != Some(place.cell.environment.as_str()),
                place.cell.environment.clone(),
                place.cell.campaign.clone(),
                place.engine.clone(),
                place.engine_version.clone(),
                settings.clone(),
                copy,
            );
            let line = by_line.entry(key).or_default();
            if line.last().is_none_or(|(last, _)| *last != load) {
                line.push((load, spot));
                break;
            }
        }
    }
    by_line.retain(|_, points| points.len() >= 2);
    let names: Vec<Vec<String>> = by_line
        .keys()
        .map(|(_, environment, campaign, engine, version, settings, copy)| {
            let copy = if *copy == 0 { String::new() } else { format!("set {}", copy + 1) };
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            vec![environment.clone(), text(engine), text(version), campaign.clone(), settings.clone(), copy]
        })
        .collect();
    labels(&names)
        .into_iter()
        .zip(by_line)
        .map(|(label, ((_, environment, campaign, engine, ..), points))| SweepLine {
            label,
            campaign,
            environment,
            engine,
            points: points.into_iter().map(|(load, spot)| point(load, spot, settings)).collect(),
        })
        .collect()
}

/// Settings besides the load that make a line of its own.
fn other_settings(spot: &PlacedCell<'_, '_>) -> String {
    let said = |of: &dyn Fn(&sparkbench_model::Run) -> Option<String>| spot.cell.stated(of);
    let words = [
        said(&|run| run.setup.parallel.clone()),
        said(&|run| run.setup.kv_dtype.as_ref().map(|kind| format!("{kind} cache"))),
        said(&|run| run.setup.speculative.clone()),
        said(&|run| run.setup.prefix_cache.map(|on| if on { "prefix cache" } else { "no prefix cache" }.to_owned())),
        said(&|run| run.setup.tool.clone()),
    ];
    let rate = spot.place.request_rate.and(spot.place.batch).map(|batch| format!("at most {}", significant(batch, 6)));
    words.into_iter().chain([rate]).flatten().collect::<Vec<_>>().join(", ")
}

fn point(load: f64, spot: &PlacedCell<'_, '_>, settings: &Settings) -> SweepPoint {
    let figure = |metric: &str| spot.figure(metric, settings);
    SweepPoint {
        load,
        workload: spot.place.cell.workload.clone(),
        output_tok_s: spot.place.output_tok_s,
        user_tok_s: spot.each(|run| run.value("tpot_ms").filter(|ms| *ms > 0.0).map(|ms| 1000.0 / ms), settings),
        ttft_ms: figure("ttft_ms"),
        tpot_ms: figure("tpot_ms"),
        e2e_latency_ms: figure("e2e_latency_ms"),
    }
}

/// Load and rate of the last point of a line that is highest there, beyond doubt.
fn rises(line: &SweepLine) -> Option<(f64, Estimate)> {
    let rates: Vec<(f64, Estimate)> = line.points.iter().filter_map(|p| Some((p.load, p.output_tok_s?))).collect();
    let ((load, last), before) = rates.split_last()?;
    let below = |other: &Estimate| other.mean < last.mean && !(other.n > 1 && last.n > 1 && other.overlaps(last));
    (!before.is_empty() && before.iter().all(|(_, other)| below(other))).then_some((*load, *last))
}

/// "Highest at the last load, a batch of 16: a 976.8 tok/s, b 734.4 tok/s": more than two lines would each say the same.
fn rising_together(lines: &[SweepLine], unit: impl Fn(f64) -> String) -> Option<String> {
    const MANY: usize = 3;
    let mut ends: Vec<(&str, f64, f64)> = lines
        .iter()
        .filter_map(|line| rises(line).map(|(load, last)| (line.label.as_str(), load, last.mean)))
        .collect();
    let first = ends.first()?.1;
    if ends.len() < MANY || ends.iter().any(|(_, load, _)| *load != first) {
        return None;
    }
    ends.sort_by(|a, b| b.2.total_cmp(&a.2));
    let told: Vec<String> =
        ends.iter().map(|(label, _, rate)| format!("{label} {} tok/s", significant(*rate, 4))).collect();
    Some(format!("Highest at the last load, {}: {}", unit(first), list(&told)))
}

/// Where each line begins, where it is highest, and whether the loads beside that are distinguished from it.
fn finding(lines: &[SweepLine], kind: &str) -> String {
    let unit = |load: f64| {
        let load = significant(load, 6);
        if kind == "batch" { format!("a batch of {load}") } else { format!("{load} req/s") }
    };
    let mut said: Vec<String> = rising_together(lines, unit).into_iter().collect();
    let rising = !said.is_empty();
    let others = lines.iter().filter(|line| !(rising && rises(line).is_some())).filter_map(|line| {
        let rates: Vec<(f64, Estimate)> = line.points.iter().filter_map(|p| Some((p.load, p.output_tok_s?))).collect();
        let (first, rest) = rates.split_first()?;
        let best = rest.iter().fold(*first, |best, point| if point.1.mean > best.1.mean { *point } else { best });
        let name = if lines.len() > 1 { format!("{}: ", line.label) } else { String::new() };
        let rate = |estimate: &Estimate| significant(estimate.mean, 4);
        if best.0 == first.0 {
            return Some(format!(
                "{name}output is highest at {}, the least measured ({} tok/s)",
                unit(best.0),
                rate(&best.1)
            ));
        }
        let single = best.1.n < 2 || first.1.n < 2;
        let near: Vec<String> = rates
            .iter()
            .filter(|(load, other)| *load != best.0 && !single && other.n > 1 && other.overlaps(&best.1))
            .map(|(load, _)| significant(*load, 6))
            .collect();
        let tied = if near.is_empty() { String::new() } else { format!(", not told apart from {}", list(&near)) };
        let last = rates.last().is_some_and(|(load, _)| *load == best.0);
        let rising = if last { ", the last load" } else { "" };
        Some(format!(
            "{name}output goes from {} tok/s at {} to {} tok/s at {}{tied}{rising}",
            rate(&first.1),
            unit(first.0),
            rate(&best.1),
            unit(best.0)
        ))
    });
    said.extend(others);
    let single =
        lines.iter().flat_map(|line| &line.points).filter(|p| p.output_tok_s.is_some_and(|e| e.n == 1)).count();
    let mut text = said.join(". ");
    if !text.is_empty() {
        text.push('.');
    }
    if single > 0 {
        let points = super::super::number::count(single, "point");
        text.push_str(&format!(" {points} of a single run, without an interval."));
    }
    text
}
