//! Ending a tree whole: politely, then for certain.
//!
//! In:  a guard.  Out: no process left below it, or the names of those that are.
//! Not here: when to end it.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use super::cgroup;
use super::pump::Reaped;
use super::serve::Guard;
use crate::process::{self, Process};

/// A process that does not go within this time after SIGKILL hangs in the kernel, most likely in a driver. Giving back 128 GiB takes
/// seconds.
pub(super) const KILL: Duration = Duration::from_secs(30);

/// How long a program of `stop` may take beyond the grace period it has been given itself.
pub(super) const STOP_MARGIN: Duration = Duration::from_secs(10);

/// A grace period as the job tells it, kept within reason: an hour at most, nothing where it makes no sense.
pub(super) fn grace(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.clamp(0.0, 3600.0)).unwrap_or_default()
}

/// Time between two checks of a tree that is being ended, where no child's end wakes us.
const LOOK: Duration = Duration::from_millis(50);

/// A helper that has ended may have left unread output.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Most that is kept of a helper's complaint.
const COMPLAINT: u64 = 64 << 10;

/// Ends the tree of a guard. Returns the names of what could not be ended.
pub(super) fn end(guard: &mut Guard) -> Vec<String> {
    let own = std::process::id();
    if guard.reap() == Reaped::None {
        return Vec::new();
    }
    let grace = grace(guard.job.grace_s);
    if guard.first.is_some() {
        for argv in std::mem::take(&mut guard.job.stop) {
            // It shows in what follows whether it helped.
            let _ = run(guard, &argv, grace + STOP_MARGIN);
        }
    } else {
        outlived(guard, own);
    }
    let deadline = Instant::now() + grace;
    let mut told = BTreeSet::new();
    while guard.reap() == Reaped::Some && Instant::now() < deadline {
        for process in tree(own).iter().filter(|process| told.insert(process.pid)) {
            send(process.pid, Signal::SIGTERM);
            // A stopped process hears nothing until it goes on.
            send(process.pid, Signal::SIGCONT);
        }
        guard.wait(Some(deadline.min(Instant::now() + LOOK)));
    }
    outlived(guard, own);
    let deadline = Instant::now() + KILL;
    while guard.reap() == Reaped::Some {
        cgroup::choke(&guard.cgroups);
        // All are stopped before the first is killed, so that no parent starts another child in the place of one that has died.
        let tree = tree(own);
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            tree.iter().for_each(|process| send(process.pid, signal));
        }
        if Instant::now() > deadline {
            return tree.iter().map(named).collect();
        }
        guard.wait(Some(Instant::now() + LOOK));
    }
    Vec::new()
}

/// Nothing to signal where the list cannot be had. The caller comes back until no child is left.
fn tree(own: u32) -> Vec<Process> {
    process::below(own).unwrap_or_default()
}

/// A process for people who have to end it themselves.
pub(super) fn named(process: &Process) -> String {
    format!("{} ({})", process.name, process.pid)
}

/// Notes what is still there, the first process not included.
fn outlived(guard: &mut Guard, own: u32) {
    for process in tree(own).into_iter().filter(|process| guard.first != Some(process.pid)) {
        if !guard.closed.outlived.contains(&process.name) {
            guard.closed.outlived.push(process.name);
        }
    }
}

/// A process that has gone cannot be signalled, which is what was wanted.
pub(super) fn send(pid: u32, signal: Signal) {
    if let Ok(pid) = i32::try_from(pid) {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// Runs a program of the machine beside the tree, to its end or to its limit. Returns its complaint when it failed.
pub(super) fn run(guard: &mut Guard, argv: &[String], limit: Duration) -> Result<(), String> {
    let words = argv.join(" ");
    let Some((name, arguments)) = argv.split_first() else { return Ok(()) };
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|cause| format!("'{words}': {cause}"))?;
    let pid = child.id();
    guard.pump.known.insert(pid, None);
    let complaint = Arc::new(Mutex::new(Vec::new()));
    let reader = child.stderr.take().map(|stderr| {
        let complaint = Arc::clone(&complaint);
        std::thread::spawn(move || {
            let mut stderr = stderr.take(COMPLAINT);
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                complaint.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..count]);
            }
        })
    });
    let mut deadline = Instant::now() + limit;
    let mut killed = false;
    loop {
        guard.reap();
        if let Some(status) = guard.pump.known.get(&pid).copied().flatten() {
            guard.pump.known.remove(&pid);
            // Not waited for longer: something it started may hold the pipe open.
            let enough = Instant::now() + LAST_WORDS;
            while reader.as_ref().is_some_and(|reader| !reader.is_finished()) && Instant::now() < enough {
                std::thread::sleep(Duration::from_millis(1));
            }
            let text = String::from_utf8_lossy(&complaint.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
            return match status {
                WaitStatus::Exited(_, 0) => Ok(()),
                _ if killed => Err(format!("'{words}': no end within {} s", limit.as_secs())),
                WaitStatus::Exited(_, code) => Err(format!("'{words}': exit status {code}: {}", last_line(&text))),
                _ => Err(format!("'{words}': ended by a signal: {}", last_line(&text))),
            };
        }
        if Instant::now() >= deadline {
            if killed {
                return Err(format!("'{words}': cannot be ended"));
            }
            killed = true;
            deadline = Instant::now() + KILL;
            if let Ok(group) = i32::try_from(pid) {
                let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            }
        }
        guard.wait(Some(deadline.min(Instant::now() + LOOK)));
    }
}

fn last_line(text: &str) -> &str {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no message")
}
