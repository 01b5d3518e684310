//! A campaign from its suite to its seal: begun or gone on with, killed at any moment, never half-written.
//!
//! In:  an [`Experiment`], a [`Host`], a folder, a [`Watcher`].  Out: an archive, and a [`Summary`] of what it holds.
//! Not here: one run (see `one`), what is asked and made once (see `once`).
//!
//! At most the run in flight is lost by a crash: everything before it lies under its final name, and everything that it left on the
//! machine is found again by the random name of the archive, which every process, container and control group of a campaign carries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::experiment::Experiment;
use super::one::Ran;
use super::record::{self, Found};
use super::{Watcher, gates, privacy, provenance, telemetry};
use crate::archive::Retention;
use crate::archive::journal::{Event, Moment};
use crate::archive::manifest::{CampaignWire, PlannedRun};
use crate::archive::writer::{Session, Writer, read_campaign};
use crate::error::{Error, Kind};
use crate::host::Host;
use crate::host::gpu::{SharedGpu, open};
use crate::model::{Finding, Instant, Level};
use crate::plan::{Observed, remaining};

/// What the person who starts it adds to the suite.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Folder of the archive. Absolute.
    pub archive: PathBuf,
    /// Goes on with what is there, and begins where there is nothing.
    pub resume: bool,
    /// Globs over runs; the others stay left over for another time.
    pub only: Vec<String>,
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
    /// What was replaced before it was written, for people.
    pub replaced: Vec<String>,
}

/// A campaign under way.
pub(super) struct Collector<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) host: Arc<dyn Host>,
    pub(super) watcher: &'a dyn Watcher,
    pub(super) gpu: Option<SharedGpu>,
    /// Why no GPU can be read.
    pub(super) no_gpu: String,
    pub(super) writer: Writer<'a>,
    pub(super) archive_id: String,
    /// When the run before ended.
    pub(super) last_ended: Option<Duration>,
    /// Both clocks when we began, to see a jump.
    pub(super) began: (Instant, Duration),
}

/// Runs a campaign, or goes on with it.
///
/// # Errors
/// Of pre-flight when a gate refuses before the first run; of archive when it cannot be written or is not the archive of this suite;
/// of usage when it exists and nobody asked to go on with it. Failed workloads are in the summary.
pub fn collect(
    experiment: &Experiment,
    host: &Arc<dyn Host>,
    watcher: &dyn Watcher,
    options: &Options,
) -> Result<Summary, Error> {
    let chosen = chosen(experiment, &options.only)?;
    let settings = &experiment.suite.telemetry;
    let mut opened = open::open(host, &settings.gpu, settings.gpu_index, finest(experiment));
    let sight = Sight { gpu: opened.share(), no_gpu: opened.why(), printed: opened.raw };
    let clock = || moment(host.as_ref());
    let begun = if options.resume { begun(&options.archive)? } else { None };
    let resumed = begun.is_some();
    let (writer, wire) = match begun {
        Some(wire) => {
            same_suite(experiment, &wire, &options.archive)?;
            let id = wire.archive_id.clone().unwrap_or_default();
            let session = session(experiment, host.as_ref(), &id, &clock)?;
            let (writer, wire, _) = Writer::resume(&options.archive, session)?;
            (writer, wire)
        }
        None => {
            expect_free(&options.archive)?;
            preflight(experiment, host.as_ref(), &sight, &chosen, options, watcher)?;
            let id = archive_id(host.as_ref())?;
            let wire = found(experiment, host.as_ref(), &sight, &id)?;
            let session = session(experiment, host.as_ref(), &id, &clock)?;
            (Writer::create(&options.archive, wire.clone(), session)?, wire)
        }
    };
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
        writer,
        archive_id: wire.archive_id.clone().unwrap_or_default(),
        // What ran last, and how warm it left the machine, is not known after a crash: the whole pause is kept once more.
        last_ended: resumed.then(|| host.monotonic()),
        began: (host.utc(), host.monotonic()),
    };
    if resumed {
        collector.take_up(&wire)?;
        if !collector.left(&chosen).is_empty() {
            preflight(experiment, host.as_ref(), &sight, &chosen, options, watcher)?;
            collector.still_the_same_machine(&wire)?;
        }
    }
    let ran = collector.run(&chosen);
    ran.map_err(|error| collector.writer.explained(error))
}

/// The finest interval that a run of the suite is sampled at: a source that prints by itself keeps to one.
fn finest(experiment: &Experiment) -> Duration {
    let settings = &experiment.suite.telemetry;
    let each = experiment.workloads.iter().map(|(.., made)| telemetry::interval_for(settings, made.expected_s()));
    each.min().unwrap_or(Duration::from_secs(1))
}

/// The GPU, where one can be read, and why not where none can.
struct Sight {
    gpu: Option<SharedGpu>,
    no_gpu: String,
    /// What its source printed once, by name: the fields that it knows, and those that were chosen.
    printed: BTreeMap<String, String>,
}

impl Collector<'_> {
    /// Everything that is left, in its order.
    fn run(&mut self, chosen: &[PlannedRun]) -> Result<Summary, Error> {
        self.once(&self.left(chosen))?;
        let total = self.experiment.plan.runs.len();
        let mut interrupted = self.host.interrupted();
        let mut ended: Vec<(PlannedRun, f64, Option<f64>)> = Vec::new();
        let left = self.left(chosen);
        for (at, planned) in left.iter().enumerate() {
            if interrupted {
                break;
            }
            self.watcher.progress(
                self.done(),
                total,
                &planned.id,
                self.seconds_left(left.get(at..).unwrap_or_default(), &ended),
            );
            let before = self.last_ended;
            let ran = self.one(planned)?;
            match &ran {
                Ran::Finished { .. } => {}
                Ran::Failed(why) => self.watcher.warn(&format!("{} failed: {why}", planned.id)),
                Ran::Interrupted => interrupted = true,
            }
            if let (Ran::Finished { duration_s, started }, before) = (ran, before) {
                let pause = before.map(|before| started.saturating_sub(before).as_secs_f64());
                self.watcher.say(&format!("{} done in {duration_s:.1} s", planned.id));
                ended.push((planned.clone(), duration_s, pause));
            }
            interrupted |= self.host.interrupted();
        }
        if interrupted {
            self.writer.log(Event::Stopped { why: "a signal asked for it".to_owned() })?;
        }
        self.watcher.progress(self.done(), total, "", None);
        self.summary(interrupted)
    }

    fn seconds_left(&self, left: &[PlannedRun], ended: &[(PlannedRun, f64, Option<f64>)]) -> Option<f64> {
        let observed: Vec<Observed<'_>> =
            ended.iter().map(|(run, took_s, pause_s)| Observed { run, took_s: *took_s, pause_s: *pause_s }).collect();
        let left: Vec<&PlannedRun> = left.iter().collect();
        let pause_s = self.experiment.suite.gates.cooldown_min_s;
        let rest = remaining(&left, &observed, pause_s, &|run| self.experiment.expected_s(&run.workload));
        // A guess for all of them is no estimate.
        (rest.guessed < rest.runs).then_some(rest.total_s)
    }

    fn summary(&mut self, interrupted: bool) -> Result<Summary, Error> {
        let progress = self.writer.progress();
        let left = progress.left(&self.experiment.plan.runs).len();
        let finished = progress.finished.len();
        let failed = progress.failed.iter().map(|(id, failure)| (id.clone(), failure.why.clone())).collect();
        if left == 0 {
            self.writer.close()?;
        }
        let replaced = self.writer.mask().report();
        Ok(Summary { finished, failed, left, interrupted, sealed: left == 0, replaced })
    }

    /// Chosen runs that have no outcome yet.
    fn left(&self, chosen: &[PlannedRun]) -> Vec<PlannedRun> {
        self.writer.progress().left(chosen).into_iter().cloned().collect()
    }

    fn done(&self) -> usize {
        self.writer.progress().finished.len() + self.writer.progress().failed.len()
    }

    /// Ends and removes what a collector of this archive left when it was killed; then sets aside what it had begun.
    fn take_up(&mut self, wire: &CampaignWire) -> Result<(), Error> {
        let mut what = self.host.end_marked(&self.archive_id)?;
        for (_, environment) in &self.experiment.environments {
            what.extend(environment.sweep(self.host.as_ref(), &self.archive_id)?);
        }
        self.watcher.say(&format!("going on: {} of {} runs are complete", self.done(), wire.plan.len()));
        if self.writer.progress().closed {
            return Ok(());
        }
        if !what.is_empty() {
            self.watcher.say(&format!("removed what was left of an earlier collector: {}", what.join(", ")));
            self.writer.log(Event::Swept { what })?;
        }
        for folder in self.writer.settle()? {
            self.watcher.say(&format!("what a crash interrupted lies in {folder}"));
        }
        Ok(())
    }

    /// A driver, a kernel or a governor that changed between two halves of a campaign is said, and in the journal.
    fn still_the_same_machine(&mut self, wire: &CampaignWire) -> Result<(), Error> {
        let Some(before) = &wire.host else { return Ok(()) };
        let mut now = provenance::inventory_with(self.host.as_ref(), self.gpu.as_deref(), &paths(self.experiment));
        // What was written was masked: the same goes for what it is held against.
        self.writer.mask().json(&mut now, &mut BTreeMap::new());
        let what = provenance::changes(before, &now);
        if what.is_empty() {
            return Ok(());
        }
        what.iter().for_each(|change| self.watcher.warn(&format!("since the campaign began: {change}")));
        self.writer.log(Event::Changed { what })
    }
}

/// Reads every gate and every environment once; all refusals come together. What waiting can cure is waited for before each run.
fn preflight(
    experiment: &Experiment,
    host: &dyn Host,
    sight: &Sight,
    chosen: &[PlannedRun],
    options: &Options,
    watcher: &dyn Watcher,
) -> Result<(), Error> {
    let needs_gpu =
        chosen.iter().any(|run| experiment.workload(&run.workload).is_some_and(|(_, made)| made.needs_gpu()));
    let context = gates::Context {
        host,
        gpu: sight.gpu.as_deref(),
        no_gpu: &sight.no_gpu,
        gates: &experiment.suite.gates,
        archive: &options.archive,
        needs_gpu,
        last_ended: None,
        began: None,
        ours: &[],
    };
    let mut findings: Vec<(String, Finding)> =
        gates::lasting(&context).into_iter().map(|finding| ("machine".to_owned(), finding)).collect();
    for (label, environment) in &experiment.environments {
        if chosen.iter().any(|run| run.environment == *label) {
            findings.extend(environment.ready(host).into_iter().map(|finding| (label.clone(), finding)));
        }
    }
    let line = |(place, finding): &(String, Finding)| {
        let remedy = finding.remedy.as_deref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        let limit = finding.limit.as_deref().map(|limit| format!(" (limit: {limit})")).unwrap_or_default();
        format!("{place}, {}: {}{limit}{remedy}", finding.gate, finding.reading)
    };
    let at = |level: Level| findings.iter().filter(move |(_, finding)| finding.level == level).map(line);
    at(Level::Warned).for_each(|words| watcher.warn(&words));
    let refused: Vec<String> = at(Level::Refused).collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(Error::new(Kind::Preflight, format!("the pre-flight refuses:\n  - {}", refused.join("\n  - ")))
        .hint("'sparkbench check SUITE' shows every reading"))
}

/// What `campaign.json` is to say, nothing masked yet.
fn found(experiment: &Experiment, host: &dyn Host, sight: &Sight, id: &str) -> Result<CampaignWire, Error> {
    let mut inventory = provenance::inventory_with(host, sight.gpu.as_deref(), &paths(experiment));
    if let Some(groups) = inventory.as_object_mut()
        && !sight.printed.is_empty()
    {
        groups.insert("gpu_source_printed".to_owned(), serde_json::json!(sight.printed));
    }
    let mut found = Found { host: inventory, ..Found::default() };
    for (label, environment) in &experiment.environments {
        found.environments.insert(label.clone(), environment.describe(host)?);
    }
    Ok(record::campaign(experiment, id, host.utc(), found))
}

/// Folders whose file systems matter: where the models lie, and where the suite does.
fn paths(experiment: &Experiment) -> Vec<PathBuf> {
    let models = experiment.suite.models.iter().filter_map(|model| model.path.as_ref().map(PathBuf::from));
    models.chain([experiment.folder.clone()]).collect()
}

fn session<'a>(
    experiment: &Experiment,
    host: &dyn Host,
    id: &str,
    clock: &'a (dyn Fn() -> Moment + Sync),
) -> Result<Session<'a>, Error> {
    let retention = &experiment.suite.retention;
    Ok(Session {
        tool: record::tool(),
        boot_id: host.read(Path::new("/proc/sys/kernel/random/boot_id")).ok().map(|text| text.trim().to_owned()),
        mask: privacy::mask(&experiment.suite, host, id)?,
        retention: Retention::new(&retention.drop, Some(retention.file_max_mib))?.packing(&retention.pack)?,
        clock,
    })
}

/// The campaign that was begun in a folder; nothing where none was.
fn begun(archive: &Path) -> Result<Option<CampaignWire>, Error> {
    let held = std::fs::read_dir(archive).is_ok_and(|mut entries| entries.next().is_some());
    if held { read_campaign(archive).map(Some) } else { Ok(None) }
}

/// Said before hours of pre-flight and not after.
fn expect_free(archive: &Path) -> Result<(), Error> {
    if std::fs::read_dir(archive).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::usage(format!("'{}' holds something already", archive.display()))
            .hint("go on with the campaign in it by --resume, or choose another folder by --archive DIR"));
    }
    Ok(())
}

fn same_suite(experiment: &Experiment, wire: &CampaignWire, archive: &Path) -> Result<(), Error> {
    let now = crate::archive::hash(experiment.suite.text.as_bytes());
    if wire.suite_sha256.as_deref() == Some(now.as_str()) && wire.plan == experiment.plan.runs {
        return Ok(());
    }
    Err(Error::usage(format!("'{}' was begun with another suite", archive.display()))
        .detail("the suite file has changed since, and what an archive holds is fixed before its first run")
        .hint(
            "go on with the suite as it was (it stands in campaign.json), or begin another archive with --archive DIR",
        ))
}

/// The runs that are asked for; all of them unless globs say otherwise.
fn chosen(experiment: &Experiment, only: &[String]) -> Result<Vec<PlannedRun>, Error> {
    if only.is_empty() {
        return Ok(experiment.plan.runs.clone());
    }
    crate::plan::only(&experiment.plan, only).map(|plan| plan.runs)
}

/// The plan as text, nothing run.
///
/// # Errors
/// Of usage, when a glob matches nothing.
pub fn dry_run(experiment: &Experiment, only: &[String]) -> Result<String, Error> {
    let plan = crate::plan::Plan { runs: chosen(experiment, only)?, left_out: experiment.plan.left_out.clone() };
    let pause_s = experiment.suite.gates.cooldown_min_s;
    let estimate = crate::plan::estimate(&plan, pause_s, &|run| experiment.expected_s(&run.workload));
    Ok(crate::plan::show(&experiment.suite, &plan, &experiment.warnings, &estimate))
}

/// Twelve random digits: enough that two archives of one machine never meet.
fn archive_id(host: &dyn Host) -> Result<String, Error> {
    let failed = |cause| Error::archive("cannot make a random name for the archive").because(cause);
    let text = host.read(Path::new("/proc/sys/kernel/random/uuid")).map_err(failed)?;
    Ok(text.chars().filter(char::is_ascii_hexdigit).take(ID_DIGITS).collect())
}

/// Digits of the random name of an archive.
const ID_DIGITS: usize = 12;

fn moment(host: &dyn Host) -> Moment {
    Moment { utc: host.utc(), monotonic_s: host.monotonic().as_secs_f64() }
}
