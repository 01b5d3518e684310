//! The progress of a campaign, from its journal alone.
//!
//! In:  entries of a journal.  Out: [`Progress`].
//! Not here: looking at the runs themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::{Entry, Event};
use super::manifest::{INTERRUPTED_FOLDER, LossWire, PlannedRun};
use sparkbench_text::plural::counted;

/// Outcome of each run, from the journal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Runs done, by id, with the SHA-256 of their `run.json`.
    pub finished: BTreeMap<String, String>,
    /// Runs that failed, by id. They are not repeated.
    pub failed: BTreeMap<String, Failure>,
    /// Runs left out, by id, and why.
    pub skipped: BTreeMap<String, String>,
    /// How often a run was begun and did not end, by id (or `probes/<name>`, `prepared/<name>`).
    pub interrupted: BTreeMap<String, u32>,
    /// Folders below the archive of what was set aside.
    pub set_aside: BTreeSet<String>,
    /// Folder below the archive, by label of environment and of workload.
    pub probed: BTreeMap<(String, String), String>,
    /// Folder below the archive, by label of workload and of model.
    pub prepared: BTreeMap<(String, String), String>,
    /// The last look that was taken, from 1. 0 before the first.
    pub looks: u32,
    /// Why the campaign ended at its last look, where it did.
    pub ended: Option<String>,
    /// Everything that was accepted as lost, in the order of the journal.
    pub losses: Vec<LossWire>,
    /// Runs whose result was lost and that have none since, by id, and why.
    pub lost: BTreeMap<String, String>,
    /// The run that was begun last and has no outcome yet.
    pub in_flight: Option<String>,
    /// Every planned run is accounted for and nothing more will be written.
    pub closed: bool,
}

/// A run that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// SHA-256 of its `run.json`.
    pub run_sha256: String,
    pub why: String,
}

impl Progress {
    /// Reads a journal from its start.
    pub fn of(entries: &[Entry]) -> Self {
        let mut progress = Self::default();
        entries.iter().filter_map(|entry| entry.event.as_ref()).for_each(|event| progress.note(event));
        progress
    }

    /// Takes one more event into account.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Started { run } => {
                self.in_flight = Some(run.clone());
                self.skipped.remove(run);
            }
            Event::Finished { run, run_sha256 } | Event::Adopted { run, run_sha256, why: None } => {
                self.ended(run);
                self.lost.remove(run);
                self.finished.insert(run.clone(), run_sha256.clone());
            }
            Event::Failed { run, run_sha256, why } | Event::Adopted { run, run_sha256, why: Some(why) } => {
                self.ended(run);
                self.lost.remove(run);
                self.failed.insert(run.clone(), Failure { run_sha256: run_sha256.clone(), why: why.clone() });
            }
            Event::Skipped { run, why } => {
                self.skipped.insert(run.clone(), why.clone());
            }
            Event::Interrupted { run, folder, .. } => {
                self.ended(run);
                self.set_aside.insert(folder.clone());
                *self.interrupted.entry(run.clone()).or_default() += 1;
            }
            Event::Probed { environment, workload, folder, .. } => {
                self.probed.insert((environment.clone(), workload.clone()), folder.clone());
            }
            Event::Prepared { workload, model, folder, .. } => {
                self.prepared.insert((workload.clone(), model.clone()), folder.clone());
            }
            Event::Looked { look, end, .. } => {
                self.looks = *look;
                self.ended.clone_from(end);
            }
            Event::Lost { path, run, left, why, .. } => {
                if left.is_empty() {
                    self.set_aside.remove(path);
                } else if path.starts_with(INTERRUPTED_FOLDER) {
                    self.set_aside.insert(path.clone());
                }
                if let Some(run) = run {
                    self.finished.remove(run);
                    self.failed.remove(run);
                    self.lost.insert(run.clone(), why.clone());
                }
                self.probed.retain(|_, folder| folder != path);
                self.prepared.retain(|_, folder| folder != path);
                self.losses.push(LossWire { path: path.clone(), run: run.clone(), why: why.clone() });
            }
            Event::Reopened { .. } => self.closed = false,
            Event::Closed { .. } => self.closed = true,
            Event::Created { .. }
            | Event::Opened { .. }
            | Event::Resumed { .. }
            | Event::Swept { .. }
            | Event::Recovered { .. }
            | Event::Clock { .. }
            | Event::Changed { .. }
            | Event::Stopped { .. } => {}
        }
    }

    fn ended(&mut self, run: &str) {
        if self.in_flight.as_deref() == Some(run) {
            self.in_flight = None;
        }
    }

    /// Whether a run is complete under its final name.
    pub fn is_complete(&self, id: &str) -> bool {
        self.finished.contains_key(id) || self.failed.contains_key(id)
    }

    /// Planned runs that are neither complete nor left out, in the order of the plan.
    pub fn left<'a>(&self, plan: &'a [PlannedRun]) -> Vec<&'a PlannedRun> {
        plan.iter().filter(|run| !self.is_complete(&run.id) && !self.skipped.contains_key(&run.id)).collect()
    }

    /// How many runs were left out. Not counted are those whose result was lost.
    pub fn not_needed(&self) -> usize {
        self.skipped.len() - self.lost_for_good()
    }

    /// How many runs have lost their result and are not made again, because the campaign had ended when the loss was accepted.
    pub fn lost_for_good(&self) -> usize {
        self.skipped.keys().filter(|run| self.lost.contains_key(*run)).count()
    }

    /// `3 runs are complete`, for messages.
    pub fn safe(&self) -> String {
        match self.finished.len() + self.failed.len() {
            0 => "no run was complete yet".to_owned(),
            n => counted(n, "run is complete and safe", "runs are complete and safe"),
        }
    }
}
