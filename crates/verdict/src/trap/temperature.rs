//! Start or end temperatures that a running GPU cannot have (P10).
//!
//! In:  temperatures before and after each run, the campaign's gate.  Out: one finding for each campaign.
//! Not here: differences between environments (see `start_temperature`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, seen};
use super::run_figures::start_temperature;
use crate::case::Case;
use crate::number::{count, significant};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::Run;

/// Lowest plausible temperature, degrees Celsius: a sensor that prints less is not read.
pub(super) const LOWEST_C: f64 = 0.0;
/// Highest plausible temperature where the machine facts give none, degrees Celsius.
pub(super) const HIGHEST_C: f64 = 95.0;
/// GPUs print whole degrees, so an end this much below the start is no fall.
pub(super) const RESOLUTION_C: f64 = 1.0;

pub(super) struct TemperatureOutOfRange;

impl Trap for TemperatureOutOfRange {
    fn id(&self) -> &'static str {
        "temperature-out-of-range"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P10")
    }
    fn title(&self) -> &'static str {
        "Temperatures out of range"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Machine
    }
    fn about(&self) -> String {
        format!(
            "A temperature is too high, or impossible.\n\n\
             A hot chip slows down. A campaign therefore states a highest temperature at which a run may start. Under load a GPU \
             gets warmer. A fall means that the sensor was not read, that nothing ran, or that the chip was still hot from the run \
             before.\n\n\
             The check fires when a run started above the stated limit. It fires when a temperature lies outside {LOWEST_C} to \
             {HIGHEST_C} degrees Celsius (or the machine's own highest). It fires when a run ended more than {RESOLUTION_C} degree \
             colder than it began.\n\n\
             Wait for the temperature limit before each run. Archive both temperatures with their times."
        )
    }
    fn undermines(&self) -> &'static str {
        "that all runs started from the stated temperature"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        vec![look(case)]
    }
}

fn end(run: &Run) -> Option<f64> {
    run.setup.end_temp_c.or_else(|| run.value("gpu_temp_end_c"))
}

fn look(case: &Case<'_>) -> Finding {
    let subject = Subject::of(case);
    let highest = case.machine().and_then(|m| m.max_temp_c).unwrap_or(HIGHEST_C);
    let limit = case.campaign.start_temp_limit_c;
    let range = |pick: fn(&Run) -> Option<f64>| {
        let values = || case.runs.iter().filter_map(|run| pick(run));
        values().next().map(|_| {
            let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            format!("{} to {}", significant(low, 3), significant(high, 3))
        })
    };
    let (Some(starts), ends) = (range(start_temperature), range(end)) else {
        return Finding::not_evaluated(subject, "no run records its temperature at the start");
    };
    let odd: Vec<Evidence> = case.runs.iter().filter_map(|run| Some(seen(run, wrong(run, limit, highest)?))).collect();
    let known = case.runs.iter().filter(|run| start_temperature(run).is_some()).count();
    let gate = limit.map_or_else(
        || "No start limit is stated".to_owned(),
        |l| format!("The stated limit is {}", significant(l, 3)),
    );
    let seen = format!("starts {starts}, ends {} degrees Celsius. {gate}", ends.as_deref().unwrap_or("not recorded"));
    if odd.is_empty() {
        return Finding::passed(subject, format!("{}: {seen}", count(known, "run")));
    }
    let remedy = match (case.campaign.cooldown_s, limit) {
        (Some(pause), _) if pause > 0.0 => format!(
            "the stated pause of {} s is not enough: wait for a start temperature instead of a time",
            significant(pause, 4)
        ),
        (_, Some(_)) => "make the collector wait until the stated limit holds, and refuse the run otherwise".to_owned(),
        _ => "state a highest start temperature and wait for it before each run".to_owned(),
    };
    Finding::fired(subject, format!("{} of {} have temperatures out of range: {seen}", odd.len(), count(known, "run")))
        .evidence(odd)
        .remedy(remedy)
}

fn wrong(run: &Run, limit: Option<f64>, highest: f64) -> Option<String> {
    let first = start_temperature(run)?;
    let c = |v: f64| significant(v, 3);
    if let Some(value) = [Some(first), end(run)].into_iter().flatten().find(|v| *v < LOWEST_C || *v > highest) {
        return Some(format!("{} degrees Celsius is outside {LOWEST_C} to {}", c(value), c(highest)));
    }
    if let Some(limit) = limit.filter(|limit| first > *limit) {
        return Some(format!("started at {} degrees Celsius, above the limit of {}", c(first), c(limit)));
    }
    end(run)
        .filter(|last| *last < first - RESOLUTION_C)
        .map(|last| format!("fell from {} to {} degrees Celsius", c(first), c(last)))
}
