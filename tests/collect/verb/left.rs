//! What a collector may leave on a machine, and killing its guards.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::wait::until;

/// Where something of a run may stay behind outside of the archive.
const PLACES: &[&str] = &["/run/systemd/nspawn", "/var/lib/machines", "/tmp", "/run"];

/// Where systemd-nspawn keeps a lock for each root, named after its device and inode.
const LOCKS: &str = "/run/systemd/nspawn/locks";

/// What there is of a campaign's own before it. Other tests, and other copies of this program, are at work on the same machine: what carries
/// neither the name of the archive nor that of the folder is theirs.
pub struct Machine {
    mounts: BTreeSet<String>,
    folder: PathBuf,
    /// Everything below the folder of the suite that is not in the archive.
    beside: BTreeSet<PathBuf>,
    /// The lock of the folder's root file system, where it has one.
    lock: Option<PathBuf>,
}

impl Machine {
    /// As it is now. `folder` holds the suite, the archive and the root file system of the suite's environments (see `support::roots`).
    pub fn look(folder: &Path) -> Self {
        let root = fs::metadata(folder.join("root")).ok();
        Self {
            mounts: mounts(folder, None),
            folder: folder.to_owned(),
            beside: below(folder, 12),
            lock: root.map(|root| Path::new(LOCKS).join(format!("inode-{}:{}", root.dev(), root.ino()))),
        }
    }

    /// Demands that no process, mount, container, control group, lock or file of the archive is left.
    pub fn expect_nothing_more(&self, archive: &Path) {
        let id = archive_id(archive).expect("the archive has a campaign");
        gone("processes", || marked(&id).into_iter().map(|(pid, words)| format!("{pid}: {words}")).collect());
        gone("mounts", || mounts(&self.folder, Some(&id)).difference(&self.mounts).cloned().collect());
        let filter = format!("label=sparkbench.archive={id}");
        gone("containers", || {
            let found = Command::new("docker").args(["ps", "--all", "--quiet", "--filter", &filter]).output();
            let found = found.map(|found| found.stdout).unwrap_or_default();
            String::from_utf8_lossy(&found).lines().map(str::to_owned).collect()
        });
        let of_archive =
            |place: &str, depth| shown(below(Path::new(place), depth).into_iter().filter(|at| named(at, &id)));
        gone("control groups", || of_archive("/sys/fs/cgroup", 12));
        gone("things on the machine", || PLACES.iter().flat_map(|place| of_archive(place, 3)).collect());
        gone("locks", || shown(self.lock.iter().filter(|lock| lock.exists()).cloned()));
        let own = [archive, &self.folder.join("talk.txt")];
        let more = |path: &PathBuf| !self.beside.contains(path) && !own.iter().any(|own| path.starts_with(own));
        gone("files beside the suite", || shown(below(&self.folder, 12).into_iter().filter(more)));
    }
}

/// Waits until nothing of a kind is left: what has been ended takes a moment to go, and longer on a busy machine.
#[track_caller]
fn gone(what: &str, look: impl Fn() -> Vec<String>) {
    let mut before = Vec::new();
    until(&format!("no {what} are left"), || {
        let left = look();
        if !left.is_empty() && left != before {
            eprintln!("{what} that are left: {left:?}");
        }
        before = left;
        before.is_empty()
    });
}

fn shown(paths: impl Iterator<Item = PathBuf>) -> Vec<String> {
    paths.map(|path| path.display().to_string()).collect()
}

/// Mounts that have to do with a folder or an archive.
fn mounts(folder: &Path, id: Option<&str>) -> BTreeSet<String> {
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    let folder = folder.display().to_string();
    let ours = |line: &&str| line.contains(&folder) || id.is_some_and(|id| line.contains(id));
    table.lines().filter(ours).map(str::to_owned).collect()
}

fn named(path: &Path, id: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(id))
}

/// Everything below a folder, links not followed.
fn below(folder: &Path, depth: usize) -> BTreeSet<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).min_depth(1).max_depth(depth).into_iter().flatten();
    entries.map(walkdir::DirEntry::into_path).collect()
}

/// The random name of an archive, once it has one.
pub fn archive_id(archive: &Path) -> Option<String> {
    let campaign: Value = serde_json::from_slice(&fs::read(archive.join("campaign.json")).ok()?).ok()?;
    campaign["archive_id"].as_str().map(str::to_owned)
}

/// Processes that carry the name of an archive, with their command lines.
pub fn marked(id: &str) -> Vec<(i32, String)> {
    let marker = format!("SPARKBENCH_RUN={id}/");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(&marker) {
            let words = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default().replace('\0', " ");
            found.push((pid, words));
        }
    }
    found
}

/// Guards of an archive and first stages of its programs.
pub fn guards(archive: &Path) -> Vec<i32> {
    let Some(id) = archive_id(archive) else { return Vec::new() };
    let is_guard = |words: &str| words.split(' ').nth(1) == Some("guard");
    marked(&id).into_iter().filter(|(_, words)| is_guard(words)).map(|(pid, _)| pid).collect()
}

/// SIGKILL for all of them. 1 when one of them still lived.
pub fn kill_all(pids: &[i32]) -> usize {
    let hit = pids.iter().filter(|pid| kill(Pid::from_raw(**pid), Signal::SIGKILL).is_ok()).count();
    hit.min(1)
}
