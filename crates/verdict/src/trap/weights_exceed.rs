//! A model whose weights do not fit into the machine cannot have run on it (P1).
//!
//! In:  weight bytes of the named model, usable memory.  Out: one finding for each model.
//! Not here: what the runs say they used (see `memory_inconsistent`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, or_missing, seen};
use crate::case::Case;
use crate::number::{count, significant};
use crate::physics::inputs::{GIB, claimed_weights, gigabytes, memory, missing_machine, missing_weights};
use crate::report::{Severity, Subject};

/// Weights do not fit.
pub(super) struct WeightsExceedMemory;

impl Trap for WeightsExceedMemory {
    fn id(&self) -> &'static str {
        "weights-exceed-memory"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P1")
    }
    fn title(&self) -> &'static str {
        "Weights exceed the memory"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        "The model on the label does not fit into the machine.\n\n\
         A launch script that ignores its model argument still prints the label it was given. The label ends up in the table. \
         Whatever ran, it was not that model at that precision. Offloading to disk would show as a speed far below the one \
         reported.\n\n\
         The weights of a named model need a known number of bytes: parameters times bits per weight, scales included. The \
         check fires when those bytes exceed the memory that the machine can give to one process, before any KV cache.\n\n\
         Archive the line in which the engine prints what it loaded. Compare it with what was asked."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "any statement about the model that these runs are labelled with"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        or_missing(case.models().into_iter().map(|model| look(case, model)).collect(), case)
    }
}

fn look(case: &Case<'_>, model: &str) -> Finding {
    let subject = Subject::of(case).with_model(model);
    let Some(weights) = claimed_weights(case, model) else {
        return Finding::not_evaluated(subject, missing_weights(case, model));
    };
    let Some(memory) = memory(case) else {
        return Finding::not_evaluated(subject, missing_machine(case, "memory size"));
    };
    let figures = format!(
        "{} ({}). Usable memory {} GiB ({})",
        gigabytes(weights.value),
        weights.source,
        significant(memory.value / GIB, 4),
        memory.source
    );
    if weights.value <= memory.value {
        return Finding::passed(subject, format!("the weights of {model} fit: {figures}"));
    }
    let runs: Vec<_> = case.runs.iter().filter(|run| run.model == model).collect();
    let message =
        format!("the weights of {model} cannot be loaded, yet {} report figures: {figures}", count(runs.len(), "run"));
    Finding::fired(subject, message)
        .evidence(runs.into_iter().map(|run| seen(run, format!("labelled {model}, {}", run.environment))))
        .remedy("find in the launch script or the engine's log which model was loaded, and label the runs with that")
}
