//! Arms that were run one after the other: effects of time and of the environment cannot be separated.
//!
//! In:  start times of the runs of each question.  Out: one finding for each question.
//! Not here: whether anything did change in time (see `drift`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place};
use crate::case::Case;
use crate::number::{count, significant};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::Run;
use sparkbench_stats::order::{INTERLEAVED_SHARE, OrderKind, order};

pub(super) struct OrderNotInterleaved;

impl Trap for OrderNotInterleaved {
    fn id(&self) -> &'static str {
        "order-not-interleaved"
    }
    fn title(&self) -> &'static str {
        "Environments run one after the other"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Order
    }
    fn about(&self) -> String {
        format!(
            "The environments did not take turns.\n\n\
             Machines change while a campaign runs. Caches fill, the room warms up, memory fragments. When all runs of one \
             environment come first, such a change looks like a difference between environments. No statistic can undo it.\n\n\
             The check puts the runs of a model and workload in order of their start. It cuts the order into windows as wide as \
             there are environments. It fires unless at least {:.0} % of the windows contain every environment once.\n\n\
             Run in blocks, with one run of each environment per block. Alternate the order inside a block or draw it by lot.",
            100.0 * INTERLEAVED_SHARE
        )
    }
    fn undermines(&self) -> &'static str {
        "that the environment, and not time, caused a difference"
    }
    fn leaves_cause_open(&self, _metric: &str) -> bool {
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let arms = case.arms(model, workload);
    if arms.len() < 2 {
        return Finding::not_evaluated(subject, format!("{place}: only one environment"));
    }
    let runs = case.runs_of(model, workload);
    let unknown = runs.iter().filter(|run| run.started.is_none()).count();
    if unknown > 0 {
        return Finding::not_evaluated(
            subject,
            format!("{place}: {unknown} of {} have no start time", count(runs.len(), "run")),
        );
    }
    let labels: Vec<usize> =
        runs.iter().filter_map(|run| arms.iter().position(|arm| arm.environment == run.environment)).collect();
    let Some(found) = order(&labels) else {
        return Finding::not_evaluated(subject, format!("{place}: too few runs to have an order"));
    };
    let sequence = Evidence::text(format!("in order of time: {}", stretches(&runs)));
    let share = found
        .balanced_share
        .map_or_else(|| "no window".to_owned(), |s| format!("{} % of the windows", significant(100.0 * s, 3)));
    if found.kind == OrderKind::Interleaved {
        return Finding::passed(subject, format!("{place}: interleaved, {share} contain every environment"))
            .evidence([sequence]);
    }
    let how = if found.kind == OrderKind::Blocked {
        format!("one environment after the other, {}", stretches(&runs).replace(", ", " before "))
    } else {
        "neither in blocks nor at random".to_owned()
    };
    let chance = found.p_too_few.map_or_else(String::new, |p| {
        format!(". A random order has so few changes with p {}", crate::number::p_value(p))
    });
    let message = format!(
        "{place}: the environments ran {how}. {} unbroken series in {}. {share} contain every environment{chance}",
        found.runs,
        count(runs.len(), "run")
    );
    let remedy = match case.campaign.cooldown_s {
        Some(pause) if pause > 0.0 => format!(
            "the stated pause of {} s does not help against slow change: alternate the environments in blocks of {}",
            significant(pause, 4),
            arms.len()
        ),
        _ => format!("alternate the environments in blocks of {}, the order in each block drawn by lot", arms.len()),
    };
    Finding::fired(subject, message).evidence([sequence]).remedy(remedy)
}

/// `10 native, 10 container`. Long alternations are cut.
fn stretches(runs: &[&Run]) -> String {
    const SHOWN: usize = 16;
    let mut parts: Vec<(&str, usize)> = Vec::new();
    for run in runs {
        match parts.last_mut() {
            Some((environment, n)) if *environment == run.environment => *n += 1,
            _ => parts.push((&run.environment, 1)),
        }
    }
    let mut text =
        parts.iter().take(SHOWN).map(|(environment, n)| format!("{n} {environment}")).collect::<Vec<_>>().join(", ");
    if parts.len() > SHOWN {
        text += &format!(", and {} further stretches", parts.len() - SHOWN);
    }
    text
}
