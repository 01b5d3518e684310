//! The way every judging verb goes: files, runs, frames, judgements.
//!
//! In:  paths and settings as typed.  Out: [`Judged`].
//! Not here: what is done with the judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use super::privacy::{self, Scrubbed};
use super::talk::Talk;
use sparkbench_archive::manifest::INTERRUPTED_FOLDER;
use sparkbench_archive::{self as archive, Discovery};
use sparkbench_design::Keep;
use sparkbench_frame as frame;
use sparkbench_ingest::{self as ingest, Ask, Intake};
use sparkbench_model::{Altered, FactConflict, Metric, Run};
use sparkbench_text::error::Error;
use sparkbench_verdict::report::{Analysis, Input};
use sparkbench_verdict::{self as verdict, Settings, Study};

/// Draws below which a bootstrap limit is not worth printing (statistics contract 3.1).
const LEAST_RESAMPLES: usize = 999;

/// Draws above which nothing is gained: at a million a limit is steady to a thousandth of its spread, at 8 MB a statistic.
const MOST_RESAMPLES: usize = 1_000_000;

/// Files, and figures, that are named one by one in the terminal.
const NAMED: usize = 8;

/// Two-sided level where none is given.
pub(crate) const CONFIDENCE: f64 = 0.95;
/// Draws of each bootstrap where no number is given.
pub(crate) const RESAMPLES: usize = 10_000;
/// Seed where none is given.
pub(crate) const SEED: u64 = 42;

/// Options shared by the verbs that judge.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Judging {
    /// Environment that the others are compared with [default: the campaign's, else `native`, else the first by name]
    #[arg(long, value_name = "ENV")]
    pub baseline: Option<String>,
    /// Equivalence margin of a metric, in per cent of the baseline. May be repeated
    #[arg(long = "margin", value_name = "METRIC=PCT")]
    pub margins: Vec<String>,
    /// Confidence level of every interval, two-sided, above 0.5 and below 1
    #[arg(long, value_name = "LEVEL", default_value_t = CONFIDENCE)]
    pub confidence: f64,
    /// Number of draws of each bootstrap
    #[arg(long, value_name = "N", default_value_t = RESAMPLES)]
    pub resamples: usize,
    /// Seed of every random draw. The same seed gives the same bytes
    #[arg(long, value_name = "SEED", default_value_t = SEED)]
    pub seed: u64,
    /// File with labels that files lack (environment, model, workload), by glob
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// File with definitions of metrics for every campaign, in addition to its own
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// File with facts of machines, models and prices that come before the shipped ones
    #[arg(long, value_name = "FILE")]
    pub facts: Option<PathBuf>,
    /// Setting to compare by: engine, quantisation, backend, folder or any other that varies. `?` lists those of the files
    #[arg(long, value_name = "SETTING")]
    pub compare_by: Option<String>,
    /// Leave out runs without this level of a setting, such as concurrency=8 or engine!=vLLM. May be repeated
    #[arg(long = "where", value_name = "SETTING=LEVEL", value_parser = Keep::parse)]
    pub keep: Vec<Keep>,
    /// The same as --compare-by folder, where folders differ in a word
    #[arg(long, hide = true)]
    pub arms_by_folder: bool,
    /// Whether each folder is a campaign of its own.
    #[arg(skip)]
    pub campaign_per_folder: bool,
    /// Whether gaps between tokens are of no use. A verb knows.
    #[arg(skip)]
    pub without_gaps: bool,
}

impl Default for Judging {
    fn default() -> Self {
        Self {
            baseline: None,
            margins: Vec::new(),
            confidence: CONFIDENCE,
            resamples: RESAMPLES,
            seed: SEED,
            labels: None,
            metrics: None,
            facts: None,
            compare_by: None,
            keep: Vec::new(),
            arms_by_folder: false,
            campaign_per_folder: false,
            without_gaps: false,
        }
    }
}

impl Judging {
    /// What the person who asks adds to the files.
    pub(crate) fn reading(&self) -> ingest::Options {
        ingest::Options {
            labels: self.labels.clone(),
            metrics: self.metrics.clone(),
            facts: self.facts.clone(),
            compare_by: self.compare_by.clone(),
            keep: self.keep.clone(),
            arms_by_folder: self.arms_by_folder,
            campaign_per_folder: self.campaign_per_folder,
            without_gaps: self.without_gaps,
            derive: Some(sparkbench_verdict::derive::all),
        }
    }

    /// Checked settings.
    ///
    /// # Errors
    /// A level outside (0, 1), too few draws, a margin that names no metric or no positive number.
    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        if !(self.confidence > 0.5 && self.confidence < 1.0) {
            return Err(Error::usage(format!("--confidence {} is not a valid level", self.confidence))
                .hint("give a number above 0.5 and below 1, such as 0.95"));
        }
        if self.resamples < LEAST_RESAMPLES {
            return Err(Error::usage(format!("--resamples {} is too few", self.resamples))
                .hint(format!("give at least {LEAST_RESAMPLES} (default 10000)")));
        }
        if self.resamples > MOST_RESAMPLES {
            return Err(Error::usage(format!("--resamples {} is too many", self.resamples))
                .hint(format!("give at most {MOST_RESAMPLES} (default 10000)")));
        }
        let mut margins_pct = BTreeMap::new();
        for margin in &self.margins {
            let (metric, pct) = parse_margin(margin)?;
            margins_pct.insert(metric, pct);
        }
        Ok(Settings {
            confidence: self.confidence,
            resamples: self.resamples,
            seed: self.seed,
            baseline: self.baseline.clone(),
            margins_pct,
        })
    }
}

fn parse_margin(text: &str) -> Result<(String, f64), Error> {
    let wrong = |why: String| {
        Err(Error::usage(format!("--margin {text}: {why}"))
            .hint("write it as METRIC=PCT, such as ttft_ms=5. List the metrics with: sparkbench metrics"))
    };
    let Some((metric, pct)) = text.split_once('=') else { return wrong("it has no '='".to_owned()) };
    if Metric::find(metric).is_none() {
        return wrong(format!("'{metric}' is not a metric"));
    }
    match pct.trim_end_matches('%').parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok((metric.to_owned(), value)),
        _ => wrong(format!("'{pct}' is not a number above 0")),
    }
}

/// A judged input.
#[derive(Debug)]
pub(crate) struct Judged {
    /// What was judged.
    pub study: Study,
    /// The judgement.
    pub analysis: Analysis,
    /// Labels that nobody said.
    pub ask: Option<Ask>,
    /// What was replaced before the judgement, where anything was to be.
    pub scrubbed: Option<Scrubbed>,
}

/// Reads, replaces what must not be published if so asked, tabulates, judges.
///
/// # Errors
/// No file, no run in any file, labels that cannot be used.
pub(crate) fn judge(paths: &[PathBuf], judging: &Judging, scrub: bool, talk: &Talk) -> Result<Judged, Error> {
    let found = archive::discover(paths)?;
    let mut intake = read(&found, paths, judging, talk)?;
    let scrubbed = scrub.then(|| privacy::scrub(&mut intake, &found));
    Ok(asked(judge_runs(intake, judging, talk)?, judging, scrubbed))
}

/// Notes what was asked for, so that `verify` can make the same again.
fn asked(mut judged: Judged, judging: &Judging, scrubbed: Option<Scrubbed>) -> Judged {
    judged.analysis.settings.asked.labels = judging.labels.is_some();
    judged.analysis.settings.asked.metrics = judging.metrics.is_some();
    judged.analysis.settings.asked.facts = judging.facts.is_some();
    judged.analysis.settings.asked.compare_by = judging.compare_by.clone();
    judged.analysis.settings.asked.keep = judging.keep.iter().map(ToString::to_string).collect();
    judged.analysis.settings.asked.arms_by_folder = judging.arms_by_folder;
    judged.analysis.settings.asked.scrubbed = scrubbed.is_some();
    Judged { scrubbed, ..judged }
}

/// What was read and judged before, for a program that stays.
#[derive(Debug, Default)]
pub(crate) struct IntakeMemory {
    files: ingest::Memory,
    judged: verdict::Memory,
}

impl IntakeMemory {
    /// Reads what was discovered, as [`runs_of`] does, and only those files that have changed. What is left out is in the inputs.
    ///
    /// # Errors
    /// No run in any file, labels that cannot be used.
    pub(crate) fn runs_of(&mut self, found: &Discovery, judging: &Judging, paths: &[PathBuf]) -> Result<Intake, Error> {
        let intake = ingest::again(found, &judging.reading(), &mut self.files, SystemTime::now())?;
        ingest::unusable(found, &intake.inputs).map_or(Ok(()), Err)?;
        if intake.runs.is_empty() { Err(nothing_to_judge(paths, &intake.inputs)) } else { Ok(intake) }
    }

    /// Judges as [`judge`] does, and only what has changed. Where `whole` is false, with the intervals of requests that have changed left
    /// to the next whole round.
    ///
    /// # Errors
    /// A setting that makes no sense, a table that cannot be built.
    pub(crate) fn judge(
        &mut self,
        mut intake: Intake,
        found: &Discovery,
        judging: &Judging,
        scrub: bool,
        whole: bool,
    ) -> Result<Judged, Error> {
        let scrubbed = scrub.then(|| privacy::scrub(&mut intake, found));
        self.judged.resample(whole);
        Ok(asked(judge_by(intake, judging, &mut self.judged, &|_| {})?, judging, scrubbed))
    }
}

/// Reads what lies below the paths. What was left out is said, and kept in the inputs.
///
/// # Errors
/// No file, no run in any file, labels that cannot be used.
pub(crate) fn runs_of(paths: &[PathBuf], judging: &Judging, talk: &Talk) -> Result<Intake, Error> {
    Ok(scrubbed_runs_of(paths, judging, false, talk)?.0)
}

/// Like [`runs_of`], and where `scrub` is set with what must not be published replaced, as for a site.
///
/// # Errors
/// Like [`runs_of`].
pub(crate) fn scrubbed_runs_of(
    paths: &[PathBuf],
    judging: &Judging,
    scrub: bool,
    talk: &Talk,
) -> Result<(Intake, Option<Scrubbed>), Error> {
    let found = archive::discover(paths)?;
    let mut intake = read(&found, paths, judging, talk)?;
    // Telemetry alone can be shown. Held against other telemetry it would look like a result.
    if !intake.measured {
        return Err(nothing_to_judge(paths, &intake.inputs));
    }
    let scrubbed = scrub.then(|| privacy::scrub(&mut intake, &found));
    Ok((intake, scrubbed))
}

fn read(found: &Discovery, paths: &[PathBuf], judging: &Judging, talk: &Talk) -> Result<Intake, Error> {
    talk.detail(&format!("{} found", verdict::number::count(found.files.len(), "file")));
    let intake = ingest::all(found, &judging.reading())?;
    intake.warnings.iter().for_each(|line| talk.warn(line));
    ingest::unusable(found, &intake.inputs).map_or(Ok(()), Err)?;
    ingest::left_out(&intake.inputs).iter().for_each(|line| talk.warn(line));
    tell_altered(&intake.inputs, paths, talk);
    tell_conflicts(&verdict::facts::with(&intake.facts)?.conflicts, talk);
    if intake.runs.is_empty() {
        return Err(nothing_to_judge(paths, &intake.inputs));
    }
    Ok(intake)
}

/// Tells which files are not what was recorded of them. They are analysed all the same.
fn tell_altered(inputs: &[Input], paths: &[PathBuf], talk: &Talk) {
    let mut altered: Vec<&Altered> = inputs.iter().filter_map(|input| input.altered.as_ref()).collect();
    altered.sort_by_key(|altered| !altered.is_error);
    let names: Vec<String> = paths.iter().map(|path| format!("'{}'", archive::shown(path))).collect();
    for altered in altered.iter().take(NAMED) {
        let place = format!("in {}, by the hash in '{}'", names.join(", "), altered.record);
        if altered.is_error {
            talk.error(&Error::archive(altered.sentence()).detail(place).hint(altered.remedy.clone()));
        } else {
            talk.warn(&format!("{} {place}. Try: {}", altered.sentence(), altered.remedy));
        }
    }
    if altered.len() > NAMED {
        let more = verdict::number::count(altered.len() - NAMED, "more file");
        talk.warn(&format!("{more} not as recorded. `sparkbench verify` lists what differs in an archive"));
    }
}

/// Tells on which facts the sources differ, and which counts.
fn tell_conflicts(conflicts: &[FactConflict], talk: &Talk) {
    conflicts.iter().take(NAMED).for_each(|conflict| talk.warn(&conflict.sentence()));
    if conflicts.len() > NAMED {
        talk.warn(&format!("{} on which facts differ", verdict::number::count(conflicts.len() - NAMED, "more figure")));
    }
    if conflicts.iter().any(|conflict| conflict.used_from == FactConflict::SHIPPED) {
        talk.warn("to let the facts of a file come first, give it with --facts, or write facts = \"local\" into the labels.toml of its folder");
    }
}

/// Runs that were read, with what is known of machines and models, and with every figure that follows from others.
///
/// # Errors
/// Facts that come with the program and cannot be read.
pub(crate) fn study_of(intake: Intake) -> Result<Study, Error> {
    derived(intake, &mut verdict::Memory::none())
}

fn derived(intake: Intake, memory: &mut verdict::Memory) -> Result<Study, Error> {
    let facts = verdict::facts::with(&intake.facts)?;
    let mut runs: Vec<Run> = intake.runs;
    memory.derive(&mut runs);
    let mut campaigns = intake.campaigns;
    verdict::derive::of_facts(&campaigns, &mut runs, &facts);
    campaigns.iter_mut().for_each(|campaign| campaign.archive_sha256 = hash_of(&campaign.name, &runs));
    verdict::facts::note(&mut campaigns, &runs, &facts);
    Ok(Study { campaigns, runs, facts, inputs: intake.inputs })
}

/// Tabulates and judges runs that were read.
///
/// # Errors
/// A setting that makes no sense, a table that cannot be built.
pub(crate) fn judge_runs(intake: Intake, judging: &Judging, talk: &Talk) -> Result<Judged, Error> {
    let bar = talk.progress(intake.campaigns.len() as u64, "judging");
    let step = |campaign: &str| {
        bar.inc(1);
        talk.detail(&format!("judged {campaign}"));
    };
    let judged = judge_by(intake, judging, &mut verdict::Memory::none(), &step);
    bar.finish_and_clear();
    judged
}

fn judge_by(
    intake: Intake,
    judging: &Judging,
    memory: &mut verdict::Memory,
    step: &(dyn Fn(&str) + Sync),
) -> Result<Judged, Error> {
    let settings = judging.settings()?;
    known_baseline(settings.baseline.as_deref(), &intake.runs)?;
    let ask = intake.ask.clone();
    let study = derived(intake, memory)?;
    let frames = frame::build(&study.runs)?;
    let analysis = verdict::again(&study, &frames.cells()?, &settings, memory, step);
    Ok(Judged { study, analysis, ask, scrubbed: None })
}

/// A baseline that no campaign has would be passed over in silence: most likely a slip of the pen.
fn known_baseline(asked: Option<&str>, runs: &[Run]) -> Result<(), Error> {
    let known: BTreeSet<&str> = runs.iter().map(|run| run.environment.as_str()).collect();
    match asked {
        Some(name) if !known.contains(name) => {
            Err(Error::usage(format!("--baseline {name}: no run has that environment"))
                .detail(format!("the environments are: {}", known.into_iter().collect::<Vec<_>>().join(", ")))
                .hint("name one of them"))
        }
        _ => Ok(()),
    }
}

/// One sum for a campaign: over the sorted sums of all files that its runs were put together from.
fn hash_of(campaign: &str, runs: &[Run]) -> String {
    let own = runs.iter().filter(|run| run.campaign == campaign);
    let sums: BTreeSet<&str> =
        own.flat_map(|run| std::iter::once(&run.source).chain(&run.files)).map(|file| file.sha256.as_str()).collect();
    archive::hash(sums.into_iter().collect::<Vec<_>>().join("\n").as_bytes())
}

/// The first table of results in prose, which might have been meant. Empty where there is none.
fn tables(files: &[Input]) -> String {
    let seen = files.iter().find_map(|file| {
        let reason = file.reason.as_deref()?;
        Some(format!(". {}: {}", file.path, reason.get(reason.find(ingest::MARKDOWN_TABLE)?..)?))
    });
    seen.unwrap_or_default()
}

fn nothing_to_judge(paths: &[PathBuf], files: &[Input]) -> Error {
    let stopped = paths.iter().find(|path| path.join(INTERRUPTED_FOLDER).is_dir());
    let names: Vec<String> = paths.iter().map(|p| format!("'{}'", archive::shown(p))).collect();
    Error::archive(format!("no run found in {}", names.join(", ")))
        .detail(match files.len() {
            1 => format!("1 file was read, and it holds no run{}", tables(files)),
            many => format!("{many} files were read, and none of them holds a run{}", tables(files)),
        })
        .hint(match stopped {
            Some(path) => format!(
                "'{}' holds only a run that was stopped. Measure again, into another folder, or continue a suite with --resume",
                archive::shown(path)
            ),
            None => "give a folder with campaigns of sparkbench (campaign.json and runs/), a table with one row per run \
                     (runs.csv), or results of another tool"
                .to_owned(),
        })
}
