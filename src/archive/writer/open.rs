//! Begins an archive, or resumes one.
//!
//! In:  a folder.  Out: [`Writer`], with the lock held and the journal whole.
//! Not here: leftovers of runs (see `settle`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{FOLDERS, Session, Writer};
use crate::archive::Progress;
use crate::archive::disk::{self, is_aside, trouble};
use crate::archive::journal::{Appender, Entry, Event};
use crate::archive::lock::Lock;
use crate::archive::manifest::{CAMPAIGN_FILE, CAMPAIGN_SCHEMA, CampaignWire, JOURNAL_FILE, SEAL_FILE};
use crate::archive::read::hash;
use crate::error::{Error, Place};

const NOTHING: &str = "nothing was started";

/// Reads `campaign.json` of an archive.
///
/// # Errors
/// When there is none, or it is of a schema that this version does not know.
pub fn read_campaign(folder: &Path) -> Result<CampaignWire, Error> {
    let path = folder.join(CAMPAIGN_FILE);
    let bytes = fs::read(&path).map_err(|cause| {
        let error = Error::archive(format!("'{}' is not an archive of a campaign", folder.display()));
        match cause.kind() {
            io::ErrorKind::NotFound => {
                error.detail(format!("it has no {CAMPAIGN_FILE}")).hint("begin one without --resume")
            }
            _ => error.because(cause),
        }
    })?;
    campaign_from(&path, &bytes)
}

fn campaign_from(path: &Path, bytes: &[u8]) -> Result<CampaignWire, Error> {
    let campaign: CampaignWire = serde_json::from_slice(bytes).map_err(|cause| {
        Error::archive(format!("cannot read '{}'", path.display()))
            .hint("`sparkbench verify` says what else of the archive was changed")
            .because(cause)
    })?;
    if campaign.schema != CAMPAIGN_SCHEMA {
        return Err(Error::archive(format!("cannot read '{}'", path.display()))
            .at(Place::Field("/schema".into()))
            .detail(format!("this version knows \"{CAMPAIGN_SCHEMA}\", found \"{}\"", campaign.schema))
            .hint("use the version of sparkbench that wrote it"));
    }
    Ok(campaign)
}

impl<'a> Writer<'a> {
    /// Begins an archive. `campaign` is masked and written. The schema is filled in.
    ///
    /// # Errors
    /// When the folder holds anything, another collector holds it, or it cannot be written. Nothing that was there is changed.
    pub fn create(folder: &Path, campaign: CampaignWire, session: Session<'a>) -> Result<Self, Error> {
        let failed = |cause| trouble("begin an archive in", folder, NOTHING, cause);
        fs::create_dir_all(folder).map_err(failed)?;
        let folder = &folder.canonicalize().map_err(failed)?;
        let lock = Lock::take(folder)?;
        expect_empty(folder)?;
        disk::clear_asides(folder).map_err(failed)?;
        let mut campaign = session.mask.campaign(campaign)?;
        CAMPAIGN_SCHEMA.clone_into(&mut campaign.schema);
        let mut bytes = serde_json::to_vec_pretty(&campaign).map_err(|cause| failed(cause.into()))?;
        bytes.push(b'\n');
        // The folder's own name first: a file in a folder that a crash takes away is no file.
        if let Some(parent) = folder.parent() {
            disk::sync_folder(parent).map_err(failed)?;
        }
        disk::put(folder, CAMPAIGN_FILE, &bytes).map_err(failed)?;
        let mut writer = Self::over(folder.clone(), lock, campaign, hash(&bytes), session)?.0;
        writer.introduce(None)?;
        Ok(writer)
    }

    /// Takes an archive up again: locks it, closes a torn line of the journal, adopts runs that were complete. A complete campaign is
    /// opened and left as it is ([`Progress::closed`]). Runs in flight are left where they are until [`Writer::settle`], so that what
    /// still writes to them can be ended first.
    ///
    /// # Errors
    /// When it is no archive, another collector holds it, or what is written does not fit together.
    pub fn resume(folder: &Path, session: Session<'a>) -> Result<(Self, CampaignWire, Progress), Error> {
        let failed = |cause| trouble("open", folder, "nothing was changed", cause);
        let campaign = read_campaign(folder)?;
        let folder = &folder.canonicalize().map_err(failed)?;
        let lock = Lock::take(folder)?;
        let bytes = fs::read(folder.join(CAMPAIGN_FILE)).map_err(failed)?;
        expect_journal(folder)?;
        disk::clear_asides(folder).map_err(failed)?;
        let (mut writer, entries) = Self::over(folder.clone(), lock, campaign.clone(), hash(&bytes), session)?;
        writer.expect_same_campaign(&entries)?;
        if writer.progress.closed {
            writer.seal()?;
        } else {
            writer.unsettled = true;
            writer.introduce(Some(&entries))?;
            writer.adopt()?;
        }
        let progress = writer.progress.clone();
        Ok((writer, campaign, progress))
    }

    fn over(
        folder: PathBuf,
        lock: Lock,
        campaign: CampaignWire,
        campaign_sha256: String,
        session: Session<'a>,
    ) -> Result<(Self, Vec<Entry>), Error> {
        let (journal, read) = Appender::open(&folder).map_err(|cause| match cause.kind() {
            io::ErrorKind::InvalidData => damaged(&folder, &cause),
            _ => trouble("open the journal of", &folder, "nothing was changed", cause),
        })?;
        let writer = Self {
            journal,
            session,
            plan: campaign.plan,
            progress: Progress::of(&read.entries),
            campaign_sha256,
            last: None,
            unsettled: false,
            folder,
            _lock: lock,
        };
        Ok((writer, read.entries))
    }

    /// The lines that say what this is and who writes. `created` is written here too when a crash came before it.
    fn introduce(&mut self, before: Option<&[Entry]>) -> Result<(), Error> {
        let entries = before.unwrap_or_default();
        let opened = entries.iter().rev().find_map(|entry| match &entry.event {
            Some(Event::Opened { boot_id, .. }) => Some(boot_id.clone()),
            _ => None,
        });
        let now = (self.session.clock)();
        if let Some(Entry { utc: Some(utc), monotonic_s: Some(monotonic_s), .. }) = entries.last() {
            if opened.flatten().is_some_and(|boot| self.session.boot_id.as_ref() == Some(&boot)) {
                self.last = Some(crate::archive::Moment { utc: *utc, monotonic_s: *monotonic_s });
            } else if now.utc < *utc {
                let why =
                    "the wall clock is earlier than the last line, which was written before the machine restarted";
                self.log(Event::Clock { jump_s: now.utc.seconds_since(*utc), why: why.to_owned() })?;
            }
        }
        if !entries.iter().any(|entry| matches!(entry.event, Some(Event::Created { .. }))) {
            self.log(Event::Created { campaign_sha256: self.campaign_sha256.clone() })?;
            // The journal's own name.
            disk::sync_folder(&self.folder).map_err(|cause| self.failed("begin", &self.folder, cause))?;
        }
        let opened = Event::Opened {
            tool: self.session.tool.clone(),
            pid: std::process::id(),
            boot_id: self.session.boot_id.clone(),
        };
        self.log(opened)
    }

    fn expect_same_campaign(&self, entries: &[Entry]) -> Result<(), Error> {
        let created = entries.iter().find_map(|entry| match &entry.event {
            Some(Event::Created { campaign_sha256 }) => Some(campaign_sha256),
            _ => None,
        });
        if created.is_some_and(|sha256| *sha256 != self.campaign_sha256) {
            return Err(Error::archive(format!("'{}' was changed", self.folder.join(CAMPAIGN_FILE).display()))
                .detail("the journal has another SHA-256 of it, and runs of two plans must not be mixed")
                .hint("bring the file back, or begin another campaign"));
        }
        Ok(())
    }
}

/// Only what a crash just before `campaign.json` leaves may be there.
fn expect_empty(folder: &Path) -> Result<(), Error> {
    let failed = |cause| trouble("begin an archive in", folder, NOTHING, cause);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name == CAMPAIGN_FILE {
            return Err(Error::usage(format!("'{}' holds a campaign already", folder.display()))
                .hint("continue with --resume, or give another --archive"));
        }
        if !is_aside(&name) {
            return Err(Error::usage(format!("'{}' is not empty", folder.display()))
                .detail(format!("it holds '{name}'"))
                .hint("give another folder with --archive. Nothing in this one was changed"));
        }
    }
    Ok(())
}

/// A campaign without a journal is one that a crash ended before its first line. But not when there are runs.
fn expect_journal(folder: &Path) -> Result<(), Error> {
    if folder.join(JOURNAL_FILE).exists() {
        return Ok(());
    }
    match FOLDERS.into_iter().chain([SEAL_FILE]).find(|name| folder.join(name).exists()) {
        None => Ok(()),
        Some(name) => Err(Error::archive(format!("'{}' has lost its {JOURNAL_FILE}", folder.display()))
            .detail(format!("'{name}' exists"))
            .hint("restore the file from a copy. Without it, nothing shows which runs are complete")),
    }
}

fn damaged(folder: &Path, cause: &io::Error) -> Error {
    Error::archive(format!("'{}' was changed after it had been written", folder.join(JOURNAL_FILE).display()))
        .detail(cause.to_string())
        .hint("restore the file from a copy, then continue. `sparkbench verify` lists what else was changed")
}
