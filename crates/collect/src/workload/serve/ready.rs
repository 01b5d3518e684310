//! Waiting until a server is ready: by a line of its log where a suite names one, then by its health or its models.
//!
//! In:  a [`Web`], the run's folder.  Out: how long it took, or why it is not ready.
//! Not here: the requests after that.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use regex::Regex;

use crate::env::Place;
use crate::workload::beside::{At, log_tail};
use sparkbench_archive::disk;
use sparkbench_host::web::Web;
use sparkbench_load::server;
use sparkbench_plan::Reader;

/// Loading weights and compiling takes engines minutes, and the first start of a version longer: half an hour.
const LIMIT_S: f64 = 1800.0;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Time limit for an answer of a starting server.
const ANSWER: Duration = Duration::from_secs(5);
/// Most of a log that is looked through at a time, bytes. What a line holds beyond is not looked at.
const PIECE: u64 = 1 << 20;
/// Interval of the messages while waiting, seconds.
const SAY_S: f64 = 60.0;

/// When a server counts as ready.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    /// Route. Absent is `/health`, and `/v1/models` where there is none.
    pub path: Option<String>,
    /// Time limit, seconds.
    pub limit_s: f64,
    /// A line of its output that has to come first.
    pub log: Option<Regex>,
}

impl Default for Ready {
    fn default() -> Self {
        Self { path: None, limit_s: LIMIT_S, log: None }
    }
}

impl Ready {
    /// Takes the table `ready`.
    pub(super) fn read(settings: &mut Reader<'_>) -> Self {
        let Some(table) = settings.table("ready") else { return Self::default() };
        let mut keys = settings.below(table);
        let path = keys.text("path");
        if path.as_ref().is_some_and(|path| !path.starts_with('/')) {
            keys.fault("path", "does not begin with '/'", "give a route of the server, e.g. \"/health\"");
        }
        let limit_s = keys.number_within("limit_s", 0.1, 86_400.0).unwrap_or(LIMIT_S);
        let log = keys.text("log").and_then(|pattern| match Regex::new(&pattern) {
            Ok(regex) => Some(regex),
            Err(cause) => {
                let what = format!("is not a pattern: {}", cause.to_string().lines().last().unwrap_or_default());
                keys.fault("log", what, "give a regular expression that matches a line of the server's output");
                None
            }
        });
        keys.finish();
        Self { path, limit_s, log }
    }

    /// Waits. Gives the seconds that it took. `attached`: the server is not one that we started.
    ///
    /// # Errors
    /// Why not, with the last lines of the log. Nothing when we were told to stop.
    pub(super) fn wait(&self, web: &Web, at: &At<'_>, attached: bool) -> Result<f64, Option<String>> {
        let began = at.host.monotonic();
        let mut said = 0.0;
        let mut logs = [Place::STDOUT, Place::STDERR].map(|name| Log::of(&at.folder.join(name)));
        let mut line_came = self.log.is_none();
        loop {
            if at.stop.load(Ordering::Relaxed) || at.host.interrupted() {
                return Err(None);
            }
            if let Some(pattern) = self.log.as_ref().filter(|_| !line_came) {
                line_came = logs.iter_mut().any(|log| log.finds(pattern));
            }
            let state = if line_came {
                server::ready(web, self.path.as_deref(), ANSWER)
            } else {
                Err("the line of its log has not come".to_owned())
            };
            let waited = (at.host.monotonic() - began).as_secs_f64();
            let Err(why) = state else { return Ok(waited) };
            if waited > self.limit_s {
                let tail = log_tail(at.folder);
                let network = match attached {
                    _ if !why.contains("refused") => "",
                    true => NOT_STARTED,
                    false => NETWORK,
                };
                return Err(Some(format!("the server was not ready within {} s: {why}{network}{tail}", self.limit_s)));
            }
            if waited - said > SAY_S {
                said = waited;
                (at.say)(&format!(
                    "waiting for the server: {why} (waited {waited:.0} s, gives up after {:.0} s)",
                    self.limit_s
                ));
            }
            at.host.pause(LOOK);
        }
    }
}

/// The commonest reason why nobody listens where the server should be running already.
const NOT_STARTED: &str = ". Start the server first, or correct its address";
/// The commonest reason why nobody listens although the server runs.
const NETWORK: &str = ". A container with its own network cannot be reached from here: give the environment --network=host, or give the \
                       workload host and url";

/// A log that grows.
struct Log {
    path: PathBuf,
    seen: u64,
    /// Beginning of a line whose end has not come.
    open: String,
}

impl Log {
    fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), seen: 0, open: String::new() }
    }

    /// Whether a line that came since the last look, or one that is still being written, matches.
    fn finds(&mut self, pattern: &Regex) -> bool {
        loop {
            let mut bytes = Vec::new();
            let read = disk::open_plain(&self.path).and_then(|mut file| {
                file.seek(SeekFrom::Start(self.seen))?;
                file.take(PIECE).read_to_end(&mut bytes)
            });
            let Ok(count) = read else { return false };
            if count == 0 {
                return false;
            }
            self.seen += count as u64;
            let text = std::mem::take(&mut self.open) + &String::from_utf8_lossy(&bytes);
            if text.lines().any(|line| pattern.is_match(line)) {
                return true;
            }
            let open = text.rsplit('\n').next().unwrap_or_default();
            if (open.len() as u64) < PIECE {
                open.clone_into(&mut self.open);
            }
        }
    }
}
