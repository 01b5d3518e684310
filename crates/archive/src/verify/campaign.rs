//! An archive of a campaign against its own records.
//!
//! In:  the folder.  Out: flaws.
//! Not here: sites.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::expected::Expected;
use super::findings::{Kind, Mismatch, Progressed, Remedy, Verified};
use crate::discover::WRITTEN_FILES;
use crate::disk::{self, Tree, is_aside};
use crate::journal::{self, Event, Journal, Tail};
use crate::manifest::{
    CAMPAIGN_FILE, CAMPAIGN_SCHEMA, CampaignWire, FOLDERS, FileHash, INTERRUPTED_FOLDER, JOURNAL_FILE, OF_THE_DISK,
    PARENTS, PREPARED_FOLDER, PROBES_FOLDER, RUN_FILE, RUNS_FOLDER, RunWire, SEAL_FILE, unfinished,
};
use crate::{FileName, Progress, shown};
use sparkbench_text::error::Error;

/// State during the verification of an archive.
pub(super) struct Look<'a> {
    pub(super) folder: &'a Path,
    pub(super) journal: Journal,
    /// Why the journal could not be read.
    unread: Option<ErrorKind>,
    pub(super) progress: Progress,
    tree: Tree,
    pub(super) expected: Expected,
    pub(super) verified: Verified,
    pub(super) running: bool,
}

/// Verifies an archive. `running` says that a collector is at work on it.
pub(super) fn verify(folder: &Path, running: bool, progressed: Progressed<'_>) -> Result<Verified, Error> {
    verify_as(folder, running, Expected::default(), progressed)
}

/// The same where `expected` knows of hashes that others have taken.
pub(super) fn verify_as(
    folder: &Path,
    running: bool,
    expected: Expected,
    progressed: Progressed<'_>,
) -> Result<Verified, Error> {
    let listed = |cause| Error::archive(format!("cannot list '{}'", shown(folder))).because(cause);
    let mut verified = Verified::default();
    let mut unread = None;
    let journal = journal::read(folder).unwrap_or_else(|cause| {
        let flaw = match cause.kind() {
            ErrorKind::NotFound => Some((Kind::Missing, "it was written, but is missing".to_owned())),
            // What is there in its place is named with the other files.
            ErrorKind::InvalidData => None,
            _ => Some((Kind::Unreadable, cause.to_string())),
        };
        verified.flaws.extend(flaw.map(|(kind, what)| {
            let begun = kind == Kind::Missing && is_just_begun(folder);
            let flaw = Mismatch::new(JOURNAL_FILE, kind, what);
            if begun { flaw.mended_by(Remedy::Resume) } else { flaw }
        }));
        unread = Some(cause.kind());
        journal::scan(&[])
    });
    let mut tree = disk::whole_tree(folder).map_err(listed)?;
    let theirs = of_version_control(&mut tree);
    let progress = Progress::of(&journal.entries);
    let mut look = Look { folder, journal, unread, progress, tree, expected, verified, running };
    if running {
        look.pass_over_what_moves();
    }
    look.journal();
    let plan = look.campaign();
    look.runs();
    look.folders_in_the_journal();
    look.outcomes(plan.as_ref());
    look.seal();
    // Written when the campaign is over, and corrected as often as need be.
    for written in [STUDY].into_iter().chain(WRITTEN_FILES) {
        if look.tree.files.iter().any(|file| *file == written) {
            look.expected.checked(written);
            look.verified
                .notes
                .push(format!("'{written}' is text of the authors, so no hash of the archive covers it"));
        }
    }
    let by_version_control =
        |name: &FileName| format!("'{name}' belongs to version control, so no hash of the archive covers it");
    look.verified.notes.extend(theirs.iter().map(by_version_control));
    let is_blind = look.is_blind();
    let Look { tree, expected, mut verified, progress, .. } = look;
    verified.lost.clone_from(&progress.losses);
    let extra = |path: &FileName| {
        let (what, remedy) = extra(folder, path, &progress);
        // A damaged journal does not list everything that was written. So what it does not list may belong there.
        let may_belong = is_blind && remedy == Remedy::Remove && is_in(path, &FOLDERS);
        (what, if may_belong { Remedy::Restore } else { remedy })
    };
    expected.hold(folder, &tree, &extra, &mut verified, progressed);
    name_what_is_in_the_way(&tree, &mut verified.flaws);
    if plan.is_none() {
        for flaw in verified.flaws.iter_mut().filter(|flaw| flaw.path == CAMPAIGN_FILE) {
            flaw.remedy = Remedy::Copy;
        }
    }
    Ok(verified)
}

/// Names what stands in the place of a folder of the layout, of the journal or of the seal. Neither `--resume` nor `--accept-loss` goes on with
/// it: a link would lead what is moved and measured out of the archive, and in a folder lies what is somebody's.
fn name_what_is_in_the_way(tree: &Tree, flaws: &mut Vec<Mismatch>) {
    let other = |name: &str| tree.others.iter().find(|(path, _)| *path == name).map(|(_, what)| what.clone());
    for name in FOLDERS {
        let file = || tree.files.iter().any(|path| *path == name).then(|| "a file".to_owned());
        let Some(what) = other(name).or_else(file) else { continue };
        flaws.retain(|flaw| flaw.path != name);
        let what = format!("it is {what}, but a folder belongs here");
        flaws.push(Mismatch::new(name, Kind::Changed, what).mended_by(Remedy::Replace));
    }
    let is_folder = |name: &str| tree.folders.iter().any(|path| *path == name);
    // A link in the place of the seal is removed.
    let odd =
        [(JOURNAL_FILE, other(JOURNAL_FILE).is_some() || is_folder(JOURNAL_FILE)), (SEAL_FILE, is_folder(SEAL_FILE))];
    for (name, _) in odd.into_iter().filter(|(_, is_odd)| *is_odd) {
        flaws.iter_mut().filter(|flaw| flaw.path == name).for_each(|flaw| flaw.remedy = Remedy::Replace);
    }
}

/// Names at the top of an archive that belong to the version control of its owner, or to the disk.
const VERSION_CONTROL: [&str; 5] = [".git", ".gitattributes", ".gitignore", ".gitmodules", OF_THE_DISK];

/// Takes out of a list what version control keeps beside an archive. Says the names at the top.
fn of_version_control(tree: &mut Tree) -> BTreeSet<FileName> {
    let mut found = BTreeSet::new();
    let mut keep = |path: &FileName| {
        let is_theirs = is_in(path, &VERSION_CONTROL);
        if is_theirs {
            found.insert(path.above().next().unwrap_or_else(|| path.clone()));
        }
        !is_theirs
    };
    tree.files.retain(&mut keep);
    tree.folders.retain(&mut keep);
    tree.others.retain(|(path, _)| keep(path));
    tree.mounted.retain(|(path, _)| keep(path));
    tree.deep.retain(&mut keep);
    found
}

/// Whether a path is one of the names at the top, or lies below it.
fn is_in(path: &FileName, tops: &[&str]) -> bool {
    let top = path.as_bytes().split(|byte| *byte == b'/').next().unwrap_or_default();
    tops.iter().any(|name| name.as_bytes() == top)
}

/// Whether there is nothing beside the file of the campaign and its journal: a crash before the first whole line leaves no more.
fn is_just_begun(folder: &Path) -> bool {
    !FOLDERS.into_iter().chain([SEAL_FILE]).any(|name| folder.join(name).exists())
}

/// The authors' text beside a campaign (see `docs/study.md`).
const STUDY: &str = "study.md";

/// Why an unlisted file or folder may be there, and what mends it. A campaign that is closed goes on no more, so nothing in it can be the rest
/// of a crash.
fn extra(folder: &Path, path: &FileName, progress: &Progress) -> (String, Remedy) {
    let shown = path.to_string();
    let parts: Vec<&str> = shown.split('/').collect();
    let unlisted = || ("nothing in the archive lists it".to_owned(), Remedy::Remove);
    let resume = |what: &str| (what.to_owned(), Remedy::Resume);
    // Where a folder is expected, a file is none of ours.
    let in_a_folder = parts.len() > 2 || fs::symlink_metadata(folder.join(path)).is_ok_and(|meta| meta.is_dir());
    match parts.as_slice() {
        [name] if is_aside(name) && !in_a_folder => resume("left by an earlier collector, --resume removes it"),
        _ if progress.closed => unlisted(),
        [parent] if FOLDERS.contains(parent) => {
            resume("nothing in it is listed yet, --resume removes it where it is empty")
        }
        [parent, name, ..] if PARENTS.contains(parent) && unfinished(name).is_some() && in_a_folder => {
            resume("left by an earlier collector, --resume sets it aside")
        }
        [RUNS_FOLDER, id, ..] if progress.is_complete(id) => (format!("{RUN_FILE} does not list it"), Remedy::Remove),
        [RUNS_FOLDER, id, ..] if in_a_folder => {
            if progress.in_flight.as_deref() == Some(*id) || progress.lost.contains_key(*id) {
                resume("the journal does not list this run, --resume adopts it if it is complete")
            } else {
                ("the journal has no line that this run was begun".to_owned(), Remedy::Remove)
            }
        }
        [PROBES_FOLDER | PREPARED_FOLDER, ..] if in_a_folder && !is_listed(&parts, progress) => {
            resume("the journal does not list it, --resume sets it aside")
        }
        [INTERRUPTED_FOLDER, name, ..]
            if in_a_folder && !progress.set_aside.contains(&format!("{INTERRUPTED_FOLDER}/{name}")) =>
        {
            resume("the journal does not list it, --resume does")
        }
        [INTERRUPTED_FOLDER, ..] => ("the journal does not list it".to_owned(), Remedy::Remove),
        _ => unlisted(),
    }
}

/// Whether the journal lists the folder that a path is in, two names deep.
fn is_listed(parts: &[&str], progress: &Progress) -> bool {
    let folder = parts.get(..2).unwrap_or(parts).join("/");
    progress.probed.values().chain(progress.prepared.values()).any(|known| *known == folder)
}

impl Look<'_> {
    pub(super) fn flaw(&mut self, path: impl Into<String>, kind: Kind, what: impl Into<String>) {
        self.verified.flaws.push(Mismatch::new(path, kind, what));
    }

    /// While a collector works, parts that it is about to change cannot be checked. Everything else can.
    fn pass_over_what_moves(&mut self) {
        let later = journal::read(self.folder).map(|journal| Progress::of(&journal.entries)).unwrap_or_default();
        let mut busy: BTreeSet<String> =
            [&self.progress, &later].into_iter().filter_map(|p| p.in_flight.clone()).collect();
        let names = |progress: &Progress| {
            let mut names: BTreeSet<String> = progress.finished.keys().chain(progress.failed.keys()).cloned().collect();
            names.extend(progress.interrupted.iter().map(|(run, times)| format!("{run}\0{times}")));
            names
        };
        let before = names(&self.progress);
        busy.extend(
            names(&later).difference(&before).map(|name| name.split('\0').next().unwrap_or_default().to_owned()),
        );
        // A run whose folder has its name already and whose line is about to come is the one begun last.
        for run in &busy {
            self.expected.pass_over(format!("{RUNS_FOLDER}/{run}/"));
            self.expected.pass_over(format!("{INTERRUPTED_FOLDER}/{}-", run.replace('/', "-")));
            self.verified.notes.push(format!("'{run}' is in flight and was skipped"));
        }
        // Names of other bytes are in no folder of ours that moves.
        let paths: Vec<String> = self
            .tree
            .folders
            .iter()
            .chain(&self.tree.files)
            .filter_map(|path| path.text())
            .map(str::to_owned)
            .collect();
        for path in paths {
            let parts: Vec<&str> = path.split('/').collect();
            match parts.as_slice() {
                [RUNS_FOLDER, name] if busy.contains(*name) => self.expected.pass_over(path),
                [parent, name] if PARENTS.contains(parent) && unfinished(name).is_some() => {
                    self.expected.pass_over(path)
                }
                [PROBES_FOLDER | PREPARED_FOLDER, _] if !self.known_extra(&path) => self.expected.pass_over(path),
                [name] if is_aside(name) || *name == SEAL_FILE => self.expected.pass_over(path),
                [PROBES_FOLDER | PREPARED_FOLDER | RUNS_FOLDER | INTERRUPTED_FOLDER] => self.expected.may_be(path),
                _ => {}
            }
        }
    }

    fn known_extra(&self, path: &str) -> bool {
        self.progress.probed.values().chain(self.progress.prepared.values()).any(|folder| folder == path)
    }

    /// The journal itself. What it says comes later.
    fn journal(&mut self) {
        if self.unread != Some(ErrorKind::NotFound) {
            self.expected.checked(JOURNAL_FILE);
        }
        if self.unread.is_none() {
            self.verified.files += 1;
            self.verified.bytes += self.journal.bytes;
        }
        match self.journal.tail.clone() {
            Tail::Whole => {}
            Tail::Torn { line, .. } if self.progress.closed && !self.running => {
                self.flaw(JOURNAL_FILE, Kind::Changed, format!("line {line} was added after the campaign was closed"))
            }
            Tail::Unended => {
                self.verified.notes.push(format!("the last line of {JOURNAL_FILE} has no end, --resume adds it"))
            }
            Tail::Torn { line, bytes, ended: false, .. } => self.verified.notes.push(format!(
                "line {line} of {JOURNAL_FILE} is incomplete after {bytes} bytes, as after a crash, --resume closes it"
            )),
            Tail::Torn { line, bytes, .. } => {
                let what = format!("from line {line} on, {bytes} bytes are not lines of a journal");
                let flaw = Mismatch::new(JOURNAL_FILE, Kind::Changed, what);
                self.verified.flaws.push(flaw.mended_by(Remedy::Resume));
            }
            Tail::Damaged { line, why } => self.flaw(JOURNAL_FILE, Kind::Changed, format!("line {line}: {why}")),
        }
        let unknown: Vec<String> = self
            .journal
            .entries
            .iter()
            .filter(|entry| entry.event.is_none())
            .map(|entry| {
                format!("line {} of {JOURNAL_FILE}: '{}' is not known to this version", entry.line, entry.name)
            })
            .collect();
        self.verified.notes.extend(unknown);
        if let Some(after) = self.added_after_the_end() {
            self.flaw(
                JOURNAL_FILE,
                Kind::Contradiction,
                format!("line {after} was added after the campaign was closed"),
            );
        }
    }

    /// The line after the end of the campaign, where it was not reopened. Lines before an accepted loss of the journal say nothing any more.
    fn added_after_the_end(&self) -> Option<u64> {
        let (mut closed, mut added) = (false, None);
        for entry in &self.journal.entries {
            match &entry.event {
                Some(Event::Reopened { .. }) => closed = false,
                Some(Event::Lost { path, .. }) if path == JOURNAL_FILE => added = None,
                _ if closed => added = added.or(Some(entry.line)),
                _ => {}
            }
            closed |= matches!(entry.event, Some(Event::Closed { .. }));
        }
        added
    }

    /// `campaign.json` against the line that recorded it.
    fn campaign(&mut self) -> Option<CampaignWire> {
        match journal::recorded_campaign(&self.journal.entries) {
            Some(sha256) => self.expected.file(CAMPAIGN_FILE, sha256),
            None => {
                self.expected.checked(CAMPAIGN_FILE);
                let what = match self.journal.bytes {
                    // Also where it was removed and a collector has begun it anew.
                    0 => "no line of it is left".to_owned(),
                    _ => format!("it has no line with the hash of {CAMPAIGN_FILE}"),
                };
                let flaw = Mismatch::new(JOURNAL_FILE, Kind::Missing, what);
                // The first line is written again where a crash tore it.
                let begun = self.journal.entries.is_empty() && is_just_begun(self.folder);
                // Of a journal that could not be read the reason is told.
                let flaw = self.unread.is_none().then_some(flaw);
                self.verified.flaws.extend(flaw.map(|flaw| if begun { flaw.mended_by(Remedy::Resume) } else { flaw }));
            }
        }
        let campaign: CampaignWire = serde_json::from_slice(&disk::read_plain(&self.folder.join(CAMPAIGN_FILE)).ok()?)
            .map_err(|cause| self.flaw(CAMPAIGN_FILE, Kind::Unreadable, cause.to_string()))
            .ok()?;
        if campaign.schema != CAMPAIGN_SCHEMA {
            let what = format!("schema \"{}\" is not known to this version, \"{CAMPAIGN_SCHEMA}\" is", campaign.schema);
            self.flaw(CAMPAIGN_FILE, Kind::Unreadable, what);
        }
        Some(campaign)
    }

    /// Whether lines of the journal are lost. What a crash left of one is not.
    fn is_blind(&self) -> bool {
        let is_lost = |flaw: &Mismatch| {
            let kind = matches!(flaw.kind, Kind::Changed | Kind::Missing | Kind::Unreadable);
            kind && flaw.path == JOURNAL_FILE && flaw.remedy == Remedy::Restore
        };
        self.unread.is_some_and(|kind| kind != ErrorKind::NotFound) || self.verified.flaws.iter().any(is_lost)
    }

    /// Every `run.json` against the journal, and what it says of the files beside it.
    fn runs(&mut self) {
        let complete: BTreeMap<String, String> = self
            .progress
            .finished
            .iter()
            .map(|(id, sha256)| (id.clone(), sha256.clone()))
            .chain(self.progress.failed.iter().map(|(id, failure)| (id.clone(), failure.run_sha256.clone())))
            .collect();
        for (id, sha256) in complete {
            let folder = format!("{RUNS_FOLDER}/{id}");
            let path = format!("{folder}/{RUN_FILE}");
            self.expected.folder(&folder);
            self.expected.file(&path, &sha256);
            let Ok(bytes) = disk::read_plain(&self.folder.join(&path)) else {
                // Said as missing, changed or unreadable below, unless all of the run is gone. What it lists is then not known.
                continue;
            };
            match serde_json::from_slice::<RunWire>(&bytes) {
                Ok(run) => {
                    self.listed(&folder, &run.files);
                    if run.id.as_deref() != Some(id.as_str()) {
                        let said = run.id.unwrap_or_default();
                        self.flaw(path, Kind::Contradiction, format!("its id is '{said}'"));
                    } else if self.progress.failed.contains_key(&id) != run.failure.is_some() {
                        self.flaw(path, Kind::Contradiction, "it and the journal disagree on whether the run failed");
                    }
                }
                Err(cause) => self.flaw(path, Kind::Unreadable, cause.to_string()),
            }
        }
    }

    fn listed(&mut self, folder: &str, files: &[FileHash]) {
        for file in files {
            // A path that leads elsewhere would have other files hashed in its name.
            if file.path.is_below() {
                self.expected.file(file.path.inside(folder), &file.sha256);
            } else {
                self.flaw(
                    folder,
                    Kind::Contradiction,
                    format!("it lists '{}', which is not a path below it", file.path),
                );
            }
        }
    }

    /// Folders whose files are in the journal itself.
    fn folders_in_the_journal(&mut self) {
        let mut listed = Vec::new();
        for entry in &self.journal.entries {
            match &entry.event {
                Some(Event::Probed { folder, files, .. } | Event::Prepared { folder, files, .. }) => {
                    listed.push((folder.clone(), files.clone()));
                }
                Some(Event::Interrupted { run, folder, files, .. }) => {
                    listed.push((folder.clone(), files.clone()));
                    // What was begun there is gone from there.
                    let parent = run.split_once('/').map_or(RUNS_FOLDER, |(parent, _)| parent);
                    self.expected.may_be(parent);
                }
                Some(Event::Started { .. }) => self.expected.may_be(RUNS_FOLDER),
                Some(Event::Lost { path, left, .. }) => {
                    listed.retain(|(folder, _)| folder != path);
                    let parent = path.split_once('/').map_or(path.as_str(), |(parent, _)| parent);
                    if parent == INTERRUPTED_FOLDER && !left.is_empty() {
                        listed.push((path.clone(), left.clone()));
                    } else if FOLDERS.contains(&parent) {
                        self.expected.may_be(parent);
                    }
                }
                _ => {}
            }
        }
        for (folder, files) in listed {
            self.expected.folder(&folder);
            self.listed(&folder, &files);
        }
    }
}
