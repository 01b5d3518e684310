//! `load --archive`: an ad-hoc load as a campaign of one environment.
//!
//! In:  the loads as typed, a folder.  Out: an archive that `analyse`, `verify` and `status` read, and the summaries in it.
//! Not here: how a campaign is run (see `run::campaign`), the load (see `load::session`).
//!
//! What was typed is written as a suite first: the archive then holds what was asked for, and the suite can be edited and collected
//! again. The gates that make runs comparable with each other are off: whoever measures a server that stands already wants it now.

use std::path::Path;
use std::sync::Arc;

use toml::{Table, Value};

use super::Load;
use super::live::Speaker;
use super::plan::Loads;
use super::points::invalid;
use crate::cli::talk::Talk;
use crate::cli::{Outcome, print};
use crate::error::{Error, Kind};
use crate::host::Host;
use crate::ingest::slug;
use crate::load::session::SUMMARY_FILE;
use crate::load::summary::points;
use crate::model::Finding;
use crate::run::campaign::{self, Options};
use crate::run::experiment::Experiment;
use crate::workload::serve::session::CALIBRATION_FOLDER;

/// Longest time that all loads together may take, seconds: the longest that a suite can give, a week.
const LIMIT_S: i64 = 604_800;
/// A server that is loaded by hand stands already. Where nothing answers within so long the address is wrong, seconds.
const READY_S: i64 = 10;

/// Does the loads and archives them.
///
/// # Errors
/// As [`campaign::collect`], and of a workload when nothing was answered.
pub fn collect(args: &Load, loads: &Loads, folder: &Path, host: &Arc<dyn Host>, talk: &Talk) -> Result<Outcome, Error> {
    if !args.load.header.is_empty() {
        return Err(Error::usage("--header cannot go into an archive: its value may be a secret")
            .hint("put a key into a variable and name it by --api-key-env, or leave --archive out"));
    }
    let failed = |cause| Error::archive(format!("cannot find the folder '{}'", folder.display())).because(cause);
    let archive = std::path::absolute(folder).map_err(failed)?;
    let here = std::path::absolute(".").map_err(failed)?;
    let text = written(args, loads, &archive)?;
    let experiment = Experiment::read(&text, "what was typed", &here)?;
    let speaker = Speaker::new(talk);
    let options = Options { archive: archive.clone(), resume: false, only: Vec::new() };
    let summary = campaign::collect(&experiment, host, &Told(&speaker), &options)?;
    drop(speaker);
    let loads = report(args, &summaries(&archive)?, talk)?;
    talk.say(&format!("archived in {}; next: sparkbench analyse {}", archive.display(), archive.display()));
    if summary.interrupted {
        return Err(Error::new(Kind::Workload, "stopped before the end")
            .hint("what was measured by then lies in 'interrupted/'"));
    }
    match summary.failed.first() {
        Some((id, why)) => Err(Error::new(Kind::Workload, format!("run '{id}' failed: {why}"))),
        None => invalid(&loads, false).map_or(Ok(Outcome::Done), Err),
    }
}

/// The suite that says what was typed.
fn written(args: &Load, loads: &Loads, archive: &Path) -> Result<String, Error> {
    let name = archive.file_name().map_or_else(|| "load".to_owned(), |name| name.to_string_lossy().into_owned());
    let text = |text: &str| Value::String(text.to_owned());
    let mut attach = Table::new();
    attach.insert("url".into(), text(&args.load.url));
    if let Some(container) = &args.container {
        attach.insert("container".into(), text(container));
    }
    let mut workload = Table::new();
    workload.insert("kind".into(), text("serve"));
    workload.insert("attach".into(), Value::Table(attach));
    workload.insert("ready".into(), Value::Table(Table::from_iter([("limit_s".into(), Value::Integer(READY_S))])));
    let repeats = loads.repeats();
    let tables = loads.tables();
    match tables.as_slice() {
        [(_, only)] => drop(workload.insert("load".into(), Value::Table(only.clone()))),
        several => {
            let named = several.iter().map(|(name, table)| {
                let mut table = table.clone();
                table.insert("name".into(), text(&slug(name)));
                Value::Table(table)
            });
            workload.insert("loads".into(), Value::Array(named.collect()));
        }
    }
    let mut whole = Table::new();
    whole.insert("schema".into(), text("sparkbench.suite/1"));
    whole.insert("name".into(), text(&name));
    whole.insert("repeats".into(), Value::Integer(repeats.into()));
    whole.insert("seed".into(), Value::Integer(i64::try_from(args.load.seed).unwrap_or(i64::MAX)));
    let table = |pairs: Vec<(&str, Value)>| {
        Value::Table(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    };
    whole.insert("environments".into(), table(vec![("native", Value::Table(Table::new()))]));
    if let Some(model) = &args.load.model {
        whole.insert("models".into(), table(vec![(&slug(model), table(vec![("id", text(model))]))]));
    }
    whole.insert("workloads".into(), table(vec![("load", Value::Table(workload))]));
    let off = || Value::Boolean(false);
    whole.insert(
        "gates".into(),
        table(vec![
            ("gpu_required", off()),
            ("gpu_exclusive", off()),
            ("gpu_temp_max_c", off()),
            ("host_load_max_per_core", off()),
            ("memory_available_min_gib", off()),
            ("cooldown_min_s", Value::Integer(0)),
        ]),
    );
    whole.insert(
        "watchdogs".into(),
        table(vec![("memory_floor_gib", off()), ("time_limit_s", Value::Integer(LIMIT_S)), ("kernel_log", off())]),
    );
    toml::to_string(&whole).map_err(|cause| Error::usage("what was typed cannot be written as a suite").because(cause))
}

/// A summary of the archive: what it is of, its text.
struct Found {
    name: String,
    text: String,
}

/// Every summary of the archive, in the order of the runs; that of the calibration is not one of the server's.
fn summaries(archive: &Path) -> Result<Vec<Found>, Error> {
    let mut found: Vec<_> = walkdir::WalkDir::new(archive.join("runs"))
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| {
            entry.file_name() == SUMMARY_FILE && !entry.path().iter().any(|part| part == CALIBRATION_FOLDER)
        })
        .map(walkdir::DirEntry::into_path)
        .collect();
    found.sort();
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path)
            .map_err(|cause| Error::archive(format!("cannot read '{}'", path.display())).because(cause))?;
        let folder = path.parent().and_then(Path::file_name);
        Ok(Found { name: folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(), text })
    };
    found.into_iter().map(read).collect()
}

/// The summaries for scripts where they are asked for, and a line of each for people; in full they are in the archive.
fn report(args: &Load, found: &[Found], talk: &Talk) -> Result<Vec<(String, serde_json::Value)>, Error> {
    let json = match found {
        [only] => only.text.clone(),
        several => {
            format!("[\n{}]\n", several.iter().map(|one| one.text.trim_end()).collect::<Vec<_>>().join(",\n"))
        }
    };
    let for_scripts = args.json.as_deref().is_some_and(|path| path.as_os_str() == "-");
    match args.json.as_deref() {
        Some(_) if for_scripts => print(&json)?,
        Some(path) => crate::archive::write_atomic(path, json.as_bytes())?,
        None => {}
    }
    let rows: Vec<(String, serde_json::Value)> =
        found.iter().map(|one| (one.name.clone(), serde_json::from_str(&one.text).unwrap_or_default())).collect();
    match rows.as_slice() {
        [] => {}
        rows if for_scripts => points::table(rows).lines().for_each(|line| talk.say(line)),
        rows => print(&points::table(rows))?,
    }
    Ok(rows)
}

/// What a campaign says, told by whoever shows a load.
struct Told<'a, 'b>(&'a Speaker<'b>);

impl crate::run::Watcher for Told<'_, '_> {
    fn say(&self, line: &str) {
        crate::load::session::Watcher::say(self.0, line);
    }

    fn warn(&self, line: &str) {
        crate::load::session::Watcher::warn(self.0, line);
    }

    fn waiting(&self, _: &Finding, _: f64, _: f64, _: bool) {}

    fn progress(&self, _: usize, _: usize, _: &str, _: Option<f64>) {}
}
