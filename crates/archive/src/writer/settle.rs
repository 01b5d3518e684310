//! Cleans up an archive after a crash: complete runs are adopted, everything else is set aside. Nothing is lost.
//!
//! In:  folders without a line in the journal.  Out: lines for them.
//! Not here: processes, mounts and containers of the crashed run, which must have ended by now (see `host`, `env`).

use std::fs;
use std::path::Path;

use super::{Extra, Writer, aside};
use crate::journal::{self, Event};
use crate::manifest::{FOLDERS, INTERRUPTED_FOLDER, PARENTS, RUN_FILE, RUNS_FOLDER, RunWire, unfinished};
use crate::read::hash;
use crate::{FileName, disk};
use sparkbench_text::error::Error;

const CRASHED: &str = "the collector ended while it was in flight";
const UNNAMED: &str = "the collector ended before the journal could name it";
const LOST: &str = "its result was lost";
/// Longest name of a folder in `interrupted/` without its number, bytes. Linux takes 255.
const SHORT: usize = 240;

impl Writer<'_> {
    /// Sets aside everything that was begun and did not end, reports its place, and records the state of the campaign. Called once after
    /// [`Writer::resume`], when nothing can write to those folders any more.
    ///
    /// # Errors
    /// When something cannot be masked or moved. It can be tried again.
    pub fn settle(&mut self) -> Result<Vec<String>, Error> {
        if self.progress.closed || !self.unsettled {
            return Ok(Vec::new());
        }
        let mut said = Vec::new();
        for (parent, name) in self.leftovers()? {
            let (run, why) = match name.text().and_then(unfinished) {
                Some(inner) => (inner.to_owned(), CRASHED),
                None if self.progress.lost.contains_key(&name.to_string()) => (name.to_string(), LOST),
                None => (name.to_string(), UNNAMED),
            };
            let run = if parent == RUNS_FOLDER { run } else { format!("{parent}/{run}") };
            let from = self.folder.join(parent).join(&name);
            said.push(format!("{} is in {}", run, self.set_aside(&run, &from, why)?));
        }
        self.name_the_nameless()?;
        for parent in FOLDERS {
            // Made for something that a crash prevented. Only an empty folder can be removed so.
            let _ = fs::remove_dir(self.folder.join(parent));
        }
        self.unsettled = false;
        let count = |n: usize| n as u64;
        let progress = &self.progress;
        let resumed = Event::Resumed {
            finished: count(progress.finished.len()),
            failed: count(progress.failed.len()),
            interrupted: progress.interrupted.values().map(|times| u64::from(*times)).sum(),
            left: count(progress.left(&self.plan).len()),
        };
        self.log(resumed)?;
        Ok(said)
    }

    /// Sets a run aside that was begun by this collector and will not end. Says where it lies, below the archive.
    ///
    /// # Errors
    /// When it cannot be masked or moved. `--resume` tries again.
    pub fn interrupt(&mut self, id: &str, why: &str) -> Result<String, Error> {
        self.set_aside(id, &aside(&self.runs(), id), why)
    }

    /// Likewise for something that is made once.
    ///
    /// # Errors
    /// Like [`Writer::interrupt`].
    pub fn interrupt_extra(&mut self, extra: &Extra, why: &str) -> Result<String, Error> {
        let (parent, name) = self.place_of(extra);
        let run = self.below(&parent.join(&name));
        self.set_aside(&run, &aside(&parent, &name), why)
    }

    /// Folders without an outcome: hidden ones, and named ones of which the journal does not know. No crash leaves a run under its name that
    /// was not begun last. So such a folder stays, and the archive is not sealed with it.
    fn leftovers(&self) -> Result<Vec<(&'static str, FileName)>, Error> {
        let known: Vec<&str> =
            self.progress.probed.values().chain(self.progress.prepared.values()).map(String::as_str).collect();
        let mut found = Vec::new();
        for parent in PARENTS {
            for name in self.names(&self.folder.join(parent))? {
                let complete = name.text().is_some_and(|name| match parent {
                    RUNS_FOLDER => self.progress.is_complete(name),
                    _ => known.contains(&format!("{parent}/{name}").as_str()),
                });
                let hidden = name.text().and_then(unfinished).is_some();
                let ours = hidden || parent != RUNS_FOLDER || self.gives_up || self.was_begun(&name.to_string());
                let place = self.folder.join(parent).join(&name);
                if !complete && ours && is_folder(&place) {
                    found.push((parent, name));
                }
            }
        }
        Ok(found)
    }

    /// Whether a run without an outcome can have left a folder under its name: it was begun last, or its result was lost.
    fn was_begun(&self, id: &str) -> bool {
        self.progress.in_flight.as_deref() == Some(id) || self.progress.lost.contains_key(id)
    }

    fn names(&self, folder: &Path) -> Result<Vec<FileName>, Error> {
        let listed = match fs::read_dir(folder) {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.and_then(Iterator::collect::<std::io::Result<Vec<_>>>),
        };
        let entries = listed.map_err(|cause| self.failed("look into", folder, cause))?;
        let mut names: Vec<FileName> =
            entries.iter().map(|entry| FileName::new(entry.file_name().as_encoded_bytes())).collect();
        names.sort();
        Ok(names)
    }

    fn set_aside(&mut self, run: &str, from: &Path, why: &str) -> Result<String, Error> {
        let ready = self.ready(from, None).map_err(|cause| self.failed("set aside", from, cause))?;
        let home = self.folder.join(INTERRUPTED_FOLDER);
        self.make(&home)?;
        let base = short(&run.replace('/', "-"));
        let mut number = self.progress.interrupted.get(run).copied().unwrap_or(0) + 1;
        while home.join(format!("{base}-{number}")).exists() {
            number += 1;
        }
        let path = self.settle_name(from, &home, &format!("{base}-{number}"))?;
        let folder = self.below(&path);
        let why = why.to_owned();
        self.log(Event::Interrupted {
            run: run.to_owned(),
            folder: folder.clone(),
            files: ready.files,
            dropped: ready.dropped,
            why,
        })?;
        Ok(folder)
    }

    /// A crash between moving a folder and its line leaves a folder in `interrupted/` that the journal does not know.
    fn name_the_nameless(&mut self) -> Result<(), Error> {
        let home = self.folder.join(INTERRUPTED_FOLDER);
        let entries = journal::read(&self.folder)
            .map_err(|cause| self.failed("read the journal of", &self.folder, cause))?
            .entries;
        let known: Vec<&str> = entries
            .iter()
            .filter_map(|entry| match &entry.event {
                Some(Event::Interrupted { folder, .. }) => Some(folder.as_str()),
                Some(Event::Lost { path, .. }) => Some(path.as_str()),
                _ => None,
            })
            .collect();
        for name in self.names(&home)?.into_iter().filter(|name| is_folder(&home.join(name))) {
            let name = self.as_text(&home, &name)?;
            let folder = format!("{INTERRUPTED_FOLDER}/{name}");
            if known.contains(&folder.as_str()) {
                continue;
            }
            let path = home.join(&name);
            let ready = self.ready(&path, None).map_err(|cause| self.failed("look into", &path, cause))?;
            let base = name.rsplit_once('-').map_or(name.as_str(), |(base, _)| base);
            let of_extra = PARENTS
                .iter()
                .find_map(|parent| Some(format!("{parent}/{}", base.strip_prefix(parent)?.strip_prefix('-')?)));
            let run = if self.plan.iter().any(|run| run.id == base) {
                base.to_owned()
            } else {
                of_extra.unwrap_or_else(|| base.to_owned())
            };
            let why = CRASHED.to_owned();
            self.log(Event::Interrupted { run, folder, files: ready.files, dropped: ready.dropped, why })?;
        }
        Ok(())
    }

    /// The name of a folder as text, under which the journal can list it. One that is no UTF-8 is none of ours. It is renamed to what is shown
    /// of it.
    fn as_text(&self, home: &Path, name: &FileName) -> Result<String, Error> {
        if let Some(text) = name.text() {
            return Ok(text.to_owned());
        }
        let base = short(&name.to_string());
        let mut number = 1u32;
        while fs::symlink_metadata(home.join(format!("{base}-{number}"))).is_ok() {
            number += 1;
        }
        let text = format!("{base}-{number}");
        let from = home.join(name);
        fs::rename(&from, home.join(&text)).map_err(|cause| self.failed("rename", &from, cause))?;
        Ok(text)
    }

    /// The run begun last, under its final name without a line: complete, when every hash says so. Where lines of the journal were given up,
    /// so is every other planned run. One whose result was lost is not.
    pub(super) fn adopt(&mut self) -> Result<(), Error> {
        let runs = self.runs();
        let names = self.names(&runs)?;
        for id in names.iter().filter_map(|name| name.text()).map(str::to_owned) {
            let in_flight = self.progress.in_flight.as_ref() == Some(&id);
            let planned = self.plan.iter().any(|run| run.id == id);
            let given_up = self.gives_up && planned && !self.progress.lost.contains_key(&id);
            if self.progress.is_complete(&id) || !(in_flight || given_up) {
                continue;
            }
            if let Some((run_sha256, why)) = whole(&runs.join(&id), &id) {
                self.log(Event::Adopted { run: id, run_sha256, why })?;
            }
        }
        Ok(())
    }
}

/// Whether it is a folder itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// A name that leaves room for a number behind it. Ids of runs are shorter. What somebody else put there can have any length.
fn short(name: &str) -> String {
    let mut end = name.len().min(SHORT);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or(name).to_owned()
}

/// Hash of `run.json` and why the run failed, when the folder holds exactly what it says.
fn whole(folder: &Path, id: &str) -> Option<(String, Option<String>)> {
    let bytes = disk::read_plain(&folder.join(RUN_FILE)).ok()?;
    let run: RunWire = serde_json::from_slice(&bytes).ok()?;
    let tree = disk::tree(folder).ok()?;
    let own = FileName::from(RUN_FILE);
    let mut expected: Vec<&FileName> = run.files.iter().map(|file| &file.path).chain([&own]).collect();
    expected.sort_unstable();
    let mut files: Vec<&FileName> = tree.files.iter().collect();
    files.sort_unstable();
    let same = run.id.as_deref() == Some(id) && expected == files && tree.others.is_empty() && tree.deep.is_empty();
    let fits = |file: &crate::manifest::FileHash| {
        disk::sha256_of(&folder.join(&file.path)).is_ok_and(|(sha256, _)| sha256 == file.sha256)
    };
    (same && run.files.iter().all(fits)).then(|| (hash(&bytes), run.failure))
}
