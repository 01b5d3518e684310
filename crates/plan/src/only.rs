//! The part of a plan that a person selects.
//!
//! In:  a [`Plan`] and globs.  Out: the plan with fewer runs, which keep the positions, blocks and ids of the whole plan.
//! Not here: the order.

use std::collections::BTreeSet;

use super::cells::glob;
use super::{Cell, Plan};
use sparkbench_text::error::Error;

/// Reason of a cell of which `--only` leaves nothing.
pub(crate) const NOT_ASKED: &str = "not asked for (--only)";

/// Keeps the runs that match any of the globs: by id (`007-*`), or by `environment/model/workload` (`docker*/*/throughput`). `*` matches
/// any letters, so `docker*` alone is every run under an environment of such a name. No glob keeps everything.
///
/// # Errors
/// A usage error: an invalid glob, or one that matches nothing. The hint lists the existing labels.
pub fn only(plan: &Plan, patterns: &[String]) -> Result<Plan, Error> {
    if patterns.is_empty() {
        return Ok(plan.clone());
    }
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for pattern in patterns {
        let matcher = glob(pattern).map_err(|cause| {
            Error::usage(format!("--only '{pattern}' is not a glob"))
                .hint("use * and ?, e.g. --only 'docker*'")
                .because(cause)
        })?;
        let mut found = false;
        for (at, run) in plan.runs.iter().enumerate() {
            if matcher.is_match(&run.id) || matcher.is_match(Cell::of(run).path()) {
                kept.insert(at);
                found = true;
            }
        }
        if !found {
            return Err(nothing(plan, pattern));
        }
    }
    let runs: Vec<_> =
        plan.runs.iter().enumerate().filter(|(at, _)| kept.contains(at)).map(|(_, run)| run.clone()).collect();
    let left: BTreeSet<Cell> = runs.iter().map(Cell::of).collect();
    let mut left_out = plan.left_out.clone();
    let gone: BTreeSet<Cell> = plan.runs.iter().map(Cell::of).filter(|cell| !left.contains(cell)).collect();
    left_out.extend(gone.into_iter().map(|cell| (cell, NOT_ASKED.to_owned())));
    Ok(Plan { runs, left_out })
}

fn nothing(plan: &Plan, pattern: &str) -> Error {
    let labels = |of: fn(&Cell) -> &str| {
        let mut labels: Vec<String> = plan.runs.iter().map(|run| of(&Cell::of(run)).to_owned()).collect();
        labels.sort();
        labels.dedup();
        labels.join(", ")
    };
    let first = plan.runs.first().map_or_else(String::new, |run| run.id.clone());
    Error::usage(format!("--only '{pattern}' matches no run of the plan"))
        .detail(format!(
            "environments: {}. Models: {}. Workloads: {}",
            labels(|cell| &cell.environment),
            labels(|cell| &cell.model),
            labels(|cell| &cell.workload)
        ))
        .hint(format!("write environment/model/workload or the id of a run, e.g. '{first}'. List them with --dry-run"))
}
