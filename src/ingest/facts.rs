//! Facts of machines and models, `schema = "sparkbench.facts/1"`.
//!
//! In:  TOML with tables `[machines.LABEL]` and `[models."ID"]`.  Out: [`Facts`].
//! Not here: any figure of our own.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::labels::{from_toml, schema};
use super::{About, Format, Head, Parsed, Record, SourceFile};
use crate::error::{Error, Place};
use crate::model::{Facts, MachineFacts, ModelFacts};

/// See the module.
pub struct FactsFile;

const SCHEMA: &str = "sparkbench.facts/1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFacts {
    #[serde(rename = "schema")]
    _schema: String,
    #[serde(default)]
    machines: BTreeMap<String, MachineFacts>,
    #[serde(default)]
    models: BTreeMap<String, ModelFacts>,
}

impl Format for FactsFile {
    fn name(&self) -> &'static str {
        "facts"
    }

    fn about(&self) -> About {
        About {
            tool: "sparkbench",
            versions: "sparkbench.facts/1",
            sign: "a TOML file with `schema = \"sparkbench.facts/1\"`",
            reads: "machines, models and prices with their sources",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name.ends_with(".toml") && head.text.contains("sparkbench.facts/")
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        Ok(Parsed { records: vec![Record::Facts(parse_facts(&file.text()?)?)], ..Parsed::default() })
    }
}

/// Reads facts; a figure that is not positive and a table without sources are refused, since checks rest on them.
///
/// # Errors
/// Names the line, or the key, of what does not fit.
pub fn parse_facts(text: &str) -> Result<Facts, Error> {
    schema(text, SCHEMA)?;
    let wire: WireFacts = from_toml(text)?;
    for (key, machine) in &wire.machines {
        sourced(&format!("machines.{key}"), &machine.sources)?;
        positive(
            &format!("machines.{key}"),
            &[
                ("memory_gib", machine.memory_gib),
                ("bandwidth_gb_s", machine.bandwidth_gb_s),
                ("max_temp_c", machine.max_temp_c),
            ],
        )?;
    }
    for (key, model) in &wire.models {
        sourced(&format!("models.\"{key}\""), &model.sources)?;
        positive(
            &format!("models.\"{key}\""),
            &[
                ("parameters", model.parameters),
                ("weight_bytes", model.weight_bytes),
                ("step_bytes", model.step_bytes),
                ("expert_bytes", model.expert_bytes),
                ("experts", model.experts),
                ("experts_per_token", model.experts_per_token),
                ("kv_bytes_per_token", model.kv_bytes_per_token),
            ],
        )?;
    }
    Ok(Facts { machines: wire.machines, models: wire.models })
}

fn sourced(key: &str, sources: &[String]) -> Result<(), Error> {
    if sources.is_empty() {
        return Err(Error::archive("a fact has no source")
            .at(Place::Field(format!("{key}.sources")))
            .detail("expected at least one"));
    }
    Ok(())
}

fn positive(key: &str, figures: &[(&str, Option<f64>)]) -> Result<(), Error> {
    match figures.iter().find_map(|(name, value)| value.filter(|v| !(v.is_finite() && *v > 0.0)).map(|v| (name, v))) {
        Some((name, value)) => Err(Error::archive("a fact cannot be true")
            .at(Place::Field(format!("{key}.{name}")))
            .detail(format!("expected a number above 0, found {value}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_need_sources_and_positive_figures() {
        let good =
            "schema = \"sparkbench.facts/1\"\n[machines.x]\ntitle = \"X\"\nmemory_gib = 119.7\nsources = [\"s\"]\n";
        assert_eq!(parse_facts(good).unwrap().machines["x"].memory_gib, Some(119.7));
        for (from, to, word) in [
            ("119.7", "-1", "field 'machines.x.memory_gib': expected a number above 0, found -1"),
            ("[\"s\"]", "[]", "field 'machines.x.sources'"),
            ("memory_gib", "memory_gb", "line 4: unknown field `memory_gb`"),
        ] {
            let error = parse_facts(&good.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
