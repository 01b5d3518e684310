//! A whole campaign: the plan against the outcome of each run, and the seal against everything.
//!
//! In:  the known facts of the archive.  Out: flaws, and its state.
//! Not here: single files.

use std::collections::BTreeSet;

use super::campaign::Look;
use super::findings::{Kind, Mismatch, Remedy, Runs, State};
use crate::disk;
use crate::journal::{Event, is_chained};
use crate::manifest::{CAMPAIGN_FILE, CampaignWire, JOURNAL_FILE, RUNS_FOLDER, SEAL_FILE, SEAL_SCHEMA, SealWire};
use crate::read::hash;

impl Look<'_> {
    /// The plan against the outcome of each run.
    pub(super) fn outcomes(&mut self, campaign: Option<&CampaignWire>) {
        let mut ended: BTreeSet<&str> = BTreeSet::new();
        let mut twice = Vec::new();
        for entry in &self.journal.entries {
            match &entry.event {
                Some(Event::Finished { run, .. } | Event::Failed { run, .. } | Event::Adopted { run, .. })
                    if !ended.insert(run) =>
                {
                    twice.push((entry.line, run.clone()));
                }
                // A lost run is made again.
                Some(Event::Lost { run: Some(run), .. }) => {
                    ended.remove(run.as_str());
                }
                // What stands before it says nothing any more.
                Some(Event::Lost { path, .. }) if path == JOURNAL_FILE => twice.clear(),
                _ => {}
            }
        }
        let plan = campaign.map(|campaign| campaign.plan.as_slice()).unwrap_or_default();
        let unplanned: Vec<String> =
            ended.into_iter().filter(|id| !plan.iter().any(|run| run.id == *id)).map(str::to_owned).collect();
        for (line, run) in twice {
            self.flaw(JOURNAL_FILE, Kind::Contradiction, format!("line {line}: run '{run}' ended a second time"));
        }
        if campaign.is_some() {
            for run in unplanned {
                self.flaw(format!("{RUNS_FOLDER}/{run}"), Kind::Extra, "it is not in the plan of the campaign");
            }
        }
        let left: Vec<String> = self.progress.left(plan).into_iter().map(|run| run.id.clone()).collect();
        let count = |n: usize| n as u64;
        let of_plan = |n: usize| campaign.map(|_| count(n));
        self.verified.runs = Some(Runs {
            planned: of_plan(plan.len()),
            finished: count(self.progress.finished.len()),
            failed: count(self.progress.failed.len()),
            skipped: count(self.progress.not_needed()),
            lost: count(self.progress.lost_for_good()),
            left: of_plan(left.len()),
            interrupted: self.progress.interrupted.values().map(|times| u64::from(*times)).sum(),
        });
        if self.progress.closed && campaign.is_some() {
            for run in left {
                self.flaw(
                    format!("{RUNS_FOLDER}/{run}"),
                    Kind::Missing,
                    "the campaign is closed, but this planned run has no outcome",
                );
            }
        }
        let closed = self.journal.entries.iter().rev().find_map(|entry| match entry.event {
            Some(Event::Closed { finished, failed }) => Some((finished, failed)),
            _ => None,
        });
        // A campaign that was reopened has other counts until it is closed again.
        let closed = closed.filter(|_| self.progress.closed);
        let counted = (count(self.progress.finished.len()), count(self.progress.failed.len()));
        if let Some(said) = closed.filter(|said| *said != counted) {
            let what = format!(
                "it closes with {} runs done and {} failed, but there are {} and {}",
                said.0, said.1, counted.0, counted.1
            );
            self.flaw(JOURNAL_FILE, Kind::Contradiction, what);
        }
    }

    /// `seal.json` against the journal.
    pub(super) fn seal(&mut self) {
        self.verified.state = if self.running { State::Running } else { State::Open };
        let bytes = match disk::read_plain(&self.folder.join(SEAL_FILE)) {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                if self.progress.closed && !self.running {
                    let what = "the campaign is closed but has no seal, --resume writes it";
                    let flaw = Mismatch::new(SEAL_FILE, Kind::Missing, what);
                    self.verified.flaws.push(flaw.mended_by(Remedy::Resume));
                }
                return;
            }
            // What is there in its place is named with the other files.
            Err(cause) if cause.kind() == std::io::ErrorKind::InvalidData => return self.expected.checked(SEAL_FILE),
            Err(cause) => return self.flaw(SEAL_FILE, Kind::Unreadable, cause.to_string()),
        };
        self.expected.checked(SEAL_FILE);
        if !self.progress.closed && self.is_void(&hash(&bytes)) {
            let what = "the journal says that this seal is void, --resume removes it";
            let flaw = Mismatch::new(SEAL_FILE, Kind::Extra, what);
            return self.verified.flaws.push(flaw.mended_by(Remedy::Resume));
        }
        if self.running && !self.progress.closed {
            return;
        }
        self.verified.files += 1;
        self.verified.bytes += bytes.len() as u64;
        self.verified.state = State::Sealed;
        if !self.progress.closed {
            self.flaw(
                SEAL_FILE,
                Kind::Contradiction,
                "there is a seal, but the journal does not say that the campaign is closed",
            );
        }
        let seal: SealWire = match serde_json::from_slice(&bytes) {
            Ok(seal) => seal,
            Err(cause) => return self.flaw(SEAL_FILE, Kind::Changed, cause.to_string()),
        };
        if seal.schema != SEAL_SCHEMA {
            return self.flaw(
                SEAL_FILE,
                Kind::Unreadable,
                format!("schema \"{}\" is not known to this version", seal.schema),
            );
        }
        let campaign = disk::read_plain(&self.folder.join(CAMPAIGN_FILE)).map(|bytes| hash(&bytes)).ok();
        let runs = (self.progress.finished.len() + self.progress.failed.len()) as u64;
        for (name, same) in [
            ("journal_bytes", seal.journal_bytes == self.journal.bytes),
            ("journal_sha256", seal.journal_sha256 == self.journal.sha256),
            // One that cannot be read is told already.
            ("campaign_sha256", campaign.is_none_or(|sum| seal.campaign_sha256 == sum)),
            ("runs", seal.runs == runs),
            ("lost", seal.lost == self.progress.losses),
        ] {
            if !same {
                self.flaw(SEAL_FILE, Kind::Contradiction, format!("'{name}' is not that of the archive"));
            }
        }
        if !is_chained(&self.journal, &bytes) {
            self.flaw(
                SEAL_FILE,
                Kind::Changed,
                "it does not match the chain of the journal: the seal or the journal was changed",
            );
        }
    }

    /// Whether a seal is the one that was given up when the campaign was opened again.
    fn is_void(&self, sha256: &str) -> bool {
        self.journal.entries.iter().rev().any(|entry| match &entry.event {
            Some(Event::Reopened { seal_sha256, .. }) => seal_sha256.as_deref() == Some(sha256),
            _ => false,
        })
    }
}
