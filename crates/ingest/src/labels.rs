//! What a person says about files that lack labels.
//!
//! In:  nothing.  Out: [`Labels`].
//! Not here: reading them (see `labels_file`), applying them (see `assemble`).

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::custom::Definitions;
use super::figure::excerpt;
use sparkbench_model::{ModelLabel, Stated};

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
    pub(super) const SHIPPED: &'static str = "shipped";

    pub(super) fn forget_empty(&mut self) {
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

/// A pattern as [`FileLabels::glob`] describes it.
pub(super) fn glob(pattern: &str) -> Result<globset::GlobMatcher, globset::Error> {
    globset::GlobBuilder::new(pattern).literal_separator(true).build().map(|glob| glob.compile_matcher())
}
