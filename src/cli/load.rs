//! `sparkbench load`: one ad-hoc streaming load against a server, or a sweep of them.
//!
//! In:  an address and options.  Out: a summary a person can read, `--json` for scripts, `--archive` for the analysis.
//! Not here: how it is measured (see `load`), how it is archived (see `run`).

mod about;
mod archive;
mod archived;
mod args;
mod begun;
mod chat;
mod environment;
mod fits;
pub(crate) mod foreign;
mod live;
mod outputs;
mod plan;
mod points;
mod ranks;
mod read;
mod resume;
mod scratch;
#[cfg(feature = "page")]
mod sheet;
mod tokenizer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::args::LoadArgs;
use self::live::ProgressReporter;
use self::outputs::Outputs;
use self::points::Points;
use self::resume::Kept;
use self::scratch::Scratch;
use super::outcome::Outcome;
use super::talk::Talk;
use sparkbench_archive::shown;
use sparkbench_host::Host;
use sparkbench_host::machine::Machine;
use sparkbench_load::engine::WITHOUT_STREAM_OPTIONS;
use sparkbench_load::session::Session;
use sparkbench_load::session::search::Searched;
use sparkbench_load::target::Target;
use sparkbench_load::{secrets, server, summary};
use sparkbench_text::error::{Error, Kind};

/// Measure a server with an OpenAI-compatible API: TTFT, TPOT, latency, throughput, and whether the client was the limit
///
/// Requests are streamed with temperature 0. The output length is fixed if the server allows it. Times are taken when bytes arrive, by the
/// kernel's clock if it gives receive times. Nothing is retried unless --retries is given, and every failure is counted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench load --url http://localhost:8000\n  \
    sparkbench load --url http://localhost:8000 --concurrency 32 --isl 1024 --osl 128 --requests 320 --warmup 32\n  \
    sparkbench load --url http://localhost:8000 --rate 4 --duration 120 --slo ttft=500 --slo tpot=50\n  \
    sparkbench load --url http://localhost:8000 --concurrency 1..128 --json sweep.json\n  \
    sparkbench load --url http://localhost:8000 --concurrency 1..128 --json sweep.json --resume\n  \
    sparkbench load --url http://localhost:8000 --rate 1,2,4 --duration 60 --html load.html --csv load.csv\n  \
    sparkbench load --url http://localhost:8000 --concurrency 8 --until ttft_p99=5% --duration 1800\n  \
    sparkbench load --url http://localhost:8000 --matrix standard --archive archive/my-server\n  \
    sparkbench load --url localhost:8000 --request-rate inf --max-concurrency 8 --num-prompts 80 --goodput ttft:500 tpot:50\n  \
    sparkbench load --url http://localhost:8000 --input-file sharegpt.json --num-clients 8\n  \
    mpirun -n 8 sparkbench load --url http://localhost:8000 --concurrency 4096 --requests 1000000\n\n\
    Exit codes: 0 done, 2 usage (no such model, lengths beyond the server's), 3 the machine or the server cannot take it,\n\
    4 a load is not valid, the server broke or the load was stopped (figures up to then are printed),\n\
    5 a file could not be read or written.")]
pub(crate) struct Load {
    #[command(flatten)]
    load: LoadArgs,
    /// Archive the raw data as a campaign: every request, every chunk, telemetry and the metrics of the server
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    archive: Option<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
    /// Continue a sweep that was stopped: keep the loads that --json or --archive has, and measure the others
    ///
    /// Give the same options as before. A setting that is another one is refused by its name. If there is no such file or archive yet, the
    /// sweep begins.
    #[arg(long, help_heading = "Output")]
    resume: bool,
    /// Title of the archived campaign [default: the name of the folder]
    #[arg(long, value_name = "TEXT", requires = "archive", help_heading = "Output")]
    title: Option<String>,
    /// Label of where the server runs [default: what can be seen: native, container, remote or not-seen]
    #[arg(long, value_name = "LABEL", requires = "archive", help_heading = "Output")]
    environment: Option<String>,
    /// Container whose log is added to the archive
    #[arg(long, value_name = "NAME", requires = "archive", help_heading = "Output")]
    container: Option<String>,
    /// Print the plan, one request a line, and send nothing. The same options and seed give the same bytes
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// Runs the verb.
///
/// # Errors
/// As the exit codes say.
pub(crate) fn run(args: &Load, talk: &Talk) -> Result<Outcome, Error> {
    args.outputs.check()?;
    if args.resume && args.archive.is_none() && args.outputs.json_file().is_none() {
        return Err(Error::usage("--resume needs the file or the archive of the sweep that was stopped")
            .hint("add --json FILE or --archive DIR, as it was begun with"));
    }
    if let Some(folder) = &args.archive
        && let Some(inside) = args.outputs.files().into_iter().find(|path| path.starts_with(folder))
    {
        return Err(Error::usage(format!("'{}' lies in the archive, which holds only its own files", shown(inside)))
            .hint("write it beside the archive"));
    }
    let plan = plan::Loads::read(&args.load)?;
    let host: Arc<dyn Host> = Arc::new(Machine::new()?);
    tokenizer::check(&plan.settings, host.as_ref())?;
    let secrets = secrets::of(host.as_ref(), &args.load.url, &plan.settings);
    for name in secrets.too_short() {
        talk.say(&format!("the value of {name} is too short to be looked for in what the server says"));
    }
    let veil = secrets.veil();
    begin(args, &plan, &host, &talk.veiled(veil.clone())).map_err(|error| veil.error(error))
}

/// Remedy of a sweep that ended before its time.
const GO_ON: &str = "give the same command with --resume to measure what is missing";

impl Load {
    /// A sweep that broke can be continued where its points are kept.
    fn continued(&self, mut error: Error, plan: &plan::Loads) -> Error {
        if plan.several() && self.outputs.json_file().is_some() {
            let remedies = error.hint.take().into_iter().chain([GO_ON.to_owned()]);
            error.hint = Some(remedies.collect::<Vec<_>>().join("\n         "));
        }
        error
    }
}

/// The load as this process's part of it.
fn begin(args: &Load, plan: &plan::Loads, host: &Arc<dyn Host>, talk: &Talk) -> Result<Outcome, Error> {
    let place = ranks::place(&args.load, host.as_ref())?;
    if place.is_some() && args.load.until.is_some() {
        return Err(Error::usage("--until works with one client: several clients would each end at a different time")
            .hint("leave out --until, and give --requests or --duration"));
    }
    if args.dry_run {
        // The plan is the same for all.
        return if place.is_some_and(|place| place.share.rank > 0) { Ok(Outcome::Done) } else { plan.print(talk) };
    }
    let replaced = args.outputs.files().into_iter().filter(|path| path.exists() && !args.resume);
    for path in replaced {
        talk.say(&format!("'{}' exists and will be replaced", shown(path)));
    }
    if let Some(limit) = args.load.wait {
        let target = Target::parse(&args.load.url)?.with_path(plan.settings.path.as_deref())?;
        let web = sparkbench_load::session::web(host.as_ref(), &target, &plan.settings)?;
        let attempt = |left| sparkbench_load::session::attempt(host.as_ref(), &target, &plan.settings, left);
        server::wait(&web, host.as_ref(), limit, &attempt, &|line| talk.say(line))?;
    }
    let Some(place) = place else { return load(args, plan, host, talk) };
    let ranks = ranks::meet(&place, &args.load, host, talk)?;
    if !ranks.is_head() {
        return ranks::follow(&ranks, &args.load, plan, host, talk).map(|()| Outcome::Done);
    }
    sparkbench_load::ranks::join(Arc::clone(&ranks));
    let done = load(args, plan, host, talk);
    ranks.end();
    done
}

/// The loads, as the only client or as rank 0.
fn load(args: &Load, plan: &plan::Loads, host: &Arc<dyn Host>, talk: &Talk) -> Result<Outcome, Error> {
    if let Some(folder) = &args.archive {
        return archive::collect(args, plan, folder, host, talk);
    }
    let points = Points::new(talk, args.outputs.of(plan), plan);
    let speaker = ProgressReporter::showing(talk, &points);
    let stop = Arc::new(AtomicBool::new(false));
    let session = Session::open(host, &args.load.url, &plan.settings, &speaker, Arc::clone(&stop))?
        .with(sparkbench_load::ranks::joined());
    let kept = match args.outputs.json_file().filter(|_| args.resume) {
        Some(path) => {
            let kept = Kept::read(path, &session, plan)?;
            kept.tell(path, talk);
            points.begin(&kept, plan.names(session.known().most_tokens())?);
            kept
        }
        None => Kept::default(),
    };
    let folder = Scratch::new()?;
    let measured = plan.measure(host, &session, &folder.0, &speaker, &stop, &kept);
    let loads = measured.iter().flat_map(|searched| &searched.loaded);
    let remedy = loads.filter(|done| !done.interrupted).find_map(|done| session.remedy(&done.summary));
    drop(session);
    drop(speaker);
    let broken = match measured {
        Ok(searched) if searched.loaded.is_empty() && !kept.loads.is_empty() => {
            talk.say("nothing was left to measure");
            searched.found.iter().for_each(|found| points.tell(found));
            points.write().err()
        }
        Ok(searched) => report(&searched, &points, plan, remedy, talk).err(),
        Err(error) => Some(error),
    };
    let broken = broken.map(|error| args.continued(error, plan));
    points.finish(broken, plan.seeks_limits())?;
    Ok(Outcome::Done)
}

/// What was measured, in full: a single load, or each of several where that is asked for. What a search found.
fn report(
    Searched { loaded, found }: &Searched,
    points: &Points<'_>,
    plan: &plan::Loads,
    remedy: Option<String>,
    talk: &Talk,
) -> Result<(), Error> {
    for done in loaded.iter().filter(|_| !plan.several() || talk.is_verbose()) {
        if !done.name.is_empty() {
            points.tell(&format!("load {}", done.name));
        }
        let draw = if talk.is_verbose() { summary::text } else { summary::brief };
        points.tell(&draw(&done.summary, talk.width(), talk.paints_output()));
    }
    found.iter().for_each(|found| points.tell(found));
    if loaded.iter().any(|loaded| loaded.interrupted) {
        return Err(
            Error::new(Kind::Workload, "stopped before the end").hint("the figures cover what was measured up to then")
        );
    }
    match loaded.iter().map(|loaded| &loaded.summary).find(|summary| summary.completed == 0) {
        Some(none) if !plan.seeks_limits() => {
            let kinds: Vec<String> = none.errors.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
            let error = Error::new(Kind::Workload, "no request was answered").detail(kinds.join(", "));
            let unknown = none.said.keys().any(|said| said.contains(WITHOUT_STREAM_OPTIONS));
            let late = || none.unfinished.is_some().then(|| "raise --timeout (timeout_s in a suite)".to_owned());
            let remedy = if unknown { Some(format!("add {WITHOUT_STREAM_OPTIONS}")) } else { remedy.or_else(late) };
            Err(remedy.into_iter().fold(error, Error::hint))
        }
        _ => Ok(()),
    }
}
