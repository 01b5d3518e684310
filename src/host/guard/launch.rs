//! The collector's side of a guard.
//!
//! In:  a job, the path of this executable.  Out: [`Launched`].
//! Not here: the guard itself (see `serve`).

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::words::{News, Order};
use super::{cgroup, ending, serve};
use crate::error::{Error, Kind};
use crate::host::{Closed, Ended, Job, Launched, MARKER, process};

/// How long a program may take to be started: mounts of a root file system, a control group. A mount that hangs ends the wait.
const START: Duration = Duration::from_secs(60);

/// Time of a guard beyond the limits of its steps.
const MARGIN: Duration = Duration::from_secs(10);

/// A program under its guard.
#[derive(Debug)]
struct Guarded {
    marker: String,
    guard: Child,
    /// The life line. Dropped to end everything.
    orders: Option<ChildStdin>,
    news: Receiver<News>,
    pid: u32,
    cgroups: BTreeMap<String, PathBuf>,
    ended: Option<Ended>,
    /// Longest time that ending the tree may take, and cleaning up after it.
    limits: (Duration, Duration),
}

/// Starts a job under a guard.
///
/// # Errors
/// When the guard or the program cannot be started, with what the stage or the system said.
pub fn launch(program: &Path, job: &Job) -> Result<Box<dyn Launched>, Error> {
    let failed = |what: &str| Error::new(Kind::Workload, format!("{what} for run '{}'", job.marker));
    let mut command = Command::new(program);
    command.arg0("sparkbench").arg("guard").env(MARKER, &job.marker).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut guard = command.spawn().map_err(|cause| failed("cannot start a guard").because(cause))?;
    let (sender, news) = channel();
    if let Some(stdout) = guard.stdout.take() {
        std::thread::spawn(move || hear(stdout, &sender));
    }
    let orders = guard.stdin.take();
    let (grace, stops) = (ending::grace(job.grace_s), u32::try_from(job.stop.len()).unwrap_or(u32::MAX));
    let ending = (grace + ending::STOP_MARGIN + ending::KILL).saturating_mul(stops) + grace + ending::KILL + MARGIN;
    let afters = u32::try_from(job.after.len()).unwrap_or(u32::MAX);
    let closing = (serve::AFTER + ending::KILL).saturating_mul(afters) + MARGIN;
    let limits = (ending, ending + closing);
    let (marker, cgroups) = (job.marker.clone(), BTreeMap::new());
    // From here on a drop ends whatever has been started.
    let mut guarded = Guarded { marker, guard, orders, news, pid: 0, cgroups, ended: None, limits };
    let mut line = serde_json::to_string(job).map_err(|cause| failed("cannot write the job down").because(cause))?;
    line.push('\n');
    guarded.send(line.as_bytes())?;
    let deadline = Instant::now() + START + guarded.limits.1;
    loop {
        match guarded.hear(deadline)? {
            Some(News::Started { pid, cgroups, .. }) => {
                guarded.pid = pid;
                guarded.cgroups = cgroups;
                return Ok(Box::new(guarded));
            }
            Some(News::Refused(refusal)) => return Err(refusal.error()),
            // The end of a stage that could not become the program.
            Some(_) => {}
            None => return Err(failed("no program within the time limit")),
        }
    }
}

/// Ends with the guard, or with the collector's interest.
fn hear(stdout: ChildStdout, sender: &Sender<News>) {
    for line in BufReader::new(stdout).lines() {
        let Ok(line) = line else { return };
        // A line that is no news comes from a program that is no guard. Its end will tell.
        let Ok(news) = serde_json::from_str(&line) else { continue };
        if sender.send(news).is_err() {
            return;
        }
    }
}

impl Guarded {
    fn lost(&self) -> Error {
        Error::new(Kind::Workload, format!("the guard of run '{}' has ended", self.marker))
            .detail("it ended, or was killed, before it had done its work")
            .hint("look for 'Out of memory' in the kernel log. Its processes are found by their mark and ended")
    }

    fn send(&mut self, line: &[u8]) -> Result<(), Error> {
        let sent = self.orders.as_mut().map(|orders| orders.write_all(line).and_then(|()| orders.flush()));
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(cause)) => Err(self.lost().because(cause)),
            None => Err(self.lost()),
        }
    }

    /// The next news. Nothing when none came in time.
    fn hear(&mut self, deadline: Instant) -> Result<Option<News>, Error> {
        match self.news.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(news) => {
                if let News::Ended(ended) = &news {
                    self.ended = Some(ended.clone());
                }
                Ok(Some(news))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.lost()),
        }
    }

    fn slow(&self, what: &str) -> Error {
        Error::new(Kind::Workload, format!("the guard of run '{}' does not come to an end", self.marker)).detail(what)
    }

    fn left(&self, left: &[String]) -> Error {
        Error::new(Kind::Workload, format!("run '{}' left something that cannot be ended", self.marker))
            .detail(left.join(", "))
            .hint("a process that outlives SIGKILL hangs in the kernel, most likely in the GPU driver: restart the machine")
    }

    /// Waits for the guard's own end.
    fn join(&mut self, deadline: Instant) -> bool {
        loop {
            match self.guard.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) => return false,
                // It cannot be waited for, because another waiter has done so.
                Ok(Some(_)) | Err(_) => return true,
            }
        }
    }
}

impl Launched for Guarded {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn tree(&self) -> Vec<u32> {
        // A read or two with a control group. Without, or when the program has moved elsewhere, a look at every process.
        let group = self.cgroups.values().next().map(|folder| cgroup::members(folder)).unwrap_or_default();
        if group.contains(&self.pid) {
            return group;
        }
        process::below(self.guard.id()).unwrap_or_default().into_iter().map(|process| process.pid).collect()
    }

    fn cgroups(&self) -> BTreeMap<String, PathBuf> {
        self.cgroups.clone()
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<Ended>, Error> {
        let deadline = Instant::now() + limit;
        while self.ended.is_none() {
            if self.hear(deadline)?.is_none() {
                break;
            }
        }
        Ok(self.ended.clone())
    }

    fn end(&mut self, why: &str) -> Result<Ended, Error> {
        self.send(Order::End(why.to_owned()).line().as_bytes())?;
        let deadline = Instant::now() + self.limits.0;
        loop {
            match self.hear(deadline)? {
                Some(News::Cleared { left }) if !left.is_empty() => return Err(self.left(&left)),
                Some(News::Cleared { .. }) => return self.ended.clone().ok_or_else(|| self.lost()),
                Some(_) => {}
                None => return Err(self.slow("its tree does not end")),
            }
        }
    }

    fn close(mut self: Box<Self>) -> Result<Closed, Error> {
        self.send(Order::Close.line().as_bytes())?;
        let deadline = Instant::now() + self.limits.1;
        loop {
            match self.hear(deadline)? {
                Some(News::Closed { left, .. }) if !left.is_empty() => return Err(self.left(&left)),
                Some(News::Closed { closed, .. }) => {
                    self.join(deadline);
                    return Ok(closed);
                }
                Some(_) => {}
                None => return Err(self.slow("cleaning up takes too long")),
            }
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // The guard takes the end of its life line for our death, and does all that has to be done.
        self.orders = None;
        self.join(Instant::now() + self.limits.1);
    }
}
