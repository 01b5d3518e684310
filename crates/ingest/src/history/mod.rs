//! Series over time from other tools, which `sparkbench history` reads beside archives.
//!
//! In:  the bytes of one file, or of the files of one folder.
//! Out: [`TimeSeries`](sparkbench_model::TimeSeries), with a line on the parts left out and on the order.
//! Not here: disk, changes (see `stats::change`), our own archives (see `verdict::history`).
//!
//! Seen: a CSV with a column `time` and one column for each metric, which Apache Otava 0.8 reads as well. `data.js` and JSON of
//! github-action-benchmark 1.20. The result folder of airspeed velocity 0.6.

mod asv;
mod csv;
mod found_series;
mod github;
mod order;

pub use asv::{Folder, folder};
pub use csv::has_column;
pub use found_series::FoundSeries;

use sparkbench_text::error::Error;

/// Column that holds the time where nothing else is asked for.
pub const TIME_COLUMN: &str = "time";

/// The format of a file by its beginning. `None` for a file that holds no series over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesFormat {
    /// A table with a column of times.
    Csv,
    /// The data of github-action-benchmark.
    GithubActionBenchmark,
}

impl SeriesFormat {
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
    pub fn read(self, text: &str, time: &str) -> Result<FoundSeries, Error> {
        match self {
            Self::Csv => csv::read(text, time),
            Self::GithubActionBenchmark => github::read(text),
        }
    }
}
