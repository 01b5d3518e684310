//! The loads of an archive: which run holds which, and their summaries.
//!
//! In:  the loads as typed, the folder and the plan of the archive.  Out: [`Labels`], [`Found`] summaries.
//! Not here: making the archive (see `archive`).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plan::Loads;
use sparkbench_archive::manifest::{INTERRUPTED_FOLDER, PlannedRun, RUNS_FOLDER};
use sparkbench_archive::shown;
use sparkbench_collect::workload::serve::session::{CALIBRATION_FOLDER, WARMUP_FOLDER};
use sparkbench_load::session::SUMMARY_FILE;
use sparkbench_text::error::Error;
use sparkbench_text::slug::slug;

/// Labels of the workloads that the loads become.
pub(super) struct Labels(Vec<(String, String)>);

/// Label of the workload of all loads together, and beginning of those of points.
pub(super) const WORKLOAD: &str = "load";

impl Labels {
    /// Of each point of a sweep. Of none where the loads are one workload.
    ///
    /// # Errors
    /// Of usage, for a point that is there twice.
    pub(super) fn of(loads: &Loads) -> Result<Self, Error> {
        let mut labels: Vec<(String, String)> = Vec::new();
        if !loads.stands_apart() {
            return Ok(Self(labels));
        }
        for (name, _) in loads.tables() {
            let label = format!("{WORKLOAD}-{}", slug(&name));
            if labels.iter().any(|(known, _)| *known == label) {
                return Err(Error::usage(format!("the load {name} is asked for twice"))
                    .hint("name each point once, and use --repeats N to measure each several times"));
            }
            labels.push((label, name));
        }
        Ok(Self(labels))
    }

    pub(super) fn workloads(&self) -> Vec<String> {
        self.0.iter().map(|(label, _)| label.clone()).collect()
    }

    /// Name of the load that a run is of.
    fn load_of(&self, run: &PlannedRun) -> Option<&str> {
        self.0.iter().find(|(label, _)| *label == run.workload).map(|(_, name)| name.as_str())
    }
}

/// A summary of the archive: what it is of, its values, its text.
pub(super) struct Found {
    pub name: String,
    pub value: Value,
    pub text: String,
}

/// Every measured summary of the archive, in the order in which they began. Those of the calibration and of passes to warm up are not
/// results: nobody asked how fast a cold server is. What was stopped counts as long as it was not measured again.
///
/// # Errors
/// When one cannot be read.
pub(super) fn summaries(archive: &Path, labels: &Labels, plan: &[PlannedRun]) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for run in plan {
        let done = archive.join(RUNS_FOLDER).join(&run.id);
        let Some(folder) = Some(done).filter(|folder| folder.exists()).or_else(|| stopped(archive, &run.id)) else {
            continue;
        };
        for path in summary_files(&folder) {
            let text = std::fs::read_to_string(&path)
                .map_err(|cause| Error::archive(format!("cannot read '{}'", shown(&path))).because(cause))?;
            // A disk that filled leaves a summary that is cut off or empty: it says nothing.
            let Ok(value) = serde_json::from_str(&text) else { continue };
            // The only load of a run lies in the folder of the run. Repeats of it are passes of one cell.
            let own = path.parent().filter(|own| *own != folder).and_then(Path::file_name);
            let own = own.map(|name| name.to_string_lossy().into_owned());
            let name = own.or_else(|| labels.load_of(run).map(str::to_owned)).unwrap_or_default();
            found.push(Found { name, value, text });
        }
    }
    // Moments of one form: their texts sort as they do.
    found.sort_by(|one, other| one.value["started_utc"].as_str().cmp(&other.value["started_utc"].as_str()));
    Ok(found)
}

/// The folder of the last attempt at a run that was stopped.
fn stopped(archive: &Path, run: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(archive.join(INTERRUPTED_FOLDER)).ok()?.filter_map(Result::ok);
    let number = |name: &str| name.strip_prefix(run)?.strip_prefix('-')?.parse::<u32>().ok();
    let attempts = entries.filter_map(|entry| Some((number(entry.file_name().to_str()?)?, entry.path())));
    attempts.max_by_key(|(number, _)| *number).map(|(_, path)| path)
}

fn summary_files(folder: &Path) -> Vec<PathBuf> {
    let excluded = |part: &std::ffi::OsStr| {
        part == CALIBRATION_FOLDER || part.to_str().is_some_and(|part| part.starts_with(WARMUP_FOLDER))
    };
    let entries = walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_entry(|entry| !(entry.depth() > 0 && excluded(entry.file_name())));
    let files = entries.filter_map(Result::ok).filter(|entry| entry.file_name() == SUMMARY_FILE);
    files.map(walkdir::DirEntry::into_path).collect()
}
