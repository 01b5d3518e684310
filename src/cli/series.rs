//! From paths as typed to series over time.
//!
//! In:  paths and options.  Out: [`Source`]s, never none of them.
//! Not here: formats (see `ingest::history`), cells of campaigns (see `verdict::history`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::intake::{self, Judging, SEED};
use super::talk::Talk;
use sparkbench_archive::given::refuse_endless;
use sparkbench_archive::shown;
use sparkbench_ingest::history::{self, Folder, FoundSeries, SeriesFormat};
use sparkbench_model::{Metric, TimeSeries};
use sparkbench_text::error::Error;
use sparkbench_text::plural::counted;
use sparkbench_verdict::history::{CellSeries, Figures, series as cells};

/// Bytes by which a format is known.
const HEAD: u64 = 64 * 1024;

/// Largest file that is read: a hundred metrics at ten thousand points are a tenth of it.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Names that a message lists.
const LISTED: usize = 12;

/// Options of the verbs that follow series over time.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Following {
    /// Margin of a metric, in per cent. Smaller changes are marked as within it. May be repeated
    #[arg(long = "margin", value_name = "METRIC=PCT")]
    pub margins: Vec<String>,
    /// Show only this metric. May be repeated
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    /// Name of the column of times in a CSV
    #[arg(long, value_name = "NAME", default_value = sparkbench_ingest::history::TIME_COLUMN)]
    pub time_column: String,
    /// File with labels that files of an archive lack (environment, model, workload), by glob
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// File with facts of machines, models and prices that come before the shipped ones
    #[arg(long, value_name = "FILE")]
    pub facts: Option<PathBuf>,
    /// Seed of every random draw. The same seed gives the same bytes
    #[arg(long, value_name = "SEED", default_value_t = SEED)]
    pub seed: u64,
}

/// One series and the margin that it is judged by.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub series: TimeSeries,
    /// Margin, per cent. 0 for a metric that nobody gave one for.
    pub margin_pct: f64,
    /// Whether all points are known to come from one machine, or from one file, whose author vouches for it.
    pub one_machine: bool,
}

/// Every series below the paths. Of archives those of these figures, of other sources all.
///
/// # Errors
/// A path that cannot be read, no series, an option that names no series.
pub(crate) fn sources(
    paths: &[PathBuf],
    asked: &Following,
    figures: Figures,
    talk: &Talk,
) -> Result<Vec<Source>, Error> {
    let margins = margins(&asked.margins)?;
    let mut found: Vec<Source> = Vec::new();
    let mut archives: Vec<PathBuf> = Vec::new();
    for path in paths {
        let Some(own) = foreign(path, &asked.time_column)? else {
            archives.push(path.clone());
            continue;
        };
        own.notes.iter().for_each(|line| talk.warn(&format!("{}: {line}", shown(path))));
        found.extend(own.series.into_iter().map(|series| {
            let margin_pct = margin_of(&series.metric, &margins);
            Source { series, margin_pct, one_machine: true }
        }));
    }
    if !archives.is_empty() {
        found.extend(of_archives(&archives, asked, (&margins, figures), talk)?);
    }
    known(asked, &margins, &found)?;
    if !asked.metrics.is_empty() {
        found.retain(|source| asked.metrics.contains(&source.series.metric));
    }
    found.retain(|source| !source.series.points.is_empty());
    if found.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| format!("'{}'", shown(path))).collect();
        return Err(Error::archive(format!("no series over time in {}", names.join(", "))).hint(
            "give a folder in which several campaigns measured the same cell, or a CSV with a column 'time' (or --time-column NAME) \
             and one column per metric. Data of github-action-benchmark and result folders of airspeed velocity are read too",
        ));
    }
    Ok(found)
}

/// The series of a path that is no archive of campaigns.
fn foreign(path: &Path, time: &str) -> Result<Option<FoundSeries>, Error> {
    if path.is_dir() {
        return Ok(if path.join("benchmarks.json").is_file() { history::folder(&folder(path)?) } else { None });
    }
    refuse_endless(path)?;
    let fail = |cause| Error::archive(format!("cannot read '{}'", shown(path))).because(cause);
    let mut file = File::open(path).map_err(fail)?;
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(fail)?;
    let Some(format) = SeriesFormat::of(&String::from_utf8_lossy(&bytes), time) else {
        return Ok(None);
    };
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::archive(format!("cannot read '{}'", shown(path)))
            .detail(format!("it holds more than {} MiB", MAX_BYTES >> 20)));
    }
    let named = |mut error: Error| {
        error.what = format!("cannot read '{}': {}", shown(path), error.what);
        error
    };
    let text =
        String::from_utf8(bytes).map_err(|cause| named(Error::archive("it is not UTF-8 text").because(cause)))?;
    format.read(&text, time).map(Some).map_err(named)
}

/// The JSON files of a result folder, by their paths below it.
fn folder(path: &Path) -> Result<Folder, Error> {
    let mut files = Folder::new();
    let mut size = 0;
    for entry in walkdir::WalkDir::new(path).max_depth(2).sort_by_file_name() {
        let fail = |cause| Error::archive(format!("cannot read '{}'", shown(path))).because(cause);
        let entry = entry.map_err(|cause| fail(std::io::Error::other(cause)))?;
        if !entry.file_type().is_file() || entry.path().extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        size += entry.metadata().map_or(0, |about| about.len());
        if size > MAX_BYTES {
            return Err(Error::archive(format!("cannot read '{}'", shown(path)))
                .detail(format!("its files hold more than {} MiB", MAX_BYTES >> 20)));
        }
        let text = std::fs::read_to_string(entry.path())
            .map_err(|cause| Error::archive(format!("cannot read '{}'", shown(entry.path()))).because(cause))?;
        let below = entry.path().strip_prefix(path).unwrap_or(entry.path());
        let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        files.insert(parts.join("/"), text);
    }
    Ok(files)
}

fn of_archives(
    paths: &[PathBuf],
    asked: &Following,
    (margins, figures): (&BTreeMap<String, f64>, Figures),
    talk: &Talk,
) -> Result<Vec<Source>, Error> {
    let judging = Judging {
        margins: margins
            .iter()
            .filter(|(name, _)| Metric::find(name).is_some())
            .map(|(name, pct)| format!("{name}={pct}"))
            .collect(),
        seed: asked.seed,
        labels: asked.labels.clone(),
        facts: asked.facts.clone(),
        // Folders of results are days, or versions.
        campaign_per_folder: true,
        ..Judging::default()
    };
    let study = intake::study_of(intake::runs_of(paths, &judging, talk)?)?;
    let found = cells(&study, &judging.settings()?, figures);
    if found.iter().any(|cell| !cell.machine_named) {
        talk.warn("no file names the machine of some series, so they may mix two machines. Name it with 'machine' in a labels.toml");
    }
    let copies: BTreeMap<&str, usize> =
        found.iter().filter(|cell| cell.copies > 0).map(|cell| (cell.series.subject.as_str(), cell.copies)).collect();
    for (subject, copies) in copies {
        talk.warn(&format!("{subject}: {} counted once", counted(copies, "copy of a run is", "copies of runs are")));
    }
    let margin = |cell: &CellSeries| margins.get(&cell.series.metric).copied().unwrap_or(cell.margin_pct);
    let source =
        |cell: CellSeries| Source { margin_pct: margin(&cell), one_machine: cell.machine_named, series: cell.series };
    Ok(found.into_iter().map(source).collect())
}

fn margins(given: &[String]) -> Result<BTreeMap<String, f64>, Error> {
    let mut margins = BTreeMap::new();
    for text in given {
        // A metric of another tool may have a '=' in its name.
        let parsed = text.rsplit_once('=').and_then(|(name, pct)| Some((name, pct.parse::<f64>().ok()?)));
        match parsed.filter(|(name, pct)| !name.is_empty() && pct.is_finite() && *pct >= 0.0) {
            Some((name, pct)) => margins.insert(name.to_owned(), pct),
            None => {
                return Err(Error::usage(format!("--margin {text} is not a metric with a percentage"))
                    .hint("write it as METRIC=PCT, such as ttft_ms=5"));
            }
        };
    }
    Ok(margins)
}

fn margin_of(metric: &str, margins: &BTreeMap<String, f64>) -> f64 {
    margins.get(metric).copied().or_else(|| Some(Metric::find(metric)?.margin_pct)).unwrap_or(0.0)
}

/// A name that no series has is most likely a slip of the pen.
fn known(asked: &Following, margins: &BTreeMap<String, f64>, found: &[Source]) -> Result<(), Error> {
    let has = |name: &&String| found.iter().any(|source| source.series.metric == **name);
    let unknown = asked.metrics.iter().chain(margins.keys()).find(|name| !has(name));
    let Some(name) = unknown.filter(|_| !found.is_empty()) else { return Ok(()) };
    let mut names: Vec<&str> = found.iter().map(|source| source.series.metric.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(Error::usage(format!("no series has a metric '{name}'"))
        .hint(format!("the metrics of the series are {}{more}", names.join(", "))))
}
