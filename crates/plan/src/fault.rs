//! Faults of a suite, all at once, each with its line and its remedy.
//!
//! In:  places and words.  Out: [`Faults`], one error of usage when there are any.
//! Not here: reading the text.

use std::fmt::{self, Write as _};

use sparkbench_text::error::Error;
use sparkbench_text::plural::count_in_words;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Line of the suite, from 1, where it is known.
    pub line: Option<usize>,
    /// Key with its tables, e.g. `environments.docker.image`.
    pub key: String,
    /// The fault.
    pub what: String,
    pub remedy: String,
}

impl fmt::Display for Fault {
    /// `line 3, environments.docker.image: is missing`. The remedy is left to the caller.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        write!(f, "{}: {}", self.key, self.what)
    }
}

/// Faults as they are found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds one.
    pub fn add(
        &mut self,
        line: Option<usize>,
        key: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.0.push(Fault { line, key: key.into(), what: what.into(), remedy: remedy.into() });
    }

    /// Adds those of another list.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// True when nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order of the lines, each once.
    pub fn sorted(mut self) -> Vec<Fault> {
        self.0.sort();
        self.0.dedup();
        self.0
    }

    /// One error that lists them all. Nothing when there are none.
    ///
    /// # Errors
    /// A usage error when there is at least one fault.
    pub fn into_result(self, file: &str) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let faults = self.sorted();
        let mut list = String::new();
        for fault in &faults {
            let _ = write!(list, "\n  - {fault}\n    {}", fault.remedy);
        }
        let count = count_in_words(faults.len(), "fault");
        Err(Error::usage(format!("'{file}' is not a suite that can be run: {count}{list}")))
    }
}
