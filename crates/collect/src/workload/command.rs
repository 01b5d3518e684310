//! Any program: its command line, the files it needs, the reports it leaves.
//!
//! In:  settings of a suite.  Out: the command line with placeholders filled, and the reports compared with the request.
//! Not here: what the program does.

use std::collections::BTreeMap;
use std::path::Path;

use super::assets::Assets;
use super::cell::Cell;
use super::examine::Read;
use super::expect::{self, Expect, ReportSetting};
use super::kind::{Workload, WorkloadKind};
use super::outcome::Outcome;
use super::template::Template;
use crate::env::Invocation;
use sparkbench_archive::FileName;
use sparkbench_archive::manifest::SeenWire;
use sparkbench_plan::{Fault, Model, Reader};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct CommandKind;

/// Longest run that a suite can announce, seconds: a week.
pub(crate) const EXPECTED_MAX_S: f64 = 7.0 * 86_400.0;

/// Tolerance of lengths in tokens, per cent: an average over requests need not be a whole number.
const LENGTH_TOLERANCE_PCT: f64 = 1.0;

/// One command line of a suite.
#[derive(Debug)]
struct Command {
    argv: Vec<Template>,
    env: BTreeMap<String, Template>,
    assets: Assets,
    reports: Vec<ReportSetting>,
    expect: Expect,
    asked: SeenWire,
    needs_gpu: bool,
    expected_s: Option<f64>,
}

impl WorkloadKind for CommandKind {
    fn name(&self) -> &'static str {
        "command"
    }

    fn read(&self, settings: &mut Reader<'_>, folder: &Path) -> Option<Box<dyn Workload>> {
        let argv = Template::list(settings, "command");
        if argv.is_empty() {
            settings.fault("command", "has no program", "give a list: command = [\"python3\", \"{work}/bench.py\"]");
        }
        let env = env(settings);
        let assets = Assets::read(settings, "assets", folder);
        let reports = expect::reports(settings);
        if reports.is_empty() {
            settings.fault(
                "reports",
                "names no report",
                "name at least one, or nothing is measured: reports = [{ path = \"result.json\", parser = \"result-json\" }]",
            );
        }
        let expect = expect::expect(settings);
        let asked = asked(settings);
        let needs_gpu = settings.switch("needs_gpu").unwrap_or(false);
        let expected_s = settings.number_within("expected_s", 0.0, EXPECTED_MAX_S);
        Some(Box::new(Command { argv, env, assets, reports, expect, asked, needs_gpu, expected_s }))
    }
}

/// Takes the table `env`: variables with places.
pub(crate) fn env(settings: &mut Reader<'_>) -> BTreeMap<String, Template> {
    env_with(settings, &[])
}

/// Like [`env()`], with further places.
pub(crate) fn env_with(settings: &mut Reader<'_>, more: &[&'static str]) -> BTreeMap<String, Template> {
    let mut env = BTreeMap::new();
    for (name, text) in settings.text_table("env") {
        if name.is_empty() || name.contains(['=', '\0']) {
            settings.fault("env", format!("holds \"{name}\""), "a name of a variable has no '='");
        } else {
            match Template::parse_with(&text, more) {
                Ok(template) => drop(env.insert(name, template)),
                Err((what, remedy)) => settings.fault("env", what, remedy),
            }
        }
    }
    env
}

/// Takes the table `asked`, with which the reports are compared.
fn asked(settings: &mut Reader<'_>) -> SeenWire {
    let Some(table) = settings.table("asked") else { return SeenWire::default() };
    let mut keys = settings.below(table);
    let mut number = |key| keys.number_within(key, 0.0, f64::INFINITY);
    let (batch, isl, osl, requests) = (number("batch"), number("isl"), number("osl"), number("requests"));
    let (engine, engine_version) = (keys.text("engine"), keys.text("engine_version"));
    keys.finish();
    SeenWire { batch, isl, osl, requests, engine, engine_version, ..SeenWire::default() }
}

/// Missing fields of a model that templates need, in words.
pub(crate) fn lacks<'a>(templates: impl Iterator<Item = &'a Template>, model: &Model) -> Vec<String> {
    let mut missing: Vec<&str> = templates.flat_map(|template| template.lacks(model)).collect();
    missing.sort_unstable();
    missing.dedup();
    missing.into_iter().map(str::to_owned).collect()
}

/// Whether one of them names this program, which is then brought inside.
pub(crate) fn name_own_program<'a>(mut templates: impl Iterator<Item = &'a Template>) -> bool {
    templates.any(|template| template.names("program"))
}

/// Whether one of them names the run's own folder.
pub(crate) fn name_folder<'a>(mut templates: impl Iterator<Item = &'a Template>) -> bool {
    templates.any(|template| template.names("work"))
}

/// A program's fixed name, where its variables leave the place to look for it to the environment.
pub(crate) fn fixed_program<'a>(program: &'a Template, env: &BTreeMap<String, Template>) -> Option<&'a str> {
    program.fixed().filter(|_| !env.contains_key("PATH"))
}

impl Workload for Command {
    fn needs_gpu(&self) -> bool {
        self.needs_gpu
    }

    fn needs_own_program(&self) -> bool {
        name_own_program(self.argv.iter().chain(self.env.values()))
    }

    fn names_folder(&self) -> bool {
        name_folder(self.argv.iter().chain(self.env.values()))
    }

    fn warnings(&self) -> &[Fault] {
        self.assets.left_out()
    }

    fn program(&self) -> Option<&str> {
        self.argv.first().and_then(|program| fixed_program(program, &self.env))
    }

    fn expected_s(&self) -> Option<f64> {
        self.expected_s
    }

    fn lacks(&self, model: &Model) -> Vec<String> {
        lacks(self.argv.iter().chain(self.env.values()), model)
    }

    fn assets(&self, _: &Cell<'_>) -> Result<Vec<(FileName, Vec<u8>)>, Error> {
        self.assets.load()
    }

    fn probe(&self, _: &Cell<'_>, _: &Path) -> Option<Invocation> {
        None
    }

    fn prepare(&self, _: &Cell<'_>, _: &Path) -> Result<Option<Invocation>, Error> {
        Ok(None)
    }

    fn measure(&self, cell: &Cell<'_>, work: &Path) -> Result<Invocation, Error> {
        let argv = self.argv.iter().map(|text| text.fill(cell, work)).collect::<Result<_, _>>()?;
        let env = self
            .env
            .iter()
            .map(|(name, text)| Ok((name.clone(), text.fill(cell, work)?)))
            .collect::<Result<_, Error>>()?;
        Ok(Invocation { argv, env, ..Invocation::default() })
    }

    fn asked(&self, cell: &Cell<'_>) -> SeenWire {
        SeenWire {
            model_id: cell.model.id.clone(),
            quantisation: cell.model.quantisation.clone(),
            ..self.asked.clone()
        }
    }

    fn examine(&self, cell: &Cell<'_>, folder: &Path) -> Outcome {
        let mut outcome = Outcome::default();
        let read = outcome.read(folder, &self.reports);
        outcome.hold_against(&self.expect, folder, &read);
        outcome.mark_outliers(&read);
        outcome.check_asked(&self.asked(cell), cell.model.path.as_deref(), &read);
        outcome
    }
}

impl Outcome {
    /// Checks each setting that was asked for against what all reports agree on.
    pub fn check_asked(&mut self, asked: &SeenWire, model_path: Option<&str>, read: &[Read]) {
        const SOURCE: &str = "the program's report";
        self.check_model(asked.model_id.as_deref(), model_path, read);
        self.check_quantisation(asked.quantisation.as_deref());
        let seen = self.seen.clone();
        let equal = |asked: &str, ran: &str| asked.eq_ignore_ascii_case(ran);
        for (item, asked, ran) in
            [("engine", &asked.engine, &seen.engine), ("engine_version", &asked.engine_version, &seen.engine_version)]
        {
            self.check_text(item, asked.as_deref(), ran.as_deref().map(|ran| (ran, SOURCE)), equal);
        }
        for (item, asked, ran, tolerance) in [
            ("requests", asked.requests, seen.requests, 0.0),
            ("batch", asked.batch, seen.batch, 0.0),
            ("isl", asked.isl, seen.isl, LENGTH_TOLERANCE_PCT),
            ("osl", asked.osl, seen.osl, LENGTH_TOLERANCE_PCT),
        ] {
            self.check_number(item, asked, ran.map(|ran| (ran, SOURCE)), tolerance);
        }
    }
}
