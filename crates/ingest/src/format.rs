//! The form of every format, and of what it gives.
//!
//! In:  nothing.  Out: [`Format`], [`About`], [`Parsed`] and [`Look`].
//! Not here: any one format, and which there are (see `formats`).

use super::record::Record;
use super::source_file::{Head, SourceFile};
use sparkbench_text::error::Error;

/// One file format: how it is recognised and what it holds.
pub trait Format: Sync {
    /// Name shown beside every file that it took.
    fn name(&self) -> &'static str;
    /// What the format is, for `sparkbench formats`.
    fn about(&self) -> About;
    /// Cheap look at name and first bytes. "Not mine" is an answer, not an error.
    fn sniff(&self, head: &Head<'_>) -> bool;
    /// The whole file in, records out. Pure: the same bytes always give the same records.
    ///
    /// # Errors
    /// When nothing of the file can be used. What is wrong with a part of it goes to [`Parsed::left_out`].
    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error>;
}

/// What a format is, in the words of `sparkbench formats` and of the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The program that writes it.
    pub tool: &'static str,
    /// Versions whose files were seen or described, and how they differ.
    pub versions: &'static str,
    /// How it is recognised.
    pub sign: &'static str,
    /// The parts taken from it.
    pub reads: &'static str,
}

/// Result of one file.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    pub records: Vec<Record>,
    /// Parts that could not be used, each with its place.
    pub left_out: Vec<Error>,
    /// Notes for the reader although nothing was left out.
    pub notes: Vec<String>,
    /// The formats that a file of several kinds really held. An example is a log with a result block and a server's memory lines. Empty when
    /// the format that read it is the only one.
    pub kinds: Vec<&'static str>,
    /// Lines, keys or rows that look like figures and were not understood, each with its place: shown by `sparkbench inspect`.
    pub not_understood: Vec<String>,
    /// Lists of values that are not among our metrics: nothing is made of them, but whoever checks a run counts them.
    pub lists: Vec<List>,
}

/// Values of iterations under a name of the program's own.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// Test of a launch that makes several.
    pub part: Option<String>,
    /// As the program names it.
    pub name: String,
    /// In the order of measuring, missing as NaN.
    pub values: Vec<f64>,
}

/// Outcome of one file.
#[derive(Debug, Clone)]
pub struct Look {
    /// Format that took it.
    pub format: Option<&'static str>,
    /// Hash, where the file could be read to its end.
    pub sha256: Option<String>,
    /// What it said.
    pub outcome: Result<Parsed, Error>,
}
