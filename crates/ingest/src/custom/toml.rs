//! Definitions as TOML: `[metrics.NAME]` of `metrics.toml` and of `labels.toml`.
//!
//! In:  text.  Out: [`Definitions`], or the first fault with its place.
//! Not here: suites, whose faults are reported all at once (see `plan`).

use std::path::Path;

use serde::Deserialize;

use super::Definitions;
use crate::toml_file::{from_toml, named, schema};
use crate::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_model::formula::definition::check;
use sparkbench_text::error::{Error, Place};

/// `metrics.toml`.
pub struct MetricsFile;

const SCHEMA: &str = "sparkbench.metrics/1";
const NAME: &str = "metrics.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(rename = "schema")]
    _schema: String,
    #[serde(default)]
    metrics: Definitions,
}

impl Format for MetricsFile {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn about(&self) -> About {
        About {
            tool: "a person",
            versions: "sparkbench.metrics/1",
            sign: "`metrics.toml`",
            reads: "definitions of metrics for the campaigns in its folder and below",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name == NAME || (head.name.ends_with(".toml") && head.text.contains("sparkbench.metrics/"))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        Ok(Parsed { records: vec![Record::Metrics(parse(&file.utf8()?)?)], ..Parsed::default() })
    }
}

/// Reads the file named on the command line.
///
/// # Errors
/// When it cannot be read, or holds a fault.
pub fn from_command_line(path: &Path) -> Result<Definitions, Error> {
    named(path, "definitions of metrics", parse)
}

fn parse(text: &str) -> Result<Definitions, Error> {
    schema(text, SCHEMA)?;
    let wire: Wire = from_toml(text)?;
    faults(&wire.metrics)?;
    Ok(wire.metrics)
}

/// The first fault of some definitions.
pub(crate) fn faults(definitions: &Definitions) -> Result<(), Error> {
    for (name, custom) in definitions {
        let Err(faults) = check(name, custom) else { continue };
        let Some(fault) = faults.first() else { continue };
        let key =
            if fault.key.is_empty() { format!("metrics.{name}") } else { format!("metrics.{name}.{}", fault.key) };
        return Err(Error::archive("a metric is not well defined")
            .at(Place::Field(key))
            .detail(match fault.what.split_once(": ").filter(|(place, _)| place.starts_with("column ")) {
                Some((place, what)) => format!("{place}: it {what}"),
                None => format!("it {}", fault.what),
            })
            .hint(fault.remedy.clone()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_named_by_key_and_column_with_what_to_do() {
        for (text, words) in [
            (
                "[metrics.x]\nexpression = \"output_throughput_toks / power_w\"",
                "field 'metrics.x.expression': column 1: it names \"output_throughput_toks\", which is not known",
            ),
            ("[metrics.x]", "field 'metrics.x': it does not say where its figures come from"),
            ("[metrics.ttft_ms]\nexpression = \"isl\"", "has the name of a figure that is known already"),
            ("[metrics.x]\nexpresion = \"isl\"", "unknown field `expresion`"),
            ("[metrics.x]\npattern = '(a'", "is not a regular expression"),
            ("[metrics.x]\npattern = 'a'", "has no group"),
            ("[metrics.x]\nfile = \"../x\"\npointer = \"/a\"", "is not a pattern below the folder of a run"),
            ("[metrics.x]\nexpression = \"isl\"\nunit = \"ms\"", "cannot be used: the expression gives tok"),
            ("[metrics.x]\ndirection = \"up\"\nexpression = \"isl\"", "unknown variant `up`"),
        ] {
            let error = parse(&format!("schema = \"sparkbench.metrics/1\"\n{text}\n")).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
