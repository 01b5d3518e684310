//! Judgements kept from before: a long-running program judges only what has changed.
//!
//! In:  runs, a cell with its runs, a pair of arms.  Out: summaries of requests, a [`Group`], a [`Comparison`], computed now or kept from
//! before. Both are the same.
//! Not here: how they are computed (see `summary`, `telemetry`, `group` and `compare`).
//!
//! Slow results that depend on few things are kept. They are the estimates of a cell with their resampling of every request, the measures of
//! a pair, and the shift of its requests. Families, verdicts, traps and conclusions depend on the whole campaign and are remade each
//! time. Results that a round did not use are forgotten after it, so that the memory does not outgrow the campaign.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::case::Cell;
use super::compare::{self, Pair};
use super::group::{OfRequests, RunInputs};
use super::mark::{self, Mark, Marker};
use super::report::{CalibrationArm, Comparison, Group, ShiftReport};
use super::stability::Resampled;
use super::{CellValues, Settings, group, shift, summary, telemetry};
use sparkbench_model::{Extra, Metric, Reading, Run};
use sparkbench_stats::Direction;

/// Judgements of earlier rounds.
#[derive(Debug)]
pub struct Memory {
    keeps: bool,
    derived: RoundCache<(Vec<Reading>, Vec<Extra>)>,
    groups: RoundCache<Group>,
    comparisons: RoundCache<Comparison>,
    shifts: RoundCache<Option<ShiftReport>>,
    resampled: RoundCache<Resampled>,
    calibrated: RoundCache<CalibrationArm>,
    of_requests: OfRequests,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            keeps: true,
            derived: RoundCache::default(),
            groups: RoundCache::default(),
            comparisons: RoundCache::default(),
            shifts: RoundCache::default(),
            resampled: RoundCache::default(),
            calibrated: RoundCache::default(),
            of_requests: OfRequests::Resampled,
        }
    }
}

impl Memory {
    /// One that keeps nothing, for a program that judges once.
    pub fn none() -> Self {
        Self { keeps: false, ..Self::default() }
    }

    /// Whether the following rounds resample the requests of new data. Otherwise the intervals of their percentiles are left to a later
    /// round, and the report says so.
    pub fn resample(&mut self, now: bool) {
        self.of_requests = if now { OfRequests::Resampled } else { OfRequests::Point };
    }

    /// Begins a round.
    pub(super) fn round<'a>(&'a self, settings: &'a Settings) -> Round<'a> {
        Round { memory: self, settings }
    }

    /// Adds to every run what its requests and its telemetry say, as [`summary::of_requests`] and `telemetry::of_samples` do.
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
    pub(super) fn under<'b>(&'b self, settings: &'b Settings) -> Round<'b> {
        Round { memory: self.memory, settings }
    }

    /// Like [`group::describe`].
    pub(super) fn describe(&self, cell: &CellValues, metric: &Metric, runs: &[&Run]) -> Group {
        self.group(cell, metric, runs, OfRequests::Resampled)
    }

    /// Like [`group::describe`], with nothing of the requests.
    pub(super) fn estimate(&self, cell: &CellValues, metric: &Metric, runs: &[&Run]) -> Group {
        self.group(cell, metric, runs, OfRequests::Nothing)
    }

    fn group(&self, cell: &CellValues, metric: &Metric, runs: &[&Run], wanted: OfRequests) -> Group {
        let behind: Vec<RunInputs<'_>> = runs.iter().map(|run| RunInputs::of(run, metric)).collect();
        let describe = |of_requests| group::describe(cell, metric, &behind, self.settings, of_requests);
        if !self.memory.keeps {
            return describe(wanted);
        }
        let mut marker = Marker::default();
        mark::of_settings(&mut marker, self.settings);
        mark::of_cell(&mut marker, cell);
        marker.count(u64::from(wanted == OfRequests::Nothing));
        for RunInputs { started, counted, stated, requests } in &behind {
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

    /// Returns the kept value, or makes and keeps it, or makes it for this round only and leaves its intervals to a later one.
    fn unless_later<T: Clone>(&self, shelf: &RoundCache<T>, mark: Mark, make: impl FnOnce(OfRequests) -> T) -> T {
        match self.memory.of_requests {
            OfRequests::Resampled => shelf.get(mark, || make(OfRequests::Resampled)),
            other => shelf.find(&mark).unwrap_or_else(|| make(other)),
        }
    }

    /// Like [`shift::of`].
    pub(super) fn shift(&self, a: &Cell<'_>, b: &Cell<'_>, metric: &Metric) -> Option<ShiftReport> {
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

    /// Like [`compare::measure`].
    pub(super) fn measure(&self, pair: &Pair<'_>) -> Comparison {
        let Pair { metric, a, b, order, layout, pairs, margin_pct, primary, derived_from } = pair;
        let reads = |marker: &mut Marker| {
            marker.text(&metric.name).number(*margin_pct).json(&(primary, derived_from, order, layout));
            for arm in [a, b] {
                marker.json(arm).numbers(arm.values.iter().copied());
            }
            marker.count(u64::from(pairs.is_some()));
            marker.numbers(pairs.unwrap_or_default().iter().flat_map(|row| [row.baseline, row.candidate]));
        };
        self.kept(&self.memory.comparisons, reads, || compare::measure(pair, self.settings))
    }

    /// Slow parts of a comparison's panel. `key` names its draws.
    pub(super) fn resampled(
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
    pub(super) fn calibrated(
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

    /// Returns the value kept under the settings and their inputs, or makes and keeps it.
    fn kept<T: Clone>(&self, shelf: &RoundCache<T>, reads: impl FnOnce(&mut Marker), make: impl FnOnce() -> T) -> T {
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
pub struct RoundCache<T> {
    before: BTreeMap<Mark, T>,
    now: Mutex<BTreeMap<Mark, T>>,
}

impl<T> Default for RoundCache<T> {
    fn default() -> Self {
        Self { before: BTreeMap::new(), now: Mutex::default() }
    }
}

impl<T: Clone> RoundCache<T> {
    /// The value kept under a mark, from the last round.
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

    /// Returns the value kept under a mark, or makes and keeps it.
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
        let mut shelf: RoundCache<u32> = RoundCache::default();
        let made = std::cell::Cell::new(0);
        let ask = |shelf: &RoundCache<u32>, mark: u8| {
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
