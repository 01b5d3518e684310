//! Where a campaign comes from: machine, days, engine, source.
//!
//! In:  a finished report of a campaign and its runs.  Out: terms with their values.
//! Not here: hashes of files (see `data`).

use super::super::index::Site;
use super::super::labels;
use sparkbench_verdict::report::CampaignReport;

/// A term and what stands for it.
pub(crate) struct Fact {
    pub term: String,
    pub value: String,
    /// Set in the monospaced face: hashes, commands.
    pub code: bool,
}

impl Fact {
    /// Plain text.
    pub(crate) fn new(term: &str, value: impl Into<String>) -> Self {
        Self { term: term.into(), value: value.into(), code: false }
    }

    /// For the eye of a machine.
    pub(crate) fn code(term: &str, value: impl Into<String>) -> Self {
        Self { term: term.into(), value: value.into(), code: true }
    }
}

/// Machine, days, engine and source: what a reader of the answer wants to know of its origin.
pub(super) fn origin(site: &Site<'_>, campaign: &CampaignReport) -> Vec<Fact> {
    // What a suite left out on purpose belongs to the page of the campaign.
    let source = |line: &&String| !line.starts_with("Not planned: ");
    let lines: Vec<&String> = campaign.provenance.iter().filter(source).collect();
    facts(site, campaign, &lines).into_iter().filter(|fact| !fact.code && fact.term != ANALYSED).collect()
}

/// Term of the program in the provenance.
const ANALYSED: &str = "Analysed with";

/// What llama.cpp says of a build that was made without its history. It is no version.
const UNBUILT: &str = "b0-unknown";

/// Where a campaign comes from.
pub(crate) fn provenance(site: &Site<'_>, campaign: &CampaignReport) -> Vec<Fact> {
    facts(site, campaign, &campaign.provenance.iter().collect::<Vec<_>>())
}

fn facts(site: &Site<'_>, campaign: &CampaignReport, lines: &[&String]) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(machine) = &campaign.machine {
        facts.push(Fact::new("Machine", site.machine(machine)));
    }
    if let Some(days) = labels::days(campaign.first_started_utc, campaign.last_started_utc) {
        facts.push(Fact::new("Measured", days));
    }
    let mut engines: Vec<String> = site
        .runs(&campaign.name)
        .iter()
        .filter_map(|r| {
            let engine = r.setup.engine.clone()?;
            let version = r.setup.engine_version.as_deref().filter(|version| *version != UNBUILT);
            Some(version.map_or_else(|| engine.clone(), |version| format!("{engine} {version}")))
        })
        .collect();
    if site.analysis.is_about_clients(campaign) {
        // One client of several may name the protocol that it was told to speak.
        let tables = site.analysis.across.agreements.iter().filter(|table| table.campaign == campaign.name);
        engines = tables.filter_map(|table| table.engine.clone()).collect();
    }
    engines.sort();
    engines.dedup();
    if !engines.is_empty() {
        facts.push(Fact::new("Engine", engines.join(", ")));
    }
    if !lines.is_empty() {
        let source: Vec<&str> = lines.iter().map(|line| line.as_str()).collect();
        facts.push(Fact::new("Source", source.join(". ")));
    }
    facts.push(Fact::code("Archive SHA-256", campaign.archive_sha256.clone()));
    facts.push(Fact::new(ANALYSED, format!("{} {}", site.analysis.tool.name, site.analysis.tool.version)));
    facts
}
