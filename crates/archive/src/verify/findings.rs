//! The findings of a verification: flaws with their remedies, notes, counts.
//!
//! In:  nothing.  Out: [`Verified`] and what it is made of.
//! Not here: finding them.

use serde::Serialize;

use crate::manifest::LossWire;

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
    /// Of the plan. Absent where it cannot be read.
    pub planned: Option<u64>,
    /// Done.
    pub finished: u64,
    /// Failed, with their logs.
    pub failed: u64,
    /// Left out.
    pub skipped: u64,
    /// Given up as lost and not measured again, because the campaign had ended.
    pub lost: u64,
    /// Without an outcome. Absent without the plan.
    pub left: Option<u64>,
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
    /// Something else stands in its place, such as a link. It goes first: until then the campaign can neither be continued nor its loss be
    /// accepted.
    Replace,
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
    pub(super) fn mended_by(self, remedy: Remedy) -> Self {
        Self { remedy, ..self }
    }
}

/// Told how far it is: bytes done, bytes in all.
pub type Progressed<'a> = &'a mut dyn FnMut(u64, u64);
