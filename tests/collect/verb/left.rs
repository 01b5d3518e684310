//! What a collector may leave on a machine, and killing its guards.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Where something of a run may stay behind outside of the archive.
const PLACES: &[&str] = &["/run/systemd/nspawn", "/var/lib/machines", "/tmp", "/run"];

/// Mounts and names before a campaign.
pub struct Machine {
    mounts: BTreeSet<String>,
    folder: PathBuf,
    /// Everything below the folder of the suite that is not in the archive.
    beside: BTreeSet<PathBuf>,
    places: BTreeSet<PathBuf>,
}

impl Machine {
    /// As it is now. `folder` holds the suite and the archive.
    pub fn look(folder: &Path) -> Self {
        Self {
            mounts: mounts(folder),
            folder: folder.to_owned(),
            beside: below(folder, 12),
            places: PLACES.iter().flat_map(|place| below(Path::new(place), 3)).collect(),
        }
    }

    /// Demands that no process, mount, container, control group, lock or file of the archive is left.
    pub fn expect_nothing_more(&self, archive: &Path) {
        let id = archive_id(archive).expect("the archive has a campaign");
        let left: Vec<String> = marked(&id).into_iter().map(|(pid, words)| format!("{pid}: {words}")).collect();
        assert!(left.is_empty(), "processes are left: {left:?}");
        let more: Vec<String> = mounts(&self.folder).difference(&self.mounts).cloned().collect();
        assert!(more.is_empty(), "mounts are left: {more:?}");
        let filter = format!("label=sparkbench.archive={id}");
        if let Ok(found) = Command::new("docker").args(["ps", "--all", "--quiet", "--filter", &filter]).output() {
            assert!(found.stdout.is_empty(), "containers are left: {}", String::from_utf8_lossy(&found.stdout));
        }
        let groups: Vec<PathBuf> =
            below(Path::new("/sys/fs/cgroup"), 12).into_iter().filter(|at| named(at, &id)).collect();
        assert!(groups.is_empty(), "control groups are left: {groups:?}");
        let own = [archive, &self.folder.join("talk.txt")];
        let more: Vec<PathBuf> = below(&self.folder, 12)
            .into_iter()
            .filter(|path| !self.beside.contains(path) && !own.iter().any(|own| path.starts_with(own)))
            .collect();
        assert!(more.is_empty(), "left beside the suite: {more:?}");
        // Others use these places too: only names of ours count, and anything of systemd-nspawn, which nobody else runs here.
        let more: Vec<PathBuf> = PLACES
            .iter()
            .flat_map(|place| below(Path::new(place), 3))
            .filter(|path| !self.places.contains(path))
            .filter(|path| named(path, &id) || (path.starts_with("/run/systemd/nspawn/locks") && !held(path)))
            .collect();
        assert!(more.is_empty(), "left on the machine: {more:?}");
    }
}

/// Mounts of this machine, but not those that other tests and the engine make meanwhile.
fn mounts(folder: &Path) -> BTreeSet<String> {
    let others = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let at = |line: &str| PathBuf::from(line.split(' ').nth(1).unwrap_or_default());
    let engines = ["/var/lib/docker", "/var/lib/containers", "/run/docker", "/run/containers"];
    let foreign = |at: &Path| {
        (at.starts_with(others) && !at.starts_with(folder)) || engines.iter().any(|engine| at.starts_with(engine))
    };
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    table.lines().filter(|line| !foreign(&at(line))).map(str::to_owned).collect()
}

fn named(path: &Path, id: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(id))
}

/// Whether a lock is of the root of another test that runs now.
fn held(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(inode) = fs::metadata(path).map(|it| it.ino()) else { return true };
    fs::read_to_string("/proc/locks").unwrap_or_default().contains(&format!(":{inode} "))
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
