//! The guard: starts a program, watches its whole tree, and ends it on order or when the collector has died.
//!
//! In:  a job and orders on standard input, whose end means that the collector is gone.  Out: news on standard output.
//! Not here: entering an environment (see `enter`), what the collector does with the news (see `launch`).
//!
//! Single-threaded around one `poll`: orders, signals and the end of children all arrive there. The guard is a subreaper, so every orphan of
//! the tree becomes its child. Without a child left, nothing of the tree is left. That holds without any list of processes. Lists serve only
//! to know whom to signal.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::wait::WaitStatus;

use super::enter::output;
use super::messages::{News, Order, Refusal, Step};
use super::pump::{Pump, Reaped};
use super::{cgroup, ending, root};
use crate::{Closed, Ended, Job, process, time};
use sparkbench_text::error::Error;

/// Longest look for the program's arguments after its start. The kernel shows them a moment after it has released the old program. Where
/// others keep the processors busy, that moment is as long as they make it.
const LOOK: Duration = Duration::from_secs(10);

/// Limit of a program of `after`. Removing a container takes seconds. A daemon that hangs must not hold the campaign for ever.
pub(super) const AFTER: Duration = Duration::from_secs(60);

/// Everything the guard holds.
pub(super) struct Guard {
    pub job: Job,
    pub pump: Pump,
    /// The first process of the tree, while it has not been waited for.
    pub first: Option<u32>,
    pub ended: Option<Ended>,
    pub why: Option<String>,
    pub cgroups: cgroup::Folders,
    pub closed: Closed,
    /// Asked to end by a signal.
    asked: Arc<AtomicBool>,
    started: (f64, i64),
    seen_argv: Option<Vec<String>>,
    made: Vec<PathBuf>,
}

/// Runs the guard to its end.
pub fn serve() -> Result<(), Error> {
    let failed = |cause: io::Error| Error::archive("the guard of a run cannot be set up").because(cause);
    close_inherited().map_err(failed)?;
    // Handlers, not "ignore": what is ignored here would stay ignored in the program.
    let asked = Arc::new(AtomicBool::new(false));
    let (wake, woken) = UnixStream::pair().map_err(failed)?;
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        if signal == signal_hook::consts::SIGTERM {
            signal_hook::flag::register(signal, Arc::clone(&asked)).map_err(failed)?;
        }
        signal_hook::low_level::pipe::register(signal, wake.try_clone().map_err(failed)?).map_err(failed)?;
    }
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, wake).map_err(failed)?;
    prctl::set_child_subreaper(true).map_err(|cause| failed(cause.into()))?;
    // Only for people who look at a list of processes.
    let _ = prctl::set_name(c"sparkbench");
    let mut pump = Pump::new(woken).map_err(failed)?;
    // A collector that died before it sent the job has nothing to be ended.
    let Some(line) = pump.first_line().map_err(failed)? else { return Ok(()) };
    let job: Job = serde_json::from_str(&line)
        .map_err(|cause| Error::usage("standard input does not hold a job for a guard").because(cause))?;
    let mut guard = Guard {
        job,
        pump,
        first: None,
        ended: None,
        why: None,
        cgroups: cgroup::Folders::new(),
        closed: Closed::default(),
        asked,
        started: (0.0, 0),
        seen_argv: None,
        made: Vec::new(),
    };
    match guard.start() {
        Ok(started) => {
            say(&started);
            guard.watch();
        }
        Err(refusal) => {
            // The tree is empty or about to be. Whatever else was made for the run goes as after any other.
            guard.job.stop.clear();
            guard.clear("could not be started");
            guard.clean();
            say(&News::Refused(refusal));
        }
    }
    Ok(())
}

/// Closes what a careless parent of the collector left open: the program gets its three descriptors and no other. Called before we
/// have opened anything ourselves.
fn close_inherited() -> io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // One of them was the folder that has just been read, and is closed already.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}

/// A collector that is gone cannot be told. Its absence shows at the other pipe.
pub(super) fn say(news: &News) {
    if let Ok(mut line) = serde_json::to_string(news) {
        line.push('\n');
        let mut out = io::stdout().lock();
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

impl Guard {
    fn start(&mut self) -> Result<News, Refusal> {
        let stdout = output(&self.job.stdout)?;
        let stderr = output(&self.job.stderr)?;
        let mut no_cgroup = None;
        if self.job.cgroup {
            match cgroup::make(&cgroup::name(&self.job.marker)) {
                Ok(made) => self.cgroups = made,
                Err(reason) => no_cgroup = Some(reason),
            }
        }
        let setup = |cause| Refusal::new("the program's first stage cannot be started", cause);
        let (mut ours, theirs) = UnixStream::pair().map_err(setup)?;
        let mut stage = Command::new("/proc/self/exe");
        stage.args(["guard", "--enter"]).stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
        let child = stage.stdout(stdout).stderr(stderr).spawn().map_err(setup)?;
        // Our copy of the stage's end would hide the stage's end from us.
        drop(stage);
        self.first = Some(child.id());
        if !self.cgroups.is_empty() {
            let refused = cgroup::enter(&mut self.cgroups, child.id());
            no_cgroup = refused.filter(|_| self.cgroups.is_empty());
        }
        let mut line = serde_json::to_string(&self.job).map_err(|cause| setup(cause.into()))?;
        line.push('\n');
        ours.write_all(line.as_bytes()).map_err(setup)?;
        self.follow_stage(&ours)?;
        self.look(child.id());
        let (monotonic_s, utc_ms) = self.started;
        Ok(News::Started { pid: child.id(), cgroups: self.cgroups.clone(), no_cgroup, monotonic_s, utc_ms })
    }

    /// Hears the stage until it has become the program, which closes the socket.
    fn follow_stage(&mut self, socket: &UnixStream) -> Result<(), Refusal> {
        let mut ready = false;
        let lost = |cause: &dyn std::fmt::Display| Refusal::new("the program's first stage was lost", cause);
        loop {
            let line = match self.pump.stage_line(socket, &self.asked) {
                Ok(Some(line)) => line,
                Ok(None) if ready => return Ok(()),
                Ok(None) => return Err(lost(&"it ended without a word")),
                Err(cause) => return Err(lost(&cause)),
            };
            match serde_json::from_str(&line) {
                Ok(Step::Made(made)) => {
                    say(&News::Made(made.clone()));
                    self.made.extend(made.paths);
                }
                Ok(Step::Ready { monotonic_s, utc_ms }) => {
                    self.started = (monotonic_s, utc_ms);
                    ready = true;
                }
                Ok(Step::Failed(refusal)) => return Err(refusal),
                Err(cause) => return Err(lost(&cause)),
            }
        }
    }

    fn look(&mut self, pid: u32) {
        let deadline = Instant::now() + LOOK;
        while self.seen_argv.is_none() && Instant::now() < deadline {
            if !process::Process::read(pid).is_some_and(|process| process.lives()) {
                break;
            }
            self.seen_argv = process::arguments(pid);
            // It may be waiting for this very processor.
            std::thread::yield_now();
        }
    }

    /// From the start to the last word.
    fn watch(&mut self) {
        loop {
            // Looked at before waiting: what woke an earlier wait may have brought more than one thing.
            self.reap();
            if self.asked.swap(false, Ordering::Relaxed) {
                self.clear("the guard was asked to end by a signal");
            }
            match self.pump.order() {
                Some(Order::End(why)) => {
                    let left = self.clear(&why);
                    say(&News::Cleared { left });
                }
                Some(Order::Close) => break,
                None if self.pump.over() => break,
                Some(Order::Ask) | None => {
                    self.wait(None);
                }
            }
        }
        let why = if self.pump.over() { "the collector has ended" } else { "closed" };
        let mut left = self.clear(why);
        left.extend(self.clean());
        say(&News::Closed { closed: self.closed.clone(), left });
    }

    /// Waits for something to happen, and counts the children that have ended. Says whether any child is left.
    pub(super) fn wait(&mut self, until: Option<Instant>) -> Reaped {
        self.pump.wait(until);
        self.reap()
    }

    /// Counts the children that have ended, without waiting.
    pub(super) fn reap(&mut self) -> Reaped {
        let (reaped, ended) = self.pump.reap();
        for (pid, status) in ended {
            if self.first != Some(pid) {
                continue;
            }
            self.first = None;
            let (code, signal) = match status {
                WaitStatus::Exited(_, code) => (Some(code), None),
                WaitStatus::Signaled(_, signal, _) => (None, Some(signal as i32)),
                _ => (None, None),
            };
            let ended = Ended {
                code,
                signal,
                started_monotonic_s: self.started.0,
                ended_monotonic_s: time::monotonic().as_secs_f64(),
                started_utc_ms: self.started.1,
                ended_utc_ms: time::utc().0,
                why: self.why.clone(),
                seen_argv: self.seen_argv.clone(),
            };
            say(&News::Ended(self.ended.insert(ended).clone()));
        }
        reaped
    }

    /// Ends the tree. Returns the names of what could not be ended.
    fn clear(&mut self, why: &str) -> Vec<String> {
        if self.first.is_some() && self.why.is_none() {
            self.why = Some(why.to_owned());
        }
        let left = ending::end(self);
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) {
            let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
            self.closed.user_s = seconds(usage.user_time());
            self.closed.system_s = seconds(usage.system_time());
            self.closed.peak_rss_mib = usage.max_rss() as f64 / 1024.0;
        }
        left
    }

    /// Everything that was made for the run goes. Returns what could not be removed.
    fn clean(&mut self) -> Vec<String> {
        for argv in std::mem::take(&mut self.job.after) {
            if let Err(complaint) = ending::run(self, &argv, AFTER) {
                self.closed.after_failed.push(complaint);
            }
        }
        let left = cgroup::remove(&std::mem::take(&mut self.cgroups), std::thread::sleep);
        // Made by others under the name of this run. Where they may not be removed, they are not ours to answer for.
        cgroup::remove(&cgroup::named(&cgroup::name(&self.job.marker)), std::thread::sleep);
        root::tidy(&std::mem::take(&mut self.made));
        left
    }
}
