//! User-defined metrics: from a suite, from `labels.toml`, or from a `metrics.toml`.
//!
//! In:  definitions, runs, the files of the runs.  Out: one more reading for each run and metric, with its source file. A warning with the
//! reason for each metric that some runs lack.
//! Not here: expressions (see `formula`), one run's files (see `of_run`), lines of TOML (see `toml`).
//!
//! A definition applies to the campaigns in its folder and below. Where several name the same metric, that of the campaign itself counts,
//! then the nearest one. Where two campaigns mean different things by one name, each gets its own name with a part of the definition's hash.
//! So their figures can never be compared by mistake.

mod definitions;
mod from_file;
mod of_run;
mod snapshots;
mod toml;

use std::collections::{BTreeMap, BTreeSet};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

pub use self::definitions::Definitions;
pub(super) use self::definitions::DefinitionsByFolder;
use self::of_run::OfRun;
pub(super) use self::toml::faults;
pub use self::toml::{MetricsFile, from_command_line};
use super::file_report::FileReport;
use super::options::Derive;
use sparkbench_archive::{self as archive, Discovery};
use sparkbench_model::formula::definition::{Checked, check};
use sparkbench_model::{Campaign, CustomMetric, LocalFacts, Origin, Reading, Run, Source, Status, custom};
use sparkbench_text::error::Error;

/// Rule of a figure that an expression gave.
const RULE_EXPRESSION: &str = "custom.expression";
/// Rule of a figure that was read from a file.
const RULE_FILE: &str = "custom.file";
/// Rule of a figure that a command printed.
const RULE_COMMAND: &str = "custom.command";

/// Works out every metric that a campaign defines, for each of its runs.
///
/// # Errors
/// Facts that come with the program and cannot be read.
pub(super) fn apply(
    found: &Discovery,
    runs: &mut [Run],
    campaigns: &mut [Campaign],
    facts: &[LocalFacts],
    derive: Option<Derive>,
    report: &mut FileReport,
) -> Result<(), Error> {
    if campaigns.iter().all(|campaign| campaign.metrics.is_empty()) {
        return Ok(());
    }
    apart(campaigns, report);
    let complete = derived(runs, campaigns, facts, derive)?;
    for campaign in campaigns.iter() {
        // Definitions were checked where they were read.
        let checked = campaign.metrics.iter().filter_map(|(name, custom)| {
            let checked = check(plain(name), custom).ok()?;
            custom::define(name, custom, &checked.unit, checked.zero_is_arbitrary);
            Some((name.as_str(), custom, checked))
        });
        let metrics: Vec<(&str, &CustomMetric, Checked)> = checked.collect();
        let own: Vec<(usize, &Run)> =
            complete.iter().enumerate().filter(|(_, run)| run.campaign == campaign.name && is_told(run)).collect();
        let worked: Vec<Vec<Result<Reading, String>>> = own
            .par_iter()
            .map(|(_, run)| {
                let source = OfRun::new(found, run);
                metrics.iter().map(|(name, custom, checked)| one(run, &source, name, custom, checked)).collect()
            })
            .collect();
        for (at, (name, ..)) in metrics.iter().enumerate() {
            let results = own.iter().zip(&worked).filter_map(|((_, run), all)| Some((*run, all.get(at)?)));
            tell(&campaign.name, name, results, report);
        }
        for ((place, _), readings) in own.iter().zip(worked) {
            let Some(run) = runs.get_mut(*place) else { continue };
            for reading in readings.into_iter().flatten() {
                note_file(found, run, &reading, report);
                run.readings.push(reading);
            }
        }
    }
    Ok(())
}

fn is_told(run: &Run) -> bool {
    !matches!(run.status, Status::Failed(_))
}

/// The runs with every figure that the analysis will make of them: an expression may name those too.
fn derived(
    runs: &[Run],
    campaigns: &[Campaign],
    facts: &[LocalFacts],
    derive: Option<Derive>,
) -> Result<Vec<Run>, Error> {
    let defining: BTreeSet<&str> = campaigns
        .iter()
        .filter(|campaign| !campaign.metrics.is_empty())
        .map(|campaign| campaign.name.as_str())
        .collect();
    let mut complete = runs.to_vec();
    for run in complete.iter_mut().filter(|run| !defining.contains(run.campaign.as_str())) {
        // Nothing is asked of them.
        (run.series, run.telemetry) = (Vec::new(), Vec::new());
    }
    if let Some(derive) = derive {
        derive(&mut complete, campaigns, facts)?;
    }
    Ok(complete)
}

/// Gives different names to different definitions of one name, here and in what their campaigns promise.
fn apart(campaigns: &mut [Campaign], report: &mut FileReport) {
    let mut first: BTreeMap<String, CustomMetric> = BTreeMap::new();
    let mut several: BTreeSet<String> = BTreeSet::new();
    for (name, custom) in campaigns.iter().flat_map(|campaign| &campaign.metrics) {
        if !first.entry(name.clone()).or_insert_with(|| custom.clone()).same_as(custom) {
            several.insert(name.clone());
        }
    }
    for name in &several {
        report.warn(format!("'{name}' is defined in several ways, and each is a metric of its own"));
    }
    for campaign in campaigns {
        for name in &several {
            let Some(mut custom) = campaign.metrics.remove(name) else { continue };
            let named = name_of(name, &custom);
            let label = custom.label.take().unwrap_or_else(|| name.replace('_', " "));
            custom.label = Some(format!("{label} ({})", campaign.title.as_deref().unwrap_or(&campaign.name)));
            rename(campaign, name, &named);
            campaign.metrics.insert(named, custom);
        }
    }
}

/// The name of one of several definitions: it depends on the definition alone.
fn name_of(name: &str, custom: &CustomMetric) -> String {
    const LETTERS: usize = 6;
    let unit = custom.unit.clone().unwrap_or_default();
    let hash = archive::hash(format!("{} [{unit}] {:?}", custom.definition(), custom.direction).as_bytes());
    format!("{name}{APART}{}", hash.get(..LETTERS).unwrap_or(&hash))
}

/// Stands before the part of a hash. No name that a person gives holds it.
const APART: &str = "__";

/// The name as a person gave it.
fn plain(name: &str) -> &str {
    name.split_once(APART).map_or(name, |(plain, _)| plain)
}

fn rename(campaign: &mut Campaign, from: &str, to: &str) {
    let names = campaign.primary.iter_mut().chain(&mut campaign.planned_metrics);
    let expected = campaign.hypotheses.iter_mut().filter_map(|hypothesis| hypothesis.metric.as_mut());
    names.chain(expected).filter(|name| *name == from).for_each(|name| to.clone_into(name));
    for table in [&mut campaign.margins_pct, &mut campaign.truth] {
        if let Some(value) = table.remove(from) {
            table.insert(to.to_owned(), value);
        }
    }
}

/// One metric of one run.
fn one(run: &Run, source: &OfRun<'_>, name: &str, custom: &CustomMetric, checked: &Checked) -> Result<Reading, String> {
    use sparkbench_model::formula::definition::DefinitionOrigin as Kind;
    match &checked.origin {
        Kind::Formula(formula) => {
            let value = formula.work_out(source)?;
            let requests = || source.requests_file().map(str::to_owned);
            let file = if formula.of_requests() || formula.of_server() { requests() } else { None };
            let origin = Origin {
                file: file.unwrap_or_else(|| run.source.path.clone()),
                line: None,
                field: Some(custom.definition()),
                rule: RULE_EXPRESSION,
            };
            Ok(Reading { metric: name.to_owned(), value, decimals: None, origin })
        }
        Kind::File(take) => {
            let rule = if custom.command.is_empty() { RULE_FILE } else { RULE_COMMAND };
            let file = source.file_of(plain(name), custom)?;
            let taken = from_file::take(file, take, checked.aggregate)?;
            let field = taken.field.or_else(|| custom.aggregate.clone());
            let origin = Origin { file: file.path.clone(), line: taken.line, field, rule };
            Ok(Reading { metric: name.to_owned(), value: taken.value, decimals: taken.decimals, origin })
        }
    }
}

/// Says of how many runs there is no figure, and why. A metric without any is most likely a slip of the pen.
fn tell<'r>(
    campaign: &str,
    name: &str,
    results: impl Iterator<Item = (&'r Run, &'r Result<Reading, String>)>,
    report: &mut FileReport,
) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut all = 0;
    for (run, result) in results {
        all += 1;
        if let Err(why) = result {
            reasons.entry(why).or_default().push(&run.id);
        }
    }
    for (why, runs) in reasons {
        let example = runs.first().copied().unwrap_or_default();
        let of = match (runs.len(), all) {
            (1, 1) => "its one run".to_owned(),
            (absent, all) if absent == all => format!("all {all} runs"),
            (absent, all) => format!("{absent} of {all} runs, such as '{example}'"),
        };
        report.warn(format!("metric '{name}' of '{campaign}' is absent in {of}: {why}"));
    }
}

/// The file that a figure comes from is one of the run's.
fn note_file(found: &Discovery, run: &mut Run, reading: &Reading, report: &FileReport) {
    let known = std::iter::once(&run.source).chain(&run.files).any(|file| file.path == reading.origin.file);
    let number = || found.files.binary_search_by(|file| file.path.as_str().cmp(&reading.origin.file)).ok();
    if let Some(number) = Some(()).filter(|()| !known).and_then(|()| number()) {
        let joined = Some(format!("the metric '{}' reads it", reading.metric));
        run.files.push(Source { joined, ..report.source(number) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(name: &str, expression: &str) -> Campaign {
        let custom = CustomMetric { expression: Some(expression.into()), ..CustomMetric::default() };
        Campaign {
            name: name.into(),
            primary: vec!["ratio".into(), "ttft_ms".into()],
            metrics: Definitions::from([("ratio".to_owned(), custom)]),
            ..Campaign::default()
        }
    }

    #[test]
    fn one_name_with_two_meanings_becomes_two_names() {
        let none = Discovery::default();
        let mut report = FileReport::new(&none, &[]);
        let mut same = [campaign("a", "isl / osl"), campaign("b", "isl  /  osl")];
        apart(&mut same, &mut report);
        assert!(same.iter().all(|campaign| campaign.metrics.contains_key("ratio")));

        let mut other = [campaign("a", "isl / osl"), campaign("b", "osl / isl")];
        apart(&mut other, &mut report);
        let names: Vec<&String> = other.iter().flat_map(|campaign| campaign.metrics.keys()).collect();
        assert!(names.iter().all(|name| name.starts_with("ratio__")) && names[0] != names[1], "{names:?}");
        assert_eq!((&other[0].primary[0], plain(names[1])), (names[0], "ratio"));
        assert_eq!(report.warnings(), ["'ratio' is defined in several ways, and each is a metric of its own"]);
    }

    #[test]
    fn the_nearest_definition_counts() {
        let named = |expression: &str| campaign("a", expression).metrics;
        let mut places = DefinitionsByFolder::default();
        places.add("", named("isl"));
        places.add("x/y", named("osl"));
        for (folder, expression) in [("x/y/z", "osl"), ("x/y", "osl"), ("x", "isl"), ("", "isl")] {
            assert_eq!(places.of(folder)["ratio"].expression.as_deref(), Some(expression), "{folder}");
        }
    }
}
