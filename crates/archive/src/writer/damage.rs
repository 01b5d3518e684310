//! Parts of an archive that do not fit their record, and going on without them.
//!
//! In:  the flaws of a verification.  Out: [`Damage`], an error that names each part, lines of the journal for what is given up.
//! Not here: finding flaws (see `verify`), leftovers of a crash (see `settle`).
//!
//! Nothing is sealed that does not verify. What was changed or removed is lost unless somebody has a copy. So the owner can say that the
//! campaign goes on without it. Each loss then has a line in the journal and a place in the seal. A lost run has no result any more, and is
//! made again like one that was interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use super::Writer;
use super::open::in_its_place;
use crate::disk::{self, Tree};
use crate::journal::{self, Entry, Event};
use crate::manifest::{
    CAMPAIGN_FILE, FOLDERS, FileHash, INTERRUPTED_FOLDER, JOURNAL_FILE, PREPARED_FOLDER, PROBES_FOLDER, PlannedRun,
    RUN_FILE, RUNS_FOLDER, RunWire, SEAL_FILE,
};
use crate::read::hash;
use crate::verify::{self, Kind, Mismatch, Progressed};
use crate::{FileName, Progress, Tally, shown};
use sparkbench_text::error::Error;

/// Files of one part that are named. The rest is counted.
const NAMED: usize = 3;
/// Parts that are named in an error. The rest is counted: `verify` lists all.
const PARTS_NAMED: usize = 10;
/// Longest seal that is kept in the journal, bytes. One with a hundred losses is shorter.
const SEAL_MOST: usize = 64 << 10;
/// Begins the names of folders that hold what was added to an archive.
const ADDED: &str = "added";

/// A part of an archive that does not fit its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    part: Part,
    /// Path below the archive.
    path: String,
    flaws: Vec<Mismatch>,
}

/// Parts, in the order in which they are named and given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Campaign,
    Journal,
    Seal,
    /// A complete run.
    Run,
    /// What was made once for several runs.
    Once,
    /// What was set aside.
    Interrupted,
    /// What nothing lists.
    Added,
}

impl Damage {
    /// Sorts flaws by the part of the archive that they are in.
    pub(super) fn of(flaws: impl IntoIterator<Item = Mismatch>, progress: &Progress, plan: &[PlannedRun]) -> Vec<Self> {
        let mut parts: BTreeMap<(Part, String), Vec<Mismatch>> = BTreeMap::new();
        for flaw in flaws {
            parts.entry(part_of(&flaw, progress, plan)).or_default().push(flaw);
        }
        let mut damages: Vec<Self> = parts
            .into_iter()
            .map(|((part, path), flaws)| {
                // A run that no plan has is more than a file too many.
                let inside = |flaw: &Mismatch| flaw.kind == Kind::Extra && (part != Part::Run || flaw.path != path);
                let holds = matches!(part, Part::Run | Part::Once | Part::Interrupted);
                let part = if holds && flaws.iter().all(inside) { Part::Added } else { part };
                Self { part, path, flaws }
            })
            .collect();
        damages.sort_by_key(|damage| damage.part);
        damages
    }

    /// Whether the record itself is damaged, so that nothing can be added to it.
    pub(super) fn is_of_the_record(&self) -> bool {
        matches!(self.part, Part::Campaign | Part::Journal | Part::Seal)
    }

    /// Id of the run, where it is one.
    fn run(&self) -> Option<&str> {
        self.path.strip_prefix(RUNS_FOLDER)?.strip_prefix('/').filter(|_| self.part == Part::Run)
    }

    /// What does not fit, in words.
    fn why(&self) -> String {
        if self.is_of_the_record() {
            // Where the file itself does not fit, files that it does not list are what follows from that.
            let own: Vec<&Mismatch> = self.flaws.iter().filter(|flaw| flaw.path == self.path).collect();
            let told = if own.is_empty() { self.flaws.iter().collect() } else { own };
            let more = counted(told.len().saturating_sub(1));
            let first = told.first().map(|flaw| {
                let of = if flaw.path == self.path { String::new() } else { format!("{}: ", flaw.path) };
                format!("{of}{}", flaw.what)
            });
            return format!("{}{more}", first.unwrap_or_default());
        }
        let inner = |flaw: &Mismatch| {
            let below = flaw.path.strip_prefix(&self.path).and_then(|rest| rest.strip_prefix('/'));
            below.unwrap_or("it").to_owned()
        };
        if self.flaws.iter().any(|flaw| flaw.path == self.path && flaw.kind == Kind::Missing) {
            return "the folder is missing".to_owned();
        }
        let words = |flaw: &Mismatch| match flaw.kind {
            Kind::Changed | Kind::Differs => format!("{} was changed", inner(flaw)),
            Kind::Missing => format!("{} is missing", inner(flaw)),
            Kind::Extra if self.part == Part::Added => format!("{} was added", inner(flaw)),
            Kind::Extra | Kind::Unreadable | Kind::Contradiction => format!("{}: {}", inner(flaw), flaw.what),
        };
        let named: Vec<String> = self.flaws.iter().take(NAMED).map(words).collect();
        format!("{}{}", named.join(", "), counted(self.flaws.len().saturating_sub(NAMED)))
    }
}

/// In a line, for people.
impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.run() {
            Some(run) => write!(f, "run '{run}': {}", self.why()),
            None => write!(f, "{}: {}", self.path, self.why()),
        }
    }
}

/// ` (and 2 more)`, or nothing.
fn counted(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}

/// The part of the archive that a flaw is in, and its path.
fn part_of(flaw: &Mismatch, progress: &Progress, plan: &[PlannedRun]) -> (Part, String) {
    let (parent, name) = match flaw.path.split_once('/') {
        Some((parent, rest)) if FOLDERS.contains(&parent) => (parent, rest.split('/').next().unwrap_or(rest)),
        Some((first, _)) => (first, ""),
        None => (flaw.path.as_str(), ""),
    };
    let path = if name.is_empty() { parent.to_owned() } else { format!("{parent}/{name}") };
    let known = || progress.probed.values().chain(progress.prepared.values()).any(|folder| *folder == path);
    let part = match parent {
        CAMPAIGN_FILE => Part::Campaign,
        JOURNAL_FILE => Part::Journal,
        SEAL_FILE => Part::Seal,
        RUNS_FOLDER if progress.is_complete(name) => Part::Run,
        // A planned run that the journal does not know, or a closed campaign that lacks one: lines of the journal are missing.
        RUNS_FOLDER if plan.iter().any(|run| run.id == name) => return (Part::Journal, JOURNAL_FILE.to_owned()),
        PROBES_FOLDER | PREPARED_FOLDER if known() => Part::Once,
        INTERRUPTED_FOLDER if !name.is_empty() => Part::Interrupted,
        _ => Part::Added,
    };
    (part, path)
}

impl Writer<'_> {
    /// Holds everything that is there against its record.
    pub(super) fn flaws(&self, progressed: Progressed<'_>) -> Result<Vec<Mismatch>, Error> {
        Ok(verify::held(&self.folder, progressed)?.flaws)
    }

    /// The error for an archive that does not fit its record. Names every part, or the first ones.
    pub(super) fn unsound(&self, damages: &[Damage]) -> Error {
        let mut lines: Vec<String> = damages.iter().take(PARTS_NAMED).map(ToString::to_string).collect();
        if damages.len() > PARTS_NAMED {
            lines.push(format!("and {} more, `sparkbench verify` lists all", damages.len() - PARTS_NAMED));
        }
        let folder = shown(&self.folder);
        let what = if self.progress.closed {
            format!("'{folder}' was changed after the campaign had been closed")
        } else {
            format!("'{folder}' does not match its record, so it is not sealed")
        };
        let hint = if damages.iter().all(|damage| damage.part == Part::Added) {
            "move what was added out of the archive, then use --resume. Or use --resume --accept-loss, which moves it \
             aside and records that"
        } else {
            "restore what is named from a copy, then use --resume. Without a copy use --resume --accept-loss. It records \
             the loss, measures lost runs again, and seals with the loss in the seal"
        };
        Error::archive(format!("{what}:\n  - {}", lines.join("\n  - "))).hint(hint)
    }

    /// Makes a campaign that had a seal open again. The journal keeps what the seal was.
    pub(super) fn reopen(&mut self) -> Result<(), Error> {
        let path = self.folder.join(SEAL_FILE);
        let place = fs::symlink_metadata(&path);
        if place.as_ref().is_ok_and(fs::Metadata::is_dir) {
            // What lies in it is somebody's.
            let cause = io::Error::new(io::ErrorKind::InvalidData, "it is a folder, not a file");
            return Err(in_its_place(&path, &cause, "Without a copy move it away and use --resume --accept-loss"));
        }
        let seal = match disk::read_plain(&path) {
            Ok(seal) => Some(seal),
            // A pipe or a link in its place says nothing, and goes.
            Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => None,
            Err(cause) => return Err(self.failed("read", &path, cause)),
        };
        if place.is_err() && !self.progress.closed {
            return Ok(());
        }
        let text = seal.as_ref().filter(|seal| seal.len() <= SEAL_MOST);
        let text = text.and_then(|seal| std::str::from_utf8(seal).ok());
        let event = Event::Reopened {
            seal_sha256: seal.as_deref().map(hash),
            seal: text.map(|text| self.session.mask.text(text.trim_end(), &mut Tally::new())),
        };
        let now = (self.session.clock)();
        self.append(now, &event)?;
        self.remove_seal()
    }

    /// Removes a seal that the journal calls void: a crash came between that line and the removal.
    pub(super) fn remove_void_seal(&self, entries: &[Entry]) -> Result<(), Error> {
        let void = entries.iter().rev().find_map(|entry| match &entry.event {
            Some(Event::Reopened { seal_sha256, .. }) => Some(seal_sha256.as_deref()),
            Some(Event::Closed { .. }) => Some(None),
            _ => None,
        });
        let there = disk::read_plain(&self.folder.join(SEAL_FILE)).ok().map(|seal| hash(&seal));
        if there.is_some() && void.flatten() == there.as_deref() { self.remove_seal() } else { Ok(()) }
    }

    fn remove_seal(&self) -> Result<(), Error> {
        let path = self.folder.join(SEAL_FILE);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(self.failed("remove", &path, cause)),
            _ => disk::sync_folder(&self.folder).map_err(|cause| self.failed("remove", &path, cause)),
        }
    }

    /// Goes on without what does not fit: a line for each part. What is left of a run is set aside by [`Writer::settle`].
    pub(super) fn give_up(&mut self, damages: &[Damage]) -> Result<(), Error> {
        let entries = journal::read(&self.folder)
            .map_err(|cause| self.failed("read the journal of", &self.folder, cause))?
            .entries;
        let mut added: BTreeSet<String> = BTreeSet::new();
        for damage in damages {
            let place = self.folder.join(&damage.path);
            let mut left = Vec::new();
            let files = match damage.part {
                Part::Added => {
                    added.extend(damage.flaws.iter().map(|flaw| flaw.path.clone()));
                    continue;
                }
                Part::Campaign => {
                    self.keep_campaign(&place)?;
                    let file = |sha256: &str| FileHash { path: CAMPAIGN_FILE.into(), sha256: sha256.to_owned() };
                    left.push(file(&self.campaign_sha256));
                    journal::recorded_campaign(&entries).map(file).into_iter().collect()
                }
                Part::Journal | Part::Seal => Vec::new(),
                Part::Run => self.recorded_of_run(damage),
                Part::Once => recorded(&entries, damage),
                Part::Interrupted => {
                    left = self.what_stays(&place)?;
                    recorded(&entries, damage)
                }
            };
            let run = damage.run().map(str::to_owned);
            self.log(Event::Lost { path: damage.path.clone(), run, files, left, why: damage.why() })?;
            let holds = matches!(damage.part, Part::Run | Part::Once | Part::Interrupted);
            if holds && fs::symlink_metadata(&place).is_ok_and(|meta| !meta.is_dir()) {
                // Something else has the name of the folder.
                added.insert(damage.path.clone());
            }
        }
        self.move_away(&added)
    }

    /// Puts what a link in the place of `campaign.json` leads to there itself: a link in an archive verifies as little as it did before.
    fn keep_campaign(&self, place: &Path) -> Result<(), Error> {
        if !fs::symlink_metadata(place).is_ok_and(|meta| meta.is_symlink()) {
            return Ok(());
        }
        disk::read_plain(place)
            .and_then(|bytes| disk::put(&self.folder, CAMPAIGN_FILE, &bytes))
            .map_err(|cause| self.failed("replace the link", place, cause))
    }

    /// Files of a run that do not fit, as they were recorded. Of one whose `run.json` does not fit, that file alone is known.
    fn recorded_of_run(&self, damage: &Damage) -> Vec<FileHash> {
        let Some(id) = damage.run() else { return Vec::new() };
        let failed = self.progress.failed.get(id).map(|failure| &failure.run_sha256);
        let Some(sha256) = self.progress.finished.get(id).or(failed) else { return Vec::new() };
        let own = FileHash { path: RUN_FILE.into(), sha256: sha256.clone() };
        let bytes = disk::read_plain(&self.folder.join(&damage.path).join(RUN_FILE)).ok();
        let listed = bytes.filter(|bytes| hash(bytes) == *sha256);
        let listed = listed.and_then(|bytes| serde_json::from_slice::<RunWire>(&bytes).ok());
        let listed = listed.map(|run| run.files).unwrap_or_default();
        std::iter::once(own).chain(listed).filter(|file| is_flawed(damage, file)).collect()
    }

    /// Files of a folder that stays where it is. An empty one goes.
    fn what_stays(&self, place: &Path) -> Result<Vec<FileHash>, Error> {
        if !fs::symlink_metadata(place).is_ok_and(|meta| meta.is_dir()) {
            return Ok(Vec::new());
        }
        let files = self.ready(place, None).map_err(|cause| self.failed("look into", place, cause))?.files;
        if files.is_empty() {
            fs::remove_dir(place).map_err(|cause| self.failed("remove", place, cause))?;
        }
        Ok(files)
    }

    /// Moves what nothing lists into a folder of its own below `interrupted/`, and names it in the journal.
    fn move_away(&mut self, paths: &BTreeSet<String>) -> Result<(), Error> {
        if paths.is_empty() {
            return Ok(());
        }
        let Tree { files, folders, others, .. } =
            disk::whole_tree(&self.folder).map_err(|cause| self.failed("look into", &self.folder, cause))?;
        let all = files.into_iter().chain(folders).chain(others.into_iter().map(|(path, _)| path));
        // Folders of the layout are only in the way when they are empty, and those are removed later.
        let chosen: BTreeSet<FileName> = all
            .filter(|path| paths.contains(&path.to_string()) && !FOLDERS.iter().any(|folder| *path == **folder))
            .collect();
        let tops: Vec<&FileName> =
            chosen.iter().filter(|path| !path.above().any(|above| chosen.contains(&above))).collect();
        if tops.is_empty() {
            return Ok(());
        }
        let home = self.folder.join(INTERRUPTED_FOLDER);
        self.make(&home)?;
        let mut number = 1u32;
        while fs::symlink_metadata(home.join(format!("{ADDED}-{number}"))).is_ok() {
            number += 1;
        }
        let to = home.join(format!("{ADDED}-{number}"));
        for path in &tops {
            let (from, to) = (self.folder.join(path), to.join(path));
            fs::create_dir_all(to.parent().unwrap_or(&home))
                .and_then(|()| fs::rename(&from, &to))
                .and_then(|()| disk::sync_folder(from.parent().unwrap_or(&self.folder)))
                .map_err(|cause| self.failed("move away", &from, cause))?;
        }
        let left = self.what_stays(&to)?;
        let named: Vec<String> = tops.iter().take(NAMED).map(ToString::to_string).collect();
        let more = counted(tops.len().saturating_sub(NAMED));
        let why = format!("moved there because nothing lists it: {}{more}", named.join(", "));
        self.log(Event::Lost { path: self.below(&to), run: None, files: Vec::new(), left, why })
    }
}

/// Files of a folder that do not fit, as the last line about that folder recorded them.
fn recorded(entries: &[Entry], damage: &Damage) -> Vec<FileHash> {
    let listed = entries.iter().rev().find_map(|entry| match &entry.event {
        Some(
            Event::Probed { folder, files, .. }
            | Event::Prepared { folder, files, .. }
            | Event::Interrupted { folder, files, .. },
        ) if *folder == damage.path => Some(files),
        Some(Event::Lost { path, left, .. }) if *path == damage.path => Some(left),
        _ => None,
    });
    listed.into_iter().flatten().filter(|file| is_flawed(damage, file)).cloned().collect()
}

fn is_flawed(damage: &Damage, file: &FileHash) -> bool {
    let path = format!("{}/{}", damage.path, file.path);
    damage.flaws.iter().any(|flaw| flaw.path == path || flaw.path == damage.path && flaw.kind == Kind::Missing)
}
