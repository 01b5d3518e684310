//! A campaign laid out for judging: its cells, its baseline, its primary metrics.
//!
//! In:  a campaign with its runs, the facts, the settings.  Out: [`Case`].
//! Not here: what is made of it (see `judge`).

use super::Settings;
use super::case::Case;
use super::columns;
use super::distinct::distinct;
use super::strata::{self, Stratum, rank};
use sparkbench_model::{Campaign, Direction, Facts, Metric, Run};

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
    "prefill_tok_s",
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
    case.baseline = baseline(&case, settings);
    case
}

/// The arm that others are held against: the one that was named, or that the campaign gives. Levels that nobody can put into an order of
/// before and after (precisions, back ends) are held against the best.
fn baseline<'a>(case: &Case<'a>, settings: &Settings) -> Option<&'a str> {
    let arms: Vec<&'a str> = distinct(case.cells.iter().map(|c| c.environment));
    let has = |name: &Option<String>| name.as_deref().and_then(|n| arms.iter().find(|arm| **arm == n).copied());
    has(&settings.baseline)
        .or_else(|| has(&case.campaign.baseline))
        .or_else(|| case.campaign.asked.is_some().then(|| best(case, settings)).flatten())
        .or_else(|| arms.iter().find(|arm| **arm == "native").copied())
        .or_else(|| arms.first().copied())
}

/// The best arm by the first primary metric that can tell, over the strata that all arms share. Where they share none, the one that most
/// others can be held against.
fn best<'a>(case: &Case<'a>, settings: &Settings) -> Option<&'a str> {
    let strata = strata::of(case);
    let all: Vec<&Stratum<'_, 'a>> = strata.iter().collect();
    let by_figures = case.primary.iter().find_map(|name| {
        let measure = rank::Measure::find(name).filter(|measure| measure.direction != Direction::Neutral)?;
        let found = rank::overall(&all, &measure, settings.confidence)?;
        found.arms.iter().map(|(arm, _)| *arm).find(|arm| *arm != Campaign::UNLABELLED)
    });
    by_figures.or_else(|| {
        let holds = |stratum: &Stratum<'_, '_>, arm: &str| stratum.cells.iter().any(|cell| cell.environment == arm);
        let met = |arm: &str| strata.iter().filter(|s| s.cells.len() > 1 && holds(s, arm)).count();
        let arms = distinct(case.cells.iter().map(|cell| cell.environment));
        arms.into_iter().max_by_key(|arm| (met(arm), std::cmp::Reverse(*arm)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{asked, run_of};

    fn baseline_of(campaign: &Campaign, runs: &[Run]) -> Option<String> {
        let settings =
            Settings { confidence: 0.95, resamples: 999, seed: 1, baseline: None, margins_pct: Default::default() };
        lay_out(campaign, runs.iter().collect(), &Facts::default(), &settings).baseline.map(str::to_owned)
    }

    #[test]
    fn levels_without_a_baseline_are_held_against_the_best_of_them() {
        const OUT: &str = "output_throughput_tok_s";
        let runs = [
            run_of("a", "w1", "bf16", &[(OUT, 30.0)]),
            run_of("b", "w1", "fp8", &[(OUT, 50.0)]),
            run_of("c", "w2", "bf16", &[(OUT, 40.0)]),
            run_of("d", "w2", "fp8", &[(OUT, 38.0)]),
            // Only one arm is here: it takes no part.
            run_of("e", "w3", "bf16", &[(OUT, 900.0)]),
        ];
        let asking = |baseline: Option<&str>| Campaign {
            asked: Some(asked("quantisation")),
            baseline: baseline.map(str::to_owned),
            ..Campaign::default()
        };
        assert_eq!(baseline_of(&asking(None), &runs).as_deref(), Some("fp8"));
        assert_eq!(baseline_of(&asking(Some("bf16")), &runs).as_deref(), Some("bf16"));
        assert_eq!(baseline_of(&Campaign::default(), &runs).as_deref(), Some("bf16"), "the first by name");
    }
}
