//! The ceilings of a machine, and where its cells lie below them.
//!
//! In:  the campaigns with their facts.  Out: [`Roofline`]s.
//! Not here: the formulas (see `stats::roofline`), what a share means (see the traps of the roofline).
//!
//! Source: Williams, Waterman and Patterson, *Roofline* (CACM 52, 2009). The step is one of decoding. Operations are two for each parameter
//! that works on a token. Bytes are those of the weights and of the KV cache that the step reads.

use std::collections::BTreeMap;

use crate::case::{Case, Cell};
use crate::number::significant;
use crate::physics::PhysicsFacts;
use crate::physics::inputs::GB;
use crate::report::across::{Ceiling, CellName, RoofPoint, Roofline};
use crate::{Settings, estimate};
use sparkbench_model::Run;

/// Operations of a TFLOP.
const TERA: f64 = 1e12;
/// Multiplication and addition.
const FLOP_PER_PARAMETER: f64 = 2.0;

/// A roofline for each machine and number of devices whose bandwidth is known and that has a cell to show.
pub(crate) fn rooflines(cases: &[Case<'_>], settings: &Settings) -> Vec<Roofline> {
    let mut found: BTreeMap<(String, u64), Roofline> = BTreeMap::new();
    for case in cases {
        let grounds = PhysicsFacts::of(case);
        for cell in &case.cells {
            let Some((run, place)) = cell.runs.first().and_then(|run| Some((*run, grounds.machine(run)?))) else {
                continue;
            };
            let (key, machine) = place;
            let devices = grounds.devices(run);
            let Some((point, peak)) = point(&grounds, case, cell, settings) else { continue };
            let roof = found.entry((key.to_owned(), devices.to_bits())).or_insert_with(|| Roofline {
                machine: Some(key.to_owned()),
                machine_title: Some(machine.title.clone()),
                devices,
                ceilings: Vec::new(),
                points: Vec::new(),
                finding: String::new(),
            });
            let probed = grounds.measured_bandwidth.map(|bytes| bytes / GB * devices);
            let ceilings = [
                machine.bandwidth_gb_s.map(|gb| ceiling("memory", "facts", gb * devices, "nominal")),
                probed.map(|gb| ceiling("memory", "probe", gb, "measured by a probe")),
                peak.map(|(tera, format)| ceiling("arithmetic", "facts", tera, &format!("dense {format}, nominal"))),
                grounds
                    .measured_tflops()
                    .map(|tera| ceiling("arithmetic", "probe", tera * devices, "measured by a probe")),
            ];
            for ceiling in ceilings.into_iter().flatten() {
                if !roof.ceilings.iter().any(|known| known.label == ceiling.label) {
                    roof.ceilings.push(ceiling);
                }
            }
            roof.points.push(point);
        }
    }
    found
        .into_values()
        .map(|mut roof| {
            let order = |c: &Ceiling| (c.kind != "memory", c.source);
            roof.ceilings.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| b.value.total_cmp(&a.value)));
            roof.finding = finding(&roof);
            roof
        })
        .filter(|roof| roof.ceilings.iter().any(|c| c.kind == "memory"))
        .collect()
}

fn ceiling(kind: &'static str, source: &'static str, value: f64, how: &str) -> Ceiling {
    let unit = if kind == "memory" { "GB/s" } else { "TFLOP/s" };
    Ceiling { kind, source, label: format!("{} {unit}, {how}", significant(value, 4)), value }
}

/// Position of a cell, and the peak of arithmetic at its precision in TFLOP/s with the format.
fn point(
    grounds: &PhysicsFacts<'_, '_>,
    case: &Case<'_>,
    cell: &Cell<'_>,
    settings: &Settings,
) -> Option<(RoofPoint, Option<(f64, &'static str)>)> {
    let (mut tflops, mut shares) = (Vec::new(), Vec::new());
    let mut first = None;
    for run in &cell.runs {
        let run: &Run = run;
        let Some((reach, active)) = grounds.reach(run).ok().zip(grounds.served(run).ok()?.active_parameters()) else {
            continue;
        };
        let work = FLOP_PER_PARAMETER * active;
        tflops.push(reach.rate * work / TERA);
        shares.push(reach.pct);
        let step = reach.step;
        let bytes = step.weight_bytes + step.batch * step.kv_bytes;
        let intensity = work * step.batch * step.tokens / bytes;
        let peak = reach.compute_bound.map(|rate| rate * work / TERA).zip(reach.arithmetic);
        first = first.or(Some((intensity, reach.basis.word(), peak)));
    }
    let (intensity, basis, peak) = first.filter(|(intensity, ..)| *intensity > 0.0 && intensity.is_finite())?;
    let point = RoofPoint {
        cell: CellName {
            campaign: case.campaign.name.clone(),
            model: cell.model.to_owned(),
            workload: cell.workload.to_owned(),
            environment: cell.environment.to_owned(),
        },
        intensity_flop_per_byte: intensity,
        tflops: estimate::of(&tflops, settings.confidence)?,
        share_pct: estimate::of(&shares, settings.confidence)?,
        basis,
    };
    Some((point, peak))
}

fn finding(roof: &Roofline) -> String {
    let shares: Vec<(f64, &RoofPoint)> = roof.points.iter().map(|p| (p.share_pct.mean, p)).collect();
    let by = |a: &&(f64, &RoofPoint), b: &&(f64, &RoofPoint)| a.0.total_cmp(&b.0);
    let (Some(low), Some(high)) = (shares.iter().min_by(by), shares.iter().max_by(by)) else { return String::new() };
    let name = |p: &RoofPoint| format!("{}, {}, {}", p.cell.model, p.cell.workload, p.cell.environment);
    let above = shares.iter().filter(|(share, _)| *share > 100.0).count();
    let mut text = format!(
        "Cells reach {} % ({}) to {} % ({}) of what the nominal ceilings allow.",
        significant(low.0, 3),
        name(low.1),
        significant(high.0, 3),
        name(high.1)
    );
    if above > 0 {
        let stand = if above == 1 { "stands" } else { "stand" };
        text.push_str(&format!(
            " {} {stand} above the roof, which no machine can do: the model, its precision or the batch is not what the label says.",
            super::super::number::count(above, "cell")
        ));
    }
    if roof.ceilings.iter().all(|c| c.source == "facts") {
        text.push_str(" No probe measured this machine. The ceilings are those of its data sheet.");
    }
    text
}
