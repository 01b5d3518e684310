//! Runs in which the load generator itself may have been the limit.
//!
//! In:  the certificate of our own load.  Out: one finding for each cell.
//! Not here: how the certificate is made (see `load`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, cell_place, each_cell, seen};
use crate::case::{Case, Cell};
use crate::number::count;
use crate::report::{Severity, Subject};
use sparkbench_model::{Run, known_extra};

/// The client was the limit.
pub(super) struct ClientLimited;

impl Trap for ClientLimited {
    fn id(&self) -> &'static str {
        "client-limited"
    }
    fn title(&self) -> &'static str {
        "The load generator may have been the limit"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Machine
    }
    fn about(&self) -> String {
        "The load client was too busy to measure the server.\n\n\
         A busy client sends late and reads late. Both enter the figures as if the server had been slow. A client on the \
         machine of the server also takes the processor away from it.\n\n\
         Our own load writes a certificate with each run. It counts requests sent late, answers that lay unread, threads \
         without a processor, and prompts not built in time. The check fires when the certificate says that the client may have \
         been the limit. Other tools write no such certificate.\n\n\
         Give the client processors of its own. Compare its figures with its calibration."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "that the figures are those of the server and not of the client"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_cell(case, look)
    }
}

fn look(case: &Case<'_>, cell: &Cell<'_>) -> Finding {
    let subject = Subject::cell(case, cell);
    let place = cell_place(case, cell);
    let known: Vec<(&Run, &str)> = cell
        .runs
        .iter()
        .filter_map(|run| known_extra::text(run, known_extra::CLIENT_LIMITED).map(|why| (*run, why)))
        .collect();
    if known.is_empty() {
        return Finding::not_evaluated(subject, format!("{place}: no certificate of the client"));
    }
    let limited: Vec<(&Run, &str)> = known.iter().filter(|(_, why)| *why != "no").copied().collect();
    if limited.is_empty() {
        return Finding::passed(
            subject,
            format!("{place}: the client was not the limit in {}", count(known.len(), "run")),
        );
    }
    Finding::fired(
        subject,
        format!("{place}: the client may have been the limit in {} of {}", limited.len(), count(known.len(), "run")),
    )
    .evidence(limited.iter().map(|(run, why)| seen(run, (*why).to_owned())))
    .remedy("give the client processors of its own, or fewer requests at a time, and measure again")
}
