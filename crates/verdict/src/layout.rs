//! A campaign laid out for judging: its cells, its baseline, its primary metrics.
//!
//! In:  a campaign with its runs, the facts, the settings.  Out: [`Case`].
//! Not here: what is made of it (see `judge`).

use super::Settings;
use super::case::Case;
use super::columns;
use super::distinct::distinct;
use sparkbench_model::{Campaign, Facts, Metric, Run};

/// Primary metrics a campaign has at most when it names none.
const MOST_PRIMARY: usize = 3;
/// Chosen in this order when a campaign names none.
const PRIMARY_ORDER: &[&str] = &[
    "output_throughput_tok_s",
    "e2e_latency_ms",
    "ttft_ms",
    "tpot_ms",
    "request_throughput_req_s",
    "decode_tok_s",
    "peak_memory_gib",
    "gemm_tflops",
    "memory_bandwidth_gb_s",
    "model_load_s",
];

/// Place of a metric where a campaign names none: those it would choose first, then the others by the catalogue.
pub fn place(metric: &str) -> (usize, usize) {
    let chosen = PRIMARY_ORDER.iter().position(|name| *name == metric).unwrap_or(usize::MAX);
    (chosen, Metric::find(metric).map_or(usize::MAX, |m| m.rank()))
}

/// Sorts the runs of a campaign into cells and picks baseline and primary metrics.
pub fn lay_out<'a>(campaign: &'a Campaign, runs: Vec<&'a Run>, facts: &'a Facts, settings: &'a Settings) -> Case<'a> {
    let mut case = Case::of_runs(campaign, runs, facts);
    let environments: Vec<&str> = { distinct(case.cells.iter().map(|c| c.environment)) };
    let has = |name: &Option<String>| name.as_deref().and_then(|n| environments.iter().find(|e| **e == n).copied());
    case.baseline = has(&settings.baseline)
        .or_else(|| has(&campaign.baseline))
        .or_else(|| environments.iter().find(|e| **e == "native").copied())
        .or_else(|| environments.first().copied());
    case.primary.clone_from(&campaign.primary);
    if case.primary.is_empty() {
        // A first choice without knowledge of derived columns. A column that is a function of another adds nothing.
        let derived: Vec<String> =
            columns::derived(&case.reported(), &case.runs, &[]).into_iter().map(|d| d.column).collect();
        case.primary = PRIMARY_ORDER
            .iter()
            .filter(|name| case.cells.iter().any(|cell| !cell.numbers(name).is_empty()))
            .filter(|name| !derived.iter().any(|d| d == *name))
            .take(MOST_PRIMARY)
            .map(|name| (*name).to_owned())
            .collect();
    }
    case
}
