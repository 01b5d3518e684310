//! How the site and its campaigns are cited: in words, as BibTeX, as `CITATION.cff`.
//!
//! In:  authors, licence and identifiers from `study.md`, hashes of the archives.  Out: text.
//! Not here: guessing authors. Without an author there is no `CITATION.cff`, which needs one.

use std::fmt::Write as _;

use super::super::Page;
use super::super::index::Site;
use super::super::labels;
use sparkbench_model::{Author, Paper};
use sparkbench_verdict::report::CampaignReport;

/// Entries of campaigns beside each other. More are cited as one site.
const MOST_ENTRIES: usize = 5;

/// Licences that `CITATION.cff` knows by these names and that data or code of a benchmark may have. Others are left out there.
const SPDX: &[&str] = &[
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC-BY-3.0",
    "CC-BY-4.0",
    "CC-BY-NC-4.0",
    "CC-BY-ND-4.0",
    "CC-BY-SA-4.0",
    "CC0-1.0",
    "CDLA-Permissive-1.0",
    "CDLA-Sharing-1.0",
    "EUPL-1.2",
    "GPL-2.0-only",
    "GPL-2.0-or-later",
    "GPL-3.0-only",
    "GPL-3.0-or-later",
    "ISC",
    "LGPL-3.0-only",
    "MIT",
    "MPL-2.0",
    "ODC-By-1.0",
    "ODbL-1.0",
    "PDDL-1.0",
    "Unlicense",
];

/// A citation in words and as BibTeX.
pub(crate) struct Citation {
    /// In words.
    pub text: String,
    /// One entry, or one for each campaign.
    pub bibtex: String,
}

/// The parts of a citation.
struct Source<'a> {
    title: String,
    authors: Vec<&'a Author>,
    date: Option<String>,
    doi: Option<&'a str>,
    url: Option<String>,
    words: Option<&'a str>,
    hashes: Vec<&'a str>,
}

/// How a campaign is cited.
pub(crate) fn of_campaign(site: &Site<'_>, campaign: &CampaignReport) -> Citation {
    let source = source(site, campaign);
    Citation { text: text(site, &source), bibtex: bibtex(site, &source) }
}

/// How the site is cited: campaign by campaign, or as one where they are many.
pub(crate) fn of_site(site: &Site<'_>) -> Citation {
    let campaigns = site.campaigns();
    let whole = whole(site);
    let entries: Vec<String> = if campaigns.len() <= MOST_ENTRIES {
        campaigns.iter().map(|c| bibtex(site, &source(site, c))).collect()
    } else {
        vec![bibtex(site, &whole)]
    };
    let text = match campaigns[..] {
        [only] => text(site, &source(site, only)),
        _ => text(site, &whole),
    };
    Citation { text, bibtex: entries.join("\n\n") }
}

fn source<'a>(site: &Site<'a>, campaign: &'a CampaignReport) -> Source<'a> {
    let paper = campaign.study.as_ref();
    Source {
        title: campaign.title.clone(),
        authors: paper.map(|p| p.authors.iter().collect()).unwrap_or_default(),
        date: paper.and_then(|p| p.date.clone()).or_else(|| campaign.last_started_utc.map(labels::day)),
        doi: paper.and_then(|p| p.doi.as_deref()),
        url: paper.and_then(|p| p.url.clone()).or_else(|| permalink(site)),
        words: paper.and_then(|p| p.citation.as_deref()),
        hashes: vec![&campaign.archive_sha256],
    }
}

/// All campaigns as one: every author once, in the order of the campaigns. The newest day.
fn whole<'a>(site: &Site<'a>) -> Source<'a> {
    let sources: Vec<Source<'a>> = site.campaigns().into_iter().map(|c| source(site, c)).collect();
    let mut authors: Vec<&Author> = Vec::new();
    for author in sources.iter().flat_map(|s| &s.authors) {
        if !authors.contains(author) {
            authors.push(author);
        }
    }
    Source {
        title: sources.iter().map(|s| s.title.as_str()).collect::<Vec<_>>().join("; "),
        authors,
        date: sources.iter().filter_map(|s| s.date.clone()).max(),
        doi: None,
        url: permalink(site),
        words: None,
        hashes: sources.iter().flat_map(|s| s.hashes.clone()).collect(),
    }
}

/// The address of this version, where the site has one.
fn permalink(site: &Site<'_>) -> Option<String> {
    site.address(&site.version.path())
}

fn text(site: &Site<'_>, source: &Source<'_>) -> String {
    if let Some(words) = source.words {
        return format!("{} {}", words.trim(), hashes(source));
    }
    let names: Vec<String> = source.authors.iter().map(|a| a.shown()).collect();
    let by = match &names[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    let year = source.date.as_deref().and_then(|d| d.get(..4));
    // Without an author the title comes first and the year behind it.
    let (head, tail) = match (by.is_empty(), year) {
        (false, Some(year)) => (format!("{by} ({year}). "), String::new()),
        (true, Some(year)) => (String::new(), format!(" ({year})")),
        (_, None) => (by, String::new()),
    };
    let place = match (source.doi, &source.url) {
        (Some(doi), _) => format!(" https://doi.org/{doi}."),
        (None, Some(url)) => format!(" {url}."),
        (None, None) => String::new(),
    };
    let tool = &site.analysis.tool;
    let name = site.version.name().to_owned();
    format!(
        "{head}{}{tail}.{place} Analysed with {} {}, version {name}. {}",
        source.title,
        tool.name,
        tool.version,
        hashes(source)
    )
    .trim_start()
    .to_owned()
}

/// Hashes in words: whole for one archive, their heads for several.
fn hashes(source: &Source<'_>) -> String {
    match source.hashes[..] {
        [] => String::new(),
        [one] => format!("Archive SHA-256 {one}."),
        _ => {
            let heads: Vec<&str> = source.hashes.iter().map(|h| h.get(..16).unwrap_or(h)).collect();
            format!("Archives SHA-256 {}.", heads.join(", "))
        }
    }
}

fn bibtex(site: &Site<'_>, source: &Source<'_>) -> String {
    let key = source.hashes.first().map_or("report", |h| h.get(..8).unwrap_or(h));
    let mut entry = format!("@misc{{sparkbench-{key},\n");
    let mut field = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(entry, "  {name:<6} = {{{value}}},");
    };
    if !source.authors.is_empty() {
        field("author", source.authors.iter().map(|a| bibtex_name(a)).collect::<Vec<_>>().join(" and "));
    }
    field("title", format!("{{{}}}", braced(&source.title)));
    if let Some(year) = source.date.as_deref().and_then(|d| d.get(..4)) {
        field("year", year.to_owned());
    }
    if let Some(doi) = source.doi {
        field("doi", doi.to_owned());
    }
    if let Some(url) = &source.url {
        field("url", url.clone());
    }
    let tool = &site.analysis.tool;
    let name = site.version.name().to_owned();
    let note = format!(
        "Analysed with {} {}, version {name}; {}",
        tool.name,
        tool.version,
        hashes(source).trim_end_matches('.')
    );
    entry.push_str(&format!("  note   = {{{}}}\n}}", braced(&note)));
    entry
}

/// Family name first, so that it is unambiguous. Other names in braces, so that they are not split.
fn bibtex_name(author: &Author) -> String {
    match (&author.family, &author.given) {
        (Some(family), Some(given)) => format!("{}, {}", braced(family), braced(given)),
        (Some(family), None) => format!("{{{}}}", braced(family)),
        _ => format!("{{{}}}", braced(&author.shown())),
    }
}

/// Letters that BibTeX would take for its own.
fn braced(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c {
            '{' | '}' | '\\' | '~' | '^' => vec![' '],
            '%' | '&' | '#' | '_' | '$' => vec!['\\', c],
            other => vec![other],
        })
        .collect()
}

/// `CITATION.cff`, version 1.2.0 of the format. It needs an author.
pub(crate) fn cff(site: &Site<'_>) -> Option<Page> {
    let whole = whole(site);
    if whole.authors.is_empty() {
        return None;
    }
    let version = &site.version;
    let campaigns = site.campaigns();
    let papers: Vec<&Paper> = campaigns.iter().filter_map(|c| c.study.as_ref()).collect();
    let mut out = String::from(
        "cff-version: 1.2.0\nmessage: \"If you use these figures, please cite them as below.\"\ntype: dataset\n",
    );
    let single = match campaigns[..] {
        [only] => Some(source(site, only)),
        _ => None,
    };
    let source = single.as_ref().unwrap_or(&whole);
    line(&mut out, "", "title", &source.title);
    authors(&mut out, "", &source.authors);
    line(&mut out, "", "version", version.name());
    if let Some(date) = &source.date {
        line(&mut out, "", "date-released", date);
    }
    let mut licences: Vec<&str> = papers.iter().filter_map(|p| p.licence.as_deref()).collect();
    licences.sort_unstable();
    licences.dedup();
    if let ([licence], true) = (&licences[..], papers.len() == campaigns.len()) {
        licence_of(&mut out, "", licence);
    }
    if let Some(doi) = source.doi {
        line(&mut out, "", "doi", doi);
    }
    if let Some(url) = &source.url {
        line(&mut out, "", "url", url);
    }
    let mut keywords: Vec<&str> = papers.iter().flat_map(|p| p.keywords.iter().map(String::as_str)).collect();
    keywords.sort_unstable();
    keywords.dedup();
    if !keywords.is_empty() {
        out.push_str("keywords:\n");
        keywords.iter().for_each(|word| out.push_str(&format!("  - {}\n", quoted(word))));
    }
    out.push_str("identifiers:\n");
    let mut identifier = |value: &str, about: &str| {
        out.push_str(&format!(
            "  - type: other\n    value: {}\n    description: {}\n",
            quoted(&format!("sha256:{value}")),
            quoted(about)
        ));
    };
    for campaign in &campaigns {
        identifier(&campaign.archive_sha256, &format!("SHA-256 of the archive of {}", campaign.name));
    }
    identifier(&version.analysis_sha256, "SHA-256 of data/analysis.json");
    references(&mut out, site, &campaigns);
    Some(Page::new("CITATION.cff", out))
}

/// The campaigns of a site of several, each with its own authors.
fn references(out: &mut String, site: &Site<'_>, campaigns: &[&CampaignReport]) {
    let named: Vec<(Source<'_>, Option<&str>)> = campaigns
        .iter()
        .map(|c| (source(site, c), c.study.as_ref().and_then(|p| p.licence.as_deref())))
        .filter(|(s, _)| !s.authors.is_empty())
        .collect();
    if campaigns.len() < 2 || named.is_empty() {
        return;
    }
    out.push_str("references:\n");
    for (source, licence) in named {
        out.push_str("  - type: data\n");
        line(out, "    ", "title", &source.title);
        authors(out, "    ", &source.authors);
        if let Some(date) = &source.date {
            line(out, "    ", "date-released", date);
        }
        if let Some(doi) = source.doi {
            line(out, "    ", "doi", doi);
        }
        if let Some(url) = &source.url {
            line(out, "    ", "url", url);
        }
        if let Some(licence) = licence {
            licence_of(out, "    ", licence);
        }
    }
}

fn authors(out: &mut String, indent: &str, authors: &[&Author]) {
    out.push_str(&format!("{indent}authors:\n"));
    for author in authors {
        let mut fields: Vec<(&str, String)> = Vec::new();
        let mut add = |name: &'static str, value: &Option<String>| {
            fields.extend(value.clone().map(|value| (name, value)));
        };
        add("family-names", &author.family);
        add("given-names", &author.given);
        add("name", &author.name);
        add("orcid", &author.orcid.as_ref().map(|id| format!("https://orcid.org/{id}")));
        // A group has no affiliation in this format.
        add("affiliation", &author.affiliation.clone().filter(|_| author.name.is_none()));
        add("website", &author.url);
        for (k, (name, value)) in fields.iter().enumerate() {
            let dash = if k == 0 { "- " } else { "  " };
            out.push_str(&format!("{indent}  {dash}{name}: {}\n", quoted(value)));
        }
    }
}

/// One identifier, or a list where there is a choice. Nothing where the format may not know it.
fn licence_of(out: &mut String, indent: &str, expression: &str) {
    let ids: Vec<&str> = expression.split(" OR ").map(str::trim).collect();
    if !ids.iter().all(|id| SPDX.contains(id)) {
        return;
    }
    match ids[..] {
        [only] => line(out, indent, "license", only),
        _ => {
            out.push_str(&format!("{indent}license:\n"));
            ids.iter().for_each(|id| out.push_str(&format!("{indent}  - {}\n", quoted(id))));
        }
    }
}

fn line(out: &mut String, indent: &str, name: &str, value: &str) {
    out.push_str(&format!("{indent}{name}: {}\n", quoted(value)));
}

/// A string of JSON is one of YAML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_split_where_they_are_not_a_persons() {
        let person = Author { given: Some("Ada".into()), family: Some("King_Lovelace".into()), ..Author::default() };
        let group = Author { name: Some("Research & Co".into()), ..Author::default() };
        assert_eq!(bibtex_name(&person), "King\\_Lovelace, Ada");
        assert_eq!(bibtex_name(&group), "{Research \\& Co}");
    }

    #[test]
    fn a_choice_of_licences_is_a_list_and_an_unknown_one_is_left_out() {
        let said = |text: &str| {
            let mut out = String::new();
            licence_of(&mut out, "", text);
            out
        };
        assert_eq!(said("MIT"), "license: \"MIT\"\n");
        assert_eq!(said("MIT OR Apache-2.0"), "license:\n  - \"MIT\"\n  - \"Apache-2.0\"\n");
        assert_eq!(said("My-Own-1.0") + &said("MIT AND CC0-1.0"), "");
    }

    #[test]
    fn quotes_and_breaks_of_others_stay_within_their_string() {
        assert_eq!(quoted("a \"b\"\nauthors: x"), "\"a \\\"b\\\"\\nauthors: x\"");
    }
}
