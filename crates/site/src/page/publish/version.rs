//! A version of the site: published once and never changed.
//!
//! In:  the finished analysis.  Out: its hash, its record, its files under `v/<hash>/`.
//! Not here: the versions before it (see `earlier` in `kept`), what changed between two (see `versions`).
//!
//! The hash is the SHA-256 of `data/analysis.json`: inputs with their own hashes, settings, program, and every number and sentence that
//! pages show. Two sites with the same hash say the same thing, even if they are drawn differently. The name of the folder is its first
//! sixteen digits. A version freezes the whole report as one file and the analysis behind it, packed. The pages of a site link to each other
//! and to runs. A copy of all of them would weigh as much as the site.

use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use serde::{Deserialize, Serialize};

use super::super::file::{Download, Page};
use sparkbench_text::error::Error;
use sparkbench_text::hash::hash;
use sparkbench_verdict::report::Analysis;

/// Schema of the record of a version.
pub(crate) const SCHEMA: &str = "sparkbench.version/1";

/// Digits of the hash that name its folder: enough for as many versions as anyone will publish.
pub(crate) const DIGITS: usize = 16;

/// The record of a version, `index.json` in its folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Always `SCHEMA`.
    pub schema: String,
    /// Place in the order of publication, from 1.
    pub number: u64,
    /// SHA-256 of its `analysis.json`.
    pub analysis_sha256: String,
    /// Name and version of the program.
    pub tool: String,
    /// Its statements about each campaign, by name.
    pub campaigns: Vec<VersionCampaign>,
}

/// Statements of a version about a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionCampaign {
    /// Slug.
    pub name: String,
    /// For people.
    pub title: String,
    /// SHA-256 over the hashes of its files.
    pub archive_sha256: String,
    pub runs: usize,
    /// The answer.
    pub headline: Vec<String>,
}

/// A version that is in the site's folder already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its record.
    pub version: Version,
    /// Path below the site and SHA-256 of each of its files.
    pub files: Vec<(String, String)>,
}

impl Version {
    /// Name of its folder.
    pub fn name(&self) -> &str {
        self.analysis_sha256.get(..DIGITS).unwrap_or(&self.analysis_sha256)
    }

    /// Path of its page below the site.
    pub fn path(&self) -> String {
        format!("v/{}/index.html", self.name())
    }
}

/// The record of a site whose files for machines are known. A version that was published before keeps its number.
pub(crate) fn of(analysis: &Analysis, downloads: &[Download], earlier: &[Earlier]) -> Version {
    let sum = downloads.iter().find(|d| d.path == "data/analysis.json").map_or("", |d| d.sha256.as_str());
    let known = earlier.iter().map(|e| &e.version).find(|v| v.analysis_sha256 == sum);
    let number = known.map_or_else(|| 1 + earlier.iter().map(|e| e.version.number).max().unwrap_or(0), |v| v.number);
    let tool = &analysis.tool;
    Version {
        schema: SCHEMA.into(),
        number,
        analysis_sha256: sum.to_owned(),
        tool: format!("{} {}", tool.name, tool.version),
        campaigns: analysis
            .campaigns
            .iter()
            .map(|c| VersionCampaign {
                name: c.name.clone(),
                title: c.title.clone(),
                archive_sha256: c.archive_sha256.clone(),
                runs: c.runs,
                headline: c.headline.iter().map(|s| s.text.clone()).collect(),
            })
            .collect(),
    }
}

/// True where this very version is in the site's folder: it is left as it was published.
pub(crate) fn is_published(earlier: &[Earlier], version: &Version) -> bool {
    earlier.iter().any(|e| e.version.analysis_sha256 == version.analysis_sha256)
}

/// Its files: the report as one file, the analysis packed, the record, and the hashes of these.
pub(crate) fn freeze(version: &Version, report: Vec<u8>, analysis: &[u8]) -> Result<Vec<Page>, Error> {
    let fault = |what: &str| format!("the version '{}' cannot {what}", version.name());
    let mut record =
        serde_json::to_vec_pretty(version).map_err(|e| Error::archive(fault("be written as JSON")).because(e))?;
    record.push(b'\n');
    // No name and no time in the packed file: the same analysis gives the same bytes.
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let packed = packer.write_all(analysis).and_then(|()| packer.finish());
    let packed = packed.map_err(|e| Error::archive(fault("be packed")).because(e))?;
    let folder = format!("v/{}", version.name());
    let mut pages = vec![
        Page::new(format!("{folder}/analysis.json.gz"), packed),
        Page::new(format!("{folder}/index.html"), report),
        Page::new(format!("{folder}/index.json"), record),
    ];
    let name = |page: &Page| page.path.rsplit('/').next().unwrap_or_default().to_owned();
    let sums: String = pages.iter().map(|page| format!("{}  {}\n", hash(&page.bytes), name(page))).collect();
    pages.push(Page::new(format!("{folder}/SHA256SUMS"), sums));
    Ok(pages)
}
