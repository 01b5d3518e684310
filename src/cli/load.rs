//! `sparkbench load`: one ad-hoc streaming load against a server, or a sweep of them.
//!
//! In:  an address and options.  Out: a summary a person can read, `--json` for scripts, `--archive` for the analysis.
//! Not here: how it is measured (see `load`), how it is archived (see `run`).

mod archive;
mod args;
mod fits;
mod live;
mod plan;
mod read;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::args::LoadArgs;
use self::live::Speaker;
use super::talk::Talk;
use super::{Outcome, print};
use crate::error::{Error, Kind};
use crate::host::Host;
use crate::host::machine::Machine;
use crate::load::session::Session;
use crate::load::session::search::Searched;
use crate::load::summary::{self, Summary, points};

/// Measure a server that speaks the OpenAI protocol: TTFT, TPOT, latency, throughput, and whether the client was the limit
///
/// Requests are streamed with temperature 0, the usage asked for and the output length fixed where the server allows it. Times are
/// taken where bytes arrive: the kernel's receive time where there is one, our own beside it. Nothing is retried unless asked, nothing
/// is substituted, and every failure is counted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench load --url http://localhost:8000\n  \
    sparkbench load --url http://localhost:8000 --concurrency 32 --isl 1024 --osl 128 --requests 320 --warmup 32\n  \
    sparkbench load --url http://localhost:8000 --rate 4 --duration 120 --slo ttft=500 --slo tpot=50\n  \
    sparkbench load --url http://localhost:8000 --concurrency 1..128 --json sweep.json\n  \
    sparkbench load --url http://localhost:8000 --matrix standard --archive archive/my-server\n  \
    sparkbench load --url http://localhost:8000 --input-file sharegpt.json --num-clients 8\n\n\
    Exit codes: 0 done, 2 usage (no such model, lengths beyond the server's), 3 the machine or the server cannot take it,\n\
    4 nothing was answered or we were stopped (what was measured so far is printed), 5 a file could not be read or written.")]
pub struct Load {
    #[command(flatten)]
    load: LoadArgs,
    /// Archive everything raw as a campaign: every request, every chunk, telemetry, the server's metrics
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    archive: Option<PathBuf>,
    /// Write the summary as JSON; - is standard output. Several loads give a list
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,
    /// Attach the log of a running container to the archive
    #[arg(long, value_name = "NAME", requires = "archive", help_heading = "Output")]
    container: Option<String>,
    /// Print the plan, one request a line, and send nothing: the same bytes for the same options and seed
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// Runs the verb.
///
/// # Errors
/// As the exit codes say.
pub fn run(args: &Load, talk: &Talk) -> Result<Outcome, Error> {
    let plan = plan::Loads::read(&args.load)?;
    if args.dry_run {
        return plan.print();
    }
    let host: Arc<dyn Host> = Arc::new(Machine::new()?);
    if let Some(folder) = &args.archive {
        return archive::collect(args, &plan, folder, &host, talk);
    }
    let speaker = Speaker::new(talk);
    let stop = Arc::new(AtomicBool::new(false));
    let session = Session::open(&host, &args.load.url, &plan.settings, &speaker, Arc::clone(&stop))?;
    let folder = Scratch::new()?;
    let loaded = plan.measure(&host, &session, &folder.0, &speaker, &stop)?;
    drop(speaker);
    report(args, &loaded, talk)
}

/// The raw files of a load that is not archived: gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("sparkbench-load-{:x}", crate::host::net::now()));
        let failed = |cause| {
            Error::archive(format!("cannot make '{}'", path.display()))
                .hint("set TMPDIR to a folder with room, or archive the load: --archive DIR")
                .because(cause)
        };
        std::fs::create_dir_all(&path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What was measured, for people and for scripts, and what becomes of the exit code.
fn report(args: &Load, Searched { loaded, found }: &Searched, talk: &Talk) -> Result<Outcome, Error> {
    let summaries: Vec<&Summary> = loaded.iter().map(|loaded| &loaded.summary).collect();
    let for_scripts = args.json.as_deref().is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = &args.json {
        let text = json(&summaries);
        if for_scripts {
            print(&text)?;
        } else {
            crate::archive::write_atomic(path, text.as_bytes())?;
        }
    }
    let tell = |text: &str| {
        if for_scripts {
            text.lines().for_each(|line| talk.say(line));
            Ok(())
        } else {
            print(&format!("{text}\n"))
        }
    };
    for done in loaded {
        if !done.name.is_empty() {
            tell(&format!("load {}", done.name))?;
        }
        tell(&summary::text(&done.summary, talk.width(), talk.paints_output()))?;
    }
    if loaded.len() > 1 {
        let rows = loaded.iter().map(|done| (done.name.clone(), serde_json::json!(done.summary)));
        tell(&points::table(&rows.collect::<Vec<_>>()))?;
    }
    found.iter().try_for_each(|found| tell(found))?;
    if loaded.iter().any(|loaded| loaded.interrupted) {
        return Err(
            Error::new(Kind::Workload, "stopped before the end").hint("the figures are of what was measured by then")
        );
    }
    match summaries.iter().find(|summary| summary.completed == 0) {
        Some(none) => {
            let kinds: Vec<String> = none.errors.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
            Err(Error::new(Kind::Workload, "no request was answered").detail(kinds.join(", ")))
        }
        None => Ok(Outcome::Done),
    }
}

/// One summary as it is, several as a list.
fn json(summaries: &[&Summary]) -> String {
    match summaries {
        [only] => only.json(),
        several => {
            let each: Vec<String> = several.iter().map(|summary| summary.json().trim_end().to_owned()).collect();
            format!("[\n{}\n]\n", each.join(",\n"))
        }
    }
}
