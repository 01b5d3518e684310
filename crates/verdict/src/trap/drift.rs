//! A trend inside one arm: the machine was not the same at the end as at the start.
//!
//! In:  values of each cell in order of time.  Out: one finding for each cell and metric that drifts, else one for each question.
//! Not here: the allowance that verdicts make for it (see `judge`).

use super::declaration::{Theme, Trap};
use super::finding::{ALPHA, CellCheck, Finding, by_question, cell_place, cooldown, in_time, named, read, unit};
use crate::case::{Case, Cell};
use crate::number::{p_value, significant};
use crate::order;
use crate::report::{Evidence, Severity, Subject};

pub(super) struct DriftWithinArm;

impl Trap for DriftWithinArm {
    fn id(&self) -> &'static str {
        "drift"
    }
    fn title(&self) -> &'static str {
        "Drift within an environment"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Order
    }
    fn about(&self) -> String {
        format!(
            "The repeats of a cell rise or fall together with time.\n\n\
             Repeats should differ by chance. A trend shows that something changes which nobody controls: temperature, page cache, \
             fragmentation, another user. The mean then depends on when one stopped, and the scatter is no measure of chance.\n\n\
             The check runs the Mann-Kendall test on each primary metric of each cell in order of start. It fires at p < {ALPHA}. \
             The size is Sen's slope over the whole arm, in per cent of the mean. With many cells one in twenty fires by chance. \
             Verdicts allow for a drift unless environments alternate.\n\n\
             Interleave the environments. Drop caches before each run, and reboot between blocks."
        )
    }
    fn undermines(&self) -> &'static str {
        "that the repeats of these cells differ by chance alone"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        by_question(case, &format!("no arm has a trend at p < {ALPHA}"), |cell, metric| look(case, cell, metric))
    }
}

fn look(case: &Case<'_>, cell: &Cell<'_>, metric: &str) -> CellCheck {
    let values = cell.values(metric);
    let numbers = cell.numbers(metric);
    let found = match in_time(cell, &numbers) {
        Ok(found) => found,
        Err(missing) => return CellCheck::NotEvaluable(missing),
    };
    let size =
        found.drift_pct.map_or_else(|| "an unknown share".to_owned(), |pct| format!("{} %", significant(pct.abs(), 2)));
    if found.p >= ALPHA {
        return CellCheck::Clean(format!("p {}", p_value(found.p)));
    }
    let unit = unit(metric);
    let (first, last) = (values.first().map_or(f64::NAN, |v| v.1), values.last().map_or(f64::NAN, |v| v.1));
    let message = format!(
        "{} of {} {} by {size} along Sen's slope over {} runs (Mann-Kendall p {})",
        named(metric),
        cell_place(case, cell),
        if found.sen_slope < 0.0 { "falls" } else { "rises" },
        numbers.len(),
        p_value(found.p)
    );
    CellCheck::There(
        Finding::fired(Subject::cell(case, cell).with_metric(metric), message)
            .evidence(
                [Evidence::text(format!(
                    "Kendall tau-b {}, first {}{unit}, last {}{unit}",
                    significant(found.tau_b, 2),
                    significant(first, 5),
                    significant(last, 5)
                ))]
                .into_iter()
                .chain(values.iter().map(|(run, v)| read(run, metric, format!("{}{unit}", significant(*v, 6))))),
            )
            .remedy(format!(
                "{}find what changes with time. {}",
                if takes_turns(case, cell) { "" } else { "alternate environments and " },
                cooldown(case)
            )),
    )
}

/// Whether nothing is gained by alternating: the environments do already, or there is but one.
fn takes_turns(case: &Case<'_>, cell: &Cell<'_>) -> bool {
    let runs = case.runs_of(cell.model, cell.workload);
    case.arms(cell.model, cell.workload).len() < 2 || order::of(cell.model, cell.workload, &runs).kind == "interleaved"
}
