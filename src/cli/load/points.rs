//! Measured loads as they come: a line for each point of a sweep, and the file for scripts rewritten each time.
//!
//! In:  [`Loaded`], one after the other.  Out: standard output, the file of `--json`.
//! Not here: what is seen while a load runs (see `live`), one load in full (see `load::summary::text`).
//!
//! A server may die between two points. What was measured before stands on the screen and in the file by then.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::cli::print;
use crate::cli::talk::Talk;
use crate::error::{Error, Kind};
use crate::load::session::Loaded;
use crate::load::summary::points;

/// Width of the names of points: `isl1024-osl128 pass 3` fits.
const NAMES: usize = 22;

/// See the module.
pub struct Points<'a> {
    talk: &'a Talk,
    json: Option<PathBuf>,
    /// More than one load was asked for: each is a line of a table.
    several: bool,
    goodput: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    loads: Vec<(String, serde_json::Value)>,
    texts: Vec<String>,
    /// What kept the file from being written; the last attempt counts.
    unwritten: Option<Error>,
}

impl<'a> Points<'a> {
    /// Nothing is written before the first load is over.
    pub fn new(talk: &'a Talk, json: Option<&Path>, several: bool, goodput: bool) -> Self {
        Self { talk, json: json.map(Path::to_owned), several, goodput, seen: Mutex::default() }
    }

    fn for_scripts(&self) -> bool {
        self.json.as_deref().is_some_and(|path| path.as_os_str() == "-")
    }

    /// Results: on standard output, or beside it where that belongs to a script.
    pub fn tell(&self, text: &str) {
        if self.for_scripts() {
            text.lines().for_each(|line| self.talk.say(line));
        } else if let Err(cause) = print(&format!("{}\n", text.trim_end())) {
            self.talk.error(&cause);
        }
    }

    /// Takes one load.
    pub fn add(&self, loaded: &Loaded) {
        let Ok(mut seen) = self.seen.lock() else { return };
        let load = (loaded.name.clone(), serde_json::json!(loaded.summary));
        if self.several {
            if seen.loads.is_empty() {
                self.tell(&points::heads(NAMES, self.goodput));
            }
            self.tell(&points::row(&load, NAMES, self.goodput));
        }
        seen.loads.push(load);
        seen.texts.push(loaded.summary.json());
        if let Some(path) = self.json.as_deref().filter(|_| !self.for_scripts()) {
            seen.unwritten = crate::archive::write_atomic(path, text(&seen.texts).as_bytes()).err();
        }
    }

    /// The end: the list for scripts on standard output, and the exit code. `broken` is what ended the loads before their time.
    /// `seeks_limits`: points that the server could not carry are what was asked for, as long as one was carried.
    ///
    /// # Errors
    /// Of a workload when a load is not valid or was not measured; of an archive when the file could not be written.
    pub fn finish(self, broken: Option<Error>, seeks_limits: bool) -> Result<(), Error> {
        let for_scripts = self.for_scripts();
        let Ok(seen) = self.seen.into_inner() else { return broken.map_or(Ok(()), Err) };
        if for_scripts && !seen.texts.is_empty() {
            print(&text(&seen.texts))?;
        }
        if let Some(mut error) = broken {
            if !seen.loads.is_empty() {
                error.kind = Kind::Workload;
                error.hint = Some(match self.json.filter(|_| !for_scripts) {
                    Some(path) => {
                        format!("the {} loads before it are above and in '{}'", seen.loads.len(), path.display())
                    }
                    None => format!("the {} loads before it are above", seen.loads.len()),
                });
            }
            return Err(error);
        }
        if let Some(error) = seen.unwritten {
            return Err(error);
        }
        invalid(&seen.loads, seeks_limits).map_or(Ok(()), Err)
    }
}

/// The error of loads that cannot be used.
pub fn invalid(loads: &[(String, serde_json::Value)], seeks_limits: bool) -> Option<Error> {
    let faults: Vec<String> = loads.iter().filter_map(points::fault).collect();
    let first = faults.first()?;
    if seeks_limits && faults.len() < loads.len() {
        return None;
    }
    let error = Error::new(Kind::Workload, first.clone());
    Some(match faults.len() - 1 {
        0 => error,
        more => error.detail(format!("{more} more of {} loads are not valid", loads.len())),
    })
}

/// One summary as it is, several as a list.
fn text(summaries: &[String]) -> String {
    match summaries {
        [only] => only.clone(),
        several => format!("[\n{}\n]\n", several.iter().map(|one| one.trim_end()).collect::<Vec<_>>().join(",\n")),
    }
}
