//! Figures of a run that several traps read, from wherever its files have them.
//!
//! In:  a run.  Out: the figure, where there is one.
//! Not here: judgement.

use sparkbench_model::{Run, known_extra};

/// Answered requests. All of them, where no failure is reported. A failed request gave no tokens.
pub(super) fn answered_requests(run: &Run) -> Option<f64> {
    known_extra::number(run, known_extra::ANSWERED_REQUESTS).or(run.setup.requests)
}

/// Temperature before a run, degrees Celsius.
pub(super) fn start_temperature(run: &Run) -> Option<f64> {
    run.setup.start_temp_c.or_else(|| run.value("gpu_temp_start_c"))
}

/// State of the machine `before` or `after` a run, in our own archives.
pub(super) fn state(run: &Run, what: &str, when: &str) -> Option<f64> {
    known_extra::number(run, &[&format!("{what}_{when}")])
}
