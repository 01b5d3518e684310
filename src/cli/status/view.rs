//! The state of a campaign, worked out of what one look found.
//!
//! In:  [`Parts`], the time.  Out: [`View`]: counts by cell, preliminary means, what runs, what is left.
//! Not here: reading files, drawing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::gather::Parts;
use sparkbench_archive::journal::{Entry, Event, Tail};
use sparkbench_archive::manifest::{JOURNAL_FILE, LossWire, PlannedRun, RUNS_FOLDER, SEAL_FILE};
use sparkbench_archive::{Failure, Progress};
use sparkbench_model::{Instant, Metric, Run, Status};
use sparkbench_plan::{Observed, remaining};
use sparkbench_stats as stats;

/// Schema of the JSON.
const SCHEMA: &str = "sparkbench.status/1";
/// Runs whose temperatures are shown.
const LAST_RUNS: usize = 3;
/// Metrics shown where the campaign names none.
const MOST_METRICS: usize = 3;

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// A collector is at work and a run has begun.
    Running,
    /// A collector is at work between two runs.
    BetweenRuns,
    /// No collector is at work, and a run was begun that did not end.
    BrokenOff,
    /// No collector is at work, and planned runs are left.
    Stopped,
    /// Planned runs are left, and whether a collector is at work cannot be told here.
    Unknown,
    /// Nothing is left to do.
    Complete,
}

/// Runs by what became of them. `planned` is the sum of the others but `interrupted`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// In the plan.
    pub planned: usize,
    /// Ended well.
    pub done: usize,
    /// Begun and not ended.
    pub running: usize,
    /// Archived as failed.
    pub failed: usize,
    /// Left out.
    pub skipped: usize,
    /// Given up as lost and not made again, because the campaign had ended. Absent from the JSON where there is none.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: usize,
    /// Still to come.
    pub left: usize,
    /// How often a run was begun and broken off. It is made again.
    pub interrupted: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Mean of a metric over the runs of a cell that ended well.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Figure {
    /// Contract name.
    pub metric: String,
    pub unit: &'static str,
    /// Runs that report it.
    pub n: usize,
    /// Absent when none does.
    pub mean: Option<f64>,
}

/// One cell of the plan. Or one test of a launch that makes several, which has figures and no counts of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    pub environment: String,
    pub model: String,
    pub workload: String,
    /// Absent for a test of a launch.
    pub runs: Option<Counts>,
    /// In the order of [`View::metrics`].
    pub figures: Vec<Figure>,
}

/// The run that has begun last and has no outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Current {
    pub run: String,
    /// Its place in the plan, where it is in it.
    pub planned: Option<PlannedRun>,
    /// When it began.
    pub since_utc: Option<Instant>,
    /// How long ago, seconds. Absent when the clock went back.
    pub for_s: Option<f64>,
    /// Last line of its telemetry by column.
    pub telemetry: BTreeMap<String, String>,
}

/// Temperatures of a run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Warmth {
    pub run: String,
    /// When it ended.
    pub ended_utc: Option<Instant>,
    /// Before, degrees Celsius.
    pub start_c: Option<f64>,
    /// After.
    pub end_c: Option<f64>,
}

/// A run and a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Reason {
    pub run: String,
    pub why: String,
}

/// Time left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Left {
    pub seconds: f64,
    /// Runs left that rest on the durations of others like them.
    pub measured: usize,
    /// Runs left of which nothing is known.
    pub guessed: usize,
}

/// How far a campaign has come that stops when it is decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Looks {
    /// Blocks at each look.
    pub at_blocks: Vec<u32>,
    /// Looks that were taken.
    pub taken: u32,
    /// Why the campaign ended at its last look, where it did.
    pub ended: Option<String>,
}

/// The whole state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct View {
    schema: &'static str,
    /// Name of the campaign.
    pub campaign: String,
    /// When it was looked at.
    pub at_utc: Instant,
    /// What is going on.
    pub state: State,
    /// Whether the seal is there.
    pub sealed: bool,
    /// Whether the archive keeps a journal.
    pub journal: bool,
    /// All cells together.
    pub runs: Counts,
    /// Shown for each cell.
    pub metrics: Vec<String>,
    /// By environment, model, workload, in the order of the plan.
    pub cells: Vec<Row>,
    /// Runs are still to come. Figures are means of what is there so far, and no verdict in any case.
    pub preliminary: bool,
    /// The looks of a campaign that stops when it is decided. Absent for a fixed number of repeats.
    pub looks: Option<Looks>,
    /// What runs, or was running.
    pub current: Option<Current>,
    /// First run that is to come.
    pub next: Option<String>,
    /// When the campaign was begun.
    pub begun_utc: Option<Instant>,
    /// From there to now, or to its last line where no collector is at work, seconds.
    pub elapsed_s: Option<f64>,
    /// Time left, where runs are.
    pub left: Option<Left>,
    /// Of the runs that ended last, the latest first.
    pub last_runs: Vec<Warmth>,
    /// Every run that failed, with its reason.
    pub failures: Vec<Reason>,
    /// Every run that was left out, with its reason.
    pub skipped: Vec<Reason>,
    /// Everything that was given up as lost, runs by their id and the rest by its path.
    pub lost: Vec<Reason>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl View {
    /// Works it out.
    pub(super) fn of(parts: &Parts, now: Instant) -> Self {
        let entries = parts.journal.as_ref().map_or(&[][..], |(entries, _)| entries);
        let plan = &parts.campaign.plan;
        let progress = match &parts.journal {
            Some(_) => Progress::of(entries),
            None => by_runs(&parts.runs),
        };
        let running = progress.in_flight.as_deref();
        let to_come: Vec<&PlannedRun> = progress.left(plan);
        // With every run accounted for, a collector that is still at work writes the seal.
        let complete = progress.closed || to_come.is_empty() && running.is_none() && parts.held != Some(true);
        let state = match (complete, parts.held, running) {
            (true, ..) => State::Complete,
            (_, Some(true), Some(_)) => State::Running,
            (_, Some(true), None) => State::BetweenRuns,
            (_, Some(false), Some(_)) => State::BrokenOff,
            (_, Some(false), None) => State::Stopped,
            (_, None, _) => State::Unknown,
        };
        let metrics = metrics(parts);
        let began = running.and_then(|run| {
            entries.iter().rev().find(|entry| matches!(&entry.event, Some(Event::Started { run: own }) if own == run))
        });
        let since_utc = began.and_then(|entry| entry.utc);
        let for_s = since_utc.map(|since| now.seconds_since(since)).filter(|seconds| *seconds >= 0.0);
        let current = running.map(|run| Current {
            run: run.to_owned(),
            planned: plan.iter().find(|planned| planned.id == run).cloned(),
            since_utc,
            for_s,
            telemetry: parts.telemetry.iter().cloned().collect(),
        });
        let begun_utc = parts.campaign.created_utc.as_deref().and_then(Instant::parse);
        let begun_utc = begun_utc.or_else(|| entries.first().and_then(|entry| entry.utc));
        // Where nobody is at work, time stands still at the last line.
        let until = match state {
            State::Running | State::BetweenRuns | State::Unknown => Some(now),
            _ => {
                entries.iter().rev().find_map(|entry| entry.utc).or(parts.runs.iter().filter_map(|run| run.ended).max())
            }
        };
        let elapsed_s = begun_utc.zip(until).map(|(begun, until)| until.seconds_since(begun)).filter(|s| *s >= 0.0);
        let pause_s = parts.campaign.cooldown_s.unwrap_or(0.0);
        let left = (!complete).then(|| left(&to_come, running, for_s, plan, entries, pause_s));
        Self {
            schema: SCHEMA,
            campaign: parts.campaign.name.clone(),
            at_utc: now,
            state,
            sealed: parts.sealed,
            journal: parts.journal.is_some(),
            runs: counts(plan.iter(), &progress),
            cells: cells(plan, &progress, &parts.runs, &metrics),
            metrics,
            preliminary: !complete,
            looks: parts.campaign.design.as_ref().map(|design| Looks {
                at_blocks: design.looks.clone(),
                taken: progress.looks,
                ended: progress.ended.clone(),
            }),
            current,
            next: to_come.iter().find(|run| Some(run.id.as_str()) != running).map(|run| run.id.clone()),
            begun_utc,
            elapsed_s,
            left,
            last_runs: last_runs(&parts.runs),
            failures: reasons(&progress.failed, |failure: &Failure| failure.why.clone()),
            // One that is lost stands among the losses, with what became of its result.
            skipped: reasons(&progress.skipped, String::clone)
                .into_iter()
                .filter(|reason| !progress.lost.contains_key(&reason.run))
                .collect(),
            lost: progress.losses.iter().map(lost).collect(),
            notes: notes(parts, entries, state),
        }
    }

    /// Nothing is left to do.
    pub(super) fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// As a value.
    pub(super) fn json(&self) -> serde_json::Value {
        // Plain structs without maps of other keys than text always become a value.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Name of the folder that a run lies in: several tests of one launch share it.
fn folder(run: &Run) -> &str {
    let mut path = run.source.path.split('/');
    match (path.next(), path.next(), path.next()) {
        (Some(RUNS_FOLDER), Some(name), Some(_)) => name,
        _ => &run.id,
    }
}

/// Without a journal the runs themselves say how they ended.
fn by_runs(runs: &[Run]) -> Progress {
    let mut progress = Progress::default();
    for run in runs {
        let id = folder(run).to_owned();
        match &run.status {
            Status::Failed(why) => {
                progress.finished.remove(&id);
                progress.failed.insert(id, Failure { run_sha256: run.source.sha256.clone(), why: why.clone() });
            }
            Status::Done | Status::Unrecorded if !progress.failed.contains_key(&id) => {
                progress.finished.insert(id, run.source.sha256.clone());
            }
            Status::Done | Status::Unrecorded => {}
        }
    }
    progress
}

fn counts<'a>(plan: impl Iterator<Item = &'a PlannedRun>, progress: &Progress) -> Counts {
    let mut counts = Counts::default();
    for run in plan {
        let id = run.id.as_str();
        counts.planned += 1;
        counts.interrupted += progress.interrupted.get(id).copied().unwrap_or(0) as usize;
        let place = if progress.finished.contains_key(id) {
            &mut counts.done
        } else if progress.failed.contains_key(id) {
            &mut counts.failed
        } else if progress.in_flight.as_deref() == Some(id) {
            &mut counts.running
        } else if progress.skipped.contains_key(id) && progress.lost.contains_key(id) {
            &mut counts.lost
        } else if progress.skipped.contains_key(id) {
            &mut counts.skipped
        } else {
            &mut counts.left
        };
        *place += 1;
    }
    counts
}

/// The primary metrics of the campaign. Else those that it planned. Else what the runs report, in the order of the catalogue.
fn metrics(parts: &Parts) -> Vec<String> {
    let reported: BTreeSet<&str> =
        parts.runs.iter().flat_map(|run| &run.readings).map(|reading| reading.metric.as_str()).collect();
    let named = [&parts.campaign.primary, &parts.campaign.planned_metrics];
    for names in named {
        let there: Vec<String> = names.iter().filter(|name| reported.contains(name.as_str())).cloned().collect();
        if !there.is_empty() {
            return there;
        }
    }
    // Temperatures stand in a place of their own.
    let mut others: Vec<Metric> =
        reported.iter().filter(|name| !name.starts_with("gpu_temp_")).filter_map(|name| Metric::find(name)).collect();
    others.sort_by_key(Metric::rank);
    others.into_iter().take(MOST_METRICS).map(|metric| metric.name).collect()
}

fn cells(plan: &[PlannedRun], progress: &Progress, runs: &[Run], metrics: &[String]) -> Vec<Row> {
    let mut names: Vec<[&str; 3]> = Vec::new();
    let planned = plan.iter().map(|run| [run.environment.as_str(), &run.model, &run.workload]);
    // Tests of one launch are workloads that no plan has. So is every run of an archive without a plan.
    let measured = runs.iter().map(|run| [run.environment.as_str(), &run.model, &run.workload]);
    let mut seen = BTreeSet::new();
    let mut sorted: Vec<[&str; 3]> = planned.clone().collect();
    let plan_cells: BTreeSet<[&str; 3]> = planned.collect();
    sorted.extend(measured.filter(|cell| !plan_cells.contains(cell)));
    // Environments stay together, in the order in which they come first.
    for part in 0..3 {
        let mut order: Vec<&str> = Vec::new();
        for cell in &sorted {
            if !order.contains(&cell[2 - part]) {
                order.push(cell[2 - part]);
            }
        }
        sorted.sort_by_key(|cell| order.iter().position(|name| *name == cell[2 - part]));
    }
    names.extend(sorted.into_iter().filter(|cell| seen.insert(*cell)));
    let of = |cell: [&str; 3]| {
        let own: Vec<&Run> = runs
            .iter()
            .filter(|run| [run.environment.as_str(), &run.model, &run.workload] == cell && good(run))
            .collect();
        let figures = metrics.iter().map(|metric| figure(metric, &own)).collect();
        let inside = |run: &&PlannedRun| [run.environment.as_str(), &run.model, &run.workload] == cell;
        let runs = plan_cells.contains(&cell).then(|| counts(plan.iter().filter(inside), progress));
        let [environment, model, workload] = cell.map(str::to_owned);
        Row { environment, model, workload, runs, figures }
    };
    names.into_iter().map(of).collect()
}

fn good(run: &Run) -> bool {
    !run.has_failed()
}

fn figure(metric: &str, runs: &[&Run]) -> Figure {
    let values: Vec<f64> = runs.iter().filter_map(|run| run.value(metric)).collect();
    Figure {
        metric: metric.to_owned(),
        unit: Metric::find(metric).map_or("", |metric| metric.unit),
        n: values.len(),
        mean: (!values.is_empty()).then(|| stats::mean(&values)),
    }
}

/// Durations as the journal has them: from the line that begins a run to the line that ends it, on the monotonic clock, which holds
/// within one collector's work.
fn observed<'a>(plan: &'a [PlannedRun], entries: &[Entry]) -> Vec<Observed<'a>> {
    let by_id: BTreeMap<&str, &PlannedRun> = plan.iter().map(|run| (run.id.as_str(), run)).collect();
    let mut all = Vec::new();
    let (mut began, mut ended_s): (Option<(&str, f64)>, Option<f64>) = (None, None);
    for entry in entries {
        match (&entry.event, entry.monotonic_s) {
            (Some(Event::Opened { .. }), _) => (began, ended_s) = (None, None),
            (Some(Event::Started { run }), Some(at)) => began = Some((run, at)),
            (Some(Event::Finished { run, .. }), Some(at)) => {
                if let (Some((own, from)), Some(planned)) = (began, by_id.get(run.as_str()))
                    && own == run
                {
                    all.push(Observed { run: planned, took_s: at - from, pause_s: ended_s.map(|ended| from - ended) });
                }
                (began, ended_s) = (None, Some(at));
            }
            (Some(Event::Failed { .. } | Event::Interrupted { .. }), Some(at)) => (began, ended_s) = (None, Some(at)),
            _ => {}
        }
    }
    all
}

fn left(
    to_come: &[&PlannedRun],
    running: Option<&str>,
    for_s: Option<f64>,
    plan: &[PlannedRun],
    entries: &[Entry],
    pause_s: f64,
) -> Left {
    let ended = observed(plan, entries);
    let (own, others): (Vec<&PlannedRun>, Vec<&PlannedRun>) =
        to_come.iter().partition(|run| Some(run.id.as_str()) == running);
    let rest = remaining(&others, &ended, pause_s, &|_| None);
    // The pause before the run in flight has passed.
    let at_work: Vec<Observed<'_>> = ended.iter().map(|run| Observed { pause_s: Some(0.0), ..*run }).collect();
    let now = remaining(&own, &at_work, 0.0, &|_| None);
    Left {
        seconds: rest.total_s + (now.total_s - for_s.unwrap_or(0.0)).max(0.0),
        measured: rest.measured + now.measured,
        guessed: rest.guessed + now.guessed,
    }
}

fn last_runs(runs: &[Run]) -> Vec<Warmth> {
    let mut ended: Vec<&Run> = runs
        .iter()
        .filter(|run| run.value("gpu_temp_start_c").is_some() || run.value("gpu_temp_end_c").is_some())
        .collect();
    ended.sort_by_key(|run| std::cmp::Reverse((run.ended, run.position)));
    let mut seen = BTreeSet::new();
    ended.retain(|run| seen.insert(folder(run)));
    ended
        .into_iter()
        .take(LAST_RUNS)
        .map(|run| Warmth {
            run: folder(run).to_owned(),
            ended_utc: run.ended,
            start_c: run.value("gpu_temp_start_c"),
            end_c: run.value("gpu_temp_end_c"),
        })
        .collect()
}

fn reasons<T>(by_run: &BTreeMap<String, T>, why: impl Fn(&T) -> String) -> Vec<Reason> {
    by_run.iter().map(|(run, reason)| Reason { run: run.clone(), why: why(reason) }).collect()
}

fn lost(loss: &LossWire) -> Reason {
    Reason { run: loss.run.as_ref().unwrap_or(&loss.path).clone(), why: loss.why.clone() }
}

fn notes(parts: &Parts, entries: &[Entry], state: State) -> Vec<String> {
    let mut notes = parts.unread.clone();
    let odd = |name: &str| parts.odd.iter().any(|(path, _)| path == name);
    let told = parts.odd.iter().map(|(path, what)| {
        format!("'{path}' is {what}, not the file that was written. `sparkbench verify` says what to do")
    });
    notes.extend(told);
    let resume = "continue with `sparkbench collect SUITE --archive ARCHIVE --resume`";
    match state {
        // What is no archive of a collector cannot be gone on with.
        State::BrokenOff | State::Stopped if parts.journal.is_none() => {}
        State::BrokenOff => notes.push(format!("no collector is running, and a run was interrupted: {resume}")),
        State::Stopped => {
            // Why, where the last collector stopped in order and said so.
            let why = entries.iter().rev().find_map(|entry| match &entry.event {
                Some(Event::Stopped { why }) => Some(Some(why)),
                Some(Event::Opened { .. }) => Some(None),
                _ => None,
            });
            let why = why.flatten().map_or_else(String::new, |why| format!(" ({why})"));
            notes.push(format!("no collector is running{why}: {resume}"));
        }
        State::Unknown => notes.push("this file system does not show whether a collector is running".to_owned()),
        State::Complete if parts.journal.is_some() && !parts.sealed && !odd(SEAL_FILE) && parts.held != Some(true) => {
            notes.push(format!("every run has its outcome, but the seal is missing: {resume}"));
        }
        _ => {}
    }
    match &parts.journal {
        None if odd(JOURNAL_FILE) => notes.push("outcomes come from the runs themselves".to_owned()),
        None => notes.push("the archive has no journal: outcomes come from the runs themselves".to_owned()),
        // A collector at work may be in the middle of a line.
        Some((_, Tail::Torn { .. })) if !matches!(state, State::Running | State::BetweenRuns) => {
            notes.push("the last line of the journal is incomplete after a crash, --resume repairs it".to_owned());
        }
        Some((_, Tail::Damaged { line, why })) => {
            notes.push(format!(
                "the journal was changed after it was written, line {line}: {why}. Lines after it are ignored"
            ));
        }
        Some(_) => {}
    }
    let jumps = entries.iter().filter(|entry| matches!(entry.event, Some(Event::Clock { .. }))).count();
    if jumps > 0 {
        notes.push(format!("the wall clock jumped {jumps} times: times before and after a jump cannot be compared"));
    }
    let unknown = entries.iter().filter(|entry| entry.event.is_none()).count();
    if unknown > 0 {
        notes.push(format!("{unknown} lines of the journal come from a newer version and were skipped"));
    }
    notes
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
