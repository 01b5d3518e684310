//! Measured loads as they come: a line for each point of a sweep, and the files rewritten each time.
//!
//! In:  [`Loaded`], one after the other.  Out: standard output, the files of `outputs`.
//! Not here: what is seen while a load runs (see `live`), one load in full (see `load::summary::text`).
//!
//! A server may die between two points. What was measured before stands on the screen and in the file by then.

use std::sync::Mutex;

use serde_json::Value;

use super::outputs::Outputs;
use super::plan::Loads;
use crate::cli::stdout::print;
use crate::cli::talk::Talk;
use sparkbench_archive::shown;
use sparkbench_load::session::Loaded;
use sparkbench_load::settings::Slos;
use sparkbench_load::summary::points::{self, Layout};
use sparkbench_load::summary::{brief, cells};
use sparkbench_text::error::{Error, Kind};

/// Width of the names of points: `isl1024-osl128 pass 3` fits.
const NAMES: usize = 22;

/// Loads whose client was the limit that are told why.
const LIMITS_SHOWN: usize = 3;

/// See the module.
pub(super) struct Points<'a> {
    talk: &'a Talk,
    outputs: Outputs,
    /// More than one load was asked for: each cell is a line of a table.
    several: bool,
    /// Measured passes of a cell.
    passes: usize,
    layout: Layout,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    loads: Vec<(String, Value)>,
    texts: Vec<String>,
    /// Loads that have their line.
    shown: usize,
    /// What kept a file from being written. The last attempt counts.
    unwritten: Option<Error>,
}

impl<'a> Points<'a> {
    /// Nothing is written before the first load is over.
    pub(super) fn new(talk: &'a Talk, outputs: Outputs, plan: &Loads) -> Self {
        let passes = plan.repeats() as usize;
        let layout = Layout { first: NAMES, goodput: plan.settings.slos != Slos::default(), passes: passes > 1 };
        Self { talk, outputs, several: plan.several(), passes, layout, seen: Mutex::default() }
    }

    /// Results: on standard output, or beside it where that belongs to a script.
    pub(super) fn tell(&self, text: &str) {
        if self.outputs.for_scripts() {
            text.lines().for_each(|line| self.talk.say(line));
        } else if let Err(cause) = print(&format!("{}\n", text.trim_end())) {
            self.talk.error(&cause);
        }
    }

    /// Takes one load. A cell gets its line when its last pass is over.
    pub(super) fn add(&self, loaded: &Loaded) {
        let Ok(mut seen) = self.seen.lock() else { return };
        seen.loads.push((loaded.name.clone(), serde_json::json!(loaded.summary)));
        seen.texts.push(loaded.summary.json());
        if seen.loads.len() - seen.shown >= self.passes {
            self.show(&mut seen);
        }
        seen.unwritten = self.outputs.write(&seen.loads, &seen.texts).err();
    }

    /// Takes what a load had measured when it broke.
    pub(super) fn broken(&self, loaded: &Loaded) {
        self.add(loaded);
        if !self.several {
            self.tell(&brief(&loaded.summary, self.talk.width(), self.talk.paints_output()));
        }
    }

    /// A line for each cell that has none yet.
    fn show(&self, seen: &mut Seen) {
        if self.several {
            if seen.shown == 0 {
                self.tell(&self.layout.line());
            }
            let new = seen.loads.get(seen.shown..).unwrap_or_default();
            cells::group(new).iter().for_each(|cell| self.tell(&self.layout.row(cell)));
        }
        seen.shown = seen.loads.len();
    }

    /// The end: what belongs to a script on standard output, and the exit code. `broken` is what ended the loads before their time.
    /// `seeks_limits`: points that the server could not carry are what was asked for, as long as one was carried.
    ///
    /// # Errors
    /// Of a workload when a load is not valid or was not measured. Of an archive when a file could not be written.
    pub(super) fn finish(self, broken: Option<Error>, seeks_limits: bool) -> Result<(), Error> {
        if let Ok(mut seen) = self.seen.lock()
            && seen.shown < seen.loads.len()
        {
            self.show(&mut seen);
        }
        let Ok(seen) = self.seen.into_inner() else { return broken.map_or(Ok(()), Err) };
        if self.several {
            remarks(self.talk, &seen.loads);
        }
        self.outputs.stream(&seen.loads, &seen.texts)?;
        if let Some(mut error) = broken {
            if !seen.loads.is_empty() {
                if error.kind != Kind::Archive {
                    error.kind = Kind::Workload;
                }
                if self.several {
                    let files: Vec<String> =
                        self.outputs.files().iter().map(|path| format!("'{}'", shown(path))).collect();
                    let files = if files.is_empty() { String::new() } else { format!(" and in {}", files.join(", ")) };
                    self.talk
                        .say(&format!("measured before the error: {}. The figures are above{files}", seen.loads.len()));
                }
            }
            return Err(error);
        }
        if let Some(error) = seen.unwritten {
            return Err(error);
        }
        invalid(&seen.loads, seeks_limits).map_or(Ok(()), Err)
    }
}

/// What a table of loads cannot show: notes that change the meaning of a figure, each once with the loads that have it, and why the client
/// may have limited some.
pub(super) fn remarks(talk: &Talk, loads: &[(String, Value)]) {
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for load in loads {
        for note in points::loud(load) {
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(&load.0),
                None => notes.push((note, vec![&load.0])),
            }
        }
    }
    for (note, mut names) in notes {
        names.retain(|name| !name.is_empty());
        names.dedup();
        let of = if names.is_empty() { String::new() } else { format!("{}: ", names.join(", ")) };
        talk.warn(&format!("{of}{note}"));
    }
    let limits: Vec<String> = loads.iter().filter_map(points::limit).collect();
    limits.iter().take(LIMITS_SHOWN).for_each(|limit| talk.warn(limit));
    match limits.len().saturating_sub(LIMITS_SHOWN) {
        0 => {}
        more => talk.warn(&format!("the client may be the limit of {more} more loads")),
    }
    if !limits.is_empty() {
        talk.say("give the client processors of its own, or send fewer requests at a time, and measure again");
    }
}

/// The error of loads that cannot be used.
pub(super) fn invalid(loads: &[(String, Value)], seeks_limits: bool) -> Option<Error> {
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
