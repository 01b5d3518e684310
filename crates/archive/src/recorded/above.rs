//! Records that lie above the folder that was given: one run of an archive, or one file of a run.
//!
//! In:  a folder.  Out: [`Above`], the hash of a file below it.
//! Not here: comparing it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{LIST_MOST, list, parent, plain};
use crate::discover::Found;
use crate::journal::{self, Event};
use crate::manifest::{CAMPAIGN_FILE, JOURNAL_FILE, RUN_FILE, RUNS_FOLDER, RunWire};
use crate::name::FileName;
use crate::progress::Progress;
use crate::read::WHOLE_LIMIT;

/// Folders above the one that was given in which a record is looked for: `runs/<id>/nodes/<name>` lies four below an archive.
const ABOVE_MOST: usize = 5;

/// Records in the folders above one.
#[derive(Default)]
pub(super) struct Above {
    /// The folder in its full form.
    whole: PathBuf,
    /// Folder of a run, and the hashes that its `run.json` lists.
    run: Option<(PathBuf, BTreeMap<FileName, String>)>,
    /// Folder of an archive, and the hashes that its journal holds.
    archive: Option<(PathBuf, BTreeMap<FileName, String>)>,
    /// Lists that somebody put into the nearest folder with any: the folder, the name of the list, the hashes.
    lists: Vec<(PathBuf, String, BTreeMap<PathBuf, String>)>,
}

impl Above {
    /// `alone`: files were given one by one, so the folder itself was not walked.
    pub(super) fn of(root: &Path, alone: bool) -> Self {
        let Ok(whole) = root.canonicalize() else { return Self::default() };
        let mut above = Self { whole: whole.clone(), ..Self::default() };
        for folder in whole.ancestors().skip(usize::from(!alone)).take(ABOVE_MOST) {
            if above.run.is_none() {
                let files = |run: RunWire| run.files.into_iter().map(|file| (file.path, file.sha256)).collect();
                above.run = run_of(folder).map(|run| (folder.to_owned(), files(run)));
            }
            if let Some(files) = in_journal(folder) {
                above.archive = Some((folder.to_owned(), files));
                break;
            }
            if above.lists.is_empty() && *folder != whole {
                above.lists = lists_in(folder);
            }
        }
        // A list inside an archive or a run of ours came from a program.
        if above.run.is_some() || above.archive.is_some() {
            above.lists.clear();
        }
        above
    }

    /// The hash of a file below the folder, and the name of its record.
    pub(super) fn expected(&self, root: &Path, disk: &Path) -> Option<(String, String)> {
        // A bare name lies in the present folder.
        let whole = self.whole.join(disk.strip_prefix(root).unwrap_or(disk));
        let of = |place: &Option<(PathBuf, BTreeMap<FileName, String>)>, record: &str| {
            let (folder, files) = place.as_ref()?;
            whole.starts_with(folder).then_some(())?;
            Some((files.get(&FileName::below(folder, &whole))?.clone(), record.to_owned()))
        };
        let listed = |(folder, record, files): &(PathBuf, String, BTreeMap<PathBuf, String>)| {
            let sum = files.get(whole.strip_prefix(folder).ok()?)?;
            Some((sum.clone(), record.clone()))
        };
        let in_list = || self.lists.iter().find_map(listed);
        of(&self.run, RUN_FILE).or_else(|| of(&self.archive, JOURNAL_FILE)).or_else(in_list)
    }
}

/// Lists of hashes in a folder.
fn lists_in(folder: &Path) -> Vec<(PathBuf, String, BTreeMap<PathBuf, String>)> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| list::is_list(name))
        .collect();
    names.sort_unstable();
    let read = |name: String| {
        let files = list::read(&folder.join(&name), LIST_MOST, folder).into_iter().collect();
        (folder.to_owned(), name, files)
    };
    names.into_iter().map(read).collect()
}

/// A run of ours in a folder, where one is.
pub(super) fn run_of(folder: &Path) -> Option<RunWire> {
    let run: RunWire = serde_json::from_slice(&plain(&folder.join(RUN_FILE), WHOLE_LIMIT)?).ok()?;
    run.schema.starts_with("sparkbench.run/").then_some(run)
}

/// Hashes that the journal of an archive holds, by path below it.
fn in_journal(folder: &Path) -> Option<BTreeMap<FileName, String>> {
    let journal = journal::scan(&plain(&folder.join(JOURNAL_FILE), WHOLE_LIMIT)?);
    let progress = Progress::of(&journal.entries);
    let of_run =
        |id: &String, sha256: &String| (FileName::from(format!("{RUNS_FOLDER}/{id}/{RUN_FILE}")), sha256.clone());
    let mut files: BTreeMap<FileName, String> = progress.finished.iter().map(|(id, sum)| of_run(id, sum)).collect();
    files.extend(progress.failed.iter().map(|(id, failure)| of_run(id, &failure.run_sha256)));
    files.extend(journal.entries.iter().find_map(|entry| match &entry.event {
        Some(Event::Created { campaign_sha256, .. }) => Some((FileName::from(CAMPAIGN_FILE), campaign_sha256.clone())),
        _ => None,
    }));
    (!files.is_empty()).then_some(files)
}

/// The folder that was given, on disk. For a file that was given by itself the folder around it.
pub(super) fn root_of(file: &Found) -> Option<PathBuf> {
    if file.alone {
        return Some(parent(&file.disk));
    }
    let below = file.path.strip_prefix(&file.base)?.trim_start_matches('/');
    let root = file.disk.ancestors().nth(1 + below.matches('/').count())?;
    Some(if root.as_os_str().is_empty() { PathBuf::from(".") } else { root.to_owned() })
}
