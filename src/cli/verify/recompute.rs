//! A site against the analysis of its archive, made again: which numbers differ.
//!
//! In:  the folder of a site, the paths it was made from.  Out: differences by their place in `analysis.json`.
//! Not here: hashes (see `archive::verify`).
//!
//! The settings are those that `analysis.json` names. Rows of a list are matched by what they are about, so that one more or one less
//! is told as that and not as a difference of everything behind it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::intake::{self, Judging};
use crate::cli::talk::Talk;
use sparkbench_archive::verify::{Kind, Mismatch};
use sparkbench_design::Keep;
use sparkbench_site::page;
use sparkbench_text::error::Error;
use sparkbench_text::excerpt::excerpt;

const ANALYSIS: &str = "data/analysis.json";
/// Differences that are listed. Of more, the number is said.
const LISTED: usize = 200;
/// Longest text of a value that is shown.
const SHOWN: usize = 80;

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Recomputed {
    /// What differs.
    pub flaws: Vec<Mismatch>,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// Files beside the archive that the site was made with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    pub labels: Option<&'a Path>,
    /// Definitions of metrics.
    pub metrics: Option<&'a Path>,
    /// Facts of machines and models.
    pub facts: Option<&'a Path>,
}

/// Makes the analysis again and holds it against what the site says.
///
/// # Errors
/// When the site's analysis cannot be read or the archive cannot be judged.
pub(super) fn recompute(site: &Path, archive: &[PathBuf], given: &Given<'_>, talk: &Talk) -> Result<Recomputed, Error> {
    let file = site.join(ANALYSIS);
    let unread = |what: &str| Error::archive(format!("{what}, '{}'", sparkbench_archive::shown(&file)));
    let bytes = sparkbench_archive::disk::read_plain(&file)
        .map_err(|cause| unread("cannot read the analysis of the site").because(cause))?;
    let said: Value = serde_json::from_slice(&bytes)
        .map_err(|cause| unread("the analysis of the site is not JSON").because(cause))?;
    let Some(settings) = said.get("settings") else {
        let note = "not recomputed: the analysis of the site does not name its settings".to_owned();
        return Ok(Recomputed { notes: vec![note], ..Recomputed::default() });
    };
    let (judging, scrubbed) = judging(settings, given);
    let mut done = Recomputed::default();
    for (option, file) in [("labels", given.labels), ("metrics", given.metrics), ("facts", given.facts)] {
        if settings.pointer(&format!("/asked/{option}")) == Some(&Value::Bool(true)) && file.is_none() {
            done.notes.push(format!("the site was made with --{option}: give verify the same file"));
        }
    }
    let judged = intake::judge(archive, &judging, scrubbed, talk)?;
    let again: Value = serde_json::from_slice(&page::analysis_json(&judged.analysis)?.bytes)
        .map_err(|cause| Error::archive("the repeated analysis is not JSON").because(cause))?;
    let version = |value: &Value| value.pointer("/tool/version").and_then(Value::as_str).unwrap_or_default().to_owned();
    if version(&said) != version(&again) {
        done.notes.push(format!(
            "the site was made by version {}, the repeated analysis by version {}",
            version(&said),
            version(&again)
        ));
    }
    let mut found = Vec::new();
    differences("", &said, &again, &mut found);
    let all = found.len();
    done.notes.push(match all {
        0 => format!("recomputed with the settings of the site: all {} numbers are the same", numbers(&again)),
        1 => "recomputed with the settings of the site: 1 value differs".to_owned(),
        n => format!("recomputed with the settings of the site: {n} values differ"),
    });
    let flaw = |what: String| Mismatch::new(ANALYSIS, Kind::Differs, what);
    done.flaws = found.into_iter().take(LISTED).map(flaw).collect();
    if all > LISTED {
        done.flaws.push(flaw(format!("and {} more", all - LISTED)));
    }
    Ok(done)
}

/// The settings as options. A site of an older version, which does not say what was asked for, says the settings in force.
fn judging(settings: &Value, given: &Given<'_>) -> (Judging, bool) {
    let asked = settings.get("asked");
    let from = asked.unwrap_or(settings);
    let margins = from.get("margins_pct").and_then(Value::as_object).into_iter().flatten();
    let judging = Judging {
        baseline: from.get("baseline").and_then(Value::as_str).map(str::to_owned),
        margins: if asked.is_some() {
            margins.map(|(metric, pct)| format!("{metric}={pct}")).collect()
        } else {
            Vec::new()
        },
        confidence: settings.get("confidence").and_then(Value::as_f64).unwrap_or(intake::CONFIDENCE),
        resamples: settings
            .get("resamples")
            .and_then(Value::as_u64)
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(intake::RESAMPLES),
        seed: settings.get("seed").and_then(Value::as_u64).unwrap_or(intake::SEED),
        labels: given.labels.map(Path::to_owned),
        metrics: given.metrics.map(Path::to_owned),
        facts: given.facts.map(Path::to_owned),
        compare_by: from.get("compare_by").and_then(Value::as_str).map(str::to_owned),
        keep: from
            .get("where")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|text| Keep::parse(text.as_str()?).ok())
            .collect(),
        arms_by_folder: from.get("arms_by_folder").and_then(Value::as_bool).unwrap_or(false),
        campaign_per_folder: false,
        without_gaps: false,
    };
    (judging, asked.and_then(|asked| asked.get("scrubbed")).and_then(Value::as_bool).unwrap_or(false))
}

fn numbers(value: &Value) -> usize {
    match value {
        Value::Number(_) => 1,
        Value::Array(items) => items.iter().map(numbers).sum(),
        Value::Object(fields) => fields.values().map(numbers).sum(),
        _ => 0,
    }
}

/// Every leaf that differs, as `/path: the site has X, the repeated analysis Y`.
fn differences(path: &str, said: &Value, again: &Value, found: &mut Vec<String>) {
    match (said, again) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                differences(&format!("{path}/{key}"), value, new.get(key).unwrap_or(&Value::Null), found);
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                differences(&format!("{path}/{key}"), &Value::Null, value, found);
            }
        }
        (Value::Array(old), Value::Array(new)) => match (by_subject(old), by_subject(new)) {
            (Some(old), Some(new)) => {
                for (subject, value) in &old {
                    match new.get(subject) {
                        Some(now) => differences(&format!("{path}[{subject}]"), value, now, found),
                        None => {
                            found.push(format!("{path}[{subject}]: only the site has it, not the repeated analysis"))
                        }
                    }
                }
                let more = new.keys().filter(|subject| !old.contains_key(*subject));
                found.extend(
                    more.map(|subject| format!("{path}[{subject}]: only the repeated analysis has it, not the site")),
                );
            }
            _ => {
                for (k, value) in old.iter().enumerate().take(new.len()) {
                    differences(&format!("{path}[{k}]"), value, new.get(k).unwrap_or(&Value::Null), found);
                }
                if old.len() != new.len() {
                    found.push(format!(
                        "{path}: the site has {} entries, the repeated analysis {}",
                        old.len(),
                        new.len()
                    ));
                }
            }
        },
        (old, new) if old == new => {}
        (old, new) => found.push(format!("{path}: the site has {}, the repeated analysis {}", shown(old), shown(new))),
    }
}

/// Rows by what they are about. Nothing where they do not say it or two say the same.
fn by_subject(items: &[Value]) -> Option<BTreeMap<String, &Value>> {
    const KEYS: &[&str] = &[
        "id",
        "path",
        "name",
        "campaign",
        "machine",
        "model",
        "workload",
        "environment",
        "metric",
        "baseline",
        "candidate",
        "statistic",
        "choice",
        "percentile",
        "price",
    ];
    let mut rows = BTreeMap::new();
    for item in items {
        let own = item.as_object()?;
        let mut parts: Vec<&str> = KEYS.iter().filter_map(|key| own.get(*key).and_then(Value::as_str)).collect();
        let of_subject = own.get("subject").and_then(Value::as_object).into_iter().flatten();
        parts.extend(of_subject.filter_map(|(_, value)| value.as_str()));
        if parts.is_empty() || rows.insert(parts.join("|"), item).is_some() {
            return None;
        }
    }
    Some(rows)
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(fields) => format!("an object of {} fields", fields.len()),
        Value::Null => "nothing".to_owned(),
        leaf => leaf.to_string(),
    };
    excerpt(text.chars(), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(old: Value, new: Value) -> Vec<String> {
        let mut found = Vec::new();
        differences("", &old, &new, &mut found);
        found
    }

    #[test]
    fn a_changed_number_is_told_with_its_place_and_both_values() {
        let old = json!({"runs": [{"id": "a", "v": 1.5}, {"id": "b", "v": 2}]});
        let new = json!({"runs": [{"id": "b", "v": 2}, {"id": "a", "v": 1.25}]});
        assert_eq!(found(old.clone(), new), ["/runs[a]/v: the site has 1.5, the repeated analysis 1.25"]);
        assert_eq!(found(old.clone(), old), [""; 0]);
    }

    #[test]
    fn a_row_more_or_less_is_told_as_that() {
        let old = json!({"runs": [{"id": "a"}, {"id": "b"}], "n": [1, 2]});
        let new = json!({"runs": [{"id": "b"}, {"id": "c"}], "n": [1, 2, 3]});
        assert_eq!(
            found(old, new),
            [
                "/runs[a]: only the site has it, not the repeated analysis",
                "/runs[c]: only the repeated analysis has it, not the site",
                "/n: the site has 2 entries, the repeated analysis 3"
            ]
        );
    }

    #[test]
    fn what_is_there_on_one_side_only_is_a_difference() {
        assert_eq!(found(json!({"a": null}), json!({"a": 1})), ["/a: the site has nothing, the repeated analysis 1"]);
        assert_eq!(
            found(json!({}), json!({"a": [1]})),
            ["/a: the site has nothing, the repeated analysis a list of 1"]
        );
    }
}
