//! The page of versions: the published versions in order, and corrections by later ones.
//!
//! In:  the record of this version and of those before it.  Out: `changelog/index.html`.
//! Not here: reading the records. Every date comes from the analysis, because pages have no clock.

use std::collections::BTreeMap;

use askama::Template;

use super::super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::super::index::Site;
use super::super::labels::counted;
use super::super::shell::Shell;
use super::feed;
use super::version::{Version, VersionCampaign};

#[derive(Template)]
#[template(path = "changelog.html")]
struct Page {
    shell: Shell,
    versions: Vec<VersionView>,
    corrections: Vec<(String, Vec<[String; 3]>)>,
}

struct VersionView {
    id: String,
    number: u64,
    name: String,
    folder: String,
    current: bool,
    tool: String,
    hash: String,
    campaigns: Vec<(String, String, String)>,
    changes: Vec<Change>,
    first: bool,
}

/// Differences of a version from the one before it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Title of the campaign.
    pub campaign: String,
    /// Its change.
    pub what: String,
    /// Sentences that went.
    pub old: Vec<String>,
    /// Sentences that came.
    pub new: Vec<String>,
}

/// The versions of the site.
pub(crate) struct VersionsPage;

impl PageKind for VersionsPage {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        vec![Draft::new("changelog/index.html", |site| Ok(DrawnPage::new(page(site).map_err(template_fault)?)))]
    }
}

fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let all = all(site);
    let current = site.version.analysis_sha256.clone();
    let mut versions: Vec<VersionView> = all
        .iter()
        .enumerate()
        .map(|(k, version)| VersionView {
            id: format!("version-{}", version.number),
            number: version.number,
            name: version.name().to_owned(),
            folder: format!("../v/{}/", version.name()),
            current: version.analysis_sha256 == current,
            tool: version.tool.clone(),
            hash: version.analysis_sha256.clone(),
            campaigns: version
                .campaigns
                .iter()
                .map(|c| (c.title.clone(), counted(c.runs, "run", "runs"), c.archive_sha256.clone()))
                .collect(),
            changes: k.checked_sub(1).and_then(|k| all.get(k)).map_or_else(Vec::new, |before| changes(before, version)),
            first: k == 0,
        })
        .collect();
    versions.reverse();
    let corrections = site
        .campaigns()
        .into_iter()
        .filter_map(|c| {
            let study = c.study.as_ref().filter(|study| !study.corrections.is_empty())?;
            let told = study.corrections.iter().map(|x| [feed::correction(&c.name, x), x.date.clone(), x.text.clone()]);
            let told = told.collect();
            Some((c.title.clone(), told))
        })
        .collect();
    let shell = Shell::new("changelog/index.html", "Versions and corrections – sparkbench", "changelog", site)
        .described("Every version of this site that was published, and what a later one says otherwise than the one before it.");
    Page { shell, versions, corrections }.render()
}

/// Every version in the order of publication, this one among them.
pub(crate) fn all(site: &Site<'_>) -> Vec<Version> {
    let own = site.version.clone();
    let mut all: Vec<Version> = site.extras.publication.earlier.iter().map(|e| e.version.clone()).collect();
    if !all.iter().any(|v| v.analysis_sha256 == own.analysis_sha256) {
        all.push(own);
    }
    all.sort_by_key(|v| v.number);
    all
}

/// Differences of the later version, campaign by campaign.
pub(crate) fn changes(before: &Version, after: &Version) -> Vec<Change> {
    let by_name = |version: &Version| -> BTreeMap<String, VersionCampaign> {
        version.campaigns.iter().map(|c| (c.name.clone(), c.clone())).collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let mut changes = Vec::new();
    for (name, said) in &new {
        let change =
            |what: String, old: Vec<String>, new: Vec<String>| Change { campaign: said.title.clone(), what, old, new };
        match old.get(name) {
            None => changes.push(change("New.".into(), Vec::new(), said.headline.clone())),
            Some(then) => {
                let same_files = then.archive_sha256 == said.archive_sha256;
                let why = match (same_files, before.tool == after.tool) {
                    (false, _) if then.runs != said.runs => {
                        format!(
                            "The archive changed, from {} to {}.",
                            counted(then.runs, "run", "runs"),
                            counted(said.runs, "run", "runs")
                        )
                    }
                    (false, _) => "The archive changed.".to_owned(),
                    (true, false) => {
                        format!("The same archive, analysed by {} instead of {}.", after.tool, before.tool)
                    }
                    (true, true) => "The same archive, analysed with other settings or beside other files.".to_owned(),
                };
                let gone: Vec<String> = then.headline.iter().filter(|s| !said.headline.contains(s)).cloned().collect();
                let come: Vec<String> = said.headline.iter().filter(|s| !then.headline.contains(s)).cloned().collect();
                if !gone.is_empty() || !come.is_empty() {
                    changes.push(change(why, gone, come));
                } else if !same_files {
                    changes.push(change(format!("{why} The answer is what it was."), gone, come));
                }
            }
        }
    }
    for (_, said) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
        let (campaign, old) = (said.title.clone(), said.headline.clone());
        changes.push(Change { campaign, what: "No longer part of the site.".into(), old, new: Vec::new() });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(tool: &str, campaigns: &[(&str, &str, usize, &str)]) -> Version {
        let said = |c: &(&str, &str, usize, &str)| VersionCampaign {
            name: c.0.into(),
            title: c.0.to_uppercase(),
            archive_sha256: c.1.into(),
            runs: c.2,
            headline: vec![c.3.into(), "Always.".into()],
        };
        Version {
            schema: super::super::version::SCHEMA.into(),
            number: 1,
            analysis_sha256: String::new(),
            tool: tool.into(),
            campaigns: campaigns.iter().map(said).collect(),
        }
    }

    #[test]
    fn a_headline_that_changed_is_told_with_both_sentences_and_the_reason() {
        let before = version("s 1", &[("a", "x", 10, "Same."), ("b", "x", 3, "B."), ("gone", "x", 1, "G.")]);
        let after = version("s 2", &[("a", "x", 10, "Slower."), ("b", "y", 4, "B."), ("came", "x", 1, "C.")]);
        let changes = changes(&before, &after);
        let told: Vec<(&str, &str)> = changes.iter().map(|c| (c.campaign.as_str(), c.what.as_str())).collect();
        assert_eq!(
            told,
            [
                ("A", "The same archive, analysed by s 2 instead of s 1."),
                ("B", "The archive changed, from 3 runs to 4 runs. The answer is what it was."),
                ("CAME", "New."),
                ("GONE", "No longer part of the site."),
            ]
        );
        assert_eq!(
            (&changes[0].old[..], &changes[0].new[..]),
            (&["Same.".to_owned()][..], &["Slower.".to_owned()][..])
        );
    }

    #[test]
    fn what_stayed_is_not_told() {
        let one = version("s 1", &[("a", "x", 10, "Same.")]);
        assert_eq!(changes(&one, &one), []);
    }
}
