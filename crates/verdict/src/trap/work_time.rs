//! The reported tokens of a run must fit into its time (P4).
//!
//! In:  requests, output length, start, end, reported rate.  Out: one finding for each model and workload.
//! Not here: overlap of runs (see `runs_overlap`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place, seen};
use super::run_figures::answered_requests;
use crate::case::Case;
use crate::number::{list, significant};
use crate::report::{Severity, Subject};
use sparkbench_model::Run;

/// Largest disagreement between the reported rate and tokens over time, per cent.
pub(super) const TOLERANCE_PCT: f64 = 5.0;
/// Time for loading and warming up around the measured window, seconds. It applies where the archive does not state it.
pub(super) const STARTUP_ALLOWANCE_S: f64 = 600.0;
/// The rate that is compared with the clock.
const METRIC: &str = "output_throughput_tok_s";

/// Work and time disagree.
pub(super) struct WorkTimeMismatch;

/// Evidence of one run.
enum Shown {
    /// Rate and clock agree.
    Agrees,
    /// More work than the time allows.
    TooMuch(f64),
    /// Time left over that nothing explains, seconds.
    Idle(f64),
    /// Time left over that start-up may have taken, seconds.
    PerhapsStartup(f64),
}

impl Trap for WorkTimeMismatch {
    fn id(&self) -> &'static str {
        "work-time-mismatch"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P4")
    }
    fn title(&self) -> &'static str {
        "Work does not match the time"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Machine
    }
    fn about(&self) -> String {
        format!(
            "The work, the time and the rate of a run do not fit together.\n\n\
             Requests times output tokens over elapsed time is a rate. It must agree with the rate that is reported. A wrong \
             request count, a wrong token count or a rate from another window shows here.\n\n\
             The check fires when the two differ by more than {TOLERANCE_PCT} %, after the time for loading the model where it is \
             recorded. Work that does not fit into the run makes the cell invalid. Time that nothing explains is a warning. It \
             counts only beyond {STARTUP_ALLOWANCE_S} s where loading is not recorded, because start and end of a process include \
             it.\n\n\
             Archive the number of requests, the tokens of each, and the start and end of the measured window."
        )
    }
    fn undermines(&self) -> &'static str {
        "the rate reported for these runs"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let runs = case.runs_by_arm(model, workload);
    let shown: Vec<(&Run, Shown)> = runs.iter().filter_map(|run| Some((*run, show(case, run)?))).collect();
    if shown.is_empty() {
        return Finding::not_evaluated(
            subject,
            format!("{place}: no run has all that is needed. Missing {}", list(&missing(case, &runs))),
        );
    }
    let pick = |test: fn(&Shown) -> Option<f64>| -> Vec<(&Run, f64)> {
        shown.iter().filter_map(|(run, s)| Some((*run, test(s)?))).collect()
    };
    let much = pick(|s| if let Shown::TooMuch(x) = s { Some(*x) } else { None });
    let idle = pick(|s| if let Shown::Idle(x) = s { Some(*x) } else { None });
    let perhaps = pick(|s| if let Shown::PerhapsStartup(x) = s { Some(*x) } else { None });
    let remedy = "archive the request count, the tokens of each request, and start and end of the measured window beside the rate";
    if let Some((_, worst)) = much.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)) {
        let message = format!(
            "{place}: in {} of {} runs the stated work is too much for the reported rate, up to {} times",
            much.len(),
            shown.len(),
            significant(worst, 3)
        );
        return Finding::fired(subject, message)
            .evidence(much.iter().map(|(run, x)| {
                seen(run, format!("requests x tokens / elapsed time is {} times the reported rate", significant(*x, 4)))
            }))
            .remedy(remedy);
    }
    if let Some((_, worst)) = idle.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)) {
        let message = format!(
            "{place}: in {} of {} runs the reported rate leaves up to {} s that no recorded work or loading explains",
            idle.len(),
            shown.len(),
            significant(worst, 4)
        );
        return Finding::fired(subject, message)
            .evidence(idle.iter().map(|(run, s)| seen(run, format!("{} s unexplained", significant(*s, 4)))))
            .remedy(remedy)
            .severity(Severity::Warning);
    }
    if perhaps.len() == shown.len() {
        let least = perhaps.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
        let message = format!(
            "{place}: the work fits, but at least {} s of each run lie outside it and the loading time is not recorded",
            significant(least, 4)
        );
        return Finding::not_evaluated(subject, message).remedy(remedy);
    }
    Finding::passed(
        subject,
        format!(
            "{place}: requests x tokens / time agrees with the reported rate within {TOLERANCE_PCT} % in {} runs",
            shown.len() - perhaps.len()
        ),
    )
}

/// `None` where something is missing, or where the launch ran other workloads in the same time.
fn show(case: &Case<'_>, run: &Run) -> Option<Shown> {
    if run
        .together
        .as_ref()
        .is_some_and(|launch| case.runs.iter().any(|r| r.together.as_ref() == Some(launch) && r.id != run.id))
    {
        return None;
    }
    let elapsed = run.ended?.seconds_since(run.started?);
    let tokens = answered_requests(run)? * run.setup.osl?;
    let rate = run.value(METRIC).filter(|rate| *rate > 0.0)?;
    if elapsed <= 0.0 {
        return Some(Shown::TooMuch(f64::INFINITY));
    }
    let loading = run.value("model_load_s");
    let window = elapsed - loading.unwrap_or(0.0).clamp(0.0, elapsed);
    let tolerance = TOLERANCE_PCT / 100.0;
    let needed = tokens / rate;
    Some(if tokens / elapsed > rate * (1.0 + tolerance) {
        Shown::TooMuch(tokens / elapsed / rate)
    } else if needed >= window * (1.0 - tolerance) {
        Shown::Agrees
    } else if loading.is_some() || window - needed > STARTUP_ALLOWANCE_S {
        Shown::Idle(window - needed)
    } else {
        Shown::PerhapsStartup(window - needed)
    })
}

fn missing(case: &Case<'_>, runs: &[&Run]) -> Vec<&'static str> {
    let lacks = |test: fn(&Run) -> bool| runs.iter().all(|run| test(run));
    let mut missing = Vec::new();
    for (absent, name) in [
        (lacks(|r| r.started.is_none()), "the start"),
        (lacks(|r| r.ended.is_none()), "the end"),
        (lacks(|r| answered_requests(r).is_none()), "the number of requests"),
        (lacks(|r| r.setup.osl.is_none()), "the output length"),
        (lacks(|r| r.value(METRIC).is_none()), "the output throughput"),
    ] {
        if absent {
            missing.push(name);
        }
    }
    if missing.is_empty() {
        let shared = runs.iter().any(|r| {
            r.together
                .as_ref()
                .is_some_and(|l| case.runs.iter().any(|o| o.together.as_ref() == Some(l) && o.id != r.id))
        });
        missing.push(if shared {
            "a time of its own: the launch ran several workloads"
        } else {
            "start, end, requests, output length and rate together in one run"
        });
    }
    missing
}
