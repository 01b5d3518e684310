//! Cleans up an archive after a crash: complete runs are adopted, everything else is set aside. Nothing is lost.
//!
//! In:  folders without a line in the journal.  Out: lines for them.
//! Not here: processes, mounts and containers of the crashed run, which must have ended by now (see `host`, `env`).

use std::fs;
use std::path::Path;

use super::{Extra, FOLDERS, PARENTS, Writer, aside, unfinished};
use crate::archive::disk;
use crate::archive::journal::{self, Event};
use crate::archive::manifest::{INTERRUPTED_FOLDER, RUN_FILE, RUNS_FOLDER, RunWire};
use crate::archive::read::hash;
use crate::error::Error;

const CRASHED: &str = "the collector ended while it was in flight";
const UNNAMED: &str = "the collector ended before the journal could name it";

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
            let (run, why) = match unfinished(&name) {
                Some(inner) => (inner.to_owned(), CRASHED),
                None => (name.clone(), UNNAMED),
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

    /// Folders without an outcome: hidden ones, and named ones of which the journal does not know.
    fn leftovers(&self) -> Result<Vec<(&'static str, String)>, Error> {
        let known: Vec<&str> =
            self.progress.probed.values().chain(self.progress.prepared.values()).map(String::as_str).collect();
        let mut found = Vec::new();
        for parent in PARENTS {
            for name in self.names(&self.folder.join(parent))? {
                let complete = if parent == RUNS_FOLDER {
                    self.progress.is_complete(&name)
                } else {
                    known.contains(&format!("{parent}/{name}").as_str())
                };
                if !complete {
                    found.push((parent, name));
                }
            }
        }
        Ok(found)
    }

    fn names(&self, folder: &Path) -> Result<Vec<String>, Error> {
        let listed = match fs::read_dir(folder) {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.and_then(Iterator::collect::<std::io::Result<Vec<_>>>),
        };
        let entries = listed.map_err(|cause| self.failed("look into", folder, cause))?;
        let mut names: Vec<String> =
            entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    fn set_aside(&mut self, run: &str, from: &Path, why: &str) -> Result<String, Error> {
        let ready = self.ready(from, None).map_err(|cause| self.failed("set aside", from, cause))?;
        let home = self.folder.join(INTERRUPTED_FOLDER);
        self.make(&home)?;
        let base = run.replace('/', "-");
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
                _ => None,
            })
            .collect();
        for name in self.names(&home)? {
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

    /// Runs under their final name without a line: complete, when every hash says so.
    pub(super) fn adopt(&mut self) -> Result<(), Error> {
        let runs = self.runs();
        for id in self.names(&runs)? {
            if unfinished(&id).is_some() || self.progress.is_complete(&id) {
                continue;
            }
            if let Some((run_sha256, why)) = whole(&runs.join(&id), &id) {
                self.log(Event::Adopted { run: id, run_sha256, why })?;
            }
        }
        Ok(())
    }
}

/// Hash of `run.json` and why the run failed, when the folder holds exactly what it says.
fn whole(folder: &Path, id: &str) -> Option<(String, Option<String>)> {
    let bytes = fs::read(folder.join(RUN_FILE)).ok()?;
    let run: RunWire = serde_json::from_slice(&bytes).ok()?;
    let tree = disk::tree(folder).ok()?;
    let mut expected: Vec<&str> = run.files.iter().map(|file| file.path.as_str()).chain([RUN_FILE]).collect();
    expected.sort_unstable();
    let mut files: Vec<&str> = tree.files.iter().map(String::as_str).collect();
    files.sort_unstable();
    let same = run.id.as_deref() == Some(id) && expected == files && tree.others.is_empty();
    let fits = |file: &crate::archive::manifest::FileHash| {
        disk::sha256_of(&folder.join(&file.path)).is_ok_and(|(sha256, _)| sha256 == file.sha256)
    };
    (same && run.files.iter().all(fits)).then(|| (hash(&bytes), run.failure))
}
