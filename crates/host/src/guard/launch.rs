//! The collector's side of a guard.
//!
//! In:  a job, the path of this executable.  Out: [`Launched`].
//! Not here: the guard itself (see `serve`), ending a run whose guard is lost (see `lost`).
//!
//! A guard may be killed alone, by the kernel when memory runs out for example. It may also be stopped or frozen. So it is asked whether it
//! is there whenever it owes us a word. One that is gone, or does not answer, is put down, and its work is done here.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;

use super::lost::{self, Ending, Seen, Traces};
use super::messages::{News, Order};
use super::{cgroup, ending, serve};
use crate::{Closed, Ended, Job, Launched, MARKER, process, time};
use sparkbench_text::error::{Error, Kind};

/// How long a program may take to be started: mounts of a root file system, a control group. A mount that hangs ends the wait.
const START: Duration = Duration::from_secs(60);

/// Time of a guard beyond the limits of its steps.
const MARGIN: Duration = Duration::from_secs(10);

/// A guard that does not answer for so long is stopped or frozen. It answers at once whatever it is at, but for two things: it looks for the
/// arguments of a program that has just begun (10 s at most), and it removes control groups that the kernel still holds (a second each).
const ANSWER: Duration = Duration::from_secs(15);

/// Longest single wait for a word. Waits are counted in these and not by a clock: where collector and guard are both stopped and go on
/// later, the time between counts as one.
const SLICE: Duration = Duration::from_millis(200);

/// A guard whose connection has closed, or that was killed, is gone within this time. One that a control group of the older layout has
/// frozen goes when it is thawed.
const GONE: Duration = Duration::from_secs(5);

/// Most processes that a message names.
const NAMED: usize = 8;

/// A program under its guard.
#[derive(Debug)]
struct Guarded {
    job: Job,
    guard: Child,
    /// The life line. Dropped to end everything.
    orders: Option<ChildStdin>,
    news: Receiver<News>,
    pid: u32,
    cgroups: BTreeMap<String, PathBuf>,
    /// When the program began, on both clocks.
    began: (f64, i64),
    /// Mount points that were made inside the root.
    made: Vec<PathBuf>,
    ended: Option<Ended>,
    /// Longest time that ending the tree may take, and cleaning up after it.
    limits: (Duration, Duration),
    /// How long the guard has not answered.
    unheard: Duration,
    seen: Mutex<Seen>,
    lost: Option<Lost>,
    /// Nothing is left to be done.
    over: bool,
}

/// A guard that is gone, and its tree with it.
#[derive(Debug)]
struct Lost {
    /// How it went, and what was ended in its place.
    what: String,
    /// Names and pids of what could not be ended.
    left: Vec<String>,
    /// Processes that were ended after the first one had reported its end.
    outlived: Vec<String>,
}

/// The connection of a guard is closed.
struct Closing;

/// Why a guard no longer counts as one. Without words it is gone, and its own end tells.
type Fault = Option<String>;

/// Starts a job under a guard. `interrupted`: whether someone has asked us to stop. Then a guard that does not answer, and a program that
/// does not begin, are waited for less.
///
/// # Errors
/// When the guard or the program cannot be started, with what the stage or the system said. Nothing of it is left then.
pub fn launch(program: &Path, job: &Job, interrupted: &dyn Fn() -> bool) -> Result<Box<dyn Launched>, Error> {
    let failed = |what: &str| Error::new(Kind::Workload, format!("{what} for run '{}'", job.marker));
    // Orphans of a guard that is killed become children of ours. Where the kernel refuses that, they are found by other traces.
    let _ = prctl::set_child_subreaper(true);
    let mut command = Command::new(program);
    command.arg0("sparkbench").arg("guard").env(MARKER, &job.marker).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut line = serde_json::to_string(job).map_err(|cause| failed("cannot write the job down").because(cause))?;
    line.push('\n');
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
    // From here on a drop ends whatever has been started.
    let mut guarded = Guarded {
        job: job.clone(),
        guard,
        orders,
        news,
        pid: 0,
        cgroups: BTreeMap::new(),
        began: (0.0, 0),
        made: Vec::new(),
        ended: None,
        limits: (ending, ending + closing),
        unheard: Duration::ZERO,
        seen: Mutex::default(),
        lost: None,
        over: false,
    };
    guarded.start(&line, interrupted)?;
    Ok(Box::new(guarded))
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
    /// Gives the guard its job, and waits until the program runs.
    fn start(&mut self, job: &str, interrupted: &dyn Fn() -> bool) -> Result<(), Error> {
        // A guard that is gone by now shows in the news, which end.
        let _ = self.send(job);
        let mut waited = Duration::ZERO;
        loop {
            // Someone who asks us to stop does not wait for a mount that hangs, also where the guard itself answers.
            let (patience, limit) = if interrupted() { (ANSWER, ANSWER) } else { (START, START + self.limits.1) };
            let fault = match self.listen(patience) {
                Ok(Some(News::Started { pid, cgroups, monotonic_s, utc_ms, .. })) => {
                    (self.pid, self.cgroups, self.began) = (pid, cgroups, (monotonic_s, utc_ms));
                    return Ok(());
                }
                Ok(Some(News::Refused(refusal))) => {
                    // It has cleaned up before it said so.
                    self.let_go();
                    return Err(refusal.error());
                }
                // The end of a stage that could not become the program.
                Ok(Some(_)) => continue,
                Ok(None) if waited < limit => {
                    waited += SLICE;
                    continue;
                }
                Ok(None) => Some("did not start a program within the time limit".to_owned()),
                Err(fault) => fault,
            };
            self.take_over(fault, None);
            let _ = self.finish();
            return Err(self.not_started());
        }
    }

    fn not_started(&self) -> Error {
        let what = self.lost.as_ref().map_or("its guard is gone", |lost| lost.what.as_str());
        Error::new(Kind::Workload, format!("run '{}' could not be started", self.job.marker))
            .detail(what)
            .hint("look for 'Out of memory' in the kernel log")
    }

    fn send(&mut self, line: &str) -> std::io::Result<()> {
        let Some(orders) = self.orders.as_mut() else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
        orders.write_all(line.as_bytes()).and_then(|()| orders.flush())
    }

    /// The next news. Nothing when none came in time.
    fn hear(&mut self, limit: Duration) -> Result<Option<News>, Closing> {
        match self.news.recv_timeout(limit) {
            Ok(news) => {
                match &news {
                    News::Ended(ended) => self.ended = Some(ended.clone()),
                    News::Made(made) => self.made.extend(made.paths.iter().cloned()),
                    _ => {}
                }
                self.unheard = Duration::ZERO;
                Ok(Some(news))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Closing),
        }
    }

    /// The next news of a guard that owes us some, waiting one slice. An error when it is gone or has not answered for too long.
    fn listen(&mut self, patience: Duration) -> Result<Option<News>, Fault> {
        match self.hear(SLICE) {
            Err(Closing) => Err(None),
            Ok(Some(news)) => Ok(Some(news)),
            Ok(None) if self.stays_silent(SLICE, patience) => Err(Some(silent(patience))),
            Ok(None) => Ok(None),
        }
    }

    /// Counts time in which nothing was heard. Asks at its beginning, so that a guard with nothing to tell answers.
    fn stays_silent(&mut self, passed: Duration, patience: Duration) -> bool {
        if self.unheard.is_zero() {
            // A guard that is gone shows in the news, which end.
            let _ = self.send(&Order::Ask.line());
        }
        self.unheard += passed;
        self.unheard >= patience
    }

    /// Whether the first process is over while the guard has said nothing of it for too long.
    fn hides_the_end(&mut self, passed: Duration) -> bool {
        if process::Process::read(self.pid).is_some_and(|process| process.lives()) {
            self.unheard = Duration::ZERO;
            return false;
        }
        self.stays_silent(passed, ANSWER)
    }

    /// What a guard says to an order in the end.
    fn answer<T>(
        &mut self,
        order: &Order,
        limit: Duration,
        wanted: impl Fn(News) -> Option<T>,
        slow: &str,
    ) -> Result<T, Fault> {
        // As above.
        let _ = self.send(&order.line());
        self.unheard = Duration::ZERO;
        let mut waited = Duration::ZERO;
        while waited < limit {
            match self.listen(ANSWER)? {
                Some(news) => {
                    if let Some(answer) = wanted(news) {
                        return Ok(answer);
                    }
                }
                None => waited += SLICE,
            }
        }
        Err(Some(format!("{slow} within {} s", limit.as_secs())))
    }

    /// Does what a lost guard would have done to end its tree. `why`: what the tree is ended for, where that has another reason.
    fn take_over(&mut self, fault: Fault, why: Option<&str>) {
        let (monotonic_s, utc_ms) = (time::monotonic().as_secs_f64(), time::utc().0);
        self.orders = None;
        let what = self.put_down(fault);
        if self.cgroups.is_empty() && self.job.cgroup {
            // It may have made some and not come to say so.
            self.cgroups = cgroup::named(&cgroup::name(&self.job.marker));
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (guard, first, cgroups) = (self.guard.id(), self.pid, self.cgroups.clone());
        // Its programs that end a tree politely are for one that has begun and not ended, as with the guard.
        let stop = self.pid != 0 && self.ended.is_none();
        let done = lost::end(&Traces { job: &self.job, guard, first, cgroups, seen }, stop);
        let what = [what, told(&done)].join(". ");
        let outlived = if self.ended.is_some() { done.ended.into_values().collect() } else { Vec::new() };
        if self.ended.is_none() && self.pid != 0 {
            let (code, signal) = match done.first {
                Some(WaitStatus::Exited(_, code)) => (Some(code), None),
                Some(WaitStatus::Signaled(_, signal, _)) => (None, Some(signal as i32)),
                _ => (None, None),
            };
            self.ended = Some(Ended {
                code,
                signal,
                started_monotonic_s: self.began.0,
                ended_monotonic_s: monotonic_s,
                started_utc_ms: self.began.1,
                ended_utc_ms: utc_ms,
                why: Some(why.unwrap_or(&what).to_owned()),
                seen_argv: None,
            });
        }
        self.lost = Some(Lost { what, left: done.left, outlived });
    }

    /// Ends the guard itself, and says how it went.
    fn put_down(&mut self, fault: Fault) -> String {
        if fault.is_none() {
            // Its connection closes a moment before it is gone.
            self.join(GONE);
        }
        let itself = self.guard.try_wait().ok().flatten();
        // Nothing happens to one that is gone. A guard that is stopped or frozen ends by SIGKILL as any other process.
        let _ = self.guard.kill();
        let frozen = if self.join(GONE) {
            String::new()
        } else {
            format!(". The guard itself (process {}) is frozen and ends when it is thawed", self.guard.id())
        };
        let status = itself.map(|status| match (status.code(), status.signal()) {
            (Some(code), _) => format!("its guard ended with exit status {code} before its time"),
            (None, Some(number)) => format!("its guard was killed by {}", signal(number)),
            (None, None) => "its guard ended before its time".to_owned(),
        });
        match (fault, status) {
            (Some(fault), _) => format!("its guard {fault} and was killed{frozen}"),
            (None, Some(status)) => status,
            (None, None) => format!("its guard closed its connection and was killed{frozen}"),
        }
    }

    /// Ends what is left, cleans up, and lets go of the guard, or does all that in its place.
    fn finish(&mut self) -> Result<Closed, Error> {
        self.over = true;
        if self.lost.is_none() {
            let last = |news| match news {
                News::Closed { closed, left } => Some((closed, left)),
                News::Refused(_) => Some((Closed::default(), Vec::new())),
                _ => None,
            };
            match self.answer(&Order::Close, self.limits.1, last, "did not clean up") {
                Ok((_, left)) if !left.is_empty() => return Err(self.left(&left)),
                Ok((closed, _)) => {
                    self.let_go();
                    return Ok(closed);
                }
                Err(fault) => self.take_over(fault, None),
            }
        }
        let (after_failed, not_removed) = lost::clean(&self.job, &self.cgroups, &self.made);
        let Some(lost) = &self.lost else { return Ok(Closed::default()) };
        let left: Vec<String> = lost.left.iter().cloned().chain(not_removed).collect();
        if !left.is_empty() {
            return Err(self.left(&left).detail(format!("{}. Left: {}", lost.what, left.join(", "))));
        }
        Ok(Closed { outlived: lost.outlived.clone(), after_failed, lost: Some(lost.what.clone()), ..Closed::default() })
    }

    /// Lets a guard go that has done its work. One that does not go by itself has nothing more to do.
    fn let_go(&mut self) {
        self.over = true;
        self.orders = None;
        if !self.join(GONE) {
            let _ = self.guard.kill();
            self.join(GONE);
        }
    }

    fn left(&self, left: &[String]) -> Error {
        Error::new(Kind::Workload, format!("run '{}' left something that cannot be ended", self.job.marker))
            .detail(left.join(", "))
            .hint(
                "end it by hand. A process that outlives SIGKILL hangs in the kernel, most likely in the GPU driver: restart the machine",
            )
    }

    /// Waits for the guard's own end.
    fn join(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
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

fn silent(patience: Duration) -> String {
    format!("did not answer for {} s", patience.as_secs())
}

/// A signal's number and name.
fn signal(number: i32) -> String {
    Signal::try_from(number).map_or_else(|_| format!("signal {number}"), |name| format!("signal {number} ({name})"))
}

/// What was done in the place of a guard, as sentences.
fn told(done: &Ending) -> String {
    let named = |(pid, name): (&u32, &String)| format!("{name} ({pid})");
    let mut names: Vec<String> = done.ended.iter().take(NAMED).map(named).collect();
    if done.ended.len() > NAMED {
        names.push(format!("{} more", done.ended.len() - NAMED));
    }
    let ended = match done.ended.len() {
        0 => "Sparkbench found no process of the run that it could end".to_owned(),
        1 => format!("Sparkbench ended the process that was left: {}", names.join(", ")),
        count => format!("Sparkbench ended the {count} processes that were left: {}", names.join(", ")),
    };
    let left = (!done.left.is_empty()).then(|| format!("It could not end {}", done.left.join(", ")));
    let sentences: Vec<String> = std::iter::once(ended).chain(done.stops.iter().cloned()).chain(left).collect();
    sentences.join(". ")
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
        let Ok(all) = process::all() else { return Vec::new() };
        let own = std::process::id();
        let children = all.iter().filter(|process| process.parent == own).map(|process| process.pid).collect();
        let tree = process::descendants(all, self.guard.id());
        // Not a look that came after the end of the guard: then its tree is elsewhere.
        if tree.iter().any(|process| process.pid == self.pid) {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.tree = tree.iter().map(|process| (process.pid, process.began)).collect();
            seen.children = Some(children);
        }
        tree.into_iter().map(|process| process.pid).collect()
    }

    fn cgroups(&self) -> BTreeMap<String, PathBuf> {
        self.cgroups.clone()
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<Ended>, Error> {
        let deadline = Instant::now() + limit;
        while self.ended.is_none() && self.lost.is_none() {
            let slice = deadline.saturating_duration_since(Instant::now()).min(SLICE);
            match self.hear(slice) {
                Ok(Some(_)) => {}
                Err(Closing) => self.take_over(None, None),
                Ok(None) if self.hides_the_end(slice) => self.take_over(Some(silent(ANSWER)), None),
                Ok(None) if slice.is_zero() => break,
                Ok(None) => {}
            }
        }
        Ok(self.ended.clone())
    }

    fn end(&mut self, why: &str) -> Result<Ended, Error> {
        if self.lost.is_none() {
            let cleared = |news| match news {
                News::Cleared { left } => Some(left),
                _ => None,
            };
            match self.answer(&Order::End(why.to_owned()), self.limits.0, cleared, "did not end its tree") {
                Ok(left) if !left.is_empty() => return Err(self.left(&left)),
                Ok(_) => {}
                Err(fault) => self.take_over(fault, Some(why)),
            }
        }
        self.ended.clone().ok_or_else(|| {
            Error::new(Kind::Workload, format!("how run '{}' ended is not known", self.job.marker))
                .detail("its guard did not report the end of the first process")
        })
    }

    fn close(mut self: Box<Self>) -> Result<Closed, Error> {
        self.finish()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if !self.over {
            // Nobody is left to be told what could not be ended. The next collector of the archive finds it by its mark.
            let _ = self.finish();
        }
    }
}
