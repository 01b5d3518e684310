//! `datapackage.json`: every download with its hash, its columns and its licence, in a form that other programs read.
//!
//! In:  the finished downloads.  Out: a Data Package (datapackage.org, version 2) with a Table Schema for each CSV.
//! Not here: what a column means (see `model::column`).

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::data::about;
use super::index::Site;
use super::{HashedPage, Page, export};
use sparkbench_model::column::{Meaning, meaning};
use sparkbench_text::error::Error;
use sparkbench_verdict::report::CampaignReport;

/// Where it lies.
pub(super) const PATH: &str = "data/datapackage.json";

/// The package over these files.
pub(super) fn page(site: &Site<'_>, files: &[Arc<HashedPage>]) -> Result<Page, Error> {
    let campaigns = &site.analysis.campaigns;
    let title = match campaigns.as_slice() {
        [one] => one.title.clone(),
        _ => format!("Analysis of {} campaigns", campaigns.len()),
    };
    let mut package = json!({
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "sparkbench-analysis",
        "title": title,
        "description": campaigns.iter().filter_map(|c| c.answer.as_deref()).collect::<Vec<_>>().join(" "),
        "version": format!("{} {}", site.analysis.tool.name, site.analysis.tool.version),
    });
    let fields = |key: &str, values: Vec<Value>, package: &mut Value| {
        if let (false, Some(package)) = (values.is_empty(), package.as_object_mut()) {
            package.insert(key.to_owned(), Value::Array(values));
        }
    };
    fields("licenses", campaigns.iter().flat_map(licences).collect(), &mut package);
    fields("sources", campaigns.iter().map(source).collect(), &mut package);
    fields("resources", files.iter().map(|file| resource(file)).collect(), &mut package);
    let mut bytes = serde_json::to_vec_pretty(&package)
        .map_err(|cause| Error::archive("the data package cannot be written as JSON").because(cause))?;
    bytes.push(b'\n');
    Ok(Page::new(PATH, bytes))
}

/// Licences that the provenance of a campaign names: `MIT licence`, `License: CC-BY-4.0`.
fn licences(campaign: &CampaignReport) -> Vec<Value> {
    const WORDS: &[&str] = &["licence", "license", "licensed"];
    let names = |line: &String| {
        let words: Vec<&str> = line.split([' ', ',', ';', ':']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| WORDS.contains(&word.to_lowercase().as_str()))?;
        // Ids of SPDX begin with a capital or a digit.
        let is_id = |word: &&&str| word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit());
        let before = at.checked_sub(1).and_then(|before| words.get(before)).filter(is_id);
        let name = before.or_else(|| words.iter().skip(at + 1).find(is_id))?;
        Some(json!({ "name": name, "title": format!("{}: {line}", campaign.name) }))
    };
    campaign.provenance.iter().filter_map(names).collect()
}

fn source(campaign: &CampaignReport) -> Value {
    let words = campaign.provenance.join("; ");
    json!({
        "title": if words.is_empty() { campaign.title.clone() } else { format!("{}: {words}", campaign.title) },
        "version": format!("sha256:{}", campaign.archive_sha256),
    })
}

fn resource(sheet: &HashedPage) -> Value {
    let file = &sheet.page;
    let name = file.path.strip_prefix("data/").unwrap_or(&file.path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension).to_lowercase();
    let mut resource = Map::new();
    let mut set = |key: &str, value: Value| drop(resource.insert(key.to_owned(), value));
    // Names of resources are lower-case letters, digits, points, underscores and hyphens.
    set(
        "name",
        Value::String(name.to_lowercase().replace(|c: char| !(c.is_ascii_alphanumeric() || ".-_".contains(c)), "-")),
    );
    set("path", Value::String(name.to_owned()));
    set("title", Value::String(about(&file.path).to_owned()));
    set("format", Value::String(extension.clone()));
    let media = media_type(&extension);
    set("mediatype", Value::String(media.to_owned()));
    set("bytes", json!(file.bytes.len()));
    set("hash", Value::String(format!("sha256:{}", sheet.sha256)));
    if media == "text/csv" {
        set("encoding", Value::String("utf-8".into()));
        set("type", Value::String("table".into()));
        let columns = header(&file.bytes);
        set(
            "schema",
            json!({ "fields": columns.iter().map(|name| field(name)).collect::<Vec<_>>(), "missingValues": [""] }),
        );
    }
    Value::Object(resource)
}

fn field(name: &str) -> Value {
    match meaning(name) {
        Some(Meaning { kind, unit, direction, about }) => {
            let mut field = json!({ "name": name, "type": kind.word(), "description": about });
            let own = field.as_object_mut().into_iter();
            own.for_each(|own| {
                for (key, value) in [("unit", unit), ("direction", direction)] {
                    if !value.is_empty() {
                        own.insert(key.to_owned(), Value::String(value.to_owned()));
                    }
                }
            });
            field
        }
        None => json!({ "name": name, "type": "any" }),
    }
}

/// Names of the columns of a CSV.
pub fn header(bytes: &[u8]) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(bytes);
    reader.headers().map(|names| names.iter().map(str::to_owned).collect()).unwrap_or_default()
}

fn media_type(extension: &str) -> &'static str {
    match extension {
        "csv" => "text/csv",
        "json" => "application/json",
        "md" => "text/markdown",
        "parquet" => "application/vnd.apache.parquet",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "toml" => "application/toml",
        _ => "application/octet-stream",
    }
}

/// Names of the columns of `comparisons.csv`, for the list of units.
pub fn columns_of_comparisons() -> Vec<String> {
    export::COLUMNS.iter().map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_the_comparisons_has_a_meaning() {
        for name in export::COLUMNS {
            assert!(meaning(name).is_some_and(|m| !m.about.is_empty()), "{name}");
        }
    }

    #[test]
    fn a_csv_tells_its_columns_with_unit_and_direction() {
        let value = resource(&HashedPage::new(Page::new("data/x.csv", "id,ttft_ms,oddity\r\na,1,2\r\n")));
        let fields = value["schema"]["fields"].as_array().unwrap();
        assert_eq!(
            fields[1],
            json!({"name": "ttft_ms", "type": "number", "description": "Time to first token", "unit": "ms", "direction": "lower_is_better"})
        );
        assert_eq!(fields[2]["type"], "any");
        assert_eq!((value["bytes"].as_u64(), value["path"].as_str()), (Some(26), Some("x.csv")));
        assert!(value["hash"].as_str().unwrap().starts_with("sha256:"));
    }
}
