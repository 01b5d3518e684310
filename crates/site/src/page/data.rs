//! The page of data: downloads, the files that were read, and the files that were left out.

use askama::Template;

use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::index::Site;
use super::labels::counted;
use super::number;
use super::shell::Shell;
use sparkbench_model::Altered;

/// Files without any note that the page lists. The others are in `analysis.json`.
const MOST_LISTED: usize = 200;

#[derive(Template)]
#[template(path = "data.html")]
struct Page {
    shell: Shell,
    files: Vec<FileRow>,
    schema: &'static str,
    skipped: Vec<InputRow>,
    /// Read, and of no run.
    apart: Vec<InputRow>,
    unlisted: Option<String>,
    inputs: Vec<InputRow>,
    summary: String,
}

struct FileRow {
    href: String,
    path: String,
    about: &'static str,
    size: String,
    sha256: String,
}

#[derive(Clone)]
struct InputRow {
    path: String,
    format: String,
    runs: usize,
    sha256: String,
    reason: String,
    not_joined: Option<String>,
}

/// Downloads, and the files that were read.
pub(super) struct DataPage;

impl PageKind for DataPage {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        vec![Draft::new("data/index.html", |site| Ok(DrawnPage::new(page(site).map_err(template_fault)?)))]
    }
}

/// The page at `data/index.html`.
pub(super) fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let inputs: Vec<(bool, InputRow)> = site
        .analysis
        .inputs
        .iter()
        .map(|input| {
            let row = InputRow {
                path: input.path.clone(),
                format: input.format.clone().unwrap_or_else(|| "none".into()),
                runs: input.runs,
                sha256: input.sha256.clone().unwrap_or_else(|| "not read whole".into()),
                reason: input
                    .altered
                    .iter()
                    .map(Altered::sentence)
                    .chain(input.reason.clone())
                    .collect::<Vec<_>>()
                    .join(". "),
                not_joined: input.not_joined.clone(),
            };
            (input.skipped, row)
        })
        .collect();
    let skipped = inputs.iter().filter(|(skipped, _)| *skipped).count();
    let looked_at = format!("{} looked at", counted(inputs.len(), "file was", "files were"));
    let summary = match skipped {
        0 => format!("{looked_at}."),
        _ => format!("{looked_at}, {} with something left out.", number::count(skipped as u64)),
    };
    let apart = inputs.iter().filter(|(_, row)| row.not_joined.is_some()).map(|(_, row)| row.clone()).collect();
    let (left_out, taken): (Vec<_>, Vec<_>) = inputs.into_iter().partition(|(skipped, _)| *skipped);
    let unlisted = taken.len().saturating_sub(MOST_LISTED);
    let inputs: Vec<_> = taken.into_iter().map(|(_, row)| row).take(MOST_LISTED).collect();
    Page {
        shell: Shell::new("data/index.html", "Data – sparkbench", "data", site)
            .described("Every number of this site to download, with hashes, and every file it was read from."),
        files: site
            .downloads
            .iter()
            .map(|file| FileRow {
                href: format!("../{}", file.path),
                path: file.path.clone(),
                about: about(&file.path),
                size: number::size(file.size),
                sha256: file.sha256.clone(),
            })
            .collect(),
        schema: sparkbench_verdict::report::SCHEMA,
        skipped: left_out.into_iter().map(|(_, row)| row).collect(),
        inputs,
        unlisted: (unlisted > 0).then(|| counted(unlisted, "more file", "more files")),
        apart,
        summary,
    }
    .render()
}

/// Content of a download.
pub(super) fn about(path: &str) -> &'static str {
    match path {
        "data/analysis.json" => "Every number of this site under the name it has in the contract",
        "data/comparisons.csv" => "One row per comparison: estimate, intervals, tests, verdict",
        "data/ANALYSIS.md" => "The report as Markdown, for a repository or a pull request",
        "data/runs.csv" => "One row per run, metrics as columns",
        "data/runs.parquet" => "One row per run with settings and metrics, units in the metadata of the file",
        "data/comparisons.parquet" => "One row per comparison, units in the metadata of the file",
        "data/extras.parquet" => "One row per figure that is no metric, with the place it was read from",
        "data/requests.parquet" => "One row per request and metric, units in the metadata of the file",
        "data/report.xlsx" => "A workbook: summary, groups, runs, requests and metadata, with numbers as numbers",
        "data/units.csv" => "Every column of every table: type, unit, which way is better, definition",
        "data/datapackage.json" => "Every download with its columns, hash and licence, for programs (Data Package)",
        "data/VERSIONS.md" => "Versions of everything that was measured, and of the analysis",
        "data/PRIVACY.md" => "What was replaced before publishing, how often and where",
        "data/SHA256SUMS" => "Hashes of every other file of this site",
        _ => "Further data",
    }
}
