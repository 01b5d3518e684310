//! Files beside a suite that travel into each run's own folder.
//!
//! In:  names relative to the suite's folder.  Out: [`Assets`]: names below the run's own folder, and bytes.
//! Not here: putting them there (see `run`).
//!
//! A file keeps its last name, a folder its last name and what is below it: `tools/bench.py` becomes `bench.py`. Links below a
//! folder are not followed. What an asset holds is small, a program or its settings. Models and data sets lie in the environment.

use std::fs;
use std::path::{Component, Path, PathBuf};

use walkdir::WalkDir;

use crate::archive::FileName;
use crate::error::{Error, Kind};
use crate::plan::Reader;

/// Most that the assets of one workload hold together, bytes.
pub(crate) const BYTES_MAX: u64 = 64 << 20;
/// Most files.
pub(crate) const FILES_MAX: usize = 1000;

/// Files by their name below the run's own folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Assets(Vec<(FileName, PathBuf)>);

impl Assets {
    /// Finds what a key names. What is missing, doubled or too large goes to the faults.
    pub(crate) fn read(settings: &mut Reader<'_>, key: &'static str, folder: &Path) -> Self {
        let mut assets = Self::default();
        for name in settings.texts(key) {
            assets.add(settings, key, folder, &name);
        }
        assets
    }

    /// Finds one more.
    pub(crate) fn add(&mut self, settings: &mut Reader<'_>, key: &'static str, folder: &Path, name: &str) {
        match find(&folder.join(name), name) {
            Ok(found) => {
                for (inside, path) in found {
                    if self.0.iter().any(|(taken, _)| *taken == inside) {
                        settings.fault(key, format!("gives \"{inside}\" twice"), "rename one of the two");
                    } else {
                        self.0.push((inside, path));
                    }
                }
            }
            Err((what, remedy)) => settings.fault(key, what, remedy),
        }
        let bytes: u64 = self.0.iter().filter_map(|(_, path)| fs::metadata(path).ok()).map(|meta| meta.len()).sum();
        if bytes > BYTES_MAX || self.0.len() > FILES_MAX {
            let what = format!("holds {} files and {} MiB", self.0.len(), bytes >> 20);
            let remedy = format!(
                "put large files into the environment: at most {FILES_MAX} files and {} MiB can be copied into a run",
                BYTES_MAX >> 20
            );
            settings.fault(key, what, remedy);
        }
    }

    /// The bytes of each.
    ///
    /// # Errors
    /// When a file cannot be read any more.
    pub(crate) fn load(&self) -> Result<Vec<(FileName, Vec<u8>)>, Error> {
        self.0
            .iter()
            .map(|(name, path)| {
                let bytes = fs::read(path).map_err(|cause| {
                    Error::new(Kind::Usage, format!("cannot read the asset '{name}'"))
                        .hint("keep the file in place while the campaign runs: it was there when the suite was read")
                        .because(cause)
                })?;
                Ok((name.clone(), bytes))
            })
            .collect()
    }
}

type Found = Result<Vec<(FileName, PathBuf)>, (String, String)>;

fn find(path: &Path, name: &str) -> Found {
    let inside = match Path::new(name).components().next_back() {
        Some(Component::Normal(last)) => last.to_str().map(str::to_owned),
        _ => None,
    };
    let Some(inside) = inside.filter(|_| !Path::new(name).is_absolute()) else {
        return Err((
            format!("names \"{name}\""),
            "name a file or a folder beside the suite, e.g. \"bench.py\"".to_owned(),
        ));
    };
    let missing = |cause: &dyn std::fmt::Display| {
        (
            format!("names \"{name}\", which cannot be read: {cause}"),
            "put it beside the suite, or correct the name".to_owned(),
        )
    };
    let meta = fs::metadata(path).map_err(|cause| missing(&cause))?;
    if meta.is_file() {
        return Ok(vec![(inside.into(), path.to_owned())]);
    }
    let mut files = Vec::new();
    for entry in WalkDir::new(path).sort_by_file_name() {
        let entry = entry.map_err(|cause| missing(&cause))?;
        if !entry.file_type().is_file() {
            continue;
        }
        files.push((FileName::below(path, entry.path()).inside(&inside), entry.into_path()));
        if files.len() > FILES_MAX {
            break;
        }
    }
    Ok(files)
}
