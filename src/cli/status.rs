//! `sparkbench status`: how far a campaign has come, while it is being written or long after.
//!
//! In:  the folder of an archive.  Out: a table, or `sparkbench.status/1`; with `--watch` again and again until the campaign is complete.
//! Not here: what the files mean (see `archive` and `ingest`), verdicts: figures are preliminary.

mod gather;
mod text;
mod view;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::outcome::Outcome;
use super::stdout::print;
use super::talk::Talk;
use gather::Gatherer;
use sparkbench_model::Instant;
use sparkbench_text::error::Error;
use view::View;

/// Between two looks: a campaign takes hours, and a look reads little more than the journal.
const BETWEEN: Duration = Duration::from_secs(2);

/// Show how far a campaign is, which run is in progress, and how long the rest will take
///
/// Reads the archive and writes nothing, so it can be called at any time, even while `collect` runs. Figures are means of the runs done so
/// far. They are preliminary: `sparkbench analyse` gives the verdicts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench status archive/smoke\n  \
                        sparkbench status archive/smoke --watch       refresh every 2 seconds until it is complete\n  \
                        sparkbench status archive/smoke --json | jq .runs")]
pub(crate) struct Status {
    /// Archive folder that `collect` writes
    #[arg(value_name = "ARCHIVE")]
    archive: PathBuf,
    /// Refresh every 2 seconds until the campaign is complete or Ctrl-C. Without a terminal, print one line per change
    #[arg(long)]
    watch: bool,
    /// Print JSON. With --watch, one object a line
    #[arg(long)]
    json: bool,
}

/// Looks, says, and looks again where that was asked for.
pub(crate) fn run(args: &Status, talk: &Talk) -> Result<Outcome, Error> {
    let mut gatherer = Gatherer::new(&args.archive)?;
    let terminal = std::io::stdout().is_terminal();
    let mut said = String::new();
    loop {
        let view = View::of(&gatherer.look()?, now());
        if !args.watch {
            print(&if args.json { format!("{:#}\n", view.json()) } else { text::table(&view) })?;
            return Ok(Outcome::Done);
        }
        // Seconds pass at every look. A line is worth printing when something else has changed.
        let steady = text::line(&view);
        match (args.json, terminal) {
            (false, true) => redraw(&text::table(&view))?,
            (true, _) if steady != said => print(&format!("{}\n", view.json()))?,
            (false, false) if steady != said => print(&format!("{}\n", text::stamped(&view)))?,
            _ => {}
        }
        said = steady;
        if view.is_complete() {
            talk.detail("the campaign is complete");
            return Ok(Outcome::Done);
        }
        std::thread::sleep(BETWEEN);
    }
}

/// Puts a text at the top of the terminal in place of what was there. What is longer than the terminal scrolls.
fn redraw(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let frame = format!("\x1b[H\x1b[J{text}");
    out.write_all(frame.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|cause| Error::archive("cannot write to the terminal").because(cause))
}

fn now() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Instant(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
