//! Series over time from other tools, which `sparkbench history` reads beside archives.
//!
//! In:  the bytes of one file, or of the files of one folder.
//! Out: [`TimeSeries`], and a line on the parts left out.
//! Not here: disk, changes (see `stats::change`), our own archives (see `verdict::history`).
//!
//! Seen: a CSV with a column `time` and one column for each metric, which Apache Otava 0.8 reads as well. `data.js` and JSON of
//! github-action-benchmark 1.20. The result folder of airspeed velocity 0.6.

mod asv;
mod csv;
mod github;

pub use asv::{Folder, folder};
pub use csv::has_column;

use sparkbench_model::TimeSeries;
use sparkbench_text::error::Error;

/// Column that holds the time where nothing else is asked for.
pub const TIME_COLUMN: &str = "time";

/// Content of a source.
#[derive(Debug, Default)]
pub struct Found {
    /// Series in the order of the source.
    pub series: Vec<TimeSeries>,
    /// Parts left out, a sentence each.
    pub left_out: Vec<String>,
}

/// The format of a file by its beginning. `None` for a file that holds no series over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table with a column of times.
    Csv,
    /// The data of github-action-benchmark.
    GithubActionBenchmark,
}

impl Format {
    /// Looks at the first bytes. `time`: name of the column of times.
    pub fn of(head: &str, time: &str) -> Option<Self> {
        if github::is_ours(head) {
            return Some(Self::GithubActionBenchmark);
        }
        has_column(head, time).then_some(Self::Csv)
    }

    /// Reads the whole file.
    ///
    /// # Errors
    /// Text that does not have the form that its beginning promised. Says where.
    pub fn read(self, text: &str, time: &str) -> Result<Found, Error> {
        match self {
            Self::Csv => csv::read(text, time),
            Self::GithubActionBenchmark => github::read(text),
        }
    }
}
