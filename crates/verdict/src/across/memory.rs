//! Parts of the memory of each cell: weights, KV cache, and the rest.
//!
//! In:  a campaign.  Out: [`MemoryStack`]s.
//! Not here: whether the figures can be true (see `trap::memory_inconsistent`), drawing.
//!
//! Only reported memory is a part. The size that a model ought to have is no measurement, and another model may have been loaded.

use std::collections::BTreeMap;

use super::super::number::{list, significant};
use crate::case::{Case, Cell};
use crate::report::Estimate;
use crate::report::across::{MemoryArm, MemoryStack};
use crate::trap::sized_before_the_pool;
use crate::{Settings, estimate};
use sparkbench_model::Run;

/// Parts may exceed their whole by this share before they contradict it: figures are printed with two decimals or in MiB.
const ROUNDING_SHARE: f64 = 0.01;

/// Stacks for each model of which any part of the memory is reported.
pub(crate) fn stacks(case: &Case<'_>, settings: &Settings) -> Vec<MemoryStack> {
    let mut found: BTreeMap<&str, Vec<MemoryArm>> = BTreeMap::new();
    for (model, workload) in case.questions() {
        let arms: Vec<MemoryArm> =
            case.arms(model, workload).into_iter().map(|cell| arm(case, cell, settings)).collect();
        let told =
            |arm: &MemoryArm| arm.weights_gib.is_some() || arm.kv_cache_gib.is_some() || arm.whole_is == Some("peak");
        // An environment without figures is shown beside one that has some. A workload without any figure is left out.
        if arms.iter().any(told) {
            found.entry(model).or_default().extend(arms);
        }
    }
    found
        .into_iter()
        .map(|(model, arms)| MemoryStack {
            campaign: case.campaign.name.clone(),
            model: model.to_owned(),
            finding: finding(&arms),
            arms,
        })
        .collect()
}

fn weights(run: &Run) -> Option<f64> {
    run.value("model_memory_gib").or(run.setup.model_memory_gib).filter(|gib| *gib > 0.0)
}

fn arm(case: &Case<'_>, cell: &Cell<'_>, settings: &Settings) -> MemoryArm {
    let of = |values: Vec<f64>| -> Option<Estimate> { estimate::of(&values, settings.confidence) };
    let each = |value: &dyn Fn(&Run) -> Option<f64>| of(cell.runs.iter().filter_map(|run| value(run)).collect());
    let kv = |run: &Run| run.value("kv_cache_gib").filter(|gib| *gib >= 0.0);
    let known = case.machine().and_then(|machine| machine.memory_gib);
    let device = |run: &Run| run.setup.device_memory_gib.or(known);
    let reported = each(&|run| run.value("peak_memory_gib"));
    // Read before the cache existed, it is no whole that a cache could be part of.
    let early =
        reported.filter(|_| cell.runs.iter().any(|run| kv(run).is_some()) && sized_before_the_pool(case).is_some());
    let peaks = reported.filter(|_| early.is_none());
    let whole_is = if peaks.is_some() { Some("peak") } else { each(&device).map(|_| "device") };
    let whole = |run: &Run| if peaks.is_some() { run.value("peak_memory_gib") } else { device(run) };
    let weighed = cell.runs.iter().any(|run| weights(run).is_some());
    let cached = cell.runs.iter().any(|run| kv(run).is_some());
    // A part that other runs of the cell report and this run does not leaves the rest of this run unknown.
    let rest = |run: &Run| {
        let before = match early {
            Some(_) => Some(run.value("peak_memory_gib")),
            None => weighed.then(|| weights(run)),
        };
        let parts = [before, cached.then(|| kv(run))];
        let sum = parts.into_iter().flatten().try_fold(0.0, |sum, part| Some(sum + part?))?;
        Some((whole(run)?, sum))
    };
    let rests: Vec<(f64, f64)> = cell.runs.iter().filter_map(|run| rest(run)).collect();
    let contradict = rests.iter().filter(|(whole, sum)| *sum > whole * (1.0 + ROUNDING_SHARE)).count();
    let mut notes = Vec::new();
    let peaked = peaks.is_some() || early.is_some();
    let absent: Vec<&str> = [(weighed, "weights"), (cached, "KV cache"), (peaked, "peak")]
        .into_iter()
        .filter_map(|(there, name)| (!there).then_some(name))
        .collect();
    if !absent.is_empty() {
        notes.push(format!("{} not reported", list(&absent)));
    }
    if early.is_some() {
        notes.push("what is reported as peak was read before the cache existed".to_owned());
    }
    if contradict > 0 {
        notes.push(format!(
            "weights and KV cache exceed the {} in {contradict} of {} runs",
            whole_is.unwrap_or("whole"),
            rests.len()
        ));
    }
    MemoryArm {
        workload: cell.workload.to_owned(),
        environment: cell.environment.to_owned(),
        runs: cell.runs.len(),
        whole_is,
        whole_gib: each(&whole),
        weights_gib: each(&weights),
        before_cache_gib: early,
        kv_cache_gib: each(&kv),
        rest_gib: if contradict > 0 {
            None
        } else {
            of(rests.iter().map(|(whole, sum)| (whole - sum).max(0.0)).collect())
        },
        notes,
    }
}

/// Arms that are reported one by one. Of more, the ends.
const FEW: usize = 3;

/// Every arm with its parts, or the least and the greatest of each part.
fn finding(arms: &[MemoryArm]) -> String {
    if arms.len() > FEW {
        return ends(arms);
    }
    let said: Vec<String> = arms
        .iter()
        .map(|arm| {
            let name = &arm.environment;
            let parts = [
                ("weights", arm.weights_gib),
                ("in use before the cache", arm.before_cache_gib),
                ("KV cache", arm.kv_cache_gib),
            ];
            let told: Vec<String> = parts
                .into_iter()
                .filter_map(|(name, part)| Some(format!("{} GiB {name}", significant(part?.mean, 4))))
                .collect();
            match (&arm.whole_gib, arm.whole_is) {
                (Some(whole), Some(kind)) => {
                    let kind = if kind == "peak" { "at the peak" } else { "of the device" };
                    let parts = if told.is_empty() { String::new() } else { format!(" ({})", list(&told)) };
                    format!("{name}: {} GiB {kind}{parts}", significant(whole.mean, 4))
                }
                _ if told.is_empty() => format!("{name}: no memory reported"),
                _ => format!("{name}: {}", list(&told)),
            }
        })
        .collect();
    format!("{}.", said.join("; "))
}

/// From the least to the greatest of the wholes and of each part.
fn ends(arms: &[MemoryArm]) -> String {
    type Part = (&'static str, fn(&MemoryArm) -> Option<Estimate>);
    const PARTS: [Part; 5] = [
        ("peak", |arm| arm.whole_gib.filter(|_| arm.whole_is == Some("peak"))),
        ("weights", |arm| arm.weights_gib),
        ("in use before the cache", |arm| arm.before_cache_gib),
        ("KV cache", |arm| arm.kv_cache_gib),
        ("rest", |arm| arm.rest_gib),
    ];
    let said: Vec<String> = PARTS
        .into_iter()
        .filter_map(|(name, of)| {
            let told: Vec<(f64, &MemoryArm)> = arms.iter().filter_map(|arm| Some((of(arm)?.mean, arm))).collect();
            let low = told.iter().copied().reduce(|a, b| if b.0 < a.0 { b } else { a })?;
            let high = told.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a })?;
            let place = |arm: &MemoryArm| format!("{}, {}", arm.workload, arm.environment);
            let (a, b) = (significant(low.0, 4), significant(high.0, 4));
            Some(if a == b {
                format!("{name} {a} GiB throughout")
            } else {
                format!("{name} {a} GiB ({}) to {b} GiB ({})", place(low.1), place(high.1))
            })
        })
        .collect();
    let untold = arms.iter().filter(|arm| !arm.notes.is_empty()).count();
    let notes = if untold > 0 {
        format!(" Something is absent or contradicts in {untold} of {} cells.", arms.len())
    } else {
        String::new()
    };
    let mut text = said.join("; ");
    if let Some(first) = text.get(..1).map(str::to_uppercase) {
        text.replace_range(..1, &first);
    }
    format!("{text}.{notes}")
}
