//! Verifies every byte of an archive against its records, or of a site against its list and its archive. A folder
//! that holds archives is each of them.
//!
//! In:  a folder.  Out: [`Verified`], every flaw by path.
//! Not here: whether the numbers in it make sense, printing.
//!
//! What holds what: the seal holds the journal and `campaign.json`. Each line of the journal holds all lines before it. The journal holds
//! every `run.json`, and every file of `probes/`, `prepared/` and `interrupted/`. `run.json` holds every file beside it. What nothing
//! holds does not belong there.

mod campaign;
mod expected;
mod several;
mod site;
mod whole;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::expected::Expected;
use super::manifest::{CAMPAIGN_FILE, JOURNAL_FILE, LossWire, RUN_FILE, RunWire};
use super::{FileName, disk, lock, shown};
use sparkbench_text::error::Error;

/// The list of hashes of a site, below its folder.
pub const SUMS: &str = "data/SHA256SUMS";

/// The findings.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Verified {
    /// What it is, and its state.
    pub state: State,
    /// Mismatches, by path.
    pub flaws: Vec<Mismatch>,
    /// Remarks that are no flaw.
    pub notes: Vec<String>,
    /// What is lost by the word of the owner, as the journal records it. What is there was checked without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LossWire>,
    /// Files whose bytes were checked against a hash.
    pub files: u64,
    pub bytes: u64,
    /// Runs, by outcome. Empty for a site.
    pub runs: Option<Runs>,
    /// The archives below a folder, each with its path and its own findings. Empty for a single archive and a site.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub archives: Vec<Below>,
}

/// An archive below a folder that was verified.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Below {
    /// Path below the folder.
    pub path: String,
    /// The findings.
    #[serde(flatten)]
    pub verified: Verified,
}

/// The verified thing, and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A campaign with its seal.
    Sealed,
    /// A campaign that can be resumed.
    #[default]
    Open,
    /// A campaign that a collector is writing to.
    Running,
    Site,
    /// A folder with archives, tables or both.
    Folder,
}

/// Runs of a campaign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Runs {
    /// Of the plan.
    pub planned: u64,
    /// Done.
    pub finished: u64,
    /// Failed, with their logs.
    pub failed: u64,
    /// Left out.
    pub skipped: u64,
    /// Given up as lost and not measured again, because the campaign had ended.
    pub lost: u64,
    /// Without an outcome.
    pub left: u64,
    /// Folders of runs and other things that were begun and did not end.
    pub interrupted: u64,
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mismatch {
    /// Path below the folder.
    pub path: String,
    /// Its kind.
    pub kind: Kind,
    /// The difference, in words.
    pub what: String,
    /// What mends it.
    pub remedy: Remedy,
}

/// What mends a flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// A crash left it so, and `collect --resume` goes on from it.
    Resume,
    /// A copy of what was written. Without one the loss can be accepted, where it is in an archive.
    Restore,
    /// A copy of what was written, and nothing else: without it the campaign cannot be continued.
    Copy,
    /// It does not belong there and is moved away.
    Remove,
    /// The inputs and the program that the site was made with.
    Inputs,
}

/// Kinds of flaws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Its bytes are not those that were written.
    Changed,
    /// It was written and is not there.
    Missing,
    /// It exists and is not listed anywhere.
    Extra,
    /// It cannot be read.
    Unreadable,
    /// Two records do not agree.
    Contradiction,
    /// Made again, it is another.
    Differs,
}

impl Kind {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Unreadable => "unreadable",
            Self::Contradiction => "contradiction",
            Self::Differs => "differs",
        }
    }
}

impl Mismatch {
    /// A flaw with the usual remedy of its kind.
    pub fn new(path: impl Into<String>, kind: Kind, what: impl Into<String>) -> Self {
        let remedy = match kind {
            Kind::Extra => Remedy::Remove,
            Kind::Differs => Remedy::Inputs,
            Kind::Changed | Kind::Missing | Kind::Unreadable | Kind::Contradiction => Remedy::Restore,
        };
        Self { path: path.into(), kind, what: what.into(), remedy }
    }

    /// The same flaw, which something else mends.
    fn mended_by(self, remedy: Remedy) -> Self {
        Self { remedy, ..self }
    }
}

/// Told how far it is: bytes done, bytes in all.
pub type Progressed<'a> = &'a mut dyn FnMut(u64, u64);

/// Verifies an archive of a campaign, a site, or every archive in a folder. A site also against the folders or files that it was made
/// from, where they are given.
///
/// # Errors
/// When the folder is neither, or cannot be listed. Everything else is a flaw.
pub fn verify(folder: &Path, made_from: &[PathBuf], progressed: Progressed<'_>) -> Result<Verified, Error> {
    std::fs::read_dir(folder).map_err(|cause| {
        Error::archive(format!("cannot open '{}'", shown(folder)))
            .hint("give the folder of an archive (campaign.json), of several archives, or of a site (data/SHA256SUMS)")
            .because(cause)
    })?;
    let is_site = folder.join("data").is_dir() && (folder.join(SUMS).exists() || folder.join("index.html").exists());
    if !made_from.is_empty() && !is_site {
        return Err(Error::usage(format!("'{}' is not a site", shown(folder)))
            .hint("use --archive only with a site that was made from it"));
    }
    let mut verified = if is_archive(folder) {
        campaign::verify(folder, lock::held(folder) == Some(true), progressed)?
    } else if is_site {
        site::verify(folder, made_from, progressed)?
    } else {
        several::verify(folder, progressed)?
    };
    verified.flaws.sort();
    verified.flaws.dedup();
    Ok(verified)
}

/// Verifies the archive of a campaign for the one who holds its lock.
///
/// # Errors
/// When the folder cannot be listed. Everything else is a flaw.
pub(super) fn held(folder: &Path, progressed: Progressed<'_>) -> Result<Verified, Error> {
    let mut verified = campaign::verify(folder, false, progressed)?;
    verified.flaws.sort();
    verified.flaws.dedup();
    Ok(verified)
}

/// Verifies the archive of a campaign for one who has read its files: `sums` are their hashes by path below it. Whatever else lies among the
/// runs is read here. Of what lies aside of them only the presence is checked.
///
/// # Errors
/// When the folder cannot be listed. Everything else is a flaw.
pub(super) fn with_sums(folder: &Path, sums: BTreeMap<FileName, String>) -> Result<Verified, Error> {
    let running = lock::held(folder) == Some(true);
    let mut verified = campaign::verify_as(folder, running, Expected::of_runs(sums), &mut |_, _| {})?;
    verified.flaws.sort();
    verified.flaws.dedup();
    Ok(verified)
}

/// Holds the folder of one run against what its `run.json` lists, for one who has read its files.
///
/// # Errors
/// When the folder cannot be listed. Everything else is a flaw.
pub(super) fn run_with_sums(
    folder: &Path,
    run: &RunWire,
    sums: BTreeMap<FileName, String>,
) -> Result<Vec<Mismatch>, Error> {
    let tree = disk::whole_tree(folder)
        .map_err(|cause| Error::archive(format!("cannot list '{}'", shown(folder))).because(cause))?;
    let mut verified = Verified::default();
    let mut expected = Expected::knowing(sums);
    expected.checked(RUN_FILE);
    for file in &run.files {
        // A path that leads elsewhere would have other files hashed in its name.
        if file.path.is_below() {
            expected.file(&file.path, &file.sha256);
        } else {
            let what = format!("it lists '{}', which is not a path below it", file.path);
            verified.flaws.push(Mismatch::new(RUN_FILE, Kind::Contradiction, what));
        }
    }
    let extra = |_: &FileName| (format!("{RUN_FILE} does not list it"), Remedy::Remove);
    expected.hold(folder, &tree, &extra, &mut verified, &mut |_, _| {});
    verified.flaws.sort();
    Ok(verified.flaws)
}

fn is_archive(folder: &Path) -> bool {
    [CAMPAIGN_FILE, JOURNAL_FILE].iter().any(|name| folder.join(name).exists())
}
