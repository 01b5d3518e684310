//! Leftovers of a killed systemd-nspawn: lock files beside the root and in `/run/systemd/nspawn/locks`, empty folders in
//! `/run/systemd/nspawn/propagate`.
//!
//! In:  the root, the archive's name.  Out: the removed items.
//! Not here: processes (see `Host::end_marked`).
//!
//! systemd 252, killed with SIGKILL, leaves all three. A lock file without a holder does not keep anybody out, but it is not ours to leave.

use std::path::{Path, PathBuf};

use super::place::Place;
use sparkbench_host::{Host, Question};
use sparkbench_text::error::{Error, Kind};

/// Where nspawn keeps what it shares with a container while that runs.
const PROPAGATE: &str = "/run/systemd/nspawn/propagate";
/// Where nspawn keeps a lock for each root, named after its device and inode.
const LOCKS: &str = "/run/systemd/nspawn/locks";

/// A program that runs after every run, also after a failed one. It removes
/// - the folder of the machine, which nspawn itself leaves where `/run` is no file system in memory. `rmdir` removes only empty folders.
/// - the groups that nspawn makes in systemd's own tree of the older layout, beside the run's group. `rmdir` again removes only empty ones.
///   Groups of others may vanish during the search, which is not an error.
/// - locks of the root that nobody holds any more. A lock that `/proc/locks` shows stays.
pub(super) fn after(host: &dyn Host, place: &Place, machine: &str, root: &Path) -> Vec<String> {
    const SCRIPT: &str = "folder=$1 group=$2; shift 2; [ ! -d \"$folder\" ] || rmdir \"$folder\" || exit; \
        [ ! -d /sys/fs/cgroup/systemd ] || find /sys/fs/cgroup/systemd -depth -type d \
        \\( -name \"$group\" -o -path \"*/$group/*\" \\) -exec rmdir {} \\; || :; \
        for f; do [ -e \"$f\" ] || continue; grep -q \":$(stat -c %i \"$f\") \" /proc/locks || rm -f \"$f\"; done";
    let mut argv = ["sh", "-c", SCRIPT, "sh"].map(str::to_owned).to_vec();
    argv.push(format!("{PROPAGATE}/{machine}"));
    argv.push(group_pattern(place));
    argv.extend(lock_paths(host, root).iter().map(|path| path.display().to_string()));
    argv
}

/// Name of the run's control group as a pattern: whatever a group's name may not hold is there as `?`.
fn group_pattern(place: &Place) -> String {
    let name = place.container();
    name.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '?' })
        .collect()
}

/// Which lock of a root is held by a living process, if one is.
pub(super) fn lock_holder(host: &dyn Host, root: &Path) -> Option<String> {
    let held = held_inodes(host);
    lock_files(host, root)
        .into_iter()
        .find(|(_, inode)| held.contains(inode))
        .map(|(path, _)| path.display().to_string())
}

/// Removes locks of this root that nobody holds, and folders of machines of this archive.
///
/// # Errors
/// When one of them cannot be removed.
pub(super) fn sweep(host: &dyn Host, archive_id: &str, root: &Path) -> Result<Vec<String>, Error> {
    let mut removed = Vec::new();
    let ours = format!("sparkbench-{}-", archive_id.to_ascii_lowercase());
    for name in host.list(Path::new(PROPAGATE)).unwrap_or_default() {
        if name.starts_with(&ours) {
            let folder = Path::new(PROPAGATE).join(&name);
            run(host, "rmdir", &folder)?;
            removed.push(format!("folder {}", folder.display()));
        }
    }
    let held = held_inodes(host);
    for (path, inode) in lock_files(host, root) {
        if !held.contains(&inode) {
            run(host, "rm", &path)?;
            removed.push(format!("lock {}", path.display()));
        }
    }
    Ok(removed)
}

fn run(host: &dyn Host, program: &str, path: &Path) -> Result<(), Error> {
    let shown = path.display().to_string();
    let failed = |why: String| {
        Error::new(Kind::Preflight, format!("cannot remove '{shown}', which a killed systemd-nspawn left: {why}"))
            .hint("remove it by hand, then continue")
    };
    match host.ask(&Question::new([program, "--", shown.as_str()])) {
        Ok(answer) if answer.ok() => Ok(()),
        Ok(answer) => Err(failed(answer.complaint())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Where nspawn keeps the locks of a root.
fn lock_paths(host: &dyn Host, root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some(name) = root.file_name() {
        files.push(root.with_file_name(format!(".#{}.lck", name.to_string_lossy())));
    }
    if let Some(identity) = stat(host, root, "%d:%i") {
        files.push(Path::new(LOCKS).join(format!("inode-{identity}")));
    }
    files
}

/// Lock files of a root that exist, with their inodes.
fn lock_files(host: &dyn Host, root: &Path) -> Vec<(PathBuf, String)> {
    lock_paths(host, root)
        .into_iter()
        .filter(|path| host.exists(path))
        .filter_map(|path| stat(host, &path, "%i").map(|inode| (path, inode)))
        .collect()
}

fn stat(host: &dyn Host, path: &Path, format: &str) -> Option<String> {
    let shown = path.display().to_string();
    let answer = host.ask(&Question::new(["stat", "-L", "-c", format, "--", shown.as_str()])).ok()?;
    answer.ok().then(|| answer.text().trim().to_owned())
}

/// Inodes of files on which somebody holds a lock, of `/proc/locks`: `1: OFDLCK ADVISORY WRITE -1 fe:00:918328 0 EOF`. The device is left
/// out, because on some file systems the kernel shows another one than `stat`. Keeping one lock too many does no harm.
fn held_inodes(host: &dyn Host) -> Vec<String> {
    let text = host.read(Path::new("/proc/locks")).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let file = line.split_whitespace().find(|word| word.split(':').count() == 3 && !word.starts_with(':'))?;
            file.rsplit(':').next().map(str::to_owned)
        })
        .collect()
}
