//! The archive of a campaign, opened: begun in an empty folder, or continued where it was left.
//!
//! In:  a [`Request`], a clock.  Out: [`Opened`]: the writer, `campaign.json`, the other machines.
//! Not here: its runs (see `campaign`), what a killed collector left of them (see `Collector::take_up`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::cluster::Cluster;
use super::experiment::Experiment;
use super::record::{self, Found};
use super::request::{Request, Sight};
use super::{Watcher, mounts, privacy, provenance};
use sparkbench_archive::journal::{self, Moment};
use sparkbench_archive::manifest::{CAMPAIGN_FILE, CampaignWire, OF_THE_DISK, PlannedRun};
use sparkbench_archive::writer::{Session, Writer, expect_campaign, read_campaign};
use sparkbench_archive::{FileName, Progress, Retention, shown};
use sparkbench_host::Host;
use sparkbench_text::error::Error;

/// A clock of the journal.
pub(super) type Now<'a> = &'a (dyn Fn() -> Moment + Sync);

/// Known facts of each machine, by its name.
pub(super) type Trees = BTreeMap<String, serde_json::Value>;

/// The archive of a campaign, and what is known at its start.
pub(super) struct Opened<'a> {
    pub(super) writer: Writer<'a>,
    pub(super) wire: CampaignWire,
    /// The other machines, where the suite has some.
    pub(super) cluster: Option<Cluster>,
    /// What each of them is now.
    pub(super) there_now: Trees,
    /// Whether it was there before.
    pub(super) resumed: bool,
}

impl Request<'_> {
    /// Continues the campaign of the folder, where it holds one and that is asked for. Else begins one.
    pub(super) fn open<'a>(&self, clock: Now<'a>) -> Result<Opened<'a>, Error> {
        let archive = &self.options.archive;
        if !self.options.resume {
            return self.begin(clock);
        }
        mounts::expect_whole(self.host.as_ref(), archive, holds(archive).is_some())?;
        match begun(archive)? {
            Some(wire) => self.resume(&wire, clock),
            None => self.begin(clock),
        }
    }

    fn resume<'a>(&self, wire: &CampaignWire, clock: Now<'a>) -> Result<Opened<'a>, Error> {
        let (host, options) = (self.host.as_ref(), self.options);
        let fits = same_suite(self.experiment, wire, &options.archive);
        match expect_campaign(&options.archive) {
            // A file that was changed is the cause, whatever its plan says now.
            Err(changed) if fits.is_err() || !options.accept_loss => return Err(changed),
            _ => fits?,
        }
        let id = wire.archive_id.clone().unwrap_or_default();
        let needed = !self.chosen.is_empty() && (options.accept_loss || !is_over(&options.archive));
        let gathered = if needed { self.gather(&id, &wire.nodes)? } else { None };
        let (cluster, there_now) = gathered.map_or((None, Trees::new()), |(there, found)| (Some(there), found));
        let session = session(self.experiment, host, &id, clock)?;
        let told = &mut checking(self.watcher);
        let (writer, wire, _) = Writer::resume(&options.archive, session, options.accept_loss, told)?;
        Ok(Opened { writer, wire, cluster, there_now, resumed: true })
    }

    fn begin<'a>(&self, clock: Now<'a>) -> Result<Opened<'a>, Error> {
        let (experiment, host) = (self.experiment, self.host.as_ref());
        expect_free(&self.options.archive)?;
        let id = archive_id(host)?;
        let gathered = self.gather(&id, &Trees::new())?;
        let (cluster, nodes) = gathered.map_or((None, Trees::new()), |(there, found)| (Some(there), found));
        self.preflight(cluster.as_ref())?;
        let links = cluster.as_ref().map_or(Ok(Vec::new()), |there| there.links(self.watcher, host))?;
        let wire = CampaignWire { nodes, links, ..found(experiment, host, self.sight, &id)? };
        let session = session(experiment, host, &id, clock)?;
        let writer = Writer::create(&self.options.archive, wire.clone(), session)?;
        Ok(Opened { writer, wire, cluster, there_now: Trees::new(), resumed: false })
    }

    /// The other machines of the suite, told of the campaign, and what each is. Nothing where the suite has none.
    fn gather(&self, archive_id: &str, held: &Trees) -> Result<Option<(Cluster, Trees)>, Error> {
        let host = self.host;
        let Some(cluster) = Cluster::start(self.experiment, host, self.watcher)? else { return Ok(None) };
        let described = cluster.begin(self.experiment, archive_id, held, host.as_ref())?;
        if !described.swept.is_empty() {
            let swept = described.swept.join(", ");
            self.watcher.say(&format!("removed leftovers of an earlier collector: {swept}"));
        }
        Ok(Some((cluster, described.nodes)))
    }
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
pub(super) fn paths(experiment: &Experiment) -> Vec<PathBuf> {
    let models = experiment.suite.models.iter().filter_map(|model| model.path.as_ref().map(PathBuf::from));
    models.chain([experiment.folder.clone()]).collect()
}

fn session<'a>(experiment: &Experiment, host: &dyn Host, id: &str, clock: Now<'a>) -> Result<Session<'a>, Error> {
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
pub(super) fn checking(watcher: &dyn Watcher) -> impl FnMut(u64, u64) {
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
    if is_of(experiment, wire) && wire.plan == experiment.plan.runs {
        return Ok(());
    }
    Err(Error::usage(format!("'{}' was started with another suite", shown(archive)))
        .detail("the suite file has changed since then, but the suite of an archive is fixed before its first run")
        .hint("continue with the old suite (it is in campaign.json), or start another archive with --archive DIR"))
}

/// Whether a campaign is one of this very suite.
fn is_of(experiment: &Experiment, wire: &CampaignWire) -> bool {
    let now = sparkbench_archive::hash(experiment.suite.text.as_bytes());
    wire.suite_sha256.as_deref() == Some(now.as_str())
}

impl Experiment {
    /// A campaign that an earlier version began with this suite has its runs in another order. It goes on in that order. What cannot be read is
    /// said by whoever opens it.
    pub fn go_on_as_begun(&mut self, archive: &Path) {
        let Ok(Some(wire)) = begun(archive) else { return };
        let cells = |runs: &[PlannedRun]| -> BTreeSet<_> {
            // The name without its number, which follows from the order. A name that was changed is another run.
            let name = |run: &PlannedRun| run.id.split_once('-').map(|(_, name)| name.to_owned());
            let cell = |run: &PlannedRun| {
                (name(run), run.environment.clone(), run.model.clone(), run.workload.clone(), run.repeat)
            };
            runs.iter().map(cell).collect()
        };
        let same = wire.plan.len() == self.plan.runs.len() && cells(&wire.plan) == cells(&self.plan.runs);
        if same && is_of(self, &wire) {
            self.plan.runs = wire.plan;
        }
    }
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
