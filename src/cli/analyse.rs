//! `sparkbench analyse`: archives in, a site out.

use std::path::PathBuf;

use super::Outcome;
use super::constants::constants;
use super::intake::{self, Judged, Judging};
use super::talk::Talk;
use crate::error::Error;
use crate::frame;
use crate::page::{self, Extras, Page};
use crate::verdict::report::{Severity, TrapStatus};
use crate::verdict::trap::TRAPS;

/// Turn archives and other tools' result files into a judged static site
///
/// Reads every file below each PATH, compares the environments of each campaign, looks for every known way in which a
/// benchmark lies, and writes pages, analysis.json and tables. Measures nothing and changes no archive.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sparkbench analyse\n  sparkbench analyse results/ --site public --baseline native\n  \
                        sparkbench analyse data/phase1 --margin ttft_ms=5 --strict"
)]
pub struct Analyse {
    /// Folders or files to search for results
    #[arg(value_name = "PATH", default_value = "data")]
    paths: Vec<PathBuf>,
    /// Where the pages go
    #[arg(long, value_name = "DIR", default_value = "site")]
    site: PathBuf,
    #[command(flatten)]
    judging: Judging,
    /// Write the whole report as one HTML file that opens from disk
    #[arg(long, value_name = "FILE")]
    single_file: Option<PathBuf>,
    /// Write a labels.toml to fill in, with an empty value for each label that no file says
    #[arg(long, value_name = "FILE")]
    write_labels: Option<PathBuf>,
    /// Exit with 1 when anything was left out
    #[arg(long)]
    strict: bool,
}

/// Reads, judges, draws, writes.
pub fn run(args: &Analyse, talk: &Talk) -> Result<Outcome, Error> {
    let judged = intake::judge(&args.paths, &args.judging, talk)?;
    let extras = extras(&judged, args)?;
    let pages = page::render(&judged.analysis, &extras)?;
    page::write(&args.site, &pages)?;
    if let Some(file) = &args.single_file {
        crate::archive::write_atomic(file, &page::single_file(&judged.analysis, &extras)?)?;
    }
    if let (Some(file), Some(ask)) = (&args.write_labels, &judged.ask) {
        crate::archive::write_atomic(file, ask.labels.as_bytes())?;
    }
    let left_out = judged.analysis.inputs.iter().filter(|input| input.skipped).count();
    summarise(&judged, args, pages.len(), left_out, talk);
    Ok(if args.strict && left_out > 0 { Outcome::Refused } else { Outcome::Done })
}

/// What the pages show beyond the analysis itself.
fn extras(judged: &Judged, args: &Analyse) -> Result<Extras, Error> {
    let study = &judged.study;
    Ok(Extras {
        telemetry: study
            .runs
            .iter()
            .filter(|run| !run.telemetry.is_empty())
            .map(|run| (run.id.clone(), run.telemetry.clone()))
            .collect(),
        requests: study
            .runs
            .iter()
            .filter(|run| !run.series.is_empty())
            .map(|run| (run.id.clone(), run.series.clone()))
            .collect(),
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
        reproduce: command(args),
        extra_files: vec![
            Page::new("data/runs.csv", frame::runs_csv(&judged.analysis.runs)?),
            Page::new("data/requests.parquet", frame::requests_parquet(&judged.frames)?),
        ],
    })
}

/// The command that gives the same bytes, with every setting that is not the default.
fn command(args: &Analyse) -> String {
    let judging = &args.judging;
    let mut words = vec!["sparkbench".to_owned(), "analyse".to_owned()];
    // Names only: an absolute path would publish the layout of this machine.
    words.extend(args.paths.iter().map(|p| {
        if p.is_absolute() { p.file_name().unwrap_or(p.as_os_str()) } else { p.as_os_str() }
            .to_string_lossy()
            .into_owned()
    }));
    words.extend(judging.baseline.iter().map(|b| format!("--baseline {b}")));
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
    words.join(" ")
}

fn summarise(judged: &Judged, args: &Analyse, pages: usize, left_out: usize, talk: &Talk) {
    let analysis = &judged.analysis;
    for campaign in &analysis.campaigns {
        talk.say(&format!("{} ({} runs)", campaign.title, campaign.runs));
        for sentence in &campaign.headline {
            talk.say(&format!("  {}", sentence.text));
        }
    }
    let fired = |severity: Severity| {
        analysis.traps.iter().filter(|t| t.status == TrapStatus::Fired && t.severity == severity).count()
    };
    talk.say(&format!(
        "traps fired: {} errors, {} warnings, {} notes; inputs left out: {left_out}",
        fired(Severity::Error),
        fired(Severity::Warning),
        fired(Severity::Note),
    ));
    match (&judged.ask, &args.write_labels) {
        (Some(ask), Some(file)) => {
            talk.warn(&format!("{}; fill in '{}' and give it with --labels", ask.message, file.display()))
        }
        (Some(ask), None) => {
            talk.warn(&format!(
                "{}; --write-labels labels.toml writes a file to fill in, --labels reads it",
                ask.message
            ));
        }
        (None, Some(_)) => talk.say("every run has its labels: nothing to fill in"),
        (None, None) => {}
    }
    talk.say(&format!(
        "{pages} files in {}, begin with {}",
        args.site.display(),
        args.site.join("index.html").display()
    ));
}
