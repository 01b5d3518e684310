//! `sparkbench analyse`: archives in, a site out.

mod answers;
mod constants;
mod downloads;
mod logs;
mod versions;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::constants::constants;
use super::intake::{self, Judged, Judging};
use super::outcome::Outcome;
use super::privacy;
use super::talk::Talk;
use sparkbench_archive::site::SiteLock;
use sparkbench_archive::{self as archive, FileName, shown};
use sparkbench_model::RawText;
use sparkbench_site::page::{self, Extras, HashedPage, Others, Publication};
use sparkbench_text::error::Error;
use sparkbench_verdict::number::{count, list};
use sparkbench_verdict::report::{Severity, TrapStatus};
use sparkbench_verdict::trap::TRAPS;

/// Turn archives and result files of other tools into a static site with verdicts
///
/// Reads every file below each PATH and compares the environments of each campaign. Checks the figures for known errors of benchmarks
/// (traps). Writes pages, analysis.json and tables. Measures nothing and changes no archive.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sparkbench analyse\n  sparkbench analyse results/ --site public --baseline native\n  \
                        sparkbench analyse data/phase1 --margin ttft_ms=5 --strict\n  \
                        sparkbench analyse results/ --compare-by quantisation     is FP8 faster than BF16?\n  \
                        sparkbench analyse results/ --arms-by-folder              results/before beside results/after\n  \
                        sparkbench analyse archive --watch --open     while `collect` is at work"
)]
pub(crate) struct Analyse {
    /// Folders or files to search for results [default: data, or archive if there is no data]
    #[arg(value_name = "PATH", default_values_os_t = usual(), hide_default_value = true)]
    paths: Vec<PathBuf>,
    /// Folder for the pages
    #[arg(long, aliases = ["out", "output"], short_alias = 'o', value_name = "DIR", default_value = "site")]
    site: PathBuf,
    #[command(flatten)]
    judging: Judging,
    /// Write the whole report as one HTML file that opens from disk
    #[arg(long, value_name = "FILE")]
    single_file: Option<PathBuf>,
    /// Write a labels.toml to fill in, with an empty value for each missing label
    #[arg(long, value_name = "FILE")]
    write_labels: Option<PathBuf>,
    /// Publish names of users and hosts, addresses, serial numbers and secrets unchanged
    #[arg(long)]
    no_scrub: bool,
    /// Leave out the lines of raw files on the pages of runs
    #[arg(long)]
    no_logs: bool,
    /// Address that the site will have, such as `https://me.github.io/bench/`. It is used for canonical links, the sitemap, feeds and previews
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Exit with 1 when anything was left out, or a file is not what was recorded of it
    #[arg(long, conflicts_with = "watch")]
    strict: bool,
    /// Update the site whenever a file below a PATH changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Open the site in the browser when it is written
    #[arg(long)]
    open: bool,
}

/// Where results are when nobody says: `data` in a repository of results, and `archive` where `collect` wrote.
fn usual() -> Vec<PathBuf> {
    let place = if !Path::new("data").exists() && Path::new("archive").is_dir() { "archive" } else { "data" };
    vec![PathBuf::from(place)]
}

/// Reads, judges, draws, writes.
pub(crate) fn run(args: &Analyse, talk: &Talk) -> Result<Outcome, Error> {
    if args.watch {
        return watch::run(args, talk);
    }
    let Some((_lock, publication)) = begin(args, talk, || true)? else { return Ok(Outcome::Done) };
    let mut judged = intake::judge(&args.paths, &args.judging, !args.no_scrub, talk)?;
    let logs = match args.no_logs {
        true => Vec::new(),
        false => logs::read(&archive::discover(&args.paths)?, &judged.analysis.runs, judged.scrubbed.as_ref()),
    };
    let extras = Extras { publication, ..extras(&mut judged, args, logs, None)? };
    let pages = page::render(&judged.analysis, &extras)?;
    tell_others(&page::write(&args.site, &pages)?, talk);
    beside(&judged, &extras, args)?;
    let left_out = judged.analysis.inputs.iter().filter(|input| input.skipped).count();
    summarise(&judged, args, pages.len(), left_out, talk)?;
    if args.open {
        open(&args.site, talk);
    }
    let altered = judged.analysis.altered().iter().any(|altered| altered.is_error);
    Ok(if args.strict && (left_out > 0 || altered) { Outcome::Refused } else { Outcome::Done })
}

/// Writes what was asked for beside the site.
fn beside(judged: &Judged, extras: &Extras, args: &Analyse) -> Result<(), Error> {
    if let Some(file) = &args.single_file {
        sparkbench_archive::write_atomic(file, &page::single_file(&judged.analysis, extras)?)?;
    }
    if let (Some(file), Some(ask)) = (&args.write_labels, &judged.ask) {
        sparkbench_archive::write_atomic(file, ask.labels.as_bytes())?;
    }
    Ok(())
}

/// Shows the site in the browser. A machine without one is told of the file, and nothing else changes.
fn open(site: &Path, talk: &Talk) {
    let front = site.join("index.html");
    // A browser takes a relative name for a search.
    let whole = front.canonicalize().unwrap_or_else(|_| front.clone());
    if let Err(cause) = ::open::that_detached(whole) {
        talk.warn(&format!("cannot start a browser ({cause}), please open {} yourself", shown(&front)));
    }
}

/// Files of others that a line names. The rest is counted.
const NAMED: usize = 3;

/// Tells what stood in the folder of the site and did not come from this program as it stood there.
fn tell_others(others: &Others, talk: &Talk) {
    let named = |paths: &[FileName]| {
        let mut named: Vec<String> = paths.iter().take(NAMED).map(ToString::to_string).collect();
        named.extend((paths.len() > NAMED).then(|| format!("{} more", paths.len() - NAMED)));
        list(&named)
    };
    if !others.changed.is_empty() {
        let files = count(others.changed.len(), "file");
        talk.warn(&format!(
            "somebody changed {files} of the old site: {}. The new site replaces the old one whole",
            named(&others.changed)
        ));
    }
    if !others.kept.is_empty() {
        let files = count(others.kept.len(), "file");
        talk.detail(&format!("{files} in the site that this program did not write stay: {}", named(&others.kept)));
    }
}

/// The right to write the site, where it will stand and what stood there before. Looked at before anything is read: all of it can be wrong,
/// and reading takes time. While another run writes the site, this waits as long as `goes_on` says. None when it says no.
fn begin(args: &Analyse, talk: &Talk, goes_on: impl Fn() -> bool) -> Result<Option<(SiteLock, Publication)>, Error> {
    let base_url = checked(args)?;
    let mut said = false;
    let lock = SiteLock::take(&args.site, args.watch, |holder| {
        // In the moment before it has written down its number, nobody is named.
        if let (Some(pid), false) = (holder.pid, said) {
            talk.say(&format!("waiting for process {pid}, which writes '{}'. Ctrl-C ends the wait", shown(&args.site)));
            said = true;
        }
        goes_on()
    })?;
    let Some(lock) = lock else { return Ok(None) };
    if !lock.holds() {
        talk.warn("the disk of the site has no locks: two runs that write it at once would mix their pages");
    }
    page::mend(&args.site)?;
    let earlier = page::earlier(&args.site)?;
    Ok(Some((lock, Publication { base_url, earlier })))
}

/// The address that the site will have. Fails where an option cannot be followed.
fn checked(args: &Analyse) -> Result<Option<String>, Error> {
    let base_url = args
        .base_url
        .as_ref()
        .map(|text| {
            page::base_url(text).ok_or_else(|| {
                Error::usage(format!("--base-url {text} is not the address of a site"))
                    .hint("give the full address without a query, such as https://me.github.io/bench/")
            })
        })
        .transpose()?;
    if let Some(file) = args.write_labels.as_ref().filter(|file| is_filled(file)) {
        return Err(Error::usage(format!("'{}' holds labels, which --write-labels would replace", shown(file)))
            .hint("give it with --labels, or name another file"));
    }
    Ok(base_url)
}

/// Whether somebody wrote into a file of labels: it holds more than names of files and empty values.
fn is_filled(file: &Path) -> bool {
    let unfilled = |line: &str| {
        // What values there are stands behind an empty one as a comment.
        let said = line.split('#').next().unwrap_or_default().trim();
        said.is_empty()
            || said.ends_with("= \"\"")
            || ["[", "schema", "glob"].iter().any(|begin| said.starts_with(begin))
    };
    // Whoever reads a named pipe waits for a writer.
    file.is_file() && std::fs::read_to_string(file).is_ok_and(|text| !text.lines().map(str::trim).all(unfilled))
}

/// What the pages show beyond the analysis itself. Downloads that hold every request take longest. Those that were `kept` are taken as they are. Lists are
/// moved out of the study, not copied: they are most of what an analysis has in memory.
fn extras(
    judged: &mut Judged,
    args: &Analyse,
    logs: Vec<Arc<RawText>>,
    kept: Option<&[Arc<HashedPage>]>,
) -> Result<Extras, Error> {
    // After the logs, whose replaced names its report counts, and before any list is moved.
    let extra_files = downloads::files(judged, &args.paths, kept)?;
    let runs = &mut judged.study.runs;
    let telemetry = runs.iter_mut().map(|run| (run.id.clone(), std::mem::take(&mut run.telemetry)));
    let telemetry = telemetry.filter(|(_, samples)| !samples.is_empty()).collect();
    let requests = runs.iter_mut().map(|run| (run.id.clone(), std::mem::take(&mut run.series)));
    let requests = requests.filter(|(_, series)| !series.is_empty()).collect();
    let spans = runs.iter_mut().map(|run| (run.id.clone(), std::mem::take(&mut run.course.requests)));
    let spans = spans.filter(|(_, spans)| !spans.is_empty()).collect();
    let study = &judged.study;
    Ok(Extras {
        telemetry,
        requests,
        spans,
        machine_titles: study.facts.machines.iter().map(|(label, m)| (label.clone(), m.title.clone())).collect(),
        model_titles: study
            .campaigns
            .iter()
            .flat_map(|c| c.models.iter().filter_map(|(label, m)| Some((label.clone(), m.title.clone()?))))
            .collect(),
        traps: TRAPS
            .iter()
            .map(|trap| page::TrapAbout {
                id: trap.id(),
                code: trap.code(),
                title: trap.title(),
                severity: trap.severity(),
                about: trap.about(),
            })
            .collect(),
        constants: constants(),
        publication: Publication::default(),
        reproduce: match &judged.scrubbed {
            Some(scrubbed) => scrubbed.scrub.text(privacy::COMMAND, &command(args)),
            None => command(args),
        },
        logs,
        extra_files,
    })
}

/// The command that gives the same bytes, with every setting that is not the default.
fn command(args: &Analyse) -> String {
    let judging = &args.judging;
    let mut words = vec!["sparkbench".to_owned(), "analyse".to_owned()];
    // Names only: an absolute path would publish the layout of this machine.
    let name = |p: &Path| shown(p.file_name().filter(|_| p.is_absolute()).map_or(p, Path::new));
    words.extend(args.paths.iter().map(|path| name(path)));
    words.extend(judging.baseline.iter().map(|b| format!("--baseline {b}")));
    words.extend(judging.labels.iter().map(|path| format!("--labels {}", name(path))));
    words.extend(judging.metrics.iter().map(|path| format!("--metrics {}", name(path))));
    words.extend(judging.facts.iter().map(|path| format!("--facts {}", name(path))));
    words.extend(judging.margins.iter().map(|m| format!("--margin {m}")));
    if judging.confidence != 0.95 {
        words.push(format!("--confidence {}", judging.confidence));
    }
    if judging.resamples != 10_000 {
        words.push(format!("--resamples {}", judging.resamples));
    }
    if judging.seed != 42 {
        words.push(format!("--seed {}", judging.seed));
    }
    words.extend(judging.compare_by.iter().map(|label| format!("--compare-by {label}")));
    words.extend(judging.keep.iter().map(|keep| format!("--where '{keep}'")));
    if judging.arms_by_folder {
        words.push("--arms-by-folder".to_owned());
    }
    if args.no_scrub {
        words.push("--no-scrub".to_owned());
    }
    if args.no_logs {
        words.push("--no-logs".to_owned());
    }
    words.extend(args.base_url.iter().map(|url| format!("--base-url {url}")));
    words.join(" ")
}

/// The answers first, on standard output. Then what else there is to know.
fn summarise(judged: &Judged, args: &Analyse, pages: usize, left_out: usize, talk: &Talk) -> Result<(), Error> {
    let analysis = &judged.analysis;
    for campaign in analysis.newest_first().into_iter().filter(|_| !talk.is_quiet()) {
        answers::print(analysis, campaign, talk)?;
    }
    let fired = |severity: Severity| {
        analysis.traps.iter().filter(|t| t.status == TrapStatus::Fired && t.severity == severity).count()
    };
    talk.say(&format!(
        "traps fired: {}, {}, {}. Inputs left out: {left_out}",
        count(fired(Severity::Error), "error"),
        count(fired(Severity::Warning), "warning"),
        count(fired(Severity::Note), "note"),
    ));
    if let Some(scrubbed) = &judged.scrubbed {
        talk.say(&privacy::summary(&scrubbed.scrub.places()));
    }
    match (&judged.ask, &args.write_labels) {
        (Some(ask), Some(file)) => {
            talk.warn(&format!("{}. Fill in '{}' and give it with --labels", ask.message, shown(file)))
        }
        (Some(ask), None) => {
            talk.warn(&format!(
                "{}. Write a file to fill in with --write-labels labels.toml, then give it with --labels",
                ask.message
            ));
        }
        (None, Some(_)) => talk.say("every run has its labels, there is nothing to fill in"),
        (None, None) => {}
    }
    if let Some(sentence) = &analysis.to_compare {
        talk.say(sentence);
    }
    talk.say(&format!("{pages} files in {}, start with {}", shown(&args.site), shown(&args.site.join("index.html"))));
    Ok(())
}
