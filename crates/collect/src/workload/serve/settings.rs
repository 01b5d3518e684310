//! The keys of a `serve` workload.
//!
//! In:  a [`Reader`].  Out: [`Serve`], and faults.
//! Not here: the keys of a load (see `load::suite`).

use std::path::Path;
use std::sync::Mutex;

use super::attach::Attach;
use super::engine::{self, Across, PRESETS, Preset};
use super::loader::Loader;
use super::ready::Ready;
use super::{PLACES, Serve};
use crate::workload::assets::Assets;
use crate::workload::command::{self, EXPECTED_MAX_S};
use crate::workload::expect;
use crate::workload::template::Template;
use sparkbench_load::suite::{self, Planned};
use sparkbench_plan::Reader;
use sparkbench_plan::settings::Settings as Table;

/// Reads everything, so that every fault is reported at once.
pub(super) fn read(settings: &mut Reader<'_>, folder: &Path, loader: &'static dyn Loader) -> Option<Serve> {
    let preset = preset(settings);
    let across = across(settings, preset);
    let Commands { argv, worker } = commands(settings, preset, across);
    let worker_port =
        settings.whole_within("worker_port", 1, i64::from(u16::MAX)).and_then(|port| u16::try_from(port).ok());
    let worker_port = worker_port.or_else(|| across?.worker_port);
    let attach = Attach::read(settings);
    let attached = settings.has("attach");
    if attached {
        for key in
            ["engine", "command", "args", "across", "worker", "worker_port", "env", "assets", "host", "port", "url"]
        {
            if key != "engine" && settings.has(key) {
                settings.fault(key, "is for a new server, but attach names a running one", "leave out one of the two");
            }
        }
    } else if argv.is_empty() {
        settings.fault(
            "command",
            "does not say how the server is started",
            "engine = \"vllm\" with args = [...], a whole command = [...], or attach = { url = \"...\" } for a running server",
        );
    }
    let host = settings.text("host").unwrap_or_else(|| "127.0.0.1".to_owned());
    let port = settings.whole_within("port", 0, i64::from(u16::MAX)).and_then(|port| u16::try_from(port).ok());
    let url = settings.text("url").and_then(|text| {
        Template::parse_with(&text, PLACES).map_err(|(what, remedy)| settings.fault("url", what, remedy)).ok()
    });
    let mut env = command::env_with(settings, PLACES);
    for (name, text) in across.map(|across| across.env).unwrap_or_default() {
        if let Ok(template) = Template::parse_with(text, PLACES) {
            env.entry((*name).to_owned()).or_insert(template);
        }
    }
    let assets = Assets::read(settings, "assets", folder);
    let ready = Ready::read(settings);
    let loads = loads(settings, folder);
    let expect = expect::expect(settings);
    let needs_gpu =
        settings.switch("needs_gpu").unwrap_or_else(|| preset.is_some_and(|preset| preset.needs_gpu) && !attached);
    let expected_s = settings.number_within("expected_s", 0.0, EXPECTED_MAX_S);
    let port = port.or_else(|| preset.map(|preset| preset.port)).unwrap_or(8000);
    Some(Serve {
        loader,
        engine: preset,
        argv,
        worker,
        worker_port,
        env,
        assets,
        host,
        port,
        url,
        ready,
        attach,
        loads,
        expect,
        needs_gpu,
        expected_s,
        chosen: Mutex::new(port),
    })
}

fn preset(settings: &mut Reader<'_>) -> Option<&'static Preset> {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    settings.choice("engine", &names).and_then(|name| engine::find(&name))
}

/// How the engine spreads over several machines, where the suite says that it does.
fn across(settings: &mut Reader<'_>, preset: Option<&'static Preset>) -> Option<&'static Across> {
    if !settings.has("across") {
        return None;
    }
    let ways = preset.map(|preset| preset.across).unwrap_or_default();
    if ways.is_empty() {
        let remedy = "give each machine's command: command = [...] for the head, worker = [...] for the others";
        settings.fault("across", "belongs to an engine that is known to spread over machines", remedy);
        return None;
    }
    let words: Vec<&str> = ways.iter().map(|way| way.word).collect();
    let word = settings.choice("across", &words)?;
    ways.iter().find(|way| way.word == word)
}

/// The command of the head, and that of each other machine.
struct Commands {
    argv: Vec<Template>,
    worker: Vec<Template>,
}

/// The whole command, or what the engine begins with and the arguments behind it.
fn commands(settings: &mut Reader<'_>, preset: Option<&'static Preset>, across: Option<&'static Across>) -> Commands {
    let command = Template::list_with(settings, "command", PLACES);
    let args = Template::list_with(settings, "args", PLACES);
    let own = Template::list_with(settings, "worker", PLACES);
    let cut = |texts: &'static [&'static str]| texts.iter().filter_map(|text| Template::parse_with(text, PLACES).ok());
    let mut worker = own;
    if let Some(across) = across.filter(|_| worker.is_empty()) {
        worker.extend(cut(across.worker));
        if across.worker_takes_args {
            worker.extend(args.iter().cloned());
        }
    }
    if settings.has("command") {
        if settings.has("args") {
            settings.fault(
                "args",
                "cannot be combined with a whole command",
                "put the arguments into command, or leave command out",
            );
        }
        return Commands { argv: command, worker };
    }
    let begin = preset.map(|preset| preset.begin).unwrap_or_default();
    if begin.is_empty() {
        if settings.has("args") {
            settings.fault("args", "follows no engine that is known", "name the engine, or give the whole command");
        }
        return Commands { argv: Vec::new(), worker };
    }
    let before = across.map(|across| across.before).unwrap_or_default();
    let head = across.map(|across| across.head).unwrap_or_default();
    Commands { argv: cut(before).chain(cut(begin)).chain(cut(head)).chain(args).collect(), worker }
}

/// One load, or a list of them that share the keys of `load`.
fn loads(settings: &mut Reader<'_>, folder: &Path) -> Vec<Planned> {
    let common = settings.table("load");
    let list = settings.tables("loads");
    let mut loads = Vec::new();
    match common {
        None if list.is_empty() => {
            settings.fault("load", "is missing", "say what is sent: load = { concurrency = 8, isl = 1024, osl = 128 }");
        }
        Some(table) if list.is_empty() => {
            let mut keys = settings.below(table);
            loads = suite::read(&mut keys, folder);
            keys.finish();
        }
        _ => {
            for own in list {
                loads.extend(one_of(settings, common, own, folder));
            }
        }
    }
    let mut names: Vec<String> = loads.iter().map(|load| load.name.clone()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        settings.fault("loads", format!("names \"{}\" twice", pair[0]), "give each load its own name");
    }
    loads
}

/// A load of a list: the common keys, then its own. Points of a sweep carry its name before theirs.
fn one_of(settings: &mut Reader<'_>, common: Option<&Table>, own: &Table, folder: &Path) -> Vec<Planned> {
    let mut table = own.clone();
    for (key, entry) in common.into_iter().flat_map(|common| &common.entries) {
        table.entries.entry(key.clone()).or_insert_with(|| entry.clone());
    }
    let mut keys = settings.below(&table);
    let name = keys.required_text("name", "a short name of the load: name = \"long\"");
    let plain = |name: &String| {
        let lawful = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        !name.starts_with('.') && name.len() <= 60 && name.chars().all(lawful)
    };
    if name.as_ref().is_some_and(|name| !plain(name)) {
        keys.fault("name", "is not a name of a folder", "small letters, digits, '-', '_' and '.', at most 60");
    }
    let mut loads = suite::read(&mut keys, folder);
    keys.finish();
    let name = name.unwrap_or_default();
    for load in &mut loads {
        load.name = if load.name.is_empty() { name.clone() } else { format!("{name}-{}", load.name) };
    }
    loads
}
