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
use super::resume::Kept;
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
    loads: Vec<Seat>,
    /// Loads that have no figures, and are in the files until they have been measured again.
    stale: Vec<Seat>,
    /// Names of the loads in the order in which they were asked for. Where it is empty, that is the order in which they are measured.
    order: Vec<String>,
    /// The head of the table is there.
    headed: bool,
    /// What kept a file from being written. The last attempt counts.
    unwritten: Option<Error>,
}

/// A load, as it is shown and as it is written.
#[derive(Clone)]
struct Seat {
    load: (String, Value),
    text: String,
    /// It has its line.
    shown: bool,
}

impl Seat {
    /// A load of an earlier process.
    fn kept(load: &(String, Value)) -> Self {
        // Values of JSON cannot fail.
        let text = serde_json::to_string_pretty(&load.1).unwrap_or_default() + "\n";
        Self { load: load.clone(), text, shown: false }
    }
}

impl Seen {
    /// Everything for the files, in the order in which it was asked for.
    fn written(&self) -> (Vec<(String, Value)>, Vec<String>) {
        let gone = |seat: &&Seat| !self.loads.iter().any(|other| other.load.0 == seat.load.0);
        let mut seats: Vec<&Seat> = self.loads.iter().chain(self.stale.iter().filter(gone)).collect();
        seats.sort_by_key(|seat| self.order.iter().position(|name| *name == seat.load.0).unwrap_or(usize::MAX));
        seats.into_iter().map(|seat| (seat.load.clone(), seat.text.clone())).unzip()
    }

    fn loads(&self) -> Vec<(String, Value)> {
        self.loads.iter().map(|seat| seat.load.clone()).collect()
    }
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

    /// Takes what an earlier process measured, and the names of all loads in their order.
    pub(super) fn begin(&self, kept: &Kept, order: Vec<String>) {
        let Ok(mut seen) = self.seen.lock() else { return };
        seen.loads = kept.loads.iter().map(Seat::kept).collect();
        seen.stale = kept.stale.iter().map(Seat::kept).collect();
        seen.order = order;
        self.show(&mut seen, false);
    }

    /// Takes one load. A cell gets its line when its last pass is over.
    pub(super) fn add(&self, loaded: &Loaded) {
        let Ok(mut seen) = self.seen.lock() else { return };
        let load = (loaded.name.clone(), serde_json::json!(loaded.summary));
        seen.loads.push(Seat { load, text: loaded.summary.json(), shown: false });
        self.show(&mut seen, false);
        let (loads, texts) = seen.written();
        seen.unwritten = self.outputs.write(&loads, &texts).err();
    }

    /// Takes what a load had measured when it broke.
    pub(super) fn broken(&self, loaded: &Loaded) {
        self.add(loaded);
        if !self.several {
            self.tell(&brief(&loaded.summary, self.talk.width(), self.talk.paints_output()));
        }
    }

    /// A line for each cell that has none yet and has all its passes, at the end for every cell.
    fn show(&self, seen: &mut Seen, end: bool) {
        if !self.several {
            return;
        }
        let open: Vec<(String, Value)> =
            seen.loads.iter().filter(|seat| !seat.shown).map(|seat| seat.load.clone()).collect();
        for cell in cells::group(&open).iter().filter(|cell| end || cell.passes.len() >= self.passes) {
            if !std::mem::replace(&mut seen.headed, true) {
                self.tell(&self.layout.line());
            }
            self.tell(&self.layout.row(cell));
            seen.loads
                .iter_mut()
                .filter(|seat| cells::of(&seat.load.0) == cell.name)
                .for_each(|seat| seat.shown = true);
        }
    }

    /// The end: what belongs to a script on standard output, and the exit code. `broken` is what ended the loads before their time.
    /// `seeks_limits`: points that the server could not carry are what was asked for, as long as one was carried.
    ///
    /// # Errors
    /// Of a workload when a load is not valid or was not measured. Of an archive when a file could not be written.
    pub(super) fn finish(self, broken: Option<Error>, seeks_limits: bool) -> Result<(), Error> {
        if let Ok(mut seen) = self.seen.lock() {
            self.show(&mut seen, true);
        }
        let Ok(seen) = self.seen.into_inner() else { return broken.map_or(Ok(()), Err) };
        let all = seen.loads();
        if self.several {
            remarks(self.talk, &all);
        }
        let (loads, texts) = seen.written();
        self.outputs.stream(&loads, &texts)?;
        if let Some(mut error) = broken {
            if !all.is_empty() {
                if error.kind != Kind::Archive {
                    error.kind = Kind::Workload;
                }
                if self.several {
                    let files: Vec<String> =
                        self.outputs.files().iter().map(|path| format!("'{}'", shown(path))).collect();
                    let files = if files.is_empty() { String::new() } else { format!(" and in {}", files.join(", ")) };
                    self.talk.say(&format!("measured before the error: {}. The figures are above{files}", all.len()));
                }
            }
            return Err(error);
        }
        if let Some(error) = seen.unwritten {
            return Err(error);
        }
        invalid(&all, seeks_limits).map_or(Ok(()), Err)
    }

    /// Writes the files again: nothing was left to measure, and another one may be asked for now.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn write(&self) -> Result<(), Error> {
        let Ok(seen) = self.seen.lock() else { return Ok(()) };
        let (loads, texts) = seen.written();
        self.outputs.write(&loads, &texts)
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
