//! The client of this program as a [`Loader`].
//!
//! In:  [`Job`].  Out: the files of each load in its folder; what its summary says for and against the run.
//! Not here: the client (see `load::session`).

use std::fs;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use super::loader::{Job, Loaded, Loader};
use crate::archive::manifest::WindowWire;
use crate::error::Error;
use crate::load::calibrate::Calibration;
use crate::load::session::{Live, Session, Watcher, gauge};
use crate::load::settings::Settings;
use crate::load::summary::Summary;

/// See the module.
#[derive(Debug, Default)]
pub struct Sessions {
    /// The instrument's error, measured before the first load of this process; nothing where it could not be.
    calibration: OnceLock<Option<Calibration>>,
}

/// Folder of the calibration below that of the run which was first.
pub const CALIBRATION_FOLDER: &str = "calibration";

impl Sessions {
    /// Nothing measured yet.
    pub const fn new() -> Self {
        Self { calibration: OnceLock::new() }
    }

    /// Once for a suite: the machine is the same for all its loads. The server stands already and is idle.
    fn calibration(&self, job: &Job<'_>, settings: &Settings, ear: &Ear<'_>) -> Option<Calibration> {
        let measure = || {
            let folder = job.folder.join(CALIBRATION_FOLDER);
            match gauge::calibrate(job.host, settings, &folder, ear, job.stop) {
                Ok(found) => {
                    (job.say)(&format!("the instrument's error here: {}", found.sentence()));
                    Some(found)
                }
                Err(error) => {
                    (job.warn)(&format!("the instrument's error was not measured: {}", one_line(&error)));
                    None
                }
            }
        };
        self.calibration.get_or_init(measure).clone()
    }
}

impl Loader for Sessions {
    fn run(&self, job: &Job<'_>) -> Result<Loaded, Error> {
        let ear = Ear(job);
        let mut loaded = Loaded::default();
        let mut open: Option<(&Settings, Session<'_>)> = None;
        for load in job.loads {
            if job.stop.load(Ordering::Relaxed) || job.host.interrupted() {
                break;
            }
            let session = match open.take().filter(|(settings, _)| alike(settings, &load.settings)) {
                Some((_, session)) => session,
                None => Session::open(job.host, job.url, &load.settings, &ear, Arc::clone(job.stop))?,
            };
            let folder = job.folder_of(load);
            fs::create_dir_all(&folder)
                .map_err(|cause| Error::archive(format!("cannot make '{}'", folder.display())).because(cause))?;
            let of = if load.name.is_empty() { String::new() } else { format!("{}: ", load.name) };
            if !load.name.is_empty() {
                (job.say)(&format!("load {}", load.name));
            }
            let calibration = self.calibration(job, &load.settings, &ear);
            match session.load(&load.settings, &load.name, &folder, calibration) {
                Ok(done) => loaded.add(&of, &done.summary, done.window_s),
                // The others are measured all the same.
                Err(error) => loaded.faults.push(format!("{of}{}", one_line(&error))),
            }
            open = Some((&load.settings, session));
        }
        Ok(loaded)
    }
}

/// Beginning of a note on the cache contract, see [`crate::load::server::CacheCheck::note`].
const CONTRACT: &str = "the cache contract";

/// Whether two loads can share what was asked of the server beforehand.
fn alike(one: &Settings, other: &Settings) -> bool {
    let of = |settings: &Settings| {
        (
            settings.endpoint,
            settings.exact,
            settings.model.clone(),
            settings.headers.clone(),
            settings.api_key_env.clone(),
            settings.insecure,
            settings.ca_file.clone(),
        )
    };
    of(one) == of(other)
}

impl Loaded {
    fn add(&mut self, of: &str, summary: &Summary, window_s: Option<(f64, f64)>) {
        if !summary.valid {
            self.faults.push(format!("{of}{}", summary.invalid_because.join(", ")));
        }
        // The other notes are for whoever reads the summary.
        let broken = summary.notes.iter().filter(|note| note.starts_with(CONTRACT));
        self.marks.extend(broken.map(|note| format!("{of}{note}")));
        if summary.short > 0 {
            let (short, all) = (summary.short, summary.completed);
            self.marks.push(format!("{of}{short} of {all} answers are shorter than was asked for exactly"));
        }
        if summary.client.limited {
            self.marks.push(format!("{of}client limited: {}", summary.client.because.join(", ")));
        }
        if let Some((from_s, to_s)) = window_s {
            let all = self.window.get_or_insert(WindowWire { from_s, to_s });
            *all = WindowWire { from_s: all.from_s.min(from_s), to_s: all.to_s.max(to_s) };
        }
    }
}

fn one_line(error: &Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Passes on what the client says; moments are for a terminal of its own.
struct Ear<'a>(&'a Job<'a>);

impl Watcher for Ear<'_> {
    fn say(&self, line: &str) {
        (self.0.say)(line);
    }

    fn warn(&self, line: &str) {
        (self.0.warn)(line);
    }

    fn live(&self, _: &Live) {}
}
