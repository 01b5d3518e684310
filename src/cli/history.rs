//! `sparkbench history`: when did a series change, by how much, and what changed with it.
//!
//! In:  archives, or the series of other tools.  Out: a text for people, or JSON that scripts rely on.
//! Not here: the search (see `stats::change`), the words of a page.

mod text;

use std::path::PathBuf;

use serde::Serialize;

use super::outcome::Outcome;
use super::series::{Following, sources};
use super::stdout::print;
use super::talk::Talk;
use sparkbench_text::error::Error;
use sparkbench_verdict::change;
use sparkbench_verdict::history::Figures;
use sparkbench_verdict::report::series::SeriesReport;

/// Show when measurements changed over time, by how much, and what changed with them
///
/// PATH is a folder of archives: each cell that several campaigns measured is a series. It can also be a CSV with a column of times and one
/// column per metric, the data of github-action-benchmark, or the result folder of airspeed velocity. A change is reported when it is
/// statistically supported, larger than the margin of its metric, and persistent. A single odd point is an outlier.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sparkbench history archive             every cell that several campaigns measured\n  \
                        sparkbench history nightly.csv --margin ttft_ms=3\n  sparkbench history nightly.csv --json\n\n\
                        Exit codes: 0 shown, 2 usage, 5 an input could not be read."
)]
pub(crate) struct History {
    /// Folders of archives, CSV files, data of github-action-benchmark, or result folders of airspeed velocity
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    following: Following,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    series: Vec<SeriesReport>,
}

/// Reads, searches, prints.
///
/// # Errors
/// No series in any path, an option that names no series.
pub(crate) fn run(args: &History, talk: &Talk) -> Result<Outcome, Error> {
    use rayon::prelude::*;
    let sources = sources(&args.paths, &args.following, Figures::All, talk)?;
    let seed = args.following.seed;
    let series: Vec<SeriesReport> =
        sources.par_iter().map(|source| change::report(&source.series, source.margin_pct, seed)).collect();
    let document = Document { series };
    print(&if args.json { json(&document)? } else { text::draw(&document.series) })?;
    Ok(Outcome::Done)
}

fn json(document: &Document) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(document)
        .map_err(|cause| Error::archive("cannot write the series as JSON").because(cause))?;
    Ok(text + "\n")
}
