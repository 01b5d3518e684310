//! The only way out: clocks, the machine's own files, programs, GPUs, behind one trait with a fake that replays recordings.
//!
//! In:  queries.  Out: [`Host`] and its answers, and [`Job`], a program under a guard that ends its whole tree.
//! Not here: what an answer means, what to start, when to stop.
//!
//! The archive writes its own files. Everything else that leaves this program or enters it while collecting goes through here.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]
#![cfg(target_os = "linux")]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

mod ask;
pub mod cpu;
pub mod cuda;
mod files;
mod follow;
pub mod gpu;
pub mod guard;
pub(crate) mod hwmon;
mod kernel;
pub mod link;
pub mod machine;
pub mod meet;
pub mod memory;
mod mounts;
pub mod net;
pub(crate) mod pressure;
pub mod process;
pub mod rdma;
pub mod reader;
pub mod remote;
#[allow(dead_code, reason = "for tests of this room and of others; no machine is measured with it")]
pub mod replay;
pub mod sample;
pub mod signals;
mod time;
pub mod tree;
pub mod web;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use sparkbench_model::Instant;
use sparkbench_text::error::Error;

pub use mounts::Mounted;

/// Name of the variable that marks every process of a run: `<archive id>/<run id>`. Found again in `/proc/*/environ` after a crash.
pub const MARKER: &str = "SPARKBENCH_RUN";

/// The machine, or a recording of one.
pub trait Host: Send + Sync {
    /// Wall clock.
    fn utc(&self) -> Instant;
    /// `CLOCK_MONOTONIC`: the same for every process of the machine. Only differences mean anything.
    fn monotonic(&self) -> Duration;
    /// Waits, and returns early when [`Host::interrupted`] turns true.
    fn pause(&self, time: Duration);
    /// Someone asked us to stop (Ctrl-C, SIGTERM, SIGHUP).
    fn interrupted(&self) -> bool;
    /// A file of the machine (`/proc`, `/sys`, `/etc`, an image's own files), as text, invalid bytes replaced, bounded.
    ///
    /// # Errors
    /// Errors of the file system.
    fn read(&self, path: &Path) -> io::Result<String>;
    /// Names in a folder, sorted.
    ///
    /// # Errors
    /// Errors of the file system.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Where a link points.
    ///
    /// # Errors
    /// Errors of the file system.
    fn link(&self, path: &Path) -> io::Result<PathBuf>;
    /// Whether anything exists at a path, following links.
    fn exists(&self, path: &Path) -> bool;
    /// Writes to a file of the kernel (`drop_caches`, a control group), never to a file of data.
    ///
    /// # Errors
    /// Errors of the file system.
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;
    /// Bytes that an ordinary user can still write below a path.
    ///
    /// # Errors
    /// Errors of the file system.
    fn disk_free(&self, path: &Path) -> io::Result<u64>;
    /// Runs a short program to its end or to its limit, and takes what it prints.
    ///
    /// # Errors
    /// When it cannot be started. A program that fails or runs into its limit is an answer.
    fn ask(&self, question: &Question) -> io::Result<Answer>;
    /// Starts a program that prints lines for as long as it is wanted (`nvidia-smi --loop-ms`).
    ///
    /// # Errors
    /// When it cannot be started.
    fn follow(&self, question: &Question) -> io::Result<Box<dyn Lines>>;
    /// Starts a program under a guard.
    ///
    /// # Errors
    /// When the guard or the program cannot be started.
    fn launch(&self, job: &Job) -> Result<Box<dyn Launched>, Error>;
    /// The kernel's messages from now on.
    ///
    /// # Errors
    /// When the log may not be read.
    fn kernel_log(&self) -> io::Result<Box<dyn Lines>>;
    /// Ends every process that carries the marker of an archive (see [`MARKER`]), guards included. Removes its control groups and reports
    /// what was ended. For what a crash of ours left.
    ///
    /// # Errors
    /// When something cannot be ended.
    fn end_marked(&self, archive_id: &str) -> Result<Vec<String>, Error>;
    /// Mounts at or below a folder, in the order of the kernel's table: what carries a mount comes before it. `folder`: absolute, as the
    /// kernel writes it. No link in it is followed.
    ///
    /// # Errors
    /// When the table cannot be read.
    fn mounts(&self, folder: &Path) -> io::Result<Vec<Mounted>>;
    /// Takes away what is mounted on a path, with everything mounted below it, at once and also when it is in use. No file of it is touched.
    ///
    /// # Errors
    /// When nothing is mounted there, and without the right to take it away.
    fn unmount(&self, at: &Path) -> io::Result<()>;
    /// Processor time of the calling thread so far.
    fn thread_cpu(&self) -> Duration;
    /// Whether we are root.
    fn is_root(&self) -> bool;
    /// Value of a variable of our own environment.
    fn variable(&self, name: &str) -> Option<String>;
    /// Every variable of our own environment.
    fn variables(&self) -> BTreeMap<String, String>;
    /// Where this program itself lies, to be run inside an environment.
    ///
    /// # Errors
    /// Errors of the system.
    fn own_program(&self) -> io::Result<PathBuf>;
}

/// A short program and its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its whole environment. Absent is ours.
    pub env: Option<BTreeMap<String, String>>,
    /// The read data.
    pub input: Vec<u8>,
    /// Ended after this time.
    pub limit: Duration,
}

impl Question {
    /// Ended after half a minute unless said otherwise: a daemon that does not answer must not hold a campaign.
    pub const LIMIT: Duration = Duration::from_secs(30);

    /// Program and arguments, our environment, no input.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self { argv: argv.into_iter().map(Into::into).collect(), env: None, input: Vec::new(), limit: Self::LIMIT }
    }

    /// Another limit.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

/// Output of a short program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Exit status. Absent after a signal or the limit.
    pub code: Option<i32>,
    /// Ran into the limit and was ended.
    pub timed_out: bool,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Answer {
    /// Ended with status 0.
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }

    /// Standard output as text, invalid bytes replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Last line of standard error that is not empty, for messages.
    pub fn complaint(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        match (last, self.timed_out) {
            (_, true) => "no answer within the time limit".to_owned(),
            (Some(line), _) => line.trim().to_owned(),
            (None, _) => self.code.map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit status {code}")),
        }
    }
}

/// Lines as they come. Dropping it ends the program behind it.
pub trait Lines: Send {
    /// The next line, waiting at most `limit`. Nothing when none came in time.
    ///
    /// # Errors
    /// At the end of the stream, with what is known of its cause.
    fn next_line(&mut self, limit: Duration) -> io::Result<Option<String>>;
    /// Processor time of the program behind it so far, where there is one.
    fn cpu(&self) -> Option<Duration>;
}

/// A program to be started under a guard. The guard is a small process of ours. It outlives a crash of the collector just long enough to end
/// the whole tree and run `after`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// `<archive id>/<run id>`. Put into the environment as [`MARKER`].
    pub marker: String,
    /// Program and arguments as seen from inside `root`.
    pub argv: Vec<String>,
    /// The whole environment of the program, the marker added by the guard.
    pub env: BTreeMap<String, String>,
    /// Working folder as seen from inside `root`.
    #[serde(with = "guard::paths")]
    pub cwd: Option<PathBuf>,
    /// Root file system to enter, in a mount namespace of its own.
    pub root: Option<Root>,
    /// File for standard output, on the host. Created.
    #[serde(with = "guard::paths")]
    pub stdout: PathBuf,
    /// File for standard error, on the host. Created.
    #[serde(with = "guard::paths")]
    pub stderr: PathBuf,
    /// Programs of the host that end the tree politely (`docker stop`), before SIGTERM to what is left.
    pub stop: Vec<Vec<String>>,
    /// Programs of the host run at the very end in any case (`docker rm --force`), also when the collector has died.
    pub after: Vec<Vec<String>>,
    /// Time between the polite end and SIGKILL.
    pub grace_s: f64,
    /// Whether the tree gets a control group of its own where one can be made.
    pub cgroup: bool,
}

/// A root file system and what is mounted in it, in order. Mounts live in a private namespace and vanish with the last process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Folder on the host.
    #[serde(with = "guard::paths")]
    pub path: PathBuf,
    /// In this order.
    pub mounts: Vec<Mount>,
}

/// One mount. `at` is a path inside the root, made if it is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Mount {
    /// A new `proc`.
    Proc {
        /// Inside.
        #[serde(with = "guard::paths")]
        at: PathBuf,
    },
    /// An empty file system in memory.
    Tmpfs {
        /// Inside.
        #[serde(with = "guard::paths")]
        at: PathBuf,
    },
    /// A file or folder of the host.
    Bind {
        /// On the host.
        #[serde(with = "guard::paths")]
        from: PathBuf,
        /// Inside.
        #[serde(with = "guard::paths")]
        at: PathBuf,
        /// Not writable inside.
        read_only: bool,
        /// With everything mounted below it. Changes do not travel back.
        recursive: bool,
        /// Passed over when `from` is not there.
        optional: bool,
    },
}

/// A program under its guard. Dropping it without [`Launched::close`] ends the tree.
pub trait Launched: Send {
    /// Host pid of the first process of the tree.
    fn pid(&self) -> u32;
    /// Host pids of the whole tree now, the first process included, the guard not.
    fn tree(&self) -> Vec<u32>;
    /// Folder of the control group made for the tree, by controller (`unified`, or `memory`, `cpu` ... on the older layout).
    fn cgroups(&self) -> BTreeMap<String, PathBuf>;
    /// How it ended, waiting at most `limit`. Nothing while it runs. Where the guard itself is gone or says nothing any more, the tree is
    /// ended here and now in its place: [`Ended::why`] says so, and so does [`Closed::lost`] later.
    ///
    /// # Errors
    /// When it cannot be followed any more.
    fn wait(&mut self, limit: Duration) -> Result<Option<Ended>, Error>;
    /// Ends the whole tree: politely, then after the grace period with SIGKILL.
    ///
    /// # Errors
    /// When something is left that cannot be ended.
    fn end(&mut self, why: &str) -> Result<Ended, Error>;
    /// Ends what is left of the tree, runs `after`, removes the control group, ends the guard. Says what outlived the first process.
    ///
    /// # Errors
    /// When something is left that cannot be ended.
    fn close(self: Box<Self>) -> Result<Closed, Error>;
}

/// How the first process ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ended {
    /// Exit status.
    pub code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// Just before it was started, seconds on `CLOCK_MONOTONIC`.
    pub started_monotonic_s: f64,
    /// Just after it was waited for.
    pub ended_monotonic_s: f64,
    /// The same moments on the wall clock, milliseconds since 1970.
    pub started_utc_ms: i64,
    /// Likewise.
    pub ended_utc_ms: i64,
    /// Why we ended it, where we did.
    pub why: Option<String>,
    /// Arguments as `/proc/<pid>/cmdline` showed them just after the start. Absent when it had ended by then.
    pub seen_argv: Option<Vec<String>>,
}

/// Effort to end a tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Closed {
    /// Processor time of everything that was waited for, user mode, seconds.
    pub user_s: f64,
    /// In the kernel, seconds.
    pub system_s: f64,
    /// Largest resident set of one process, MiB.
    pub peak_rss_mib: f64,
    /// Names of processes that outlived the first one.
    pub outlived: Vec<String>,
    /// Programs of `after` that failed, with their complaint.
    pub after_failed: Vec<String>,
    /// How the guard was lost before it had done its work, and what was ended in its place. The figures above are not known then.
    pub lost: Option<String>,
}
