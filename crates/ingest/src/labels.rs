//! `labels.toml`: labels from a person for files that lack them.
//!
//! In:  TOML, `schema = "sparkbench.labels/1"`.  Out: [`Labels`].
//! Not here: applying them (see `assemble`).

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::custom::{self, Definitions};
use super::figure::excerpt;
use super::h200_ab::unknown_schema;
use super::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_archive::{WHOLE_LIMIT, shown};
use sparkbench_model::{Campaign, Metric, ModelLabel, Stated};
use sparkbench_text::error::{Error, Kind, Place};

/// See the module.
pub(super) struct LabelsFile;

pub(super) const SCHEMA: &str = "sparkbench.labels/1";

/// A campaign in the words of the person who labels it. Every key may be absent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    schema: String,
    /// Name of the campaign. Its slug is used. Absent: the name of the folder.
    pub name: Option<String>,
    /// For people.
    pub title: Option<String>,
    /// The question the campaign was made to answer.
    pub question: Option<String>,
    /// Machine label, a key of the machine facts.
    pub machine: Option<String>,
    /// Label that distinguishes the arms where it is not the environment: `engine`, `model`, `quantisation`, `tool`.
    pub compare_by: Option<String>,
    /// Environment others are compared with, or the value of the label in `compare_by`.
    pub baseline: Option<String>,
    /// Figures that are true by construction, by metric: those of a server that was told how fast to be.
    #[serde(default)]
    pub truth: BTreeMap<String, f64>,
    /// Primary metrics.
    #[serde(default)]
    pub primary: Vec<String>,
    /// Equivalence margins, per cent, by metric.
    #[serde(default)]
    pub margins_pct: BTreeMap<String, f64>,
    /// Metrics that are defined here, by name.
    #[serde(default)]
    pub metrics: Definitions,
    /// Runs planned per cell.
    pub planned_repeats: Option<u32>,
    /// Metrics that each run was to report.
    #[serde(default)]
    pub planned_metrics: Vec<String>,
    /// Least pause between runs as stated, seconds.
    pub cooldown_s: Option<f64>,
    /// Highest start temperature of the campaign's gate, degrees Celsius.
    pub start_temp_limit_c: Option<f64>,
    /// Where it comes from, one line each.
    #[serde(default)]
    pub provenance: Vec<String>,
    /// Markdown, or the name of a `.md` file beside.
    pub prose: Option<String>,
    /// Which facts come first: `local` for files of facts in this folder and below, `shipped` for those of the program.
    pub facts: Option<String>,
    /// True when block k holds the k-th run of each environment.
    #[serde(default)]
    pub block_from_repeat: bool,
    /// For every file.
    #[serde(default)]
    pub defaults: FileLabels,
    /// Known facts of the model labels.
    #[serde(default)]
    pub models: BTreeMap<String, ModelLabel>,
    /// Statements that the files can confirm or refute.
    #[serde(default)]
    pub stated: Vec<Stated>,
    /// For files by name. Of two that match one file the first that knows a field counts.
    #[serde(default)]
    pub files: Vec<FileLabels>,
}

/// Notes on the runs of some files. It fills what they lack and replaces nothing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileLabels {
    /// Paths below the folder of the labels. `*` stays within a folder, `**` does not. Empty: all.
    #[serde(default)]
    pub glob: String,
    pub environment: Option<String>,
    pub model: Option<String>,
    pub workload: Option<String>,
    /// The k-th run of its cell.
    #[serde(default, deserialize_with = "number_or_blank")]
    pub repeat: Option<u32>,
    /// Group of runs close in time.
    #[serde(default, deserialize_with = "number_or_blank")]
    pub block: Option<u32>,
    /// Place in the order of execution.
    #[serde(default, deserialize_with = "number_or_blank")]
    pub position: Option<u32>,
    /// Start, as ISO 8601 or as `YYYYMMDD_HHMMSS`.
    pub started_utc: Option<String>,
    /// End, likewise.
    pub ended_utc: Option<String>,
    /// Machine or GPU name.
    pub machine: Option<String>,
    /// Engine name.
    pub engine: Option<String>,
    pub engine_version: Option<String>,
    pub model_id: Option<String>,
    /// Data type or quantisation of the weights.
    #[serde(alias = "quantization")]
    pub quantisation: Option<String>,
    /// Batch size or concurrency limit.
    #[serde(default, deserialize_with = "number_or_blank")]
    pub batch: Option<f64>,
    /// Input tokens.
    #[serde(default, deserialize_with = "number_or_blank")]
    pub isl: Option<f64>,
    /// Output tokens.
    #[serde(default, deserialize_with = "number_or_blank")]
    pub osl: Option<f64>,
    /// Requests of a run.
    #[serde(default, deserialize_with = "number_or_blank")]
    pub requests: Option<f64>,
    /// Labels that override the file: the same keys, without `glob` and `set`.
    pub set: Option<Box<FileLabels>>,
}

/// A number, or the empty text of an unfilled blank.
fn number_or_blank<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either<T> {
        Number(T),
        Text(String),
    }
    match Either::deserialize(from).map_err(|_| D::Error::custom("expected a number"))? {
        Either::Number(number) => Ok(Some(number)),
        Either::Text(text) if text.trim().is_empty() => Ok(None),
        Either::Text(text) => Err(D::Error::custom(format!("expected a number, found \"{}\"", excerpt(&text)))),
    }
}

/// An empty value is an unfilled blank.
fn blank(value: &mut Option<String>) {
    if value.as_ref().is_some_and(|text| text.trim().is_empty()) {
        *value = None;
    }
}

impl FileLabels {
    fn forget_empty(&mut self) {
        for value in [
            &mut self.environment,
            &mut self.model,
            &mut self.workload,
            &mut self.started_utc,
            &mut self.ended_utc,
            &mut self.machine,
            &mut self.engine,
            &mut self.engine_version,
            &mut self.model_id,
            &mut self.quantisation,
        ] {
            blank(value);
        }
        if let Some(set) = &mut self.set {
            set.forget_empty();
        }
    }
}

impl Labels {
    /// Files of facts beside the labels come first.
    pub(super) const LOCAL: &'static str = "local";
    /// The facts of the program come first.
    const SHIPPED: &'static str = "shipped";

    fn forget_empty(&mut self) {
        for value in [
            &mut self.name,
            &mut self.title,
            &mut self.question,
            &mut self.machine,
            &mut self.compare_by,
            &mut self.baseline,
            &mut self.prose,
            &mut self.facts,
        ] {
            blank(value);
        }
        self.files.iter_mut().chain([&mut self.defaults]).for_each(FileLabels::forget_empty);
    }
}

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

/// Reads a file that a person wrote and named, as `what`. A fault in what it says is one of usage, and so is a name that leads nowhere. A file
/// that cannot be read ends the program as any other does.
pub(super) fn named<T>(path: &Path, what: &str, parse: impl Fn(&str) -> Result<T, Error>) -> Result<T, Error> {
    let named = |kind: Kind, mut error: Error| {
        error.kind = kind;
        error.what = format!("cannot use '{}' as {what}: {}", shown(path), error.what);
        error
    };
    let closed = |cause: std::io::Error| {
        let kind = if cause.kind() == std::io::ErrorKind::NotFound { Kind::Usage } else { Kind::Archive };
        named(kind, Error::archive("it cannot be opened").hint("check the path and its permissions").because(cause))
    };
    let meta = std::fs::metadata(path).map_err(closed)?;
    // A pipe would be waited for, perhaps for ever.
    if !meta.is_file() {
        let found = if meta.is_dir() { "it is a folder" } else { "it is not a regular file" };
        return Err(named(Kind::Archive, Error::archive(found).hint("name a regular file")));
    }
    if meta.len() > WHOLE_LIMIT {
        return Err(named(Kind::Archive, Error::archive("it is too large").hint("name the file that a person wrote")));
    }
    let bytes = std::fs::read(path).map_err(closed)?;
    let text = utf8(bytes).map_err(|error| named(Kind::Archive, error))?;
    parse(&text).map_err(|error| named(Kind::Usage, error))
}

/// The text of a file in which every letter counts, without a byte order mark.
///
/// # Errors
/// When it is no UTF-8. Replaced letters would make other names of it.
pub(super) fn utf8(bytes: Vec<u8>) -> Result<String, Error> {
    let text = String::from_utf8(bytes).map_err(|cause| {
        Error::archive("it is not UTF-8 text")
            .hint("save it as UTF-8, which editors may call 'UTF-8 without BOM'")
            .because(cause)
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

fn parse(text: &str) -> Result<Labels, Error> {
    schema(text, SCHEMA)?;
    let mut labels: Labels = from_toml(text)?;
    labels.forget_empty();
    if labels.compare_by.as_deref() == Some("quantization") {
        labels.compare_by = Some("quantisation".to_owned());
    }
    if let Some(label) = labels.compare_by.as_deref().filter(|label| !Campaign::LABELS.contains(label)) {
        return Err(Error::archive("a label cannot be compared")
            .at(Place::Field("compare_by".into()))
            .detail(format!("expected one of {}, found \"{}\"", Campaign::LABELS.join(", "), excerpt(label))));
    }
    if let Some(said) = labels.facts.as_deref().filter(|said| ![Labels::LOCAL, Labels::SHIPPED].contains(said)) {
        return Err(Error::archive("it is not said which facts come first")
            .at(Place::Field("facts".into()))
            .detail(format!("expected \"local\" or \"shipped\", found \"{}\"", excerpt(said))));
    }
    custom::faults(&labels.metrics)?;
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

/// A pattern as [`FileLabels::glob`] describes it.
pub(super) fn glob(pattern: &str) -> Result<globset::GlobMatcher, globset::Error> {
    globset::GlobBuilder::new(pattern).literal_separator(true).build().map(|glob| glob.compile_matcher())
}

/// Checks the schema before anything else, so that a file of another time is called that and not full of unknown keys.
pub(super) fn schema(text: &str, known: &str) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Any {
        schema: Option<String>,
    }
    let any: Any = from_toml(text)?;
    match any.schema {
        Some(found) if found == known => Ok(()),
        Some(found) => Err(unknown_schema(&found, &[known])),
        None => Err(Error::archive("a field is missing")
            .at(Place::Field("schema".into()))
            .detail(format!("expected schema = \"{known}\", found nothing"))),
    }
}

/// TOML with the line of what does not fit.
pub(super) fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|cause| {
        let line =
            cause.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() as u64 + 1);
        let error = Error::archive("not as expected").detail(cause.message().replace('\n', " "));
        match line {
            Some(line) => error.at(Place::Line(line)),
            None => error,
        }
    })
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
