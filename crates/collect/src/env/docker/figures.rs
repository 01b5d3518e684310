//! Figures of a container's control group, read while it runs, because they vanish with it.
//!
//! In:  the folders of its control groups.  Out: the last reading, as the kernel printed it.
//! Not here: telemetry over time (see `run`).
//!
//! `docker stats` is computed from these same files by the daemon, and one call costs it one to two seconds. A few reads of ours cost
//! next to nothing, so a run is not disturbed by being watched.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use sparkbench_host::Host;

/// Controller and file: limits, which do not change while a container runs. The newer layout first.
const LIMITS: &[(&str, &[&str])] = &[
    (
        "unified",
        &["memory.max", "memory.high", "memory.swap.max", "cpu.max", "cpu.weight", "cpuset.cpus.effective", "pids.max"],
    ),
    ("memory", &["memory.limit_in_bytes", "memory.soft_limit_in_bytes", "memory.memsw.limit_in_bytes"]),
    ("cpu", &["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares"]),
    ("cpuset", &["cpuset.cpus", "cpuset.mems"]),
    ("pids", &["pids.max"]),
];

/// Controller and file: what was used so far.
const USE: &[(&str, &[&str])] = &[
    (
        "unified",
        &[
            "memory.current",
            "memory.peak",
            "memory.swap.current",
            "memory.stat",
            "memory.events",
            "cpu.stat",
            "io.stat",
            "pids.peak",
        ],
    ),
    (
        "memory",
        &["memory.usage_in_bytes", "memory.max_usage_in_bytes", "memory.stat", "memory.oom_control", "memory.failcnt"],
    ),
    ("cpu", &["cpu.stat"]),
    ("cpuacct", &["cpuacct.usage", "cpuacct.stat"]),
    ("blkio", &["blkio.throttle.io_service_bytes"]),
    ("pids", &["pids.current"]),
];

/// Least time between two readings: some of these files cost the kernel a walk over all processors.
const PAUSE: Duration = Duration::from_secs(1);

/// The last reading.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    folders: BTreeMap<String, PathBuf>,
    limits: BTreeMap<String, String>,
    used: BTreeMap<String, String>,
    /// Readings so far.
    pub readings: u64,
    at_utc_ms: i64,
    next: Duration,
}

impl Figures {
    /// Of these folders, by controller.
    pub(super) fn new(folders: BTreeMap<String, PathBuf>) -> Self {
        Self { folders, ..Self::default() }
    }

    /// Takes a reading, where the one before is a second old. That one stays when the group is gone by now.
    pub(super) fn take(&mut self, host: &dyn Host) {
        let now = host.monotonic();
        if self.readings > 0 && now < self.next {
            return;
        }
        self.next = now + PAUSE;
        if self.readings == 0 {
            self.limits = self.read(host, LIMITS);
        }
        let used = self.read(host, USE);
        if !used.is_empty() {
            self.used = used;
            self.readings += 1;
            self.at_utc_ms = host.utc().0;
        }
    }

    /// `cgroup.json`. Nothing when the container ended before the first reading.
    pub(super) fn file(&self) -> Option<Vec<u8>> {
        let value = json!({
            "what": "files of the container's control group as the kernel printed them, last read while it ran",
            "read_utc_ms": self.at_utc_ms,
            "readings": self.readings,
            "folders": self.folders,
            "limits": self.limits,
            "used": self.used,
        });
        (self.readings > 0).then(|| format!("{value:#}\n").into_bytes())
    }

    /// Whether the kernel ended a process of the group for lack of memory.
    pub(super) fn out_of_memory(&self) -> bool {
        ["unified/memory.events", "memory/memory.oom_control"].iter().any(|name| {
            let text = self.used.get(*name).map(String::as_str).unwrap_or_default();
            let kills = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok());
            kills.is_some_and(|kills| kills > 0)
        })
    }

    fn read(&self, host: &dyn Host, wanted: &[(&str, &[&str])]) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        for (controller, names) in wanted {
            let Some(folder) = self.folders.get(*controller) else { continue };
            for name in *names {
                if let Ok(text) = host.read(&folder.join(name)) {
                    texts.insert(format!("{controller}/{name}"), text);
                }
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_host::replay::Replay;

    fn folders(controller: &str) -> BTreeMap<String, PathBuf> {
        BTreeMap::from([(controller.to_owned(), PathBuf::from("/sys/fs/cgroup/c"))])
    }

    #[test]
    fn the_last_reading_stays_when_the_group_is_gone() {
        let host = Replay::new()
            .file("/sys/fs/cgroup/c/memory.current", "4096\n")
            .file("/sys/fs/cgroup/c/memory.events", "low 0\noom 1\noom_kill 1\n")
            .file("/sys/fs/cgroup/c/memory.max", "max\n");
        let mut figures = Figures::new(folders("unified"));
        assert!(figures.file().is_none());
        figures.take(&host);
        figures.take(&host);
        assert_eq!(figures.readings, 1, "not twice within a second");
        host.advance(PAUSE);
        figures.take(&host);
        assert_eq!(figures.readings, 2);
        let later = Replay::new();
        later.advance(10 * PAUSE);
        figures.take(&later);
        assert_eq!(figures.readings, 2);
        let file: serde_json::Value = serde_json::from_slice(&figures.file().unwrap()).unwrap();
        assert_eq!(file["used"]["unified/memory.current"], "4096\n");
        assert_eq!(file["limits"]["unified/memory.max"], "max\n");
        assert!(figures.out_of_memory());
    }

    #[test]
    fn the_older_layout_is_read_too() {
        let host = Replay::new().file("/sys/fs/cgroup/c/memory.oom_control", "under_oom 0\noom_kill 0\n");
        let mut figures = Figures::new(folders("memory"));
        figures.take(&host);
        assert_eq!((figures.readings, figures.out_of_memory()), (1, false));
    }
}
