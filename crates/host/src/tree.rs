//! The tree of a run: its processes, their resident memory, and the figures of their control group.
//!
//! In:  a host and a [`TreeSource`] with the place of the tree.  Out: [`TreeSample`].
//! Not here: starting or ending the tree (see `machine`), limits.
//!
//! A control group is the tree's own if it was made for the tree. It also is when the tree's main process is in another group than we are.
//! Examples of the latter are a container and a machine of systemd. The group that the collector shares with the tree says nothing about it.
//!
//! On a GPU with unified memory no control group sees what CUDA allocates: these figures are host pages alone.
//! Source: Linux, `Documentation/admin-guide/cgroup-v2.rst` and `Documentation/admin-guide/cgroup-v1/memory.rst`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Host;
use super::memory;
use super::sample::TreeSample;

/// Name of the newer layout among control groups by controller.
pub(crate) const UNIFIED: &str = "unified";

/// Processes looked at in one reading at most. A tree beyond this is counted, and its memory is absent.
const MOST: usize = 512;

/// Where the tree of a run is. Changed by the run while it is being sampled.
#[derive(Debug, Clone, Default)]
pub struct TreeSource {
    /// Host pids as the guard tells them.
    pub pids: Vec<u32>,
    /// Host pid of the first process inside the environment, once there is one.
    pub main: Option<u32>,
    /// Control groups made for the tree, by controller.
    pub cgroups: BTreeMap<String, PathBuf>,
}

/// Reads a tree again and again.
#[derive(Debug, Clone, Default)]
pub struct TreeReader {
    /// Finding for a main process, so that it is looked up once.
    resolved: Option<(u32, BTreeMap<String, PathBuf>)>,
}

impl TreeReader {
    /// Takes the reading.
    pub fn read(&mut self, host: &dyn Host, source: &TreeSource) -> TreeSample {
        let groups = self.groups(host, source);
        let mut sample = group_figures(host, &groups);
        let pids = source.processes(host, &groups);
        if !pids.is_empty() {
            sample.processes = u32::try_from(pids.len()).ok();
            sample.rss_mib = (pids.len() <= MOST).then(|| resident(host, &pids)).flatten();
        }
        sample
    }

    /// Control groups of the tree: those made for it, else those of its main process.
    fn groups(&mut self, host: &dyn Host, source: &TreeSource) -> BTreeMap<String, PathBuf> {
        let Some(pid) = source.main else { return source.cgroups.clone() };
        if let Some((known, groups)) = &self.resolved
            && *known == pid
        {
            return groups.clone();
        }
        let mut groups = own_groups(host, pid);
        // What was made for the tree counts where the main process has no group of its own beside it.
        for (controller, folder) in &source.cgroups {
            groups.entry(controller.clone()).or_insert_with(|| folder.clone());
        }
        self.resolved = Some((pid, groups.clone()));
        groups
    }
}

impl TreeSource {
    /// Every process that is known to belong to the tree.
    fn processes(&self, host: &dyn Host, groups: &BTreeMap<String, PathBuf>) -> BTreeSet<u32> {
        let mut pids: BTreeSet<u32> = self.pids.iter().copied().collect();
        if let Some(folder) = memory_group(groups)
            && let Ok(text) = host.read(&folder.join("cgroup.procs"))
        {
            pids.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
        }
        if pids.is_empty() {
            pids.extend(self.main);
        }
        pids
    }
}

/// The group that counts memory.
fn memory_group(groups: &BTreeMap<String, PathBuf>) -> Option<&PathBuf> {
    groups.get("memory").or_else(|| groups.get(UNIFIED))
}

fn group_figures(host: &dyn Host, groups: &BTreeMap<String, PathBuf>) -> TreeSample {
    let mut sample = TreeSample::default();
    let read = |folder: &Path, file: &str| host.read(&folder.join(file)).ok();
    let bytes = |text: String| text.trim().parse::<u64>().ok().map(mib);
    if let Some(folder) = groups.get("memory") {
        // The older layout: `total_` counts the groups below as well.
        let stat = read(folder, "memory.stat").unwrap_or_default();
        sample.cgroup_memory_mib = read(folder, "memory.usage_in_bytes").and_then(bytes);
        sample.cgroup_anon_mib = memory::counter(&stat, "total_rss").map(mib);
        sample.cgroup_file_mib = memory::counter(&stat, "total_cache").map(mib);
        sample.cgroup_oom_kills =
            read(folder, "memory.oom_control").and_then(|text| memory::counter(&text, "oom_kill"));
    } else if let Some(folder) = groups.get(UNIFIED) {
        let stat = read(folder, "memory.stat").unwrap_or_default();
        sample.cgroup_memory_mib = read(folder, "memory.current").and_then(bytes);
        sample.cgroup_anon_mib = memory::counter(&stat, "anon").map(mib);
        sample.cgroup_file_mib = memory::counter(&stat, "file").map(mib);
        sample.cgroup_oom_kills = read(folder, "memory.events").and_then(|text| memory::counter(&text, "oom_kill"));
    }
    if let Some(folder) = groups.get("cpu").or_else(|| groups.get(UNIFIED)) {
        sample.cgroup_cpu_throttled = read(folder, "cpu.stat").and_then(|text| memory::counter(&text, "nr_throttled"));
    }
    sample
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

/// Sum of `VmRSS`. Processes that have ended meanwhile count nothing. Absent when none could be read.
fn resident(host: &dyn Host, pids: &BTreeSet<u32>) -> Option<f64> {
    let each = pids.iter().filter_map(|pid| {
        let status = host.read(Path::new(&format!("/proc/{pid}/status"))).ok()?;
        // A process that has ended and waits for its parent has no such line, and no memory.
        Some(memory::kib(&status, "VmRSS").unwrap_or(0))
    });
    let (sum, count) = each.fold((0, 0), |(sum, count), kib: u64| (sum + kib, count + 1));
    (count > 0).then(|| sum as f64 / 1024.0)
}

/// Folders of the control groups of a process, by controller, without those that we are in ourselves and without the roots.
pub(crate) fn own_groups(host: &dyn Host, pid: u32) -> BTreeMap<String, PathBuf> {
    let of =
        |who: &str| host.read(Path::new(&format!("/proc/{who}/cgroup"))).map(|text| paths(&text)).unwrap_or_default();
    let ours = of("self");
    let mounts = host.read(Path::new("/proc/self/mountinfo")).map(|text| mounts(&text)).unwrap_or_default();
    let theirs = of(&pid.to_string()).into_iter();
    let unlike = theirs.filter(|(controller, path)| path != "/" && ours.get(controller) != Some(path));
    unlike
        .filter_map(|(controller, path)| {
            let (root, point) = mounts.get(&controller)?;
            // What is mounted may itself be a group further down, as in a container.
            let below =
                path.strip_prefix(root.as_str()).filter(|rest| root == "/" || rest.is_empty() || rest.starts_with('/'));
            let folder = point.join(below?.trim_start_matches('/'));
            host.exists(&folder).then_some((controller, folder))
        })
        .collect()
}

/// `/proc/<pid>/cgroup`: path by controller, the newer layout under [`UNIFIED`].
fn paths(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if number == "0" && controllers.is_empty() {
            found.insert(UNIFIED.to_owned(), path.to_owned());
        }
        for controller in controllers.split(',').filter(|name| !name.is_empty() && !name.contains('=')) {
            found.insert(controller.to_owned(), path.to_owned());
        }
    }
    found
}

/// `/proc/self/mountinfo`: for each controller the group that is mounted and where.
fn mounts(text: &str) -> BTreeMap<String, (String, PathBuf)> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let Some((head, tail)) = line.split_once(" - ") else { continue };
        let mut head = head.split(' ').skip(3);
        let (Some(root), Some(point)) = (head.next(), head.next()) else { continue };
        let mut tail = tail.split(' ');
        let (kind, options) = (tail.next().unwrap_or_default(), tail.nth(1).unwrap_or_default());
        let entry = || (root.to_owned(), PathBuf::from(point));
        match kind {
            "cgroup2" => {
                found.entry(UNIFIED.to_owned()).or_insert_with(entry);
            }
            "cgroup" => {
                for controller in options.split(',') {
                    found.entry(controller.to_owned()).or_insert_with(entry);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Replay;

    /// True lines of a machine with both layouts.
    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    fn read(host: &Replay, source: &TreeSource) -> TreeSample {
        TreeReader::default().read(host, source)
    }

    fn older() -> Replay {
        let folder = "/sys/fs/cgroup/memory/docker/abc";
        Replay::new()
            .file("/proc/self/mountinfo", MOUNTS)
            .file("/proc/self/cgroup", "4:memory:/session\n3:cpu:/\n1:name=systemd:/\n0::/\n")
            .file(
                "/proc/77/cgroup",
                "4:memory:/docker/abc\n3:cpu:/docker/abc\n1:name=systemd:/docker/abc\n0::/docker/abc\n",
            )
            .file(format!("{folder}/cgroup.procs"), "77\n78\n")
            .file(format!("{folder}/memory.usage_in_bytes"), "3145728\n")
            .file(format!("{folder}/memory.stat"), "cache 1\nrss 2\ntotal_cache 2097152\ntotal_rss 1048576\n")
            .file(format!("{folder}/memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
            .file("/sys/fs/cgroup/cpu/docker/abc/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 1\n")
            .file("/proc/77/status", "Name:\tpython\nVmRSS:\t    2048 kB\n")
            .file("/proc/78/status", "Name:\tgone\nState:\tZ (zombie)\n")
    }

    #[test]
    fn a_container_is_found_through_its_main_process_on_the_older_layout() {
        let sample = read(&older(), &TreeSource { main: Some(77), ..TreeSource::default() });
        assert_eq!((sample.processes, sample.rss_mib), (Some(2), Some(2.0)));
        assert_eq!(sample.cgroup_memory_mib, Some(3.0));
        assert_eq!((sample.cgroup_anon_mib, sample.cgroup_file_mib), (Some(1.0), Some(2.0)));
        assert_eq!((sample.cgroup_oom_kills, sample.cgroup_cpu_throttled), (Some(2), Some(4)));
    }

    #[test]
    fn the_newer_layout_has_one_group_with_other_names() {
        let folder = "/sys/fs/cgroup/system.slice/docker-abc.scope";
        let host = Replay::new()
            .file("/proc/self/mountinfo", "26 20 0:23 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n")
            .file("/proc/self/cgroup", "0::/user.slice/session-1.scope\n")
            .file("/proc/9/cgroup", "0::/system.slice/docker-abc.scope\n")
            .file(format!("{folder}/cgroup.procs"), "9\n")
            .file(format!("{folder}/memory.current"), "1048576\n")
            .file(format!("{folder}/memory.stat"), "anon 524288\nfile 262144\nfile_mapped 1\n")
            .file(format!("{folder}/memory.events"), "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n")
            .file(format!("{folder}/cpu.stat"), "usage_usec 5\nnr_throttled 0\n");
        let sample = read(&host, &TreeSource { main: Some(9), ..TreeSource::default() });
        assert_eq!(
            (sample.cgroup_memory_mib, sample.cgroup_anon_mib, sample.cgroup_file_mib),
            (Some(1.0), Some(0.5), Some(0.25))
        );
        assert_eq!((sample.cgroup_oom_kills, sample.cgroup_cpu_throttled), (Some(1), Some(0)));
        assert_eq!((sample.processes, sample.rss_mib), (Some(1), None), "it ended before its memory was read");
    }

    #[test]
    fn a_group_that_we_share_says_nothing_about_the_tree() {
        let host = older()
            .file("/proc/5/cgroup", "4:memory:/session\n3:cpu:/\n0::/\n")
            .file("/proc/5/status", "VmRSS: 1024 kB\n");
        let sample = read(&host, &TreeSource { main: Some(5), pids: vec![5], ..TreeSource::default() });
        assert_eq!((sample.cgroup_memory_mib, sample.cgroup_cpu_throttled), (None, None));
        assert_eq!((sample.processes, sample.rss_mib), (Some(1), Some(1.0)));
    }

    #[test]
    fn a_group_made_for_the_tree_is_taken_without_asking_a_process() {
        let cgroups = BTreeMap::from([("memory".to_owned(), PathBuf::from("/sys/fs/cgroup/memory/docker/abc"))]);
        let sample = read(&older(), &TreeSource { cgroups, ..TreeSource::default() });
        assert_eq!((sample.cgroup_memory_mib, sample.processes), (Some(3.0), Some(2)));
        assert_eq!(read(&older(), &TreeSource::default()), TreeSample::default(), "no tree yet");
    }

    #[test]
    fn a_mount_that_begins_further_down_is_followed() {
        let text = "26 20 0:23 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let host = Replay::new()
            .file("/proc/self/mountinfo", text)
            .file("/proc/self/cgroup", "0::/docker/abc\n")
            .file("/proc/3/cgroup", "0::/docker/abc/run\n")
            .file("/proc/4/cgroup", "0::/docker/abcdef\n")
            .folder("/sys/fs/cgroup/run");
        assert_eq!(own_groups(&host, 3).get(UNIFIED), Some(&PathBuf::from("/sys/fs/cgroup/run")));
        assert!(own_groups(&host, 4).is_empty(), "a name that only begins alike is another group");
        assert!(own_groups(&host, 99).is_empty(), "a process that is gone has none");
    }

    #[test]
    fn lines_that_are_cut_short_are_passed_over() {
        assert!(paths("4:memory\n\n0\n").is_empty());
        assert!(mounts("31 23 0:28\n31 23 0:28 / /x rw tmpfs\n 1 2 - cgroup2\n").is_empty());
    }
}
