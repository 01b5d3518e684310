//! `sparkbench collect`: runs a suite on this machine and archives everything raw.
//!
//! In:  a suite file.  Out: an archive; the plan on standard output with `--dry-run`.
//! Not here: how a run is done (see `run`).

#[cfg(feature = "analyse")]
mod looks;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use indicatif::ProgressBar;

use super::outcome::Outcome;
use super::stdout::print;
use super::suite;
use super::talk::Talk;
use sparkbench_archive::shown;
use sparkbench_collect::run::campaign::{self, Options, Summary};
use sparkbench_collect::run::experiment::Experiment;
use sparkbench_collect::run::{Judge, Watcher};
use sparkbench_host::Host;
use sparkbench_host::machine::Machine;
use sparkbench_model::{Finding, Level};
use sparkbench_plan::about;
use sparkbench_text::error::{Error, Kind};
use sparkbench_text::escape::shell;
use sparkbench_text::plural::count;
use sparkbench_text::slug::slug;

/// Run a suite on this machine and archive the raw data
///
/// Gates are checked before every run. Telemetry and watchdogs follow it, and afterwards what ran is compared with the suite. A failed run is
/// archived as failed, and the campaign continues. If this program is killed, at most the current run is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench init                                   write a starter suite\n  \
                        sparkbench collect suite.toml --dry-run           what would run, in which order, and how long\n  \
                        sparkbench collect suite.toml                     into archive/<campaign>\n  \
                        sparkbench collect suite.toml --resume            continue after a stop or a crash\n  \
                        sparkbench collect suite.toml --only 'docker/*'   some cells now, the rest later with --resume\n\n\
                        Exit codes: 0 done, 2 the suite cannot be run as written, 3 the pre-flight refused,\n\
                        4 a run failed or the campaign was stopped, 5 the archive could not be written or was changed.")]
pub(crate) struct Collect {
    /// Suite file, as `sparkbench init` writes one
    #[arg(value_name = "SUITE")]
    suite: PathBuf,
    /// Folder of the archive [default: archive/NAME of the campaign]
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// Continue an archive of this suite. If there is none, start it
    #[arg(long)]
    resume: bool,
    /// Continue without what was changed or removed in the archive. Each loss is recorded, and lost runs are measured again
    #[arg(long, requires = "resume")]
    accept_loss: bool,
    /// Print the expanded plan with an estimate of its duration, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Run only cells that match: the id of a run, or environment/model/workload. May be repeated
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
}

/// Runs the verb.
///
/// # Errors
/// As the exit codes say.
pub(crate) fn run(args: &Collect, talk: &Talk) -> Result<Outcome, Error> {
    let mut experiment = suite::load(&args.suite)?;
    experiment.warnings.iter().for_each(|warning| talk.warn(&warning.to_string()));
    if args.dry_run {
        print(&campaign::dry_run(&experiment, &args.only)?)?;
        talk.say(&format!("next: sparkbench check {}", shell(&args.suite)));
        return Ok(Outcome::Done);
    }
    let archive = folder(args, &experiment)?;
    if args.resume {
        experiment.go_on_as_begun(&archive);
    }
    let options = Options {
        archive: archive.clone(),
        resume: args.resume,
        accept_loss: args.accept_loss,
        only: args.only.clone(),
    };
    let host: Arc<dyn Host> = Arc::new(Machine::new()?);
    let watcher = ProgressReporter::new(talk, experiment.plan.runs.len());
    let summary = campaign::collect_judged(&experiment, &host, &watcher, judge(), &options);
    watcher.clear();
    report(&summary?, &archive, &args.suite, talk)
}

/// Who judges the figures at the looks of a campaign that stops when it is decided. A build without the analysis has nobody.
fn judge() -> Option<&'static dyn Judge> {
    #[cfg(feature = "analyse")]
    return Some(&looks::Analyst);
    #[cfg(not(feature = "analyse"))]
    None
}

/// Where the archive goes, absolute: programs inside an environment start in other folders.
fn folder(args: &Collect, experiment: &Experiment) -> Result<PathBuf, Error> {
    let named = args.archive.clone().unwrap_or_else(|| Path::new("archive").join(slug(&experiment.suite.name)));
    std::path::absolute(&named)
        .map_err(|cause| Error::archive(format!("cannot find the folder '{}'", shown(&named))).because(cause))
}

fn report(summary: &Summary, archive: &Path, suite: &Path, talk: &Talk) -> Result<Outcome, Error> {
    summary.replaced.iter().for_each(|line| talk.detail(line));
    let state = match (summary.sealed, summary.lost) {
        (false, _) => "continue with --resume".to_owned(),
        (true, 0) => "complete and sealed".to_owned(),
        (true, 1) => "complete and sealed with 1 loss on record".to_owned(),
        (true, lost) => format!("complete and sealed with {lost} losses on record"),
    };
    talk.say(&format!(
        "{}: {} done, {} failed, {} left, {state}",
        shown(archive),
        count(summary.finished, "run"),
        summary.failed.len(),
        summary.left
    ));
    if let Some(why) = &summary.ended {
        let (saved, lost) = (count(summary.saved, "run"), summary.lost_for_good);
        let were = if summary.saved == 1 { "was" } else { "were" };
        talk.say(&format!("{why}. {saved} of the plan {were} not needed"));
        if lost > 0 {
            let were = if lost == 1 { "was" } else { "were" };
            talk.say(&format!("{} {were} lost after that look and will not be measured again", count(lost, "run")));
        }
    }
    let go_on = format!("sparkbench collect {} --archive {} --resume", shell(suite), shell(archive));
    if summary.interrupted {
        return Err(Error::new(Kind::Workload, "stopped before the end, every finished run is archived").hint(go_on));
    }
    if let Some((id, why)) = summary.failed.first() {
        let more = summary.failed.len() - 1;
        let others = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        return Err(Error::new(Kind::Workload, format!("run '{id}' failed: {why}{others}"))
            .hint(format!("read its logs in '{}'", shown(&archive.join("runs").join(id)))));
    }
    talk.say(&format!("next: sparkbench analyse {}", shell(archive)));
    Ok(Outcome::Done)
}

/// Says what happens: a bar on a terminal, plain lines otherwise.
struct ProgressReporter<'a> {
    talk: &'a Talk,
    bar: ProgressBar,
    /// What was last said about waiting, so that a log gets a line a minute and not a line a second.
    said: Mutex<Option<(String, f64)>>,
}

/// Seconds between two lines about the same wait where there is no terminal.
const WAIT_LINE_S: f64 = 60.0;

impl<'a> ProgressReporter<'a> {
    fn new(talk: &'a Talk, runs: usize) -> Self {
        Self { talk, bar: talk.progress(runs as u64, "collecting"), said: Mutex::new(None) }
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for ProgressReporter<'_> {
    fn say(&self, line: &str) {
        self.bar.suspend(|| self.talk.say(line));
    }

    fn warn(&self, line: &str) {
        self.bar.suspend(|| self.talk.warn(line));
    }

    fn waiting(&self, gate: &Finding, waited_s: f64, limit_s: f64, done: bool) {
        let limit = gate.limit.as_deref().map(|limit| format!(", needs {limit}")).unwrap_or_default();
        let line = format!(
            "waiting for {}: {}{limit} (waited {waited_s:.0} s, gives up after {limit_s:.0} s)",
            gate.gate, gate.reading
        );
        if !self.bar.is_hidden() {
            self.bar.set_message(if done { "collecting".to_owned() } else { line });
            return;
        }
        let Ok(mut said) = self.said.lock() else { return };
        let due = match said.as_ref() {
            Some((gate_before, at)) => *gate_before != gate.gate || waited_s - at >= WAIT_LINE_S,
            None => true,
        };
        if done {
            *said = None;
            let now = if gate.level == Level::Refused { "still refuses" } else { "passes" };
            self.talk.say(&format!("{} {now} after {waited_s:.0} s: {}", gate.gate, gate.reading));
        } else if due {
            *said = Some((gate.gate.clone(), waited_s));
            self.talk.say(&line);
        }
    }

    fn progress(&self, done: usize, of: usize, running: &str, left_s: Option<f64>) {
        self.bar.set_position(done as u64);
        if running.is_empty() {
            return;
        }
        let left = left_s.map(|seconds| format!(", {} left", about(seconds))).unwrap_or_default();
        if self.bar.is_hidden() {
            self.talk.say(&format!("[{}/{of}] {running}{left}", done + 1));
        } else {
            self.bar.set_message(format!("{running}{left}"));
        }
    }
}
