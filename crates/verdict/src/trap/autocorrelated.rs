//! Runs that resemble the run before them: fewer independent observations than rows.
//!
//! In:  values of each cell in order of time.  Out: one finding for each cell and metric, else one for each question.
//! Not here: trends (see `drift`).

use super::declaration::{Theme, Trap};
use super::finding::{CellCheck, Finding, MAX_EVIDENCE, by_question, cell_place, cooldown, in_time, named, unit};
use crate::case::{Case, Cell};
use crate::number::significant;
use crate::report::{Evidence, Severity, Subject};

/// Bound of the lag-1 correlation of independent values, in units of 1 / sqrt(n) (statistics contract 6.3).
pub(super) const BOUND: f64 = 1.96;

pub(super) struct AutocorrelatedRuns;

impl Trap for AutocorrelatedRuns {
    fn id(&self) -> &'static str {
        "autocorrelated-runs"
    }
    fn title(&self) -> &'static str {
        "Runs that resemble their predecessor"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Order
    }
    fn about(&self) -> String {
        format!(
            "A run resembles the run before it.\n\n\
             Every interval and test takes runs as independent. When a run inherits heat, cache or memory layout from the one \
             before, ten runs carry the information of perhaps four. Intervals then come out too short.\n\n\
             The check computes the correlation of each run with its predecessor, for each primary metric of each cell. It fires \
             when the correlation exceeds {BOUND} / sqrt(n). Independent values do that about once in forty. The finding says how \
             many independent runs the sample is worth: n (1 - r) / (1 + r). A drift shows here too.\n\n\
             Bring the machine into the same state before each run. Drop the caches, wait for the temperature, and start a fresh \
             process."
        )
    }
    fn undermines(&self) -> &'static str {
        "that these runs are independent observations"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        by_question(case, "no arm's runs resemble their predecessors more than chance allows", |cell, metric| {
            look(case, cell, metric)
        })
    }
}

fn look(case: &Case<'_>, cell: &Cell<'_>, metric: &str) -> CellCheck {
    let numbers = cell.numbers(metric);
    let found = match in_time(cell, &numbers) {
        Ok(found) => found,
        Err(missing) => return CellCheck::NotEvaluable(missing),
    };
    if !found.autocorrelated {
        return CellCheck::Clean(format!("lag-1 correlation {}", significant(found.lag1, 2)));
    }
    let bound = BOUND / (numbers.len() as f64).sqrt();
    let message = format!(
        "{} of {}: each run resembles the one before (lag-1 correlation {}, bound {}). {} runs are worth about {}",
        named(metric),
        cell_place(case, cell),
        significant(found.lag1, 2),
        significant(bound, 2),
        numbers.len(),
        significant(found.n_eff, 2)
    );
    let unit = unit(metric);
    let values = Evidence::text(format!(
        "in order of time: {}{unit}",
        numbers.iter().take(MAX_EVIDENCE).map(|v| significant(*v, 5)).collect::<Vec<_>>().join(", ")
    ));
    let corrected = Evidence::text(match found.t_interval_eff {
        Some((low, high)) => {
            let ends = [low, high].map(|end| significant(end, 5));
            format!(
                "interval of the mean for {} independent runs: {} to {}{unit}",
                significant(found.n_eff, 3),
                ends[0],
                ends[1]
            )
        }
        None => "the sample is worth fewer than two independent runs, so no interval of its mean can allow for that. The intervals shown take the runs as independent".to_owned(),
    });
    CellCheck::There(
        Finding::fired(Subject::cell(case, cell).with_metric(metric), message)
            .evidence([values, corrected])
            .remedy(format!("reset caches and temperature before each run. {}", cooldown(case))),
    )
}
