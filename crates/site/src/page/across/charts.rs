//! Charts across cells: output against load, trade-offs, output by lengths, rooflines, memory.
//!
//! In:  sweeps, frontiers, grids, rooflines and stacks of `verdict::across`.  Out: [`FigureView`]s whose marks lead to their cells.
//! Not here: drawing (see `chart`), which charts a page has.

use super::{Cells, NOT_NAMED, joined, lengths, several};
use crate::chart::{
    Frontier as FrontierChart, Heatmap, MemoryStack as StackChart, Roofline as RoofChart, Sweep as SweepChart,
};
use crate::chart::{frontier, heatmap, memory_stack, roofline, sweep};
use crate::page::figure::FigureView;
use crate::page::index::Site;
use crate::page::labels::counted;
use crate::page::number::{fixed, plain};
use sparkbench_verdict::report::Estimate;
use sparkbench_verdict::report::across::{
    CellName, Frontier, Grid, MemoryArm, MemoryStack, RoofPoint, Roofline, Sweep,
};

const fn ends(estimate: &Estimate) -> Option<(f64, f64)> {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => Some((low, high)),
        _ => None,
    }
}

/// Machine, precision and lengths of a sweep.
fn sweep_name(sweep: &Sweep) -> String {
    let machine = several(sweep.machine_title.as_deref().unwrap_or(NOT_NAMED), sweep.devices);
    let lengths = lengths(sweep.isl, sweep.osl);
    // Machines that nothing names are one within a campaign only, so its name distinguishes their sweeps.
    let campaign = sweep.lines.first().map(|line| line.campaign.as_str()).filter(|_| sweep.machine_title.is_none());
    joined([Some(machine.as_str()), campaign, sweep.quantisation.as_deref(), Some(lengths.as_str())])
}

fn load_axis(sweep: &Sweep) -> &'static str {
    if sweep.load == "batch" { "batch or concurrency limit" } else { "requests sent a second" }
}

/// Output against load.
pub(crate) fn sweep_figure(site: &Site<'_>, cells: &Cells<'_>, root: &str, id: &str, found: &Sweep) -> FigureView {
    let lines = found.lines.iter().map(|line| sweep::SweepLine {
        label: line.label.clone(),
        points: (line.points.iter())
            .filter_map(|point| {
                let output = point.output_tok_s?;
                let cell = cell_of(found, &line.campaign, &line.environment, &point.workload);
                let href = cells.href(site, root, &cell);
                Some(sweep::SweepPoint { x: point.load, y: output.mean, interval: ends(&output), n: output.n, href })
            })
            .collect(),
    });
    let chart = SweepChart {
        title: format!("Output throughput of {} against load: {}", found.model, sweep_name(found)),
        finding: Some(capital(&found.finding)),
        x_axis: load_axis(found).into(),
        axis: "output throughput".into(),
        unit: "tok/s".into(),
        lines: lines.collect(),
    };
    let mut view = FigureView::new(id, chart.draw(id));
    if found.length_spread_pct > sparkbench_verdict::alike::TOKENS_TOLERANCE_PCT {
        view.note = Some(format!(
            "The lengths of its cells lie up to {} % apart: they asked for the same and drew their lengths.",
            plain(found.length_spread_pct.round())
        ));
    }
    view
}

fn cell_of(found: &Sweep, campaign: &str, environment: &str, workload: &str) -> CellName {
    CellName {
        campaign: campaign.to_owned(),
        model: found.model.clone(),
        workload: workload.to_owned(),
        environment: environment.to_owned(),
    }
}

/// A trade-off of a sweep.
pub(crate) fn frontier_figure(
    site: &Site<'_>,
    cells: &Cells<'_>,
    root: &str,
    id: &str,
    found: &Frontier,
    of: &Sweep,
) -> FigureView {
    let (axis, unit, less) = match found.x {
        "e2e_latency_ms" => ("end-to-end latency", "ms", true),
        "ttft_ms" => ("time to first token", "ms", true),
        _ => ("output for one user", "tok/s", false),
    };
    let lines = of.lines.iter().map(|line| frontier::FrontierLine {
        label: line.label.clone(),
        points: (found.points.iter().filter(|point| point.line == line.label))
            .map(|point| frontier::FrontierPoint {
                label: plain(point.load),
                x: point.x.mean,
                x_interval: ends(&point.x),
                y: point.output_tok_s.mean,
                interval: ends(&point.output_tok_s),
                n: point.x.n.min(point.output_tok_s.n),
                best: point.best,
                href: cells.href(site, root, &point.cell),
            })
            .collect(),
    });
    let chart = FrontierChart {
        title: format!("{} against output of {}: {}", capital(axis), found.model, sweep_name(of)),
        finding: Some(found.finding.clone()),
        x_axis: axis.into(),
        x_unit: unit.into(),
        less_is_better: less,
        axis: "output throughput".into(),
        unit: "tok/s".into(),
        lines: lines.filter(|line| !line.points.is_empty()).collect(),
    };
    let mut view = FigureView::new(id, chart.draw(id));
    view.note = found.because.as_ref().map(|because| format!("Each line has a front of its own, because {because}."));
    view
}

/// Output by lengths.
pub(crate) fn grid_figure(site: &Site<'_>, cells: &Cells<'_>, root: &str, id: &str, found: &Grid) -> FigureView {
    let place = |ends: &[f64], value: f64| ends.iter().position(|end| *end == value).unwrap_or(0);
    let squares = found.squares.iter().map(|square| {
        let cell = CellName {
            campaign: found.campaign.clone(),
            model: found.model.clone(),
            workload: square.workload.clone(),
            environment: found.environment.clone(),
        };
        let of = if square.loads > 1 { format!(", best of {}", square.loads) } else { String::new() };
        heatmap::Square {
            row: place(&found.isl, square.isl),
            column: place(&found.osl, square.osl),
            value: square.output_tok_s.mean,
            interval: ends(&square.output_tok_s),
            n: square.output_tok_s.n,
            note: square.batch.map_or(String::new(), |batch| format!("batch {}{of}", plain(batch))),
            href: cells.href(site, root, &cell),
        }
    });
    let campaign = Some(found.campaign.as_str()).filter(|_| found.machine_title.is_none());
    let what =
        joined([campaign, found.quantisation.as_deref(), found.engine.as_deref(), Some(found.environment.as_str())]);
    let chart = Heatmap {
        title: format!("Output throughput of {} by lengths: {what}", found.model),
        finding: Some(found.finding.clone()),
        axis: "output throughput".into(),
        unit: "tok/s".into(),
        row_axis: "input tokens".into(),
        column_axis: "output tokens".into(),
        rows: found.isl.iter().map(|tokens| fixed(*tokens, 0)).collect(),
        columns: found.osl.iter().map(|tokens| fixed(*tokens, 0)).collect(),
        squares: squares.collect(),
    };
    FigureView::new(id, chart.draw(id))
}

/// Ceilings and the cells below them.
pub(crate) fn roofline_figure(
    site: &Site<'_>,
    cells: &Cells<'_>,
    root: &str,
    id: &str,
    found: &Roofline,
) -> FigureView {
    let memory = |kind: &str| kind == "memory";
    let name = |point: &RoofPoint| {
        joined([Some(point.cell.model.as_str()), Some(&point.cell.workload), Some(&point.cell.environment)])
    };
    let machine = several(found.machine_title.as_deref().unwrap_or(NOT_NAMED), found.devices);
    let chart = RoofChart {
        title: format!("Roofline of {machine}"),
        finding: Some(found.finding.clone()),
        ceilings: (found.ceilings.iter())
            .map(|ceiling| roofline::Ceiling {
                label: ceiling.label.clone(),
                gb_s: memory(ceiling.kind).then_some(ceiling.value),
                tflops: (!memory(ceiling.kind)).then_some(ceiling.value),
                measured: ceiling.source == "probe",
            })
            .collect(),
        points: (found.points.iter())
            .map(|point| roofline::RooflinePoint {
                label: point.cell.model.clone(),
                name: name(point),
                x: point.intensity_flop_per_byte,
                y: point.tflops.mean,
                interval: ends(&point.tflops),
                n: point.tflops.n,
                href: cells.href(site, root, &point.cell),
            })
            .collect(),
    };
    let mut view = FigureView::new(id, chart.draw(id));
    let bound = found.points.iter().filter(|point| point.basis != "decode").count();
    if bound > 0 {
        view.note = Some(format!(
            "{} of {} from output over the whole run, prefill included: a lower bound of decoding.",
            bound,
            counted(found.points.len(), "cell", "cells")
        ));
    }
    view
}

/// Parts of the memory of one model in one campaign.
pub(crate) fn memory_figure(
    site: &Site<'_>,
    cells: &Cells<'_>,
    root: &str,
    id: &str,
    found: &MemoryStack,
) -> FigureView {
    let several = found.arms.iter().any(|arm| arm.workload != found.arms[0].workload);
    let chart = StackChart {
        title: format!("Memory of {} in {}", found.model, found.campaign),
        finding: Some(found.finding.clone()),
        unit: "GiB".into(),
        bars: (found.arms.iter())
            .map(|arm| memory_stack::MemoryBar {
                label: if several {
                    joined([Some(arm.workload.as_str()), Some(&arm.environment)])
                } else {
                    arm.environment.clone()
                },
                n: arm.runs,
                whole_label: arm.whole_is.unwrap_or_default().to_owned(),
                whole: arm.whole_gib.map(|whole| whole.mean),
                interval: arm.whole_gib.as_ref().and_then(ends),
                parts: parts(arm),
                notes: arm.notes.clone(),
                href: cells.href(
                    site,
                    root,
                    &CellName {
                        campaign: found.campaign.clone(),
                        model: found.model.clone(),
                        workload: arm.workload.clone(),
                        environment: arm.environment.clone(),
                    },
                ),
            })
            .collect(),
    };
    FigureView::new(id, chart.draw(id))
}

/// The parts of a stack in one order, so that a name has one look.
fn parts(arm: &MemoryArm) -> Vec<memory_stack::MemoryPart> {
    let part = |label: &str, found: &Option<Estimate>| memory_stack::MemoryPart {
        label: label.to_owned(),
        value: found.as_ref().map(|found| found.mean),
    };
    let rest = match (arm.whole_is, arm.weights_gib.is_some(), arm.kv_cache_gib.is_some()) {
        (Some("device"), ..) => "not taken, or not told",
        (_, true, true) => "rest",
        (_, false, true) => "rest, weights in it",
        (_, true, false) => "rest, KV cache in it",
        (_, false, false) => "all in one",
    };
    // What was in use before the cache holds the weights.
    let first = match arm.before_cache_gib {
        Some(_) => part("in use before the cache", &arm.before_cache_gib),
        None => part("weights", &arm.weights_gib),
    };
    vec![first, part("KV cache", &arm.kv_cache_gib), part(rest, &arm.rest_gib)]
}

/// The first letter of a sentence that does not begin with a name.
fn capital(text: &str) -> String {
    match text.strip_prefix("output") {
        Some(rest) => format!("Output{rest}"),
        None => {
            let mut letters = text.chars();
            let first = letters.next().filter(|_| text.starts_with("end-to-end") || text.starts_with("time "));
            first.map_or_else(|| text.to_owned(), |first| first.to_uppercase().chain(letters).collect())
        }
    }
}
