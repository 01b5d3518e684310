//! `load --archive`: an ad-hoc load as a campaign of one environment.
//!
//! In:  the loads as typed, a folder.  Out: an archive that `analyse`, `verify` and `status` read, and the summaries in it.
//! Not here: how a campaign is run (see `run::campaign`), the load (see `load::session`).
//!
//! What was typed is written as a suite first: the archive then holds what was asked for, and the suite can be edited and collected
//! again. The gates that make runs comparable with each other are off: whoever measures a server that stands already wants it now.
//!
//! Each point of a sweep is a run of its own, in the order that was typed. So a sweep that was stopped is continued like any campaign.
//! Points that need each other are one run: those of a search, and the cells of a matrix.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toml::{Table, Value as Toml};

use super::archived::{Found, Labels, WORKLOAD, summaries};
use super::live::ProgressReporter;
use super::plan::Loads;
use super::points::{invalid, remarks};
use super::{GO_ON, Load, about, begun, environment};
use crate::cli::outcome::Outcome;
use crate::cli::stdout::print;
use crate::cli::talk::Talk;
use sparkbench_archive::manifest::INTERRUPTED_FOLDER;
use sparkbench_archive::mask::Veil;
use sparkbench_archive::shown;
use sparkbench_collect::run::campaign::{self, Options};
use sparkbench_collect::run::experiment::Experiment;
use sparkbench_host::Host;
use sparkbench_load::secrets;
use sparkbench_load::session::{Live, Session};
use sparkbench_load::summary::points;
use sparkbench_load::target::Target;
use sparkbench_model::Finding;
use sparkbench_plan::{campaign_name_of, label_of};
use sparkbench_text::address::Address;
use sparkbench_text::error::{Error, Kind};
use sparkbench_text::escape::shell;

/// Longest time that all loads together may take, seconds: the longest that a suite can give, a week.
const LIMIT_S: i64 = 604_800;
/// A server that is loaded by hand stands already. Where nothing answers within so long the address is wrong, seconds.
const READY_S: i64 = 10;

/// Does the loads and archives them.
///
/// # Errors
/// As [`campaign::collect`], and of a workload when nothing was answered.
pub(super) fn collect(
    args: &Load,
    loads: &Loads,
    folder: &Path,
    host: &Arc<dyn Host>,
    talk: &Talk,
) -> Result<Outcome, Error> {
    if args.load.header.is_some() {
        return Err(Error::usage("--header cannot be archived: its value may be a secret").hint(
            "put an API key into an environment variable and name it with --api-key-env, or leave out --archive",
        ));
    }
    if loads.settings.extra_body.values().any(Value::is_null) {
        return Err(Error::usage("--extra-body with null cannot be archived: a suite has no null")
            .hint("leave out --archive, and keep the summary with --json FILE"));
    }
    let failed = |cause| Error::archive(format!("cannot find the folder '{}'", shown(folder))).because(cause);
    let archive = std::path::absolute(folder).map_err(failed)?;
    let here = std::path::absolute(".").map_err(failed)?;
    let target = Target::parse(&args.load.url)?.with_path(loads.settings.path.as_deref())?;
    let seen = || match &args.container {
        Some(_) => environment::CONTAINER,
        None => environment::label(host.as_ref(), &target),
    };
    let about = About {
        model: about::model(host.as_ref(), &target, &loads.settings)?,
        machine: about::machine(host, &target),
        environment: args.environment.as_deref().map_or_else(|| seen().to_owned(), label_of),
    };
    if about.machine.is_none() {
        talk.say("the server runs on another machine, and the archive does not know its name. Give it as 'machine' in a labels.toml beside the archive");
    }
    // A wrong address or model would leave an archive with one failed run, and its folder could not be used again.
    drop(Session::open(host, &args.load.url, &loads.settings, &Silent, Arc::default())?);
    let veil = secrets::of(host.as_ref(), &args.load.url, &loads.settings).veil();
    let labels = Labels::of(loads)?;
    let text = written(args, loads, &labels, &archive, &about, &veil)?;
    if args.resume {
        begun::expect_same(&archive, &text)?;
    }
    let mut experiment = Experiment::read(&text, "what was typed", &here)?;
    experiment.plan.put_in_order(&labels.workloads());
    let found = || summaries(&archive, &labels, &experiment.plan.runs);
    let speaker = ProgressReporter::new(talk);
    let options = Options { archive: archive.clone(), resume: args.resume, ..Options::default() };
    let collected = campaign::collect(&experiment, host, &ProgressForwarder(&speaker), &options).map_err(by_hand);
    drop(speaker);
    let summary = match collected {
        Ok(summary) => summary,
        Err(error) => {
            // What was finished before lies in the archive. A folder of someone else's is not ours to report.
            if error.kind != Kind::Usage {
                report(args, loads, found().unwrap_or_default(), talk)?;
            }
            return Err(error);
        }
    };
    let measured = report(args, loads, found()?, talk)?;
    if summary.interrupted {
        let kept = archive.join(INTERRUPTED_FOLDER);
        return Err(Error::new(Kind::Workload, "stopped before the end")
            .detail(format!("the requests up to then are in '{}', and loads that were done are kept", shown(&kept)))
            .hint(GO_ON));
    }
    talk.say(&format!("archived in {}, next: sparkbench analyse {}", shown(&archive), shell(&archive)));
    match summary.failed.first() {
        Some((id, why)) => Err(Error::new(Kind::Workload, format!("run '{id}' failed: {why}"))),
        None => invalid(&measured, false).map_or(Ok(Outcome::Done), Err),
    }
}

/// Remedies of a campaign that a load by hand does not have: there is no suite file to edit or to check, and nothing is given up as lost.
fn by_hand(mut error: Error) -> Error {
    let anew = "--archive ANOTHER-FOLDER";
    if error.kind == Kind::Preflight {
        error.what = error.what.replace(DISK_GATE_KEY, "");
        error.hint = Some(format!("correct what is named above, archive elsewhere ({anew}), or leave out --archive"));
    } else if error.hint.as_ref().is_some_and(|hint| hint.contains("--accept-loss")) {
        error.hint = Some(format!("restore what is named from a copy, or archive the load anew: {anew}"));
    }
    error
}

/// What the gate of the disk advises to those who have a suite.
const DISK_GATE_KEY: &str = ", or lower 'disk_free_min_gib'";

/// What is known beside what was typed.
struct About {
    model: Option<String>,
    machine: Option<String>,
    environment: String,
}

/// The suite that says what was typed. No label is made of a secret: in small letters nobody would find it again.
fn written(
    args: &Load,
    loads: &Loads,
    labels: &Labels,
    archive: &Path,
    about: &About,
    veil: &Veil,
) -> Result<String, Error> {
    let folder = archive.file_name().map_or_else(|| "load".to_owned(), |name| name.to_string_lossy().into_owned());
    let name = campaign_name_of(&folder);
    let text = |text: &str| Toml::String(text.to_owned());
    // Host and port are enough on a command line. A suite wants the scheme too.
    let typed = args.load.url.trim();
    let address = if Address::split(typed).scheme.is_some() { typed.to_owned() } else { format!("http://{typed}") };
    let mut attach = Table::new();
    attach.insert("url".into(), text(&address));
    if let Some(container) = &args.container {
        attach.insert("container".into(), text(container));
    }
    let mut workload = Table::new();
    workload.insert("kind".into(), text("serve"));
    workload.insert("attach".into(), Toml::Table(attach));
    workload.insert("ready".into(), Toml::Table(Table::from_iter([("limit_s".into(), Toml::Integer(READY_S))])));
    let repeats = loads.repeats();
    let with = |table: Table| {
        let mut workload = workload.clone();
        workload.insert("load".into(), Toml::Table(table));
        Toml::Table(workload)
    };
    let labels = labels.workloads().into_iter().chain([WORKLOAD.to_owned()]);
    let workloads: Table = labels.zip(loads.tables()).map(|(label, (_, table))| (label, with(table))).collect();
    let mut whole = Table::new();
    whole.insert("schema".into(), text("sparkbench.suite/1"));
    whole.insert("name".into(), text(&name));
    if let Some(title) = args.title.as_ref().or_else(|| Some(&folder).filter(|folder| **folder != name)) {
        whole.insert("title".into(), text(title));
    }
    whole.insert("repeats".into(), Toml::Integer(repeats.into()));
    whole.insert("seed".into(), Toml::Integer(i64::try_from(loads.settings.seed).unwrap_or(i64::MAX)));
    let table =
        |pairs: Vec<(&str, Toml)>| Toml::Table(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    // The client runs here, wherever the server does.
    let client = table(vec![("kind", text("native"))]);
    whole.insert("environments".into(), table(vec![(about.environment.as_str(), client)]));
    if let Some(machine) = &about.machine {
        whole.insert("machine".into(), text(machine));
    }
    if let Some(model) = &about.model {
        let label = label_of(&veil.text(model));
        whole.insert("models".into(), table(vec![(label.as_str(), table(vec![("id", text(model))]))]));
    }
    whole.insert("workloads".into(), Toml::Table(workloads));
    let off = || Toml::Boolean(false);
    whole.insert(
        "gates".into(),
        table(vec![
            ("gpu_required", off()),
            ("gpu_exclusive", off()),
            ("gpu_temp_max_c", off()),
            ("host_load_max_per_core", off()),
            ("memory_available_min_gib", off()),
            ("cooldown_min_s", Toml::Integer(0)),
        ]),
    );
    whole.insert(
        "watchdogs".into(),
        table(vec![("memory_floor_gib", off()), ("time_limit_s", Toml::Integer(LIMIT_S)), ("kernel_log", off())]),
    );
    toml::to_string(&whole).map_err(|cause| Error::usage("what was typed cannot be written as a suite").because(cause))
}

/// The summaries where they are asked for, and a line of each cell for people. In full they are in the archive.
fn report(args: &Load, plan: &Loads, found: Vec<Found>, talk: &Talk) -> Result<Vec<(String, Value)>, Error> {
    let outputs = args.outputs.of(plan);
    let (rows, texts): (Vec<(String, Value)>, Vec<String>) =
        found.into_iter().map(|one| ((one.name, one.value), one.text)).unzip();
    if !rows.is_empty() {
        outputs.write(&rows, &texts)?;
    }
    outputs.stream(&rows, &texts)?;
    match rows.as_slice() {
        [] => {}
        rows if outputs.for_scripts() => points::table(rows).lines().for_each(|line| talk.say(line)),
        rows => print(&points::table(rows))?,
    }
    remarks(talk, &rows);
    Ok(rows)
}

/// The run says all of it again.
struct Silent;

impl sparkbench_load::session::Watcher for Silent {
    fn say(&self, _: &str) {}
    fn warn(&self, _: &str) {}
    fn live(&self, _: &Live) {}
}

/// What a campaign says, told by whoever shows a load.
struct ProgressForwarder<'a, 'b>(&'a ProgressReporter<'b>);

impl sparkbench_collect::run::Watcher for ProgressForwarder<'_, '_> {
    fn say(&self, line: &str) {
        sparkbench_load::session::Watcher::say(self.0, line);
    }

    fn warn(&self, line: &str) {
        sparkbench_load::session::Watcher::warn(self.0, line);
    }

    fn waiting(&self, _: &Finding, _: f64, _: f64, _: bool) {}

    fn progress(&self, _: usize, _: usize, _: &str, _: Option<f64>) {}
}
