//! The client of this program as a `Loader`.
//!
//! In:  a job.  Out: the files of each load in its folder, and remarks from its summary on the run.
//! Not here: the client (see `load::session`).

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use super::loader::{Job, LOADS_FOLDER, Loaded, Loader};
use sparkbench_archive::manifest::WindowWire;
use sparkbench_archive::shown;
use sparkbench_load::calibrate::Calibration;
use sparkbench_load::ranks;
use sparkbench_load::session::{Live, Loaded as Done, PREEMPTED, Session, Watcher, gauge};
use sparkbench_load::settings::Settings;
use sparkbench_load::suite::{Planned, Role};
use sparkbench_load::summary::{Summary, brief};
use sparkbench_text::error::{Error, Kind};

/// See the module.
#[derive(Debug, Default)]
pub struct Sessions {
    /// The instrument's error, measured before the first load of this process. Nothing where it could not be.
    calibration: OnceLock<Option<Calibration>>,
}

/// Folder of the calibration below that of the run which was first.
pub const CALIBRATION_FOLDER: &str = "calibration";

/// Beginning of the folder of a pass to warm up. Its number follows.
pub const WARMUP_FOLDER: &str = "warmup-";

impl Sessions {
    /// Nothing measured yet.
    pub const fn new() -> Self {
        Self { calibration: OnceLock::new() }
    }

    /// Once for a suite: the machine is the same for all its loads. The server is up already and is idle.
    fn calibration(&self, job: &Job<'_>, settings: &Settings, ear: &Ear<'_>) -> Option<Calibration> {
        let measure = || {
            let folder = job.folder.join(CALIBRATION_FOLDER);
            match gauge::calibrate(job.host, settings, &folder, ear, job.stop) {
                Ok(found) => {
                    (job.say)(&format!("the instrument's error here: {}", found.sentence()));
                    Some(found)
                }
                Err(error) => {
                    (job.warn)(&format!("the instrument's error was not measured: {}", error.in_a_line()));
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
        // Why the rest of a row is not sent: the server had enough.
        let mut refused: Option<String> = None;
        for load in job.loads {
            if job.stop.load(Ordering::Relaxed) || job.host.interrupted() {
                break;
            }
            let session = match open.take().filter(|(settings, _)| alike(settings, &load.settings)) {
                Some((_, session)) => session,
                None => {
                    Session::open(job.host, job.url, &load.settings, &ear, Arc::clone(job.stop))?.with(ranks::joined())
                }
            };
            if let Some(why) = refused.clone().or_else(|| load.too_long(session.known().most_tokens())) {
                loaded.marks.push(format!("{} is skipped: {why}", load.name));
                (job.warn)(&format!("load {} is skipped: {why}", load.name));
                open = Some((&load.settings, session));
                continue;
            }
            let folder = job.folder_of(load);
            make(&folder)?;
            let of = if load.name.is_empty() { String::new() } else { format!("{}: ", load.name) };
            if !load.name.is_empty() {
                (job.say)(&format!("load {}", load.name));
            }
            let calibration = self.calibration(job, &load.settings, &ear);
            let row = measured(job, &session, load, &folder, calibration).and_then(|row| match load.role {
                Role::Search(_) => Ok(row),
                _ => row.into_iter().next().map(|one| vec![one]).ok_or_else(stopped),
            });
            match row {
                Ok(row) => {
                    for done in &row {
                        let of = if row.len() > 1 { format!("{of}{}: ", done.name) } else { of.clone() };
                        if matches!(load.role, Role::Cell { ends: true }) && done.summary.failed > 0 {
                            refused = Some(format!("requests failed at {} already", load.name));
                        }
                        loaded.add(&of, load, &done.summary, done.window_s);
                    }
                }
                // The others are measured all the same.
                Err(error) => loaded.faults.push(format!("{of}{}", error.in_a_line())),
            }
            open = Some((&load.settings, session));
        }
        Ok(loaded)
    }
}

/// Passes to warm up, then the measured one. Of a search one for each of its points.
fn measured(
    job: &Job<'_>,
    session: &Session<'_>,
    load: &Planned,
    folder: &Path,
    calibration: Option<Calibration>,
) -> Result<Vec<Done>, Error> {
    for pass in 1..=load.warmups {
        // Prompts that no measured pass sends: they would be answered from the cache.
        let nonce = load.settings.nonce ^ u64::from(pass) << NONCE_PASS;
        let name = format!("{} warm-up {pass}", load.name);
        let own = folder.join(format!("{WARMUP_FOLDER}{pass}"));
        make(&own)?;
        let done = session.load(&Settings { nonce, ..load.settings.clone() }, name.trim(), &own, None)?;
        if done.interrupted || job.stop.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
    }
    match load.role {
        // Its points are loads of their own, beside the others.
        Role::Search(search) => {
            let searched = session.search(&search, &load.settings, &folder.join(LOADS_FOLDER), &|_| None)?;
            searched.found.iter().for_each(|found| (job.say)(found));
            Ok(searched.loaded)
        }
        _ => session.load(&load.settings, &load.name, folder, calibration).map(|done| vec![done]),
    }
}

fn stopped() -> Error {
    Error::new(Kind::Workload, "stopped while the server was warmed up")
}

fn make(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)
        .map_err(|cause| Error::archive(format!("cannot create '{}'", shown(folder))).because(cause))
}

/// Bit of a nonce from which on passes are counted. Loads of a run are counted below it.
const NONCE_PASS: u32 = 40;

/// Beginning of a note on the cache contract, see [`sparkbench_load::server::CacheCheck::note`].
const CONTRACT: &str = "the cache contract";

/// Whether two loads can share what was asked of the server beforehand.
fn alike(one: &Settings, other: &Settings) -> bool {
    let of = |settings: &Settings| {
        (
            settings.endpoint,
            settings.path.clone(),
            settings.exact,
            settings.model.clone(),
            settings.headers.clone(),
            settings.api_key_env.clone(),
            settings.api_key_header.clone(),
            settings.insecure,
            settings.ca_file.clone(),
        )
    };
    of(one) == of(other)
}

impl Loaded {
    fn add(&mut self, of: &str, load: &Planned, summary: &Summary, window_s: Option<(f64, f64)>) {
        if !summary.valid {
            let why = summary.invalid_because.join(", ");
            match load.role {
                // What a search or a row ends at is what it was made to find.
                Role::Search(_) | Role::Cell { ends: true } => self.marks.push(format!("{of}{why}")),
                _ if load.name.is_empty() => self.faults.push(why),
                // The other loads of the run are as good as they are.
                _ => self.failed.push((load.name.clone(), why)),
            }
        }
        // The other notes are for anyone who reads the summary.
        let told = summary.notes.iter().filter(|note| note.starts_with(CONTRACT) || note.starts_with(PREEMPTED));
        self.marks.extend(told.map(|note| format!("{of}{note}")));
        self.marks.extend(summary.marks_of_lengths().into_iter().map(|mark| format!("{of}{mark}")));
        if summary.client.limited {
            self.marks.push(format!("{of}client limited: {}", summary.client.because.join(", ")));
        }
        if let Some((from_s, to_s)) = window_s {
            let all = self.window.get_or_insert(WindowWire { from_s, to_s });
            *all = WindowWire { from_s: all.from_s.min(from_s), to_s: all.to_s.max(to_s) };
        }
    }
}

/// Width in columns of the message about a load whose files could not be written. The reader's terminal is unknown.
const WIDTH: usize = 100;

/// Passes on what the client says. Moments are for a terminal of its own.
struct Ear<'a>(&'a Job<'a>);

impl Watcher for Ear<'_> {
    fn say(&self, line: &str) {
        (self.0.say)(line);
    }

    fn warn(&self, line: &str) {
        (self.0.warn)(line);
    }

    fn live(&self, _: &Live) {}

    fn broken(&self, loaded: &Done) {
        let text = brief(&loaded.summary, WIDTH, false);
        text.lines().filter(|line| !line.is_empty()).for_each(|line| (self.0.say)(line));
    }
}
