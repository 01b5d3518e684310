//! Finishes a run: filtered, masked, hashed, on disk, renamed, and only then in the journal.
//!
//! In:  the folder of [`Writer::begin`], the content of `run.json`.  Out: the folder under its final name.
//! Not here: judging the run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Extra, Writer, aside};
use crate::disk::{self, Tree};
use crate::journal::Event;
use crate::manifest::{DroppedWire, FileHash, PackedWire, RUN_FILE, RUN_SCHEMA, RunWire};
use crate::read::hash;
use crate::retain::moved;
use crate::{FileName, Tally};
use sparkbench_text::error::Error;

/// A run that is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Its folder. Absolute.
    pub folder: PathBuf,
    /// Content of its `run.json`.
    pub run: RunWire,
    /// Files that are no text and in which secrets were overwritten.
    pub blotted: Vec<String>,
}

/// A folder made ready to be archived.
pub(super) struct Ready {
    pub files: Vec<FileHash>,
    pub dropped: Vec<DroppedWire>,
    pub masked: Tally,
    pub blotted: Vec<String>,
    pub not_searched: Vec<PackedWire>,
}

impl Writer<'_> {
    /// Finishes a run, done or failed by [`RunWire::failure`]. Fills in its schema, id, files, what was dropped and masked, and how often
    /// it was interrupted before.
    ///
    /// # Errors
    /// When a step cannot be made. The folder then lies where it was, and `--resume` sets it aside.
    pub fn finish(&mut self, id: &str, run: RunWire) -> Result<Finished, Error> {
        self.expect_open(id)?;
        self.expect_there()?;
        let part = aside(&self.runs(), id);
        let stopped = |cause| self.failed("finish the run in", &part, cause);
        let ready = self.ready(&part, Some(RUN_FILE)).map_err(stopped)?;
        let mut run = self.session.mask.run(run)?;
        RUN_SCHEMA.clone_into(&mut run.schema);
        run.id = Some(id.to_owned());
        run.interrupted_before = self.progress.interrupted.get(id).copied().unwrap_or(0);
        run.files = ready.files;
        run.dropped = ready.dropped;
        run.not_searched = ready.not_searched;
        ready.masked.into_iter().for_each(|(kind, times)| *run.masked.entry(kind).or_default() += times);
        let mut bytes = serde_json::to_vec_pretty(&run).map_err(|cause| stopped(cause.into()))?;
        bytes.push(b'\n');
        disk::put(&part, RUN_FILE, &bytes).map_err(stopped)?;
        let folder = self.settle_name(&part, &self.runs(), id)?;
        let (run_id, run_sha256) = (id.to_owned(), hash(&bytes));
        self.log(match &run.failure {
            None => Event::Finished { run: run_id, run_sha256 },
            Some(why) => Event::Failed { run: run_id, run_sha256, why: why.clone() },
        })?;
        Ok(Finished { folder, run, blotted: ready.blotted })
    }

    /// Finishes something that is made once. Gives its folder.
    ///
    /// # Errors
    /// When a step fails. `--resume` repeats it.
    pub fn finish_extra(&mut self, extra: &Extra) -> Result<PathBuf, Error> {
        let (parent, name) = self.place_of(extra);
        let part = aside(&parent, &name);
        let files = self.ready(&part, None).map_err(|cause| self.failed("finish", &part, cause))?.files;
        let path = self.settle_name(&part, &parent, &name)?;
        let folder = self.below(&path);
        self.log(match extra.clone() {
            Extra::Probe { environment, workload } => Event::Probed { environment, workload, folder, files },
            Extra::Prepared { workload, model } => Event::Prepared { workload, model, folder, files },
        })?;
        Ok(path)
    }

    /// Leaves out what is not kept, masks, hashes, and puts everything below a folder on disk. `but` is a file that is written later.
    pub(super) fn ready(&self, folder: &Path, but: Option<&str>) -> io::Result<Ready> {
        let mut dropped = self.session.retention.apply(folder)?;
        let mut masked = Tally::new();
        let swept = self.session.mask.folder(folder, &mut masked)?;
        if let Some(path) = swept.unread.first() {
            // It may hold a secret, so it cannot go in as it is.
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("'{path}' may not be rewritten by this user"),
            ));
        }
        let not_searched =
            swept.packed.into_iter().map(|(path, form)| PackedWire { path, form: form.to_owned() }).collect();
        for wire in &mut dropped {
            // Nothing was left to be counted of them. Their names and reasons are masked all the same.
            wire.path = FileName::new(self.session.mask.bytes(wire.path.as_bytes(), &mut Tally::new()));
            wire.why = self.session.mask.text(&wire.why, &mut Tally::new());
        }
        dropped.extend(swept.moved.into_iter().map(moved));
        self.session.retention.pack(folder)?;
        let Tree { files, folders, .. } = disk::tree(folder)?;
        let mut hashes = Vec::with_capacity(files.len());
        for path in files.into_iter().filter(|path| but.is_none_or(|but| *path != *but)) {
            let file = folder.join(&path);
            disk::sync_file(&file)?;
            hashes.push(FileHash { sha256: disk::sha256_of(&file)?.0, path });
        }
        hashes.sort_by(|a, b| a.path.cmp(&b.path));
        for inner in folders.iter().rev() {
            disk::sync_folder(&folder.join(inner))?;
        }
        disk::sync_folder(folder)?;
        Ok(Ready { files: hashes, dropped, masked, blotted: swept.blotted, not_searched })
    }

    /// Gives a finished folder its final name, and puts the name on disk.
    pub(super) fn settle_name(&self, part: &Path, parent: &Path, name: &str) -> Result<PathBuf, Error> {
        let folder = parent.join(name);
        fs::rename(part, &folder)
            .and_then(|()| disk::sync_folder(parent))
            .and_then(|()| part.parent().filter(|from| *from != parent).map_or(Ok(()), disk::sync_folder))
            .map_err(|cause| self.failed("name the folder", &folder, cause))?;
        Ok(folder)
    }

    /// A path below the archive, with `/`.
    pub(super) fn below(&self, path: &Path) -> String {
        let parts = path.strip_prefix(&self.folder).unwrap_or(path).components();
        parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
    }
}
