//! Environments that start from different temperatures.
//!
//! In:  temperatures before each run.  Out: one finding for each question.
//! Not here: limits (see `temperature`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place};
use super::run_figures::start_temperature;
use crate::case::{Case, Cell};
use crate::number::significant;
use crate::report::{Evidence, Severity, Subject};
use sparkbench_stats as stats;

/// Mean start temperatures that differ by more than this are different starts, degrees Celsius. It is twice the error of a sensor of whole
/// degrees.
pub(super) const LIMIT_C: f64 = 2.0;

pub(super) struct StartTemperatureDiffers;

impl Trap for StartTemperatureDiffers {
    fn id(&self) -> &'static str {
        "start-temperature-differs"
    }
    fn title(&self) -> &'static str {
        "Environments start at different temperatures"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Order
    }
    fn about(&self) -> String {
        format!(
            "One environment always started warmer than the other.\n\n\
             A chip that starts warmer reaches its limits and clocks down earlier. One environment may start warmer because its \
             runs follow more closely, or because its preparation heats the chip. The difference in speed is then one of \
             temperature.\n\n\
             The check compares the mean start temperature of each environment with the baseline, for each model and workload. It \
             fires beyond {LIMIT_C} degrees Celsius.\n\n\
             Wait for one start temperature in all environments, instead of one pause. Alternate the environments."
        )
    }
    fn undermines(&self) -> &'static str {
        "that all environments started from the same temperature"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let means: Vec<(&str, f64, usize)> = case.arms(model, workload).into_iter().filter_map(mean).collect();
    let [(base, reference, _), others @ ..] = means.as_slice() else {
        return Finding::not_evaluated(subject, format!("{place}: no start temperatures"));
    };
    let Some((other, worst)) =
        others.iter().map(|(name, m, _)| (*name, m - reference)).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
    else {
        return Finding::not_evaluated(subject, format!("{place}: start temperatures of one environment only"));
    };
    let rows = means.iter().map(|(name, m, n)| {
        Evidence::text(format!("{name}: mean start {} degrees Celsius over {n} runs", significant(*m, 4)))
    });
    let side = if worst < 0.0 { "colder" } else { "warmer" };
    let message = if worst == 0.0 {
        format!("{place}: {other} and {base} start at the same temperature on average")
    } else {
        format!("{place}: {other} starts {} degrees Celsius {side} than {base} on average", significant(worst.abs(), 2))
    };
    if worst.abs() <= LIMIT_C {
        return Finding::passed(subject, format!("{message}, within {LIMIT_C} degrees")).evidence(rows);
    }
    let remedy = match (case.campaign.start_temp_limit_c, case.campaign.cooldown_s) {
        (Some(limit), _) => format!(
            "the stated start limit of {} degrees bounds only one side: wait until the same temperature is reached in all environments",
            significant(limit, 3)
        ),
        (None, Some(pause)) if pause > 0.0 => {
            format!("a pause of {} s does not give one temperature: wait for the temperature", significant(pause, 4))
        }
        _ => "wait for one start temperature before every run".to_owned(),
    };
    Finding::fired(subject, message).evidence(rows).remedy(remedy)
}

fn mean<'a>(cell: &Cell<'a>) -> Option<(&'a str, f64, usize)> {
    let starts: Vec<f64> = cell.runs.iter().filter_map(|run| start_temperature(run)).collect();
    (!starts.is_empty()).then(|| (cell.environment, stats::mean(&starts), starts.len()))
}
