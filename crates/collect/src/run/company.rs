//! The thread that works beside a program, and the stand-in for a server that somebody else has started.
//!
//! In:  a [`Beside`].  Out: its messages, its result, and [`Attached`], a [`Launched`] without a process.
//! Not here: the work itself (see `workload`), when the program is ended (see `one`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Watcher;
use crate::workload::beside::{At, Beside, Done};
use sparkbench_host::{Closed, Ended, Host, Launched};
use sparkbench_text::error::Error;

/// Time for the work beside to save its data after a stop, before its program is ended.
pub(super) const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Time for it afterwards. Its longest single wait is for an answer of a server that has gone.
pub(super) const GONE_LIMIT: Duration = Duration::from_secs(60);

enum News {
    Say(String),
    Warn(String),
}

/// A thread at work.
pub(super) struct Company {
    thread: JoinHandle<Done>,
    stop: Arc<AtomicBool>,
    news: Receiver<News>,
}

impl Company {
    /// Lets it begin.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn start(beside: Box<dyn Beside>, host: &Arc<dyn Host>, folder: &Path) -> Result<Self, Error> {
        let (sender, news) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (host, folder, told): (_, PathBuf, _) = (Arc::clone(host), folder.to_owned(), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("beside".to_owned())
            .spawn(move || {
                let warnings = sender.clone();
                // Nobody listens any more: nothing to say then.
                let say = |line: &str| drop(sender.send(News::Say(line.to_owned())));
                let warn = |line: &str| drop(warnings.send(News::Warn(line.to_owned())));
                beside.run(&At { host: &host, folder: &folder, stop: &told, say: &say, warn: &warn })
            })
            .map_err(|cause| Error::archive("cannot start the thread of the load").because(cause))?;
        Ok(Self { thread, stop, news })
    }

    /// Passes on what it had to say so far.
    pub(super) fn tell(&self, watcher: &dyn Watcher) {
        self.news.try_iter().for_each(|news| news.tell(watcher));
    }

    /// Whether it is over.
    pub(super) fn over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Tells it to stop, and waits a while for that.
    pub(super) fn stop(&self, watcher: &dyn Watcher, limit: Duration) {
        self.stop.store(true, Ordering::Relaxed);
        // Its end of the channel goes with it, so this returns as soon as it is over. Each line of news begins the wait again, and lines
        // come only while it puts things down.
        while let Ok(news) = self.news.recv_timeout(limit) {
            news.tell(watcher);
        }
    }

    /// Its outcome. A thread that does not end is left to itself, and that is a fault.
    pub(super) fn end(self, watcher: &dyn Watcher) -> Done {
        if !self.over() {
            self.stop(watcher, GONE_LIMIT);
        }
        self.tell(watcher);
        // The channel closes a moment before the thread is gone.
        if !self.over() && self.news.recv_timeout(LAST).err() == Some(RecvTimeoutError::Timeout) {
            return Done::failed(format!("the load did not end within {} s of the signal", GONE_LIMIT.as_secs()));
        }
        self.thread
            .join()
            .unwrap_or_else(|_| Done::failed("the load stopped unexpectedly: this is a fault of sparkbench"))
    }
}

/// See [`Company::end`].
const LAST: Duration = Duration::from_millis(100);

impl News {
    fn tell(self, watcher: &dyn Watcher) {
        match self {
            Self::Say(line) => watcher.say(&line),
            Self::Warn(line) => watcher.warn(&line),
        }
    }
}

/// A server that was there before: nothing was started, nothing is ended.
pub(super) struct Attached {
    host: Arc<dyn Host>,
    began: Ended,
}

impl Attached {
    /// From now on.
    pub(super) fn begin(host: &Arc<dyn Host>) -> Self {
        let (monotonic, utc) = (host.monotonic().as_secs_f64(), host.utc().0);
        let began = Ended { started_monotonic_s: monotonic, started_utc_ms: utc, ..Ended::default() };
        Self { host: Arc::clone(host), began }
    }
}

impl Launched for Attached {
    /// No process is ours.
    fn pid(&self) -> u32 {
        0
    }

    fn tree(&self) -> Vec<u32> {
        Vec::new()
    }

    fn cgroups(&self) -> BTreeMap<String, PathBuf> {
        BTreeMap::new()
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<Ended>, Error> {
        self.host.pause(limit);
        Ok(None)
    }

    fn end(&mut self, why: &str) -> Result<Ended, Error> {
        Ok(Ended {
            ended_monotonic_s: self.host.monotonic().as_secs_f64(),
            ended_utc_ms: self.host.utc().0,
            why: Some(why.to_owned()),
            ..self.began.clone()
        })
    }

    fn close(self: Box<Self>) -> Result<Closed, Error> {
        Ok(Closed::default())
    }
}
