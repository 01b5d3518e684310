//! Begins an archive, or resumes one.
//!
//! In:  a folder.  Out: [`Writer`], with the lock held and the journal whole.
//! Not here: leftovers of runs (see `settle`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::damage::Damage;
use super::{Session, Writer};
use crate::disk::{self, is_aside, trouble};
use crate::journal::{self, Entry, Event, JournalWriter};
use crate::lock::Lock;
use crate::manifest::{CAMPAIGN_FILE, CAMPAIGN_SCHEMA, CampaignWire, FOLDERS, JOURNAL_FILE, OF_THE_DISK, SEAL_FILE};
use crate::read::hash;
use crate::verify::{Progressed, Remedy};
use crate::{FileName, Progress, shown};
use sparkbench_text::error::{Error, Place};

const NOTHING: &str = "nothing was started";

/// Reads `campaign.json` of an archive.
///
/// # Errors
/// When there is none, or it is of a schema that this version does not know.
pub fn read_campaign(folder: &Path) -> Result<CampaignWire, Error> {
    let path = folder.join(CAMPAIGN_FILE);
    let bytes = disk::read_plain(&path).map_err(|cause| {
        let error = Error::archive(format!("'{}' is not an archive of a campaign", shown(folder)));
        match cause.kind() {
            io::ErrorKind::NotFound => {
                let mut others = FOLDERS.into_iter().chain([JOURNAL_FILE, SEAL_FILE]);
                match others.find(|name| folder.join(name).exists()) {
                    None => error.detail(format!("it has no {CAMPAIGN_FILE}")).hint("begin one without --resume"),
                    Some(name) => Error::archive(format!("'{}' has lost its {CAMPAIGN_FILE}", shown(folder)))
                        .detail(format!("'{name}' exists"))
                        .hint(
                            "restore the file from a copy. Without it nothing shows the plan, so collect anew with \
                             --archive ANOTHER-FOLDER",
                        ),
                }
            }
            io::ErrorKind::InvalidData => in_its_place(&path, &cause, NO_PLAN),
            _ => error.because(cause),
        }
    })?;
    campaign_from(&path, &bytes)
}

fn campaign_from(path: &Path, bytes: &[u8]) -> Result<CampaignWire, Error> {
    let campaign: CampaignWire = serde_json::from_slice(bytes).map_err(|cause| {
        Error::archive(format!("cannot read '{}'", shown(path)))
            .hint("restore the file from a copy. `sparkbench verify` says what else of the archive was changed")
            .because(cause)
    })?;
    if campaign.schema != CAMPAIGN_SCHEMA {
        return Err(Error::archive(format!("cannot read '{}'", shown(path)))
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
        let mut writer = Self::over(folder.clone(), lock, campaign, hash(&bytes), session, false)?.0;
        writer.introduce(None)?;
        Ok(writer)
    }

    /// Takes an archive up again: locks it, closes a torn line of the journal, adopts runs that were complete. A complete campaign is
    /// opened and left as it is ([`Progress::closed`]). Runs in flight are left where they are until [`Writer::settle`], so that what
    /// still writes to them can be ended first.
    ///
    /// With `accept_loss`, what does not fit its record is given up: each part of it gets a line in the journal, a lost run has no result any
    /// more, and a campaign that was complete is open again. `progressed` is told how far the check of all files is.
    ///
    /// # Errors
    /// When it is no archive, another collector holds it, or what is written does not fit together. Runs that were changed or removed are no
    /// error while planned runs are left. They are in [`Writer::damages`], and the archive is not sealed with them. With `accept_loss` only
    /// where `campaign.json` cannot be read, or something cannot be written.
    pub fn resume(
        folder: &Path,
        session: Session<'a>,
        accept_loss: bool,
        progressed: Progressed<'_>,
    ) -> Result<(Self, CampaignWire, Progress), Error> {
        let failed = |cause| trouble("open", folder, "nothing was changed", cause);
        let campaign = read_campaign(folder)?;
        let folder = &folder.canonicalize().map_err(failed)?;
        expect_folders(folder)?;
        let lock = Lock::take(folder)?;
        let bytes = disk::read_plain(&folder.join(CAMPAIGN_FILE)).map_err(failed)?;
        if !accept_loss {
            expect_journal(folder)?;
        }
        disk::clear_asides(folder).map_err(failed)?;
        let campaign_sha256 = hash(&bytes);
        let (mut writer, entries) =
            Self::over(folder.clone(), lock, campaign.clone(), campaign_sha256, session, accept_loss)?;
        if !accept_loss {
            expect_recorded(folder, &entries, &writer.campaign_sha256)?;
        }
        writer.remove_void_seal(&entries)?;
        // What a crash left is no damage: it is set aside, adopted or removed from here on.
        let flaws = writer.flaws(progressed)?.into_iter().filter(|flaw| flaw.remedy != Remedy::Resume);
        let damages = Damage::of(flaws, &writer.progress, &writer.plan);
        let gives_up = accept_loss && !damages.is_empty();
        if gives_up {
            writer.gives_up = true;
            writer.reopen()?;
        } else if writer.progress.closed || damages.iter().any(Damage::is_of_the_record) {
            if !damages.is_empty() {
                return Err(writer.unsound(&damages));
            }
            writer.seal()?;
        }
        if !writer.progress.closed {
            writer.unsettled = true;
            writer.introduce(Some(&entries))?;
            if gives_up {
                writer.give_up(&damages)?;
            } else {
                writer.damages = damages;
            }
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
        accept_loss: bool,
    ) -> Result<(Self, Vec<Entry>), Error> {
        let (journal, read) = JournalWriter::open(&folder, accept_loss).map_err(|cause| match cause.kind() {
            io::ErrorKind::InvalidData => damaged(&folder.join(JOURNAL_FILE), &cause),
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
            damages: Vec::new(),
            gives_up: false,
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
                self.last = Some(crate::Moment { utc: *utc, monotonic_s: *monotonic_s });
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
}

/// Demands that `campaign.json` is as the journal recorded it. A journal that cannot be read says nothing here.
///
/// # Errors
/// When it was changed. When it cannot be read.
pub fn expect_campaign(folder: &Path) -> Result<(), Error> {
    let path = folder.join(CAMPAIGN_FILE);
    let bytes = disk::read_plain(&path)
        .map_err(|cause| Error::archive(format!("cannot read '{}'", shown(&path))).because(cause))?;
    let entries = journal::read(folder).map(|journal| journal.entries).unwrap_or_default();
    expect_recorded(folder, &entries, &hash(&bytes))
}

fn expect_recorded(folder: &Path, entries: &[Entry], campaign_sha256: &str) -> Result<(), Error> {
    if journal::recorded_campaign(entries).is_some_and(|recorded| recorded != campaign_sha256) {
        return Err(Error::archive(format!("'{}' was changed", shown(&folder.join(CAMPAIGN_FILE))))
            .detail("the journal has another SHA-256 of it, and runs of two plans must not be mixed")
            .hint(
                "restore the file from a copy, then use --resume. Without a copy use --resume --accept-loss, which goes \
                 on if its plan is still that of the suite. Otherwise collect anew with --archive ANOTHER-FOLDER",
            ));
    }
    Ok(())
}

/// Only what a crash just before `campaign.json` leaves may be there.
fn expect_empty(folder: &Path) -> Result<(), Error> {
    let failed = |cause| trouble("begin an archive in", folder, NOTHING, cause);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = FileName::new(entry.map_err(failed)?.file_name().as_encoded_bytes());
        if name == CAMPAIGN_FILE {
            return Err(Error::usage(format!("'{}' holds a campaign already", shown(folder)))
                .hint("continue with --resume, or give another --archive"));
        }
        if !is_aside(name.as_bytes()) && name != OF_THE_DISK {
            return Err(Error::usage(format!("'{}' is not empty", shown(folder)))
                .detail(format!("it holds '{name}'"))
                .hint("give another folder with --archive. Nothing in this one was changed"));
        }
    }
    Ok(())
}

/// What stands in the place of a folder of the layout and is none. A link would lead what is moved and measured out of the archive.
fn expect_folders(folder: &Path) -> Result<(), Error> {
    for name in FOLDERS {
        let place = folder.join(name);
        let Ok(meta) = fs::symlink_metadata(&place) else { continue };
        if !meta.is_dir() {
            let what = if meta.is_symlink() { "a link" } else { "no folder" };
            return Err(Error::archive(format!("'{}' is {what}", shown(&place))).detail("nothing was changed").hint(
                "put the folder itself back in its place, or mount its disk there, then continue with --resume",
            ));
        }
    }
    Ok(())
}

/// A campaign without a journal is one that a crash ended before its first line. But not when there are runs.
fn expect_journal(folder: &Path) -> Result<(), Error> {
    // A link to nothing is no crash either.
    if fs::symlink_metadata(folder.join(JOURNAL_FILE)).is_ok() {
        return Ok(());
    }
    match FOLDERS.into_iter().chain([SEAL_FILE]).find(|name| folder.join(name).exists()) {
        None => Ok(()),
        Some(name) => Err(Error::archive(format!("'{}' has lost its {JOURNAL_FILE}", shown(folder)))
            .detail(format!("'{name}' exists"))
            .hint(
                "restore the file from a copy. Without a copy use --resume --accept-loss. It begins the journal anew and \
                 keeps the runs whose files match their run.json",
            )),
    }
}

/// What a person does who has no copy of `campaign.json`.
const NO_PLAN: &str = "Without a copy nothing shows the plan, so collect anew with --archive ANOTHER-FOLDER";

/// The error for a pipe, a folder or another thing in the place of a file of an archive. It is left there: nobody knows whose it is.
pub(super) fn in_its_place(path: &Path, cause: &io::Error, without_a_copy: &str) -> Error {
    Error::archive(format!("'{}' is not the file that was written", shown(path)))
        .detail(cause.to_string())
        .hint(format!("move it away and restore the file from a copy. {without_a_copy}"))
}

fn damaged(journal: &Path, cause: &io::Error) -> Error {
    if !fs::symlink_metadata(journal).is_ok_and(|meta| meta.is_file()) {
        return in_its_place(journal, cause, "Without a copy move it away and use --resume --accept-loss");
    }
    Error::archive(format!("'{}' was changed after it had been written", shown(journal)))
        .detail(cause.to_string())
        .hint(
            "restore the file from a copy, then use --resume. Without a copy use --resume --accept-loss. The lines that \
             do not match then count for nothing, and runs whose files match their run.json are kept",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_the_layout_may_be_missing_and_is_nothing_but_a_folder() {
        let folder = sparkbench_testing::Folder::new("open-folders");
        let folder: &Path = folder.as_ref();
        assert!(expect_folders(folder).is_ok(), "none is there yet");
        for name in FOLDERS {
            let place = folder.join(name);
            fs::write(&place, "x").unwrap();
            let error = expect_folders(folder).unwrap_err();
            assert_eq!(error.what, format!("'{}' is no folder", place.display()));
            assert!(error.hint.is_some_and(|hint| hint.contains("--resume")));
            fs::remove_file(&place).unwrap();
            #[cfg(unix)]
            for to in [folder, Path::new("no-such-folder")] {
                std::os::unix::fs::symlink(to, &place).unwrap();
                let error = expect_folders(folder).unwrap_err();
                assert_eq!(error.what, format!("'{}' is a link", place.display()));
                fs::remove_file(&place).unwrap();
            }
            fs::create_dir(&place).unwrap();
            assert!(expect_folders(folder).is_ok(), "{name}");
        }
    }
}
