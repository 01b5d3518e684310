//! Ending a run whose guard is gone: the collector does what the guard would have done.
//!
//! In:  [`Traces`] of the run.  Out: [`Ending`]: what was ended, and what could not be.
//! Not here: noticing that a guard is gone (see `launch`).
//!
//! A guard knows its tree exactly, because every orphan becomes its child. The collector has to search. A process is of the run when one of
//! these shows it: the run's mark, its control group, the session of its first process, or a look at the tree while the guard still lived.
//! The collector is a subreaper as well, so orphans of a dead guard become its children. What a process of the run has started is of the run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::sweep::is_guard;
use super::{cgroup, ending, root, serve};
use crate::ask::ask;
use crate::process::{self, Process};
use crate::{Job, MARKER, Question};

/// Between two looks for what is left.
const LOOK: Duration = Duration::from_millis(50);

/// Looks at nothing before nothing is believed: a process that was just being started may be missed by one.
const QUIET: u32 = 2;

/// Processes as a look at the whole machine showed them while the guard lived. Taken only where no control group holds them.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// The tree: pid and when it began.
    pub tree: BTreeMap<u32, u64>,
    /// Our own children. Absent before the first look.
    pub children: Option<BTreeSet<u32>>,
}

/// Everything that a process of the run can be known by.
#[derive(Debug)]
pub(super) struct Traces<'a> {
    pub job: &'a Job,
    /// The guard, which is not of its own tree.
    pub guard: u32,
    /// First process of the tree. 0 where none was reported.
    pub first: u32,
    pub cgroups: cgroup::Folders,
    pub seen: Seen,
}

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// Processes that were ended, by pid, with their names.
    pub ended: BTreeMap<u32, String>,
    /// Names and pids of what could not be ended, with the reason.
    pub left: Vec<String>,
    /// Programs of [`Job::stop`], each with how it went.
    pub stops: Vec<String>,
    /// How the first process ended, where the kernel still knew.
    pub first: Option<WaitStatus>,
}

/// Ends the tree: politely, then for certain. `stop`: whether the programs of [`Job::stop`] have to be run.
pub(super) fn end(traces: &Traces<'_>, stop: bool) -> Ending {
    let mut ending = Ending::default();
    let grace = ending::grace(traces.job.grace_s);
    for argv in traces.job.stop.iter().filter(|_| stop) {
        ending.stops.push(match run(argv, grace + ending::STOP_MARGIN) {
            Ok(()) => format!("'{}' was run", argv.join(" ")),
            Err(complaint) => format!("{complaint} (failed)"),
        });
    }
    if let Err(cause) = traces.end_processes(grace, &mut ending) {
        ending.left.push(format!("what is left of it is not known, because '/proc' cannot be listed: {cause}"));
    }
    ending
}

/// Everything that was made for the run goes. Programs of [`Job::after`] that failed, and what could not be removed.
pub(super) fn clean(job: &Job, cgroups: &cgroup::Folders, made: &[PathBuf]) -> (Vec<String>, Vec<String>) {
    let after = job.after.iter().filter_map(|argv| run(argv, serve::AFTER).err()).collect();
    let left = cgroup::remove(cgroups, std::thread::sleep);
    // As the guard does: made by others under the name of this run.
    cgroup::remove(&cgroup::named(&cgroup::name(&job.marker)), std::thread::sleep);
    root::tidy(made);
    (after, left)
}

impl Traces<'_> {
    fn end_processes(&self, grace: Duration, ending: &mut Ending) -> std::io::Result<()> {
        let deadline = Instant::now() + grace;
        let mut told = BTreeSet::new();
        loop {
            let found = self.living(ending)?;
            if found.is_empty() || Instant::now() >= deadline {
                break;
            }
            for process in found.iter().filter(|process| told.insert(process.pid)) {
                ending::send(process.pid, Signal::SIGTERM);
                // A stopped process hears nothing until it goes on.
                ending::send(process.pid, Signal::SIGCONT);
            }
            std::thread::sleep(LOOK);
        }
        let deadline = Instant::now() + ending::KILL;
        let mut quiet = 0;
        while quiet < QUIET {
            let found = self.living(ending)?;
            quiet = if found.is_empty() { quiet + 1 } else { 0 };
            cgroup::choke(&self.cgroups);
            // All are stopped before the first is killed, as in `ending`.
            let refused: Vec<&Process> = found.iter().filter(|process| !may_stop(process.pid)).collect();
            found.iter().for_each(|process| ending::send(process.pid, Signal::SIGKILL));
            let why = if !refused.is_empty() && refused.len() == found.len() {
                "this user may not end it"
            } else if Instant::now() > deadline {
                "it outlives SIGKILL"
            } else {
                std::thread::sleep(LOOK);
                continue;
            };
            for process in &found {
                ending.ended.remove(&process.pid);
                ending.left.push(format!("{}: {why}", ending::named(process)));
            }
            break;
        }
        Ok(())
    }

    /// Living processes of the run. They are noted as ended. Those of them that have ended by now are waited for, where they became ours.
    fn living(&self, ending: &mut Ending) -> std::io::Result<Vec<Process>> {
        let found = self.find(process::all()?);
        for pid in ending.ended.keys().copied().chain([self.first]).filter(|pid| *pid != 0) {
            let Ok(raw) = i32::try_from(pid) else { continue };
            match waitpid(Pid::from_raw(raw), Some(WaitPidFlag::WNOHANG)) {
                Ok(status @ (WaitStatus::Exited(..) | WaitStatus::Signaled(..))) if pid == self.first => {
                    ending.first = Some(status);
                }
                // Still there, or never a child of ours: then whoever adopted it waits for it.
                _ => {}
            }
        }
        for process in &found {
            ending.ended.entry(process.pid).or_insert_with(|| process.name.clone());
        }
        Ok(found)
    }

    /// Those of a picture of all processes that are of the run and live.
    fn find(&self, all: Vec<Process>) -> Vec<Process> {
        let mark = self.job.marker.as_str();
        let marked = |pid: u32| !mark.is_empty() && process::variable(pid, MARKER).is_some_and(|value| value == mark);
        let mut spared = process::own_line();
        spared.insert(self.guard);
        // A further machine may be this very machine. Its guard lives, and ends its own part of the run.
        for other in all.iter().filter(|process| process.pid != self.guard && is_guard(process.pid)) {
            if other.lives() && marked(other.pid) {
                spared.insert(other.pid);
                spared.extend(process::descendants(all.clone(), other.pid).iter().map(|process| process.pid));
            }
        }
        let own = std::process::id();
        let session = all.iter().find(|process| process.pid == own).map(|process| process.session);
        let members: BTreeSet<u32> = self.cgroups.values().flat_map(|folder| cgroup::members(folder)).collect();
        let adopted = |process: &Process| {
            let before = self.seen.children.as_ref();
            process.parent == own
                && session.is_some_and(|session| process.session != session)
                && before.is_some_and(|before| !before.contains(&process.pid))
        };
        let ours = |process: &&Process| {
            members.contains(&process.pid)
                || (self.first != 0 && (process.pid == self.first || process.session == self.first))
                || self.seen.tree.get(&process.pid) == Some(&process.began)
                || adopted(process)
                || marked(process.pid)
        };
        let free = |process: &&Process| !spared.contains(&process.pid);
        let mut pids: BTreeSet<u32> = all.iter().filter(free).filter(ours).map(|process| process.pid).collect();
        // What they have started, and what that has started.
        loop {
            let more = all.iter().filter(free).filter(|process| pids.contains(&process.parent));
            let more: Vec<u32> = more.map(|process| process.pid).filter(|pid| !pids.contains(pid)).collect();
            if more.is_empty() {
                break;
            }
            pids.extend(more);
        }
        all.into_iter().filter(|process| process.lives() && pids.contains(&process.pid)).collect()
    }
}

/// Stops a process. False when this user may not.
fn may_stop(pid: u32) -> bool {
    i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), Signal::SIGSTOP) != Err(Errno::EPERM))
}

/// Runs a program of the machine to its end or to its limit. Returns its complaint when it failed.
fn run(argv: &[String], limit: Duration) -> Result<(), String> {
    let words = argv.join(" ");
    match ask(&Question::new(argv.iter().cloned()).within(limit)) {
        Ok(answer) if answer.ok() => Ok(()),
        Ok(answer) if answer.timed_out => Err(format!("'{words}': no end within {} s", limit.as_secs())),
        Ok(answer) => Err(format!("'{words}': {}", answer.complaint())),
        Err(cause) => Err(format!("'{words}': {cause}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, session: u32) -> Process {
        Process { pid, parent, name: format!("p{pid}"), state: 'S', ticks: 0, session, began: u64::from(pid) }
    }

    /// Pids that no kernel gives (its limit is 4,194,304), so that nothing of this machine is read for them.
    const FAR: u32 = 50_000_000;

    #[test]
    fn a_session_and_an_earlier_look_show_what_is_of_a_run_and_nothing_else_is_taken() {
        let (own, job) = (std::process::id(), Job { marker: "0123456789ab/r".to_owned(), ..Job::default() });
        let at = |number: u32| FAR + number;
        let all = vec![
            process(own, 1, 7),
            // In the session of the first process, and a child of it in a session of its own.
            process(at(2), 1, at(1)),
            process(at(3), at(2), at(3)),
            // Seen below the guard, and one with the same pid that began later.
            process(at(4), 1, at(4)),
            process(at(5), 1, at(5)),
            // An orphan that has just become ours, a child of ours from before, and a program that we were asking something.
            process(at(6), own, at(6)),
            process(at(7), own, at(7)),
            process(at(8), own, 7),
            process(at(9), 1, at(9)),
        ];
        let seen = Seen { tree: [(at(4), u64::from(at(4))), (at(5), 1)].into(), children: Some([at(7), at(8)].into()) };
        let traces = Traces { job: &job, guard: at(99), first: at(1), cgroups: cgroup::Folders::new(), seen };
        let found: Vec<u32> = traces.find(all).iter().map(|process| process.pid - FAR).collect();
        assert_eq!(found, [2, 3, 4, 6]);
    }
}
