//! The journal of a campaign: `journal.jsonl`, one line for each step, each chained to everything before it.
//!
//! In:  events.  Out: [`Event`], [`Entry`], [`read`] for readers, [`JournalWriter`] for the one writer.
//! Not here: what follows from the events (see [`Progress`](super::Progress)), the lock.
//!
//! A line ends in `,"chain":"<64 hex>"}`: SHA-256 over every byte of the file before the line, then over the line's own bytes up to that
//! comma. So any change of an earlier byte shows at the next line, and a change of the last line shows in itself. The chain guards against
//! accidents, not against forgery: anyone who rewrites the whole file can compute it again.

mod append;
mod chain;

use serde::{Deserialize, Serialize};

use super::manifest::{CAMPAIGN_FILE, DroppedWire, FileHash};
use sparkbench_model::Instant;

pub use append::JournalWriter;
pub use chain::{Journal, Tail, read, scan};
pub(crate) use chain::{chained, is_chained};

/// A moment on both clocks. The archive reads no clock of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// Wall clock.
    pub utc: Instant,
    /// `CLOCK_MONOTONIC`, seconds.
    pub monotonic_s: f64,
}

/// One step of a campaign. Readers pass over events that they do not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// `campaign.json` is on disk.
    Created {
        /// Its SHA-256.
        campaign_sha256: String,
    },
    /// A collector took the archive.
    Opened {
        /// Program and version.
        tool: String,
        /// Its process.
        pid: u32,
        /// `boot_id` of the kernel, to tell whether monotonic times can be compared. Absent where there is none.
        #[serde(default)]
        boot_id: Option<String>,
    },
    /// A collector goes on where another stopped, everything left over having been set aside.
    Resumed {
        /// Runs done.
        finished: u64,
        /// Runs that failed. They are not repeated.
        failed: u64,
        /// Folders that lie in `interrupted/`.
        interrupted: u64,
        /// Planned runs without an outcome.
        left: u64,
    },
    /// Leftovers of a crash outside the archive were removed.
    Swept {
        /// One line each.
        what: Vec<String>,
    },
    /// An environment was asked what a workload offers there.
    Probed {
        environment: String,
        /// Label of the workload.
        workload: String,
        /// Folder below the archive.
        folder: String,
        /// Every file in it.
        files: Vec<FileHash>,
    },
    /// A workload's input was made for a model.
    Prepared {
        /// Label of the workload.
        workload: String,
        /// Label of the model.
        model: String,
        /// Folder below the archive.
        folder: String,
        /// Every file in it.
        files: Vec<FileHash>,
    },
    /// A run is about to begin.
    Started { run: String },
    /// A run is complete under its final name.
    Finished {
        run: String,
        /// SHA-256 of its `run.json`, which has those of all its other files.
        run_sha256: String,
    },
    /// A run failed and is complete under its final name, with its logs.
    Failed {
        run: String,
        /// As in `finished`.
        run_sha256: String,
        /// Why it counts as failed.
        why: String,
    },
    /// A planned run will not be made, unless it is started later all the same.
    Skipped { run: String, why: String },
    /// Something did not end. Its remains were moved aside.
    Interrupted {
        /// Id of the run, or `probes/<name>`, `prepared/<name>`.
        run: String,
        /// Folder below the archive.
        folder: String,
        /// Every file in it.
        files: Vec<FileHash>,
        /// Dropped files, as in `run.json`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<DroppedWire>,
        /// Why it did not end.
        why: String,
    },
    /// A complete run whose own line was missing: the crash came between the renaming and the line.
    Adopted {
        run: String,
        /// As in `finished`.
        run_sha256: String,
        /// Why it counts as failed, where it does.
        #[serde(default)]
        why: Option<String>,
    },
    /// The bytes just before this line are what a crash or a full disk left of a line.
    Recovered {
        /// How many, the line end between them and this line not counted.
        torn_bytes: u64,
        /// Their SHA-256.
        torn_sha256: String,
    },
    /// Wall clock and monotonic clock went apart since the line before.
    Clock {
        /// By how much the wall clock is ahead of what was expected, seconds.
        jump_s: f64,
        /// In words.
        why: String,
    },
    /// Something that must not change within a campaign has changed since its beginning.
    Changed {
        /// One line each.
        what: Vec<String>,
    },
    /// An interim look took place, as the design of the campaign says.
    Looked {
        /// Which look of the design, from 1.
        look: u32,
        /// Blocks of the plan that are over.
        blocks: u32,
        /// Primary comparisons that are decided.
        decided: u64,
        /// Primary comparisons that are not.
        open: u64,
        /// Why the campaign ends here. Absent where it goes on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<String>,
    },
    /// The collector stopped in order before the end of the plan.
    Stopped { why: String },
    /// Something that was recorded is lost, and the owner goes on without it (`--accept-loss`). A run that is named here has no result.
    Lost {
        /// Part of the archive that did not fit its record: `runs/<id>`, `probes/<name>`, `journal.jsonl` and so on.
        path: String,
        /// Id of the run, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
        /// Its files that did not fit, with the SHA-256 that was on record.
        #[serde(default)]
        files: Vec<FileHash>,
        /// Files that stay at this path as they are now. Those of a run are moved and listed by `interrupted`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<FileHash>,
        /// What did not fit.
        why: String,
    },
    /// A campaign that had a seal is open again, because something in it is lost. The seal is void.
    Reopened {
        /// SHA-256 of the seal. Absent where there was none.
        #[serde(default)]
        seal_sha256: Option<String>,
        /// The seal, where it was text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<String>,
    },
    /// Every planned run is accounted for. The last line, unless the campaign is reopened.
    Closed {
        /// Runs done.
        finished: u64,
        /// Runs that failed.
        failed: u64,
    },
}

/// SHA-256 of `campaign.json` by the journal: that of its beginning, or of what stayed when its loss was accepted. Absent where no line says
/// it.
pub(crate) fn recorded_campaign(entries: &[Entry]) -> Option<&str> {
    let stayed = entries.iter().rev().find_map(|entry| match &entry.event {
        Some(Event::Lost { path, left, .. }) if path == CAMPAIGN_FILE => left.first().map(|file| file.sha256.as_str()),
        _ => None,
    });
    stayed.or_else(|| {
        entries.iter().find_map(|entry| match &entry.event {
            Some(Event::Created { campaign_sha256 }) => Some(campaign_sha256.as_str()),
            _ => None,
        })
    })
}

/// A line of the journal that fits its chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Line of the file, from 1.
    pub line: u64,
    /// Number of the entry, from 1. Torn lines have none.
    pub seq: u64,
    /// Wall clock. Absent when it does not read as one.
    pub utc: Option<Instant>,
    /// `CLOCK_MONOTONIC`, seconds.
    pub monotonic_s: Option<f64>,
    /// Name of the event.
    pub name: String,
    /// The event. Absent for one that this version does not know.
    pub event: Option<Event>,
}
