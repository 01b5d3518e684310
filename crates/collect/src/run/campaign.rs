//! A campaign from its suite to its seal: started or resumed, killed at any moment, never half-written.
//!
//! In:  an [`Experiment`], a [`Host`], a folder, a [`Watcher`].  Out: an archive, and a [`Summary`] of its content.
//! Not here: one run (see `one`), the probes and files of a whole campaign (see `once`).
//!
//! A crash loses at most the run in flight. Everything before it has its final name. Everything that it left on the machine is found again
//! by the random name of the archive. Every process, container and control group of a campaign carries that name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cluster::Cluster;
use super::collector::Collector;
use super::experiment::Experiment;
use super::one::Ran;
use super::opening::{Opened, Trees, checking, paths};
use super::request::{Request, Sight, chosen};
use super::{Judge, Watcher, mounts, privacy, provenance, utf8};
use sparkbench_archive::journal::{Event, Moment};
use sparkbench_archive::manifest::{CampaignWire, PlannedRun};
use sparkbench_archive::mask::Veil;
use sparkbench_host::Host;
use sparkbench_model::Finding;
use sparkbench_plan::{Observed, remaining};
use sparkbench_text::error::{Error, Kind};

pub use super::opening::archive_id;
pub use super::request::Options;

/// Says everything to another one, without the secrets that the suite gives to servers.
struct Veiled<'a> {
    watcher: &'a dyn Watcher,
    veil: &'a Veil,
}

impl Watcher for Veiled<'_> {
    fn say(&self, line: &str) {
        self.watcher.say(&self.veil.said(line));
    }

    fn warn(&self, line: &str) {
        self.watcher.warn(&self.veil.said(line));
    }

    fn waiting(&self, gate: &Finding, waited_s: f64, limit_s: f64, done: bool) {
        self.watcher.waiting(gate, waited_s, limit_s, done);
    }

    fn progress(&self, done: usize, of: usize, running: &str, left_s: Option<f64>) {
        self.watcher.progress(done, of, running, left_s);
    }
}

/// How it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Runs complete in the archive.
    pub finished: usize,
    /// Runs complete and counted as failed, with their reasons.
    pub failed: Vec<(String, String)>,
    /// Planned runs without an outcome.
    pub left: usize,
    /// Someone asked us to stop.
    pub interrupted: bool,
    /// Every planned run is accounted for.
    pub sealed: bool,
    /// Parts of the archive that were given up as lost, now or before.
    pub lost: usize,
    /// Replacements before writing, for people.
    pub replaced: Vec<String>,
    /// Planned runs that were not needed, where the campaign ended at a look.
    pub saved: usize,
    /// Runs that were lost after that look and will not be measured again.
    pub lost_for_good: usize,
    /// Why it ended at a look, where it did.
    pub ended: Option<String>,
}

/// Runs a campaign, or continues it.
///
/// # Errors
/// A pre-flight error when a gate refuses before the first run. An archive error when it cannot be written or is not the archive of this suite.
/// A usage error when it exists and no resume was requested. Failed workloads are in the summary.
pub fn collect(
    experiment: &Experiment,
    host: &Arc<dyn Host>,
    watcher: &dyn Watcher,
    options: &Options,
) -> Result<Summary, Error> {
    collect_judged(experiment, host, watcher, None, options)
}

/// Like [`collect`], with a judge of the figures at each look of a campaign that stops when it is decided.
///
/// # Errors
/// Like [`collect`]. A usage error when the campaign has looks and no judge.
pub fn collect_judged(
    experiment: &Experiment,
    host: &Arc<dyn Host>,
    watcher: &dyn Watcher,
    judge: Option<&dyn Judge>,
    options: &Options,
) -> Result<Summary, Error> {
    let veil = privacy::secrets(&experiment.suite, host.as_ref()).veil();
    collect_unveiled(experiment, host, &Veiled { watcher, veil: &veil }, judge, options)
        .map_err(|error| veil.error(error))
}

/// Like [`collect_judged`], but what it says may repeat a secret of the suite.
fn collect_unveiled(
    experiment: &Experiment,
    host: &Arc<dyn Host>,
    watcher: &dyn Watcher,
    judge: Option<&dyn Judge>,
    options: &Options,
) -> Result<Summary, Error> {
    if experiment.suite.sequential.is_some() && judge.is_none() {
        return Err(Error::usage("this suite stops when it is decided, but this build cannot judge its figures")
            .hint("give a fixed number, e.g. repeats = 10, or use a build of sparkbench with the analysis"));
    }
    let chosen = chosen(experiment, &options.only)?;
    let remedy = "choose a folder whose path is UTF-8 with --archive DIR";
    utf8::expect(experiment, &chosen, &options.archive, host.as_ref(), remedy)?;
    let sight = Sight::open(experiment, host);
    let clock = || moment(host.as_ref());
    let request = Request { experiment, host, watcher, options, chosen: &chosen, sight: &sight };
    let Opened { writer, wire, cluster, there_now, resumed } = request.open(&clock)?;
    for (label, environment) in &experiment.environments {
        if let Some(described) = wire.environments.get(label) {
            environment.hold_to(described);
        }
    }
    let mut collector = Collector {
        experiment,
        host: Arc::clone(host),
        watcher,
        gpu: sight.gpu.clone(),
        no_gpu: sight.no_gpu.clone(),
        cluster,
        writer,
        archive_id: wire.archive_id.clone().unwrap_or_default(),
        // What ran last, and how warm it left the machine, is not known after a crash: the whole pause is kept once more.
        last_ended: resumed.then(|| host.monotonic()),
        began: (host.utc(), host.monotonic()),
        judge,
        archive: options.archive.clone(),
    };
    if resumed {
        collector.take_up(&wire)?;
        if !collector.left(&chosen).is_empty() {
            request.preflight(collector.cluster.as_ref())?;
            collector.still_the_same_machines(&wire, &there_now)?;
        }
    }
    let ran = collector.run(&chosen);
    ran.map_err(|error| collector.writer.explained(error))
}

impl Collector<'_> {
    /// Everything that is left, in its order.
    fn run(&mut self, chosen: &[PlannedRun]) -> Result<Summary, Error> {
        // A look that a crash left to be taken may end the campaign before anything more is prepared for it.
        self.looks()?;
        self.once(&self.left(chosen))?;
        let total = self.experiment.plan.runs.len();
        let mut interrupted = self.host.interrupted();
        let left = self.left(chosen);
        let mut observed: Vec<Observed<'_>> = Vec::new();
        for (at, planned) in left.iter().enumerate() {
            if interrupted || self.looks()? {
                break;
            }
            let open = left.get(at..).unwrap_or_default();
            self.watcher.progress(self.done(), total, &planned.id, self.seconds_left(open, &observed));
            let before = self.last_ended;
            match self.one(planned).map_err(|error| self.stopped_by(error))? {
                Ran::Finished { duration_s, started } => {
                    self.watcher.say(&format!("{} done in {duration_s:.1} s", planned.id));
                    let pause_s = before.map(|before| started.saturating_sub(before).as_secs_f64());
                    observed.push(Observed { run: planned, took_s: duration_s, pause_s });
                }
                Ran::Failed(why) => self.watcher.warn(&format!("{} failed: {why}", planned.id)),
                Ran::Interrupted => interrupted = true,
            }
            interrupted |= self.host.interrupted();
            self.expect_every_machine(total)?;
        }
        if interrupted {
            self.writer.log(Event::Stopped { why: "a signal asked for it".to_owned() })?;
        } else {
            // The last round of the plan is followed by no run that would ask.
            self.looks()?;
        }
        self.watcher.progress(self.done(), total, "", None);
        self.summary(interrupted)
    }

    /// Something of a run is still there and disturbs every other one. The journal says why no other one follows.
    fn stopped_by(&mut self, error: Error) -> Error {
        if error.kind == Kind::Workload {
            // The error is what matters, also where the journal cannot be written.
            let _ = self.writer.log(Event::Stopped { why: error.in_a_line() });
        }
        error
    }

    /// Without one of the machines no run can follow.
    fn expect_every_machine(&self, total: usize) -> Result<(), Error> {
        let Some(gone) = self.cluster.as_ref().and_then(Cluster::gone) else { return Ok(()) };
        Err(Error::new(Kind::Workload, gone)
            .detail(format!("{} of {total} runs are in the archive", self.done()))
            .hint("repair that machine, then continue with --resume"))
    }

    fn seconds_left(&self, left: &[PlannedRun], observed: &[Observed<'_>]) -> Option<f64> {
        let left: Vec<&PlannedRun> = left.iter().collect();
        let pause_s = self.experiment.suite.gates.cooldown_min_s;
        let rest = remaining(&left, observed, pause_s, &|run| self.experiment.expected_s(&run.workload));
        // A guess for all of them is no estimate.
        (rest.guessed < rest.runs).then_some(rest.total_s)
    }

    fn summary(&mut self, interrupted: bool) -> Result<Summary, Error> {
        let progress = self.writer.progress();
        let left = progress.left(&self.experiment.plan.runs).len();
        let finished = progress.finished.len();
        let failed = progress.failed.iter().map(|(id, failure)| (id.clone(), failure.why.clone())).collect();
        if left == 0 {
            self.writer.close(&mut checking(self.watcher))?;
        } else if let Some(error) = self.writer.damaged().filter(|_| !interrupted) {
            return Err(error);
        }
        let lost = self.writer.progress().losses.len();
        let replaced = self.writer.mask().report();
        let progress = self.writer.progress();
        let (saved, lost_for_good) = (progress.not_needed(), progress.lost_for_good());
        let (ended, sealed) = (progress.ended.clone(), left == 0);
        Ok(Summary { finished, failed, left, interrupted, sealed, lost, replaced, saved, lost_for_good, ended })
    }

    /// Chosen runs that have no outcome yet.
    fn left(&self, chosen: &[PlannedRun]) -> Vec<PlannedRun> {
        self.writer.progress().left(chosen).into_iter().cloned().collect()
    }

    fn done(&self) -> usize {
        self.writer.progress().finished.len() + self.writer.progress().failed.len()
    }

    /// Ends and removes what a collector of this archive left when it was killed. Then sets aside what it had begun.
    fn take_up(&mut self, wire: &CampaignWire) -> Result<(), Error> {
        let mut what = self.host.end_marked(&self.archive_id)?;
        for (_, environment) in &self.experiment.environments {
            what.extend(environment.sweep(self.host.as_ref(), &self.archive_id)?);
        }
        // Nothing of those runs is left that could mount anything again.
        what.extend(mounts::undo_interrupted(self.host.as_ref(), self.writer.folder(), self.watcher));
        self.watcher.say(&format!("continuing: {} of {} runs are complete", self.done(), wire.plan.len()));
        if self.writer.progress().closed {
            if !self.writer.progress().failed.is_empty() {
                self.watcher.say(
                    "a campaign that came to its end keeps its failed runs: collect anew with --archive ANOTHER-FOLDER",
                );
            }
            return Ok(());
        }
        if !what.is_empty() {
            self.watcher.say(&format!("removed leftovers of an earlier collector: {}", what.join(", ")));
            self.writer.log(Event::Swept { what })?;
        }
        for folder in self.writer.settle()? {
            self.watcher.say(&format!("set aside: {folder}"));
        }
        for damage in self.writer.damages() {
            self.watcher.warn(&format!("does not match its record: {damage}"));
        }
        if !self.writer.damages().is_empty() && !self.left(&self.experiment.plan.runs).is_empty() {
            self.watcher.warn("the runs that are left can be measured, but the archive will not be sealed");
        }
        Ok(())
    }

    /// A driver, a kernel or a governor that changed between two halves of a campaign is reported and recorded in the journal. `there` is what each
    /// other machine is now, masked by itself.
    fn still_the_same_machines(&mut self, wire: &CampaignWire, there: &Trees) -> Result<(), Error> {
        let mut what = Vec::new();
        if let Some(before) = &wire.host {
            let mut now = provenance::inventory_with(self.host.as_ref(), self.gpu.as_deref(), &paths(self.experiment));
            // The written values were masked, so the values to compare with are masked too.
            self.writer.mask().json(&mut now, &mut BTreeMap::new());
            what.extend(provenance::changes(before, &now));
        }
        for (name, before) in &wire.nodes {
            let changes = match there.get(name).cloned() {
                Some(mut now) => {
                    self.writer.mask().json(&mut now, &mut BTreeMap::new());
                    provenance::changes(&before["inventory"], &now["inventory"])
                }
                None => vec!["it no longer takes part".to_owned()],
            };
            what.extend(changes.into_iter().map(|change| format!("{name}: {change}")));
        }
        if what.is_empty() {
            return Ok(());
        }
        what.iter().for_each(|change| self.watcher.warn(&format!("changed since the start of the campaign: {change}")));
        self.writer.log(Event::Changed { what })
    }
}

/// The plan as text, nothing run.
///
/// # Errors
/// A usage error when a glob matches nothing.
pub fn dry_run(experiment: &Experiment, only: &[String]) -> Result<String, Error> {
    let plan = sparkbench_plan::Plan { runs: chosen(experiment, only)?, left_out: experiment.plan.left_out.clone() };
    let pause_s = experiment.suite.gates.cooldown_min_s;
    let estimate = sparkbench_plan::estimate(&plan, pause_s, &|run| experiment.expected_s(&run.workload));
    Ok(sparkbench_plan::show(&experiment.suite, &plan, &experiment.warnings, &estimate))
}

fn moment(host: &dyn Host) -> Moment {
    Moment { utc: host.utc(), monotonic_s: host.monotonic().as_secs_f64() }
}
