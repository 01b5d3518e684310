//! A campaign as a data set, for search engines: JSON-LD by schema.org.
//!
//! In:  the campaign, its authors, the files for machines.  Out: a block of data for the head of its page, which no browser runs.
//! Not here: anything that the page itself does not say.
//!
//! Source: schema.org `Dataset`, and Google's guide to structured data for data sets (name and description needed, 50 letters at least).

use serde_json::{Map, Value, json};

use super::super::index::Site;
use super::super::labels;
use sparkbench_model::Author;
use sparkbench_verdict::report::CampaignReport;

/// Letters of a description at least and at most.
const DESCRIPTION: std::ops::RangeInclusive<usize> = 50..=5000;

/// The block, safe to embed in a page: no letter that could end it.
pub(crate) fn block(site: &Site<'_>, campaign: &CampaignReport) -> String {
    let text = Value::Object(describe(site, campaign)).to_string();
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            other => out.push(other),
        }
        out
    })
}

fn describe(site: &Site<'_>, campaign: &CampaignReport) -> Map<String, Value> {
    let paper = campaign.study.as_ref();
    let mut set = Map::new();
    let mut put = |name: &str, value: Value| {
        let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if !empty {
            set.insert(name.to_owned(), value);
        }
    };
    put("@context", json!("https://schema.org"));
    put("@type", json!("Dataset"));
    put("name", json!(campaign.title));
    put("description", json!(description(campaign)));
    put("url", json!(site.address(&format!("c/{}/index.html", campaign.name))));
    let mut identifiers = vec![format!("sha256:{}", campaign.archive_sha256)];
    identifiers.extend(paper.and_then(|p| p.doi.as_ref()).map(|doi| format!("https://doi.org/{doi}")));
    put("identifier", json!(identifiers));
    put("version", json!(site.version.name()));
    put("license", json!(paper.and_then(|p| p.licence.as_deref()).map(licence)));
    put("creator", Value::Array(paper.map(|p| p.authors.iter().map(creator).collect()).unwrap_or_default()));
    put("datePublished", json!(paper.and_then(|p| p.date.as_deref())));
    put("sameAs", json!(paper.and_then(|p| p.url.as_deref())));
    put("keywords", json!(paper.map(|p| p.keywords.clone()).unwrap_or_default()));
    if let (Some(first), Some(last)) = (campaign.first_started_utc, campaign.last_started_utc) {
        put("temporalCoverage", json!(format!("{}/{}", first.iso(), last.iso())));
    }
    put("measurementTechnique", json!(format!("{} {}", site.analysis.tool.name, site.analysis.tool.version)));
    let variables = campaign.primary.iter().map(
        |metric| json!({ "@type": "PropertyValue", "name": labels::metric(metric), "unitText": labels::unit(metric) }),
    );
    put("variableMeasured", Value::Array(variables.collect()));
    put(
        "distribution",
        Value::Array(site.downloads.iter().filter_map(|d| download(site, &d.path, &d.sha256)).collect()),
    );
    put("isAccessibleForFree", json!(true));
    set
}

/// The question and the answer.
fn description(campaign: &CampaignReport) -> String {
    let mut text: Vec<&str> = campaign.question.as_deref().into_iter().collect();
    text.extend(campaign.headline.iter().map(|s| s.text.as_str()));
    let mut text = text.join(" ");
    if text.chars().count() < *DESCRIPTION.start() {
        text = format!("{} {text}", campaign.title).trim().to_owned();
        text.push_str(" Runs of a benchmark with their analysis and every file they came from.");
    }
    text.chars().take(*DESCRIPTION.end()).collect()
}

/// The address of a single licence. An expression as it is written.
fn licence(expression: &str) -> Value {
    if expression.contains([' ', '(']) {
        json!({ "@type": "CreativeWork", "name": expression })
    } else {
        json!(format!("https://spdx.org/licenses/{expression}.html"))
    }
}

fn creator(author: &Author) -> Value {
    let mut value = Map::new();
    let person = author.family.is_some() || author.orcid.is_some();
    value.insert("@type".into(), json!(if person { "Person" } else { "Organization" }));
    value.insert("name".into(), json!(author.shown()));
    for (name, part) in [("givenName", &author.given), ("familyName", &author.family), ("url", &author.url)] {
        if let Some(part) = part {
            value.insert(name.into(), json!(part));
        }
    }
    if let Some(orcid) = &author.orcid {
        value.insert("@id".into(), json!(format!("https://orcid.org/{orcid}")));
    }
    if let Some(affiliation) = author.affiliation.as_ref().filter(|_| person) {
        value.insert("affiliation".into(), json!({ "@type": "Organization", "name": affiliation }));
    }
    Value::Object(value)
}

/// A file to take away. Its address is relative to the page where the site's own is not known, as JSON-LD allows.
fn download(site: &Site<'_>, path: &str, sha256: &str) -> Option<Value> {
    let format = match path.rsplit('.').next()? {
        "json" => "application/json",
        "csv" => "text/csv",
        "parquet" => "application/vnd.apache.parquet",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "md" => "text/markdown",
        "zip" => "application/zip",
        _ => return None,
    };
    let address = site.address(path).unwrap_or_else(|| format!("../../{path}"));
    Some(json!({
        "@type": "DataDownload",
        "name": path.rsplit('/').next(),
        "encodingFormat": format,
        "contentUrl": address,
        "sha256": sha256,
    }))
}
