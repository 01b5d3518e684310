//! Trade-offs: latency for the user against throughput of the machine.
//!
//! In:  sweeps.  Out: [`Frontier`]s.
//! Not here: what counts as one sweep (see `sweep`), drawing.
//!
//! A point is on the front when no other is at least as good in both and better in one. Means of runs decide. Lines are compared with each
//! other only where both metrics mean the same on them.

use std::collections::BTreeMap;

use super::placed_cell::PlacedCell;
use crate::definitions::{self, DefinitionCheck};
use crate::number::significant;
use crate::report::Estimate;
use crate::report::across::{CellName, Frontier, FrontierPoint, Sweep, SweepPoint};
use sparkbench_model::Metric;

/// Points that a trade-off has at least.
const LEAST_POINTS: usize = 3;

/// Latencies for the user: name, metric that must mean the same, whether less is better, how it is read.
type Seen = (&'static str, &'static str, bool, fn(&SweepPoint) -> Option<Estimate>);

const SEEN: [Seen; 3] = [
    ("e2e_latency_ms", "e2e_latency_ms", true, |p| p.e2e_latency_ms),
    ("ttft_ms", "ttft_ms", true, |p| p.ttft_ms),
    ("user_tok_s", "tpot_ms", false, |p| p.user_tok_s),
];

/// Every trade-off with enough points.
pub(crate) fn frontiers(sweeps: &[Sweep], spots: &[PlacedCell<'_, '_>]) -> Vec<Frontier> {
    let cells: BTreeMap<&CellName, &PlacedCell<'_, '_>> = spots.iter().map(|spot| (&spot.place.cell, spot)).collect();
    sweeps.iter().flat_map(|sweep| SEEN.iter().filter_map(|seen| frontier(sweep, seen, &cells))).collect()
}

fn frontier(sweep: &Sweep, seen: &Seen, cells: &BTreeMap<&CellName, &PlacedCell<'_, '_>>) -> Option<Frontier> {
    let (x, metric, less, read) = *seen;
    let mut points: Vec<FrontierPoint> = Vec::new();
    for line in &sweep.lines {
        for point in &line.points {
            let Some((seen, output)) = read(point).zip(point.output_tok_s) else { continue };
            points.push(FrontierPoint {
                line: line.label.clone(),
                cell: CellName {
                    campaign: line.campaign.clone(),
                    model: sweep.model.clone(),
                    workload: point.workload.clone(),
                    environment: line.environment.clone(),
                },
                load: point.load,
                x: seen,
                output_tok_s: output,
                best: false,
            });
        }
    }
    if points.len() < LEAST_POINTS {
        return None;
    }
    let because = differs(&points, metric, cells);
    let places: Vec<(f64, f64, usize)> = points
        .iter()
        .map(|p| {
            let line = sweep.lines.iter().position(|line| line.label == p.line).unwrap_or(0);
            (if less { -p.x.mean } else { p.x.mean }, p.output_tok_s.mean, if because.is_some() { line } else { 0 })
        })
        .collect();
    for (point, best) in points.iter_mut().zip(front(&places)) {
        point.best = best;
    }
    let finding = finding(&points, less, x);
    Some(Frontier {
        sweep: sweep.id.clone(),
        model: sweep.model.clone(),
        x,
        scope: if because.is_some() { "line" } else { "panel" },
        because,
        points,
        finding,
    })
}

/// Which points no other of their class beats: at least as good both ways and better one way. Both coordinates: more is better.
pub(super) fn front(points: &[(f64, f64, usize)]) -> Vec<bool> {
    let beats = |a: &(f64, f64, usize), b: &(f64, f64, usize)| {
        a.2 == b.2 && a.0 >= b.0 && a.1 >= b.1 && (a.0 > b.0 || a.1 > b.1)
    };
    points.iter().map(|point| !points.iter().any(|other| beats(other, point))).collect()
}

/// Why lines cannot be compared with each other: a metric means two things on two of them.
fn differs(points: &[FrontierPoint], metric: &str, cells: &BTreeMap<&CellName, &PlacedCell<'_, '_>>) -> Option<String> {
    let mut firsts: Vec<&FrontierPoint> = Vec::new();
    for point in points {
        if firsts.iter().all(|known| known.line != point.line) {
            firsts.push(point);
        }
    }
    let (base, others) = firsts.split_first()?;
    let base = cells.get(&base.cell)?;
    for metric in [metric, "output_throughput_tok_s"].into_iter().filter_map(Metric::find) {
        for other in others {
            let other = cells.get(&other.cell)?;
            if let Some(DefinitionCheck::Differ(because)) = definitions::hold(base.cell, other.cell, &metric) {
                return Some(because);
            }
        }
    }
    None
}

fn finding(points: &[FrontierPoint], less: bool, x: &str) -> String {
    let best: Vec<&FrontierPoint> = points.iter().filter(|p| p.best).collect();
    let better = |a: &FrontierPoint, b: &FrontierPoint| if less { a.x.mean < b.x.mean } else { a.x.mean > b.x.mean };
    let kindest = best.iter().copied().reduce(|a, b| if better(b, a) { b } else { a });
    let fastest = best.iter().copied().reduce(|a, b| if b.output_tok_s.mean > a.output_tok_s.mean { b } else { a });
    let (Some(kindest), Some(fastest)) = (kindest, fastest) else { return String::new() };
    let unit = if x.ends_with("_ms") { "ms" } else { "tok/s for a user" };
    let several = points.iter().any(|p| p.line != points[0].line);
    let said = |p: &FrontierPoint| {
        let line = if several { format!(" ({})", p.line) } else { String::new() };
        format!("{} tok/s at {} {unit}{line}", significant(p.output_tok_s.mean, 4), significant(p.x.mean, 4))
    };
    let head = format!("{} of {} points are on the front", best.len(), points.len());
    if std::ptr::eq(kindest, fastest) {
        return format!("{head}: one is best both ways, {}.", said(kindest));
    }
    format!("{head}, from {} to {}.", said(kindest), said(fastest))
}
