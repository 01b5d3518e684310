//! `sparkbench compare`: two archives, or two environments of one, in the terminal, as Markdown, and as a gate.

mod history;
mod machine;
mod markdown;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::intake::{self, Judging};
use super::outcome::Outcome;
use super::series::Following;
use super::stdout::print;
use super::talk::Talk;
use sparkbench_archive::{self as archive, FileName};
use sparkbench_ingest::history::TIME_COLUMN;
use sparkbench_ingest::{self as ingest, Intake};
use sparkbench_model::{Altered, Campaign, Run};
use sparkbench_site::page;
use sparkbench_text::error::Error;
use sparkbench_verdict::badge;
use sparkbench_verdict::number::{count, significant};
use sparkbench_verdict::report::{Comparison, VerdictKind};

/// Compare one set of runs with another, and exit with 1 when it is worse
///
/// BASE and CANDIDATE are folders or files of any tool, or one environment of them as PATH#ENVIRONMENT. Metrics without a better direction
/// (memory, power) are shown and never decide the exit code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench compare data/phase1#native data/phase1#container\n  \
                        sparkbench compare results/main results/branch --markdown comment.md --junit verdicts.xml\n  \
                        sparkbench compare model-bf16.json model-fp8.json    two files of any tool, one run each\n  \
                        sparkbench compare x/vllm x/sglang --compare-by engine\n  \
                        sparkbench compare archive --against history    the newest campaign against the stable period before it\n\n\
                        Exit codes: 0 every primary metric is equivalent, better, or worse by less than its margin,\n\
                        1 a primary metric is worse beyond its margin, 2 usage, 5 an input could not be read,\n\
                        6 a primary metric is inconclusive or not comparable.")]
pub(crate) struct Compare {
    /// Baseline: a folder or a file, or PATH#ENVIRONMENT
    #[arg(value_name = "BASE")]
    base: OsString,
    /// Candidate to judge: a folder or a file, or PATH#ENVIRONMENT
    #[arg(value_name = "CANDIDATE", required_unless_present = "against")]
    candidate: Option<OsString>,
    /// Compare the newest campaign of BASE with the last stable period before it. BASE may be anything that `sparkbench history` reads
    #[arg(long, value_name = "history", value_parser = ["history"], conflicts_with_all = ["candidate", "junit", "badge", "all"])]
    against: Option<String>,
    /// Write the verdicts as Markdown, for a comment on a pull request
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Print the verdicts as one JSON object
    #[arg(long)]
    json: bool,
    /// Write the verdicts as JUnit XML, one test per verdict
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a badge (SVG) with the primary verdict that is worst for the candidate
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// Show every metric, not only the primary metrics
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    judging: Judging,
}

/// Cells of a side that an error names.
const MOST_CELLS: usize = 3;

/// One side as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Side {
    path: PathBuf,
    environment: Option<String>,
}

impl Side {
    fn parse(typed: &OsStr) -> Self {
        Self::split(typed.as_encoded_bytes(), |path| path_of(path).exists())
    }

    /// A `#` may stand in the name of a file or of an environment. So a path that exists as it stands is that, and otherwise the longest
    /// part before a `#` that exists. Where none does, the last `#` counts and the path is reported as missing.
    fn split(typed: &[u8], exists: impl Fn(&[u8]) -> bool) -> Self {
        let marks = (0..typed.len()).rev().filter(|at| typed[*at] == b'#');
        // A path may be of any bytes. A name of an environment is text.
        let cuts = marks.filter_map(|at| Some((&typed[..at], std::str::from_utf8(&typed[at + 1..]).ok()?)));
        let mut cuts = cuts.filter(|(path, environment)| !path.is_empty() && !environment.is_empty());
        let last = cuts.clone().next();
        match cuts.find(|(path, _)| exists(path)).or(last) {
            Some((path, environment)) if !exists(typed) => {
                Self { path: path_of(path), environment: Some(environment.to_owned()) }
            }
            _ => Self { path: path_of(typed), environment: None },
        }
    }
}

/// The path of these bytes.
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::new().join(FileName::new(bytes))
}

/// Takes out what both archives define under one name and mean differently: their figures are of two metrics.
fn apart(one: &mut Intake, other: &mut Intake, talk: &Talk) {
    let mut differ = BTreeSet::new();
    let theirs: Vec<_> = other.campaigns.iter().flat_map(|campaign| &campaign.metrics).collect();
    for (name, custom) in one.campaigns.iter().flat_map(|campaign| &campaign.metrics) {
        if theirs.iter().any(|(known, theirs)| *known == name && !theirs.same_as(custom)) {
            differ.insert(name.clone());
        }
    }
    for name in &differ {
        talk.warn(&format!("'{name}' is defined differently in the two arms and is not compared"));
    }
    for intake in [one, other] {
        intake.runs.iter_mut().for_each(|run| run.readings.retain(|reading| !differ.contains(&reading.metric)));
        intake.campaigns.iter_mut().for_each(|campaign| campaign.metrics.retain(|name, _| !differ.contains(name)));
    }
}

/// Reads both sides, judges, prints, decides.
pub(crate) fn run(args: &Compare, talk: &Talk) -> Result<Outcome, Error> {
    let Some(candidate) = &args.candidate else { return against_history(args, talk) };
    if args.judging.arms_by_folder {
        return Err(Error::usage("--arms-by-folder is for analyse: here BASE and CANDIDATE are the arms")
            .hint("leave it out, or give the folder above both to 'sparkbench analyse --arms-by-folder'"));
    }
    let (base, candidate) = (Side::parse(&args.base), Side::parse(candidate));
    let mut runs = intake::runs_of(std::slice::from_ref(&base.path), &args.judging, talk)?;
    let names = if base.path == candidate.path {
        let names = (needed(&base, &runs.runs)?, needed(&candidate, &runs.runs)?);
        if names.0 == names.1 {
            return Err(Error::usage(format!("'{}' is both BASE and CANDIDATE", archive::shown(args.base.as_ref())))
                .hint("name another archive, or another environment of this one"));
        }
        only(&mut runs, |run| run.environment == names.0 || run.environment == names.1);
        names
    } else {
        let mut other = intake::runs_of(std::slice::from_ref(&candidate.path), &args.judging, talk)?;
        apart(&mut runs, &mut other, talk);
        let names = named(&args.judging, (&base, &runs.runs), (&candidate, &other.runs))?;
        relabel(&mut runs, &base, &names.0)?;
        relabel(&mut other, &candidate, &names.1)?;
        // Ids may repeat between two archives. The side tells them apart.
        other.runs.iter_mut().for_each(|run| run.id = format!("{}.{}", names.1, run.id));
        // Runs of two campaigns make no block of one: what either looked at says nothing of both together.
        runs.campaigns.iter_mut().for_each(|campaign| campaign.design = None);
        runs.runs.append(&mut other.runs);
        runs.inputs.append(&mut other.inputs);
        // What became of the files of the other side counts in the one campaign as well.
        runs.campaigns.append(&mut other.campaigns);
        runs.facts.extend(other.facts);
        names
    };
    one_campaign(&mut runs.campaigns, &mut runs.runs);
    let files = [&base, &candidate].iter().all(|side| side.environment.is_none() && side.path.is_file());
    let names = if files { meet(&mut runs, names) } else { names };
    let label = ingest::meets(&runs.runs);
    let judging = Judging { baseline: Some(names.0.clone()), ..args.judging.clone() };
    let judged = intake::judge_runs(runs, &judging, talk)?;
    let shown: Vec<&Comparison> =
        judged.analysis.comparisons.iter().filter(|c| c.candidate == names.1 && (args.all || c.primary)).collect();
    if shown.is_empty() {
        let cells = |side: &String| {
            let own = judged.analysis.runs.iter().filter(|run| run.environment == *side);
            let mut cells: Vec<String> = own.map(|run| format!("{} · {}", run.model, run.workload)).collect();
            cells.sort_unstable();
            cells.dedup();
            let more = cells.len().saturating_sub(MOST_CELLS);
            cells.truncate(MOST_CELLS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", cells.join(", "))
        };
        return Err(Error::archive(format!("'{}' and '{}' have no model and workload in common", names.0, names.1))
            .detail(format!("'{}' has {}, and '{}' has {}", names.0, cells(&names.0), names.1, cells(&names.1)))
            .hint(match label {
                Some(label) => format!("add --compare-by {label} to compare them anyway"),
                None => {
                    "compare runs of the same model and workload, or name both alike in a file for --labels: set = { workload = \"NAME\" }".to_owned()
                }
            }));
    }
    let decision = gate(&shown);
    let analysis = &judged.analysis;
    print(&if args.json {
        machine::json(&shown, &names, decision, analysis)?
    } else {
        terminal(&shown, decision, talk)
    })?;
    if let Some(file) = &args.markdown {
        archive::write_atomic(file, markdown::draw(&shown, &names, decision, analysis).as_bytes())?;
    }
    if let Some(file) = &args.junit {
        let refuses = |c: &Comparison| c.primary && is_beyond(c);
        archive::write_atomic(file, machine::junit(&shown, &names, refuses).as_bytes())?;
    }
    if let (Some(file), Some(said)) = (&args.badge, badge::of(shown.iter().copied())) {
        archive::write_atomic(file, page::badge(&said).as_bytes())?;
    }
    Ok(decision)
}

/// The newest campaign against the last stable stretch.
fn against_history(args: &Compare, talk: &Talk) -> Result<Outcome, Error> {
    let asked = Following {
        margins: args.judging.margins.clone(),
        metrics: Vec::new(),
        time_column: TIME_COLUMN.to_owned(),
        labels: args.judging.labels.clone(),
        facts: args.judging.facts.clone(),
        seed: args.judging.seed,
    };
    let judged = history::judge(&[PathBuf::from(&args.base)], &asked, talk)?;
    print(&if args.json { judged.json()? } else { judged.text() })?;
    if let Some(file) = &args.markdown {
        archive::write_atomic(file, judged.markdown().as_bytes())?;
    }
    Ok(judged.decision())
}

/// Names of the two sides: what they are asked for by, the values of the label that is compared, or the names of their folders.
fn named(judging: &Judging, base: (&Side, &[Run]), candidate: (&Side, &[Run])) -> Result<(String, String), Error> {
    if judging.compare_by.is_some() {
        let names = (needed(base.0, base.1)?, needed(candidate.0, candidate.1)?);
        if names.0 != names.1 {
            return Ok(names);
        }
    }
    let names = (label(base.0, "base"), label(candidate.0, "candidate"));
    Ok(if names.0 == names.1 { ("base".to_owned(), "candidate".to_owned()) } else { names })
}

/// Lets two files meet that have no model in common. They are then called by their quantisation, since their names are long. Folders are
/// what a gate compares, and a gate that was given another model by mistake must not pass: there it has to be asked for.
fn meet(runs: &mut Intake, names: (String, String)) -> (String, String) {
    let Some(campaign) = runs.campaigns.first_mut().filter(|campaign| campaign.compare_by.is_none()) else {
        return names;
    };
    let Some(label) = ingest::meet(&mut runs.runs) else { return names };
    campaign.compare_by = Some(label.to_owned());
    let of = |side: &str| {
        let own = runs.runs.iter().filter(|run| run.environment == side);
        let mut said: Vec<String> =
            own.filter_map(|run| run.setup.quantisation.as_ref()).map(|q| q.to_lowercase()).collect();
        said.sort_unstable();
        said.dedup();
        <[String; 1]>::try_from(said).ok().map(|[only]| only)
    };
    match (of(&names.0), of(&names.1)) {
        (Some(a), Some(b)) if label == "quantisation" && a != b => {
            for run in &mut runs.runs {
                let name = if run.environment == names.0 { &a } else { &b };
                name.clone_into(&mut run.environment);
            }
            (a, b)
        }
        _ => names,
    }
}

/// The environment a side names, or the only one it has.
fn needed(side: &Side, runs: &[Run]) -> Result<String, Error> {
    let mut known: Vec<&str> = runs.iter().map(|run| run.environment.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let ask = |what: String| {
        let example = known.first().copied().unwrap_or("native");
        Err(Error::usage(what)
            .detail(format!("its environments are: {}", known.join(", ")))
            .hint(format!("name one, such as {}#{example}", archive::shown(&side.path))))
    };
    match &side.environment {
        Some(name) if known.contains(&name.as_str()) => Ok(name.clone()),
        Some(name) => ask(format!("'{}' has no environment '{name}'", archive::shown(&side.path))),
        // Where one name stands beside runs that nobody named, all of them are that side.
        None => match known.iter().filter(|name| **name != Campaign::UNLABELLED).collect::<Vec<_>>().as_slice() {
            [] => Ok(Campaign::UNLABELLED.to_owned()),
            [only] => Ok((**only).to_owned()),
            _ => ask(format!("'{}' holds several environments", archive::shown(&side.path))),
        },
    }
}

fn label(side: &Side, fallback: &str) -> String {
    let folder = || side.path.file_name().map(|name| archive::shown(name.as_ref()));
    side.environment.clone().or_else(folder).unwrap_or_else(|| fallback.to_owned())
}

fn relabel(intake: &mut Intake, side: &Side, name: &str) -> Result<(), Error> {
    let environment = needed(side, &intake.runs)?;
    let unnamed = side.environment.is_none();
    only(intake, |run| run.environment == environment || unnamed && run.environment == Campaign::UNLABELLED);
    intake.runs.iter_mut().for_each(|run| name.clone_into(&mut run.environment));
    Ok(())
}

/// Keeps the runs that are compared. What became of files of the others says nothing of these.
fn only(intake: &mut Intake, is_arm: impl Fn(&Run) -> bool) {
    let Intake { runs, campaigns, .. } = intake;
    let of_others = |altered: &Altered| {
        let of = || runs.iter().filter(|run| altered.concerns(&run.source, &run.files));
        of().next().is_some() && !of().any(&is_arm)
    };
    campaigns.iter_mut().for_each(|campaign| campaign.altered.retain(|altered| !of_others(altered)));
    runs.retain(is_arm);
}

/// Both sides become one campaign. The words of the first that has any are kept.
fn one_campaign(campaigns: &mut Vec<Campaign>, runs: &mut [Run]) {
    let mut altered: Vec<Altered> = campaigns.iter().flat_map(|campaign| campaign.altered.iter().cloned()).collect();
    altered.sort_unstable();
    altered.dedup();
    let recorded_files = campaigns.iter().map(|campaign| campaign.recorded_files).sum();
    campaigns.truncate(1);
    if let Some(campaign) = campaigns.first_mut() {
        (campaign.altered, campaign.recorded_files) = (altered, recorded_files);
        runs.iter_mut().for_each(|run| run.campaign.clone_from(&campaign.name));
    }
    runs.sort_by_key(|run| (run.started.is_none(), run.started));
}

/// Whether it is worse by more than its margin.
fn is_beyond(c: &Comparison) -> bool {
    let margin = c.tost.as_ref().map_or(0.0, |t| t.margin_pct);
    c.verdict.kind == VerdictKind::Slower && c.overhead_pct.is_some_and(|x| x > margin)
}

fn gate(shown: &[&Comparison]) -> Outcome {
    let primary = || shown.iter().filter(|c| c.primary);
    if primary().any(|c| is_beyond(c)) {
        Outcome::Refused
    } else if primary().any(|c| is_open(c)) {
        Outcome::Undecided
    } else {
        Outcome::Done
    }
}

/// Each comparison as one line under its name, and beside it what kind of verdict that is. Figures that cannot be compared stand there as
/// well. With `--verbose` the sentence in full and every reason.
fn terminal(shown: &[&Comparison], decision: Outcome, talk: &Talk) -> String {
    let mut text = String::new();
    let mut advice: Vec<&str> = Vec::new();
    let mut caveats = 0;
    for c in shown {
        text.push_str(&format!("{} · {} · {}\n", c.model, c.workload, c.label));
        text.push_str(&format!("  {:<15} {}\n", c.verdict.word(), c.verdict.said));
        let told = c.verdict.kind == VerdictKind::NotComparable && !c.verdict.is_once();
        if let (true, Some(x), Some(y)) = (told, c.mean_baseline, c.mean_candidate) {
            let (x, y) = (significant(x, 4), significant(y, 4));
            text.push_str(&format!(
                "  {:<15} {} {x} {unit}, {} {y} {unit}\n",
                "",
                c.baseline,
                c.candidate,
                unit = c.unit
            ));
        }
        if talk.is_verbose() {
            text.push_str(&format!("  {:<15} {}\n", "in full", c.verdict.text));
        }
        let once = c.verdict.advice.as_deref().filter(|_| c.verdict.is_once());
        advice.extend(once.filter(|text| !advice.contains(text)));
        caveats += c.verdict.caveats.len() + c.verdict.because.len().saturating_sub(1);
    }
    // One sentence is enough: that of the metric shown first.
    if let Some(first) = advice.first() {
        text.push_str(&format!("{first}\n"));
    }
    if caveats > 0 && !talk.is_verbose() {
        text.push_str(&format!("{} and caveats, shown with -v\n", count(caveats, "reason")));
    }
    let open = shown.iter().filter(|c| c.primary && is_open(c)).count();
    let primary = shown.iter().filter(|c| c.primary).count();
    text.push_str(&match decision {
        Outcome::Refused => "Worse beyond the margin.\n".to_owned(),
        Outcome::Undecided => format!("No verdict on {open} of {}.\n", count(primary, "primary metric")),
        Outcome::Done => "No regression beyond the margin.\n".to_owned(),
    });
    text
}

fn is_open(c: &Comparison) -> bool {
    matches!(c.verdict.kind, VerdictKind::Inconclusive | VerdictKind::NotComparable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_path_or_one_environment_of_it() {
        let side = |path: &str, environment: Option<&str>| Side {
            path: path.into(),
            environment: environment.map(str::to_owned),
        };
        let cases: &[(&str, &[&str], Side)] = &[
            ("a/b", &[], side("a/b", None)),
            ("a/b#docker", &[], side("a/b", Some("docker"))),
            ("a#", &[], side("a#", None)),
            ("#a", &[], side("#a", None)),
            ("a#b#c", &[], side("a#b", Some("c"))),
            // A `#` in the name of the file, with and without an environment.
            ("a#b", &["a", "a#b"], side("a#b", None)),
            ("a#b#c", &["a", "a#b"], side("a#b", Some("c"))),
            // A `#` in the name of the environment.
            ("a#b#c", &["a"], side("a", Some("b#c"))),
            ("a#b#", &["a"], side("a", Some("b#"))),
        ];
        for (text, there, expected) in cases {
            let found = Side::split(text.as_bytes(), |path| there.iter().any(|one| one.as_bytes() == path));
            assert_eq!(found, *expected, "{text}, where there is {there:?}");
        }
    }
}
