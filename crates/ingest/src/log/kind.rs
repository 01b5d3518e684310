//! The form of every kind of text, and of its reader.
//!
//! In:  nothing.  Out: [`TextKind`] and [`LogReader`].
//! Not here: any one kind, and which there are (see the module above).

use crate::{About, Parsed, SourceFile};

/// A kind of text: what it is called, which phrases it looks for, and how its reader begins.
pub struct TextKind {
    /// Name shown beside every file in which it found something.
    pub name: &'static str,
    /// For `sparkbench formats`.
    pub about: About,
    /// Phrases that nothing else prints: a text that shows one early is a text to be read, whatever its name.
    pub signs: &'static [&'static str],
    /// Lines without one of these are not handed over. No mark may be empty.
    pub marks: &'static [&'static str],
    /// A fresh reader, one a file.
    pub start: fn() -> Box<dyn LogReader>,
}

/// Reads the lines of one file that hold a mark of its kind.
pub trait LogReader: Send {
    /// One line, without escapes and line end, counted from 1. At most [`LINE_LIMIT`](sparkbench_archive::LINE_LIMIT) bytes of it.
    fn line(&mut self, number: u64, line: &str);
    /// Its outcome. [`None`] when the file is not of this kind after all.
    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed>;
}
