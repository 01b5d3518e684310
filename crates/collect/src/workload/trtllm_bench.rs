//! `trtllm-bench`: offline throughput and latency of TensorRT-LLM.
//!
//! In:  settings of a suite, the tool's own help texts.  Out: command lines for its version, and its report and log compared with the request.
//! Not here: reading the report (see `ingest::reports`) and the log (see `ingest::trtllm_log`).
//!
//! The study that this program follows up measured one model under three names, because a script dropped its arguments. So the model's id
//! and folder are always passed, and after each run they are compared with the report of the tool.

pub(crate) mod help;
pub(crate) mod options;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use self::options::{Dataset, OUTPUTS, REPORT, REQUESTS, Wanted};
use super::assets::Assets;
use super::cell::Cell;
use super::command::{self, EXPECTED_MAX_S};
use super::expect::ReportSetting;
use super::kind::{Workload, WorkloadKind};
use super::outcome::{Outcome, WORK_FOLDER};
use super::template::Template;
use crate::env::{Invocation, Place};
use sparkbench_archive::manifest::SeenWire;
use sparkbench_archive::{FileName, disk};
use sparkbench_plan::{Fault, Model, Reader};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct TrtllmBenchKind;

/// Where the images of the tool's makers hold the script of versions without `prepare-dataset`.
const PREPARE: &[&str] = &["python3", "/app/tensorrt_llm/benchmarks/cpp/prepare_dataset.py"];

/// Tolerance of the average length of requests, per cent: made texts are tokenised again.
const LENGTH_TOLERANCE_PCT: f64 = 1.0;
/// With a spread of lengths the average of n requests lies within this many of its standard errors.
const LENGTH_SIGMAS: f64 = 4.0;

/// Marks the log that holds the result.
const RESULT_BLOCK: &str = "= PERFORMANCE OVERVIEW";

/// Our key, names in the tool, least and greatest whole number.
type Whole = (&'static str, &'static [&'static str], i64, i64);

const WHOLE: &[Whole] = &[
    ("concurrency", &["--concurrency"], -1, 1_000_000),
    ("max_batch_size", &["--max_batch_size"], 1, 1_000_000),
    ("max_num_tokens", &["--max_num_tokens"], 1, 100_000_000),
    ("max_seq_len", &["--max_seq_len"], 1, 100_000_000),
    ("warmup", &["--warmup"], 0, 1_000_000),
    ("eos_id", &["--eos_id"], -1, 10_000_000),
    ("tp", &["--tp"], 1, 1024),
    ("pp", &["--pp"], 1, 1024),
    ("ep", &["--ep"], 1, 1024),
];

struct TrtllmBench {
    wanted: Wanted,
    assets: Assets,
    env: BTreeMap<String, Template>,
    backend: Option<String>,
    batch: Option<f64>,
    expected_s: Option<f64>,
}

impl WorkloadKind for TrtllmBenchKind {
    fn name(&self) -> &'static str {
        "trtllm-bench"
    }

    fn read(&self, settings: &mut Reader<'_>, folder: &Path) -> Option<Box<dyn Workload>> {
        let mode = settings.choice("mode", &["throughput", "latency"]).unwrap_or_else(|| "throughput".to_owned());
        let requests = settings.whole_within("requests", 1, 100_000_000);
        if !settings.has("requests") {
            settings.fault("requests", "is missing", "say how many requests are measured, e.g. requests = 100");
        }
        let isl = settings.whole_within("isl", 1, 100_000_000);
        let osl = settings.whole_within("osl", 1, 100_000_000);
        let stdev = settings.whole_within("stdev", 0, 100_000_000).unwrap_or(0);
        let mut assets = Assets::default();
        let dataset = dataset(settings, folder, &mut assets);
        if dataset == Some(Dataset::Made) {
            for (key, value) in [("isl", isl), ("osl", osl)] {
                if value.is_none() && !settings.has(key) {
                    settings.fault(key, "is missing", "say how many tokens each request has, or give a 'dataset'");
                }
            }
        }
        let config = settings.text("config");
        if let Some(name) = &config {
            assets.add(settings, "config", folder, name);
        }
        let mut values: Vec<(&'static str, &'static [&'static str], String)> = Vec::new();
        let mut batch = None;
        for (key, names, low, high) in WHOLE {
            let Some(value) = settings.whole_within(key, *low, *high) else { continue };
            if *key == "max_batch_size" {
                batch = Some(value as f64);
            }
            values.push((key, names, value.to_string()));
        }
        if let Some(share) = settings.number_within("kv_cache_fraction", 0.01, 1.0) {
            values.push(("kv_cache_fraction", &["--kv_cache_free_gpu_mem_fraction"], share.to_string()));
        }
        let backend = settings.text("backend");
        if let Some(backend) = &backend {
            values.push(("backend", &["--backend"], backend.clone()));
        }
        if let Some(engine) = settings.text("engine_dir") {
            values.push(("engine_dir", &["--engine_dir"], engine));
        }
        let streaming = settings.switch("streaming").unwrap_or(false);
        if streaming && mode == "latency" {
            settings.fault("streaming", "is set for the mode latency", "leave it out: that mode always streams");
        }
        let program = settings.text("program").unwrap_or_else(|| "trtllm-bench".to_owned());
        let program = Template::read(settings, "program", &program);
        let mut prepare = Template::list(settings, "prepare");
        if prepare.is_empty() {
            prepare = PREPARE.iter().filter_map(|text| Template::parse(text).ok()).collect();
        }
        let wanted = Wanted {
            mode,
            program: program?,
            prepare,
            requests: requests.unwrap_or(1),
            isl,
            osl,
            stdev,
            dataset: dataset?,
            config: config.map(|name| last_name(&name)),
            values,
            switches: if streaming { vec![("streaming", "--streaming")] } else { Vec::new() },
            outputs: settings.switch("outputs").unwrap_or(false),
            extra: Template::list(settings, "extra"),
        };
        let env = command::env(settings);
        for (key, mut templates) in [
            ("program", vec![&wanted.program]),
            ("prepare", wanted.prepare.iter().collect()),
            ("extra", wanted.extra.iter().collect()),
            ("env", env.values().collect()),
        ] {
            templates.retain(|template| template.names("program"));
            if !templates.is_empty() {
                settings.fault(key, "names {program}", "remove the place: this kind runs only trtllm-bench");
            }
        }
        let expected_s = settings.number_within("expected_s", 0.0, EXPECTED_MAX_S);
        Some(Box::new(TrtllmBench { wanted, assets, env, backend, batch, expected_s }))
    }
}

/// An absolute path, or one that begins with a place, lies in the environment. Any other is beside the suite.
fn dataset(settings: &mut Reader<'_>, folder: &Path, assets: &mut Assets) -> Option<Dataset> {
    let Some(text) = settings.text("dataset") else {
        // Of the wrong type: the fault is reported already.
        return if settings.has("dataset") { None } else { Some(Dataset::Made) };
    };
    if text.starts_with(['/', '{']) {
        return Template::read(settings, "dataset", &text).map(Dataset::Inside);
    }
    assets.add(settings, "dataset", folder, &text);
    Some(Dataset::Asset(last_name(&text)))
}

fn last_name(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned()
}

impl Workload for TrtllmBench {
    fn needs_gpu(&self) -> bool {
        true
    }

    fn warnings(&self) -> &[Fault] {
        self.assets.left_out()
    }

    fn program(&self) -> Option<&str> {
        command::fixed_program(&self.wanted.program, &self.env)
    }

    fn expected_s(&self) -> Option<f64> {
        self.expected_s
    }

    fn lacks(&self, model: &Model) -> Vec<String> {
        let wanted = &self.wanted;
        let dataset = match &wanted.dataset {
            Dataset::Inside(path) => Some(path),
            _ => None,
        };
        let templates =
            wanted.extra.iter().chain(&wanted.prepare).chain([&wanted.program]).chain(self.env.values()).chain(dataset);
        let mut lacks = command::lacks(templates, model);
        if model.id.is_none() && !lacks.iter().any(|key| key == "id") {
            lacks.push("id".to_owned());
        }
        lacks
    }

    fn assets(&self, _: &Cell<'_>) -> Result<Vec<(FileName, Vec<u8>)>, Error> {
        self.assets.load()
    }

    fn probe(&self, cell: &Cell<'_>, work: &Path) -> Option<Invocation> {
        // The group of commands wants a model before it shows the help of one. It is not looked at.
        let model = cell.model.id.as_deref().unwrap_or("none").to_owned();
        let mut argv = vec!["sh".to_owned(), "-c".to_owned(), help::SCRIPT.to_owned(), "sh".to_owned()];
        argv.extend([self.wanted.program.fill(cell, work).ok()?, model]);
        for text in &self.wanted.prepare {
            argv.push(text.fill(cell, work).ok()?);
        }
        Some(Invocation { argv, env: self.variables(cell, work).ok()?, ..Invocation::default() })
    }

    fn prepare(&self, cell: &Cell<'_>, work: &Path) -> Result<Option<Invocation>, Error> {
        let Some(argv) = self.wanted.prepare(cell, work)? else { return Ok(None) };
        Ok(Some(Invocation { argv, env: self.variables(cell, work)?, ..Invocation::default() }))
    }

    fn measure(&self, cell: &Cell<'_>, work: &Path) -> Result<Invocation, Error> {
        Ok(Invocation {
            argv: self.wanted.measure(cell, work)?,
            env: self.variables(cell, work)?,
            ..Invocation::default()
        })
    }

    fn asked(&self, cell: &Cell<'_>) -> SeenWire {
        SeenWire {
            model_id: cell.model.id.clone(),
            quantisation: cell.model.quantisation.clone(),
            engine: Some("TensorRT-LLM".to_owned()),
            batch: self.batch,
            isl: self.wanted.isl.map(|tokens| tokens as f64),
            osl: self.wanted.osl.map(|tokens| tokens as f64),
            requests: Some(self.wanted.requests as f64),
            ..SeenWire::default()
        }
    }

    fn examine(&self, cell: &Cell<'_>, folder: &Path) -> Outcome {
        let mut outcome = Outcome::default();
        // A version without --report_json leaves the log alone, so only what there is can be asked for.
        let probed = cell.probed.map(help::Helps::read).unwrap_or_default();
        let offered = |option: &str| probed.of(&self.wanted.mode).is_some_and(|help| help.has(option));
        let mut reports = vec![
            ReportSetting { required: offered("--report_json"), ..ReportSetting::inside(REPORT, "trtllm-bench-json") },
            ReportSetting {
                required: offered("--request_json"),
                ..ReportSetting::inside(REQUESTS, "trtllm-bench-requests")
            },
        ];
        reports.push(ReportSetting {
            path: log_with_result(folder).to_owned(),
            parser: "trtllm-bench-log".to_owned(),
            patterns: BTreeMap::new(),
            test: None,
            required: true,
        });
        let read = outcome.read(folder, &reports);
        if self.wanted.outputs && !folder.join(WORK_FOLDER).join(OUTPUTS).is_file() {
            outcome.faults.push(format!("the file '{OUTPUTS}' is missing"));
        }
        outcome.mark_outliers(&read);
        let asked = self.asked(cell);
        let spread = self.length_tolerance_pct();
        outcome.check_model(asked.model_id.as_deref(), cell.model.path.as_deref(), &read);
        outcome.check_quantisation(asked.quantisation.as_deref());
        let seen = outcome.seen.clone();
        const SOURCE: &str = "the tool's report";
        for (item, asked, ran, tolerance) in [
            ("requests", asked.requests, seen.requests, 0.0),
            ("isl", asked.isl, seen.isl, spread),
            ("osl", asked.osl, seen.osl, spread),
            ("max_batch_size", asked.batch, seen.batch, 0.0),
        ] {
            outcome.check_number(item, asked, ran.map(|ran| (ran, SOURCE)), tolerance);
        }
        if let Some(asked) = &self.backend {
            let ran = backend(folder);
            outcome.check_text("backend", Some(asked), ran.as_deref().map(|ran| (ran, REPORT)), same_backend);
        }
        outcome
    }
}

impl TrtllmBench {
    fn variables(&self, cell: &Cell<'_>, work: &Path) -> Result<BTreeMap<String, String>, Error> {
        self.env.iter().map(|(name, text)| Ok((name.clone(), text.fill(cell, work)?))).collect()
    }

    fn length_tolerance_pct(&self) -> f64 {
        let wanted = &self.wanted;
        let shortest = wanted.isl.into_iter().chain(wanted.osl).min().unwrap_or(1).max(1) as f64;
        let error = wanted.stdev as f64 / (wanted.requests as f64).sqrt();
        LENGTH_TOLERANCE_PCT.max(LENGTH_SIGMAS * error / shortest * 100.0)
    }
}

/// The stream on which the tool printed its result. Standard output when neither holds it.
fn log_with_result(folder: &Path) -> &'static str {
    let holds = |name: &str| {
        let Ok(file) = disk::open_plain(&folder.join(name)) else { return false };
        let mut lines = BufReader::new(file).split(b'\n');
        lines.any(|line| line.is_ok_and(|line| String::from_utf8_lossy(&line).contains(RESULT_BLOCK)))
    };
    if !holds(Place::STDOUT) && holds(Place::STDERR) { Place::STDERR } else { Place::STDOUT }
}

/// Name of the backend in the tool's report. It says `Pytorch` for every backend in Python.
fn backend(folder: &Path) -> Option<String> {
    let bytes = disk::read_plain(&folder.join(WORK_FOLDER).join(REPORT)).ok()?;
    let report: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    report.pointer("/engine/backend")?.as_str().map(str::to_owned)
}

fn same_backend(asked: &str, ran: &str) -> bool {
    let ran = ran.to_ascii_lowercase();
    match asked {
        "tensorrt" => ran == "trt" || ran == "tensorrt",
        "_autodeploy" => ran == "pytorch" || ran == "_autodeploy",
        other => ran == other.to_ascii_lowercase(),
    }
}
