//! A machine played back from a recording: files, answers, lines and programs, and a clock that is set.
//!
//! In:  a recording, joined line by line.  Out: [`Replay`], a [`Host`] that never reads the machine it runs on, and a log of
//! what it was asked.
//! Not here: the real machine (see `machine` beside this folder), what an answer means.
//!
//! Time passes only where someone waits: [`Host::pause`], [`Lines::next_line`] and [`Launched::wait`] move the clock and return at once.
//! So a night of measuring is replayed in a moment, and every wait can be checked to the millisecond.

mod program;
#[cfg(test)]
mod tests;
mod time;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use program::Script;
use program::{Played, Spoken};

use super::{Answer, Host, Job, Launched, Lines, Mounted, Question, mounts};
use sparkbench_model::Instant;
use sparkbench_text::error::Error;

/// A recording that answers as a machine would. Clones share everything, the clock and the log too.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    shared: Arc<Mutex<State>>,
}

/// Requests to the machine, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum HostCall {
    /// [`Host::pause`], as asked for.
    Paused(Duration),
    /// [`Host::write`].
    Wrote(PathBuf, String),
    /// [`Host::ask`], program and arguments.
    Asked(Vec<String>),
    /// [`Host::follow`], program and arguments.
    Followed(Vec<String>),
    /// [`Host::launch`].
    Launched(Box<Job>),
    /// [`Launched::end`]: marker and reason.
    Ended(String, String),
    /// [`Launched::close`], or a drop without it: marker.
    Closed(String),
    /// [`Host::end_marked`]: archive id.
    Swept(String),
}

/// A text, or the kind of error in its place.
type Recorded = Result<String, io::ErrorKind>;

/// Recording for programs whose arguments begin like this.
type ByArgv<T> = Vec<(Vec<String>, T)>;

#[derive(Debug, Default)]
struct State {
    clock: time::ReplayClock,
    deeds: Vec<HostCall>,
    /// Content of a file from a moment on. The last moment that has come counts.
    files: BTreeMap<PathBuf, Vec<(Duration, Recorded)>>,
    folders: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
    locked: BTreeMap<PathBuf, io::ErrorKind>,
    real: Vec<PathBuf>,
    disks: BTreeMap<PathBuf, u64>,
    answers: ByArgv<VecDeque<Result<Answer, io::ErrorKind>>>,
    spoken: ByArgv<Spoken>,
    scripts: ByArgv<VecDeque<Script>>,
    kernel: Option<Spoken>,
    marked: Vec<String>,
    thread_cpu: Duration,
    root: bool,
    variables: BTreeMap<String, String>,
    program: Option<PathBuf>,
    next_pid: u32,
}

impl Replay {
    /// An empty machine at 2026-01-01T00:00:00Z, 1,000 seconds after its start, where we are an ordinary user.
    pub fn new() -> Self {
        let replay = Self::default();
        replay.state().next_pid = 1000;
        replay
    }

    /// A file with one content.
    #[must_use]
    pub fn file(self, path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        self.file_at(path, Duration::ZERO, text)
    }

    /// Content of a file from a moment of [`Host::monotonic`] on.
    #[must_use]
    pub fn file_at(self, path: impl Into<PathBuf>, from: Duration, text: impl Into<String>) -> Self {
        self.state().set(path.into(), from, Ok(text.into()));
        self
    }

    /// A file that is there and cannot be read, from a moment on. [`io::ErrorKind::NotFound`] takes it away.
    #[must_use]
    pub fn unreadable_at(self, path: impl Into<PathBuf>, from: Duration, why: io::ErrorKind) -> Self {
        self.state().set(path.into(), from, Err(why));
        self
    }

    /// A folder, for one that holds nothing. Those above a file or link need no mention.
    #[must_use]
    pub fn folder(self, path: impl Into<PathBuf>) -> Self {
        self.state().folders.insert(path.into());
        self
    }

    /// A link and where it points. Reading does not follow it: record the file under both names where both are read.
    #[must_use]
    pub fn with_link(self, path: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        self.state().links.insert(path.into(), to.into());
        self
    }

    /// A file that cannot be written.
    #[must_use]
    pub fn unwritable(self, path: impl Into<PathBuf>, why: io::ErrorKind) -> Self {
        self.state().locked.insert(path.into(), why);
        self
    }

    /// Paths below this folder are those of the real machine: for the folder of an archive under test.
    #[must_use]
    pub fn real_below(self, path: impl Into<PathBuf>) -> Self {
        self.state().real.push(path.into());
        self
    }

    /// Free bytes below a folder. The longest that fits counts.
    #[must_use]
    pub fn disk(self, path: impl Into<PathBuf>, free: u64) -> Self {
        self.state().disks.insert(path.into(), free);
        self
    }

    /// Answer of a program whose arguments begin like this. The longest beginning counts. Several answers for one beginning are
    /// given in turn, and the last one stays.
    #[must_use]
    pub fn answer(self, argv: &[&str], answer: Answer) -> Self {
        self.state().answer(argv, Ok(answer));
        self
    }

    /// Like [`Replay::answer`]: status 0 and this on standard output.
    #[must_use]
    pub fn prints(self, argv: &[&str], stdout: &str) -> Self {
        self.answer(argv, Answer { code: Some(0), stdout: stdout.as_bytes().to_vec(), ..Answer::default() })
    }

    /// Like [`Replay::answer`]: a status other than 0 and this on standard error.
    #[must_use]
    pub fn fails(self, argv: &[&str], code: i32, stderr: &str) -> Self {
        self.answer(argv, Answer { code: Some(code), stderr: stderr.as_bytes().to_vec(), ..Answer::default() })
    }

    /// Like [`Replay::answer`]: the program cannot be started. One that was never recorded is not found.
    #[must_use]
    pub fn unstartable(self, argv: &[&str], why: io::ErrorKind) -> Self {
        self.state().answer(argv, Err(why));
        self
    }

    /// Lines of a program that is followed, each with the time since its start. Afterwards it stays silent, or ends with the message.
    #[must_use]
    pub fn follows(self, argv: &[&str], lines: &[(Duration, &str)], end: Option<&str>) -> Self {
        self.state().spoken.push((owned(argv), Spoken::new(lines, end)));
        self
    }

    /// Lines of the kernel, each with its moment on [`Host::monotonic`]. Without this call the log may not be read.
    #[must_use]
    pub fn kernel(self, lines: &[(Duration, &str)]) -> Self {
        self.state().kernel = Some(Spoken::new(lines, None));
        self
    }

    /// Behaviour of a launched program whose arguments begin like this. Several are played in turn, and the last one stays.
    #[must_use]
    pub fn script(self, argv: &[&str], script: Script) -> Self {
        let argv = owned(argv);
        {
            let mut state = self.state();
            match state.scripts.iter_mut().find(|(known, _)| *known == argv) {
                Some((_, queue)) => queue.push_back(script),
                None => state.scripts.push((argv, VecDeque::from([script]))),
            }
        }
        self
    }

    /// Names that the next [`Host::end_marked`] ends.
    #[must_use]
    pub fn marked(self, names: &[&str]) -> Self {
        self.state().marked = owned(names);
        self
    }

    /// Someone asks us to stop at this moment of [`Host::monotonic`].
    #[must_use]
    pub fn interrupted_at(self, moment: Duration) -> Self {
        self.state().clock.interrupt = Some(moment);
        self
    }

    /// Jump of the wall clock in milliseconds at this moment of [`Host::monotonic`].
    #[must_use]
    pub fn wall_jumps(self, moment: Duration, by_ms: i64) -> Self {
        self.state().clock.jumps.push((moment, by_ms));
        self
    }

    /// The wall clock at the start of the machine.
    #[must_use]
    pub fn booted(self, at: Instant) -> Self {
        self.state().clock.boot = at;
        self
    }

    /// We are root.
    #[must_use]
    pub fn as_root(self) -> Self {
        self.state().root = true;
        self
    }

    /// A variable of our own environment.
    #[must_use]
    pub fn with_variable(self, name: &str, value: &str) -> Self {
        self.state().variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Where we lie ourselves.
    #[must_use]
    pub fn with_program(self, path: impl Into<PathBuf>) -> Self {
        self.state().program = Some(path.into());
        self
    }

    /// Queries so far.
    pub fn deeds(&self) -> Vec<HostCall> {
        self.state().deeds.clone()
    }

    /// Command lines of [`Host::ask`] so far, words joined by blanks.
    pub fn asked(&self) -> Vec<String> {
        let asked = |deed: &HostCall| match deed {
            HostCall::Asked(argv) => Some(argv.join(" ")),
            _ => None,
        };
        self.state().deeds.iter().filter_map(asked).collect()
    }

    /// Jobs launched so far.
    pub fn jobs(&self) -> Vec<Job> {
        let launched = |deed: &HostCall| match deed {
            HostCall::Launched(job) => Some(Job::clone(job)),
            _ => None,
        };
        self.state().deeds.iter().filter_map(launched).collect()
    }

    /// Lets time pass.
    pub fn advance(&self, time: Duration) {
        self.state().clock.now += time;
    }

    /// Processor time that [`Host::thread_cpu`] returns from now on.
    pub fn set_thread_cpu(&self, time: Duration) {
        self.state().thread_cpu = time;
    }

    /// Changes a file from now on.
    pub fn set_file(&self, path: impl Into<PathBuf>, text: impl Into<String>) {
        let mut state = self.state();
        let now = state.clock.now;
        state.set(path.into(), now, Ok(text.into()));
    }

    /// A test that panicked elsewhere has already failed. Its state is still the state.
    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn set(&mut self, path: PathBuf, from: Duration, text: Recorded) {
        let history = self.files.entry(path).or_default();
        history.push((from, text));
        // Stable: of two contents for one moment the one given last counts.
        history.sort_by_key(|(from, _)| *from);
    }

    /// The content that counts now.
    fn current(&self, path: &Path) -> Option<&Recorded> {
        let history = self.files.get(path)?;
        history.iter().rev().find(|(from, _)| *from <= self.clock.now).map(|(_, text)| text)
    }

    fn is_there(&self, path: &Path) -> bool {
        match self.current(path) {
            Some(Err(io::ErrorKind::NotFound)) => false,
            Some(_) => true,
            None => self.folders.contains(path) || self.links.contains_key(path) || !self.names(path).is_empty(),
        }
    }

    /// Names right below a folder, of everything recorded that is there now.
    fn names(&self, folder: &Path) -> Vec<String> {
        let files =
            self.files.keys().filter(|path| !matches!(self.current(path), None | Some(Err(io::ErrorKind::NotFound))));
        let all = files.chain(self.folders.iter()).chain(self.links.keys());
        let below = all.filter_map(|path| path.strip_prefix(folder).ok()?.components().next());
        let mut names: Vec<String> = below.map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn answer(&mut self, argv: &[&str], answer: Result<Answer, io::ErrorKind>) {
        let argv = owned(argv);
        match self.answers.iter_mut().find(|(known, _)| *known == argv) {
            Some((_, queue)) => queue.push_back(answer),
            None => self.answers.push((argv, VecDeque::from([answer]))),
        }
    }

    fn is_real(&self, path: &Path) -> bool {
        self.real.iter().any(|root| path.starts_with(root))
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The entry whose beginning is the longest that fits.
fn longest<'a, T>(entries: &'a mut [(Vec<String>, T)], argv: &[String]) -> Option<&'a mut T> {
    let fits = entries.iter_mut().filter(|(beginning, _)| argv.starts_with(beginning));
    fits.max_by_key(|(beginning, _)| beginning.len()).map(|(_, entry)| entry)
}

/// The next of a queue, whose last entry stays.
fn in_turn<T: Clone>(queue: &mut VecDeque<T>) -> Option<T> {
    if queue.len() > 1 { queue.pop_front() } else { queue.front().cloned() }
}

fn missing(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("not in this recording: {what}"))
}

impl Host for Replay {
    fn utc(&self) -> Instant {
        self.state().clock.wall()
    }

    fn monotonic(&self) -> Duration {
        self.state().clock.now
    }

    fn pause(&self, time: Duration) {
        let mut state = self.state();
        state.deeds.push(HostCall::Paused(time));
        let until = state.clock.now + time;
        state.clock.wait(until);
    }

    fn interrupted(&self) -> bool {
        self.state().clock.interrupted()
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        let state = self.state();
        if state.is_real(path) {
            return super::files::read(path);
        }
        match state.current(path) {
            Some(Ok(text)) => Ok(text.clone()),
            Some(Err(kind)) => Err(io::Error::new(*kind, path.display().to_string())),
            None if state.is_there(path) => {
                Err(io::Error::new(io::ErrorKind::IsADirectory, path.display().to_string()))
            }
            None => Err(missing(&path.display().to_string())),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        if state.is_real(path) {
            return super::files::list(path);
        }
        if state.is_there(path) { Ok(state.names(path)) } else { Err(missing(&path.display().to_string())) }
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        let state = self.state();
        if state.is_real(path) {
            return std::fs::read_link(path);
        }
        state.links.get(path).cloned().ok_or_else(|| missing(&path.display().to_string()))
    }

    fn exists(&self, path: &Path) -> bool {
        let state = self.state();
        if state.is_real(path) { path.exists() } else { state.is_there(path) }
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut state = self.state();
        state.deeds.push(HostCall::Wrote(path.to_path_buf(), text.to_owned()));
        match state.locked.get(path) {
            Some(kind) => Err(io::Error::new(*kind, path.display().to_string())),
            None => Ok(()),
        }
    }

    fn disk_free(&self, path: &Path) -> io::Result<u64> {
        let state = self.state();
        let fits = state.disks.iter().filter(|(folder, _)| path.starts_with(folder));
        let free = fits.max_by_key(|(folder, _)| folder.components().count()).map(|(_, free)| *free);
        free.ok_or_else(|| missing(&format!("free space below {}", path.display())))
    }

    fn ask(&self, question: &Question) -> io::Result<Answer> {
        let mut state = self.state();
        state.deeds.push(HostCall::Asked(question.argv.clone()));
        let answer = longest(&mut state.answers, &question.argv).and_then(in_turn);
        let answer = answer.ok_or_else(|| missing(&question.argv.join(" ")))?;
        answer.map_err(|kind| io::Error::new(kind, question.argv.join(" ")))
    }

    fn follow(&self, question: &Question) -> io::Result<Box<dyn Lines>> {
        let mut state = self.state();
        state.deeds.push(HostCall::Followed(question.argv.clone()));
        let now = state.clock.now;
        let spoken = longest(&mut state.spoken, &question.argv).cloned();
        let spoken = spoken.ok_or_else(|| missing(&question.argv.join(" ")))?;
        drop(state);
        Ok(Box::new(spoken.play(self.clone(), now)))
    }

    fn launch(&self, job: &Job) -> Result<Box<dyn Launched>, Error> {
        let script = {
            let mut state = self.state();
            state.deeds.push(HostCall::Launched(Box::new(job.clone())));
            longest(&mut state.scripts, &job.argv).and_then(in_turn)
        };
        let words = job.argv.join(" ");
        let script = script.ok_or_else(|| Error::archive(format!("not in this recording: '{words}'")))?;
        Ok(Box::new(Played::start(self.clone(), job, script)?))
    }

    fn kernel_log(&self) -> io::Result<Box<dyn Lines>> {
        let kernel = self.state().kernel.clone();
        let kernel = kernel.ok_or_else(|| io::Error::new(io::ErrorKind::PermissionDenied, "the log of the kernel"))?;
        Ok(Box::new(kernel.play_from_now(self.clone())))
    }

    fn end_marked(&self, archive_id: &str) -> Result<Vec<String>, Error> {
        let mut state = self.state();
        state.deeds.push(HostCall::Swept(archive_id.to_owned()));
        Ok(std::mem::take(&mut state.marked))
    }

    fn mounts(&self, folder: &Path) -> io::Result<Vec<Mounted>> {
        let table = self.read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
        Ok(mounts::listed(table.as_bytes(), folder))
    }

    /// A recording stays as it is.
    fn unmount(&self, at: &Path) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, at.display().to_string()))
    }

    fn thread_cpu(&self) -> Duration {
        self.state().thread_cpu
    }

    fn is_root(&self) -> bool {
        self.state().root
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.state().variables.get(name).cloned()
    }

    fn variables(&self) -> BTreeMap<String, String> {
        self.state().variables.clone()
    }

    fn own_program(&self) -> io::Result<PathBuf> {
        self.state().program.clone().ok_or_else(|| missing("where we lie ourselves"))
    }
}
