//! One run against a server: wait until it is ready, check which model it serves, load it.
//!
//! In:  an address, loads.  Out: `server.json` and the files of each load in the run's folder, faults, checks, the measured window.
//! Not here: the loads themselves (see `loader`), the end of the server (see `run`).

use std::fs;
use std::path::Path;

use serde_json::json;

use super::attach::Attach;
use super::engine::Preset;
use super::loader::{Job, Loader};
use super::ready::Ready;
use crate::workload::beside::{At, Beside, Done, log_tail};
use sparkbench_archive::manifest::CheckWire;
use sparkbench_host::web::Web;
use sparkbench_load::server::{self, Identity, InferenceEngine, LIMIT, Served};
use sparkbench_load::suite::Planned;
use sparkbench_plan::Model;

/// The server's own data, below the run's folder.
pub(super) const SERVER_FILE: &str = "server.json";
pub(super) const SERVER_SCHEMA: &str = "sparkbench.server/1";

/// See the module.
pub(super) struct Work {
    pub loader: &'static dyn Loader,
    pub engine: Option<&'static Preset>,
    pub web: Web,
    pub url: String,
    pub ready: Ready,
    pub attach: Option<Attach>,
    pub model: Model,
    pub loads: Vec<Planned>,
}

impl Beside for Work {
    fn run(self: Box<Self>, at: &At<'_>) -> Done {
        let began = at.host.utc();
        let mut done = self.load(at);
        if let Some(attach) = &self.attach {
            done.outcome.marks.extend(attach.keep(at.host.as_ref(), began, at.folder));
        }
        done
    }
}

impl Work {
    fn load(&self, at: &At<'_>) -> Done {
        let ready_s = match self.ready.wait(&self.web, at, self.attach.is_some()) {
            Ok(seconds) => seconds,
            Err(Some(why)) => return Done::failed(why),
            Err(None) => return Done::failed("stopped before the server was ready"),
        };
        let base = self.web.base();
        if self.attach.is_none() {
            (at.say)(&format!("{base} is ready after {ready_s:.1} s"));
        }
        let web = server::settled(&self.web, LIMIT);
        let models = match server::models(&web, LIMIT) {
            Ok(models) => models,
            Err(error) => return Done::failed(format!("{}{}", error.what, log_tail(at.folder))),
        };
        let identity = server::identify(&web, &models, LIMIT);
        let mut done = Done::default();
        let took = self.attach.is_none().then_some(ready_s);
        if let Err(why) = self.write_down(at.folder, took, &models, &identity) {
            done.outcome.faults.push(why);
        }
        let seen = &mut done.outcome.seen;
        seen.engine = identity.engine.map(|engine| engine.word().to_owned());
        seen.engine_version.clone_from(&identity.version);
        done.outcome.checks.extend(self.engine_check(identity.engine));
        match self.pick(&models) {
            Ok((served, check)) => {
                // A server that was given a folder may list the folder: what was seen is the model that is there.
                let by_folder = check.as_ref().and_then(|check| check.asked.clone());
                done.outcome.seen.model_id = by_folder.or_else(|| Some(served.clone()));
                done.outcome.checks.extend(check);
                self.send(at, &served, &mut done);
            }
            // A mismatch fails the run, and says both names.
            Err(Pick::Other(check)) => done.outcome.checks.push(check),
            Err(Pick::Unclear(why)) => done.outcome.faults.push(why),
        }
        done
    }

    fn send(&self, at: &At<'_>, served: &str, done: &mut Done) {
        let mut loads = self.loads.clone();
        loads.iter_mut().for_each(|load| load.settings.model = Some(served.to_owned()));
        let job = Job {
            host: at.host,
            url: &self.url,
            loads: &loads,
            folder: at.folder,
            stop: at.stop,
            say: at.say,
            warn: at.warn,
        };
        match self.loader.run(&job) {
            Ok(loaded) => {
                done.window = loaded.window;
                done.outcome.faults.extend(loaded.faults);
                done.outcome.failed.extend(loaded.failed);
                done.outcome.marks.extend(loaded.marks);
                done.outcome.checks.extend(loaded.checks);
            }
            Err(error) => {
                let words = error.in_a_line();
                done.outcome.faults.push(format!("the load could not be run: {words}"));
            }
        }
    }

    /// The name by which the model is asked for, and the check that it is the one.
    fn pick(&self, models: &[Served]) -> Result<(String, Option<CheckWire>), Pick> {
        let named = self.loads.iter().find_map(|load| load.settings.model.as_deref());
        let Some(asked) = named.or(self.model.id.as_deref()).or(self.model.path.as_deref()) else {
            return match server::choose(models, None) {
                Ok(only) => Ok((only.id.clone(), None)),
                Err(error) => Err(Pick::Unclear(error.what)),
            };
        };
        let check = |ran: &str, result: &str| CheckWire {
            item: "model_id".to_owned(),
            asked: Some(asked.to_owned()),
            ran: Some(ran.to_owned()),
            source: "/v1/models".to_owned(),
            result: result.to_owned(),
        };
        // A server may list a name with and without a slash at its end: the same name comes first.
        let found = models.iter().find(|model| model.id == asked).or_else(|| models.iter().find(|m| self.is(asked, m)));
        match found {
            Some(model) => Ok((model.id.clone(), Some(check(&model.id, "match")))),
            None => {
                let names: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
                Err(Pick::Other(check(&names.join(", "), "mismatch")))
            }
        }
    }

    /// Whether a listed model is the requested one: by its name, or by the folder or file that the server was given. trtllm-serve and
    /// llama-server list only the last part of its name.
    fn is(&self, asked: &str, model: &Served) -> bool {
        let path = self.model.path.as_deref().map(|path| path.trim_end_matches('/'));
        let last = path.and_then(|path| Path::new(path).file_name()).and_then(|name| name.to_str());
        let listed = model.id.trim_end_matches('/');
        // Without its slashes a name may be empty, and then says nothing.
        let named = [Some(asked.trim_end_matches('/')), path, last].contains(&Some(listed));
        model.id == asked || (named && !listed.is_empty())
    }

    /// Whether the engine is the one that the suite names. One that does not name itself cannot be told.
    fn engine_check(&self, ran: Option<InferenceEngine>) -> Option<CheckWire> {
        let asked = self.engine.and_then(|preset| preset.engine)?;
        Some(CheckWire {
            item: "engine".to_owned(),
            asked: Some(asked.word().to_owned()),
            ran: ran.map(|engine| engine.word().to_owned()),
            source: "the server's own words (server.json)".to_owned(),
            result: match ran {
                None => "unknown",
                Some(ran) if ran == asked => "match",
                Some(_) => "mismatch",
            }
            .to_owned(),
        })
    }

    fn write_down(&self, folder: &Path, ready_s: Option<f64>, models: &[Served], who: &Identity) -> Result<(), String> {
        let list: Vec<_> = models
            .iter()
            .map(|model| json!({"id": model.id, "root": model.root, "max_model_len": model.max_model_len, "owned_by": model.owner}))
            .collect();
        let wire = json!({
            "schema": SERVER_SCHEMA,
            "url": self.web.base(),
            "attached": self.attach.is_some(),
            "ready_s": ready_s,
            "engine": who.engine.map(InferenceEngine::word),
            "engine_version": who.version,
            "server_header": who.server,
            "context": who.context,
            "evidence": who.evidence,
            "models": list,
        });
        let text = serde_json::to_string_pretty(&wire).map_err(|cause| cause.to_string())? + "\n";
        fs::write(folder.join(SERVER_FILE), text).map_err(|cause| format!("cannot write {SERVER_FILE}: {cause}"))
    }
}

/// Why no model was picked.
enum Pick {
    /// Another one is served.
    Other(CheckWire),
    /// None, or several and none asked for.
    Unclear(String),
}
