//! One run, from its gates to its folder under the final name.
//!
//! In:  a planned run, an experiment, a host.  Out: [`Ran`]: a folder in the archive, finished or failed, or moved aside.
//! Not here: the order of runs (see `campaign`), probes and preparations for all runs (see `once`).
//!
//! The order matters. Readings come before anything of the run exists, and the journal's `started` comes before the folder. The sampler
//! surrounds the program. The environment is asked while its container still exists. The tree is closed before anything is hashed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::after::{self, Evidence};
use super::collector::Collector;
use super::company::{Attached, Company, STOP_LIMIT};
use super::folder::{own_program, remove_own_program, write_asset};
use super::mounts::{self, Before, Undone};
use super::observed::{LOOK, Observer, process};
use super::once::Once;
use super::{commands, gates, state};
use crate::env::{Environment, Examined, Invocation, NATIVE, Place};
use crate::workload::beside::{Beside, Done, log_tail};
use crate::workload::{self, Common, Placement, Workload};
use sparkbench_archive::Appender;
use sparkbench_archive::manifest::{NodeWire, PlannedRun, RUN_SCHEMA, RunWire, SamplerWire, StateWire};
use sparkbench_host::{Closed, Ended, Job, Launched};
use sparkbench_model::{Finding, Instant, Level};
use sparkbench_plan::Model;
use sparkbench_text::error::{Error, Kind};

/// Why a program is ended that does not end by itself.
const DISMISSED: &str = "the load against it is done";

/// Gates that took longer than this on one machine have grown old on another.
const FRESH: Duration = Duration::from_secs(10);

/// A program that fails with less room than this on the disk, bytes, has most likely failed for lack of it.
const NO_ROOM: u64 = 64 << 10;

/// Outcome of a planned run.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ran {
    /// In the archive, complete.
    Finished {
        /// Of the measured program, seconds.
        duration_s: f64,
        /// When it started, on the monotonic clock.
        started: Duration,
    },
    /// In the archive, complete, and counted as failed.
    Failed(String),
    /// Someone asked us to stop. What there was is kept aside.
    Interrupted,
}

/// A run that is being done.
struct Setting<'a> {
    planned: &'a PlannedRun,
    environment: &'a dyn Environment,
    workload: &'a dyn Workload,
    common: &'a Common,
    model: &'a Model,
    place: Place,
    once: Once,
}

/// Outcome of starting it.
#[derive(Default)]
struct Course {
    invocation: Invocation,
    variables: BTreeMap<String, String>,
    ended: Option<Ended>,
    closed: Option<Closed>,
    examined: Option<Examined>,
    sampler: Option<SamplerWire>,
    absent: BTreeMap<String, String>,
    watched: Vec<Finding>,
    interrupted: bool,
    /// Outcome of the work beside it.
    done: Option<Done>,
    /// We ended it because the work beside it was done.
    dismissed: bool,
    /// Why it could not be started, or not be followed to its end.
    trouble: Vec<String>,
    /// The other machines, by name.
    nodes: BTreeMap<String, NodeWire>,
    /// Mounts that were taken away before the environment copied the results out.
    undone: Undone,
    /// What it had mounted and left.
    mounts: Vec<Finding>,
}

/// The job to start.
struct Ready {
    invocation: Invocation,
    /// Absent when the measured server is up already.
    job: Option<Job>,
    beside: Option<Box<dyn Beside>>,
}

impl Collector<'_> {
    /// Does one run.
    ///
    /// # Errors
    /// Only when the archive cannot be written, or something that was started cannot be ended. A workload that fails is a failed run.
    pub(super) fn one(&mut self, planned: &PlannedRun) -> Result<Ran, Error> {
        let experiment = self.experiment;
        let missing =
            || Error::archive(format!("the plan names a cell that the suite does not have: '{}'", planned.id));
        let (common, workload) = experiment.workload(&planned.workload).ok_or_else(missing)?;
        let environment = experiment.environment(&planned.environment).ok_or_else(missing)?;
        let model = experiment.model(&planned.model).ok_or_else(missing)?;
        let (findings, refused_there) = self.gates_everywhere(&planned.environment, workload.needs_gpu());
        if self.host.interrupted() {
            return Ok(Ran::Interrupted);
        }
        let folder = self.writer.begin(&planned.id)?;
        let work = folder.join(workload::WORK_FOLDER);
        let place = Place {
            archive_id: self.archive_id.clone(),
            run_id: planned.id.clone(),
            folder,
            work,
            grace_s: experiment.suite.watchdogs.grace_s,
        };
        let once = self.once_of(planned)?;
        let setting = Setting { planned, environment, workload, common, model, place, once };
        let before = state::take(self.host.as_ref(), self.gpu.as_deref());
        state::snapshot(self.host.as_ref(), &setting.place.folder, "before")?;
        let refused = findings.iter().any(|finding| finding.level == Level::Refused) || !refused_there.is_empty();
        let course = if refused {
            Course { trouble: refused_there, nodes: self.never_started(), ..Course::default() }
        } else {
            self.course(&setting)?
        };
        self.last_ended = Some(self.host.monotonic());
        self.writer.expect_there()?;
        if course.interrupted {
            let left = course.mounts.iter().map(|finding| finding.reading.as_str());
            let why: Vec<&str> = std::iter::once("a signal asked to stop").chain(left).collect();
            self.writer.interrupt(&planned.id, &why.join(". "))?;
            return Ok(Ran::Interrupted);
        }
        let after = state::take(self.host.as_ref(), self.gpu.as_deref());
        state::snapshot(self.host.as_ref(), &setting.place.folder, "after")?;
        self.keep(&setting, course, findings, (before, after))
    }

    /// Every gate before a run, waiting where waiting helps.
    fn gates(&self, environment: &str, needs_gpu: bool) -> Vec<Finding> {
        let mut settings = self.experiment.suite.gates.clone();
        settings.page_cache = self.experiment.suite.page_cache(environment);
        let context = gates::Context {
            host: self.host.as_ref(),
            gpu: self.gpu.as_deref(),
            no_gpu: &self.no_gpu,
            gates: &settings,
            archive: self.writer.folder(),
            needs_gpu,
            last_ended: self.last_ended,
            began: Some(self.began),
            ours: &[],
        };
        gates::before(&context, self.watcher)
    }

    /// Every gate on every machine, at the same time. The readings here, and each refusal elsewhere with its machine. Machines that wait
    /// for different times are examined again until all hold at once.
    fn gates_everywhere(&self, environment: &str, needs_gpu: bool) -> (Vec<Finding>, Vec<String>) {
        let Some(cluster) = &self.cluster else { return (self.gates(environment, needs_gpu), Vec::new()) };
        let limit = Duration::from_secs_f64(self.experiment.suite.gates.wait_max_s);
        let mut began = self.host.monotonic();
        let first = began;
        loop {
            cluster.begin_gates(environment, needs_gpu);
            let here = self.gates(environment, needs_gpu);
            let refused = cluster.end_gates(self.watcher, self.host.as_ref());
            let now = self.host.monotonic();
            let holds = refused.is_empty() && here.iter().all(|finding| finding.level != Level::Refused);
            let fresh = now.saturating_sub(began) < FRESH;
            if !holds || fresh || now.saturating_sub(first) > limit || self.host.interrupted() {
                return (here, refused);
            }
            began = now;
        }
    }

    /// Readings of the other machines before a run that was not started.
    fn never_started(&self) -> BTreeMap<String, NodeWire> {
        self.cluster.as_ref().map(|cluster| cluster.readings()).unwrap_or_default()
    }

    /// Starts it, follows it, takes it down. Whatever goes wrong with it is in the course. Errors are ours.
    fn course(&mut self, setting: &Setting<'_>) -> Result<Course, Error> {
        let mut course = Course::default();
        let folder = &setting.place.folder;
        let before = Before::look(self.host.as_ref(), folder, self.writer.folder());
        if let Some(cluster) = &self.cluster {
            course.trouble = cluster.start_run(setting.planned, self.host.as_ref());
        }
        let started = if course.trouble.is_empty() { self.start(setting, &before, &mut course) } else { Ok(()) };
        // Before anything more is written in the archive, and before anybody walks through it. Also where the run went wrong: a mount may
        // be the cause.
        let in_the_machine = setting.environment.kind() == NATIVE && !setting.workload.attached();
        let undone = std::mem::take(&mut course.undone);
        course.mounts = self.undo(&before, undone, setting.planned, in_the_machine)?;
        started?;
        if let Some(cluster) = &self.cluster {
            let why = course.ended.as_ref().and_then(|ended| ended.why.as_deref());
            let ended = cluster.end_run(why.unwrap_or("the run is over"), folder, self.host.as_ref());
            course.nodes = ended.nodes;
            course.trouble.extend(ended.trouble);
        }
        Ok(course)
    }

    /// Takes away what was mounted in the archive since then and is still, and says so. The findings. `earlier`: what was taken away by now.
    /// `in_the_machine`: whether what ran could mount anything elsewhere.
    fn undo(
        &self,
        before: &Before,
        earlier: Undone,
        planned: &PlannedRun,
        in_the_machine: bool,
    ) -> Result<Vec<Finding>, Error> {
        let mut undone = earlier.and(mounts::undo(self.host.as_ref(), before));
        if undone.may_hide() {
            self.writer.expect_there().map_err(|error| undone.explain(error))?;
        }
        if !in_the_machine {
            undone = undone.here_alone();
        }
        undone.tell(&planned.id, self.watcher);
        Ok(undone.findings())
    }

    /// The part of it that runs on this machine.
    fn start(&mut self, setting: &Setting<'_>, before: &Before, course: &mut Course) -> Result<(), Error> {
        match self.ready(setting) {
            Ok(Ready { invocation, job, beside }) => {
                course.invocation = invocation;
                let samples = Observer::samples(&setting.place.folder)?;
                let launched = match &job {
                    Some(job) => {
                        course.variables.clone_from(&job.env);
                        self.host.launch(job)
                    }
                    None => Ok(Box::new(Attached::begin(&self.host)) as Box<dyn Launched>),
                };
                match launched {
                    Ok(launched) => self.follow(setting, before, (launched, samples), beside, course)?,
                    Err(error) => {
                        course.trouble.push(error.in_a_line());
                        Observer::remove_samples(&setting.place.folder)?;
                        course.interrupted = self.host.interrupted();
                        // What the environment made ready has no guard that would take it down.
                        setting.environment.sweep(self.host.as_ref(), &self.archive_id)?;
                    }
                }
            }
            Err(error) if error.kind == Kind::Archive => return Err(error),
            Err(error) => course.trouble.push(error.in_a_line()),
        }
        Ok(())
    }

    /// The run's own folder with everything the workload needs in it, and the command line wrapped.
    fn ready(&self, setting: &Setting<'_>) -> Result<Ready, Error> {
        let place = &setting.place;
        self.once_into(&setting.once, &place.work)?;
        let inside = setting.environment.work(place);
        let program = own_program(self.host.as_ref(), setting.workload, &place.work, &inside)?;
        let cell = setting.cell(self.experiment.suite.seed, program.as_deref(), self.placement());
        for (name, bytes) in setting.workload.assets(&cell)? {
            write_asset(&place.work, &name, &bytes)?;
        }
        if setting.workload.attached() {
            let beside = setting.workload.beside(&cell, self.host.as_ref())?;
            return Ok(Ready { invocation: Invocation::default(), job: None, beside });
        }
        let invocation =
            Invocation { model_path: cell.model.path.clone(), ..setting.workload.measure(&cell, &inside)? };
        let beside = setting.workload.beside(&cell, self.host.as_ref())?;
        let job = Some(setting.environment.wrap(self.host.as_ref(), &invocation, place)?);
        Ok(Ready { invocation, job, beside })
    }

    fn follow(
        &mut self,
        setting: &Setting<'_>,
        before: &Before,
        (mut launched, samples): (Box<dyn Launched>, Appender),
        beside: Option<Box<dyn Beside>>,
        course: &mut Course,
    ) -> Result<(), Error> {
        let attached = setting.workload.attached();
        let (host, place) = (Arc::clone(&self.host), &setting.place);
        let measured = (setting.common, setting.workload);
        let (suite, gpu) = (&self.experiment.suite, self.gpu.as_ref());
        let mut observer = Observer::begin(&host, gpu, suite, measured, samples, launched.as_ref())?;
        let company = beside.map(|beside| Company::start(beside, &host, &place.folder)).transpose()?;
        let mut main = None;
        let ended = loop {
            match launched.wait(LOOK) {
                Ok(Some(ended)) => break Some(ended),
                Ok(None) => {}
                Err(error) => {
                    course.trouble.push(error.in_a_line());
                    break None;
                }
            }
            if !attached {
                main = main.or_else(|| setting.environment.main_pid(host.as_ref(), place, launched.as_ref()));
                setting.environment.while_running(host.as_ref(), place, launched.as_ref());
            }
            let stop =
                observer.look(launched.as_ref(), main).map(|finding| format!("{}: {}", finding.gate, finding.reading));
            let elsewhere = || self.cluster.as_ref().and_then(|cluster| cluster.trouble());
            let why = if host.interrupted() {
                course.interrupted = true;
                Some("a signal asked to stop".to_owned())
            } else {
                stop.or_else(elsewhere).inspect(|why| {
                    self.watcher.warn(&format!("{}: ending the run: {why}", setting.planned.id));
                })
            };
            if let Some(why) = why {
                if let Some(company) = &company {
                    company.stop(self.watcher, STOP_LIMIT);
                }
                break Some(launched.end(&why)?);
            }
            if let Some(company) = &company {
                company.tell(self.watcher);
                if company.over() {
                    course.dismissed = true;
                    break Some(launched.end(DISMISSED)?);
                }
            }
        };
        if let Some(company) = company {
            let mut done = company.end(self.watcher);
            if ended.as_ref().is_some_and(|ended| ended.why.is_none()) {
                let tail = log_tail(&place.folder);
                done.outcome.faults.insert(0, format!("the server ended by itself before the load was done{tail}"));
            }
            course.done = Some(done);
        }
        let seen = observer.end();
        course.watched = seen.watched;
        (course.sampler, course.absent) = (Some(seen.sampler), seen.absent);
        if let Some(ended) = &ended
            && !(course.interrupted || attached)
        {
            // What is copied out of an environment goes into the archive, not into what the run has mounted over it.
            course.undone = mounts::undo(host.as_ref(), before);
            match setting.environment.examine(host.as_ref(), &course.invocation, place, ended) {
                Ok(examined) => course.examined = Some(examined),
                Err(error) => course.trouble.push(error.in_a_line()),
            }
        }
        course.ended = ended;
        let closed = launched.close()?;
        if closed.lost.is_some() {
            // Of what the lost guard was at just then, nobody knows. Everything of the run is known by its name.
            match setting.environment.sweep(host.as_ref(), &self.archive_id) {
                Ok(what) if what.is_empty() => {}
                Ok(what) => self.watcher.say(&format!("removed what the guard had left: {}", what.join(", "))),
                Err(error) => course.trouble.push(error.in_a_line()),
            }
        }
        course.closed = Some(closed);
        // A full disk: everything of the run has been ended before it is reported.
        seen.failure.map_or(Ok(()), Err)
    }

    /// Start of the engine that a run is measured on: each run starts what it measures. A server that is up already is the same for all runs of
    /// its workload, as far as the collector sees.
    fn launch(&self, planned: &PlannedRun, attached: bool) -> Option<u32> {
        let first = || self.experiment.plan.runs.iter().find(|run| run.workload == planned.workload);
        if attached { first().and_then(|run| run.position) } else { planned.position }
    }

    /// Puts everything that is known of the run into its folder, masked, hashed, under its final name.
    fn keep(
        &mut self,
        setting: &Setting<'_>,
        mut course: Course,
        gates: Vec<Finding>,
        (before, after): (StateWire, StateWire),
    ) -> Result<Ran, Error> {
        let (planned, place) = (setting.planned, &setting.place);
        let cell = setting.cell(self.experiment.suite.seed, None, self.placement());
        let examined = course.examined.take().unwrap_or_default();
        for (name, bytes) in &examined.files {
            write_asset(&place.folder, name, bytes)?;
        }
        remove_own_program(&place.work)?;
        let ran = course.ended.is_some();
        let commands = if ran {
            let before = Before::look(self.host.as_ref(), &place.folder, self.writer.folder());
            let metrics = &self.experiment.suite.metrics;
            let commands = commands::after(self.host.as_ref(), metrics, planned, &place.folder, self.watcher);
            // They may mount as the run may.
            course.mounts.extend(self.undo(&before, Undone::default(), planned, !metrics.is_empty())?);
            commands?
        } else {
            Vec::new()
        };
        let mut outcome =
            if ran { setting.workload.examine(&cell, &place.folder) } else { workload::Outcome::default() };
        let done = course.done.take().unwrap_or_default();
        outcome.join(done.outcome);
        let judged = after::judge(&Evidence {
            gates: &gates,
            trouble: &course.trouble,
            ended: course.ended.as_ref(),
            closed: course.closed.as_ref(),
            examined: &examined,
            outcome: &outcome,
            watched: &course.watched,
            dismissed: course.dismissed,
        });
        if let Some(why) = &judged.failure
            && self.host.disk_free(self.writer.folder()).is_ok_and(|free| free < NO_ROOM)
        {
            // It says nothing about what was measured: the run is done anew once there is room.
            return Err(self.writer.full(&format!("run '{}' failed because the disk is full: {why}", planned.id)));
        }
        let ended = course.ended.unwrap_or_default();
        let closed = course.closed.unwrap_or_default();
        let moment = |ms: i64| ran.then(|| Instant(ms).iso());
        let wire = RunWire {
            schema: RUN_SCHEMA.to_owned(),
            id: Some(planned.id.clone()),
            environment: planned.environment.clone(),
            model: planned.model.clone(),
            workload: planned.workload.clone(),
            repeat: planned.repeat,
            block: planned.block,
            position: planned.position,
            launch: self.launch(planned, setting.workload.attached()).filter(|_| ran),
            started_utc: moment(ended.started_utc_ms),
            ended_utc: moment(ended.ended_utc_ms),
            started_monotonic_s: ran.then_some(ended.started_monotonic_s),
            ended_monotonic_s: ran.then_some(ended.ended_monotonic_s),
            window: done.window,
            command: course.invocation.argv.clone(),
            exit_code: examined.code.or(ended.code).map(i64::from),
            failure: judged.failure.clone(),
            before: Some(before),
            after: Some(after),
            asked: setting.workload.asked(&cell),
            seen: outcome.seen,
            absent: course.absent,
            gates,
            watched: judged.findings.into_iter().chain(commands).chain(course.mounts).collect(),
            checks: examined.checks.into_iter().chain(outcome.checks).collect(),
            environment_state: (!examined.state.is_null()).then_some(examined.state),
            process: ran.then(|| process(&ended, &closed)),
            sampler: course.sampler,
            variables: examined.variables.unwrap_or(course.variables),
            reports: outcome.reports,
            nodes: course.nodes,
            // The writer knows these.
            ..RunWire::default()
        };
        let packed = self.writer.finish(&planned.id, wire)?.run.not_searched;
        if !packed.is_empty() {
            let files = match packed.len() {
                1 => "1 packed file was".to_owned(),
                several => format!("{several} packed files were"),
            };
            self.watcher
                .say(&format!("{}: {files} not searched for secrets, see 'not_searched' in run.json", planned.id));
        }
        Ok(match judged.failure {
            Some(why) => Ran::Failed(why),
            None => Ran::Finished {
                duration_s: ended.ended_monotonic_s - ended.started_monotonic_s,
                started: Duration::try_from_secs_f64(ended.started_monotonic_s).unwrap_or_default(),
            },
        })
    }
}

impl<'a> Setting<'a> {
    fn cell<'b>(&'b self, seed: u64, own_program: Option<&'b Path>, placement: &'b Placement) -> workload::Cell<'b>
    where
        'a: 'b,
    {
        workload::Cell {
            model: self.model,
            probed: self.once.probed.as_deref(),
            prepared: &self.once.prepared,
            repeat: self.planned.repeat.unwrap_or(1),
            seed,
            own_program,
            placement,
        }
    }
}
