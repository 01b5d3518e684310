//! Offline engines driven from Python: vLLM `LLM` and the TensorRT-LLM LLM API.
//!
//! In:  settings of a suite.  Out: our driver, its settings and command line, and its output compared with the request.
//! Not here: reading the lines (see `ingest::reports`).
//!
//! The driver is part of this program and travels into the environment, so that every arm runs the same bytes. A test is a shape:
//! batch, input and output tokens. T1 to T6 are those of the published study (brandonrc/benchmark-spark, docs/methodology.md).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::cell::Cell;
use super::command::{self, EXPECTED_MAX_S};
use super::examine::{Read, data_type};
use super::expect::{Expect, ReportSetting};
use super::kind::{Workload, WorkloadKind};
use super::outcome::Outcome;
use super::template::Template;
use crate::env::Invocation;
use sparkbench_archive::FileName;
use sparkbench_archive::manifest::SeenWire;
use sparkbench_ingest::reports::ReportPart;
use sparkbench_plan::settings::{Entry, Value};
use sparkbench_plan::{Model, Reader};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct PythonKind;

const DRIVER: &str = include_str!("python/driver.py");
const DRIVER_FILE: &str = "driver.py";
const SETTINGS_FILE: &str = "settings.json";
const ITERATIONS_FILE: &str = "iterations.jsonl";
const REQUESTS_FILE: &str = "requests.jsonl";
const FREEZE_FILE: &str = "pip-freeze.txt";

/// Tests of the published study: name, batch, input tokens, output tokens.
pub(crate) const TESTS: &[(&str, i64, i64, i64)] = &[
    ("T1", 1, 128, 32),
    ("T2", 1, 512, 128),
    ("T3", 1, 2048, 512),
    ("T4", 4, 512, 128),
    ("T5", 16, 512, 128),
    ("T6", 32, 512, 128),
];

/// Measured iterations of each test, as in the study.
const ITERATIONS: i64 = 100;
/// Iterations before them, as in the study.
const WARMUP: i64 = 10;
/// Longest prompt or answer, tokens.
const TOKENS_MAX: i64 = 10_000_000;
/// Largest batch.
const BATCH_MAX: i64 = 65_536;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Test {
    name: String,
    batch: i64,
    isl: i64,
    osl: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Sweep {
    from: i64,
    to: i64,
    isl: i64,
    osl: i64,
}

struct Python {
    program: Vec<Template>,
    engine: String,
    tests: Vec<Test>,
    sweep: Option<Sweep>,
    iterations: i64,
    warmup: i64,
    shared_prefix: i64,
    options: serde_json::Map<String, serde_json::Value>,
    dtype: Option<String>,
    env: BTreeMap<String, Template>,
    expected_s: Option<f64>,
}

impl WorkloadKind for PythonKind {
    fn name(&self) -> &'static str {
        "python"
    }

    fn read(&self, settings: &mut Reader<'_>, _: &Path) -> Option<Box<dyn Workload>> {
        let engine = settings.choice("engine", &["vllm", "tensorrt-llm"]);
        if !settings.has("engine") {
            settings.fault("engine", "is missing", "one of: vllm, tensorrt-llm");
        }
        let sweep = sweep(settings);
        let tests = tests(settings, sweep.is_some());
        let iterations = settings.whole_within("iterations", 1, 1_000_000).unwrap_or(ITERATIONS);
        let warmup = settings.whole_within("warmup", 0, 1_000_000).unwrap_or(WARMUP);
        let shared_prefix = settings.whole_within("shared_prefix", 0, TOKENS_MAX).unwrap_or(0);
        let mut options = serde_json::Map::new();
        let dtype = settings.text("dtype");
        if let Some(dtype) = &dtype {
            options.insert("dtype".to_owned(), json!(dtype));
        }
        if let Some(text) = settings.text("quantisation") {
            options.insert("quantisation".to_owned(), json!(text));
        }
        for (key, high) in [("max_model_len", TOKENS_MAX), ("max_batch_size", BATCH_MAX), ("tp", 1024)] {
            if let Some(value) = settings.whole_within(key, 1, high) {
                options.insert(key.to_owned(), json!(value));
            }
        }
        if let Some(share) = settings.number_within("memory_fraction", 0.01, 1.0) {
            options.insert("memory_fraction".to_owned(), json!(share));
        }
        for key in ["eager", "prefix_cache", "trust_remote_code"] {
            if let Some(switch) = settings.switch(key) {
                options.insert(key.to_owned(), json!(switch));
            }
        }
        if let Some(table) = settings.table("engine_options") {
            let value = plain(&Value::Table(table.clone()));
            options.insert("engine_options".to_owned(), value);
        }
        if engine.as_deref() == Some("tensorrt-llm") {
            for key in ["quantisation", "eager"] {
                if options.contains_key(key) {
                    let remedy = "give it in engine_options, by the name that the engine has for it";
                    settings.fault(key, "has no setting of its own in the TensorRT-LLM API", remedy);
                }
            }
        }
        let mut program = Template::list(settings, "program");
        if program.is_empty() {
            program = Template::parse("python3").into_iter().collect();
        }
        let env = command::env(settings);
        let expected_s = settings.number_within("expected_s", 0.0, EXPECTED_MAX_S);
        Some(Box::new(Python {
            program,
            engine: engine?,
            tests,
            sweep,
            iterations,
            warmup,
            shared_prefix,
            options,
            dtype,
            env,
            expected_s,
        }))
    }
}

/// Names of known tests, or tables of their own. Without either, and without a sweep, all six.
fn tests(settings: &mut Reader<'_>, sweeps: bool) -> Vec<Test> {
    let known = |name: &str| {
        let (name, batch, isl, osl) = TESTS.iter().find(|(known, ..)| *known == name)?;
        Some(Test { name: (*name).to_owned(), batch: *batch, isl: *isl, osl: *osl })
    };
    let mut tests: Vec<Test> = Vec::new();
    for name in settings.texts("tests") {
        match known(&name) {
            Some(test) => tests.push(test),
            None => {
                let names: Vec<&str> = TESTS.iter().map(|(name, ..)| *name).collect();
                let remedy = format!("use one of {}, or write a table [[shapes]]", names.join(", "));
                settings.fault("tests", format!("names \"{name}\""), remedy);
            }
        }
    }
    for table in settings.tables("shapes") {
        let mut keys = settings.below(table);
        let name = keys.required_text("name", "a short name, e.g. \"long\"");
        let mut number = |key, high| {
            if !keys.has(key) {
                keys.fault(key, "is missing", "give a whole number");
            }
            keys.whole_within(key, 1, high)
        };
        let (batch, isl, osl) = (number("batch", BATCH_MAX), number("isl", TOKENS_MAX), number("osl", TOKENS_MAX));
        keys.finish();
        if let (Some(name), Some(batch), Some(isl), Some(osl)) = (name, batch, isl, osl) {
            tests.push(Test { name, batch, isl, osl });
        }
    }
    let mut names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let what = format!("names \"{}\" twice", pair[0]);
        settings.fault("tests", what, "give each test once, under its own name");
    }
    if tests.is_empty() && !settings.has("tests") && !settings.has("shapes") && !sweeps {
        tests = TESTS.iter().filter_map(|(name, ..)| known(name)).collect();
    }
    tests
}

fn sweep(settings: &mut Reader<'_>) -> Option<Sweep> {
    let table = settings.table("sweep")?;
    let mut keys = settings.below(table);
    let from = keys.whole_within("from", 1, BATCH_MAX).unwrap_or(1);
    let to = keys.whole_within("to", 1, BATCH_MAX).unwrap_or(128);
    let isl = keys.whole_within("isl", 1, TOKENS_MAX).unwrap_or(512);
    let osl = keys.whole_within("osl", 1, TOKENS_MAX).unwrap_or(128);
    if from > to {
        keys.fault("to", format!("is {to}, below {from}"), "the sweep doubles the batch from 'from' up to 'to'");
    }
    keys.finish();
    Some(Sweep { from, to, isl, osl })
}

/// A value of the suite as JSON. Dates are texts already.
fn plain(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => json!(text),
        Value::Whole(number) => json!(number),
        Value::Number(number) => json!(number),
        Value::Switch(switch) => json!(switch),
        Value::List(items) => items.iter().map(|Entry { value, .. }| plain(value)).collect(),
        Value::Table(table) => {
            let entries = table.entries.iter().map(|(key, entry)| (key.clone(), plain(&entry.value)));
            serde_json::Value::Object(entries.collect())
        }
    }
}

impl Python {
    /// What the engine loads: the folder where there is one, so that nothing is fetched.
    fn model<'a>(&self, cell: &Cell<'a>) -> Result<&'a str, Error> {
        cell.model.path.as_deref().or(cell.model.id.as_deref()).ok_or_else(|| {
            Error::usage(format!("the model '{}' has neither id nor path", cell.model.label))
                .hint("give models.LABEL.id or models.LABEL.path in the suite")
        })
    }

    fn settings(&self, cell: &Cell<'_>) -> Result<serde_json::Value, Error> {
        let mut settings = self.options.clone();
        let tests: Vec<serde_json::Value> = self
            .tests
            .iter()
            .map(|test| json!({ "name": test.name, "batch": test.batch, "isl": test.isl, "osl": test.osl }))
            .collect();
        let sweep = self
            .sweep
            .as_ref()
            .map(|sweep| json!({ "from": sweep.from, "to": sweep.to, "isl": sweep.isl, "osl": sweep.osl }));
        let revision = cell.model.revision.as_ref().filter(|_| cell.model.path.is_none());
        for (key, value) in [
            ("engine", json!(self.engine)),
            ("model", json!(self.model(cell)?)),
            ("revision", json!(revision)),
            ("seed", json!(cell.seed)),
            ("iterations", json!(self.iterations)),
            ("warmup", json!(self.warmup)),
            ("shared_prefix", json!(self.shared_prefix)),
            ("tests", json!(tests)),
            ("sweep", json!(sweep)),
        ] {
            settings.insert(key.to_owned(), value);
        }
        Ok(serde_json::Value::Object(settings))
    }
}

impl Workload for Python {
    fn needs_gpu(&self) -> bool {
        true
    }

    fn needs_own_program(&self) -> bool {
        command::name_own_program(self.program.iter().chain(self.env.values()))
    }

    fn program(&self) -> Option<&str> {
        self.program.first().and_then(|program| command::fixed_program(program, &self.env))
    }

    fn expected_s(&self) -> Option<f64> {
        self.expected_s
    }

    fn lacks(&self, model: &Model) -> Vec<String> {
        let mut lacks = command::lacks(self.program.iter().chain(self.env.values()), model);
        if model.id.is_none() && model.path.is_none() {
            lacks.push("id or path".to_owned());
        }
        lacks
    }

    fn assets(&self, cell: &Cell<'_>) -> Result<Vec<(FileName, Vec<u8>)>, Error> {
        let mut settings = serde_json::to_string_pretty(&self.settings(cell)?)
            .map_err(|cause| Error::usage("the settings of the driver cannot be written").because(cause))?;
        settings.push('\n');
        Ok(vec![(DRIVER_FILE.into(), DRIVER.as_bytes().to_vec()), (SETTINGS_FILE.into(), settings.into_bytes())])
    }

    fn probe(&self, _: &Cell<'_>, _: &Path) -> Option<Invocation> {
        None
    }

    fn prepare(&self, _: &Cell<'_>, _: &Path) -> Result<Option<Invocation>, Error> {
        Ok(None)
    }

    fn measure(&self, cell: &Cell<'_>, work: &Path) -> Result<Invocation, Error> {
        let mut argv = self.program.iter().map(|text| text.fill(cell, work)).collect::<Result<Vec<_>, _>>()?;
        argv.push(work.join(DRIVER_FILE).display().to_string());
        let filled = self.env.iter().map(|(name, text)| Ok((name.clone(), text.fill(cell, work)?)));
        Ok(Invocation { argv, env: filled.collect::<Result<_, Error>>()?, ..Invocation::default() })
    }

    fn asked(&self, cell: &Cell<'_>) -> SeenWire {
        let one = match self.tests.as_slice() {
            [test] if self.sweep.is_none() => Some(test),
            _ => None,
        };
        SeenWire {
            model_id: cell.model.id.clone().or_else(|| cell.model.path.clone()),
            engine: Some(if self.engine == "vllm" { "vLLM" } else { "TensorRT-LLM" }.to_owned()),
            quantisation: cell.model.quantisation.clone().or_else(|| self.dtype.clone()),
            batch: one.map(|test| test.batch as f64),
            isl: one.map(|test| test.isl as f64),
            osl: one.map(|test| test.osl as f64),
            requests: one.map(|test| (test.batch * self.iterations) as f64),
            ..SeenWire::default()
        }
    }

    fn examine(&self, cell: &Cell<'_>, folder: &Path) -> Outcome {
        let mut outcome = Outcome::default();
        let reports = [
            ReportSetting::inside(ITERATIONS_FILE, "iterations"),
            ReportSetting { required: false, ..ReportSetting::inside(REQUESTS_FILE, "requests") },
        ];
        let read = outcome.read(folder, &reports);
        let expect = Expect { files: vec![FREEZE_FILE.to_owned()], ..Expect::default() };
        outcome.hold_against(&expect, folder, &read);
        outcome.mark_outliers(&read);
        let asked = self.asked(cell);
        outcome.check_model(asked.model_id.as_deref(), cell.model.path.as_deref(), &read);
        outcome.check_quantisation(asked.quantisation.as_deref().filter(|word| data_type(word).is_some()));
        self.check_tests(&mut outcome, &read);
        outcome
    }
}

impl Python {
    /// Each test that was asked for is there, and its batches, prompts and answers have the sizes that were asked for.
    fn check_tests(&self, outcome: &mut Outcome, read: &[Read]) {
        let parts: Vec<&ReportPart> = read
            .iter()
            .filter(|read| read.path.ends_with(ITERATIONS_FILE))
            .flat_map(|read| &read.report.parts)
            .filter(|part| part.name.is_some())
            .collect();
        for test in &self.tests {
            let Some(part) = parts.iter().find(|part| part.name.as_deref() == Some(&test.name)) else {
                outcome.faults.push(format!("{}: was not started", test.name));
                continue;
            };
            self.check_shape(outcome, part, test.batch, test.isl, test.osl);
        }
        let Some(sweep) = &self.sweep else { return };
        let sizes =
            || parts.iter().filter(|part| !self.tests.iter().any(|test| part.name.as_deref() == Some(&test.name)));
        if sizes().next().is_none() {
            // Not even the smallest batch came to its end.
            outcome.faults.push(format!("the sweep measured no batch from {} on", sweep.from));
        }
        for part in sizes() {
            let size = part.name.as_deref().and_then(|name| name.strip_prefix('B')?.parse::<i64>().ok());
            self.check_shape(outcome, part, size.unwrap_or_default(), sweep.isl, sweep.osl);
        }
    }

    fn check_shape(&self, outcome: &mut Outcome, part: &ReportPart, batch: i64, isl: i64, osl: i64) {
        let name = part.name.as_deref().unwrap_or_default();
        if part.series.is_empty() {
            return; // The fault of a test without iterations is said already.
        }
        for (item, asked, ran) in [
            ("batch", batch, part.seen.batch),
            ("isl", isl, part.seen.isl),
            ("osl", osl, part.seen.osl),
            ("requests", batch * self.iterations, part.seen.requests),
        ] {
            let ran = ran.map(|ran| (ran, "tokens and answers of the engine"));
            outcome.check_number(&format!("{item} of {name}"), Some(asked as f64), ran, 0.0);
        }
    }
}
