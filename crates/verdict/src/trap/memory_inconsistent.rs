//! Memory in use, weights and KV cache must fit together (P6).
//!
//! In:  peak memory, KV cache, weights, usable memory.  Out: one finding for each model and workload.
//! Not here: weights against memory alone (see `weights_exceed`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place, read};
use super::memory_scope::sized_before_the_pool;
use crate::case::Case;
use crate::number::{list, significant};
use crate::physics::inputs::{GIB, Known, loaded_weights, memory, missing_weights, share};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::Run;

/// Memory in use beyond this many times what the engine holds is not the engine's.
pub(super) const UNEXPLAINED: f64 = 2.0;
/// Slack for figures printed with few digits, GiB.
pub(super) const ROUNDING_GIB: f64 = 0.05;

/// Memory figures contradict each other.
pub(super) struct MemoryInconsistent;

impl Trap for MemoryInconsistent {
    fn id(&self) -> &'static str {
        "memory-inconsistent"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P6")
    }
    fn title(&self) -> &'static str {
        "Memory figures contradict each other"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Memory
    }
    fn about(&self) -> String {
        format!(
            "The memory figures cannot belong to the model on the label.\n\n\
             Memory in use during a run includes at least the weights. Weights and KV cache together fit into the machine. Figures \
             that break these rules come from another model, another process or another moment.\n\n\
             The cell is invalid where memory in use is below the weights, or where weights plus KV cache exceed the usable memory. \
             Activations would only add to it. Both rules allow {ROUNDING_GIB} GiB for rounding. Memory in use above {UNEXPLAINED} \
             times the weights plus the KV cache allocated so far is a warning. Most of it is then not the engine's. On a machine \
             with unified memory it is often the page cache.\n\n\
             Archive the engine's own breakdown. Record free, available and cached memory of the machine at the same moment."
        )
    }
    fn undermines(&self) -> &'static str {
        "that the memory figures of these runs are those of the model on the label"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        // A pool that was sized from the figure did not exist yet when the figure was read.
        let before_pool = sized_before_the_pool(case).is_some();
        each_question(case, |case, model, workload| look(case, model, workload, before_pool))
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str, before_pool: bool) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let runs = case.runs_by_arm(model, workload);
    let used: Vec<(&Run, f64)> = runs.iter().filter_map(|run| Some((*run, run.value("peak_memory_gib")?))).collect();
    let weights = loaded_weights(case, model);
    let (Some(weights), false) = (weights.as_ref(), used.is_empty()) else {
        let mut missing = Vec::new();
        if weights.is_none() {
            missing.push(format!("the bytes of the weights ({})", missing_weights(case, model)));
        }
        if used.is_empty() {
            missing.push("peak memory".to_owned());
        }
        return Finding::not_evaluated(subject, format!("{place}: missing {}", list(&missing)));
    };
    let gib = weights.value / GIB;
    if let Some(finding) = below_weights(&subject, &place, gib, weights, &used)
        .or_else(|| above_memory(case, &subject, &place, gib, &runs))
    {
        return finding;
    }
    let held = |run: &Run| gib + if before_pool { 0.0 } else { run.value("kv_cache_gib").unwrap_or(0.0) };
    let most: Vec<&(&Run, f64)> = used.iter().filter(|(run, used)| *used > UNEXPLAINED * held(run)).collect();
    let range = range(&used);
    if most.is_empty() {
        return Finding::passed(
            subject,
            format!("{place}: {range} GiB in use hold {} GiB of weights and fit", significant(gib, 4)),
        );
    }
    let cache = if before_pool { "no KV cache yet" } else { "the KV cache" };
    let message = format!(
        "{place}: {} GiB of weights ({}) and {cache} explain less than half of the {range} GiB in use in {}",
        significant(gib, 3),
        weights.source,
        share(most.len(), used.len())
    );
    let advice = if case.machine().is_some_and(|m| m.unified_memory) {
        "this machine has one memory for host and device, so the figure holds page cache: drop caches before each run and archive /proc/meminfo beside it"
    } else {
        "archive the memory of the engine's own process beside the machine's"
    };
    Finding::fired(subject, message)
        .evidence(most.into_iter().map(|(run, used)| row(run, *used)))
        .remedy(advice)
        .severity(Severity::Warning)
}

fn below_weights(subject: &Subject, place: &str, gib: f64, weights: &Known, used: &[(&Run, f64)]) -> Option<Finding> {
    let below: Vec<&(&Run, f64)> = used.iter().filter(|(_, used)| used + ROUNDING_GIB < gib).collect();
    let least = below.iter().map(|(_, used)| *used).fold(f64::INFINITY, f64::min);
    let most = below.iter().map(|(_, used)| *used).fold(f64::NEG_INFINITY, f64::max);
    let (least, most) = (significant(least, 4), significant(most, 4));
    let read = if least == most { least } else { format!("{least} to {most}") };
    (!below.is_empty()).then(|| {
        let message = format!(
            "{place}: {} use less memory than the weights need, {read} GiB against {} GiB ({})",
            share(below.len(), used.len()),
            significant(gib, 4),
            weights.source
        );
        Finding::fired(subject.clone(), message)
            .evidence(below.into_iter().map(|(run, used)| row(run, *used)))
            .remedy("find out which model was loaded, or which process the figure belongs to")
    })
}

fn above_memory(case: &Case<'_>, subject: &Subject, place: &str, gib: f64, runs: &[&Run]) -> Option<Finding> {
    let memory = memory(case)?;
    let limit = memory.value / GIB;
    let above: Vec<(&Run, f64)> = runs
        .iter()
        .filter_map(|run| Some((*run, run.value("kv_cache_gib")?)))
        .filter(|(_, cache)| gib + cache > limit + ROUNDING_GIB)
        .collect();
    let (_, most) = above.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let message = format!(
        "{place}: {} GiB of weights and {} GiB of KV cache exceed the usable {} GiB ({})",
        significant(gib, 4),
        significant(most, 4),
        significant(limit, 4),
        memory.source
    );
    Some(
        Finding::fired(subject.clone(), message)
            .evidence(
                above
                    .iter()
                    .map(|(run, cache)| read(run, "kv_cache_gib", format!("KV cache {} GiB", significant(*cache, 5)))),
            )
            .remedy("find out which model was loaded and in which unit the figures are"),
    )
}

fn row(run: &Run, used: f64) -> Evidence {
    read(run, "peak_memory_gib", format!("{} GiB in use", significant(used, 5)))
}

fn range(used: &[(&Run, f64)]) -> String {
    let (low, high) = used.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (_, v)| (l.min(*v), h.max(*v)));
    if low == high { significant(low, 4) } else { format!("{} to {}", significant(low, 4), significant(high, 4)) }
}
