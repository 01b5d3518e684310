//! The page of data: what to take away, what was read, what was left out.

use askama::Template;
use sha2::{Digest, Sha256};

use super::Page as File;
use super::index::Site;
use super::number;
use super::shell::Shell;
use super::words::counted;

#[derive(Template)]
#[template(path = "data.html")]
struct Page {
    shell: Shell,
    files: Vec<FileRow>,
    schema: &'static str,
    skipped: Vec<InputRow>,
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

struct InputRow {
    path: String,
    format: String,
    runs: usize,
    sha256: String,
    reason: String,
}

/// The page at `data/index.html`. `files` are the downloads beside it.
pub fn page(site: &Site<'_>, files: &[&File]) -> Result<String, askama::Error> {
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
                reason: input.reason.clone().unwrap_or_default(),
            };
            (input.skipped, row)
        })
        .collect();
    let skipped = inputs.iter().filter(|(skipped, _)| *skipped).count();
    let summary = format!(
        "{} looked at, {} with something left out.",
        counted(inputs.len(), "file was", "files were"),
        number::count(skipped as u64)
    );
    let (left_out, taken): (Vec<_>, Vec<_>) = inputs.into_iter().partition(|(skipped, _)| *skipped);
    Page {
        shell: Shell::new("data/index.html", "Data – sparkbench", "data", &site.analysis.tool)
            .described("Every number of this site to download, with hashes, and every file it was read from."),
        files: files
            .iter()
            .map(|file| FileRow {
                href: format!("../{}", file.path),
                path: file.path.clone(),
                about: about(&file.path),
                size: number::size(file.bytes.len()),
                sha256: hex(&file.bytes),
            })
            .collect(),
        schema: crate::verdict::report::SCHEMA,
        skipped: left_out.into_iter().map(|(_, row)| row).collect(),
        inputs: taken.into_iter().map(|(_, row)| row).collect(),
        summary,
    }
    .render()
}

/// What a download holds.
pub fn about(path: &str) -> &'static str {
    match path {
        "data/analysis.json" => "Every number of this site under the name it has in the contract",
        "data/comparisons.csv" => "One row per comparison: estimate, intervals, tests, verdict",
        "data/ANALYSIS.md" => "The report as Markdown, for a repository or a pull request",
        "data/runs.csv" => "One row per run, metrics as columns",
        "data/requests.parquet" => "One row per request",
        "data/SHA256SUMS" => "Hashes of every other file of this site",
        _ => "Further data",
    }
}

/// SHA-256, lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
