//! `sparkbench compare`: two archives, or two environments of one, in the terminal, as Markdown, and as a gate.

mod history;
mod machine;
mod markdown;
mod terminal;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::intake::{self, Judged, Judging};
use super::outcome::Outcome;
use super::series::Following;
use super::stdout::print;
use super::talk::Talk;
use sparkbench_archive::{self as archive, FileName};
use sparkbench_design as design;
use sparkbench_ingest::Intake;
use sparkbench_ingest::history::TIME_COLUMN;
use sparkbench_model::{Altered, Campaign, CustomMetric, Run, Setting, SettingOrigin, SettingValue};
use sparkbench_site::page;
use sparkbench_text::error::Error;
use sparkbench_verdict::badge;
use sparkbench_verdict::number::list;
use sparkbench_verdict::report::{Analysis, Comparison, Scope};

/// Compare sets of runs with the first of them, and exit with 1 when one is worse
///
/// BASE and CANDIDATE are folders or files of any tool, or one level of what they compare as PATH#LEVEL (an environment, an engine, a
/// precision). Runs meet by their settings. A BASE alone is compared within itself. Metrics without a better direction (memory, power) are
/// shown and never decide the exit code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench compare data/phase1#native data/phase1#container\n  \
                        sparkbench compare results/main results/branch --markdown comment.md --junit verdicts.xml\n  \
                        sparkbench compare model-bf16.json model-fp8.json    two files of any tool, one run each\n  \
                        sparkbench compare x/vllm x/sglang x/trtllm    each against the first\n  \
                        sparkbench compare results    the levels of what varies in it, such as bf16 and fp8\n  \
                        sparkbench compare archive --against history    the newest campaign against the stable period before it\n\n\
                        Exit codes: 0 every primary metric is equivalent, better, or worse by less than its margin,\n\
                        1 a primary metric is worse beyond its margin, 2 usage, 5 an input could not be read,\n\
                        6 a primary metric is inconclusive or not comparable.")]
pub(crate) struct Compare {
    /// Baseline: a folder or a file, or PATH#LEVEL
    #[arg(value_name = "BASE")]
    base: OsString,
    /// Candidate to judge: a folder or a file, or PATH#LEVEL. Without one the levels of BASE are compared
    #[arg(value_name = "CANDIDATE")]
    candidate: Option<OsString>,
    /// More candidates
    #[arg(value_name = "CANDIDATE")]
    more: Vec<OsString>,
    /// Compare the newest campaign of BASE with the last stable period before it. BASE may be anything that `sparkbench history` reads
    #[arg(long, value_name = "history", value_parser = ["history"], conflicts_with_all = ["candidate", "more", "junit", "badge", "all"])]
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
    level: Option<String>,
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
                Self { path: path_of(path), level: Some(environment.to_owned()) }
            }
            _ => Self { path: path_of(typed), level: None },
        }
    }
}

/// The path of these bytes.
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::new().join(FileName::new(bytes))
}

/// Takes out what two archives define under one name and mean differently: their figures are of two metrics.
fn apart(intakes: &mut [&mut Intake], talk: &Talk) {
    let mut known: BTreeMap<&str, &CustomMetric> = BTreeMap::new();
    let mut differ = BTreeSet::new();
    for (name, custom) in intakes.iter().flat_map(|intake| &intake.campaigns).flat_map(|campaign| &campaign.metrics) {
        if !known.entry(name).or_insert(custom).same_as(custom) {
            differ.insert(name.clone());
        }
    }
    for name in &differ {
        talk.warn(&format!("'{name}' is defined differently in the sides and is not compared"));
    }
    for intake in intakes {
        intake.runs.iter_mut().for_each(|run| run.readings.retain(|reading| !differ.contains(&reading.metric)));
        intake.campaigns.iter_mut().for_each(|campaign| campaign.metrics.retain(|name, _| !differ.contains(name)));
    }
}

/// Reads all sides, judges, prints, decides.
pub(crate) fn run(args: &Compare, talk: &Talk) -> Result<Outcome, Error> {
    if args.against.is_some() {
        return against_history(args, talk);
    }
    let typed: Vec<&OsString> = std::iter::once(&args.base).chain(&args.candidate).chain(&args.more).collect();
    let sides: Vec<Side> = typed.iter().map(|typed| Side::parse(typed)).collect();
    let judged = match &sides[..] {
        [only] if only.level.is_none() => levels_of(only, &args.judging, talk)?,
        [only] => {
            return Err(Error::usage(format!("'{}' is a single side", archive::shown(Path::new(&args.base)))).hint(
                format!(
                    "name another, or compare all levels of the archive: sparkbench compare {}",
                    archive::shown(&only.path)
                ),
            ));
        }
        several => sides_of(several, &args.judging, talk)?,
    };
    report(args, &judged, talk)
}

/// What was compared: the judgement, and the names of the sides, the baseline first.
struct Compared {
    judged: Judged,
    names: Vec<String>,
}

/// The levels of one archive, held against its baseline.
fn levels_of(side: &Side, judging: &Judging, talk: &Talk) -> Result<Compared, Error> {
    let runs = intake::runs_of(std::slice::from_ref(&side.path), judging, talk)?;
    let judged = intake::judge_runs(runs, judging, talk)?;
    let campaigns = &judged.analysis.campaigns;
    let baseline = campaigns.iter().find_map(|campaign| campaign.baseline.clone());
    let mut names: Vec<String> = campaigns.iter().flat_map(|campaign| campaign.environments.iter().cloned()).collect();
    names.sort_by_key(|name| Some(name) != baseline.as_ref());
    names.dedup();
    if judged.analysis.comparisons.is_empty() {
        let why = judged.analysis.to_compare.clone().unwrap_or_else(|| "no two levels of any setting meet".to_owned());
        return Err(Error::usage(format!("'{}' holds nothing to compare with itself", archive::shown(&side.path)))
            .detail(why)
            .hint("name a second folder or file"));
    }
    Ok(Compared { judged, names })
}

/// Two sides or more, each a path or one level of it. Cells meet by their settings.
fn sides_of(sides: &[Side], judging: &Judging, talk: &Talk) -> Result<Compared, Error> {
    let mut read: Vec<(&PathBuf, Intake)> = Vec::new();
    for side in sides {
        if !read.iter().any(|(path, _)| **path == side.path) {
            read.push((&side.path, intake::runs_of(std::slice::from_ref(&side.path), judging, talk)?));
        }
    }
    let one_archive = read.len() == 1;
    let names = names(sides, &read, judging)?;
    if read.len() > 1 {
        let mut intakes: Vec<&mut Intake> = read.iter_mut().map(|(_, intake)| intake).collect();
        apart(&mut intakes, talk);
    }
    let mut runs: Vec<Run> = Vec::new();
    for (side, name) in sides.iter().zip(&names) {
        let Some((_, intake)) = read.iter().find(|(path, _)| **path == side.path) else { continue };
        let own = chosen(side, &intake.runs)?;
        let several = intake.campaigns.len() > 1;
        let launches = runs.iter().filter_map(|run: &Run| run.launch).max().unwrap_or(0);
        runs.extend(own.into_iter().map(|run| of_side(run, name, (!one_archive).then_some(launches), several)));
    }
    if one_archive {
        apart_from_each_other(sides, &names, &runs)?;
    }
    let files = sides.iter().all(|side| side.level.is_none() && side.path.is_file());
    let mut all: Option<Intake> = None;
    for (_, mut intake) in read {
        match &mut all {
            None => all = Some(intake),
            Some(all) => {
                all.inputs.append(&mut intake.inputs);
                all.campaigns.append(&mut intake.campaigns);
                all.facts.append(&mut intake.facts);
            }
        }
    }
    let Some(mut all) = all else { return Err(Error::usage("nothing was named to compare")) };
    // Runs of two campaigns make no block of one: what either looked at says nothing of both together.
    if !one_archive {
        all.campaigns.iter_mut().for_each(|campaign| campaign.design = None);
    }
    only_of(&mut all.campaigns, &all.runs, &runs);
    all.runs = runs;
    let declared = all.campaigns.iter().all(|campaign| campaign.declared);
    one_campaign(&mut all.campaigns, &mut all.runs);
    meet(&mut all, sides, &names, judging, declared, files)?;
    let judging = Judging { baseline: names.first().cloned(), ..judging.clone() };
    let judged = intake::judge_runs(all, &judging, talk)?;
    Ok(Compared { judged, names })
}

/// Refuses sides of one archive that share a run.
fn apart_from_each_other(sides: &[Side], names: &[String], runs: &[Run]) -> Result<(), Error> {
    let of = |name: &String| -> BTreeSet<&str> {
        let is_own = |run: &&Run| run.settings.get(design::SIDE).is_some_and(|said| said.value == *name);
        runs.iter().filter(is_own).map(|run| run.id.as_str()).collect()
    };
    for (place, (side, name)) in sides.iter().zip(names).enumerate() {
        if names.iter().take(place).any(|other| !of(other).is_disjoint(&of(name))) {
            return Err(Error::usage(format!("'{}' is both BASE and CANDIDATE", archive::shown(&side.path)))
                .hint("name another archive, or another level of this one"));
        }
    }
    Ok(())
}

/// A run as one side has it. Two archives never share a launch, and ids may repeat between them: `launches` is the last of those before, where
/// the archive is one of several.
fn of_side(run: &Run, name: &str, launches: Option<u32>, several_campaigns: bool) -> Run {
    let mut run = run.clone();
    let said = |value: &str| SettingValue { value: value.to_owned(), origin: SettingOrigin::Label };
    run.settings.insert(design::SIDE.to_owned(), said(name));
    if several_campaigns && launches.is_none() {
        run.settings.insert(design::CAMPAIGN.to_owned(), said(&run.campaign));
    }
    if let Some(before) = launches {
        run.id = format!("{name}.{}", run.id);
        run.launch = run.launch.map(|launch| before.saturating_add(launch));
        run.together = run.together.map(|together| format!("{name}.{together}"));
    }
    run
}

/// Sorts the runs of all sides into cells that meet. Folders are what a gate compares, and a gate that was given another model by mistake must
/// not pass: there it has to be asked for.
///
/// # Errors
/// Sides without a cell in common. Says what each has.
fn meet(
    all: &mut Intake,
    sides: &[Side],
    names: &[String],
    judging: &Judging,
    declared: bool,
    files: bool,
) -> Result<(), Error> {
    let asks_for_models =
        judging.compare_by.as_deref().is_some_and(|by| ["model", "quantisation", "quantization"].contains(&by));
    let kept: &[&str] = if files || asks_for_models { &[] } else { &["model", "quantisation"] };
    let Some(campaign) = all.campaigns.first_mut() else { return Ok(()) };
    campaign.baseline = None;
    let mut lay_out = |runs: &mut [Run], declared: bool, kept: &[&str]| {
        let mut own: Vec<&mut Run> = runs.iter_mut().collect();
        let asked = design::Asked { compare_by: Some(design::SIDE), declared, kept };
        design::lay_out(campaign, &mut own, asked)
    };
    if lay_out(&mut all.runs, declared, kept) {
        return Ok(());
    }
    // Workloads may have other names in each archive, and be the same by their settings.
    let mut nameless = all.runs.clone();
    nameless.iter_mut().for_each(|run| _ = run.settings.remove("workload"));
    if lay_out(&mut nameless, false, kept) {
        all.runs = nameless;
        return Ok(());
    }
    if let Some(several) = sides.iter().zip(names).find_map(|(side, name)| holds_several(side, name, &all.runs)) {
        return Err(several);
    }
    let would_meet = !kept.is_empty() && lay_out(&mut all.runs.clone(), declared, &[]);
    lay_out(&mut all.runs, declared, kept);
    let cells = |side: &String| {
        let own = all.runs.iter().filter(|run| run.environment == *side);
        let mut cells: Vec<String> = own.map(|run| format!("{} · {}", run.model, run.workload)).collect();
        cells.sort_unstable();
        cells.dedup();
        let more = cells.len().saturating_sub(MOST_CELLS);
        cells.truncate(MOST_CELLS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("'{side}' has {}{more}", cells.join(", "))
    };
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    Err(Error::archive(format!("{} have no model and workload in common", list(&quoted)))
        .detail(list(&names.iter().map(cells).collect::<Vec<_>>()))
        .hint(if would_meet {
            "add --compare-by model to compare them anyway"
        } else {
            "compare runs of the same model and workload, or name both alike in a file for --labels: set = { workload = \"NAME\" }"
        }))
}

/// The error of a side that names no level and has several environments, where nothing meets.
fn holds_several(side: &Side, name: &str, runs: &[Run]) -> Option<Error> {
    if side.level.is_some() {
        return None;
    }
    let is_own = |run: &&Run| run.settings.get(design::SIDE).is_some_and(|said| said.value == name);
    let own = runs.iter().filter(is_own).filter_map(|run| Some(run.settings.get("environment")?.value.as_str()));
    let known: BTreeSet<&str> = own.collect();
    let first = known.first().filter(|_| known.len() > 1)?;
    let path = archive::shown(&side.path);
    Some(
        Error::usage(format!("'{path}' holds several environments"))
            .detail(format!("its environments are: {}", known.iter().copied().collect::<Vec<_>>().join(", ")))
            .hint(format!("name one, such as {path}#{first}")),
    )
}

/// Prints and writes the verdicts, and decides.
fn report(args: &Compare, compared: &Compared, talk: &Talk) -> Result<Outcome, Error> {
    let Compared { judged, names } = compared;
    let analysis = &judged.analysis;
    let is_side = |c: &&Comparison| names.contains(&c.candidate) && (args.all || c.primary);
    let shown: Vec<&Comparison> = analysis.comparisons.all().filter(is_side).collect();
    if shown.is_empty() {
        return Err(Error::archive(format!("{} have no metric in common", list(names)))
            .hint("add --all to see every metric that either has"));
    }
    let decision = terminal::gate(&shown);
    print(&if args.json {
        machine::json(&shown, names, decision, analysis)?
    } else {
        terminal::draw(&shown, &alone(analysis, names), decision, talk)
    })?;
    if let Some(file) = &args.markdown {
        archive::write_atomic(file, markdown::draw(&shown, names, decision, analysis).as_bytes())?;
    }
    if let Some(file) = &args.junit {
        let refuses = |c: &Comparison| c.primary && terminal::is_beyond(c);
        archive::write_atomic(file, machine::junit(&shown, names, refuses).as_bytes())?;
    }
    if let (Some(file), Some(said)) = (&args.badge, badge::of(shown.iter().copied().filter(|c| c.scope == Scope::Load)))
    {
        archive::write_atomic(file, page::badge(&said).as_bytes())?;
    }
    Ok(decision)
}

/// Cells that only some sides have, as lines.
fn alone(analysis: &Analysis, names: &[String]) -> Vec<String> {
    let mut cells: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for run in &analysis.runs {
        cells.entry((&run.model, &run.workload)).or_default().insert(&run.environment);
    }
    cells
        .into_iter()
        .filter(|(_, sides)| names.iter().any(|name| !sides.contains(name.as_str())))
        .map(|((model, workload), sides)| {
            format!("{model} · {workload}: only in {}", list(&sides.into_iter().collect::<Vec<_>>()))
        })
        .collect()
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

/// Names of the sides: the levels that they name, the names of their files and folders, or the precisions of two files that differ in no more.
fn names(sides: &[Side], read: &[(&PathBuf, Intake)], judging: &Judging) -> Result<Vec<String>, Error> {
    let runs =
        |side: &Side| read.iter().find(|(path, _)| **path == side.path).map_or(&[][..], |(_, intake)| &intake.runs);
    let mut names = Vec::new();
    for (place, side) in sides.iter().enumerate() {
        let own = chosen(side, runs(side))?;
        let folder = || side.path.file_name().map(|name| archive::shown(name.as_ref()));
        let fallback = || if place == 0 { "base".to_owned() } else { format!("candidate {place}") };
        let asked = judging.compare_by.as_deref().and_then(|by| only_value(&own, by));
        names.push(side.level.clone().or(asked).or_else(folder).unwrap_or_else(fallback));
    }
    if sides.iter().all(|side| side.level.is_none() && side.path.is_file()) {
        let said: Option<Vec<String>> = sides
            .iter()
            .map(|side| Some(only_value(&chosen(side, runs(side)).ok()?, "quantisation")?.to_lowercase()))
            .collect();
        if let Some(said) = said.filter(|said| said.iter().collect::<BTreeSet<_>>().len() == said.len()) {
            return Ok(said);
        }
    }
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    names.iter().for_each(|name| *taken.entry(name.clone()).or_default() += 1);
    if taken.values().all(|count| *count == 1) {
        return Ok(names);
    }
    if sides.iter().enumerate().any(|(place, side)| sides.iter().take(place).any(|other| other == side)) {
        return Err(Error::usage(format!(
            "'{}' is both BASE and CANDIDATE",
            sides.first().map_or_else(String::new, |side| archive::shown(&side.path))
        ))
        .hint("name another archive, or another level of this one"));
    }
    // Two folders of one name.
    let number = |(place, _): (usize, &Side)| match place {
        0 => "base".to_owned(),
        1 => "candidate".to_owned(),
        _ => format!("candidate {place}"),
    };
    Ok(sides.iter().enumerate().map(number).collect())
}

/// The only value of a setting among some runs.
fn only_value(runs: &[&Run], name: &str) -> Option<String> {
    let name = Setting::find(name).map_or(name, |setting| setting.name);
    let said: BTreeSet<&str> = runs.iter().filter_map(|run| Some(run.settings.get(name)?.value.as_str())).collect();
    match said.into_iter().collect::<Vec<_>>()[..] {
        [only] => Some(only.to_owned()),
        _ => None,
    }
}

/// The runs of a side: all, or those of the level that it names, whichever setting has it.
fn chosen<'r>(side: &Side, runs: &'r [Run]) -> Result<Vec<&'r Run>, Error> {
    let Some(level) = &side.level else { return Ok(runs.iter().collect()) };
    let arm: Vec<&Run> = runs.iter().filter(|run| run.environment == *level).collect();
    if !arm.is_empty() {
        return Ok(arm);
    }
    let has = |run: &Run, name: &str| run.settings.get(name).is_some_and(|said| said.value.eq_ignore_ascii_case(level));
    let names: BTreeSet<&str> = runs.iter().flat_map(|run| run.settings.keys().map(String::as_str)).collect();
    if let Some(name) = names.into_iter().find(|name| runs.iter().any(|run| has(run, name))) {
        return Ok(runs.iter().filter(|run| has(run, name)).collect());
    }
    let mut known: Vec<&str> = runs.iter().map(|run| run.environment.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let example = known.first().copied().unwrap_or("native");
    Err(Error::usage(format!("'{}' has no environment or other level '{level}'", archive::shown(&side.path)))
        .detail(format!("its levels are: {}", known.join(", ")))
        .hint(format!("name one, such as {}#{example}", archive::shown(&side.path))))
}

/// What became of files of runs that are not compared says nothing of those that are.
fn only_of(campaigns: &mut [Campaign], all: &[Run], kept: &[Run]) {
    let of_others = |altered: &Altered| {
        let concerns = |run: &&Run| altered.concerns(&run.source, &run.files);
        all.iter().any(|run| concerns(&run)) && !kept.iter().any(|run| concerns(&run))
    };
    campaigns.iter_mut().for_each(|campaign| campaign.altered.retain(|altered| !of_others(altered)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_path_or_one_environment_of_it() {
        let side =
            |path: &str, environment: Option<&str>| Side { path: path.into(), level: environment.map(str::to_owned) };
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
