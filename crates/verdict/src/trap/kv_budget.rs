//! Arms with KV caches of different size.
//!
//! In:  size and capacity of the KV cache.  Out: one finding for each candidate.
//! Not here: whether size and capacity fit each other (see `kv_tokens`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, named, unit};
use super::sides;
use crate::case::Case;
use crate::number::significant;
use crate::report::{Evidence, Severity};
use sparkbench_stats as stats;

/// KV caches that differ by more than this are not one budget, per cent of the baseline: the margin of memory figures.
pub(super) const LIMIT_PCT: f64 = sparkbench_model::metric::MARGIN_WIDE_PCT;

pub(super) struct KvBudgetDiffers;

impl Trap for KvBudgetDiffers {
    fn id(&self) -> &'static str {
        "kv-budget-differs"
    }
    fn title(&self) -> &'static str {
        "The arms had different KV caches"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Memory
    }
    fn about(&self) -> String {
        format!(
            "One side of a comparison had a larger KV cache.\n\n\
             Engines size their KV cache by the memory that happens to be free at the start. A little more in use elsewhere becomes \
             a smaller cache. Under load a smaller cache means fewer requests at once, waiting and preemption. The difference in \
             speed is then one of memory, and shows only where the cache is full.\n\n\
             The check compares the mean size and capacity of the KV cache of each candidate with its baseline. It fires beyond \
             {LIMIT_PCT} %.\n\n\
             Fix the size of the cache in blocks or bytes on both sides. Report how full it was."
        )
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        sides::by_candidate(case, |base, cell, subject, place| {
            let mut seen = Vec::new();
            for metric in ["kv_cache_gib", "kv_cache_tokens"] {
                let (a, b) = (base.numbers(metric), cell.numbers(metric));
                if !a.is_empty() && !b.is_empty() && stats::mean(&a) > 0.0 {
                    let (a, b) = (stats::mean(&a), stats::mean(&b));
                    seen.push((metric, a, b, 100.0 * (b / a - 1.0)));
                }
            }
            let rows = seen.iter().map(|(metric, a, b, _)| {
                let unit = unit(metric);
                Evidence::text(format!(
                    "{}: {}{unit} in {}, {}{unit} in {}",
                    named(metric),
                    significant(*a, 5),
                    base.environment,
                    significant(*b, 5),
                    cell.environment
                ))
            });
            let Some((metric, .., worst)) = seen.iter().max_by(|x, y| x.3.abs().total_cmp(&y.3.abs())) else {
                return Finding::not_evaluated(
                    subject,
                    format!("{place}: no size or capacity of the KV cache on both sides"),
                );
            };
            let side = if *worst < 0.0 { "less" } else { "more" };
            let message = format!("{place}: {} % {side} {}", significant(worst.abs(), 3), named(metric));
            if worst.abs() <= LIMIT_PCT {
                return Finding::passed(subject, format!("{message}, within {LIMIT_PCT} %")).evidence(rows);
            }
            Finding::fired(subject, message)
                .evidence(rows)
                .remedy("give both sides the same number of KV blocks instead of a share of the free memory")
        })
    }
}
