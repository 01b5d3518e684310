//! A file that is not what was recorded of it.
//!
//! In:  nothing.  Out: [`Altered`], found by `archive`, counted by a trap, shown on pages and in the terminal.
//! Not here: hashing.

use serde::{Deserialize, Serialize};

use super::run::Source;

/// Name of a run's own file. The folder that it lies in is the run's.
const RUN_FILE: &str = "run.json";

/// What became of a file after its hash was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alteration {
    /// Its bytes are not those that were recorded.
    Changed,
    /// It was recorded and is not there.
    Missing,
    /// It is there and no record lists it.
    Added,
    /// It cannot be read.
    Unreadable,
    /// Two records do not agree.
    Contradiction,
}

impl Alteration {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Added => "added",
            Self::Unreadable => "unreadable",
            Self::Contradiction => "contradicts its record",
        }
    }
}

/// One file, or one folder, that is not as its record says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Altered {
    /// Path below the folder that was given, like [`Source::path`].
    pub path: String,
    pub kind: Alteration,
    /// The difference, in words.
    pub what: String,
    /// The file with the hash.
    pub record: String,
    /// What to do about it.
    pub remedy: String,
    /// Whether figures may rest on it. Absent of that are things that a crash leaves in an unfinished archive.
    pub is_error: bool,
    /// Folder that the record speaks of. Only to find the campaign.
    #[serde(skip)]
    pub within: String,
}

impl Altered {
    /// One sentence without its end: which file, and what became of it.
    pub fn sentence(&self) -> String {
        let became = match self.kind {
            Alteration::Changed => "was changed after it was recorded",
            Alteration::Missing => "is missing",
            Alteration::Added => "was added and is in no record",
            Alteration::Unreadable => "cannot be read",
            Alteration::Contradiction => "contradicts another record",
        };
        format!("'{}' {became} ({})", self.path, self.what)
    }

    /// Whether it concerns a run that was read from these files: one of them, or anything in the folder of its `run.json`.
    pub fn concerns(&self, source: &Source, files: &[Source]) -> bool {
        std::iter::once(source).chain(files).any(|file| {
            let below = |folder: &str, path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
            let folder = file.path.strip_suffix(RUN_FILE).filter(|folder| folder.is_empty() || folder.ends_with('/'));
            file.path == self.path
                || below(&self.path, &file.path)
                || folder.is_some_and(|folder| self.path.starts_with(folder))
        })
    }

    /// Whether a file lies in the folder that the record speaks of.
    pub fn is_near(&self, path: &str) -> bool {
        self.within.is_empty() || path.strip_prefix(&self.within).is_some_and(|rest| rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn altered(path: &str, within: &str) -> Altered {
        Altered {
            path: path.to_owned(),
            kind: Alteration::Changed,
            what: "x".to_owned(),
            record: "run.json".to_owned(),
            remedy: "y".to_owned(),
            is_error: true,
            within: within.to_owned(),
        }
    }

    fn source(path: &str) -> Source {
        Source { path: path.to_owned(), ..Source::default() }
    }

    #[test]
    fn a_file_concerns_the_run_it_was_read_for_and_the_run_whose_folder_it_lies_in() {
        let (run, table) = (source("a/runs/r1/run.json"), source("a/t.csv"));
        for (path, of_run, of_table) in [
            ("a/runs/r1/requests.jsonl", true, false),
            ("a/runs/r1/nodes/n/engine.log", true, false),
            ("a/runs/r1", true, false),
            ("a/runs/r10/requests.jsonl", false, false),
            ("a/journal.jsonl", false, false),
            ("a/t.csv", false, true),
        ] {
            assert_eq!(altered(path, "a").concerns(&run, &[]), of_run, "{path}");
            assert_eq!(
                altered(path, "a").concerns(&source("b/other.log"), std::slice::from_ref(&table)),
                of_table,
                "{path}"
            );
        }
        assert!(altered("requests.jsonl", "").concerns(&source("run.json"), &[]), "the run's folder was given");
    }

    #[test]
    fn a_record_speaks_of_its_folder_and_of_no_other_of_like_name() {
        assert!(altered("a/seal.json", "a").is_near("a/runs/r1/run.json"));
        assert!(!altered("a/seal.json", "a").is_near("ab/runs/r1/run.json"));
        assert!(altered("seal.json", "").is_near("runs/r1/run.json"));
    }
}
