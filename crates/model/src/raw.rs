//! A raw file of a run as text: the lines that are kept of it, safe to show.
//!
//! In:  nothing.  Out: [`RawText`], filled by `ingest`, shown by `page`.
//! Not here: reading, markup.

use std::collections::BTreeMap;

use super::run::Origin;

/// What the rows of a [`RawText`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Lines of the file unchanged.
    #[default]
    Lines,
    /// Values of a JSON document on one line, written out one below the other.
    Values,
}

/// A raw file as far as it is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawText {
    /// Path, as in [`super::Source::path`].
    pub file: String,
    /// The run under which it is shown. The file may hold other runs too.
    pub run: String,
    /// Size on disk.
    pub bytes: u64,
    /// True for a file packed by gzip: the rows are those of what is in it.
    pub packed: bool,
    /// What a row is.
    pub shape: Shape,
    /// Rows in all, kept or not.
    pub total: u64,
    /// The rows that are kept, by number.
    pub rows: Vec<RawRow>,
    /// JSON pointers that figures name, with the row on which each value begins.
    pub pointers: BTreeMap<String, u64>,
    /// Why reading ended before the end of the file.
    pub stopped: Option<String>,
}

/// One row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawRow {
    /// Counted from 1.
    pub number: u64,
    /// Without line end. Bytes that are no text, control characters and marks that turn the direction of writing replaced by signs.
    pub text: String,
    /// Bytes of the row that are left out at its end.
    pub cut: u64,
    /// JSON pointer of the value that begins here, where rows are values.
    pub pointer: Option<String>,
}

impl RawText {
    /// Rows that are kept and shown before and after one that a figure was read from.
    pub const AROUND: u64 = 3;
    /// Rows that are kept and shown of the end, which tells why a run failed.
    pub const TAIL: usize = 24;
    /// Endings of logs that a run leaves beside the files it was put together from.
    pub const LOGS: &[&str] = &[".log", ".out", ".err", ".log.gz"];

    /// The row a figure was read from, where the file names one and the row is kept.
    pub fn row_of(&self, origin: &Origin) -> Option<&RawRow> {
        let pointed = || origin.field.as_ref().and_then(|field| self.pointers.get(field)).copied();
        let number = match self.shape {
            Shape::Lines => origin.line.or_else(pointed),
            Shape::Values => pointed(),
        }?;
        self.row(number)
    }

    /// A row by its number, where it is kept.
    pub fn row(&self, number: u64) -> Option<&RawRow> {
        self.rows.binary_search_by_key(&number, |row| row.number).ok().and_then(|at| self.rows.get(at))
    }
}
