//! The kernel's view of a running program: arguments, variables, parent, control groups.
//!
//! In:  a pid.  Out: plain values, absent when the program has ended or may not be read.
//! Not here: what follows from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::variables;
use sparkbench_host::Host;

/// Observation of one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Its arguments.
    pub argv: Option<Vec<String>>,
    /// Its variables as they were at its start.
    pub variables: Option<BTreeMap<String, String>>,
}

impl Seen {
    /// Looks at a program.
    pub(super) fn of(host: &dyn Host, pid: u32) -> Self {
        let variables = read(host, pid, "environ").map(|text| {
            let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
            pairs
                .filter(|(name, _)| variables::lawful(name))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect()
        });
        Self { argv: argv(host, pid), variables }
    }
}

/// Arguments of a program. Absent once it has ended (the kernel then shows none).
pub(super) fn argv(host: &dyn Host, pid: u32) -> Option<Vec<String>> {
    let text = read(host, pid, "cmdline")?;
    let whole = text.strip_suffix('\0').unwrap_or(&text);
    (!text.is_empty()).then(|| whole.split('\0').map(str::to_owned).collect())
}

/// Parent of a process.
pub(super) fn parent(host: &dyn Host, pid: u32) -> Option<u32> {
    // The name in brackets may itself hold brackets and blanks, so the fields are counted from the last bracket.
    let text = read(host, pid, "stat")?;
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Folders of the control groups of a process by controller (`unified` for the one tree of version 2), unchanged below `/sys/fs/cgroup`.
pub(super) fn cgroups(host: &dyn Host, pid: u32) -> BTreeMap<String, PathBuf> {
    let text = read(host, pid, "cgroup").unwrap_or_default();
    // With both versions mounted, the tree of version 2 is beside the others.
    let hybrid = host.exists(Path::new("/sys/fs/cgroup/unified"));
    let mut folders = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let below = path.trim_start_matches('/');
        if controllers.is_empty() {
            let base = if hybrid { "/sys/fs/cgroup/unified" } else { "/sys/fs/cgroup" };
            folders.insert("unified".to_owned(), Path::new(base).join(below));
            continue;
        }
        for controller in controllers.split(',').filter(|name| !name.starts_with("name=")) {
            // `cpu,cpuacct` is mounted under both names, by a link, where the two go together.
            folders.insert(controller.to_owned(), Path::new("/sys/fs/cgroup").join(controller).join(below));
        }
    }
    folders
}

fn read(host: &dyn Host, pid: u32, name: &str) -> Option<String> {
    host.read(&Path::new("/proc").join(pid.to_string()).join(name)).ok()
}
