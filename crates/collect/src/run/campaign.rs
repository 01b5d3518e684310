//! A campaign from its suite to its seal: started or resumed, killed at any moment, never half-written.
//!
//! In:  an [`Experiment`], a [`Host`], a folder, a [`Watcher`].  Out: an archive, and a [`Summary`] of its content.
//! Not here: one run (see `one`), the probes and files of a whole campaign (see `once`).
//!
//! A crash loses at most the run in flight. Everything before it has its final name. Everything that it left on the machine is found again
//! by the random name of the archive. Every process, container and control group of a campaign carries that name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::cluster::Cluster;
use super::collector::Collector;
use super::experiment::Experiment;
use super::one::Ran;
use super::record::{self, Found};
use super::{Judge, Watcher, gates, mounts, privacy, provenance, telemetry, utf8};
use sparkbench_archive::journal::{self, Event, Moment};
use sparkbench_archive::manifest::{CAMPAIGN_FILE, CampaignWire, PlannedRun};
use sparkbench_archive::mask::Veil;
use sparkbench_archive::writer::{OF_THE_DISK, Session, Writer, expect_campaign, read_campaign};
use sparkbench_archive::{FileName, Progress, Retention, shown};
use sparkbench_host::Host;
use sparkbench_host::gpu::{SharedGpu, open};
use sparkbench_model::{Finding, Instant, Level};
use sparkbench_plan::{Observed, remaining};
use sparkbench_text::error::{Error, Kind};

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

/// Settings of the user beside the suite.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Folder of the archive. Absolute.
    pub archive: PathBuf,
    /// Goes on with what is there, and begins where there is nothing.
    pub resume: bool,
    /// Gives up what does not fit its record, and goes on without it.
    pub accept_loss: bool,
    /// Globs over runs. The others stay left over for another time.
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
    let settings = &experiment.suite.telemetry;
    let mut opened = open::open(host, &settings.gpu, settings.gpu_index, finest(experiment));
    let sight = Sight { gpu: opened.share(), no_gpu: opened.why(), printed: opened.raw };
    let clock = || moment(host.as_ref());
    if options.resume {
        mounts::expect_whole(host.as_ref(), &options.archive, holds(&options.archive).is_some())?;
    }
    let begun = if options.resume { begun(&options.archive)? } else { None };
    let resumed = begun.is_some();
    let (mut cluster, mut there_now) = (None, Trees::new());
    let (writer, wire) = match begun {
        Some(wire) => {
            let fits = same_suite(experiment, &wire, &options.archive);
            match expect_campaign(&options.archive) {
                // A file that was changed is the cause, whatever its plan says now.
                Err(changed) if fits.is_err() || !options.accept_loss => return Err(changed),
                _ => fits?,
            }
            let id = wire.archive_id.clone().unwrap_or_default();
            if !chosen.is_empty() && (options.accept_loss || !is_over(&options.archive)) {
                let gathered = gather(experiment, host, watcher, &id, &wire.nodes)?;
                (cluster, there_now) = gathered.map_or((None, Trees::new()), |(there, found)| (Some(there), found));
            }
            let session = session(experiment, host.as_ref(), &id, &clock)?;
            let told = &mut checking(watcher);
            let (writer, wire, _) = Writer::resume(&options.archive, session, options.accept_loss, told)?;
            (writer, wire)
        }
        None => {
            expect_free(&options.archive)?;
            let id = archive_id(host.as_ref())?;
            let gathered = gather(experiment, host, watcher, &id, &Trees::new())?;
            let (there, nodes) = gathered.map_or((None, Trees::new()), |(there, found)| (Some(there), found));
            preflight(experiment, host.as_ref(), &sight, &chosen, options, (watcher, there.as_ref()))?;
            let links = there.as_ref().map_or(Ok(Vec::new()), |there| there.links(watcher, host.as_ref()))?;
            cluster = there;
            let wire = CampaignWire { nodes, links, ..found(experiment, host.as_ref(), &sight, &id)? };
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
            let told = (watcher, collector.cluster.as_ref());
            preflight(experiment, host.as_ref(), &sight, &chosen, options, told)?;
            collector.still_the_same_machines(&wire, &there_now)?;
        }
    }
    let ran = collector.run(&chosen);
    ran.map_err(|error| collector.writer.explained(error))
}

/// Known facts of each machine, by its name.
type Trees = BTreeMap<String, serde_json::Value>;

/// The other machines of the suite, told of the campaign, and what each is. Nothing where the suite has none.
fn gather(
    experiment: &Experiment,
    host: &Arc<dyn Host>,
    watcher: &dyn Watcher,
    archive_id: &str,
    held: &Trees,
) -> Result<Option<(Cluster, Trees)>, Error> {
    let Some(cluster) = Cluster::start(experiment, host, watcher)? else { return Ok(None) };
    let described = cluster.begin(experiment, archive_id, held, host.as_ref())?;
    if !described.swept.is_empty() {
        watcher.say(&format!("removed leftovers of an earlier collector: {}", described.swept.join(", ")));
    }
    Ok(Some((cluster, described.nodes)))
}

/// The finest interval that a run of the suite is sampled at: a source that prints by itself keeps to one.
pub(super) fn finest(experiment: &Experiment) -> Duration {
    let settings = &experiment.suite.telemetry;
    let each = experiment.workloads.iter().map(|(.., made)| telemetry::interval_for(settings, made.expected_s()));
    each.min().unwrap_or(Duration::from_secs(1))
}

/// The GPU, where one can be read, and why not where none can.
struct Sight {
    gpu: Option<SharedGpu>,
    no_gpu: String,
    /// One-time output of its source, by name: the fields that it knows, and those that were chosen.
    printed: BTreeMap<String, String>,
}

impl Collector<'_> {
    /// Everything that is left, in its order.
    fn run(&mut self, chosen: &[PlannedRun]) -> Result<Summary, Error> {
        // A look that a crash left to be taken may end the campaign before anything more is prepared for it.
        self.looks()?;
        self.once(&self.left(chosen))?;
        let total = self.experiment.plan.runs.len();
        let mut interrupted = self.host.interrupted();
        let mut ended: Vec<(PlannedRun, f64, Option<f64>)> = Vec::new();
        let left = self.left(chosen);
        for (at, planned) in left.iter().enumerate() {
            if interrupted || self.looks()? {
                break;
            }
            self.watcher.progress(
                self.done(),
                total,
                &planned.id,
                self.seconds_left(left.get(at..).unwrap_or_default(), &ended),
            );
            let before = self.last_ended;
            let ran = self.one(planned).map_err(|error| self.stopped_by(error))?;
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
            if let Some(gone) = self.cluster.as_ref().and_then(Cluster::gone) {
                return Err(Error::new(Kind::Workload, gone)
                    .detail(format!("{} of {total} runs are in the archive", self.done()))
                    .hint("repair that machine, then continue with --resume"));
            }
        }
        // The last round of the plan is followed by no run that would ask.
        if !interrupted {
            self.looks()?;
        }
        if interrupted {
            self.writer.log(Event::Stopped { why: "a signal asked for it".to_owned() })?;
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

/// Reads every gate and every environment once. All refusals come together. What waiting can cure is waited for before each run.
fn preflight(
    experiment: &Experiment,
    host: &dyn Host,
    sight: &Sight,
    chosen: &[PlannedRun],
    options: &Options,
    (watcher, cluster): (&dyn Watcher, Option<&Cluster>),
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
    if let Some(cluster) = cluster {
        let wanted = |label: &&String| chosen.iter().any(|run| run.environment == **label);
        let labels: Vec<String> =
            experiment.environments.iter().map(|(label, _)| label).filter(wanted).cloned().collect();
        findings.extend(cluster.look(&labels, needs_gpu, host)?);
    }
    let line = |(place, finding): &(String, Finding)| {
        let remedy = finding.remedy.as_deref().map(|remedy| format!(". Try: {remedy}")).unwrap_or_default();
        let limit = finding.limit.as_deref().map(|limit| format!(" (limit: {limit})")).unwrap_or_default();
        format!("{place}, {}: {}{limit}{remedy}", finding.gate, finding.reading)
    };
    let at = |level: Level| findings.iter().filter(move |(_, finding)| finding.level == level).map(line);
    at(Level::Warned).for_each(|words| watcher.warn(&words));
    let refused: Vec<String> = at(Level::Refused).collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(Error::new(Kind::Preflight, format!("the pre-flight check refuses:\n  - {}", refused.join("\n  - ")))
        .hint("see every reading with 'sparkbench check SUITE'"))
}

/// Content of `campaign.json`, not masked yet.
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

/// The campaign that was begun in a folder. Nothing where none was.
fn begun(archive: &Path) -> Result<Option<CampaignWire>, Error> {
    if holds(archive).is_some() { read_campaign(archive).map(Some) } else { Ok(None) }
}

/// Something that lies in a folder. Nothing in an empty one, and in one that does not exist.
fn holds(folder: &Path) -> Option<FileName> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| FileName::new(entry.file_name().as_encoded_bytes())).find(|name| *name != OF_THE_DISK)
}

/// Whether the campaign of a folder came to its end. One whose journal cannot be read did not.
fn is_over(archive: &Path) -> bool {
    journal::read(archive).is_ok_and(|journal| Progress::of(&journal.entries).closed)
}

/// Bytes from which on an archive is said to be checked: below, it takes a second or two.
const LARGE_BYTES: u64 = 1 << 30;
/// Lines about one check.
const STEPS: u64 = 10;

/// Says how far the check of an archive is, where there is much to read.
fn checking(watcher: &dyn Watcher) -> impl FnMut(u64, u64) {
    let mut said = 0;
    move |done, all| {
        let step = done.saturating_mul(STEPS) / all.max(1);
        if all >= LARGE_BYTES && step > said {
            said = step;
            let gib = |bytes: u64| bytes as f64 / LARGE_BYTES as f64;
            watcher.say(&format!("checking the archive: {:.1} of {:.1} GiB", gib(done), gib(all)));
        }
    }
}

/// Said before hours of pre-flight and not after.
fn expect_free(archive: &Path) -> Result<(), Error> {
    let Some(held) = holds(archive) else { return Ok(()) };
    let failed = Error::usage(format!("'{}' is not empty", shown(archive)));
    Err(if archive.join(CAMPAIGN_FILE).exists() {
        failed.hint("continue with --resume, or choose another folder with --archive DIR")
    } else {
        failed.detail(format!("it holds '{held}'")).hint("choose another folder with --archive DIR")
    })
}

fn same_suite(experiment: &Experiment, wire: &CampaignWire, archive: &Path) -> Result<(), Error> {
    let now = sparkbench_archive::hash(experiment.suite.text.as_bytes());
    if wire.suite_sha256.as_deref() == Some(now.as_str()) && wire.plan == experiment.plan.runs {
        return Ok(());
    }
    Err(Error::usage(format!("'{}' was started with another suite", shown(archive)))
        .detail("the suite file has changed since then, but the suite of an archive is fixed before its first run")
        .hint("continue with the old suite (it is in campaign.json), or start another archive with --archive DIR"))
}

/// The runs that are asked for. All of them unless globs say otherwise.
fn chosen(experiment: &Experiment, only: &[String]) -> Result<Vec<PlannedRun>, Error> {
    if only.is_empty() {
        return Ok(experiment.plan.runs.clone());
    }
    sparkbench_plan::only(&experiment.plan, only).map(|plan| plan.runs)
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

/// Twelve random digits: enough that two archives of one machine never meet.
///
/// # Errors
/// When the kernel gives none.
pub fn archive_id(host: &dyn Host) -> Result<String, Error> {
    let failed = |cause| Error::archive("cannot make a random name for the archive").because(cause);
    let text = host.read(Path::new("/proc/sys/kernel/random/uuid")).map_err(failed)?;
    Ok(text.chars().filter(char::is_ascii_hexdigit).take(ID_DIGITS).collect())
}

/// Digits of the random name of an archive.
const ID_DIGITS: usize = 12;

fn moment(host: &dyn Host) -> Moment {
    Moment { utc: host.utc(), monotonic_s: host.monotonic().as_secs_f64() }
}
