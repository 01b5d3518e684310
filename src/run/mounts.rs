//! Mounts that a run left in its own folder: taken away, or named.
//!
//! In:  a folder of a run whose tree has been ended.  Out: a [`Finding`] for `run.json` and the terminal, and a folder that can be walked.
//! Not here: keeping what is still mounted out of the archive (see `archive`), mounts of a root file system (see `host`).
//!
//! A program that runs as root on the machine itself can mount into its folder and end without taking that away, or be ended before it does.
//! Only what was mounted at or below the run's own folder while it ran is taken away. No file of it is touched.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Watcher;
use crate::archive::shown;
use crate::archive::writer::{PARENTS, unfinished};
use crate::error::Error;
use crate::host::{Host, Mounted};
use crate::model::Finding;

/// Name of the finding.
const CHECK: &str = "left-mounted";

/// Most mounts that a message names.
const NAMED: usize = 3;

/// Mounts of a folder before a run.
#[derive(Debug, Clone)]
pub(super) struct Before {
    /// The folder as the kernel writes it. Taken before the run: a program may put a link in its place, and what a link leads to is not the
    /// run's.
    folder: PathBuf,
    /// By the number of the kernel.
    ids: BTreeSet<u64>,
}

/// What was done about the mounts of a folder.
#[derive(Debug, Default)]
pub(super) struct Undone {
    /// Where something was mounted and is no more, with its type.
    gone: Vec<String>,
    /// Where something is still mounted, with its type and the reason.
    left: Vec<String>,
}

impl Before {
    /// As they are now, of a folder that was just made. A table that cannot be read has none: nobody has mounted anything there yet.
    pub(super) fn look(host: &dyn Host, folder: &Path) -> Self {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let mounts = host.mounts(&folder).unwrap_or_default();
        Self { ids: mounts.iter().map(|mounted| mounted.id).collect(), folder }
    }

    /// There were none, because there was no folder. Only the folder above it is followed where it is a link.
    fn new_folder(folder: &Path) -> Self {
        let above = folder.parent().and_then(|above| above.canonicalize().ok());
        let real = above.zip(folder.file_name()).map(|(above, name)| above.join(name));
        Self { folder: real.unwrap_or_else(|| folder.to_path_buf()), ids: BTreeSet::new() }
    }
}

/// Takes away what was mounted at or below a folder since then.
pub(super) fn undo(host: &dyn Host, before: &Before) -> Undone {
    let folder = before.folder.as_path();
    let new = || -> io::Result<Vec<Mounted>> {
        let mut mounts = host.mounts(folder)?;
        mounts.retain(|mounted| !before.ids.contains(&mounted.id));
        Ok(mounts)
    };
    let mut undone = Undone::default();
    let mut left = match new() {
        Ok(left) => left,
        Err(cause) => {
            undone.left.push(format!("what is mounted there cannot be read: {cause}"));
            return undone;
        }
    };
    let words = |mounted: &Mounted| {
        let below = mounted.at.strip_prefix(folder).unwrap_or(&mounted.at);
        let place = if below.as_os_str().is_empty() { "the run's own folder".to_owned() } else { shown(below) };
        format!("{} on '{place}'", mounted.kind)
    };
    // A mount is taken away with those below it, and one that lies upon another at the same place shows the other. So each round begins
    // anew, and the last one takes nothing away.
    let mut reasons: Vec<(PathBuf, String)> = Vec::new();
    loop {
        reasons.clear();
        let mut taken = false;
        for mounted in &left {
            // Below one that stays, a mount may be tied to the place from where it was bound.
            if reasons.iter().any(|(at, _)| mounted.at.starts_with(at)) {
                continue;
            }
            match host.unmount(&mounted.at) {
                Ok(()) => {
                    taken = true;
                    break;
                }
                Err(cause) => reasons.push((mounted.at.clone(), cause.to_string())),
            }
        }
        let now = new().unwrap_or_else(|_| left.clone());
        if !taken || now.len() >= left.len() {
            break;
        }
        let there: BTreeSet<u64> = now.iter().map(|mounted| mounted.id).collect();
        undone.gone.extend(left.iter().filter(|mounted| !there.contains(&mounted.id)).map(words));
        left = now;
    }
    undone.left.extend(left.iter().map(|mounted| {
        let why = reasons.iter().find(|(at, _)| mounted.at.starts_with(at)).map(|(_, why)| why.as_str());
        format!("{} ({})", words(mounted), why.unwrap_or("it came back"))
    }));
    undone
}

/// Takes away what is mounted in the folders of runs that a crash interrupted. They were new when the run began, so all of it is of the run.
/// Says what was done, one line each.
pub(super) fn undo_interrupted(host: &dyn Host, archive: &Path, watcher: &dyn Watcher) -> Vec<String> {
    let mut what = Vec::new();
    for home in PARENTS.iter().map(|parent| archive.join(parent)) {
        for name in host.list(&home).unwrap_or_default() {
            let Some(run) = unfinished(&name) else { continue };
            let undone = undo(host, &Before::new_folder(&home.join(&name)));
            undone.tell(run, watcher);
            what.extend(undone.gone.iter().map(|mount| format!("mount of {run}: {mount}")));
        }
    }
    what
}

/// Removes a folder with everything in it, unless something is still mounted there: then nothing is removed.
///
/// # Errors
/// Errors of the file system. When something is mounted there that cannot be taken away.
pub(super) fn remove_folder(host: &dyn Host, folder: &Path) -> Result<(), Error> {
    let failed = || Error::archive(format!("cannot remove '{}'", folder.display()));
    if fs::symlink_metadata(folder).is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    let undone = undo(host, &Before::new_folder(folder));
    if !undone.left.is_empty() {
        return Err(failed()
            .detail(format!("still mounted there: {}", listed(&undone.left)))
            .hint("unmount it by hand, then remove the folder"));
    }
    fs::remove_dir_all(folder).map_err(|cause| failed().because(cause))
}

impl Undone {
    /// For `run.json`. Nothing where nothing was mounted.
    pub(super) fn finding(&self) -> Option<Finding> {
        if self.gone.is_empty() && self.left.is_empty() {
            return None;
        }
        let count = self.gone.len() + self.left.len();
        let remedy = if self.left.is_empty() {
            "let the workload unmount what it mounts, or mount outside of the run's folder"
        } else {
            "unmount it by hand ('umount --lazy PATH'), and let the workload unmount what it mounts"
        };
        Some(Finding::warned(CHECK, self.sentences().join(". "), remedy).value(count as f64, "mounts").limit("nothing"))
    }

    /// For the terminal.
    pub(super) fn tell(&self, run: &str, watcher: &dyn Watcher) {
        self.sentences().iter().for_each(|sentence| watcher.warn(&format!("{run}: {sentence}")));
    }

    fn sentences(&self) -> Vec<String> {
        let kept_out = "What lies in it is not archived";
        let gone = (!self.gone.is_empty())
            .then(|| format!("the run left this mounted, and it was unmounted: {}. {kept_out}", listed(&self.gone)));
        let left = (!self.left.is_empty()).then(|| {
            format!("the run left this mounted, and it cannot be unmounted: {}. {kept_out}", listed(&self.left))
        });
        gone.into_iter().chain(left).collect()
    }
}

fn listed(mounts: &[String]) -> String {
    let mut names: Vec<&str> = mounts.iter().take(NAMED).map(String::as_str).collect();
    let more = format!("{} more", mounts.len().saturating_sub(NAMED));
    if mounts.len() > NAMED {
        names.push(&more);
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::replay::Replay;

    const TABLE: &str = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 0:50 / /a/r/work/m rw - tmpfs x rw\n\
        41 40 8:1 /data /a/r/work/m/deep rw - ext4 /dev/sda1 rw\n42 22 0:51 / /a/rest rw - tmpfs x rw\n";

    #[test]
    fn a_mount_that_cannot_be_taken_away_is_named_with_the_reason_and_others_are_not_touched() {
        let host = Replay::new().file("/proc/self/mountinfo", TABLE);
        let undone = undo(&host, &Before::new_folder(Path::new("/a/r")));
        assert_eq!(undone.gone, Vec::<String>::new());
        assert_eq!(undone.left.len(), 2);
        assert!(undone.left[0].starts_with("tmpfs on 'work/m' ("), "{:?}", undone.left);
        let finding = undone.finding().unwrap();
        assert_eq!((finding.gate.as_str(), finding.value), (CHECK, Some(2.0)));
        assert!(finding.reading.contains("cannot be unmounted") && finding.remedy.is_some(), "{finding:?}");
    }

    #[test]
    fn what_was_mounted_before_the_run_is_not_of_the_run() {
        let host = Replay::new().file("/proc/self/mountinfo", TABLE);
        let before = Before::look(&host, Path::new("/a/r"));
        assert!(undo(&host, &before).finding().is_none());
        assert!(undo(&host, &Before::new_folder(Path::new("/b"))).finding().is_none());
    }

    #[test]
    fn a_folder_with_a_mount_is_not_removed() {
        let folder = crate::testing::Folder::new("kept-mount");
        let real = folder.canonicalize().unwrap();
        fs::write(real.join("file"), "kept").unwrap();
        let table = format!("40 22 0:50 / {}/m rw - tmpfs x rw\n", real.display());
        let host = Replay::new().file("/proc/self/mountinfo", table);
        let error = remove_folder(&host, &real).unwrap_err().to_string();
        assert!(error.contains("tmpfs on 'm'"), "{error}");
        assert!(real.join("file").exists());
        remove_folder(&Replay::new(), &real).unwrap();
        assert!(!real.exists());
        remove_folder(&Replay::new(), &real).unwrap();
    }
}
