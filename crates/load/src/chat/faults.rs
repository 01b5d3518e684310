//! Faults of a file of conversations, all at once, each with its line, its key and its remedy.
//!
//! In:  places and words.  Out: one error of usage when there are any.
//! Not here: reading.

use std::fmt::Write as _;
use std::path::Path;

use sparkbench_archive::shown;
use sparkbench_text::error::Error;
use sparkbench_text::plural::count_in_words;

/// Faults that are listed. Further ones are counted. A file of the wrong kind has one in every line.
const LISTED: usize = 20;

/// Faults of one file as they are found.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    list: Vec<(usize, String)>,
    further: usize,
}

impl Faults {
    /// Adds one. `line` counts from 1. 0 is the file as a whole.
    pub(crate) fn add(&mut self, line: usize, key: &str, what: &str, remedy: &str) {
        if self.list.len() == LISTED {
            self.further += 1;
            return;
        }
        let mut text = if line > 0 { format!("line {line}, ") } else { String::new() };
        let _ = write!(text, "{key}: {what}\n    {remedy}");
        self.list.push((line, text));
    }

    /// Whether nothing is wrong so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// One error that lists them all.
    ///
    /// # Errors
    /// A usage error when there is at least one fault.
    pub(crate) fn into_result(mut self, file: &Path, as_what: &str) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        self.list.sort_by_key(|(line, _)| *line);
        let found = self.list.len() + self.further;
        let count = count_in_words(found, "fault");
        let mut text = format!("'{}' cannot be used as {as_what}: {count}", shown(file));
        for (_, fault) in &self.list {
            let _ = write!(text, "\n  - {fault}");
        }
        if self.further > 0 {
            let _ = write!(text, "\n  - and {} more", self.further);
        }
        Err(Error::usage(text))
    }
}
