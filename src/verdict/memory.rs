//! Judgements of before: a program that stays judges only what has changed.
//!
//! In:  runs, a cell with its runs, a pair of arms.  Out: what their requests say, its [`Group`], its [`Comparison`], computed now or kept
//! from before, which are the same.
//! Not here: how they come about (see `summary`, `telemetry`, `group` and `compare`).
//!
//! Kept is what takes long and depends on few things: the estimates of a cell, with their resampling of every request, the measures of a
//! pair and the shift of its requests. Families, verdicts, traps and conclusions look at the whole campaign and are made anew each time. What a round did not ask for is
//! forgotten after it, so that the memory does not outgrow the campaign.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::case::Cell;
use super::compare::{self, Pair};
use super::group::{Behind, OfRequests};
use super::mark::{self, Mark, Marker};
use super::report::{CalibrationArm, Comparison, Group, ShiftReport};
use super::stability::Resampled;
use super::{CellValues, Settings, group, shift, summary, telemetry};
use crate::model::{Extra, Metric, Reading, Run};
use crate::stats::Direction;

/// What earlier rounds judged.
#[derive(Debug)]
pub struct Memory {
    keeps: bool,
    derived: Shelf<(Vec<Reading>, Vec<Extra>)>,
    groups: Shelf<Group>,
    comparisons: Shelf<Comparison>,
    shifts: Shelf<Option<ShiftReport>>,
    resampled: Shelf<Resampled>,
    calibrated: Shelf<CalibrationArm>,
    of_requests: OfRequests,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            keeps: true,
            derived: Shelf::default(),
            groups: Shelf::default(),
            comparisons: Shelf::default(),
            shifts: Shelf::default(),
            resampled: Shelf::default(),
            calibrated: Shelf::default(),
            of_requests: OfRequests::Resampled,
        }
    }
}

impl Memory {
    /// One that keeps nothing, for a program that judges once.
    pub fn none() -> Self {
        Self { keeps: false, ..Self::default() }
    }

    /// Says whether the requests of what is new are resampled in the rounds that follow, or the intervals of their percentiles are left to
    /// a later round, which is said beside them.
    pub fn resample(&mut self, now: bool) {
        self.of_requests = if now { OfRequests::Resampled } else { OfRequests::Point };
    }

    /// Begins a round.
    pub(super) fn round<'a>(&'a self, settings: &'a Settings) -> Round<'a> {
        Round { memory: self, settings }
    }

    /// Adds to every run what its requests and its telemetry say, as [`summary::of_requests`] and [`telemetry::of_all`] do.
    pub fn derive(&mut self, runs: &mut [Run]) {
        let shared = telemetry::shared(runs);
        runs.par_iter_mut().zip(shared).for_each(|(run, runs)| {
            let shared = runs > 1;
            let derive = |run: &mut Run| {
                summary::of_requests(run);
                telemetry::of_samples(run, shared);
            };
            // A run without lists has nothing that would take long.
            if !self.keeps || run.series.is_empty() && run.telemetry.is_empty() {
                return derive(run);
            }
            let (readings, extras) = (run.readings.len(), run.extras.len());
            let mark = mark::of_run(run, shared);
            match self.derived.find(&mark) {
                Some((more, others)) => {
                    run.readings.extend(more);
                    run.extras.extend(others);
                }
                None => {
                    derive(run);
                    let made = (run.readings.get(readings..), run.extras.get(extras..));
                    self.derived.keep(mark, (made.0.unwrap_or_default().to_vec(), made.1.unwrap_or_default().to_vec()));
                }
            }
        });
        self.derived.turn();
    }

    /// Ends a round: what it did not ask for is forgotten.
    pub(super) fn turn(&mut self) {
        self.groups.turn();
        self.comparisons.turn();
        self.shifts.turn();
        self.resampled.turn();
        self.calibrated.turn();
    }
}

/// One judgement of everything.
pub(super) struct Round<'a> {
    memory: &'a Memory,
    pub settings: &'a Settings,
}

impl Round<'_> {
    /// The same round under other settings.
    pub fn under<'b>(&'b self, settings: &'b Settings) -> Round<'b> {
        Round { memory: self.memory, settings }
    }

    /// As [`group::describe`].
    pub fn describe(&self, cell: &CellValues, metric: &Metric, runs: &[&Run]) -> Group {
        self.group(cell, metric, runs, OfRequests::Resampled)
    }

    /// As [`group::describe`], with nothing of the requests.
    pub fn estimate(&self, cell: &CellValues, metric: &Metric, runs: &[&Run]) -> Group {
        self.group(cell, metric, runs, OfRequests::Nothing)
    }

    fn group(&self, cell: &CellValues, metric: &Metric, runs: &[&Run], wanted: OfRequests) -> Group {
        let behind: Vec<Behind<'_>> = runs.iter().map(|run| Behind::of(run, metric)).collect();
        let describe = |of_requests| group::describe(cell, metric, &behind, self.settings, of_requests);
        if !self.memory.keeps {
            return describe(wanted);
        }
        let mut marker = Marker::default();
        mark::of_settings(&mut marker, self.settings);
        mark::of_cell(&mut marker, cell);
        marker.count(u64::from(wanted == OfRequests::Nothing));
        for Behind { started, counted, stated, requests } in &behind {
            marker.json(&(started, counted, stated, requests.is_some()));
            let requests = requests.filter(|_| wanted != OfRequests::Nothing);
            marker.numbers(requests.unwrap_or_default().iter().copied());
        }
        let mark = marker.finish();
        if wanted == OfRequests::Nothing {
            return self.memory.groups.get(mark, || describe(wanted));
        }
        self.unless_later(&self.memory.groups, mark, describe)
    }

    /// What is kept, else what is made and kept, else what is made for this round only and its intervals left to a later one.
    fn unless_later<T: Clone>(&self, shelf: &Shelf<T>, mark: Mark, make: impl FnOnce(OfRequests) -> T) -> T {
        match self.memory.of_requests {
            OfRequests::Resampled => shelf.get(mark, || make(OfRequests::Resampled)),
            other => shelf.find(&mark).unwrap_or_else(|| make(other)),
        }
    }

    /// As [`shift::of`].
    pub fn shift(&self, a: &Cell<'_>, b: &Cell<'_>, metric: &Metric) -> Option<ShiftReport> {
        let shift = |of_requests| shift::of(a, b, metric, self.settings, of_requests);
        if !self.memory.keeps {
            return shift(OfRequests::Resampled);
        }
        let mut marker = Marker::default();
        mark::of_settings(&mut marker, self.settings);
        marker.text(&metric.name);
        for Cell { model, workload, environment, runs } in [a, b] {
            marker.text(model).text(workload).text(environment).count(runs.len() as u64);
            for series in runs.iter().filter_map(|run| run.series.iter().find(|s| s.metric == metric.name)) {
                marker.numbers(series.values.iter().copied());
            }
        }
        self.unless_later(&self.memory.shifts, marker.finish(), shift)
    }

    /// As [`compare::measure`].
    pub fn measure(&self, pair: &Pair<'_>) -> Comparison {
        let Pair { metric, a, b, order, pairs, margin_pct, primary, derived_from } = pair;
        let reads = |marker: &mut Marker| {
            marker.text(&metric.name).number(*margin_pct).json(&(primary, derived_from, order));
            for arm in [a, b] {
                marker.json(arm).numbers(arm.values.iter().copied());
            }
            marker.count(u64::from(pairs.is_some()));
            marker.numbers(pairs.unwrap_or_default().iter().flat_map(|(a, b)| [*a, *b]));
        };
        self.kept(&self.memory.comparisons, reads, || compare::measure(pair, self.settings))
    }

    /// What the panel of a comparison takes long to make. `key` names its draws.
    pub fn resampled(
        &self,
        key: &str,
        arms: [&[f64]; 4],
        way: Direction,
        make: impl FnOnce() -> Resampled,
    ) -> Resampled {
        let reads = |marker: &mut Marker| {
            marker.text(key).count(way as u64);
            for arm in arms {
                marker.numbers(arm.iter().copied());
            }
        };
        self.kept(&self.memory.resampled, reads, make)
    }

    /// One arm of the calibration.
    pub fn calibrated(
        &self,
        group: &Group,
        margin: Option<f64>,
        make: impl FnOnce() -> CalibrationArm,
    ) -> CalibrationArm {
        let Group { campaign, model, workload, environment, metric, values, .. } = group;
        let reads = |marker: &mut Marker| {
            marker.json(&(campaign, model, workload, environment, metric, margin)).numbers(values.iter().copied());
        };
        self.kept(&self.memory.calibrated, reads, make)
    }

    /// What is kept under the settings and what is read beside them, else what is made and kept.
    fn kept<T: Clone>(&self, shelf: &Shelf<T>, reads: impl FnOnce(&mut Marker), make: impl FnOnce() -> T) -> T {
        if !self.memory.keeps {
            return make();
        }
        let mut marker = Marker::default();
        mark::of_settings(&mut marker, self.settings);
        reads(&mut marker);
        shelf.get(marker.finish(), make)
    }
}

/// Things by their mark, of the round before and of this one.
#[derive(Debug)]
pub struct Shelf<T> {
    before: BTreeMap<Mark, T>,
    now: Mutex<BTreeMap<Mark, T>>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { before: BTreeMap::new(), now: Mutex::default() }
    }
}

impl<T: Clone> Shelf<T> {
    /// What is kept under a mark, from the round before.
    fn find(&self, mark: &Mark) -> Option<T> {
        let thing = self.before.get(mark)?.clone();
        self.keep(*mark, thing.clone());
        Some(thing)
    }

    /// Keeps a thing for the round after this.
    fn keep(&self, mark: Mark, thing: T) {
        // A thread that panicked while it held the lock left a map that is whole: inserting is all that is done under it.
        self.now.lock().unwrap_or_else(PoisonError::into_inner).insert(mark, thing);
    }

    /// What is kept under a mark, else what is made now and kept.
    pub fn get(&self, mark: Mark, make: impl FnOnce() -> T) -> T {
        self.find(&mark).unwrap_or_else(|| {
            let thing = make();
            self.keep(mark, thing.clone());
            thing
        })
    }

    /// Ends a round: what it did not ask for is forgotten.
    pub fn turn(&mut self) {
        self.before = std::mem::take(self.now.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_round_did_not_ask_for_is_forgotten_after_it() {
        let mut shelf: Shelf<u32> = Shelf::default();
        let made = std::cell::Cell::new(0);
        let ask = |shelf: &Shelf<u32>, mark: u8| {
            shelf.get([mark; 32], || {
                made.set(made.get() + 1);
                u32::from(mark)
            })
        };
        assert_eq!((ask(&shelf, 1), ask(&shelf, 2)), (1, 2));
        shelf.turn();
        assert_eq!((ask(&shelf, 1), made.get()), (1, 2), "kept");
        shelf.turn();
        assert_eq!((ask(&shelf, 2), made.get()), (2, 3), "forgotten, made again");
    }
}
