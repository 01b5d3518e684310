//! `sparkbench verify`: every byte of archives or a site against the hashes that were written down of it.

#[cfg(feature = "analyse")]
mod recompute;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::stdout::print;
use super::talk::Talk;
use sparkbench_archive::manifest::{CAMPAIGN_FILE, FOLDERS, JOURNAL_FILE};
use sparkbench_archive::verify::{Kind, Mismatch, Remedy, Runs, State, Verified, verify};
use sparkbench_text::error::Error;
use sparkbench_text::escape::shell;

/// Check every byte of an archive or a site against its hashes
///
/// Finds any changed, missing or extra byte in the journal, in every run and in the sealed whole. In a folder of archives, each is checked.
/// An unfinished campaign can match too, and the summary says that it is unfinished. What was given up with `collect --resume --accept-loss`
/// is listed as lost and is no mismatch. Files of other tools have no recorded hashes: they are counted.
///
/// A site is checked against its own list of hashes. With --archive it is also checked against the files it was made from. The analysis is
/// then repeated with the settings of the site, and every value that differs is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench verify archive/my-campaign\n  \
                        sparkbench verify archive                  every archive in it\n  \
                        sparkbench verify site --archive data      the site, the data it was made from,\n                                             and the numbers that they give\n\n\
                        Exit codes: 0 everything matches, 2 usage, 5 something does not match or cannot be read.")]
pub(crate) struct Verify {
    /// Folder of an archive, of several archives, or of a site
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Archive that the site was made from, as given to `analyse`. May be repeated, in the same order
    #[arg(long, value_name = "DIR")]
    archive: Vec<PathBuf>,
    /// Labels file that the site was made with
    #[arg(long, value_name = "FILE", requires = "archive")]
    labels: Option<PathBuf>,
    /// Metrics file that the site was made with
    #[arg(long, value_name = "FILE", requires = "archive")]
    metrics: Option<PathBuf>,
    /// Facts file that the site was made with
    #[arg(long, value_name = "FILE", requires = "archive")]
    facts: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// Version of what `--json` prints.
const SCHEMA: &str = "sparkbench.verify/1";

/// Hashes everything, prints what does not fit and how it stands.
///
/// # Errors
/// When something does not fit, or the folder is neither an archive nor a site.
pub(crate) fn run(args: &Verify, talk: &Talk) -> Result<(), Error> {
    let bar = talk.progress(0, "verifying");
    let verified = verify(&args.path, &args.archive, &mut |done, all| {
        bar.set_length(all >> 20);
        bar.set_position(done >> 20);
    });
    bar.finish_and_clear();
    let mut verified = verified?;
    again(args, talk, &mut verified);
    let shown = sparkbench_archive::shown(&args.path);
    if args.json {
        print(&json(&shown, &verified)?)?;
    } else {
        print(&table(&verified))?;
        verified.notes.iter().for_each(|note| talk.say(note));
    }
    for archive in &verified.archives {
        talk.say(&summary(&format!("{shown}/{}", archive.path), &archive.verified));
    }
    talk.say(&summary(&shown, &verified));
    if verified.flaws.is_empty() {
        if verified.state == State::Open {
            talk.say(&format!("next: {}", resume(&args.path)));
        }
        return Ok(());
    }
    let remedy = remedy(&args.path, &verified);
    Err(Error::archive(format!("'{shown}' does not verify: {}", kinds(&verified))).hint(remedy))
}

/// The command that goes on with the campaign of an archive.
fn resume(archive: &Path) -> String {
    format!("sparkbench collect SUITE --archive {} --resume", shell(archive))
}

/// What mends the flaws. What a crash left and what was changed afterwards need different things, and one archive can have both.
fn remedy(path: &Path, verified: &Verified) -> String {
    let has = |verified: &Verified, remedy| verified.flaws.iter().any(|flaw| flaw.remedy == remedy);
    let below = verified.archives.iter().map(|below| (path.join(&below.path), &below.verified));
    let archives: Vec<(PathBuf, &Verified)> =
        if verified.archives.is_empty() { vec![(path.to_owned(), verified)] } else { below.collect() };
    // Of an archive in which something is in the way the rest follows from that, or can only be mended afterwards.
    let in_the_way = |flaw: &Mismatch| match verified.archives.as_slice() {
        [] => has(verified, Remedy::Replace),
        below => below.iter().any(|below| {
            let own = flaw.path.strip_prefix(&below.path).is_some_and(|rest| rest.starts_with('/'));
            own && has(&below.verified, Remedy::Replace)
        }),
    };
    let of = |remedy: Remedy| verified.flaws.iter().any(|flaw| flaw.remedy == remedy && !in_the_way(flaw));
    // In a folder of archives, the first one that needs it and can be taken up again.
    let place = |remedy: Remedy| {
        // A damaged journal has lost lines, and what it does not list is no leftover of a crash.
        let journal = |verified: &Verified| {
            verified.flaws.iter().any(|flaw| flaw.path == JOURNAL_FILE && flaw.remedy == Remedy::Restore)
        };
        let needs = |verified: &Verified| {
            let first = [Remedy::Copy, Remedy::Replace].iter().any(|other| has(verified, *other));
            let is_lost = remedy == Remedy::Resume && journal(verified);
            has(verified, remedy) && !first && !is_lost
        };
        archives.iter().find(|(_, verified)| needs(verified)).map(|(place, _)| place)
    };
    let mut steps = Vec::new();
    for (place, verified) in &archives {
        let odd = verified.flaws.iter().filter(|flaw| flaw.remedy == Remedy::Replace);
        steps.extend(odd.map(|flaw| back_in_place(place, flaw, has(verified, Remedy::Copy))));
    }
    if of(Remedy::Inputs) && verified.flaws.iter().all(|flaw| flaw.remedy == Remedy::Inputs) {
        steps.push("give verify the labels, the metrics and the program that the site was made with".to_owned());
    }
    if of(Remedy::Copy) {
        steps.push(format!(
            "restore {CAMPAIGN_FILE} from a copy. Without it nothing shows the plan, so the campaign cannot be continued, \
             and its loss cannot be accepted. Collect anew with --archive ANOTHER-FOLDER"
        ));
    }
    if of(Remedy::Restore) {
        steps.push("restore the changed files from a copy. Runs whose files match can still be trusted".to_owned());
        if let Some(place) = place(Remedy::Restore).filter(|_| verified.state != State::Site) {
            steps.push(format!("without a copy, record the loss: {} --accept-loss", resume(place)));
        }
    }
    if of(Remedy::Remove) {
        steps.push("move away what nothing lists".to_owned());
    }
    if let Some(place) = place(Remedy::Resume) {
        let command = resume(place);
        steps.push(if steps.is_empty() {
            format!("a crash cut it short, so continue: {command}")
        } else {
            format!("a crash left the rest, which goes with: {command}")
        });
    }
    steps.join("\n         ")
}

/// How to get a file or a folder of an archive back to its place, where something else stands. `without_plan`: no loss can be accepted.
fn back_in_place(archive: &Path, flaw: &Mismatch, without_plan: bool) -> String {
    let place = archive.join(&flaw.path);
    let is_folder = FOLDERS.contains(&flaw.path.as_str());
    let leads = fs::read_link(&place).is_ok().then(|| fs::canonicalize(&place).ok()).flatten();
    let shown = sparkbench_archive::shown(&place);
    match leads.filter(|to| if is_folder { to.is_dir() } else { to.is_file() }) {
        Some(to) => format!(
            "put what '{shown}' leads to in its place, then verify again: rm {place} && mv {} {place}",
            shell(&to),
            place = shell(&place)
        ),
        None => {
            let step = format!("move '{shown}' away and restore it from a copy, then verify again");
            let loss = format!("Without a copy, move it away and record the loss: {} --accept-loss", resume(archive));
            if without_plan { step } else { format!("{step}. {loss}") }
        }
    }
}

/// The analysis made again, where it was asked for and this build can.
fn again(args: &Verify, talk: &Talk, verified: &mut Verified) {
    if args.archive.is_empty() || !args.path.join("data/analysis.json").is_file() {
        return;
    }
    #[cfg(feature = "analyse")]
    {
        let given = recompute::Given {
            labels: args.labels.as_deref(),
            metrics: args.metrics.as_deref(),
            facts: args.facts.as_deref(),
        };
        match recompute::recompute(&args.path, &args.archive, &given, talk) {
            Ok(recomputed) => {
                verified.flaws.extend(recomputed.flaws);
                verified.notes.extend(recomputed.notes);
            }
            // What the hashes found stands beside it.
            Err(cause) => verified.flaws.push(Mismatch::new(
                "data/analysis.json",
                Kind::Unreadable,
                format!("cannot repeat the analysis: {}", sparkbench_ingest::one_line(&cause)),
            )),
        }
    }
    #[cfg(not(feature = "analyse"))]
    {
        let _ = talk;
        verified
            .notes
            .push("only hashes were checked: this build has no analysis and cannot repeat the numbers".to_owned());
    }
}

fn json(path: &str, verified: &Verified) -> Result<String, Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        schema: &'static str,
        path: &'a str,
        fits: bool,
        #[serde(flatten)]
        verified: &'a Verified,
    }
    let shown = Shown { schema: SCHEMA, path, fits: verified.flaws.is_empty(), verified };
    let text = serde_json::to_string_pretty(&shown);
    text.map(|text| text + "\n").map_err(|cause| Error::archive("cannot print as JSON").because(cause))
}

/// One line a finding, then one a loss on record: kind, path, what differs.
fn table(verified: &Verified) -> String {
    let mut text = String::new();
    let flaws = verified.flaws.iter().map(|flaw| (flaw.kind.word(), &flaw.path, &flaw.what));
    let lost = verified.lost.iter().map(|loss| ("lost", &loss.path, &loss.why));
    for (word, path, what) in flaws.chain(lost) {
        let clean = |text: &str| text.replace(char::is_control, "\u{fffd}");
        // Writing to a string does not fail.
        let _ = writeln!(text, "{word:<13}  {}  {}", clean(path), clean(what));
    }
    text
}

/// `2 changed, 1 missing`.
fn kinds(verified: &Verified) -> String {
    let counted = [Kind::Changed, Kind::Missing, Kind::Extra, Kind::Unreadable, Kind::Contradiction, Kind::Differs]
        .map(|kind| {
            let times = verified.flaws.iter().filter(|flaw| flaw.kind == kind).count();
            (times > 0).then(|| format!("{times} {}", kind.word()))
        });
    counted.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn summary(path: &str, verified: &Verified) -> String {
    let size = match verified.bytes {
        bytes if bytes < 1 << 20 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        bytes => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    };
    let counted;
    let state = match verified.state {
        State::Folder => {
            let s = if verified.archives.len() == 1 { "" } else { "s" };
            counted = format!("a folder of {} archive{s}", verified.archives.len());
            counted.as_str()
        }
        State::Sealed => "a sealed campaign",
        State::Open => "an incomplete campaign",
        State::Running => "a campaign in progress",
        State::Site => "a site",
    };
    let mut runs = verified.runs.map(|runs| format!(", {}", of_runs(&runs))).unwrap_or_default();
    match verified.lost.len() {
        0 => {}
        1 => runs.push_str(", 1 loss on record"),
        n => {
            let _ = write!(runs, ", {n} losses on record");
        }
    }
    let fits = match verified.flaws.len() {
        0 if verified.files == 0 => "nothing to verify".to_owned(),
        0 => "all match".to_owned(),
        1 => "1 finding".to_owned(),
        n => format!("{n} findings"),
    };
    format!("{path}: {state}{runs}. {} files, {size}: {fits}", verified.files)
}

fn of_runs(runs: &Runs) -> String {
    let parts = [
        (runs.failed, "failed"),
        (runs.skipped, "skipped"),
        (runs.lost, "lost"),
        (runs.left.unwrap_or(0), "left"),
        (runs.interrupted, "interrupted"),
    ];
    let mut text = match (runs.finished, runs.planned) {
        (done, Some(planned)) => format!("{done} of {planned} planned runs done"),
        (1, None) => "1 run done, its plan cannot be read".to_owned(),
        (done, None) => format!("{done} runs done, their plan cannot be read"),
    };
    for (n, word) in parts.iter().filter(|(n, _)| *n > 0) {
        let _ = write!(text, ", {n} {word}");
    }
    text
}
