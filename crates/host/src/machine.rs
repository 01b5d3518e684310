//! The real machine.
//!
//! In:  queries.  Out: [`Machine`], the [`Host`] of the real machine.
//! Not here: the parts that need more than a call (programs, the guard, the kernel's log: see the files beside this one).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{
    Answer, Host, Job, Launched, Lines, Mounted, Question, ask, files, follow, guard, kernel, mounts, signals, time,
};
use sparkbench_model::Instant;
use sparkbench_text::error::Error;

/// How soon an interrupt is noticed while we wait.
const NOTICE: Duration = Duration::from_millis(50);

/// The machine this program runs on.
#[derive(Debug)]
pub struct Machine {
    interrupted: Arc<AtomicBool>,
    /// This executable, as it is started again for a guard.
    program: Option<PathBuf>,
}

impl Machine {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on: they set a flag, and the loop ends the run in flight in order.
    ///
    /// SIGINT and SIGHUP stay ignored where we were started to ignore them: a campaign under `nohup` goes on when its terminal closes.
    /// SIGTERM is always heard, so that a load in the background of a script can be ended.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub fn new() -> Result<Self, Error> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let ignored = signals::ignored();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGTERM || !ignored.contains(&signal) {
                signal_hook::flag::register(signal, Arc::clone(&interrupted))
                    .map_err(|cause| Error::usage("interrupts cannot be caught").because(cause))?;
            }
        }
        Ok(Self { interrupted, program: None })
    }

    /// Another executable of this program, for callers that are not it themselves.
    #[must_use]
    #[allow(dead_code, reason = "for tests, whose own program is not the one to run")]
    pub fn with_program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Some(path.into());
        self
    }
}

impl Host for Machine {
    fn utc(&self) -> Instant {
        time::utc()
    }

    fn monotonic(&self) -> Duration {
        time::monotonic()
    }

    fn pause(&self, time: Duration) {
        let until = std::time::Instant::now() + time;
        // In short sleeps: a signal may be delivered to another thread than the one that waits.
        while !self.interrupted() {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(NOTICE));
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        files::read(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        files::list(path)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::read_link(path)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        files::write(path, text)
    }

    fn disk_free(&self, path: &Path) -> io::Result<u64> {
        let space = nix::sys::statvfs::statvfs(path)?;
        Ok(space.blocks_available().saturating_mul(space.fragment_size()))
    }

    fn ask(&self, question: &Question) -> io::Result<Answer> {
        ask::ask(question)
    }

    fn follow(&self, question: &Question) -> io::Result<Box<dyn Lines>> {
        follow::follow(question)
    }

    fn launch(&self, job: &Job) -> Result<Box<dyn Launched>, Error> {
        // The link names this very executable, also when the file has been replaced by a newer build meanwhile.
        let program = self.program.as_deref().unwrap_or(Path::new("/proc/self/exe"));
        guard::launch(program, job, &|| self.interrupted())
    }

    fn kernel_log(&self) -> io::Result<Box<dyn Lines>> {
        kernel::log()
    }

    fn end_marked(&self, archive_id: &str) -> Result<Vec<String>, Error> {
        guard::end_marked(archive_id)
    }

    fn mounts(&self, folder: &Path) -> io::Result<Vec<Mounted>> {
        mounts::below(folder)
    }

    fn unmount(&self, at: &Path) -> io::Result<()> {
        mounts::unmount(at)
    }

    fn thread_cpu(&self) -> Duration {
        time::thread_cpu()
    }

    fn is_root(&self) -> bool {
        nix::unistd::geteuid().is_root()
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(std::env::var_os(name)?.to_string_lossy().into_owned())
    }

    fn variables(&self) -> BTreeMap<String, String> {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn own_program(&self) -> io::Result<PathBuf> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => std::env::current_exe(),
        }
    }
}
