//! Runs whose clock was held down by heat or by the power supply.
//!
//! In:  telemetry with throttle reasons.  Out: one finding for each question.
//! Not here: a clock that is low without a reason (see `clock_unstable`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place};
use crate::case::Case;
use crate::distinct::distinct;
use crate::number::{count, list, significant};
use crate::report::{Evidence, Severity, Subject};
use crate::telemetry::{self, SLOWDOWN_BITS};
use sparkbench_model::Run;

/// Share of a run that may be spent slowed down, per cent: below it no figure of the run moves by its margin.
pub(super) const LIMIT_PCT: f64 = 1.0;
/// The reason that is a limit and no fault: the GPU draws what it may.
const POWER_CAP: u64 = 0x04;

pub(super) struct Throttled;

impl Trap for Throttled {
    fn id(&self) -> &'static str {
        "throttled"
    }
    fn title(&self) -> &'static str {
        "Clock held down while measuring"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Machine
    }
    fn about(&self) -> String {
        format!(
            "The GPU lowered its clock because of heat or power.\n\n\
             A GPU lowers its clock when it becomes too hot or its supply cannot give more. From then on the run measures the \
             cooling and not the software.\n\n\
             The driver gives the reason with each sample of telemetry: hardware slowdown, software or hardware thermal slowdown, \
             power brake. The check adds up how long such a reason held within the window of each run. It fires above {LIMIT_PCT} % \
             of it. A software power cap is named and does not fire, because the GPU then draws what its limit allows. A low clock \
             without any reason is another trap.\n\n\
             Wait for a start temperature, and give the machine air. Set a clock that it can hold, and report that clock."
        )
    }
    fn undermines(&self) -> &'static str {
        "that the GPU ran at the clock it was given"
    }
    fn leaves_cause_open(&self, _metric: &str) -> bool {
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

/// A run, the seconds of its window, those slowed down, and the words of the reasons.
struct ThrottledRun<'a> {
    run: &'a Run,
    window: f64,
    slowed: f64,
    stretches: usize,
    reasons: Vec<&'static str>,
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let runs = case.runs_by_arm(model, workload);
    let told: Vec<ThrottledRun<'_>> = runs.iter().filter_map(|run| held(run)).collect();
    if told.is_empty() {
        return Finding::not_evaluated(subject, format!("{place}: no telemetry with throttle reasons"));
    }
    let slow: Vec<&ThrottledRun<'_>> =
        told.iter().filter(|held| 100.0 * held.slowed > LIMIT_PCT * held.window).collect();
    if slow.is_empty() {
        let capped = runs.iter().filter(|run| capped(run)).count();
        let cap = if capped > 0 {
            format!(". {} drew all that the power limit allows for a while", count(capped, "run"))
        } else {
            String::new()
        };
        let message = format!(
            "{place}: no slowdown above {LIMIT_PCT} % of a run in {} with throttle reasons{cap}",
            count(told.len(), "run")
        );
        return Finding::passed(subject, message);
    }
    let reasons: Vec<&str> = distinct(slow.iter().flat_map(|held| held.reasons.iter().copied()));
    let arms: Vec<String> = case
        .arms(model, workload)
        .into_iter()
        .filter_map(|cell| {
            let hit = slow.iter().filter(|held| held.run.environment == cell.environment).count();
            (hit > 0).then(|| format!("{hit} of {} in {}", cell.runs.len(), cell.environment))
        })
        .collect();
    let rows = slow.iter().map(|held| {
        Evidence::run(
            format!(
                "{} s of {} s in {}: {}",
                significant(held.slowed, 3),
                significant(held.window, 4),
                count(held.stretches, "stretch").replace("stretchs", "stretches"),
                list(&held.reasons)
            ),
            held.run.id.clone(),
        )
    });
    Finding::fired(subject, format!("{place}: the clock was held down by {} in {}", list(&reasons), list(&arms)))
        .evidence(rows)
        .remedy("leave these runs out or repeat them on a cooler machine, and set a clock that it holds")
}

fn held(run: &Run) -> Option<ThrottledRun<'_>> {
    let window = telemetry::window(run)?;
    let stretches = telemetry::intervals(run, &window, SLOWDOWN_BITS)?;
    let inside = run.telemetry.iter().filter(|sample| window.holds(window.time(sample)));
    let bits = inside.filter_map(|sample| sample.throttle_bits).fold(0, |all, bits| all | bits);
    Some(ThrottledRun {
        run,
        window: window.seconds(),
        slowed: stretches.iter().map(|(from, to)| to - from).sum(),
        stretches: stretches.len(),
        reasons: telemetry::reasons(bits & SLOWDOWN_BITS),
    })
}

fn capped(run: &Run) -> bool {
    telemetry::window(run)
        .and_then(|window| telemetry::held(run, &window, POWER_CAP))
        .is_some_and(|seconds| seconds > 0.0)
}
