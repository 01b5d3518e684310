//! Environments that start from page caches of different size.
//!
//! In:  the state of the machine that our own archives hold before and after each run.  Out: one finding for each candidate.
//! Not here: how it is read (see `run::state`).

use super::declaration::{Theme, Trap};
use super::finding::Finding;
use super::run_figures::state;
use super::sides::by_candidate;
use crate::case::{Case, Cell};
use crate::number::significant;
use crate::report::{Evidence, Severity};
use sparkbench_stats as stats;

/// Mean page caches that differ by more than this are not the same start, GiB: a model of a billion parameters, read once.
pub(super) const LIMIT_GIB: f64 = 2.0;

pub(super) struct PageCacheDiffers;

impl Trap for PageCacheDiffers {
    fn id(&self) -> &'static str {
        "page-cache-differs"
    }
    fn title(&self) -> &'static str {
        "Environments start from different page caches"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Order
    }
    fn about(&self) -> String {
        format!(
            "The page cache differed between the environments before their runs.\n\n\
             The content of the page cache before a run decides how long loading takes. On a machine whose GPU shares the memory of \
             the host, the page cache also looks like used memory when the engine sizes its KV cache. An environment that always \
             runs second finds the model in the cache already.\n\n\
             The check compares the mean page cache before the runs of each candidate with that of its baseline. It fires beyond \
             {LIMIT_GIB} GiB.\n\n\
             Drop the caches before every run. Otherwise alternate the environments, so that each finds what the other left."
        )
    }
    fn undermines(&self) -> &'static str {
        "load times and memory figures that rest on an equal start"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        by_candidate(case, |base, cell, subject, place| {
            let (Some(a), Some(b)) = (mean(base), mean(cell)) else {
                return Finding::not_evaluated(
                    subject,
                    format!("{place}: the page cache before the runs is not recorded on both sides"),
                );
            };
            let message = format!(
                "{place}: {} GiB against {} GiB of page cache before a run",
                significant(b, 3),
                significant(a, 3)
            );
            if (b - a).abs() <= LIMIT_GIB {
                return Finding::passed(subject, format!("{message}, within {LIMIT_GIB} GiB"));
            }
            Finding::fired(subject, message.clone())
                .evidence([Evidence::text(message)])
                .remedy("drop the caches before every run, or alternate the environments")
        })
    }
}

fn mean(cell: &Cell<'_>) -> Option<f64> {
    let values: Vec<f64> = cell.runs.iter().filter_map(|run| state(run, "page_cache", "before")).collect();
    (!values.is_empty()).then(|| stats::mean(&values))
}
