//! A control group for a tree: figures of exactly this run, and a second way to reach every process in it.
//!
//! In:  a name.  Out: folders by controller, or the reason why none may be made.
//! Not here: reading figures (see the sample readers of `host`), ending processes one by one.
//!
//! On the unified layout one folder serves all controllers. It is made below the nearest ancestor of our own group that hands
//! `memory` down: a group that itself holds processes may not. On the older layout one folder is made per controller, below our own
//! group. `cpu` is left alone there, because a group of its own would change the program's share of the processor.
//!
//! Source: Linux kernel documentation, `admin-guide/cgroup-v2.rst` and `admin-guide/cgroup-v1/cgroups.rst`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files;
use crate::mounts::{mount_points, plain};

/// Prefix of our names, before the archive id.
pub(super) const PREFIX: &str = "sparkbench-";

/// Controllers of the older layout that give figures and change nothing.
const FIGURES: &[&str] = &["memory", "cpuacct", "pids"];

/// How deep leftovers are looked for. User sessions lie at depth 4, containers of an engine in a session at 6.
const DEPTH: usize = 12;

/// How often an emptied folder is tried again: the kernel lets go of the last process a moment after it was waited for.
const TRIES: u32 = 100;

/// Folders by controller: `unified`, or `memory`, `cpuacct`, `pids`.
pub(super) type Folders = BTreeMap<String, PathBuf>;

/// One mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// Names of its controllers. `unified` for the newer layout.
    controllers: Vec<String>,
    /// Where it is mounted.
    at: PathBuf,
    /// Which group of it is mounted there.
    root: PathBuf,
}

/// Name of the group of a run, from its marker.
pub(super) fn name(marker: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    format!("{PREFIX}{}", marker.chars().map(plain).collect::<String>())
}

/// Makes the folders. All that can be made are. When none can, the first reason.
pub(super) fn make(name: &str) -> Result<Folders, String> {
    let table = fs::read_to_string("/proc/self/mountinfo").map_err(|cause| cause.to_string())?;
    let own = fs::read_to_string("/proc/self/cgroup").map_err(|cause| cause.to_string())?;
    let mut made = Folders::new();
    let mut reason = None;
    for hierarchy in hierarchies(&table) {
        let wanted = |c: &&String| *c == "unified" || FIGURES.contains(&c.as_str());
        let keys: Vec<&String> = hierarchy.controllers.iter().filter(wanted).collect();
        let Some(key) = keys.first() else { continue };
        let Some(home) = home(&hierarchy, &own) else { continue };
        let parent = if *key == "unified" { giving_memory(&home, &hierarchy.at) } else { home };
        let folder = parent.join(name);
        match fs::create_dir(&folder) {
            Ok(()) => made.extend(keys.into_iter().map(|key| (key.clone(), folder.clone()))),
            Err(cause) => reason = reason.or(Some(format!("'{}': {cause}", folder.display()))),
        }
    }
    if made.is_empty() { Err(reason.unwrap_or_else(|| "no control groups are mounted".to_owned())) } else { Ok(made) }
}

/// Moves a process in. Folders that refuse are removed and forgotten. The reason of the first is given.
pub(super) fn enter(folders: &mut Folders, pid: u32) -> Option<String> {
    let mut reason = None;
    folders.retain(|_, folder| match files::write(&folder.join("cgroup.procs"), &pid.to_string()) {
        Ok(()) => true,
        Err(cause) => {
            reason.get_or_insert_with(|| format!("'{}': {cause}", folder.display()));
            // Empty, so nothing holds it. Another key of the same folder may have removed it already.
            let _ = fs::remove_dir(&*folder);
            false
        }
    });
    reason
}

/// Ends everything inside at once where the kernel can (`cgroup.kill`, Linux 5.14), and forbids new processes where it cannot.
pub(super) fn choke(folders: &Folders) {
    for folder in folders.values() {
        // Either is there or is not. Signals to each process follow in any case.
        let _ = files::write(&folder.join("cgroup.kill"), "1");
        let _ = files::write(&folder.join("pids.max"), "0");
    }
}

/// Pids inside, those of groups below included.
pub(super) fn members(folder: &Path) -> Vec<u32> {
    let mut pids = Vec::new();
    for folder in with_groups_below(folder) {
        let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        pids.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
    }
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Removes the folders, those that programs made below them first. Says what is left.
pub(super) fn remove(folders: &Folders, pause: impl Fn(Duration)) -> Vec<String> {
    let mut left = Vec::new();
    for top in folders.values() {
        for folder in with_groups_below(top).iter().rev() {
            let mut result = fs::remove_dir(folder);
            for _ in 0..TRIES {
                match &result {
                    Err(cause) if cause.kind() == io::ErrorKind::ResourceBusy => pause(Duration::from_millis(10)),
                    _ => break,
                }
                result = fs::remove_dir(folder);
            }
            match result {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                    left.push(format!("control group '{}': {cause}", folder.display()));
                }
                _ => {}
            }
        }
    }
    left
}

/// Groups of an archive, wherever a collector of it may have made them.
pub(super) fn of_archive(archive_id: &str) -> Folders {
    let start = format!("{PREFIX}{archive_id}-");
    found(|name| name.starts_with(&start))
}

/// Groups of one name. `systemd-nspawn` makes some for a machine, in hierarchies that we leave alone. Without systemd it does not remove
/// them.
pub(super) fn named(name: &str) -> Folders {
    found(|other| other == name)
}

fn found(fits: impl Fn(&str) -> bool) -> Folders {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut found = Folders::new();
    for hierarchy in hierarchies(&table) {
        for entry in walkdir::WalkDir::new(&hierarchy.at).max_depth(DEPTH).into_iter().flatten() {
            if entry.file_type().is_dir() && fits(&entry.file_name().to_string_lossy()) {
                found.insert(entry.path().display().to_string(), entry.into_path());
            }
        }
    }
    found
}

fn with_groups_below(top: &Path) -> Vec<PathBuf> {
    let folders = walkdir::WalkDir::new(top).into_iter().flatten().filter(|entry| entry.file_type().is_dir());
    folders.map(walkdir::DirEntry::into_path).collect()
}

/// The nearest group above ours, ours included, that hands `memory` down. Ours when none does.
fn giving_memory(home: &Path, top: &Path) -> PathBuf {
    let gives = |group: &&Path| {
        let text = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        text.split_ascii_whitespace().any(|controller| controller == "memory")
    };
    let above = home.ancestors().take_while(|group| group.starts_with(top));
    above.into_iter().find(gives).unwrap_or(home).to_path_buf()
}

/// Our own group in a hierarchy, as a folder. Absent when it is not below what is mounted.
fn home(hierarchy: &Hierarchy, own: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let here = if controllers.is_empty() {
            hierarchy.controllers.iter().any(|c| c == "unified")
        } else {
            controllers.split(',').any(|c| hierarchy.controllers.iter().any(|own| own == c))
        };
        here.then_some(path)
    })?;
    let below = Path::new(path).strip_prefix(&hierarchy.root).ok()?;
    Some(hierarchy.at.join(below))
}

/// Hierarchies of a mount table, each once.
///
/// Source: proc(5), `/proc/pid/mountinfo`: field 4 is the root, 5 the mount point, after ` - ` type, source, and options.
fn hierarchies(table: &str) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    for line in table.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let mut right = right.split(' ');
        let controllers: Vec<String> = match (right.next(), right.nth(1)) {
            (Some("cgroup2"), _) => vec!["unified".to_owned()],
            (Some("cgroup"), Some(options)) => options.split(',').map(str::to_owned).collect(),
            _ => continue,
        };
        let root = left.split(' ').nth(3).map(|field| plain(field.as_bytes()));
        let root = root.and_then(|root| String::from_utf8(root).ok()).map(PathBuf::from);
        let at = mount_points(left.as_bytes()).next();
        if let (Some(root), Some(at)) = (root, at)
            && !found.iter().any(|known| known.controllers == controllers)
        {
            found.push(Hierarchy { controllers, at, root });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
25 22 0:22 / /sys/fs/cgroup rw,relatime shared:9 - tmpfs tmpfs rw,mode=755
26 25 0:23 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
27 25 0:24 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
28 25 0:25 /docker/ab /sys/fs/cgroup/mem\\040ory rw,relatime shared:3 - cgroup cgroup rw,memory
29 25 0:25 /docker/ab /elsewhere rw,relatime - cgroup cgroup rw,memory
";

    #[test]
    fn hierarchies_of_both_layouts_are_found_once_each() {
        let found = hierarchies(HYBRID);
        let at: Vec<&str> = found.iter().map(|h| h.at.to_str().unwrap()).collect();
        assert_eq!(at, ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/mem ory"]);
        assert!(found[1].controllers.contains(&"cpuacct".to_owned()));
        assert_eq!(hierarchies("garbage - cgroup\n\n - \n"), []);
    }

    #[test]
    fn our_own_group_is_found_below_what_is_mounted() {
        let found = hierarchies(HYBRID);
        let own = "3:memory:/docker/ab/inner\n2:cpu,cpuacct:/\n1:name=systemd:/x\n0::/user.slice/session-2.scope\n";
        let home = |index: usize| home(&found[index], own).map(|path| path.display().to_string());
        assert_eq!(home(0).as_deref(), Some("/sys/fs/cgroup/unified/user.slice/session-2.scope"));
        assert_eq!(home(1).as_deref(), Some("/sys/fs/cgroup/cpu,cpuacct/"));
        assert_eq!(home(2).as_deref(), Some("/sys/fs/cgroup/mem ory/inner"));
        assert_eq!(super::home(&found[2], "3:memory:/elsewhere\n"), None, "outside of what is mounted");
    }

    #[test]
    fn the_nearest_group_that_hands_memory_down_is_taken() {
        let folder = sparkbench_testing::Folder::new("cgroup");
        let top = folder.to_path_buf();
        let own = top.join("user.slice/session");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("cgroup.subtree_control"), "").unwrap();
        assert_eq!(giving_memory(&own, &top), own);
        fs::write(top.join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        assert_eq!(giving_memory(&own, &top), top);
        fs::write(top.join("user.slice/cgroup.subtree_control"), "memory\n").unwrap();
        assert_eq!(giving_memory(&own, &top), top.join("user.slice"));
    }

    #[test]
    fn a_name_holds_nothing_but_plain_characters() {
        assert_eq!(name("0123456789ab/docker default #1"), "sparkbench-0123456789ab-docker-default--1");
    }
}
