//! A server, started inside an environment, and the load of our own client against it.
//!
//! In:  settings of a suite: the start of the server, its readiness, the requests.  Out: its command line, the work beside it, what
//! the requests say against what was asked for.
//! Not here: sending (see `load`), ending the server (see `run`).
//!
//! The server is the run's program: its output is the run's log, its memory and its time are watched like any other's. It is started,
//! waited for, asked which model it serves, loaded, and ended, once for each run. Several loads can share one start. With `attach` it
//! is up already, and nothing is started or ended.

mod attach;
pub mod engine;
pub(crate) mod loader;
mod ready;
pub mod session;
mod settings;
#[cfg(test)]
mod tests;
mod work;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::assets::Assets;
use super::beside::Beside;
use super::cell::Cell;
use super::command;
use super::expect::{Expect, ReportSetting};
use super::kind::{Workload, WorkloadKind};
use super::outcome::Outcome;
use super::template::Template;
use crate::env::Invocation;
use sparkbench_archive::FileName;
use sparkbench_archive::manifest::{REQUESTS_FILE, SeenWire};
use sparkbench_host::Host;
use sparkbench_host::net::Listener;
use sparkbench_load::session::{passes, web};
use sparkbench_load::settings::Settings;
use sparkbench_load::suite::{Planned, Role};
use sparkbench_load::target::Target;
use sparkbench_plan::{Fault, Model, Reader};
use sparkbench_text::error::{Error, Kind};

use attach::Attach;
use loader::{LOADS_FOLDER, Loader};
use ready::Ready;

/// See the module.
pub struct ServeKind {
    /// The client that loads a ready server.
    pub loader: &'static dyn Loader,
}

/// Places of the templates here, beside the common ones.
pub const PLACES: &[&str] = &["host", "port", "model", "node.workers", "worker_port"];

/// How long a server that is there before its turn, and would be loaded in its place, has to answer. Where nobody listens, the answer
/// comes at once.
const TAKEN: Duration = Duration::from_secs(5);

/// One server of a suite.
struct Serve {
    loader: &'static dyn Loader,
    engine: Option<&'static engine::Preset>,
    argv: Vec<Template>,
    /// Job of each further machine. May be empty.
    worker: Vec<Template>,
    worker_port: Option<u16>,
    env: BTreeMap<String, Template>,
    assets: Assets,
    /// Address that it listens on.
    host: String,
    /// 0 is any that is free.
    port: u16,
    /// Where our client finds it. Absent is this machine and the port.
    url: Option<Template>,
    ready: Ready,
    attach: Option<Attach>,
    loads: Vec<Planned>,
    expect: Expect,
    needs_gpu: bool,
    expected_s: Option<f64>,
    /// Port of the current run, chosen with its command line.
    chosen: Mutex<u16>,
}

impl WorkloadKind for ServeKind {
    fn name(&self) -> &'static str {
        "serve"
    }

    fn read(&self, settings: &mut Reader<'_>, folder: &Path) -> Option<Box<dyn Workload>> {
        settings::read(settings, folder, self.loader).map(|serve| Box::new(serve) as Box<dyn Workload>)
    }
}

impl Serve {
    /// Values of the further places.
    fn places(&self, cell: &Cell<'_>) -> Vec<(&'static str, String)> {
        let port = *self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let model = cell.model;
        let weights = model.path.clone().or_else(|| model.id.clone());
        let mut places = vec![("host", self.host.clone()), ("port", port.to_string())];
        if let Some(port) = self.worker_port {
            places.extend([("node.workers", cell.placement.workers(port)), ("worker_port", port.to_string())]);
        }
        places.extend(weights.map(|weights| ("model", weights)));
        places
    }

    /// A command line in the run's own folder, with the variables of the suite.
    fn invocation(&self, argv: &[Template], cell: &Cell<'_>, work: &Path) -> Result<Invocation, Error> {
        let places = self.places(cell);
        let argv = argv.iter().map(|text| text.fill_with(cell, work, &places)).collect::<Result<_, _>>()?;
        let env = self
            .env
            .iter()
            .map(|(name, text)| Ok((name.clone(), text.fill_with(cell, work, &places)?)))
            .collect::<Result<_, Error>>()?;
        Ok(Invocation { argv, env, ..Invocation::default() })
    }

    /// Where our client finds the server.
    fn address(&self, cell: &Cell<'_>) -> Result<String, Error> {
        match (&self.attach, &self.url) {
            (Some(attach), _) => Ok(attach.url.clone()),
            (None, Some(url)) => url.fill_with(cell, Path::new(""), &self.places(cell)),
            (None, None) => {
                Ok(format!("http://127.0.0.1:{}", *self.chosen.lock().unwrap_or_else(PoisonError::into_inner)))
            }
        }
    }

    /// Picks the port of a run. Between this and the start of the server another program could take it. It would have to want just this one.
    fn choose_port(&self) -> Result<(), Error> {
        let port = match self.port {
            0 => Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
                .and_then(|listener| listener.address())
                .map_err(|cause| Error::new(Kind::Workload, "there is no free port").because(cause))?
                .port(),
            port => port,
        };
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = port;
        Ok(())
    }

    /// The loads of one run: seeds and model filled in, nonces that no other run against the same server has.
    fn loads_of(&self, cell: &Cell<'_>, nonce: u64) -> Vec<Planned> {
        let mut loads = self.loads.clone();
        for (at, load) in (0..).zip(&mut loads) {
            if !load.seeded {
                load.settings.seed = cell.seed;
            }
            load.settings.nonce = nonce.wrapping_add(at);
        }
        loads
    }

    /// The requests of each load, by their path below the run's folder. Of a search those of the points that it went to.
    fn reports(&self, folder: &Path) -> Vec<ReportSetting> {
        let path = |load: &Planned| match load.name.as_str() {
            "" => REQUESTS_FILE.to_owned(),
            name => format!("{LOADS_FOLDER}/{name}/{REQUESTS_FILE}"),
        };
        let report = |load: &Planned| ReportSetting {
            path: path(load),
            parser: "requests".to_owned(),
            patterns: BTreeMap::new(),
            test: (!load.name.is_empty()).then(|| load.name.clone()),
            // Which cells a server can take is known when it is up. A skipped cell is reported.
            required: !matches!(load.role, Role::Cell { .. }),
        };
        self.loads
            .iter()
            .flat_map(|load| match load.role {
                Role::Search(_) => points(folder, load),
                _ => vec![report(load)],
            })
            .collect()
    }
}

/// The points of a search, as they are below the run's folder. None is a fault: the first is then missing.
fn points(folder: &Path, load: &Planned) -> Vec<ReportSetting> {
    let below = match load.name.as_str() {
        "" => LOADS_FOLDER.to_owned(),
        name => format!("{LOADS_FOLDER}/{name}/{LOADS_FOLDER}"),
    };
    let entries = std::fs::read_dir(folder.join(&below)).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    if names.is_empty() {
        names.push(passes::point(&load.settings.shape));
    }
    let report = |name: String| ReportSetting {
        path: format!("{below}/{name}/{REQUESTS_FILE}"),
        parser: "requests".to_owned(),
        patterns: BTreeMap::new(),
        test: Some(if load.name.is_empty() { name } else { format!("{}-{name}", load.name) }),
        required: true,
    };
    names.into_iter().map(report).collect()
}

impl Workload for Serve {
    fn needs_gpu(&self) -> bool {
        self.needs_gpu
    }

    fn needs_own_program(&self) -> bool {
        command::name_own_program(self.argv.iter().chain(&self.worker).chain(self.env.values()))
    }

    fn names_folder(&self) -> bool {
        let started = self.argv.iter().chain(&self.worker).chain(self.env.values());
        !self.attached() && command::name_folder(started)
    }

    fn warnings(&self) -> &[Fault] {
        self.assets.left_out()
    }

    fn program(&self) -> Option<&str> {
        let started = self.argv.first().filter(|_| !self.attached())?;
        command::fixed_program(started, &self.env)
    }

    fn expected_s(&self) -> Option<f64> {
        self.expected_s
    }

    fn lacks(&self, model: &Model) -> Vec<String> {
        let templates = || self.argv.iter().chain(&self.worker).chain(self.env.values()).chain(&self.url);
        let mut lacks = command::lacks(templates(), model);
        let nameless = model.id.is_none() && model.path.is_none();
        if nameless && templates().any(|template| template.names("model")) {
            lacks.push("id".to_owned());
        }
        lacks.dedup();
        lacks
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
        self.choose_port()?;
        self.invocation(&self.argv, cell, work)
    }

    fn worker(&self, cell: &Cell<'_>, work: &Path) -> Result<Option<Invocation>, Error> {
        if self.worker.is_empty() { Ok(None) } else { self.invocation(&self.worker, cell, work).map(Some) }
    }

    fn worker_port(&self) -> Option<u16> {
        self.worker_port
    }

    fn beside(&self, cell: &Cell<'_>, host: &dyn Host) -> Result<Option<Box<dyn Beside>>, Error> {
        let url = self.address(cell)?;
        let settings = self.loads.first().map_or_else(Settings::default, |load| load.settings.clone());
        let web = web(host, &Target::parse(&url)?.with_path(settings.path.as_deref())?, &settings)?;
        let nonce = match &self.attach {
            Some(attach) => {
                attach.look(host)?;
                // Earlier campaigns may have sent the same plan to the same server.
                attach::nonce(host)?
            }
            None => {
                if web.get("/health", TAKEN).is_ok() {
                    return Err(Error::new(
                        Kind::Workload,
                        format!("something answers at {} before the server was started", web.base()),
                    )
                    .hint("end it, or give the server another port: port = 0 takes one that is free"));
                }
                0
            }
        };
        Ok(Some(Box::new(work::Work {
            loader: self.loader,
            engine: self.engine,
            web,
            url,
            ready: self.ready.clone(),
            attach: self.attach.clone(),
            model: cell.model.clone(),
            loads: self.loads_of(cell, nonce),
        })))
    }

    fn attached(&self) -> bool {
        self.attach.is_some()
    }

    fn asked(&self, cell: &Cell<'_>) -> SeenWire {
        let only = match self.loads.as_slice() {
            [only] => only.settings.own_requests().filter(|_| only.settings.duration_s.is_none()),
            _ => None,
        };
        SeenWire {
            model_id: cell.model.id.clone(),
            quantisation: cell.model.quantisation.clone(),
            engine: self.engine.and_then(|preset| preset.engine).map(|engine| engine.word().to_owned()),
            requests: only.map(|count| count as f64),
            ..SeenWire::default()
        }
    }

    fn examine(&self, cell: &Cell<'_>, folder: &Path) -> Outcome {
        let mut outcome = Outcome::default();
        let read = outcome.read(folder, &self.reports(folder));
        outcome.hold_against(&self.expect, folder, &read);
        let seen = outcome.seen.requests.map(|count| (count, "requests.jsonl"));
        outcome.check_number("requests", self.asked(cell).requests, seen, 0.0);
        outcome
    }
}
