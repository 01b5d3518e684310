//! `labels.toml`: labels from a person for files that lack them.
//!
//! In:  TOML, `schema = "sparkbench.labels/1"`.  Out: [`Labels`].
//! Not here: applying them (see `assemble`).

use std::path::Path;

use super::custom::faults;
use super::figure::excerpt;
use super::labels::{FileLabels, Labels, glob};
use super::toml_file::{from_toml, named, schema};
use super::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_design as design;
use sparkbench_model::Metric;
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(super) struct LabelsFile;

pub(super) const SCHEMA: &str = "sparkbench.labels/1";

impl Format for LabelsFile {
    fn name(&self) -> &'static str {
        "labels"
    }

    fn about(&self) -> About {
        About {
            tool: "a person",
            versions: "sparkbench.labels/1",
            sign: "`labels.toml`",
            reads: "what foreign files lack: environment, model, workload, repeat, times",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name == "labels.toml" || (head.name.ends_with(".toml") && head.text.contains("sparkbench.labels/"))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let labels = parse(&file.utf8()?)?;
        Ok(Parsed { records: vec![Record::Labels(Box::new(labels))], ..Parsed::default() })
    }
}

/// Reads the file named on the command line.
pub(super) fn from_command_line(path: &Path) -> Result<Labels, Error> {
    named(path, "labels", parse)
}

fn parse(text: &str) -> Result<Labels, Error> {
    schema(text, SCHEMA)?;
    let mut labels: Labels = from_toml(text)?;
    labels.forget_empty();
    if let Some(label) = labels.compare_by.as_deref().filter(|label| !design::is_name(label)) {
        return Err(Error::archive("a label cannot be compared").at(Place::Field("compare_by".into())).detail(
            format!("expected the name of a setting, such as engine or quantisation, found \"{}\"", excerpt(label)),
        ));
    }
    if let Some(said) = labels.facts.as_deref().filter(|said| ![Labels::LOCAL, Labels::SHIPPED].contains(said)) {
        return Err(Error::archive("it is not said which facts come first")
            .at(Place::Field("facts".into()))
            .detail(format!("expected \"local\" or \"shipped\", found \"{}\"", excerpt(said))));
    }
    faults(&labels.metrics)?;
    let is_known = |name: &str| labels.metrics.contains_key(name) || Metric::of_catalogue(name).is_some();
    let unknown = |key: &str, name: &str| {
        Error::archive("a metric is not known")
            .at(Place::Field(key.to_owned()))
            .detail(format!("found \"{}\"", excerpt(name)))
    };
    for (key, names) in [("primary", &labels.primary), ("planned_metrics", &labels.planned_metrics)] {
        if let Some(name) = names.iter().find(|name| !is_known(name)) {
            return Err(unknown(key, name));
        }
    }
    let tables = [
        ("margins_pct", &labels.margins_pct, "a margin is not a margin", "expected per cent above 0"),
        ("truth", &labels.truth, "a truth is not a figure", "expected a figure above 0"),
    ];
    for (table, figures, what, expected) in tables {
        for (name, value) in figures {
            if !is_known(name) {
                return Err(unknown(table, name));
            }
            if !(value.is_finite() && *value > 0.0) {
                return Err(Error::archive(what)
                    .at(Place::Field(format!("{table}.{name}")))
                    .detail(format!("{expected}, found {value}")));
            }
        }
    }
    let set_in_set = |rule: &FileLabels| rule.set.as_ref().is_some_and(|set| set.set.is_some() || !set.glob.is_empty());
    if let Some(place) = labels.files.iter().position(set_in_set) {
        return Err(Error::archive("a rule sets what is not a label")
            .at(Place::Field(format!("files[{place}].set")))
            .detail("expected labels such as model or quantisation, found a pattern or another set"));
    }
    for (place, rule) in labels.files.iter().enumerate() {
        let key = |name: &str| Place::Field(format!("files[{place}].{name}"));
        if rule.glob.is_empty() {
            return Err(Error::archive("a rule for files names none")
                .at(key("glob"))
                .detail("expected a pattern, found nothing"));
        }
        glob(&rule.glob).map_err(|cause| Error::archive("a pattern is not valid").at(key("glob")).because(cause))?;
        let set = rule.set.as_deref();
        for (name, moment) in [
            ("started_utc", &rule.started_utc),
            ("ended_utc", &rule.ended_utc),
            ("set.started_utc", set.map_or(&None, |set| &set.started_utc)),
            ("set.ended_utc", set.map_or(&None, |set| &set.ended_utc)),
        ] {
            if let Some(text) = moment.as_deref().filter(|text| sparkbench_model::Instant::parse(text).is_none()) {
                return Err(Error::archive("a moment is not valid")
                    .at(key(name))
                    .detail(format!("found \"{}\"", excerpt(text))));
            }
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_not_known_is_named_with_its_line() {
        let error = parse("schema = \"sparkbench.labels/1\"\nbase = \"native\"\n").unwrap_err();
        assert!(error.to_string().contains("line 2: unknown field `base`"), "{error}");
    }

    #[test]
    fn mistakes_are_named_by_key() {
        for (text, word) in [
            ("primary = [\"speed\"]", "field 'primary': found \"speed\""),
            ("[margins_pct]\nttft_ms = 0", "field 'margins_pct.ttft_ms': expected per cent above 0, found 0"),
            ("[[files]]\nmodel = \"m\"", "field 'files[0].glob'"),
            ("[[files]]\nglob = \"[\"", "field 'files[0].glob'"),
            ("[[files]]\nglob = \"*\"\nstarted_utc = \"noon\"", "field 'files[0].started_utc': found \"noon\""),
            ("planned_repeats = \"ten\"", "line 2"),
            ("[[files]]\nglob = \"*\"\nrepeat = \"first\"", "expected a number, found \"first\""),
        ] {
            let error = parse(&format!("schema = \"sparkbench.labels/1\"\n{text}\n")).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn an_empty_value_is_as_good_as_none() {
        let keys = ["environment", "model", "engine", "quantisation", "started_utc", "repeat", "batch", "isl"];
        let blanks: String = keys.iter().map(|key| format!("{key} = \"\"\n")).collect();
        let labels = parse(&format!(
            "schema = \"sparkbench.labels/1\"\nname = \"\"\nbaseline = \" \"\n[[files]]\nglob = \"*\"\n{blanks}"
        ));
        let none = parse("schema = \"sparkbench.labels/1\"\n[[files]]\nglob = \"*\"\n").unwrap();
        assert_eq!(labels.unwrap(), none);
    }

    #[test]
    fn another_schema_is_said_to_be_another_schema() {
        let error = parse("schema = \"sparkbench.labels/9\"\nnew = 1\n").unwrap_err();
        assert!(error.to_string().contains("expected 'sparkbench.labels/1', found \"sparkbench.labels/9\""), "{error}");
        assert!(parse("name = \"x\"").unwrap_err().to_string().contains("field 'schema'"));
    }
}
