//! Ending what a crash left: processes that carry the mark of an archive, and its control groups.
//!
//! In:  an archive id.  Out: names of the processes that were ended. None is left.
//! Not here: containers, which their engine keeps (see `env`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{cgroup, ending};
use crate::{MARKER, process};
use sparkbench_text::error::{Error, Kind};

/// A guard whose collector has just died is ending its tree and removing its container: it knows better than we do how.
const GUARDS: Duration = Duration::from_secs(15);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Ends every process that carries the mark of an archive or is in one of its control groups. This process and its ancestors are left out.
/// Guards that are at work may finish it first.
///
/// # Errors
/// When something cannot be ended.
pub fn end_marked(archive_id: &str) -> Result<Vec<String>, Error> {
    let failed = || Error::new(Kind::Workload, format!("what is left of archive '{archive_id}' cannot be ended"));
    if archive_id.is_empty() {
        return Err(failed().detail("an archive has a name"));
    }
    let spared = process::own_line();
    let look = || marked(archive_id, &spared).map_err(|cause| failed().because(cause));
    let patience = Instant::now() + GUARDS;
    while Instant::now() < patience && look()?.keys().any(|pid| is_guard(*pid)) {
        std::thread::sleep(LOOK);
    }
    let mut names = Vec::new();
    let mut named = BTreeSet::new();
    let deadline = Instant::now() + ending::KILL;
    // Two looks at nothing: a process that was just being started may have been missed by the first.
    let mut quiet = 0;
    while quiet < 2 {
        let found = look()?;
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        if !found.is_empty() && Instant::now() > deadline {
            let left: Vec<String> = found.into_iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
            return Err(failed()
                .detail(left.join(", "))
                .hint("end them by hand. A process that survives SIGKILL hangs in the kernel until a restart"));
        }
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            for pid in found.keys() {
                // Gone is what it should be. Without the right to signal it shows again in the next look.
                let _ = i32::try_from(*pid).map(|pid| kill(Pid::from_raw(pid), signal));
            }
        }
        names.extend(found.into_iter().filter(|(pid, _)| named.insert(*pid)).map(|(_, name)| name));
        std::thread::sleep(LOOK);
    }
    let left = cgroup::remove(&cgroup::of_archive(archive_id), std::thread::sleep);
    if left.is_empty() { Ok(names) } else { Err(failed().detail(left.join(", "))) }
}

/// Living processes of an archive, by pid, with their names.
fn marked(archive_id: &str, spared: &BTreeSet<u32>) -> std::io::Result<BTreeMap<u32, String>> {
    let start = format!("{archive_id}/");
    let groups = cgroup::of_archive(archive_id);
    let members: BTreeSet<u32> = groups.values().flat_map(|folder| cgroup::members(folder)).collect();
    let all = process::all()?.into_iter().filter(|process| process.lives() && !spared.contains(&process.pid));
    let ours = |pid: u32| {
        members.contains(&pid) || process::variable(pid, MARKER).is_some_and(|value| value.starts_with(&start))
    };
    Ok(all.filter(|process| ours(process.pid)).map(|process| (process.pid, process.name)).collect())
}

/// A guard, not the stage of a program that has not yet become it.
pub(super) fn is_guard(pid: u32) -> bool {
    process::arguments(pid).is_some_and(|words| words.len() == 2 && words[1] == "guard")
}
