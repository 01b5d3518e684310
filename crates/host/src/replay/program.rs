//! Programs of a recording: those that are followed line by line, and those that are launched.
//!
//! In:  lines with their times, a [`Script`].  Out: [`Lines`] and [`Launched`] that move the recording's clock.
//! Not here: processes.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{HostCall, Replay};
use crate::{Closed, Ended, Host as _, Job, Launched, Lines};
use sparkbench_text::error::Error;

/// Lines and their times.
#[derive(Debug, Clone)]
pub(super) struct Spoken {
    lines: Vec<(Duration, String)>,
    end: Option<String>,
}

impl Spoken {
    pub(super) fn new(lines: &[(Duration, &str)], end: Option<&str>) -> Self {
        let lines = lines.iter().map(|(after, line)| (*after, (*line).to_owned())).collect();
        Self { lines, end: end.map(str::to_owned) }
    }

    /// Plays it, times counted from `start`.
    pub(super) fn play(self, replay: Replay, start: Duration) -> Speaking {
        let lines = self.lines.into_iter().map(|(after, line)| (start + after, line)).collect();
        Speaking { replay, lines, end: self.end }
    }

    /// Plays what is still to come, times counted as they are.
    pub(super) fn play_from_now(self, replay: Replay) -> Speaking {
        let now = replay.state().clock.now;
        let lines = self.lines.into_iter().filter(|(at, _)| *at >= now).collect();
        Speaking { replay, lines, end: self.end }
    }
}

/// A program that is being followed.
#[derive(Debug)]
pub(super) struct Speaking {
    replay: Replay,
    lines: VecDeque<(Duration, String)>,
    end: Option<String>,
}

impl Lines for Speaking {
    fn next_line(&mut self, limit: Duration) -> io::Result<Option<String>> {
        let mut state = self.replay.state();
        let until = state.clock.now + limit;
        match (self.lines.front(), &self.end) {
            (None, Some(end)) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, end.clone())),
            (Some((due, _)), _) if *due <= until => {
                state.clock.wait(*due);
                // An interrupt may have come first.
                if state.clock.now >= *due {
                    return Ok(self.lines.pop_front().map(|(_, line)| line));
                }
            }
            _ => state.clock.wait(until),
        }
        Ok(None)
    }

    fn cpu(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }
}

/// Done when a launched program starts.
type Act = Arc<dyn Fn(&Job) + Send + Sync>;

/// Behaviour of a launched program. By default: one second, status 0, nothing printed.
#[derive(Clone)]
pub struct Script {
    runs: Option<Duration>,
    code: Option<i32>,
    signal: Option<i32>,
    stdout: String,
    stderr: String,
    files: Vec<(PathBuf, String)>,
    tree: Vec<u32>,
    cgroups: BTreeMap<String, PathBuf>,
    seen_argv: Option<Vec<String>>,
    closed: Closed,
    refused: Option<String>,
    guard_dies: Option<Duration>,
    act: Option<Act>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            runs: Some(Duration::from_secs(1)),
            code: Some(0),
            signal: None,
            stdout: String::new(),
            stderr: String::new(),
            files: Vec::new(),
            tree: Vec::new(),
            cgroups: BTreeMap::new(),
            seen_argv: None,
            closed: Closed::default(),
            refused: None,
            guard_dies: None,
            act: None,
        }
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script").field("runs", &self.runs).field("code", &self.code).finish_non_exhaustive()
    }
}

impl Script {
    /// One second, status 0, nothing printed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Duration of its run.
    #[must_use]
    pub fn runs(mut self, time: Duration) -> Self {
        self.runs = Some(time);
        self
    }

    /// Never ends by itself.
    #[must_use]
    pub fn hangs(mut self) -> Self {
        self.runs = None;
        self
    }

    /// Ends with a status.
    #[must_use]
    pub fn exits(mut self, code: i32) -> Self {
        (self.code, self.signal) = (Some(code), None);
        self
    }

    /// Ends by a signal.
    #[must_use]
    pub fn killed_by(mut self, signal: i32) -> Self {
        (self.code, self.signal) = (None, Some(signal));
        self
    }

    /// Written to the job's standard output.
    #[must_use]
    pub fn prints(mut self, text: &str) -> Self {
        text.clone_into(&mut self.stdout);
        self
    }

    /// Written to the job's standard error.
    #[must_use]
    pub fn complains(mut self, text: &str) -> Self {
        text.clone_into(&mut self.stderr);
        self
    }

    /// A file it leaves. A path that is not absolute counts from the job's working folder, or else from that of its standard output.
    #[must_use]
    pub fn leaves(mut self, path: impl Into<PathBuf>, text: &str) -> Self {
        self.files.push((path.into(), text.to_owned()));
        self
    }

    /// Pids of its tree beside its own.
    #[must_use]
    pub fn with_tree(mut self, pids: &[u32]) -> Self {
        self.tree = pids.to_vec();
        self
    }

    /// A control group of its own.
    #[must_use]
    pub fn with_cgroup(mut self, controller: &str, path: impl Into<PathBuf>) -> Self {
        self.cgroups.insert(controller.to_owned(), path.into());
        self
    }

    /// Arguments it is seen with. Those of the job unless said otherwise.
    #[must_use]
    pub fn seen_as(mut self, argv: &[&str]) -> Self {
        self.seen_argv = Some(argv.iter().map(|word| (*word).to_owned()).collect());
        self
    }

    /// The result of [`Launched::close`].
    #[must_use]
    pub fn closes(mut self, closed: Closed) -> Self {
        self.closed = closed;
        self
    }

    /// Cannot be started.
    #[must_use]
    pub fn refused(mut self, why: &str) -> Self {
        self.refused = Some(why.to_owned());
        self
    }

    /// The guard is gone after this time, and the program is ended in its place.
    #[must_use]
    pub fn guard_dies(mut self, after: Duration) -> Self {
        self.guard_dies = Some(after);
        self
    }

    /// Something done at the start, beside the rest: a file changed, the clock moved.
    #[must_use]
    pub fn doing(mut self, act: impl Fn(&Job) + Send + Sync + 'static) -> Self {
        self.act = Some(Arc::new(act));
        self
    }
}

/// A launched program of a recording.
#[derive(Debug)]
pub(super) struct Played {
    replay: Replay,
    script: Script,
    marker: String,
    argv: Vec<String>,
    pid: u32,
    started: (Duration, i64),
    ended: Option<Ended>,
}

impl Played {
    pub(super) fn start(replay: Replay, job: &Job, script: Script) -> Result<Self, Error> {
        if let Some(why) = &script.refused {
            return Err(Error::archive(format!("cannot start '{}': {why}", job.argv.join(" "))));
        }
        leave(job, &script).map_err(|cause| Error::archive("cannot play back a program's files").because(cause))?;
        if let Some(act) = &script.act {
            act(job);
        }
        let (pid, started) = {
            let mut state = replay.state();
            state.next_pid += 1;
            (state.next_pid, (state.clock.now, state.clock.wall().0))
        };
        let (marker, argv) = (job.marker.clone(), job.argv.clone());
        Ok(Self { replay, script, marker, argv, pid, started, ended: None })
    }

    /// How its guard was lost, where it is gone by now.
    fn lost(&self) -> Option<&'static str> {
        let dies = self.script.guard_dies?;
        (self.replay.state().clock.now >= self.started.0 + dies).then_some("its guard was killed by signal 9 (SIGKILL)")
    }

    fn over(&mut self, code: Option<i32>, signal: Option<i32>, why: Option<&str>) -> Ended {
        let (now, wall) = {
            let state = self.replay.state();
            (state.clock.now, state.clock.wall().0)
        };
        let seen = self.script.seen_argv.clone().unwrap_or_else(|| self.argv.clone());
        let ended = Ended {
            code,
            signal,
            started_monotonic_s: self.started.0.as_secs_f64(),
            ended_monotonic_s: now.as_secs_f64(),
            started_utc_ms: self.started.1,
            ended_utc_ms: wall,
            why: why.map(str::to_owned),
            seen_argv: Some(seen),
        };
        self.ended.insert(ended).clone()
    }
}

/// Real files, because workloads and archives read real files.
fn leave(job: &Job, script: &Script) -> io::Result<()> {
    for (path, text) in [(&job.stdout, &script.stdout), (&job.stderr, &script.stderr)] {
        if !path.as_os_str().is_empty() {
            fs::write(path, text)?;
        }
    }
    let home = job.cwd.clone().or_else(|| job.stdout.parent().map(PathBuf::from)).unwrap_or_default();
    for (path, text) in &script.files {
        fs::write(home.join(path), text)?;
    }
    Ok(())
}

impl Launched for Played {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn tree(&self) -> Vec<u32> {
        if self.ended.is_some() {
            return Vec::new();
        }
        std::iter::once(self.pid).chain(self.script.tree.iter().copied()).collect()
    }

    fn cgroups(&self) -> BTreeMap<String, PathBuf> {
        self.script.cgroups.clone()
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<Ended>, Error> {
        if let Some(ended) = &self.ended {
            return Ok(Some(ended.clone()));
        }
        if let Some(lost) = self.lost() {
            return Ok(Some(self.over(None, Some(9), Some(lost))));
        }
        let now = self.replay.monotonic();
        let until = now + limit;
        let end = self.script.runs.map(|runs| self.started.0 + runs);
        self.replay.state().clock.wait(end.map_or(until, |end| until.min(end.max(now))));
        if let Some(lost) = self.lost() {
            return Ok(Some(self.over(None, Some(9), Some(lost))));
        }
        if end.is_some_and(|end| end <= self.replay.monotonic()) {
            return Ok(Some(self.over(self.script.code, self.script.signal, None)));
        }
        Ok(None)
    }

    fn end(&mut self, why: &str) -> Result<Ended, Error> {
        self.replay.state().deeds.push(HostCall::Ended(self.marker.clone(), why.to_owned()));
        if let Some(ended) = &self.ended {
            return Ok(ended.clone());
        }
        // SIGTERM: a program of a recording ends politely.
        Ok(self.over(None, Some(15), Some(why)))
    }

    fn close(mut self: Box<Self>) -> Result<Closed, Error> {
        let lost = self.lost().map(str::to_owned);
        Ok(Closed { lost, ..std::mem::take(&mut self.script.closed) })
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.replay.state().deeds.push(HostCall::Closed(self.marker.clone()));
    }
}
