//! Mounts that a run left: taken away where they are in the archive, named where they are elsewhere.
//!
//! In:  a folder of a run whose tree has been ended.  Out: findings for `run.json` and the terminal, and an archive that can be walked.
//! Not here: keeping what is still mounted out of the archive (see `archive`), mounts of a root file system (see `host`).
//!
//! A program that runs as root on the machine itself can mount wherever it likes and end without taking that away, or be ended before it
//! does. The table of mounts before the run is compared with the one after it. What is new in the archive is taken away: over a folder it
//! would hide other runs, or the journal. What is new elsewhere may be of anybody, so it is only named. No file of a mount is touched.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Watcher;
use sparkbench_archive::manifest::{PARENTS, unfinished};
use sparkbench_archive::shown;
use sparkbench_host::{Host, Mounted};
use sparkbench_model::Finding;
use sparkbench_text::error::Error;
use sparkbench_text::escape::shell;

/// Name of the finding about mounts in the archive.
const LEFT: &str = "left-mounted";

/// Name of the finding about mounts elsewhere.
const ELSEWHERE: &str = "mounted-elsewhere";

/// Where container engines and logins mount for themselves, whatever a run does.
const OF_OTHERS: [&str; 11] = [
    "/media",
    "/run/containerd",
    "/run/credentials",
    "/run/docker",
    "/run/k3s",
    "/run/user",
    "/snap",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/docker",
    "/var/lib/kubelet",
];

/// Types that the kernel mounts by itself when somebody looks, and names of namespaces, which hold no files.
const BY_THEMSELVES: [&str; 5] = ["autofs", "binfmt_misc", "debugfs", "nsfs", "tracefs"];

/// Type of the root of a container, and parts of the paths where engines put them.
const OF_CONTAINERS: (&str, [&str; 2]) = ("overlay", ["overlay", "overlay2"]);

/// Most mounts that a message names.
const NAMED: usize = 3;

/// Mounts before a run.
#[derive(Debug, Clone)]
pub(super) struct Before {
    /// The run's own folder as the kernel writes it. Taken before the run: a program may put a link in its place, and what a link leads to
    /// is not the run's.
    folder: PathBuf,
    /// The archive, likewise. What is mounted at or below it since then is taken away. The run's own folder where that alone is known.
    archive: PathBuf,
    /// Every mount of the machine, by the kernel's number and by its place: a number is given again. Absent where they are not known.
    there: Option<BTreeSet<(u64, PathBuf)>>,
}

/// What was done about mounts.
#[derive(Debug, Default)]
pub(super) struct Undone {
    /// Where something was mounted in the archive and is no more, with its type.
    gone: Vec<String>,
    /// Where something is still mounted in the archive, with its type and the reason.
    left: Vec<String>,
    /// Places of these.
    left_at: Vec<PathBuf>,
    /// What was mounted elsewhere and still is.
    elsewhere: Vec<Mounted>,
    /// Those of all these that lie over the archive.
    hiding: Vec<Mounted>,
}

impl Before {
    /// As they are now. `folder`: of a run, just made, in `archive`.
    pub(super) fn look(host: &dyn Host, folder: &Path, archive: &Path) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let all = host.mounts(Path::new("/")).ok();
        let there = all.map(|all| all.into_iter().map(|mounted| (mounted.id, mounted.at)).collect());
        // Without the table nobody knows which disks are the archive's own. In a folder that was just made there are none.
        let archive = if there.is_some() { archive } else { folder };
        Self { folder: real(folder), archive: real(archive), there }
    }

    /// There were none, because there was no folder. Only the folder above it is followed where it is a link.
    fn new_folder(folder: &Path) -> Self {
        let above = folder.parent().and_then(|above| above.canonicalize().ok());
        let real = above.zip(folder.file_name()).map(|(above, name)| above.join(name));
        let folder = real.unwrap_or_else(|| folder.to_path_buf());
        Self { archive: folder.clone(), folder, there: None }
    }

    /// What was mounted since then at or below a folder, in the order of the kernel's table.
    fn since(&self, host: &dyn Host, folder: &Path) -> io::Result<Vec<Mounted>> {
        let mut mounts = host.mounts(folder)?;
        if let Some(there) = &self.there {
            mounts.retain(|mounted| !there.contains(&(mounted.id, mounted.at.clone())));
        }
        Ok(mounts)
    }

    /// Type and place of a mount in the archive.
    fn words(&self, mounted: &Mounted) -> String {
        let place = if let Ok(below) = mounted.at.strip_prefix(&self.folder) {
            if below.as_os_str().is_empty() { "the run's own folder".to_owned() } else { format!("'{}'", shown(below)) }
        } else {
            let below = mounted.at.strip_prefix(&self.archive).unwrap_or(&mounted.at);
            if below.as_os_str().is_empty() {
                "the archive".to_owned()
            } else {
                format!("'{}' of the archive", shown(below))
            }
        };
        format!("{} on {place}", mounted.kind)
    }
}

/// Takes away what was mounted in the archive since then, and notes what was mounted elsewhere.
pub(super) fn undo(host: &dyn Host, before: &Before) -> Undone {
    let new = || before.since(host, &before.archive);
    let mut undone = Undone::default();
    let mut left = match new() {
        Ok(left) => left,
        Err(cause) => {
            undone.left.push(format!("what is mounted there cannot be read: {cause}"));
            return undone;
        }
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
        let gone = left.iter().filter(|mounted| !there.contains(&mounted.id));
        undone.gone.extend(gone.map(|mounted| before.words(mounted)));
        left = now;
    }
    undone.left.extend(left.iter().map(|mounted| {
        let why = reasons.iter().find(|(at, _)| mounted.at.starts_with(at)).map(|(_, why)| why.as_str());
        format!("{} ({})", before.words(mounted), why.unwrap_or("it came back"))
    }));
    undone.left_at.extend(left.iter().map(|mounted| mounted.at.clone()));
    if before.there.is_some() {
        // A table that cannot be read now was read a moment ago.
        undone.elsewhere = before.since(host, Path::new("/")).unwrap_or_default();
        undone.elsewhere.retain(|mounted| !mounted.at.starts_with(&before.archive) && !is_of_others(mounted));
    }
    let hides = |mounted: &&Mounted| before.archive.starts_with(&mounted.at);
    undone.hiding = undone.elsewhere.iter().chain(&left).filter(hides).cloned().collect();
    undone
}

/// Refuses an archive of which a part is hidden by a mount, before anything in it is read or written. What is mounted in the folder of a run
/// that was interrupted is of that run, and is taken away later ([`undo_interrupted`]). `holds`: whether a campaign is there to be seen.
///
/// # Errors
/// When something is mounted below the archive. Also on it, where no campaign is to be seen.
pub(super) fn expect_whole(host: &dyn Host, archive: &Path, holds: bool) -> Result<(), Error> {
    let Ok(archive) = archive.canonicalize() else { return Ok(()) };
    let is_of_a_run = |mounted: &Mounted| {
        PARENTS.iter().any(|parent| {
            let below = mounted.at.strip_prefix(archive.join(parent)).ok();
            let name =
                below.and_then(|below| below.components().next()).map(|first| first.as_os_str().to_string_lossy());
            name.is_some_and(|name| unfinished(&name).is_some())
        })
    };
    // Without the table nobody knows. What is written is checked all the same.
    let mut hiding = host.mounts(&archive).unwrap_or_default();
    hiding.retain(|mounted| if mounted.at == archive { !holds } else { !is_of_a_run(mounted) });
    if hiding.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = hiding.iter().map(named).collect();
    let places: Vec<PathBuf> = hiding.iter().map(|mounted| mounted.at.clone()).collect();
    Err(Error::archive(format!("a mount hides '{}' or a part of it", shown(&archive)))
        .detail(format!("mounted there: {}", listed(&names)))
        .hint(format!("{}, then continue with --resume", by_hand("umount --recursive", &places))))
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
            what.extend(undone.taken(run));
        }
    }
    what
}

/// Removes a folder with everything in it, unless something is still mounted there: then nothing is removed.
///
/// # Errors
/// Errors of the file system. When something is mounted there that cannot be taken away.
pub(super) fn remove_folder(host: &dyn Host, folder: &Path) -> Result<(), Error> {
    let failed = || Error::archive(format!("cannot remove '{}'", shown(folder)));
    if fs::symlink_metadata(folder).is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    let undone = undo(host, &Before::new_folder(folder));
    if !undone.left.is_empty() {
        return Err(failed()
            .detail(format!("still mounted there: {}", listed(&undone.left)))
            .hint(format!("{}, then remove the folder", by_hand("umount --recursive --lazy", &undone.left_at))));
    }
    fs::remove_dir_all(folder).map_err(|cause| failed().because(cause))
}

impl Undone {
    /// For `run.json`. Nothing where nothing was left.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !(self.gone.is_empty() && self.left.is_empty()) {
            let count = self.gone.len() + self.left.len();
            let remedy = if self.left_at.is_empty() {
                "let the workload unmount what it mounts".to_owned()
            } else {
                format!(
                    "{}. Let the workload unmount what it mounts",
                    by_hand("umount --recursive --lazy", &self.left_at)
                )
            };
            findings
                .push(Finding::warned(LEFT, self.in_the_archive().join(". "), remedy).value(count as f64, "mounts"));
        }
        if !self.elsewhere.is_empty() {
            let names: Vec<String> = self.elsewhere.iter().map(named).collect();
            let reading = format!(
                "this was mounted outside of the archive while the run was at work, and still is: {}. It stays, because it may be in use",
                listed(&names)
            );
            let places: Vec<PathBuf> = self.elsewhere.iter().map(|mounted| mounted.at.clone()).collect();
            let remedy = format!("{}, where the workload has mounted it", by_hand("umount --recursive", &places));
            let count = self.elsewhere.len();
            findings.push(Finding::warned(ELSEWHERE, reading, remedy).value(count as f64, "mounts"));
        }
        findings.into_iter().map(|finding| finding.limit("nothing")).collect()
    }

    /// For the terminal.
    pub(super) fn tell(&self, run: &str, watcher: &dyn Watcher) {
        for finding in self.findings() {
            let remedy = finding.remedy.map(|remedy| format!(". Try: {remedy}")).unwrap_or_default();
            watcher.warn(&format!("{run}: {}{remedy}", finding.reading));
        }
    }

    /// For the journal, one line each: what was taken away.
    pub(super) fn taken(&self, run: &str) -> Vec<String> {
        self.gone.iter().map(|mount| format!("mount of {run}: {mount}")).collect()
    }

    /// This, and then a later look.
    pub(super) fn and(self, later: Self) -> Self {
        Self { gone: self.gone.into_iter().chain(later.gone).collect(), ..later }
    }

    /// Without what was mounted elsewhere: a program in a mount namespace of its own cannot have left it.
    pub(super) fn here_alone(self) -> Self {
        Self { elsewhere: Vec::new(), ..self }
    }

    /// Whether something is mounted over the archive. It may show the archive all the same.
    pub(super) fn may_hide(&self) -> bool {
        !self.hiding.is_empty()
    }

    /// An error about an archive that is not there any more, where a mount hides it.
    pub(super) fn explain(&self, error: Error) -> Error {
        let names: Vec<String> = self.hiding.iter().map(named).collect();
        let places: Vec<PathBuf> = self.hiding.iter().map(|mounted| mounted.at.clone()).collect();
        error
            .detail(format!("this was mounted over it while a run was at work: {}", listed(&names)))
            .hint(format!("{}, then continue with --resume", by_hand("umount --recursive", &places)))
    }

    fn in_the_archive(&self) -> Vec<String> {
        let kept_out = "What lies in it is not archived";
        let gone = (!self.gone.is_empty())
            .then(|| format!("the run left this mounted, and it was unmounted: {}. {kept_out}", listed(&self.gone)));
        let left = (!self.left.is_empty()).then(|| {
            format!("the run left this mounted, and it cannot be unmounted: {}. {kept_out}", listed(&self.left))
        });
        gone.into_iter().chain(left).collect()
    }
}

/// Whether container engines or logins made it, and take it away themselves.
fn is_of_others(mounted: &Mounted) -> bool {
    let (kind, parts) = OF_CONTAINERS;
    BY_THEMSELVES.contains(&mounted.kind.as_str())
        || OF_OTHERS.iter().any(|folder| mounted.at.starts_with(folder))
        || (mounted.kind == kind && mounted.at.iter().any(|part| parts.iter().any(|one| part == *one)))
}

/// Type and whole path of a mount.
fn named(mounted: &Mounted) -> String {
    format!("{} on '{}'", mounted.kind, shown(&mounted.at))
}

/// A command that unmounts these, the last one first: it may lie upon another. Those below others go with them.
fn by_hand(program: &str, places: &[PathBuf]) -> String {
    let mut tops: Vec<&PathBuf> = Vec::new();
    for at in places {
        if !tops.iter().any(|top| at.starts_with(top)) {
            tops.push(at);
        }
    }
    if tops.is_empty() {
        return "unmount it by hand".to_owned();
    }
    // Where mounts are shared, taking one away would take away what it shows as well.
    let one = |at: &&PathBuf| format!("mount --make-rprivate {0} && {program} {0}", shell(at));
    let more = if tops.len() > NAMED { format!(" and {} more", tops.len() - NAMED) } else { String::new() };
    format!("{}{more}", tops.iter().rev().take(NAMED).copied().map(|at| one(&at)).collect::<Vec<_>>().join(" && "))
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
    use sparkbench_host::replay::Replay;

    const TABLE: &str = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 0:50 / /a/r/work/m rw - tmpfs x rw\n\
        41 40 8:1 /data /a/r/work/m/deep rw - ext4 /dev/sda1 rw\n42 22 0:51 / /a/rest rw - tmpfs x rw\n";

    #[test]
    fn a_mount_that_cannot_be_taken_away_is_named_with_the_reason_and_others_are_not_touched() {
        let host = Replay::new().file("/proc/self/mountinfo", TABLE);
        let undone = undo(&host, &Before::new_folder(Path::new("/a/r")));
        assert_eq!(undone.gone, Vec::<String>::new());
        assert_eq!(undone.left.len(), 2);
        assert!(undone.left[0].starts_with("tmpfs on 'work/m' ("), "{:?}", undone.left);
        let finding = undone.findings().remove(0);
        assert_eq!((finding.gate.as_str(), finding.value), (LEFT, Some(2.0)));
        assert!(finding.reading.contains("cannot be unmounted") && finding.remedy.is_some(), "{finding:?}");
    }

    #[test]
    fn what_was_mounted_before_the_run_is_not_of_the_run() {
        let host = Replay::new().file("/proc/self/mountinfo", TABLE);
        let before = Before::look(&host, Path::new("/a/r"), Path::new("/a"));
        assert_eq!(undo(&host, &before).findings(), []);
        assert_eq!(undo(&host, &Before::new_folder(Path::new("/b"))).findings(), []);
    }

    #[test]
    fn mounts_over_the_archive_are_told_from_those_elsewhere() {
        let before =
            Before::look(&Replay::new().file("/proc/self/mountinfo", TABLE), Path::new("/a/runs/r"), Path::new("/a"));
        // A number that was given again, at another place. A namespace and a container of others are nothing to speak of.
        let table = format!(
            "{TABLE}43 22 0:52 / /a/runs rw - tmpfs x rw\n44 22 0:53 / /a rw - tmpfs x rw\n42 22 0:54 / /mnt/x rw - tmpfs x rw\n\
             45 42 0:55 / /mnt/x/deep rw - proc x rw\n46 22 0:56 / /var/n rw - nsfs x rw\n\
             47 22 0:57 / /var/lib/docker/x/merged rw - overlay x rw\n"
        );
        let undone = undo(&Replay::new().file("/proc/self/mountinfo", table), &before);
        let left: Vec<&str> = undone.left.iter().filter_map(|left| left.split(" (").next()).collect();
        assert_eq!(left, ["tmpfs on 'runs' of the archive", "tmpfs on the archive"]);
        let findings = undone.findings();
        let gates: Vec<&str> = findings.iter().map(|finding| finding.gate.as_str()).collect();
        assert_eq!(gates, [LEFT, ELSEWHERE]);
        let umount = "mount --make-rprivate /a && umount --recursive --lazy /a";
        assert!(findings[0].remedy.as_ref().unwrap().starts_with(umount), "{findings:?}");
        assert!(findings[1].reading.contains("tmpfs on '/mnt/x', proc on '/mnt/x/deep'"), "{}", findings[1].reading);
        assert!(findings[1].remedy.as_ref().unwrap().contains(" && umount --recursive /mnt/x, where"));
        let error = undone.explain(Error::archive("cannot continue in '/a'")).to_string();
        assert!(
            undone.may_hide() && error.contains("tmpfs on '/a'") && error.contains("umount --recursive /a"),
            "{error}"
        );
    }

    #[test]
    fn an_archive_is_whole_unless_something_hides_more_than_a_run_in_flight() {
        let folder = sparkbench_testing::Folder::new("expect-whole");
        let real = folder.canonicalize().unwrap();
        let refusal = |below: &str, holds: bool| {
            let table = format!("40 22 0:50 / {} rw - tmpfs x rw\n", real.join(below).display());
            let host = Replay::new().file("/proc/self/mountinfo", table);
            expect_whole(&host, &folder, holds).err().map(|error| error.to_string())
        };
        for below in ["runs", "runs/r1", "runs/r1/work", "probes/x", "journal.jsonl"] {
            let error = refusal(below, true).expect(below);
            let by_hand = format!("umount --recursive {}", real.join(below).display());
            assert!(error.contains("a mount hides") && error.contains(&by_hand), "{error}");
        }
        for below in ["runs/.r1.part", "runs/.r1.part/work/m", "prepared/.x.part"] {
            assert_eq!(refusal(below, true), None, "{below}");
        }
        // The disk of the archive itself, where a campaign is to be seen. Where none is, it may lie below.
        let upon = |holds| {
            let table = format!("40 22 0:50 / {} rw - tmpfs x rw\n", real.display());
            expect_whole(&Replay::new().file("/proc/self/mountinfo", table), &folder, holds)
        };
        assert!(upon(true).is_ok() && upon(false).is_err());
        assert!(expect_whole(&Replay::new(), &folder, true).is_ok(), "a table that cannot be read tells nothing");
        assert!(expect_whole(&Replay::new(), &folder.join("absent"), false).is_ok());
    }

    #[test]
    fn a_folder_with_a_mount_is_not_removed() {
        let folder = sparkbench_testing::Folder::new("kept-mount");
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
