//! The settings of a suite, and the command line that a version of the tool takes for them.
//!
//! In:  settings, the help texts of this environment.  Out: command lines, or an error that names what this version lacks.
//! Not here: what the tool reports.
//!
//! Options of `trtllm-bench` were renamed, added and removed between versions. So only options in the help text are passed, and no requested
//! option is dropped.
//!
//! Source: documentation of `trtllm-bench` 0.16 to 1.3, and `tensorrt_llm/commands/bench.py`, `bench/benchmark/throughput.py`,
//! `bench/benchmark/low_latency.py`, `bench/dataset/` of github.com/NVIDIA/TensorRT-LLM.

use std::path::Path;

use super::help::{Help, Helps};
use crate::workload::cell::Cell;
use crate::workload::template::Template;
use sparkbench_text::error::{Error, Kind};

/// Name of the file of requests in the run's own folder.
pub(crate) const DATASET: &str = "dataset.jsonl";
/// Report of the run.
pub(crate) const REPORT: &str = "report.json";
/// The tool's data on each request.
pub(crate) const REQUESTS: &str = "requests-report.json";
/// Texts that came out, where they were asked for.
pub(crate) const OUTPUTS: &str = "outputs.json";

/// Where the requests come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Dataset {
    /// Made by the tool once for each model.
    Made,
    /// A file in the environment.
    Inside(Template),
    /// A file beside the suite, under its name in the run's own folder.
    Asset(String),
}

/// Request of a suite.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// `throughput` or `latency`.
    pub mode: String,
    /// The tool.
    pub program: Template,
    /// Interpreter and script that make requests in versions without `prepare-dataset`.
    pub prepare: Vec<Template>,
    /// Requests, warm-up not counted.
    pub requests: i64,
    /// Input tokens.
    pub isl: Option<i64>,
    /// Output tokens.
    pub osl: Option<i64>,
    /// Standard deviation of both.
    pub stdev: i64,
    /// Source of the requests.
    pub dataset: Dataset,
    /// File of further engine settings, by its name in the run's own folder.
    pub config: Option<String>,
    /// Options with a value: our key, names in the tool (newest first), value.
    pub values: Vec<(&'static str, &'static [&'static str], String)>,
    /// Switches: our key, name in the tool.
    pub switches: Vec<(&'static str, &'static str)>,
    /// Whether the texts are kept.
    pub outputs: bool,
    /// Appended as they are.
    pub extra: Vec<Template>,
}

/// The help texts of a cell.
///
/// # Errors
/// When the environment was not probed.
pub(crate) fn helps(cell: &Cell<'_>) -> Result<Helps, Error> {
    cell.probed.map(Helps::read).ok_or_else(|| {
        Error::new(Kind::Workload, "trtllm-bench was not asked for its options in this environment")
            .hint("start the campaign again: the probe comes before the first run")
    })
}

impl Wanted {
    /// Name of the model for the tool: its id.
    ///
    /// # Errors
    /// When the suite gives none.
    pub(crate) fn model<'a>(&self, cell: &Cell<'a>) -> Result<&'a str, Error> {
        cell.model.id.as_deref().ok_or_else(|| {
            Error::usage(format!("the model '{}' has no id", cell.model.label))
                .hint("give models.LABEL.id in the suite")
        })
    }

    /// Command line that makes the requests. Nothing where they are there already.
    ///
    /// # Errors
    /// When this version has no way to make them.
    pub(crate) fn prepare(&self, cell: &Cell<'_>, work: &Path) -> Result<Option<Vec<String>>, Error> {
        if self.dataset != Dataset::Made {
            return Ok(None);
        }
        let helps = helps(cell)?;
        let file = work.join(DATASET).display().to_string();
        // A tokenizer from the weights' own folder asks no other host for anything.
        let model = self.model(cell)?;
        let tokenizer = cell.model.path.as_deref().unwrap_or(model);
        let (isl, osl) = (self.isl.unwrap_or_default(), self.osl.unwrap_or_default());
        let shape = [
            ("--num-requests", self.requests),
            ("--input-mean", isl),
            ("--input-stdev", self.stdev),
            ("--output-mean", osl),
            ("--output-stdev", self.stdev),
        ];
        let shape = shape.iter().flat_map(|(name, value)| [(*name).to_owned(), value.to_string()]);
        let seed = |help: &Help| -> Vec<String> {
            let name = help.first_of(&["--random-seed", "--random_seed"]);
            name.map_or_else(Vec::new, |name| vec![name.to_owned(), cell.seed.to_string()])
        };
        if let Some(help) = helps.of("prepare-dataset").filter(|help| help.has_command("token-norm-dist")) {
            let mut argv = vec![self.program.fill(cell, work)?, "--model".to_owned(), tokenizer.to_owned()];
            argv.extend(["prepare-dataset".to_owned(), "--output".to_owned(), file]);
            argv.extend(seed(help));
            argv.push("token-norm-dist".to_owned());
            argv.extend(shape);
            return Ok(Some(argv));
        }
        if let Some(help) = helps.of("prepare-script").filter(|help| help.has("--stdout")) {
            // The script prints lines for trtllm-bench on standard output alone. Its --output writes another format.
            let mut argv: Vec<String> =
                ["sh", "-c", "out=$1; shift; exec \"$@\" > \"$out\"", "sh"].map(str::to_owned).into();
            argv.push(file);
            for text in &self.prepare {
                argv.push(text.fill(cell, work)?);
            }
            argv.extend(["--stdout".to_owned(), "--tokenizer".to_owned(), tokenizer.to_owned()]);
            argv.extend(seed(help));
            argv.push("token-norm-dist".to_owned());
            argv.extend(shape);
            return Ok(Some(argv));
        }
        Err(Error::new(Kind::Workload, "this version of trtllm-bench cannot make requests")
            .detail("expected the command 'prepare-dataset', or the script of the setting 'prepare'")
            .hint("give 'prepare' the place of prepare_dataset.py in the environment, or give a 'dataset'"))
    }

    /// The measured command line.
    ///
    /// # Errors
    /// When this version lacks the mode, an option that was asked for, or a word that it takes.
    pub(crate) fn measure(&self, cell: &Cell<'_>, work: &Path) -> Result<Vec<String>, Error> {
        let helps = helps(cell)?;
        let mode = self.mode.as_str();
        let help = helps.of(mode).ok_or_else(|| {
            Error::new(Kind::Workload, format!("trtllm-bench has no mode '{mode}' here"))
                .detail("its help text could not be read in this environment")
                .hint(
                    "read the output of the probe in probes/ of the archive. Then correct 'program' or the environment",
                )
        })?;
        let group = helps.of("group").cloned().unwrap_or_default();
        let mut argv = vec![self.program.fill(cell, work)?, "--model".to_owned(), self.model(cell)?.to_owned()];
        if let Some(path) = &cell.model.path {
            // Always: without it the tool fetches the model again into whatever cache the environment has.
            need(&group, "model.path", &["--model_path"])?;
            argv.extend(["--model_path".to_owned(), path.clone()]);
        } else if let Some(revision) = &cell.model.revision {
            let name = need(&group, "model.revision", &["--revision"])?;
            argv.extend([name.to_owned(), revision.clone()]);
        }
        if group.has("--workspace") {
            // Its own default is /tmp, which some environments share and others do not.
            argv.extend(["--workspace".to_owned(), work.join("workspace").display().to_string()]);
        }
        if group.has("--no-telemetry") {
            argv.push("--no-telemetry".to_owned());
        }
        argv.push(mode.to_owned());
        argv.extend([need(help, "dataset", &["--dataset"])?.to_owned(), self.dataset(cell, work)?]);
        argv.extend([need(help, "requests", &["--num_requests"])?.to_owned(), self.requests.to_string()]);
        for (key, names, value) in &self.values {
            let name = need(help, key, names)?;
            if let Some(choices) = help.choices(name)
                && !choices.contains(value)
            {
                return Err(Error::new(Kind::Workload, format!("trtllm-bench takes no {name} \"{value}\" here"))
                    .detail(format!("expected one of: {}", choices.join(", ")))
                    .hint(format!(
                        "correct '{key}' in the suite, or use the version of the tool that it was written for"
                    )));
            }
            argv.extend([name.to_owned(), value.clone()]);
        }
        for (key, name) in &self.switches {
            argv.push(need(help, key, &[name])?.to_owned());
        }
        if let Some(config) = &self.config {
            let name = need(help, "config", &["--config", "--extra_llm_api_options"])?;
            argv.extend([name.to_owned(), work.join(config).display().to_string()]);
        }
        if self.outputs {
            let name = need(help, "outputs", &["--output_json"])?;
            argv.extend([name.to_owned(), work.join(OUTPUTS).display().to_string()]);
        }
        // Reports are kept wherever the version writes them. The log is read in any case.
        for (name, file) in [("--report_json", REPORT), ("--request_json", REQUESTS)] {
            if help.has(name) {
                argv.extend([name.to_owned(), work.join(file).display().to_string()]);
            }
        }
        for text in &self.extra {
            argv.push(text.fill(cell, work)?);
        }
        Ok(argv)
    }

    fn dataset(&self, cell: &Cell<'_>, work: &Path) -> Result<String, Error> {
        match &self.dataset {
            Dataset::Inside(path) => path.fill(cell, work),
            Dataset::Asset(name) => Ok(work.join(name).display().to_string()),
            Dataset::Made if cell.prepared.iter().any(|name| name == DATASET) => {
                Ok(work.join(DATASET).display().to_string())
            }
            Dataset::Made => {
                Err(Error::new(Kind::Workload, format!("the requests were not made: {DATASET} is missing"))
                    .hint("read the output of its preparation in prepared/ of the archive"))
            }
        }
    }
}

/// The name under which this version has an option.
fn need<'a>(help: &Help, key: &str, names: &[&'a str]) -> Result<&'a str, Error> {
    help.first_of(names).ok_or_else(|| {
        Error::new(Kind::Workload, format!("trtllm-bench has no option {} here", names.join(" or ")))
            .detail(format!("'{key}' of the suite asks for it, and the help text of this environment does not show it"))
            .hint(format!("take '{key}' out of the suite, or use a version of the tool that has it"))
    })
}
