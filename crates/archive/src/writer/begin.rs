//! Begins a run, or something that is made once for several runs.
//!
//! In:  ids and labels.  Out: the folder to write to, hidden until it is finished.
//! Not here: what goes into it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Writer, aside};
use crate::disk;
use crate::journal::Event;
use crate::manifest::{PREPARED_FOLDER, PROBES_FOLDER};
use sparkbench_text::error::Error;

/// Something that is made once for several runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extra {
    /// Capabilities of a workload in an environment.
    Probe { environment: String, workload: String },
    /// The input of a workload for a model.
    Prepared { workload: String, model: String },
}

impl Extra {
    /// Folder of its kind, and its own name there.
    fn place(&self) -> (&'static str, String) {
        match self {
            Self::Probe { environment, workload } => (PROBES_FOLDER, format!("{environment}-{workload}")),
            Self::Prepared { workload, model } => (PREPARED_FOLDER, format!("{workload}-{model}")),
        }
    }
}

impl Writer<'_> {
    /// Begins a run: the journal says so, then the folder is made. Absolute.
    ///
    /// # Errors
    /// When the run is not planned or complete already. When it cannot be written.
    pub fn begin(&mut self, id: &str) -> Result<PathBuf, Error> {
        self.expect_settled()?;
        self.expect_open(id)?;
        expect_name(id)?;
        self.log(Event::Started { run: id.to_owned() })?;
        let runs = self.runs();
        self.make(&runs)?;
        self.fresh(&runs, id)
    }

    /// Begins something that is made once. No line is written before it is finished. Absolute.
    ///
    /// # Errors
    /// When it was made already. When it cannot be written.
    pub fn begin_extra(&mut self, extra: &Extra) -> Result<PathBuf, Error> {
        self.expect_settled()?;
        if self.extra(extra).is_some() {
            return Err(Error::archive(format!("'{}/{}' exists already", extra.place().0, extra.place().1))
                .hint("use the existing one"));
        }
        let (parent, name) = self.place_of(extra);
        expect_name(&name)?;
        self.make(&parent)?;
        self.fresh(&parent, &name)
    }

    /// Folder of something that was made once, where it was. Absolute.
    pub fn extra(&self, extra: &Extra) -> Option<PathBuf> {
        let folder = match extra {
            Extra::Probe { environment, workload } => {
                self.progress.probed.get(&(environment.clone(), workload.clone()))
            }
            Extra::Prepared { workload, model } => self.progress.prepared.get(&(workload.clone(), model.clone())),
        };
        folder.map(|folder| self.folder.join(folder))
    }

    /// Two pairs of labels can make one name (`a-b` and `c`, `a` and `b-c`): the later one gets a number.
    pub(super) fn place_of(&self, extra: &Extra) -> (PathBuf, String) {
        let (parent, name) = extra.place();
        let taken = |name: &str| self.folder.join(parent).join(name).exists();
        let mut free = name.clone();
        let mut number = 2u32;
        while taken(&free) {
            free = format!("{name}-{number}");
            number += 1;
        }
        (self.folder.join(parent), free)
    }

    fn fresh(&self, parent: &Path, name: &str) -> Result<PathBuf, Error> {
        let folder = aside(parent, name);
        fs::create_dir(&folder)
            .and_then(|()| disk::sync_folder(parent))
            .map_err(|cause| self.failed("make", &folder, cause))?;
        Ok(folder)
    }
}

/// Names of folders come from labels of a suite, which were checked there. A slip must not reach outside the archive.
fn expect_name(name: &str) -> Result<(), Error> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        return Err(Error::archive(format!("'{name}' cannot be the name of a folder"))
            .hint("use letters, digits, `-` and `_` in labels"));
    }
    Ok(())
}
