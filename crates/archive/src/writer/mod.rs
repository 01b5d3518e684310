//! Writes an archive so that a crash at any moment loses at most the run in flight.
//!
//! In:  a campaign, its runs one by one, a [`Session`].  Out: the layout of `docs/archive.md`, and [`Progress`].
//! Not here: the choice of runs, clocks (the session brings one), reading an archive back.
//!
//! The order of steps is the point. `begin` writes the line `started` before it makes the folder. The folder's name begins with a dot until
//! every file in it is masked, hashed and on disk. Then it is renamed, and the renaming is flushed to disk. Only then does the journal say
//! `finished`. So [`Writer::resume`] and [`Writer::settle`] can tell where a crash happened. A folder with a dot was interrupted. A folder
//! with its final name but without a line is adopted after its hashes have been checked.
//!
//! Everything that goes into the archive passes the session's [`Mask`] here, so that no caller can forget it.

mod begin;
mod damage;
mod finish;
mod open;
mod settle;

use std::fs;
use std::path::{Path, PathBuf};

use super::disk::{self, trouble};
use super::journal::{Event, JournalWriter, Moment, chained};
use super::lock::Lock;
use super::manifest::{PART, PlannedRun, RUNS_FOLDER, SEAL_FILE, SEAL_SCHEMA, SealWire};
use super::mask::Mask;
use super::verify::{self, Progressed};
use super::{Progress, Retention, shown};
use sparkbench_text::error::{Error, Kind};

pub use begin::Extra;
pub use damage::Damage;
pub use finish::Finished;
pub use open::{expect_campaign, read_campaign};

/// Difference between wall clock and monotonic clock that is reported, seconds. It allows a leap second and some adjusting.
const JUMP_S: f64 = 2.0;
/// And by this share of the time passed: adjusting is at most 500 parts in a million (adjtimex of Linux).
const SLEW: f64 = 0.000_5;

/// Who writes, and what it needs from outside.
#[derive(Clone)]
pub struct Session<'a> {
    /// Program and version.
    pub tool: String,
    /// `boot_id` of the kernel. Absent where there is none.
    pub boot_id: Option<String>,
    /// The mask for everything that is written.
    pub mask: Mask,
    /// Which files of a run are kept.
    pub retention: Retention,
    /// Tells the time on both clocks.
    pub clock: &'a (dyn Fn() -> Moment + Sync),
}

/// The one who writes an archive. Holds its lock until dropped.
pub struct Writer<'a> {
    folder: PathBuf,
    journal: JournalWriter,
    session: Session<'a>,
    plan: Vec<PlannedRun>,
    progress: Progress,
    campaign_sha256: String,
    last: Option<Moment>,
    /// Leftovers may lie around. Nothing is begun before [`Writer::settle`].
    unsettled: bool,
    /// Parts that did not fit their record when the archive was taken up, and that were not given up.
    damages: Vec<Damage>,
    /// What does not fit is given up.
    gives_up: bool,
    /// Released last.
    _lock: Lock,
}

impl Writer<'_> {
    /// The archive, as an absolute path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How far the campaign has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Parts that did not fit their record when the archive was taken up. With any of them it cannot be sealed.
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// The error for those parts. Absent where everything fitted, or was given up.
    pub fn damaged(&self) -> Option<Error> {
        (!self.damages.is_empty()).then(|| self.unsound(&self.damages))
    }

    /// The mask for everything that is written.
    pub fn mask(&self) -> &Mask {
        &self.session.mask
    }

    /// Adds an event to the journal. Its words are masked.
    ///
    /// # Errors
    /// When it cannot be written. The archive can be resumed.
    pub fn log(&mut self, event: Event) -> Result<(), Error> {
        if self.progress.closed {
            return Err(Error::archive(format!("'{}' is complete and sealed", shown(&self.folder)))
                .hint("start another campaign in another folder"));
        }
        let event = self.masked(event);
        let now = (self.session.clock)();
        if let Some(jump) = self.last.and_then(|last| jump(last, now)) {
            self.append(now, &jump)?;
        }
        self.append(now, &event)
    }

    fn append(&mut self, now: Moment, event: &Event) -> Result<(), Error> {
        self.journal.append(now, event).map_err(|cause| self.failed("write to the journal of", &self.folder, cause))?;
        self.last = Some(now);
        self.progress.note(event);
        Ok(())
    }

    /// Reasons come from programs and people. Ids, labels and paths are ours.
    fn masked(&self, event: Event) -> Event {
        // What is replaced in words about a run is not part of any file's count.
        let text = |text: String| self.session.mask.text(&text, &mut super::Tally::new());
        match event {
            Event::Swept { what } => Event::Swept { what: what.into_iter().map(text).collect() },
            Event::Failed { run, run_sha256, why } => Event::Failed { run, run_sha256, why: text(why) },
            Event::Skipped { run, why } => Event::Skipped { run, why: text(why) },
            Event::Interrupted { run, folder, files, dropped, why } => {
                Event::Interrupted { run, folder, files, dropped, why: text(why) }
            }
            Event::Lost { path, run, files, left, why } => Event::Lost { path, run, files, left, why: text(why) },
            Event::Stopped { why } => Event::Stopped { why: text(why) },
            other => other,
        }
    }

    /// Notes that a planned run will not be made.
    ///
    /// # Errors
    /// When the run is not planned or complete already. When the line cannot be written.
    pub fn skip(&mut self, id: &str, why: &str) -> Result<(), Error> {
        self.expect_open(id)?;
        self.log(Event::Skipped { run: id.to_owned(), why: why.to_owned() })
    }

    /// Seals the archive: every planned run is accounted for, everything fits its record, and nothing more will be written. It is told
    /// how far the check before the seal is.
    ///
    /// # Errors
    /// When planned runs have no outcome, or something in the archive does not fit its record. When the seal cannot be written, in which case
    /// `--resume` writes it.
    pub fn close(&mut self, progressed: Progressed<'_>) -> Result<(), Error> {
        self.expect_settled()?;
        let left = self.progress.left(&self.plan);
        if let Some(first) = left.first() {
            return Err(Error::archive(format!("'{}' cannot be sealed", shown(&self.folder)))
                .detail(format!("{} planned runs have no outcome, the first is '{}'", left.len(), first.id))
                .hint("run them with --resume"));
        }
        if self.progress.closed && self.folder.join(SEAL_FILE).exists() {
            // It was checked when it was opened, or sealed by this collector.
            return Ok(());
        }
        let unsealed = |flaw: &verify::Mismatch| flaw.path == SEAL_FILE && flaw.kind == verify::Kind::Missing;
        let flaws = self.flaws(progressed)?.into_iter().filter(|flaw| !unsealed(flaw));
        let damages = Damage::of(flaws, &self.progress, &self.plan);
        if !damages.is_empty() {
            return Err(self.unsound(&damages));
        }
        if !self.progress.closed {
            let (finished, failed) = (self.progress.finished.len() as u64, self.progress.failed.len() as u64);
            self.log(Event::Closed { finished, failed })?;
        }
        self.seal()
    }

    fn seal(&self) -> Result<(), Error> {
        if self.folder.join(SEAL_FILE).exists() {
            return Ok(());
        }
        let (journal_bytes, digest) = self.journal.state();
        let seal = SealWire {
            schema: SEAL_SCHEMA.to_owned(),
            journal_sha256: super::read::hex(&sha2::Digest::finalize(digest.clone())),
            journal_bytes,
            campaign_sha256: self.campaign_sha256.clone(),
            runs: (self.progress.finished.len() + self.progress.failed.len()) as u64,
            lost: self.progress.losses.clone(),
        };
        let object = serde_json::to_vec(&seal).map_err(|cause| self.failed("seal", &self.folder, cause.into()))?;
        disk::put(&self.folder, SEAL_FILE, &chained(&digest, &object))
            .map_err(|cause| self.failed("seal", &self.folder, cause))
    }

    /// The run is planned, and not complete.
    fn expect_open(&self, id: &str) -> Result<(), Error> {
        let odd = |what: String| {
            Err(Error::archive(what).hint("the plan in campaign.json is fixed, so another plan needs another campaign"))
        };
        if !self.plan.iter().any(|run| run.id == id) {
            return odd(format!("run '{id}' is not part of the plan"));
        }
        if self.progress.is_complete(id) {
            return odd(format!("run '{id}' is complete already"));
        }
        Ok(())
    }

    fn expect_settled(&self) -> Result<(), Error> {
        if self.unsettled {
            return Err(Error::archive(format!("leftovers in '{}' were not set aside", shown(&self.folder)))
                .hint("resume the campaign from its start"));
        }
        Ok(())
    }

    fn runs(&self) -> PathBuf {
        self.folder.join(RUNS_FOLDER)
    }

    /// The error for a step that the file system refused.
    fn failed(&self, doing: &str, path: &Path, cause: std::io::Error) -> Error {
        trouble(doing, path, &self.progress.safe(), cause)
    }

    /// Demands that the archive still lies where it was opened. Asked before something is written there after a long time.
    ///
    /// # Errors
    /// When it was moved, removed or replaced.
    pub fn expect_there(&self) -> Result<(), Error> {
        self.journal.expect_there().map_err(|cause| self.failed("continue in", &self.folder, cause))
    }

    /// Extends an error about a file of this archive with what is safe and how to continue. Another part of the program wrote that file.
    #[must_use]
    pub fn explained(&self, error: Error) -> Error {
        use std::error::Error as _;
        let refusal = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>()).map(disk::refusal);
        let ours = error.kind == Kind::Archive && error.detail.is_none();
        match refusal {
            Some((detail, hint)) if ours && error.what.contains(&shown(&self.folder)) => {
                error.detail(format!("{detail}; {}", self.progress.safe())).hint(hint)
            }
            _ => error,
        }
    }

    /// The error for a disk without room that nothing but a failed program has met yet.
    pub fn full(&self, why: &str) -> Error {
        self.failed("continue in", &self.folder, std::io::Error::new(std::io::ErrorKind::StorageFull, why.to_owned()))
    }

    /// Makes a folder of the archive, and its name durable.
    fn make(&self, folder: &Path) -> Result<(), Error> {
        fs::create_dir_all(folder)
            .and_then(|()| disk::sync_folder(folder.parent().unwrap_or(&self.folder)))
            .map_err(|cause| self.failed("make", folder, cause))
    }
}

/// Where an unfinished folder lies: beside its final place, hidden.
fn aside(parent: &Path, name: &str) -> PathBuf {
    parent.join(format!(".{name}{PART}"))
}

/// The event for clocks that went apart since the last line.
fn jump(last: Moment, now: Moment) -> Option<Event> {
    let (wall, steady) = (now.utc.seconds_since(last.utc), now.monotonic_s - last.monotonic_s);
    let jump_s = ((wall - steady) * 1e3).round() / 1e3;
    (jump_s.abs() > JUMP_S + SLEW * steady.abs()).then(|| {
        let way = if jump_s > 0.0 { "forward, or the machine slept" } else { "back" };
        Event::Clock { jump_s, why: format!("the wall clock was set {way}") }
    })
}
