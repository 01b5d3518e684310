//! Runs on a machine that was not fit for measuring: busy, swapping, short of memory.
//!
//! In:  the state of the machine that our own archives hold before and after each run.  Out: one finding for each cell.
//! Not here: how it is read (see `run::state`).
//!
//! A state is one row: a figure of each run, a limit, and the words for both sides of it.

use super::declaration::{Theme, Trap};
use super::finding::{Finding, cell_place, each_cell, seen};
use super::run_figures::state;
use crate::case::{Case, Cell};
use crate::number::{count, significant};
use crate::report::{Severity, Subject};
use sparkbench_model::Run;

/// More swap in use than this is no leftover of the start of the machine, GiB.
const SWAP_GIB: f64 = 0.25;
/// Less memory available before a run than this leaves none for the run, GiB.
const MEMORY_GIB: f64 = 4.0;
/// Load average before a run above which the machine was not idle: two processes that run all the time.
const LOAD: f64 = 2.0;

/// A state of the machine against its limit.
pub(super) struct State {
    id: &'static str,
    title: &'static str,
    about: fn(f64) -> String,
    undermines: &'static str,
    /// The figure of one run.
    value: fn(&Run) -> Option<f64>,
    limit: f64,
    /// Whether a figure below the limit is the bad one.
    floor: bool,
    /// The text when no run has the figure.
    missing: &'static str,
    /// Text before and after the limit, for runs that keep it and for runs that do not.
    kept: (&'static str, &'static str),
    broken: (&'static str, &'static str),
    /// Text after the figure of a run.
    unit: &'static str,
    remedy: &'static str,
}

/// Swap was used.
pub(super) static SWAP_USED: State = State {
    id: "swap-used",
    title: "Swap was in use",
    about: |limit| {
        format!(
            "The machine used swap space during a run.\n\n\
             Memory that was swapped out comes back at the speed of a disk, a hundred times slower than memory. The run that \
             touches it has to wait. On a machine whose GPU shares the memory of the host, weights and KV cache push the rest of \
             the system out.\n\n\
             The check looks at the swap in use before and after each run. It fires above {limit} GiB.\n\n\
             Turn swap off for the campaign, or leave the engine less memory."
        )
    },
    undermines: "figures of runs that may have waited for a disk",
    value: |run| {
        let both = [state(run, "swap_used", "before"), state(run, "swap_used", "after")];
        both.into_iter().flatten().max_by(f64::total_cmp)
    },
    limit: SWAP_GIB,
    floor: false,
    missing: "no figure of swap",
    kept: ("at most", " GiB of swap"),
    broken: ("more than", " GiB of swap"),
    unit: "GiB of swap in use",
    remedy: "turn swap off, or leave the engine less memory",
};

/// Memory was short.
pub(super) static MEMORY_FLOOR: State = State {
    id: "memory-floor",
    title: "Memory was short before the run",
    about: |limit| {
        format!(
            "A run began with hardly any memory available.\n\n\
             Such a run shares the memory with whatever was left over. The engine gets a smaller cache. The kernel reclaims pages \
             while requests are timed. At worst the system ends the run.\n\n\
             The check looks at the memory available before each run. It fires below {limit} GiB.\n\n\
             End every process of the run before, and wait until its memory is back. Let the pre-flight refuse to start without it."
        )
    },
    undermines: "figures of runs that began without memory",
    value: |run| state(run, "memory_available", "before"),
    limit: MEMORY_GIB,
    floor: true,
    missing: "no figure of the memory available",
    kept: ("at least", " GiB available before the run"),
    broken: ("less than", " GiB available before the run"),
    unit: "GiB available",
    remedy: "end what is left of the run before and wait until its memory is back",
};

/// The host was busy.
pub(super) static HOST_LOAD: State = State {
    id: "host-load",
    title: "The machine was busy before the run",
    about: |limit| {
        format!(
            "Another program was busy on the machine when a run began.\n\n\
             The scheduler of an engine is one thread of the host. When another program takes its processor, tokens come late \
             although the GPU is free. Power and clocks are shared as well.\n\n\
             The check looks at the load average of the last minute before each run, before the run itself could add to it. It \
             fires above {limit}. The figure still includes what the run before left behind, which is one more reason for a pause.\n\n\
             Measure on an idle machine. Let the pre-flight wait until it is idle."
        )
    },
    undermines: "that the machine did nothing else",
    value: |run| state(run, "load_1m", "before"),
    limit: LOAD,
    floor: false,
    missing: "no load average",
    kept: ("a load of at most", " before the run"),
    broken: ("a load above", " before the run"),
    unit: "load average over one minute",
    remedy: "wait until the machine is idle before every run",
};

impl Trap for State {
    fn id(&self) -> &'static str {
        self.id
    }
    fn title(&self) -> &'static str {
        self.title
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Machine
    }
    fn about(&self) -> String {
        (self.about)(self.limit)
    }
    fn undermines(&self) -> &'static str {
        self.undermines
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_cell(case, |case, cell| self.look(case, cell))
    }
}

impl State {
    fn look(&self, case: &Case<'_>, cell: &Cell<'_>) -> Finding {
        let subject = Subject::cell(case, cell);
        let place = cell_place(case, cell);
        let known: Vec<(&Run, f64)> = cell.runs.iter().filter_map(|run| Some((*run, (self.value)(run)?))).collect();
        if known.is_empty() {
            return Finding::not_evaluated(subject, format!("{place}: {}", self.missing));
        }
        let words = |(before, behind): (&str, &str)| format!("{place}: {before} {}{behind} in", self.limit);
        let runs = count(known.len(), "run");
        let is_bad = |value: f64| if self.floor { value < self.limit } else { value > self.limit };
        let bad: Vec<&(&Run, f64)> = known.iter().filter(|(_, value)| is_bad(*value)).collect();
        if bad.is_empty() {
            return Finding::passed(subject, format!("{} {runs}", words(self.kept)));
        }
        Finding::fired(subject, format!("{} {} of {runs}", words(self.broken), bad.len()))
            .evidence(bad.iter().map(|(run, value)| seen(run, format!("{} {}", significant(*value, 3), self.unit))))
            .remedy(self.remedy)
    }
}
